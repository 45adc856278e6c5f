//! How a run ended, from what is known: the terminal event decides, never the exit code alone.

use super::RunSpec;
use super::stop::StopReason;
use super::{Facts, Progress};
use crate::agent::ExitMeaning;
use crate::continuation::{Continuations, Continued};
use crate::keeper::SpawnError;
use crate::log::{Fill, Log};
use stablehand_core::Depth;
use stablehand_core::Dialect;
use stablehand_core::decode::failure_of;
use stablehand_core::event::{
    EndedBy, EventKind, FailureKind, ItemBody, ProcessExit, ProcessRow, SessionEnd, TextRole,
    TurnEnd, Usage,
};
use stablehand_core::id::SessionId;
use stablehand_core::monitor::Judgement;
use stablehand_core::record::{AgentExited, Record, RunEnded};
use stablehand_core::replay::EventReader;
use stablehand_core::speak::Prompt;
use stablehand_core::time::millis;
use std::time::Duration;

/// The last text of an agent that had to be stopped is kept up to this length.
const LAST_TEXT: usize = 64 << 10;

/// And it is looked for no further back in the log than this: a long run must end as quickly as a
/// short one.
const LAST_WORDS: u64 = 4 << 20;

/// How a run ended, and by whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// How.
    pub end: SessionEnd,
    /// By whom.
    pub by: EndedBy,
    /// The signal that ended it, where one to us did.
    pub signal: Option<i32>,
}

/// Everything about a run that is over.
#[derive(Debug)]
pub struct RunReport {
    /// How it ended.
    pub end: Ending,
    /// The agent's exit status.
    pub exit: ProcessExit,
    /// Whether we had to stop it.
    pub forced: bool,
    /// Processes that outlived the agent, and were stopped.
    pub leaked: Vec<ProcessRow>,
    /// Processes that could not be stopped.
    pub survivors: Vec<ProcessRow>,
    /// The agent's session.
    pub session: Option<SessionId>,
    /// How far it got.
    pub progress: Progress,
    /// What the agent said of the end of its last turn.
    pub result: Option<TurnEnd>,
    /// The verdict that stopped it.
    pub verdict: Option<Judgement>,
    /// Why it could not be started.
    pub failure: Option<SpawnError>,
    /// What it used, as far as it said.
    pub usage: Option<Usage>,
    /// Its last text, where it gave no terminal event.
    pub last_text: Option<String>,
    /// The end of its standard error.
    pub stderr_tail: Option<String>,
    /// How much it wrote.
    pub bytes: u64,
    /// SHA-256 of that, where asked for.
    pub digest: Option<String>,
    /// How long it took.
    pub elapsed: Duration,
    /// The model that answered last, as the agent names it.
    pub model: Option<String>,
    /// How many tools it called.
    pub tool_calls: u64,
    /// How many of its tool calls were denied or rejected. An agent may deliver a result all the same.
    pub denials: u64,
    /// The first of those calls.
    pub denied: Vec<String>,
    /// What its exit code means, where the agent's row says so.
    pub meaning: Option<ExitMeaning>,
    /// What the agent says went wrong.
    pub error: Option<(FailureKind, String)>,
    /// The agent was told that no prompt comes any more.
    pub finished: bool,
    /// The rules for going on, with what they have seen; for the next run of the session.
    pub continuations: Continuations,
    /// The session is to be resumed with this.
    pub continued: Option<Continued>,
    /// The prompt that was given last, in a conversation.
    pub prompt: Option<Prompt>,
    /// How often the turn that was on has been tried again.
    pub tried: u32,
    /// It is tried again.
    pub again: bool,
}

/// What the agent says went wrong.
pub(super) fn error(result: Option<&TurnEnd>) -> Option<(FailureKind, String)> {
    match result? {
        TurnEnd::Failed { failure, message } => Some((*failure, message.clone())),
        _ => None,
    }
}

/// What an exit code means.
pub(super) fn meaning(
    known: &'static [ExitMeaning],
    exit: Option<ProcessExit>,
) -> Option<ExitMeaning> {
    let Some(ProcessExit::Code(code)) = exit else { return None };
    known.iter().find(|meaning| meaning.code == code).copied()
}

/// From what is known to how it ended.
pub(super) fn conclude(
    facts: &Facts,
    stopped: Option<StopReason>,
    judged: Option<&Judgement>,
) -> Ending {
    let ending = |end, by| Ending { end, by, signal: None };
    let by_agent = ending(facts.end(), EndedBy::Agent);
    match stopped {
        // What it means that a client left is for the relay to say.
        None | Some(StopReason::ExitOverdue | StopReason::ClientGone) => by_agent,
        Some(StopReason::Signal(n)) => {
            Ending { end: SessionEnd::Interrupted, by: EndedBy::Person, signal: Some(n) }
        }
        Some(StopReason::ReaderGone) => ending(SessionEnd::ReaderGone, EndedBy::Person),
        // It answered after all, while it was being stopped: the work is done. And a result that was
        // delivered stays one, whatever became of the keeper.
        Some(StopReason::Verdict(_) | StopReason::KeeperLost)
            if facts.result == Some(TurnEnd::Done) =>
        {
            by_agent
        }
        Some(
            StopReason::LogFailed
            | StopReason::SessionTaken
            | StopReason::HooksInactive
            | StopReason::HooksChanged
            | StopReason::Unasked
            | StopReason::KeeperLost,
        ) => ending(SessionEnd::Internal, EndedBy::Supervisor),
        Some(StopReason::Verdict(kind)) => {
            debug_assert!(judged.is_none_or(|judged| judged.kind == kind));
            let end = if kind.is_limit() { SessionEnd::LimitReached } else { SessionEnd::Hung };
            ending(end, EndedBy::Supervisor)
        }
    }
}

impl RunReport {
    pub(super) fn not_started(_spec: &RunSpec, error: SpawnError) -> Self {
        let end = Ending { end: SessionEnd::SpawnFailed, by: EndedBy::Agent, signal: None };
        RunReport { end, failure: Some(error), ..RunReport::without_run(SessionEnd::SpawnFailed) }
    }

    /// Of a session in which no agent was ever started.
    pub(crate) fn without_run(end: SessionEnd) -> Self {
        RunReport {
            end: Ending { end, by: EndedBy::Supervisor, signal: None },
            exit: ProcessExit::Unknown,
            forced: false,
            leaked: Vec::new(),
            survivors: Vec::new(),
            session: None,
            progress: Progress::Nothing,
            result: None,
            verdict: None,
            failure: None,
            usage: None,
            last_text: None,
            stderr_tail: None,
            bytes: 0,
            digest: None,
            elapsed: Duration::ZERO,
            model: None,
            tool_calls: 0,
            denials: 0,
            denied: Vec::new(),
            meaning: None,
            error: None,
            finished: true,
            continuations: Continuations::default(),
            continued: None,
            prompt: None,
            tried: 0,
            again: false,
        }
    }

    /// Finds the last text of a run without a terminal event. The log has it; reading it back once
    /// is cheaper than keeping every text of every run.
    pub(super) fn with_last_words(mut self, log: &mut Log, began: u64, dialect: Dialect) -> Self {
        // The screen of an agent at a terminal says more than its last message.
        self.last_text.take_if(|_| self.end.end == SessionEnd::Success);
        let told = matches!(self.end.end, SessionEnd::Success | SessionEnd::AgentError);
        if told || self.last_text.is_some() {
            return self;
        }
        log.flush();
        // A torn record at the beginning of the window is passed over like any other.
        let mut tail = log.tail(began.max(log.position().saturating_sub(LAST_WORDS)));
        let mut reader = EventReader::new(dialect, Depth::Full);
        let mut events = Vec::new();
        let mut text = String::new();
        while let Ok(Fill::Grew | Fill::Lost(_)) = tail.fill() {
            while let Some(line) = tail.next() {
                reader.record(&Record::read(line.bytes), &mut events);
                events.drain(..).for_each(|event| last_text(&mut text, event.event));
            }
        }
        self.last_text = (!text.is_empty()).then_some(text);
        self
    }

    /// The same without secrets, where somebody knows how to find them: a report is shown.
    pub(super) fn redacted(mut self, log: &Log) -> Self {
        let Some(redaction) = log.redaction() else { return self };
        let texts = [self.last_text.as_mut(), self.stderr_tail.as_mut()];
        let error = self.error.as_mut().map(|(_, message)| message);
        let left = self.leaked.iter_mut().chain(&mut self.survivors);
        let commands = left.filter_map(|row| row.command.as_mut());
        for text in texts.into_iter().flatten().chain(error).chain(commands).chain(&mut self.denied)
        {
            *text = redaction.redactor.redact(text).into_owned();
        }
        self
    }

    /// The two last records of a run.
    pub(super) fn write_down(&self, log: &mut Log) {
        if self.failure.is_none() {
            let (code, signal) = match self.exit {
                ProcessExit::Code(code) => (Some(code), None),
                ProcessExit::Signal(signal) => (None, Some(signal)),
                ProcessExit::Unknown => (None, None),
            };
            let event = EventKind::ProcessExited {
                exit: self.exit,
                forced: self.forced,
                leaked: u32::try_from(self.leaked.len()).unwrap_or(u32::MAX),
            };
            let exited = AgentExited {
                exit_code: code,
                signal,
                forced: self.forced,
                leaked: self.leaked.clone(),
                survivors: self.survivors.clone(),
            };
            log.decide(exited, Some(&event));
        }
        let event = EventKind::RunEnded {
            end: self.end.end,
            ended_by: self.end.by,
            last_text: self.last_text.clone(),
            usage: self.usage,
            stderr_tail: match self.end.end {
                SessionEnd::Success => None,
                _ => self.stderr_tail.clone(),
            },
            again: self.again,
        };
        let ended = RunEnded {
            outcome: Some(self.end.end.into()),
            ended_by: Some(self.end.by.into()),
            exit_code: Some(super::exit_code(self.end).into()),
            session_id: self.session.clone(),
            failure: self.error.as_ref().map(|(failure, _)| (*failure).into()),
            verdict: self.verdict.as_ref().map(|verdict| verdict.kind.into()),
            forced: self.forced,
            elapsed_ms: Some(millis(self.elapsed)),
            stdout_bytes: Some(self.bytes),
            usage: self.usage,
            last_text: self.last_text.clone(),
            denied: self.denied.clone(),
            text: Some(self.summary()),
        };
        log.decide(ended, Some(&event));
        log.sync();
    }

    /// Returns what kind of failure it was: as the terminal event says, or without one as the last words
    /// on standard error or the exit code say.
    pub fn failure_kind(&self) -> Option<FailureKind> {
        if let Some((failure, _)) = &self.error {
            return Some(*failure);
        }
        let told = self.stderr_tail.as_deref().and_then(failure_of);
        told.or(self.meaning.map(|meaning| meaning.failure))
    }

    /// One sentence for a person.
    pub fn summary(&self) -> String {
        let exit = match self.exit {
            ProcessExit::Code(code) => match self.meaning {
                Some(meaning) => format!("exit code {code}: {}", meaning.text),
                None => format!("exit code {code}"),
            },
            ProcessExit::Signal(signal) => format!("signal {signal}"),
            ProcessExit::Unknown => "unknown exit status".into(),
        };
        match self.end.end {
            SessionEnd::Success if self.forced => {
                "the agent delivered its result but did not exit; it was stopped".into()
            }
            SessionEnd::Success if self.denials > 0 => {
                let calls = if self.denials == 1 { "a tool call was" } else { "tool calls were" };
                let first = self.denied.first().map_or_else(String::new, |it| format!(": {it}"));
                let more = match self.denials {
                    1 => String::new(),
                    n => format!(" and {} more", n - 1),
                };
                format!("the agent delivered its result, but {calls} denied{first}{more}")
            }
            SessionEnd::Success => "the agent succeeded".into(),
            SessionEnd::AgentError => match &self.error {
                Some((_, message)) if !message.is_empty() => {
                    let message = stablehand_core::text::excerpt(message.as_bytes(), 300);
                    format!("the agent reported an error: {message} ({exit})")
                }
                _ => format!("the agent reported an error ({exit})"),
            },
            SessionEnd::NoResult => format!("the agent ended without a result ({exit})"),
            SessionEnd::Truncated => {
                format!("the agent ended in the middle of a line, without a result ({exit})")
            }
            SessionEnd::Hung | SessionEnd::LimitReached => {
                self.verdict.as_ref().map_or_else(|| "stopped".into(), |v| v.text.clone())
            }
            SessionEnd::Interrupted => match self.end.signal {
                Some(signal) => format!("interrupted by signal {signal}"),
                None => "the last turn was cancelled".into(),
            },
            SessionEnd::ReaderGone => "the reader of our output went away".into(),
            SessionEnd::SpawnFailed => self
                .failure
                .as_ref()
                .map_or_else(|| "not started".into(), |e| crate::error_chain(e)),
            SessionEnd::Internal => "the run could not go on; see the log".into(),
        }
    }
}

/// Keeps the newest message, as far as its events tell it.
fn last_text(text: &mut String, event: EventKind) {
    match event {
        EventKind::ItemDelta { role: TextRole::Message, text: more, .. }
            if text.len() < LAST_TEXT =>
        {
            text.push_str(&more);
        }
        EventKind::ItemStarted { item } | EventKind::ItemCompleted { item } => {
            if let ItemBody::Message { text: whole } = item.body {
                *text = whole;
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::exit_code;
    use stablehand_core::event::VerdictKind;

    fn facts(result: Option<TurnEnd>) -> Facts {
        Facts { result, ..Facts::default() }
    }

    fn failed() -> TurnEnd {
        TurnEnd::Failed { failure: FailureKind::Internal, message: "x".into() }
    }

    #[test]
    fn the_terminal_event_decides() {
        let torn = Facts { torn: true, ..Facts::default() };
        let hang = Some(StopReason::Verdict(VerdictKind::Idle));
        let wall = Some(StopReason::Verdict(VerdictKind::WallClock));
        let table = [
            (facts(Some(TurnEnd::Done)), None, SessionEnd::Success, 0),
            (facts(Some(TurnEnd::Done)), Some(StopReason::ExitOverdue), SessionEnd::Success, 0),
            (facts(Some(TurnEnd::Done)), hang, SessionEnd::Success, 0),
            (facts(Some(failed())), None, SessionEnd::AgentError, 1),
            (facts(None), None, SessionEnd::NoResult, 1),
            (torn, None, SessionEnd::Truncated, 1),
            (facts(None), hang, SessionEnd::Hung, 2),
            (facts(None), wall, SessionEnd::LimitReached, 2),
            (facts(None), Some(StopReason::Signal(2)), SessionEnd::Interrupted, 130),
            (facts(None), Some(StopReason::Signal(15)), SessionEnd::Interrupted, 143),
            (facts(None), Some(StopReason::Signal(1)), SessionEnd::Interrupted, 129),
            (facts(None), Some(StopReason::ReaderGone), SessionEnd::ReaderGone, 141),
        ];
        for (facts, stopped, end, code) in table {
            let ending = conclude(&facts, stopped, None);
            assert_eq!((ending.end, exit_code(ending)), (end, code), "{stopped:?}");
        }
    }
}
