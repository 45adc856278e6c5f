//! Permission requests held against the tool calls that the stream shows.
//!
//! Decides which of the two are the same call. Most agents use one id in both; Gemini CLI's hooks have
//! no id, and Cursor's may have another one than its stream, so content counts too: the command, the
//! path, the tool of a server. A request stands for one call: once the stream shows how that call
//! ended, the next one needs a request of its own.

use crate::event::{Outcome, Tool, ToolInput, ToolKind};
use crate::id::CallId;
use crate::speak::Answer;
use std::collections::VecDeque;

/// The most requests, begun calls and finished calls that are remembered. Cursor sends two requests
/// about one call, and some requests are about calls that the stream never shows.
const MOST_CALLS: usize = 128;

/// What became of a permission request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// It has no answer yet.
    Pending,
    /// The call may be made.
    Granted,
    /// The call may be made, and the agent need not ask about others like it.
    Always,
    /// The call may be made with other arguments.
    Changed,
    /// The call may not be made, or the request was withdrawn.
    Denied,
}

impl From<&Answer> for Permission {
    fn from(answer: &Answer) -> Permission {
        match answer {
            Answer::Deny { .. } => Permission::Denied,
            Answer::Choose(option) if option == "deny" => Permission::Denied,
            Answer::AllowWith { .. } => Permission::Changed,
            // Who chose another option did so from the agent's own list, whose words we do not know.
            Answer::Allow | Answer::AllowAlways | Answer::Choose(_) => Permission::Granted,
        }
    }
}

/// A permission request about a call.
#[derive(Clone, Debug)]
struct AskedCall {
    id: String,
    event: String,
    call: CallId,
    kind: ToolKind,
    /// Absent where the request says nothing of the call but its id.
    input: Option<ToolInput>,
    permission: Permission,
}

/// The permission requests and the tool calls of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Calls {
    asked: VecDeque<AskedCall>,
    /// Calls that have begun and are not over.
    begun: VecDeque<Tool>,
    /// Calls that are over: a stream may tell of an end twice.
    over: VecDeque<(CallId, ToolInput)>,
    /// The kinds and inputs of calls that were allowed for ever.
    always: VecDeque<(ToolKind, ToolInput)>,
}

impl Calls {
    /// Remembers a request about a call; one that names no call covers none.
    pub(super) fn ask(
        &mut self,
        id: &str,
        event: &str,
        call: Option<&CallId>,
        tool: Option<&Tool>,
    ) {
        let call = call.or(tool.map(|tool| &tool.call)).cloned().unwrap_or_default();
        if call.0.is_empty() && tool.is_none() {
            return;
        }
        let asked = AskedCall {
            id: id.to_owned(),
            event: event.to_owned(),
            call,
            kind: tool.map_or(ToolKind::Other, |tool| tool.tool_kind),
            input: tool.map(|tool| tool.input.clone()),
            permission: Permission::Pending,
        };
        keep(&mut self.asked, asked);
    }

    /// Remembers the answer to a request.
    pub(super) fn answer(&mut self, id: &str, permission: Permission) {
        let open =
            |asked: &&mut AskedCall| asked.id == id && asked.permission == Permission::Pending;
        for asked in self.asked.iter_mut().filter(open) {
            asked.permission = permission;
            if let (Permission::Always, Some(input)) = (permission, &asked.input) {
                keep(&mut self.always, (asked.kind, input.clone()));
            }
        }
    }

    /// Returns true if a person allowed calls like this one for ever.
    pub(super) fn is_always_allowed(&self, tool: &Tool) -> bool {
        self.always
            .iter()
            .any(|(kind, input)| *kind == tool.tool_kind && is_alike(input, &tool.input))
    }

    /// Remembers a call that has begun.
    pub(super) fn begin(&mut self, tool: &Tool) {
        keep(&mut self.begun, tool.clone());
    }

    /// Returns what the stream has told of an open call. Of several announcements of one call the last
    /// knows most.
    pub(super) fn begun(&self, call: &CallId) -> Option<&Tool> {
        self.begun.iter().rfind(|tool| tool.call == *call)
    }

    /// Forgets the calls that have begun: their turn is over.
    pub(super) fn end_turn(&mut self) {
        self.begun.clear();
    }

    /// Forgets a call that had begun.
    pub(super) fn end(&mut self, tool: &Tool) {
        self.begun.retain(|open| open.call != tool.call);
    }

    /// Takes a call that is over, and returns true if a request covered it, or if the stream told of
    /// its end before.
    pub(super) fn complete(&mut self, tool: &Tool) -> bool {
        let is_same = |(call, input): &(CallId, ToolInput)| {
            !call.0.is_empty() && *call == tool.call && *input == tool.input
        };
        if self.over.iter().any(is_same) {
            return true;
        }
        if !tool.call.0.is_empty() {
            keep(&mut self.over, (tool.call.clone(), tool.input.clone()));
        }
        let requests = self.take(tool);
        let grants = |asked: &AskedCall| {
            let is_granted = matches!(
                asked.permission,
                Permission::Granted | Permission::Always | Permission::Changed
            );
            is_granted && asked.covers(tool)
        };
        if requests.iter().any(|asked| asked.permission == Permission::Denied) {
            // A call that was refused may be told as one that failed; it did not succeed.
            return tool.outcome != Some(Outcome::Success);
        }
        requests.iter().any(grants)
            && requests.iter().all(|asked| asked.permission != Permission::Pending)
    }

    /// Takes out the requests about one call: all that have its id, and of each other event the
    /// oldest with its content.
    fn take(&mut self, tool: &Tool) -> Vec<AskedCall> {
        let (mut taken, rest): (Vec<_>, Vec<_>) =
            self.asked.drain(..).partition(|asked| asked.has_id_of(tool));
        for asked in rest {
            let is_first = taken.iter().all(|known| known.event != asked.event);
            if is_first && asked.has_content_of(tool) {
                taken.push(asked);
            } else {
                self.asked.push_back(asked);
            }
        }
        taken
    }
}

impl AskedCall {
    fn has_id_of(&self, tool: &Tool) -> bool {
        !self.call.0.is_empty() && self.call == tool.call
    }

    fn has_content_of(&self, tool: &Tool) -> bool {
        let Some(input) = self.input.as_ref().filter(|_| self.covers(tool)) else { return false };
        if self.permission == Permission::Changed {
            return self.kind == tool.tool_kind;
        }
        match (input, &tool.input) {
            (ToolInput::Command { command: one, .. }, ToolInput::Command { command, .. }) => {
                one.trim() == command.trim()
            }
            (ToolInput::Path { path: one }, ToolInput::Path { path }) => is_same_path(one, path),
            (ToolInput::Query { query: one, .. }, ToolInput::Query { query, .. }) => one == query,
            (ToolInput::Url { url: one }, ToolInput::Url { url }) => one == url,
            (
                ToolInput::Mcp { server: one, tool: name },
                ToolInput::Mcp { server, tool: other },
            ) => name == other && (one == server || one.is_empty() || server.is_empty()),
            (ToolInput::SubAgent { .. }, ToolInput::SubAgent { .. })
            | (ToolInput::Todos { .. }, ToolInput::Todos { .. }) => true,
            // One of the two says nothing that could be compared.
            (ToolInput::Other { .. }, _) | (_, ToolInput::Other { .. }) => {
                self.kind == tool.tool_kind
            }
            _ => false,
        }
    }

    /// Returns true if an answer to this request can stand for the call. Cursor asks about a look at the
    /// file before it asks about the edit, with the same id: leave to read is no leave to write.
    fn covers(&self, tool: &Tool) -> bool {
        !only_looks(self.kind) || only_looks(tool.tool_kind)
    }
}

/// Returns true if a tool that ran is held against the rules. Lists of things to do and reads that
/// name no place concern nothing that rules are about; some agents send no request for them.
pub(super) fn is_judged(tool: &Tool) -> bool {
    let names_nothing = matches!(tool.input, ToolInput::Other { .. });
    let is_internal = match tool.tool_kind {
        ToolKind::Read | ToolKind::Search => names_nothing,
        _ => matches!(tool.input, ToolInput::Todos { .. }),
    };
    tool.was_done() && !is_internal
}

/// Returns true if "always" for a call of the first input is meant for the second, too. How far it
/// reaches is the agent's to say, and it does not; agents mean a program, a server or a kind of tool.
/// A command that is more than one program and its words is like no other.
fn is_alike(one: &ToolInput, other: &ToolInput) -> bool {
    match (one, other) {
        (ToolInput::Command { command: one, .. }, ToolInput::Command { command, .. }) => {
            one.trim() == command.trim()
                || program(one).is_some_and(|name| program(command) == Some(name))
        }
        (ToolInput::Mcp { server: one, .. }, ToolInput::Mcp { server, .. }) => one == server,
        (ToolInput::Other { .. }, _) => one == other,
        (one, other) => std::mem::discriminant(one) == std::mem::discriminant(other),
    }
}

/// Returns the program of a command in which a shell finds nothing but words.
fn program(command: &str) -> Option<&str> {
    let is_plain =
        !command.trim().contains(['\n', ';', '&', '|', '<', '>', '$', '`', '(', ')', '{']);
    command.split_whitespace().next().filter(|word| is_plain && !word.contains('='))
}

fn only_looks(kind: ToolKind) -> bool {
    matches!(kind, ToolKind::Read | ToolKind::Search | ToolKind::Think | ToolKind::SwitchMode)
}

/// Returns true if two paths may be the same, where one of them is relative to a folder that we do not know.
fn is_same_path(one: &str, other: &str) -> bool {
    let (one, other) = (one.trim_start_matches("./"), other.trim_start_matches("./"));
    let ends = |long: &str, short: &str| {
        !short.is_empty()
            && !short.starts_with('/')
            && long.strip_suffix(short).is_some_and(|folder| folder.ends_with('/'))
    };
    one == other || ends(one, other) || ends(other, one)
}

fn keep<T>(list: &mut VecDeque<T>, item: T) {
    if list.len() == MOST_CALLS {
        list.pop_front();
    }
    list.push_back(item);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(call: &str, kind: ToolKind, input: ToolInput) -> Tool {
        let outcome = Some(Outcome::Success);
        Tool { outcome, ..Tool::new(CallId(call.to_owned()), "tool", kind, input) }
    }

    fn shell(call: &str, command: &str) -> Tool {
        let input = ToolInput::Command { command: command.to_owned(), cwd: None };
        tool(call, ToolKind::Execute, input)
    }

    fn file(call: &str, kind: ToolKind, path: &str) -> Tool {
        tool(call, kind, ToolInput::Path { path: path.to_owned() })
    }

    /// Sends the requests of a call, each answered.
    fn asked(calls: &mut Calls, requests: &[(&str, Tool, Permission)]) {
        for (at, (event, tool, permission)) in requests.iter().enumerate() {
            let id = format!("{}-{at}", calls.asked.len());
            calls.ask(&id, event, None, Some(tool));
            calls.answer(&id, *permission);
        }
    }

    #[test]
    fn a_call_is_known_by_its_id_or_by_its_content() {
        let table = [
            (shell("c1", "ls"), shell("c1", "ls"), true),
            (shell("", "ls"), shell("c1", "ls"), true),
            (shell("other-id", "ls\n"), shell("c1", "ls"), true),
            (shell("c1", "ls"), shell("c1", "cd x; ls"), true),
            (shell("", "ls"), shell("c1", "rm x"), false),
            (file("", ToolKind::Edit, "a/b"), file("c1", ToolKind::Edit, "/w/a/b"), true),
            (file("", ToolKind::Edit, "./b"), file("c1", ToolKind::Edit, "/w/b"), true),
            (file("", ToolKind::Edit, "b"), file("c1", ToolKind::Edit, "/w/ab"), false),
            (file("", ToolKind::Edit, "/x/b"), file("c1", ToolKind::Edit, "/w/b"), false),
            // Leave to read is no leave to write, also under the same id.
            (file("c1", ToolKind::Read, "b"), file("c1", ToolKind::Edit, "b"), false),
            (file("c1", ToolKind::Edit, "b"), file("c1", ToolKind::Read, "b"), true),
        ];
        for (question, call, expected) in table {
            let mut calls = Calls::default();
            asked(&mut calls, &[("before", question.clone(), Permission::Granted)]);
            assert_eq!(calls.complete(&call), expected, "{question:?} {call:?}");
        }
    }

    #[test]
    fn servers_and_inputs_that_one_side_does_not_tell_are_no_difference() {
        let mcp = |server: &str| {
            let input = ToolInput::Mcp { server: server.to_owned(), tool: "wipe".to_owned() };
            tool("", ToolKind::Other, input)
        };
        let untold = |kind| tool("", kind, ToolInput::Other { summary: String::new() });
        let table = [
            (mcp(""), mcp("prod"), true),
            (mcp("test"), mcp("prod"), false),
            (mcp("prod"), untold(ToolKind::Other), true),
            (untold(ToolKind::Edit), file("c1", ToolKind::Edit, "b"), true),
            (untold(ToolKind::Edit), shell("c1", "ls"), false),
        ];
        for (question, call, expected) in table {
            let mut calls = Calls::default();
            asked(&mut calls, &[("before", question.clone(), Permission::Granted)]);
            assert_eq!(calls.complete(&call), expected, "{question:?} {call:?}");
        }
    }

    #[test]
    fn always_is_meant_for_calls_of_the_same_program_server_or_kind() {
        let mcp = |server: &str, name: &str| {
            let (server, tool_name) = (server.to_owned(), name.to_owned());
            tool("", ToolKind::Other, ToolInput::Mcp { server, tool: tool_name })
        };
        let edit = |path: &str| file("", ToolKind::Edit, path);
        let table = [
            (shell("", "echo hi"), shell("", "echo  oats"), true),
            (shell("", "echo hi"), shell("", "rm -rf hay"), false),
            (shell("", "echo hi"), shell("", "echo hi; rm -rf hay"), false),
            (shell("", "echo hi"), shell("", "echo $(rm -rf hay)"), false),
            (shell("", "echo hi > hay"), shell("", "echo hi > hay"), true),
            (shell("", "A=1 make"), shell("", "A=1 rm hay"), false),
            (edit("a"), edit("b"), true),
            (edit("a"), file("", ToolKind::Delete, "a"), false),
            (mcp("barn", "feed"), mcp("barn", "groom"), true),
            (mcp("barn", "feed"), mcp("fence", "feed"), false),
        ];
        for (question, later, is_allowed) in table {
            let mut calls = Calls::default();
            asked(&mut calls, &[("before", question.clone(), Permission::Always)]);
            assert!(calls.complete(&question), "it was asked about");
            assert_eq!(calls.is_always_allowed(&later), is_allowed, "{question:?} {later:?}");
            let mut once = Calls::default();
            asked(&mut once, &[("before", question, Permission::Granted)]);
            assert!(!once.is_always_allowed(&later));
        }
    }

    #[test]
    fn only_an_allowed_call_counts_as_asked_about() {
        let failed = Tool {
            outcome: Some(Outcome::Failure { exit_code: None, message: None }),
            ..shell("c1", "ls")
        };
        let table = [
            (Permission::Granted, shell("c1", "ls"), true),
            (Permission::Changed, shell("c2", "ls -l"), true),
            (Permission::Pending, shell("c1", "ls"), false),
            (Permission::Denied, shell("c1", "ls"), false),
            // It may have been told so because it was refused.
            (Permission::Denied, failed, true),
        ];
        for (permission, call, expected) in table {
            let mut calls = Calls::default();
            asked(&mut calls, &[("before", shell("", "ls"), permission)]);
            assert_eq!(calls.complete(&call), expected, "{permission:?}");
        }
        let mut calls = Calls::default();
        let second = ("beforeShell", shell("", "ls"), Permission::Denied);
        asked(&mut calls, &[("preTool", shell("x", "ls"), Permission::Granted), second]);
        assert!(!calls.complete(&shell("c1", "ls")), "the second question was denied");
    }

    #[test]
    fn a_request_that_names_a_call_and_nothing_else_covers_that_call_alone() {
        let other = tool("c2", ToolKind::Other, ToolInput::Other { summary: String::new() });
        for (call, expected) in
            [(shell("c1", "ls"), true), (shell("c2", "ls"), false), (other, false)]
        {
            let mut calls = Calls::default();
            calls.ask("q", "request", Some(&CallId("c1".into())), None);
            calls.answer("q", Permission::Granted);
            assert_eq!(calls.complete(&call), expected, "{call:?}");
        }
        let mut calls = Calls::default();
        calls.ask("q", "request", None, None);
        assert!(calls.asked.is_empty(), "it names no call");
    }

    #[test]
    fn an_answer_stays_when_an_id_is_used_again() {
        let mut calls = Calls::default();
        asked(&mut calls, &[("before", shell("c1", "rm x"), Permission::Denied)]);
        calls.answer("0-0", Permission::Granted);
        assert!(!calls.complete(&shell("c1", "rm x")));
    }

    #[test]
    fn tools_that_concern_the_agent_alone_are_not_judged() {
        let nothing = || ToolInput::Other { summary: String::new() };
        let table = [
            (shell("c1", "ls"), true),
            (Tool { outcome: None, ..shell("c1", "ls") }, false),
            (
                Tool {
                    outcome: Some(Outcome::Rejected { reason: String::new() }),
                    ..shell("c1", "ls")
                },
                false,
            ),
            (file("c1", ToolKind::Read, "b"), true),
            (tool("c1", ToolKind::Read, nothing()), false),
            (tool("c1", ToolKind::Search, nothing()), false),
            (tool("c1", ToolKind::Other, nothing()), true),
            (tool("c1", ToolKind::Think, nothing()), false),
        ];
        for (tool, expected) in table {
            assert_eq!(is_judged(&tool), expected, "{tool:?}");
        }
    }

    #[test]
    fn a_request_stands_for_one_call() {
        let mut calls = Calls::default();
        let twice = [
            ("preTool", shell("x", "ls"), Permission::Granted),
            ("beforeShell", shell("", "ls"), Permission::Granted),
        ];
        asked(&mut calls, &twice);
        assert!(calls.complete(&shell("c1", "ls")));
        assert!(calls.complete(&shell("c1", "ls")), "the same end, told again");
        assert!(!calls.complete(&shell("c2", "ls")));
        // Two at once, each asked about at both events, in any order.
        asked(&mut calls, &twice);
        asked(&mut calls, &twice);
        assert!(calls.complete(&shell("c3", "ls")) && calls.complete(&shell("c4", "ls")));
        assert!(!calls.complete(&shell("c5", "ls")));
        assert!(calls.asked.is_empty());
    }

    #[test]
    fn memory_is_bounded() {
        let mut calls = Calls::default();
        for number in 0..1000 {
            let (id, command) = (number.to_string(), format!("ls {number}"));
            calls.ask(&id, "before", None, Some(&shell("", &command)));
            calls.answer(&id, Permission::Granted);
            calls.begin(&shell("never over", &command));
            calls.complete(&shell(&format!("c{number}"), &command));
            calls.ask(&id, "before", None, Some(&shell("", "never shown")));
        }
        let kept = [calls.asked.len(), calls.begun.len(), calls.over.len()];
        assert_eq!(kept, [MOST_CALLS; 3]);
    }
}
