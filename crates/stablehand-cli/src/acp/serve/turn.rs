//! One turn, as the editor waits for it: from its prompt to the one answer.
//!
//! Owns what the editor is told when a turn is over. The session's `turn.ended` decides when.

use super::updates::meta;
use super::worker::answer;
use agent_client_protocol::v1::Responder;
use agent_client_protocol::v1::schema::{self, Error, PromptResponse, StopReason};
use serde_json::json;
use stablehand_core::Event;
use stablehand_core::event::{EventKind, Evidence, FailureKind, Health, Tokens, TurnEnd, Usage};
use stablehand_core::id::TurnId;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long an agent gets to end a turn that was cancelled, stop stages included.
const CANCEL: Duration = Duration::from_secs(15);

/// How a turn ended.
#[derive(Debug)]
pub(super) enum Ended {
    Stop(StopReason),
    Failed(Error),
}

/// A turn that is on.
pub(super) struct Turn {
    responder: Responder<PromptResponse>,
    /// The session's turn, where the agent has the prompt.
    pub(super) id: Option<TurnId>,
    cancelled: Option<Instant>,
    /// Which command of ours it is, where it is one.
    pub(super) command: Option<u64>,
    /// The processes of the agent before it began.
    pub(super) processes: Vec<u32>,
    evidence: Option<Box<Evidence>>,
    stderr: Option<String>,
    used: Option<Tokens>,
}

impl Turn {
    pub(super) fn new(responder: Responder<PromptResponse>) -> Turn {
        Turn {
            responder,
            id: None,
            cancelled: None,
            command: None,
            processes: Vec::new(),
            evidence: None,
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
        self.cancelled
    }

    /// Takes the next event; how the turn ended, if it did.
    pub(super) fn heard(&mut self, event: &Event) -> Option<Ended> {
        match &event.event {
            EventKind::HealthChanged { to: Health::Stalled, evidence, .. } => {
                self.evidence.clone_from(evidence);
            }
            EventKind::RunEnded { stderr_tail, .. } => self.stderr.clone_from(stderr_tail),
            EventKind::TurnEnded { end, usage, .. } if event.turn == self.id => {
                if let Some(Usage::Turn(tokens)) = usage {
                    self.used = Some(*tokens);
                }
                return Some(self.conclude(end));
            }
            _ => {}
        }
        None
    }

    fn conclude(&self, end: &TurnEnd) -> Ended {
        match end {
            TurnEnd::Stopped { verdict, .. } if verdict.is_limit() => {
                Ended::Stop(StopReason::MaxTurnRequests)
            }
            TurnEnd::Stopped { message, .. } => {
                let data = json!({ "verdict": self.evidence, "why": message });
                failed(format!("the agent hung and was stopped: {message}"), data)
            }
            _ if self.was_cancelled() => Ended::Stop(StopReason::Cancelled),
            TurnEnd::Done => Ended::Stop(StopReason::EndTurn),
            TurnEnd::Refused => Ended::Stop(StopReason::Refusal),
            TurnEnd::Limit => Ended::Stop(StopReason::MaxTokens),
            TurnEnd::Cancelled => Ended::Stop(StopReason::Cancelled),
            TurnEnd::Failed { failure: FailureKind::Auth, message } => {
                Ended::Failed(Error::auth_required().data(message.clone()))
            }
            TurnEnd::Failed { failure, message } => {
                let is_told = !matches!(failure, FailureKind::NoResult | FailureKind::NotStarted);
                let stderr = self.stderr.as_deref().map(str::trim).filter(|_| !is_told);
                let text = match stderr.filter(|tail| !tail.is_empty()) {
                    Some(tail) => format!("{message}: {tail}"),
                    None => message.clone(),
                };
                failed(text, json!({ "failure": failure, "stderr": self.stderr }))
            }
        }
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
