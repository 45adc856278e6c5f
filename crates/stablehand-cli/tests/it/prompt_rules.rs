//! `[[prompt]]` rules: what they deny reaches no agent, whatever the face, and that is on record.

use crate::support::{GOOD, bins, env, run, secs};
use serde_json::{Value, json};
use stablehand_testkit::{Run, TestEnv};
use std::fs;

/// One rule that denies and one that warns.
const RULES: &str = "[[prompt]]\nname = 'keys'\nmatches = 'SECRET'\naction = 'deny'\n\
     reason = 'keys stay here'\n\n[[prompt]]\nname = 'late'\nmatches = 'deploy'\naction = 'warn'\n";

/// Writes the user's file.
fn user(env: &TestEnv, text: &str) {
    let file = env.home().join(".config/stablehand/config.toml");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

fn with_shims() -> TestEnv {
    let env = TestEnv::new(bins());
    env.stablehand("fake-agent").flag("--shims", env.path("shims")).finish().assert_code(0);
    env
}

fn shim<'e>(env: &'e TestEnv, subcommand: &str, agent: &str) -> Run<'e> {
    env.stablehand(subcommand)
        .flag("--agent", agent)
        .flag("--agent-bin", env.path("shims").join(agent))
        .flag("--log-dir", env.log_dir())
        .variable("STABLEHAND_FAKE_SCENE", "hello")
        .deadline(secs(40))
}

#[test]
fn a_denied_prompt_starts_nothing_and_the_error_names_the_rule_and_its_file() {
    for (args, stdin) in [(["-p", "the SECRET"], ""), (["-p", "review"], "diff\nSECRET\n")] {
        let env = env(GOOD);
        user(&env, RULES);
        let denied = env.stablehand_run().args(args).stdin(stdin).finish();
        denied.assert_code(1);
        assert_eq!(env.starts(), 0);
        let place = env.home().join(".config/stablehand/config.toml");
        let expected = format!(
            "stablehand: the prompt is denied by rule `keys` ({}:1): keys stay here\n",
            place.display()
        );
        assert!(denied.stderr.starts_with(&expected), "{}", denied.stderr);
        assert!(denied.stderr.contains("hint: change the prompt"), "{}", denied.stderr);
        let log = env.log();
        let record = log.one("prompt_denied");
        assert_eq!(record["rule"]["name"], "keys");
        assert_eq!((&record["by"], record.get("via").is_some()), (&"program".into(), true));
        assert!(record["bytes"].as_u64().unwrap() > 5, "{record:?}");
        assert_eq!(log.last()["msg"], "session_ended");
        assert!(!log.has("agent_spawned") && !log.has("turn_started"), "{:?}", log.names());
        // The rule is there because of what stands in the prompt.
        assert!(!log.mentions("SECRET"));
    }
}

#[test]
fn a_warning_is_said_and_the_agent_gets_the_prompt() {
    let env = env(GOOD);
    user(&env, RULES);
    let warned = env.stablehand_run().args(["-p", "deploy it"]).finish();
    warned.assert_code(0);
    assert!(warned.stderr.contains("WARN the prompt is allowed with a warning by rule `late`"));
    assert_eq!(env.record("1.stdin"), "deploy it");
    assert_eq!(env.log().one("prompt_warned")["rule"]["name"], "late");
}

#[test]
fn rules_about_prompts_are_no_policy_about_calls_and_can_be_switched_off() {
    let env = env(&[GOOD; 2].join("---\n"));
    user(&env, RULES);
    // Cursor without hooks asks nothing, so a policy about calls would refuse it.
    run(&env).finish().assert_code(0);
    let rules = env.path("rules.toml");
    fs::write(&rules, RULES).unwrap();
    let denied = env.stablehand_run().flag("--policy", &rules).args(["-p", "SECRET"]).finish();
    denied.assert_code(1);
    assert!(denied.stderr.contains("rules.toml:1"), "{}", denied.stderr);
    let dry = env.stablehand_run().args(["--dry-run", "SECRET"]).finish();
    dry.assert_code(1);
    let dry = env.stablehand_run().args(["--dry-run", "oats"]).finish();
    dry.assert_code(0);
    let plan: Value = serde_json::from_slice(&dry.stdout).unwrap();
    assert_eq!(plan["settings"]["policy"], Value::Null);
    assert_eq!(plan["settings"]["prompt"][0]["matches"], json!(["SECRET"]));
    env.stablehand_run().args(["--no-policy", "-p", "SECRET"]).finish().assert_code(0);
    assert_eq!(env.record("2.stdin"), "SECRET");
}

#[test]
fn in_a_conversation_only_the_denied_prompt_is_refused() {
    for (agent, processes) in [("claude", 1), ("gemini", 2)] {
        let env = with_shims();
        user(&env, RULES);
        let talk = shim(&env, "talk", agent).stdin("the SECRET\none\nSECRET again\ntwo\n").finish();
        talk.assert_code(1);
        let told = talk.stderr.matches("the prompt is denied by rule `keys`").count();
        assert_eq!(told, 2, "{agent}: said once each: {}", talk.stderr);
        let log = env.log();
        assert_eq!(log.all("agent_spawned").len(), processes, "{agent}");
        assert_eq!(log.all("turn_ended").len(), 2, "{agent}: {:?}", log.names());
        assert_eq!(log.all("prompt_denied").len(), 2, "{agent}");
        let at = |name: &str| log.names().iter().position(|it| *it == name).unwrap();
        assert!(at("prompt_denied") < at("agent_spawned"), "{agent}: {:?}", log.names());
        assert!(!log.mentions("SECRET"), "{agent}");
        env.assert_nobody_left();
    }
}

#[test]
fn a_rule_to_go_on_does_not_get_around_a_rule_about_prompts() {
    let turn = "read-stdin\ninit s-1\nplan [ ] hay\nassistant Oats.\nresult Oats.\n";
    let env = env(turn);
    let more = "[[continue]]\nwhen = 'stopped with open todos'\nprompt = 'and the SECRET?'\n";
    user(&env, &format!("{RULES}{more}"));
    run(&env).finish().assert_code(0);
    assert_eq!(env.starts(), 1);
    let log = env.log();
    assert!(log.one("prompt_denied")["by"].as_str().unwrap().contains("config.toml"));
    assert!(log.one("not_continued")["text"].as_str().unwrap().contains("keys stay here"));
}

#[test]
fn the_commands_of_policies_know_them() {
    let env = TestEnv::new(bins());
    user(&env, RULES);
    let policy = |args: &[&str]| env.stablehand("policy").args(args.iter().copied()).finish();
    let denied = policy(&["check", "--prompt", "a SECRET"]);
    denied.assert_code(3);
    let said = denied.stdout_text();
    assert!(said.starts_with("deny: denied by rule `keys`"), "{said}");
    assert!(said.contains("config.toml:1): keys stay here"), "{said}");
    let warned = policy(&["check", "--json", "--prompt", "deploy"]);
    warned.assert_code(0);
    let decision: Value = serde_json::from_slice(&warned.stdout).unwrap();
    assert_eq!((&decision["action"], &decision["rule"]["name"]), (&"allow".into(), &"late".into()));
    policy(&["check", "--prompt", "oats"]).assert_code(0);
    policy(&["check", "--prompt", "oats", "--tool", "Shell"]).assert_code(64);
    let shown = policy(&["show"]).stdout_text();
    assert!(shown.contains("deny by rule `keys`") && shown.contains(": SECRET"), "{shown}");
    let table = env.path("cases.toml");
    let cases = "[[case]]\nprompt = ['a SECRET', 'oats']\nexpect = 'deny'\n";
    fs::write(&table, format!("{RULES}{cases}")).unwrap();
    let tested = policy(&["test", table.to_str().unwrap()]);
    tested.assert_code(1);
    assert!(tested.stdout_text().contains("expected deny, got allow\n  prompt oats"));
}
