//! Logs that are torn, cut, mixed with other text or newer than we are: everything whole in them is in
//! the index, indexing never fails, and whoever indexes such a log while it grows comes to the same as
//! whoever has all of it at once.

use crate::support::{Any, Chance, assert_same, found, fresh, log, same};
use stablehand_core::record::DecisionKind;
use stablehand_store::{Budget, Store};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

/// What stands on lines of its own and is no record.
const NOISE: &[&[u8]] = &[
    b"",
    b"17",
    b"null",
    b"{}",
    b"[1,2",
    b"not a record",
    b"\r",
    b"{\"msg\":5}",
    b"{\"msg\":\"raw_event\"}",
    b"{\"msg\":\"raw_event\",\"recv_ts\":\"x\",\"raw_b64\":\"!\"}",
    b"{\"time\":\"2026-10-03T02:24:57.441Z\",\"level\":\"DEBUG\",\"msg\":\"raw_ev",
    b"{\"msg\":\"stderr\",\"recv_ts\":1,\"line\":\"half a letter \xe2\x82\"}",
    b"\xff\xfe\x00h\x00o\x00r\x00s\x00e\x00s",
    b"\0\0\0\0\0\0\0\0",
];

/// Records that we did not write: of a newer version, of another log, or with wrong sorts of values.
const STRANGE: &[&[u8]] = &[
    b"{\"msg\":\"log_opened\",\"ts\":1,\"v\":99,\"log\":\"another\",\"dialect\":\"of the future\"}",
    b"{\"msg\":\"log_opened\",\"ts\":1,\"v\":1,\"log\":\"another\",\"dialect\":\"codex\"}",
    b"{\"msg\":\"something_new\",\"ts\":-9223372036854775808,\"what\":[{}]}",
    b"{\"msg\":\"raw_part\",\"recv_ts\":5,\"raw_text\":\"a part without an end\"}",
    b"{\"msg\":\"stderr\",\"recv_ts\":9223372036854775807,\"line\":\"from the end of time\\u0000\\ud800\"}",
    b"{\"msg\":\"agent_spawned\",\"ts\":\"soon\",\"run\":17,\"agent\":{},\"cwd\":[]}",
    b"{\"msg\":\"hang_detected\",\"ts\":9223372036854775807,\"verdict\":{},\"limit_ms\":-1}",
    b"{\"msg\":\"run_ended\",\"outcome\":\"trampled\",\"exit_code\":18446744073709551615,\"verdict\":17}",
    b"{\"msg\":\"approval_resolved\",\"ts\":2,\"id\":\"\",\"message\":\"\\u0000\"}",
];

/// Two runs of a few lines, the first without an end.
fn small() -> String {
    let whole = log("l1", 1, 2, 1);
    let is_end = |line: &str| line.contains("run_ended") || line.contains("agent_exited");
    let lines: Vec<&str> = whole.lines().collect();
    let first_end = lines.iter().position(|line| is_end(line)).unwrap_or(lines.len());
    let kept = lines.iter().enumerate();
    let kept = kept.filter(|(n, line)| !(is_end(line) && *n < first_end + 2));
    // The result too, so that a command and a text are open when the second run begins.
    let kept = kept.filter(|(n, _)| *n + 1 != first_end && *n + 2 != first_end);
    kept.fold(String::new(), |text, (_, line)| text + line + "\n")
}

/// The same in as few bytes as can be, for tests that look at every one of them.
const TINY: &str = concat!(
    r#"{"msg":"OPENED","ts":1,"v":1,"log":"l1","dialect":"cursor"}"#,
    "\n",
    r#"{"msg":"agent_spawned","ts":2,"run":"r1"}"#,
    "\n",
    r#"{"msg":"raw_event","recv_ts":3,"raw":{"type":"assistant","message":{"content":[{"type":"text","text":"h\u00e4y für 🐎"}]}}}"#,
    "\n",
    r#"{"msg":"raw_event","recv_ts":4,"raw":{"type":"tool_call","subtype":"started","call_id":"c","tool_call":{"shellToolCall":{"args":{"command":"make"}}}}}"#,
    "\n",
    r#"{"msg":"agent_spawned","ts":5,"run":"r2"}"#,
    "\n",
    r#"{"msg":"stderr","recv_ts":6,"line":"low on oats"}"#,
    "\n",
    r#"{"msg":"run_ended","ts":7,"outcome":"success"}"#,
    "\n",
);

fn tiny() -> String {
    TINY.replace("OPENED", DecisionKind::LogOpened.name())
}

/// The file has just this, as if it had never been longer.
fn begin(path: &Path, bytes: &[u8]) -> Any {
    Ok(std::fs::write(path, bytes)?)
}

/// An index that knows whether it was made anew: what cannot be written mends itself in that way, and
/// costs the time of reading every log.
fn marked(folder: &Path) -> Any<Store> {
    let store = Store::open(folder)?;
    store.database().execute("CREATE TABLE mark (here)", [])?;
    Ok(store)
}

fn was_not_made_anew(store: &Store) -> Any {
    store.database().query_row("SELECT count(*) FROM mark", [], |_| Ok(()))?;
    Ok(())
}

fn append(path: &Path, bytes: &[u8]) -> Any {
    Ok(OpenOptions::new().append(true).open(path)?.write_all(bytes)?)
}

#[test]
fn a_log_that_is_cut_at_any_byte_and_goes_on() -> Any {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("a.jsonl");
    let tiny = tiny();
    let whole = tiny.as_bytes();
    begin(&path, whole)?;
    let mut store = marked(folder.path())?;
    store.refresh(Budget::UNLIMITED)?;
    let wanted = fresh(folder.path())?;
    same(&store.dump()?, &wanted);
    for cut in 0..whole.len() {
        let (head, tail) = whole.split_at(cut);
        begin(&path, head)?;
        store.refresh(Budget::UNLIMITED)?;
        // The rest of the write arrives.
        append(&path, tail)?;
        store.refresh(Budget::UNLIMITED)?;
        same(&store.dump()?, &wanted);
    }
    assert_eq!(store.check()?, None);
    was_not_made_anew(&store)
}

#[test]
fn a_log_that_is_torn_at_any_byte_and_written_on() -> Any {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("a.jsonl");
    let tiny = tiny();
    let first_line = tiny.find('\n').unwrap_or_default();
    let second_run = tiny.rfind(r#"{"msg":"agent_spawned""#).unwrap_or_default();
    let whole = tiny.as_bytes();
    let mut store = marked(folder.path())?;
    // A power cut took the end of the first run; somebody wrote on behind what was left, on the same
    // line or on the next. At every other byte, for the time that it takes.
    for cut in (first_line + 1..second_run).step_by(2) {
        for between in [&b""[..], b"\0\0\0\n"] {
            begin(&path, &whole[..cut])?;
            store.refresh(Budget::UNLIMITED)?;
            append(&path, between)?;
            store.refresh(Budget::UNLIMITED)?;
            append(&path, &whole[second_run..])?;
            store.refresh(Budget::UNLIMITED)?;
        }
        assert_eq!(found(&store, "oats")?, 1, "the second run is whole, cut at {cut}");
        if cut % 5 == 0 {
            same(&store.dump()?, &fresh(folder.path())?);
        }
    }
    assert_eq!(store.check()?, None);
    was_not_made_anew(&store)
}

/// The log with something on a line of its own before line `at`.
fn with_line(lines: &[&str], at: usize, noise: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (n, line) in lines.iter().enumerate() {
        if n == at {
            bytes.extend_from_slice(noise);
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
    }
    bytes
}

/// What is in the index, without how much of it was no record.
fn content(dump: &str) -> String {
    dump.lines()
        .filter(|line| !line.starts_with("logs\t"))
        .fold(String::new(), |text, line| text + line + "\n")
}

#[test]
fn what_is_no_record_changes_nothing() -> Any {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("a.jsonl");
    let whole = small();
    let lines: Vec<&str> = whole.lines().collect();
    begin(&path, whole.as_bytes())?;
    let wanted = content(&fresh(folder.path())?);
    let mut store = marked(folder.path())?;
    for noise in NOISE {
        for at in 1..lines.len() {
            begin(&path, &with_line(&lines, at, noise))?;
            store.refresh(Budget::UNLIMITED)?;
            same(&content(&store.dump()?), &wanted);
        }
        let skipped: i64 =
            store.database().query_row("SELECT skipped FROM logs", [], |row| row.get(0))?;
        assert_eq!(skipped, i64::from(!noise.is_empty()), "{}", String::from_utf8_lossy(noise));
    }
    was_not_made_anew(&store)?;
    assert_same(folder.path())
}

#[test]
fn records_of_others_cost_none_of_ours() -> Any {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("a.jsonl");
    let whole = small();
    let lines: Vec<&str> = whole.lines().collect();
    let mut store = marked(folder.path())?;
    for strange in STRANGE {
        for at in 1..=lines.len() {
            let bytes = with_line(&lines, at, strange);
            let (head, tail) = bytes.split_at(bytes.len() * at / (lines.len() + 1));
            begin(&path, head)?;
            store.refresh(Budget::UNLIMITED)?;
            append(&path, tail)?;
            store.refresh(Budget::UNLIMITED)?;
            // Behind the beginning of another log the lines are those of another agent.
            let is_ours =
                !strange.windows(10).any(|part| part == DecisionKind::LogOpened.name().as_bytes());
            let commands = found(&store, "hay0")?;
            assert!(commands >= 2 || !is_ours, "{}", String::from_utf8_lossy(strange));
            if at % 4 == 0 {
                same(&store.dump()?, &fresh(folder.path())?);
            }
        }
        was_not_made_anew(&store)?;
        drop(store);
        let (remade, _) = Store::reindex(folder.path(), &mut |_| {})?;
        same(&remade.dump()?, &fresh(folder.path())?);
        store = marked(folder.path())?;
    }
    assert_same(folder.path())
}

#[test]
fn a_folder_of_logs_that_everything_happened_to() -> Any {
    let folder = tempfile::tempdir()?;
    let mut chance = Chance(0xda_4a9e);
    let mut store = marked(folder.path())?;
    for number in 0..60 {
        let mut bytes = log(&format!("log{number}"), number, 2, 3).into_bytes();
        for _ in 0..=chance.below(4) {
            let place = chance.below(bytes.len() as u64 + 1) as usize;
            let length = chance.below(300) as usize;
            match chance.below(6) {
                0 => bytes.truncate(place),
                1 => bytes.splice(place..place, vec![0; length]).for_each(drop),
                2 => {
                    let end = (place + length).min(bytes.len());
                    bytes.drain(place..end);
                }
                3 => {
                    for byte in bytes.iter_mut().skip(place).take(length) {
                        *byte = chance.below(256) as u8;
                    }
                }
                4 => {
                    let noise = NOISE[chance.below(NOISE.len() as u64) as usize];
                    bytes.splice(place..place, [b"\n", noise, b"\n"].concat()).for_each(drop);
                }
                _ => {
                    let strange = STRANGE[chance.below(STRANGE.len() as u64) as usize];
                    bytes.splice(place..place, [b"\n", strange, b"\n"].concat()).for_each(drop);
                }
            }
        }
        // As it grows: a part of it is indexed before the rest is there.
        let path = folder.path().join(format!("{number}.jsonl"));
        let half = chance.below(bytes.len() as u64 + 1) as usize;
        begin(&path, &bytes[..half])?;
        store.refresh(Budget::UNLIMITED)?;
        append(&path, &bytes[half..])?;
    }
    store.refresh(Budget::UNLIMITED)?;
    was_not_made_anew(&store)?;
    assert_same(folder.path())?;
    let (remade, _) = Store::reindex(folder.path(), &mut |_| {})?;
    assert_eq!(remade.check()?, None);
    same(&remade.dump()?, &fresh(folder.path())?);
    Ok(())
}
