//! Qwen Code: started like Gemini, read like Claude Code.

mod manage;

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
    can: manage::CAN,
    manage: manage::RECIPES,
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
