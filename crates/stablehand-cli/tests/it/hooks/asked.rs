//! Questions of hooks that somebody answers, and what an agent is told by hooks beyond yes and no.

use super::{RULES, held, made};
use crate::support::{env, ms, secs};
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use serde_json::{Value, json};
use stablehand_testkit::{Run, Running, TestEnv};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

/// A command that somebody is asked about.
const ASKS: &str = "read-stdin\ninit\nrun c1 10s touch asked\nassistant Done.\ndone\n";

/// A run whose questions come to us.
pub(super) fn attend(run: Run<'_>) -> (Running<'_>, BufReader<UnixStream>) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    fcntl(&theirs, FcntlArg::F_SETFD(FdFlag::empty())).unwrap();
    ours.set_read_timeout(Some(secs(40))).unwrap();
    let run = run.flag("--approve-fd", theirs.as_raw_fd().to_string()).start();
    (run, BufReader::new(ours))
}

pub(super) fn question(line: &mut BufReader<UnixStream>) -> Value {
    let mut text = String::new();
    line.read_line(&mut text).unwrap();
    let event: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(event["event"]["type"], "approval.requested", "{text}");
    event["event"].clone()
}

pub(super) fn answer(line: &mut BufReader<UnixStream>, answer: &Value) {
    line.get_mut().write_all(format!("{answer}\n").as_bytes()).unwrap();
}

#[test]
fn what_is_allowed_runs_and_what_is_denied_does_not() {
    for (word, runs) in [("allow", true), ("deny", false)] {
        let env = env(ASKS);
        // The wait is no silence: the limit is far shorter than what the answer takes.
        let (run, mut line) = attend(held(&env, RULES).flag("--idle-timeout", "1s"));
        let asked = question(&mut line);
        assert_eq!(asked["tool"]["input"]["command"], "touch asked");
        assert!(asked["why"].as_str().unwrap().contains("rules.toml"), "{asked}");
        std::thread::sleep(ms(1500));
        let mut said = json!({ "id": asked["id"], "answer": word });
        if !runs {
            said["message"] = "not today".into();
        }
        answer(&mut line, &said);
        run.finish().assert_code(0).assert_at_least(ms(1500));
        assert_eq!(made(&env, "asked"), runs, "{word}");
        let told = String::from_utf8(env.log().raw_bytes()).unwrap().contains("not today");
        assert_eq!(told, !runs, "{word}");
        let health =
            |record: &&serde_json::Map<String, Value>| record["event"]["to"] == "awaiting_approval";
        assert!(env.log().all("health_changed").iter().any(health));
    }
}

#[test]
fn nobody_answers_in_time_and_the_rule_for_nobody_holds() {
    let env = env(ASKS);
    let run = held(&env, RULES).flag("--approval-timeout", "700ms");
    let (run, mut line) = attend(run);
    question(&mut line);
    run.finish().assert_code(0).assert_at_least(ms(600));
    assert!(!made(&env, "asked"));
    assert_eq!(env.log().one("approval_resolved")["by"], "timeout");
}

#[test]
fn a_call_can_be_allowed_with_other_arguments() {
    let env = env(ASKS);
    let (run, mut line) = attend(held(&env, RULES));
    let id = question(&mut line)["id"].clone();
    let other = json!({ "command": "touch instead" });
    answer(&mut line, &json!({ "id": id, "answer": "allow", "updated_input": other }));
    run.finish().assert_code(0);
    assert!(made(&env, "instead") && !made(&env, "asked"));
}

#[test]
fn a_hook_that_the_agent_gives_up_on_is_no_question_any_more() {
    // The agent stops waiting when it is told to stop; so do we.
    let env = env(ASKS);
    let (run, mut line) = attend(held(&env, RULES));
    question(&mut line);
    run.signal(nix::sys::signal::Signal::SIGINT);
    run.finish().assert_code(130).assert_within(secs(60));
    assert!(!made(&env, "asked"));
}

/// The user's own settings.
fn config(env: &TestEnv, text: &str) {
    let path = env.home().join(".config/stablehand/config.toml");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn context_and_variables_reach_the_agent() {
    let env = env("
        read-stdin
        init
        recall
        run c1 10s echo $BARN > barn.txt
        assistant Done.
        done
    ");
    config(&env, "[context]\ntext = \"Ponies first.\"\n\n[env]\nBARN = \"red\"\n");
    held(&env, RULES).finish().assert_code(0);
    assert_eq!(fs::read_to_string(env.work().join("barn.txt")).unwrap(), "red\n");
    // It came by the hook, and the prompt is as it was.
    let stream = String::from_utf8(env.log().raw_bytes()).unwrap();
    assert!(stream.contains("Ponies first."), "{stream}");
    assert_eq!(env.record("1.stdin"), "go");
    assert!(env.log().mentions("Ponies first."));
}

#[test]
fn an_agent_that_asks_before_it_rests_is_told_to_go_on_as_often_as_the_rule_says() {
    let env = env("
        read-stdin
        init
        hooks all
        plan [x] look | [ ] feed
        assistant Resting.
        when-followed assistant Going on.
        done
    ");
    config(
        &env,
        "[[continue]]\nwhen = \"stopped with open todos\"\nprompt = \"Finish your list.\"\nmax = 2\n",
    );
    let run = held(&env, RULES).flag("--output-format", "text").finish();
    run.assert_code(0);
    assert_eq!(env.log().all("continued").len(), 2, "{:?}", env.log().names());
    assert_eq!(env.starts(), 1, "it went on in the same process");
    let shown = run.stdout_text();
    assert!(shown.matches("Going on.").count() == 2, "{shown}");
}
