//! Cursor's `cursor-agent`.
//!
//! The prompt goes by standard input, which is then closed: with a prompt among the arguments and
//! an open pipe it gives no output (2026.01) or does not exit (2026.09). Output other than
//! stream-json is silent until the end and could not be supervised.

use super::terminal::{CTRL_C_TWICE, PromptForm, TerminalForm, push_prompt};
use super::{Agent, PlanRequest, Workspace, option, words};
use stablehand_core::Dialect;
use std::ffi::OsString;

pub(super) const ROW: Agent = Agent {
    name: "cursor",
    programs: &["cursor-agent", "agent"],
    dialect: Dialect::Cursor,
    arguments,
    workspace: Workspace::Argument,
    env: &[],
    terminal: Some(TerminalForm {
        arguments: at_terminal,
        prompt: PromptForm::Argument,
        leave: CTRL_C_TWICE,
    }),
};

fn arguments(request: &PlanRequest) -> Vec<OsString> {
    let mut args = words(&["--print", "--output-format", "stream-json"]);
    option(&mut args, "--resume", request.resume.as_ref().map(|id| &id.0));
    if request.force {
        args.push("--force".into());
    }
    option(&mut args, "--model", request.model.as_ref());
    option(&mut args, "--workspace", request.workspace.as_ref());
    if request.partial_output {
        args.push("--stream-partial-output".into());
    }
    args.extend(request.extra.iter().cloned());
    args
}

fn at_terminal(request: &PlanRequest, prompt: Option<&str>) -> Vec<OsString> {
    let mut args = Vec::new();
    option(&mut args, "--resume", request.resume.as_ref().map(|id| &id.0));
    if request.force {
        args.push("--force".into());
    }
    option(&mut args, "--model", request.model.as_ref());
    option(&mut args, "--workspace", request.workspace.as_ref());
    args.extend(request.extra.iter().cloned());
    push_prompt(&mut args, prompt);
    args
}
