//! OpenCode.
//!
//! It has no way to approve everything for one run; its configuration decides. It must not replace
//! itself in the middle of a run.

use super::terminal::{CTRL_C_TWICE, PromptForm, TerminalForm};
use super::{Agent, PlanRequest, Workspace, option, words};
use stablehand_core::Dialect;
use std::ffi::OsString;

pub(super) const ROW: Agent = Agent {
    name: "opencode",
    programs: &["opencode"],
    dialect: Dialect::OpenCode,
    arguments,
    workspace: Workspace::StartedThere,
    env: &[("OPENCODE_DISABLE_AUTOUPDATE", Some("1"))],
    terminal: Some(TerminalForm {
        arguments: at_terminal,
        prompt: PromptForm::Argument,
        leave: CTRL_C_TWICE,
    }),
};

fn arguments(request: &PlanRequest) -> Vec<OsString> {
    let mut args = words(&["run", "--format", "json"]);
    option(&mut args, "--session", request.resume.as_ref().map(|id| &id.0));
    option(&mut args, "--model", request.model.as_ref());
    args.extend(request.extra.iter().cloned());
    args
}

/// The prompt stands in one word with its option, so that it may begin with a dash.
fn at_terminal(request: &PlanRequest, prompt: Option<&str>) -> Vec<OsString> {
    let mut args = Vec::new();
    option(&mut args, "--session", request.resume.as_ref().map(|id| &id.0));
    option(&mut args, "--model", request.model.as_ref());
    args.extend(request.extra.iter().cloned());
    args.extend(prompt.map(|prompt| format!("--prompt={prompt}").into()));
    args
}
