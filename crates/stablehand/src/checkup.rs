//! Checks of everything that a run depends on, for faces that show what to fix.
//!
//! Owns the findings. Each module checks one thing: `state` (folders, space, leases, leftover
//! hooks), `system` (what the kernel gives us), `trial` (a real run of the demo agent). Whether the
//! agents answer and are logged in is asked through [`crate::manage`].

mod state;
mod system;
mod trial;

use crate::keeper::KeeperProgram;
use serde::Serialize;
use std::ffi::OsString;
use std::path::PathBuf;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckLevel {
    /// As it should be.
    Ok,
    /// Good to know; nothing suffers.
    Note,
    /// Something is less good than it could be.
    Warning,
    /// Runs will fail.
    Broken,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckFinding {
    /// What was checked.
    pub check: String,
    /// How bad it is.
    pub level: CheckLevel,
    /// What was found.
    pub text: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

impl CheckFinding {
    /// A finding without a fix.
    pub fn new(
        check: impl Into<String>,
        level: CheckLevel,
        text: impl Into<String>,
    ) -> CheckFinding {
        CheckFinding { check: check.into(), level, text: text.into(), fix: None }
    }

    /// All is as it should be.
    pub fn ok(check: impl Into<String>, text: impl Into<String>) -> CheckFinding {
        CheckFinding::new(check, CheckLevel::Ok, text)
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn fix(mut self, fix: impl Into<String>) -> CheckFinding {
        self.fix = Some(fix.into());
        self
    }
}

/// What the checks need to know.
#[derive(Clone, Debug)]
pub struct Checkup {
    /// Our own program.
    pub program: PathBuf,
    /// How our keeper is started.
    pub keeper: KeeperProgram,
    /// Where programs are looked for.
    pub path: Option<OsString>,
    /// The folder of our state; absent where there is no place for one.
    pub state: Option<PathBuf>,
}

impl Checkup {
    /// Runs all checks. Settings files that a killed run has left changed are repaired on the way.
    pub fn run(&self) -> Vec<CheckFinding> {
        let mut findings = trial::check(self);
        findings.extend(state::check(self.state.as_deref()));
        findings.extend(system::check(self));
        findings
    }
}
