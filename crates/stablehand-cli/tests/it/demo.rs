//! The demo agent in a conversation: it listens, asks, takes no for an answer, and goes wrong on
//! demand.

use crate::support::{bins, secs};
use nix::sys::signal::Signal;
use serde_json::Value;
use stablehand_testkit::{Finished, Run, TestEnv};

fn demo<'e>(env: &'e TestEnv, subcommand: &str) -> Run<'e> {
    env.stablehand(subcommand)
        .flag("--agent", "demo")
        .flag("--log-dir", env.log_dir())
        .flag("--output-format", "events")
        .deadline(secs(60))
}

fn events(run: &Finished, kind: &str) -> Vec<Value> {
    let all = run.stdout_json().into_iter().map(|event| event["event"].clone());
    all.filter(|event| event["type"] == kind).collect()
}

fn completed(run: &Finished, kind: &str) -> Vec<Value> {
    let items = events(run, "item.completed").into_iter().map(|event| event["item"].clone());
    items.filter(|item| item["kind"] == kind).collect()
}

#[test]
fn it_takes_many_turns_in_one_process_and_asks_before_it_acts() {
    for (approvals, outcome, words) in
        [("allow", "success", "The greeting stands"), ("deny", "failure", "nothing is written")]
    {
        let env = TestEnv::new(bins());
        let run =
            demo(&env, "talk").flag("--approvals", approvals).stdin("edit\nask me\n").finish();
        run.assert_code(0);
        assert_eq!(events(&run, "turn.ended").len(), 2, "{}", run.stderr);
        assert_eq!(events(&run, "approval.requested").len(), 2, "{approvals}");
        let tools = completed(&run, "tool");
        let outcomes: Vec<_> = tools.iter().map(|tool| &tool["outcome"]["kind"]).collect();
        assert_eq!(outcomes, [outcome, outcome], "{approvals}");
        let said: Vec<_> =
            completed(&run, "message").iter().map(|item| item["text"].clone()).collect();
        let has = said.iter().any(|text| text.as_str().is_some_and(|text| text.contains(words)));
        assert!(has, "{approvals}: {said:?}");
        // A thought and a list of things to do, for whoever shows such things.
        assert!(!completed(&run, "plan").is_empty());
        assert!(!completed(&run, "reasoning").is_empty());
        assert_eq!(env.log().all("agent_spawned").len(), 1);
        env.assert_nobody_left();
    }
}

#[test]
fn a_policy_holds_it_and_it_asks_about_everything_then() {
    let env = TestEnv::new(bins());
    let run = demo(&env, "run").flag("--policy", "read-only").args(["show me a tour"]).finish();
    run.assert_code(0);
    let asked = events(&run, "approval.requested");
    assert_eq!(asked.len(), 3, "also before it reads: {asked:?}");
    let outcomes: Vec<_> =
        completed(&run, "tool").iter().map(|tool| tool["outcome"]["kind"].clone()).collect();
    assert_eq!(outcomes.len(), 3);
    assert!(outcomes.contains(&"success".into()), "reading is allowed: {outcomes:?}");
    env.assert_nobody_left();
}

#[test]
fn it_plans_without_touching_anything() {
    for subcommand in ["run", "talk"] {
        let env = TestEnv::new(bins());
        let run = demo(&env, subcommand).flag("--mode", "plan").args(["please edit"]).stdin("");
        let run = run.finish();
        run.assert_code(0);
        let tools = completed(&run, "tool");
        // In Cursor's stream the list of things to do is a tool.
        let harmless = ["read".into(), "think".into()];
        let is_harmless = |tool: &Value| harmless.contains(&tool["tool_kind"]);
        assert!(tools.iter().all(is_harmless), "{subcommand}: {tools:?}");
        assert!(run.stdout_text().contains("write hello.txt"), "{subcommand}");
        assert!(events(&run, "approval.requested").is_empty());
        env.assert_nobody_left();
    }
}

#[test]
fn it_is_interrupted_resumed_and_may_hang_in_a_conversation_too() {
    let env = TestEnv::new(bins());
    let mut run = demo(&env, "talk").flag("--idle-timeout", "60s").stdin_open().start();
    run.type_line("please hang");
    env.wait_for("its thought", || run.stdout_so_far().contains(r#""type":"item.started""#));
    run.signal(Signal::SIGINT);
    env.wait_for("the end of the turn", || run.stdout_so_far().contains(r#""type":"turn.ended""#));
    run.type_line("ask me");
    run.close_stdin();
    let run = run.finish();
    run.assert_code(0);
    let ends: Vec<_> =
        events(&run, "turn.ended").iter().map(|it| it["end"]["kind"].clone()).collect();
    assert_eq!(ends, ["cancelled", "done"]);
    env.assert_nobody_left();

    let env = TestEnv::new(bins());
    let run = demo(&env, "talk").flag("--idle-timeout", "1s").stdin("hang\ntour\n").finish();
    run.assert_code(0);
    let log = env.log();
    assert_eq!(log.all("hang_detected").len(), 1);
    assert!(log.all("agent_spawned")[1]["resumed_from"].is_string());
    let said = completed(&run, "message");
    let welcomed = said.iter().filter(|item| item["text"].to_string().contains("Welcome back"));
    assert_eq!(welcomed.count(), 1, "{said:?}");
    env.assert_nobody_left();
}
