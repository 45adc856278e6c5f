//! How a run had to end, from what its log shows: the stream, and what we did.
//!
//! Owns the comparison with the last record of a run. Some ends follow from neither (whoever read
//! our output went away, we failed ourselves); these are believed.

use super::decision::same_id;
use super::tape::Tape;
use stablehand_core::decode::Dialect;
use stablehand_core::event::{SessionEnd, TurnEnd, VerdictKind};
use stablehand_core::json::{Object, Value};
use stablehand_core::record::DecisionRecord;

/// What was done in a run, as far as its end depends on it.
#[derive(Debug, Default)]
pub(super) struct Deeds {
    /// The verdict that stopped the agent.
    verdict: Option<VerdictKind>,
    observe_only: bool,
    overdue: bool,
    signalled: bool,
    cancelled: bool,
    asked_to_leave: bool,
    /// Stopped for something that is not in the stream.
    otherwise: bool,
    /// The client of an agent that was passed through is gone, with so many prompts open.
    client_left: Option<u64>,
    /// It had to be told that there will be no answer.
    unanswered: bool,
    exit: Option<Exit>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exit {
    Code(i32),
    Signal,
}

/// One thing that is otherwise than the log says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Otherwise {
    pub(super) expected: String,
    pub(super) recorded: String,
}

impl Deeds {
    pub(super) fn observe_only(&mut self) {
        self.observe_only = true;
    }

    /// Takes the next decision of the log.
    pub(super) fn record(&mut self, record: &DecisionRecord) {
        match record {
            DecisionRecord::HangDetected(reached) | DecisionRecord::LimitReached(reached)
                if !self.observe_only && !reached.soft && reached.verdict.is_some() =>
            {
                self.verdict = reached.hard();
            }
            // Older logs say only here that nobody was stopped.
            DecisionRecord::WouldHaveKilled(_) | DecisionRecord::VerdictLifted(_) => {
                self.verdict = None;
            }
            DecisionRecord::ClientLeft(left) => self.client_left = left.open,
            DecisionRecord::ToldClient(told) => self.unanswered |= told.what == "error",
            DecisionRecord::ExitOverdue(_) => self.overdue = true,
            DecisionRecord::SignalReceived(_) => self.signalled = true,
            DecisionRecord::TurnCancelled(cancelled) => {
                self.cancelled = true;
                self.signalled |= cancelled.ends_process;
            }
            DecisionRecord::CancelIgnored(_) => self.cancelled = true,
            DecisionRecord::AskedToLeave(_) => self.asked_to_leave = true,
            DecisionRecord::KeeperLost(_)
            | DecisionRecord::SessionTaken(_)
            | DecisionRecord::HooksChanged(_)
            | DecisionRecord::HooksInactive(_) => self.otherwise = true,
            DecisionRecord::AgentExited(exited) => {
                let code = exited.exit_code.map(Exit::Code);
                self.exit = code.or(exited.signal.map(|_| Exit::Signal));
            }
            _ => {}
        }
    }

    /// What the record of the end says otherwise.
    pub(super) fn compare(&self, tape: &Tape, fields: &Object<'_>) -> Vec<Otherwise> {
        let mut found = Vec::new();
        let mut differs = |what: &str, expected: String, recorded: String| {
            found.push(Otherwise {
                expected: format!("{what} {expected}"),
                recorded: format!("{what} {recorded}"),
            });
        };
        let text = |name: &str| fields.get(name).and_then(Value::string);
        let raw = |name: &str| {
            let raw = fields.get(name).map_or(&b"null"[..], Value::raw);
            String::from_utf8_lossy(raw).into_owned()
        };
        if let Some(expected) = self.outcome(tape, text("outcome").as_deref()) {
            differs("outcome", expected, raw("outcome"));
        }
        if tape.header().is_none() {
            return found;
        }
        let facts = tape.facts();
        let session = facts.session.as_ref().map(|session| session.0.as_str());
        match (session, text("session_id")) {
            (Some(session), Some(recorded)) if same_id(session, &recorded) => {}
            (None, None) => {}
            (session, _) => differs("session", format!("{session:?}"), raw("session_id")),
        }
        // As text: what was written and what is read may differ in the last bit of a number.
        let usage = serde_json::to_value(facts.usage).unwrap_or_default().to_string();
        if usage != raw("usage") {
            differs("usage", usage, raw("usage"));
        }
        let bytes = tape.stdout_bytes();
        if !tape.log().header().redacted_raw
            && fields.get("stdout_bytes").and_then(Value::u64) != Some(bytes)
        {
            differs("bytes of output", bytes.to_string(), raw("stdout_bytes"));
        }
        let verdict = self.verdict.and_then(|kind| serde_json::to_string(&kind).ok());
        let verdict = verdict.unwrap_or_else(|| "null".into());
        if fields.get("verdict").is_some() && verdict != raw("verdict") {
            differs("verdict of the run", verdict, raw("verdict"));
        }
        found
    }

    /// The outcome that had to be, where it is another one.
    fn outcome(&self, tape: &Tape, recorded: Option<&str>) -> Option<String> {
        let word = |end: SessionEnd| {
            let word = serde_json::to_value(end).ok();
            word.and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default()
        };
        let is = |end: SessionEnd| recorded == Some(word(end).as_str());
        if tape.header().is_none() {
            return (!is(SessionEnd::SpawnFailed)).then(|| word(SessionEnd::SpawnFailed));
        }
        if is(SessionEnd::ReaderGone) || is(SessionEnd::Internal) || self.otherwise {
            return None;
        }
        let by_agent = self.by_agent(tape);
        let stopped = self.verdict.filter(|_| by_agent != Some(SessionEnd::Success));
        let expected = if self.overdue {
            by_agent?
        } else if self.signalled && self.client_left == Some(0) {
            // Nothing was open between client and agent when the signal came.
            SessionEnd::Success
        } else if self.signalled || (self.cancelled && is(SessionEnd::Interrupted)) {
            SessionEnd::Interrupted
        } else {
            match stopped {
                Some(kind) if kind.is_limit() => SessionEnd::LimitReached,
                Some(_) => SessionEnd::Hung,
                None => match (self.client_left, by_agent?) {
                    (Some(0), _) => SessionEnd::Success,
                    (Some(_), _) => SessionEnd::Interrupted,
                    (None, SessionEnd::Success) if self.unanswered => SessionEnd::NoResult,
                    (None, by_agent) => by_agent,
                },
            }
        };
        (!is(expected)).then(|| word(expected))
    }

    /// What the agent itself has to say. At a terminal that is its exit, unless we ended it.
    fn by_agent(&self, tape: &Tape) -> Option<SessionEnd> {
        let terminal = tape.header().is_some_and(|header| header.dialect == Dialect::Terminal);
        if !terminal {
            return Some(tape.facts().end());
        }
        if self.verdict.is_some() || self.overdue {
            return tape.facts().result.as_ref().map(|result| match result {
                TurnEnd::Done => SessionEnd::Success,
                _ => SessionEnd::AgentError,
            });
        }
        match self.exit? {
            Exit::Code(0) => Some(SessionEnd::Success),
            _ if self.asked_to_leave => Some(SessionEnd::Success),
            Exit::Code(_) | Exit::Signal => Some(SessionEnd::AgentError),
        }
    }
}
