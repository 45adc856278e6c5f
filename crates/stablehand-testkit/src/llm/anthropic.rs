//! Anthropic's Messages, as Claude Code speaks them.
//!
//! Owns the shapes of this one protocol: requests, streamed and whole answers, errors.

use super::conversation::{Arguments, Conversation, Declared, Frame, Reply, list, prompt_in, word};
use serde_json::{Value, json};

pub(super) fn read(body: &Value) -> Conversation {
    let mut conversation = Conversation {
        model: word(body, "model").to_owned(),
        streamed: body.get("stream") == Some(&Value::Bool(true)),
        tools: list(body, "tools").iter().map(declared).collect(),
        schema: body.pointer("/output_config/format/schema").cloned(),
        ..Conversation::default()
    };
    for message in list(body, "messages") {
        let has = |kind| list(message, "content").iter().any(|block| word(block, "type") == kind);
        match word(message, "role") {
            "assistant" if has("tool_use") => conversation.rounds += 1,
            "user" if !has("tool_result") => {
                let content = message.get("content").unwrap_or(&Value::Null);
                if let Some(text) = prompt_in(content) {
                    conversation.user_said(text);
                }
            }
            _ => {}
        }
    }
    conversation
}

/// A tool of the service itself (web search) has no schema, but takes JSON all the same.
fn declared(tool: &Value) -> Declared {
    let schema = tool.get("input_schema").cloned().unwrap_or(json!({}));
    Declared { name: word(tool, "name").to_owned(), schema: Some(schema) }
}

/// The blocks of an answer.
fn blocks(reply: &Reply) -> Vec<Value> {
    let mut blocks = Vec::new();
    if let Some(thinking) = &reply.thinking {
        blocks.push(json!({"type": "thinking", "thinking": thinking, "signature": "b2F0cw=="}));
    }
    if !reply.pieces.is_empty() {
        blocks.push(json!({"type": "text", "text": reply.text()}));
    }
    for (number, call) in reply.calls.iter().enumerate() {
        let input = match &call.arguments {
            Arguments::Json(value) => value.clone(),
            Arguments::Plain(text) => json!({ "input": text }),
        };
        let id = format!("toolu_{}_{number}", reply.id);
        blocks.push(json!({"type": "tool_use", "id": id, "name": call.name, "input": input}));
    }
    blocks
}

fn usage(reply: &Reply, output: u64) -> Value {
    json!({
        "input_tokens": reply.tokens.0,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": output,
    })
}

fn message(reply: &Reply, content: &[Value], stop: Option<&str>, output: u64) -> Value {
    json!({
        "id": format!("msg_{}", reply.id),
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": null,
        "usage": usage(reply, output),
    })
}

fn stop_reason(reply: &Reply) -> &'static str {
    if reply.calls.is_empty() { "end_turn" } else { "tool_use" }
}

pub(super) fn whole(reply: &Reply) -> Value {
    message(reply, &blocks(reply), Some(stop_reason(reply)), reply.tokens.1)
}

pub(super) fn frames(reply: &Reply) -> Vec<Frame> {
    let start = json!({"type": "message_start", "message": message(reply, &[], None, 1)});
    let mut frames = vec![Frame::other(start)];
    for (index, block) in blocks(reply).into_iter().enumerate() {
        block_frames(reply, index, &block, &mut frames);
    }
    frames.push(Frame::other(json!({
        "type": "message_delta",
        "delta": {"stop_reason": stop_reason(reply), "stop_sequence": null},
        "usage": usage(reply, reply.tokens.1),
    })));
    frames.push(Frame::other(json!({"type": "message_stop"})));
    frames
}

/// A block begins empty, grows by deltas and ends.
fn block_frames(reply: &Reply, index: usize, block: &Value, frames: &mut Vec<Frame>) {
    let delta =
        |delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let (empty, deltas) = match word(block, "type") {
        "thinking" => (
            json!({"type": "thinking", "thinking": "", "signature": ""}),
            vec![
                Frame::other(delta(
                    json!({"type": "thinking_delta", "thinking": block["thinking"]}),
                )),
                Frame::other(delta(
                    json!({"type": "signature_delta", "signature": block["signature"]}),
                )),
            ],
        ),
        "text" => {
            let piece =
                |text: &String| Frame::text(delta(json!({"type": "text_delta", "text": text})));
            (json!({"type": "text", "text": ""}), reply.pieces.iter().map(piece).collect())
        }
        _ => {
            let input = block["input"].to_string();
            let (id, name) = (&block["id"], &block["name"]);
            (
                json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
                vec![Frame::other(delta(
                    json!({"type": "input_json_delta", "partial_json": input}),
                ))],
            )
        }
    };
    frames.push(Frame::other(
        json!({"type": "content_block_start", "index": index, "content_block": empty}),
    ));
    frames.extend(deltas);
    frames.push(Frame::other(json!({"type": "content_block_stop", "index": index})));
}

pub(super) fn error(status: u16, message: &str) -> Value {
    let kind = match status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    };
    json!({"type": "error", "error": {"type": kind, "message": message}})
}
