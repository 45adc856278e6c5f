//! A person at a terminal.

use super::*;
use crate::support::ms;
use std::time::{Duration, Instant};

fn seated<'e>(env: &'e TestEnv, terminal: &Terminal, agent: &str) -> Run<'e> {
    terminal.seat(ruled(env, agent).flag("--output-format", "events"))
}

#[test]
fn one_key_answers_and_the_terminal_is_as_before() {
    if !can_seat() {
        return;
    }
    for agent in ["claude", "codex"] {
        for (key, choice, outcome) in [(b"y", "allow", "success"), (b"n", "deny", "rejected")] {
            let env = place(ONE);
            let mut terminal = Terminal::open();
            let run = seated(&env, &terminal, agent).start();
            terminal.wait_for_question(&env, 1);
            let text = terminal.text();
            assert!(text.contains("echo hi") && text.contains("no rule is about it"), "{text}");
            assert!(!terminal.is_as_before(), "keys count at once");
            // An arrow is no answer, and neither is what was pasted.
            terminal.press(b"\x1b[A");
            std::thread::sleep(ms(200));
            terminal.press(b"yes, please");
            // A key that comes together with such is lost with it.
            env.wait_for("an answer", || {
                std::thread::sleep(ms(300));
                if !env.log().has("approval_resolved") {
                    terminal.press(key);
                }
                env.log().has("approval_resolved")
            });
            let run = run.finish();
            run.assert_code(0);
            assert_eq!(outcomes(&run), [outcome], "{agent}");
            let resolved = env.log().one("approval_resolved").clone();
            assert_eq!((&resolved["choice"], &resolved["by"]), (&choice.into(), &"person".into()));
            assert!(terminal.is_as_before(), "{agent}");
        }
    }
}

#[test]
fn a_denial_may_come_with_a_word() {
    if !can_seat() {
        return;
    }
    let env = place(ONE);
    let mut terminal = Terminal::open();
    let run = seated(&env, &terminal, "claude").start();
    terminal.wait_for_question(&env, 1);
    terminal.press(b"?");
    terminal.wait_for_question(&env, 2);
    terminal.press(b"w");
    terminal.wait_for(&env, "why not?");
    terminal.press(b"use make instead\n");
    let run = run.finish();
    run.assert_code(0);
    assert_eq!(outcomes(&run), ["rejected"]);
    let log = env.log();
    assert_eq!(log.one("approval_resolved")["message"], "use make instead");
    assert!(log.mentions("use make instead"));
}

#[test]
fn always_writes_a_rule_that_holds_at_once() {
    if !can_seat() {
        return;
    }
    let env = place(THREE);
    let before = fs::read_to_string(rules(&env)).unwrap();
    let mut terminal = Terminal::open();
    let run = seated(&env, &terminal, "claude").start();
    terminal.wait_for_question(&env, 1);
    terminal.press(b"a");
    // The second call is the same; the third is another.
    terminal.wait_for_question(&env, 2);
    let text = terminal.text();
    assert!(text.contains("command = \"echo hi\"") && text.contains("rules.toml:6"), "{text}");
    assert!(text.rsplit_once("? execute").unwrap().1.contains("echo ho"), "{text}");
    terminal.press(b"n");
    let run = run.finish();
    run.assert_code(0);
    assert_eq!(outcomes(&run), ["success", "success", "rejected"]);
    let after = fs::read_to_string(rules(&env)).unwrap();
    assert!(after.starts_with(&before), "{after}");
    assert_eq!(after.matches("[[policy.rule]]").count(), 1, "{after}");
    let log = env.log();
    let written = log.one("rule_written");
    assert_eq!(written["rule"]["line"], 6);
    let by: Vec<_> = log.all("approval_resolved").iter().map(|it| it["by"].clone()).collect();
    assert!(by[1].as_str().unwrap().contains("rules.toml:6"), "{by:?}");
    // And for whoever comes later.
    let run = ruled(&env, "claude").flag("--output-format", "events").finish();
    assert_eq!(outcomes(&run), ["success", "success", "rejected"]);
}

#[test]
fn always_without_a_file_goes_into_the_users_own() {
    if !can_seat() {
        return;
    }
    let env = place(ONE);
    let mut terminal = Terminal::open();
    fs::write(env.work().join("stablehand.toml"), "[policy]\n").unwrap();
    let run = command(&env, "run", "claude").flag("--policy", "workspace-write").args(["go"]);
    fs::write(env.path("agent-script"), ONE.replace("echo hi", "dc -e 1")).unwrap();
    let run = terminal.seat(run).start();
    terminal.wait_for_question(&env, 1);
    terminal.press(b"a");
    run.finish().assert_code(0);
    let written = fs::read_to_string(env.home().join(".config/stablehand/config.toml")).unwrap();
    assert!(written.contains("command = \"dc -e 1\""), "{written}");
    assert_eq!(fs::read_to_string(env.work().join("stablehand.toml")).unwrap(), "[policy]\n");
}

#[test]
fn a_question_waits_longer_than_any_limit() {
    if !can_seat() {
        return;
    }
    let env = place(ONE);
    let mut terminal = Terminal::open();
    let run = seated(&env, &terminal, "claude").flag("--idle-timeout", "500ms").start();
    terminal.wait_for_question(&env, 1);
    std::thread::sleep(ms(2500));
    terminal.press(b"y");
    let run = run.finish();
    run.assert_code(0);
    let health = events(&run, "health.changed");
    assert!(health.iter().any(|event| event["to"] == "awaiting_approval"), "{health:?}");
    assert!(!env.log().has("hang_detected"));
}

#[test]
fn a_question_that_nobody_answers_is_withdrawn() {
    if !can_seat() {
        return;
    }
    let env = place(ONE);
    let terminal = Terminal::open();
    let run = seated(&env, &terminal, "claude").flag("--approval-timeout", "1s").finish();
    run.assert_code(0);
    assert_eq!(outcomes(&run), ["rejected"]);
    assert_eq!(env.log().one("approval_resolved")["by"], "timeout");
    let text = terminal.text();
    assert!(text.contains("withdrawn: nobody answered in time, so it is denied"), "{text}");
    assert!(terminal.is_as_before());
}

#[test]
fn an_agent_that_dies_takes_its_question_back() {
    if !can_seat() {
        return;
    }
    let env = place(ONE);
    let terminal = Terminal::open();
    let run = seated(&env, &terminal, "claude").start();
    terminal.wait_for_question(&env, 1);
    let agent = env.log().one("agent_spawned")["pid"].as_i64().unwrap();
    let agent = nix::unistd::Pid::from_raw(i32::try_from(agent).unwrap());
    nix::sys::signal::kill(agent, nix::sys::signal::Signal::SIGKILL).unwrap();
    run.finish().assert_code(1);
    assert!(terminal.text().contains("withdrawn: "), "{}", terminal.text());
    assert!(terminal.is_as_before());
}

#[test]
fn an_interrupt_at_a_question_stops_the_run() {
    if !can_seat() {
        return;
    }
    let env = place(ONE);
    let mut terminal = Terminal::open();
    let run = seated(&env, &terminal, "claude").start();
    terminal.wait_for_question(&env, 1);
    let began = Instant::now();
    terminal.press(b"\x03");
    run.finish().assert_code(130);
    assert!(began.elapsed() < Duration::from_secs(15));
    assert!(terminal.text().contains("withdrawn: "), "{}", terminal.text());
    assert!(terminal.is_as_before());
}

#[test]
fn nobody_is_asked_who_does_not_want_to_be() {
    if !can_seat() {
        return;
    }
    let env = place(ONE);
    let terminal = Terminal::open();
    let run = terminal.seat(ruled(&env, "claude").args(["--unattended"])).finish();
    run.assert_code(0);
    assert!(!terminal.text().contains("? help:"), "{}", terminal.text());
    assert_eq!(env.log().one("approval_resolved")["choice"], "deny");
}

#[test]
fn a_conversation_asks_in_the_same_way() {
    if !can_seat() {
        return;
    }
    for agent in ["claude", "codex"] {
        let env = place(ONE);
        let mut terminal = Terminal::open();
        let run = terminal.seat(command(&env, "talk", agent)).start();
        terminal.wait_for(&env, "> ");
        terminal.press(b"go\r");
        terminal.wait_for_question(&env, 1);
        assert!(terminal.text().contains("a for this session"), "{}", terminal.text());
        terminal.press(b"a");
        env.wait_for("the next prompt sign", || {
            terminal.text().rsplit_once("? help:").unwrap().1.contains("> ")
        });
        terminal.press(b"\x04");
        run.finish().assert_code(0);
        assert_eq!(env.log().one("approval_resolved")["choice"], "allow_always", "{agent}");
    }
}

#[test]
fn in_a_conversation_the_policy_answers_what_it_can() {
    if !can_seat() {
        return;
    }
    let env = place(THREE);
    let text = "[[policy.rule]]\ncommand = \"echo hi\"\naction = \"allow\"\n";
    fs::write(rules(&env), text).unwrap();
    let mut terminal = Terminal::open();
    let talk = command(&env, "talk", "claude").flag("--policy", rules(&env));
    let run = terminal.seat(talk).start();
    terminal.wait_for(&env, "> ");
    terminal.press(b"go\r");
    terminal.wait_for_question(&env, 1);
    let text = terminal.text();
    assert_eq!(text.matches("? execute").count(), 1, "{text}");
    assert!(text.rsplit_once("? execute").unwrap().1.contains("echo ho"), "{text}");
    terminal.press(b"y");
    env.wait_for_log("health_changed");
    env.wait_for("three answers", || env.log().all("approval_resolved").len() == 3);
    env.wait_for("the next prompt sign", || {
        terminal.text().rsplit_once("? help:").unwrap().1.contains("> ")
    });
    terminal.press(b"\x04");
    run.finish().assert_code(0);
}
