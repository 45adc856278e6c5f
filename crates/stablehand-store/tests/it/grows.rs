//! The index against real files: what is in it after which change of the logs.

use crate::support::{Any, found, write};
use stablehand_core::record::DecisionKind;
use stablehand_store::{Budget, Store};

const LOG: &str = concat!(
    r#"{"time":"1970-01-01T00:00:01.000Z","level":"DEBUG","msg":"OPENED","ts":1000,"v":1,"log":"l1","program":"stablehand","version":"0.1.0","dialect":"cursor"}"#,
    "\n",
    r#"{"time":"1970-01-01T00:00:01.000Z","level":"INFO","msg":"agent_spawned","ts":1000,"run":"r1","agent":"cursor","cwd":"/home/rider/hay"}"#,
    "\n",
    r#"{"time":"1970-01-01T00:00:01.000Z","level":"DEBUG","msg":"prompt_given","ts":1000,"bytes":9,"text":"count the horses"}"#,
    "\n",
    r#"{"time":"1970-01-01T00:00:02.000Z","level":"DEBUG","msg":"raw_event","recv_ts":2000,"raw":{"type":"system","subtype":"init","session_id":"s1","model":"auto","cwd":"/home/rider/hay"}}"#,
    "\n",
    r#"{"time":"1970-01-01T00:00:03.000Z","level":"DEBUG","msg":"raw_event","recv_ts":3000,"raw":{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"There are twelve horses."}]},"session_id":"s1"}}"#,
    "\n",
    r#"{"time":"1970-01-01T00:00:04.000Z","level":"DEBUG","msg":"raw_event","recv_ts":4000,"raw":{"type":"result","subtype":"success","is_error":false,"duration_ms":2000,"result":"There are twelve horses.","session_id":"s1"}}"#,
    "\n",
    r#"{"time":"1970-01-01T00:00:05.000Z","level":"INFO","msg":"run_ended","ts":5000,"outcome":"success","ended_by":"agent","exit_code":0,"session_id":"s1","text":"the agent succeeded"}"#,
    "\n",
);

#[test]
fn a_log_is_found_grows_and_goes() -> Any {
    let folder = tempfile::tempdir()?;
    let log = LOG.replace("OPENED", DecisionKind::LogOpened.name());
    let half = log.len() / 2;
    write(folder.path(), "a.jsonl", log.get(..half).unwrap_or_default())?;
    let mut store = Store::open(folder.path())?;
    assert_eq!(store.refresh(Budget::UNLIMITED)?.indexed, 1);
    assert_eq!(found(&store, "twelve")?, 0);
    write(folder.path(), "a.jsonl", &log)?;
    store.refresh(Budget::UNLIMITED)?;
    assert_eq!(found(&store, "twelve")?, 1);
    let row: (String, String, String, i64) = store.database().query_row(
        "SELECT outcome, session, title, turns FROM runs",
        [],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
    )?;
    assert_eq!(row, ("success".into(), "s1".into(), "count the horses".into(), 1));
    // Another name is the same log; nothing is read twice.
    std::fs::rename(folder.path().join("a.jsonl"), folder.path().join("b.jsonl"))?;
    store.refresh(Budget::UNLIMITED)?;
    assert_eq!(found(&store, "horses")?, 2);
    std::fs::remove_file(folder.path().join("b.jsonl"))?;
    assert_eq!(store.refresh(Budget::UNLIMITED)?.forgotten, 1);
    assert_eq!(found(&store, "horses")?, 0);
    Ok(())
}
