//! Which logs are removed when a folder is pruned, and their removal.
//!
//! [`plan`] is a function of what is known of each log, the rules and the time. Files are looked at
//! once more just before they are removed: one that is written by then stays. A file that is not a
//! log of ours is never touched.

use crate::StoreError;
use crate::query::{IsWritten, LogFile, is_failure};
use serde::Serialize;
use serde::ser::{SerializeStruct as _, Serializer};
use stablehand_core::record::{DecisionRecord, Record};
use stablehand_core::time::{UnixMillis, as_rfc3339};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// The first record of a log is not longer than this.
const FIRST_RECORD: u64 = 64 << 10;

/// What is known of a file in the folder of the logs.
#[derive(Clone, Debug)]
pub struct PruneCandidate {
    /// The file.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// When it was last written to.
    pub changed: UnixMillis,
    /// Whether it begins as our logs do.
    pub is_ours: bool,
    /// Whether a process writes it.
    pub is_written: bool,
    /// What the index knows about it.
    pub log: Option<LogFile>,
}

/// Which logs are to be removed.
#[derive(Clone, Copy, Debug)]
pub struct PruneRules {
    /// Logs in which nothing has happened for so long.
    pub older_than: Option<Duration>,
    /// The oldest, until all together are no bigger than this.
    pub max_bytes: Option<u64>,
    /// Also logs of runs that hung or failed.
    pub also_failed: bool,
}

/// Why a log is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KeepReason {
    /// It is not old.
    Recent,
    /// A run in it hung or failed, or has no end on record.
    Failed,
    /// A process writes it.
    Running,
    /// It is not a log of ours.
    Foreign,
    /// The index does not know its runs.
    Unknown,
    /// It could not be removed.
    Stuck,
}

impl KeepReason {
    /// All reasons.
    pub const ALL: [KeepReason; 6] = [
        KeepReason::Recent,
        KeepReason::Failed,
        KeepReason::Running,
        KeepReason::Foreign,
        KeepReason::Unknown,
        KeepReason::Stuck,
    ];
}

/// Which logs are removed and which are kept.
#[derive(Debug, Default)]
pub struct PrunePlan {
    /// To be removed, or removed; the oldest first.
    pub removed: Vec<PruneCandidate>,
    /// Kept, each with the reason.
    pub kept: Vec<(PruneCandidate, KeepReason)>,
}

impl PruneCandidate {
    /// Looks at every file in the folder that is named like a log. `indexed` is what the index knows.
    pub fn all(
        folder: &Path,
        mut indexed: HashMap<PathBuf, LogFile>,
        is_written: IsWritten<'_>,
    ) -> Result<Vec<PruneCandidate>, StoreError> {
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(StoreError::Read { path: folder.to_owned(), source }),
        };
        let mut found = Vec::new();
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.extension().is_none_or(|end| end != "jsonl") {
                continue;
            }
            // A link is somebody's own arrangement.
            let Ok(about) = path.symlink_metadata() else { continue };
            let changed = about.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
            let changed = changed.and_then(|since| i64::try_from(since.as_millis()).ok());
            let is_ours = about.is_file() && is_log(&path);
            found.push(PruneCandidate {
                bytes: about.len(),
                changed: UnixMillis(changed.unwrap_or(i64::MAX)),
                is_written: is_ours && is_written(&path),
                is_ours,
                log: indexed.remove(&path),
                path,
            });
        }
        Ok(found)
    }

    /// Returns when something last happened in it, by its records or by the file: the later.
    pub fn last(&self) -> UnixMillis {
        let told = self.log.as_ref().and_then(|log| log.last);
        told.map_or(self.changed, |told| told.max(self.changed))
    }

    /// Returns why it is kept whatever its age, if so.
    fn protection(&self, rules: &PruneRules) -> Option<KeepReason> {
        if !self.is_ours {
            return Some(KeepReason::Foreign);
        }
        if self.is_written {
            return Some(KeepReason::Running);
        }
        let Some(log) = &self.log else { return Some(KeepReason::Unknown) };
        let went_wrong = |outcome: &Option<String>| outcome.as_deref().is_none_or(is_failure);
        let failed = log.runs.iter().any(|run| went_wrong(&run.outcome));
        (failed && !rules.also_failed).then_some(KeepReason::Failed)
    }
}

/// Returns true if a file begins as our logs do.
fn is_log(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(FIRST_RECORD).read_to_end(&mut head));
    let Some(first) = read.ok().and_then(|_| head.split(|byte| *byte == b'\n').next()) else {
        return false;
    };
    matches!(Record::read(first).decision(), Some(DecisionRecord::LogOpened(header))
        if header.v.is_some() && header.dialect.is_some())
}

impl PrunePlan {
    /// Returns how many bytes the removed logs have.
    pub fn freed_bytes(&self) -> u64 {
        self.removed.iter().map(|log| log.bytes).sum()
    }

    /// Returns how many bytes of our own logs are kept.
    pub fn kept_bytes(&self) -> u64 {
        let ours = self.kept.iter().filter(|(log, _)| log.is_ours);
        ours.map(|(log, _)| log.bytes).sum()
    }

    /// Removes the logs with `remove`. One that cannot be removed, or that a process writes after all,
    /// is kept. Returns what could not be removed, and why.
    pub fn carry_out(
        &mut self,
        is_written: IsWritten<'_>,
        remove: &dyn Fn(&Path) -> io::Result<()>,
    ) -> Vec<(PathBuf, io::Error)> {
        let mut failures = Vec::new();
        for log in std::mem::take(&mut self.removed) {
            if is_written(&log.path) {
                self.kept.push((log, KeepReason::Running));
                continue;
            }
            match remove(&log.path) {
                Ok(()) => self.removed.push(log),
                Err(error) => {
                    failures.push((log.path.clone(), error));
                    self.kept.push((log, KeepReason::Stuck));
                }
            }
        }
        failures
    }
}

/// Decides which logs are removed.
pub fn plan(mut logs: Vec<PruneCandidate>, rules: &PruneRules, now: UnixMillis) -> PrunePlan {
    logs.sort_by(|a, b| a.last().cmp(&b.last()).then_with(|| a.path.cmp(&b.path)));
    let mut left: u64 = logs.iter().filter(|it| it.is_ours).map(|it| it.bytes).sum();
    let mut plan = PrunePlan::default();
    for it in logs {
        if let Some(reason) = it.protection(rules) {
            plan.kept.push((it, reason));
            continue;
        }
        let is_old = rules.older_than.is_some_and(|age| now.since(it.last()) > age);
        let is_too_much = rules.max_bytes.is_some_and(|most| left > most);
        if is_old || is_too_much {
            left -= it.bytes;
            plan.removed.push(it);
        } else {
            plan.kept.push((it, KeepReason::Recent));
        }
    }
    plan
}

/// A log in the JSON form of a plan. Its names are kept.
#[derive(Serialize)]
struct LogObject<'a> {
    log: std::borrow::Cow<'a, str>,
    bytes: u64,
    #[serde(with = "as_rfc3339")]
    last_at: UnixMillis,
    runs: Vec<RunObject<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<KeepReason>,
}

#[derive(Serialize)]
struct RunObject<'a> {
    agent: &'a str,
    id: &'a str,
    outcome: Option<&'a str>,
}

impl<'a> LogObject<'a> {
    fn new(it: &'a PruneCandidate, reason: Option<KeepReason>) -> LogObject<'a> {
        let runs = it.log.iter().flat_map(|log| &log.runs).map(|run| RunObject {
            agent: &run.agent,
            id: &run.chat,
            outcome: run.outcome.as_deref(),
        });
        LogObject {
            log: it.path.to_string_lossy(),
            bytes: it.bytes,
            last_at: it.last(),
            runs: runs.collect(),
            reason,
        }
    }
}

impl Serialize for PrunePlan {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let removed = self.removed.iter().map(|it| LogObject::new(it, None));
        let kept = self.kept.iter().map(|(it, reason)| LogObject::new(it, Some(*reason)));
        let mut object = to.serialize_struct("PrunePlan", 4)?;
        object.serialize_field("removed", &removed.collect::<Vec<_>>())?;
        object.serialize_field("kept", &kept.collect::<Vec<_>>())?;
        object.serialize_field("freed_bytes", &self.freed_bytes())?;
        object.serialize_field("kept_bytes", &self.kept_bytes())?;
        object.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::LogRun;

    const DAY: i64 = 86_400_000;

    fn known(name: &str, days_old: i64, outcomes: &[Option<&str>]) -> PruneCandidate {
        let runs = outcomes.iter().map(|outcome| LogRun {
            agent: "cursor".into(),
            chat: "s".into(),
            title: None,
            outcome: outcome.map(str::to_owned),
        });
        let log = LogFile { runs: runs.collect(), ..LogFile::default() };
        PruneCandidate {
            path: name.into(),
            bytes: 10,
            changed: UnixMillis((100 - days_old) * DAY),
            is_ours: true,
            is_written: false,
            log: Some(log),
        }
    }

    fn names(plan: &PrunePlan) -> (Vec<String>, Vec<String>) {
        let name = |it: &PruneCandidate| it.path.display().to_string();
        let stay = |(it, why): &(PruneCandidate, KeepReason)| {
            format!("{}: {why:?}", name(it)).to_lowercase()
        };
        (plan.removed.iter().map(name).collect(), plan.kept.iter().map(stay).collect())
    }

    #[test]
    fn what_is_old_and_went_well_goes() {
        let all = || {
            vec![
                known("new", 1, &[Some("success")]),
                known("old", 9, &[Some("success")]),
                known("hung", 9, &[Some("success"), Some("hung")]),
                known("killed", 9, &[None]),
                known("stopped", 10, &[Some("interrupted")]),
                PruneCandidate { is_written: true, ..known("on", 20, &[None]) },
                PruneCandidate { is_ours: false, ..known("foreign", 20, &[Some("success")]) },
                PruneCandidate { log: None, ..known("unknown", 20, &[]) },
                known("empty", 30, &[]),
            ]
        };
        let week = Some(Duration::from_hours(7 * 24));
        let rules = PruneRules { older_than: week, max_bytes: None, also_failed: false };
        let now = UnixMillis(100 * DAY);
        let (going, staying) = names(&plan(all(), &rules, now));
        assert_eq!(going, ["empty", "stopped", "old"]);
        let expected = [
            "foreign: foreign",
            "on: running",
            "unknown: unknown",
            "hung: failed",
            "killed: failed",
            "new: recent",
        ];
        assert_eq!(staying, expected);
        let rules = PruneRules { also_failed: true, ..rules };
        let (going, _) = names(&plan(all(), &rules, now));
        assert_eq!(going, ["empty", "stopped", "hung", "killed", "old"]);
    }

    #[test]
    fn the_oldest_go_until_the_rest_fits() {
        let all = vec![
            known("a", 1, &[Some("success")]),
            known("b", 2, &[Some("success")]),
            known("c", 3, &[Some("hung")]),
            known("d", 4, &[Some("success")]),
        ];
        let rules = PruneRules { older_than: None, max_bytes: Some(25), also_failed: false };
        let plan = plan(all, &rules, UnixMillis(100 * DAY));
        assert_eq!(names(&plan).0, ["d", "b"]);
        assert_eq!((plan.freed_bytes(), plan.kept_bytes()), (20, 20));
    }

    #[test]
    fn what_its_records_say_counts_as_well() {
        let mut it = known("a", 9, &[Some("success")]);
        if let Some(log) = &mut it.log {
            log.last = Some(UnixMillis(99 * DAY));
        }
        let week = Some(Duration::from_hours(7 * 24));
        let rules = PruneRules { older_than: week, max_bytes: None, also_failed: false };
        assert_eq!(names(&plan(vec![it], &rules, UnixMillis(100 * DAY))).1, ["a: recent"]);
    }
}
