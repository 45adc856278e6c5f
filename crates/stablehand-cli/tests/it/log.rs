//! The log: where it is, who may read it, what is in it, and what happens when it cannot be written.

use crate::support::{GOOD, agent_output, env, ms, print, run, secs, skip};
use nix::mount::{MsFlags, mount, umount};
use nix::sched::{CloneFlags, unshare};
use serde_json::json;
use stablehand_testkit::{LogFile, TestEnv};
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
    assert_eq!(LogFile::all_in(&folder).len(), 1);
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
    let ends = ["agent_exited", "run_ended", "turn_ended", "session_ended"];
    assert!(log.names().ends_with(&ends), "{:?}", log.names());
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
    let finished = run(&env).flag("--log-dir", &folder).finish();
    finished.assert_code(73).assert_within(secs(3));
    assert!(finished.stderr.contains("logs"), "{}", finished.stderr);
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
    let logs = LogFile::all_in(&disk.0.join("logs"));
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
pub(crate) struct SmallDisk(pub(crate) std::path::PathBuf);

impl SmallDisk {
    pub(crate) fn mount(env: &TestEnv) -> Option<SmallDisk> {
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

/// `: > LOG`, as `copytruncate` does, while text or events are shown to a quick reader.
#[test]
fn a_log_that_is_truncated_in_mid_run_is_reported_and_the_run_ends() {
    for format in ["text", "events", "stream-json"] {
        let env = env("init\nassistant Before.\nsleep 1500ms\nassistant After.\nresult Done.");
        let running = run(&env).flag("--output-format", format).deadline(secs(20)).start();
        running.wait_for_stdout("Before");
        // Until everything has been read that there is so far.
        std::thread::sleep(ms(300));
        truncate(&env);
        let run = running.finish();
        run.assert_code(0);
        assert!(run.stdout_text().contains("After"), "{format}: {}", run.stdout_text());
        assert!(run.stderr.contains("truncated the log"), "{format}: {}", run.stderr);
        assert!(env.log().has("log_truncated"), "{format}");
    }
}

#[test]
fn a_slow_reader_that_loses_output_to_a_truncation_is_told_by_the_exit_status() {
    const SCRIPT: &str = "init\nevents thinking 20000 block\nresult Done.";
    let env = env(SCRIPT);
    let mut run = print(&env).stdout_unread().deadline(secs(30)).start();
    // More is logged than any pipe holds.
    env.wait_for("a long log", || {
        LogFile::paths_in(&env.log_dir()).iter().any(|it| length(it) > 3 << 20)
    });
    truncate(&env);
    run.read_stdout_now();
    let run = run.finish();
    run.assert_code(1);
    assert!(run.stdout.len() < agent_output(SCRIPT).len(), "some of it is gone");
    assert!(run.stderr.contains("output is incomplete"), "{}", run.stderr);
    let whole = |line: &str| serde_json::from_str::<serde_json::Value>(line).is_ok();
    let text = run.stdout_text();
    let torn: Vec<_> = text.lines().filter(|line| !whole(line)).collect();
    assert!(torn.len() <= 1, "at most the line that was on its way is cut: {torn:?}");
}

/// What another program does that keeps logs short.
fn truncate(env: &TestEnv) {
    let path = LogFile::paths_in(&env.log_dir()).pop().expect("a log");
    fs::OpenOptions::new().write(true).open(path).unwrap().set_len(0).unwrap();
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |it| it.len())
}

/// It read 8 MiB more and then nothing, for ever.
#[test]
fn a_full_disk_does_not_hold_up_an_agent_whose_output_is_read() {
    const SCRIPT: &str = "init\nevents thinking 45000 block\nresult Done.";
    for format in ["stream-json", "text"] {
        let env = env(SCRIPT);
        let Some(disk) = SmallDisk::mount(&env) else {
            return skip(
                "a full disk needs the right to mount; run the tests as root for this one",
            );
        };
        let logs = disk.0.join("logs");
        let run = run(&env).flag("--output-format", format).flag("--log-dir", logs);
        let run = run.deadline(secs(60)).finish();
        run.assert_code(0);
        assert!(run.stderr.contains("cannot be written"), "{}", run.stderr);
        if format == "stream-json" {
            assert!(run.stdout == agent_output(SCRIPT));
        }
    }
}

#[test]
fn limits_hold_while_the_disk_is_full_and_nobody_reads() {
    let limits = [("--blocked-timeout", "disk is full"), ("--max-wall", "wall clock")];
    for (limit, why) in limits {
        let env = env("init\nevents thinking 100000 block\nresult Done.");
        let Some(disk) = SmallDisk::mount(&env) else {
            return skip(
                "a full disk needs the right to mount; run the tests as root for this one",
            );
        };
        let run = run(&env).flag("--log-dir", disk.0.join("logs")).flag(limit, "2s");
        let mut run = run.flag("--stop-grace", "1s").stdout_unread().deadline(secs(60)).start();
        let began = std::time::Instant::now();
        env.wait_for("a verdict", || run.stderr_so_far().contains(why));
        assert!(began.elapsed() < secs(20));
        run.read_stdout_now();
        run.finish().assert_code(2);
    }
}
