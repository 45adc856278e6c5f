//! How a run had to end, from what its log shows: the stream, and what we did.
//!
//! Owns the comparison with the last record of a run. Some ends follow from neither (whoever read
//! our output went away, we failed ourselves); these are believed.

use super::decision::same_id;
use super::tape::Tape;
use stablehand_core::decode::Dialect;
use stablehand_core::event::{SessionEnd, TurnEnd, VerdictKind};
use stablehand_core::json::{Object, Value};

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
    Code(i64),
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
    pub(super) fn record(&mut self, message: &str, fields: &Object<'_>) {
        match message {
            "hang_detected" | "limit_reached" if !self.observe_only => {
                let soft = fields.get("soft").and_then(Value::bool).unwrap_or(false);
                let verdict = fields.get("verdict").map(Value::raw);
                if let Some(verdict) = verdict.filter(|_| !soft) {
                    self.verdict = serde_json::from_slice(verdict).ok();
                }
            }
            // Older logs say only here that nobody was stopped.
            "would_have_killed" | "verdict_lifted" => self.verdict = None,
            "client_left" => {
                self.client_left = fields.get("open").and_then(Value::u64);
            }
            "told_client" => {
                self.unanswered |= fields.get("what").is_some_and(|what| what.is_str("error"));
            }
            "exit_overdue" => self.overdue = true,
            "signal_received" => self.signalled = true,
            "turn_cancelled" | "cancel_ignored" => {
                self.cancelled = true;
                let ends = fields.get("ends_process").and_then(Value::bool);
                self.signalled |= ends.unwrap_or(false);
            }
            "asked_to_leave" => self.asked_to_leave = true,
            "keeper_lost" | "session_taken" | "hooks_inactive" => self.otherwise = true,
            "agent_exited" => {
                let code = fields.get("exit_code").and_then(Value::i64).map(Exit::Code);
                let signal = fields.get("signal").and_then(Value::i64).map(|_| Exit::Signal);
                self.exit = code.or(signal);
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
        if !tape.is_redacted() && fields.get("stdout_bytes").and_then(Value::u64) != Some(bytes) {
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
