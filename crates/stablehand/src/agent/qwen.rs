//! Qwen Code: started like Gemini, read like Claude Code.

mod manage;

use super::plan::{flag, option, words};
use super::terminal::{CTRL_C_TWICE, PromptForm, TerminalForm};
use super::{Mode, PlanRequest, Row, ToolsSeen, Workspace, as_they_are};
use stablehand_core::Dialect;
use std::ffi::OsString;

const MODES: &[(Mode, &[&str])] =
    &[(Mode::Plan, &["--approval-mode", "plan"]), (Mode::Edit, &["--approval-mode", "auto-edit"])];

pub(super) static ROW: Row = Row {
    name: "qwen",
    programs: &["qwen"],
    dialect: Dialect::Qwen,
    arguments,
    modes: MODES,
    workspace: Workspace::StartedThere,
    env: &[],
    two_way: None,
    tools: ToolsSeen::BeginningAndEnd,
    exit_codes: &[],
    limits: as_they_are,
    can: manage::CAN,
    manage: manage::RECIPES,
    terminal: Some(TerminalForm {
        arguments: at_terminal,
        prompt: PromptForm::Argument,
        leave: CTRL_C_TWICE,
    }),
};

fn arguments(request: &PlanRequest) -> Vec<OsString> {
    let mut args = words(&["--output-format", "stream-json"]);
    option(&mut args, "--resume", request.resume.as_ref().map(|id| &id.0));
    flag(&mut args, "--continue", request.continue_latest);
    option(&mut args, "--model", request.model.as_ref());
    args.extend(request.mode_words(MODES));
    flag(&mut args, "--yolo", request.force);
    args.extend(request.extra.iter().cloned());
    args
}

/// The prompt stands in one word with its option, so that it may begin with a dash.
fn at_terminal(request: &PlanRequest, prompt: Option<&str>) -> Vec<OsString> {
    let mut args = Vec::new();
    option(&mut args, "--resume", request.resume.as_ref().map(|id| &id.0));
    option(&mut args, "--model", request.model.as_ref());
    if request.force {
        args.push("--yolo".into());
    }
    args.extend(request.extra.iter().cloned());
    args.extend(prompt.map(|prompt| format!("--prompt-interactive={prompt}").into()));
    args
}
