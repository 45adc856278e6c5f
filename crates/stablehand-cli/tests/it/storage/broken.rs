//! Disks that fail in mid-run: read-only from now on, errors on every access, pages that are never
//! written back.

use super::{LoopDisk, NO_MOUNT};
use crate::support::{agent_output, env, run, secs, skip};
use stablehand_testkit::{LogFile, TestEnv};
use std::fs;

/// A way in which a disk fails; false where the machine cannot do it.
type Harm = fn(&LoopDisk) -> bool;

const FORMATS: [&str; 3] = ["stream-json", "text", "events"];
const SCRIPT: &str = "init\nassistant Before.\nwait-file go\nassistant After.\nresult Done.";
const WRITTEN: &str = "init\nassistant Before.\nassistant After.\nresult Done.";

fn go(env: &TestEnv) {
    fs::write(env.record_dir().join("go"), "").unwrap();
}

#[test]
fn a_disk_that_fails_costs_no_output() {
    let harms: [(&str, Harm); 2] =
        [("read-only", LoopDisk::make_read_only), ("errors", LoopDisk::shut_down)];
    for (name, harm) in harms {
        for format in FORMATS {
            let env = env(SCRIPT);
            env.damages_logs();
            let Some(disk) = LoopDisk::mount(&env) else { return skip(NO_MOUNT) };
            let run = run(&env).flag("--log-dir", disk.logs()).flag("--output-format", format);
            let running = run.deadline(secs(20)).start();
            running.wait_for_stdout("Before");
            if !harm(&disk) {
                skip(&format!("{name}: mount or python3 cannot do this here"));
                continue;
            }
            go(&env);
            let run = running.finish();
            run.assert_code(0);
            assert!(run.stderr.contains("cannot be written"), "{name}, {format}: {}", run.stderr);
            assert!(run.stderr.contains(disk.logs().to_str().unwrap()), "{}", run.stderr);
            assert!(run.stdout_text().contains("After"), "{name}, {format}");
            if format == "stream-json" {
                assert!(run.stdout == agent_output(WRITTEN), "{name}");
            }
        }
    }
}

#[test]
fn a_slow_reader_whose_bytes_cannot_be_read_any_more_is_told_by_the_exit_status() {
    const SCRIPT: &str =
        "init\nevents assistant 20000 block\nwait-file go\nassistant After.\nresult Done.";
    for format in FORMATS {
        let env = env(SCRIPT);
        env.damages_logs();
        let Some(disk) = LoopDisk::mount(&env) else { return skip(NO_MOUNT) };
        let run = run(&env).flag("--log-dir", disk.logs()).flag("--output-format", format);
        let mut running = run.stdout_unread().deadline(secs(40)).start();
        let is_long =
            |path: &std::path::PathBuf| fs::metadata(path).is_ok_and(|it| it.len() > 4 << 20);
        env.wait_for("a long log", || LogFile::paths_in(&disk.logs()).iter().any(is_long));
        if !disk.shut_down() {
            return skip("python3 cannot shut the file system down here");
        }
        running.read_stdout_now();
        go(&env);
        let run = running.finish();
        run.assert_code(1);
        assert!(run.stderr.contains("output is incomplete"), "{format}: {}", run.stderr);
        assert!(run.stdout_text().contains("After"), "{format}: what follows is shown");
    }
}

/// The writes succeed, and the pages are lost later: only `fdatasync` says so.
#[test]
fn a_disk_that_does_not_keep_what_it_took_is_reported() {
    for required in [false, true] {
        let env =
            env("init\nevents thinking 20000 block\nsleep 2500ms\nassistant After.\nresult Done.");
        env.damages_logs();
        let Some(disk) = LoopDisk::overbooked(&env) else { return skip(NO_MOUNT) };
        let run = run(&env).flag("--log-dir", disk.logs()).flag("--stop-grace", "1s");
        let run = run.flag("--idle-timeout", "10s");
        let run = if required { run.args(["--log-required"]) } else { run };
        let run = run.deadline(secs(40)).finish();
        run.assert_code(i32::from(required));
        assert!(run.stderr.contains("did not keep all of the log"), "{}", run.stderr);
        assert!(run.stderr.contains(disk.logs().to_str().unwrap()), "{}", run.stderr);
    }
}
