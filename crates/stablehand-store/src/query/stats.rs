//! Numbers about runs: how they ended, where the time went, what they took, which tools.
//!
//! One pass over the runs and one over the tool calls. Which day a time belongs to depends on where
//! somebody is, so whoever asks says.

use super::sessions::tokens;
use super::{COUNTS, Filter, RUN_FITS, Spent};
use crate::{Store, StoreError};
use rusqlite::Connection;
use stablehand_core::time::UnixMillis;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Everything that is counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// When the first of the runs began.
    pub first: Option<UnixMillis>,
    /// When the last of them began.
    pub last: Option<UnixMillis>,
    /// All of them.
    pub all: Figures,
    /// By the day on which they began, the first day first.
    pub days: Vec<Group>,
    /// By agent, the most used first.
    pub agents: Vec<Group>,
    /// By model; those without one are left out.
    pub models: Vec<Group>,
    /// By folder; those without one are left out.
    pub workspaces: Vec<Group>,
    /// Tools, the one that took the most time first.
    pub tools: Vec<ToolFigures>,
}

/// The numbers of some runs that have something in common.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    /// What they have in common.
    pub name: String,
    /// The numbers.
    pub figures: Figures,
}

/// Numbers of runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// Runs.
    pub runs: u64,
    /// The sessions that they belong to.
    pub sessions: u64,
    /// How those ended that did.
    pub outcomes: BTreeMap<String, u64>,
    /// What they took and did.
    pub spent: Spent,
    /// What was judged.
    pub verdicts: Verdicts,
}

/// Numbers of verdicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verdicts {
    /// All of them.
    pub all: u64,
    /// Those that were only written down.
    pub observed_only: u64,
    /// Of these, those after which the agent went on by itself.
    pub false_alarms: u64,
}

/// The numbers of one tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolFigures {
    /// The agent's name of it.
    pub name: String,
    /// The sort of tool.
    pub kind: String,
    /// Calls.
    pub calls: u64,
    /// Calls that are over.
    pub ended: u64,
    /// Of these, how many did not work.
    pub failed: u64,
    /// How long they took.
    pub times: Times,
}

/// How long calls took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// All together.
    pub total_ms: u64,
    /// Half of them took no longer.
    pub median_ms: u64,
    /// Of twenty, nineteen took no longer.
    pub p95_ms: u64,
    /// The longest.
    pub longest_ms: u64,
}

impl Figures {
    /// Runs whose end is on record.
    pub fn ended(&self) -> u64 {
        self.outcomes.values().sum()
    }

    /// Runs that hung and were stopped.
    pub fn hung(&self) -> u64 {
        self.outcomes.get("hung").copied().unwrap_or(0)
    }

    /// Of the runs that ended, how many hung; absent where none ended.
    pub fn hang_rate(&self) -> Option<f64> {
        rate(self.hung(), self.ended())
    }

    /// Of the runs that ended, how many succeeded.
    pub fn success_rate(&self) -> Option<f64> {
        rate(self.outcomes.get("success").copied().unwrap_or(0), self.ended())
    }
}

impl Verdicts {
    /// Of the verdicts that nobody acted on, how many were wrong; absent where there is none: of
    /// an agent that was stopped nobody knows whether it would have gone on.
    pub fn false_alarm_rate(&self) -> Option<f64> {
        rate(self.false_alarms, self.observed_only)
    }
}

impl ToolFigures {
    /// Of the calls that are over, how many did not work.
    pub fn failure_rate(&self) -> Option<f64> {
        rate(self.failed, self.ended)
    }
}

fn rate(part: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| part as f64 / of as f64)
}

/// Numbers that are being added up under a name, with the sessions that were seen.
#[derive(Default)]
struct Tally {
    groups: HashMap<String, (Figures, HashSet<u64>)>,
}

/// What a run adds to.
struct Keys {
    day: String,
    agent: String,
    model: Option<String>,
    workspace: Option<String>,
}

struct Sums {
    stats: Stats,
    sessions: HashSet<u64>,
    days: Tally,
    agents: Tally,
    models: Tally,
    workspaces: Tally,
    runs: HashMap<(i64, u32), Keys>,
}

impl Store {
    /// The numbers of the runs that began in the time of the filter and fit it otherwise.
    pub fn stats(
        &self,
        filter: &Filter,
        day_of: &dyn Fn(UnixMillis) -> String,
    ) -> Result<Stats, StoreError> {
        self.ask(|db| {
            let mut sums = Sums {
                stats: Stats::default(),
                sessions: HashSet::new(),
                days: Tally::default(),
                agents: Tally::default(),
                models: Tally::default(),
                workspaces: Tally::default(),
                runs: HashMap::new(),
            };
            sums.runs(db, filter, day_of)?;
            sums.verdicts(db)?;
            sums.stats.tools = tools(db, &sums.runs)?;
            Ok(sums.finish())
        })
    }
}

impl Sums {
    fn runs(
        &mut self,
        db: &Connection,
        filter: &Filter,
        day_of: &dyn Fn(UnixMillis) -> String,
    ) -> rusqlite::Result<()> {
        let values = filter.values();
        let sql = format!(
            "SELECT log, run, chat, agent, model, workspace, started, last, outcome, turns, tools,
                tools_failed, questions, retries, model_ms, tool_ms, wait_ms,
                input, output, cache_read, cache_write, reasoning, cost_usd
             FROM runs r WHERE {RUN_FITS} AND {COUNTS}"
        );
        let mut ask = db.prepare_cached(&sql)?;
        let mut rows = ask.query(&*filter.bind(&values))?;
        // Most runs follow one another on the same day.
        let mut known_days: HashMap<i64, String> = HashMap::new();
        while let Some(row) = rows.next()? {
            let (started, last): (i64, i64) = (row.get(6)?, row.get(7)?);
            let began = UnixMillis(started);
            if filter.since.is_some_and(|since| began < since) {
                continue;
            }
            let day = known_days.entry(started.div_euclid(QUARTER_MS));
            let day = day.or_insert_with(|| day_of(began)).clone();
            let keys = Keys { day, agent: row.get(3)?, model: row.get(4)?, workspace: row.get(5)? };
            let chat: String = row.get(2)?;
            let session =
                stablehand_core::id::digest64(format!("{}\0{chat}", keys.agent).as_bytes());
            let spent = Spent {
                turns: row.get(9)?,
                tools: row.get(10)?,
                tools_failed: row.get(11)?,
                questions: row.get(12)?,
                retries: row.get(13)?,
                duration_ms: u64::try_from(last.saturating_sub(started)).unwrap_or(0),
                model_ms: row.get(14)?,
                tool_ms: row.get(15)?,
                wait_ms: row.get(16)?,
                tokens: tokens(row, 17)?,
            };
            let outcome: Option<String> = row.get(8)?;
            let stats = &mut self.stats;
            stats.first = Some(stats.first.map_or(began, |first| first.min(began)));
            stats.last = stats.last.max(Some(began));
            self.sessions.insert(session);
            self.each(&keys, |figures, sessions| {
                figures.runs += 1;
                figures.spent.add(&spent);
                sessions.extend([session]);
                if let Some(outcome) = &outcome {
                    *figures.outcomes.entry(outcome.clone()).or_default() += 1;
                }
            });
            self.runs.insert((row.get(0)?, row.get(1)?), keys);
        }
        Ok(())
    }

    fn verdicts(&mut self, db: &Connection) -> rusqlite::Result<()> {
        let mut ask =
            db.prepare_cached("SELECT log, run, observed_only, false_alarm FROM verdicts")?;
        let mut rows = ask.query([])?;
        while let Some(row) = rows.next()? {
            let Some(keys) = self.runs.remove(&(row.get(0)?, row.get(1)?)) else { continue };
            let observed: bool = row.get(2)?;
            let wrong = row.get::<_, Option<bool>>(3)?.unwrap_or(false);
            self.each(&keys, |figures, _| {
                figures.verdicts.all += 1;
                figures.verdicts.observed_only += u64::from(observed);
                figures.verdicts.false_alarms += u64::from(observed && wrong);
            });
            self.runs.insert((row.get(0)?, row.get(1)?), keys);
        }
        Ok(())
    }

    /// Everything that a run counts for.
    fn each(&mut self, keys: &Keys, mut add: impl FnMut(&mut Figures, &mut HashSet<u64>)) {
        add(&mut self.stats.all, &mut self.sessions);
        let mut to = |tally: &mut Tally, name: &str| {
            if !tally.groups.contains_key(name) {
                tally.groups.insert(name.to_owned(), (Figures::default(), HashSet::new()));
            }
            if let Some((figures, sessions)) = tally.groups.get_mut(name) {
                add(figures, sessions);
            }
        };
        to(&mut self.days, &keys.day);
        to(&mut self.agents, &keys.agent);
        if let Some(model) = &keys.model {
            to(&mut self.models, model);
        }
        if let Some(workspace) = &keys.workspace {
            to(&mut self.workspaces, workspace);
        }
    }

    fn finish(self) -> Stats {
        let mut stats = self.stats;
        stats.all.sessions = self.sessions.len() as u64;
        stats.days = self.days.groups();
        stats.days.sort_by(|a, b| a.name.cmp(&b.name));
        stats.agents = self.agents.groups();
        stats.models = self.models.groups();
        stats.workspaces = self.workspaces.groups();
        stats
    }
}

impl Tally {
    /// The most used first.
    fn groups(self) -> Vec<Group> {
        let mut groups: Vec<Group> = self
            .groups
            .into_iter()
            .map(|(name, (mut figures, sessions))| {
                figures.sessions = sessions.len() as u64;
                Group { name, figures }
            })
            .collect();
        groups
            .sort_by(|a, b| b.figures.runs.cmp(&a.figures.runs).then_with(|| a.name.cmp(&b.name)));
        groups
    }
}

/// No place on earth begins its days but at a quarter of an hour.
const QUARTER_MS: i64 = 15 * 60 * 1000;

fn tools(db: &Connection, runs: &HashMap<(i64, u32), Keys>) -> rusqlite::Result<Vec<ToolFigures>> {
    let mut ask = db.prepare_cached(
        "SELECT log, run, name, kind, started, ended, agent_ms, outcome FROM tools",
    )?;
    let mut rows = ask.query([])?;
    let mut known: HashMap<String, HashMap<String, (ToolFigures, Vec<u64>)>> = HashMap::new();
    while let Some(row) = rows.next()? {
        if !runs.contains_key(&(row.get(0)?, row.get(1)?)) {
            continue;
        }
        let text = |n: usize| row.get_ref(n)?.as_str().map_err(rusqlite::Error::from);
        let (name, kind) = (text(2)?, text(3)?);
        if known.get(name).is_none_or(|kinds| !kinds.contains_key(kind)) {
            let figures = ToolFigures {
                name: name.to_owned(),
                kind: kind.to_owned(),
                calls: 0,
                ended: 0,
                failed: 0,
                times: Times::default(),
            };
            let kinds = known.entry(name.to_owned()).or_default();
            kinds.insert(kind.to_owned(), (figures, Vec::new()));
        }
        let Some((figures, times)) = known.get_mut(name).and_then(|kinds| kinds.get_mut(kind))
        else {
            continue;
        };
        figures.calls += 1;
        let Some(ended) = row.get::<_, Option<i64>>(5)? else { continue };
        figures.ended += 1;
        let worked = row.get_ref(7)?.as_str().is_ok_and(|outcome| outcome == "success");
        figures.failed += u64::from(!worked);
        let seen = ended.saturating_sub(row.get(4)?);
        let stated: Option<u64> = row.get(6)?;
        times.push(stated.unwrap_or(u64::try_from(seen).unwrap_or(0)));
    }
    let all = known.into_values().flat_map(HashMap::into_values);
    let mut tools: Vec<ToolFigures> = all
        .map(|(figures, mut times)| {
            times.sort_unstable();
            ToolFigures { times: Times::of(&times), ..figures }
        })
        .collect();
    tools.sort_by(|a, b| {
        let order = (b.times.total_ms, b.calls).cmp(&(a.times.total_ms, a.calls));
        order.then_with(|| (&a.name, &a.kind).cmp(&(&b.name, &b.kind)))
    });
    Ok(tools)
}

impl Times {
    /// Of times in order.
    fn of(times: &[u64]) -> Times {
        // The smallest one that so many of a hundred are not above.
        let percentile = |of_hundred: usize| {
            let rank = (times.len() * of_hundred).div_ceil(100).max(1);
            times.get(rank - 1).copied().unwrap_or(0)
        };
        Times {
            total_ms: times.iter().fold(0, |sum, ms| sum.saturating_add(*ms)),
            median_ms: percentile(50),
            p95_ms: percentile(95),
            longest_ms: times.last().copied().unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_that_were_seen() {
        let of = |times: &[u64]| Times::of(times);
        assert_eq!(of(&[]), Times::default());
        let one = Times { total_ms: 7, median_ms: 7, p95_ms: 7, longest_ms: 7 };
        assert_eq!(of(&[7]), one);
        let hundred: Vec<u64> = (1..=100).collect();
        let times = Times { total_ms: 5050, median_ms: 50, p95_ms: 95, longest_ms: 100 };
        assert_eq!(of(&hundred), times);
    }
}
