//! Gemini CLI's hooks, in its settings.
//!
//! As in Claude Code's, but times are in milliseconds. The hooks around the model are left out: one
//! of them is run for every piece of an answer. `PreCompress` comes before every request, whether
//! anything is compressed or not.

use crate::hooks::{ForRun, HookForm, Nesting, Unit};
use serde_json::Value;

pub(super) const FORM: HookForm = HookForm {
    folder: ".gemini",
    variable: "",
    project: "settings.json",
    user: "settings.json",
    for_run: ForRun::Merged,
    needs_force: true,
    calls_first: true,
    off_switch: None,
    nesting: Nesting::Grouped,
    unit: Unit::Milliseconds,
    fail_closed: None,
    version: None,
    strict: false,
    left_out: &["BeforeModel", "AfterModel", "BeforeToolSelection", "PreCompress"],
    switched_off: |file| {
        let off = file.pointer("/hooksConfig/enabled") == Some(&Value::Bool(false));
        off.then_some("hooksConfig.enabled")
    },
};
