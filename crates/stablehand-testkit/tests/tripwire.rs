//! A minute of commands that the `read-only` profile allows, run for real among tripwires.
//!
//! `fuzz/tripwire` runs the same for as long as one likes.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::Command;

#[test]
fn what_the_read_only_profile_allows_only_reads() {
    let tables = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/policy");
    let mut tripwire = Command::new(env!("CARGO_BIN_EXE_tripwire"));
    // The same commands every time: new ones are for the fuzzer.
    tripwire.args(["--seconds", "60", "--seed", "1"]);
    for entry in std::fs::read_dir(tables).unwrap() {
        tripwire.arg("--commands").arg(entry.unwrap().path());
    }
    let done = tripwire.output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout) + String::from_utf8_lossy(&done.stderr);
    if done.status.code() == Some(77) {
        assert!(std::env::var_os("CI").is_none(), "a skip is a failure in CI: {said}");
        eprintln!("skipped: {said}");
        return;
    }
    assert!(done.status.success(), "{said}");
}
