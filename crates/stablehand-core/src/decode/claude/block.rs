//! One block of a message's content, in one pass, also where its end is cut off.

use crate::json::Value;

/// The members that blocks have.
#[derive(Debug, Default)]
pub(super) struct Block<'a> {
    /// `text`, `thinking`, `tool_use`, `tool_result`, and their kin.
    pub(super) kind: &'a [u8],
    /// What it says; may be cut off ([`Value::cut_str`]).
    pub(super) text: Option<Value<'a>>,
    /// The id of a call, at its beginning.
    pub(super) id: Option<Value<'a>>,
    /// The id of a call, at its end.
    pub(super) tool_use_id: Option<Value<'a>>,
    pub(super) name: Option<Value<'a>>,
    /// The server of a tool that the model's service runs.
    pub(super) server: Option<Value<'a>>,
    /// What a tool is given; may be cut off.
    pub(super) input: Option<Value<'a>>,
    /// What a tool gave back; may be cut off.
    pub(super) content: Option<Value<'a>>,
    pub(super) is_error: Option<bool>,
}

impl<'a> Block<'a> {
    /// Reads a block.
    pub(super) fn read(block: Value<'a>) -> Block<'a> {
        Self::read_and_rest(block).0
    }

    /// Reads the block with which these bytes begin, and gives what follows it in its list.
    fn read_and_rest(block: Value<'a>) -> (Block<'a>, Option<Value<'a>>) {
        let mut read = Block::default();
        let mut members = block.members();
        while let Some(key) = members.key() {
            let Some(value) = members.value().or_else(|| members.rest()) else {
                break;
            };
            match key {
                b"type" => read.kind = value.raw_str().unwrap_or_default(),
                b"text" | b"thinking" => read.text = Some(value),
                b"id" => read.id = Some(value),
                b"tool_use_id" => read.tool_use_id = Some(value),
                b"name" => read.name = Some(value),
                b"server_name" => read.server = Some(value),
                b"input" => read.input = Some(value),
                b"content" => read.content = Some(value),
                b"is_error" => read.is_error = value.bool(),
                _ => {}
            }
        }
        let rest = if members.leave() { members.rest() } else { None };
        (read, rest)
    }

    /// Whether a call begins here: `tool_use`, `server_tool_use`, `mcp_tool_use`.
    pub(super) fn begins_call(&self) -> bool {
        self.kind.ends_with(b"tool_use")
    }

    /// Whether a call ends here: `tool_result`, `web_search_tool_result` and the like.
    pub(super) fn ends_call(&self) -> bool {
        self.kind.ends_with(b"tool_result")
    }
}

/// Returns true for the type of a block, or of a piece of one, that is known.
pub(super) fn is_known(kind: &[u8]) -> bool {
    const KNOWN: &[&str] = &[
        "text",
        "thinking",
        "tool_use",
        "tool_result",
        "redacted_thinking",
        "image",
        "document",
        "search_result",
        "text_delta",
        "thinking_delta",
        "input_json_delta",
        "signature_delta",
        "citations_delta",
        "compaction",
        "compaction_delta",
        "container_upload",
        "connector_text",
        "connector_text_delta",
        "tool_reference",
        "server_tool_use",
        "mcp_tool_use",
        "mcp_tool_result",
        "web_search_tool_result",
        "web_fetch_tool_result",
        "code_execution_tool_result",
        "bash_code_execution_tool_result",
        "text_editor_code_execution_tool_result",
        "tool_search_tool_result",
        "advisor_tool_result",
    ];
    KNOWN.iter().any(|known| known.as_bytes() == kind)
}

/// A message: who it is, and its blocks.
#[derive(Debug, Default)]
pub(super) struct Message<'a> {
    pub(super) id: Option<Value<'a>>,
    /// Runs on to the end of the message, or of the line ([`Value::enter`]).
    content: Option<Value<'a>>,
}

impl<'a> Message<'a> {
    /// Reads `message`, which may be cut off.
    pub(super) fn read(message: Option<Value<'a>>) -> Message<'a> {
        let mut read = Message::default();
        let Some(message) = message else {
            return read;
        };
        if !message.is_object() {
            read.content = Some(message);
            return read;
        }
        let mut members = message.members();
        while let Some(key) = members.key() {
            match key {
                b"id" => read.id = members.value(),
                // Content is long and what comes behind it is not wanted, but for the id.
                b"content" if read.id.is_some() => read.content = members.rest(),
                b"content" => read.content = members.value().or_else(|| members.rest()),
                _ => {
                    members.value();
                }
            }
        }
        read
    }

    /// The blocks, in order. Each is walked through once, its end included.
    pub(super) fn blocks(&self) -> impl Iterator<Item = Block<'a>> + use<'a> {
        let first = |content: Value<'a>| content.enter_first().unwrap_or(content);
        let mut next = self.content.map(first);
        std::iter::from_fn(move || {
            let at = next.take()?;
            if !at.is_object() {
                return bare_text(at);
            }
            let (block, rest) = Block::read_and_rest(at);
            next = rest;
            Some(block)
        })
    }

    /// How many calls end in it.
    pub(super) fn calls_ended(&self) -> usize {
        self.blocks().filter(Block::ends_call).count()
    }
}

/// Content that is a mere string, or a list that begins with one.
fn bare_text(at: Value<'_>) -> Option<Block<'_>> {
    let [b'"', inner @ ..] = at.raw() else {
        return None;
    };
    // The string may be cut off, or the line may go on behind it.
    let end = string_end(inner).map_or(at.raw().len(), |end| end + 2);
    let text = Value::new(at.raw().get(..end).unwrap_or_default());
    Some(Block { kind: b"text", text: Some(text), ..Block::default() })
}

/// Where the closing quote is.
fn string_end(inner: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr::memchr2(b'"', b'\\', inner.get(at..)?)?;
        if inner.get(at) == Some(&b'"') {
            return Some(at);
        }
        at += 2;
    }
}
