//! The other direction: what we say to an agent that listens while it works.
//!
//! Owns the vocabulary between a driver and the agents' own protocols; each protocol is in
//! `decode/<agent>`, beside the decoder that reads its answers. A speaker makes lines and sends
//! none; it hears the agent's lines only as far as its own next words depend on them. Everything
//! else that they say is the decoder's.

use crate::id::SessionId;
use crate::json::Object;
use crate::mcp::McpServer;
use crate::wish::{Service, Services, Wish};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// What a conversation begins with, as far as an agent's arguments cannot say it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opening {
    /// Continue this session.
    pub resume: Option<SessionId>,
    /// Which model.
    pub model: Option<String>,
    /// Where to work.
    pub cwd: Option<String>,
    /// What it may do.
    pub access: Access,
    /// How to log in, in the agent's own word, where it wants that said.
    pub login: Option<String>,
    /// What it may have us do for it, where its protocol has words for that.
    pub services: Services,
    /// Servers of tools for this session.
    pub mcp: Vec<McpServer>,
}

/// What an agent is asked: words, and perhaps images.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompt {
    /// The words.
    pub text: String,
    /// What the agent is shown with them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
}

/// An image for an agent.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// Its type, as `image/png`.
    pub mime: String,
    /// The image, in base64.
    pub data: String,
    /// Where it comes from, where that is known.
    pub uri: Option<String>,
}

impl Prompt {
    /// Whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.images.is_empty()
    }

    /// The prompt for an agent that takes no images: it is told what it was not shown.
    pub fn in_words(&self) -> String {
        let named = |image: &Image| {
            let mime = crate::text::excerpt(image.mime.as_bytes(), 64);
            format!("[an image ({mime}) that you cannot be shown]")
        };
        let text = Some(self.text.clone()).filter(|text| !text.is_empty());
        let parts: Vec<_> = text.into_iter().chain(self.images.iter().map(named)).collect();
        parts.join("\n\n")
    }
}

impl From<String> for Prompt {
    fn from(text: String) -> Self {
        Prompt { text, images: Vec::new() }
    }
}

impl From<&str> for Prompt {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<&String> for Prompt {
    fn from(text: &String) -> Self {
        text.clone().into()
    }
}

impl std::fmt::Debug for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Nobody reads base64.
        let Image { mime, data, uri } = self;
        f.debug_struct("Image")
            .field("mime", mime)
            .field("data", &format_args!("{} bytes of base64", data.len()))
            .field("uri", uri)
            .finish()
    }
}

/// What an agent may do without asking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// It asks before whatever may change something.
    #[default]
    Asked,
    /// It may look, and asks for the rest.
    ReadOnly,
    /// It may change files in the workspace, and asks for the rest.
    Workspace,
    /// Everything.
    Everything,
}

/// An answer to a question of the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Yes, this once.
    Allow,
    /// Yes, this once, and with this input instead of the agent's own. Not every agent can.
    AllowWith {
        /// What the tool is given.
        input: serde_json::Value,
    },
    /// Yes, and for the rest of the session.
    AllowAlways,
    /// No; the agent is told why and goes on.
    Deny {
        /// For the agent.
        message: String,
    },
    /// One of the options that the question came with.
    Choose(String),
}

impl Answer {
    /// The word for the record.
    pub fn word(&self) -> &str {
        match self {
            Answer::Allow => "allow",
            Answer::AllowWith { .. } => "allow_with",
            Answer::AllowAlways => "allow_always",
            Answer::Deny { .. } => "deny",
            Answer::Choose(option) => option,
        }
    }

    /// Returns true if the agent may not go on with what it asked for. A chosen option is the agent's
    /// own word, and no denial.
    pub fn is_denial(&self) -> bool {
        matches!(self, Answer::Deny { .. })
    }
}

/// Why a question cannot be answered so.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Unanswerable {
    /// It was never asked, was answered, or taken back.
    #[error("no question `{id}` is open")]
    NotOpen {
        /// The id that was named.
        id: String,
    },
    /// The agent would not understand it.
    #[error("`{answer}` is no answer to `{id}`")]
    NoSuchAnswer {
        /// The question.
        id: String,
        /// The answer.
        answer: String,
    },
}

/// Speaks one agent's protocol. Every method appends whole lines to `out`.
pub trait Speak: Send {
    /// The first words.
    fn open(&mut self, out: &mut Vec<u8>);

    /// A prompt. Where the agent is not ready for one yet, it is kept until it is.
    fn put(&mut self, prompt: &Prompt, out: &mut Vec<u8>);

    /// A prompt of words alone.
    fn prompt(&mut self, text: &str, out: &mut Vec<u8>) {
        self.put(&text.into(), out);
    }

    /// A line of ours as it may be written down, where it holds secrets that were handed to us.
    fn without_secrets(&self, _line: &str) -> Option<String> {
        None
    }

    /// What could not be said to the agent since the last time, for people: it does not take it.
    fn left_out(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// Ends the turn that is on, not the process. False where there is nothing to interrupt.
    fn interrupt(&mut self, out: &mut Vec<u8>) -> bool;

    /// Answers a question.
    fn answer(&mut self, id: &str, answer: &Answer, out: &mut Vec<u8>) -> Result<(), Unanswerable>;

    /// A line of the agent, which may be an answer to us or a question that can only be declined.
    fn heard(&mut self, object: &Object<'_>, out: &mut Vec<u8>);

    /// What the agent wants done since this was last asked.
    fn take_wishes(&mut self) -> Vec<Wish> {
        Vec::new()
    }

    /// Tells the agent what became of a wish; nothing where it no longer waits for that.
    fn serve(&mut self, _id: &str, _service: &Service, _out: &mut Vec<u8>) {}

    /// Whether a question of that id waits for [`Speak::answer`].
    fn is_open(&self, id: &str) -> bool;
}
