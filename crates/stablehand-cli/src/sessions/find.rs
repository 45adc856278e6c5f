//! Which log is meant: a path, a session, a run, or the newest. Of an id its beginning will do.
//!
//! Ids are asked of the index. What it has not read yet is looked for in the logs themselves, and
//! where it cannot be used, all of them are: a wrong or missing answer is never the index's.

use super::fresh::{self, Pace};
use super::imported::Imported;
use super::read::lines_of;
use super::when::moment;
use crate::env::Env;
use crate::failure::Failure;
use stablehand::log::Glance;
use stablehand_core::id::SessionId;
use stablehand_core::record::{DecisionKind, DecisionRecord, Record};
use stablehand_core::text::excerpt;
use stablehand_core::time::UnixMillis;
use stablehand_store::FILE;
use stablehand_store::query::Named;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The word for the newest.
pub(crate) const LATEST: &str = "latest";

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
pub(crate) fn log(which: &str, folder: &Path, env: &Env) -> Result<PathBuf, Failure> {
    find(which, folder, env)?.log("this")
}

/// What is meant, be it a log or not.
pub(super) fn find(which: &str, folder: &Path, env: &Env) -> Result<Found, Failure> {
    let path = PathBuf::from(which);
    if path.is_file() {
        return Ok(Found::Log(path));
    }
    let logs = newest_first(folder)?;
    if which == LATEST {
        // A log that only says that a session was deleted shows nothing.
        let mut shown = logs.into_iter().filter(|log| !glance(log).is_ok_and(|it| it.deleted));
        return shown.next().map(Found::Log).ok_or_else(|| none(folder));
    }
    if logs.is_empty() && !folder.join(FILE).is_file() {
        return Err(none(folder));
    }
    if which.is_empty() {
        return Err(Failure::new("an empty id is none").hint(NAMES));
    }
    let mut known = Known::ask(which, folder, env, &logs);
    let mut logs = logs;
    if known.has_another_name(&logs) {
        // One of them was given its session's name just now.
        logs = newest_first(folder)?;
        known = Known::ask(which, folder, env, &logs);
    }
    let search = Search { which, folder, logs: &logs, known };
    let is_missing_some = search.known.is_missing_some;
    match search.find()? {
        Some(found) => Ok(found),
        None if is_missing_some => Err(Failure::new(format!(
            "`{which}` is no file, and no session or run of that id is in `{}`; but not all that was \
             imported is in the index yet",
            folder.display()
        ))
        .hint("ask again")),
        None => Err(Failure::new(format!(
            "`{which}` is no file, and no session or run of that id is in `{}`",
            folder.display()
        ))
        .hint(NAMES)),
    }
}

/// There is nothing to show.
pub(super) fn none(folder: &Path) -> Failure {
    Failure::new(format!("there is no log in `{}`", folder.display()))
        .hint("name another folder with --log-dir")
}

/// What the index knows of an id.
struct Known {
    runs: Vec<Named>,
    /// The logs for which it does not speak.
    unread: Vec<PathBuf>,
    /// Whether there are transcripts that it has not read yet.
    is_missing_some: bool,
}

impl Known {
    fn ask(which: &str, folder: &Path, env: &Env, logs: &[PathBuf]) -> Known {
        let asked = fresh::quietly(env, folder, Pace::Soon, |store| {
            Ok((store.named(which)?, store.outdated()?))
        });
        match asked {
            Ok(((runs, unread), refreshed)) => {
                let is_missing_some = refreshed.behind > unread.len();
                Known { runs, unread, is_missing_some }
            }
            // Then the logs speak for themselves.
            Err(_) => Known { runs: Vec::new(), unread: logs.to_vec(), is_missing_some: false },
        }
    }

    /// Whether it names a log that is not among these.
    fn has_another_name(&self, logs: &[PathBuf]) -> bool {
        let logs: HashSet<_> = logs.iter().map(|log| log.file_name()).collect();
        let mut runs = self.runs.iter().filter(|run| run.original.is_none());
        runs.any(|run| !logs.contains(&run.path.file_name()))
            || self.unread.iter().any(|log| !logs.contains(&log.file_name()))
    }
}

/// Something with an id that begins as was asked.
struct Candidate {
    id: String,
    agent: Option<String>,
    title: Option<String>,
    began: Option<UnixMillis>,
    place: Place,
}

/// Where it is told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    /// A log, by its place among them: the lowest is the newest.
    Log(usize),
    /// A transcript, by the place of its run among those that the index named.
    Transcript(usize),
}

impl Candidate {
    fn of_index(id: &str, run: &Named, place: Place) -> Candidate {
        Candidate {
            id: id.to_owned(),
            agent: Some(run.agent.clone()),
            title: run.title.clone(),
            began: Some(run.started),
            place,
        }
    }

    fn of_log(id: String, seen: Option<Glance>, place: Place) -> Candidate {
        let (agent, title, began) =
            seen.map_or((None, None, None), |seen| (seen.agent, seen.title, seen.began));
        Candidate { id, agent, title, began, place }
    }
}

struct Search<'s> {
    which: &'s str,
    folder: &'s Path,
    logs: &'s [PathBuf],
    known: Known,
}

impl Search<'_> {
    fn find(self) -> Result<Option<Found>, Failure> {
        // By their names: the folder may have been called otherwise when the index was told of them.
        let places: HashMap<_, usize> =
            self.logs.iter().enumerate().map(|(place, log)| (log.file_name(), place)).collect();
        let place_of = |log: &Path| places.get(&log.file_name()).copied();
        let unread: HashSet<usize> =
            self.known.unread.iter().filter_map(|log| place_of(log)).collect();
        let mut sessions = Vec::new();
        // Runs without a session are what a list of sessions shows too.
        let (mut lone, mut others) = (Vec::new(), Vec::new());
        for (number, run) in self.known.runs.iter().enumerate() {
            let place = match &run.original {
                Some(_) => Some(Place::Transcript(number)),
                None => place_of(&run.path).map(Place::Log),
            };
            // One that is gone since.
            let Some(place) = place else { continue };
            let is_alone = run.session.is_none() && run.chat == run.run;
            if !is_alone && run.chat.starts_with(self.which) {
                sessions.push(Candidate::of_index(&run.chat, run, place));
            }
            if run.run.starts_with(self.which) {
                let runs = if is_alone { &mut lone } else { &mut others };
                runs.push(Candidate::of_index(&run.run, run, place));
            }
        }
        self.sessions_by_name(&unread, &mut sessions);
        if let Some(found) = self.only_one(sessions)? {
            return Ok(Some(self.found(found)));
        }
        self.runs_of_unread(&unread, &mut lone, &mut others);
        for runs in [lone, others] {
            if let Some(found) = self.only_one(runs)? {
                return Ok(Some(self.found(found)));
            }
        }
        Ok(None)
    }

    /// The sessions of logs whose names say so, and of logs that the index does not know and whose
    /// names say nothing.
    fn sessions_by_name(&self, unread: &HashSet<usize>, sessions: &mut Vec<Candidate>) {
        let known: HashSet<Place> = sessions.iter().map(|it| it.place).collect();
        let as_file = SessionId(self.which.to_owned()).file_stem();
        for (number, log) in self.logs.iter().enumerate() {
            let place = Place::Log(number);
            let stem = log.file_stem().unwrap_or_default().to_string_lossy();
            let name = session_in_name(&stem).filter(|name| *name != "unknown");
            let fits = match name {
                Some(name) => name.starts_with(self.which) || name.starts_with(&as_file),
                None => unread.contains(&number),
            };
            if !fits || known.contains(&place) {
                continue;
            }
            let mut seen = glance(log).ok();
            let named = seen.as_mut().and_then(|seen| seen.session.take()).map(|it| it.0);
            // A log that lost its beginning still has its name.
            if let Some(id) = named.or(name.map(str::to_owned))
                && id.starts_with(self.which)
            {
                sessions.push(Candidate::of_log(id, seen, place));
            }
        }
    }

    fn runs_of_unread(
        &self,
        unread: &HashSet<usize>,
        lone: &mut Vec<Candidate>,
        others: &mut Vec<Candidate>,
    ) {
        for number in unread {
            let Some(log) = self.logs.get(*number) else { continue };
            // One that cannot be read is not what is looked for.
            for run in runs_of(log).unwrap_or_default() {
                if run.starts_with(self.which) {
                    let seen = glance(log).ok();
                    let is_alone = seen.as_ref().is_some_and(|seen| seen.session.is_none());
                    let runs = if is_alone { &mut *lone } else { &mut *others };
                    runs.push(Candidate::of_log(run, seen, Place::Log(*number)));
                }
            }
        }
    }

    /// The one id that was found, in the newest log that has it; an error where it could be several.
    fn only_one(&self, mut found: Vec<Candidate>) -> Result<Option<Candidate>, Failure> {
        if found.iter().any(|it| it.id == self.which) {
            found.retain(|it| it.id == self.which);
        }
        // Logs before transcripts, the newest first.
        found.sort_by_key(|it| match it.place {
            Place::Log(number) => (0, number),
            Place::Transcript(number) => (1, number),
        });
        let mut ids: Vec<Candidate> = Vec::new();
        for it in found {
            if ids.iter().all(|known| known.id != it.id) {
                ids.push(it);
            }
        }
        // Several runs of one log are one thing to show.
        let first = ids.first().map(|it| it.place);
        if ids.iter().all(|it| Some(it.place) == first) {
            return Ok(ids.into_iter().next());
        }
        let mut text = format!("`{}` is the beginning of {} ids:", self.which, ids.len());
        for it in ids.iter().take(MOST_LISTED) {
            let when = it.began.map(moment).unwrap_or_default();
            let agent = it.agent.as_deref().unwrap_or("?");
            let title = it.title.as_deref().unwrap_or_default();
            let line = format!("{}  {when}  {agent}  {title}", excerpt(it.id.as_bytes(), 64));
            let _infallible = write!(text, "\n  {}", excerpt(line.as_bytes(), 150));
        }
        if ids.len() > MOST_LISTED {
            let _infallible = write!(text, "\n  and {} more", ids.len() - MOST_LISTED);
        }
        Err(Failure::new(text).hint("give more of the id"))
    }

    fn found(self, candidate: Candidate) -> Found {
        let number = match candidate.place {
            Place::Log(number) => {
                return Found::Log(self.logs.get(number).cloned().unwrap_or_default());
            }
            Place::Transcript(number) => number,
        };
        let agent = self.known.runs.get(number).map(|run| run.agent.clone());
        // Of a session everything that the agent wrote down; of a run, that one.
        let is_part = |run: &Named| {
            run.original.is_some()
                && Some(&run.agent) == agent.as_ref()
                && (run.chat == candidate.id || run.run == candidate.id)
        };
        let runs = self.known.runs.into_iter().filter(is_part).collect();
        Found::Imported(Box::new(Imported::new(candidate.id, runs, self.folder)))
    }
}

/// What stands behind the time in the name of a log.
fn session_in_name(stem: &str) -> Option<&str> {
    let is_time = |part: &str| {
        part.len() == 20 && part.ends_with('Z') && part.as_bytes().get(8) == Some(&b'T')
    };
    let mut rest = stem;
    while let Some((part, behind)) = rest.split_once('-') {
        if is_time(part) {
            return Some(behind);
        }
        rest = behind;
    }
    None
}

/// The logs of a folder; none where there is no such folder.
pub(super) fn newest_first(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            let text = format!("failed to look into `{}`: {error}", folder.display());
            return Err(Failure::new(text));
        }
    };
    let mut logs: Vec<(SystemTime, PathBuf)> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
        .map(|path| {
            let changed = path.metadata().and_then(|about| about.modified());
            (changed.unwrap_or(SystemTime::UNIX_EPOCH), path)
        })
        .collect();
    logs.sort();
    Ok(logs.into_iter().rev().map(|(_, path)| path).collect())
}

/// The runs of a log, in order.
fn runs_of(log: &Path) -> Result<Vec<String>, Failure> {
    let mut runs = Vec::new();
    lines_of(log, |line| {
        // Few records are worth a closer look.
        let kinds = [DecisionKind::AgentSpawned, DecisionKind::SpawnFailed];
        if kinds.into_iter().any(|kind| kind.is_named_in(line))
            && let Some(start) = Record::read(line).decision().and_then(DecisionRecord::run_start)
        {
            runs.push(start.run.0.clone());
        }
        Ok(())
    })?;
    Ok(runs)
}

/// Looks at both ends of a log.
pub(super) fn glance(log: &Path) -> Result<Glance, Failure> {
    stablehand::log::glance(log).map_err(|error| {
        Failure::new(format!("failed to read the log `{}`: {error}", log.display()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_session_is_behind_the_time() {
        let table = [
            ("stablehand-20261003T022457.441Z-bc35-1", Some("bc35-1")),
            ("cursor-wrap-20261003T022457.441Z-x", Some("x")),
            ("20261003T022457.441Z-x", Some("x")),
            ("notes", None),
            ("a-b-c", None),
        ];
        for (stem, expected) in table {
            assert_eq!(session_in_name(stem), expected, "{stem}");
        }
    }
}
