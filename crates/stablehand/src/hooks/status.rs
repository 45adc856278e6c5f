//! How far our hooks are in a settings file, and whether the agent will run them.

use super::{
    Finding, HookError, HookPlan, InstalledBy, Repaired, Scope, Target, can_be_started, running,
};
use crate::agent::Agent;
use crate::error_chain;
use crate::hooks::Change;
use serde::{Serialize, Serializer};
use stablehand_core::text::plain;
use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

/// How far our hooks are in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HookState {
    /// All of them are there, and the agent will run them.
    Installed,
    /// All are there, but the agent will run none of them.
    NotRun,
    /// Some are missing.
    Partly,
    /// None is there.
    NotInstalled,
    /// The file cannot be read.
    Unreadable,
}

/// What is known about our hooks in one settings file.
#[derive(Clone, Debug, Serialize)]
pub struct HookStatus {
    /// The agent's name.
    pub agent: &'static str,
    /// Whose settings.
    pub scope: Scope,
    /// The file.
    #[serde(serialize_with = "lossy")]
    pub path: PathBuf,
    /// How far our hooks are in it.
    pub state: HookState,
    /// The events for which no command of ours is there.
    pub missing: Vec<&'static str>,
    /// Programs in our entries that are not the present one.
    pub other_programs: Vec<OtherProgram>,
    /// How many hooks of others are there.
    pub theirs: usize,
    /// The processes of the runs that have put their hooks in for now.
    pub runs: Vec<u32>,
    /// What is wrong with the file.
    pub findings: Vec<Finding>,
    /// Why it cannot be read.
    pub error: Option<String>,
}

/// A program that an entry of ours starts, and that is not the present one.
#[derive(Clone, Debug, Serialize)]
pub struct OtherProgram {
    /// The program.
    #[serde(serialize_with = "lossy")]
    pub program: PathBuf,
    /// Whether it can be started.
    pub can_be_started: bool,
}

fn lossy<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&path.to_string_lossy())
}

impl HookStatus {
    /// Reads a settings file. `program` is what our hooks start, `state` the folder of our state.
    pub fn read(
        agent: Agent,
        scope: Scope,
        target: &Target,
        plan: &HookPlan,
        program: &Path,
        state: &Path,
    ) -> HookStatus {
        let mut status = HookStatus {
            agent: agent.name(),
            scope,
            path: target.path(),
            state: HookState::NotInstalled,
            missing: plan.commands.iter().map(|command| command.event).collect(),
            other_programs: Vec::new(),
            theirs: 0,
            runs: Vec::new(),
            findings: Vec::new(),
            error: None,
        };
        let survey = target.read().and_then(|text| {
            let unreadable = |source| HookError::File { path: target.path(), source };
            let InstalledBy { runs, .. } = running(target, state)?;
            status.runs = runs;
            plan.survey(text.as_deref()).map_err(unreadable)
        });
        let survey = match survey {
            Ok(survey) => survey,
            Err(error) => {
                status.state = HookState::Unreadable;
                status.error = Some(error_chain(&error));
                return status;
            }
        };
        status.missing = plan.missing_from(&survey);
        let programs: BTreeSet<&Path> =
            survey.ours.iter().map(|ours| ours.program.as_path()).collect();
        status.other_programs = programs
            .into_iter()
            .filter(|other| *other != program)
            .map(|other| OtherProgram {
                program: other.to_owned(),
                can_be_started: can_be_started(other),
            })
            .collect();
        let is_void = survey.findings.iter().any(|finding| finding.voids);
        status.state = match (survey.ours.is_empty(), status.missing.is_empty()) {
            (true, _) => HookState::NotInstalled,
            (false, false) => HookState::Partly,
            (false, true) if is_void => HookState::NotRun,
            (false, true) => HookState::Installed,
        };
        status.theirs = survey.theirs;
        status.findings = survey.findings;
        status
    }
}

/// Says in words what became of what a killed run had left.
impl fmt::Display for Repaired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = plain(&self.path.display().to_string());
        match &self.result {
            Ok(Change::Restored) => {
                write!(f, "{path}: a run was killed; the file is what it was again")
            }
            Ok(Change::Edited) => write!(
                f,
                "{path}: a run was killed, and the file was changed since; our hooks are out of it"
            ),
            Ok(Change::Deleted | Change::Gone) => {
                write!(f, "{path}: a run was killed; the file has been deleted since")
            }
            Err(error) => write!(
                f,
                "{path}: a run was killed, and its hooks could not be taken out: {}",
                plain(&error_chain(error))
            ),
        }
    }
}
