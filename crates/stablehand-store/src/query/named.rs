//! Which runs are meant by an id, or by its beginning, and where they are told of.

use super::OURS;
use crate::import::Original;
use crate::{Store, StoreError};
use rusqlite::named_params;
use stablehand_core::time::UnixMillis;
use std::path::PathBuf;

/// A run whose session or own id begins as was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The session's id, or the run's where there is none.
    pub chat: String,
    /// The agent's own id of the session, where it named one.
    pub session: Option<String>,
    /// The id of the run.
    pub run: String,
    /// The agent's name.
    pub agent: String,
    /// The model, as the agent names it.
    pub model: Option<String>,
    /// Where it worked.
    pub workspace: Option<String>,
    /// What it was about.
    pub title: Option<String>,
    /// When it began.
    pub started: UnixMillis,
    /// How it ended; absent where that is not known.
    pub outcome: Option<String>,
    /// The file that tells of it.
    pub path: PathBuf,
    /// Where that is a transcript of the agent's, what it is read by.
    pub original: Option<Original>,
}

/// Behind every id that begins so, in the order of bytes.
const BEHIND: char = char::MAX;

const NAMED: &str = "SELECT r.chat, r.session, r.run_id, r.agent, r.model, r.workspace, r.title,
        r.started, r.outcome, r.source, l.path, l.key
    FROM runs r JOIN logs l ON l.id = r.log";

impl Store {
    /// The runs whose session or own id begins so, the first one first.
    pub fn named(&self, beginning: &str) -> Result<Vec<Named>, StoreError> {
        // Two questions, each to an index of its own.
        let sql = format!(
            "{NAMED} WHERE r.chat >= :from AND r.chat < :to
             UNION {NAMED} WHERE r.run_id >= :from AND r.run_id < :to
             ORDER BY 8, 3"
        );
        let to = format!("{beginning}{BEHIND}");
        let found: Vec<(Named, String, String)> = self.ask(|db| {
            let mut ask = db.prepare_cached(&sql)?;
            let rows = ask.query_map(named_params! { ":from": beginning, ":to": to }, |row| {
                let named = Named {
                    chat: row.get(0)?,
                    session: row.get(1)?,
                    run: row.get(2)?,
                    agent: row.get(3)?,
                    model: row.get(4)?,
                    workspace: row.get(5)?,
                    title: row.get(6)?,
                    started: UnixMillis(row.get(7)?),
                    outcome: row.get(8)?,
                    path: PathBuf::from(row.get::<_, String>(10)?),
                    original: None,
                };
                Ok((named, row.get(9)?, row.get(11)?))
            })?;
            rows.collect()
        })?;
        let is_imported = |(_, source, _): &(Named, String, String)| source != OURS;
        let sources = if found.iter().any(is_imported) { self.imports()? } else { Vec::new() };
        let named = found.into_iter().map(|(mut named, source, key)| {
            if source != OURS {
                named.original = Original::of(&sources, &source, &named.path, &key);
            }
            named
        });
        Ok(named.collect())
    }
}
