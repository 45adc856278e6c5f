//! Trying the values of limits on the silences of many runs, and proposing one.
//!
//! Owns the ladder of values, what counts as caught and as stopped for nothing, and when there is
//! too little to go by. Every limit is tried by itself, with no witness.

use super::survey::RunSilences;
use serde::Serialize;
use stablehand_core::monitor::TimeLimit;
use std::time::Duration;

/// Fewer runs than this that ever waited by a limit are no ground for a value of it.
pub const ENOUGH: usize = 20;

/// A proposed limit is this many times the longest silence that was survived: the next run may
/// well be slower than all so far.
const MARGIN: u32 = 2;

/// The values that are tried, in seconds.
const LADDER: [u64; 14] = [1, 2, 5, 10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400];

/// The values that are tried of any limit.
pub fn ladder() -> impl Iterator<Item = Duration> {
    LADDER.into_iter().map(Duration::from_secs)
}

/// What one value of a limit would have done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rung {
    /// The value.
    #[serde(rename = "value_ms", serialize_with = "ms")]
    pub value: Duration,
    /// Runs that hung by this limit and would have been found out.
    pub caught: usize,
    /// For how long nothing would have been heard of these, half of them shorter.
    #[serde(rename = "late_ms", serialize_with = "some_ms")]
    pub late: Option<Duration>,
    /// Runs that went on after a longer silence, and would have been stopped.
    pub killed: usize,
}

/// A limit, tried on a group of runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Trial {
    /// Which.
    pub limit: TimeLimit,
    /// Runs in which something was waited for by it.
    pub runs: usize,
    /// Runs that hung by it.
    pub hung: usize,
    /// The longest silence that was survived.
    #[serde(rename = "survived_ms", serialize_with = "ms")]
    pub survived: Duration,
    /// The values.
    pub rungs: Vec<Rung>,
    /// The value to choose, where there are enough runs.
    #[serde(rename = "proposed_ms", serialize_with = "some_ms")]
    pub proposed: Option<Duration>,
}

fn ms<S: serde::Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(stablehand_core::time::millis(*duration))
}

#[expect(clippy::ref_option, reason = "serde calls it so")]
fn some_ms<S: serde::Serializer>(
    duration: &Option<Duration>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match duration {
        Some(duration) => ms(duration, serializer),
        None => serializer.serialize_none(),
    }
}

/// Tries every limit that something was waited for by.
pub fn try_out(runs: &[&RunSilences]) -> Vec<Trial> {
    TimeLimit::ALL.iter().filter_map(|limit| trial(runs, *limit)).collect()
}

fn trial(runs: &[&RunSilences], limit: TimeLimit) -> Option<Trial> {
    let met = runs.iter().filter(|run| met(run, limit)).count();
    if met == 0 {
        return None;
    }
    let survived = runs.iter().map(|run| survived(run, limit)).max().unwrap_or_default();
    let proposed = (met >= ENOUGH).then(|| propose(limit, survived));
    Some(Trial {
        limit,
        runs: met,
        hung: runs.iter().filter(|run| hung(run, limit)).count(),
        survived,
        rungs: ladder().map(|value| rung(runs, limit, value)).collect(),
        proposed,
    })
}

fn met(run: &RunSilences, limit: TimeLimit) -> bool {
    run.silences.contains_key(&limit) || hung(run, limit)
}

fn survived(run: &RunSilences, limit: TimeLimit) -> Duration {
    run.silences.get(&limit).map(|silence| silence.survived).unwrap_or_default()
}

fn hung(run: &RunSilences, limit: TimeLimit) -> bool {
    match limit {
        TimeLimit::ExitGrace => run.overdue,
        limit => run.hang.is_some_and(|hang| hang.limit == limit),
    }
}

/// What a value would have done. A run that would have been stopped for nothing before it hung is
/// not caught.
pub fn rung(runs: &[&RunSilences], limit: TimeLimit, value: Duration) -> Rung {
    let killed = |run: &&&RunSilences| survived(run, limit) > value;
    let caught: Vec<&&RunSilences> =
        runs.iter().filter(|run| hung(run, limit) && !killed(run)).collect();
    let mut late: Vec<Duration> = caught
        .iter()
        .map(|run| match run.hang {
            // What had passed before the limit began to count is quiet, too.
            Some(hang) if hang.limit == limit => {
                hang.quiet.saturating_sub(hang.lasted).saturating_add(value)
            }
            _ => value,
        })
        .collect();
    late.sort();
    Rung {
        value,
        caught: caught.len(),
        late: late.get(late.len() / 2).copied(),
        killed: runs.iter().filter(killed).count(),
    }
}

/// Nothing shorter is proposed, however fast the runs so far were: machines and networks have bad
/// days, and a limit that is met by chance costs more than a hang that is found a little later.
fn floor(limit: TimeLimit) -> Duration {
    Duration::from_secs(match limit {
        TimeLimit::ExitGrace => 2,
        TimeLimit::Startup | TimeLimit::ToolGrace => 10,
        TimeLimit::NoProgress => 300,
        _ => 30,
    })
}

/// The smallest value with room above everything that was survived.
fn propose(limit: TimeLimit, survived: Duration) -> Duration {
    let wanted = survived.saturating_mul(MARGIN).max(floor(limit));
    ladder().find(|value| *value >= wanted).unwrap_or(wanted)
}
