//! What calls are given, and how they end.

use super::*;

fn input_of(name: &str, input: &str) -> (ToolKind, ToolInput) {
    let events = decode(&[tool_use("t", name, input)]);
    let started = events.iter().find_map(|event| match event {
        EventKind::ItemStarted { item: Item { body: ItemBody::Tool(tool), .. } } => Some(tool),
        _ => None,
    });
    let tool = started.unwrap();
    (tool.tool_kind, tool.input.clone())
}

#[test]
fn inputs_are_read_by_the_kind_of_tool() {
    use ToolKind as K;
    let path = |path: &str| ToolInput::Path { path: path.into() };
    let command = |command: &str| ToolInput::Command { command: command.into(), cwd: None };
    let query = |query: &str, path: Option<&str>| ToolInput::Query {
        query: query.into(),
        path: path.map(str::to_owned),
    };
    let other = |summary: &str| ToolInput::Other { summary: summary.into() };
    let url = ToolInput::Url { url: "http://x".into() };
    let mcp = ToolInput::Mcp { server: "srv".into(), tool: "a__b".into() };
    let agent = ToolInput::SubAgent { description: "look".into() };
    let cases = [
        ("Bash", r#"{"command":"ls -l"}"#, K::Execute, command("ls -l")),
        ("Read", r#"{"offset":1,"file_path":"/p"}"#, K::Read, path("/p")),
        ("Write", r#"{"content":"x","file_path":"/p"}"#, K::Edit, path("/p")),
        ("NotebookEdit", r#"{"notebook_path":"/n"}"#, K::Edit, path("/n")),
        ("Grep", r#"{"pattern":"x","path":"src"}"#, K::Search, query("x", Some("src"))),
        ("Glob", r#"{"pattern":"*.rs"}"#, K::Search, query("*.rs", None)),
        ("WebFetch", r#"{"url":"http://x","prompt":"p"}"#, K::Fetch, url.clone()),
        ("WebSearch", r#"{"query":"q"}"#, K::Fetch, query("q", None)),
        ("Task", r#"{"description":"look","prompt":"p"}"#, K::Think, agent),
        ("Skill", r#"{"skill":"pdf"}"#, K::Other, other("pdf")),
        ("mcp__srv__a__b", r#"{"url":"u"}"#, K::Other, mcp),
        ("New", r#"{"url":"http://x"}"#, K::Other, url),
        ("New", r#"{"n":1,"word":"w"}"#, K::Other, other("w")),
        ("New", "{}", K::Other, other("")),
    ];
    for (name, input, kind, expected) in cases {
        assert_eq!(input_of(name, input), (kind, expected), "{name} {input}");
    }
}

#[test]
fn a_command_says_how_long_it_may_take_and_whether_it_stays() {
    let events = decode(&[
        tool_use("t", "Bash", r#"{"command":"x","timeout":5000,"run_in_background":true}"#),
        tool_result(
            "t",
            r#""content":"started""#,
            r#","tool_use_result":{"backgroundTaskId":"b","durationMs":7}"#,
        ),
        tool_use("u", "Bash", r#"{"command":"x"}"#),
        tool_result("u", r#""content":"moved""#, r#","tool_use_result":{"backgroundTaskId":"c"}"#),
    ]);
    let [first, second] = tools(&events).try_into().unwrap();
    assert_eq!(
        (first.timeout_ms, first.background, first.duration_ms),
        (Some(5000), true, Some(7))
    );
    assert_eq!((second.timeout_ms, second.background), (None, true));
}

#[test]
fn calls_end_as_their_result_says() {
    let failure =
        |exit_code, message: &str| Outcome::Failure { exit_code, message: Some(message.into()) };
    let decided = |source: &str| {
        format!(
            r#","tool_result_meta":[{{"id":"x"}},{{"id":"t","non_execution_kind":"k","permission_decision":{{"decision":"reject","source":"{source}"}}}}]"#
        )
    };
    let not_run = r#","tool_result_meta":[{"id":"t","non_execution_kind":"user-rejected"}]"#;
    let cases = [
        ("Bash", r#""content":"hi""#, String::new(), Outcome::Success),
        ("Bash", r#""content":"Exit code 1""#, String::new(), Outcome::Success),
        (
            "Bash",
            r#""content":"Exit code 3\noops","is_error":true"#,
            String::new(),
            failure(Some(3), "Exit code 3\noops"),
        ),
        (
            "Bash",
            r#""content":"Command timed out after 2m","is_error":true"#,
            String::new(),
            Outcome::TimedOut,
        ),
        (
            "Bash",
            r#""content":"","is_error":false"#,
            r#","tool_use_result":{"interrupted":true}"#.into(),
            failure(None, "interrupted by the user"),
        ),
        (
            "Bash",
            r#""content":"The user doesn't want to proceed","is_error":true"#,
            not_run.into(),
            failure(None, "interrupted by the user"),
        ),
        (
            "Read",
            r#""content":"<tool_use_error>File does not exist.</tool_use_error>","is_error":true"#,
            String::new(),
            failure(None, "File does not exist."),
        ),
        (
            "Write",
            r#""content":"no","is_error":true"#,
            decided("config"),
            Outcome::Denied { reason: "no".into() },
        ),
        (
            "Write",
            r#""content":"no","is_error":true"#,
            decided("user_reject"),
            Outcome::Rejected { reason: "no".into() },
        ),
        (
            "Write",
            r#""content":"no","is_error":true"#,
            decided("hook"),
            Outcome::Rejected { reason: "no".into() },
        ),
        (
            "Write",
            r#""content":"Claude requested permissions to write to /p, but you haven't granted it yet.","is_error":true"#,
            String::new(),
            Outcome::Denied {
                reason:
                    "Claude requested permissions to write to /p, but you haven't granted it yet."
                        .into(),
            },
        ),
        (
            "Read",
            r#""content":[{"type":"text","text":"a"},{"type":"image"}]"#,
            String::new(),
            Outcome::Success,
        ),
        (
            "Read",
            r#""is_error":true"#,
            String::new(),
            Outcome::Failure { exit_code: None, message: None },
        ),
    ];
    for (name, result, beside, expected) in cases {
        let events = decode(&[tool_use("t", name, "{}"), tool_result("t", result, &beside)]);
        assert_eq!(tools(&events)[0].outcome, Some(expected), "{name} {result} {beside}");
    }
}

#[test]
fn a_denial_that_was_told_before_is_the_outcome() {
    let events = decode(&[
        tool_use("t", "Write", r#"{"file_path":"/p"}"#),
        r#"{"type":"system","subtype":"permission_denied","tool_name":"Write","tool_use_id":"t","message":"not granted"}"#.to_owned(),
        tool_result("t", r#""content":"no","is_error":true"#, ""),
    ]);
    assert_eq!(tools(&events)[0].outcome, Some(Outcome::Denied { reason: "not granted".into() }));
    let asked = ["approval.requested", "approval.resolved"];
    assert_eq!(names(&events)[3..5], asked);
}

#[test]
fn calls_of_one_message_share_its_id_whatever_the_line() {
    let block = |id: &str| {
        format!(r#"{{"type":"tool_use","id":"{id}","name":"Bash","input":{{"command":"{id}"}}}}"#)
    };
    let results = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"b","content":"2"},{"type":"tool_result","tool_use_id":"a","content":"1","is_error":true}]},"tool_use_result":{"interrupted":true}}"#;
    let alone =
        decode(&[assistant("m", &block("a")), assistant("m", &block("b")), results.to_owned()]);
    let joined =
        decode(&[assistant("m", &format!("{},{}", block("a"), block("b"))), results.to_owned()]);
    assert_eq!(alone, joined);
    let ended: Vec<_> = tools(&alone)
        .into_iter()
        .map(|tool| (tool.call.0, tool.step.unwrap(), tool.output.unwrap()))
        .collect();
    let of = |a: &str, b: &str| (a.to_owned(), "m".to_owned(), b.to_owned());
    assert_eq!(ended, [of("b", "2"), of("a", "1")]);
}

#[test]
fn results_without_a_beginning_have_one() {
    let events = decode(&[tool_result("t", r#""content":"x""#, "")]);
    assert_eq!(names(&events)[2..], ["item.started", "item.completed"]);
    // The service's own tools begin and end in the model's message.
    let events = decode(&[assistant(
        "m",
        r#"{"type":"server_tool_use","id":"w","name":"web_search","input":{"query":"q"}},{"type":"web_search_tool_result","tool_use_id":"w","content":[{"type":"web_search_result","title":"T","url":"u"}]}"#,
    )]);
    let [search] = tools(&events).try_into().unwrap();
    assert_eq!((search.headline(), search.output.as_deref()), ("q", Some("T")));
    let failed = assistant(
        "m",
        r#"{"type":"web_search_tool_result","tool_use_id":"w","content":{"type":"web_search_tool_result_error","error_code":"max_uses_exceeded"}}"#,
    );
    let message = Some("max_uses_exceeded".to_owned());
    let expected = Some(Outcome::Failure { exit_code: None, message });
    assert_eq!(tools(&decode(&[failed]))[0].outcome, expected);
}

#[test]
fn edits_have_a_diff_and_long_output_is_the_tools_own() {
    let patch = r#","tool_use_result":{"filePath":"/p","structuredPatch":[{"oldStart":1,"oldLines":1,"newStart":1,"newLines":1,"lines":["-a","+b"]}]}"#;
    let persisted =
        r#","tool_use_result":{"stdout":"all of it","stderr":"!","persistedOutputPath":"/o"}"#;
    let events = decode(&[
        tool_use("t", "Edit", r#"{"file_path":"/p"}"#),
        tool_result("t", r#""content":"done""#, patch),
        tool_use("u", "Bash", r#"{"command":"x"}"#),
        tool_result("u", r#""content":"<persisted-output>""#, persisted),
    ]);
    let [edit, bash] = tools(&events).try_into().unwrap();
    assert_eq!(edit.diff.as_deref(), Some("--- /p\n+++ /p\n@@ -1,1 +1,1 @@\n-a\n+b\n"));
    assert_eq!(bash.output.as_deref(), Some("all of it!"));
}

#[test]
fn plans_are_told() {
    let todos = r#"{"todos":[{"content":"a","status":"completed","activeForm":"x"},{"content":"b","status":"in_progress"}]}"#;
    let events = decode(&[
        tool_use("t", "TodoWrite", todos),
        tool_result("t", r#""content":"ok""#, ""),
        tool_use("p", "ExitPlanMode", r##"{"plan":"# P"}"##),
    ]);
    let plans: Vec<_> = bodies(&events)
        .filter_map(|body| match body {
            ItemBody::Plan { todos, text } => Some((todos.len(), text.as_deref())),
            _ => None,
        })
        .collect();
    assert_eq!(plans, [(2, None), (0, Some("# P"))]);
}

#[test]
fn digests_tell_the_same_from_the_new() {
    let digest = |name: &str, input: &str, result: &str| {
        let lines = [tool_use("t", name, input), tool_result("t", result, "")];
        tools(&decode(&lines))[0].digest
    };
    let same = digest("Bash", r#"{"command":"x"}"#, r#""content":"a""#);
    assert_eq!(same, digest("Bash", r#"{"command":"x"}"#, r#""content":"a","is_error":false"#));
    assert_ne!(same, digest("Bash", r#"{"command":"y"}"#, r#""content":"a""#));
    assert_ne!(same, digest("Bash", r#"{"command":"x"}"#, r#""content":"b""#));
    assert_ne!(same, digest("Read", r#"{"command":"x"}"#, r#""content":"a""#));
}
