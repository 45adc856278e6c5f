//! OpenCode.
//!
//! It must not replace itself in the middle of a run. It tells of a tool only when the tool is
//! over, and it is slow to start: up to 45 seconds on a busy machine.

mod manage;

use super::plan::{EVERYTHING, PromptBy, flag, option, words};
use super::terminal::{CTRL_C_TWICE, PromptForm, TerminalForm};
use super::{AcpForm, Asks, Mode, PlanRequest, Row, ToolsSeen, Workspace};
use stablehand_core::Dialect;
use stablehand_core::monitor::Limits;
use std::ffi::OsString;
use std::time::Duration;

const MODES: &[(Mode, &[&str])] = &[(Mode::Plan, &["--agent", "plan"])];

pub(super) static ROW: Row = Row {
    name: "opencode",
    programs: &["opencode"],
    dialect: Dialect::OpenCode,
    arguments: Some(arguments),
    prompt: PromptBy::StandardInput,
    modes: MODES,
    workspace: Workspace::StartedThere,
    env: &[("OPENCODE_DISABLE_AUTOUPDATE", Some("1"))],
    two_way: None,
    acp: Some(AcpForm {
        programs: &["opencode"],
        install: None,
        arguments: &["acp"],
        logins: &[],
        offers: EVERYTHING,
        asks: Asks::TooLittle,
    }),
    tools: ToolsSeen::AfterTheFact,
    exit_codes: &[],
    limits,
    can: manage::CAN,
    manage: manage::RECIPES,
    hooks: None,
    history: &[manage::TRANSCRIPTS],
    terminal: Some(TerminalForm {
        arguments: at_terminal,
        prompt: PromptForm::Argument,
        leave: CTRL_C_TWICE,
    }),
};

/// Its first line comes with the first step, when the model has begun to answer.
fn limits(limits: &mut Limits) {
    if limits.idle_is_default {
        limits.startup = limits.startup.max(Duration::from_mins(3));
    }
}

fn arguments(request: &PlanRequest) -> Vec<OsString> {
    let mut args = words(&["run", "--format", "json"]);
    everywhere(&mut args, request);
    flag(&mut args, "--thinking", request.partial_output);
    flag(&mut args, "--auto", request.force);
    args.extend(request.extra.iter().cloned());
    args
}

/// The arguments that are the same at a terminal.
fn everywhere(args: &mut Vec<OsString>, request: &PlanRequest) {
    option(args, "--session", request.resume.as_ref().map(|id| &id.0));
    flag(args, "--continue", request.continue_latest);
    option(args, "--model", request.model.as_ref());
    args.extend(request.mode_words(MODES));
}

fn at_terminal(request: &PlanRequest, prompt: Option<&str>) -> Vec<OsString> {
    let mut args = Vec::new();
    everywhere(&mut args, request);
    args.extend(request.extra.iter().cloned());
    args.extend(prompt.map(|prompt| format!("--prompt={prompt}").into()));
    args
}
