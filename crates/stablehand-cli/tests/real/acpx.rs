//! A real client of the Agent Client Protocol: `acpx` drives us, and agents through us.

use crate::support::{for_main_agents, with};
use serde_json::Value;
use stablehand_testkit::llm::scene::{HELLO, TOOLS_DONE};
use stablehand_testkit::real::{Real, RealAgent};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

for_main_agents!(is_served);

/// Every real agent in its own form, for a real client.
fn is_served(real: &Real) {
    let agent = format!(
        "'{}' acp --agent {} --agent-bin '{}' --log-dir '{}'",
        real.env.bins().stablehand.display(),
        real.agent.name(),
        real.program().display(),
        real.env.log_dir().display()
    );
    let run = real.acpx(&agent, "hello").args(["--approve-all", "exec", "Say hello."]).finish();
    run.assert_code(0);
    assert!(run.stdout_text().contains(HELLO), "{}", run.stdout_text());
    assert_eq!(real.env.log().one("run_ended")["outcome"], "success");
}

/// `stablehand acp` with the built-in agent, as a shell reads it.
fn demo(real: &Real) -> String {
    let (program, logs) = (&real.env.bins().stablehand, real.env.log_dir());
    format!("'{}' acp --agent demo --log-dir '{}'", program.display(), logs.display())
}

fn with_demo(case: fn(&Real)) {
    // Any place will do; the model is not asked anything.
    with(RealAgent::OpenCode, case);
}

#[test]
fn a_prompt_is_answered_when_everything_is_allowed() {
    with_demo(|real| {
        let run = real.acpx(&demo(real), "hello").args(["--approve-all", "exec", "hello"]).finish();
        run.assert_code(0);
        let text = run.stdout_text();
        assert!(text.contains("All is well"), "{text}");
        assert!(text.contains("[done] end_turn"), "{text}");
        let answers = real.env.log().all("approval_resolved").len();
        assert!(answers > 0, "{:?}", real.env.log().names());
    });
}

#[test]
fn what_is_denied_is_not_done() {
    with_demo(|real| {
        let run = real.acpx(&demo(real), "hello").args(["--deny-all", "exec", "hello"]).finish();
        // Its own word for: something was denied.
        run.assert_code(5);
        assert!(run.stdout_text().contains("I was told no"), "{}", run.stdout_text());
        let log = real.env.log();
        let answers = log.all("approval_resolved");
        assert!(answers.iter().all(|answer| answer["choice"] == "deny"), "{answers:?}");
    });
}

/// Waits until nobody is left of the client, who keeps an agent for a while.
fn wait_until_alone(real: &Real) {
    let since = Instant::now();
    while !real.living().is_empty() {
        assert!(since.elapsed() < Duration::from_mins(1), "{:#?}", real.living());
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_session_is_cancelled_and_goes_on_in_another_process() {
    with_demo(|real| {
        let agent = demo(real);
        let acpx = |args: &[&str]| {
            let run = real.acpx(&agent, "hello").args(["--approve-all", "--ttl", "1"]);
            run.args(args.iter().copied())
        };
        acpx(&["sessions", "new", "--name", "pony"]).start().finish_alone().assert_code(0);
        let running = acpx(&["prompt", "-s", "pony", "a long one"]).start();
        real.env.wait_for("a command that runs", || {
            real.living().values().any(|line| line.contains("sleep"))
        });
        acpx(&["cancel", "-s", "pony"]).start().finish_alone().assert_code(0);
        let run = running.finish_alone();
        assert!(run.stdout_text().contains("[done] cancelled"), "{}", run.stdout_text());
        wait_until_alone(real);
        let run = acpx(&["prompt", "-s", "pony", "hello"]).start().finish_alone();
        run.assert_code(0);
        assert!(run.stdout_text().contains("[done] end_turn"), "{}", run.stdout_text());
        wait_until_alone(real);
        let logs = real.env.logs();
        assert_eq!(logs.len(), 2);
        let first = logs[0].one("session_started")["session_id"].clone();
        let resumed = logs[1].one("session_started")["session_id"].clone();
        assert_eq!(first, resumed, "the agent's own session went on");
    });
}

/// The same client with the same agent, once with us in between: the same words come to it.
#[test]
fn a_pass_through_changes_nothing() {
    with(RealAgent::OpenCode, |real| {
        let through = format!(
            "'{}' acp --log-dir '{}' --through \"{}\"",
            real.env.bins().stablehand.display(),
            real.env.log_dir().display(),
            real.acp_command()
        );
        let [plain, passed] = [real.acp_command(), through].map(|agent| {
            let run = real.acpx(&agent, "shell");
            let run = run.args(["--approve-all", "--format", "json", "exec", "Run it."]).finish();
            run.assert_code(0);
            transcript(&run.stdout_text())
        });
        assert!(plain.0.contains(TOOLS_DONE), "{plain:?}");
        assert_eq!(plain, passed);
        assert_eq!(real.env.log().one("run_ended")["outcome"], "success");
    });
}

/// What was said, and how often each message came, without what is new every time.
fn transcript(text: &str) -> (String, BTreeMap<String, usize>) {
    let mut said = String::new();
    let mut counts = BTreeMap::new();
    for line in text.lines() {
        let frame: Value = serde_json::from_str(line).unwrap();
        let update = &frame["params"]["update"];
        if update["sessionUpdate"] == "agent_message_chunk" {
            said.push_str(update["content"]["text"].as_str().unwrap_or_default());
            continue;
        }
        *counts.entry(plain(&frame).to_string()).or_default() += 1;
    }
    (said, counts)
}

/// Ids, times and measures are other ones every time.
fn plain(value: &Value) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .filter(|(name, _)| !matches!(name.as_str(), "id" | "usage" | "cost" | "used"))
            .map(|(name, value)| (name.clone(), plain(value)))
            .collect(),
        Value::Array(values) => values.iter().map(plain).collect(),
        Value::String(text) if is_id(text) => "an id".into(),
        Value::Number(number) if number.as_f64() > Some(1e9) => 0.into(),
        other => other.clone(),
    }
}

fn is_id(text: &str) -> bool {
    let begins = ["ses_", "msg_", "prt_", "call_"].iter().any(|kind| text.starts_with(kind));
    let is_uuid = text.len() == 36 && text.matches('-').count() == 4;
    let is_time = text.len() > 18 && text.starts_with("20") && text.contains('T');
    begins || is_uuid || is_time
}
