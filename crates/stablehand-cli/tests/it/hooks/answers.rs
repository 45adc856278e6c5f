//! Answers to hooks that ask about no tool: a prompt or a session that is refused, and a sub-agent that
//! is told to go on.

use super::held_as;
use crate::support::{bins, env, secs};
use serde_json::json;
use stablehand_testkit::TestEnv;
use std::fs;

/// A rule about prompts. The agent's own prompt says more than what we gave it.
const PROMPTS: &str = "[[prompt]]\nname = 'keys'\nmatches = 'SECRET'\naction = 'deny'\n\
     reason = 'keys stay here'\n[policy]\ndefault = 'allow'\n";

#[test]
fn a_prompt_that_a_hook_tells_of_is_refused() {
    for (agent, event) in [
        ("claude", "UserPromptSubmit"),
        ("gemini", "BeforeAgent"),
        ("cursor", "beforeSubmitPrompt"),
    ] {
        let env = env("read-stdin\ninit\nuser tell the SECRET\nrun c1 10s touch fine\ndone\n");
        let run = held_as(&env, agent, PROMPTS).variable("FAKE_AGENT_HOOKS", "all").finish();
        assert!(!env.work().join("fine").exists(), "{agent}: {}", run.stderr);
        let log = env.log();
        let denied = log.one("prompt_denied");
        assert_eq!((&denied["hook"], &denied["by"]), (&event.into(), &"agent".into()), "{agent}");
        assert_eq!(denied["rule"]["name"], "keys", "{agent}");
        let reply = &log.one("hook_answered")["reply"];
        assert!(reply["deny"].as_str().unwrap().contains("keys stay here"), "{agent}: {reply}");
        env.assert_nobody_left();
    }
}

#[test]
fn alone_a_prompt_is_held_against_the_users_rules_and_a_broken_file_refuses_the_session() {
    let env = TestEnv::new(bins());
    let alone = |agent: &str, event: &str, prompt: &str| {
        let run = env.stablehand("hook").args(["--agent", agent, "--alone", event]);
        run.stdin(json!({ "prompt": prompt }).to_string()).finish().stdout_text()
    };
    let config = env.home().join(".config/stablehand/config.toml");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    fs::write(&config, PROMPTS).unwrap();
    let refused = alone("cursor", "beforeSubmitPrompt", "the SECRET");
    assert!(refused.contains(r#""continue":false"#) && refused.contains("keys stay here"));
    assert_eq!(alone("cursor", "beforeSubmitPrompt", "oats"), "{}");
    let refused = alone("claude", "UserPromptSubmit", "the SECRET");
    assert!(refused.contains(r#""decision":"block""#), "{refused}");
    let refused = alone("gemini", "BeforeAgent", "the SECRET");
    assert!(refused.contains(r#""decision":"deny""#), "{refused}");
    assert_eq!(alone("cursor", "sessionStart", ""), "{}");
    fs::write(&config, "[[prompt]]\nmatches = '('\n").unwrap();
    for (agent, event) in [("cursor", "sessionStart"), ("claude", "SessionStart")] {
        let refused = alone(agent, event, "");
        assert!(refused.contains(r#""continue":false"#), "{agent}: {refused}");
        assert!(refused.contains("config.toml:1"), "{agent}: it says where: {refused}");
    }
}

#[test]
fn a_sub_agent_goes_on_as_often_as_its_rule_says() {
    // The fake agent asks Claude's hook once a sub-agent, and Cursor's until nothing is said.
    for (agent, event, times) in [("claude", "SubagentStop", 1), ("cursor", "subagentStop", 2)] {
        let env = env("
            read-stdin
            init
            task t1 count the ponies
            task-done t1 count the ponies
            recall
            assistant Done.
            done
        ");
        let text = "[[continue]]\nof = 'subagent'\nmatches = '^done$'\nmax = 2\n\
             prompt = 'count them again'\n[policy]\ndefault = 'allow'\n";
        let run = held_as(&env, agent, text).args(["--output-format", "text"]).deadline(secs(90));
        let run = run.finish();
        run.assert_code(0);
        let log = env.log();
        let continued = log.all("continued");
        assert_eq!(continued.len(), times, "{agent}: {:?}", log.names());
        assert!(continued.iter().all(|it| it["sub_agent"].is_string()), "{agent}: {continued:?}");
        assert_eq!(continued.last().unwrap()["count"], times, "{agent}");
        let answered = log.all("hook_answered");
        let told = answered.iter().filter(|it| it["reply"]["go_on"] == "count them again").count();
        assert_eq!(told, times, "{agent}: {event}");
        let stdout = run.stdout_text();
        assert!(stdout.contains("↻ sub-agent: count them again (1 of 2, by"), "{agent}: {stdout}");
        let stream = String::from_utf8(log.raw_bytes()).unwrap();
        assert!(stream.contains("count them again"), "{agent}: the agent has it: {stream}");
        // The rule is about sub-agents alone: the turn itself is not continued.
        assert_eq!(env.starts(), 1, "{agent}");
        if times == 2 {
            let why = log.one("not_continued")["text"].as_str().unwrap();
            assert!(why.contains("was used 2 times"), "{why}");
        }
        env.assert_nobody_left();
    }
}
