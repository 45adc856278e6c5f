//! How a session that an editor wants is started: the one place that makes its [`SessionSpec`].

use super::House;
use super::turn::internal;
use crate::failure::Failure;
use agent_client_protocol::v1::schema::Error;
use serde_json::json;
use stablehand::session::{Policy, SessionSpec};
use stablehand_core::mcp::McpServer;
use stablehand_core::record::SettingsChosen;
use std::path::Path;
use std::sync::Arc;

/// Makes a session of the editor's: in that folder, with the mode and the model that were chosen, and
/// with the editor's servers of tools.
pub(super) fn spec(
    house: &House,
    cwd: &Path,
    chosen: &SettingsChosen,
    servers: &[McpServer],
) -> Result<SessionSpec, Error> {
    try_spec(house, cwd, chosen, servers)
        .map_err(|failure| internal(failure.text().to_owned(), json!({ "hint": failure.advice() })))
}

fn try_spec(
    house: &House,
    cwd: &Path,
    chosen: &SettingsChosen,
    servers: &[McpServer],
) -> Result<SessionSpec, Failure> {
    let agent = house.agent;
    let mut choice = house.choice.clone();
    choice.workspace = Some(cwd.to_owned());
    choice.mode = chosen.mode.as_deref().and_then(stablehand::Mode::by_name);
    choice.model.clone_from(&chosen.model);
    let held = choice.config(&house.env)?;
    let policy = match choice.gate(agent, &held)? {
        Some(gate) => Policy::Rules(Arc::clone(&gate)),
        None if choice.force => Policy::Allow,
        None if choice.listens(agent) || choice.hooks => Policy::Ask,
        None => Policy::Deny,
    };
    let spec = choice
        .spec(&house.env, agent, &held, &house.again)?
        .conversation()
        .policy(policy)
        // The person at the editor answers when they like; meanwhile no limit runs.
        .patience(None)
        .actor(super::actor())
        .mcp_servers(servers.to_vec());
    Ok(match choice.redaction() {
        Some(redaction) => spec.redact(redaction),
        None => spec,
    })
}
