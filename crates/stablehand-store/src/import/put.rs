//! The rows of a transcript into the index.
//!
//! A transcript that changed is read anew and replaces what was there. Rows go in some at a time, so
//! that nobody else waits for long; until the last ones are in, the transcript counts as unread, and
//! whoever takes it over in between is the one who goes on. What one of our own logs has of the same
//! session is left out here: the log says more.

use super::read;
use super::walk::Item;
use super::{Databases, FolderOf, Source};
use crate::commit::free_number;
use crate::index::{LOG, now_ms};
use crate::write::{self, Writer};
use crate::{Store, StoreError};
use rusqlite::{OptionalExtension, Transaction, TransactionBehavior, params};
use stablehand_analysis::chronicle::{Imported, Row};
use stablehand_core::decode::Timed;
use stablehand_core::event::EventKind;
use stablehand_core::id::digest64;
use stablehand_core::redact::Redactor;
use stablehand_core::time::UnixMillis;
use std::cell::RefCell;
use std::collections::HashMap;
use std::error::Error as _;

/// So many rows go into one transaction, about.
const BATCH: usize = 2000;

/// When our own logs watched which sessions.
#[derive(Debug, Default)]
pub(super) struct Covers {
    by_session: HashMap<(String, String), Vec<(i64, i64)>>,
}

impl Covers {
    pub(super) fn load(store: &Store) -> Result<Covers, StoreError> {
        let mut covers = Covers::default();
        let mut find = store
            .db
            .prepare_cached(
                "SELECT agent, session, started, ifnull(ended, last) FROM runs
                 WHERE source = ? AND session IS NOT NULL ORDER BY started, run_id",
            )
            .map_err(|error| store.failed(error))?;
        let mut rows = find.query([LOG]).map_err(|error| store.failed(error))?;
        while let Some(row) = rows.next().map_err(|error| store.failed(error))? {
            let read = || Ok(((row.get(0)?, row.get(1)?), (row.get(2)?, row.get(3)?)));
            let (whose, when) = read().map_err(|error| store.failed(error))?;
            covers.by_session.entry(whose).or_default().push(when);
        }
        Ok(covers)
    }

    /// Changes when our logs have more or less of a session.
    pub(super) fn digest(&self, agent: &str, session: Option<&str>) -> i64 {
        let times = session.map(|session| self.of(agent, session)).unwrap_or_default();
        digest(times)
    }

    /// Changes when our logs have more or less of any session of an agent.
    pub(super) fn of_agent(&self, agent: &str) -> i64 {
        let mut all: Vec<_> =
            self.by_session.iter().filter(|((whose, _), _)| whose == agent).collect();
        all.sort();
        all.iter().fold(0, |sum, ((_, session), times)| {
            sum.rotate_left(7) ^ digest(times) ^ signed(digest64(session.as_bytes()))
        })
    }

    fn of(&self, agent: &str, session: &str) -> &[(i64, i64)] {
        let key = (agent.to_owned(), session.to_owned());
        self.by_session.get(&key).map(Vec::as_slice).unwrap_or_default()
    }
}

fn digest(times: &[(i64, i64)]) -> i64 {
    let bytes: Vec<u8> = times
        .iter()
        .flat_map(|(from, to)| [from.to_le_bytes(), to.to_le_bytes()].concat())
        .collect();
    if bytes.is_empty() { 0 } else { signed(digest64(&bytes)) }
}

fn signed(digest: u64) -> i64 {
    i64::from_le_bytes(digest.to_le_bytes())
}

/// What is being imported.
struct Import<'f> {
    files: &'f FolderOf<'f>,
    item: &'f Item,
    log: i64,
    /// Ours as long as this stands in the index.
    stamp: i64,
    redactor: Redactor,
    rows: Vec<Row>,
    chronicle: Option<Imported>,
    /// The session, told when something happens in it.
    session: Option<Timed>,
    name: Option<String>,
    /// The turn that is being read is in one of our logs.
    covered: bool,
    skipped: u64,
}

/// Brings a transcript into the index, in place of what was there of it.
pub(super) fn import(
    store: &mut Store,
    files: &FolderOf<'_>,
    item: &Item,
    databases: &mut Databases,
) -> Result<(), StoreError> {
    let (log, stamp) = take_over(store, files.source, item)?;
    let mut import = Import {
        files,
        item,
        log,
        stamp,
        redactor: Redactor::new(),
        rows: Vec::new(),
        chronicle: None,
        session: None,
        name: None,
        covered: false,
        skipped: 0,
    };
    read::each_event(files.dialect, item, databases, |events, title| {
        for (at, kind) in events.drain(..) {
            import.event(at, kind);
        }
        if let (Some(title), Some(chronicle)) = (title, &mut import.chronicle) {
            chronicle.title(title);
        }
        if import.rows.len() >= BATCH {
            return import.commit(store, false);
        }
        Ok(())
    })?;
    if let Some(mut chronicle) = import.chronicle.take() {
        chronicle.finish(&mut import.rows);
    }
    import.commit(store, true)
}

impl Import<'_> {
    fn event(&mut self, at: UnixMillis, kind: EventKind) {
        match &kind {
            EventKind::SessionStarted { native_id, .. } => {
                self.name = Some(native_id.0.clone());
                self.session = Some((at, kind));
                return;
            }
            EventKind::TurnStarted { .. } => {
                let agent = &self.files.source.agent;
                let times = self.name.as_deref().map(|name| self.files.covers.of(agent, name));
                // Both clocks are this machine's, and a run begins before its prompt is given.
                let is_in = |(from, to): &(i64, i64)| (*from..=*to).contains(&at.0);
                self.covered = times.unwrap_or_default().iter().any(is_in);
            }
            EventKind::Unrecognized { .. } => self.skipped += 1,
            _ => {}
        }
        if self.covered {
            return;
        }
        let (agent, id) = (&self.files.source.agent, &self.item.name);
        if let Some((began, session)) = self.session.take() {
            let mut chronicle = Imported::new(agent, id, began);
            chronicle.event(began, session, &mut self.rows);
            self.chronicle = Some(chronicle);
        }
        if let Some(chronicle) = &mut self.chronicle {
            chronicle.event(at, kind, &mut self.rows);
        }
    }

    fn commit(&mut self, store: &mut Store, is_last: bool) -> Result<(), StoreError> {
        let database = store.path.clone();
        let failed = |source| StoreError::Database { path: database.clone(), source };
        let tx = begin(store)?;
        let known: Option<i64> = tx
            .prepare_cached("SELECT indexed_ms FROM logs WHERE id = ?")
            .and_then(|mut find| find.query_row([self.log], |row| row.get(0)).optional())
            .map_err(failed)?;
        if known == Some(self.stamp) {
            let writer = Writer {
                db: &tx,
                log: self.log,
                source: &self.files.source.agent,
                redactor: &self.redactor,
                words: true,
                signs: RefCell::default(),
            };
            for row in &self.rows {
                writer.put(row).map_err(failed)?;
            }
            if is_last {
                let covered =
                    self.files.covers.digest(&self.files.source.agent, self.name.as_deref());
                tx.execute(
                    "UPDATE logs SET size = ?, mtime_ms = ?, bytes = ?, skipped = ?, session = ?,
                         covered = ? WHERE id = ?",
                    params![
                        self.item.size,
                        self.item.mtime_ms,
                        self.item.size,
                        self.skipped,
                        self.name,
                        covered,
                        self.log
                    ],
                )
                .map_err(failed)?;
            }
            tx.commit().map_err(failed)?;
        }
        // Otherwise somebody else has begun with it since, and will have the rest too.
        self.rows.clear();
        Ok(())
    }
}

/// Makes the transcript ours and unread: its number in the index, and the sign that it is ours.
fn take_over(store: &mut Store, source: &Source, item: &Item) -> Result<(i64, i64), StoreError> {
    let database = store.path.clone();
    let failed = |source| StoreError::Database { path: database.clone(), source };
    let tx = begin(store)?;
    let found = entry(&tx, source, item).and_then(|(log, stamp)| {
        write::forget(&tx, log)?;
        tx.execute(
            "UPDATE logs SET size = 0, mtime_ms = 0, bytes = 0, indexed_ms = ? WHERE id = ?",
            params![stamp, log],
        )?;
        Ok((log, stamp))
    });
    let found = found.map_err(failed)?;
    tx.commit().map_err(failed)?;
    Ok(found)
}

/// Remembers how a database looked when all of its sessions were in the index.
pub(super) fn remember_database(
    store: &mut Store,
    source: &Source,
    item: &Item,
    covered: i64,
) -> Result<(), StoreError> {
    let database = store.path.clone();
    let failed = |source| StoreError::Database { path: database.clone(), source };
    let tx = begin(store)?;
    let done = entry(&tx, source, item).and_then(|(log, stamp)| {
        tx.execute(
            "UPDATE logs SET size = ?, mtime_ms = ?, covered = ?, indexed_ms = ? WHERE id = ?",
            params![item.size, item.mtime_ms, covered, stamp, log],
        )
    });
    done.map_err(failed)?;
    tx.commit().map_err(failed)
}

/// The entry of a transcript, made where there is none; with a time that no other has had.
fn entry(tx: &Transaction<'_>, source: &Source, item: &Item) -> rusqlite::Result<(i64, i64)> {
    let key = item.key(&source.agent);
    let known: Option<(i64, i64)> = tx
        .prepare_cached("SELECT id, indexed_ms FROM logs WHERE key = ?")?
        .query_row([&key], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    if let Some((log, last)) = known {
        return Ok((log, now_ms().max(last.saturating_add(1))));
    }
    let now = now_ms();
    let log = free_number(tx, item.mtime_ms, &key)?;
    tx.execute(
        "INSERT INTO logs (id, source, key, path, inode, size, mtime_ms, bytes, skipped, indexed_ms)
         VALUES (?,?,?,?,0,0,0,0,0,?)",
        params![log, source.agent, key, item.path.to_string_lossy(), now],
    )?;
    Ok((log, now))
}

fn begin(store: &mut Store) -> Result<Transaction<'_>, StoreError> {
    let path = store.path.clone();
    let failed = |source| StoreError::Database { path, source };
    store.db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)
}

/// What went wrong, with its reason, in one line.
pub(super) fn why(error: &StoreError) -> String {
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}
