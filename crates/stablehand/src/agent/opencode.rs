//! OpenCode.
//!
//! It has no way to approve everything for one run; its configuration decides. It must not replace
//! itself in the middle of a run.

mod manage;

use super::{Agent, PlanRequest, Workspace, option, words};
use stablehand_core::Dialect;
use std::ffi::OsString;

pub(super) const ROW: Agent = Agent {
    name: "opencode",
    programs: &["opencode"],
    dialect: Dialect::OpenCode,
    arguments,
    workspace: Workspace::StartedThere,
    env: &[("OPENCODE_DISABLE_AUTOUPDATE", Some("1"))],
    can: manage::CAN,
    manage: manage::RECIPES,
};

fn arguments(request: &PlanRequest) -> Vec<OsString> {
    let mut args = words(&["run", "--format", "json"]);
    option(&mut args, "--session", request.resume.as_ref().map(|id| &id.0));
    option(&mut args, "--model", request.model.as_ref());
    args.extend(request.extra.iter().cloned());
    args
}
