//! From rows to tables.

use crate::signs::{self, Signs};
use rusqlite::{Connection, params};
use serde::Serialize;
use stablehand_analysis::chronicle::{Passage, Row, RunRow, ToolRow, TurnRow};
use stablehand_core::event::Tokens;
use stablehand_core::redact::Redactor;
use stablehand_core::time::UnixMillis;
use std::cell::RefCell;

/// Puts rows of one log into the tables, secrets left out.
pub(crate) struct Writer<'a> {
    pub(crate) db: &'a Connection,
    pub(crate) log: i64,
    pub(crate) source: &'a str,
    pub(crate) redactor: &'a Redactor,
    /// Whether text is made searchable; without, only to be measured against.
    pub(crate) words: bool,
    /// Kept for all texts: it is large.
    pub(crate) signs: RefCell<Signs>,
}

/// The numbers of the passages of one log: `first..=last`.
pub(crate) fn passages_of(log: i64) -> (i64, i64) {
    (log << 32, (log << 32) | 0xFFFF_FFFF)
}

impl Writer<'_> {
    pub(crate) fn put(&self, row: &Row) -> rusqlite::Result<()> {
        match row {
            Row::Run(run) => self.run(run),
            Row::Turn(turn) => self.turn(turn),
            Row::Tool(tool) => self.tool(tool),
            Row::Question(it) => {
                let entry = &it.entry;
                let json = serde_json::to_string(entry).unwrap_or_default();
                let json = self.redactor.redact_json_text(&json);
                self.run_sql(
                    "INSERT OR REPLACE INTO questions VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
                    params![
                        self.log,
                        it.question,
                        it.run,
                        entry.time,
                        entry.tool,
                        entry.kind,
                        entry.target.as_deref().map(|it| self.redactor.redact(it)),
                        entry.asked,
                        word(&entry.outcome),
                        entry.by,
                        entry.waited_ms,
                        json,
                    ],
                )
            }
            Row::Verdict(it) => self.run_sql(
                "INSERT OR REPLACE INTO verdicts VALUES (?,?,?,?,?,?,?,?,?,?)",
                params![
                    self.log,
                    it.run,
                    it.verdict,
                    it.at.0,
                    it.kind,
                    self.redactor.redact(&it.text),
                    it.silence_ms,
                    it.limit_ms,
                    it.observed_only,
                    it.false_alarm,
                ],
            ),
            Row::File(it) => self.run_sql(
                "INSERT OR REPLACE INTO files VALUES (?,?,?,?,?,?)",
                params![self.log, it.run, it.path, it.how.word(), it.at.0, it.times],
            ),
            Row::Passage(passage) => self.passage(passage),
        }
    }

    fn run_sql(&self, sql: &str, values: impl rusqlite::Params) -> rusqlite::Result<()> {
        self.db.prepare_cached(sql)?.execute(values).map(|_| ())
    }

    fn run(&self, it: &RunRow) -> rusqlite::Result<()> {
        let [input, output, cache_read, cache_write, reasoning] = counts(it.usage.as_ref());
        let hidden = |text: &Option<String>| {
            text.as_deref().map(|text| self.redactor.redact(text).into_owned())
        };
        self.run_sql(
            "INSERT OR REPLACE INTO runs VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,\
             ?,?,?,?,?,?,?,?,?,?,?,?)",
            params![
                self.log,
                it.run,
                it.run_id,
                it.chat(),
                self.source,
                it.agent,
                it.agent_version,
                it.session,
                it.resumed_from,
                it.model,
                it.workspace,
                hidden(&it.title),
                it.started.0,
                it.last.0,
                it.ended.map(millis),
                it.outcome,
                it.ended_by,
                it.failure,
                it.verdict,
                it.exit_code,
                hidden(&it.note),
                it.turns,
                it.tools,
                it.tools_failed,
                it.questions,
                it.retries,
                it.events,
                input,
                output,
                cache_read,
                cache_write,
                reasoning,
                it.usage.and_then(|usage| usage.cost_usd),
                it.tool_ms,
                it.wait_ms,
                it.model_ms,
                it.silence_ms,
            ],
        )
    }

    fn turn(&self, it: &TurnRow) -> rusqlite::Result<()> {
        let [input, output, cache_read, cache_write, reasoning] = counts(it.usage.as_ref());
        self.run_sql(
            "INSERT OR REPLACE INTO turns VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            params![
                self.log,
                it.run,
                it.turn,
                it.started.0,
                it.ended.map(millis),
                it.end,
                it.failure,
                it.agent_ms,
                input,
                output,
                cache_read,
                cache_write,
                reasoning,
                it.usage.and_then(|usage| usage.cost_usd),
            ],
        )
    }

    fn tool(&self, it: &ToolRow) -> rusqlite::Result<()> {
        self.run_sql(
            "INSERT OR REPLACE INTO tools VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            params![
                self.log,
                it.run,
                it.tool,
                it.turn,
                it.call,
                it.name,
                it.kind,
                self.redactor.redact(&it.target),
                it.started.0,
                it.ended.map(millis),
                it.outcome,
                it.exit_code,
                it.agent_ms,
                it.background,
            ],
        )
    }

    fn passage(&self, it: &Passage) -> rusqlite::Result<()> {
        let id = passages_of(self.log).0 | i64::from(it.passage);
        let text = self.redactor.redact(&it.text);
        self.run_sql(
            "INSERT INTO passages VALUES (?,?,?,?,?,?,?)",
            params![id, it.run, it.turn, it.tool, it.kind.word(), it.at.0, text],
        )?;
        if self.words {
            self.run_sql("INSERT INTO words (rowid, text) VALUES (?,?)", params![id, text])?;
            signs::put(self.db, &mut self.signs.borrow_mut(), id, &text)?;
        }
        Ok(())
    }
}

/// Takes everything of a log out of the tables.
pub(crate) fn forget(db: &Connection, log: i64) -> rusqlite::Result<()> {
    let (first, last) = passages_of(log);
    db.prepare_cached(
        "INSERT INTO words (words, rowid, text)
         SELECT 'delete', id, text FROM passages WHERE id BETWEEN ? AND ?",
    )?
    .execute([first, last])?;
    signs::forget(db, first, last)?;
    db.prepare_cached("DELETE FROM passages WHERE id BETWEEN ? AND ?")?.execute([first, last])?;
    for table in ["runs", "turns", "tools", "questions", "verdicts", "files"] {
        db.prepare_cached(&format!("DELETE FROM {table} WHERE log = ?"))?.execute([log])?;
    }
    // Its copies may be what is left of it.
    db.prepare_cached("DELETE FROM strays WHERE log = ?")?.execute([log]).map(|_| ())
}

fn counts(usage: Option<&Tokens>) -> [Option<u64>; 5] {
    let of = |count: fn(&Tokens) -> u64| usage.map(count);
    [
        of(|t| t.input),
        of(|t| t.output),
        of(|t| t.cache_read),
        of(|t| t.cache_write),
        of(|t| t.reasoning),
    ]
}

fn millis(at: UnixMillis) -> i64 {
    at.0
}

fn word<T: Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}
