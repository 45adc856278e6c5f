//! `sessions resume`: the right agent goes on in the right place; and the list to choose from.

use super::*;
use crate::approvals::{Terminal, can_seat};
use crate::support::secs;

const TURN: &str = "
    read-stdin
    init s-pony-1
    user feed the ponies
    assistant Fed.
    result Fed.
    ---
    read-stdin
    init s-pony-1
    prompt
    assistant Fed again.
    result Fed again.
";

/// A log of a session that our fake agent can go on with.
fn known(env: &TestEnv, session: &str, prompt: &str) {
    Written::new("cursor")
        .spawned(&format!("r-{session}"), "cursor", json!({}))
        .session(session, &env.work())
        .user(prompt)
        .ended("success")
        .save(env, &format!("stablehand-20261003T022457.441Z-{session}.jsonl"));
    // The newest is the one that was changed last.
    std::thread::sleep(std::time::Duration::from_millis(15));
}

fn resume<'e>(env: &'e TestEnv, words: &[&str]) -> Run<'e> {
    let bin = env.bins().fake_agent.display().to_string();
    let all: Vec<&str> = ["resume"].iter().chain(words).copied().collect();
    sessions(env, &all).args(["--agent-bin", &bin, "--startup-timeout", "20s"]).deadline(secs(40))
}

/// What the agent was asked to resume at its n-th start.
fn resumed(env: &TestEnv, start: usize) -> String {
    let argv = env.argv(start);
    let at = argv.iter().position(|word| word == "--resume").expect("it is resumed");
    argv[at + 1].clone()
}

#[test]
fn a_session_goes_on_where_it_was() {
    let env = TestEnv::with_script(bins(), TURN);
    known(&env, "s-pony-1", "feed the ponies");
    known(&env, "s-mule-2", "feed the mule");
    let run = resume(&env, &["s-pony", "and", "once more"]).finish();
    run.assert_code(0);
    assert!(run.stderr.contains("resuming cursor session s-pony-1 in "), "{}", run.stderr);
    assert_eq!(run.stdout_text(), "Fed.\n");
    assert_eq!(resumed(&env, 1), "s-pony-1");
    assert_eq!(env.record("1.stdin"), "and once more");
    let argv = env.argv(1);
    let at = argv.iter().position(|word| word == "--workspace").unwrap();
    assert_eq!(argv[at + 1], env.work().display().to_string());
    // Its own log is the newest now; the prompt comes from standard input.
    let run = resume(&env, &["latest", "-p"]).stdin("from a pipe").finish();
    run.assert_code(0);
    assert_eq!(
        (resumed(&env, 2).as_str(), env.record("2.stdin").as_str()),
        ("s-pony-1", "from a pipe")
    );
}

#[test]
fn flags_of_a_run_are_passed_on_and_checked() {
    let env = place();
    known(&env, "s-1", "x");
    let elsewhere = env.home().display().to_string();
    let words =
        ["s-1", "hi", "--dry-run", "--max-wall", "7m", "--workspace", &elsewhere, "--", "--more"];
    let plan = sessions(&env, &["resume", "--agent-bin", "/bin/true"]).args(words).finish();
    // The flags behind `--` would be the agent's.
    let plan: Value = serde_json::from_slice(&plan.stdout).expect("a plan");
    assert_eq!((&plan["resume"], &plan["limits"]["max_wall"]), (&json!("s-1"), &json!("7m 00s")));
    let args: Vec<&str> =
        plan["args"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(args.contains(&elsewhere.as_str()) && args.contains(&"--more"), "{args:?}");
    let fails = |words: &[&str], code: i32, why: &str| {
        let run = resume(&env, words).finish();
        run.assert_code(code);
        assert!(run.stderr.contains(why), "{words:?}: {}", run.stderr);
    };
    fails(&["s-1", "hi", "--continue"], 64, "said twice");
    fails(&["s-1", "hi", "--agent", "codex"], 64, "of cursor, not of codex");
    fails(&["s-1", "hi", "--nonsense"], 64, "--nonsense");
    fails(&["no-such", "hi"], 1, "no session or run");
    fails(&[], 64, "give the id of one");
    fails(&["--pick", "go"], 64, "no terminal");
}

#[test]
fn what_cannot_be_resumed_says_why() {
    let env = place();
    let fails = |name: &str, why: &str, hint: &str| {
        let run = resume(&env, &[name, "hi"]).finish();
        run.assert_code(1);
        assert!(run.stderr.contains(why) && run.stderr.contains(hint), "{name}: {}", run.stderr);
    };
    let mut log = Written::new("copilot");
    log.spawned("r1", "copilot\u{1b}[31m", json!({}));
    log.decision("session_started", json!({ "session_id": "s-foreign" }));
    log.save(&env, "a-20261003T022457.441Z-s-foreign.jsonl");
    fails("s-foreign", "sessions of `copilot` cannot be resumed", "claude");
    let path = Written::new("terminal").spawned("r2", "cursor", json!({})).save(&env, "b.jsonl");
    fails(path.to_str().unwrap(), "cursor never named its session", "start a new one");
    let path = Written::new("cursor").save(&env, "c.jsonl");
    fails(path.to_str().unwrap(), "does not say which agent", "--agent");
    let gone = env.path("gone");
    Written::new("cursor")
        .spawned("r3", "cursor", json!({}))
        .session("s-gone", &gone)
        .save(&env, "d-20261003T022457.441Z-s-gone.jsonl");
    fails("s-gone", "is no longer there", "--workspace");
}

#[test]
fn a_person_chooses_from_a_list() {
    if !can_seat() {
        return;
    }
    let env = TestEnv::with_script(bins(), TURN);
    known(&env, "s-one", "groom the \u{1b}]0;x\u{7}stallion");
    known(&env, "s-two", "feed the ponies");
    known(&env, "s-three", "mend the fence");
    let mut terminal = Terminal::open();
    let run = terminal.seat(resume(&env, &["--pick", "on", "you go"])).start();
    terminal.wait_for(&env, "3/3");
    terminal.wait_for(&env, "▌  ");
    let shown = terminal.text();
    let place = |text: &str| shown.find(text).unwrap_or_else(|| panic!("{text}: {shown:?}"));
    assert!(place("mend the fence") < place("feed the ponies"), "the newest first: {shown:?}");
    assert!(place("feed the ponies") < place("groom the stallion"), "{shown:?}");
    terminal.press(b"f");
    terminal.press(b"ponis\x7f\x7fes");
    terminal.wait_for(&env, "> fpones");
    terminal.wait_for(&env, "1/3");
    terminal.press(b"\x15");
    // All are there again; two down and one up is the second.
    terminal.press(b"\x1b[B\x1b[B\x1bOA");
    terminal.press(b"\r");
    let ended = run.finish();
    ended.assert_code(0);
    assert_eq!((resumed(&env, 1).as_str(), env.record("1.stdin").as_str()), ("s-two", "on you go"));
    assert!(terminal.is_as_before(), "the terminal is as it was");
    terminal.wait_for(&env, "\u{1b}[?1049l");
}

#[test]
fn a_person_may_leave_the_list_and_the_terminal_is_as_it_was() {
    if !can_seat() {
        return;
    }
    let env = place();
    known(&env, "s-one", "groom the stallion");
    for keys in [&b"\x1b"[..], b"\x03", b"\x04", b"groom\x1b"] {
        let mut terminal = Terminal::open();
        let run = terminal.seat(resume(&env, &[])).start();
        terminal.wait_for(&env, "1/1");
        terminal.press(keys);
        run.finish().assert_code(130);
        terminal.wait_for(&env, "\u{1b}[?1049l");
        assert!(terminal.is_as_before());
        assert_eq!(env.starts(), 0);
    }
    let terminal = Terminal::open();
    let run = terminal.seat(resume(&env, &[])).start();
    terminal.wait_for(&env, "1/1");
    run.signal(nix::sys::signal::Signal::SIGTERM);
    run.finish().assert_code(1);
    assert!(terminal.is_as_before());
    // Without a prompt one is asked for.
    let mut terminal = Terminal::open();
    let run = terminal.seat(resume(&env, &[])).start();
    terminal.wait_for(&env, "1/1");
    terminal.press(b"\r");
    terminal.wait_for(&env, "resuming cursor session s-one");
    let asks = |text: &str| text.rsplit("resuming").next().is_some_and(|it| it.contains("> "));
    env.wait_for("the prompt", || asks(&terminal.text()));
    terminal.press(b"\x03");
    run.finish().assert_code(130);
    assert!(terminal.is_as_before());
}
