//! A run fills the index while it goes on; whatever happens to the index, the run does not notice.

use crate::child;
use crate::support::{Any, assert_same, found, log, write};
use stablehand_store::{Budget, FILE, Filler, Store};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

/// Waits until the index has so many passages with a word, without bringing it up to date.
fn wait_for(folder: &Path, word: &str, wanted: i64) -> Any {
    let until = Instant::now() + Duration::from_mins(1);
    let mut last = -1;
    while Instant::now() < until {
        if folder.join(FILE).exists() {
            last = found(&Store::open(folder)?, word)?;
            if last == wanted {
                return Ok(());
            }
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Err(format!("{last} of {wanted} passages with `{word}`").into())
}

#[test]
fn a_log_is_filled_in_as_it_grows_whatever_it_is_called() -> Any {
    let folder = tempfile::tempdir()?;
    let text = log("l1", 1, 2, 20);
    let half = text.find("l1-r1").and_then(|end| text.get(..end)?.rfind('\n')).unwrap_or(0);
    let (first, second) = text.split_at(half + 1);
    let old = folder.path().join("unknown.jsonl");
    std::fs::write(&old, first)?;
    let filler = Filler::start(&old, None, || {});
    let path = folder.path().join("named.jsonl");
    std::fs::rename(&old, &path)?;
    wait_for(folder.path(), "horses", 20)?;
    OpenOptions::new().append(true).open(&path)?.write_all(second.as_bytes())?;
    wait_for(folder.path(), "horses", 40)?;
    assert_eq!(filler.trouble(), None);
    drop(filler);
    let mut store = Store::open(folder.path())?;
    assert_eq!(store.refresh(Budget::UNLIMITED)?.forgotten, 0);
    assert_same(folder.path())
}

#[test]
fn an_index_that_is_made_anew_or_destroyed_is_filled_again() -> Any {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("a.jsonl");
    std::fs::write(&path, log("l1", 1, 1, 10))?;
    let filler = Filler::start(&path, None, || {});
    wait_for(folder.path(), "horses", 10)?;
    Store::reindex(folder.path(), &mut |_| {})?;
    std::fs::write(&path, log("l1", 1, 2, 10))?;
    wait_for(folder.path(), "horses", 20)?;
    Store::remove(&folder.path().join(FILE))?;
    std::fs::write(&path, log("l1", 1, 3, 10))?;
    wait_for(folder.path(), "horses", 30)?;
    assert_eq!(filler.trouble(), None);
    drop(filler);
    assert_same(folder.path())
}

#[test]
fn a_large_log_is_left_to_its_run_while_that_lives() -> Any {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("a.jsonl");
    // Few and large, since the thread that fills hardly gets the processor on a busy machine.
    let large = |runs| log("l1", 1, runs, 50).replace("oats", &"oats ".repeat(6000));
    let text = large(1);
    assert!(text.len() > 1 << 20);
    std::fs::write(&path, &text)?;
    let mut run = child::command("fill", &path)?.spawn()?;
    wait_for(folder.path(), "horses", 50)?;
    let mut store = Store::open(folder.path())?;
    // It is touched all the time: as soon as the run has caught up, it is new again.
    let until = Instant::now() + Duration::from_mins(1);
    let more = large(2);
    let mut left_alone = false;
    for end in (text.len()..more.len()).step_by(997) {
        std::fs::write(&path, more.get(..end).unwrap_or_default())?;
        left_alone |= store.refresh(Budget::UNLIMITED)?.indexed == 0;
        if left_alone || Instant::now() > until {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    run.kill()?;
    run.wait()?;
    assert!(left_alone, "every look read it again");
    std::fs::write(&path, &more)?;
    // Nobody fills it any more, so nobody is waited for.
    store.refresh(Budget::UNLIMITED)?;
    assert_eq!(found(&store, "horses")?, 100);
    assert_same(folder.path())
}

#[test]
fn killed_while_filling() -> Any {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("a.jsonl");
    for round in 0..6 {
        std::fs::write(&path, log("l1", 1, round + 1, 60))?;
        let mut run = child::command("fill", &path)?.spawn()?;
        std::thread::sleep(Duration::from_millis(500 + 40 * u64::from(round)));
        run.kill()?;
        run.wait()?;
        assert_eq!(Store::open(folder.path())?.check()?, None);
    }
    assert_same(folder.path())
}

#[test]
fn a_folder_without_room_or_rights_is_no_trouble_for_anybody() -> Any {
    // There is no such folder, and no such log.
    let folder = tempfile::tempdir()?;
    let filler = Filler::start(&folder.path().join("none").join("a.jsonl"), None, || {});
    assert!(filler.trouble().is_some());
    // The index of a newer version is not touched.
    let path = folder.path().join("a.jsonl");
    write(folder.path(), "a.jsonl", &log("l1", 1, 1, 1))?;
    Store::open(folder.path())?.refresh(Budget::UNLIMITED)?;
    let index = folder.path().join(FILE);
    rusqlite::Connection::open(&index)?.pragma_update(None, "user_version", 99)?;
    let before = std::fs::read(&index)?;
    let filler = Filler::start(&path, None, || {});
    let until = Instant::now() + Duration::from_secs(20);
    while filler.trouble().is_none() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(filler.trouble().is_some_and(|text| text.contains("newer version")));
    assert!(std::fs::read(&index)? == before);
    Ok(())
}
