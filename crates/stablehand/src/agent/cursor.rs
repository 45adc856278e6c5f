//! Cursor's `cursor-agent`.
//!
//! The prompt goes by standard input, which is then closed: with a prompt among the arguments and
//! an open pipe it gives no output (2026.01) or does not exit (2026.09). Output other than
//! stream-json is silent until the end and could not be supervised.

use super::{Agent, PlanRequest};
use stablehand_core::Dialect;
use std::ffi::OsString;

pub(super) const ROW: Agent = Agent {
    name: "cursor",
    programs: &["cursor-agent", "agent"],
    dialect: Dialect::Cursor,
    arguments,
};

fn arguments(request: &PlanRequest) -> Vec<OsString> {
    let mut args: Vec<OsString> =
        ["--print", "--output-format", "stream-json"].map(Into::into).into();
    if let Some(id) = &request.resume {
        args.extend(["--resume".into(), (&id.0).into()]);
    }
    if request.force {
        args.push("--force".into());
    }
    if let Some(model) = &request.model {
        args.extend(["--model".into(), model.into()]);
    }
    if let Some(workspace) = &request.workspace {
        args.extend(["--workspace".into(), workspace.into()]);
    }
    if request.partial_output {
        args.push("--stream-partial-output".into());
    }
    args.extend(request.extra.iter().cloned());
    args
}
