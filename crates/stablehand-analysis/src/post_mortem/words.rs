//! The words of a post-mortem: what the agent was doing, and what its last events were.
//!
//! Owns wording only. Whatever an agent said passes through `excerpt` before it stands here.

use super::facts::{Call, Facts, Last};
use stablehand_core::event::{
    EventKind, Evidence, FailureKind, Item, ItemBody, Outcome, ProcessExit, SessionEnd, TextRole,
    ToolClass, TurnEnd, VerdictKind,
};
use stablehand_core::text::excerpt;
use stablehand_core::time::{human, millis};
use std::time::Duration;

/// So much of a command or of a text stands in one line.
const LINE: usize = 80;

/// A time in milliseconds as a person would say it.
pub(super) fn ms(ms: u64) -> String {
    human(Duration::from_millis(ms))
}

/// A word and its plural, counted.
pub(super) fn count(n: u64, one: &str, many: &str) -> String {
    match n {
        1 => format!("1 {one}"),
        n => format!("{n} {many}"),
    }
}

/// What to call a tool call.
pub(super) fn of_call(name: &str, headline: &str) -> String {
    let shown = if headline.is_empty() { name } else { headline };
    excerpt(shown.as_bytes(), LINE)
}

pub(super) fn of_outcome(outcome: &Outcome) -> String {
    match outcome {
        // A success is one in the whole report.
        Outcome::Success => "success".to_owned(),
        other => excerpt(other.describe().as_bytes(), LINE),
    }
}

fn with_reason(what: &str, reason: &str) -> String {
    if reason.is_empty() {
        what.to_owned()
    } else {
        format!("{what}: {}", excerpt(reason.as_bytes(), LINE))
    }
}

pub(super) fn of_turn_end(end: &TurnEnd) -> String {
    match end {
        TurnEnd::Done => "the turn is done".to_owned(),
        TurnEnd::Refused => "the model refused".to_owned(),
        TurnEnd::Limit => "a limit of the agent's own was reached".to_owned(),
        TurnEnd::Cancelled => "the turn was cancelled".to_owned(),
        TurnEnd::Failed { message, .. } => with_reason("the turn failed", message),
        TurnEnd::Stopped { message, .. } => with_reason("the turn was stopped", message),
    }
}

pub(super) fn of_exit(exit: ProcessExit) -> String {
    match exit {
        ProcessExit::Code(code) => format!("exit code {code}"),
        ProcessExit::Signal(signal) => match signal_name(signal) {
            Some(name) => format!("signal {signal} ({name})"),
            None => format!("signal {signal}"),
        },
        ProcessExit::Unknown => "an exit status that nobody knows".to_owned(),
    }
}

/// The names of signals that end processes; their numbers are the same on every system we run on.
pub(super) fn signal_name(signal: i32) -> Option<&'static str> {
    match signal {
        1 => Some("SIGHUP"),
        2 => Some("SIGINT"),
        3 => Some("SIGQUIT"),
        4 => Some("SIGILL"),
        6 => Some("SIGABRT"),
        8 => Some("SIGFPE"),
        9 => Some("SIGKILL"),
        11 => Some("SIGSEGV"),
        13 => Some("SIGPIPE"),
        15 => Some("SIGTERM"),
        _ => None,
    }
}

/// How a run ended, where its record has no text.
pub(super) fn of_outcome_of_run(outcome: Option<SessionEnd>) -> &'static str {
    match outcome {
        Some(SessionEnd::Success) => "the agent succeeded",
        Some(SessionEnd::AgentError) => "the agent reported an error",
        Some(SessionEnd::NoResult) => "the agent ended without a result",
        Some(SessionEnd::Truncated) => "the agent ended in the middle of a line",
        Some(SessionEnd::Hung) => "the agent hung and was stopped",
        Some(SessionEnd::LimitReached) => "a limit was reached and the agent was stopped",
        Some(SessionEnd::Interrupted) => "the run was interrupted",
        Some(SessionEnd::ReaderGone) => "the reader of our output went away",
        Some(SessionEnd::SpawnFailed) => "the agent could not be started",
        Some(SessionEnd::Internal) => "the run could not go on",
        None => "it ended in a way that this version has no word for",
    }
}

pub(super) fn of_failure(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Auth => "not logged in, or the key is not accepted",
        FailureKind::RateLimit => "too many requests for the account",
        FailureKind::Quota => "the quota or the plan is used up",
        FailureKind::Overloaded => "the model's service is overloaded",
        FailureKind::ContextLength => "the conversation is too long for the model",
        FailureKind::Network => "the network, or the way to the model's service, failed",
        FailureKind::BadModel => "the model does not exist, or not for this account",
        FailureKind::BadRequest => "the agent or its service refused the request",
        FailureKind::Approval => "the workspace is not trusted, or an approval is missing",
        FailureKind::Tool => "a tool failed",
        _ => "something inside the agent failed",
    }
}

/// An event in one line; none where it tells a reader nothing.
pub(super) fn of_event(event: &EventKind) -> Option<String> {
    Some(match event {
        EventKind::SessionStarted { model, .. } => match model {
            Some(model) => format!("session began, model {}", excerpt(model.as_bytes(), LINE)),
            None => "session began".to_owned(),
        },
        EventKind::TurnStarted { .. } => "prompt taken".to_owned(),
        EventKind::TurnEnded { end, .. } => of_turn_end(end),
        EventKind::TurnContinued { .. } => "told to go on by a rule".to_owned(),
        EventKind::ItemStarted { item } => of_item(item, "began"),
        EventKind::ItemCompleted { item } => of_item(item, "done"),
        EventKind::ItemDelta { role, .. } => match role {
            TextRole::Message => "text".to_owned(),
            TextRole::Reasoning => "thinking".to_owned(),
            TextRole::ToolOutput => "output of a tool".to_owned(),
        },
        EventKind::ApprovalRequested { what, .. } => with_reason("asked", what),
        EventKind::ApprovalResolved { choice, by, .. } => {
            excerpt(format!("answered: {choice}, by {by}").as_bytes(), LINE)
        }
        EventKind::RetryScheduled { attempt, detail } => {
            let detail = detail.as_deref().unwrap_or_default();
            with_reason(&format!("the agent tries again, attempt {attempt}"), detail)
        }
        EventKind::ConnectionChanged { state, .. } => with_reason("connection", state),
        EventKind::ProcessStderr { text } => with_reason("stderr", text),
        EventKind::Unrecognized { excerpt, .. } => with_reason("not understood", excerpt),
        EventKind::HookReceived { name, .. } => with_reason("hook", name),
        EventKind::ProcessSpawned { pid, .. } => format!("started as process {pid}"),
        EventKind::ProcessExited { exit, .. } => format!("exited: {}", of_exit(*exit)),
        // What we believed and how it ended stand elsewhere.
        _ => return None,
    })
}

fn of_item(item: &Item, how: &str) -> String {
    match &item.body {
        ItemBody::Message { text } => {
            if text.is_empty() {
                "text".to_owned()
            } else {
                with_reason("text", text)
            }
        }
        ItemBody::Reasoning { .. } => "thinking".to_owned(),
        ItemBody::Tool(tool) => {
            let call = of_call(&tool.name, tool.headline());
            match &tool.outcome {
                Some(outcome) => format!("tool `{call}` {how}: {}", of_outcome(outcome)),
                None => format!("tool `{call}` {how}"),
            }
        }
        ItemBody::Plan { todos, .. } => {
            let open = todos.iter().filter(|todo| !is_over(todo.status)).count();
            format!("plan, {open} of {} open", todos.len())
        }
        ItemBody::FileChange { path, .. } => with_reason("changed", path),
        ItemBody::SubAgent { description } => with_reason("sub-agent", description),
        ItemBody::Notice { text, .. } => with_reason("notice", text),
        _ => "something else".to_owned(),
    }
}

fn is_over(status: stablehand_core::event::TodoStatus) -> bool {
    use stablehand_core::event::TodoStatus;
    matches!(status, TodoStatus::Completed | TodoStatus::Cancelled)
}

pub(super) fn of_class(class: ToolClass) -> &'static str {
    match class {
        ToolClass::Execute => "a command",
        ToolClass::Mcp => "a tool of an MCP server",
        ToolClass::SubAgent => "a sub-agent",
        ToolClass::Local => "a tool for files",
        ToolClass::Fetch => "a fetch from the network",
        _ => "a tool",
    }
}

/// The flag that sets a limit.
pub(super) fn flag_of(kind: VerdictKind) -> &'static str {
    match kind {
        VerdictKind::Startup => "--startup-timeout",
        VerdictKind::FirstResponse => "--first-response-timeout",
        VerdictKind::Idle | VerdictKind::IdleAfterText | VerdictKind::IdleAfterTool => {
            "--idle-timeout"
        }
        VerdictKind::Tool => "--tool-timeout",
        VerdictKind::NoProgress => "--no-progress-timeout",
        VerdictKind::Livelock => "--livelock",
        VerdictKind::WallClock => "--max-wall",
        VerdictKind::Turns => "--max-turns",
        VerdictKind::ToolCalls => "--max-tool-calls",
        VerdictKind::Tokens => "--max-tokens",
        VerdictKind::Cost => "--max-cost",
        VerdictKind::Blocked => "--blocked-timeout",
        VerdictKind::Background => "--background-grace",
        _ => "the flag of that limit",
    }
}

/// Processor time of the tree, where somebody looked.
pub(super) fn of_cpu(evidence: &Evidence) -> Option<String> {
    let (used, window) = evidence.cpu_ms.zip(evidence.cpu_window_ms)?;
    Some(format!("{} of processor time in {}", ms(used), ms(window)))
}

impl Facts {
    /// What the agent was doing when it ended or was judged.
    pub(super) fn doing(&self) -> String {
        if !self.started_at_all {
            return "It was never started.".to_owned();
        }
        let until = self.verdict.as_ref().map_or_else(
            || self.exited.as_ref().map_or(self.newest, |exited| exited.at),
            |verdict| verdict.seen.at,
        );
        let quiet = match self.last_heard() {
            Some(heard) if millis(until.since(heard)) >= 1000 => {
                format!(" It had been quiet for {}.", human(until.since(heard)))
            }
            _ => String::new(),
        };
        format!("{}{quiet}", self.activity())
    }

    fn activity(&self) -> String {
        if let Some(open) = self.questions.last() {
            return format!(
                "It waited for an answer: {}.",
                excerpt(open.seen.text.as_bytes(), LINE)
            );
        }
        let calls: Vec<&Call> = self.calls.iter().collect();
        match calls.as_slice() {
            [] => {}
            [one] => {
                let ran = human(self.newest_of(one).since(one.at));
                return format!("It ran {} for {ran}: `{}`.", of_class(one.class), one.headline);
            }
            [.., last] => {
                return format!("It ran {} tools, the last one `{}`.", calls.len(), last.headline);
            }
        }
        let words = |text: &str| {
            let text = text.trim();
            let from = text.ceil_char_boundary(text.len().saturating_sub(2 * LINE));
            excerpt(text.get(from..).unwrap_or(text).as_bytes(), 2 * LINE)
        };
        match self.last {
            Last::Nothing if self.lines == 0 && self.stderr.is_empty() => {
                "It had said nothing at all.".to_owned()
            }
            Last::Nothing => "It had written only lines that name no session.".to_owned(),
            Last::Session | Last::Prompt => {
                "The session had begun, and the model had not answered yet.".to_owned()
            }
            Last::Reasoning => "The model was thinking.".to_owned(),
            Last::Message if self.last_words.trim().is_empty() => {
                "The model had spoken.".to_owned()
            }
            Last::Message => {
                format!("The model had spoken; its last words: “{}”", words(&self.last_words))
            }
            Last::ToolBegun | Last::ToolDone => match &self.last_done {
                Some(done) => format!(
                    "A tool had given its result ({}), and the model was to go on.",
                    done.text
                ),
                None => "A tool was over, and the model was to go on.".to_owned(),
            },
            Last::Retry => match self.retries.last() {
                Some(retry) => {
                    format!(
                        "It tried to reach its model again: {}.",
                        retry.text.trim_end().trim_end_matches('.')
                    )
                }
                None => "It tried to reach its model again.".to_owned(),
            },
            Last::TurnEnd => match &self.turn_end {
                Some((_, TurnEnd::Done)) => "It had delivered its result.".to_owned(),
                Some((seen, _)) => {
                    format!("Its turn was over: {}.", seen.text.trim_end().trim_end_matches('.'))
                }
                None => "Its turn was over.".to_owned(),
            },
        }
    }

    /// What a silence that begins now falls into.
    pub(super) fn pause(&self) -> String {
        if let Some(open) = self.questions.last() {
            return format!("waiting for an answer: {}", excerpt(open.seen.text.as_bytes(), LINE));
        }
        if let Some(call) = self.calls.last() {
            return format!("`{}` was open", call.headline);
        }
        match self.last {
            Last::Nothing => "before anything was heard",
            Last::Session | Last::Prompt => "before the model's first word",
            Last::Reasoning => "while it was thinking",
            Last::Message => "after the model had spoken",
            Last::ToolBegun | Last::ToolDone => "after a tool's result",
            Last::Retry => "while it tried to reach its model",
            Last::TurnEnd => "after its turn was over",
        }
        .to_owned()
    }

    fn newest_of(&self, call: &Call) -> stablehand_core::time::UnixMillis {
        let verdict = self.verdict.as_ref().map(|verdict| verdict.seen.at);
        let until = verdict.or(self.exited.as_ref().map(|exited| exited.at));
        until.filter(|until| *until >= call.at).unwrap_or(self.newest)
    }
}
