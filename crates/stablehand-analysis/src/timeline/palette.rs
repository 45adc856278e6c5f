//! One palette for the picture and the page: which colour a span has, by day and by night.

use super::{Span, Tone, Track};

/// A colour with its name, as a class, in the legend, by day and by night.
#[derive(Debug)]
pub(super) struct Colour {
    pub(super) class: &'static str,
    pub(super) title: &'static str,
    pub(super) day: &'static str,
    pub(super) night: &'static str,
    /// The colour of what is written on it, a class of [`AROUND`].
    pub(super) ink: &'static str,
}

/// A strong colour: white is written on it by day, and black by night.
const fn strong(
    class: &'static str,
    title: &'static str,
    day: &'static str,
    night: &'static str,
) -> Colour {
    Colour { class, title, day, night, ink: "on-strong" }
}

/// A faint colour: written on as on the background.
const fn faint(
    class: &'static str,
    title: &'static str,
    day: &'static str,
    night: &'static str,
) -> Colour {
    Colour { class, title, day, night, ink: "ink" }
}

/// A bright colour: black by day and by night.
const fn bright(
    class: &'static str,
    title: &'static str,
    day: &'static str,
    night: &'static str,
) -> Colour {
    Colour { class, title, day, night, ink: "black" }
}

/// All colours of spans, in the order of the legend.
pub(super) const SPANS: [Colour; 24] = [
    faint("thinking", "thinking", "#cdbdf0", "#5d4d88"),
    strong("text", "text", "#4a5468", "#c3cad8"),
    strong("execute", "command", "#3f74d8", "#6a9bf4"),
    strong("read", "read", "#23877a", "#4fbfae"),
    strong("search", "search", "#5c8a1e", "#98c956"),
    strong("edit", "edit", "#b06c0a", "#e5a850"),
    strong("fetch", "fetch", "#8a5ad1", "#b08df2"),
    strong("other", "other tool", "#6f7b91", "#8d99b0"),
    strong("agent", "other agent", "#c8477f", "#f083b3"),
    strong("failed", "failed", "#d03838", "#f0706c"),
    bright("refused", "refused", "#f2b824", "#f0c74a"),
    bright("question", "question", "#f7d774", "#d9b14a"),
    strong("hook", "hook", "#94795a", "#bda688"),
    strong("note", "note", "#6b7d95", "#93a4bb"),
    strong("retry", "retry", "#d9621b", "#f79c5c"),
    faint("silence", "silence", "#a8a296", "#6f7480"),
    faint("run", "run", "#e6e8ee", "#2b313d"),
    faint("turn", "turn", "#dbe3f4", "#2c3850"),
    faint("broken", "broken off", "#f7d6d3", "#552a2b"),
    faint("calm", "working", "#d9eade", "#284034"),
    faint("busy", "in a tool", "#d5e3f8", "#24395c"),
    faint("patient", "starting, waiting, ending", "#ebe9e4", "#2f3136"),
    faint("quiet", "quiet", "#f6e3b4", "#584a23"),
    strong("stop", "stop or verdict", "#b3261e", "#ff8a80"),
];

/// The colours of everything else: background, text, what is less important, lines.
pub(super) const AROUND: [Colour; 8] = [
    faint("bg", "", "#fdfdfc", "#14171c"),
    faint("ink", "", "#20242c", "#e8eaef"),
    faint("dim", "", "#5f6673", "#99a1b0"),
    faint("line", "", "#e3e4e8", "#272c35"),
    faint("band", "", "#f5f5f6", "#1b1f27"),
    faint("on-strong", "", "#ffffff", "#10131a"),
    faint("black", "", "#1c1f26", "#10131a"),
    faint("accent", "", "#3f74d8", "#6a9bf4"),
];

/// The place of a span's colour in [`SPANS`].
pub(super) fn of(track: Track, span: &Span) -> usize {
    let class = match (track, span.tone) {
        (Track::Tool | Track::SubAgent | Track::Note, Tone::Bad) => "failed",
        (Track::Run | Track::Turn, Tone::Bad | Tone::Warn) => "broken",
        (Track::Approval, Tone::Bad) | (Track::Tool | Track::SubAgent, Tone::Warn) => "refused",
        (Track::Health, Tone::Bad) | (Track::Verdict | Track::Stop, _) => "stop",
        (Track::Health, Tone::Warn) => "quiet",
        (Track::Health, _) => match span.name.as_str() {
            "working" => "calm",
            "in tool" => "busy",
            _ => "patient",
        },
        (Track::Tool, _) => match span.kind {
            Some("execute") => "execute",
            Some("read") => "read",
            Some("search") => "search",
            Some("edit" | "delete" | "move") => "edit",
            Some("fetch") => "fetch",
            _ => "other",
        },
        (Track::SubAgent, _) => "agent",
        (Track::Approval, _) => "question",
        (Track::Run, _) => "run",
        (Track::Turn, _) => "turn",
        (Track::Thinking, _) => "thinking",
        (Track::Text, _) => "text",
        (Track::Hook, _) => "hook",
        (Track::Note, _) => "note",
        (Track::Retry, _) => "retry",
        (Track::Silence, _) => "silence",
    };
    SPANS.iter().position(|colour| colour.class == class).unwrap_or(0)
}

/// Whether spans of this track are moments by nature, and drawn as marks.
pub(super) fn is_mark(track: Track, span: &Span) -> bool {
    span.length_ms() == 0
        && matches!(track, Track::Verdict | Track::Stop | Track::Hook | Track::Note)
}
