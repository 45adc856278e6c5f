//! Files and terminals in the words of the protocol: what an agent asks a client for, and the answers.

use super::super::kit::first;
use crate::json::Value;
use crate::wish::{Command, CommandEnd, Service, Services, Want};
use serde_json::json;

/// The code of an error that says: there is no such thing.
const NOT_FOUND: i64 = -32002;
/// That a request does not say what it has to.
pub(super) const INVALID_PARAMS: i64 = -32602;
/// That it was not done.
const NOT_DONE: i64 = -32603;

/// What a request is for; `None` where it is for nothing of ours.
pub(super) fn wanted(method: &[u8], params: Value<'_>) -> Option<Result<Want, &'static str>> {
    let text = |key: &str| params.get(key).and_then(Value::string);
    let number = |key: &str| params.get(key).and_then(Value::u64);
    let path = || text("path").ok_or("path is missing");
    let terminal = || text("terminalId").ok_or("terminalId is missing");
    Some(match method {
        b"fs/read_text_file" => {
            path().map(|path| Want::Read { path, line: number("line"), limit: number("limit") })
        }
        b"fs/write_text_file" => path().and_then(|path| {
            let content = text("content").ok_or("content is missing")?;
            Ok(Want::Write { path, content })
        }),
        b"terminal/create" => command(params).map(Want::Run),
        b"terminal/output" => terminal().map(|terminal| Want::Output { terminal }),
        b"terminal/wait_for_exit" => terminal().map(|terminal| Want::Wait { terminal }),
        b"terminal/kill" => terminal().map(|terminal| Want::Kill { terminal }),
        b"terminal/release" => terminal().map(|terminal| Want::Release { terminal }),
        _ => return None,
    })
}

/// Whether it was offered.
pub(super) fn is_offered(want: &Want, services: Services) -> bool {
    match want {
        Want::Read { .. } => services.reads,
        Want::Write { .. } => services.writes,
        _ => services.commands,
    }
}

fn command(params: Value<'_>) -> Result<Command, &'static str> {
    let program = params.get("command").and_then(Value::string);
    let program = program.filter(|it| !it.trim().is_empty()).ok_or("command is missing")?;
    let list = |key: &str| params.get(key).into_iter().flat_map(Value::elements);
    let variable = |it: Value<'_>| Some((first(it, &["name"])?, it.get("value")?.string()?));
    let is_name = |name: &str| !name.is_empty() && !name.contains(['=', '\0']);
    Ok(Command {
        program,
        args: list("args").filter_map(Value::string).collect(),
        env: list("env").filter_map(variable).filter(|(name, _)| is_name(name)).collect(),
        cwd: params.get("cwd").and_then(Value::string),
        keep: params.get("outputByteLimit").and_then(Value::u64),
    })
}

/// The rest of an answer: a result, or an error.
pub(super) fn reply(service: &Service) -> (&'static str, serde_json::Value) {
    let error = |code: i64, message: &str| ("error", json!({ "code": code, "message": message }));
    match service {
        Service::Text(text) => ("result", json!({ "content": text })),
        Service::Done => ("result", json!({})),
        Service::Started { terminal } => ("result", json!({ "terminalId": terminal })),
        Service::Printed { text, is_cut, end } => {
            let mut result = json!({ "output": text, "truncated": is_cut });
            if let (Some(end), Some(fields)) = (end, result.as_object_mut()) {
                fields.insert("exitStatus".to_owned(), ended(end));
            }
            ("result", result)
        }
        Service::Ended(end) => ("result", ended(end)),
        // In the protocol's own words, by which agents know it: one that would make a new file asks
        // for the old one first.
        Service::Missing(text) => error(NOT_FOUND, &format!("Resource not found: {text}")),
        Service::Refused(text) => error(NOT_DONE, text),
    }
}

fn ended(end: &CommandEnd) -> serde_json::Value {
    json!({ "exitCode": end.code, "signal": end.signal })
}
