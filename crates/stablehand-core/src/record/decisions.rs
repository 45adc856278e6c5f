//! Every decision that a log can hold, as one enum: its name, its level and its typed fields.
//!
//! Owns the names. The fields are in the files of the folder, by subject; `docs/log-format.md` has the
//! same table for users, and `docs/log.schema.json` is made from it. Reading is lenient: a field that
//! is missing, null or of another type has its default, and costs none of its neighbours.

mod fields;
mod hooks;
mod log;
mod monitor;
mod run;
mod talk;
mod word;

pub use hooks::{
    HookAnswered, HookPermitted, HookReceived, HookReply, HooksChanged, HooksInstalled,
    HooksRemoved, HooksTried, ToolNotAsked,
};
pub use log::{
    LogDegraded, LogMoved, LogOpened, LogRecovered, LogTruncated, OutputCut, OutputFailed,
    OutputLost, SessionDeleted, SettingsChosen, Verified,
};
pub use monitor::{
    BackgroundStopped, ClockStepped, LimitsMoved, LivelockSuspected, MonitorStarted, MonitorTold,
    NumberedCalls, OpenCall, ResultStands, StateDump, ToolCallCompleted, ToolCallOpened,
    ToolCallUndeclared, ToolCallUnstarted, VerdictReached, VerdictWaiting, WaitEnded,
};
pub use run::{
    AgentExited, AgentKilled, AskedToLeave, PromptAfterHang, PromptGiven, PromptRefused,
    PromptTyped, RetryScheduled, RunEnded, RunStart, SessionStarted, SignalReceived, StopStage,
    TerminalResized, TreeNotEmpty,
};
pub use talk::{
    AnswerRefused, ApprovalRequested, ApprovalResolved, ClientLeft, ClientLine, LeftAlone,
    OwnClientLine, PolicyDecided, PromptJudged, RuleWritten, SessionEnded, ToldAgent, ToldClient,
    TurnCancelled, TurnContinued, TurnEnded, TurnStarted, Withheld,
};
pub use word::LogWord;

use super::Level;
use crate::json::Object;
use serde::{Deserialize, Serialize};

/// The name of a decision stands within so much of its line, behind the time and the level.
const LONGEST_HEAD: usize = 160;

/// The fields of a record that has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NoFields {}

/// The fields of a record that says everything in words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Remark {
    /// For people.
    pub text: String,
}

impl<T: Into<String>> From<T> for Remark {
    fn from(text: T) -> Remark {
        Remark { text: text.into() }
    }
}

/// Makes the enum from a table: variant, the fields where other records share their type, name in the
/// log, usual level.
macro_rules! decision_records {
    ($($(#[$about:meta])* $variant:ident $(($shared:ident))? = $name:literal, $level:ident;)*) => {
        /// What we did, as the log records it: a decision without its time, level and event.
        #[derive(Clone, Debug, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(tag = "msg", rename_all = "snake_case")]
        #[non_exhaustive]
        pub enum DecisionRecord {
            $($(#[$about])* $variant(fields_of!($variant $($shared)?)),)*
        }

        /// Which decision, without its fields.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum DecisionKind {
            $($(#[$about])* $variant,)*
        }

        impl DecisionKind {
            /// All of them.
            pub const ALL: &'static [DecisionKind] = &[$(DecisionKind::$variant),*];

            /// The name of it, as `msg` has it.
            pub fn name(self) -> &'static str {
                match self {
                    $(DecisionKind::$variant => $name,)*
                }
            }

            /// The decision of that name; `None` where a newer version wrote it.
            pub fn by_name(name: &str) -> Option<DecisionKind> {
                Some(match name {
                    $($name => DecisionKind::$variant,)*
                    _ => return None,
                })
            }

            fn usual_level(self) -> Level {
                match self {
                    $(DecisionKind::$variant => Level::$level,)*
                }
            }
        }

        impl DecisionRecord {
            /// Which decision it is.
            pub fn kind(&self) -> DecisionKind {
                match self {
                    $(DecisionRecord::$variant(_) => DecisionKind::$variant,)*
                }
            }

            /// Reads the members of a record as the fields of that decision.
            pub fn read(kind: DecisionKind, fields: &Object<'_>) -> DecisionRecord {
                match kind {
                    $(DecisionKind::$variant => {
                        DecisionRecord::$variant(fields::read(fields))
                    })*
                }
            }
        }

        $(record_of!($variant $($shared)?);)*
    };
}

/// The type of a record's fields: its own, which is called like the record, or a shared one.
macro_rules! fields_of {
    ($own:ident) => {
        $own
    };
    ($own:ident $shared:ident) => {
        $shared
    };
}

/// Makes a record from its fields, where no other has the same.
macro_rules! record_of {
    ($own:ident) => {
        impl From<$own> for DecisionRecord {
            fn from(fields: $own) -> DecisionRecord {
                DecisionRecord::$own(fields)
            }
        }
    };
    ($own:ident $shared:ident) => {};
}

decision_records! {
    /// The first record of a log.
    LogOpened = "log_opened", Debug;
    /// The log cannot be written.
    LogDegraded = "log_degraded", Error;
    /// The log can be written again.
    LogRecovered = "log_recovered", Warn;
    /// Another program truncated the log.
    LogTruncated = "log_truncated", Error;
    /// Another program deleted, moved or replaced the file of the log.
    LogMoved = "log_moved", Warn;
    /// Standard output cannot be written.
    OutputFailed = "output_failed", Error;
    /// Output was lost before it was shown.
    OutputLost = "output_lost", Error;
    /// Faces show only the beginning of a tool's output; once in each run.
    OutputCut = "output_cut", Warn;
    /// The index could not be filled while the run went on.
    IndexBehind(Remark) = "index_behind", Debug;
    /// What was read was compared with what was written and logged.
    Verified = "verified", Info;
    /// The session has a mode, a model or a folder that somebody chose.
    SettingsChosen = "settings_chosen", Debug;
    /// Somebody deleted the session: it is no longer listed or opened. Its logs stay.
    SessionDeleted = "session_deleted", Info;
    /// Something in a project's file does not hold.
    SettingIgnored(Remark) = "setting_ignored", Warn;

    /// The agent runs.
    AgentSpawned(RunStart) = "agent_spawned", Info;
    /// The agent could not be started.
    SpawnFailed(RunStart) = "spawn_failed", Error;
    /// What the agent is asked.
    PromptGiven = "prompt_given", Debug;
    /// The agent closed its standard input before it had the prompt.
    PromptRefused = "prompt_refused", Warn;
    /// The prompt is typed at the agent's terminal.
    PromptTyped = "prompt_typed", Info;
    /// The agent's screen was looked at.
    ScreenSettled(NoFields) = "screen_settled", Debug;
    /// The agent's terminal got another size.
    TerminalResized = "terminal_resized", Debug;
    /// The agent is asked to leave by its own keys.
    AskedToLeave = "asked_to_leave", Info;
    /// The agent named its session.
    SessionStarted = "session_started", Info;
    /// Another run has the session; this one is stopped.
    SessionTaken(Remark) = "session_taken", Error;
    /// The lease of the session could not be written.
    LeaseFailed(Remark) = "lease_failed", Warn;
    /// A signal told us to stop.
    SignalReceived = "signal_received", Info;
    /// A stage of a stop; INFO for an interrupt.
    AgentKilled = "agent_killed", Warn;
    /// The keeper process was killed.
    KeeperLost(Remark) = "keeper_lost", Error;
    /// The keeper did not empty the agent's process tree in time.
    TreeNotEmpty = "tree_not_empty", Error;
    /// The agent has ended and its tree is gone.
    AgentExited = "agent_exited", Info;
    /// The last record of a run.
    RunEnded = "run_ended", Info;
    /// Another run follows, because this one hung or broke off.
    RetryScheduled = "retry_scheduled", Warn;
    /// The wait for another run was cancelled.
    RetryCancelled(Remark) = "retry_cancelled", Info;
    /// `cursor-wrap` goes on with `--prompt-after-hang`.
    PromptAfterHang = "prompt_after_hang", Info;

    /// The limits that the monitor judges by.
    MonitorStarted = "monitor_started", Debug;
    /// The monitor was told something that no other record says.
    MonitorTold = "monitor_told", Debug;
    /// The wall clock was set.
    ClockStepped = "clock_stepped", Debug;
    /// What we believe of the agent changed; its event says how.
    HealthChanged(NoFields) = "health_changed", Debug;
    /// A tool call began.
    ToolCallOpened = "tool_call_opened", Info;
    /// A tool call is over.
    ToolCallCompleted = "tool_call_completed", Debug;
    /// A line of the agent's output is no JSON object.
    LineUnparsable(Remark) = "line_unparsable", Warn;
    /// A tool call is over that never began.
    ToolCallUnstarted = "tool_call_unstarted", Warn;
    /// A tool call declares no timeout, so its limit is a guess.
    ToolCallUndeclared = "tool_call_undeclared", Warn;
    /// A silence is waited out.
    VerdictWaiting = "verdict_waiting", Debug;
    /// Limits moved, because time passed that nobody could use.
    LimitsMoved = "limits_moved", Info;
    /// The agent's processes are looked at before a verdict.
    WitnessAsked(NoFields) = "witness_asked", Debug;
    /// The same calls gave the same results.
    LivelockSuspected = "livelock_suspected", Warn;
    /// Background commands that may keep the agent from ending were stopped.
    BackgroundStopped = "background_stopped", Warn;
    /// A verdict: the agent hangs.
    HangDetected(VerdictReached) = "hang_detected", Error;
    /// A limit on use was reached: a verdict, or WARN while a tool may still finish.
    LimitReached(VerdictReached) = "limit_reached", Error;
    /// A verdict that is only observed.
    WouldHaveKilled(VerdictReached) = "would_have_killed", Warn;
    /// The agent ended its turns after a verdict, and stays.
    VerdictLifted(Remark) = "verdict_lifted", Warn;
    /// A result that came while background tasks were open was the last one of its turn.
    ResultStands = "result_stands", Debug;
    /// The result came, but the agent does not exit.
    ExitOverdue(Remark) = "exit_overdue", Info;
    /// A person asked for the state (SIGQUIT).
    StateDump = "state_dump", Warn;

    /// Something was written to an agent that listens while it works.
    Told(ToldAgent) = "told", Debug;
    /// A client of the agent's wrote a line to it.
    ClientSaid(OwnClientLine) = "client_said", Debug;
    /// Something of our own was written to that client.
    ToldClient = "told_client", Debug;
    /// The client is gone.
    ClientLeft = "client_left", Info;
    /// A line of the agent's was kept from the client.
    Withheld = "withheld", Warn;
    /// A question of the agent was answered.
    ApprovalResolved = "approval_resolved", Info;
    /// A policy judged what the agent asks.
    PolicyDecided = "policy_decided", Info;
    /// A rule about prompts kept a prompt from the agent.
    PromptDenied(PromptJudged) = "prompt_denied", Warn;
    /// A rule about prompts warns of a prompt that the agent gets.
    PromptWarned(PromptJudged) = "prompt_warned", Warn;
    /// The answer "always" wrote a rule.
    RuleWritten = "rule_written", Info;
    /// The person or program that answered questions is gone.
    LeftAlone = "left_alone", Info;
    /// The agent asks whether it may do something.
    ApprovalRequested = "approval_requested", Debug;
    /// An answer came for a question that is not open, or that it does not answer.
    AnswerRefused = "answer_refused", Warn;
    /// A prompt gets its turn.
    TurnStarted = "turn_started", Debug;
    /// A turn is over.
    TurnEnded = "turn_ended", Debug;
    /// The last record of the session.
    SessionEnded = "session_ended", Debug;
    /// A turn was interrupted.
    TurnCancelled = "turn_cancelled", Info;
    /// The turn, or a process that it began, did not end although it was interrupted.
    CancelIgnored(Remark) = "cancel_ignored", Warn;
    /// The agent does not take something that was asked for.
    LeftOut(Remark) = "left_out", Warn;
    /// A rule has the agent go on after its turn.
    Continued(TurnContinued) = "continued", Info;
    /// A rule to go on fits, but cannot be carried out.
    NotContinued(Remark) = "not_continued", Warn;

    /// Our entries are in the agent's file of hooks.
    HooksInstalled = "hooks_installed", Info;
    /// Something in that file is odd.
    HooksOdd(Remark) = "hooks_odd", Warn;
    /// The hook command was tried before the start.
    HooksTried = "hooks_tried", Debug;
    /// A hook called.
    HookReceived = "hook_received", Debug;
    /// A hook got an answer without a question.
    HookAnswered = "hook_answered", Info;
    /// The agent asks again about a call that was just allowed.
    HookPermitted = "hook_permitted", Debug;
    /// A caller was not listened to.
    HookRefused(Remark) = "hook_refused", Warn;
    /// A payload is no JSON.
    HookUnreadable(Remark) = "hook_unreadable", Warn;
    /// A tool was used that nobody asked about; ERROR where that stops the agent.
    ToolNotAsked = "tool_not_asked", Warn;
    /// Our entries in the agent's file were removed or changed during a run; the agent is killed.
    HooksChanged = "hooks_changed", Error;
    /// The agent uses a tool and has called no hook; it is killed.
    HooksInactive(Remark) = "hooks_inactive", Error;
    /// The agent's file was given back.
    HooksRemoved = "hooks_removed", Info;
    /// The agent's file could not be given back.
    HooksLeft(Remark) = "hooks_left", Error;
}

impl DecisionKind {
    /// Returns true if a line may be this decision. It is cheap, and finds every record that we
    /// wrote; whether the line is one, only reading it tells.
    pub fn is_named_in(self, line: &[u8]) -> bool {
        let head = line.get(..LONGEST_HEAD).unwrap_or(line);
        memchr::memmem::find(head, self.name().as_bytes()).is_some()
    }
}

impl DecisionRecord {
    /// The start of a run, also of one that failed.
    pub fn run_start(&self) -> Option<&RunStart> {
        match self {
            DecisionRecord::AgentSpawned(start) | DecisionRecord::SpawnFailed(start) => Some(start),
            _ => None,
        }
    }

    /// How loud it is.
    pub fn level(&self) -> Level {
        match self {
            DecisionRecord::AgentKilled(killed) if killed.stage.is(&StopStage::Interrupt) => {
                Level::Info
            }
            DecisionRecord::LimitReached(reached) if reached.soft => Level::Warn,
            DecisionRecord::ToolNotAsked(tool) if tool.decision.is_some() && !tool.tolerated => {
                Level::Error
            }
            DecisionRecord::Verified(verified) if !verified.identical => Level::Error,
            _ => self.kind().usual_level(),
        }
    }
}
