//! The sessions whose logs are in a folder, by what both ends of each log tell.

use crate::frames::{Checkpoints, How, Past};
use crate::log::{Glance, LogEnd, LogSource, Writer, glance};
use crate::redact::Redaction;
use serde::Serialize;
use stablehand_core::id::{LogId, SessionId, SessionKey, TurnId};
use stablehand_core::record::SettingsChosen;
use stablehand_core::size::MaxOutput;
use stablehand_core::time::UnixMillis;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// What there is to know of a session without reading all of it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Summary {
    /// Our id of it.
    pub key: SessionKey,
    /// The agent's name.
    pub agent: Option<String>,
    /// The agent's own id of it, once that is known.
    pub native: Option<SessionId>,
    /// The model, as the agent names it.
    pub model: Option<String>,
    /// The agent's program, as it was started last.
    pub program: Option<PathBuf>,
    /// The folder that it works in.
    pub workspace: Option<PathBuf>,
    /// What was chosen for it.
    pub chosen: SettingsChosen,
    /// The beginning of its first prompt.
    pub title: Option<String>,
    /// When it began.
    pub began: Option<UnixMillis>,
    /// When something was last written to its log.
    pub used: Option<UnixMillis>,
    /// Who runs it.
    pub state: SessionState,
    /// Whether somebody deleted it ([`Host::delete`](super::Host::delete)).
    pub deleted: bool,
    /// How its last run ended, in one word.
    pub outcome: Option<String>,
    /// Its logs, oldest first.
    pub logs: Vec<PathBuf>,
    /// Sessions in which the agent's own session went on before this one, oldest first, but for those
    /// that were deleted: `--continue` lets the agent choose, so we make a new key.
    pub earlier: Vec<SessionKey>,
    /// The newest session in which it went on after this one.
    pub later: Option<SessionKey>,
    /// The turn that is on, where this host runs it.
    pub turn: Option<TurnId>,
    /// The approvals that wait for an answer, where this host runs it.
    pub approvals: Vec<String>,
}

/// Who runs a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SessionState {
    /// This host.
    Here,
    /// Another process, and this host is attached to it.
    Attached,
    /// Another process.
    Elsewhere,
    /// Nobody. Its events can be followed to their end; [`Host::open`](super::Host::open) goes on
    /// with it.
    Over,
}

impl Summary {
    /// The summary as one line of JSON; times are RFC 3339.
    pub fn json(&self) -> String {
        let path = |path: &PathBuf| path.to_string_lossy().into_owned();
        serde_json::json!({
            "key": self.key,
            "state": self.state,
            "agent": self.agent,
            "native": self.native,
            "model": self.model,
            "program": self.program.as_ref().map(path),
            "workspace": self.workspace.as_ref().map(path),
            "title": self.title,
            "chosen": self.chosen,
            "began": self.began.map(UnixMillis::rfc3339),
            "used": self.used.map(UnixMillis::rfc3339),
            "outcome": self.outcome,
            "turn": self.turn,
            "approvals": self.approvals,
            "logs": self.logs.iter().map(path).collect::<Vec<_>>(),
            "earlier": self.earlier,
            "later": self.later,
        })
        .to_string()
    }
}

/// Which sessions are listed; all where nothing is set.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Those of this agent.
    pub agent: Option<String>,
    /// Those that work in this folder.
    pub workspace: Option<PathBuf>,
    /// Those in this state.
    pub state: Option<SessionState>,
    /// Those that were deleted, too.
    pub deleted: bool,
    /// So many, the newest.
    pub limit: Option<usize>,
}

impl Filter {
    pub(super) fn matches(&self, summary: &Summary) -> bool {
        self.agent.as_ref().is_none_or(|agent| summary.agent.as_ref() == Some(agent))
            && self.workspace.as_ref().is_none_or(|it| summary.workspace.as_ref() == Some(it))
            && self.state.is_none_or(|state| summary.state == state)
            && (self.deleted || !summary.deleted)
    }
}

/// What was seen of logs, so that one that has not changed is not read again.
#[derive(Debug, Default)]
pub(super) struct Catalog {
    seen: Mutex<HashMap<PathBuf, Seen>>,
}

#[derive(Debug)]
struct Seen {
    len: u64,
    changed: Option<SystemTime>,
    glance: Option<Glance>,
}

impl Catalog {
    /// Every session in the folder.
    pub(super) fn all(&self, folder: &Path) -> Vec<Summary> {
        let logs = logs_in(folder);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.retain(|path, _| logs.binary_search(path).is_ok());
        let mut sessions: BTreeMap<SessionKey, Vec<(LogId, Summary)>> = BTreeMap::new();
        for path in logs {
            let known = look(&mut seen, &path);
            let Some((glance, used)) = known else { continue };
            if let (Some(key), Some(id)) = (glance.key, glance.id) {
                sessions.entry(key).or_default().push((id, summary(key, glance, used)));
            }
        }
        let mut all: Vec<Summary> = sessions.into_values().filter_map(joined).collect();
        relate(&mut all);
        all
    }

    /// One session.
    pub(super) fn of(&self, folder: &Path, key: SessionKey) -> Option<Summary> {
        self.all(folder).into_iter().find(|summary| summary.key == key)
    }
}

/// The logs in a folder, by name and so by time.
fn logs_in(folder: &Path) -> Vec<PathBuf> {
    let mut logs: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|it| it == "jsonl"))
        .collect();
    logs.sort();
    logs
}

/// Looks at a log again, where it has changed; who writes it is always asked.
fn look<'s>(
    seen: &'s mut HashMap<PathBuf, Seen>,
    path: &Path,
) -> Option<(&'s Glance, Option<UnixMillis>)> {
    let meta = path.metadata().ok()?;
    let (len, changed) = (meta.len(), meta.modified().ok());
    let is_known = |seen: &Seen| seen.len == len && seen.changed == changed;
    if !seen.get(path).is_some_and(is_known) {
        let glance = glance(path).ok();
        seen.insert(path.to_owned(), Seen { len, changed, glance });
    }
    let known = seen.get_mut(path)?.glance.as_mut()?;
    if known.writer == Writer::There {
        known.writer = File::open(path).map_or(Writer::Unknown, |file| Writer::of(&file));
    }
    let used = changed.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let used = used.and_then(|since| i64::try_from(since.as_millis()).ok()).map(UnixMillis);
    Some((known, used))
}

fn summary(key: SessionKey, glance: &Glance, used: Option<UnixMillis>) -> Summary {
    let state = match glance.writer {
        Writer::There => SessionState::Elsewhere,
        Writer::Gone | Writer::Unknown => SessionState::Over,
    };
    Summary {
        key,
        agent: glance.agent.clone(),
        native: glance.session.clone(),
        model: glance.model.clone(),
        program: glance.program.clone(),
        workspace: glance.cwd.as_ref().map(PathBuf::from),
        chosen: glance.chosen.clone(),
        title: glance.title.clone(),
        began: glance.began,
        used,
        state,
        deleted: glance.deleted,
        outcome: glance.end.as_ref().map(|LogEnd { outcome, .. }| outcome.clone()),
        logs: vec![glance.log.clone()],
        earlier: Vec::new(),
        later: None,
        turn: None,
        approvals: Vec::new(),
    }
}

/// The logs of one session as one: its beginning is that of the first, its state and what was chosen
/// are those of the last.
fn joined(mut logs: Vec<(LogId, Summary)>) -> Option<Summary> {
    logs.sort_by_key(|(id, _)| *id);
    logs.into_iter().map(|(_, summary)| summary).reduce(|first, next| Summary {
        key: first.key,
        agent: next.agent.or(first.agent),
        native: next.native.or(first.native),
        model: next.model.or(first.model),
        program: next.program.or(first.program),
        workspace: first.workspace.or(next.workspace),
        chosen: next.chosen,
        title: first.title.or(next.title),
        began: first.began.or(next.began),
        used: next.used.max(first.used),
        state: next.state,
        // A session that goes on after it was deleted is there again.
        deleted: next.deleted,
        outcome: next.outcome.or(first.outcome),
        logs: first.logs.into_iter().chain(next.logs).collect(),
        earlier: Vec::new(),
        later: None,
        turn: None,
        approvals: Vec::new(),
    })
}

/// Notes which sessions are one for the agent. They come oldest first.
fn relate(sessions: &mut [Summary]) {
    let name = |it: &Summary| Some((it.agent.clone()?, it.native.clone()?));
    let mut families: HashMap<_, Vec<usize>> = HashMap::new();
    for (at, summary) in sessions.iter().enumerate() {
        if let Some(name) = name(summary) {
            families.entry(name).or_default().push(at);
        }
    }
    for family in families.into_values().filter(|family| family.len() > 1) {
        let newest = family.last().and_then(|at| sessions.get(*at)).map(|it| it.key);
        let mut earlier = Vec::new();
        for at in family {
            let Some(summary) = sessions.get_mut(at) else { continue };
            summary.earlier.clone_from(&earlier);
            summary.later = newest.filter(|newest| *newest != summary.key);
            if !summary.deleted {
                earlier.push(summary.key);
            }
        }
    }
}

/// Returns our key of a session that an agent knows by `native`, by the name and the first record of
/// its newest log.
pub(crate) fn key_of(folder: &Path, agent: &str, native: &SessionId) -> Option<SessionKey> {
    let stem = format!("-{}", native.file_stem());
    let is_named = |path: &PathBuf| {
        let name = path.file_stem().and_then(|name| name.to_str());
        name.is_some_and(|name| name.contains(&stem))
    };
    let mut logs = logs_in(folder);
    logs.retain(is_named);
    let glances = logs.iter().rev().filter_map(|log| glance(log).ok());
    let is_it = |seen: &Glance| {
        seen.session.as_ref() == Some(native) && seen.agent.as_deref() == Some(agent)
    };
    glances.filter(is_it).find_map(|seen| seen.key)
}

/// Logs of a session, to be read for subscribers. One that is gone, or no log, is left out.
pub(super) fn past(logs: &[PathBuf], shaping: (Option<&Redaction>, MaxOutput)) -> Vec<Past> {
    logs.iter().filter_map(|path| one(path, shaping)).collect()
}

/// A log, to be read.
pub(super) fn one(
    path: &Path,
    (redaction, max_output): (Option<&Redaction>, MaxOutput),
) -> Option<Past> {
    let seen = glance(path).ok()?;
    let log = LogSource::of_file(File::open(path).ok()?).ok()?;
    if seen.writer != Writer::There {
        log.finish();
    }
    let redaction = redaction.cloned();
    let checkpoints = path.parent().map(Checkpoints::beside);
    let (id, dialect) = (seen.id?, seen.dialect?);
    Some(Past { how: How { log: id, dialect, redaction, max_output, checkpoints }, log })
}
