//! A person at a terminal who is asked about what the real programs want to do, by their hooks.

use crate::support::with;
use nix::pty::openpty;
use stablehand_testkit::llm::scene::CHORES;
use stablehand_testkit::real::{Real, RealAgent};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// One command is for a person to decide.
const RULES: &str = "[policy]\ndefault = \"allow\"\n[[policy.rule]]\ncommand = \"touch mucked-out\"\naction = \"ask\"\nreason = \"ask the groom\"\n";

/// A machine with two processors and other work shows the question in this time.
const PATIENCE: Duration = Duration::from_mins(1);

/// Asks about the first chore; the key that the person presses, and whether it is done then.
fn asked(real: &Real, key: &[u8], done: bool) {
    let rules = real.env.path("rules.toml");
    fs::write(&rules, RULES).unwrap();
    let pair = openpty(None, None).unwrap();
    let (mut master, slave) = (File::from(pair.master), File::from(pair.slave));
    let shown = Arc::new(Mutex::new(Vec::new()));
    let (mut reader, into) = (master.try_clone().unwrap(), Arc::clone(&shown));
    // The thread ends with the terminal, and the process with the test.
    std::thread::spawn(move || {
        let mut block = [0; 4096];
        while let Ok(count @ 1..) = reader.read(&mut block) {
            into.lock().unwrap().extend_from_slice(&block[..count]);
        }
    });
    let prompt = format!("Do the chores in {}", real.env.work().display());
    let run = real
        .stablehand("run", "chores")
        .flag("--policy", rules)
        .args(["--hooks", &prompt])
        .through(["setsid", "--ctty"])
        .variable("TERM", "xterm")
        .stdin_terminal(slave.try_clone().unwrap())
        .stderr_terminal(slave)
        .start();
    let began = Instant::now();
    let text = || String::from_utf8_lossy(&shown.lock().unwrap()).into_owned();
    while !text().contains("? help:") {
        assert!(began.elapsed() < PATIENCE, "nobody was asked: {}", text());
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(text().contains("touch mucked-out") && text().contains("ask the groom"), "{}", text());
    master.write_all(key).unwrap();
    run.finish().assert_code(0);
    let made =
        CHORES.map(|command| real.env.work().join(command.trim_start_matches("touch ")).exists());
    assert_eq!(made, [done, true], "{:?}", real.agent);
    let choice = if done { "allow" } else { "deny" };
    let log = real.env.log();
    let by_person = |record: &&serde_json::Map<String, serde_json::Value>| {
        record["by"] == "person" && record["choice"] == choice
    };
    assert_eq!(log.all("approval_resolved").into_iter().filter(by_person).count(), 1);
}

#[test]
fn claude_does_what_a_person_allows() {
    with(RealAgent::Claude, |real| asked(real, b"y", true));
}

#[test]
fn claude_does_not_do_what_a_person_denies() {
    with(RealAgent::Claude, |real| asked(real, b"n", false));
}

#[test]
fn gemini_does_what_a_person_allows() {
    with(RealAgent::Gemini, |real| asked(real, b"y", true));
}

#[test]
fn gemini_does_not_do_what_a_person_denies() {
    with(RealAgent::Gemini, |real| asked(real, b"n", false));
}
