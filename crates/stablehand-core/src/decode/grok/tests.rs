//! The decoder by table: every shape of a line, and what it becomes.

use super::super::kit::testing::*;
use super::*;
use crate::event::{TodoStatus, Tool, ToolInput, ToolKind};
use crate::id::SessionId;
use proptest::prelude::*;

fn decode(lines: &[&str]) -> Vec<EventKind> {
    super::super::kit::testing::decode::<GrokDecoder>(lines)
}

const NOISE: &str = r#"{"type":"available_commands","tools":["write"],"commands":["compact"]}"#;
const USAGE: &str = r#"{"type":"usage","usage":{"input_tokens":10,"output_tokens":2,"cache_read_input_tokens":3,"cache_creation_input_tokens":0,"reasoning_tokens":1}}"#;

fn text(text: &str) -> String {
    format!(r#"{{"type":"text","data":{text:?}}}"#)
}

fn thought(text: &str) -> String {
    format!(r#"{{"type":"thought","data":{text:?}}}"#)
}

fn call(id: &str, name: &str, input: &str) -> String {
    format!(
        r#"{{"type":"tool_call","toolCallId":"{id}","title":"{name}","kind":"execute","status":"pending","toolName":"{name}","rawInput":{input},"content":[],"locations":[]}}"#
    )
}

fn update(id: &str, status: &str, text: &str, raw: &str) -> String {
    format!(
        r#"{{"type":"tool_call_update","toolCallId":"{id}","status":{status},"content":[{{"type":"content","content":{{"type":"text","text":"{text}"}}}}],"rawOutput":{raw},"locations":[]}}"#
    )
}

fn bash(exit_code: i32, bytes: usize) -> String {
    format!(
        r#"{{"type":"Bash","output":[],"exit_code":{exit_code},"signal":null,"timed_out":false,"total_bytes":{bytes}}}"#
    )
}

fn end(reason: &str) -> String {
    format!(
        r#"{{"type":"end","stopReason":"{reason}","sessionId":"s","requestId":"r","usage":{{"input_tokens":20,"output_tokens":4}},"num_turns":2,"modelUsage":{{"grok-4.6":{{"inputTokens":20}}}}}}"#
    )
}

fn all(lines: &[String]) -> Vec<EventKind> {
    decode(&lines.iter().map(String::as_str).collect::<Vec<_>>())
}

fn shell_ending(status: &str, words: &str, raw: &str) -> Tool {
    let lines =
        [call("a", "run_terminal_command", r#"{"command":"ls"}"#), update("a", status, words, raw)];
    let [tool] = tools(&all(&lines)).try_into().unwrap();
    tool
}

#[test]
fn a_turn_names_its_session_at_the_end() {
    let events = decode(&[
        NOISE,
        &thought("Hm."),
        &text("Oa"),
        NOISE,
        &text("ts."),
        USAGE,
        &end("end_turn"),
    ]);
    assert_eq!(
        names(&events),
        [
            "turn.started",
            "item.started",
            "item.delta",
            "item.completed",
            "item.started",
            "item.delta",
            "item.delta",
            "item.completed",
            "usage.updated",
            "session.started",
            "turn.ended"
        ]
    );
    assert_eq!(said(&events), "Oats.");
    assert_eq!(
        events[9],
        EventKind::SessionStarted {
            agent: "grok".into(),
            agent_version: None,
            native_id: SessionId("s".into()),
            model: Some("grok-4.6".into()),
            cwd: None,
            resumed_from: None,
        }
    );
    let tokens = Tokens { input: 20, output: 4, ..Tokens::default() };
    let usage = Some(Usage::Turn(tokens));
    assert_eq!(
        events[10],
        EventKind::TurnEnded { end: TurnEnd::Done, text: None, usage, duration_ms: None }
    );
}

#[test]
fn a_command_tells_its_output_once_and_its_exit_code_when_it_is_over() {
    let lines = [
        text("I begin."),
        USAGE.to_owned(),
        call("a", "run_terminal_command", r#"{"command":"make","description":"d"}"#),
        update("a", "null", "d", "null"),
        update("a", "\"in_progress\"", "", &bash(0, 0)),
        update("a", "\"in_progress\"", "one\\n", &bash(0, 4)),
        update("a", "\"in_progress\"", "one\\ntwö\\n", &bash(0, 9)),
        update("a", "\"completed\"", "one\\ntwö\\n", &bash(3, 9)),
    ];
    let events = all(&lines);
    let deltas: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            EventKind::ItemDelta { role: TextRole::ToolOutput, text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(deltas, ["one\n", "twö\n"]);
    let [tool] = tools(&events).try_into().unwrap();
    assert_eq!(tool.input, ToolInput::Command { command: "make".into(), cwd: None });
    assert_eq!(tool.tool_kind, ToolKind::Execute);
    assert_eq!(tool.step.as_deref(), Some("1"));
    assert_eq!(tool.outcome, Some(Outcome::Failure { exit_code: Some(3), message: None }));
    assert_eq!(tool.output.as_deref(), Some("one\ntwö\n"));
}

#[test]
fn outcomes_are_told_apart() {
    let failure = |exit_code, message: Option<&str>| Outcome::Failure {
        exit_code,
        message: message.map(str::to_owned),
    };
    let hook = "Hook denied: no oats";
    let rule = "Tool `x` was not executed: Denied by permission policy: deny rule on bash";
    let nobody = "User cancelled the execution for tool `x`";
    let cases = [
        ("\"completed\"", "hi", bash(0, 2), Outcome::Success),
        ("\"completed\"", "", bash(127, 0), failure(Some(127), None)),
        (
            "\"completed\"",
            "",
            bash(0, 0).replace("\"timed_out\":false", "\"timed_out\":true"),
            Outcome::TimedOut,
        ),
        (
            "\"completed\"",
            "",
            bash(0, 0).replace("\"signal\":null", "\"signal\":9"),
            failure(None, Some("signal 9")),
        ),
        ("\"completed\"", "", r#"{"type":"ListDir","Content":{}}"#.to_owned(), Outcome::Success),
        (
            "\"failed\"",
            "Tool not found: x",
            "null".to_owned(),
            failure(None, Some("Tool not found: x")),
        ),
        ("\"failed\"", hook, "null".to_owned(), Outcome::Denied { reason: hook.into() }),
        ("\"failed\"", rule, "null".to_owned(), Outcome::Denied { reason: rule.into() }),
        ("\"failed\"", nobody, "null".to_owned(), Outcome::Rejected { reason: nobody.into() }),
    ];
    for (status, words, raw, expected) in cases {
        assert_eq!(shell_ending(status, words, &raw).outcome, Some(expected), "{words} {raw}");
    }
    let moved = r#"{"type":"BackgroundTaskStarted","task_id":"t","task_type":"bash","pid":42}"#;
    let tool = shell_ending("\"completed\"", "Background task t started", moved);
    assert_eq!((tool.background, tool.pid, tool.outcome), (true, Some(42), Some(Outcome::Success)));
}

#[test]
fn inputs_are_typed() {
    let path = |path: &str| ToolInput::Path { path: path.into() };
    let mcp = ToolInput::Mcp { server: "barn".into(), tool: "open".into() };
    let cases = [
        ("read_file", r#"{"target_file":"/p"}"#, path("/p")),
        ("list_dir", r#"{"target_directory":"."}"#, path(".")),
        ("write", r#"{"file_path":"/p","content":"x"}"#, path("/p")),
        ("search_replace", r#"{"file_path":"/p","old_string":"x"}"#, path("/p")),
        (
            "grep",
            r#"{"pattern":"x","path":"/d"}"#,
            ToolInput::Query { query: "x".into(), path: Some("/d".into()) },
        ),
        (
            "spawn_subagent",
            r#"{"description":"look","prompt":"p"}"#,
            ToolInput::SubAgent { description: "look".into() },
        ),
        ("use_tool", r#"{"tool_name":"barn__open","tool_input":{}}"#, mcp.clone()),
        ("barn__open", "{}", mcp),
        ("new_tool", r#"{"x":1,"y":"z"}"#, ToolInput::Other { summary: "z".into() }),
    ];
    for (name, input, expected) in cases {
        let events = all(&[call("a", name, input)]);
        let EventKind::ItemStarted { item } = &events[1] else { panic!("{events:?}") };
        let ItemBody::Tool(tool) = &item.body else { panic!("{item:?}") };
        assert_eq!(tool.input, expected, "{name}");
    }
}

#[test]
fn ends_are_told_apart() {
    let failed = |failure, message: &str| TurnEnd::Failed { failure, message: message.into() };
    let nobody = "User cancelled the execution for tool `write`";
    let refused = [call("a", "write", "{}"), update("a", "\"failed\"", nobody, "null")];
    let limit = r#"{"type":"max_turns_reached"}"#.to_owned();
    let told = [text("Hay.")];
    let cases: [(&[String], &str, TurnEnd); 8] = [
        (&told, "end_turn", TurnEnd::Done),
        (&told, "cancelled", TurnEnd::Cancelled),
        (&refused, "cancelled", failed(FailureKind::Approval, nobody)),
        (&refused, "end_turn", failed(FailureKind::Approval, nobody)),
        (std::slice::from_ref(&limit), "cancelled", TurnEnd::Limit),
        (&told, "max_tokens", TurnEnd::Limit),
        (&told, "refusal", TurnEnd::Refused),
        (&told, "odd", failed(FailureKind::Internal, "the agent stopped: `odd`")),
    ];
    for (before, reason, expected) in cases {
        let events = all(&[before, &[end(reason)]].concat());
        assert_eq!(ends(&events), [expected], "{reason}");
        let is_odd = events.iter().any(|event| matches!(event, EventKind::Unrecognized { .. }));
        assert_eq!(is_odd, reason == "odd");
    }
}

#[test]
fn an_error_is_the_end_of_the_turn() {
    let error = |words: &str| format!(r#"{{"type":"error","message":{words:?}}}"#);
    let cases = [
        ("Internal error: \"Unauthorized (401) from x: invalid x-api-key\"", FailureKind::Auth),
        (
            "Internal error: {\n \"message\": \"API error (status 400 Bad Request)\",\n \"http_status\": 400\n}",
            FailureKind::BadRequest,
        ),
        ("API error\n \"http_status\": 429", FailureKind::RateLimit),
        ("Couldn't start session: odd", FailureKind::Internal),
    ];
    for (words, failure) in cases {
        let expected = TurnEnd::Failed { failure, message: words.into() };
        let events = all(&[NOISE.to_owned(), error(words)]);
        assert_eq!(names(&events), ["turn.started", "turn.ended"]);
        assert_eq!(ends(&events), std::slice::from_ref(&expected), "{words}");
        // An end behind it names the session and ends nothing twice.
        let events = all(&[error(words), end("end_turn")]);
        assert_eq!(ends(&events), [expected]);
        assert!(names(&events).contains(&"session.started"));
    }
}

fn attempts(events: &[EventKind]) -> Vec<u64> {
    let attempt = |event: &EventKind| match event {
        EventKind::RetryScheduled { attempt, .. } => Some(*attempt),
        _ => None,
    };
    events.iter().filter_map(attempt).collect()
}

#[test]
fn text_that_a_broken_stream_repeats_is_told_once() {
    let broken = ["This answer ", "is cut off i"].map(text);
    let again = [&broken[..], &broken, &broken, &[text("n the middle.")]].concat();
    let events = all(&again);
    assert_eq!(said(&events), "This answer is cut off in the middle.");
    assert_eq!(attempts(&events), [1, 2]);
    let whole = ItemBody::Message { text: "This answer is cut off in the middle.".into() };
    assert_eq!(bodies(&events), [&whole]);
    // In other pieces, broken off before it had caught up, with thoughts before it.
    let lines = [
        thought("Let me think about it."),
        text("Oats"),
        thought("Let me think"),
        thought("Let me think about it."),
        text("Oats and hay."),
    ];
    let events = all(&lines);
    assert_eq!(said(&events), "Oats and hay.");
    assert_eq!(attempts(&events), [1, 2]);
}

#[test]
fn text_that_only_begins_alike_is_told_whole() {
    for pieces in [
        &["Oats and hay and more. ", "Oats and ", "carrots."][..],
        &["no ", "no ", "no "],
        &["A message of its own.", "A message"],
        &[
            "Oats and hay and oats. ",
            "Oats and hay ",
            "and oats. ",
            "Oats and hay and oats. ",
            "Oats",
        ],
    ] {
        let mut lines: Vec<String> = pieces.iter().map(|piece| text(piece)).collect();
        lines.push(end("end_turn"));
        assert_eq!(said(&all(&lines)), pieces.concat());
    }
    // The next answer may begin as the last one did.
    let hay = text("Hay, and nothing but hay.");
    let events = all(&[hay.clone(), USAGE.to_owned(), hay, end("end_turn")]);
    assert_eq!(said(&events), "Hay, and nothing but hay.".repeat(2));
    assert_eq!(attempts(&events), [0; 0]);
}

#[test]
fn a_plan_has_a_line_of_its_own() {
    let plan =
        r#"{"type":"plan","entries":[{"content":"a","priority":"medium","status":"in_progress"}]}"#;
    let events = decode(&[plan]);
    let todos = vec![Todo { text: "a".into(), status: TodoStatus::InProgress }];
    assert_eq!(bodies(&events), [&ItemBody::Plan { todos, text: None }]);
}

#[test]
fn a_new_word_is_unrecognized_and_takes_nothing_away() {
    let known = [
        call("a", "run_terminal_command", r#"{"command":"ls"}"#),
        update("a", "\"in_progress\"", "hi", &bash(0, 2)),
        update("a", "\"completed\"", "hi", &bash(0, 2)),
        r#"{"type":"plan","entries":[{"content":"a","status":"pending"}]}"#.to_owned(),
        end("end_turn"),
    ];
    let count = |events: &[EventKind]| {
        events.iter().filter(|event| matches!(event, EventKind::Unrecognized { .. })).count()
    };
    assert_eq!(count(&all(&known)), 0);
    for (line, word) in [
        (0, "\"tool_call\""),
        (0, "\"execute\""),
        (0, "\"pending\""),
        (1, "\"in_progress\""),
        (1, "\"Bash\""),
        (1, "\"text\""),
        (2, "\"completed\""),
        (2, "\"content\",\"content\""),
        (2, "\"Bash\""),
        (4, "\"end\""),
        (4, "\"end_turn\""),
    ] {
        let mut lines = known.clone();
        let new = word.replacen('"', "\"new_", 1);
        assert!(lines[line].contains(word), "{word}");
        // Keys stay: only values are new.
        lines[line] = lines[line].replacen(&format!(":{word}"), &format!(":{new}"), 1);
        assert_eq!(count(&all(&lines)), 1, "{word}: {}", lines[line]);
    }
}

#[test]
fn the_word_for_a_line_is_its_type() {
    let types = types::<GrokDecoder>(&[NOISE, &text("x"), USAGE, r#"{"type":"new"}"#]);
    assert_eq!(types, ["available_commands", "text", "usage", "new"]);
}

#[test]
fn lines_too_long_to_be_held_still_say_what_they_are() {
    let long = "x".repeat(1 << 17);
    let lines = [
        call("a", "write", &format!(r#"{{"file_path":"/p","content":"{long}"}}"#)),
        update("a", "\"completed\"", &long, "null"),
        text(&long),
        end("end_turn"),
    ];
    let events = all(&lines);
    let [tool] = tools(&events).try_into().unwrap();
    assert_eq!((tool.headline(), &tool.outcome), ("/p", &Some(Outcome::Success)));
    assert!(said(&events).len() > 1 << 9, "the beginning of the text");
    assert_eq!(ends(&events), [TurnEnd::Done]);
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof!["[a-c]{0,3}", Just("a text that is long enough".to_owned()), Just("é😀".to_owned())]
}

/// Lines of every known type, in no order, with shapes that hold and shapes that do not.
fn line() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["run_terminal_command", "write", "use_tool", ""]);
    let status = prop::sample::select(vec![
        "null",
        "\"in_progress\"",
        "\"completed\"",
        "\"failed\"",
        "\"new\"",
        "1",
    ]);
    let other = prop::sample::select(vec![
        NOISE,
        USAGE,
        r#"{"type":"max_turns_reached"}"#,
        r#"{"type":"auto_compact_failed"}"#,
        r#"{"type":"plan","entries":[{"content":"a","status":"completed"}]}"#,
        r#"{"type":"error","message":"x"}"#,
        r#"{"type":"new"}"#,
        "{}",
    ]);
    let reason = prop::sample::select(vec!["end_turn", "cancelled", "refusal", "new"]);
    prop_oneof![
        4 => word().prop_map(|word| text(&word)),
        2 => word().prop_map(|word| thought(&word)),
        2 => ("[a-c]?", name, word()).prop_map(|(id, name, word)| call(&id, name, &format!(
            r#"{{"command":"{word}","file_path":"{word}","tool_name":"a__b"}}"#
        ))),
        3 => ("[a-d]?", status, word(), -1i32..3).prop_map(|(id, status, word, exit)| {
            update(&id, status, &word, &bash(exit, word.len()))
        }),
        2 => other.prop_map(str::to_owned),
        1 => reason.prop_map(end),
        1 => "[ -~]{0,20}",
    ]
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        assert_skim_is_full_without_texts::<GrokDecoder>(&bytes);
    }

    #[test]
    fn any_lines_skim_as_they_decode(lines in prop::collection::vec(line(), 0..24)) {
        assert_skim_is_full_without_texts::<GrokDecoder>(lines.join("\n").as_bytes());
    }

    #[test]
    fn any_cut_of_a_line_is_survived(line in line(), at in 0usize..400, pad in 0usize..300) {
        assert_cuts_are_survived::<GrokDecoder>(&line, at, pad);
    }

    /// However a text is cut into pieces, and wherever it is broken off and begun again.
    #[test]
    fn a_text_that_is_begun_again_is_told_once(
        sizes in prop::collection::vec(1usize..9, 1..30), breaks in prop::collection::vec(20usize..70, 0..4),
    ) {
        let whole = "Feed the ponies oats and hay, then brush them; the grey one kicks, so take care.";
        let mut sizes = sizes.into_iter().cycle();
        let mut lines = Vec::new();
        for end in breaks.into_iter().chain([whole.len()]) {
            let mut at = 0;
            while at < end {
                let next = (at + sizes.next().unwrap()).min(end);
                lines.push(text(whole.get(at..next).unwrap()));
                at = next;
            }
        }
        lines.push(super::tests::end("end_turn"));
        prop_assert_eq!(said(&all(&lines)), whole);
    }
}
