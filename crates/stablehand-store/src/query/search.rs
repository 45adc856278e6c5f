//! Full text: which sessions have it, the best or the newest first.
//!
//! No question takes the time of reading everything. At most [`FEW`] matches are collected; where
//! there are no more they are ranked, and where there are more the logs are asked one after the
//! other, the newest first, until enough sessions have been found. A log that a filter excludes is
//! not asked, and in a log what cannot fit is leapt over.

use super::terms::all_of;
use super::{COUNTS, Filter, IsWritten, OURS, RUN_FITS, Terms};
use crate::write::passages_of;
use crate::{Store, StoreError};
use rusqlite::{Connection, OptionalExtension, params};
use stablehand_analysis::chronicle::PassageKind;
use stablehand_core::text;
use stablehand_core::time::UnixMillis;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

mod hits;
mod show;

use hits::{Hit, Hits};

/// So many matches are collected and counted; beyond, there are "more than" that many.
const FEW: usize = 1000;

/// So many matches are looked at for those that fit the filters, before the logs are asked one by
/// one instead.
const LOOKED_AT: usize = 20_000;

/// A word in more passages than this tells too little to be worth its count: ranking leaves it out.
const COMMON: usize = 4000;

/// So few logs are asked one by one at once.
const FEW_LOGS: usize = 64;

/// What is looked for.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// The words.
    pub terms: Terms,
    /// In which runs.
    pub filter: Filter,
    /// In runs that ended so; empty for all. `running` and `unfinished` are those without an end.
    pub outcomes: Vec<String>,
    /// In what a tool was given and gave back that has this in its name, or is of this sort.
    pub tool: Option<String>,
    /// In texts of these kinds; empty for all.
    pub kinds: Vec<PassageKind>,
    /// So many sessions at the most.
    pub sessions: usize,
    /// So many matches of each at the most.
    pub each: usize,
    /// What comes first.
    pub order: Order,
}

/// What comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The best where few match, the newest where many do.
    #[default]
    Auto,
    /// The best; where many match, of the last ones to be indexed.
    Best,
    /// The newest.
    Newest,
}

/// How many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Just so many.
    Exactly(usize),
    /// More than so many; nobody counted them.
    MoreThan(usize),
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The sessions, the first ones first.
    pub sessions: Vec<FoundSession>,
    /// What came first: [`Order::Best`] or [`Order::Newest`].
    pub order: Order,
    /// How many passages match.
    pub matches: Count,
    /// How many sessions have one.
    pub in_sessions: Count,
}

/// A session in which something was found.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundSession {
    /// The agent's name.
    pub agent: String,
    /// The session's id, or the run's where the agent named no session.
    pub chat: String,
    /// What it was about.
    pub title: Option<String>,
    /// Where it worked.
    pub workspace: Option<String>,
    /// How the run ended in which it was found.
    pub outcome: Option<String>,
    /// When the last thing was told in that run.
    pub last: UnixMillis,
    /// The file that tells of it.
    pub log: PathBuf,
    /// What was found, the best or the newest first.
    pub matches: Vec<Match>,
    /// How much was found in it.
    pub count: Count,
}

/// A passage that matches.
#[derive(Clone, Debug, PartialEq)]
pub struct Match {
    /// The run, by its id.
    pub run: String,
    /// The turn in it.
    pub turn: Option<u32>,
    /// The tool call that it belongs to.
    pub tool: Option<MatchedTool>,
    /// What it is, in the word for it.
    pub kind: String,
    /// When it was told.
    pub at: UnixMillis,
    /// All of it, without control sequences.
    pub text: String,
    /// What was looked for, from and to, in bytes of the text.
    pub found: Vec<(usize, usize)>,
    /// How well it fits, the less the better; absent where nobody asked.
    pub rank: Option<f64>,
}

/// The tool call that a passage belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchedTool {
    /// The agent's name of the tool.
    pub name: String,
    /// The sort of tool.
    pub kind: String,
    /// The command, path or query.
    pub target: String,
}

impl Store {
    /// Looks for something.
    pub fn search(&self, wanted: &Search, is_written: IsWritten<'_>) -> Result<Found, StoreError> {
        self.ask(|db| Hunt::new(db, wanted, is_written)?.found())
    }
}

/// One search under way.
struct Hunt<'a> {
    db: &'a Connection,
    wanted: &'a Search,
    /// The question for the index of words.
    words: Option<String>,
    /// The question for the index of signs, where that is the better one to begin with.
    signs: Option<String>,
    /// All that the index has found, the last first, where asking it again would take as long.
    ids: Option<Vec<i64>>,
    /// The runs that fit, by log, where there is a filter about runs.
    runs: Option<HashMap<i64, HashSet<u32>>>,
    /// Logs in the order in which they are to be asked.
    logs: Vec<i64>,
}

impl<'a> Hunt<'a> {
    fn new(
        db: &'a Connection,
        wanted: &'a Search,
        is_written: IsWritten<'_>,
    ) -> rusqlite::Result<Self> {
        let words = wanted.terms.in_index();
        let ids = match &words {
            Some(words) if wanted.terms.has_beginning() => {
                let mut ask = db.prepare_cached("SELECT rowid FROM words WHERE words MATCH ?")?;
                let ids = ask.query_map([words], |row| row.get(0))?;
                let mut ids: Vec<i64> = ids.collect::<rusqlite::Result<_>>()?;
                ids.sort_unstable_by(|a, b| b.cmp(a));
                Some(ids)
            }
            _ => None,
        };
        let mut hunt = Hunt { db, wanted, words, signs: None, ids, runs: None, logs: Vec::new() };
        if let Some(signs) = wanted.terms.in_signs()
            && (hunt.words.is_none() || hunt.are_rarer(&signs)?)
        {
            hunt.signs = Some(signs);
        }
        if !wanted.filter.is_open() || !wanted.outcomes.is_empty() || wanted.tool.is_some() {
            hunt.choose_runs(is_written)?;
        }
        Ok(hunt)
    }

    /// The runs that fit, and their logs, the newest first.
    fn choose_runs(&mut self, is_written: IsWritten<'_>) -> rusqlite::Result<()> {
        let filter = &self.wanted.filter;
        let values = filter.values();
        let sql = format!(
            "SELECT log, run, last, outcome, source FROM runs WHERE {RUN_FITS} ORDER BY last DESC"
        );
        let mut ask = self.db.prepare_cached(&sql)?;
        let mut rows = ask.query(&*filter.bind(&values))?;
        let mut runs: HashMap<i64, HashSet<u32>> = HashMap::new();
        let with_tool = self.runs_with_tool()?;
        while let Some(row) = rows.next()? {
            let (log, run): (i64, u32) = (row.get(0)?, row.get(1)?);
            if with_tool.as_ref().is_some_and(|with| !with.contains(&(log, run))) {
                continue;
            }
            let (outcome, source): (Option<String>, String) = (row.get(3)?, row.get(4)?);
            if !self.outcome_fits(outcome.as_deref(), &source, log, is_written)? {
                continue;
            }
            if !runs.contains_key(&log) {
                self.logs.push(log);
            }
            runs.entry(log).or_default().insert(run);
        }
        self.runs = Some(runs);
        Ok(())
    }

    fn runs_with_tool(&self) -> rusqlite::Result<Option<HashSet<(i64, u32)>>> {
        let Some(tool) = &self.wanted.tool else { return Ok(None) };
        let mut ask = self.db.prepare_cached(
            "SELECT DISTINCT log, run FROM tools WHERE instr(lower(name), lower(?1)) OR kind = lower(?1)",
        )?;
        let rows = ask.query_map([tool], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect::<rusqlite::Result<_>>().map(Some)
    }

    fn outcome_fits(
        &self,
        outcome: Option<&str>,
        source: &str,
        log: i64,
        is_written: IsWritten<'_>,
    ) -> rusqlite::Result<bool> {
        let wanted = &self.wanted.outcomes;
        if wanted.is_empty() {
            return Ok(true);
        }
        let word = match outcome {
            Some(word) => word,
            None if source != OURS => return Ok(false),
            None => {
                let find = self.db.prepare_cached("SELECT path FROM logs WHERE id = ?");
                let path: Option<String> = find?.query_row([log], |row| row.get(0)).optional()?;
                let is_on = path.is_some_and(|path| is_written(path.as_ref()));
                if is_on { "running" } else { "unfinished" }
            }
        };
        Ok(wanted.iter().any(|it| it == word))
    }

    /// Whether what the index of words offers is looked through, and not something else.
    fn begins_with_words(&self) -> bool {
        self.words.is_some() && self.signs.is_none()
    }

    fn found(mut self) -> rusqlite::Result<Found> {
        let (mut hits, all) = self.collect()?;
        let mut order = match self.wanted.order {
            Order::Auto if all => Order::Best,
            Order::Auto => Order::Newest,
            order => order,
        };
        if order == Order::Best && !self.rank(&mut hits, all)? {
            order = Order::Newest;
        }
        if order == Order::Newest && !all {
            return self.newest(hits.len());
        }
        match order {
            Order::Best => hits.sort_by(|a, b| {
                a.rank.total_cmp(&b.rank).then_with(|| b.at.cmp(&a.at)).then(b.id.cmp(&a.id))
            }),
            _ => hits.sort_by(|a, b| b.at.cmp(&a.at).then(b.id.cmp(&a.id))),
        }
        let count = |n: usize| if all { Count::Exactly(n) } else { Count::MoreThan(n) };
        let matches = count(hits.len());
        let mut groups = show::Groups::new(&self);
        for hit in &hits {
            groups.push(hit, usize::MAX)?;
        }
        let in_sessions = count(groups.len());
        Ok(Found { sessions: groups.finish(all)?, order, matches, in_sessions })
    }

    /// The matches, and whether these are all; no more than [`FEW`].
    fn collect(&mut self) -> rusqlite::Result<(Vec<Hit>, bool)> {
        let mut hits = Vec::new();
        if self.runs.is_some() && self.logs.len() <= FEW_LOGS {
            for log in &self.logs {
                let (first, last) = passages_of(*log);
                let mut from_log = Hits::new(self, first, last);
                while let Some(hit) = from_log.next()? {
                    if hits.len() == FEW {
                        return Ok((hits, false));
                    }
                    hits.push(hit);
                }
            }
            return Ok((hits, true));
        }
        let mut everywhere = Hits::new(self, 0, i64::MAX);
        while let Some(hit) = everywhere.next_within(LOOKED_AT)? {
            if hits.len() == FEW {
                return Ok((hits, false));
            }
            hits.push(hit);
        }
        let all = everywhere.is_over();
        Ok((hits, all))
    }

    /// How well each fits; false where that cannot be said quickly.
    fn rank(&self, hits: &mut [Hit], all: bool) -> rusqlite::Result<bool> {
        let Some(words) = &self.words else { return Ok(false) };
        let mut ranks: HashMap<i64, f64> = HashMap::new();
        let (mut first, mut last) = (0, i64::MAX);
        let question = if all {
            // What is nearly everywhere says nothing about a passage, but counting it takes long.
            let mut telling = Vec::new();
            for term in &self.wanted.terms.wanted {
                // What has been found is all that has a single word.
                let is_rare = self.wanted.terms.is_one_word()
                    && self.runs.is_none()
                    && self.wanted.kinds.is_empty();
                if is_rare || self.is_telling(term.in_index())? {
                    telling.push(term);
                }
            }
            match all_of(telling.iter().copied()) {
                Some(_) if telling.len() == self.wanted.terms.wanted.len() => words.clone(),
                Some(question) => question,
                None => return Ok(false),
            }
        } else if self.runs.is_none() && self.wanted.kinds.is_empty() {
            first = hits.last().map_or(0, |hit| hit.id);
            last = hits.first().map_or(0, |hit| hit.id);
            words.clone()
        } else {
            return Ok(false);
        };
        let mut ask = self.db.prepare_cached(
            "SELECT rowid, bm25(words) FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ?",
        )?;
        let mut rows = ask.query(params![question, first, last])?;
        while let Some(row) = rows.next()? {
            ranks.insert(row.get(0)?, row.get(1)?);
        }
        for hit in hits {
            hit.rank = ranks.get(&hit.id).copied().unwrap_or(0.0);
        }
        Ok(true)
    }

    fn is_telling(&self, question: Option<&str>) -> rusqlite::Result<bool> {
        let Some(question) = question else { return Ok(false) };
        Ok(self.up_to(COMMON, "words", question)? <= COMMON)
    }

    /// How many an index has, counted a little beyond a limit at the most.
    fn up_to(&self, most: usize, index: &str, question: &str) -> rusqlite::Result<usize> {
        let mut ask = self.db.prepare_cached(&format!(
            "SELECT count(*) FROM (SELECT 1 FROM {index} WHERE {index} MATCH ? LIMIT ?)"
        ))?;
        ask.query_row(params![question, most + 1], |row| row.get(0))
    }

    /// Whether fewer passages have these signs than have the words.
    fn are_rarer(&self, signs: &str) -> rusqlite::Result<bool> {
        let (None, Some(words)) = (&self.ids, &self.words) else { return Ok(false) };
        let with_signs = self.up_to(COMMON, "signs", signs)?;
        Ok(with_signs <= COMMON && self.up_to(with_signs, "words", words)? > with_signs)
    }

    /// Where many match: log by log, until there are enough sessions.
    fn newest(mut self, known: usize) -> rusqlite::Result<Found> {
        if self.runs.is_none() {
            let mut ask = self.db.prepare_cached(
                "SELECT log FROM (SELECT log, max(last) AS last FROM runs GROUP BY log)
                 ORDER BY last DESC",
            )?;
            self.logs = ask.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        }
        let mut groups = show::Groups::new(&self);
        let (mut seen, mut all, mut counted) = (0, true, true);
        'logs: for log in &self.logs {
            let (first, last) = passages_of(*log);
            let mut hits = Hits::new(&self, first, last);
            let mut taken = 0;
            while let Some(hit) = hits.next()? {
                // One more than is shown says that there is more.
                if taken > self.wanted.each {
                    counted = false;
                    break;
                }
                if !groups.push(&hit, self.wanted.sessions)? {
                    all = false;
                    break 'logs;
                }
                taken += 1;
            }
            seen += taken;
        }
        let exactly = |is_exact: bool, n: usize| {
            if is_exact { Count::Exactly(n) } else { Count::MoreThan(n) }
        };
        let matches = if all && counted { seen } else { known.max(seen) };
        let matches = exactly(all && counted, matches);
        let in_sessions = exactly(all, groups.len());
        let sessions = groups.finish(all && counted)?;
        Ok(Found { sessions, order: Order::Newest, matches, in_sessions })
    }
}
