//! Claude Code's side of `--input-format stream-json`: prompts, control requests, answers.

use super::{News, Prompted, Protocol, Verdict};
use crate::dialect::Said;
use crate::json::{Json, NULL, list, object};
use crate::voice::Voice;
use serde_json::{Value, json};

#[derive(Debug)]
pub(super) struct Claude;

impl Protocol for Claude {
    fn take(&mut self, line: &str, busy: bool, voice: &mut Voice, said: &mut Said) -> Option<News> {
        let Ok(value) = serde_json::from_str::<Value>(line) else {
            let length = line.trim().chars().count();
            said.error(format!(
                "Error parsing streaming input line (type=unknown, {length} chars): SyntaxError"
            ));
            return Some(News::Broken);
        };
        match value.get("type").and_then(Value::as_str) {
            Some("user") => Some(News::Turn(prompt(&value))),
            Some("control_request") => request(&value, busy, voice, said),
            Some("control_response") => answer(&value),
            // The real one ignores what it does not know.
            _ => None,
        }
    }
}

/// What a message says: a string, or blocks of text and images.
fn prompt(value: &Value) -> Prompted {
    match value.pointer("/message/content") {
        Some(Value::String(text)) => Prompted { text: text.clone(), images: Vec::new() },
        Some(Value::Array(blocks)) => {
            let texts: Vec<&str> =
                blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect();
            let images = blocks.iter().filter_map(|block| {
                let word = |key: &str| block.pointer(key).and_then(Value::as_str);
                let is_image = word("/type") == Some("image");
                let is_here = word("/source/type") == Some("base64");
                let image = word("/source/media_type").zip(word("/source/data"));
                image.filter(|_| is_image && is_here)
            });
            Prompted::new(texts.join("\n"), images)
        }
        _ => Prompted::default(),
    }
}

fn request(value: &Value, busy: bool, voice: &mut Voice, said: &mut Said) -> Option<News> {
    let id = value.get("request_id").and_then(Value::as_str).unwrap_or_default();
    let subtype = value.pointer("/request/subtype").and_then(Value::as_str).unwrap_or_default();
    match subtype {
        "initialize" => {
            said.line(success(id, initialized(voice)));
            None
        }
        "interrupt" => {
            said.line(success(id, object! { "still_queued": list![] }));
            busy.then_some(News::Interrupt)
        }
        "set_permission_mode" => {
            let mode = value.pointer("/request/mode").and_then(Value::as_str).unwrap_or("default");
            said.line(success(id, object! { "mode": mode }));
            said.line(object! {
                "type": "system", "subtype": "status", "status": NULL, "permissionMode": mode,
                "uuid": voice.uuid(), "session_id": &voice.id.session,
            });
            None
        }
        "set_model" => {
            let model = value.pointer("/request/model").and_then(Value::as_str);
            voice.id.model = model.map(str::to_owned).or(voice.id.model.take());
            said.line(success(id, object! {}));
            None
        }
        _ => {
            let response = object! {
                "subtype": "error", "request_id": id,
                "error": format!("Unsupported control request subtype: {subtype}"),
            };
            said.line(object! { "type": "control_response", "response": response });
            None
        }
    }
}

fn success(id: &str, response: Json) -> Json {
    let response = object! { "subtype": "success", "request_id": id, "response": response };
    object! { "type": "control_response", "response": response }
}

fn initialized(voice: &Voice) -> Json {
    object! {
        "commands": list![object! {
            "name": "compact", "description": "Shorten the conversation", "argumentHint": "",
        }],
        "output_style": "default", "available_output_styles": list!["default"],
        "models": list![object! {
            "value": "default", "displayName": "Default", "description": "The scripted model",
        }],
        "account": json!({ "tokenSource": "none", "apiKeySource": "ANTHROPIC_API_KEY" }),
        "pid": std::process::id(), "claude_code_version": "2.1.325",
        "current_permission_mode": if voice.id.asks { "default" } else { "bypassPermissions" },
    }
}

fn answer(value: &Value) -> Option<News> {
    let to = value.pointer("/response/request_id")?.as_str()?.to_owned();
    let response = value.pointer("/response/response");
    let said = |key: &str| response.and_then(|response| response.pointer(key)?.as_str());
    let verdict = if said("/behavior") == Some("allow") {
        Verdict::Allow { command: said("/updatedInput/command").map(str::to_owned) }
    } else {
        let reason = said("/message").or_else(|| value.pointer("/response/error")?.as_str());
        Verdict::Deny(reason.unwrap_or("Permission was denied").to_owned())
    };
    Some(News::Answer { to, verdict })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voice::{Clock, Identity};

    fn take(line: &str, busy: bool) -> (Option<News>, Vec<String>) {
        let mut voice = Voice::new(Identity::invented(), Clock::Invented);
        let mut said = Said::default();
        let news = Claude.take(line, busy, &mut voice, &mut said);
        (news, said.lines)
    }

    #[test]
    fn a_prompt_is_a_string_or_blocks() {
        let turn =
            |text: &str| Some(News::Turn(Prompted { text: text.to_owned(), images: vec![] }));
        let string = r#"{"type":"user","message":{"role":"user","content":"feed"}}"#;
        assert_eq!(take(string, false), (turn("feed"), vec![]));
        let blocks = r#"{"type":"user","message":{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}}"#;
        assert_eq!(take(blocks, true), (turn("a\nb"), vec![]));
    }

    #[test]
    fn an_interrupt_is_answered_first_and_is_news_only_in_a_turn() {
        let line =
            r#"{"type":"control_request","request_id":"i","request":{"subtype":"interrupt"}}"#;
        let answer = r#"{"type":"control_response","response":{"subtype":"success","request_id":"i","response":{"still_queued":[]}}}"#;
        assert_eq!(take(line, true), (Some(News::Interrupt), vec![answer.to_owned()]));
        assert_eq!(take(line, false), (None, vec![answer.to_owned()]));
    }

    #[test]
    fn an_answer_is_yes_or_no() {
        let allow = r#"{"type":"control_response","response":{"subtype":"success","request_id":"q","response":{"behavior":"allow","updatedInput":{"command":"ls"}}}}"#;
        let verdict = Verdict::Allow { command: Some("ls".into()) };
        assert_eq!(take(allow, true).0, Some(News::Answer { to: "q".into(), verdict }));
        let deny = r#"{"type":"control_response","response":{"subtype":"success","request_id":"q","response":{"behavior":"deny","message":"no"}}}"#;
        let verdict = Verdict::Deny("no".into());
        assert_eq!(take(deny, true).0, Some(News::Answer { to: "q".into(), verdict }));
    }

    #[test]
    fn what_is_not_json_ends_it_and_what_is_unknown_is_ignored() {
        assert_eq!(take("feed the ponies", false).0, Some(News::Broken));
        assert_eq!(take(r#"{"type":"new"}"#, false), (None, vec![]));
        let (news, lines) = take(
            r#"{"type":"control_request","request_id":"x","request":{"subtype":"fly"}}"#,
            true,
        );
        assert!(news.is_none() && lines[0].contains("\"error\""), "{lines:?}");
    }
}
