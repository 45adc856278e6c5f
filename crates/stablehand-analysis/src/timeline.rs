//! What happened when: the records of a log as spans of time in lanes, to be drawn.
//!
//! Owns which events begin and end a span, what each span says in a few words, and which lane it is
//! drawn in. All times are those of the records, to the millisecond. It reads no file: the caller
//! hands the records of a log to a [`Fold`]. The texts are redacted where a redactor is given, cut
//! short and stripped of control characters; `svg` and `html` escape them and draw.

mod fold;
mod html;
mod lanes;
mod palette;
mod quiet;
pub mod scale;
mod svg;
mod words;

pub use fold::Fold;

use serde::Serialize;
use stablehand_core::event::OutcomeClass;
use stablehand_core::time::human;
use std::time::Duration;

/// The version of the JSON form.
pub const TIMELINE_VERSION: u32 = 1;

/// Nothing heard for so long, with nothing open, is shown as silence. Models pause for a second or so
/// between any two things that they do; what a person asks about begins beyond that.
pub const SILENCE_MS: u64 = 2_000;

/// The spans of a log.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Timeline {
    /// Version of this form.
    pub v: u32,
    /// The time of its zero: the first record, RFC 3339 in UTC.
    pub began: String,
    /// The same in milliseconds since 1970.
    pub began_ms: i64,
    /// From the first record to the last, in milliseconds.
    pub length_ms: u64,
    /// The agent.
    pub agent: Option<String>,
    /// The agent's id of the session; the latest, where it changed.
    pub session: Option<String>,
    /// The model, as the agent names it.
    pub model: Option<String>,
    /// Where it worked.
    pub cwd: Option<String>,
    /// How the last run ended; absent where none did.
    pub end: Option<String>,
    /// From how much silence on it is shown, in milliseconds.
    pub silence_ms: u64,
    /// The lanes, from top to bottom.
    pub lanes: Vec<Lane>,
    /// The spans by lane, in each by their beginning.
    pub spans: Vec<Span>,
    /// Lines that were no records.
    pub skipped: u64,
    /// Spans beyond the most that are kept.
    pub left_out: u64,
}

impl Timeline {
    /// Draws a still picture, so many pixels wide, as one SVG that needs no other file.
    pub fn svg(&self, width: usize) -> String {
        svg::draw(self, width)
    }

    /// Draws a page to zoom and search in, as one HTML file that needs no other file.
    pub fn html(&self) -> String {
        html::draw(self)
    }

    /// Returns the parts of a headline, most telling first: agent, model, time, length, end.
    pub fn headline(&self) -> Vec<String> {
        let mut parts: Vec<String> = Vec::new();
        parts.extend(self.agent.clone());
        parts.extend(self.model.clone().filter(|model| !model.is_empty()));
        let (day, time) = self.began.split_once('T').unwrap_or((&self.began, ""));
        parts.push(format!("{day} {} UTC", time.get(..8).unwrap_or(time)));
        parts.push(human(Duration::from_millis(self.length_ms)));
        parts.extend(self.end.clone());
        parts
    }
}

/// One row of the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Lane {
    /// What is in it.
    pub track: Track,
    /// Its number among those of the same track: several where things happened at once.
    pub row: usize,
}

/// Something that took time, or a moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Span {
    /// Which lane.
    pub lane: usize,
    /// Milliseconds from the beginning of the timeline.
    pub start_ms: u64,
    /// Milliseconds from the beginning of the timeline; of a moment, the same as `start_ms`.
    pub end_ms: u64,
    /// Its end was never told: it is drawn to the end of its run, or of the log.
    pub open: bool,
    /// How it is to be felt.
    pub tone: Tone,
    /// What sort of tool, in the words of the Agent Client Protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
    /// A tool's name, a state, a stage: one or two words.
    pub name: String,
    /// The command, path, prompt, question or text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// What became of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// How long it took by the agent's own clock, in milliseconds, where the agent says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_ms: Option<u64>,
    /// The beginning of what it gave back, or more about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// The agent's id of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// Which run of the log, from 1; 0 where none had begun.
    pub run: usize,
    /// A hook told of it, not the agent's stream.
    #[serde(skip_serializing_if = "is_false")]
    pub hook: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl Span {
    /// How long it took, as received.
    pub fn length_ms(&self) -> u64 {
        self.end_ms.saturating_sub(self.start_ms)
    }

    /// Describes how long it took, beside what the agent says of it.
    pub fn describe_length(&self) -> String {
        let ours = human(Duration::from_millis(self.length_ms()));
        match self.own_ms {
            Some(own) => format!("{ours} (agent: {})", human(Duration::from_millis(own))),
            None => ours,
        }
    }
}

/// What a lane is about, in the order in which lanes are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Track {
    /// One agent process.
    Run,
    /// A prompt and what followed.
    Turn,
    /// The model thinks, as far as the agent shows it.
    Thinking,
    /// The model writes text.
    Text,
    /// A tool call.
    Tool,
    /// Another agent at work for this one.
    SubAgent,
    /// A question, from asked to answered.
    Approval,
    /// A hook called.
    Hook,
    /// Plans, changed files, notices.
    Note,
    /// A failed request or a lost connection is tried again; a run is started again.
    Retry,
    /// Nothing was heard although nothing was open.
    Silence,
    /// What we believed about the agent.
    Health,
    /// What we concluded.
    Verdict,
    /// The agent was told to stop: signals, and the stages of a kill.
    Stop,
}

impl Track {
    /// All of them, from top to bottom.
    pub const ALL: [Track; 14] = [
        Track::Run,
        Track::Turn,
        Track::Thinking,
        Track::Text,
        Track::Tool,
        Track::SubAgent,
        Track::Approval,
        Track::Hook,
        Track::Note,
        Track::Retry,
        Track::Silence,
        Track::Health,
        Track::Verdict,
        Track::Stop,
    ];

    /// What to write beside the lane.
    pub fn title(self) -> &'static str {
        match self {
            Track::Run => "run",
            Track::Turn => "turn",
            Track::Thinking => "thinking",
            Track::Text => "model",
            Track::Tool => "tools",
            Track::SubAgent => "agents",
            Track::Approval => "questions",
            Track::Hook => "hooks",
            Track::Note => "notes",
            Track::Retry => "retries",
            Track::Silence => "silence",
            Track::Health => "health",
            Track::Verdict => "verdicts",
            Track::Stop => "stop",
        }
    }

    /// The word in the JSON form.
    pub fn name(self) -> &'static str {
        match self {
            Track::Text => "text",
            Track::Tool => "tool",
            Track::SubAgent => "sub_agent",
            Track::Approval => "approval",
            Track::Hook => "hook",
            Track::Note => "note",
            Track::Retry => "retry",
            Track::Verdict => "verdict",
            same => same.title(),
        }
    }
}

/// How a span is to be felt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tone {
    /// Neither good nor bad.
    Plain,
    /// It went well.
    Good,
    /// Worth a look.
    Warn,
    /// It went wrong.
    Bad,
}

impl From<OutcomeClass> for Tone {
    fn from(class: OutcomeClass) -> Tone {
        match class {
            OutcomeClass::Success => Tone::Good,
            OutcomeClass::Failure => Tone::Bad,
            // Nothing went wrong, and nothing went well either.
            OutcomeClass::Refusal | OutcomeClass::Unknown => Tone::Warn,
        }
    }
}

#[cfg(test)]
mod tests;
