//! Which log or imported session a person means. The lookup itself is [`stablehand_store::lookup`]'s.

use super::fresh::{Pace, progress};
use super::imported::Imported;
use crate::env::Env;
use crate::failure::Failure;
use stablehand::log::Glance;
use stablehand_core::text::excerpt;
use stablehand_core::time::UnixMillis;
use stablehand_store::lookup::{Located, LogHead, LookupCandidate, LookupError, locate};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// So many are listed where an id fits several.
const MOST_LISTED: usize = 10;

/// What can be given.
const NAMES: &str = "give the path of a log, the id of a session or of a run, or `latest`";

/// What is meant.
#[derive(Debug)]
pub(crate) enum Found {
    /// A log of ours; of several of one session, the newest.
    Log(PathBuf),
    /// A session that no log of ours has, but a transcript of its agent's.
    Imported(Box<Imported>),
}

impl Found {
    /// The log, for what makes no sense without one.
    pub(super) fn log(self, what: &str) -> Result<PathBuf, Failure> {
        match self {
            Found::Log(log) => Ok(log),
            Found::Imported(imported) => Err(imported.needs_log(what)),
        }
    }

    /// What there is to know of it at a glance.
    pub(super) fn glance(&self) -> Result<Glance, Failure> {
        match self {
            Found::Log(log) => glance(log),
            Found::Imported(imported) => Ok(imported.glance()),
        }
    }
}

/// The log that is meant.
pub(crate) fn log(which: impl AsRef<OsStr>, folder: &Path, env: &Env) -> Result<PathBuf, Failure> {
    find(which, folder, env)?.log("this")
}

/// What is meant, be it a log or not.
pub(super) fn find(which: impl AsRef<OsStr>, folder: &Path, env: &Env) -> Result<Found, Failure> {
    // What is not UTF-8 is no id, so it can only be a path.
    let Some(which) = which.as_ref().to_str() else {
        return Ok(Found::Log(which.as_ref().into()));
    };

    let head = |log: &Path| {
        let Glance { session, agent, title, began, deleted, .. } = glance(log).ok()?;
        Some(LogHead { session: session.map(|session| session.0), agent, title, began, deleted })
    };
    let budget = Pace::Soon.budget();
    match locate(which, folder, budget, &head, &mut progress(env))? {
        Located::Log(log) => Ok(Found::Log(log)),
        Located::Imported { id, runs } => {
            Ok(Found::Imported(Box::new(Imported::new(id, runs, folder))))
        }
    }
}

/// There is nothing to show.
pub(super) fn none(folder: &Path) -> Failure {
    LookupError::NoLogs { folder: folder.to_owned() }.into()
}

impl From<LookupError> for Failure {
    fn from(error: LookupError) -> Failure {
        let failure = Failure::new(error.to_string());
        match error {
            LookupError::NoLogs { .. } => failure.hint("name another folder with --log-dir"),
            LookupError::Empty | LookupError::NotFound { .. } => failure.hint(NAMES),
            LookupError::NotFoundYet { .. } => failure.hint("ask again"),
            LookupError::Ambiguous { ref candidates, .. } => {
                Failure::new(format!("{error}:{}", listed(candidates))).hint("give more of the id")
            }
            LookupError::Store(error) => error.into(),
        }
    }
}

fn listed(candidates: &[LookupCandidate]) -> String {
    let mut text = String::new();
    for LookupCandidate { id, head, .. } in candidates.iter().take(MOST_LISTED) {
        let when = head.began.map(UnixMillis::readable).unwrap_or_default();
        let agent = head.agent.as_deref().unwrap_or("?");
        let title = head.title.as_deref().unwrap_or_default();
        let line = format!("{}  {when}  {agent}  {title}", excerpt(id.as_bytes(), 64));
        let _infallible = write!(text, "\n  {}", excerpt(line.as_bytes(), 150));
    }
    if let Some(more) = candidates.len().checked_sub(MOST_LISTED).filter(|more| *more > 0) {
        let _infallible = write!(text, "\n  and {more} more");
    }
    text
}

/// Looks at both ends of a log.
pub(super) fn glance(log: &Path) -> Result<Glance, Failure> {
    stablehand::log::glance(log).map_err(|error| {
        Failure::new(format!("failed to read the log `{}`: {error}", log.display()))
    })
}
