//! Conversations: one process for many turns, interrupts that kill nobody, questions and answers.
//!
//! The agents are shims that play scenes in the two dialects that listen while they work.

mod retries;

use crate::support::{bins, secs};
use nix::sys::signal::Signal;
use serde_json::Value;
use stablehand_testkit::{Finished, Run, TestEnv};

/// The agents that can be talked with, in their own protocol or (after a slash) in another.
const TWO_WAY: [&str; 7] =
    ["claude", "codex", "gemini/acp", "opencode/acp", "qwen/acp", "copilot/acp", "grok/acp"];

/// Those of them that a policy can hold.
const HELD: [&str; 6] = ["claude", "codex", "gemini/acp", "qwen/acp", "copilot/acp", "grok/acp"];

fn with_shims() -> TestEnv {
    let env = TestEnv::new(bins());
    let folder = env.path("shims");
    env.stablehand("fake-agent").flag("--shims", folder).finish().assert_code(0);
    env
}

/// `stablehand` with an agent's shim and short limits.
fn command<'e>(env: &'e TestEnv, subcommand: &str, agent: &str, scene: &str) -> Run<'e> {
    let (agent, protocol) = agent.split_once('/').unwrap_or((agent, ""));
    let protocol: &[&str] = if protocol == "acp" { &["--acp"] } else { &[] };
    env.stablehand(subcommand)
        .args(protocol.iter().copied())
        .flag("--agent", agent)
        .flag("--agent-bin", env.path("shims").join(agent))
        .flag("--log-dir", env.log_dir())
        .flag("--startup-timeout", "5s")
        .flag("--idle-timeout", "1s")
        .flag("--exit-grace", "2s")
        .variable("STABLEHAND_FAKE_SCENE", scene)
        .deadline(secs(30))
}

/// The Agent Client Protocol has one word for what failed and what was refused.
fn as_told<'o>(agent: &str, outcome: &'o str) -> &'o str {
    if agent.ends_with("/acp") && outcome == "rejected" { "failure" } else { outcome }
}

fn events(run: &Finished, kind: &str) -> Vec<Value> {
    let all = run.stdout_json().into_iter().map(|event| event["event"].clone());
    all.filter(|event| event["type"] == kind).collect()
}

#[test]
fn many_turns_go_through_one_process() {
    for agent in TWO_WAY {
        let env = with_shims();
        let run = command(&env, "talk", agent, "hello")
            .flag("--output-format", "events")
            .stdin("one\ntwo\nthree\n")
            .finish();
        run.assert_code(0);
        let ends = events(&run, "turn.ended");
        assert_eq!(ends.len(), 3, "{agent}: {}", run.stderr);
        assert!(ends.iter().all(|end| end["end"]["kind"] == "done"), "{agent}: {ends:?}");
        let log = env.log();
        assert_eq!(
            (log.all("agent_spawned").len(), log.last()["outcome"].as_str()),
            (1, Some("success"))
        );
        let prompts = log.all("told").iter().filter(|told| told["what"] == "prompt").count();
        assert_eq!(prompts, 3, "{agent}: what was said is on record");
        env.assert_nobody_left();
    }
}

#[test]
fn one_turn_may_be_two_way() {
    for agent in TWO_WAY {
        let env = with_shims();
        let run = command(&env, "run", agent, "shell").flag("--output-format", "stream-json");
        let run = if agent.contains('/') { run } else { run.flag("--transport", "two-way") };
        let run = run.args(["--verify", "go"]).finish();
        run.assert_code(0);
        assert!(run.stderr.contains("identical"), "{agent}: {}", run.stderr);
        assert_eq!(env.log().raw_bytes(), run.stdout, "{agent}");
        env.assert_nobody_left();
    }
}

#[test]
fn a_question_is_answered_by_the_setting_on_record_before_the_agent_is_told() {
    for agent in TWO_WAY {
        for (policy, choice, outcome) in
            [("deny", "deny", "rejected"), ("allow", "allow", "success")]
        {
            let env = with_shims();
            let run = command(&env, "talk", agent, "ask")
                .flag("--output-format", "events")
                .flag("--approvals", policy)
                .stdin("go\n")
                .finish();
            run.assert_code(0);
            assert_eq!(events(&run, "approval.requested").len(), 1, "{agent}");
            let resolved = events(&run, "approval.resolved");
            assert_eq!(resolved.len(), 1, "{agent}: told once: {resolved:?}");
            assert_eq!(
                (&resolved[0]["choice"], &resolved[0]["by"]),
                (&choice.into(), &"setting".into()),
                "{agent}: there is no policy"
            );
            let log = env.log();
            let names = log.names();
            let at = names.iter().position(|name| *name == "approval_resolved").unwrap();
            assert_eq!(names.get(at + 1), Some(&"told"), "{agent}");
            let tools: Vec<_> = events(&run, "item.completed")
                .into_iter()
                .filter(|event| event["item"]["kind"] == "tool")
                .map(|event| event["item"]["outcome"]["kind"].clone())
                .collect();
            assert_eq!(tools, [as_told(agent, outcome)], "{agent} {policy}");
            env.assert_nobody_left();
        }
    }
}

/// The rules of a test: the scene's command is `echo hi`.
fn rules(env: &TestEnv, action: &str) -> std::path::PathBuf {
    let file = env.path("rules.toml");
    let text = format!(
        "[policy]\ndefault = \"ask\"\n\n[[policy.rule]]\nname = \"greeting\"\n\
         command = \"echo *\"\naction = \"{action}\"\nreason = \"for a reason\"\n"
    );
    std::fs::write(&file, text).unwrap();
    file
}

#[test]
fn a_policy_decides_before_the_tool_runs_and_says_by_which_rule() {
    let table =
        [("deny", "deny", "rejected"), ("allow", "allow", "success"), ("ask", "deny", "rejected")];
    for agent in HELD {
        for (subcommand, prompt) in [("run", Some("go")), ("talk", None)] {
            for (action, choice, outcome) in table {
                let env = with_shims();
                let mut run = command(&env, subcommand, agent, "ask")
                    .flag("--output-format", "events")
                    .flag("--policy", rules(&env, action));
                run = match prompt {
                    Some(prompt) => run.args([prompt]),
                    None => run.stdin("go\n"),
                };
                let run = run.finish();
                run.assert_code(0);
                let resolved = events(&run, "approval.resolved");
                assert_eq!(resolved.len(), 1, "{agent} {subcommand}: {resolved:?}");
                assert_eq!(resolved[0]["choice"], choice, "{agent} {subcommand} {action}");
                let by = resolved[0]["by"].as_str().unwrap();
                assert!(by.contains("greeting"), "nobody was waited for: {by}");
                let log = env.log();
                let decided = &log.one("policy_decided")["decision"];
                assert_eq!(decided["action"], action, "{agent} {subcommand}");
                assert_eq!(decided["rule"]["name"], "greeting");
                assert_eq!(decided["rule"]["line"], 4);
                let tools = events(&run, "item.completed");
                let tool = tools.iter().find(|event| event["item"]["kind"] == "tool").unwrap();
                let outcome = as_told(agent, outcome);
                assert_eq!(tool["item"]["outcome"]["kind"], outcome, "{agent} {subcommand}");
                env.assert_nobody_left();
            }
        }
    }
}

#[test]
fn what_an_agent_does_unasked_is_held_against_the_rules() {
    // Codex takes this command for harmless, and asks about others.
    let agents = ["gemini/acp", "codex"];
    let table = [("deny", 1), ("allow", 0)].map(|row| agents.map(|agent| (agent, row)));
    for (agent, (action, code)) in table.into_iter().flatten() {
        let env = with_shims();
        let run = command(&env, "run", agent, "shell")
            .flag("--policy", rules(&env, action))
            .args(["go"])
            .finish();
        run.assert_code(code);
        let log = env.log();
        assert_eq!(log.has("tool_not_asked"), action == "deny", "{:?}", log.names());
        if action == "deny" {
            assert_eq!(log.one("tool_not_asked")["decision"]["rule"]["name"], "greeting");
            assert_eq!(log.last()["outcome"], "internal");
            assert!(run.stderr.contains("without asking"), "{}", run.stderr);
        }
        env.assert_nobody_left();
    }
}

#[test]
fn what_an_agent_does_unasked_may_be_warned_of_instead() {
    for agent in ["gemini/acp", "codex"] {
        let env = with_shims();
        let run = command(&env, "run", agent, "shell").flag("--policy", rules(&env, "deny"));
        let run = run.args(["--on-unasked", "warn", "go"]).finish();
        run.assert_code(0);
        for record in env.log().all("tool_not_asked") {
            assert_eq!((&record["level"], &record["tolerated"]), (&"WARN".into(), &true.into()));
            assert_eq!(record["decision"]["rule"]["name"], "greeting");
        }
        assert!(env.log().has("tool_not_asked"), "{agent}");
        assert_eq!(env.log().last()["outcome"], "success", "{agent}");
        env.assert_nobody_left();
    }
}

#[test]
fn an_agent_that_cannot_be_confined_is_not_prompted() {
    let env = with_shims();
    let run = command(&env, "run", "gemini/acp", "shell").args(["--mode", "plan", "go"]).finish();
    run.assert_code(1);
    assert!(run.stderr.contains("Invalid mode: plan"), "{}", run.stderr);
    assert!(!env.log().mentions("session/prompt"), "{:?}", env.log().names());
    env.assert_nobody_left();
}

#[test]
fn what_acp_cannot_do_is_said() {
    let env = with_shims();
    let table: &[(&str, &[&str], &str)] = &[
        ("gemini/acp", &["--transport", "pty"], "leave out one of the two"),
        ("gemini/acp", &["--continue"], "--resume"),
        ("gemini", &["--login", "key"], "--acp"),
        ("demo/acp", &[], "cursor, claude, codex, gemini, opencode, qwen, copilot"),
        ("copilot", &["--transport", "two-way"], "leave out one of the two"),
        ("copilot", &["--hooks"], "these have"),
    ];
    for (agent, args, words) in table {
        let run =
            command(&env, "run", agent, "hello").args(args.iter().copied()).args(["x"]).finish();
        run.assert_code(64);
        assert!(run.stderr.contains(words), "{agent} {args:?}: {}", run.stderr);
    }
    assert!(env.logs().is_empty());
}

#[test]
fn a_policy_for_an_agent_that_does_not_ask_is_refused() {
    let env = with_shims();
    let rules = rules(&env, "deny");
    for subcommand in ["run", "talk"] {
        let run = command(&env, subcommand, "gemini", "hello").flag("--policy", &rules);
        let run = run.args(["x"]).finish();
        run.assert_code(64);
        assert!(run.stderr.contains("a policy cannot hold it"), "{}", run.stderr);
    }
    let run = command(&env, "run", "claude", "hello").flag("--policy", "no-such-file.toml");
    let run = run.args(["x"]).finish();
    run.assert_code(1);
    assert!(run.stderr.contains("no-such-file.toml"), "{}", run.stderr);
    std::fs::write(&rules, "[policy]\ndefualt = \"allow\"\n").unwrap();
    let run = command(&env, "run", "claude", "hello").flag("--policy", &rules).args(["x"]).finish();
    run.assert_code(1);
    assert!(run.stderr.contains("defualt") && run.stderr.contains(":2"), "{}", run.stderr);
    assert!(env.logs().is_empty());
}

#[test]
fn a_policy_for_an_agent_that_asks_too_little_is_refused_before_it_starts() {
    let env = with_shims();
    let rules = rules(&env, "deny");
    let others = "claude, codex, demo; with --hooks: cursor, claude, gemini";
    let table: &[(&str, &[&str], &str)] = &[
        ("opencode/acp", &[], others),
        ("opencode/acp", &["--mode", "plan"], others),
        ("opencode", &[], others),
        ("cursor/acp", &[], "use --hooks instead of --acp"),
        ("codex/acp", &[], "leave out --acp"),
    ];
    for subcommand in ["run", "talk", "acp"] {
        for (agent, args, next) in table {
            let run = command(&env, subcommand, agent, "shell").flag("--policy", &rules);
            let run = run.args(args.iter().copied());
            let run = if subcommand == "acp" { run.stdin("") } else { run.args(["x"]) };
            let run = run.finish();
            run.assert_code(64);
            let name = agent.split('/').next().unwrap();
            for words in [name, "so a policy cannot hold it", next] {
                assert!(run.stderr.contains(words), "{subcommand} {agent}: {}", run.stderr);
            }
            if agent.ends_with("/acp") {
                let why = "does not ask permission before every tool";
                assert!(run.stderr.contains(why), "{subcommand} {agent}: {}", run.stderr);
            }
        }
    }
    // By its command line it is the same program.
    let program = env.path("shims").join("opencode");
    let line = format!("{} acp", program.display());
    let run = env.stablehand("run").flag("--agent", format!("acp:{line}"));
    let run = run.flag("--policy", &rules).args(["x"]).finish();
    run.assert_code(64);
    assert!(run.stderr.contains("a policy cannot hold it"), "{}", run.stderr);
    let run = env.stablehand("acp").flag("--through", &line).flag("--policy", &rules).stdin("");
    let run = run.finish();
    run.assert_code(64);
    assert!(run.stderr.contains("a policy cannot hold it"), "{}", run.stderr);
    assert!(env.logs().is_empty());
}

#[test]
fn rules_that_were_found_refuse_it_too_unless_they_are_left_out() {
    let env = with_shims();
    let config = env.home().join(".config/stablehand/config.toml");
    std::fs::create_dir_all(config.parent().unwrap()).unwrap();
    std::fs::copy(rules(&env, "deny"), &config).unwrap();
    let run = command(&env, "run", "opencode/acp", "shell").args(["x"]).finish();
    run.assert_code(64);
    for words in ["a policy cannot hold it", "config.toml", "--no-policy"] {
        assert!(run.stderr.contains(words), "`{words}`: {}", run.stderr);
    }
    assert!(env.logs().is_empty());
    let run = command(&env, "run", "opencode/acp", "shell").args(["--no-policy", "x"]).finish();
    run.assert_code(0);
}

#[test]
fn an_interrupt_ends_the_turn_and_not_the_agent() {
    for agent in TWO_WAY {
        let env = with_shims();
        let mut run = command(&env, "talk", agent, "stall")
            .flag("--output-format", "events")
            .flag("--idle-timeout", "60s")
            .stdin_open()
            .start();
        for turn in 1..=2 {
            run.type_line("go");
            env.wait_for("the model's words", || {
                run.stdout_so_far().matches(r#""type":"item.started""#).count() >= turn
            });
            run.signal(Signal::SIGINT);
            env.wait_for("the end of the turn", || {
                run.stdout_so_far().matches(r#""type":"turn.ended""#).count() == turn
            });
        }
        run.close_stdin();
        let run = run.finish();
        run.assert_code(130);
        let ends = events(&run, "turn.ended");
        assert!(ends.iter().all(|end| end["end"]["kind"] == "cancelled"), "{agent}: {ends:?}");
        let log = env.log();
        assert_eq!(log.all("agent_spawned").len(), 1, "{agent}: the same process all the time");
        assert_eq!(log.one("run_ended")["forced"], false, "{agent}: we killed no process");
        env.assert_nobody_left();
    }
}

#[test]
fn a_hang_is_one_also_in_a_conversation_and_the_next_prompt_resumes() {
    for agent in TWO_WAY {
        let env = with_shims();
        let run = command(&env, "talk", agent, "stall").stdin("one\ntwo\n").finish();
        run.assert_code(2);
        let log = env.log();
        assert_eq!(log.all("hang_detected").len(), 2, "{agent}");
        let spawned = log.all("agent_spawned");
        assert_eq!(spawned.len(), 2, "{agent}");
        assert!(spawned[0]["resumed_from"].is_null() && spawned[1]["resumed_from"].is_string());
        env.assert_nobody_left();
    }
}

#[test]
fn silence_between_turns_is_no_hang() {
    for agent in TWO_WAY {
        let env = with_shims();
        let mut run = command(&env, "talk", agent, "hello")
            .flag("--exit-grace", "300ms")
            .stdin_open()
            .start();
        run.type_line("one");
        run.wait_for_stdout("\n");
        // Three times the idle limit, ten times the grace for leaving.
        std::thread::sleep(secs(3));
        assert!(run.is_running(), "{agent}");
        run.type_line("two");
        run.close_stdin();
        run.finish().assert_code(0);
        let log = env.log();
        assert_eq!(
            (log.all("agent_spawned").len(), log.has("hang_detected")),
            (1, false),
            "{agent}"
        );
        assert_eq!(log.one("run_ended")["forced"], false, "{agent}");
        env.assert_nobody_left();
    }
}

#[test]
fn killing_us_in_a_conversation_leaves_nobody() {
    for agent in TWO_WAY {
        let env = with_shims();
        let mut run = command(&env, "talk", agent, "long-tool").stdin_open().start();
        run.type_line("go");
        env.wait_for_log("tool_call_opened");
        run.signal(Signal::SIGKILL);
        run.finish();
        env.assert_nobody_left();
    }
}

#[test]
fn a_conversation_that_nobody_reads_ends() {
    for agent in TWO_WAY {
        let env = with_shims();
        let mut run = command(&env, "talk", agent, "slow").stdout_unread().stdin_open().start();
        drop(run.take_stdout());
        run.type_line("go");
        let run = run.finish();
        run.assert_code(141);
        assert_eq!(env.log().last()["outcome"], "reader_gone", "{agent}");
        env.assert_nobody_left();
    }
}

#[test]
fn who_takes_one_turn_a_process_cannot_be_two_way_and_says_who_can() {
    let env = with_shims();
    let run =
        command(&env, "run", "gemini", "hello").flag("--transport", "two-way").args(["x"]).finish();
    run.assert_code(64);
    assert!(run.stderr.contains("claude, codex"), "{}", run.stderr);
    // But everybody can be talked with.
    let run = command(&env, "talk", "gemini", "hello").stdin("one\ntwo\n").finish();
    run.assert_code(0);
    let log = env.log();
    assert_eq!(log.all("agent_spawned").len(), 2);
    env.assert_nobody_left();
}

#[test]
fn a_mode_that_the_agent_has_not_is_refused_with_those_that_it_has() {
    let env = with_shims();
    let run = command(&env, "run", "opencode", "hello").flag("--mode", "edit").args(["x"]).finish();
    run.assert_code(64);
    assert!(run.stderr.contains("no mode `edit`") && run.stderr.contains("plan"), "{}", run.stderr);
    assert!(env.logs().is_empty());
}
