//! Transcripts that agents keep of themselves, in the index beside our own logs.
//!
//! Owns which folders are imported: a small file beside the index remembers them, so that an index
//! that was thrown away is made again with the same in it. Nothing is ever written where the agents
//! keep theirs. What a transcript means is core's (`decode/<agent>/transcript.rs`); how its files are
//! found is `walk`, how they are read `read` and `database`, how the rows get into the index `put`.

mod database;
mod original;
mod put;
mod read;
mod tree;
mod walk;

pub use original::Original;

use crate::scan::{Budget, Refreshed};
use crate::{Store, StoreError};
use database::Databases;
use serde::{Deserialize, Serialize};
use stablehand_core::Dialect;
use stablehand_core::decode::{Timed, TranscriptForm};
use stablehand_core::event::EventKind;
use stablehand_core::time::UnixMillis;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use walk::Item;

/// The name of the file that remembers what is imported, in the folder of the logs.
pub const IMPORTS: &str = "imports.json";

/// The most that is read of that file.
const MOST_REMEMBERED: u64 = 1 << 20;

/// A folder of transcripts of one agent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Source {
    /// The agent, by the name of its dialect.
    pub agent: String,
    /// The folder.
    pub folder: PathBuf,
}

impl Source {
    /// Its dialect, where that is one whose transcripts can be read.
    pub fn dialect(&self) -> Option<Dialect> {
        Dialect::by_name(&self.agent).filter(|dialect| dialect.transcript_files().is_some())
    }
}

/// What there is in a folder of transcripts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Survey {
    /// Files.
    pub files: usize,
    /// Their size.
    pub bytes: u64,
    /// Sessions in which something was said.
    pub sessions: usize,
    /// Turns.
    pub turns: usize,
    /// When the first thing was said.
    pub first: Option<UnixMillis>,
    /// And the last.
    pub last: Option<UnixMillis>,
    /// Files that could not be read, with the reason.
    pub unreadable: Vec<(PathBuf, String)>,
}

/// What is remembered.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Remembered {
    v: u32,
    imports: BTreeSet<Source>,
}

/// What the index knows of a transcript.
#[derive(Debug)]
struct Known {
    id: i64,
    path: String,
    size: u64,
    mtime_ms: i64,
    session: Option<String>,
    covered: i64,
}

/// One transcript, read.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    /// The file that it is in.
    pub path: PathBuf,
    /// What the agent itself calls the session.
    pub title: Option<String>,
    /// What was said and done, and when.
    pub events: Vec<Timed>,
}

/// Looks at everything in a folder of transcripts without keeping any of it. `scratch` is a folder of
/// ours, for copies of databases that are in use.
pub fn survey(source: &Source, scratch: &Path) -> Survey {
    let mut found = Survey::default();
    let mut sessions = HashSet::new();
    let looked = each_item(source, scratch, |dialect, item, databases| {
        let mut session = None;
        let mut turns = 0;
        let mut told = |at: UnixMillis, kind: &EventKind| match kind {
            EventKind::SessionStarted { native_id, .. } => session = Some(native_id.0.clone()),
            EventKind::Unrecognized { .. } => {}
            other => {
                turns += usize::from(matches!(other, EventKind::TurnStarted { .. }));
                found.first = Some(found.first.map_or(at, |first| first.min(at)));
                found.last = found.last.max(Some(at));
            }
        };
        read::each_event(dialect, item, databases, |events, _| {
            for (at, kind) in events.iter() {
                told(*at, kind);
            }
            Ok(())
        })?;
        if turns > 0 {
            found.turns += turns;
            sessions.extend(session);
        }
        Ok(())
    });
    (found.files, found.bytes, found.unreadable) = looked;
    found.sessions = sessions.len();
    found
}

/// Gives every transcript in a folder, whole. What cannot be read is left out; [`survey`] says why.
pub fn each_transcript(source: &Source, scratch: &Path, mut take: impl FnMut(Transcript)) {
    each_item(source, scratch, |dialect, item, databases| {
        let mut whole = Transcript { path: item.path.clone(), ..Transcript::default() };
        read::each_event(dialect, item, databases, |events, title| {
            whole.events.append(events);
            whole.title = title.map(str::to_owned);
            Ok(())
        })?;
        take(whole);
        Ok(())
    });
}

/// How many files a folder has, their size, and which of them could not be read.
type Looked = (usize, u64, Vec<(PathBuf, String)>);

/// Hands out the transcripts of a folder; of a database every session.
fn each_item(
    source: &Source,
    scratch: &Path,
    mut take: impl FnMut(Dialect, &Item, &mut Databases) -> Result<(), StoreError>,
) -> Looked {
    let Some(dialect) = source.dialect() else { return Looked::default() };
    let mut databases = Databases::new(scratch);
    let listed = walk::list(dialect, &source.folder);
    let mut looked = (listed.items.len(), 0, listed.unreadable);
    let mut stored = HashSet::new();
    let (bases, files): (Vec<_>, Vec<_>) =
        listed.items.into_iter().partition(|item| item.form == TranscriptForm::Database);
    for file in bases.into_iter().chain(files) {
        looked.1 += file.size;
        let items = match file.form {
            TranscriptForm::Database => databases.sessions(&file),
            // It was taken over into the database.
            TranscriptForm::Tree if stored.contains(&file.name) => continue,
            _ => Ok(vec![file.clone()]),
        };
        let mut done = |item: &Item| {
            if file.form == TranscriptForm::Database {
                stored.insert(item.name.clone());
            }
            take(dialect, item, &mut databases)
        };
        let failed = match items {
            Ok(items) => items.iter().filter_map(|item| done(item).err()).last(),
            Err(error) => Some(error),
        };
        looked.2.extend(failed.map(|error| (file.path.clone(), put::why(&error))));
    }
    looked
}

impl Store {
    /// The folders that are imported.
    pub fn imports(&self) -> Result<Vec<Source>, StoreError> {
        Ok(self.remembered()?.imports.into_iter().collect())
    }

    /// Imports these folders too, from the next refresh on.
    pub fn add_imports(&self, sources: &[Source]) -> Result<(), StoreError> {
        let mut remembered = self.remembered()?;
        remembered.imports.extend(sources.iter().cloned());
        self.remember(remembered)
    }

    /// Imports nothing of these agents any more. What the index has of it goes with the next refresh.
    pub fn drop_imports(&self, agents: &[String]) -> Result<(), StoreError> {
        let mut remembered = self.remembered()?;
        remembered.imports.retain(|source| !agents.contains(&source.agent));
        self.remember(remembered)
    }

    fn remembered(&self) -> Result<Remembered, StoreError> {
        use std::io::Read;
        let path = self.folder.join(IMPORTS);
        let failed = |source| StoreError::Read { path: path.clone(), source };
        let mut text = String::new();
        match std::fs::File::open(&path) {
            Ok(file) => file.take(MOST_REMEMBERED).read_to_string(&mut text).map_err(failed)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Remembered::default());
            }
            Err(error) => return Err(failed(error)),
        };
        serde_json::from_str(&text).map_err(|error| failed(error.into()))
    }

    /// Writes the file anew, whole or not at all.
    fn remember(&self, mut remembered: Remembered) -> Result<(), StoreError> {
        remembered.v = 1;
        let path = self.folder.join(IMPORTS);
        let failed = |source| StoreError::Write { path: path.clone(), source };
        let text = serde_json::to_string_pretty(&remembered).map_err(|e| failed(e.into()))?;
        let fresh = self.folder.join(format!(".{IMPORTS}.{}", std::process::id()));
        let mut options = std::fs::OpenOptions::new();
        let options = options.write(true).create(true).truncate(true).mode(0o600);
        let written = options.open(&fresh).and_then(|mut file| {
            std::io::Write::write_all(&mut file, (text + "\n").as_bytes())?;
            file.sync_all()
        });
        written.and_then(|()| std::fs::rename(&fresh, &path)).map_err(failed)
    }

    /// Brings the index up to date with the folders that are imported.
    pub(crate) fn refresh_imports(
        &mut self,
        budget: Budget,
        done: &mut Refreshed,
    ) -> Result<(), StoreError> {
        let sources = self.imports()?;
        let mut known = self.known_transcripts()?;
        if sources.is_empty() && known.is_empty() {
            return Ok(());
        }
        let covers = put::Covers::load(self)?;
        let mut databases = Databases::new(&self.folder.clone());
        for source in &sources {
            let Some(dialect) = source.dialect() else { continue };
            let listed = walk::list(dialect, &source.folder);
            let is_whole = listed.unreadable.is_empty();
            done.unreadable.extend(listed.unreadable);
            let files = FolderOf { source, dialect, covers: &covers };
            let in_databases = self.refresh_databases(
                &files,
                &listed.items,
                &mut known,
                (&mut databases, budget),
                done,
            )?;
            for item in listed.items {
                if item.form == TranscriptForm::Database {
                    continue;
                }
                let is_double =
                    item.form == TranscriptForm::Tree && in_databases.contains(&item.name);
                if !is_double {
                    self.refresh_item(&files, &item, &mut known, (&mut databases, budget), done)?;
                }
            }
            if !is_whole {
                // What could not be looked at is not gone.
                let folder = source.folder.to_string_lossy().into_owned();
                known.retain(|_, it| !Path::new(&it.path).starts_with(&folder));
            }
        }
        for it in known.into_values() {
            done.forgotten += usize::from(self.forget(it.id, &it.path)?.0);
        }
        Ok(())
    }

    /// The sessions in the databases of a folder; gives their ids.
    fn refresh_databases(
        &mut self,
        files: &FolderOf<'_>,
        items: &[Item],
        known: &mut HashMap<String, Known>,
        (databases, budget): (&mut Databases, Budget),
        done: &mut Refreshed,
    ) -> Result<HashSet<String>, StoreError> {
        let mut ids = HashSet::new();
        for item in items.iter().filter(|item| item.form == TranscriptForm::Database) {
            let prefix = format!("{}#", item.key(&files.source.agent));
            let covered = files.covers.of_agent(&files.source.agent);
            let is_same = known.remove(&item.key(&files.source.agent)).is_some_and(|it| {
                it.size == item.size && it.mtime_ms == item.mtime_ms && it.covered == covered
            });
            if is_same {
                known.retain(|key, _| match key.strip_prefix(&prefix) {
                    Some(id) => {
                        ids.insert(id.to_owned());
                        false
                    }
                    None => true,
                });
                continue;
            }
            let sessions = match databases.sessions(item) {
                Ok(sessions) => sessions,
                Err(error) => {
                    done.unreadable.push((item.path.clone(), put::why(&error)));
                    known.retain(|key, _| !key.starts_with(&prefix));
                    continue;
                }
            };
            let before = (done.behind, done.unreadable.len());
            for session in sessions {
                ids.insert(session.name.clone());
                self.refresh_item(files, &session, known, (databases, budget), done)?;
            }
            if before == (done.behind, done.unreadable.len()) {
                put::remember_database(self, files.source, item, covered)?;
            }
        }
        Ok(ids)
    }

    fn refresh_item(
        &mut self,
        files: &FolderOf<'_>,
        item: &Item,
        known: &mut HashMap<String, Known>,
        (databases, budget): (&mut Databases, Budget),
        done: &mut Refreshed,
    ) -> Result<(), StoreError> {
        let agent = &files.source.agent;
        let is_same = known.remove(&item.key(agent)).is_some_and(|it| {
            it.size == item.size
                && it.mtime_ms == item.mtime_ms
                && it.covered == files.covers.digest(agent, it.session.as_deref())
        });
        if is_same {
            return Ok(());
        }
        if budget.is_used_up() {
            done.behind += 1;
            return Ok(());
        }
        match put::import(self, files, item, databases) {
            Ok(()) => done.indexed += 1,
            Err(StoreError::Read { path, source }) => {
                if source.kind() != std::io::ErrorKind::NotFound {
                    done.unreadable.push((path, source.to_string()));
                }
            }
            Err(error @ StoreError::Foreign { .. }) => {
                done.unreadable.push((item.path.clone(), put::why(&error)));
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn known_transcripts(&self) -> Result<HashMap<String, Known>, StoreError> {
        let mut find = self
            .db
            .prepare_cached(
                "SELECT key, id, path, size, mtime_ms, session, covered FROM logs
                 WHERE source <> ?",
            )
            .map_err(|error| self.failed(error))?;
        let rows = find.query_map([crate::index::LOG], |row| {
            let known = Known {
                id: row.get(1)?,
                path: row.get(2)?,
                size: row.get(3)?,
                mtime_ms: row.get(4)?,
                session: row.get(5)?,
                covered: row.get(6)?,
            };
            Ok((row.get(0)?, known))
        });
        rows.and_then(Iterator::collect).map_err(|error| self.failed(error))
    }
}

/// A folder that is being brought up to date, and what our logs have of its sessions.
#[derive(Clone, Copy, Debug)]
struct FolderOf<'s> {
    source: &'s Source,
    dialect: Dialect,
    covers: &'s put::Covers,
}
