//! What tools are given: the `input` of a `tool_use` block.
//!
//! Which tool is of which kind is in `table`; how calls end in `outcome`.

pub(super) use super::super::kit::{cut, first, mix};
use super::super::kit::{input_of, row_of};
use super::table::Row;
use crate::event::{ToolInput, ToolKind};
use crate::id::digest64;
use crate::json::Value;

/// How much of an input or a result goes into a digest.
pub(super) const DIGEST_BUDGET: usize = 64 << 10;

/// What a tool was given.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) kind: ToolKind,
    pub(super) input: ToolInput,
    pub(super) also: Vec<ToolInput>,
    pub(super) timeout_ms: Option<u64>,
    pub(super) background: bool,
    /// Of the name and the whole input.
    pub(super) digest: u64,
}

/// Reads the input of the tool of that name; its end may be cut off.
pub(super) fn given(table: &[Row], name: &str, input: Option<Value<'_>>) -> Given {
    let row = row_of(table, name).unwrap_or_default();
    let args = input.unwrap_or(Value::new(b"{}"));
    let mut given = Given {
        kind: row.kind,
        input: ToolInput::Other { summary: String::new() },
        also: Vec::new(),
        timeout_ms: None,
        background: false,
        digest: digest64(name.as_bytes()),
    };
    let mut budget = DIGEST_BUDGET;
    for (key, value) in args.members() {
        match key {
            // Of the unit of other tools' `timeout` nothing is known.
            b"timeout" if row.kind == ToolKind::Execute => given.timeout_ms = value.u64(),
            b"timeout_ms" => given.timeout_ms = value.u64(),
            b"run_in_background" | b"is_background" => {
                given.background = value.bool() == Some(true);
            }
            _ => {}
        }
        let raw = value.raw();
        let raw = raw.get(..raw.len().min(budget)).unwrap_or_default();
        budget -= raw.len();
        given.digest = mix(mix(given.digest, digest64(key)), digest64(raw));
    }
    given.timeout_ms = given.timeout_ms.filter(|ms| *ms > 0);
    if let Some((server, tool)) = server_and_tool(name) {
        given.input = ToolInput::Mcp { server: server.to_owned(), tool: tool.to_owned() };
    } else {
        (given.input, given.also) = input_of(row, args);
    }
    given
}

/// `mcp__<server>__<tool>`
fn server_and_tool(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("mcp__")?.split_once("__")
}
