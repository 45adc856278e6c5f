//! What we say to Claude Code in a conversation: prompts, interrupts, answers.
//!
//! One JSON object a line. Prompts may be sent at any time, the agent takes them up one after
//! another. A line that is not JSON would end it, so everything here is made by a serializer.

use super::super::questions::Questions;
use crate::json::{Object, Value};
use crate::speak::{Answer, Image, Prompt, Speak, Unanswerable};
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

/// What the agent is told where nobody gave a reason.
const NO_REASON: &str = "denied";

/// Speaks to Claude Code.
#[derive(Debug, Default)]
pub struct ClaudeSpeaker {
    /// Requests of ours so far: their ids must differ.
    requests: u64,
    /// Prompts that were sent and have not ended.
    turns: u64,
    open: Questions<Question>,
}

/// A question that waits.
#[derive(Debug)]
enum Question {
    /// May a tool run? Its input is repeated in the answer.
    Tool(Box<RawValue>),
    /// A server of tools asks something.
    Elicitation,
}

impl ClaudeSpeaker {
    fn request(&mut self, subtype: &str, out: &mut Vec<u8>) {
        self.requests += 1;
        let id = format!("stablehand-{}", self.requests);
        let request = json!({ "subtype": subtype });
        line(&json!({ "type": "control_request", "request_id": id, "request": request }), out);
    }
}

impl Speak for ClaudeSpeaker {
    fn open(&mut self, out: &mut Vec<u8>) {
        self.request("initialize", out);
    }

    fn put(&mut self, prompt: &Prompt, out: &mut Vec<u8>) {
        self.turns += 1;
        let image = |image: &Image| {
            let Image { mime, data, .. } = image;
            let source = json!({ "type": "base64", "media_type": mime, "data": data });
            json!({ "type": "image", "source": source })
        };
        let mut content: Vec<_> = prompt.images.iter().map(image).collect();
        // A block without words is refused.
        if !prompt.text.is_empty() || content.is_empty() {
            content.push(json!({ "type": "text", "text": prompt.text }));
        }
        line(&json!({ "type": "user", "message": { "role": "user", "content": content } }), out);
    }

    fn interrupt(&mut self, out: &mut Vec<u8>) -> bool {
        if self.turns == 0 {
            return false;
        }
        self.request("interrupt", out);
        true
    }

    fn answer(&mut self, id: &str, answer: &Answer, out: &mut Vec<u8>) -> Result<(), Unanswerable> {
        match (self.open.get(id)?, answer) {
            (Question::Tool(_), Answer::Deny { message }) => respond(id, &denied(message), out),
            (Question::Tool(input), Answer::Allow | Answer::AllowAlways) => {
                respond(id, &allowed(input), out);
            }
            (Question::Tool(_), Answer::AllowWith { input }) => {
                // Whatever is no object would be no input of a tool.
                if !input.is_object() {
                    return Err(no_such_answer(id, answer.word()));
                }
                respond(id, &allowed(input), out);
            }
            (Question::Tool(input), Answer::Choose(option)) => match option.as_str() {
                "allow" => respond(id, &allowed(input), out),
                "deny" => respond(id, &denied(""), out),
                option => match chosen(input, option) {
                    Some(input) => respond(id, &allowed(&input), out),
                    None => return Err(no_such_answer(id, option)),
                },
            },
            (Question::Elicitation, Answer::Deny { .. }) => {
                respond(id, &json!({ "action": "decline" }), out);
            }
            (Question::Elicitation, Answer::Choose(word))
                if ["decline", "cancel"].contains(&word.as_str()) =>
            {
                respond(id, &json!({ "action": word }), out);
            }
            (Question::Elicitation, Answer::AllowWith { input }) => {
                respond(id, &json!({ "action": "accept", "content": input }), out);
            }
            (Question::Elicitation, _) => {
                respond(id, &json!({ "action": "accept", "content": {} }), out);
            }
        }
        self.open.close(id);
        Ok(())
    }

    fn heard(&mut self, object: &Object<'_>, out: &mut Vec<u8>) {
        let Some(kind) = object.get("type").and_then(Value::raw_str) else { return };
        match kind {
            b"result" => self.turns = self.turns.saturating_sub(1),
            b"control_request" => self.asked(object, out),
            b"control_cancel_request" => {
                if let Some(id) = object.get("request_id").and_then(Value::string) {
                    self.open.close(&id);
                }
            }
            _ => {}
        }
    }

    fn is_open(&self, id: &str) -> bool {
        self.open.get(id).is_ok()
    }
}

impl ClaudeSpeaker {
    fn asked(&mut self, object: &Object<'_>, out: &mut Vec<u8>) {
        let Some(id) = object.get("request_id").and_then(Value::string) else { return };
        let request = object.get("request").unwrap_or(Value::new(b"{}"));
        let subtype = request.get("subtype").and_then(Value::raw_str).unwrap_or_default();
        match subtype {
            b"can_use_tool" => {
                let input = request.get("input").map_or(&b"{}"[..], Value::raw);
                let input = serde_json::from_slice(input).unwrap_or_else(|_| no_input());
                self.open.ask(id, Question::Tool(input));
            }
            b"elicitation" => self.open.ask(id, Question::Elicitation),
            subtype => {
                // It waits for an answer to everything; this is the one that lets it go on.
                let error = format!("`{}` is not supported", String::from_utf8_lossy(subtype));
                let response = json!({ "subtype": "error", "request_id": id, "error": error });
                line(&json!({ "type": "control_response", "response": response }), out);
            }
        }
    }
}

/// The input of a tool that asks questions, with the option as its answer.
fn chosen(input: &RawValue, option: &str) -> Option<serde_json::Value> {
    let mut input: serde_json::Value = serde_json::from_str(input.get()).ok()?;
    let mut answers = serde_json::Map::new();
    for question in input.get("questions")?.as_array()? {
        let labels = question.get("options").and_then(serde_json::Value::as_array);
        let offered =
            labels.into_iter().flatten().any(|it| it.get("label").is_some_and(|l| l == option));
        let text = question.get("question").and_then(serde_json::Value::as_str);
        if let Some(text) = text.filter(|_| offered) {
            answers.insert(text.to_owned(), option.into());
        }
    }
    if answers.is_empty() {
        return None;
    }
    input.as_object_mut()?.insert("answers".to_owned(), answers.into());
    Some(input)
}

fn no_input() -> Box<RawValue> {
    RawValue::from_string("{}".to_owned()).unwrap_or_default()
}

fn no_such_answer(id: &str, answer: &str) -> Unanswerable {
    Unanswerable::NoSuchAnswer { id: id.to_owned(), answer: answer.to_owned() }
}

/// The tool may run. Its input is repeated as it was written, not as we would write it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Allowed<'a, T: ?Sized> {
    behavior: &'static str,
    updated_input: &'a T,
}

fn allowed<T: ?Sized>(updated_input: &T) -> Allowed<'_, T> {
    Allowed { behavior: "allow", updated_input }
}

fn denied(message: &str) -> serde_json::Value {
    let message = if message.is_empty() { NO_REASON } else { message };
    json!({ "behavior": "deny", "message": message })
}

#[derive(Serialize)]
struct Line<'a, T> {
    r#type: &'static str,
    response: Response<'a, T>,
}

#[derive(Serialize)]
struct Response<'a, T> {
    subtype: &'static str,
    request_id: &'a str,
    #[serde(rename = "response")]
    body: &'a T,
}

fn respond<T: Serialize>(id: &str, body: &T, out: &mut Vec<u8>) {
    let response = Response { subtype: "success", request_id: id, body };
    line(&Line { r#type: "control_response", response }, out);
}

fn line(value: &impl Serialize, out: &mut Vec<u8>) {
    // Writing to memory what was made of strings cannot fail.
    let _written = serde_json::to_writer(&mut *out, value);
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{Scan, scan};

    fn hear(speaker: &mut ClaudeSpeaker, line: &str) -> String {
        let mut out = Vec::new();
        let Scan::Object(object) = scan(line.as_bytes()) else { panic!("no object: {line}") };
        speaker.heard(&object, &mut out);
        String::from_utf8(out).unwrap()
    }

    fn said(f: impl FnOnce(&mut Vec<u8>)) -> serde_json::Value {
        let mut out = Vec::new();
        f(&mut out);
        assert_eq!(out.split(|byte| *byte == b'\n').count(), 2, "one line");
        serde_json::from_slice(&out).unwrap()
    }

    #[test]
    fn a_prompt_is_one_line_whatever_is_in_it() {
        let mut speaker = ClaudeSpeaker::default();
        let text = "first\nsecond \u{2028} \"quoted\"";
        let line = said(|out| speaker.prompt(text, out));
        assert_eq!(line.pointer("/message/content/0/text").unwrap(), text);
    }

    #[test]
    fn a_permission_is_answered_with_the_very_input() {
        let mut speaker = ClaudeSpeaker::default();
        let asked = r#"{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Write","input":{"n":1.50,"file_path":"/w/a"}}}"#;
        assert_eq!(hear(&mut speaker, asked), "");
        assert!(speaker.is_open("r1"));
        let mut out = Vec::new();
        speaker.answer("r1", &Answer::Allow, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains(r#""behavior":"allow""#), "{text}");
        // Numbers too are repeated as they were written, not as we would write them.
        assert!(text.contains(r#""updatedInput":{"n":1.50,"file_path":"/w/a"}"#), "{text}");
        let again = speaker.answer("r1", &Answer::Allow, &mut Vec::new());
        assert_eq!(again, Err(Unanswerable::NotOpen { id: "r1".into() }));
    }

    #[test]
    fn a_permission_may_come_with_another_input() {
        let mut speaker = ClaudeSpeaker::default();
        let asked = r#"{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"rm -r /"}}}"#;
        hear(&mut speaker, asked);
        let no_object = Answer::AllowWith { input: json!("ls") };
        let refused = speaker.answer("r1", &no_object, &mut Vec::new());
        assert!(matches!(refused, Err(Unanswerable::NoSuchAnswer { .. })));
        let other = Answer::AllowWith { input: json!({ "command": "ls" }) };
        let line = said(|out| speaker.answer("r1", &other, out).unwrap());
        let response = line.pointer("/response/response").unwrap();
        let expected = json!({ "behavior": "allow", "updatedInput": { "command": "ls" } });
        assert_eq!(response, &expected);
    }

    #[test]
    fn a_denial_says_why() {
        let mut speaker = ClaudeSpeaker::default();
        let asked = r#"{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{}}}"#;
        hear(&mut speaker, asked);
        let deny = Answer::Deny { message: "not on a Monday".into() };
        let line = said(|out| speaker.answer("r1", &deny, out).unwrap());
        let response = line.pointer("/response/response").unwrap();
        assert_eq!(response, &json!({ "behavior": "deny", "message": "not on a Monday" }));
    }

    #[test]
    fn a_question_of_the_model_is_answered_by_one_of_its_options() {
        let mut speaker = ClaudeSpeaker::default();
        let asked = r#"{"type":"control_request","request_id":"q","request":{"subtype":"can_use_tool","tool_name":"AskUserQuestion","input":{"questions":[{"question":"Which?","options":[{"label":"oats"},{"label":"hay"}]}]}}}"#;
        hear(&mut speaker, asked);
        let wrong = speaker.answer("q", &Answer::Choose("corn".into()), &mut Vec::new());
        assert!(matches!(wrong, Err(Unanswerable::NoSuchAnswer { .. })));
        let line = said(|out| speaker.answer("q", &Answer::Choose("hay".into()), out).unwrap());
        let answers = line.pointer("/response/response/updatedInput/answers").unwrap();
        assert_eq!(answers, &json!({ "Which?": "hay" }));
    }

    #[test]
    fn what_nobody_can_answer_is_declined_at_once() {
        let mut speaker = ClaudeSpeaker::default();
        let asked =
            r#"{"type":"control_request","request_id":"x","request":{"subtype":"new_thing"}}"#;
        let answer = hear(&mut speaker, asked);
        assert!(
            answer.contains(r#""subtype":"error""#) && answer.contains("new_thing"),
            "{answer}"
        );
    }

    #[test]
    fn only_a_turn_can_be_interrupted() {
        let mut speaker = ClaudeSpeaker::default();
        assert!(!speaker.interrupt(&mut Vec::new()));
        speaker.prompt("hi", &mut Vec::new());
        let line = said(|out| assert!(speaker.interrupt(out)));
        assert_eq!(line.pointer("/request/subtype").unwrap(), "interrupt");
        hear(&mut speaker, r#"{"type":"result","subtype":"success"}"#);
        assert!(!speaker.interrupt(&mut Vec::new()));
    }
}
