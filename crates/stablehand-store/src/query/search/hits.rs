//! The matches of one stretch of the index, the last passage first, as far as they fit.

use super::Hunt;
use rusqlite::{OptionalExtension, Row, ToSql};
use std::collections::VecDeque;

/// So many are asked for at first: few, since often a few are enough. Each time twice as many, up to
/// the most, so that asking again costs little.
const AT_FIRST: usize = 64;
const AT_MOST: usize = 4096;

/// A passage that matches.
#[derive(Clone, Debug)]
pub(super) struct Hit {
    pub(super) id: i64,
    pub(super) run: u32,
    pub(super) at: i64,
    pub(super) rank: f64,
}

impl Hit {
    pub(super) fn log(&self) -> i64 {
        self.id >> 32
    }
}

struct Candidate {
    id: i64,
    run: u32,
    tool: Option<u32>,
    kind: String,
    at: i64,
}

/// Gives the matches of a stretch, one after the other.
pub(super) struct Hits<'h, 'a> {
    hunt: &'h Hunt<'a>,
    first: i64,
    /// What comes next is at or before this; nothing does where it is absent.
    next: Option<i64>,
    ready: VecDeque<Candidate>,
    looked_at: usize,
    at_once: usize,
    kinds: String,
}

impl<'h, 'a> Hits<'h, 'a> {
    pub(super) fn new(hunt: &'h Hunt<'a>, first: i64, last: i64) -> Self {
        let kinds: Vec<_> =
            hunt.wanted.kinds.iter().map(|kind| format!("'{}'", kind.word())).collect();
        let kinds = kinds.join(",");
        let ready = VecDeque::new();
        Hits { hunt, first, next: Some(last), ready, looked_at: 0, at_once: AT_FIRST, kinds }
    }

    /// Whether there is nothing more.
    pub(super) fn is_over(&self) -> bool {
        self.next.is_none() && self.ready.is_empty()
    }

    pub(super) fn next(&mut self) -> rusqlite::Result<Option<Hit>> {
        self.next_within(usize::MAX)
    }

    /// The next one, unless more than so many have been looked at in all.
    pub(super) fn next_within(&mut self, most: usize) -> rusqlite::Result<Option<Hit>> {
        loop {
            let mut last = None;
            while let Some(candidate) = self.ready.pop_front() {
                last = Some(candidate.id);
                if self.fits(&candidate)? {
                    let Candidate { id, run, at, .. } = candidate;
                    return Ok(Some(Hit { id, run, at, rank: 0.0 }));
                }
            }
            // None of them fitted: what cannot fit, either, is leapt over.
            if last.is_some() {
                self.leap()?;
            }
            if self.next.is_none() || self.looked_at >= most {
                return Ok(None);
            }
            self.fill()?;
        }
    }

    /// Gets the next candidates ready; none where the stretch is over.
    fn fill(&mut self) -> rusqlite::Result<()> {
        let Some(last) = self.next else { return Ok(()) };
        let wanted = self.at_once;
        self.at_once = (wanted * 2).min(AT_MOST);
        let (hunt, first) = (self.hunt, self.first);
        let (seen, lowest) = match (&hunt.ids, &hunt.signs, &hunt.words) {
            (Some(ids), _, _) => self.fill_by_ids(ids, last, wanted)?,
            (None, Some(signs), _) => {
                let sql = "SELECT p.id, p.run, p.tool, p.kind, p.at, p.text
                     FROM signs CROSS JOIN passages p ON p.id = signs.rowid
                     WHERE signs MATCH ?4 AND signs.rowid BETWEEN ?1 AND ?2
                     ORDER BY signs.rowid DESC LIMIT ?3";
                self.fill_by(sql, &[&first, &last, &wanted, signs])?
            }
            (None, None, Some(words)) => {
                let sql = "SELECT p.id, p.run, p.tool, p.kind, p.at
                     FROM words CROSS JOIN passages p ON p.id = words.rowid
                     WHERE words MATCH ?4 AND words.rowid BETWEEN ?1 AND ?2
                     ORDER BY words.rowid DESC LIMIT ?3";
                self.fill_by(sql, &[&first, &last, &wanted, words])?
            }
            (None, None, None) => {
                let sql = "SELECT id, run, tool, kind, at, text FROM passages
                     WHERE id BETWEEN ?1 AND ?2 ORDER BY id DESC LIMIT ?3";
                self.fill_by(sql, &[&first, &last, &wanted])?
            }
        };
        self.looked_at += seen;
        let more = lowest.filter(|_| seen == wanted).map(|id| id - 1);
        self.next = more.filter(|next| *next >= self.first);
        Ok(())
    }

    /// How many there were, and the lowest of them.
    fn fill_by(
        &mut self,
        sql: &str,
        values: &[&dyn ToSql],
    ) -> rusqlite::Result<(usize, Option<i64>)> {
        let terms = &self.hunt.wanted.terms;
        let with_text = !self.hunt.begins_with_words() && terms.needs_text();
        let mut ask = self.hunt.db.prepare_cached(sql)?;
        let mut rows = ask.query(values)?;
        let (mut seen, mut lowest) = (0, None);
        while let Some(row) = rows.next()? {
            seen += 1;
            let id = row.get(0)?;
            lowest = Some(id);
            // Where every text is looked at, it is looked at here: most do not fit.
            if with_text && !row.get_ref(5)?.as_str().is_ok_and(|text| terms.fit(text)) {
                continue;
            }
            self.ready.push_back(candidate(row, id)?);
        }
        Ok((seen, lowest))
    }

    fn fill_by_ids(
        &mut self,
        ids: &[i64],
        last: i64,
        wanted: usize,
    ) -> rusqlite::Result<(usize, Option<i64>)> {
        let from = ids.partition_point(|id| *id > last);
        let to = ids.partition_point(|id| *id >= self.first).min(from.saturating_add(wanted));
        let mut ask = self
            .hunt
            .db
            .prepare_cached("SELECT id, run, tool, kind, at FROM passages WHERE id = ?")?;
        let ids = ids.get(from..to).unwrap_or_default();
        for id in ids {
            // A log that was forgotten this very moment has no passages.
            self.ready.extend(ask.query_row([id], |row| candidate(row, *id)).optional()?);
        }
        Ok((ids.len(), ids.last().copied()))
    }

    /// Goes on where the next passage of a wanted kind is, or of a log that is not excluded.
    fn leap(&mut self) -> rusqlite::Result<()> {
        let Some(next) = self.next else { return Ok(()) };
        if !self.kinds.is_empty() {
            let sql = format!(
                "SELECT max(id) FROM passages WHERE kind IN ({}) AND id BETWEEN ? AND ?",
                self.kinds
            );
            let mut ask = self.hunt.db.prepare_cached(&sql)?;
            let found: Option<Option<i64>> =
                ask.query_row([self.first, next], |row| row.get(0)).optional()?;
            self.next = found.flatten();
        }
        Ok(())
    }

    fn fits(&self, it: &Candidate) -> rusqlite::Result<bool> {
        let hunt = self.hunt;
        let wanted = hunt.wanted;
        if let Some(runs) = &hunt.runs
            && runs.get(&(it.id >> 32)).is_none_or(|runs| !runs.contains(&it.run))
        {
            return Ok(false);
        }
        if !wanted.kinds.is_empty() && wanted.kinds.iter().all(|kind| kind.word() != it.kind) {
            return Ok(false);
        }
        if let Some(name) = &wanted.tool
            && !self.is_of_tool(it, name)?
        {
            return Ok(false);
        }
        if hunt.begins_with_words() && wanted.terms.needs_text() {
            let mut ask = hunt.db.prepare_cached("SELECT text FROM passages WHERE id = ?")?;
            let fits = ask.query_row([it.id], |row| {
                Ok(row.get_ref(0)?.as_str().is_ok_and(|text| wanted.terms.fit(text)))
            })?;
            if !fits {
                return Ok(false);
            }
        }
        // What the index of signs offers need not have the words.
        if let (Some(_), Some(words)) = (&hunt.signs, &hunt.words) {
            let mut ask =
                hunt.db.prepare_cached("SELECT 1 FROM words WHERE words MATCH ? AND rowid = ?")?;
            if !ask.exists(rusqlite::params![words, it.id])? {
                return Ok(false);
            }
        }
        // The index can exclude only from what it has found.
        if let (None, Some(unwanted)) = (&hunt.words, wanted.terms.unwanted_in_index()) {
            let mut ask =
                hunt.db.prepare_cached("SELECT 1 FROM words WHERE words MATCH ? AND rowid = ?")?;
            if ask.exists(rusqlite::params![unwanted, it.id])? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn is_of_tool(&self, it: &Candidate, name: &str) -> rusqlite::Result<bool> {
        let Some(tool) = it.tool else { return Ok(false) };
        let mut ask = self.hunt.db.prepare_cached(
            "SELECT 1 FROM tools WHERE log = ? AND run = ? AND tool = ?
             AND (instr(lower(name), lower(?4)) OR kind = lower(?4))",
        )?;
        ask.exists(rusqlite::params![it.id >> 32, it.run, tool, name])
    }
}

fn candidate(row: &Row<'_>, id: i64) -> rusqlite::Result<Candidate> {
    Ok(Candidate { id, run: row.get(1)?, tool: row.get(2)?, kind: row.get(3)?, at: row.get(4)? })
}
