//! `stablehand run --hooks`: an agent that follows the documented rules of hooks, held by a policy.
//!
//! The agent reads the file that we install, starts our command through a shell with a heredoc, and
//! goes by its answer. What it would have done shows on the disk.

mod answers;
mod asked;
mod command;
mod files;
mod reach;
mod talked;

use crate::support::{env, ms, secs};
use serde_json::Value;
use stablehand_testkit::{Finished, Run, TestEnv};
use std::fs;
use std::path::PathBuf;

/// Everything is allowed but making `made`, which is denied, and `asked`, for which somebody is asked.
pub(crate) const RULES: &str = r#"
[policy]
default = "allow"

[[policy.rule]]
name = "made"
command = "touch made"
action = "deny"
reason = "nothing of that name is made here"

[[policy.rule]]
name = "asked"
command = "touch asked"
action = "ask"
"#;

/// Two commands, one of which the rules deny.
pub(crate) const TWO: &str = "
    read-stdin
    init
    run c1 10s touch made
    run c2 10s touch fine
    assistant Done.
    done
";

/// A file of the user's own, with a spacing of its own and a hook that must stay.
pub(crate) const THEIRS: &str = "{ \"version\" : 1,\n\t\"hooks\": {\n\t\t\"preToolUse\": [\n\t\t\t{\"command\": \"echo theirs >> theirs.txt; echo '{}'\"} ] } }\n";

pub(crate) fn hooks_file(env: &TestEnv) -> PathBuf {
    env.work().join(".cursor/hooks.json")
}

pub(crate) fn with_file(env: &TestEnv, text: &str) {
    fs::create_dir_all(env.work().join(".cursor")).unwrap();
    fs::write(hooks_file(env), text).unwrap();
}

pub(crate) fn rules(env: &TestEnv, text: &str) -> PathBuf {
    let path = env.path("rules.toml");
    fs::write(&path, text).unwrap();
    path
}

/// A run under the rules. Hooks are processes, and machines are busy: no limit is tight.
pub(crate) fn held<'e>(env: &'e TestEnv, text: &str) -> Run<'e> {
    env.stablehand_run()
        .flag("--startup-timeout", "30s")
        .flag("--idle-timeout", "30s")
        .flag("--policy", rules(env, text))
        .flag("--workspace", env.work())
        .args(["--hooks", "-p", "go"])
        .deadline(secs(60))
}

pub(crate) fn made(env: &TestEnv, name: &str) -> bool {
    env.work().join(name).exists()
}

fn choices(env: &TestEnv) -> Vec<(String, String)> {
    let text = |record: &serde_json::Map<String, Value>, name: &str| {
        record.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let log = env.log();
    log.all("approval_resolved").iter().map(|it| (text(it, "choice"), text(it, "by"))).collect()
}

fn hooks_heard(run: &Finished) -> Vec<String> {
    let named = |event: Value| {
        let event = &event["event"];
        (event["type"] == "hook.received").then(|| event["name"].as_str().unwrap().to_owned())
    };
    run.stdout_json().into_iter().filter_map(named).collect()
}

#[test]
fn a_denied_command_is_not_run_and_the_agent_is_told_why() {
    let env = env(TWO);
    with_file(&env, THEIRS);
    let run = held(&env, RULES).args(["--output-format", "events"]).finish();
    run.assert_code(0);
    assert!(!made(&env, "made") && made(&env, "fine"));
    assert_eq!(fs::read_to_string(hooks_file(&env)).unwrap(), THEIRS);
    // Their own hook ran beside ours, once for each tool.
    assert_eq!(fs::read_to_string(env.work().join("theirs.txt")).unwrap(), "theirs\ntheirs\n");
    let by_rule = format!("rule `made` ({}:5)", env.path("rules.toml").display());
    assert_eq!(choices(&env)[0], ("deny".to_owned(), by_rule));
    // The agent passed it on to its model, in the words of the rule.
    let stream = String::from_utf8(env.log().raw_bytes()).unwrap();
    assert!(stream.contains("nothing of that name is made here"), "{stream}");
    assert!(stream.contains("rejected"), "{stream}");
    let heard = hooks_heard(&run);
    for name in ["sessionStart", "preToolUse", "beforeShellExecution", "postToolUse", "sessionEnd"]
    {
        assert!(heard.iter().any(|it| it == name), "{name} is not in {heard:?}");
    }
    assert_eq!(heard.first().map(String::as_str), Some("sessionStart"));
    assert!(env.log().has("hooks_tried"));
}

#[test]
fn one_call_is_asked_about_once_although_the_agent_asks_twice() {
    let env = env("read-stdin\ninit\nrun c1 10s touch fine\ndone\n");
    held(&env, RULES).finish().assert_code(0);
    // preToolUse and beforeShellExecution are about the same call.
    assert_eq!(choices(&env), [("allow".to_owned(), "policy".to_owned())]);
    assert_eq!(env.log().all("hook_permitted").len(), 1);
}

#[test]
fn the_second_event_is_judged_by_what_it_tells_beyond_the_first() {
    // Only beforeMCPExecution names the server.
    let env = env("read-stdin\ninit\nmcp m1 prod wipe\nmcp-done m1 prod wipe\ndone\n");
    let rules = "[policy]\ndefault = 'allow'\n[[policy.rule]]\nmcp = 'prod:*'\naction = 'deny'\n";
    held(&env, rules).finish().assert_code(0);
    let choices: Vec<String> = choices(&env).into_iter().map(|(choice, _)| choice).collect();
    assert_eq!(choices, ["allow", "deny"]);
    let stream = String::from_utf8(env.log().raw_bytes()).unwrap();
    assert!(stream.contains("permissionDenied"), "{stream}");
}

#[test]
fn builds_that_only_ask_about_shells_are_held_too() {
    let env = env(TWO);
    held(&env, RULES).variable("FAKE_AGENT_HOOKS", "old").finish();
    assert!(!made(&env, "made"));
}

#[test]
fn what_is_to_be_asked_is_denied_where_nobody_is() {
    let env = env("read-stdin\ninit\nrun c1 10s touch asked\nrun c2 10s touch fine\ndone\n");
    held(&env, RULES).finish().assert_code(0);
    assert!(!made(&env, "asked") && made(&env, "fine"));
    let allows = RULES.replace("action = \"ask\"", "action = \"ask\"\nunattended = \"allow\"");
    let env = crate::support::env("read-stdin\ninit\nrun c1 10s touch asked\ndone\n");
    held(&env, &allows).finish().assert_code(0);
    assert!(made(&env, "asked"));
}

#[test]
fn an_agent_that_runs_no_hooks_is_stopped_at_its_first_tool() {
    let env = env("read-stdin\ninit\nrun c1 30s sleep 20; touch fine\ndone\n");
    let run = held(&env, RULES).variable("FAKE_AGENT_HOOKS", "none").finish();
    run.assert_code(1).assert_within(secs(15));
    assert!(!made(&env, "fine"));
    assert!(env.log().has("hooks_inactive"), "{:?}", env.log().names());
    assert!(run.stderr.contains("has called no hook"), "{}", run.stderr);
    assert!(!hooks_file(&env).exists());
}

#[test]
fn an_agent_that_should_have_called_by_now_is_stopped_before_its_first_tool() {
    for agent in ["claude", "gemini"] {
        let env = env("read-stdin\ninit\nsleep 20s\nrun c1 10s touch fine\ndone\n");
        let run = held(&env, RULES).flag("--agent", agent).variable("FAKE_AGENT_DIALECT", agent);
        let run = run.variable("FAKE_AGENT_HOOKS", "none").finish();
        run.assert_code(1).assert_within(secs(15));
        assert!(
            run.stderr.contains("has begun a session and has called no hook"),
            "{}",
            run.stderr
        );
        assert!(!made(&env, "fine") && env.log().has("hooks_inactive"));
    }
}

/// The dialects of the agents that have hooks.
const HOOKED: [&str; 3] = ["cursor", "claude", "gemini"];

fn held_as<'e>(env: &'e TestEnv, agent: &str, text: &str) -> Run<'e> {
    held(env, text).flag("--agent", agent).variable("FAKE_AGENT_DIALECT", agent)
}

#[test]
fn an_agent_that_switches_its_hooks_off_is_stopped_at_the_first_tool_that_rules_forbid() {
    for agent in HOOKED {
        let env = env("
            read-stdin
            init
            run c1 10s true
            hooks none
            run c2 10s touch allowed
            run c3 10s touch made
            sleep 20s
            run c4 10s touch later
            done
        ");
        let run = held_as(&env, agent, RULES).finish();
        run.assert_code(1).assert_within(secs(15));
        assert!(made(&env, "allowed") && !made(&env, "later"), "{agent}");
        let log = env.log();
        let unasked = log.all("tool_not_asked");
        let levels: Vec<_> = unasked.iter().map(|record| &record["level"]).collect();
        assert_eq!(levels, ["WARN", "ERROR"], "{agent}");
        assert_eq!(unasked[1]["decision"]["rule"]["name"], "made", "{agent}");
        assert_eq!(log.last()["outcome"], "internal", "{agent}");
        for part in ["without asking", "touch made", "rule `made`", "nothing of that name"] {
            assert!(run.stderr.contains(part), "{agent}: `{part}` is not in {}", run.stderr);
        }
        env.assert_nobody_left();
    }
}

#[test]
fn a_tool_that_nobody_was_asked_about_may_be_warned_of_instead() {
    let script = "read-stdin\ninit\nrun c1 10s true\nhooks none\nrun c2 10s touch made\ndone\n";
    let by_file = RULES.replacen("[policy]", "[policy]\non_unasked = 'warn'", 1);
    for (rules, flags, code) in [
        (RULES, &["--on-unasked", "warn"][..], 0),
        (&by_file, &[], 0),
        (&by_file, &["--on-unasked", "stop"], 1),
    ] {
        let env = env(script);
        let run = held(&env, rules).args(flags.iter().copied()).finish();
        run.assert_code(code);
        let log = env.log();
        let record = log.one("tool_not_asked");
        assert_eq!(record["level"], if code == 0 { "WARN" } else { "ERROR" }, "{flags:?}");
        assert_eq!(record["decision"]["rule"]["name"], "made", "{flags:?}");
        assert!(run.stderr.contains("without asking"), "{}", run.stderr);
    }
}

#[test]
fn a_result_does_not_make_up_for_a_tool_that_nobody_was_asked_about() {
    for agent in HOOKED {
        let env =
            env("read-stdin\ninit\nrun c1 10s true\nhooks none\nrun c2 10s touch made\ndone\n");
        let run = held_as(&env, agent, RULES).finish();
        run.assert_code(1);
        assert_eq!(env.log().last()["outcome"], "internal", "{agent}");
    }
}

#[test]
fn a_denied_call_is_no_leave_to_make_it_later_without_asking() {
    for agent in HOOKED {
        let env = env("
            read-stdin
            init
            run c1 10s touch made
            hooks none
            run c2 10s touch made
            done
        ");
        held_as(&env, agent, RULES).finish().assert_code(1);
        assert_eq!(env.log().one("tool_not_asked")["level"], "ERROR", "{agent}");
    }
}

#[test]
fn honest_agents_are_not_stopped_whatever_tools_they_use() {
    // What is allowed here is allowed by nothing but the answers to hooks.
    let rules = "[policy]\ndefault = 'ask'\nunattended = 'allow'\n";
    for agent in HOOKED {
        let env = env("
            read-stdin
            init
            plan [x] look | [ ] feed
            thinking Oats or hay?
            start c1 10s sleep 0.3; touch one
            start c2 10s sleep 0.1; touch two
            finish c1
            finish c2
            run c3 10s touch same
            run c4 10s touch same
            read r1 barn.txt
            read-done r1 barn.txt
            save w1 barn.txt hay
            mcp m1 prod wipe
            mcp-done m1 prod wipe
            task t1 look into the loft
            task-done t1 look into the loft
            done
        ");
        let run = held_as(&env, agent, rules).finish();
        run.assert_code(0);
        let log = env.log();
        let unasked = log.all("tool_not_asked");
        assert!(unasked.is_empty(), "{agent}: {unasked:?}");
        assert!(["one", "two", "same"].iter().all(|name| made(&env, name)), "{agent}");
    }
}

#[test]
fn a_file_that_the_agent_would_drop_is_refused_with_its_line() {
    let env = env(TWO);
    let odd = THEIRS.replace("preToolUse", "beforeEverything");
    with_file(&env, &odd);
    let run = held(&env, RULES).finish();
    run.assert_code(1);
    let said = &run.stderr;
    assert!(said.contains("hooks.json:3") && said.contains("beforeEverything"), "{said}");
    assert_eq!(env.starts(), 0, "the agent was started");
    assert_eq!(fs::read_to_string(hooks_file(&env)).unwrap(), odd);
}

#[test]
fn agents_without_hooks_say_so_and_the_others_name_the_option() {
    let env = env(TWO);
    let run = env.stablehand_run().flag("--agent", "codex").args(["--hooks", "-p", "go"]).finish();
    run.assert_code(64);
    assert!(run.stderr.contains("cursor, claude, gemini"), "{}", run.stderr);
    let run = env.stablehand_run().args(["--policy", "read-only", "-p", "go"]).finish();
    run.assert_code(64);
    assert!(run.stderr.contains("--hooks"), "{}", run.stderr);
    let talk = env.stablehand("talk").flag("--agent", "codex").flag("--policy", "read-only");
    let run = talk.flag("--agent-bin", &env.bins().fake_agent).args(["--hooks", "go"]).finish();
    run.assert_code(64);
    assert!(run.stderr.contains("cursor, claude, gemini"), "{}", run.stderr);
}

#[test]
fn claude_and_gemini_are_held_by_their_own_shapes() {
    for agent in ["claude", "gemini"] {
        let env = env(TWO);
        let run = held(&env, RULES).flag("--agent", agent).variable("FAKE_AGENT_DIALECT", agent);
        let run = run.args(["--output-format", "events"]).finish();
        run.assert_code(0);
        assert!(!made(&env, "made") && made(&env, "fine"), "{agent}");
        assert!(hooks_heard(&run).contains(&"SessionStart".to_owned()), "{agent}");
        let left: Vec<_> = fs::read_dir(env.work()).unwrap().flatten().collect();
        assert_eq!(left.len(), 1, "{agent} left {left:?}");
    }
}

#[test]
fn what_only_hooks_tell_is_shown_as_text() {
    let env = env("
        read-stdin
        init
        hooks all
        save w1 barn.txt hay\\noats\\n
        task t1 look into the loft
        task-done t1 look into the loft
        compact
        assistant Done.
        done
    ");
    let run = held(&env, RULES).flag("--output-format", "text").finish();
    run.assert_code(0);
    let shown = run.stdout_text();
    for part in ["barn.txt", "+hay", "+oats", "look into the loft"] {
        assert!(shown.contains(part), "`{part}` is not in:\n{shown}");
    }
}

#[test]
fn hooks_without_a_policy_only_tell() {
    let env = env(TWO);
    let run = env.stablehand_run().flag("--workspace", env.work());
    let run = run.args(["--hooks", "-p", "go", "--output-format", "events"]).finish();
    run.assert_code(0);
    assert!(made(&env, "made") && made(&env, "fine"));
    assert!(hooks_heard(&run).len() > 4);
    assert!(choices(&env).is_empty());
    assert!(!env.argv(1).contains(&"--force".to_owned()));
}

#[test]
fn silence_of_a_hook_that_waits_is_no_hang() {
    // Their hook takes longer than the agent may be silent; ours is a sign of life, and then the
    // open call's own time runs.
    let env = env("read-stdin\ninit\nrun c1 10s touch fine\ndone\n");
    with_file(&env, &THEIRS.replace("echo theirs", "sleep 1; echo theirs"));
    let run = held(&env, RULES).flag("--idle-timeout", "5s").finish();
    run.assert_code(0).assert_at_least(ms(900));
}
