//! What a request says, in no protocol's words, and what is answered to it.
//!
//! Owns the two values between the scenes and the protocols: a [`Conversation`] is what a protocol
//! reads out of a request, a [`Reply`] what it renders. The place in a scene follows from the
//! conversation alone, so that a resumed session needs no memory of the server.

use serde_json::Value;

/// A request to the model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conversation {
    /// The model that is asked for.
    pub model: String,
    /// Whether the answer is wanted piece by piece.
    pub streamed: bool,
    /// The last text of the user, without what agents add around it in pieces of their own.
    pub prompt: String,
    /// How often tools were asked for since that prompt.
    pub rounds: usize,
    /// The tools that the agent has.
    pub tools: Vec<Declared>,
    /// The shape that the answer must have, where one is asked for.
    pub schema: Option<Value>,
}

impl Conversation {
    /// A user's text: a new prompt.
    pub(super) fn user_said(&mut self, text: String) {
        self.prompt = text;
        self.rounds = 0;
    }

    /// Agents ask for titles, routes and summaries besides; these requests have no tools or want JSON.
    pub fn is_side_request(&self) -> bool {
        self.schema.is_some() || self.tools.is_empty()
    }
}

/// A tool as the agent declares it.
#[derive(Debug, Clone, PartialEq)]
pub struct Declared {
    /// Its name.
    pub name: String,
    /// The JSON Schema of its arguments; none for one that takes plain text.
    pub schema: Option<Value>,
}

/// An answer, ready to be rendered.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// A word that ids are made of; unique within a server.
    pub id: String,
    /// The model.
    pub model: String,
    /// Reasoning before the text.
    pub thinking: Option<String>,
    /// The text in pieces.
    pub pieces: Vec<String>,
    /// The tools that are called.
    pub calls: Vec<Call>,
    /// Tokens in and out: invented, but never zero.
    pub tokens: (u64, u64),
}

impl Reply {
    /// The whole text.
    pub fn text(&self) -> String {
        self.pieces.concat()
    }
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The tool.
    pub name: String,
    /// What it is given.
    pub arguments: Arguments,
}

/// What a tool is given.
#[derive(Debug, Clone, PartialEq)]
pub enum Arguments {
    /// A JSON object.
    Json(Value),
    /// Text as it is.
    Plain(String),
}

impl Arguments {
    /// As one string, as most protocols carry it.
    pub fn to_text(&self) -> String {
        match self {
            Arguments::Json(value) => value.to_string(),
            Arguments::Plain(text) => text.clone(),
        }
    }
}

/// A message of a streamed answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// Whether it carries a piece of the text: pauses and faults fall between those.
    pub is_text: bool,
    /// Its JSON.
    pub data: Value,
}

impl Frame {
    pub(super) fn other(data: Value) -> Frame {
        Frame { is_text: false, data }
    }

    pub(super) fn text(data: Value) -> Frame {
        Frame { is_text: true, data }
    }
}

/// A list inside a value; empty where there is none.
pub(super) fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A string inside a value; empty where there is none.
pub(super) fn word<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// What agents put around a prompt as texts of their own begins like this.
const ADDED: &[&str] = &["<system-reminder>", "<environment_context>", "<session_context>"];

/// What Copilot puts in front of a prompt, in the same text.
const IN_FRONT: (&str, &str) = ("<current_datetime>", "</current_datetime>\n\n");

/// The user's text among the texts of one message: the last that the agent did not add itself.
pub(super) fn prompt_among<'t>(texts: impl Iterator<Item = &'t str>) -> Option<String> {
    let is_own = |text: &&str| {
        let begin = text.trim_start();
        !begin.is_empty() && !ADDED.iter().any(|added| begin.starts_with(added))
    };
    let text = texts.filter(is_own).last()?;
    let behind = text.starts_with(IN_FRONT.0).then(|| text.split_once(IN_FRONT.1)).flatten();
    Some(behind.map_or(text, |(_, behind)| behind).to_owned())
}

/// The text of a message whose content is a string or a list of parts with `text`.
pub(super) fn prompt_in(content: &Value) -> Option<String> {
    match content {
        Value::String(text) => prompt_among(std::iter::once(text.as_str())),
        Value::Array(parts) => prompt_among(parts.iter().map(|part| word(part, "text"))),
        _ => None,
    }
}
