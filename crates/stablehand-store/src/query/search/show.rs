//! Matches by session, and the texts of those that are shown.

use super::hits::Hit;
use super::{COUNTS, Count, FoundSession, Hunt, Match, MatchedTool, text};
use crate::query::Term;
use rusqlite::{OptionalExtension, named_params, params};
use stablehand_core::time::UnixMillis;
use std::collections::HashMap;
use std::path::PathBuf;

/// Around what was found, while a text is on its way from the index: characters that no text has,
/// as the standard keeps them for such use. One that is there nevertheless is a mark at the wrong
/// place and nothing else.
const OPEN: char = '\u{fdd0}';
const CLOSE: char = '\u{fdd1}';

/// What is known of the run of a match.
#[derive(Clone)]
struct RunOf {
    /// Where its session is among the groups; absent where it does not count.
    group: Option<usize>,
    run_id: String,
}

struct Group {
    session: FoundSession,
    hits: Vec<Hit>,
    count: usize,
}

/// Sessions in the order of their first match.
pub(super) struct Groups<'h, 'a> {
    hunt: &'h Hunt<'a>,
    sessions: Vec<Group>,
    by_name: HashMap<(String, String), usize>,
    runs: HashMap<(i64, u32), RunOf>,
}

impl<'h, 'a> Groups<'h, 'a> {
    pub(super) fn new(hunt: &'h Hunt<'a>) -> Self {
        Groups { hunt, sessions: Vec::new(), by_name: HashMap::new(), runs: HashMap::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.sessions.len()
    }

    /// Takes the next match; false where it would be of one session too many.
    pub(super) fn push(&mut self, hit: &Hit, most: usize) -> rusqlite::Result<bool> {
        let key = (hit.log(), hit.run);
        let known = match self.runs.get(&key) {
            Some(known) => known.clone(),
            None => match self.run_of(key, most)? {
                Some(run) => run,
                None => return Ok(false),
            },
        };
        let Some(group) = known.group.and_then(|group| self.sessions.get_mut(group)) else {
            return Ok(true);
        };
        group.count += 1;
        if group.hits.len() < self.hunt.wanted.each {
            group.hits.push(hit.clone());
        }
        Ok(true)
    }

    /// Looks the run up; nothing where its session would be one too many.
    fn run_of(&mut self, key: (i64, u32), most: usize) -> rusqlite::Result<Option<RunOf>> {
        let sql = format!(
            "SELECT r.agent, r.chat, r.title, r.workspace, r.outcome, r.last, l.path, r.run_id
             FROM runs r JOIN logs l ON l.id = r.log
             WHERE r.log = :log AND r.run = :run AND {COUNTS}"
        );
        let mut ask = self.hunt.db.prepare_cached(&sql)?;
        let found = ask
            .query_row(named_params! { ":log": key.0, ":run": key.1 }, |row| {
                let session = FoundSession {
                    agent: row.get(0)?,
                    chat: row.get(1)?,
                    title: row.get(2)?,
                    workspace: row.get(3)?,
                    outcome: row.get(4)?,
                    last: UnixMillis(row.get(5)?),
                    log: PathBuf::from(row.get::<_, String>(6)?),
                    matches: Vec::new(),
                    count: Count::Exactly(0),
                };
                Ok((session, row.get(7)?))
            })
            .optional()?;
        let Some((session, run_id)) = found else {
            let run = RunOf { group: None, run_id: String::new() };
            self.runs.insert(key, run.clone());
            return Ok(Some(run));
        };
        let name = (session.agent.clone(), session.chat.clone());
        let group = match self.by_name.get(&name) {
            Some(group) => *group,
            None if self.sessions.len() >= most => return Ok(None),
            None => {
                self.sessions.push(Group { session, hits: Vec::new(), count: 0 });
                self.by_name.insert(name, self.sessions.len() - 1);
                self.sessions.len() - 1
            }
        };
        let run = RunOf { group: Some(group), run_id };
        self.runs.insert(key, run.clone());
        Ok(Some(run))
    }

    /// The sessions with the texts of their matches.
    pub(super) fn finish(self, all: bool) -> rusqlite::Result<Vec<FoundSession>> {
        let Groups { hunt, sessions: groups, runs, .. } = self;
        let mut sessions = Vec::new();
        for group in groups.into_iter().take(hunt.wanted.sessions) {
            let Group { mut session, hits, count } = group;
            session.count = if all || count <= hits.len() {
                Count::Exactly(count)
            } else {
                Count::MoreThan(hits.len())
            };
            for hit in &hits {
                let run = runs.get(&(hit.log(), hit.run));
                let run = run.map(|run| run.run_id.clone()).unwrap_or_default();
                session.matches.extend(hunt.read(hit, run)?);
            }
            sessions.push(session);
        }
        Ok(sessions)
    }
}

impl Hunt<'_> {
    fn read(&self, hit: &Hit, run: String) -> rusqlite::Result<Option<Match>> {
        let mut ask = self.db.prepare_cached(
            "SELECT p.turn, p.kind, p.at, p.text, t.name, t.kind, t.target
             FROM passages p LEFT JOIN tools t
                ON t.log = ?2 AND t.run = p.run AND t.tool = p.tool
             WHERE p.id = ?1",
        )?;
        let found = ask.query_row(params![hit.id, hit.log()], |row| {
            let tool = match row.get(4)? {
                Some(name) => Some(MatchedTool { name, kind: row.get(5)?, target: row.get(6)? }),
                None => None,
            };
            Ok(Match {
                run,
                turn: row.get(0)?,
                tool,
                kind: row.get(1)?,
                at: UnixMillis(row.get(2)?),
                text: row.get(3)?,
                found: Vec::new(),
                rank: None,
            })
        });
        // A log that was forgotten this very moment has nothing to show.
        let Some(mut found) = found.optional()? else { return Ok(None) };
        // The index knows a word with its accents and without; in a text that has none, looking is
        // quicker than asking it.
        let terms = &self.wanted.terms;
        let by_hand = terms.has_beginning() || terms.is_ascii() && found.text.is_ascii();
        let marked = match &self.words {
            Some(words) if !by_hand => {
                let mut ask = self.db.prepare_cached(
                    "SELECT highlight(words, 0, ?3, ?4) FROM words
                     WHERE words MATCH ?1 AND rowid = ?2",
                )?;
                let marks = [OPEN.to_string(), CLOSE.to_string()];
                let values = params![words, hit.id, marks[0], marks[1]];
                ask.query_row(values, |row| row.get::<_, String>(0)).optional()?
            }
            _ => None,
        };
        let (text, mut places) = unmark(&text::plain(&marked.unwrap_or(found.text)));
        let literal: Vec<&Term> =
            self.wanted.terms.wanted.iter().filter(|term| term.in_index().is_none()).collect();
        places.extend(literal.iter().flat_map(|term| {
            text.match_indices(&term.text).map(|(at, part)| (at, at + part.len()))
        }));
        if by_hand {
            places.extend(self.wanted.terms.places(&text));
        }
        found.text = text;
        found.found = apart(places);
        found.rank = (hit.rank != 0.0).then_some(hit.rank);
        Ok(Some(found))
    }
}

/// In order, and those that overlap as one.
fn apart(mut places: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    places.sort_unstable();
    let mut apart: Vec<(usize, usize)> = Vec::with_capacity(places.len());
    for (from, to) in places {
        match apart.last_mut() {
            Some((_, end)) if from < *end => *end = to.max(*end),
            _ => apart.push((from, to)),
        }
    }
    apart
}

/// The text without the marks, and where they were.
fn unmark(marked: &str) -> (String, Vec<(usize, usize)>) {
    let mut text = String::with_capacity(marked.len());
    let mut places = Vec::new();
    let mut open = None;
    for c in marked.chars() {
        match c {
            OPEN => open = Some(text.len()),
            CLOSE => {
                if let Some(from) = open.take().filter(|from| *from < text.len()) {
                    places.push((from, text.len()));
                }
            }
            c => text.push(c),
        }
    }
    (text, places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_that_overlap_are_one() {
        assert_eq!(apart(vec![(4, 9), (0, 5), (9, 12), (9, 10)]), [(0, 9), (9, 12)]);
    }

    #[test]
    fn marks_become_places_and_stray_ones_nothing() {
        let marked = "a \u{fdd0}red\u{fdd1} b\u{fdd1} \u{fdd0}\u{fdd1}c\u{fdd0}";
        assert_eq!(unmark(marked), ("a red b c".into(), vec![(2, 5)]));
    }
}
