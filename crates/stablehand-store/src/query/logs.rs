//! The logs that the index knows, with what became of their runs: what may be removed follows
//! from it.

use crate::{Store, StoreError};
use serde::Serialize;
use stablehand_core::time::UnixMillis;
use std::collections::HashMap;
use std::path::PathBuf;

/// One log of ours.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogFile {
    /// The file.
    pub path: PathBuf,
    /// How big it was when it was last looked at.
    pub bytes: u64,
    /// When something was last told in it; absent where it holds no run.
    pub last: Option<UnixMillis>,
    /// Its runs, in order.
    pub runs: Vec<LogRun>,
}

/// One run in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogRun {
    /// The agent's name.
    pub agent: String,
    /// The session's id, or the run's where the agent named no session.
    #[serde(rename = "id")]
    pub chat: String,
    /// What it was about.
    #[serde(skip)]
    pub title: Option<String>,
    /// How it ended; absent where no end is on record.
    pub outcome: Option<String>,
}

impl Store {
    /// Our own logs, by path.
    pub fn log_files(&self) -> Result<HashMap<PathBuf, LogFile>, StoreError> {
        self.ask(|db| {
            let mut ask = db.prepare_cached(
                "SELECT l.path, l.size, r.last, r.agent, r.chat, r.title, r.outcome
                 FROM logs l LEFT JOIN runs r ON r.log = l.id
                 WHERE l.source = 'log' ORDER BY l.id, r.run",
            )?;
            let mut rows = ask.query([])?;
            let mut logs: HashMap<PathBuf, LogFile> = HashMap::new();
            while let Some(row) = rows.next()? {
                let path = PathBuf::from(row.get::<_, String>(0)?);
                let log = logs.entry(path.clone()).or_default();
                log.path = path;
                log.bytes = row.get(1)?;
                let Some(agent) = row.get(3)? else { continue };
                log.last = log.last.max(row.get::<_, Option<i64>>(2)?.map(UnixMillis));
                log.runs.push(LogRun {
                    agent,
                    chat: row.get(4)?,
                    title: row.get(5)?,
                    outcome: row.get(6)?,
                });
            }
            Ok(logs)
        })
    }
}
