//! Qwen Code: started like Gemini, read like Claude Code.

use super::terminal::{CTRL_C_TWICE, PromptForm, TerminalForm};
use super::{Agent, PlanRequest, Workspace, option, words};
use stablehand_core::Dialect;
use std::ffi::OsString;

pub(super) const ROW: Agent = Agent {
    name: "qwen",
    programs: &["qwen"],
    dialect: Dialect::Qwen,
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
    let mut args = words(&["--output-format", "stream-json"]);
    option(&mut args, "--resume", request.resume.as_ref().map(|id| &id.0));
    option(&mut args, "--model", request.model.as_ref());
    if request.force {
        args.push("--yolo".into());
    }
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
