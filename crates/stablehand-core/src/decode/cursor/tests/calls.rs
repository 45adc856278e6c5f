//! Tool calls: their names, inputs, endings and pairing.

use super::*;
use crate::event::ToolKind;

fn completed(result: &str) -> Tool {
    let line = format!(
        r#"{{"type":"tool_call","subtype":"completed","call_id":"c","tool_call":{{"shellToolCall":{{"result":{result}}}}}}}"#
    );
    tools(&decode(&[&line])).remove(0)
}

#[test]
fn shells_end_in_all_their_ways() {
    let failure = |code, message: &str| Outcome::Failure {
        exit_code: code,
        message: (!message.is_empty()).then(|| message.to_owned()),
    };
    let cases = [
        (r#"{"success":{"exitCode":0,"stdout":"x"},"isBackground":false}"#, Outcome::Success),
        (r#"{"success":{"exitCode":3,"stderr":"no"}}"#, failure(Some(3), "no")),
        (
            r#"{"failure":{"exitCode":1,"signal":"","stdout":"","stderr":"","aborted":false}}"#,
            failure(Some(1), ""),
        ),
        (
            r#"{"failure":{"exitCode":0,"aborted":true,"abortReason":"SHELL_ABORT_REASON_USER_ABORT"}}"#,
            failure(Some(0), "aborted by the user"),
        ),
        (
            r#"{"failure":{"exitCode":1,"aborted":true,"abortReason":"SHELL_ABORT_REASON_TIMEOUT"}}"#,
            Outcome::TimedOut,
        ),
        (r#"{"timeout":{"command":"x","timeoutMs":5}}"#, Outcome::TimedOut),
        (r#"{"rejected":{"reason":"no\nno"}}"#, Outcome::Rejected { reason: "no\nno".into() }),
        (r#"{"rejected":{"reason":""}}"#, Outcome::Rejected { reason: String::new() }),
        (
            r#"{"permissionDenied":{"error":"blocked"}}"#,
            Outcome::Denied { reason: "blocked".into() },
        ),
        (r#"{"spawnError":{"error":"ENOENT"}}"#, Outcome::SpawnError { message: "ENOENT".into() }),
        (r#"{"error":{"errorMessage":"bad"}}"#, failure(None, "bad")),
        (r#"{"error":"bad"}"#, failure(None, "bad")),
        (r#"{"fileNotFound":{"path":"/x"}}"#, failure(None, "not found")),
        (r#"{"success":{"isError":true,"content":[{"text":{"text":"oh"}}]}}"#, failure(None, "oh")),
        (r#"{"complete":{"exitCode":2,"runtimeMs":"9"}}"#, Outcome::Success),
        (r#"{"stillRunning":{"taskId":"1"}}"#, Outcome::Unknown),
        (r#"{"somethingNew":{}}"#, Outcome::Unknown),
        (r"{}", Outcome::Unknown),
        (r#""done""#, Outcome::Success),
    ];
    for (result, outcome) in cases {
        assert_eq!(completed(result).outcome, Some(outcome), "{result}");
    }
}

#[test]
fn a_completion_without_arguments_keeps_what_was_started() {
    let events = decode(&[
        r#"{"type":"tool_call","subtype":"started","call_id":"a\nb","tool_call":{"hookAdditionalContexts":[],"toolCallId":"a","shellToolCall":{"description":"x","args":{"command":"make \"all\"","workingDirectory":"/w","timeout":30000,"isBackground":false}},"startedAtMs":"10"},"model_call_id":"r-0"}"#,
        r#"{"type":"tool_call","subtype":"completed","call_id":"a\nb","tool_call":{"toolCallId":"a","startedAtMs":"10","shellToolCall":{"result":{"rejected":{"reason":"no"}}},"completedAtMs":"25"}}"#,
    ]);
    assert_eq!(names(&events), ["turn.started", "item.started", "item.completed"]);
    let [tool] = tools(&events).try_into().unwrap();
    assert_eq!(tool.call.0, "a\nb");
    assert_eq!(tool.name, "shellToolCall");
    assert_eq!(tool.tool_kind, ToolKind::Execute);
    assert_eq!(
        tool.input,
        ToolInput::Command { command: "make \"all\"".into(), cwd: Some("/w".into()) }
    );
    assert_eq!(tool.timeout_ms, Some(30_000));
    assert_eq!(tool.step.as_deref(), Some("r-0"));
    assert_eq!(tool.duration_ms, Some(15));
}

#[test]
fn background_is_found_wherever_it_is_said() {
    let tool = completed(r#"{"isBackground":true,"success":{"pid":4242,"shellId":1}}"#);
    assert!(tool.background);
    assert_eq!(tool.pid, Some(4242));
    let tool = completed(r#"{"success":{"isBackground":true},"pid":"7"}"#);
    assert!(tool.background);
    assert_eq!(tool.pid, Some(7));
    let events = decode(&[
        r#"{"type":"tool_call","subtype":"started","call_id":"c","tool_call":{"shellToolCall":{"args":{"command":"x","timeout":0,"isBackground":true}}}}"#,
    ]);
    let Some(EventKind::ItemStarted { item }) = events.last() else {
        panic!("{events:?}");
    };
    let ItemBody::Tool(tool) = &item.body else {
        panic!("{item:?}");
    };
    assert!(tool.background);
    assert_eq!(tool.timeout_ms, None, "a timeout of 0 says nothing");
}

#[test]
fn tools_of_every_sort_are_read() {
    let path = |path: &str| ToolInput::Path { path: path.into() };
    let query = |query: &str, path: Option<&str>| ToolInput::Query {
        query: query.into(),
        path: path.map(Into::into),
    };
    let words = |words: &str| ToolInput::Other { summary: words.into() };
    let mcp = ToolInput::Mcp { server: "s".into(), tool: "t".into() };
    let cases = [
        (r#""writeToolCall":{"args":{"path":"/p","fileText":"x"}}"#, ToolKind::Edit, path("/p")),
        (
            r#""function":{"name":"read_file","arguments":"{\"path\":\"/p\"}"}"#,
            ToolKind::Read,
            path("/p"),
        ),
        (
            r#""type":"function","name":"list_dir","arguments":"{\"path\":\"/p\"}""#,
            ToolKind::Read,
            path("/p"),
        ),
        (r#""function":{"name":"x","arguments":{"query":"q"}}"#, ToolKind::Other, query("q", None)),
        (r#""function":{"name":"x","arguments":"not json"}"#, ToolKind::Other, words("not json")),
        (r#""newToolCall":{"args":{"toolCallId":"i","note":"n"}}"#, ToolKind::Other, words("n")),
        (r#""noSuffix":{"args":{"path":"/p"}}"#, ToolKind::Other, path("/p")),
        (
            r#""grepToolCall":{"args":{"pattern":"a","path":"/p"}}"#,
            ToolKind::Search,
            query("a", Some("/p")),
        ),
        (r#""globToolCall":{"args":{"globPattern":"*"}}"#, ToolKind::Search, query("*", None)),
        (r#""webSearchToolCall":{"args":{"searchTerm":"q"}}"#, ToolKind::Fetch, query("q", None)),
        (
            r#""webFetchToolCall":{"args":{"url":"u"}}"#,
            ToolKind::Fetch,
            ToolInput::Url { url: "u".into() },
        ),
        (
            r#""mcpToolCall":{"args":{"name":"s-t","providerIdentifier":"s","toolName":"t"}}"#,
            ToolKind::Other,
            mcp.clone(),
        ),
        (r#""mcpToolCall":{"args":{"name":"s-t","serverIdentifier":"s"}}"#, ToolKind::Other, mcp),
        (
            r#""taskToolCall":{"args":{"description":"d","prompt":"p"}}"#,
            ToolKind::Think,
            ToolInput::SubAgent { description: "d".into() },
        ),
        (
            r#""switchModeToolCall":{"args":{"targetModeId":"plan"}}"#,
            ToolKind::SwitchMode,
            words("plan"),
        ),
        (r#""readLintsToolCall":{"args":{"paths":["a","b"]}}"#, ToolKind::Read, words("a")),
        (r#""awaitToolCall":{"args":{}}"#, ToolKind::Execute, words("")),
    ];
    for (tool_call, kind, input) in cases {
        let line = format!(
            r#"{{"type":"tool_call","subtype":"completed","call_id":"c","tool_call":{{{tool_call}}}}}"#
        );
        let [tool] = tools(&decode(&[&line])).try_into().unwrap();
        assert_eq!((tool.tool_kind, tool.input), (kind, input), "{tool_call}");
    }
}

#[test]
fn outputs_and_diffs_are_readable() {
    let cases = [
        (r#"{"success":{"stdout":"a\n","stderr":"b","interleavedOutput":"ba"}}"#, Some("ba"), None),
        (r#"{"success":{"stdout":"a","stderr":"b","interleavedOutput":""}}"#, Some("ab"), None),
        (r#"{"success":{"content":"c"}}"#, Some("c"), None),
        (r#"{"success":{"content":[{"text":{"text":"x"}},{"image":{}}]}}"#, Some("x"), None),
        (
            r#"{"success":{"path":"/p","diffString":"-a\n+b","afterFullFileContent":"b","message":"Wrote"}}"#,
            Some("Wrote"),
            Some("-a\n+b"),
        ),
        (r#"{"success":{"files":["a","b"]}}"#, Some("a\nb"), None),
        (r#"{"success":{"references":[{"title":"t","url":"","chunk":"c"}]}}"#, Some("t\nc"), None),
        (
            r#"{"success":{"workspaceResults":{"/w":{"content":{"matches":[{"file":"f","matches":[{"lineNumber":3,"content":"x"}]}]}}}}}"#,
            Some("f:3:x"),
            None,
        ),
        (
            r#"{"success":{"conversationSteps":[{"assistantMessage":{"text":"hi"}}],"durationMs":"5"}}"#,
            Some("hi"),
            None,
        ),
        (r#"{"success":{"answers":[1]}}"#, Some(r#"{"answers":[1]}"#), None),
        (r#"{"success":{}}"#, None, None),
    ];
    for (result, output, diff) in cases {
        let line = format!(
            r#"{{"type":"tool_call","subtype":"completed","call_id":"c","tool_call":{{"editToolCall":{{"result":{result}}}}}}}"#
        );
        let [tool] = tools(&decode(&[&line])).try_into().unwrap();
        assert_eq!(tool.output.as_deref(), output, "{result}");
        assert_eq!(tool.diff.as_deref(), diff, "{result}");
    }
}

#[test]
fn digests_know_the_same_from_the_new() {
    let digest = |command: &str, id: u32, stdout: &str, ms: u32| {
        let line = format!(
            r#"{{"type":"tool_call","subtype":"completed","call_id":"{id}","tool_call":{{"shellToolCall":{{"args":{{"command":"{command}","toolCallId":"{id}"}},"result":{{"success":{{"exitCode":0,"stdout":"{stdout}","executionTime":{ms}}}}}}}}}}}"#
        );
        tools(&decode(&[&line]))[0].digest
    };
    assert_eq!(digest("a", 1, "x", 5), digest("a", 2, "x", 9));
    assert_ne!(digest("a", 1, "x", 5), digest("b", 1, "x", 5));
    assert_ne!(digest("a", 1, "x", 5), digest("a", 1, "y", 5));
}

#[test]
fn calls_without_an_id_are_paired_by_name() {
    let line = |subtype: &str, tool: &str| {
        format!(
            r#"{{"type":"tool_call","subtype":"{subtype}","tool_call":{{"{tool}ToolCall":{{"args":{{}}}}}}}}"#
        )
    };
    let events = decode(&[
        &line("started", "read"),
        &line("started", "grep"),
        &line("completed", "grep"),
        &line("completed", "read"),
    ]);
    assert_eq!(events.iter().filter(|e| e.name() == "item.started").count(), 2);
    let ids: Vec<_> = tools(&events).into_iter().map(|tool| tool.call.0).collect();
    assert_eq!(ids, ["item-2", "item-1"]);
}

#[test]
fn open_calls_do_not_pile_up() {
    let mut decoder = CursorDecoder::default();
    let mut out = Vec::new();
    for n in 0..3000 {
        let text = START.replace("\"c\"", &format!("\"c{n}\""));
        let line = Line { bytes: text.as_bytes(), offset: 0, part: Part::Whole, newline: true };
        decoder.line(&line, &json::scan(line.bytes), Depth::Skim, &mut out);
    }
    assert!(decoder.calls.len() <= 1024);
}

#[test]
fn documented_shapes_are_understood() {
    let events = decode(&[
        r#"{"type":"system","subtype":"init","payload":{}}"#,
        r#"{"type":"user","payload":{"prompt":"feed the horses"}}"#,
        r#"{"type":"thinking","payload":{"content":"hay first"}}"#,
        r#"{"type":"tool_call","subtype":"started","payload":{"toolCall":{"id":"w1","writeFileToolCall":{"path":"hay.py","contents":"1"}}}}"#,
        r#"{"type":"tool_call","subtype":"completed","payload":{"toolCall":{"id":"w1","result":{"success":true}}}}"#,
        r#"{"type":"tool_call","subtype":"started","payload":{"toolCall":{"id":"s1","shellToolCall":{"name":"shell","args":{"command":"python hay.py","timeout":10000}}}}}"#,
        r#"{"type":"tool_call","subtype":"completed","payload":{"toolCall":{"id":"s1","result":{"exitCode":2,"stdout":"out\n","stderr":"err\n"}}}}"#,
        r#"{"type":"tool_call","subtype":"started","payload":{"toolCall":{"id":"s2","shellToolCall":{"command":"ls","timeout":5000}}}}"#,
        r#"{"type":"tool_call","subtype":"completed","payload":{"toolCall":{"id":"s2","result":{"exitCode":0,"stdout":"hay.py\n","stderr":""}}}}"#,
        r#"{"type":"tool_call","subtype":"started","payload":{"toolCall":{"id":"r1","readFileToolCall":{"path":"x"}}}}"#,
        r#"{"type":"tool_call","subtype":"completed","payload":{"toolCall":{"id":"r1","result":{"success":false,"message":"no such file"}}}}"#,
        r#"{"type":"result","subtype":"success","exitCode":0,"payload":{"exitCode":0,"is_error":false}}"#,
    ]);
    assert!(!names(&events).contains(&"unrecognized"), "{events:#?}");
    let prompt = events.iter().find_map(|event| match event {
        EventKind::TurnStarted { prompt, .. } => prompt.clone(),
        _ => None,
    });
    assert_eq!(prompt.as_deref(), Some("feed the horses"));
    let thought =
        |body: &ItemBody| matches!(body, ItemBody::Reasoning { text } if text == "hay first");
    assert!(bodies(&events).any(thought), "{events:#?}");
    let tools = tools(&events);
    let [write, failed, listed, read] = tools.as_slice() else { panic!("{tools:#?}") };
    assert_eq!(write.input, ToolInput::Path { path: "hay.py".to_owned() });
    assert_eq!((write.tool_kind, &write.outcome), (ToolKind::Edit, &Some(Outcome::Success)));
    assert_eq!((failed.call.0.as_str(), failed.timeout_ms), ("s1", Some(10_000)));
    assert_eq!(failed.output.as_deref(), Some("out\nerr\n"));
    assert!(matches!(failed.outcome, Some(Outcome::Failure { exit_code: Some(2), .. })));
    let command = ToolInput::Command { command: "ls".to_owned(), cwd: None };
    assert_eq!((&listed.input, listed.timeout_ms), (&command, Some(5000)));
    assert_eq!(listed.outcome, Some(Outcome::Success));
    let why = Some("no such file".to_owned());
    assert_eq!(read.outcome, Some(Outcome::Failure { exit_code: None, message: why }));
}

#[test]
fn calls_that_only_name_their_tool_are_paired_by_it() {
    let events = decode(&[
        r#"{"type":"tool_call","subtype":"started","tool":"shellToolCall","session_id":"s"}"#,
        r#"{"type":"tool_call","subtype":"started","tool":"readToolCall","session_id":"s"}"#,
        r#"{"type":"tool_call","subtype":"completed","tool":"shellToolCall","duration_ms":300,"session_id":"s"}"#,
        r#"{"type":"tool_call","subtype":"completed","tool":"readToolCall","session_id":"s"}"#,
    ]);
    assert!(!names(&events).contains(&"unrecognized"), "{events:#?}");
    let tools = tools(&events);
    let [shell, read] = tools.as_slice() else { panic!("{tools:#?}") };
    assert_eq!((shell.tool_kind, shell.duration_ms), (ToolKind::Execute, Some(300)));
    assert_eq!((read.tool_kind, read.duration_ms), (ToolKind::Read, None));
    // Nothing says how they went.
    assert_eq!(shell.outcome, Some(Outcome::Unknown));
}

#[test]
fn a_list_of_things_to_do_is_a_plan_by_any_of_its_names() {
    for name in ["updateTodosToolCall", "todoToolCall"] {
        let call = |subtype: &str, result: &str| {
            format!(
                r#"{{"type":"tool_call","subtype":"{subtype}","call_id":"t","tool_call":{{"{name}":{{"args":{{"todos":[{{"content":"muck out","status":"pending"}}]}}{result}}}}}}}"#
            )
        };
        let (started, completed) =
            (call("started", ""), call("completed", r#","result":{"success":{}}"#));
        let events = decode(&[&started, &completed]);
        let plans = bodies(&events)
            .filter(|body| matches!(body, ItemBody::Plan { todos, .. } if todos.len() == 1));
        assert_eq!(plans.count(), 1, "{name}: {events:#?}");
    }
}

#[test]
fn arguments_that_are_no_json_are_still_shown() {
    let events = decode(&[
        r#"{"type":"tool_call","subtype":"started","call_id":"f","tool_call":{"function":{"name":"groom","arguments":"brush the mane"}}}"#,
        r#"{"type":"tool_call","subtype":"completed","call_id":"f","tool_call":{"function":{"name":"groom","arguments":"brush the mane"},"result":{"success":true}}}"#,
    ]);
    let tools = tools(&events);
    assert_eq!(tools[0].input, ToolInput::Other { summary: "brush the mane".to_owned() });
    assert_eq!(tools[0].outcome, Some(Outcome::Success));
}
