//! Calls that hooks asked about, held against the calls that the stream shows.
//!
//! Owns which of the two are the same call. Claude Code names it by one id in both; Gemini CLI's hooks
//! have no id, and Cursor's may have another one than its stream, so content counts too: the command,
//! the path, the tool of a server. A question stands for one call: once the stream shows how that
//! call ended, the next one needs a question of its own.

use stablehand_core::event::{Outcome, Tool, ToolInput, ToolKind};
use stablehand_core::id::CallId;
use std::collections::VecDeque;

/// So many questions are remembered, and so many calls that are over. Cursor puts two questions about
/// one call, and some questions are about calls that the stream never shows.
const MOST_CALLS: usize = 128;

/// What a hook was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// Nothing yet.
    Nothing,
    /// The call may be made.
    Allowed,
    /// The call may be made with other arguments.
    Changed,
    /// It may not.
    Denied,
}

/// A question of a hook.
#[derive(Debug)]
struct AskedCall {
    number: u64,
    event: String,
    call: CallId,
    kind: ToolKind,
    input: ToolInput,
    told: Told,
}

/// The questions of a run.
#[derive(Debug, Default)]
pub(super) struct AskedCalls {
    open: VecDeque<AskedCall>,
    /// Calls that were allowed and are over: a stream may tell of an end twice.
    over: VecDeque<(CallId, ToolInput)>,
}

impl AskedCalls {
    /// A hook asks about a call.
    pub(super) fn ask(&mut self, number: u64, event: &str, tool: &Tool) {
        let asked = AskedCall {
            number,
            event: event.to_owned(),
            call: tool.call.clone(),
            kind: tool.tool_kind,
            input: tool.input.clone(),
            told: Told::Nothing,
        };
        keep(&mut self.open, asked);
    }

    /// A hook was answered.
    pub(super) fn tell(&mut self, number: u64, told: Told) {
        for asked in self.open.iter_mut().filter(|asked| asked.number == number) {
            asked.told = told;
        }
    }

    /// The stream shows that a call is over. Returns whether a hook was told that it may be made.
    pub(super) fn complete(&mut self, tool: &Tool) -> bool {
        let is_same = |(call, input): &(CallId, ToolInput)| {
            !call.0.is_empty() && *call == tool.call && *input == tool.input
        };
        if self.over.iter().any(is_same) {
            return true;
        }
        let questions = self.take(tool);
        let may_be_made = |asked: &AskedCall| {
            matches!(asked.told, Told::Allowed | Told::Changed) && asked.covers(tool)
        };
        let is_denied = questions.iter().any(|asked| asked.told == Told::Denied);
        let was_asked = if is_denied {
            // A call that was refused may be told as one that failed; it did not succeed.
            tool.outcome != Some(Outcome::Success)
        } else {
            questions.iter().any(may_be_made)
                && questions.iter().all(|asked| asked.told != Told::Nothing)
        };
        if was_asked && !tool.call.0.is_empty() {
            keep(&mut self.over, (tool.call.clone(), tool.input.clone()));
        }
        was_asked
    }

    /// Takes out the questions about one call: all that have its id, and of each other event the
    /// oldest with its content.
    fn take(&mut self, tool: &Tool) -> Vec<AskedCall> {
        let (mut taken, rest): (Vec<_>, Vec<_>) =
            self.open.drain(..).partition(|asked| asked.has_id_of(tool));
        for asked in rest {
            let is_first = taken.iter().all(|known| known.event != asked.event);
            if is_first && asked.has_content_of(tool) {
                taken.push(asked);
            } else {
                self.open.push_back(asked);
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
        if !self.covers(tool) {
            return false;
        }
        if self.told == Told::Changed {
            return self.kind == tool.tool_kind;
        }
        match (&self.input, &tool.input) {
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

    /// Whether an answer to this question can stand for the call. Cursor asks about a look at the
    /// file before it asks about the edit, with the same id: leave to read is no leave to write.
    fn covers(&self, tool: &Tool) -> bool {
        !only_looks(self.kind) || only_looks(tool.tool_kind)
    }
}

fn only_looks(kind: ToolKind) -> bool {
    matches!(kind, ToolKind::Read | ToolKind::Search | ToolKind::Think | ToolKind::SwitchMode)
}

/// Whether two paths may be the same, where one of them is relative to a folder that we do not know.
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
        Tool {
            call: CallId(call.to_owned()),
            name: "tool".to_owned(),
            tool_kind: kind,
            input,
            timeout_ms: None,
            background: false,
            pid: None,
            step: None,
            outcome: Some(Outcome::Success),
            output: None,
            diff: None,
            duration_ms: None,
            digest: 0,
        }
    }

    fn shell(call: &str, command: &str) -> Tool {
        let input = ToolInput::Command { command: command.to_owned(), cwd: None };
        tool(call, ToolKind::Execute, input)
    }

    fn file(call: &str, kind: ToolKind, path: &str) -> Tool {
        tool(call, kind, ToolInput::Path { path: path.to_owned() })
    }

    /// Asks the questions of a call, each answered.
    fn asked(calls: &mut AskedCalls, questions: &[(&str, Tool, Told)]) {
        for (at, (event, tool, told)) in questions.iter().enumerate() {
            let number = u64::try_from(calls.open.len() * 10 + at).unwrap();
            calls.ask(number, event, tool);
            calls.tell(number, *told);
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
            let mut calls = AskedCalls::default();
            asked(&mut calls, &[("before", question.clone(), Told::Allowed)]);
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
            let mut calls = AskedCalls::default();
            asked(&mut calls, &[("before", question.clone(), Told::Allowed)]);
            assert_eq!(calls.complete(&call), expected, "{question:?} {call:?}");
        }
    }

    #[test]
    fn only_an_allowed_call_counts_as_asked_about() {
        let failed = Tool {
            outcome: Some(Outcome::Failure { exit_code: None, message: None }),
            ..shell("c1", "ls")
        };
        let table = [
            (Told::Allowed, shell("c1", "ls"), true),
            (Told::Changed, shell("c2", "ls -l"), true),
            (Told::Nothing, shell("c1", "ls"), false),
            (Told::Denied, shell("c1", "ls"), false),
            // It may have been told so because it was refused.
            (Told::Denied, failed, true),
        ];
        for (told, call, expected) in table {
            let mut calls = AskedCalls::default();
            asked(&mut calls, &[("before", shell("", "ls"), told)]);
            assert_eq!(calls.complete(&call), expected, "{told:?}");
        }
        let mut calls = AskedCalls::default();
        let second = ("beforeShell", shell("", "ls"), Told::Denied);
        asked(&mut calls, &[("preTool", shell("x", "ls"), Told::Allowed), second]);
        assert!(!calls.complete(&shell("c1", "ls")), "the second question was denied");
    }

    #[test]
    fn a_question_stands_for_one_call() {
        let mut calls = AskedCalls::default();
        let twice = [
            ("preTool", shell("x", "ls"), Told::Allowed),
            ("beforeShell", shell("", "ls"), Told::Allowed),
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
        assert!(calls.open.is_empty());
    }

    #[test]
    fn memory_is_bounded() {
        let mut calls = AskedCalls::default();
        for number in 0..1000 {
            calls.ask(number, "before", &shell("", &format!("ls {number}")));
            calls.tell(number, Told::Allowed);
            calls.complete(&shell(&format!("c{number}"), &format!("ls {number}")));
            calls.ask(number, "before", &shell("", "never shown"));
        }
        assert_eq!((calls.open.len(), calls.over.len()), (MOST_CALLS, MOST_CALLS));
    }
}
