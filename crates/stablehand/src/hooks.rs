//! Our hooks in the agents' settings files: put in, taken out, and given back whatever happens.
//!
//! An agent starts the commands that its settings name at set moments of its work. This module owns
//! those files on disk. [`HookForm`] says how an agent wants them written; [`merge()`] and
//! [`unmerge`] are text in, text out; [`Installation`] is for the length of a run, under a journal
//! from which anybody can restore the file when we were killed; [`install`] and [`uninstall`] are
//! for good. What a hook does when it is started is not here.
//!
//! ```text
//! <state>/hooks/<hash of the file's path>/
//!   lock          held for each change, never longer
//!   journal.json  what the file was, and the hash of what we made of it; while it is installed
//!   users/…       one locked file for each run that needs it
//! ```

mod command;
mod doc;
mod form;
mod installation;
mod journal;
mod lasting;
mod merge;
mod place;
mod run;
mod status;
mod survey;
mod swap;
#[cfg(test)]
mod tests;

pub use command::{SMALL, can_be_started, program_of};
pub use form::{Answers, Commands, EventCommand, ForRun, HookForm, Nesting, Unit};
pub use installation::{
    Change, Ending, Installation, InstalledBy, Release, Repaired, release, repair, running,
};
pub use lasting::{Lasting, Preview, install, uninstall};
pub use merge::{Merged, Unmerged, merge, unmerge};
pub use place::Target;
pub use run::{HookRun, HookSetup, HookWish, MOST_CONTEXT};
pub use status::{HookState, HookStatus, OtherProgram};
use survey::guard;
pub use survey::{Finding, Guard, OurEntry, Survey, survey};

use crate::agent::Agent;
use serde::Serialize;
use stablehand_core::hook::HookEvent;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use thiserror::Error;

/// Whose settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Those of a project.
    Project,
    /// Those of the user, for all projects.
    User,
}

impl Scope {
    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            Scope::Project => "project",
            Scope::User => "user",
        }
    }
}

/// Which hooks an agent gets, and for which program.
#[derive(Clone, Debug)]
pub struct HookPlan {
    /// The agent's name.
    pub agent: &'static str,
    /// How its file looks.
    pub form: HookForm,
    /// Every event that it knows.
    pub known: Vec<&'static str>,
    /// The events that are asked for, with their commands.
    pub commands: Commands,
    /// The file name of our program, by which entries are known again.
    pub name: OsString,
}

impl HookPlan {
    /// All hooks of an agent that are worth having, for a program; nothing where the agent has none
    /// that we know.
    pub fn of(
        agent: Agent,
        program: &Path,
        answers: Answers<'_>,
    ) -> Result<Option<HookPlan>, HookError> {
        let row = agent.row();
        let (Some(form), Some(hooks)) = (row.hooks, row.dialect.hooks()) else { return Ok(None) };
        HookPlan::new(row.name, form, hooks.events(), program, answers).map(Some)
    }

    /// Hooks for the events of a table.
    pub fn new(
        agent: &'static str,
        form: HookForm,
        events: &[HookEvent],
        program: &Path,
        answers: Answers<'_>,
    ) -> Result<HookPlan, HookError> {
        let wanted = events.iter().copied().filter(|event| form.wants(event.name));
        let name = program.file_name().map(OsStr::to_owned);
        let odd = || HookError::OddProgram { program: program.to_owned() };
        Ok(HookPlan {
            agent,
            form,
            known: events.iter().map(|event| event.name).collect(),
            commands: Commands::new(agent, program, wanted, answers)?,
            name: name.ok_or_else(odd)?,
        })
    }

    /// A file with our entries in it.
    pub fn merge(&self, text: Option<&str>) -> Result<Merged, FileError> {
        merge(text, &self.form, &self.commands, &self.name)
    }

    /// What is in a file.
    pub fn survey(&self, text: Option<&str>) -> Result<Survey, FileError> {
        survey(text, &self.form, &self.known, &self.name)
    }

    /// Whether everything that is wanted is there already, for a program that can be started.
    pub fn is_covered_by(&self, survey: &Survey) -> bool {
        self.missing_from(survey).is_empty()
    }

    /// Returns what a file does to hold the agent: our entries as they stand there, with the groups
    /// that they are in, and what keeps the agent from running them.
    pub fn guard(&self, text: Option<&str>) -> Result<Guard, FileError> {
        guard(text, &self.form, &self.known, &self.name)
    }

    /// The events that are not covered.
    pub fn missing_from(&self, survey: &Survey) -> Vec<&'static str> {
        let covers = |event: &str| {
            survey.ours.iter().any(|ours| ours.event == event && can_be_started(&ours.program))
        };
        let events = self.commands.iter().map(|command| command.event);
        events.filter(|event| !covers(event)).collect()
    }
}

/// Why the text of a settings file is left alone.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FileError {
    /// It is no JSON.
    #[error("line {line} is no JSON: {what}")]
    NotJson {
        /// Where.
        line: usize,
        /// What the parser says.
        what: String,
    },
    /// It is JSON, but not what the agent describes.
    #[error("line {line}: {what}")]
    Shape {
        /// Where.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// It is of a version that we do not know.
    #[error("line {line}: `version` is {found}, and we know 1 only")]
    Version {
        /// Where.
        line: usize,
        /// What is there.
        found: String,
    },
    /// It is no text.
    #[error("it is not UTF-8 text")]
    NotText,
}

/// Why hooks could not be put into a file, or taken out.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum HookError {
    /// The agent has none.
    #[error("{agent} has no hooks that we know")]
    NoHooks {
        /// Which agent.
        agent: &'static str,
        /// The agents that have some.
        able: String,
    },
    /// No path is short enough for a socket.
    #[error("there is no place for a socket: every path is too long ({})", tried.join(", "))]
    NoPlace {
        /// The folders that were tried.
        tried: Vec<String>,
    },
    /// The command could not be written down.
    #[error("the path of the program `{}` is not absolute, or no text", program.display())]
    OddProgram {
        /// The program.
        program: PathBuf,
    },
    /// The file's text is left alone.
    #[error("failed to read the hooks in `{}`", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: FileError,
    },
    /// A symbolic link is in the way.
    #[error("`{}` is a symbolic link", path.display())]
    Link {
        /// Which part of the path.
        path: PathBuf,
    },
    /// It is no regular file, or its folder is no folder.
    #[error("`{}` is no {expected}", path.display())]
    Kind {
        /// What.
        path: PathBuf,
        /// What it should be.
        expected: &'static str,
    },
    /// It is not ours to write.
    #[error("`{}` may not be written by us", path.display())]
    NotOurs {
        /// The file.
        path: PathBuf,
    },
    /// It has more bytes than settings have.
    #[error("`{}` is too large for a settings file", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// Somebody writes it again and again.
    #[error("`{}` is changed by somebody at this very moment", path.display())]
    Restless {
        /// The file.
        path: PathBuf,
    },
    /// Another process holds the lock for too long.
    #[error("the lock `{}` was not free in {} s", path.display(), limit.as_secs())]
    Busy {
        /// The lock.
        path: PathBuf,
        /// How long we waited.
        limit: Duration,
    },
    /// The journal cannot be understood.
    #[error("the journal `{}` cannot be read", path.display())]
    Journal {
        /// The journal.
        path: PathBuf,
    },
    /// The system refused something.
    #[error("failed to {doing} `{}`", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
}
