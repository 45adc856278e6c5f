//! Files that are not what logs usually are, and what happens to them.

use crate::support::{Any, assert_same, found, fresh, log, same, write};
use stablehand_store::{Access, Budget, FILE, Store, StoreError};
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime};

#[test]
fn a_log_is_cut_short_and_goes_on() -> Any {
    let folder = tempfile::tempdir()?;
    let whole = log("l1", 1, 3, 4);
    write(folder.path(), "a.jsonl", &whole)?;
    assert_same(folder.path())?;
    for part in [2, 3, 5, 9] {
        write(folder.path(), "a.jsonl", whole.get(..whole.len() / part).unwrap_or_default())?;
        assert_same(folder.path())?;
        write(folder.path(), "a.jsonl", &whole)?;
        assert_same(folder.path())?;
    }
    Ok(())
}

#[test]
fn a_log_is_rewritten_with_the_same_size() -> Any {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("a.jsonl");
    let whole = log("l1", 1, 2, 4);
    std::fs::write(&path, &whole)?;
    let mut store = Store::open(folder.path())?;
    store.refresh(Budget::UNLIMITED)?;
    assert_eq!((found(&store, "horses")?, found(&store, "camels")?), (8, 0));
    std::fs::write(&path, whole.replace("horses", "camels"))?;
    // Two writes may fall into the same tick of the clock of the file system.
    let later = SystemTime::now() + Duration::from_secs(2);
    OpenOptions::new().append(true).open(&path)?.set_modified(later)?;
    store.refresh(Budget::UNLIMITED)?;
    assert_eq!((found(&store, "horses")?, found(&store, "camels")?), (0, 8));
    // Changed and continued at once.
    let more = log("l1", 1, 3, 4);
    assert!(more.starts_with(&whole));
    std::fs::write(&path, more)?;
    store.refresh(Budget::UNLIMITED)?;
    assert_eq!((found(&store, "horses")?, found(&store, "camels")?), (12, 0));
    assert_same(folder.path())
}

#[test]
fn another_log_takes_the_name() -> Any {
    let folder = tempfile::tempdir()?;
    write(folder.path(), "a.jsonl", &log("l1", 1, 1, 2))?;
    assert_same(folder.path())?;
    write(folder.path(), "a.jsonl", &log("l2", 2, 2, 3))?;
    assert_same(folder.path())?;
    // Two logs exchange their names.
    write(folder.path(), "b.jsonl", &log("l1", 1, 1, 2))?;
    assert_same(folder.path())?;
    let name = |name: &str| folder.path().join(name);
    std::fs::rename(name("a.jsonl"), name("c.jsonl"))?;
    std::fs::rename(name("b.jsonl"), name("a.jsonl"))?;
    std::fs::rename(name("c.jsonl"), name("b.jsonl"))?;
    assert_same(folder.path())?;
    let store = Store::open(folder.path())?;
    assert_eq!(found(&store, "horses")?, 8);
    // A log gives its place to nothing.
    write(folder.path(), "a.jsonl", "")?;
    assert_same(folder.path())?;
    assert_eq!(found(&store, "horses")?, 6);
    Ok(())
}

#[test]
fn copies_count_once() -> Any {
    let folder = tempfile::tempdir()?;
    let whole = log("l1", 1, 2, 2);
    let half = whole.get(..whole.len() / 2).unwrap_or_default();
    write(folder.path(), "m.jsonl", &whole)?;
    assert_same(folder.path())?;
    // Behind it and before it in the order of names; longer and shorter.
    write(folder.path(), "z.jsonl", &whole)?;
    assert_same(folder.path())?;
    write(folder.path(), "a.jsonl", &whole)?;
    assert_same(folder.path())?;
    write(folder.path(), "b.jsonl", half)?;
    assert_same(folder.path())?;
    write(folder.path(), "c.jsonl", &log("l1", 1, 3, 2))?;
    assert_same(folder.path())?;
    std::fs::hard_link(folder.path().join("c.jsonl"), folder.path().join("d.jsonl"))?;
    assert_same(folder.path())?;
    let mut store = Store::open(folder.path())?;
    assert_eq!(found(&store, "horses")?, 6);
    // Nothing is read twice: neither the log nor its copies.
    assert_eq!(store.refresh(Budget::UNLIMITED)?.indexed, 0);
    for gone in ["c.jsonl", "d.jsonl", "m.jsonl", "a.jsonl", "z.jsonl", "b.jsonl"] {
        std::fs::remove_file(folder.path().join(gone))?;
        assert_same(folder.path())?;
    }
    // The longest is cut short, and another one is the longest.
    write(folder.path(), "a.jsonl", &whole)?;
    write(folder.path(), "b.jsonl", half)?;
    assert_same(folder.path())?;
    write(folder.path(), "a.jsonl", half.get(..half.len() / 2).unwrap_or_default())?;
    assert_same(folder.path())
}

#[test]
fn what_is_no_log_does_no_harm() -> Any {
    let folder = tempfile::tempdir()?;
    write(folder.path(), "good.jsonl", &log("l1", 1, 1, 2))?;
    write(folder.path(), "empty.jsonl", "")?;
    write(folder.path(), "no-newline.jsonl", log("l3", 1, 1, 2).get(..90).unwrap_or_default())?;
    write(folder.path(), "text.jsonl", "hello\nthere\n")?;
    write(folder.path(), "notes.txt", &log("l2", 1, 1, 1))?;
    std::fs::write(folder.path().join("bytes.jsonl"), [0, 159, 146, 150, 10, 255, 10])?;
    std::fs::write(folder.path().join("zeros.jsonl"), vec![0u8; 300_000])?;
    std::fs::write(folder.path().join("long.jsonl"), vec![b'x'; 7 << 20])?;
    std::fs::create_dir(folder.path().join("folder.jsonl"))?;
    std::os::unix::fs::symlink("nowhere", folder.path().join("dangling.jsonl"))?;
    let whole = log("l3", 3, 2, 2);
    let torn = format!("{}\n", whole.replacen("assistant", "\u{0}", 3));
    write(folder.path(), "torn.jsonl", torn.get(..torn.len() - 40).unwrap_or_default())?;
    assert_same(folder.path())?;
    let mut store = Store::open(folder.path())?;
    assert_eq!(store.refresh(Budget::UNLIMITED)?.indexed, 0, "all of it is known by now");
    // The one without a newline gets it, and becomes a log.
    let mut file = OpenOptions::new().append(true).open(folder.path().join("no-newline.jsonl"))?;
    file.write_all(b",\"log\":\"l9\"}\n")?;
    assert_same(folder.path())?;
    let logs: i64 =
        store.database().query_row("SELECT count(*) FROM logs", [], |row| row.get(0))?;
    assert_eq!(logs, 7);
    Ok(())
}

#[test]
fn reading_goes_on_at_the_last_process() -> Any {
    // The same log, cut at every line, so that every state of it is gone on from.
    let whole = log("l1", 1, 3, 2);
    let folder = tempfile::tempdir()?;
    let mut store = Store::open(folder.path())?;
    for (end, _) in whole.match_indices('\n') {
        write(folder.path(), "a.jsonl", whole.get(..=end).unwrap_or_default())?;
        store.refresh(Budget::UNLIMITED)?;
    }
    same(&store.dump()?, &fresh(folder.path())?);
    let state: String =
        store.database().query_row("SELECT state FROM logs", [], |row| row.get(0))?;
    let state: serde_json::Value = serde_json::from_str(&state)?;
    let last = whole.rfind("agent_spawned").unwrap_or_default();
    let at = state.pointer("/restart/at").and_then(serde_json::Value::as_u64);
    assert!(at.is_some_and(|at| (last - 200..last).contains(&(at as usize))), "{state}");
    Ok(())
}

#[test]
fn an_index_of_a_newer_version_is_left_alone() -> Any {
    let folder = tempfile::tempdir()?;
    write(folder.path(), "a.jsonl", &log("l1", 1, 1, 1))?;
    Store::open(folder.path())?.refresh(Budget::UNLIMITED)?;
    let path = folder.path().join(FILE);
    rusqlite::Connection::open(&path)?.pragma_update(None, "user_version", 99)?;
    let before = std::fs::read(&path)?;
    let opened = Store::open(folder.path());
    assert!(matches!(opened, Err(StoreError::Newer { .. })), "{opened:?}");
    let remade = Store::reindex(folder.path(), &mut |_| {});
    assert!(matches!(remade, Err(StoreError::Newer { .. })), "{remade:?}");
    assert!(std::fs::read(&path)? == before);
    Ok(())
}

#[test]
fn a_folder_that_is_not_there_has_no_logs() -> Any {
    let folder = tempfile::tempdir()?;
    let mut store = Store::open(&folder.path().join("logs"))?;
    assert_eq!(store.access(), Access::InMemory);
    assert_eq!(store.refresh(Budget::UNLIMITED)?.indexed, 0);
    assert!(!folder.path().join("logs").exists());
    Ok(())
}

#[test]
fn newer_logs_have_higher_numbers() -> Any {
    let folder = tempfile::tempdir()?;
    for (name, second) in [("a", 50), ("b", 10), ("c", 90), ("d", 10)] {
        write(folder.path(), &format!("{name}.jsonl"), &log(name, second, 1, 1))?;
        Store::open(folder.path())?.refresh(Budget::UNLIMITED)?;
    }
    let store = Store::open(folder.path())?;
    let mut keys = store.database().prepare("SELECT key FROM logs ORDER BY id DESC")?;
    let keys: Vec<String> = keys.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    assert_eq!(keys.get(..2), Some(&["c".to_owned(), "a".to_owned()][..]));
    Ok(())
}

/// The number of a file that was removed is given to the next that is made.
#[test]
fn a_removed_log_is_forgotten_though_another_file_has_its_number() -> Any {
    let folder = tempfile::tempdir()?;
    for id in ["a", "b", "c"] {
        write(folder.path(), &format!("{id}.jsonl"), &log(id, 0, 1, 1))?;
    }
    let mut store = Store::open(folder.path())?;
    store.refresh(Budget::UNLIMITED)?;
    for (removed, heir) in [("a.jsonl", "index.sqlite"), ("b.jsonl", "c.jsonl")] {
        let inode = std::fs::metadata(folder.path().join(heir))?.ino();
        let path = folder.path().join(removed);
        store.database().execute(
            "UPDATE logs SET inode = ? WHERE path = ?",
            rusqlite::params![inode, path.display().to_string()],
        )?;
        std::fs::remove_file(&path)?;
        assert_eq!(store.refresh(Budget::UNLIMITED)?.forgotten, 1, "{removed}");
    }
    Ok(())
}
