//! One turn, as the editor waits for it: from its prompt to the one answer.
//!
//! Owns when a turn is over for the editor and what it is told then. Events decide; a process that
//! ended before it can have heard of the prompt is no end, because another one is started for it.

use super::updates::meta;
use super::worker::answer;
use agent_client_protocol::v1::Responder;
use agent_client_protocol::v1::schema::{self, Error, PromptResponse, StopReason};
use serde_json::json;
use stablehand_core::Event;
use stablehand_core::event::{
    EventKind, Evidence, FailureKind, Health, SessionEnd, Tokens, TurnEnd, Usage,
};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long an agent gets to end a turn that was cancelled, stop stages included.
const CANCEL: Duration = Duration::from_secs(15);

/// How long a process is waited for that is to take the prompt of one that has gone.
const SUCCESSOR: Duration = Duration::from_secs(3);

/// How a turn ended.
#[derive(Debug)]
pub(super) enum Ended {
    Stop(StopReason),
    Failed(Error),
}

/// A turn that is on.
pub(super) struct Turn {
    responder: Responder<PromptResponse>,
    cancelled: Option<Instant>,
    /// Which command of ours it is, where it is one.
    pub(super) command: Option<u64>,
    /// The processes of the agent before it began.
    pub(super) processes: Vec<u32>,
    /// Whether the agent has shown that it works on it.
    is_heard: bool,
    end: Option<TurnEnd>,
    verdict: Option<(String, Option<Box<Evidence>>)>,
    /// A process that ended before it heard of the turn, and until when its successor may come.
    bereaved: Option<(SessionEnd, Instant)>,
    stderr: Option<String>,
    used: Option<Tokens>,
}

impl Turn {
    pub(super) fn new(responder: Responder<PromptResponse>) -> Turn {
        Turn {
            responder,
            cancelled: None,
            command: None,
            processes: Vec::new(),
            is_heard: false,
            end: None,
            verdict: None,
            bereaved: None,
            stderr: None,
            used: None,
        }
    }

    pub(super) fn cancel(&mut self) {
        self.cancelled.get_or_insert_with(|| Instant::now() + CANCEL);
    }

    pub(super) fn was_cancelled(&self) -> bool {
        self.cancelled.is_some()
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let successor = self.bereaved.as_ref().map(|(_, until)| *until);
        [self.cancelled, successor].into_iter().flatten().min()
    }

    /// Takes the next event; how the turn ended, if it did.
    pub(super) fn heard(&mut self, event: &Event, is_over: bool) -> Option<Ended> {
        match &event.event {
            EventKind::ProcessSpawned { .. } => {
                self.bereaved = None;
                // What came before was tried again.
                self.verdict = None;
                self.end = None;
            }
            EventKind::TurnStarted { .. } | EventKind::ItemStarted { .. } => self.is_heard = true,
            EventKind::TurnEnded { end, usage, .. } => {
                self.is_heard = true;
                self.end = Some(end.clone());
                if let Some(Usage::Turn(tokens)) = usage {
                    self.used = Some(*tokens);
                }
            }
            EventKind::HealthChanged { to: Health::Stalled, why, evidence, .. } => {
                self.is_heard = true;
                self.verdict = Some((why.clone(), evidence.clone()));
            }
            EventKind::SessionEnded { end, stderr_tail, .. } => {
                self.stderr.clone_from(stderr_tail);
                if !self.is_heard && *end == SessionEnd::Success {
                    self.bereaved = Some((*end, Instant::now() + SUCCESSOR));
                    return None;
                }
                return is_over.then(|| self.conclude(Some(*end)));
            }
            _ => {}
        }
        is_over.then(|| self.conclude(None))
    }

    /// Nobody came to take the prompt.
    pub(super) fn give_up_waiting(&mut self) -> Option<Ended> {
        let (end, _) = self.bereaved.take()?;
        Some(self.conclude(Some(end)))
    }

    fn conclude(&self, session: Option<SessionEnd>) -> Ended {
        if let Some((why, evidence)) = &self.verdict {
            let data = json!({ "verdict": evidence, "why": why });
            let is_limit = evidence
                .as_ref()
                .and_then(|it| it.verdict)
                .is_some_and(stablehand_core::event::VerdictKind::is_limit);
            if is_limit {
                return Ended::Stop(StopReason::MaxTurnRequests);
            }
            return failed(format!("the agent hung and was stopped: {why}"), data);
        }
        if self.was_cancelled() {
            return Ended::Stop(StopReason::Cancelled);
        }
        match &self.end {
            Some(TurnEnd::Done) => return Ended::Stop(StopReason::EndTurn),
            Some(TurnEnd::Refused) => return Ended::Stop(StopReason::Refusal),
            Some(TurnEnd::Limit) => return Ended::Stop(StopReason::MaxTokens),
            Some(TurnEnd::Cancelled) => return Ended::Stop(StopReason::Cancelled),
            Some(TurnEnd::Failed { failure: FailureKind::Auth, message }) => {
                return Ended::Failed(Error::auth_required().data(message.clone()));
            }
            Some(TurnEnd::Failed { failure, message }) => {
                return failed(message.clone(), json!({ "failure": failure }));
            }
            None => {}
        }
        let text = match session {
            Some(SessionEnd::Success) | None => return Ended::Stop(StopReason::EndTurn),
            Some(SessionEnd::Interrupted) => return Ended::Stop(StopReason::Cancelled),
            Some(SessionEnd::LimitReached) => return Ended::Stop(StopReason::MaxTurnRequests),
            Some(SessionEnd::SpawnFailed) => "the agent could not be started",
            Some(SessionEnd::Hung) => "the agent hung and was stopped",
            Some(_) => "the agent ended without a result",
        };
        let text = match &self.stderr {
            Some(tail) if !tail.trim().is_empty() => format!("{text}: {}", tail.trim()),
            _ => text.to_owned(),
        };
        failed(text, json!({ "end": session, "stderr": self.stderr }))
    }

    /// The one answer.
    pub(super) fn answer(self, ended: Ended, tokens: Option<Tokens>, log: Option<&PathBuf>) {
        let log = log.map(|log| log.to_string_lossy());
        let result = match ended {
            Ended::Stop(reason) => {
                let about = meta(json!({ "usage": tokens, "log": log }));
                Ok(PromptResponse::new(reason).usage(self.used.map(used)).meta(about))
            }
            Ended::Failed(mut error) => {
                // What to look at is said where it is read.
                if let (Some(serde_json::Value::Object(data)), Some(log)) = (&mut error.data, log) {
                    data.insert("log".to_owned(), json!(log));
                }
                Err(error)
            }
        };
        answer(self.responder, result);
    }
}

fn used(tokens: Tokens) -> schema::Usage {
    let (read, written) = (tokens.cache_read, tokens.cache_write);
    schema::Usage::new(tokens.total(), tokens.input, tokens.output)
        .thought_tokens(tokens.reasoning)
        .cached_read_tokens(read)
        .cached_write_tokens(written)
}

/// A turn that failed, in words.
pub(super) fn failed(message: String, data: serde_json::Value) -> Ended {
    Ended::Failed(internal(message, data))
}

/// An error of ours.
pub(super) fn internal(message: String, data: serde_json::Value) -> Error {
    let mut error = Error::internal_error().data(data);
    error.message = message;
    error
}
