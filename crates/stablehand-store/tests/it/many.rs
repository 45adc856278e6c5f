//! Many at once: processes and threads that refresh and fill the same folder while logs grow, get
//! other names and go.

use crate::support::{Any, Chance, assert_same, log, write};
use crate::{child, support};
use stablehand_store::{Budget, Store};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Writes a log in pieces of any length, as a run does, with its new name in between.
fn grow(folder: &Path, number: u64) -> Any {
    let mut chance = Chance(number * 7919 + 1);
    let text = log(&format!("log{number}"), number, 3, 8);
    let mut path = folder.join(format!("stablehand-{number}-unknown.jsonl"));
    let mut left = text.as_bytes();
    while !left.is_empty() {
        let (now, later) = left.split_at((1 + chance.below(900) as usize).min(left.len()));
        OpenOptions::new().create(true).append(true).open(&path)?.write_all(now)?;
        left = later;
        if chance.below(6) == 0 {
            let name = folder.join(format!("stablehand-{number}-{}.jsonl", left.len()));
            std::fs::hard_link(&path, &name)?;
            std::fs::remove_file(&path)?;
            path = name;
        }
        std::thread::sleep(Duration::from_millis(chance.below(4)));
    }
    if number.is_multiple_of(5) {
        std::fs::remove_file(path)?;
    }
    Ok(())
}

#[test]
fn eight_at_once_come_to_the_same_as_one() -> Any {
    let folder = tempfile::tempdir()?;
    let place = folder.path();
    for number in 100..110 {
        write(place, &format!("old-{number}.jsonl"), &log(&format!("log{number}"), number, 2, 5))?;
    }
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let growing: Vec<_> = (0..4)
            .map(|n| scope.spawn(move || (0..5).try_for_each(|i| grow(place, n * 5 + i)).is_ok()))
            .collect();
        let asking: Vec<_> = (0..8)
            .map(|number| {
                let is_over = &is_over;
                scope.spawn(move || -> Result<(), String> {
                    let text = |error: &dyn std::fmt::Display| error.to_string();
                    while !is_over.load(Ordering::Relaxed) {
                        match number {
                            // Threads of one process, two of which make it anew.
                            0..=2 => {
                                let mut store = Store::open(place).map_err(|e| text(&e))?;
                                store.refresh(Budget::UNLIMITED).map_err(|e| text(&e))?;
                            }
                            3 => {
                                Store::reindex(place, &mut |_| {}).map_err(|e| text(&e))?;
                            }
                            // Processes of their own.
                            4 => {
                                let child =
                                    child::command("reindex", place).map_err(|e| text(&e))?.spawn();
                                if !child::wait(child.map_err(|e| text(&e))?)
                                    .map_err(|e| text(&e))?
                                {
                                    return Err("a reindex failed".into());
                                }
                            }
                            _ => {
                                let child =
                                    child::command("refresh", place).map_err(|e| text(&e))?.spawn();
                                if !child::wait(child.map_err(|e| text(&e))?)
                                    .map_err(|e| text(&e))?
                                {
                                    return Err("a refresh failed".into());
                                }
                            }
                        }
                    }
                    Ok(())
                })
            })
            .collect();
        let grew = growing.into_iter().all(|it| it.join().unwrap_or(false));
        is_over.store(true, Ordering::Relaxed);
        assert!(grew);
        for it in asking {
            assert_eq!(it.join().ok(), Some(Ok(())));
        }
    });
    assert_same(place)
}

#[test]
fn two_who_index_one_log_count_it_once() -> Any {
    let folder = tempfile::tempdir()?;
    let text = log("l1", 1, 2, 40);
    let mut chance = Chance(5);
    let mut stores = [Store::open(folder.path())?, Store::open(folder.path())?];
    let mut end = 0;
    while end < text.len() {
        end = (end + chance.below(3000) as usize).min(text.len());
        write(folder.path(), "a.jsonl", text.get(..end).unwrap_or_default())?;
        if let Some(store) = stores.get_mut(chance.below(2) as usize) {
            store.refresh(Budget::UNLIMITED)?;
        }
    }
    support::same(&stores[0].dump()?, &support::fresh(folder.path())?);
    assert_same(folder.path())
}

/// Ten thousand here, for the time that it takes; that it does not grow with the square is what
/// matters.
#[test]
fn a_folder_with_very_many_logs() -> Any {
    let folder = tempfile::tempdir()?;
    let text = log("NAME", 1, 1, 0);
    for number in 0..10_000 {
        write(
            folder.path(),
            &format!("{number}.jsonl"),
            &text.replace("NAME", &format!("l{number}")),
        )?;
    }
    let began = Instant::now();
    let mut store = Store::open(folder.path())?;
    assert_eq!(store.refresh(Budget::UNLIMITED)?.indexed, 10_000);
    let took = began.elapsed();
    assert!(took < Duration::from_mins(1), "{took:?}");
    let began = Instant::now();
    assert_eq!(store.refresh(Budget::UNLIMITED)?.indexed, 0);
    assert!(began.elapsed() < took, "{:?}", began.elapsed());
    let runs: i64 =
        store.database().query_row("SELECT count(*) FROM runs", [], |row| row.get(0))?;
    assert_eq!(runs, 10_000);
    Ok(())
}
