//! Conversations that hooks hold: every turn is a process that calls us, and the files of the user are
//! as they were after each.

use super::asked::{answer, attend, question};
use super::{RULES, THEIRS, hooks_file, made, rules, with_file};
use crate::support::{env, secs};
use serde_json::json;
use stablehand_testkit::{Run, TestEnv};
use std::fs;
use std::io::BufRead;

/// Two turns; each makes something that the rules deny and something that they do not mind.
const TURNS: &str = "
    read-stdin
    init s1
    run c1 10s touch made
    run c2 10s touch one
    assistant Done.
    done
    ---
    read-stdin
    init s1
    run c1 10s touch made
    run c2 10s touch two
    assistant Done.
    done
";

fn with_hooks<'e>(env: &'e TestEnv, subcommand: &str, agent: &str) -> Run<'e> {
    env.stablehand(subcommand)
        .flag("--agent", agent)
        .flag("--agent-bin", &env.bins().fake_agent)
        .flag("--log-dir", env.log_dir())
        .flag("--startup-timeout", "30s")
        .flag("--idle-timeout", "30s")
        .flag("--workspace", env.work())
        .variable("FAKE_AGENT_DIALECT", agent)
        .args(["--hooks"])
        .deadline(secs(90))
}

#[test]
fn rules_hold_every_turn_and_the_file_is_given_back() {
    for agent in ["cursor", "claude", "gemini"] {
        let env = env(TURNS);
        with_file(&env, THEIRS);
        let run = with_hooks(&env, "talk", agent)
            .flag("--policy", rules(&env, RULES))
            .stdin("go\non\n")
            .finish();
        run.assert_code(0);
        assert!(!made(&env, "made"), "{agent}");
        assert!(made(&env, "one") && made(&env, "two"), "{agent}: {}", run.stderr);
        let log = env.log();
        assert_eq!(log.all("agent_spawned").len(), 2, "{agent}");
        assert_eq!(log.all("hooks_tried").len(), 2, "{agent}: each turn is held");
        let denied = log.all("approval_resolved");
        let denied = denied.iter().filter(|it| it["choice"] == "deny").count();
        assert_eq!(denied, 2, "{agent}");
        assert_eq!(fs::read_to_string(hooks_file(&env)).unwrap(), THEIRS);
        env.assert_nobody_left();
    }
}

#[test]
fn without_rules_somebody_is_asked_about_everything_in_a_run_too() {
    for subcommand in ["talk", "run"] {
        let env = env("read-stdin\ninit s1\nrun c1 10s touch yes\nrun c2 10s touch no\ndone\n");
        let run = with_hooks(&env, subcommand, "cursor").args(["go"]).stdin("");
        let (run, mut line) = attend(run);
        for (file, word) in [("touch yes", "allow"), ("touch no", "deny")] {
            let asked = question(&mut line);
            assert_eq!(asked["tool"]["input"]["command"], file, "{subcommand}");
            answer(&mut line, &json!({ "id": asked["id"], "answer": word }));
            let mut told = String::new();
            line.read_line(&mut told).unwrap();
            assert!(told.contains("approval.resolved"), "{told}");
        }
        run.finish().assert_code(0);
        assert!(made(&env, "yes") && !made(&env, "no"), "{subcommand}");
        env.assert_nobody_left();
    }
}
