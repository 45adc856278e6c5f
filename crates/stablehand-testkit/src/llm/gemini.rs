//! Google's `generateContent`, as Gemini CLI speaks it.
//!
//! Owns the shapes of this one protocol: requests, streamed and whole answers, errors. The model and
//! whether to stream are in the path, which [`super::route`] reads.

use super::conversation::{
    Arguments, Conversation, Declared, Frame, Reply, list, prompt_among, word,
};
use serde_json::{Value, json};

pub(super) fn read(body: &Value) -> Conversation {
    let config = body.get("generationConfig").unwrap_or(&Value::Null);
    let schema = config.get("responseJsonSchema").or(config.get("responseSchema"));
    let tools = list(body, "tools").iter().flat_map(|tool| list(tool, "functionDeclarations"));
    let mut conversation = Conversation {
        tools: tools.map(declared).collect(),
        schema: schema.cloned(),
        ..Conversation::default()
    };
    for content in list(body, "contents") {
        let parts = list(content, "parts");
        let has = |kind| parts.iter().any(|part| part.get(kind).is_some());
        match word(content, "role") {
            "model" if has("functionCall") => conversation.rounds += 1,
            "user" if !has("functionResponse") => {
                if let Some(text) = prompt_among(parts.iter().map(|part| word(part, "text"))) {
                    conversation.user_said(text);
                }
            }
            _ => {}
        }
    }
    conversation
}

fn declared(function: &Value) -> Declared {
    let schema = function.get("parametersJsonSchema").or(function.get("parameters"));
    let schema = schema.cloned().unwrap_or(json!({}));
    Declared { name: word(function, "name").to_owned(), schema: Some(schema) }
}

fn answer(reply: &Reply, parts: &[Value]) -> Value {
    json!({
        "candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}],
        "modelVersion": reply.model,
        "responseId": reply.id,
    })
}

/// Only the last answer says why it ended and what it used.
fn last_answer(reply: &Reply, parts: &[Value]) -> Value {
    let (input, output) = reply.tokens;
    let mut last = answer(reply, parts);
    last["candidates"][0]["finishReason"] = "STOP".into();
    last["usageMetadata"] = json!({
        "promptTokenCount": input,
        "candidatesTokenCount": output,
        "totalTokenCount": input + output,
    });
    last
}

fn thought(reply: &Reply) -> Option<Value> {
    reply.thinking.as_ref().map(|thinking| json!({"text": thinking, "thought": true}))
}

fn calls(reply: &Reply) -> Vec<Value> {
    let call = |(number, call): (usize, &super::conversation::Call)| {
        let arguments = match &call.arguments {
            Arguments::Json(value) => value.clone(),
            Arguments::Plain(text) => json!({ "input": text }),
        };
        let id = format!("fc_{}_{number}", reply.id);
        json!({
            "functionCall": {"id": id, "name": call.name, "args": arguments},
            "thoughtSignature": "b2F0cw==",
        })
    };
    reply.calls.iter().enumerate().map(call).collect()
}

pub(super) fn whole(reply: &Reply) -> Value {
    let mut parts: Vec<Value> = thought(reply).into_iter().collect();
    parts.push(json!({"text": reply.text()}));
    parts.extend(calls(reply));
    last_answer(reply, &parts)
}

pub(super) fn frames(reply: &Reply) -> Vec<Frame> {
    let mut frames = Vec::new();
    if let Some(thought) = thought(reply) {
        frames.push(Frame::other(answer(reply, &[thought])));
    }
    let piece = |text: &String| Frame::text(answer(reply, &[json!({"text": text})]));
    frames.extend(reply.pieces.iter().map(piece));
    let calls = calls(reply);
    if !calls.is_empty() {
        frames.push(Frame::other(answer(reply, &calls)));
    }
    frames.push(Frame::other(last_answer(reply, &[json!({"text": ""})])));
    frames
}

pub(super) fn error(status: u16, message: &str) -> Value {
    let word = match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        500 => "INTERNAL",
        _ => "UNAVAILABLE",
    };
    json!({"error": {"code": status, "message": message, "status": word}})
}
