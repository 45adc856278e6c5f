//! The decoder by table: every shape of a line, and what it becomes.

use super::super::kit::testing::*;
use super::*;
use crate::event::{ItemBody, Outcome, Todo, TodoStatus, Tool, ToolInput, ToolKind, Unrecognized};
use crate::id::SessionId;
use proptest::prelude::*;

fn decode(lines: &[&str]) -> Vec<EventKind> {
    super::super::kit::testing::decode::<GeminiDecoder>(lines)
}

const INIT: &str = r#"{"type":"init","timestamp":"t","session_id":"s","model":"auto"}"#;
const USER: &str = r#"{"type":"message","timestamp":"t","role":"user","content":"do it"}"#;
const OK: &str = r#"{"type":"result","timestamp":"t","status":"success","stats":{"total_tokens":18,"input_tokens":12,"output_tokens":5,"cached":4,"input":8,"duration_ms":7,"tool_calls":0,"models":{"m":{"input":1}}}}"#;

fn piece(text: &str) -> String {
    format!(
        r#"{{"type":"message","timestamp":"t","role":"assistant","content":{text:?},"delta":true}}"#
    )
}

fn call(name: &str, id: &str, parameters: &str) -> String {
    format!(
        r#"{{"type":"tool_use","timestamp":"t","tool_name":"{name}","tool_id":"{id}","parameters":{parameters}}}"#
    )
}

fn outcome_of(name: &str, result: &str) -> Tool {
    let done = format!(r#"{{"type":"tool_result","timestamp":"t","tool_id":"a",{result}}}"#);
    let events = decode(&[&call(name, "a", r#"{"command":"c"}"#), &done]);
    let [tool] = tools(&events).try_into().unwrap();
    tool
}

#[test]
fn a_turn_from_init_to_result() {
    let events = decode(&[INIT, USER, &piece("a\"b"), &piece("c"), OK]);
    assert_eq!(
        names(&events),
        [
            "session.started",
            "turn.started",
            "item.started",
            "item.delta",
            "item.delta",
            "item.completed",
            "turn.ended"
        ]
    );
    assert_eq!(
        events[0],
        EventKind::SessionStarted {
            agent: "gemini".into(),
            agent_version: None,
            native_id: SessionId("s".into()),
            model: Some("auto".into()),
            cwd: None,
            resumed_from: None,
        }
    );
    assert_eq!(events[1], EventKind::TurnStarted { prompt: Some("do it".into()), by: None });
    assert_eq!(said(&events), "a\"bc");
    assert_eq!(bodies(&events), [&ItemBody::Message { text: "a\"bc".into() }]);
    let tokens = Tokens { input: 8, output: 5, cache_read: 4, ..Tokens::default() };
    assert_eq!(
        events.last().unwrap(),
        &EventKind::TurnEnded {
            end: TurnEnd::Done,
            text: None,
            usage: Some(Usage::Turn(tokens)),
            duration_ms: Some(7),
        }
    );
}

#[test]
fn calls_of_one_answer_share_a_step() {
    let shell = |id: &str| call("run_shell_command", id, r#"{"command":"ls","dir_path":"/d"}"#);
    let done = |id: &str| {
        format!(r#"{{"type":"tool_result","tool_id":"{id}","status":"success","output":"x"}}"#)
    };
    let lines = [
        piece("two"),
        shell("a"),
        shell("b"),
        done("b"),
        done("a"),
        piece("one"),
        shell("c"),
        done("c"),
    ];
    let events = decode(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    let tools = tools(&events);
    let steps: Vec<_> = tools.iter().map(|t| (t.call.0.as_str(), t.step.as_deref())).collect();
    assert_eq!(steps, [("b", Some("1")), ("a", Some("1")), ("c", Some("2"))]);
    assert_eq!(tools[0].tool_kind, ToolKind::Execute);
    let input = ToolInput::Command { command: "ls".into(), cwd: Some("/d".into()) };
    assert_eq!(tools[0].input, input);
    assert_eq!(tools[0].output.as_deref(), Some("x"));
    assert_eq!(tools[0].outcome, Some(Outcome::Success));
    // The same call with the same result again is the same; that its answer was another is not.
    assert_eq!(tools[0].digest, tools[2].digest);
}

#[test]
fn inputs_are_typed() {
    let path = |path: &str| ToolInput::Path { path: path.into() };
    let mcp =
        |server: &str, tool: &str| ToolInput::Mcp { server: server.into(), tool: tool.into() };
    let cases = [
        ("write_file", r#"{"content":"x","file_path":"/p"}"#, path("/p")),
        ("read_file", r#"{"absolute_path":"/p"}"#, path("/p")),
        ("list_directory", r#"{"dir_path":"/d"}"#, path("/d")),
        ("read_many_files", r#"{"include":["*.rs","b"]}"#, path("*.rs")),
        (
            "grep_search",
            r#"{"dir_path":"/d","pattern":"x"}"#,
            ToolInput::Query { query: "x".into(), path: Some("/d".into()) },
        ),
        (
            "web_fetch",
            r#"{"prompt":"sum up https://a.b/c please"}"#,
            ToolInput::Url { url: "https://a.b/c".into() },
        ),
        (
            "google_web_search",
            r#"{"query":"q"}"#,
            ToolInput::Query { query: "q".into(), path: None },
        ),
        (
            "codebase_investigator",
            r#"{"objective":"find"}"#,
            ToolInput::SubAgent { description: "find".into() },
        ),
        (
            "write_todos",
            r#"{"todos":[{"description":"a","status":"in_progress"},{"description":"b","status":"completed"}]}"#,
            ToolInput::Todos {
                todos: vec![
                    Todo { text: "a".into(), status: TodoStatus::InProgress },
                    Todo { text: "b".into(), status: TodoStatus::Completed },
                ],
            },
        ),
        ("mcp_github_list_issues", "{}", mcp("github", "list_issues")),
        ("github__list_issues", "{}", mcp("github", "list_issues")),
        ("update_topic", r#"{"title":"t"}"#, ToolInput::Other { summary: "t".into() }),
        ("no_such_tool", r#"{"x":1,"y":"z"}"#, ToolInput::Other { summary: "z".into() }),
        ("Bash", r#"{"command":"ls"}"#, ToolInput::Command { command: "ls".into(), cwd: None }),
    ];
    for (name, parameters, expected) in cases {
        let events = decode(&[&call(name, "a", parameters)]);
        let EventKind::ItemStarted { item } = &events[1] else {
            panic!("{events:?}");
        };
        let ItemBody::Tool(tool) = &item.body else {
            panic!("{item:?}");
        };
        assert_eq!(tool.input, expected, "{name}");
    }
}

#[test]
fn a_list_of_things_to_do_is_a_plan() {
    let todos = r#"{"todos":[{"description":"a","status":"pending"}]}"#;
    let done = r#"{"type":"tool_result","tool_id":"a","status":"success"}"#;
    let events = decode(&[&call("write_todos", "a", todos), done]);
    let plan = vec![Todo { text: "a".into(), status: TodoStatus::Pending }];
    assert_eq!(bodies(&events)[1], &ItemBody::Plan { todos: plan, text: None });
}

#[test]
fn outcomes_are_told_apart() {
    let failure = |exit_code, message: Option<&str>| Outcome::Failure {
        exit_code,
        message: message.map(str::to_owned),
    };
    let error = |kind: &str| {
        format!(r#""status":"error","output":"o","error":{{"type":"{kind}","message":"m"}}"#)
    };
    let success = |output: &str| format!(r#""status":"success","output":"{output}""#);
    let shell = "run_shell_command";
    let cases = [
        (shell, success("hi"), Outcome::Success),
        (shell, r#""status":"success""#.to_owned(), Outcome::Success),
        (shell, success("Command exited with code: 3"), failure(Some(3), None)),
        (
            shell,
            success("Command terminated by signal: 9"),
            failure(None, Some("Command terminated by signal")),
        ),
        ("read_file", success("Command exited with code: 3"), Outcome::Success),
        (
            shell,
            success("Command was automatically cancelled because it exceeded the timeout of 5"),
            Outcome::TimedOut,
        ),
        (
            shell,
            success("[Operation Cancelled] x"),
            Outcome::Rejected { reason: "cancelled".into() },
        ),
        (shell, error("tool_not_registered"), failure(None, Some("m"))),
        (shell, error("policy_violation"), Outcome::Denied { reason: "m".into() }),
        (shell, error("stop_execution"), Outcome::Rejected { reason: "m".into() }),
        (shell, error("shell_execute_error"), Outcome::SpawnError { message: "m".into() }),
        (shell, r#""status":"error","output":"o""#.to_owned(), failure(None, Some("o"))),
        (shell, r#""status":"odd""#.to_owned(), Outcome::Unknown),
    ];
    for (name, result, expected) in cases {
        assert_eq!(outcome_of(name, &result).outcome, Some(expected), "{result}");
    }
    let moved =
        r#""status":"success","output":"Command moved to background (PID: 42). Output hidden.""#;
    let background = outcome_of(shell, moved);
    assert!(background.background);
    assert_eq!(background.pid, Some(42));
}

#[test]
fn ends_are_told_apart() {
    let failed = |failure, message: &str| TurnEnd::Failed { failure, message: message.into() };
    let error = |kind: &str, message: &str| {
        format!(
            r#"{{"type":"result","status":"error","error":{{"type":"{kind}","message":{message:?}}}}}"#
        )
    };
    let quoted = |code: u64| format!(r#"[API Error: {{"error":{{"code":{code},"message":"x"}}}}]"#);
    let cases = [
        (error("FatalCancellationError", "x"), TurnEnd::Cancelled),
        (error("FatalTurnLimitedError", "x"), TurnEnd::Limit),
        (error("FatalAuthenticationError", "x"), failed(FailureKind::Auth, "x")),
        (error("FatalInputError", "x"), failed(FailureKind::BadRequest, "x")),
        (error("unknown", &quoted(429)), failed(FailureKind::RateLimit, &quoted(429))),
        (error("unknown", &quoted(503)), failed(FailureKind::Overloaded, &quoted(503))),
        (error("unknown", &quoted(500)), failed(FailureKind::Internal, &quoted(500))),
        (error("unknown", &quoted(403)), failed(FailureKind::Auth, &quoted(403))),
        (error("unknown", "fetch failed"), failed(FailureKind::Network, "fetch failed")),
        (r#"{"type":"result","status":"error"}"#.into(), failed(FailureKind::Internal, "error")),
        (r#"{"type":"result","status":"success"}"#.into(), TurnEnd::Done),
    ];
    for (line, expected) in cases {
        assert_eq!(ends(&decode(&[USER, &line])), [expected], "{line}");
    }
}

#[test]
fn an_error_is_known_before_its_result() {
    let error = |severity: &str, text: &str| {
        format!(r#"{{"type":"error","timestamp":"t","severity":"{severity}","message":"{text}"}}"#)
    };
    let bad = r#"{"type":"result","status":"error","stats":{}}"#;
    let events = decode(&[USER, &error("error", "nothing came"), bad]);
    assert_eq!(names(&events), ["turn.started", "item.completed", "turn.ended"]);
    let failed = TurnEnd::Failed { failure: FailureKind::Internal, message: "nothing came".into() };
    assert_eq!(ends(&events), [failed]);
    let limits = ["Loop detected, stopping execution", "Maximum session turns exceeded"];
    for text in limits {
        assert_eq!(ends(&decode(&[&error("warning", text), OK])), [TurnEnd::Limit]);
    }
    let warned = decode(&[&error("warning", "careful"), OK, USER, OK]);
    assert_eq!(ends(&warned), [TurnEnd::Done, TurnEnd::Done]);
    let notice = ItemBody::Notice { level: NoticeLevel::Warning, text: "careful".into() };
    assert_eq!(bodies(&warned), [&notice]);
}

#[test]
fn a_call_that_the_turn_leaves_open_ends_with_it() {
    let events = decode(&[&call("glob", "a", "{}"), OK]);
    let [tool] = tools(&events).try_into().unwrap();
    assert_eq!(tool.outcome, Some(Outcome::Unknown));
    // Without a terminal event its end was not seen.
    assert!(tools(&decode(&[&call("glob", "a", "{}")])).is_empty());
}

#[test]
fn what_is_not_understood_says_why() {
    use Unrecognized as U;
    let cases: &[(&str, &[U])] = &[
        ("\n", &[]),
        ("hello\n", &[U::Noise]),
        ("{\"type\":\"res", &[U::Torn]),
        ("12\n", &[U::NotAnObject]),
        ("{\"type\":\"new\"}\n", &[U::UnknownType]),
        ("{}\n", &[U::UnknownType]),
        ("{\"type\":\"tool_use\"}\n", &[U::BadShape]),
        ("{\"type\":\"tool_result\"}\n", &[U::BadShape]),
        ("{\"new\":1,\"type\":\"init\"}\n", &[]),
    ];
    for (bytes, expected) in cases {
        let events = decode_bytes::<GeminiDecoder>(bytes.as_bytes(), Depth::Full);
        let why = events.iter().filter_map(|event| match event {
            EventKind::Unrecognized { why, .. } => Some(*why),
            _ => None,
        });
        assert_eq!(why.collect::<Vec<_>>(), *expected, "{bytes:?}");
    }
    let auth = decode(&["\u{1b}[31mPlease set an Auth method\u{1b}[0m"]);
    assert_eq!(names(&auth), ["unrecognized", "item.completed"]);
}

#[test]
fn lines_too_long_to_be_held_still_say_what_they_are() {
    let long = "x".repeat(1 << 17);
    let write = call("write_file", "a", &format!(r#"{{"file_path":"/p","content":"{long}"}}"#));
    let done =
        format!(r#"{{"type":"tool_result","tool_id":"a","status":"success","output":"{long}"}}"#);
    let events = decode(&[&write, &done, &piece(&long), OK]);
    let [tool] = tools(&events).try_into().unwrap();
    assert_eq!(tool.headline(), "/p");
    assert_eq!(tool.outcome, Some(Outcome::Success));
    assert_eq!(tool.output, None);
    assert!(said(&events).len() > 1 << 9, "the beginning of the text");
    assert_eq!(ends(&events), [TurnEnd::Done]);
    let odd = decode(&[&format!(r#"{{"type":"new","x":"{long}"}}"#), &long]);
    assert_eq!(names(&odd), ["unrecognized", "unrecognized"]);
}

#[test]
fn the_last_type_is_the_agents_word() {
    let use_ = call("glob", "a", "{}");
    let lines = [INIT, USER, &piece("x"), &use_, OK, r#"{"type":"x"}"#, "noise"];
    let expected =
        ["init", "message/user", "message/assistant", "tool_use", "result/success", "x", ""];
    assert_eq!(types::<GeminiDecoder>(&lines), expected);
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-c]{0,3}",
        Just("\\n\\\"é\\ud83d\\ude00".to_owned()),
        Just("Command exited with code: 2".to_owned()),
        Just("Loop detected".to_owned()),
    ]
}

/// Lines of every known type, in no order, with shapes that hold and shapes that do not.
fn line() -> impl Strategy<Value = String> {
    let name =
        prop::sample::select(vec!["run_shell_command", "write_todos", "mcp_a_b", "glob", ""]);
    prop_oneof![
        3 => (word(), any::<bool>(), 0..4u8).prop_map(|(text, delta, role)| {
            let role = ["assistant", "user", "thought", "system"][usize::from(role)];
            format!(r#"{{"type":"message","role":"{role}","content":"{text}","delta":{delta}}}"#)
        }),
        2 => ("[a-c]", name, word()).prop_map(|(id, name, text)| call(name, &id, &format!(
            r#"{{"command":"{text}","file_path":"{text}","todos":[{{"description":"{text}"}}],"is_background":true}}"#
        ))),
        2 => ("[a-d]?", word(), any::<bool>()).prop_map(|(id, text, ok)| {
            let status = if ok { "success" } else { "error" };
            format!(r#"{{"type":"tool_result","tool_id":"{id}","status":"{status}","output":"{text}","error":{{"type":"{text}","message":"{text}"}}}}"#)
        }),
        1 => word().prop_map(|text| format!(r#"{{"type":"error","severity":"{text}","message":"{text}"}}"#)),
        1 => word().prop_map(|text| format!(r#"{{"type":"result","status":"{text}","error":{{"type":"{text}"}},"stats":{{"input":1}}}}"#)),
        1 => word().prop_map(|text| format!(r#"{{"type":"init","session_id":"{text}","model":"{text}"}}"#)),
        1 => Just(OK.to_owned()),
        1 => "[ -~]{0,20}",
    ]
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        assert_skim_is_full_without_texts::<GeminiDecoder>(&bytes);
    }

    #[test]
    fn any_lines_skim_as_they_decode(lines in prop::collection::vec(line(), 0..24)) {
        assert_skim_is_full_without_texts::<GeminiDecoder>(lines.join("\n").as_bytes());
    }

    #[test]
    fn any_cut_of_a_line_is_survived(line in line(), at in 0usize..400, pad in 0usize..300) {
        assert_cuts_are_survived::<GeminiDecoder>(&line, at, pad);
    }
}
