//! Sessions: which there are, newest first, and everything about some of them.
//!
//! Two steps, so that a list of twenty among a hundred thousand reads twenty: first one row a
//! session with what decides whether it is listed, then the runs of those that are.

use super::objects::lossy_paths;
use super::{Filter, OURS, Values};
use crate::{Store, StoreError};
use rusqlite::{Row, named_params};
use serde::Serialize;
use stablehand_core::event::Tokens;
use stablehand_core::id::is_called;
use stablehand_core::time::{UnixMillis, as_rfc3339};
use std::path::PathBuf;

/// What decides whether a session is listed, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Brief {
    /// The agent's name.
    pub agent: String,
    /// The session's id, or the run's where the agent named no session.
    pub chat: String,
    /// When the last thing was told.
    pub last: UnixMillis,
    /// How its last run ended, in the word of `run_ended`; absent where that is not known.
    pub outcome: Option<String>,
    /// Where it is known from.
    pub source: String,
    /// The log of its last run.
    pub log: i64,
}

/// Everything about a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Session {
    /// The session's id, or the run's where the agent named no session.
    #[serde(rename = "id")]
    pub chat: String,
    /// The agent's own id of it, where it named one: it can be resumed by this.
    pub session: Option<String>,
    /// The agent's name.
    pub agent: String,
    /// Its version, as far as it says so.
    pub agent_version: Option<String>,
    /// The model of the last run that names one.
    pub model: Option<String>,
    /// Where it worked.
    pub workspace: Option<String>,
    /// What it was about.
    pub title: Option<String>,
    /// Where it is known from.
    pub source: String,
    /// When its first run began.
    #[serde(rename = "started_at", with = "as_rfc3339")]
    pub started: UnixMillis,
    /// When the last thing was told.
    #[serde(rename = "last_at", with = "as_rfc3339")]
    pub last: UnixMillis,
    /// How its last run ended; absent where that is not known. An object says how it stands.
    #[serde(skip)]
    pub outcome: Option<String>,
    /// Who ended it.
    pub ended_by: Option<String>,
    /// What kind of failure, where the agent says so.
    pub failure: Option<String>,
    /// The verdict that ended it.
    pub verdict: Option<String>,
    /// The text for people about its end.
    pub note: Option<String>,
    /// The ids of its runs, the first one first.
    #[serde(rename = "run_ids")]
    pub runs: Vec<String>,
    /// The files that tell of it.
    #[serde(serialize_with = "lossy_paths")]
    pub logs: Vec<PathBuf>,
    /// All of its runs together.
    #[serde(flatten)]
    pub spent: Spent,
}

/// What runs took and did, added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spent {
    /// Turns.
    pub turns: u64,
    /// Tool calls.
    pub tools: u64,
    /// Of these, how many did not work.
    pub tools_failed: u64,
    /// Questions whether a call may be made.
    pub questions: u64,
    /// Requests that the agent tried again, and reconnections.
    pub retries: u64,
    /// From the beginning of each run to the last thing told in it.
    pub duration_ms: u64,
    /// Of that, in turns: the model.
    pub model_ms: u64,
    /// In turns: tools.
    pub tool_ms: u64,
    /// In turns: people.
    pub wait_ms: u64,
    /// Tokens and cost, where an agent states them.
    #[serde(skip)]
    pub tokens: Option<Tokens>,
}

/// So many sessions are worth a look at each; for more, all runs are read once.
const ONE_BY_ONE: usize = 400;

/// Beyond every time in milliseconds that a log can hold: what a log of ours tells of the end of a
/// session counts more than what a transcript tells, however new that is.
const BRIEFS: &str = "SELECT chat, agent,
        max((source = 'log') * 1000000000000000 + last) AS newest, last, outcome, source, log
    FROM runs
    WHERE :agent IS NULL OR agent = :agent
       OR substr(agent, 1, length(:agent) + 1) = :agent || ':'
    GROUP BY chat, agent
    HAVING (:source IS NULL OR source = :source)
       AND (:since IS NULL AND :until IS NULL OR sum(
            (:since IS NULL OR last >= :since) AND (:until IS NULL OR started < :until)) > 0)
       AND (:model IS NULL OR sum(instr(lower(model), lower(:model)) > 0) > 0)
       AND (:folder IS NULL OR sum(workspace = :folder OR workspace = :folder2
            OR substr(workspace, 1, length(:folder) + 1) = :folder || '/'
            OR substr(workspace, 1, length(:folder2) + 1) = :folder2 || '/') > 0)";

const RUNS: &str = "SELECT r.chat, r.agent, r.run_id, r.session, r.agent_version, r.model,
        r.workspace, r.title, r.source, r.started, r.last, r.outcome, r.ended_by, r.failure,
        r.verdict, r.note, r.turns, r.tools, r.tools_failed, r.questions, r.retries, r.model_ms,
        r.tool_ms, r.wait_ms, r.input, r.output, r.cache_read, r.cache_write, r.reasoning,
        r.cost_usd, l.path
    FROM runs r LEFT JOIN logs l ON l.id = r.log";

struct RunOf {
    session: Session,
    path: Option<String>,
}

impl RunOf {
    fn name(&self) -> (&str, &str) {
        (&self.session.chat, &self.session.agent)
    }
}

impl Store {
    /// The sessions that have a fitting run, the one with the latest news first.
    pub fn briefs(&self, filter: &Filter) -> Result<Vec<Brief>, StoreError> {
        let values: Values = filter.values();
        let mut briefs: Vec<Brief> = self.ask(|db| {
            let mut ask = db.prepare_cached(BRIEFS)?;
            let rows = ask.query_map(&*filter.bind(&values), |row| {
                Ok(Brief {
                    chat: row.get(0)?,
                    agent: row.get(1)?,
                    last: UnixMillis(row.get(3)?),
                    outcome: row.get(4)?,
                    source: row.get(5)?,
                    log: row.get(6)?,
                })
            })?;
            rows.collect()
        })?;
        briefs.sort_by(|a, b| b.last.cmp(&a.last).then_with(|| a.chat.cmp(&b.chat)));
        Ok(briefs)
    }

    /// Where a log is.
    pub fn path_of(&self, log: i64) -> Result<PathBuf, StoreError> {
        self.ask(|db| {
            let mut find = db.prepare_cached("SELECT path FROM logs WHERE id = ?")?;
            find.query_row([log], |row| row.get::<_, String>(0)).map(PathBuf::from)
        })
    }

    /// Everything about these, in their order; one that is gone meanwhile is left out.
    pub fn sessions(&self, briefs: &[Brief]) -> Result<Vec<Session>, StoreError> {
        if briefs.len() > ONE_BY_ONE {
            return self.many_sessions(briefs);
        }
        self.ask(|db| {
            let sql = format!("{RUNS} WHERE r.chat = :chat AND r.agent = :agent");
            let mut ask = db.prepare_cached(&sql)?;
            let mut sessions = Vec::with_capacity(briefs.len());
            for brief in briefs {
                let names = named_params! { ":chat": brief.chat, ":agent": brief.agent };
                let runs = ask.query_map(names, read)?;
                sessions.extend(fold(runs.collect::<rusqlite::Result<_>>()?));
            }
            Ok(sessions)
        })
    }

    /// All that fit, the one with the latest news first, each with as much of its id as tells it from
    /// all others: one pass over all runs.
    pub fn all_sessions(&self, filter: &Filter) -> Result<Vec<(Session, String)>, StoreError> {
        let mut sessions = self.every_session(filter)?;
        sessions.sort_by(|(a, _), (b, _)| b.last.cmp(&a.last).then_with(|| a.chat.cmp(&b.chat)));
        Ok(sessions)
    }

    /// Many of them by that pass.
    fn many_sessions(&self, briefs: &[Brief]) -> Result<Vec<Session>, StoreError> {
        let every = self.every_session(&Filter::default())?;
        let find = |brief: &Brief| {
            let name = (&brief.chat, &brief.agent);
            every.binary_search_by(|(it, _)| (&it.chat, &it.agent).cmp(&name)).ok()
        };
        let places: Vec<usize> = briefs.iter().filter_map(find).collect();
        let mut every: Vec<_> = every.into_iter().map(|(session, _)| Some(session)).collect();
        Ok(places.into_iter().filter_map(|place| every.get_mut(place)?.take()).collect())
    }

    /// In the order of their names.
    fn every_session(&self, filter: &Filter) -> Result<Vec<(Session, String)>, StoreError> {
        let mut runs: Vec<RunOf> = self.ask(|db| {
            let mut ask = db.prepare_cached(RUNS)?;
            ask.query_map([], read)?.collect()
        })?;
        runs.sort_by(|a, b| a.name().cmp(&b.name()));
        let mut groups: Vec<Vec<RunOf>> = Vec::new();
        for run in runs {
            match groups.last_mut() {
                Some(own) if own.first().is_some_and(|it| it.name() == run.name()) => own.push(run),
                _ => groups.push(vec![run]),
            }
        }
        let shorts = {
            let chats: Vec<&str> =
                groups.iter().map(|own| own.first().map_or("", |it| it.name().0)).collect();
            short_in_order(&chats)
        };
        let values = filter.values();
        let fitting = groups.into_iter().zip(shorts).filter(|(own, _)| filter.fits(&values, own));
        Ok(fitting.filter_map(|(own, short)| Some((fold(own)?, short))).collect())
    }
}

impl Filter {
    /// Whether the session of these runs fits: what [`BRIEFS`] asks for, where all runs are there
    /// already.
    fn fits(&self, values: &Values, runs: &[RunOf]) -> bool {
        let any = |fits: &dyn Fn(&Session) -> bool| runs.iter().any(|run| fits(&run.session));
        let newest = runs.iter().max_by_key(|run| (run.session.source == OURS, run.session.last));
        let source = newest.map(|run| run.session.source.as_str());
        let small = |text: &str| text.to_ascii_lowercase();
        let is_in = |path: &str, folder: &str| {
            path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.agent.as_ref().is_none_or(|agent| any(&|it| is_called(&it.agent, agent)))
            && self.source.as_deref().is_none_or(|wanted| source == Some(wanted))
            && (self.since.is_none() && self.until.is_none()
                || any(&|it| {
                    self.since.is_none_or(|since| it.last >= since)
                        && self.until.is_none_or(|until| it.started < until)
                }))
            && self.model.as_ref().is_none_or(|model| {
                any(&|it| it.model.as_ref().is_some_and(|it| small(it).contains(&small(model))))
            })
            && values.folder.as_ref().is_none_or(|folder| {
                let folders = [Some(folder), values.folder2.as_ref()];
                any(&|it| {
                    let path = it.workspace.as_deref();
                    path.is_some_and(|it| folders.iter().flatten().any(|folder| is_in(it, folder)))
                })
            })
    }
}

/// Less of an id than this is too easily mistaken.
const SHORTEST: usize = 8;

impl Store {
    /// Of each id as much as tells it from all others, in their order.
    pub fn short_ids(&self, chats: &[&str]) -> Result<Vec<String>, StoreError> {
        self.ask(|db| {
            if chats.len() > ONE_BY_ONE {
                let mut ask = db.prepare_cached("SELECT DISTINCT chat FROM runs ORDER BY chat")?;
                let all = ask.query_map([], |row| row.get(0))?;
                let all: Vec<String> = all.collect::<rusqlite::Result<_>>()?;
                return Ok(short_among(&all.iter().map(String::as_str).collect::<Vec<_>>(), chats));
            }
            let mut before = db.prepare_cached("SELECT max(chat) FROM runs WHERE chat < ?")?;
            let mut after = db.prepare_cached("SELECT min(chat) FROM runs WHERE chat > ?")?;
            let mut shorts = Vec::with_capacity(chats.len());
            for chat in chats {
                let before: Option<String> = before.query_row([chat], |row| row.get(0))?;
                let after: Option<String> = after.query_row([chat], |row| row.get(0))?;
                shorts.push(shortened(chat, before.as_deref(), after.as_deref()));
            }
            Ok(shorts)
        })
    }
}

/// Of each id as much as tells it from the others, which are in order; the same may come again.
fn short_in_order(chats: &[&str]) -> Vec<String> {
    let mut shorts = Vec::with_capacity(chats.len());
    let mut before = None;
    for same in chats.chunk_by(|a, b| a == b) {
        let after = chats.get(shorts.len() + same.len()).copied();
        let Some(chat) = same.first() else { continue };
        let short = shortened(chat, before, after);
        shorts.extend(std::iter::repeat_n(short, same.len()));
        before = Some(*chat);
    }
    shorts
}

/// Of each id as much as tells it from all, which are in order.
fn short_among(all: &[&str], chats: &[&str]) -> Vec<String> {
    let short = |chat: &&str| {
        let place = all.partition_point(|other| other < chat);
        let after = all.get(place..).unwrap_or_default().iter().find(|other| *other != chat);
        let before = place.checked_sub(1).and_then(|place| all.get(place));
        shortened(chat, before.copied(), after.copied())
    };
    chats.iter().map(short).collect()
}

/// In the order of ids the one most like another is next to it.
fn shortened(chat: &str, before: Option<&str>, after: Option<&str>) -> String {
    let mut needed = SHORTEST;
    for next in [before, after].into_iter().flatten() {
        let same = chat.bytes().zip(next.bytes()).take_while(|(a, b)| a == b);
        needed = needed.max(same.count() + 1);
    }
    let end = (needed..chat.len()).find(|end| chat.is_char_boundary(*end)).unwrap_or(chat.len());
    chat.get(..end).unwrap_or(chat).to_owned()
}

fn read(row: &Row<'_>) -> rusqlite::Result<RunOf> {
    let (started, last): (i64, i64) = (row.get(9)?, row.get(10)?);
    let session = Session {
        chat: row.get(0)?,
        agent: row.get(1)?,
        runs: vec![row.get(2)?],
        session: row.get(3)?,
        agent_version: row.get(4)?,
        model: row.get(5)?,
        workspace: row.get(6)?,
        title: row.get(7)?,
        source: row.get(8)?,
        started: UnixMillis(started),
        last: UnixMillis(last),
        outcome: row.get(11)?,
        ended_by: row.get(12)?,
        failure: row.get(13)?,
        verdict: row.get(14)?,
        note: row.get(15)?,
        logs: Vec::new(),
        spent: Spent {
            turns: row.get(16)?,
            tools: row.get(17)?,
            tools_failed: row.get(18)?,
            questions: row.get(19)?,
            retries: row.get(20)?,
            duration_ms: u64::try_from(last.saturating_sub(started)).unwrap_or(0),
            model_ms: row.get(21)?,
            tool_ms: row.get(22)?,
            wait_ms: row.get(23)?,
            tokens: tokens(row, 24)?,
        },
    };
    Ok(RunOf { session, path: row.get(30)? })
}

/// Six columns: input, output, read from and written to a cache, reasoning, cost.
pub(super) fn tokens(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<Tokens>> {
    let Some(input) = row.get(at)? else { return Ok(None) };
    Ok(Some(Tokens {
        input,
        output: row.get::<_, Option<u64>>(at + 1)?.unwrap_or(0),
        cache_read: row.get::<_, Option<u64>>(at + 2)?.unwrap_or(0),
        cache_write: row.get::<_, Option<u64>>(at + 3)?.unwrap_or(0),
        reasoning: row.get::<_, Option<u64>>(at + 4)?.unwrap_or(0),
        cost_usd: row.get(at + 5)?,
    }))
}

impl Spent {
    pub(super) fn add(&mut self, more: &Spent) {
        self.turns += more.turns;
        self.tools += more.tools;
        self.tools_failed += more.tools_failed;
        self.questions += more.questions;
        self.retries += more.retries;
        self.duration_ms += more.duration_ms;
        self.model_ms += more.model_ms;
        self.tool_ms += more.tool_ms;
        self.wait_ms += more.wait_ms;
        self.tokens = match (self.tokens, &more.tokens) {
            (Some(mine), Some(theirs)) => Some(mine.plus(theirs)),
            (mine, theirs) => mine.or(*theirs),
        };
    }
}

/// One session of its runs.
fn fold(mut runs: Vec<RunOf>) -> Option<Session> {
    if runs.iter().any(|run| run.session.source == OURS) {
        runs.retain(|run| run.session.source == OURS);
    }
    runs.sort_by(|a, b| {
        let (a, b) = (&a.session, &b.session);
        a.started.cmp(&b.started).then_with(|| a.runs.cmp(&b.runs))
    });
    let mut runs = runs.into_iter();
    let first = runs.next()?;
    let mut all = first.session;
    all.logs.extend(first.path.map(PathBuf::from));
    for RunOf { session: run, path } in runs {
        all.runs.extend(run.runs);
        all.last = all.last.max(run.last);
        all.spent.add(&run.spent);
        // The first prompt names it; for all else the last word counts.
        all.title = all.title.or(run.title);
        all.session = run.session.or(all.session);
        all.agent_version = run.agent_version.or(all.agent_version);
        all.model = run.model.or(all.model);
        all.workspace = run.workspace.or(all.workspace);
        all.outcome = run.outcome;
        all.ended_by = run.ended_by;
        all.failure = run.failure;
        all.verdict = run.verdict;
        all.note = run.note;
        if let Some(path) = path.map(PathBuf::from)
            && !all.logs.contains(&path)
        {
            all.logs.push(path);
        }
    }
    Some(all)
}
