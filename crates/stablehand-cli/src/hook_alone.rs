//! A hook without a run above: an agent that somebody started by hand, with our hooks installed.
//!
//! Owns nothing but the way from a payload to the policy files: the user's and the project's hold as
//! they would in a run. Where no file says anything, we have no opinion, and the agent does what it
//! would have done. A policy that cannot be read must not count as none: it denies.

use crate::env::Env;
use serde_json::Value;
use stablehand::config::Config;
use stablehand::error_chain;
use stablehand::hook_call::{HookCall, MOST_PAYLOAD};
use stablehand_core::hook::{Answered, Reply};
use stablehand_policy::Action;
use std::io::Read;
use std::path::Path;

/// Judges the call whose payload is on standard input.
pub(crate) fn judge(call: &HookCall<'_>) -> Answered {
    let mut payload = Vec::new();
    let most = u64::try_from(MOST_PAYLOAD).unwrap_or(u64::MAX);
    if let Err(error) = std::io::stdin().take(most).read_to_end(&mut payload) {
        return call.refuse(&format!("its standard input cannot be read: {error}"));
    }
    let Some(hooks) = call.hooks.filter(|hooks| hooks.event(call.event).is_some()) else {
        let (agent, event) = (call.agent, call.event);
        return call.refuse(&format!("{agent} has no hook called `{event}` that we know"));
    };
    if !hooks.role(call.event).fails_closed() {
        return hooks.answer(call.event, &Reply::Nothing);
    }
    match decide(call, &payload) {
        Ok(reply) => hooks.answer(call.event, &reply),
        Err(why) => call.refuse(&why),
    }
}

fn decide(call: &HookCall<'_>, payload: &[u8]) -> Result<Reply, String> {
    let agent = stablehand::Agent::by_name(call.agent).ok_or("no such agent")?;
    let Some(hooks) = agent.hooks() else { return Ok(Reply::Nothing) };
    let env = Env::read().map_err(|failure| failure.to_string())?;
    let payload: Value = serde_json::from_slice(payload)
        .map_err(|error| format!("its payload is no JSON: {error}"))?;
    let heard = hooks.read(call.event, &payload);
    // Agents start their hooks in the workspace.
    let found = Config::found_gate(Path::new("."), agent, &env.places())
        .map_err(|error| error_chain(&error))?;
    let Some(gate) = found else { return Ok(Reply::Nothing) };
    let decision = gate.judge_call(heard.tool.as_deref(), &heard.arguments, heard.folder());
    let action = match decision.action {
        Action::Ask => decision.unattended,
        action => action,
    };
    Ok(match action {
        Action::Allow => Reply::Allow { input: None },
        Action::Ask | Action::Deny => {
            Reply::Deny { reason: format!("denied by stablehand: {}", decision.reason) }
        }
    })
}
