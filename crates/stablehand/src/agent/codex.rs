//! The Codex CLI: one turn at a time (`codex exec`), or a conversation (`codex app-server`).
//!
//! A lone `-` makes it read the prompt from standard input; without it an open pipe makes it wait.
//! What it may do is a sandbox. The app server takes everything but its configuration in its
//! protocol, and is an option's value away from asking before every command.

mod manage;

use super::mcp;
use super::plan::{EVERYTHING, PromptBy, flag, option, words};
use super::terminal::{CTRL_C_TWICE, PromptForm, TerminalForm, push_prompt};
use super::{AcpForm, Asks, Mode, PlanRequest, Row, ToolsSeen, TwoWay, Workspace, as_they_are};
use stablehand_core::Dialect;
use stablehand_core::mcp::McpTakes;
use std::ffi::OsString;

const MODES: &[(Mode, &[&str])] =
    &[(Mode::Ask, &["--sandbox", "read-only"]), (Mode::Edit, &["--sandbox", "workspace-write"])];

pub(super) static ROW: Row = Row {
    name: "codex",
    programs: &["codex"],
    dialect: Dialect::Codex,
    arguments: Some(arguments),
    prompt: PromptBy::StandardInput,
    modes: MODES,
    workspace: Workspace::StartedThere,
    env: &[],
    two_way: Some(TwoWay {
        dialect: Dialect::CodexApp,
        arguments: two_way,
        images: true,
        mcp: McpTakes { stdio: true, http: true, sse: false },
        asks: Asks::Changes,
    }),
    acp: Some(AcpForm {
        programs: &["codex-acp"],
        install: Some("npm install -g @zed-industries/codex-acp"),
        arguments: &[],
        logins: &[("CODEX_API_KEY", "api-key"), ("OPENAI_API_KEY", "api-key")],
        offers: EVERYTHING,
        asks: Asks::ChangesWhenConfined,
    }),
    tools: ToolsSeen::BeginningAndEnd,
    // It exits with 1 for every failure of a turn; a flag that it does not know is 2, on its
    // standard error.
    exit_codes: &[],
    limits: as_they_are,
    can: manage::CAN,
    manage: manage::RECIPES,
    hooks: None,
    history: manage::TRANSCRIPTS,
    terminal: Some(TerminalForm {
        arguments: at_terminal,
        prompt: PromptForm::Argument,
        leave: CTRL_C_TWICE,
    }),
};

fn arguments(request: &PlanRequest) -> Vec<OsString> {
    let mut args = words(&["exec", "--json", "--skip-git-repo-check"]);
    everywhere(&mut args, request);
    args.push("-".into());
    args
}

/// The arguments that are the same at a terminal.
fn everywhere(args: &mut Vec<OsString>, request: &PlanRequest) {
    option(args, "--model", request.model.as_ref());
    args.extend(request.mode_words(MODES));
    flag(args, "--dangerously-bypass-approvals-and-sandbox", request.force);
    args.extend(request.extra.iter().cloned());
    option(args, "resume", request.resume.as_ref().map(|id| &id.0));
    if request.continue_latest {
        args.extend(words(&["resume", "--last"]));
    }
}

fn two_way(request: &PlanRequest) -> Vec<OsString> {
    let mut args = words(&["app-server"]);
    args.extend(mcp::as_settings(&request.mcp));
    args.extend(request.extra.iter().cloned());
    args
}

fn at_terminal(request: &PlanRequest, prompt: Option<&str>) -> Vec<OsString> {
    // At a terminal Codex starts a daemon, or uses one that another run has left: what that does would
    // be out of our tree.
    let mut args = words(&["--no-daemon"]);
    everywhere(&mut args, request);
    push_prompt(&mut args, prompt);
    args
}
