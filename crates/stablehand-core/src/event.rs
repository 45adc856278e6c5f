//! The one event model that every agent is read into and every face shows.
//!
//! Owns the vocabulary and its JSON form. Does not decode ([`crate::decode`]), judge
//! ([`crate::monitor`]) or store ([`crate::record`]). Kinds are dotted and in the past tense; each
//! variant says when it is emitted. `docs/event-model.md` and `docs/event.schema.json` describe the
//! same for other programs.

mod approval;
mod end;
mod health;
mod item;
mod outcome;
mod usage;

pub use approval::Choice;
pub use end::{EndedBy, FailureKind, ProcessExit, SessionEnd, TurnEnd};
pub use health::{Evidence, Health, OpenTask, OpenTool, ProcessRow, VerdictKind};
pub use item::{
    Item, ItemBody, NoticeLevel, TextRole, Todo, TodoStatus, Tool, ToolClass, ToolInput, ToolKind,
};
pub use outcome::{Outcome, OutcomeClass};
pub use usage::{Tokens, Usage};

use crate::actor::{Actor, ActorKind};
use crate::id::{CallId, ItemId, RunId, Seq, SessionId, TurnId};
use crate::time::UnixMillis;
use serde::{Deserialize, Serialize};

/// The version of the event model on the wire.
pub const EVENT_VERSION: u32 = 1;

/// One fact, stamped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Event {
    /// Version of this model.
    pub v: u32,
    /// Position in the log; dense.
    pub seq: Seq,
    /// When we received or decided it; in JSON RFC 3339 in UTC with milliseconds.
    #[serde(with = "crate::time::as_rfc3339")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub at: UnixMillis,
    /// The agent's id of the session, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// Our id of the turn that it belongs to, where it belongs to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// Our id of the run.
    pub run: RunId,
    /// Who says so.
    pub origin: Origin,
    /// What happened.
    pub event: EventKind,
}

impl Event {
    /// Stamps a fact. The one caller per log gives the sequence numbers.
    pub fn stamp(
        seq: Seq,
        at: UnixMillis,
        session: Option<SessionId>,
        run: RunId,
        origin: Origin,
        event: EventKind,
    ) -> Self {
        Event { v: EVENT_VERSION, seq, at, session, turn: None, run, origin, event }
    }
}

/// Who an event comes from: the agent's word is not our inference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The agent's own stream.
    Agent,
    /// A hook that the agent called.
    Hook,
    /// Stablehand itself.
    Supervisor,
}

/// Every kind of fact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type")]
#[non_exhaustive]
pub enum EventKind {
    /// The agent named its session; emitted once per run, when the first line that names it comes.
    #[serde(rename = "session.started")]
    SessionStarted {
        /// The agent's kind, as its dialect names it.
        agent: String,
        /// Its version, where it says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent_version: Option<String>,
        /// The agent's id of the session.
        native_id: SessionId,
        /// The model that answers, as the agent names it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// The working directory of the session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cwd: Option<String>,
        /// The session that this one continues, where we asked for that.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resumed_from: Option<SessionId>,
    },
    /// A turn began: emitted once for each accepted prompt, before the agent has it. In a stream
    /// that we do not prompt ourselves, when the agent echoes the prompt or first answers.
    #[serde(rename = "turn.started")]
    TurnStarted {
        /// The prompt, where it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<String>,
        /// Who prompted, where we did it for somebody.
        #[serde(flatten)]
        by: Option<Actor>,
    },
    /// The agent reported a result. The turn may go on: background tasks are open that may wake the
    /// agent, a rule continues it, or it is retried.
    #[serde(rename = "turn.result")]
    TurnResult {
        /// How the agent says that it ended.
        end: TurnEnd,
        /// The agent's final text, where it repeats it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// What it used, where stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// How long the agent says it took, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
    },
    /// A turn is over: emitted once for each accepted prompt, after every retry and continuation.
    /// In a stream that we do not prompt ourselves, with the agent's terminal event.
    #[serde(rename = "turn.ended")]
    TurnEnded {
        /// How.
        end: TurnEnd,
        /// The agent's final text, where it repeats it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// What the turn used, where stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// How long the agent says it took, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
    },
    /// A rule of the user's has the agent go on: emitted after a turn that ended well, before the
    /// agent is told; in a run of one turn a process, before the end of the process is told. Within a
    /// turn where `sub_agent` is there: then it is a sub-agent that goes on.
    #[serde(rename = "turn.continued")]
    TurnContinued {
        /// What it is told.
        prompt: String,
        /// The rule, with its file and line.
        by: String,
        /// How often that rule has been used, with this time.
        count: u32,
        /// How often it may be.
        max: u32,
        /// The agent's id of the sub-agent that goes on, where it is one; may be empty.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sub_agent: Option<String>,
    },
    /// Something with a beginning and an end began.
    #[serde(rename = "item.started")]
    ItemStarted {
        /// The item as far as it is known.
        item: Item,
    },
    /// An open message or reasoning grew. Never without new text, though the text itself is left out
    /// when a stream is only skimmed.
    #[serde(rename = "item.delta")]
    ItemDelta {
        /// Which item.
        id: ItemId,
        /// What kind of text.
        role: TextRole,
        /// The new text only.
        text: String,
    },
    /// An item is complete; for a tool, with its outcome.
    #[serde(rename = "item.completed")]
    ItemCompleted {
        /// The whole item.
        item: Item,
    },
    /// Somebody must decide; emitted when the agent, a hook or the policy asks.
    #[serde(rename = "approval.requested")]
    ApprovalRequested {
        /// The id to answer to.
        id: String,
        /// The call that it is about, where it is about one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        /// What is asked, for a person.
        what: String,
        /// The choices.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        options: Vec<String>,
        /// What is to be done, where the question itself says so: command, path, diff.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool: Option<Box<Tool>>,
        /// Why it is asked: the rule's reason, where a policy asks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
        /// Whether the agent waits for somebody to answer; not where a rule or the agent decides.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        waits: bool,
    },
    /// A question was answered.
    #[serde(rename = "approval.resolved")]
    ApprovalResolved {
        /// The id that was asked under.
        id: String,
        /// The choice.
        choice: Choice,
        /// Who chose.
        #[serde(flatten)]
        by: Actor,
    },
    /// The agent stated what it used so far.
    #[serde(rename = "usage.updated")]
    UsageUpdated {
        /// Per turn or in total is part of the type.
        usage: Usage,
    },
    /// The agent will try a failed request again.
    #[serde(rename = "retry.scheduled")]
    RetryScheduled {
        /// The agent's count of attempts.
        attempt: u64,
        /// What the agent says about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
    /// The agent's connection to its model changed.
    #[serde(rename = "connection.changed")]
    ConnectionChanged {
        /// The agent's word: `reconnecting`, `reconnected`.
        state: String,
        /// The agent's count of attempts, where stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attempt: Option<u64>,
    },
    /// The agent process was started.
    #[serde(rename = "process.spawned")]
    ProcessSpawned {
        /// Its process id.
        pid: u32,
        /// The command line, redacted.
        argv: Vec<String>,
    },
    /// The agent wrote a line to its standard error.
    #[serde(rename = "process.stderr")]
    ProcessStderr {
        /// The line, lossy where it is not UTF-8; the log has the bytes.
        text: String,
    },
    /// The agent process ended and its tree is gone.
    #[serde(rename = "process.exited")]
    ProcessExited {
        /// With which status.
        exit: ProcessExit,
        /// Whether we had to stop it.
        forced: bool,
        /// Processes that outlived the agent and were stopped by us.
        leaked: u32,
    },
    /// What we believe about the agent changed.
    #[serde(rename = "health.changed")]
    HealthChanged {
        /// What we believed.
        from: Health,
        /// What we believe now.
        to: Health,
        /// Why, for a person.
        why: String,
        /// What it rests on; always there for a verdict.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        evidence: Option<Box<Evidence>>,
    },
    /// A hook of the agent called us.
    #[serde(rename = "hook.received")]
    HookReceived {
        /// The agent's name of the hook.
        name: String,
        /// The call it is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool: Option<CallId>,
        /// What it carried.
        payload: serde_json::Value,
    },
    /// A line that the dialect does not know; the log holds its bytes.
    #[serde(rename = "unrecognized")]
    Unrecognized {
        /// What was unexpected.
        why: Unrecognized,
        /// The beginning of it, safe to show.
        excerpt: String,
    },
    /// A run is over: one for each process of the agent, its last event.
    #[serde(rename = "run.ended")]
    RunEnded {
        /// How.
        end: SessionEnd,
        /// Who ended it.
        ended_by: EndedBy,
        /// The last text that the agent gave, where it gave no terminal event.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_text: Option<String>,
        /// What was used so far, where the agent said so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// The end of the agent's standard error, for a failure.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stderr_tail: Option<String>,
        /// Whether another run follows by itself, because this one hung or broke off.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        again: bool,
    },
    /// The session is over: exactly one, the last event of its log. Logs of format 1 have it in
    /// place of `run.ended`.
    #[serde(rename = "session.ended")]
    SessionEnded {
        /// How its last run ended.
        end: SessionEnd,
        /// Who ended it.
        ended_by: EndedBy,
        /// The last text that the agent gave, where it gave no terminal event.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_text: Option<String>,
        /// What was used so far, where the agent said so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// The end of the agent's standard error, for a failure.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stderr_tail: Option<String>,
        /// Whether another run follows; only in logs of format 1.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        again: bool,
    },
}

/// Why a line was not understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Unrecognized {
    /// Plain text between the JSON lines.
    Noise,
    /// The last line, cut short.
    Torn,
    /// JSON of a type that the dialect does not know.
    UnknownType,
    /// A known line in which one word, such as the type of a part or a status, is not known. What
    /// the rest of the line says is told beside it.
    UnknownValue,
    /// A known type without what makes it one.
    BadShape,
    /// JSON, but not an object.
    NotAnObject,
    /// Too long to be read whole and of no known beginning.
    Oversized,
}

impl EventKind {
    /// A question that was answered, by the words for the choice and for who chose.
    pub fn resolved(id: String, choice: impl Into<String>, by: impl Into<String>) -> EventKind {
        let (choice, by) = (Choice::from(choice.into()), ActorKind::from(by.into()).into());
        EventKind::ApprovalResolved { id, choice, by }
    }

    /// The dotted name, as in the JSON form.
    pub fn name(&self) -> &'static str {
        match self {
            EventKind::SessionStarted { .. } => "session.started",
            EventKind::TurnStarted { .. } => "turn.started",
            EventKind::TurnResult { .. } => "turn.result",
            EventKind::TurnEnded { .. } => "turn.ended",
            EventKind::TurnContinued { .. } => "turn.continued",
            EventKind::ItemStarted { .. } => "item.started",
            EventKind::ItemDelta { .. } => "item.delta",
            EventKind::ItemCompleted { .. } => "item.completed",
            EventKind::ApprovalRequested { .. } => "approval.requested",
            EventKind::ApprovalResolved { .. } => "approval.resolved",
            EventKind::UsageUpdated { .. } => "usage.updated",
            EventKind::RetryScheduled { .. } => "retry.scheduled",
            EventKind::ConnectionChanged { .. } => "connection.changed",
            EventKind::ProcessSpawned { .. } => "process.spawned",
            EventKind::ProcessStderr { .. } => "process.stderr",
            EventKind::ProcessExited { .. } => "process.exited",
            EventKind::HealthChanged { .. } => "health.changed",
            EventKind::HookReceived { .. } => "hook.received",
            EventKind::Unrecognized { .. } => "unrecognized",
            EventKind::RunEnded { .. } => "run.ended",
            EventKind::SessionEnded { .. } => "session.ended",
        }
    }
}
