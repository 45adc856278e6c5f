//! Google's Antigravity CLI.
//!
//! Its prompt is the value of `-p`, which takes whatever word comes next; standard input must be closed.
//! What it would have to ask about it denies, since it has no words for a question: a policy cannot
//! hold it.

mod manage;

use super::plan::{PromptBy, flag, option, words};
use super::terminal::{CTRL_C_TWICE, PromptForm, TerminalForm, push_prompt};
use super::{Mode, PlanRequest, Row, ToolsSeen, Workspace};
use stablehand_core::Dialect;
use stablehand_core::monitor::Limits;
use std::ffi::OsString;

const MODES: &[(Mode, &[&str])] =
    &[(Mode::Plan, &["--mode", "plan"]), (Mode::Edit, &["--mode", "accept-edits"])];

/// After five minutes it would give a part of the answer and call that a success. A year is longer
/// than any limit of ours.
const PRINT_TIMEOUT: &str = "8760h";

pub(super) static ROW: Row = Row {
    name: "agy",
    programs: &["agy"],
    dialect: Dialect::Agy,
    arguments: Some(arguments),
    prompt: PromptBy::LastOption("-p"),
    modes: MODES,
    workspace: Workspace::StartedThere,
    env: &[],
    two_way: None,
    acp: None,
    tools: ToolsSeen::BeginningAndEnd,
    exit_codes: &[],
    limits,
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

/// It tells no step while a command of its own runs in the background: a silence may be a command.
fn limits(limits: &mut Limits) {
    if limits.idle_is_default {
        limits.idle = limits.idle.max(limits.class.execute);
        limits.first_response = limits.first_response.max(limits.class.execute);
    }
}

fn arguments(request: &PlanRequest) -> Vec<OsString> {
    let mut args = words(&["--output-format", "stream-json", "--print-timeout", PRINT_TIMEOUT]);
    everywhere(&mut args, request);
    args
}

/// The arguments that are the same at a terminal.
fn everywhere(args: &mut Vec<OsString>, request: &PlanRequest) {
    option(args, "--conversation", request.resume.as_ref().map(|id| &id.0));
    flag(args, "-c", request.continue_latest);
    option(args, "--model", request.model.as_ref());
    args.extend(request.mode_words(MODES));
    flag(args, "--dangerously-skip-permissions", request.force);
    args.extend(request.extra.iter().cloned());
}

fn at_terminal(request: &PlanRequest, prompt: Option<&str>) -> Vec<OsString> {
    let mut args = Vec::new();
    everywhere(&mut args, request);
    push_prompt(&mut args, prompt);
    args
}
