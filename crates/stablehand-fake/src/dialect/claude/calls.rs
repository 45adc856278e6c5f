//! Claude Code's tools: what they are given, how they end, and the question whether they may run.

use super::super::{Said, output_of};
use super::{Call, Claude, Ending};
use crate::act::{FILE, Todo, Work};
use crate::json::{Json, NULL, list, object};
use crate::voice::Voice;
use stablehand_core::time::millis;

/// What a call says when it is stopped while it runs.
const STOPPED: &str = "The user doesn't want to proceed with this tool use. The tool use was \
    rejected (eg. if it was a file edit, the new_string was NOT written to the file). STOP what \
    you are doing and wait for the user to tell you how to proceed.";

/// A call without its result.
#[derive(Debug)]
pub(super) struct Open {
    /// The script's id.
    pub(super) id: String,
    /// The id in the stream.
    pub(super) native: String,
}

impl Claude {
    pub(super) fn call_begins(&mut self, call: &Call, voice: &mut Voice, said: &mut Said) {
        let (name, input) = given(call);
        let native = self.begin(name, input, voice, said);
        self.open.push(Open { id: call.id.clone(), native });
    }

    /// Asks for a tool; gives back the id of the call.
    fn begin(&mut self, name: String, input: Json, voice: &mut Voice, said: &mut Said) -> String {
        let native = format!("toolu_{}", voice.token());
        if voice.id.partial {
            let empty = object! {
                "type": "tool_use", "id": &native, "name": &name, "input": object! {},
            };
            let json = input.clone().into_line();
            let delta = object! { "type": "input_json_delta", "partial_json": json };
            self.piece_of("tool_use", empty, delta, voice, said);
        }
        let block = object! { "type": "tool_use", "id": &native, "name": name, "input": input };
        let line = self.block_line(block, voice);
        self.tell_block(line, voice, said);
        native
    }

    pub(super) fn call_ends(
        &mut self,
        call: &Call,
        ending: &Ending,
        voice: &mut Voice,
        said: &mut Said,
    ) {
        let known = self.open.iter().position(|open| open.id == call.id);
        let native = match known {
            Some(at) => self.open.remove(at).native,
            None => format!("toolu_{}", voice.token()),
        };
        self.close_answer("tool_use", voice, said);
        self.rounds += 1;
        if let Ending::Refused { reason } = ending {
            return self.refused(call, &native, reason, voice, said);
        }
        let (content, detail) = told(call, ending);
        let failed = matches!(ending, Ending::Exited { code, .. } if *code != 0);
        let result = if failed {
            object! {
                "type": "tool_result", "content": content, "is_error": true,
                "tool_use_id": &native,
            }
        } else {
            let result =
                object! { "tool_use_id": &native, "type": "tool_result", "content": content };
            // Only a command says that it went well.
            let is_command = matches!(call.work, Work::Shell { .. });
            if is_command { result.with("is_error", false) } else { result }
        };
        let source = if voice.id.asks { "user_temporary" } else { "config" };
        let decision = object! { "decision": "accept", "source": source };
        let meta = object! { "id": native, "permission_decision": decision };
        said.line(result_line(result, detail, meta, voice));
    }

    fn refused(
        &mut self,
        call: &Call,
        native: &str,
        reason: &str,
        voice: &mut Voice,
        said: &mut Said,
    ) {
        let (name, input) = given(call);
        if !voice.id.asks {
            said.line(object! {
                "type": "system", "subtype": "permission_denied", "tool_name": &name,
                "tool_use_id": native, "message": reason, "uuid": voice.uuid(),
                "session_id": &voice.id.session,
            });
        }
        self.denials
            .push(object! { "tool_name": name, "tool_use_id": native, "tool_input": input });
        let result = object! {
            "type": "tool_result", "content": reason, "is_error": true, "tool_use_id": native,
        };
        let (kind, source) = if voice.id.asks {
            ("permission-rule", "user_reject")
        } else {
            ("user-rejected", "config")
        };
        let decision = object! { "decision": "reject", "source": source };
        let meta = object! {
            "id": native, "non_execution_kind": kind, "permission_decision": decision,
        };
        said.line(result_line(result, format!("Error: {reason}").into(), meta, voice));
    }

    /// Ends what still runs, as an interruption does; says whether there was anything.
    pub(super) fn break_off_calls(&mut self, voice: &mut Voice, said: &mut Said) -> bool {
        let open = std::mem::take(&mut self.open);
        let was_in_tool = !open.is_empty();
        for Open { native, .. } in open {
            self.rounds += 1;
            let result = object! {
                "type": "tool_result", "content": STOPPED, "is_error": true,
                "tool_use_id": &native,
            };
            let meta = object! { "id": native, "non_execution_kind": "user-rejected" };
            said.line(result_line(result, "User rejected tool use".into(), meta, voice));
        }
        was_in_tool
    }

    pub(super) fn plan(&mut self, todos: &[Todo], voice: &mut Voice, said: &mut Said) {
        let entry = |todo: &Todo| {
            object! {
                "content": &todo.text, "status": todo.state.word(), "activeForm": &todo.text,
            }
        };
        let todos = Json::from(todos.iter().map(entry).collect::<Vec<_>>());
        let input = object! { "todos": todos.clone() };
        let native = self.begin("TodoWrite".to_owned(), input, voice, said);
        self.close_answer("tool_use", voice, said);
        self.rounds += 1;
        let result = object! {
            "tool_use_id": &native, "type": "tool_result",
            "content": "Todos have been modified successfully.",
        };
        let detail = object! { "oldTodos": list![], "newTodos": todos };
        let decision = object! { "decision": "accept", "source": "config" };
        let meta = object! { "id": native, "permission_decision": decision };
        said.line(result_line(result, detail, meta, voice));
    }

    /// The question whether a call may run.
    pub(super) fn question_line(&self, id: &str, call: &Call) -> Json {
        let (name, input) = given(call);
        let native = self.open.iter().find(|open| open.id == call.id).map(|open| &open.native);
        let description = match &call.work {
            Work::Shell { command, .. } => command,
            Work::Read { path } | Work::Write { path, .. } => path,
            Work::Mcp { tool, .. } => tool,
            Work::Task { description } => description,
        };
        let suggestion =
            object! { "type": "setMode", "mode": "acceptEdits", "destination": "session" };
        object! {
            "type": "control_request", "request_id": id,
            "request": object! {
                "subtype": "can_use_tool", "tool_name": &name, "display_name": &name,
                "input": input, "description": description,
                "permission_suggestions": list![suggestion], "tool_use_id": native,
            },
        }
    }
}

fn result_line(result: Json, detail: Json, meta: Json, voice: &mut Voice) -> Json {
    object! {
        "type": "user", "message": object! { "role": "user", "content": list![result] },
        "parent_tool_use_id": NULL, "session_id": &voice.id.session, "uuid": voice.uuid(),
        "timestamp": voice.stamp(), "tool_use_result": detail, "tool_result_meta": list![meta],
    }
}

/// The name of a tool, and what it is given.
pub(crate) fn given(call: &Call) -> (String, Json) {
    match &call.work {
        Work::Shell { command, timeout } => {
            let mut input =
                object! { "command": command, "description": "a command of the script" };
            if let Some(timeout) = timeout {
                input = input.with("timeout", millis(*timeout));
            }
            ("Bash".to_owned(), input)
        }
        Work::Read { path } => ("Read".to_owned(), object! { "file_path": path }),
        Work::Write { path, content } => {
            ("Write".to_owned(), object! { "file_path": path, "content": content })
        }
        Work::Mcp { server, tool } => (format!("mcp__{server}__{tool}"), object! {}),
        Work::Task { description } => (
            "Task".to_owned(),
            object! {
                "description": description, "prompt": description,
                "subagent_type": "general-purpose",
            },
        ),
    }
}

/// The text of a result, and what stands beside it.
fn told(call: &Call, ending: &Ending) -> (Json, Json) {
    match &call.work {
        Work::Shell { .. } => match ending {
            Ending::Exited { code, .. } if *code != 0 => {
                let text = format!("Exit code {code}\n{}", output_of(ending).trim_end());
                let text = text.trim_end();
                (text.into(), format!("Error: {text}").into())
            }
            _ => {
                let (stdout, stderr) = match ending {
                    Ending::Exited { stdout, stderr, .. } => (stdout.trim_end(), stderr.trim_end()),
                    _ => ("", ""),
                };
                let detail = object! {
                    "stdout": stdout, "stderr": stderr, "interrupted": false, "isImage": false,
                    "noOutputExpected": false,
                };
                (output_of(ending).trim_end().into(), detail)
            }
        },
        Work::Read { path } => {
            let file = object! {
                "filePath": path, "content": FILE, "numLines": 1, "startLine": 1, "totalLines": 1,
            };
            (format!("     1→{FILE}").into(), object! { "type": "text", "file": file })
        }
        Work::Write { path, content } => {
            let text = format!(
                "File created successfully at: {path} (file state is current in your context — no need to Read it back)"
            );
            let detail = object! {
                "type": "create", "filePath": path, "content": content,
                "structuredPatch": list![], "originalFile": NULL, "userModified": false,
            };
            (text.into(), detail)
        }
        Work::Mcp { .. } => {
            let content = list![object! { "type": "text", "text": "hay" }];
            (content.clone(), content)
        }
        Work::Task { description } => {
            let content = list![object! { "type": "text", "text": "done" }];
            let detail = object! {
                "status": "completed", "prompt": description, "content": content.clone(),
                "totalDurationMs": 5184, "totalTokens": 1200, "totalToolUseCount": 1,
            };
            (content, detail)
        }
    }
}
