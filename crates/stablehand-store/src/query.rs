//! Questions to the index and their answers, typed: sessions, full text, numbers, logs.
//!
//! Owns the SQL that reads. Writes nothing, prints nothing and asks neither clock nor environment;
//! what is brought up to date first, and how an answer looks, is for whoever asks.
//!
//! A session is all runs of one agent and one chat. Where one of our logs and an agent's own
//! transcript both have it, the log counts and the transcript does not.

mod logs;
mod named;
mod objects;
mod outcome;
mod search;
mod sessions;
mod snippet;
mod stats;
mod summary;
mod terms;

pub use logs::{LogFile, LogRun};
pub use named::Named;
pub use objects::SessionObject;
pub(crate) use objects::lossy_path;
pub use outcome::{is_failure, outcome_words, outcomes_named};
pub use search::{Count, Found, FoundSession, Match, MatchedTool, Order, Search};
pub use sessions::{Brief, Session, Spent};
pub use snippet::{Snippet, snippet};
pub use stats::{Figures, Group, Stats, Times, ToolFigures, Verdicts};
pub use summary::IndexSummary;
pub use terms::{Term, Terms};

use crate::{Store, StoreError};
use rusqlite::ToSql;
use stablehand_core::time::UnixMillis;

/// Which runs are meant; what is absent excludes none.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// The agent's name.
    pub agent: Option<String>,
    /// A folder, or one below it; several are names of the same folder.
    pub workspace: Vec<String>,
    /// A part of the model's name, in any case.
    pub model: Option<String>,
    /// Where it is known from: `log`, or the agent whose transcript was imported.
    pub source: Option<String>,
    /// Something was told at this time or later.
    pub since: Option<UnixMillis>,
    /// It began before this time.
    pub until: Option<UnixMillis>,
}

/// Whether somebody still writes the log at this path.
pub type IsWritten<'a> = &'a dyn Fn(&std::path::Path) -> bool;

/// The source of our own logs; all others are transcripts.
const OURS: &str = "log";

/// The parts of a filter that concern one run, as SQL over a table of runs with no other name.
const RUN_FITS: &str = "(:agent IS NULL OR agent = :agent
        OR substr(agent, 1, length(:agent) + 1) = :agent || ':')
    AND (:model IS NULL OR instr(lower(model), lower(:model)) > 0)
    AND (:source IS NULL OR source = :source)
    AND (:since IS NULL OR last >= :since)
    AND (:until IS NULL OR started < :until)
    AND (:folder IS NULL OR workspace = :folder OR workspace = :folder2
         OR substr(workspace, 1, length(:folder) + 1) = :folder || '/'
         OR substr(workspace, 1, length(:folder2) + 1) = :folder2 || '/')";

/// That no log of ours tells of the same session, as SQL over runs called `r`.
const COUNTS: &str = "(r.source = 'log' OR NOT EXISTS (SELECT 1 FROM runs o
    WHERE o.chat = r.chat AND o.agent = r.agent AND o.source = 'log'))";

/// The values of a filter, by name.
struct Values {
    since: Option<i64>,
    until: Option<i64>,
    folder: Option<String>,
    folder2: Option<String>,
}

impl Filter {
    /// Whether it lets everything through.
    pub fn is_open(&self) -> bool {
        let Filter { agent, workspace, model, source, since, until } = self;
        agent.is_none()
            && workspace.is_empty()
            && model.is_none()
            && source.is_none()
            && since.is_none()
            && until.is_none()
    }

    fn values(&self) -> Values {
        // Anything may stand in a path; a slash at its end says nothing.
        let folder = |n: usize| {
            let path = self.workspace.get(n).or(self.workspace.first())?;
            Some(path.trim_end_matches('/').to_owned())
        };
        Values {
            since: self.since.map(|at| at.0),
            until: self.until.map(|at| at.0),
            folder: folder(0),
            folder2: folder(1),
        }
    }

    fn bind<'v>(&'v self, values: &'v Values) -> Vec<(&'static str, &'v dyn ToSql)> {
        vec![
            (":agent", &self.agent),
            (":model", &self.model),
            (":source", &self.source),
            (":since", &values.since),
            (":until", &values.until),
            (":folder", &values.folder),
            (":folder2", &values.folder2),
        ]
    }
}

impl Store {
    /// Asks something, with the name of the index in the error. The answer is of one moment, whatever
    /// others write meanwhile.
    fn ask<T>(
        &self,
        question: impl FnOnce(&rusqlite::Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let ask = || {
            let moment = self.db.unchecked_transaction()?;
            let answer = question(&moment)?;
            moment.commit()?;
            Ok(answer)
        };
        ask().map_err(|source| self.failed(source))
    }
}
