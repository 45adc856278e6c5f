//! The log: where it is, who may read it, what is in it, and what happens when it cannot be written.

use crate::support::{GOOD, agent_output, env, print, run, secs, skip};
use nix::mount::{MsFlags, mount, umount};
use nix::sched::{CloneFlags, unshare};
use serde_json::json;
use stablehand_testkit::TestEnv;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn the_file_is_private_and_named_after_the_session() {
    let env = env("init s-42\nresult done");
    print(&env).finish().assert_code(0);
    let log = env.log();
    let name = log.path.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("cursor-wrap-") && name.ends_with("-s-42.jsonl"), "{name}");
    assert_eq!((mode(&log.path), mode(&env.log_dir())), (0o600, 0o700));
}

#[test]
fn the_default_folder_is_in_the_home() {
    let env = env(GOOD);
    print(&env).without("--log-dir").finish().assert_code(0);
    let folder = env.home().join(".cursor-wrap/logs");
    assert_eq!(stablehand_testkit::LogFile::all_in(&folder).len(), 1);
}

#[test]
fn it_tells_the_run_from_spawn_to_end() {
    let env = env("
        init s-1
        shell c1 30s make
        stderr a warning
        shell-done c1 0 1s make
        result done
    ");
    print(&env).finish().assert_code(0);
    let log = env.log();
    let order = ["agent_spawned", "session_started", "tool_call_opened", "tool_call_completed"];
    let places = order.map(|name| log.names().iter().position(|found| *found == name));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{:?}", log.names());
    let argv = log.one("agent_spawned")["argv"].as_array().unwrap();
    assert_eq!(argv[1..4], [json!("--print"), json!("--output-format"), json!("stream-json")]);
    assert_eq!(log.one("session_started")["session_id"], "s-1");
    assert_eq!(log.one("agent_exited")["exit_code"], 0);
    assert_eq!(log.stderr_bytes(), b"a warning\n");
    assert_eq!(log.last()["msg"], "run_ended");
    for record in &log.records {
        assert!(record["time"].is_string() && record["level"].is_string(), "{record:?}");
    }
}

#[test]
fn the_prompt_is_not_on_the_command_line() {
    let env = env(GOOD);
    env.cursor_wrap().args(["-p", "a secret prompt"]).finish().assert_code(0);
    assert!(!env.argv(1).join(" ").contains("secret"));
}

#[test]
fn each_invocation_has_a_file_of_its_own() {
    let env = env(&format!("{GOOD}\n---\n{GOOD}"));
    print(&env).finish().assert_code(0);
    print(&env).finish().assert_code(0);
    assert_eq!(env.logs().len(), 2);
}

#[test]
fn a_folder_that_cannot_be_made_exits_73_before_the_agent_starts() {
    let env = env(GOOD);
    // Below a file nobody can make a folder, not even root.
    let folder = env.path("script").join("logs");
    let finished = print(&env).flag("--log-dir", &folder).finish();
    finished.assert_code(73).assert_within(secs(3));
    assert!(finished.stderr.contains("logs"), "{}", finished.stderr);
    run(&env).flag("--log-dir", &folder).finish().assert_code(73);
    assert_eq!(env.starts(), 0);
}

#[test]
fn a_hostile_session_id_makes_no_file_elsewhere() {
    let endless = "n".repeat(10_000);
    for id in [
        r"../../x\n",
        "/etc/x",
        "-f",
        r"a\0b",
        "CON",
        ".",
        "..",
        endless.as_str(),
        r"\xc3\xa9\x1b[2J",
    ] {
        let env = env(&format!("init {id}\nresult done"));
        let before = entries(&env.path(""));
        print(&env).finish().assert_code(0);
        let mut after = entries(&env.path(""));
        after.retain(|name| name != "logs");
        assert_eq!(after, before, "nothing new beside the log folder for {id:?}");
        let log = env.log();
        let name = log.path.file_name().unwrap().to_str().unwrap();
        let safe = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        assert!(name.chars().all(safe) && name.len() < 200, "{name:?}");
        assert_eq!(entries(&env.log_dir()).len(), 1);
    }
}

#[test]
fn a_hostile_session_id_is_logged_as_it_is() {
    let env = env(r"init ../../x\n");
    print(&env).finish();
    assert_eq!(env.log().one("session_started")["session_id"], "../../x\n");
}

#[test]
fn a_full_disk_in_mid_run_loses_no_output_and_leaves_whole_records() {
    const SCRIPT: &str = "init\nsleep 200ms\nevents thinking 3000 block\nresult Done.";
    let env = env(SCRIPT);
    let Some(disk) = SmallDisk::mount(&env) else {
        return skip("a full disk needs the right to mount; run the tests as root for this one");
    };
    let run = print(&env).flag("--log-dir", disk.0.join("logs")).finish();
    run.assert_code(0);
    assert!(run.stdout == agent_output(SCRIPT), "the output does not depend on the log");
    assert!(!run.stderr.is_empty(), "it says so");
    let logs = stablehand_testkit::LogFile::all_in(&disk.0.join("logs"));
    assert_eq!(logs.len(), 1);
    assert!(logs[0].torn_tail.is_empty(), "cut back to the last whole record");
    // To the last whole record, not to the last whole write: what fits on the disk is kept.
    let kept = fs::metadata(&logs[0].path).unwrap().len();
    assert!(logs[0].has("raw_event") && kept > 64 * 1024, "{kept} bytes of 128 KiB");
}

fn entries(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().flatten();
    let mut names: Vec<_> =
        names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// A file system of 128 KiB that only this thread and what it starts can see.
struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    fn mount(env: &TestEnv) -> Option<SmallDisk> {
        const NONE: Option<&str> = None;
        unshare(CloneFlags::CLONE_NEWNS).ok()?;
        mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE).ok()?;
        let path = env.path("small-disk");
        fs::create_dir(&path).unwrap();
        mount(Some("tmpfs"), &path, Some("tmpfs"), MsFlags::empty(), Some("size=128k")).ok()?;
        Some(SmallDisk(path))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = umount(&self.0);
    }
}
