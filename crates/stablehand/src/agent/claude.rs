//! Anthropic's Claude Code.
//!
//! It prints its stream only with `--verbose`. It must not believe that it runs inside of itself,
//! and it must not replace itself in the middle of a run.

use super::terminal::{CTRL_C_TWICE, PromptForm, TerminalForm, push_prompt};
use super::{Agent, PlanRequest, Workspace, option, words};
use stablehand_core::Dialect;
use std::ffi::OsString;

pub(super) const ROW: Agent = Agent {
    name: "claude",
    programs: &["claude"],
    dialect: Dialect::Claude,
    arguments,
    workspace: Workspace::StartedThere,
    env: &[
        ("CLAUDECODE", None),
        ("CLAUDE_CODE_ENTRYPOINT", None),
        ("DISABLE_AUTOUPDATER", Some("1")),
    ],
    terminal: Some(TerminalForm {
        arguments: at_terminal,
        prompt: PromptForm::Argument,
        leave: CTRL_C_TWICE,
    }),
};

fn arguments(request: &PlanRequest) -> Vec<OsString> {
    let mut args = words(&["-p", "--output-format", "stream-json", "--verbose"]);
    if request.partial_output {
        args.push("--include-partial-messages".into());
    }
    option(&mut args, "--resume", request.resume.as_ref().map(|id| &id.0));
    option(&mut args, "--model", request.model.as_ref());
    if request.force {
        args.push("--dangerously-skip-permissions".into());
    }
    args.extend(request.extra.iter().cloned());
    args
}

fn at_terminal(request: &PlanRequest, prompt: Option<&str>) -> Vec<OsString> {
    let mut args = Vec::new();
    option(&mut args, "--resume", request.resume.as_ref().map(|id| &id.0));
    option(&mut args, "--model", request.model.as_ref());
    if request.force {
        args.push("--dangerously-skip-permissions".into());
    }
    args.extend(request.extra.iter().cloned());
    push_prompt(&mut args, prompt);
    args
}
