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

/// What is written on a strong colour: white by day, black by night.
const STRONG: &str = "on-strong";

/// What is written on a faint colour: the same as on the background.
const FAINT: &str = "ink";

/// What is written on a bright colour: black by day and by night.
const BRIGHT: &str = "black";

const fn colour(
    ink: &'static str,
    class: &'static str,
    title: &'static str,
    (day, night): (&'static str, &'static str),
) -> Colour {
    Colour { class, title, day, night, ink }
}

/// All colours of spans, in the order of the legend.
pub(super) const SPANS: [Colour; 24] = [
    colour(FAINT, "thinking", "thinking", ("#cdbdf0", "#5d4d88")),
    colour(STRONG, "text", "text", ("#4a5468", "#c3cad8")),
    colour(STRONG, "execute", "command", ("#3f74d8", "#6a9bf4")),
    colour(STRONG, "read", "read", ("#23877a", "#4fbfae")),
    colour(STRONG, "search", "search", ("#5c8a1e", "#98c956")),
    colour(STRONG, "edit", "edit", ("#b06c0a", "#e5a850")),
    colour(STRONG, "fetch", "fetch", ("#8a5ad1", "#b08df2")),
    colour(STRONG, "other", "other tool", ("#6f7b91", "#8d99b0")),
    colour(STRONG, "agent", "other agent", ("#c8477f", "#f083b3")),
    colour(STRONG, "failed", "failed", ("#d03838", "#f0706c")),
    colour(BRIGHT, "refused", "refused", ("#f2b824", "#f0c74a")),
    colour(BRIGHT, "question", "question", ("#f7d774", "#d9b14a")),
    colour(STRONG, "hook", "hook", ("#94795a", "#bda688")),
    colour(STRONG, "note", "note", ("#6b7d95", "#93a4bb")),
    colour(STRONG, "retry", "retry", ("#d9621b", "#f79c5c")),
    colour(FAINT, "silence", "silence", ("#a8a296", "#6f7480")),
    colour(FAINT, "run", "run", ("#e6e8ee", "#2b313d")),
    colour(FAINT, "turn", "turn", ("#dbe3f4", "#2c3850")),
    colour(FAINT, "broken", "broken off", ("#f7d6d3", "#552a2b")),
    colour(FAINT, "calm", "working", ("#d9eade", "#284034")),
    colour(FAINT, "busy", "in a tool", ("#d5e3f8", "#24395c")),
    colour(FAINT, "patient", "starting, waiting, ending", ("#ebe9e4", "#2f3136")),
    colour(FAINT, "quiet", "quiet", ("#f6e3b4", "#584a23")),
    colour(STRONG, "stop", "stop or verdict", ("#b3261e", "#ff8a80")),
];

/// The colours of everything else: background, text, what is less important, lines.
pub(super) const AROUND: [Colour; 8] = [
    colour(FAINT, "bg", "", ("#fdfdfc", "#14171c")),
    colour(FAINT, "ink", "", ("#20242c", "#e8eaef")),
    colour(FAINT, "dim", "", ("#5f6673", "#99a1b0")),
    colour(FAINT, "line", "", ("#e3e4e8", "#272c35")),
    colour(FAINT, "band", "", ("#f5f5f6", "#1b1f27")),
    colour(FAINT, "on-strong", "", ("#ffffff", "#10131a")),
    colour(FAINT, "black", "", ("#1c1f26", "#10131a")),
    colour(FAINT, "accent", "", ("#3f74d8", "#6a9bf4")),
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
