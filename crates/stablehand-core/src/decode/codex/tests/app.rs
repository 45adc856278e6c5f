//! The app server's lines.

use super::*;

fn app(lines: &[&str]) -> Vec<EventKind> {
    let bytes = lines.join("\n") + "\n";
    decode_bytes::<CodexAppDecoder>(bytes.as_bytes(), Depth::Full)
}

fn delta(id: &str, text: &str) -> String {
    format!(
        r#"{{"method":"item/agentMessage/delta","params":{{"threadId":"t","turnId":"u","itemId":"{id}","delta":{text:?}}},"emittedAtMs":1}}"#
    )
}

fn message(id: &str, text: &str) -> String {
    format!(
        r#"{{"method":"item/completed","params":{{"item":{{"type":"agentMessage","id":"{id}","text":{text:?}}},"threadId":"t","turnId":"u"}}}}"#
    )
}

const HELLO: &str =
    r#"{"id":1,"result":{"userAgent":"probe/0.166.0 (Debian; x86_64) dumb","codexHome":"/h"}}"#;
const THREAD: &str = r#"{"id":2,"result":{"thread":{"id":"t","parentThreadId":null,"cwd":"/w","cliVersion":"0.166.0","turns":[]},"model":"gpt-5.5","cwd":"/w","approvalPolicy":"never"}}"#;
const STARTED: &str =
    r#"{"method":"thread/started","params":{"thread":{"id":"t","parentThreadId":null}}}"#;
const TURN: &str = r#"{"method":"turn/started","params":{"threadId":"t","turn":{"id":"u","status":"inProgress"}}}"#;
const PROMPT: &str = r#"{"method":"item/started","params":{"item":{"type":"userMessage","id":"p","content":[{"type":"text","text":"do \"it\""}]},"threadId":"t"}}"#;
const START: &str = r#"{"method":"item/started","params":{"item":{"type":"commandExecution","id":"call_1","command":"/bin/bash -lc 'echo hi'","cwd":"/w","processId":"55223","status":"inProgress","aggregatedOutput":null,"exitCode":null},"threadId":"t"}}"#;
const END: &str = r#"{"method":"item/completed","params":{"item":{"type":"commandExecution","id":"call_1","command":"/bin/bash -lc 'echo hi'","cwd":"/w","processId":"55223","status":"completed","aggregatedOutput":"hi\n","exitCode":0,"durationMs":179},"threadId":"t"}}"#;
const USED: &str = r#"{"method":"thread/tokenUsage/updated","params":{"threadId":"t","tokenUsage":{"total":{"totalTokens":12,"inputTokens":10,"cachedInputTokens":4,"outputTokens":2},"last":{"inputTokens":1}}}}"#;

fn done(status: &str, rest: &str) -> String {
    format!(
        r#"{{"method":"turn/completed","params":{{"threadId":"t","turn":{{"id":"u","items":[{{"type":"agentMessage","id":"m","text":"ok"}}],"status":"{status}","durationMs":7{rest}}}}}}}"#
    )
}

#[test]
fn a_turn_from_hello_to_completed() {
    let (a, b, whole, end) =
        (delta("m", "o"), delta("m", "k"), message("m", "ok"), done("completed", ""));
    let output = r#"{"method":"item/commandExecution/outputDelta","params":{"threadId":"t","itemId":"call_1","delta":"hi\n"}}"#;
    let prompt_again = PROMPT.replace("item/started", "item/completed");
    let events = app(&[
        HELLO,
        THREAD,
        STARTED,
        TURN,
        PROMPT,
        &prompt_again,
        START,
        output,
        END,
        &a,
        &b,
        &whole,
        USED,
        &end,
    ]);
    assert_eq!(
        names(&events),
        [
            "session.started",
            "turn.started",
            "item.started",
            "item.delta",
            "item.completed",
            "item.started",
            "item.delta",
            "item.delta",
            "item.completed",
            "usage.updated",
            "turn.ended",
        ]
    );
    let EventKind::SessionStarted { agent_version, model, cwd, .. } = &events[0] else { panic!() };
    assert_eq!(agent_version.as_deref(), Some("0.166.0"));
    assert_eq!((model.as_deref(), cwd.as_deref()), (Some("gpt-5.5"), Some("/w")));
    assert_eq!(events[1], EventKind::TurnStarted { prompt: Some("do \"it\"".into()), by: None });
    let tool = &tools(&events)[0];
    let input = ToolInput::Command { command: "echo hi".into(), cwd: Some("/w".into()) };
    assert_eq!((&tool.input, tool.duration_ms), (&input, Some(179)));
    // The agent's number of a terminal is not the system's of a process.
    assert_eq!((tool.pid, tool.background), (None, false));
    let tokens = Tokens { input: 6, cache_read: 4, output: 2, ..Tokens::default() };
    assert_eq!(
        events[10],
        EventKind::TurnEnded {
            end: TurnEnd::Done,
            text: Some("ok".into()),
            usage: Some(Usage::Total(tokens)),
            duration_ms: Some(7)
        }
    );
}

#[test]
fn text_is_told_once() {
    let cases: &[(&[&str], &str, &str)] = &[
        (&["a", "b"], "ab", "ab"),
        (&[], "ab", "ab"),
        // What was not streamed still comes; what was, is not taken back.
        (&["a"], "ab", "ab"),
        (&["ab"], "a", "ab"),
        (&["ab\n"], "ab", "ab\n"),
        (&["ab"], "", "ab"),
        (&["ab"], "xy", "abxy"),
        (&[], "", ""),
    ];
    for (pieces, whole, expected) in cases {
        let mut lines: Vec<String> = pieces.iter().map(|piece| delta("m", piece)).collect();
        lines.push(message("m", whole));
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let events = app(&lines);
        assert_eq!(said_by(&events, TextRole::Message), *expected, "{pieces:?} {whole}");
        let whole: String = bodies(&events)
            .filter_map(|body| match body {
                ItemBody::Message { text } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(whole, *expected);
    }
}

#[test]
fn reasoning_comes_in_parts() {
    let piece = |part: u8, text: &str| {
        format!(
            r#"{{"method":"item/reasoning/summaryTextDelta","params":{{"threadId":"t","itemId":"r","delta":"{text}","summaryIndex":{part}}}}}"#
        )
    };
    let (a, b, c) = (piece(0, "a"), piece(0, "b"), piece(1, "c"));
    let whole = r#"{"method":"item/completed","params":{"item":{"type":"reasoning","id":"r","summary":["ab","c"],"content":[]},"threadId":"t"}}"#;
    let added = r#"{"method":"item/reasoning/summaryPartAdded","params":{"threadId":"t","itemId":"r","summaryIndex":1}}"#;
    let streamed = app(&[&a, &b, added, &c, whole]);
    assert_eq!(said_by(&streamed, TextRole::Reasoning), "ab\n\nc");
    assert_eq!(said_by(&app(&[whole]), TextRole::Reasoning), "ab\n\nc");
    // Thoughts that are kept secret are nothing to tell.
    let empty = whole.replace(r#""ab","c""#, "");
    assert_eq!(names(&app(&[&empty])), ["turn.started"]);
}

#[test]
fn questions_and_answers() {
    let asks = r#"{"method":"item/commandExecution/requestApproval","id":0,"params":{"threadId":"t","itemId":"call_1","command":"/bin/bash -lc 'echo hi'","cwd":"/w","reason":"why","availableDecisions":["accept",{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["echo"]}},"cancel"]}}"#;
    let resolved = r#"{"method":"serverRequest/resolved","params":{"threadId":"t","requestId":0}}"#;
    let declined =
        END.replace(r#""completed","agg"#, r#""declined","agg"#).replace(":0,", ":null,");
    let events = app(&[THREAD, TURN, START, asks, resolved, &declined]);
    assert_eq!(
        events[3],
        EventKind::ApprovalRequested {
            id: "0".into(),
            call: Some(crate::id::CallId("call_1".into())),
            what: "run `echo hi` in /w (why)".into(),
            options: vec!["accept".into(), "acceptWithExecpolicyAmendment".into(), "cancel".into()],
            tool: None,
            why: None,
            waits: false,
        }
    );
    assert!(matches!(&events[4], EventKind::ApprovalResolved { id, .. } if id == "0"));
    assert_eq!(tools(&events)[0].outcome, Some(Outcome::Rejected { reason: String::new() }));
}

#[test]
fn every_request_of_the_server_is_a_question() {
    let cases = [
        (
            r#"{"method":"item/fileChange/requestApproval","id":"x","params":{"itemId":"f"}}"#,
            "change /a",
            4,
        ),
        (
            r#"{"method":"item/tool/requestUserInput","id":1,"params":{"questions":[{"question":"Which?","options":[{"label":"A"},{"label":"B"}]}]}}"#,
            "Which?",
            2,
        ),
        (
            r#"{"method":"mcpServer/elicitation/request","id":1,"params":{"serverName":"s","message":"ok?"}}"#,
            "s asks: ok?",
            3,
        ),
        (
            r#"{"method":"execCommandApproval","id":1,"params":{"command":["bash","-lc","ls -l"],"cwd":"/w"}}"#,
            "run `ls -l` in /w",
            4,
        ),
        (r#"{"method":"brand/new","id":1,"params":{}}"#, "brand/new", 0),
    ];
    let patch = r#"{"method":"item/started","params":{"item":{"type":"fileChange","id":"f","changes":[{"path":"/a","kind":{"type":"add"},"diff":"x\n"}],"status":"inProgress"},"threadId":"t"}}"#;
    for (line, expected, n) in cases {
        let events = app(&[patch, line]);
        let Some(EventKind::ApprovalRequested { what, options, .. }) = events.last() else {
            panic!("{line}")
        };
        assert_eq!((what.as_str(), options.len()), (expected, n), "{line}");
    }
}

#[test]
fn a_call_that_outlives_its_turn_goes_to_the_background() {
    let end = done("interrupted", "");
    let events = app(&[THREAD, TURN, START, &end, END]);
    assert_eq!(
        names(&events),
        [
            "session.started",
            "turn.started",
            "item.started",
            "item.completed",
            "turn.ended",
            "item.completed"
        ]
    );
    assert_eq!(ends(&events), [TurnEnd::Cancelled]);
    let ends: Vec<_> =
        tools(&events).into_iter().map(|tool| (tool.background, tool.outcome)).collect();
    assert_eq!(ends, [(true, Some(Outcome::Unknown)), (false, Some(Outcome::Success))]);
}

#[test]
fn errors_have_a_name() {
    let failed = |info: &str, message: &str| {
        let end = done(
            "failed",
            &format!(r#","error":{{"message":"{message}","codexErrorInfo":{info}}}"#),
        );
        ends(&app(&[&end])).remove(0)
    };
    let cases = [
        (r#""contextWindowExceeded""#, FailureKind::ContextLength),
        (r#""usageLimitExceeded""#, FailureKind::Quota),
        (r#""unauthorized""#, FailureKind::Auth),
        (r#""badRequest""#, FailureKind::BadRequest),
        (r#"{"responseStreamDisconnected":{"httpStatusCode":null}}"#, FailureKind::Network),
        (r#"{"responseTooManyFailedAttempts":{"httpStatusCode":429}}"#, FailureKind::RateLimit),
        (r#"{"httpConnectionFailed":{"httpStatusCode":503}}"#, FailureKind::Overloaded),
        ("null", FailureKind::Internal),
    ];
    for (info, failure) in cases {
        let expected = TurnEnd::Failed { failure, message: "odd".into() };
        assert_eq!(failed(info, "odd"), expected, "{info}");
    }
    assert_eq!(failed(r#""cyberPolicy""#, "no"), TurnEnd::Refused);
    assert_eq!(failed(r#""sessionBudgetExceeded""#, "no"), TurnEnd::Limit);
}

#[test]
fn errors_that_will_be_retried_end_nothing() {
    let error = |retry: bool| {
        format!(
            r#"{{"method":"error","params":{{"error":{{"message":"Reconnecting... 3/5","additionalDetails":"cut"}},"willRetry":{retry},"threadId":"t"}}}}"#
        )
    };
    let expected =
        EventKind::RetryScheduled { attempt: 3, detail: Some("Reconnecting... 3/5 (cut)".into()) };
    assert_eq!(app(&[&error(true)]), [expected]);
    let other = error(true).replace("Reconnecting... 3/5", "odd");
    assert_eq!(names(&app(&[&other])), ["retry.scheduled"]);
    let last = error(false).replace("Reconnecting... 3/5", "odd");
    assert_eq!(names(&app(&[&last])), ["item.completed"]);
}

#[test]
fn other_agents_do_not_speak_for_this_one() {
    let lines = [
        THREAD.to_owned(),
        TURN.to_owned(),
        r#"{"method":"thread/started","params":{"thread":{"id":"sub","parentThreadId":"t"}}}"#
            .to_owned(),
        TURN.replace(r#""t""#, r#""sub""#),
        delta("m", "mine").replace(r#""t""#, r#""sub""#),
        message("m", "mine").replace(r#""t""#, r#""sub""#),
        START.replace(r#""t""#, r#""sub""#),
        END.replace(r#""t""#, r#""sub""#),
        USED.replace(r#""t""#, r#""sub""#),
        done("completed", "").replace(r#""t""#, r#""sub""#),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    assert_eq!(names(&app(&lines)), ["session.started", "item.started", "item.completed"]);
}

#[test]
fn a_diff_is_a_diff() {
    let change = |kind: &str, diff: &str| {
        let line = format!(
            r#"{{"method":"item/completed","params":{{"item":{{"type":"fileChange","id":"f","changes":[{{"path":"/a","kind":{{"type":"{kind}"}},"diff":"{diff}"}}],"status":"completed"}}}}}}"#
        );
        tools(&app(&[&line])).remove(0).diff.unwrap()
    };
    assert_eq!(change("add", r"x\ny\n"), "@@ -0,0 +1,2 @@\n+x\n+y\n");
    assert_eq!(change("delete", r"x\n"), "@@ -1,1 +0,0 @@\n-x\n");
    assert_eq!(change("update", r"@@ -1 +1 @@\n-x\n+y\n"), "@@ -1 +1 @@\n-x\n+y\n");
}

#[test]
fn plans_notices_and_what_is_new() {
    let plan = r#"{"method":"turn/plan/updated","params":{"threadId":"t","plan":[{"step":"a","status":"inProgress"}]}}"#;
    assert!(matches!(
        bodies(&app(&[plan, plan])).collect::<Vec<_>>()[..],
        [ItemBody::Plan { todos, .. }] if todos[0].status == TodoStatus::InProgress
    ));
    let notices = [
        r#"{"method":"configWarning","params":{"summary":"odd","details":"x"}}"#,
        r#"{"method":"mcpServer/startupStatus/updated","params":{"name":"s","status":"failed","error":"e"}}"#,
        r#"{"method":"autoApprovalReview/strictReviewRequired","params":{"threadId":"t"}}"#,
        r#"{"method":"loginChatGptComplete","params":{"success":false,"error":"no"}}"#,
        r#"{"method":"hook/completed","params":{"run":{"status":"failed","eventName":"stop"}}}"#,
        r#"{"id":9,"error":{"code":-32600,"message":"no such thread"}}"#,
        r#"{"method":"item/completed","params":{"item":{"type":"contextCompaction","id":"c"}}}"#,
    ];
    for line in notices {
        assert!(matches!(bodies(&app(&[line])).last(), Some(ItemBody::Notice { .. })), "{line}");
    }
    let quiet = [
        r#"{"method":"account/rateLimits/updated","params":{"rateLimits":{}}}"#,
        r#"{"method":"remoteControl/status/changed","params":{}}"#,
        r#"{"method":"project/changed","params":{"projectId":"p","changeType":"updated"}}"#,
        r#"{"method":"authStatusChange","params":{}}"#,
        r#"{"id":4,"result":{}}"#,
        r#"{"id":4,"result":{"thread":{"id":"other"}}}"#,
    ];
    for line in quiet {
        assert_eq!(app(&[line]), [], "{line}");
    }
    let unknown = [
        r#"{"method":"brand/new","params":{}}"#,
        r#"{"method":"thread/brand/new","params":{}}"#,
        r#"{"type":"turn.started"}"#,
        "{}",
    ];
    for line in unknown {
        assert_eq!(names(&app(&[line])), ["unrecognized"], "{line}");
    }
}

#[test]
fn a_line_that_is_too_long_still_closes_its_call() {
    let long = "x".repeat(200_000);
    let end = END.replace(r"hi\n", &long);
    let bytes = format!("{START}\n{end}\n");
    let events = decode_bytes::<CodexAppDecoder>(bytes.as_bytes(), Depth::Full);
    let tool = tools(&events).remove(0);
    assert_eq!((tool.call.0.as_str(), tool.outcome), ("call_1", Some(Outcome::Success)));
}
