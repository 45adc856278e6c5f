//! Logs that another program truncates, deletes, moves or replaces in mid-run.

use crate::support::{agent_output, env, print, run, secs};
use stablehand_testkit::{LogFile, TestEnv};
use std::fs;
use std::path::{Path, PathBuf};

const FORMATS: [&str; 3] = ["text", "events", "stream-json"];

/// The agent waits until the test has done its part.
const SCRIPT: &str = "init\nassistant Before.\ntouch ready\nwait-file go\nsleep 1500ms\n\
                      assistant After.\nresult Done.";

fn path(env: &TestEnv) -> PathBuf {
    LogFile::paths_in(&env.log_dir()).pop().expect("a log")
}

fn delete(env: &TestEnv) {
    fs::remove_file(path(env)).unwrap();
}

fn remove_folder(env: &TestEnv) {
    fs::remove_dir_all(env.log_dir()).unwrap();
}

fn replace(env: &TestEnv) {
    let path = path(env);
    fs::remove_file(&path).unwrap();
    fs::write(&path, "not ours\n").unwrap();
}

/// Runs the script, lets `harm` do its part in the middle, and returns what was said of it.
fn harmed(env: &TestEnv, format: &str, harm: fn(&TestEnv)) -> String {
    let running = run(env).flag("--output-format", format).deadline(secs(20)).start();
    running.wait_for_stdout("Before");
    env.record("ready");
    harm(env);
    fs::write(env.record_dir().join("go"), "").unwrap();
    let run = running.finish();
    run.assert_code(0);
    assert!(run.stdout_text().contains("After"), "{format}: {}", run.stdout_text());
    run.stderr
}

#[test]
fn a_log_that_is_deleted_is_written_anew() {
    for (harm, name) in [(delete as fn(&TestEnv), "file"), (remove_folder, "folder")] {
        for format in FORMATS {
            let env = env(SCRIPT);
            let stderr = harmed(&env, format, harm);
            let log = env.log();
            assert!(stderr.contains("deleted the log"), "{name}, {format}: {stderr}");
            assert!(stderr.contains(log.path.to_str().unwrap()), "{name}, {format}: {stderr}");
            assert!(log.has("log_moved") && log.has("log_opened") && log.has("session_ended"));
            assert!(
                log.raw_bytes()
                    == agent_output("init\nassistant Before.\nassistant After.\nresult Done.")
            );
        }
    }
}

#[test]
fn a_log_that_is_replaced_is_written_beside_the_file_that_took_its_name() {
    let env = env(SCRIPT);
    let stderr = harmed(&env, "events", replace);
    assert!(stderr.contains("deleted the log"), "{stderr}");
    let logs = LogFile::paths_in(&env.log_dir());
    let texts: Vec<String> = logs.iter().map(|log| fs::read_to_string(log).unwrap()).collect();
    assert!(texts.iter().any(|text| text == "not ours\n"), "another program's file is untouched");
    assert!(texts.iter().any(|text| text.contains("session_ended")), "{logs:?}");
    env.damages_logs();
}

#[test]
fn a_log_that_is_moved_goes_on_where_it_is() {
    fn aside(env: &TestEnv) {
        fs::rename(path(env), env.path("elsewhere")).unwrap();
    }
    let env = env(SCRIPT);
    let stderr = harmed(&env, "text", aside);
    assert!(stderr.contains("moved or replaced the log"), "{stderr}");
    let moved = LogFile::read(&env.path("elsewhere"));
    assert!(moved.has("log_opened") && moved.has("session_ended"));
}

#[test]
fn a_required_log_that_is_deleted_ends_the_run() {
    let env = env("init\nassistant Before.\ntouch ready\nhang");
    let running = run(&env).args(["--log-required"]).flag("--stop-grace", "1s").start();
    env.record("ready");
    env.wait_for_log("session_started");
    delete(&env);
    let run = running.finish();
    run.assert_code(1).assert_within(secs(15));
    assert!(env.log().has("run_ended"));
}

/// Nothing is lost to a reader that is far behind: the file is still open.
#[test]
fn a_slow_reader_gets_everything_of_a_log_that_is_deleted() {
    const SCRIPT: &str = "init\nevents thinking 20000 block\nresult Done.";
    let env = env(SCRIPT);
    let mut run = print(&env).stdout_unread().deadline(secs(30)).start();
    env.wait_for("a long log", || {
        LogFile::paths_in(&env.log_dir()).iter().any(|it| length(it) > 3 << 20)
    });
    delete(&env);
    run.read_stdout_now();
    let run = run.finish();
    run.assert_code(0);
    assert!(run.stdout == agent_output(SCRIPT));
    assert!(env.log().raw_bytes() == run.stdout);
}

#[test]
fn verify_fails_where_the_log_differs_and_not_otherwise() {
    fn truncate(env: &TestEnv) {
        fs::OpenOptions::new().write(true).open(path(env)).unwrap().set_len(0).unwrap();
    }
    fn nothing(_: &TestEnv) {}
    for (harm, code, word) in
        [(nothing as fn(&TestEnv), 0, ": identical"), (truncate, 1, ": DIFFERENT")]
    {
        let env = env(SCRIPT);
        let running = run(&env).flag("--output-format", "stream-json").args(["--verify"]).start();
        running.wait_for_stdout("Before");
        harm(&env);
        fs::write(env.record_dir().join("go"), "").unwrap();
        let run = running.finish();
        run.assert_code(code);
        assert!(run.stderr.contains(word), "{}", run.stderr);
        let log = env.log();
        assert_eq!(log.one("verified")["identical"], code == 0);
    }
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |it| it.len())
}
