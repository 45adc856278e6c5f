//! Results that come while background tasks are open: the agent may wake, or not.
//!
//! Times are a twentieth of the real ones; the real ones are tested in core, where time is an argument.

use crate::support::{env, run, secs};
use serde_json::Value;
use stablehand_testkit::{Finished, Run, TestEnv};

/// Every kind of task that Claude Code lists, and one that it may have tomorrow.
const TASKS: [&str; 4] = ["local_bash", "local_agent", "monitor", "of_tomorrow"];

const INIT: &str =
    r#"say {"type":"system","subtype":"init","session_id":"s1","model":"m","cwd":"/"}"#;

const NO_TASKS: &str =
    r#"say {"type":"system","subtype":"background_tasks_changed","tasks":[],"session_id":"s1"}"#;

fn tasks(kind: &str) -> String {
    format!(
        r#"say {{"type":"system","subtype":"background_tasks_changed","tasks":[{{"task_id":"t1","task_type":"{kind}","description":"fill the trough"}}],"session_id":"s1"}}"#
    )
}

/// A message, and the result that repeats it.
fn answer(text: &str) -> String {
    format!(
        r#"
        say {{"type":"assistant","message":{{"id":"m-{text}","content":[{{"type":"text","text":"{text}"}}]}},"session_id":"s1"}}
        say {{"type":"result","subtype":"success","is_error":false,"result":"{text}","session_id":"s1","usage":{{"input_tokens":3,"output_tokens":1}}}}
        "#
    )
}

/// What the agent says before it rests.
fn early(kind: &str) -> String {
    [INIT, &tasks(kind), &answer("Filling.")].join("\n")
}

/// What it says when it wakes.
fn wakes() -> String {
    [NO_TASKS, INIT, "sleep 700ms", &answer("Full.")].join("\n")
}

/// A pipe to the agent, which reads its prompt to the end; or a conversation with it.
const TRANSPORTS: [&str; 2] = ["pipe", "two-way"];

fn env_of(transport: &str, script: &str) -> TestEnv {
    let head = if transport == "pipe" { "read-stdin\n" } else { "" };
    env(&format!("{head}{script}"))
}

fn claude<'e>(env: &'e TestEnv, transport: &str) -> Run<'e> {
    talks(run(env), transport).flag("--transport", transport).flag("--output-format", "events")
}

fn talks<'e>(run: Run<'e>, transport: &str) -> Run<'e> {
    let run = run.flag("--agent", "claude").flag("--exit-grace", "300ms").deadline(secs(40));
    let run = run.flag("--idle-timeout", "5s").flag("--max-extensions", "0");
    match transport {
        "pipe" => run,
        _ => run.variable("FAKE_AGENT_TALKS", "1").variable("FAKE_AGENT_DIALECT", "claude"),
    }
}

fn events(run: &Finished) -> Vec<Value> {
    run.stdout_json().into_iter().map(|event| event["event"].clone()).collect()
}

fn of_kind<'e>(events: &'e [Value], kind: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

/// The messages between the beginning and the end of each turn.
fn turns(events: &[Value]) -> Vec<Vec<String>> {
    let mut turns = Vec::new();
    let mut said = None;
    for event in events {
        match event["type"].as_str() {
            Some("turn.started") => said = Some(Vec::new()),
            Some("turn.ended") => turns.extend(said.take()),
            Some("item.completed") if event["item"]["kind"] == "message" => {
                let text = event["item"]["text"].as_str().unwrap().to_owned();
                said.as_mut().unwrap().push(text);
            }
            _ => {}
        }
    }
    turns
}

#[test]
fn an_agent_that_wakes_gives_both_answers_in_one_turn() {
    for transport in TRANSPORTS {
        for (kind, quiet) in TASKS.into_iter().zip(["400ms", "1s", "3s", "1s"]) {
            let script = format!("{}\nsleep {quiet}\n{}", early(kind), wakes());
            let env = env_of(transport, &script);
            let run = claude(&env, transport).finish();
            run.assert_code(0);
            let events = events(&run);
            let what = format!("{transport}, {kind}");
            assert_eq!(turns(&events), [["Filling.", "Full."]], "{what}");
            let ended = of_kind(&events, "turn.ended");
            assert_eq!((ended.len(), &ended[0]["text"]), (1, &"Full.".into()), "{what}");
            assert_eq!(ended[0]["usage"]["turn"]["input"], 6, "{what}: what both used");
            let log = env.log();
            let cut = ["agent_killed", "exit_overdue", "result_stands"];
            assert!(!cut.iter().any(|name| log.has(name)), "{what}: {:?}", log.names());
            assert_eq!(log.one("run_ended")["outcome"], "success", "{what}");
        }
    }
}

#[test]
fn an_agent_that_never_wakes_is_cut_and_that_is_no_success() {
    for transport in TRANSPORTS {
        for kind in ["local_bash", "local_agent"] {
            let env = env_of(transport, &format!("{}\nhang", early(kind)));
            let run = claude(&env, transport).flag("--background-grace", "1s").finish();
            let what = format!("{transport}, {kind}");
            run.assert_code(2);
            let events = events(&run);
            let ended = of_kind(&events, "turn.ended");
            assert_eq!(ended.len(), 1, "{what}");
            assert_eq!(ended[0]["end"]["kind"], "stopped", "{what}");
            assert_eq!(ended[0]["end"]["verdict"], "background", "{what}");
            assert_eq!(ended[0]["text"], "Filling.", "{what}: the answer that there is");
            let of_run = of_kind(&events, "run.ended");
            assert_eq!(of_run[0]["end"], "limit_reached", "{what}");
            assert_eq!(of_run[0]["last_text"], "Filling.", "{what}");
            assert_eq!(of_run[0]["usage"]["turn"]["input"], 3, "{what}");
            let stalled = of_kind(&events, "health.changed");
            let evidence = &stalled.iter().find(|it| it["to"] == "stalled").unwrap()["evidence"];
            let task = &evidence["background_tasks"][0];
            assert_eq!(task["description"], "fill the trough", "{what}");
            assert!(evidence["silence_ms"].as_u64() >= Some(1000), "{what}");
            let log = env.log();
            let verdict = log.one("limit_reached");
            assert_eq!(
                (&verdict["verdict"], &verdict["limit_ms"]),
                (&"background".into(), &1000.into())
            );
            assert!(verdict["text"].as_str().unwrap().contains("fill the trough"), "{what}");
            let ended = log.one("run_ended");
            assert_eq!(
                (&ended["outcome"], &ended["exit_code"]),
                (&"limit_reached".into(), &2.into())
            );
            let doctor = env.stablehand("doctor").flag("--log-dir", env.log_dir()).args(["latest"]);
            let doctor = doctor.finish();
            let told = String::from_utf8_lossy(&doctor.stdout).into_owned();
            assert!(told.contains("--background-grace"), "{what}: {told} {}", doctor.stderr);
        }
    }
}

#[test]
fn a_person_reads_that_the_run_was_cut() {
    let env = env_of("pipe", &format!("{}\nhang", early("local_bash")));
    let run = talks(run(&env), "pipe").flag("--background-grace", "500ms").finish();
    run.assert_code(2);
    let told = "after a result while a background task was open: local_bash `fill the trough`";
    assert!(run.stderr.contains(told), "{}", run.stderr);
}

#[test]
fn without_open_tasks_the_exit_grace_holds_again() {
    for transport in TRANSPORTS {
        let rest = if transport == "pipe" { "hang" } else { "" };
        let script = format!("{}\nsleep 600ms\n{NO_TASKS}\n{rest}", early("local_bash"));
        let env = env_of(transport, &script);
        let run = claude(&env, transport).finish();
        run.assert_code(0).assert_within(secs(12));
        let events = events(&run);
        assert_eq!(turns(&events), [["Filling."]], "{transport}");
        assert_eq!(of_kind(&events, "turn.result").len(), 1, "{transport}");
        assert_eq!(of_kind(&events, "turn.ended")[0]["text"], "Filling.", "{transport}");
        let log = env.log();
        assert_eq!(log.one("result_stands")["by"], "quiet", "{transport}");
        // An agent that is talked with leaves when nothing more comes.
        assert_eq!(log.has("exit_overdue"), transport == "pipe", "{transport}");
    }
}

#[test]
fn an_agent_that_leaves_with_a_command_open_has_given_its_answer() {
    let env = env_of("pipe", &format!("{}\nexit 0", early("local_bash")));
    claude(&env, "pipe").finish().assert_code(0);
    // One that crashes has not.
    for crash in ["exit 3", "die SEGV"] {
        let env = env_of("pipe", &format!("{}\n{crash}", early("local_bash")));
        claude(&env, "pipe").finish().assert_code(1);
        assert_eq!(env.log().one("run_ended")["outcome"], "no_result");
    }
    // What an agent in the background was to find out is missing.
    let env = env_of("pipe", &format!("{}\nexit 0", early("local_agent")));
    claude(&env, "pipe").finish().assert_code(1);
    assert_eq!(env.log().one("run_ended")["outcome"], "no_result");
}

#[test]
fn another_limit_that_cuts_the_wait_is_no_success_either() {
    let env = env_of("pipe", &format!("{}\nhang", early("local_bash")));
    claude(&env, "pipe").flag("--max-wall", "1s").finish().assert_code(2);
    assert_eq!(env.log().one("run_ended")["verdict"], "wall_clock");
}

fn talk<'e>(env: &'e TestEnv, prompts: &str) -> Run<'e> {
    let talk = talks(env.stablehand("talk"), "two-way").flag("--log-dir", env.log_dir());
    let talk = talk.flag("--agent-bin", &env.bins().fake_agent);
    talk.flag("--output-format", "events").stdin(prompts)
}

#[test]
fn a_conversation_waits_for_the_second_answer_before_the_next_prompt() {
    let first = format!("{}\nsleep 1s\n{}", early("local_bash"), wakes());
    let env = env(&format!("{first}\n---\n{INIT}\n{}", answer("Bye.")));
    let run = talk(&env, "fill it\nleave\n").finish();
    run.assert_code(0);
    let turns = turns(&events(&run));
    assert_eq!(turns, [vec!["Filling.", "Full."], vec!["Bye."]]);
    assert_eq!(env.log().all("agent_spawned").len(), 1);
}

#[test]
fn a_conversation_in_which_a_task_never_ends_is_cut_by_the_limit() {
    let first = format!("{}\nhang", early("local_bash"));
    let env = env(&format!("{first}\n---\n{INIT}\n{}", answer("Bye.")));
    let run = talk(&env, "fill it\n").flag("--background-grace", "1s").finish();
    run.assert_code(2);
    let ended = events(&run);
    assert_eq!(of_kind(&ended, "turn.ended")[0]["end"]["verdict"], "background");
}
