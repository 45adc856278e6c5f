//! What the monitor is told and what it answers.
//!
//! Owns the vocabulary between the monitor and whoever drives it; decides nothing.

use crate::event::{EventKind, Evidence, Health, OpenTool, Outcome, VerdictKind};
use crate::id::CallId;
use crate::monitor::words;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Something the monitor is told.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// An event; those of the agent's stream carry its own name of the type.
    Event {
        /// What happened.
        kind: &'a EventKind,
        /// The agent's own type name, for evidence; empty where there is none.
        native: &'a str,
    },
    /// Bytes that were no event: noise, standard error. A weak sign of life.
    Heard,
    /// The deadline has come. Give everything that is readable first: an event that waits in the
    /// pipe is not silence.
    Tick,
    /// Our own loop slept for so much longer than it wanted to; every deadline moves.
    Gap(Duration),
    /// The machine was suspended for so long; every limit begins anew.
    Suspended(Duration),
    /// Our own consumer blocks us, or does so no longer; no limit runs meanwhile.
    Backpressure(bool),
    /// The agent process has ended.
    AgentExited,
    /// The answer to [`Action::AskWitness`].
    Witness {
        /// Processor time that the tree used in the window.
        tree_cpu: Duration,
        /// The window.
        window: Duration,
        /// Any other sign: a growing transcript, moving sockets.
        other_activity: bool,
    },
    /// A person was asked, or has answered; no limit runs meanwhile.
    ApprovalPending(bool),
    /// The agent waits for its next prompt, between two turns of one process, or does so no longer;
    /// no limit runs meanwhile.
    Resting(bool),
    /// A further prompt was given to the same process: a turn begins, and every limit with it.
    Prompted,
    /// Traffic beside the stream: a hook called us.
    SideChannel,
}

/// Something the monitor wants done or known.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// What we believe changed. The change to stalled is [`Action::Verdict`].
    Health {
        /// What we believed.
        from: Health,
        /// What we believe now.
        to: Health,
        /// Why.
        why: String,
    },
    /// The agent is silent and we wait; once per interval.
    Waiting {
        /// For how long nothing was heard.
        silence: Duration,
        /// Calls that are open.
        open: Vec<OpenTool>,
        /// Why we still wait.
        why: String,
    },
    /// Limits moved: our loop slept, the machine was suspended, or a busy tree gets more time.
    LimitsMoved {
        /// By how much.
        by: Duration,
        /// What moved them.
        cause: Moved,
        /// Why.
        why: String,
    },
    /// Look at the tree and answer with [`Input::Witness`]. Whoever takes more than two seconds
    /// is not waited for.
    AskWitness,
    /// Stop these background commands: they may be what keeps the agent from ending. The ids are
    /// the agent's word; whoever acts makes sure that they belong to the tree.
    StopBackground {
        /// Process ids, as the agent told them.
        pids: Vec<u32>,
    },
    /// A call began.
    ToolOpened(OpenTool),
    /// A call is over.
    ToolClosed {
        /// Which.
        call: CallId,
        /// Whether its completion never came, but its successor did.
        presumed: bool,
        /// How long it was open.
        elapsed: Duration,
        /// How it ended, where told.
        outcome: Option<Outcome>,
    },
    /// A limit was reached while a tool is open: it may finish, then comes the verdict.
    SoftStop {
        /// Which limit.
        verdict: VerdictKind,
        /// In words.
        why: String,
    },
    /// We give up; given once.
    Verdict(Box<Judgement>),
    /// A result came while background tasks were open; none is open any more, and the agent did not
    /// go on: that result was the last one of the turn. The driver and
    /// the replay have their decoders say so ([`crate::decode::Decode::finish`]).
    ResultStands,
    /// The terminal event came and the process is still there: stop the tree. The outcome stays
    /// what the agent said.
    ExitOverdue,
    /// The agent does the same again and again; once for each streak.
    Livelock {
        /// How many calls make one round.
        period: usize,
        /// How many equal rounds there were.
        rounds: u32,
        /// The last call.
        command: String,
    },
}

/// What moves limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Moved {
    /// Our own loop did not run.
    Gap,
    /// The machine was suspended.
    Suspension,
    /// The agent's processes are busy.
    Busy,
}

impl Moved {
    /// Returns the cause that the words of a record name. Logs that were written before records named
    /// the cause have nothing else; the words are ours, and these are their beginnings.
    pub fn of_words(said: &str) -> Option<Moved> {
        let begins = [
            (words::SUSPENDED, Moved::Suspension),
            (words::STARVED, Moved::Gap),
            (words::BUSY, Moved::Busy),
        ];
        begins.into_iter().find(|(words, _)| said.starts_with(words)).map(|(_, moved)| moved)
    }
}

/// A verdict and what it rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// Which.
    pub kind: VerdictKind,
    /// What was believed before.
    pub from: Health,
    /// In words; begins `hang detected:` for hangs and `limit reached:` for limits.
    pub text: String,
    /// Evidence. Pipe fill and processes are for whoever can look at them.
    pub evidence: Evidence,
}

/// What a status line shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// What we believe.
    pub health: Health,
    /// For how long.
    pub since: Duration,
    /// For how long nothing was heard.
    pub quiet: Duration,
    /// Calls that are open, oldest first.
    pub open: Vec<OpenTool>,
    /// How many run in the background.
    pub background: usize,
    /// Tool calls so far.
    pub tool_calls: u64,
    /// Answers of the model so far.
    pub turns: u64,
    /// Tokens so far, where the agent states them.
    pub tokens: u64,
    /// Dollars so far, where the agent states them.
    pub cost_usd: f64,
}
