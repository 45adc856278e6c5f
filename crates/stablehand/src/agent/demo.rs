//! The built-in agent, for trying everything without an account.
//!
//! It is our own binary with a hidden subcommand (the face that has it says where it is), and it
//! speaks Cursor's stream.

use super::{Agent, PlanRequest};
use stablehand_core::Dialect;
use std::ffi::OsString;

/// The hidden subcommand.
pub(super) const SUBCOMMAND: &str = "__demo-agent";

pub(super) const ROW: Agent =
    Agent { name: "demo", programs: &[], dialect: Dialect::Cursor, arguments };

fn arguments(request: &PlanRequest) -> Vec<OsString> {
    let mut args: Vec<OsString> = vec![SUBCOMMAND.into()];
    if let Some(id) = &request.resume {
        args.extend(["--resume".into(), (&id.0).into()]);
    }
    if let Some(model) = &request.model {
        args.extend(["--model".into(), model.into()]);
    }
    if let Some(workspace) = &request.workspace {
        args.extend(["--workspace".into(), workspace.into()]);
    }
    args.extend(request.extra.iter().cloned());
    args
}
