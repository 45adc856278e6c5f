//! The table of causes: each a small function of the facts of a run.
//!
//! Owns the names of the causes, the order in which they are tried and how they are ranked. By what
//! goes wrong: how the process ended ([`ends`]), what the agent said ([`said`]), silence
//! ([`silence`]), tools ([`tools`]), and what we or somebody else did ([`ours`]). `docs/post-mortem.md`
//! has the same list for people; a test holds the two together.

mod ends;
mod habits;
mod ours;
mod said;
mod silence;
mod tools;

use super::Sure;
use super::facts::{Facts, Seen};
use serde::Serialize;

/// The most causes that a report names: a list of everything says nothing.
const NAMED: usize = 3;

/// What a run may have ended of, or suffered from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CauseKind {
    /// A limit that somebody set was reached.
    LimitSet,
    /// A person or a signal ended it.
    Interrupted,
    /// Whoever read our output went away.
    ReaderGone,
    /// The program could not be started.
    NotStarted,
    /// Another run had the session.
    SessionTaken,
    /// Somebody killed the process that keeps the tree.
    KeeperLost,
    /// The agent was to be held by hooks and did not call them.
    HooksInactive,
    /// Our hooks in the agent's file were removed or changed during the run.
    HooksChanged,
    /// The agent ran a tool without asking, and the rules do not allow it.
    NotAsked,
    /// The log could not be written, and was required.
    LogFailed,
    /// The log has no end of the run.
    Unfinished,
    /// Not logged in, or a key that is not accepted.
    NotLoggedIn,
    /// Too many requests.
    RateLimited,
    /// The quota or plan is used up.
    QuotaUsedUp,
    /// The model's service is overloaded.
    ServiceOverloaded,
    /// The conversation is too long.
    ConversationTooLong,
    /// The network, or the way to the service, failed.
    NetworkFailed,
    /// No such model.
    ModelUnavailable,
    /// The request was refused.
    RequestRefused,
    /// The session to resume is not there.
    ResumeRefused,
    /// The workspace is not trusted.
    NotTrusted,
    /// A tool failed, and the turn with it.
    ToolFailed,
    /// Something inside the agent failed.
    AgentFailed,
    /// The model refused.
    ModelRefused,
    /// A limit of the agent's own.
    AgentLimit,
    /// The turn was cancelled.
    TurnCancelled,
    /// The agent tried again and again, and got nowhere.
    RetriesInVain,
    /// What the agent asked was denied because nobody answered.
    NobodyAnswered,
    /// What the agent wanted to do was denied.
    Denied,
    /// A question was still open.
    OpenQuestion,
    /// The program crashed.
    Crashed,
    /// A signal that was not ours ended it.
    Killed,
    /// Memory ran out.
    OutOfMemory,
    /// The disk is full.
    DiskFull,
    /// The program is not installed as it should be.
    BrokenInstall,
    /// The end of the output was lost.
    OutputLost,
    /// The answer came, its terminal event did not.
    ResultLost,
    /// It ended at once without a word.
    SaidNothing,
    /// It closed its standard input before it had the prompt.
    PromptRefused,
    /// Its lines are not those of the dialect.
    ForeignLines,
    /// It waits for more input before it begins.
    WaitsForStdin,
    /// It was still starting.
    SlowStart,
    /// It never began.
    NoStart,
    /// A background command kept the result back.
    BackgroundHeld,
    /// The machine had been suspended.
    AfterSuspend,
    /// It worked without a word.
    BusySilence,
    /// A tool was at work that is told of only when it is over.
    UnseenTool,
    /// The model's answer stopped coming.
    Stalled,
    /// The limit is shorter than such models think.
    TooImpatient,
    /// Signs of life, nothing new.
    OnlyKeepalives,
    /// The same calls with the same results.
    Livelock,
    /// The same call or the same words, though not the same results.
    RepeatsItself,
    /// A process was stopped, not ended.
    ProcessStopped,
    /// A process waits inside the kernel.
    StuckInKernel,
    /// At its terminal it waits for a key.
    WaitsForKey,
    /// A command waits for input.
    WaitsForInput,
    /// A command that never ends by itself.
    EndlessCommand,
    /// It waits for a permission that nobody can give.
    WaitsForPermission,
    /// The tool was still at work.
    ToolTooSlow,
    /// The tool did not come back.
    ToolSilent,
    /// It delivered its result and did not exit.
    NoExit,
    /// Processes outlived it.
    LeftBehind,
    /// Processes could not be stopped.
    Survivors,
    /// It had to be killed.
    NeededKill,
    /// Completions of tools were lost.
    LostCompletion,
    /// The log could not be written for a while.
    LogDegraded,
    /// Hooks did not do their part.
    HookTrouble,
    /// Our own loop did not get to run.
    Starved,
    /// The clock was set back.
    ClockSetBack,
    /// With `--observe-only`: it would have been stopped.
    WouldHaveKilled,
    /// Lines of the log are damaged.
    Damaged,
}

impl CauseKind {
    /// All of them, in the order of the document.
    pub const ALL: &[CauseKind] = &[
        CauseKind::LimitSet,
        CauseKind::Interrupted,
        CauseKind::ReaderGone,
        CauseKind::NotStarted,
        CauseKind::SessionTaken,
        CauseKind::KeeperLost,
        CauseKind::HooksInactive,
        CauseKind::HooksChanged,
        CauseKind::NotAsked,
        CauseKind::LogFailed,
        CauseKind::Unfinished,
        CauseKind::NotLoggedIn,
        CauseKind::RateLimited,
        CauseKind::QuotaUsedUp,
        CauseKind::ServiceOverloaded,
        CauseKind::ConversationTooLong,
        CauseKind::NetworkFailed,
        CauseKind::ModelUnavailable,
        CauseKind::RequestRefused,
        CauseKind::ResumeRefused,
        CauseKind::NotTrusted,
        CauseKind::ToolFailed,
        CauseKind::AgentFailed,
        CauseKind::ModelRefused,
        CauseKind::AgentLimit,
        CauseKind::TurnCancelled,
        CauseKind::RetriesInVain,
        CauseKind::NobodyAnswered,
        CauseKind::Denied,
        CauseKind::OpenQuestion,
        CauseKind::Crashed,
        CauseKind::Killed,
        CauseKind::OutOfMemory,
        CauseKind::DiskFull,
        CauseKind::BrokenInstall,
        CauseKind::OutputLost,
        CauseKind::ResultLost,
        CauseKind::SaidNothing,
        CauseKind::PromptRefused,
        CauseKind::ForeignLines,
        CauseKind::WaitsForStdin,
        CauseKind::SlowStart,
        CauseKind::NoStart,
        CauseKind::BackgroundHeld,
        CauseKind::AfterSuspend,
        CauseKind::BusySilence,
        CauseKind::UnseenTool,
        CauseKind::Stalled,
        CauseKind::TooImpatient,
        CauseKind::OnlyKeepalives,
        CauseKind::Livelock,
        CauseKind::RepeatsItself,
        CauseKind::ProcessStopped,
        CauseKind::StuckInKernel,
        CauseKind::WaitsForKey,
        CauseKind::WaitsForInput,
        CauseKind::EndlessCommand,
        CauseKind::WaitsForPermission,
        CauseKind::ToolTooSlow,
        CauseKind::ToolSilent,
        CauseKind::NoExit,
        CauseKind::LeftBehind,
        CauseKind::Survivors,
        CauseKind::NeededKill,
        CauseKind::LostCompletion,
        CauseKind::LogDegraded,
        CauseKind::HookTrouble,
        CauseKind::Starved,
        CauseKind::ClockSetBack,
        CauseKind::WouldHaveKilled,
        CauseKind::Damaged,
    ];
}

/// A cause that fits.
#[derive(Clone, Debug)]
pub(super) struct Finding {
    pub(super) kind: CauseKind,
    pub(super) sure: Sure,
    /// Whether it explains how the run ended; otherwise it stands beside it.
    pub(super) explains: bool,
    pub(super) why: String,
    pub(super) seen: Vec<Seen>,
    pub(super) change: Vec<String>,
}

impl Finding {
    fn new(kind: CauseKind, sure: Sure, why: impl Into<String>) -> Finding {
        let (seen, change) = (Vec::new(), Vec::new());
        Finding { kind, sure, explains: true, why: why.into(), seen, change }
    }

    /// It explains nothing; it is only good to know.
    fn beside(mut self) -> Finding {
        self.explains = false;
        self
    }

    fn seen(mut self, seen: &Seen) -> Finding {
        self.seen.push(seen.clone());
        self
    }

    fn all_seen<'s>(mut self, seen: impl IntoIterator<Item = &'s Seen>) -> Finding {
        self.seen.extend(seen.into_iter().cloned());
        self
    }

    fn change(mut self, what: impl Into<String>) -> Finding {
        self.change.push(what.into());
        self
    }

    fn changes(mut self, what: impl IntoIterator<Item = String>) -> Finding {
        self.change.extend(what);
        self
    }
}

/// Tried in order; of equally sure ones, the first comes first.
const CAUSES: &[fn(&Facts) -> Option<Finding>] = &[
    ours::limit_set,
    ours::interrupted,
    ours::reader_gone,
    ours::not_started,
    ours::could_not_go_on,
    said::by_the_end,
    tools::livelock,
    tools::repeats_itself,
    tools::open_question,
    ends::crashed,
    tools::process_stopped,
    ends::out_of_memory,
    ends::disk_full,
    said::in_passing,
    said::retries_in_vain,
    tools::waits_for_key,
    tools::stuck_in_kernel,
    tools::waits_for_input,
    tools::endless_command,
    tools::waits_for_permission,
    tools::too_slow,
    tools::silent,
    silence::background_held,
    silence::after_suspend,
    silence::busy,
    silence::unseen_tool,
    silence::result_lost,
    silence::only_keepalives,
    silence::waits_for_stdin,
    silence::start,
    silence::stalled,
    silence::too_impatient,
    ends::broken_install,
    ends::output_lost,
    ends::result_lost,
    ours::foreign_lines,
    ours::prompt_refused,
    said::denied,
    ends::said_nothing,
    ours::unfinished,
    ends::survivors,
    ends::left_behind,
    ends::no_exit,
    ends::needed_kill,
    tools::lost_completion,
    ours::log_degraded,
    ours::hook_trouble,
    ours::would_have_killed,
    ours::starved,
    ours::clock_set_back,
    ours::damaged,
];

/// What explains how the run ended, the surest first, and what is good to know beside it.
pub(super) fn find(facts: &Facts) -> (Vec<Finding>, Vec<Finding>) {
    let found = CAUSES.iter().filter_map(|cause| cause(facts));
    let (mut causes, remarks): (Vec<_>, Vec<_>) =
        found.partition(|finding| finding.explains && !facts.ended_well());
    causes.sort_by_key(|finding| finding.sure);
    let surest = causes.first().map_or(Sure::Possible, |first| first.sure);
    causes.retain(|finding| surest != Sure::Certain || finding.sure != Sure::Possible);
    // It is all that is left to say of a tool where nothing else is.
    causes.retain(|finding| surest == Sure::Possible || finding.kind != CauseKind::ToolSilent);
    causes.truncate(NAMED);
    (causes, remarks)
}
