//! GitHub's Copilot CLI, by the Agent Client Protocol.
//!
//! It has a stream of its own, which `stablehand decode` reads; but it takes its prompt as an argument
//! and cannot be asked or stopped in mid-turn there, so that it is run by the protocol only.

mod manage;

use super::plan::{EVERYTHING, PromptBy};
use super::{AcpForm, Asks, Mode, Row, ToolsSeen, Workspace, as_they_are};
use stablehand_core::Dialect;

pub(super) static ROW: Row = Row {
    name: "copilot",
    programs: &["copilot"],
    dialect: Dialect::Acp,
    arguments: None,
    prompt: PromptBy::StandardInput,
    // Said in the protocol.
    modes: &[(Mode::Plan, &[])],
    workspace: Workspace::StartedThere,
    // A program that changes while it is judged cannot be judged.
    env: &[("COPILOT_AUTO_UPDATE", Some("false"))],
    two_way: None,
    acp: Some(AcpForm {
        programs: &["copilot"],
        install: None,
        arguments: &["--acp"],
        logins: &[],
        offers: EVERYTHING,
        asks: Asks::Changes,
    }),
    tools: ToolsSeen::BeginningAndEnd,
    exit_codes: &[],
    limits: as_they_are,
    can: manage::CAN,
    manage: manage::RECIPES,
    hooks: None,
    history: &[],
    terminal: None,
};
