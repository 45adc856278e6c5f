//! Cursor's `cursor-agent`.
//!
//! The prompt goes by standard input, which is then closed: with a prompt among the arguments and
//! an open pipe it gives no output (2026.01) or does not exit (2026.09). Output other than
//! stream-json is silent until the end and could not be supervised.

mod hooks;
mod manage;

use super::plan::{EVERYTHING, PromptBy, flag, option, words};
use super::terminal::{CTRL_C_TWICE, PromptForm, TerminalForm, push_prompt};
use super::{AcpForm, Asks, Mode, PlanRequest, Row, ToolsSeen, Workspace, as_they_are};
use stablehand_core::Dialect;
use std::ffi::OsString;

/// The editor's launcher comes last: it starts the agent where only the editor put itself on PATH.
const PROGRAMS: &[&str] = &["cursor-agent", "agent", "cursor agent"];

/// Names the folder to work in.
const WORKSPACE: &str = "--workspace";

const MODES: &[(Mode, &[&str])] =
    &[(Mode::Plan, &["--mode", "plan"]), (Mode::Ask, &["--mode", "ask"])];

pub(super) static ROW: Row = Row {
    name: "cursor",
    programs: PROGRAMS,
    dialect: Dialect::Cursor,
    arguments: Some(arguments),
    prompt: PromptBy::StandardInput,
    modes: MODES,
    workspace: Workspace::Option(WORKSPACE),
    env: &[],
    two_way: None,
    acp: Some(AcpForm {
        programs: PROGRAMS,
        install: None,
        arguments: &["acp"],
        logins: &[],
        offers: EVERYTHING,
        asks: Asks::TooLittle,
    }),
    tools: ToolsSeen::BeginningAndEnd,
    // It exits with 1 for every failure, and its standard error says which.
    exit_codes: &[],
    limits: as_they_are,
    can: manage::CAN,
    manage: manage::RECIPES,
    hooks: Some(hooks::FORM),
    history: &[],
    terminal: Some(TerminalForm {
        arguments: at_terminal,
        prompt: PromptForm::Argument,
        leave: CTRL_C_TWICE,
    }),
};

fn arguments(request: &PlanRequest) -> Vec<OsString> {
    let mut args = words(&["--print", "--output-format", "stream-json"]);
    everywhere(&mut args, request);
    flag(&mut args, "--stream-partial-output", request.partial_output);
    args.extend(request.extra.iter().cloned());
    args
}

/// The arguments that are the same at a terminal.
fn everywhere(args: &mut Vec<OsString>, request: &PlanRequest) {
    option(args, "--resume", request.resume.as_ref().map(|id| &id.0));
    flag(args, "--continue", request.continue_latest);
    flag(args, "--force", request.force);
    option(args, "--model", request.model.as_ref());
    option(args, WORKSPACE, request.workspace.as_ref());
    args.extend(request.mode_words(MODES));
}

fn at_terminal(request: &PlanRequest, prompt: Option<&str>) -> Vec<OsString> {
    let mut args = Vec::new();
    everywhere(&mut args, request);
    args.extend(request.extra.iter().cloned());
    push_prompt(&mut args, prompt);
    args
}
