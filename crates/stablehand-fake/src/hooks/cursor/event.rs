//! Cursor's events: their names, which of them ask for permission, and when which are run.

use crate::hooks::Mode;

/// Something that Cursor has hooks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    SessionStart,
    SessionEnd,
    WorkspaceOpen,
    BeforeSubmitPrompt,
    PreToolUse,
    PostToolUse,
    PostToolUseFailure,
    BeforeShellExecution,
    AfterShellExecution,
    BeforeMcpExecution,
    AfterMcpExecution,
    BeforeReadFile,
    AfterFileEdit,
    BeforeTabFileRead,
    AfterTabFileEdit,
    SubagentStart,
    SubagentStop,
    PreCompact,
    Stop,
    AfterAgentResponse,
    AfterAgentThought,
}

/// Every event with its name in a file.
const NAMES: [(Event, &str); 21] = [
    (Event::SessionStart, "sessionStart"),
    (Event::SessionEnd, "sessionEnd"),
    (Event::WorkspaceOpen, "workspaceOpen"),
    (Event::BeforeSubmitPrompt, "beforeSubmitPrompt"),
    (Event::PreToolUse, "preToolUse"),
    (Event::PostToolUse, "postToolUse"),
    (Event::PostToolUseFailure, "postToolUseFailure"),
    (Event::BeforeShellExecution, "beforeShellExecution"),
    (Event::AfterShellExecution, "afterShellExecution"),
    (Event::BeforeMcpExecution, "beforeMCPExecution"),
    (Event::AfterMcpExecution, "afterMCPExecution"),
    (Event::BeforeReadFile, "beforeReadFile"),
    (Event::AfterFileEdit, "afterFileEdit"),
    (Event::BeforeTabFileRead, "beforeTabFileRead"),
    (Event::AfterTabFileEdit, "afterTabFileEdit"),
    (Event::SubagentStart, "subagentStart"),
    (Event::SubagentStop, "subagentStop"),
    (Event::PreCompact, "preCompact"),
    (Event::Stop, "stop"),
    (Event::AfterAgentResponse, "afterAgentResponse"),
    (Event::AfterAgentThought, "afterAgentThought"),
];

impl Event {
    pub(super) fn by_name(name: &str) -> Option<Event> {
        NAMES.iter().find(|(_, known)| *known == name).map(|(event, _)| *event)
    }

    pub(super) fn name(self) -> &'static str {
        NAMES.iter().find(|(event, _)| *event == self).map_or("", |(_, name)| name)
    }

    /// The event that Claude Code's of this name is taken for.
    pub(super) fn of_claude(name: &str) -> Option<Event> {
        Some(match name {
            "PreToolUse" => Event::PreToolUse,
            "PostToolUse" => Event::PostToolUse,
            "UserPromptSubmit" => Event::BeforeSubmitPrompt,
            "Stop" => Event::Stop,
            "SubagentStop" => Event::SubagentStop,
            "SessionStart" => Event::SessionStart,
            "SessionEnd" => Event::SessionEnd,
            "PreCompact" => Event::PreCompact,
            _ => return None,
        })
    }

    /// Whether its hooks say yes or no to something.
    pub(super) fn asks_permission(self) -> bool {
        matches!(
            self,
            Event::BeforeShellExecution
                | Event::BeforeMcpExecution
                | Event::BeforeReadFile
                | Event::BeforeTabFileRead
                | Event::SubagentStart
                | Event::PreToolUse
        )
    }

    /// Whether its hooks are run.
    pub(super) fn fires(self, mode: Mode) -> bool {
        let is_of_shell = matches!(self, Event::BeforeShellExecution | Event::AfterShellExecution);
        let needs_person = matches!(
            self,
            Event::BeforeSubmitPrompt
                | Event::Stop
                | Event::AfterAgentResponse
                | Event::AfterAgentThought
        );
        match mode {
            Mode::Off => false,
            Mode::Old => is_of_shell,
            Mode::Print => !needs_person,
            Mode::All => true,
        }
    }
}
