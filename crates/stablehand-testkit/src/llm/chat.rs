//! OpenAI's Chat Completions, as OpenCode speaks them to a provider of one's own.
//!
//! Owns the shapes of this one protocol: requests, streamed and whole answers, errors.

use super::conversation::{Conversation, Declared, Frame, Reply, list, prompt_in, word};
use serde_json::{Value, json};

pub(super) fn read(body: &Value) -> Conversation {
    let mut conversation = Conversation {
        model: word(body, "model").to_owned(),
        streamed: body.get("stream") == Some(&Value::Bool(true)),
        tools: list(body, "tools").iter().map(declared).collect(),
        schema: body.pointer("/response_format/json_schema/schema").cloned(),
        ..Conversation::default()
    };
    for message in list(body, "messages") {
        match word(message, "role") {
            "assistant" if !list(message, "tool_calls").is_empty() => conversation.rounds += 1,
            "user" => {
                let content = message.get("content").unwrap_or(&Value::Null);
                if let Some(text) = prompt_in(content) {
                    conversation.user_said(text);
                }
            }
            _ => {}
        }
    }
    if is_aside(body) {
        conversation.tools.clear();
    }
    conversation
}

/// Whether Grok asks for a title, by a tool that must be called, or for a line about its last turn.
fn is_aside(body: &Value) -> bool {
    let last = list(body, "messages").last().map_or("", |message| word(message, "content"));
    body.pointer("/tool_choice/function").is_some()
        || last.starts_with("<system-reminder>Write an ultra-short dashboard line")
}

fn declared(tool: &Value) -> Declared {
    let function = tool.get("function").unwrap_or(&Value::Null);
    let schema = function.get("parameters").cloned().unwrap_or(json!({}));
    Declared { name: word(function, "name").to_owned(), schema: Some(schema) }
}

fn answer(reply: &Reply, object: &str, choices: &Value) -> Value {
    json!({
        "id": format!("chatcmpl-{}", reply.id),
        "object": object,
        "created": 1_700_000_000,
        "model": reply.model,
        "choices": choices,
    })
}

fn chunk(reply: &Reply, delta: &Value, finish: Option<&str>) -> Value {
    let choice = json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
    answer(reply, "chat.completion.chunk", &choice)
}

fn calls(reply: &Reply) -> Vec<Value> {
    let call = |(number, call): (usize, &super::conversation::Call)| {
        json!({
            "id": format!("call_{}_{number}", reply.id),
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments.to_text()},
        })
    };
    reply.calls.iter().enumerate().map(call).collect()
}

fn usage(reply: &Reply) -> Value {
    let (input, output) = reply.tokens;
    json!({"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output})
}

fn finish_reason(reply: &Reply) -> &'static str {
    if reply.calls.is_empty() { "stop" } else { "tool_calls" }
}

pub(super) fn whole(reply: &Reply) -> Value {
    let mut message = json!({"role": "assistant", "content": reply.text()});
    if !reply.calls.is_empty() {
        message["tool_calls"] = calls(reply).into();
    }
    let choice = json!([{"index": 0, "message": message, "finish_reason": finish_reason(reply)}]);
    let mut whole = answer(reply, "chat.completion", &choice);
    whole["usage"] = usage(reply);
    whole
}

/// A call comes in two parts, its name and then its arguments, as from the real service.
pub(super) fn frames(reply: &Reply) -> Vec<Frame> {
    let begin = json!({"role": "assistant", "content": ""});
    let mut frames = vec![Frame::other(chunk(reply, &begin, None))];
    if let Some(thinking) = &reply.thinking {
        frames.push(Frame::other(chunk(reply, &json!({"reasoning_content": thinking}), None)));
    }
    let piece = |text: &String| Frame::text(chunk(reply, &json!({"content": text}), None));
    frames.extend(reply.pieces.iter().map(piece));
    for (index, mut call) in calls(reply).into_iter().enumerate() {
        let arguments = call["function"]["arguments"].take();
        call["index"] = index.into();
        call["function"]["arguments"] = "".into();
        let rest = json!({"index": index, "function": {"arguments": arguments}});
        for part in [call, rest] {
            frames.push(Frame::other(chunk(reply, &json!({"tool_calls": [part]}), None)));
        }
    }
    frames.push(Frame::other(chunk(reply, &json!({}), Some(finish_reason(reply)))));
    let mut last = answer(reply, "chat.completion.chunk", &json!([]));
    last["usage"] = usage(reply);
    frames.push(Frame::other(last));
    frames
}

/// The error of both of OpenAI's protocols.
pub(super) fn error(status: u16, message: &str) -> Value {
    let kind = match status {
        400 | 404 => "invalid_request_error",
        401 => "invalid_api_key",
        429 => "rate_limit_exceeded",
        _ => "server_error",
    };
    json!({"error": {"message": message, "type": kind, "param": null, "code": kind}})
}
