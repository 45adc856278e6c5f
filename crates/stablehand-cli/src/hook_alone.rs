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
use stablehand_core::hook::{Answered, Reply, Role};
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
    let role = hooks.role(call.event);
    let decided = match role {
        Role::Permission | Role::Prompt | Role::SessionStart => decide(call, role, &payload),
        Role::SessionEnd | Role::Stop | Role::SubagentStop | Role::Observe => Ok(Reply::Nothing),
    };
    // A policy that cannot be read refuses a session and a prompt too, where the agent lets it.
    let refused = |why: String| Reply::Deny { reason: format!("denied by stablehand: {why}") };
    hooks.answer(call.event, &decided.unwrap_or_else(refused))
}

fn decide(call: &HookCall<'_>, role: Role, payload: &[u8]) -> Result<Reply, String> {
    let agent = stablehand::Agent::by_name(call.agent).ok_or("no such agent")?;
    let Some(hooks) = agent.hooks() else { return Ok(Reply::Nothing) };
    let env = Env::read().map_err(|failure| failure.to_string())?;
    let payload: Value = match serde_json::from_slice(payload) {
        Ok(payload) => payload,
        // Nothing of it is judged.
        Err(_) if role == Role::SessionStart => Value::Null,
        Err(error) => return Err(format!("its payload is no JSON: {error}")),
    };
    let heard = hooks.read(call.event, &payload);
    // Agents start their hooks in the workspace.
    let (gate, prompts) = Config::found_rules(Path::new("."), agent, &env.places())
        .map_err(|error| error_chain(&error))?;
    if role == Role::Prompt {
        let decision = prompts.decide(heard.prompt.as_deref().unwrap_or_default());
        let reason = format!("the prompt is {}", decision.reason);
        return Ok(if decision.action == Action::Deny {
            Reply::Deny { reason }
        } else {
            Reply::Nothing
        });
    }
    let Some(gate) = gate.filter(|_| role == Role::Permission) else { return Ok(Reply::Nothing) };
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
