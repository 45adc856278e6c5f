//! Qwen Code: started like Gemini, read like Claude Code.

mod manage;

use super::plan::{PromptBy, WITHOUT_READING, flag, option, words};
use super::terminal::{CTRL_C_TWICE, PromptForm, TerminalForm};
use super::{AcpForm, Asks, Mode, PlanRequest, Row, ToolsSeen, Workspace, as_they_are};
use stablehand_core::Dialect;
use std::ffi::OsString;

const MODES: &[(Mode, &[&str])] =
    &[(Mode::Plan, &["--approval-mode", "plan"]), (Mode::Edit, &["--approval-mode", "auto-edit"])];

pub(super) static ROW: Row = Row {
    name: "qwen",
    programs: &["qwen"],
    dialect: Dialect::Qwen,
    arguments: Some(arguments),
    prompt: PromptBy::StandardInput,
    modes: MODES,
    workspace: Workspace::StartedThere,
    env: &[],
    two_way: None,
    // Older programs call it `--experimental-acp`.
    acp: Some(AcpForm {
        programs: &["qwen"],
        install: None,
        // Left to itself it has the model judge which actions are safe, and does not ask about those.
        arguments: &["--acp", "--approval-mode", "default"],
        logins: &[("OPENAI_API_KEY", "openai")],
        offers: WITHOUT_READING,
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
    let mut args = words(&["--output-format", "stream-json"]);
    flag(&mut args, "--include-partial-messages", request.partial_output);
    everywhere(&mut args, request);
    args
}

/// The arguments that are the same at a terminal.
fn everywhere(args: &mut Vec<OsString>, request: &PlanRequest) {
    option(args, "--resume", request.resume.as_ref().map(|id| &id.0));
    flag(args, "--continue", request.continue_latest);
    option(args, "--model", request.model.as_ref());
    args.extend(request.mode_words(MODES));
    flag(args, "--yolo", request.force);
    args.extend(request.extra.iter().cloned());
}

fn at_terminal(request: &PlanRequest, prompt: Option<&str>) -> Vec<OsString> {
    let mut args = Vec::new();
    everywhere(&mut args, request);
    args.extend(prompt.map(|prompt| format!("--prompt-interactive={prompt}").into()));
    args
}
