//! The Codex CLI, one turn at a time (`codex exec`).
//!
//! A lone `-` makes it read the prompt from standard input; without it an open pipe makes it wait.

use super::terminal::{CTRL_C_TWICE, PromptForm, TerminalForm, push_prompt};
use super::{Agent, PlanRequest, Workspace, option, words};
use stablehand_core::Dialect;
use std::ffi::OsString;

pub(super) const ROW: Agent = Agent {
    name: "codex",
    programs: &["codex"],
    dialect: Dialect::Codex,
    arguments,
    workspace: Workspace::StartedThere,
    env: &[],
    terminal: Some(TerminalForm {
        arguments: at_terminal,
        prompt: PromptForm::Argument,
        leave: CTRL_C_TWICE,
    }),
};

fn arguments(request: &PlanRequest) -> Vec<OsString> {
    let mut args = words(&["exec", "--json", "--skip-git-repo-check"]);
    option(&mut args, "--model", request.model.as_ref());
    if request.force {
        args.push("--dangerously-bypass-approvals-and-sandbox".into());
    }
    args.extend(request.extra.iter().cloned());
    option(&mut args, "resume", request.resume.as_ref().map(|id| &id.0));
    args.push("-".into());
    args
}

fn at_terminal(request: &PlanRequest, prompt: Option<&str>) -> Vec<OsString> {
    let mut args = Vec::new();
    option(&mut args, "--model", request.model.as_ref());
    if request.force {
        args.push("--dangerously-bypass-approvals-and-sandbox".into());
    }
    args.extend(request.extra.iter().cloned());
    option(&mut args, "resume", request.resume.as_ref().map(|id| &id.0));
    push_prompt(&mut args, prompt);
    args
}
