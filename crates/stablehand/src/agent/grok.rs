//! Grok CLI.
//!
//! It reads a prompt from standard input when it is told that this is the prompt's file. It dies of a
//! signal at once and leaves its tools behind: the keeper ends them. It names its session only when it
//! is done, so that a run that hangs cannot be resumed. It would run the hooks that its
//! user has installed for other agents, and ours among them.

mod manage;

use super::plan::{EVERYTHING, PromptBy, flag, option, words};
use super::terminal::{CTRL_C_TWICE, PromptForm, TerminalForm, push_prompt};
use super::{AcpForm, Asks, Mode, PlanRequest, Row, ToolsSeen, Workspace, as_they_are};
use stablehand_core::Dialect;
use std::ffi::OsString;

/// `acceptEdits` alone still asks about every edit, which nobody can answer in a run of one turn.
const MODES: &[(Mode, &[&str])] = &[
    (Mode::Plan, &["--permission-mode", "plan"]),
    (Mode::Edit, &["--permission-mode", "acceptEdits", "--allow", "Edit"]),
];

pub(super) static ROW: Row = Row {
    name: "grok",
    programs: &["grok"],
    dialect: Dialect::Grok,
    arguments: Some(arguments),
    prompt: PromptBy::StandardInput,
    modes: MODES,
    workspace: Workspace::StartedThere,
    env: &[
        ("GROK_DISABLE_AUTOUPDATER", Some("1")),
        ("GROK_TELEMETRY_ENABLED", Some("0")),
        ("GROK_CLAUDE_HOOKS_ENABLED", Some("0")),
        ("GROK_CURSOR_HOOKS_ENABLED", Some("0")),
        ("GROK_CODEX_HOOKS_ENABLED", Some("0")),
    ],
    two_way: None,
    // Not through its leader, a daemon that outlives us.
    acp: Some(AcpForm {
        programs: &["grok"],
        install: None,
        arguments: &["agent", "--no-leader", "stdio"],
        logins: &[("XAI_API_KEY", "xai.api_key")],
        // It has its client run every command: those that it takes for harmless (`touch`) it would
        // run by itself without a question.
        offers: EVERYTHING,
        asks: Asks::Changes,
    }),
    tools: ToolsSeen::BeginningAndEnd,
    exit_codes: &[],
    limits: as_they_are,
    can: manage::CAN,
    manage: manage::RECIPES,
    hooks: None,
    history: &[],
    terminal: Some(TerminalForm {
        arguments: at_terminal,
        prompt: PromptForm::Argument,
        leave: CTRL_C_TWICE,
    }),
};

fn arguments(request: &PlanRequest) -> Vec<OsString> {
    let mut args = words(&["--output-format", "streaming-json", "--prompt-file", "/dev/stdin"]);
    everywhere(&mut args, request);
    args
}

/// The arguments that are the same at a terminal.
fn everywhere(args: &mut Vec<OsString>, request: &PlanRequest) {
    option(args, "--resume", request.resume.as_ref().map(|id| &id.0));
    flag(args, "--continue", request.continue_latest);
    option(args, "--model", request.model.as_ref());
    args.extend(request.mode_words(MODES));
    flag(args, "--always-approve", request.force);
    args.extend(request.extra.iter().cloned());
}

fn at_terminal(request: &PlanRequest, prompt: Option<&str>) -> Vec<OsString> {
    let mut args = Vec::new();
    everywhere(&mut args, request);
    push_prompt(&mut args, prompt);
    args
}
