//! One palette for the picture and the page: which colour a span has, by day and by night.

use stablehand_core::timeline::{Span, Tone, Track};

/// A colour with its name, as a class, in the legend, by day and by night.
#[derive(Debug)]
pub(super) struct Colour {
    pub(super) class: &'static str,
    pub(super) title: &'static str,
    pub(super) day: &'static str,
    pub(super) night: &'static str,
}

const fn colour(
    class: &'static str,
    title: &'static str,
    day: &'static str,
    night: &'static str,
) -> Colour {
    Colour { class, title, day, night }
}

/// All colours of spans, in the order of the legend.
pub(super) const SPANS: [Colour; 21] = [
    colour("thinking", "thinking", "#b9a5e2", "#7a67ab"),
    colour("text", "text", "#4a5468", "#c3cad8"),
    colour("execute", "command", "#3f74d8", "#6a9bf4"),
    colour("read", "read", "#2b9486", "#4fbfae"),
    colour("search", "search", "#6a9a2c", "#98c956"),
    colour("edit", "edit", "#c07a15", "#e5a850"),
    colour("fetch", "fetch", "#8a5ad1", "#b08df2"),
    colour("other", "other tool", "#748096", "#8d99b0"),
    colour("agent", "other agent", "#c8477f", "#f083b3"),
    colour("failed", "failed", "#d43d3d", "#f0706c"),
    colour("refused", "refused", "#e0a800", "#f0c74a"),
    colour("question", "question", "#e3b341", "#d9b14a"),
    colour("hook", "hook", "#94795a", "#bda688"),
    colour("note", "note", "#6b7d95", "#93a4bb"),
    colour("retry", "retry", "#e2702a", "#f79c5c"),
    colour("silence", "silence", "#a8a296", "#6f7480"),
    colour("run", "run", "#e4e7ee", "#2b313d"),
    colour("turn", "turn", "#d3dcf0", "#303d57"),
    colour("calm", "health", "#d8e8dc", "#2a3f35"),
    colour("quiet", "quiet", "#f3dfae", "#584a23"),
    colour("stop", "stop or verdict", "#b3261e", "#ff8a80"),
];

/// The colours of everything else: background, text, what is less important, lines, odd rows.
pub(super) const AROUND: [Colour; 7] = [
    colour("bg", "", "#fdfdfc", "#14171c"),
    colour("ink", "", "#20242c", "#e8eaef"),
    colour("dim", "", "#646b78", "#99a1b0"),
    colour("line", "", "#e3e4e8", "#272c35"),
    colour("band", "", "#f5f5f6", "#191d24"),
    colour("on-dark", "", "#ffffff", "#10131a"),
    colour("accent", "", "#3f74d8", "#6a9bf4"),
];

/// The place of a span's colour in [`SPANS`].
pub(super) fn of(track: Track, span: &Span) -> usize {
    let class = match (track, span.tone) {
        (Track::Tool | Track::SubAgent | Track::Note | Track::Run | Track::Turn, Tone::Bad) => {
            "failed"
        }
        (Track::Approval, Tone::Bad) | (Track::Tool | Track::SubAgent, Tone::Warn) => "refused",
        (Track::Health, Tone::Bad) | (Track::Verdict | Track::Stop, _) => "stop",
        (Track::Health, Tone::Warn) => "quiet",
        (Track::Health, _) => "calm",
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

/// Whether a name is written into spans of this colour in the colour of text, not of the background.
pub(super) fn is_pale(class: &str) -> bool {
    matches!(class, "run" | "turn" | "calm" | "quiet")
}

/// Whether spans of this track are moments by nature, and drawn as marks.
pub(super) fn is_mark(track: Track, span: &Span) -> bool {
    span.length_ms() == 0
        && matches!(track, Track::Verdict | Track::Stop | Track::Hook | Track::Note)
}
