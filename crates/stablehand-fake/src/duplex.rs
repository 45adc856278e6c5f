//! Talking with whoever started the agent, over standard input.
//!
//! Owns the thread that reads lines, the queue of prompts that wait for their turn, and when the
//! conversation is over. What a line means is the protocol's business: `duplex/claude.rs`,
//! `duplex/codex_app.rs` and `duplex/acp.rs`, each a function of the line and of what it remembers.

mod acp;
mod claude;
mod codex_app;

use crate::dialect::Said;
use crate::voice::Voice;
use serde_json::Value;
use stablehand_core::Dialect;
use std::collections::VecDeque;
use std::fmt::Debug;
use std::io::{self, BufRead};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

/// So many lines are read ahead; beyond that whoever writes to us waits.
const READ_AHEAD: usize = 64;

/// What a turn is asked for with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Prompted {
    /// The words.
    pub(crate) text: String,
    /// What there is to say of each image that came with them: its type and its size.
    pub(crate) images: Vec<String>,
}

impl Prompted {
    /// Words, and images as types with what they hold in base64.
    fn new<'v>(text: String, images: impl Iterator<Item = (&'v str, &'v str)>) -> Prompted {
        let named = |(mime, data): (&str, &str)| {
            let bytes = data.trim_end_matches('=').len() * 3 / 4;
            format!("{mime}, {bytes} bytes")
        };
        Prompted { text, images: images.map(named).collect() }
    }
}

/// What somebody told us.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// A prompt for a turn of its own.
    Turn(Prompted),
    /// The turn is to end now.
    Interrupt,
    /// A question was answered.
    Answer {
        /// The id of the question.
        to: String,
        /// How.
        verdict: Verdict,
    },
    /// Something that needed no more than the answer that was given.
    Handled,
    /// Something that no such agent survives.
    Broken,
}

/// The answer to a question.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Yes; perhaps with another command.
    Allow {
        /// The command to run instead.
        command: Option<String>,
    },
    /// No, for this reason.
    Deny(String),
}

/// What a line means.
pub(crate) trait Protocol: Debug + Send {
    /// Takes a line, answers it where that is due, and says what it was. `busy` while a turn is on.
    fn take(&mut self, line: &str, busy: bool, voice: &mut Voice, said: &mut Said) -> Option<News>;
}

/// A message of JSON-RPC, with its version or without.
#[derive(Debug)]
enum Rpc<'v> {
    /// Somebody wants an answer.
    Request { id: &'v Value, method: &'v str, params: &'v Value },
    /// Somebody tells us something.
    Notification { method: &'v str },
    /// An answer to a question of ours.
    Answer { id: &'v Value },
    /// Nothing that has a meaning.
    Nothing,
}

impl<'v> Rpc<'v> {
    fn of(value: &'v Value) -> Rpc<'v> {
        let id = value.get("id").filter(|id| !id.is_null());
        let params = value.get("params").unwrap_or(&Value::Null);
        match (value.get("method").and_then(Value::as_str), id) {
            (Some(method), Some(id)) => Rpc::Request { id, method, params },
            (Some(method), None) => Rpc::Notification { method },
            (None, Some(id)) => Rpc::Answer { id },
            (None, None) => Rpc::Nothing,
        }
    }
}

/// The id of a question as we named it: a number or a text.
fn id_text(id: &Value) -> String {
    id.as_str().map_or_else(|| id.to_string(), str::to_owned)
}

/// A conversation.
#[derive(Debug)]
pub(crate) struct Duplex {
    protocol: Box<dyn Protocol>,
    lines: Receiver<String>,
    is_open: bool,
    busy: bool,
    prompts: VecDeque<Prompted>,
}

impl Duplex {
    /// Begins to read; nothing for a dialect that has no such protocol.
    pub(crate) fn start(dialect: Dialect) -> Option<Duplex> {
        let protocol: Box<dyn Protocol> = match dialect {
            Dialect::Claude => Box::new(claude::Claude),
            Dialect::CodexApp => Box::new(codex_app::CodexApp::default()),
            Dialect::Acp => Box::new(acp::Acp::default()),
            _ => return None,
        };
        let (sender, lines) = sync_channel(READ_AHEAD);
        // It ends with the process: standard input may stay open for ever.
        std::thread::spawn(move || {
            for line in io::stdin().lock().split(b'\n') {
                let Ok(line) = line else { break };
                if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                    break;
                }
            }
        });
        Some(Duplex { protocol, lines, is_open: true, busy: false, prompts: VecDeque::new() })
    }

    /// Whether anything may still come.
    pub(crate) fn is_open(&self) -> bool {
        self.is_open
    }

    /// The next news within a time, or without a limit; none when there is none, or will be none.
    pub(crate) fn next(
        &mut self,
        time: Option<Duration>,
        voice: &mut Voice,
        said: &mut Said,
    ) -> Option<News> {
        loop {
            let line = match time {
                Some(time) => self.lines.recv_timeout(time),
                None => self.lines.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            let line = match line {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => return None,
                Err(RecvTimeoutError::Disconnected) => {
                    self.is_open = false;
                    return None;
                }
            };
            if line.trim().is_empty() {
                continue;
            }
            let news = self.protocol.take(&line, self.busy, voice, said);
            if let Some(News::Turn(prompt)) = &news {
                self.prompts.push_back(prompt.clone());
            }
            if news.is_some() {
                return news;
            }
            // The answer has to be written now.
            if !said.lines.is_empty() {
                return Some(News::Handled);
            }
        }
    }

    /// The end of the turn was told: there is nothing to interrupt any more.
    pub(crate) fn turn_is_over(&mut self) {
        self.busy = false;
    }

    /// The prompt that waits longest; its turn is on from here.
    pub(crate) fn next_prompt(&mut self) -> Option<Prompted> {
        let prompt = self.prompts.pop_front();
        self.busy = prompt.is_some();
        prompt
    }
}
