//! `sessions tail`: the end of a log, and a live run from another process.

use super::*;
use crate::support::{env, run, secs};
use nix::sys::signal::Signal;

/// A turn that goes on when it is told to.
const IN_STEPS: &str = "
    read-stdin
    wait-file named
    init s-named
    user feed the ponies
    assistant-before-tool One.
    wait-file two
    shell c1 30s make
    shell-done c1 0 1s make
    assistant Three.
    result Three.
";

fn go_on(env: &TestEnv, name: &str) {
    fs::write(env.record_dir().join(name), "").unwrap();
}

#[test]
fn the_last_lines_in_every_form() {
    let env = env("
        init
        user feed the ponies
        assistant-before-tool One.
        shell c1 30s make
        shell-done c1 0 1s make
        assistant Three.
        result Three.
    ");
    run(&env).finish().assert_code(0);
    let tail = |words: &[&str]| {
        let all: Vec<&str> = ["tail"].iter().chain(words).copied().collect();
        let run = sessions(&env, &all).finish();
        run.assert_code(0);
        run.stdout_text()
    };
    assert_eq!(tail(&["-n", "2"]), "✓ `make` (1.0s, exit 0)\nThree.\n");
    assert_eq!(tail(&["-n", "0"]), "");
    assert!(tail(&[]).starts_with("> feed the ponies\nOne.\n"), "{}", tail(&[]));
    let events = sessions(&env, &["show", "--events"]).finish().stdout_text();
    let last = events.lines().last().unwrap().to_owned() + "\n";
    assert_eq!(tail(&["-n", "1", "--output-format", "events"]), last);
    let raw = sessions(&env, &["show", "--raw"]).finish().stdout_text();
    assert_eq!(tail(&["-n", "1000", "--output-format", "stream-json"]), raw);
}

#[test]
fn of_a_long_log_the_last_lines_of_the_output_are_the_same() {
    let env = place();
    let mut log = Written::new("cursor");
    log.spawned("r-1", "cursor", json!({})).session("s-1", &env.work());
    // Lines of very different lengths, more than is looked at first.
    for n in 0..600_usize {
        log.says(&format!("{n} {}", "oats ".repeat(n * 7 % 5_000)));
    }
    log.ended("success");
    log.save(&env, "long.jsonl");
    let raw = sessions(&env, &["show", "--raw"]).finish().stdout_text();
    assert!(raw.len() > 4 << 20, "{} bytes", raw.len());
    let lines: Vec<&str> = raw.lines().collect();
    for count in [0, 1, 7, 250, 10_000] {
        let wanted = lines.get(lines.len().saturating_sub(count)..).unwrap();
        let wanted: String = wanted.iter().flat_map(|line| [*line, "\n"]).collect();
        let count = count.to_string();
        let tail = sessions(&env, &["tail", "-n", &count, "--output-format", "stream-json"]);
        let tail = tail.finish();
        tail.assert_code(0);
        assert!(tail.stdout_text() == wanted, "-n {count}");
    }
}

#[test]
fn a_live_run_is_followed_through_its_new_name_to_its_end() {
    let env = env(IN_STEPS);
    let agent = run(&env).flag("--startup-timeout", "30s").flag("--idle-timeout", "30s");
    let agent = agent.deadline(secs(60)).start();
    env.wait_for_log("agent_spawned");
    let unnamed = env.log().path;
    assert!(unnamed.display().to_string().contains("-unknown"), "{}", unnamed.display());
    let path = unnamed.display().to_string();
    let mut followers: Vec<_> = ["text", "events", "stream-json"]
        .iter()
        .map(|form| {
            sessions(&env, &["tail", "-f", &path, "--output-format", form])
                .deadline(secs(60))
                .start()
        })
        .collect();
    std::thread::sleep(std::time::Duration::from_millis(300));
    go_on(&env, "named");
    followers[0].wait_for_stdout("One.");
    env.wait_for("the new name", || !unnamed.exists());
    followers[1].wait_for_stdout("\"One.\"");
    followers[2].wait_for_stdout("\"One.\"");
    assert!(followers.iter_mut().all(stablehand_testkit::Running::is_running));
    go_on(&env, "two");
    let ended = agent.finish_alone();
    ended.assert_code(0);
    let mut told = followers.into_iter().map(stablehand_testkit::Running::finish_alone);
    let mut next = || {
        let told = told.next().unwrap();
        told.assert_code(0);
        told
    };
    let text = next();
    assert!(text.stdout_text().ends_with("\nThree.\n"), "{}", text.stdout_text());
    assert!(text.stderr.contains("the run is over: the agent succeeded"), "{}", text.stderr);
    let last = next().stdout_json().pop().unwrap();
    assert_eq!(last["event"]["type"], "session.ended");
    assert!(next().stdout_text().lines().last().unwrap().contains("\"result\""));
    env.assert_nobody_left();
}

#[test]
fn several_runs_of_one_log_are_followed() {
    let env = env("
        init s-1
        exit 3
        ---
        init s-1
        user feed the ponies
        assistant Second try.
        result done
    ");
    let agent = run(&env).args(["--retries", "1"]).deadline(secs(60)).start();
    env.wait_for_log("agent_spawned");
    let told = sessions(&env, &["tail", "-f", "-n", "1000", "--output-format", "events"]);
    let told = told.deadline(secs(60)).start().finish_alone();
    told.assert_code(0);
    let told = told.stdout_json();
    let count = |kind: &str| told.iter().filter(|it| it["event"]["type"] == kind).count();
    assert_eq!((count("run.ended"), count("turn.ended"), count("session.ended")), (2, 1, 1));
    agent.finish().assert_code(0);
}

#[test]
fn a_writer_that_was_killed_is_told_of() {
    let env = env("init s-1\nassistant-before-tool One.\nhang");
    let agent = run(&env).flag("--idle-timeout", "60s").deadline(secs(60)).start();
    env.wait_for_log("session_started");
    let tail = sessions(&env, &["tail", "-f", "s-1"]).deadline(secs(60)).start();
    tail.wait_for_stdout("One.");
    agent.signal(Signal::SIGKILL);
    let told = tail.finish_alone();
    told.assert_code(1);
    assert!(told.stderr.contains("broke off"), "{}", told.stderr);
    drop(agent);
    env.assert_nobody_left();
    let again = sessions(&env, &["tail", "-f", "s-1"]).finish();
    again.assert_code(1);
    assert!(again.stdout_text().contains("One."));
}

#[test]
fn a_follower_whose_reader_is_gone_leaves_although_nothing_comes() {
    let env = env("init s-1\nassistant-before-tool One.\nhang");
    let agent = run(&env).flag("--idle-timeout", "60s").deadline(secs(60)).start();
    env.wait_for_log("session_started");
    let mut tail =
        sessions(&env, &["tail", "-f", "s-1"]).deadline(secs(30)).stdout_unread().start();
    drop(tail.take_stdout());
    tail.finish_alone().assert_code(0);
    agent.signal(Signal::SIGTERM);
    agent.finish();
}
