//! `--agent acp:'COMMAND'`: an agent that there is no row for, by its command line.
//!
//! The agent is a shim that plays scenes, started as nobody's row would start it.

use crate::support::{bins, secs};
use serde_json::Value;
use stablehand_core::record::DecisionKind;
use stablehand_testkit::{Run, TestEnv};

fn with_shims() -> TestEnv {
    let env = TestEnv::new(bins());
    let folder = env.path("my shims");
    env.stablehand("fake-agent").flag("--shims", folder).finish().assert_code(0);
    env
}

/// The command line of the agent, with something in it that has to be quoted.
fn agent(env: &TestEnv, more: &str) -> String {
    format!("acp:'{}' --acp{more}", env.path("my shims").join("gemini").display())
}

fn command<'e>(env: &'e TestEnv, subcommand: &str, agent: &str, scene: &str) -> Run<'e> {
    env.stablehand(subcommand)
        .flag("--agent", agent)
        .flag("--log-dir", env.log_dir())
        .flag("--exit-grace", "2s")
        .variable("STABLEHAND_FAKE_SCENE", scene)
        .deadline(secs(30))
}

/// `stablehand sessions …`, or the like, about the logs.
fn about<'e>(env: &'e TestEnv, args: &[&str]) -> Run<'e> {
    let folder = env.log_dir();
    let run = env.stablehand(args[0]).args(args[1..].iter().copied());
    run.args(["--log-dir", folder.to_str().unwrap()]).deadline(secs(30))
}

#[test]
fn it_is_run_logged_listed_and_resumed_like_any_other() {
    let env = with_shims();
    let agent = agent(&env, "");
    let dry = command(&env, "run", &agent, "hello").args(["--dry-run", "hi"]).finish();
    dry.assert_code(0);
    let plan: Value = serde_json::from_slice(&dry.stdout).unwrap();
    assert_eq!((&plan["agent"], &plan["dialect"]), (&agent.clone().into(), &"acp".into()));
    assert_eq!(plan["args"], serde_json::json!(["--acp"]));
    command(&env, "run", &agent, "hello").args(["hi"]).finish().assert_code(0);
    let log = env.log();
    assert_eq!(log.one("agent_spawned")["agent"], agent);
    assert_eq!(log.one(DecisionKind::LogOpened.name())["dialect"], "acp");
    // All of the kind, or this one.
    for (name, count) in [("acp", 1), (agent.as_str(), 1), ("gemini", 0), ("ac", 0)] {
        let listed = about(&env, &["sessions", "ls", "--json", "--agent", name]).finish();
        listed.assert_code(0);
        let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
        assert_eq!(listed.as_array().unwrap().len(), count, "{name}: {listed}");
    }
    let stats = about(&env, &["sessions", "stats", "--by", "agent"]).finish();
    assert!(stats.assert_code(0).stdout_text().contains("acp:"), "{}", stats.stdout_text());
    about(&env, &["doctor", "latest"]).finish().assert_code(0);
    let resumed = about(&env, &["sessions", "resume", "latest", "go on"])
        .variable("STABLEHAND_FAKE_SCENE", "hello")
        .finish();
    resumed.assert_code(0);
    assert!(resumed.stderr.contains("resuming acp:"), "{}", resumed.stderr);
    let logs = env.logs();
    assert_eq!(logs.len(), 2);
    assert!(logs.iter().all(|log| log.one("agent_spawned")["agent"] == agent));
    assert!(logs.iter().any(|log| log.mentions("stablehand-continue-")));
    env.assert_nobody_left();
}

#[test]
fn it_can_be_talked_with_and_held() {
    let env = with_shims();
    let agent = agent(&env, "");
    let run = command(&env, "talk", &agent, "hello").stdin("one\ntwo\n").finish();
    run.assert_code(0);
    let log = env.log();
    assert_eq!((log.all("agent_spawned").len(), log.all("prompt_given").len()), (1, 2));
    let rules = env.path("rules.toml");
    let text = "[policy]\ndefault = \"deny\"\n[[policy.rule]]\nagent = \"acp\"\n\
                command = \"echo *\"\naction = \"allow\"\n";
    std::fs::write(&rules, text).unwrap();
    let run = command(&env, "run", &agent, "ask").flag("--policy", rules).args(["go"]);
    run.finish().assert_code(0);
    assert!(env.logs().iter().any(|log| log.has("approval_resolved")));
    env.assert_nobody_left();
}

#[test]
fn a_secret_in_its_command_line_is_nowhere_and_has_to_be_given_again() {
    let env = with_shims();
    let secret = "swordfish-0815";
    let agent = agent(&env, &format!(" --api-key {secret}"));
    for extra in ["--dry-run", "--log-level=debug"] {
        let run = command(&env, "run", &agent, "hello").args([extra, "hi"]).finish();
        run.assert_code(0);
        let seen = run.stdout_text() + &run.stderr;
        assert!(!seen.contains(secret), "{seen}");
    }
    assert!(!env.log().mentions(secret));
    let run = about(&env, &["sessions", "resume", "latest", "go on"]).finish();
    run.assert_code(1);
    assert!(run.stderr.contains("with --agent"), "{}", run.stderr);
    let again = about(&env, &["sessions", "resume", "latest", "go on", "--agent", &agent]);
    again.variable("STABLEHAND_FAKE_SCENE", "hello").finish().assert_code(0);
    env.assert_nobody_left();
}

#[test]
fn what_is_no_command_line_is_refused_and_says_why() {
    let env = TestEnv::new(bins());
    let table: &[(&str, &[&str], i32, &str)] = &[
        ("acp:", &[], 64, "the command is empty"),
        ("acp:gemini 'x", &[], 64, "the quote ' is not closed"),
        ("acp:no-such-pony --acp", &[], 1, "no-such-pony"),
        ("acp:sh", &["--transport", "pty"], 64, "leave out"),
        ("acp:sh", &["--continue"], 64, "--resume"),
    ];
    for (agent, args, code, words) in table {
        let run = command(&env, "run", agent, "hello").args(args.iter().copied()).args(["x"]);
        let run = run.finish();
        run.assert_code(*code);
        assert!(run.stderr.contains(words), "{agent} {args:?}: {}", run.stderr);
    }
    let run = env.stablehand("models").flag("--agent", "acp:sh").finish();
    assert!(run.stderr.contains("ask its own program"), "{}", run.stderr);
    assert!(env.logs().is_empty());
}
