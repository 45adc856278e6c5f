//! One turn, as the editor waits for it: from its prompt to the one answer.
//!
//! Owns what the editor is told when a turn is over. The session's `turn.ended` decides when.

use super::updates::meta;
use super::worker::answer;
use agent_client_protocol::v1::Responder;
use agent_client_protocol::v1::schema::{
    self, Cost, Error, PromptResponse, SessionUpdate, StopReason, UsageUpdate,
};
use serde_json::json;
use stablehand::agent::Agent;
use stablehand::manage::status::how_to_log_in;
use stablehand_core::event::{EventKind, Evidence, FailureKind, Health, Tokens, TurnEnd, Usage};
use std::path::PathBuf;

/// How a turn ended.
#[derive(Debug)]
pub(super) enum Ended {
    Stop(StopReason),
    Failed(Error),
}

/// A turn that is on, or waits.
pub(super) struct Turn {
    responder: Responder<PromptResponse>,
    pub(super) cancelled: bool,
}

/// What was seen of the agent, for the words about a turn that failed.
#[derive(Debug, Default)]
pub(super) struct Seen {
    evidence: Option<Box<Evidence>>,
    stderr: Option<String>,
}

impl Seen {
    /// Takes the next event.
    pub(super) fn event(&mut self, event: &EventKind) {
        match event {
            EventKind::TurnStarted { .. } => *self = Seen::default(),
            EventKind::HealthChanged { to: Health::Stalled, evidence, .. } => {
                self.evidence.clone_from(evidence);
            }
            EventKind::RunEnded { stderr_tail, .. } => self.stderr.clone_from(stderr_tail),
            _ => {}
        }
    }
}

impl Turn {
    pub(super) fn new(responder: Responder<PromptResponse>) -> Turn {
        Turn { responder, cancelled: false }
    }

    /// How it ended for the editor.
    pub(super) fn conclude(&self, end: &TurnEnd, seen: &Seen, agent: Agent) -> Ended {
        match end {
            TurnEnd::Stopped { verdict, .. } if verdict.is_limit() => {
                Ended::Stop(StopReason::MaxTurnRequests)
            }
            TurnEnd::Stopped { message, .. } => {
                let data = json!({ "verdict": seen.evidence, "why": message });
                failed(format!("the agent hung and was stopped: {message}"), data)
            }
            _ if self.cancelled => Ended::Stop(StopReason::Cancelled),
            TurnEnd::Done => Ended::Stop(StopReason::EndTurn),
            TurnEnd::Refused => Ended::Stop(StopReason::Refusal),
            TurnEnd::Limit => Ended::Stop(StopReason::MaxTokens),
            TurnEnd::Cancelled => Ended::Stop(StopReason::Cancelled),
            TurnEnd::Failed { failure: FailureKind::Auth, message } => {
                let hint = how_to_log_in(agent);
                Ended::Failed(Error::auth_required().data(format!("{message} (hint: {hint})")))
            }
            TurnEnd::Failed { failure, message } => {
                let is_told = !matches!(failure, FailureKind::NoResult | FailureKind::NotStarted);
                let stderr = seen.stderr.as_deref().map(str::trim).filter(|_| !is_told);
                let text = match stderr.filter(|tail| !tail.is_empty()) {
                    Some(tail) => format!("{message}: {tail}"),
                    None => message.clone(),
                };
                failed(text, json!({ "failure": failure, "stderr": seen.stderr }))
            }
        }
    }

    /// The one answer: what the turn used, what the session has used, and where its log is.
    pub(super) fn answer(
        self,
        ended: Ended,
        usage: Option<&Usage>,
        tokens: Option<Tokens>,
        log: Option<PathBuf>,
    ) {
        let log = log.map(|log| log.to_string_lossy().into_owned());
        let used = match usage {
            Some(Usage::Turn(tokens)) => Some(used(*tokens)),
            _ => None,
        };
        let result = match ended {
            Ended::Stop(reason) => {
                let about = meta(json!({ "usage": tokens, "log": log }));
                Ok(PromptResponse::new(reason).usage(used).meta(about))
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

/// What a session has cost, for the editor; none where the agent states no cost. The numbers of the
/// context window are zero: no agent's events tell how large it is.
pub(super) fn cost_update(tokens: &Tokens) -> Option<SessionUpdate> {
    let cost = Cost::new(tokens.cost_usd?, "USD");
    let about = meta(json!({ "usage": tokens }));
    Some(SessionUpdate::UsageUpdate(UsageUpdate::new(0, 0).cost(cost).meta(about)))
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
