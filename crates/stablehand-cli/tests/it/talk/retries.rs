//! A turn that hung or broke off is tried again within the conversation, where that is safe.

use super::events;
use crate::support::{env, secs};
use serde_json::Value;
use stablehand_testkit::{Run, TestEnv};

fn talk<'e>(env: &'e TestEnv, agent: &str) -> Run<'e> {
    env.stablehand("talk")
        .flag("--agent", agent)
        .flag("--agent-bin", &env.bins().fake_agent)
        .flag("--log-dir", env.log_dir())
        .flag("--output-format", "events")
        .flag("--first-response-timeout", "1s")
        .flag("--idle-timeout", "1s")
        .flag("--retries", "1")
        .variable("FAKE_AGENT_DIALECT", agent)
        .deadline(secs(60))
}

fn agains(ends: &[Value]) -> Vec<bool> {
    ends.iter().map(|end| end["again"].as_bool().unwrap_or(false)).collect()
}

#[test]
fn the_same_prompt_where_nothing_was_changed_and_the_next_prompt_after_that() {
    let turn = "read-stdin\ninit s1\nassistant yes\nresult yes\n";
    let env = env(&format!("read-stdin\ninit s1\nassistant so\nhang\n---\n{turn}---\n{turn}"));
    let run = talk(&env, "cursor").stdin("go\non\n").finish();
    run.assert_code(0);
    assert_eq!(agains(&events(&run, "run.ended")), [true, false, false]);
    let log = env.log();
    let scheduled = log.one("retry_scheduled");
    assert_eq!((&scheduled["attempt"], &scheduled["same_prompt"]), (&2.into(), &true.into()));
    let given: Vec<String> = (1..=3).map(|start| env.record(&format!("{start}.stdin"))).collect();
    assert_eq!(given, ["go", "go", "on"]);
    env.assert_nobody_left();
}

#[test]
fn the_continuation_prompt_where_something_may_have_been_changed() {
    let env = env("read-stdin\ninit s1\nrun c1 10s touch made\nassistant so\nhang\n---\n\
                   read-stdin\ninit s1\nassistant yes\nresult yes\n");
    let run = talk(&env, "cursor").flag("--continue-prompt", "look first").stdin("go\n").finish();
    run.assert_code(0);
    assert_eq!([1, 2].map(|start| env.record(&format!("{start}.stdin"))), ["go", "look first"]);
    let spawned = env.log();
    let spawned = spawned.all("agent_spawned");
    assert_eq!(spawned[1]["resumed_from"], "s1");
    env.assert_nobody_left();
}

#[test]
fn a_later_turn_of_a_process_that_says_nothing_at_all_has_hung_and_is_tried_again() {
    let env = env("init\nassistant one\ndone\n---\nforever\n");
    let run =
        talk(&env, "claude").variable("FAKE_AGENT_TALKS", "1").stdin("first\nsecond\n").finish();
    run.assert_code(0);
    assert_eq!(agains(&events(&run, "run.ended")), [true, false], "{}", run.stderr);
    assert_eq!(events(&run, "run.ended")[0]["end"], "hung");
    assert_eq!(events(&run, "turn.ended").len(), 2);
    let log = env.log();
    let given: Vec<_> = log.all("prompt_given").iter().map(|it| it["text"].clone()).collect();
    assert_eq!(given, ["first", "second", "second"]);
    env.assert_nobody_left();
}
