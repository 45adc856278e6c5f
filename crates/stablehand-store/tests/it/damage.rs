//! An index that was removed, cut short, overwritten or left behind by a kill: nobody has to repair
//! it by hand, and it comes to the same as a fresh one.

use crate::child;
use crate::support::{Any, Chance, assert_same, fresh, log, same, write};
use stablehand_store::{Budget, FILE, Store, StoreError};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::time::Duration;

/// So often each sort of damage is done.
const TIMES: u64 = 50;

fn folder() -> Any<tempfile::TempDir> {
    let folder = tempfile::tempdir()?;
    for number in 0..6 {
        let text = log(&format!("log{number}"), number, 2, 6);
        write(folder.path(), &format!("{number}.jsonl"), &text)?;
    }
    assert_same(folder.path())?;
    Ok(folder)
}

/// Does something to the bytes of the index, many times; after each, asking works and making it anew
/// gives the whole content.
fn damaged(does: impl Fn(&mut Vec<u8>, &mut Chance), is_noticed: bool) -> Any {
    let folder = folder()?;
    let wanted = fresh(folder.path())?;
    let path = folder.path().join(FILE);
    let mut chance = Chance(0x5eed);
    for _ in 0..TIMES {
        let mut bytes = std::fs::read(&path)?;
        does(&mut bytes, &mut chance);
        std::fs::write(&path, &bytes)?;
        let opened = Store::open(folder.path()).and_then(|mut store| {
            store.refresh(Budget::UNLIMITED)?;
            Ok(store)
        });
        match opened {
            Ok(store) if is_noticed => same(&store.dump()?, &wanted),
            Ok(_) => {}
            // One bit away from another version; whoever reads the hint removes it.
            Err(StoreError::Newer { path }) => Store::remove(&path)?,
            Err(error) => return Err(error.into()),
        }
        let (store, _) = Store::reindex(folder.path(), &mut |_| {})?;
        assert_eq!(store.check()?, None);
        same(&store.dump()?, &wanted);
    }
    Ok(())
}

#[test]
fn cut_short() -> Any {
    damaged(|bytes, chance| bytes.truncate(chance.below(bytes.len() as u64) as usize), false)
}

#[test]
fn flipped_bytes() -> Any {
    damaged(
        |bytes, chance| {
            for _ in 0..=chance.below(20) {
                let place = chance.below(bytes.len() as u64) as usize;
                bytes[place] ^= 1 << chance.below(8);
            }
        },
        false,
    )
}

#[test]
fn flipped_bytes_at_the_beginning() -> Any {
    damaged(
        |bytes, chance| {
            let place = chance.below(120) as usize;
            bytes[place] = chance.below(256) as u8;
        },
        false,
    )
}

#[test]
fn overwritten_with_anything() -> Any {
    damaged(
        |bytes, chance| {
            let length = chance.below(100_000) as usize;
            *bytes = (0..length).map(|_| chance.below(256) as u8).collect();
        },
        true,
    )
}

#[test]
fn removed_in_use_and_its_journal_left() -> Any {
    let folder = folder()?;
    let path = folder.path().join(FILE);
    for round in 0..TIMES {
        let mut open = Store::open(folder.path())?;
        let text = log(&format!("more{round}"), 50 + round, 1, 2);
        write(folder.path(), &format!("more{round}.jsonl"), &text)?;
        open.refresh(Budget::UNLIMITED)?;
        std::fs::remove_file(&path)?;
        // Somebody else, while the first still has the old one.
        Store::open(folder.path())?.refresh(Budget::UNLIMITED)?;
        drop(open);
        Store::open(folder.path())?.refresh(Budget::UNLIMITED)?;
    }
    assert_same(folder.path())
}

#[test]
fn killed_at_any_moment() -> Any {
    let folder = folder()?;
    let mut chance = Chance(77);
    for round in 0..TIMES {
        let text = log(&format!("more{round}"), 50 + round, 2, 30);
        write(folder.path(), &format!("more{round}.jsonl"), &text)?;
        let role = if round % 3 == 0 { "reindex" } else { "refresh" };
        let mut child = child::command(role, folder.path())?.spawn()?;
        std::thread::sleep(Duration::from_millis(5 + chance.below(60)));
        child.kill()?;
        child.wait()?;
        let store = Store::open(folder.path())?;
        assert_eq!(store.check()?, None, "round {round}");
        if round % 10 == 0 {
            assert_same(folder.path())?;
        }
    }
    assert_same(folder.path())
}

#[test]
fn a_folder_that_may_not_be_written_to() -> Any {
    let folder = folder()?;
    let open = |mode| {
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(folder.path(), permissions)
    };
    let said = |folder: &Path| -> Any<String> {
        let mut command = child::command("read", folder)?;
        command.stderr(std::process::Stdio::piped());
        if nix::unistd::geteuid().is_root() {
            // Nothing is forbidden to root.
            command.uid(65534).gid(65534);
        }
        let output = command.output()?;
        Ok(String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for entry in std::fs::read_dir(folder.path())? {
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o444);
        std::fs::set_permissions(entry?.path(), permissions)?;
    }
    open(0o555)?;
    assert_eq!(said(folder.path())?, "ReadOnly 12");
    open(0o755)?;
    for name in [FILE, "index.lock"] {
        std::fs::remove_file(folder.path().join(name))?;
    }
    open(0o555)?;
    assert_eq!(said(folder.path())?, "InMemory 12");
    open(0o755)?;
    Ok(())
}

/// Every table and index of the database in turn, also those that bringing it up to date never asks.
#[test]
fn a_missing_table_or_index_heals_when_it_is_opened() -> Any {
    let folder = folder()?;
    let wanted = fresh(folder.path())?;
    let parts = "SELECT type, name FROM sqlite_master
                 WHERE name NOT LIKE 'sqlite_%' AND name NOT LIKE 'words_%' AND name NOT LIKE 'signs_%'";
    let store = Store::open(folder.path())?;
    let mut parts = store.database().prepare(parts)?;
    let parts: Vec<(String, String)> =
        parts.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    assert!(parts.len() > 15, "{parts:?}");
    for (kind, name) in parts {
        Store::open(folder.path())?.database().execute_batch(&format!("DROP {kind} {name}"))?;
        let mut store = Store::open(folder.path())?;
        store.refresh(Budget::UNLIMITED)?;
        assert_eq!(store.check()?, None, "{name}");
        same(&store.dump()?, &wanted);
        let found = "SELECT count(*) FROM sqlite_master WHERE name = ?1";
        let found: i64 = store.database().query_row(found, [&name], |row| row.get(0))?;
        assert_eq!(found, 1, "{name}");
    }
    Ok(())
}
