//! OpenAI's Responses, as Codex speaks them.
//!
//! Owns the shapes of this one protocol: requests, streamed and whole answers. Its errors are those of
//! Chat Completions.

use super::conversation::{
    Arguments, Call, Conversation, Declared, Frame, Reply, list, prompt_in, word,
};
use serde_json::{Value, json};

pub(super) fn read(body: &Value) -> Conversation {
    let mut conversation = Conversation {
        model: word(body, "model").to_owned(),
        streamed: body.get("stream") == Some(&Value::Bool(true)),
        tools: list(body, "tools").iter().map(declared).collect(),
        schema: body.pointer("/text/format/schema").cloned(),
        ..Conversation::default()
    };
    if let Some(text) = body.get("input").and_then(Value::as_str) {
        conversation.user_said(text.to_owned());
    }
    // Calls of one answer stand together; what they gave back follows.
    let mut in_round = false;
    for item in list(body, "input") {
        let kind = match word(item, "type") {
            "" => "message",
            kind => kind,
        };
        if kind.ends_with("_call") {
            conversation.rounds += usize::from(!in_round);
            in_round = true;
            continue;
        }
        if kind.ends_with("_output") {
            in_round = false;
        } else if kind == "message" && word(item, "role") == "user" {
            let content = item.get("content").unwrap_or(&Value::Null);
            if let Some(text) = prompt_in(content) {
                conversation.user_said(text);
                in_round = false;
            }
        }
    }
    conversation
}

/// A `custom` tool takes plain text.
fn declared(tool: &Value) -> Declared {
    let schema = match word(tool, "type") {
        "custom" => None,
        _ => Some(tool.get("parameters").cloned().unwrap_or(json!({}))),
    };
    Declared { name: word(tool, "name").to_owned(), schema }
}

fn response(reply: &Reply, status: &str, output: &[Value], usage: &Value) -> Value {
    json!({
        "id": format!("resp_{}", reply.id),
        "object": "response",
        "created_at": 1_700_000_000,
        "status": status,
        "model": reply.model,
        "output": output,
        "error": null,
        "usage": usage,
        "parallel_tool_calls": true,
        "tools": [],
    })
}

fn usage(reply: &Reply) -> Value {
    let (input, output) = reply.tokens;
    json!({
        "input_tokens": input,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": input + output,
    })
}

fn reasoning(reply: &Reply) -> Option<Value> {
    let thinking = reply.thinking.as_ref()?;
    Some(json!({
        "type": "reasoning",
        "id": format!("rs_{}", reply.id),
        "summary": [{"type": "summary_text", "text": thinking}],
        "encrypted_content": "b2F0cw==",
    }))
}

fn message(reply: &Reply) -> Option<Value> {
    (!reply.pieces.is_empty()).then(|| {
        json!({
            "type": "message",
            "id": format!("msg_{}", reply.id),
            "status": "completed",
            "role": "assistant",
            "content": [{"type": "output_text", "text": reply.text(), "annotations": []}],
        })
    })
}

fn call_item(reply: &Reply, number: usize, call: &Call) -> Value {
    let call_id = format!("call_{}_{number}", reply.id);
    match &call.arguments {
        Arguments::Json(arguments) => json!({
            "type": "function_call",
            "id": format!("fc_{}_{number}", reply.id),
            "call_id": call_id,
            "name": call.name,
            "arguments": arguments.to_string(),
            "status": "completed",
        }),
        Arguments::Plain(text) => json!({
            "type": "custom_tool_call",
            "id": format!("ctc_{}_{number}", reply.id),
            "call_id": call_id,
            "name": call.name,
            "input": text,
            "status": "completed",
        }),
    }
}

fn output(reply: &Reply) -> Vec<Value> {
    let calls = reply.calls.iter().enumerate().map(|(number, call)| call_item(reply, number, call));
    reasoning(reply).into_iter().chain(message(reply)).chain(calls).collect()
}

fn completed(reply: &Reply) -> Value {
    response(reply, "completed", &output(reply), &usage(reply))
}

pub(super) fn whole(reply: &Reply) -> Value {
    completed(reply)
}

pub(super) fn frames(reply: &Reply) -> Vec<Frame> {
    let begun = response(reply, "in_progress", &[], &Value::Null);
    let mut frames = vec![
        Frame::other(json!({"type": "response.created", "response": begun})),
        Frame::other(json!({"type": "response.in_progress", "response": begun})),
    ];
    for (index, item) in output(reply).into_iter().enumerate() {
        item_frames(reply, index, &item, &mut frames);
    }
    frames.push(Frame::other(json!({"type": "response.completed", "response": completed(reply)})));
    for (number, frame) in frames.iter_mut().enumerate() {
        frame.data["sequence_number"] = number.into();
    }
    frames
}

/// An item is added empty, grows by deltas of its kind and is done.
fn item_frames(reply: &Reply, index: usize, item: &Value, frames: &mut Vec<Frame>) {
    let id = &item["id"];
    let mut empty = item.clone();
    empty["status"] = "in_progress".into();
    let deltas = match word(item, "type") {
        "reasoning" => {
            empty["summary"] = json!([]);
            let text = &item["summary"][0]["text"];
            vec![Frame::other(json!({
                "type": "response.reasoning_summary_text.delta", "item_id": id,
                "output_index": index, "summary_index": 0, "delta": text,
            }))]
        }
        "message" => {
            empty["content"] = json!([]);
            let part = json!({"type": "output_text", "text": "", "annotations": []});
            let added = json!({
                "type": "response.content_part.added", "item_id": id,
                "output_index": index, "content_index": 0, "part": part,
            });
            let piece = |text: &String| {
                Frame::text(json!({
                    "type": "response.output_text.delta", "item_id": id,
                    "output_index": index, "content_index": 0, "delta": text,
                }))
            };
            let done = json!({
                "type": "response.output_text.done", "item_id": id,
                "output_index": index, "content_index": 0, "text": reply.text(),
            });
            let pieces = reply.pieces.iter().map(piece);
            std::iter::once(Frame::other(added))
                .chain(pieces)
                .chain(std::iter::once(Frame::other(done)))
                .collect()
        }
        "function_call" => {
            empty["arguments"] = "".into();
            vec![Frame::other(json!({
                "type": "response.function_call_arguments.delta", "item_id": id,
                "output_index": index, "delta": item["arguments"],
            }))]
        }
        _ => {
            empty["input"] = "".into();
            vec![Frame::other(json!({
                "type": "response.custom_tool_call_input.delta", "item_id": id,
                "output_index": index, "delta": item["input"],
            }))]
        }
    };
    frames.push(Frame::other(
        json!({"type": "response.output_item.added", "output_index": index, "item": empty}),
    ));
    frames.extend(deltas);
    frames.push(Frame::other(
        json!({"type": "response.output_item.done", "output_index": index, "item": item}),
    ));
}
