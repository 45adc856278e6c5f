//! This program once more, as a process that can be killed.

use crate::support::Any;
use stablehand_store::{Budget, Filler, Store};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What the process is to do, and where.
const ROLE: &str = "STORE_TEST_ROLE";
const PLACE: &str = "STORE_TEST_PLACE";

/// A process that does one thing in a folder.
pub(crate) fn command(role: &str, place: &Path) -> Any<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--exact", "child::child", "--nocapture"]).env(ROLE, role).env(PLACE, place);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    Ok(command)
}

/// Waits for it, with a bound; whether it did what it should.
pub(crate) fn wait(mut child: Child) -> Any<bool> {
    let until = Instant::now() + Duration::from_mins(1);
    while Instant::now() < until {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill()?;
    child.wait()?;
    Ok(false)
}

/// Not a test: what such a process does. Without a role it does nothing.
#[test]
fn child() -> Any {
    let (Ok(role), Some(place)) = (std::env::var(ROLE), std::env::var_os(PLACE)) else {
        return Ok(());
    };
    let place = PathBuf::from(place);
    match role.as_str() {
        "refresh" => {
            Store::open(&place)?.refresh(Budget::UNLIMITED)?;
        }
        "reindex" => {
            Store::reindex(&place, &mut |_| {})?;
        }
        // A run whose log grows, as far as the index is concerned.
        "fill" => {
            let _filler = Filler::start(&place, None, || {});
            std::thread::sleep(Duration::from_mins(3));
        }
        "read" => {
            let mut store = Store::open(&place)?;
            store.refresh(Budget::UNLIMITED)?;
            let runs: i64 =
                store.database().query_row("SELECT count(*) FROM runs", [], |row| row.get(0))?;
            write!(std::io::stderr(), "{:?} {runs}", store.access())?;
        }
        other => return Err(other.into()),
    }
    Ok(())
}
