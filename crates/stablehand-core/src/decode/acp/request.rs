//! What an agent wants of its client that rules may be about: permissions, files and terminals.
//!
//! Reads one line for somebody who stands between the two and has to be certain: a line with two
//! methods, one that is no object, or one that is too long to be seen whole is unreadable, because the
//! client may read it otherwise than we do. Owns the words for refusing such a request, and for asking
//! the client about it. Decides nothing.

use super::calls::begun;
use super::speak::Kind;
use crate::event::{Tool, ToolInput, ToolKind};
use crate::id::ItemId;
use crate::interaction::Permission;
use crate::json::{self, Scan, Value};
use crate::line::{Line, Part};
use crate::speak::Answer;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// What rules have to say something about.
#[derive(Debug)]
pub enum AcpQuestion {
    /// Nothing.
    None,
    /// Nobody knows.
    Unreadable,
    /// Whether a call may be made that the stream tells of.
    Permission,
    /// Whether the client may do this for the agent, in each of the ways in which a client may
    /// understand it.
    Tools(Vec<Tool>),
}

/// A line of an agent, as far as rules are about it.
#[derive(Debug)]
pub struct AcpRequest {
    /// Its method; empty where it is no request.
    pub method: String,
    /// What rules have to say something about.
    pub question: AcpQuestion,
    /// Everything that the client is given.
    pub arguments: serde_json::Value,
    /// Where it works.
    pub cwd: Option<String>,
    id: Option<Box<RawValue>>,
    options: Option<Kind>,
}

/// The members of a message; of any of them there may be one.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
}

impl AcpRequest {
    /// Reads a line, or the beginning of one that is too long.
    pub fn read(line: &Line<'_>, scan: &Scan<'_>) -> AcpRequest {
        let nothing = |question| AcpRequest {
            method: String::new(),
            question,
            arguments: serde_json::Value::Null,
            cwd: None,
            id: None,
            options: None,
        };
        if line.part == Part::First {
            let object = json::scan_prefix(line.bytes);
            let id = object.and_then(|object| object.get("id")).filter(|id| !id.is_null());
            // Whoever asks for too much at once is to know that it will not be.
            let id = id.and_then(|id| serde_json::from_slice(id.raw()).ok());
            return AcpRequest { id, ..nothing(beginning(line)) };
        }
        if line.bytes.trim_ascii().is_empty() {
            return nothing(AcpQuestion::None);
        }
        let Scan::Object(_) = scan else { return nothing(AcpQuestion::Unreadable) };
        let Ok(envelope) = serde_json::from_slice::<Envelope<'_>>(line.bytes) else {
            return nothing(AcpQuestion::Unreadable);
        };
        let Some(method) = envelope.method else { return nothing(AcpQuestion::None) };
        let id = envelope.id.filter(|id| id.get() != "null").map(ToOwned::to_owned);
        let params = envelope.params.map_or("{}", RawValue::get);
        if !is_certain(&method, id.as_deref(), params) || json::repeats_a_member(line.bytes) {
            let method = method.into_owned();
            return AcpRequest { method, id, ..nothing(AcpQuestion::Unreadable) };
        }
        let (question, arguments, cwd, options) = match method.as_ref() {
            "session/request_permission" => {
                let kind = Kind::permission(Value::new(params.as_bytes()));
                (AcpQuestion::Permission, serde_json::Value::Null, None, Some(kind))
            }
            "fs/read_text_file" | "fs/write_text_file" | "terminal/create" => {
                let arguments = serde_json::from_str(params).unwrap_or_default();
                let cwd = text(&arguments, "cwd");
                (AcpQuestion::Tools(tools(&method, &arguments)), arguments, cwd, None)
            }
            _ => (AcpQuestion::None, serde_json::Value::Null, None, None),
        };
        AcpRequest { method: method.into_owned(), question, arguments, cwd, id, options }
    }

    /// The id, for records.
    pub fn id_text(&self) -> String {
        let raw = self.id.as_ref().map_or("", |id| id.get());
        serde_json::from_str::<String>(raw).unwrap_or_else(|_| raw.to_owned())
    }

    /// The answer to a request for permission, where there is such an answer.
    pub fn permit(&self, answer: &Answer) -> Option<Vec<u8>> {
        let result = self.options.as_ref()?.reply(answer)?;
        Some(self.answer("result", &result))
    }

    /// Returns what choosing this option of a permission request means for the call.
    pub fn permission_by(&self, option: &str) -> Permission {
        let Some(Kind::Permission(options)) = &self.options else { return Permission::Denied };
        match options.iter().find(|(id, _)| id == option) {
            Some((_, kind)) if kind == "allow_always" => Permission::Always,
            Some((_, kind)) if kind.starts_with("allow") => Permission::Granted,
            _ => Permission::Denied,
        }
    }

    /// The answer to a request that must not be; none where nobody waits for one.
    pub fn refuse(&self, why: &str) -> Option<Vec<u8>> {
        self.id.as_ref()?;
        Some(self.answer("error", &json!({ "code": -32603, "message": why })))
    }

    fn answer(&self, how: &str, what: &serde_json::Value) -> Vec<u8> {
        let mut out = Vec::new();
        if let Some(id) = &self.id {
            super::relay::answer(id, how, what, &mut out);
        }
        out
    }

    /// A question of ours to the client about it.
    pub fn ask(&self, id: &str, tool: Option<&Tool>, why: &str) -> Vec<u8> {
        let (kind, what) = match self.method.as_str() {
            "fs/read_text_file" => ("read", "Read"),
            "fs/write_text_file" => ("edit", "Write"),
            _ => ("execute", "Run"),
        };
        let shown = tool.map(Tool::headline).unwrap_or_default();
        let call = json!({
            "toolCallId": id, "title": format!("{what} {shown}"), "kind": kind,
            "status": "pending", "rawInput": self.arguments,
            "content": [{ "type": "content", "content": { "type": "text", "text": why } }],
        });
        let options = json!([
            { "optionId": "allow", "name": "Allow", "kind": "allow_once" },
            { "optionId": "reject", "name": "Reject", "kind": "reject_once" },
        ]);
        let session = text(&self.arguments, "sessionId");
        let params = json!({ "sessionId": session, "toolCall": call, "options": options });
        let mut out = Vec::new();
        let method = "session/request_permission";
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        super::speak::line(&request, &mut out);
        out
    }
}

/// Of a line that is too long only the beginning is seen: an answer or a piece of news passes, and
/// whatever could be a request of the kinds that are judged does not.
fn beginning(line: &Line<'_>) -> AcpQuestion {
    let Some(object) = json::scan_prefix(line.bytes) else { return AcpQuestion::Unreadable };
    let cut = object.cut_member().map(|(key, _)| key);
    let has = |key: &str| object.get(key).is_some() || cut == Some(key.as_bytes());
    let is_news = object.get("method").is_some_and(|method| method.is_str("session/update"));
    if is_news || has("result") || has("error") {
        AcpQuestion::None
    } else {
        AcpQuestion::Unreadable
    }
}

/// Returns true if a request has the form that the protocol gives it, as far as rules are about it. A
/// client may make something else of another form than we would.
fn is_certain(method: &str, id: Option<&RawValue>, params: &str) -> bool {
    use serde_json::Value as Json;
    let judged = ["session/request_permission", "fs/read_text_file", "fs/write_text_file"];
    if !judged.contains(&method) && method != "terminal/create" {
        return true;
    }
    let id = id.map_or(Some(Json::Null), |id| serde_json::from_str(id.get()).ok());
    if !matches!(id, Some(Json::Null | Json::String(_) | Json::Number(_))) {
        return false;
    }
    let Ok(Json::Object(params)) = serde_json::from_str::<Json>(params) else { return false };
    let is_text = |key: &str| params.get(key).is_some_and(Json::is_string);
    let absent = |key: &str| params.get(key).is_none_or(Json::is_null);
    let is_list = |key: &str, fits: fn(&Json) -> bool| match params.get(key) {
        Some(Json::Array(list)) => list.iter().all(fits),
        _ => false,
    };
    let names = |it: &Json| it.get("name").is_some_and(Json::is_string);
    match method {
        "session/request_permission" => {
            params.get("toolCall").is_some_and(Json::is_object)
                && is_list("options", |it| it.get("optionId").is_some_and(Json::is_string))
        }
        "terminal/create" => {
            is_text("command")
                && (absent("cwd") || is_text("cwd"))
                && (absent("args") || is_list("args", Json::is_string))
                && (absent("env") || is_list("env", Json::is_object))
                && params.get("env").and_then(Json::as_array).is_none_or(|list| {
                    list.iter().all(|it| names(it) && it.get("value").is_some_and(Json::is_string))
                })
        }
        _ => is_text("path"),
    }
}

fn text(holder: &serde_json::Value, key: &str) -> Option<String> {
    holder.get(key).and_then(serde_json::Value::as_str).map(str::to_owned)
}

/// What the client would do.
fn tools(method: &str, arguments: &serde_json::Value) -> Vec<Tool> {
    let one = |kind, name: &str, input| {
        let mut tool = begun(method.to_owned(), ItemId(0));
        (tool.tool_kind, tool.input, tool.name) = (kind, input, name.to_owned());
        tool
    };
    let path = || match text(arguments, "path") {
        Some(path) => ToolInput::Path { path },
        None => ToolInput::Other { summary: String::new() },
    };
    match method {
        "fs/read_text_file" => vec![one(ToolKind::Read, "read_text_file", path())],
        "fs/write_text_file" => vec![one(ToolKind::Edit, "write_text_file", path())],
        _ => {
            let cwd = text(arguments, "cwd");
            let run = |command| {
                let input = ToolInput::Command { command, cwd: cwd.clone() };
                one(ToolKind::Execute, "terminal", input)
            };
            commands(arguments).into_iter().map(run).collect()
        }
    }
}

/// The command of a terminal: with its arguments as they are meant, and as a client that gives all of
/// it to a shell would have them.
fn commands(arguments: &serde_json::Value) -> Vec<String> {
    let list = |key: &str| arguments.get(key).and_then(serde_json::Value::as_array);
    let words = list("args").into_iter().flatten();
    let words: Vec<&str> = words.filter_map(serde_json::Value::as_str).collect();
    let sets = list("env").into_iter().flatten().map(|variable| {
        let name = text(variable, "name").unwrap_or_default();
        format!("{name}={} ", quoted(&text(variable, "value").unwrap_or_default()))
    });
    let sets: String = sets.collect();
    let command = text(arguments, "command").unwrap_or_default();
    let join = |quote: fn(&str) -> String| {
        let words = words.iter().map(|word| quote(word));
        let all: Vec<String> = std::iter::once(format!("{sets}{command}")).chain(words).collect();
        all.join(" ")
    };
    let (meant, plain) = (join(quoted), join(str::to_owned));
    if meant == plain { vec![meant] } else { vec![meant, plain] }
}

/// As one word of a shell.
fn quoted(word: &str) -> String {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "-_./=:,@%+".contains(sign);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> AcpRequest {
        let line = Line { bytes: text.as_bytes(), offset: 0, part: Part::Whole, newline: true };
        AcpRequest::read(&line, &json::scan(line.bytes))
    }

    fn inputs(text: &str) -> Vec<String> {
        match read(text).question {
            AcpQuestion::Tools(tools) => tools.iter().map(|it| it.headline().to_owned()).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_two_readers_could_read_differently_is_not_read() {
        for line in [
            r#"{"method":"_x","method":"fs/write_text_file","id":1}"#,
            r#"{"method":"_x","m\u0065thod":"fs/write_text_file","id":1}"#,
            r#"[{"method":"fs/write_text_file","id":1}]"#,
            "no JSON",
        ] {
            assert!(matches!(read(line).question, AcpQuestion::Unreadable), "{line}");
        }
        for line in [r#"{"id":1,"result":{}}"#, r#"{"method":"session/update","params":{}}"#, " "] {
            assert!(matches!(read(line).question, AcpQuestion::None), "{line}");
        }
    }

    #[test]
    fn names_are_read_however_they_are_written() {
        let line = r#"{"id":1,"method":"fs\/read_t\u0065xt_file","params":{"path":"/a"}}"#;
        assert_eq!(inputs(line), ["/a"]);
    }

    #[test]
    fn a_terminal_is_judged_in_each_way_in_which_it_may_be_run() {
        let line = r#"{"id":1,"method":"terminal/create","params":{"command":"echo","args":["a","b; rm c"],"env":[{"name":"X","value":"1 2"}]}}"#;
        assert_eq!(inputs(line), ["X='1 2' echo a 'b; rm c'", "X='1 2' echo a b; rm c"]);
        let line = r#"{"id":1,"method":"terminal/create","params":{"command":"ls -l"}}"#;
        assert_eq!(inputs(line), ["ls -l"]);
    }

    #[test]
    fn ids_are_given_back_as_they_were_written() {
        let line = r#"{"id":12345678901234567890123,"method":"fs/read_text_file","params":{}}"#;
        let answer = String::from_utf8(read(line).refuse("no").unwrap()).unwrap();
        assert!(answer.contains("\"id\":12345678901234567890123,"), "{answer}");
    }
}
