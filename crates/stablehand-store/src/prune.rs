//! Which logs are removed when a folder is pruned, and their removal.
//!
//! [`plan`] is a function of what is known of each log, the rules and the time. Files are looked at
//! once more just before they are removed: one that is written by then stays. A file that is not a
//! log of ours is never touched.

use crate::StoreError;
use crate::query::{IsWritten, LogFile, LogRun, is_failure, lossy_path};
use serde::Serialize;
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
#[derive(Clone, Debug, Serialize)]
pub struct PruneCandidate {
    /// The file.
    #[serde(rename = "log", serialize_with = "lossy_path")]
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// When something last happened in it, by its records or by the file: the later.
    #[serde(rename = "last_at", with = "as_rfc3339")]
    pub last: UnixMillis,
    /// The runs in it that the index knows.
    pub runs: Vec<LogRun>,
    /// Whether the index knows it.
    #[serde(skip)]
    pub is_indexed: bool,
    /// Whether it begins as our logs do.
    #[serde(skip)]
    pub is_ours: bool,
    /// Whether a process writes it.
    #[serde(skip)]
    pub is_written: bool,
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
#[derive(Debug, Default, Serialize)]
pub struct PrunePlan {
    /// To be removed, or removed; the oldest first.
    pub removed: Vec<PruneCandidate>,
    /// Kept.
    pub kept: Vec<KeptLog>,
}

/// A log that is kept.
#[derive(Clone, Debug, Serialize)]
pub struct KeptLog {
    /// The log.
    #[serde(flatten)]
    pub log: PruneCandidate,
    /// Why it is kept.
    pub reason: KeepReason,
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
            let changed = UnixMillis(changed.unwrap_or(i64::MAX));
            let is_ours = about.is_file() && is_log(&path);
            let log = indexed.remove(&path);
            found.push(PruneCandidate {
                is_ours,
                is_written: is_ours && is_written(&path),
                ..PruneCandidate::new(path, about.len(), changed, log)
            });
        }
        Ok(found)
    }

    /// A log of ours that nobody writes, which was changed then, and what the index knows of it.
    fn new(path: PathBuf, bytes: u64, changed: UnixMillis, log: Option<LogFile>) -> PruneCandidate {
        PruneCandidate {
            path,
            bytes,
            last: log.as_ref().and_then(|log| log.last).map_or(changed, |last| last.max(changed)),
            is_indexed: log.is_some(),
            runs: log.map(|log| log.runs).unwrap_or_default(),
            is_ours: true,
            is_written: false,
        }
    }

    /// Returns why it is kept whatever its age, if so.
    fn protection(&self, rules: &PruneRules) -> Option<KeepReason> {
        if !self.is_ours {
            return Some(KeepReason::Foreign);
        }
        if self.is_written {
            return Some(KeepReason::Running);
        }
        if !self.is_indexed {
            return Some(KeepReason::Unknown);
        }
        let went_wrong = |outcome: &Option<String>| outcome.as_deref().is_none_or(is_failure);
        let failed = self.runs.iter().any(|run| went_wrong(&run.outcome));
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
        self.kept.iter().filter(|it| it.log.is_ours).map(|it| it.log.bytes).sum()
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
                self.kept.push(KeptLog { log, reason: KeepReason::Running });
                continue;
            }
            match remove(&log.path) {
                Ok(()) => self.removed.push(log),
                Err(error) => {
                    failures.push((log.path.clone(), error));
                    self.kept.push(KeptLog { log, reason: KeepReason::Stuck });
                }
            }
        }
        failures
    }
}

/// Decides which logs are removed.
pub fn plan(mut logs: Vec<PruneCandidate>, rules: &PruneRules, now: UnixMillis) -> PrunePlan {
    logs.sort_by(|a, b| a.last.cmp(&b.last).then_with(|| a.path.cmp(&b.path)));
    let mut left: u64 = logs.iter().filter(|it| it.is_ours).map(|it| it.bytes).sum();
    let mut plan = PrunePlan::default();
    for log in logs {
        if let Some(reason) = log.protection(rules) {
            plan.kept.push(KeptLog { log, reason });
            continue;
        }
        let is_old = rules.older_than.is_some_and(|age| now.since(log.last) > age);
        let is_too_much = rules.max_bytes.is_some_and(|most| left > most);
        if is_old || is_too_much {
            left -= log.bytes;
            plan.removed.push(log);
        } else {
            plan.kept.push(KeptLog { log, reason: KeepReason::Recent });
        }
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400_000;

    fn known(name: &str, days_old: i64, outcomes: &[Option<&str>]) -> PruneCandidate {
        let runs = outcomes.iter().map(|outcome| LogRun {
            agent: "cursor".into(),
            chat: "s".into(),
            title: None,
            outcome: outcome.map(str::to_owned),
        });
        let log = LogFile { runs: runs.collect(), ..LogFile::default() };
        PruneCandidate::new(name.into(), 10, UnixMillis((100 - days_old) * DAY), Some(log))
    }

    fn names(plan: &PrunePlan) -> (Vec<String>, Vec<String>) {
        let name = |it: &PruneCandidate| it.path.display().to_string();
        let stay = |it: &KeptLog| format!("{}: {:?}", name(&it.log), it.reason).to_lowercase();
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
                PruneCandidate { is_indexed: false, ..known("unknown", 20, &[]) },
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
        let runs = known("a", 9, &[Some("success")]).runs;
        let log = LogFile { runs, last: Some(UnixMillis(99 * DAY)), ..LogFile::default() };
        let it = PruneCandidate::new("a".into(), 10, UnixMillis(91 * DAY), Some(log));
        let week = Some(Duration::from_hours(7 * 24));
        let rules = PruneRules { older_than: week, max_bytes: None, also_failed: false };
        assert_eq!(names(&plan(vec![it], &rules, UnixMillis(100 * DAY))).1, ["a: recent"]);
    }
}
