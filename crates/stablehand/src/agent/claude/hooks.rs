//! Claude Code's hooks, in its settings.
//!
//! For a project they go into the file that is the user's own there (`settings.local.json`), which
//! nobody commits. A hook that fails is a yes unless it says `onFailure`, which came with 2.1.295.
//! Asked for are the events that tell of the work itself; the rest are
//! about the program.

use crate::hooks::{ForRun, HookForm, Nesting, Unit};
use serde_json::Value;

pub(super) const FORM: HookForm = HookForm {
    folder: ".claude",
    variable: "CLAUDE_CONFIG_DIR",
    project: "settings.local.json",
    user: "settings.json",
    for_run: ForRun::Argument("--settings"),
    needs_force: false,
    calls_first: true,
    off_switch: Some("disableAllHooks"),
    nesting: Nesting::Grouped,
    unit: Unit::Seconds,
    fail_closed: Some(("onFailure", "\"block\"")),
    version: None,
    strict: false,
    left_out: &[
        "Setup",
        "InstructionsLoaded",
        "UserPromptExpansion",
        "PermissionDenied",
        "PostToolBatch",
        "Elicitation",
        "ElicitationResult",
        "TaskCreated",
        "TaskCompleted",
        "TeammateIdle",
        "PreModelSwitch",
        "PostModelSwitch",
        "CwdChanged",
        "FileChanged",
        "DirectoryAdded",
        "ConfigChange",
        "PostCompact",
        "StopFailure",
    ],
    switched_off: |file| {
        (file.get("disableAllHooks") == Some(&Value::Bool(true))).then_some("disableAllHooks")
    },
};
