//! Logs for tests, and what an index has to have in the end.

use stablehand_core::record::DecisionKind;
use stablehand_store::{Budget, Store};
use std::fmt::Write as _;
use std::path::Path;

pub(crate) type Any<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// So many passages have these words.
pub(crate) fn found(store: &Store, words: &str) -> rusqlite::Result<i64> {
    store
        .database()
        .query_row("SELECT count(*) FROM words WHERE words MATCH ?", [words], |row| row.get(0))
}

pub(crate) fn write(folder: &Path, name: &str, text: &str) -> std::io::Result<()> {
    std::fs::write(folder.join(name), text)
}

/// A log with several runs, each with some turns of text and tools.
pub(crate) fn log(id: &str, second: u64, runs: u32, calls: u32) -> String {
    let mut text = String::new();
    let mut ts = 1_700_000_000_000 + second * 1000;
    let mut line = |rest: String| {
        ts += 7;
        let _never_fails = writeln!(
            text,
            r#"{{"time":"2023-11-14T22:13:20.000Z","level":"DEBUG",{}}}"#,
            rest.replace("TS", &ts.to_string())
        );
    };
    line(format!(
        r#""msg":"{}","ts":TS,"v":1,"log":"{id}","program":"stablehand","version":"0.1.0","dialect":"cursor""#,
        DecisionKind::LogOpened.name()
    ));
    for run in 0..runs {
        line(format!(
            r#""msg":"agent_spawned","ts":TS,"run":"{id}-r{run}","agent":"cursor","cwd":"/home/rider/{id}""#
        ));
        line(format!(r#""msg":"prompt_given","ts":TS,"bytes":9,"text":"prompt {run} of {id}""#));
        let mut raw = |rest: String| {
            line(format!(
                r#""msg":"raw_event","recv_ts":TS,"raw":{{{rest},"session_id":"{id}-s{run}"}}"#
            ));
        };
        raw(r#""type":"system","subtype":"init","model":"auto","cwd":"/home/rider""#.into());
        for call in 0..calls {
            raw(format!(
                r#""type":"assistant","message":{{"role":"assistant","content":[{{"type":"text","text":"answer {call} of run {run} in {id}: horses, oats"}}]}}"#
            ));
            let tool = |end: &str| {
                format!(
                    r#""call_id":"c{run}-{call}","tool_call":{{"shellToolCall":{{"args":{{"command":"make hay{call}"}}{end}}}}}"#
                )
            };
            raw(format!(r#""type":"tool_call","subtype":"started",{}"#, tool("")));
            raw(format!(
                r#""type":"tool_call","subtype":"completed",{}"#,
                tool(&format!(
                    r#","result":{{"success":{{"command":"make","exitCode":0,"stdout":"bales {call} of {id}\n"}}}}"#
                ))
            ));
        }
        raw(r#""type":"result","subtype":"success","is_error":false,"duration_ms":20,"result":"done""#.into());
        line(
            r#""msg":"agent_exited","ts":TS,"event":{"type":"process.exited","exit":{"code":0},"forced":false,"leaked":0}"#
                .into(),
        );
        line(format!(
            r#""msg":"run_ended","ts":TS,"outcome":"success","ended_by":"agent","exit_code":0,"session_id":"{id}-s{run}","text":"the agent succeeded""#
        ));
    }
    text
}

/// What a fresh index of the same folder has.
pub(crate) fn fresh(folder: &Path) -> Any<String> {
    let copy = tempfile::tempdir()?;
    // An index of its own, of the same files under the same names.
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "jsonl")
            && let Some(name) = path.file_name()
        {
            let _unreadable_is_part_of_it = std::fs::hard_link(&path, copy.path().join(name));
        }
    }
    let mut store = Store::open(copy.path())?;
    store.refresh(Budget::UNLIMITED)?;
    assert_eq!(store.check()?, None);
    Ok(store.dump()?.replace(&copy.path().display().to_string(), &folder.display().to_string()))
}

/// Brings an index up to date and holds it against a fresh one.
pub(crate) fn assert_same(folder: &Path) -> Any {
    let mut store = Store::open(folder)?;
    let done = store.refresh(Budget::UNLIMITED)?;
    assert_eq!(done.behind, 0, "{done:?}");
    assert_eq!(store.check()?, None);
    same(&store.dump()?, &fresh(folder)?);
    Ok(())
}

/// Compares two dumps and shows where they differ.
pub(crate) fn same(got: &str, wanted: &str) {
    if got == wanted {
        return;
    }
    let pairs = got.lines().zip(wanted.lines());
    let (number, (left, right)) =
        pairs.enumerate().find(|(_, (a, b))| a != b).unwrap_or((0, ("", "")));
    panic!(
        "line {number} of {} and {}:\n got    {left}\n wanted {right}",
        got.lines().count(),
        wanted.lines().count()
    );
}

/// Numbers that only look like chance.
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit.max(1)
    }
}
