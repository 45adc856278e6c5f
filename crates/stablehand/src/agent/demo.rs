//! The built-in agent, for trying everything without an account.
//!
//! It is our own binary with a hidden subcommand (the face that has it says where it is), and it
//! speaks Cursor's stream; in a conversation it speaks the Agent Client Protocol, and asks.

mod manage;

use super::plan::{PromptBy, flag, option, words};
use super::terminal::{CTRL_C_TWICE, PromptForm, TerminalForm};
use super::{Asks, Mode, PlanRequest, Row, ToolsSeen, TwoWay, Workspace, as_they_are};
use stablehand_core::Dialect;
use stablehand_core::mcp::McpTakes;
use std::ffi::OsString;

/// The hidden subcommand.
pub(super) const SUBCOMMAND: &str = "__demo-agent";

/// Names the folder to work in.
const WORKSPACE: &str = "--workspace";

const MODES: &[(Mode, &[&str])] = &[(Mode::Plan, &["--mode", "plan"])];

pub(super) static ROW: Row = Row {
    name: "demo",
    programs: &[],
    dialect: Dialect::Cursor,
    arguments: Some(arguments),
    prompt: PromptBy::StandardInput,
    modes: MODES,
    workspace: Workspace::Option(WORKSPACE),
    env: &[],
    two_way: Some(TwoWay {
        dialect: Dialect::Acp,
        arguments: two_way,
        images: true,
        mcp: McpTakes::NONE,
        asks: Asks::Everything,
    }),
    acp: None,
    tools: ToolsSeen::BeginningAndEnd,
    exit_codes: &[],
    limits: as_they_are,
    can: manage::CAN,
    manage: manage::RECIPES,
    hooks: None,
    history: &[],
    terminal: Some(TerminalForm {
        arguments: |request, _typed| arguments(request),
        // It reads its prompt to the end, which at a terminal is Ctrl-D at the beginning of a line.
        prompt: PromptForm::Typed("\r\x04"),
        leave: CTRL_C_TWICE,
    }),
};

fn arguments(request: &PlanRequest) -> Vec<OsString> {
    let mut args = words(&[SUBCOMMAND]);
    option(&mut args, "--resume", request.resume.as_ref().map(|id| &id.0));
    option(&mut args, "--model", request.model.as_ref());
    args.extend(request.mode_words(MODES));
    option(&mut args, WORKSPACE, request.workspace.as_ref());
    args.extend(request.extra.iter().cloned());
    args
}

/// The rest is said in the protocol.
fn two_way(request: &PlanRequest) -> Vec<OsString> {
    let mut args = words(&[SUBCOMMAND, "--listen"]);
    flag(&mut args, "--ask-always", request.asks_always);
    option(&mut args, "--model", request.model.as_ref());
    args.extend(request.extra.iter().cloned());
    args
}
