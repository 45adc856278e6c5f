//! Which logs go. A function of what is known of them, what is wished, and what time it is.

use super::super::select::is_failure;
use stablehand_core::time::UnixMillis;
use stablehand_store::query::LogFile;
use std::path::PathBuf;
use std::time::Duration;

/// What is known of a file in the folder.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
    /// When it was last written to.
    pub(super) changed: UnixMillis,
    /// Whether it begins as our logs do.
    pub(super) is_ours: bool,
    /// Whether somebody writes it.
    pub(super) is_written: bool,
    /// What the index has about it.
    pub(super) log: Option<LogFile>,
}

/// What somebody wants gone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wish {
    /// What is older.
    pub(super) older_than: Option<Duration>,
    /// What is too much.
    pub(super) max_bytes: Option<u64>,
    /// Also what may be worth looking into.
    pub(super) also_failed: bool,
}

/// Why a log stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// It is not old.
    Recent,
    /// A run in it hung or failed, or has no end on record.
    Failed,
    /// It is being written.
    Running,
    /// It is no log of ours.
    Foreign,
    /// Nothing is known about its runs.
    Unknown,
    /// It could not be removed.
    Stuck,
}

impl Reason {
    pub(super) const ALL: [Reason; 6] = [
        Reason::Recent,
        Reason::Failed,
        Reason::Running,
        Reason::Foreign,
        Reason::Unknown,
        Reason::Stuck,
    ];

    pub(super) fn word(self) -> &'static str {
        match self {
            Reason::Recent => "recent",
            Reason::Failed => "failed",
            Reason::Running => "running",
            Reason::Foreign => "foreign",
            Reason::Unknown => "unknown",
            Reason::Stuck => "stuck",
        }
    }

    pub(super) fn text(self) -> &'static str {
        match self {
            Reason::Recent => "recent",
            Reason::Failed => "that hung or failed",
            Reason::Running => "being written",
            Reason::Foreign => "not ours",
            Reason::Unknown => "that the index does not know",
            Reason::Stuck => "that could not be removed",
        }
    }
}

/// What goes and what stays.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// The oldest first.
    pub(super) going: Vec<Known>,
    pub(super) staying: Vec<(Known, Reason)>,
}

impl Known {
    /// When something last happened in it, by its records and by the file: the later.
    pub(super) fn last(&self) -> UnixMillis {
        let told = self.log.as_ref().and_then(|log| log.last);
        told.map_or(self.changed, |told| told.max(self.changed))
    }

    /// Why it stays whatever its age, if so.
    fn protection(&self, wish: &Wish) -> Option<Reason> {
        if !self.is_ours {
            return Some(Reason::Foreign);
        }
        if self.is_written {
            return Some(Reason::Running);
        }
        let Some(log) = &self.log else { return Some(Reason::Unknown) };
        let went_wrong = |outcome: &Option<String>| outcome.as_deref().is_none_or(is_failure);
        let failed = log.runs.iter().any(|run| went_wrong(&run.outcome));
        (failed && !wish.also_failed).then_some(Reason::Failed)
    }
}

impl Plan {
    pub(super) fn freed(&self) -> u64 {
        self.going.iter().map(|known| known.bytes).sum()
    }

    /// How much of our own stays.
    pub(super) fn kept(&self) -> u64 {
        let ours = self.staying.iter().filter(|(known, _)| known.is_ours);
        ours.map(|(known, _)| known.bytes).sum()
    }
}

/// Decides.
pub(super) fn plan(mut known: Vec<Known>, wish: &Wish, now: UnixMillis) -> Plan {
    known.sort_by(|a, b| a.last().cmp(&b.last()).then_with(|| a.path.cmp(&b.path)));
    let mut left: u64 = known.iter().filter(|it| it.is_ours).map(|it| it.bytes).sum();
    let mut plan = Plan::default();
    for it in known {
        if let Some(reason) = it.protection(wish) {
            plan.staying.push((it, reason));
            continue;
        }
        let is_old = wish.older_than.is_some_and(|age| now.since(it.last()) > age);
        let is_too_much = wish.max_bytes.is_some_and(|most| left > most);
        if is_old || is_too_much {
            left -= it.bytes;
            plan.going.push(it);
        } else {
            plan.staying.push((it, Reason::Recent));
        }
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::*;
    use stablehand_store::query::LogRun;

    const DAY: i64 = 86_400_000;

    fn known(name: &str, days_old: i64, outcomes: &[Option<&str>]) -> Known {
        let runs = outcomes.iter().map(|outcome| LogRun {
            agent: "cursor".into(),
            chat: "s".into(),
            title: None,
            outcome: outcome.map(str::to_owned),
        });
        let log = LogFile { runs: runs.collect(), ..LogFile::default() };
        Known {
            path: name.into(),
            bytes: 10,
            changed: UnixMillis((100 - days_old) * DAY),
            is_ours: true,
            is_written: false,
            log: Some(log),
        }
    }

    fn names(plan: &Plan) -> (Vec<String>, Vec<String>) {
        let name = |it: &Known| it.path.display().to_string();
        let stay = |(it, why): &(Known, Reason)| format!("{}: {}", name(it), why.word());
        (plan.going.iter().map(name).collect(), plan.staying.iter().map(stay).collect())
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
                Known { is_written: true, ..known("on", 20, &[None]) },
                Known { is_ours: false, ..known("foreign", 20, &[Some("success")]) },
                Known { log: None, ..known("unknown", 20, &[]) },
                known("empty", 30, &[]),
            ]
        };
        let week = Some(Duration::from_hours(7 * 24));
        let wish = Wish { older_than: week, max_bytes: None, also_failed: false };
        let now = UnixMillis(100 * DAY);
        let (going, staying) = names(&plan(all(), &wish, now));
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
        let wish = Wish { also_failed: true, ..wish };
        let (going, _) = names(&plan(all(), &wish, now));
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
        let wish = Wish { older_than: None, max_bytes: Some(25), also_failed: false };
        let plan = plan(all, &wish, UnixMillis(100 * DAY));
        assert_eq!(names(&plan).0, ["d", "b"]);
        assert_eq!((plan.freed(), plan.kept()), (20, 20));
    }

    #[test]
    fn what_its_records_say_counts_as_well() {
        let mut it = known("a", 9, &[Some("success")]);
        if let Some(log) = &mut it.log {
            log.last = Some(UnixMillis(99 * DAY));
        }
        let week = Some(Duration::from_hours(7 * 24));
        let wish = Wish { older_than: week, max_bytes: None, also_failed: false };
        assert_eq!(names(&plan(vec![it], &wish, UnixMillis(100 * DAY))).1, ["a: recent"]);
    }
}
