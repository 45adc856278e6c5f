//! Which session an id means: a log of ours, or what was imported. The beginning of an id is enough.
//!
//! Ids are looked up in the index. Logs that the index has not read yet are searched themselves, and
//! where the index cannot be used, all logs are: a wrong or missing answer is never the index's.

use crate::folder::logs_newest_first;
use crate::query::Named;
use crate::{Advance, Budget, FILE, StoreError, ask_refreshed};
use stablehand_core::id::SessionId;
use stablehand_core::record::{DecisionKind, DecisionRecord, LogLines, Record};
use stablehand_core::time::UnixMillis;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};

/// The word for the newest log.
pub const LATEST: &str = "latest";

/// What both ends of a log tell about its session.
#[derive(Clone, Debug, Default)]
pub struct LogHead {
    /// The agent's id of the session.
    pub session: Option<String>,
    /// The agent.
    pub agent: Option<String>,
    /// What the session is about.
    pub title: Option<String>,
    /// When it began.
    pub began: Option<UnixMillis>,
    /// Whether the log only says that the session was deleted.
    pub deleted: bool,
}

/// What an id means.
#[derive(Debug)]
pub enum Located {
    /// A log of ours; of several of one session, the newest.
    Log(PathBuf),
    /// A session that no log of ours has, but transcripts of its agent have.
    Imported {
        /// The session's id, or the run's.
        id: String,
        /// What the index knows of each transcript, the oldest first.
        runs: Vec<Named>,
    },
}

/// Why an id means nothing.
#[derive(Debug, thiserror::Error)]
pub enum LookupError {
    /// There is no log at all.
    #[error("there is no log in `{}`", folder.display())]
    NoLogs {
        /// The folder of the logs.
        folder: PathBuf,
    },
    /// The id is empty.
    #[error("an empty id is none")]
    Empty,
    /// No session and no run has it.
    #[error("`{which}` is no file, and no session or run of that id is in `{}`", folder.display())]
    NotFound {
        /// The id.
        which: String,
        /// The folder of the logs.
        folder: PathBuf,
    },
    /// No session and no run has it, but not all transcripts were read yet.
    #[error(
        "`{which}` is no file, and no session or run of that id is in `{}`; but not all that was \
         imported is in the index yet",
        folder.display()
    )]
    NotFoundYet {
        /// The id.
        which: String,
        /// The folder of the logs.
        folder: PathBuf,
    },
    /// Several begin so.
    #[error("`{which}` is the beginning of {} ids", candidates.len())]
    Ambiguous {
        /// The beginning.
        which: String,
        /// Those that begin so, each id once.
        candidates: Vec<LookupCandidate>,
    },
    /// The folder cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A session or run whose id begins as was asked.
#[derive(Clone, Debug)]
pub struct LookupCandidate {
    /// Its id.
    pub id: String,
    /// What is known about it.
    pub head: LogHead,
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

/// Looks up what is meant: the path of a log, the id of a session or run or its beginning, or
/// [`LATEST`]. `head` reads both ends of a log; `watch` learns how far the index has come.
pub fn locate(
    which: &str,
    folder: &Path,
    budget: Budget,
    head: &dyn Fn(&Path) -> Option<LogHead>,
    watch: &mut dyn FnMut(Advance),
) -> Result<Located, LookupError> {
    let path = PathBuf::from(which);
    if path.is_file() {
        return Ok(Located::Log(path));
    }
    let no_logs = || LookupError::NoLogs { folder: folder.to_owned() };
    let mut logs = logs_newest_first(folder)?;
    if which == LATEST {
        let is_shown = |log: &PathBuf| !head(log).is_some_and(|head| head.deleted);
        return logs.into_iter().find(is_shown).map(Located::Log).ok_or_else(no_logs);
    }
    if logs.is_empty() && !folder.join(FILE).is_file() {
        return Err(no_logs());
    }
    if which.is_empty() {
        return Err(LookupError::Empty);
    }
    let mut known = Known::ask(which, folder, &logs, budget, watch);
    if known.has_another_name(&logs) {
        // One of them was given its session's name just now.
        logs = logs_newest_first(folder)?;
        known = Known::ask(which, folder, &logs, budget, watch);
    }
    let is_missing_some = known.is_missing_some;
    let (which, folder) = (which.to_owned(), folder.to_owned());
    let lookup = Lookup { which: &which, logs: &logs, known, head };
    match lookup.find() {
        Ok(Some(located)) => Ok(located),
        Ok(None) if is_missing_some => Err(LookupError::NotFoundYet { which, folder }),
        Ok(None) => Err(LookupError::NotFound { which, folder }),
        Err(candidates) => Err(LookupError::Ambiguous { which, candidates }),
    }
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
    fn ask(
        which: &str,
        folder: &Path,
        logs: &[PathBuf],
        budget: Budget,
        watch: &mut dyn FnMut(Advance),
    ) -> Known {
        let asked = ask_refreshed(folder, budget, watch, |store| {
            Ok((store.named(which)?, store.outdated()?))
        });
        match asked {
            Ok(answered) => {
                let (runs, unread) = answered.answer;
                let is_missing_some = answered.refreshed.behind > unread.len();
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

impl LookupCandidate {
    fn of_index(id: &str, run: &Named, place: Place) -> LookupCandidate {
        let head = LogHead {
            session: run.session.clone(),
            agent: Some(run.agent.clone()),
            title: run.title.clone(),
            began: Some(run.started),
            deleted: false,
        };
        LookupCandidate { id: id.to_owned(), head, place }
    }
}

/// Where an id fits several.
type Several = Vec<LookupCandidate>;

struct Lookup<'s> {
    which: &'s str,
    logs: &'s [PathBuf],
    known: Known,
    head: &'s dyn Fn(&Path) -> Option<LogHead>,
}

impl Lookup<'_> {
    fn find(self) -> Result<Option<Located>, Several> {
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
                sessions.push(LookupCandidate::of_index(&run.chat, run, place));
            }
            if run.run.starts_with(self.which) {
                let runs = if is_alone { &mut lone } else { &mut others };
                runs.push(LookupCandidate::of_index(&run.run, run, place));
            }
        }
        self.sessions_by_name(&unread, &mut sessions);
        if let Some(found) = self.only_one(sessions)? {
            return Ok(Some(self.located(found)));
        }
        self.runs_of_unread(&unread, &mut lone, &mut others);
        for runs in [lone, others] {
            if let Some(found) = self.only_one(runs)? {
                return Ok(Some(self.located(found)));
            }
        }
        Ok(None)
    }

    /// The sessions of logs whose names say so, and of logs that the index does not know and whose
    /// names say nothing.
    fn sessions_by_name(&self, unread: &HashSet<usize>, sessions: &mut Vec<LookupCandidate>) {
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
            let head = (self.head)(log).unwrap_or_default();
            // A log that lost its beginning still has its name.
            if let Some(id) = head.session.clone().or(name.map(str::to_owned))
                && id.starts_with(self.which)
            {
                sessions.push(LookupCandidate { id, head, place });
            }
        }
    }

    fn runs_of_unread(
        &self,
        unread: &HashSet<usize>,
        lone: &mut Vec<LookupCandidate>,
        others: &mut Vec<LookupCandidate>,
    ) {
        for number in unread {
            let Some(log) = self.logs.get(*number) else { continue };
            // One that cannot be read is not what is looked for.
            for id in runs_of(log).unwrap_or_default() {
                if id.starts_with(self.which) {
                    let head = (self.head)(log);
                    let is_alone = head.as_ref().is_some_and(|head| head.session.is_none());
                    let runs = if is_alone { &mut *lone } else { &mut *others };
                    let (head, place) = (head.unwrap_or_default(), Place::Log(*number));
                    runs.push(LookupCandidate { id, head, place });
                }
            }
        }
    }

    /// The one id that was found, in the newest log that has it; all of them where it could be
    /// several.
    fn only_one(
        &self,
        mut found: Vec<LookupCandidate>,
    ) -> Result<Option<LookupCandidate>, Several> {
        if found.iter().any(|it| it.id == self.which) {
            found.retain(|it| it.id == self.which);
        }
        // Logs before transcripts, the newest first.
        found.sort_by_key(|it| match it.place {
            Place::Log(number) => (0, number),
            Place::Transcript(number) => (1, number),
        });
        let mut ids: Vec<LookupCandidate> = Vec::new();
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
        Err(ids)
    }

    fn located(self, candidate: LookupCandidate) -> Located {
        let number = match candidate.place {
            Place::Log(number) => {
                return Located::Log(self.logs.get(number).cloned().unwrap_or_default());
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
        Located::Imported { id: candidate.id, runs }
    }
}

/// Returns what stands behind the time in the name of a log.
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

/// The runs of a log, in order.
fn runs_of(log: &Path) -> io::Result<Vec<String>> {
    let mut runs = Vec::new();
    let done: Result<(), std::convert::Infallible> = each_line(log, |line| {
        // Few records are worth a closer look.
        let kinds = [DecisionKind::AgentSpawned, DecisionKind::SpawnFailed];
        if kinds.into_iter().any(|kind| kind.is_named_in(line))
            && let Some(start) = Record::read(line).decision().and_then(DecisionRecord::run_start)
        {
            runs.push(start.run.0.clone());
        }
        Ok(())
    })?;
    let Ok(()) = done;
    Ok(runs)
}

/// Hands out the lines of a log, without their newlines, until `take` fails. A line of any length
/// takes bounded memory: of one that is far too long for a record only the beginning is handed out.
pub fn each_line<E>(
    path: &Path,
    mut take: impl FnMut(&[u8]) -> Result<(), E>,
) -> io::Result<Result<(), E>> {
    let mut file = File::open(path)?;
    let mut lines = LogLines::default();
    loop {
        match file.read(lines.space()) {
            Ok(0) => return Ok(lines.finish(take)),
            Ok(n) => lines.filled(n),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        if let Err(error) = lines.each(&mut take) {
            return Ok(Err(error));
        }
    }
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
