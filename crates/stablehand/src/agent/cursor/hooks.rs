//! Cursor's `hooks.json`.
//!
//! Its lists hold hooks without groups. A hook that fails is a yes unless it says `failClosed`; an
//! event that Cursor does not know, or one wrong entry, makes it drop the whole file without a word.

use crate::hooks::{ForRun, HookForm, Nesting, Unit};

pub(super) const FORM: HookForm = HookForm {
    folder: ".cursor",
    // It goes by the home alone.
    variable: "",
    project: "hooks.json",
    user: "hooks.json",
    for_run: ForRun::Merged,
    needs_force: true,
    calls_first: false,
    off_switch: None,
    nesting: Nesting::Flat,
    unit: Unit::Seconds,
    fail_closed: Some(("failClosed", "true")),
    version: Some(1),
    strict: true,
    left_out: &["workspaceOpen", "beforeTabFileRead", "afterTabFileEdit"],
    switched_off: |_| None,
};
