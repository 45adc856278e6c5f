//! Sessions, turns, questions and what the agent tells about itself.

use super::*;
use crate::event::{FailureKind, Tokens, Usage};

fn result(rest: &str) -> String {
    format!(r#"{{"duration_api_ms":1,"session_id":"s",{rest},"type":"result","duration_ms":5}}"#)
}

fn end_of(events: &[EventKind]) -> &TurnEnd {
    let ended = events.iter().rev().find_map(|event| match event {
        EventKind::TurnEnded { end, .. } => Some(end),
        _ => None,
    });
    ended.unwrap()
}

#[test]
fn a_turn_from_init_to_result() {
    let hook =
        r#"{"type":"system","subtype":"hook_started","hook_name":"SessionStart","session_id":"s"}"#;
    let events = decode(&[
        hook.to_owned(),
        INIT.to_owned(),
        whole("1", "ok"),
        result(
            r#""subtype":"success","is_error":false,"result":"ok","usage":{"input_tokens":7,"output_tokens":2,"cache_read_input_tokens":3,"cache_creation_input_tokens":4,"output_tokens_details":{"thinking_tokens":1}},"total_cost_usd":0.5"#,
        ),
    ]);
    let native_id = SessionId("s".into());
    assert_eq!(
        events[0],
        EventKind::SessionStarted {
            agent: "claude".into(),
            agent_version: Some("2.1.0".into()),
            native_id,
            model: Some("m".into()),
            cwd: Some("/w".into()),
            resumed_from: None,
        }
    );
    assert_eq!(events[1], EventKind::TurnStarted { prompt: None, by: None });
    let tokens = Tokens {
        input: 7,
        output: 2,
        cache_read: 3,
        cache_write: 4,
        reasoning: 1,
        cost_usd: Some(0.5),
    };
    assert_eq!(
        events[5],
        EventKind::TurnEnded {
            end: TurnEnd::Done,
            text: Some("ok".into()),
            usage: Some(Usage::Turn(tokens)),
            duration_ms: Some(5),
        }
    );
    assert_eq!(events.len(), 6);
}

#[test]
fn cost_is_of_the_turn_though_the_agent_states_the_total() {
    let usage = r#""subtype":"success","is_error":false,"usage":{}"#;
    let since = |cost: f64| {
        format!(
            r#""model_usage_since_last_result":{{"a":{{"inputTokens":1,"costUSD":{cost}}},"b":{{"inputTokens":2,"outputTokens":3,"costUSD":{cost}}}}}"#
        )
    };
    let events = decode(&[
        result(&format!(r#"{usage},"total_cost_usd":0.5"#)),
        result(&format!(r#"{usage},"total_cost_usd":0.75"#)),
        result(&format!(r#"{usage},"total_cost_usd":0.25"#)),
        result(&format!(r#"{usage},"total_cost_usd":9,{}"#, since(0.125))),
        result(&format!(r#"{usage},"total_cost_usd":9.5"#)),
    ]);
    let used: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            EventKind::TurnEnded { usage: Some(Usage::Turn(tokens)), .. } => {
                Some((tokens.cost_usd.unwrap(), tokens.input, tokens.output))
            }
            _ => None,
        })
        .collect();
    assert_eq!(used, [(0.5, 0, 0), (0.25, 0, 0), (0.25, 0, 0), (0.25, 3, 3), (0.5, 0, 0)]);
}

#[test]
fn turns_end_as_the_result_says() {
    use FailureKind as F;
    let failed = |failure, message: &str| TurnEnd::Failed { failure, message: message.into() };
    let api_error = |status: &str, words: &str| {
        format!(
            r#""subtype":"success","is_error":true,"terminal_reason":"api_error","api_error_status":{status},"result":"{words}""#
        )
    };
    let cases = [
        (r#""subtype":"success","is_error":false"#.to_owned(), TurnEnd::Done),
        (r#""subtype":"success","is_error":false,"stop_reason":"refusal""#.into(), TurnEnd::Refused),
        (r#""subtype":"success","is_error":true,"stop_reason":"refusal","result":"no""#.into(), TurnEnd::Refused),
        (r#""subtype":"error_max_turns","is_error":true"#.into(), TurnEnd::Limit),
        (r#""subtype":"error_max_budget_usd","is_error":false"#.into(), TurnEnd::Limit),
        (r#""subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_tools""#.into(), TurnEnd::Cancelled),
        (r#""subtype":"error_during_execution","is_error":true,"errors":["No conversation found with session ID: x"]"#.into(), failed(F::BadRequest, "No conversation found with session ID: x")),
        (r#""subtype":"error_during_execution","is_error":true"#.into(), failed(F::Internal, "error_during_execution")),
        (r#""subtype":"error_during_execution","is_error":true,"error":{"message":"[API Error: 401 bad key]"}"#.into(), failed(F::Auth, "[API Error: 401 bad key]")),
        (r#""subtype":"success","is_error":true,"terminal_reason":"prompt_too_long","result":"x""#.into(), failed(F::ContextLength, "x")),
        (api_error("400", "x"), failed(F::BadRequest, "x")),
        (api_error("400", "Your credit balance is too low"), failed(F::Quota, "Your credit balance is too low")),
        (api_error("401", "x"), failed(F::Auth, "x")),
        (api_error("404", "no such model"), failed(F::BadModel, "no such model")),
        (api_error("404", "x"), failed(F::BadRequest, "x")),
        (api_error("413", "x"), failed(F::ContextLength, "x")),
        (api_error("429", "x"), failed(F::RateLimit, "x")),
        (api_error("429", "usage limit reached"), failed(F::Quota, "usage limit reached")),
        (api_error("500", "x"), failed(F::Internal, "x")),
        (api_error("529", "x"), failed(F::Overloaded, "x")),
        (api_error("null", "Request timed out"), failed(F::Network, "Request timed out")),
        (api_error("null", "API Error: Connection error."), failed(F::Network, "API Error: Connection error.")),
        (api_error("null", "Not logged in"), failed(F::Auth, "Not logged in")),
    ];
    for (rest, expected) in cases {
        assert_eq!(*end_of(&decode(&[result(&rest)])), expected, "{rest}");
    }
}

#[test]
fn a_failed_request_is_a_notice_and_gives_its_kind() {
    let cases = [
        ("authentication_failed", FailureKind::Auth),
        ("billing_error", FailureKind::Quota),
        ("rate_limit", FailureKind::RateLimit),
        ("overloaded", FailureKind::Overloaded),
        ("model_not_found", FailureKind::BadModel),
        ("invalid_request", FailureKind::BadRequest),
        ("unknown", FailureKind::Internal),
    ];
    for (word, kind) in cases {
        let error = format!(r#""error":"{word}","is_api_error_message":true,"session_id""#);
        let lines = [
            whole("1", "it failed").replace(r#""session_id""#, &error),
            result(r#""subtype":"success","is_error":true,"result":"it failed""#),
        ];
        let events = decode(&lines);
        assert_eq!(notices(&events), ["it failed"]);
        assert!(messages(&events).is_empty());
        let expected = TurnEnd::Failed { failure: kind, message: "it failed".into() };
        assert_eq!(*end_of(&events), expected);
    }
}

#[test]
fn turns_begin_with_each_prompt() {
    let echo = r#"{"type":"user","message":{"role":"user","content":"do it"},"isReplay":true,"session_id":"s"}"#;
    let done = result(r#""subtype":"success","is_error":false"#);
    let events = decode(&[INIT, echo, &whole("1", "a"), &done, INIT, &whole("2", "b"), &done]);
    let prompts: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            EventKind::TurnStarted { prompt, .. } => Some(prompt.as_deref()),
            _ => None,
        })
        .collect();
    assert_eq!(prompts, [None, Some("do it"), None]);
}

#[test]
fn an_interrupt_cancels_the_turn_and_its_calls() {
    let events = decode(&[
        tool_use("t", "Bash", r#"{"command":"sleep 9"}"#),
        r#"{"type":"user","message":{"content":[{"type":"text","text":"[Request interrupted by user]"}]}}"#.to_owned(),
        result(r#""subtype":"error_during_execution","is_error":true"#),
    ]);
    assert_eq!(*end_of(&events), TurnEnd::Cancelled);
    assert_eq!(tools(&events)[0].outcome, Some(Outcome::Unknown));
    assert_eq!(notices(&events), ["[Request interrupted by user]"]);
}

#[test]
fn retries_are_told_with_their_reason() {
    let events = decode(&[INIT, RETRY]);
    let detail = Some("overloaded (529), of 10, in 500 ms".into());
    assert_eq!(events.last(), Some(&EventKind::RetryScheduled { attempt: 2, detail }));
}

#[test]
fn questions_are_asked_answered_and_withdrawn() {
    let ask = |request: &str, rest: &str| {
        format!(r#"{{"type":"control_request","request_id":"{request}","request":{{{rest}}}}}"#)
    };
    let bash = r#"{"command":"ls"}"#;
    let events = decode(&[
        tool_use("t", "Bash", bash),
        ask(
            "r1",
            &format!(
                r#""subtype":"can_use_tool","tool_name":"Bash","input":{bash},"tool_use_id":"t""#
            ),
        ),
        tool_result("t", r#""content":"ok""#, ""),
        tool_use("u", "Bash", bash),
        ask(
            "r2",
            &format!(
                r#""subtype":"can_use_tool","tool_name":"Bash","input":{bash},"tool_use_id":"u""#
            ),
        ),
        tool_result(
            "u",
            r#""content":"no","is_error":true"#,
            r#","tool_result_meta":[{"id":"u","permission_decision":{"decision":"reject","source":"user_reject"}}]"#,
        ),
        tool_use("v", "Bash", bash),
        ask(
            "r3",
            &format!(
                r#""subtype":"can_use_tool","tool_name":"Bash","input":{bash},"tool_use_id":"v""#
            ),
        ),
        r#"{"type":"control_cancel_request","request_id":"r3"}"#.to_owned(),
        ask(
            "r4",
            r#""subtype":"can_use_tool","tool_name":"AskUserQuestion","input":{"questions":[{"question":"Q?","options":[{"label":"A"},{"label":"B"}]}]}"#,
        ),
        ask("r5", r#""subtype":"can_use_tool","tool_name":"mcp__s__t","input":{}"#),
        ask("r6", r#""subtype":"elicitation","mcp_server_name":"srv","message":"who?""#),
    ]);
    let asked: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            EventKind::ApprovalRequested { id, what, options, .. } => {
                Some(format!("{id} {what} {}", options.join("|")))
            }
            EventKind::ApprovalResolved { id, choice, by } => Some(format!("{id} {choice} {by}")),
            _ => None,
        })
        .collect();
    assert_eq!(
        asked,
        [
            "r1 Bash ls allow|deny",
            "r1 allow agent",
            "r2 Bash ls allow|deny",
            "r2 deny user_reject",
            "r3 Bash ls allow|deny",
            "r3 cancelled agent",
            "r4 Q? A|B",
            "r5 mcp__s__t allow|deny",
            "r6 srv: who? accept|decline|cancel",
        ]
    );
}

#[test]
fn other_requests_and_answers() {
    let hook = r#"{"type":"control_request","request_id":"h","request":{"subtype":"hook_callback","callback_id":"c","input":{"hook_event_name":"PreToolUse"},"tool_use_id":"t"}}"#;
    let events = decode(&[
        hook,
        r#"{"type":"control_request","request_id":"m","request":{"subtype":"mcp_message"}}"#,
        r#"{"type":"control_request","request_id":"n","request":{"subtype":"new"}}"#,
        r#"{"type":"control_response","response":{"subtype":"success","request_id":"i"}}"#,
        r#"{"type":"control_response","response":{"subtype":"error","request_id":"i","error":"bad mode"}}"#,
        r#"{"type":"control_cancel_request","request_id":"unknown"}"#,
    ]);
    assert_eq!(names(&events), ["hook.received", "item.completed", "item.completed"]);
    let EventKind::HookReceived { name, payload, .. } = &events[0] else { panic!("{events:?}") };
    assert_eq!(
        (name.as_str(), payload["hook_event_name"].as_str()),
        ("PreToolUse", Some("PreToolUse"))
    );
    assert_eq!(
        notices(&events),
        ["the agent requests `new`", "the agent refused a request: bad mode"]
    );
}

#[test]
fn what_the_agent_tells_about_itself() {
    let cases: &[(&str, &[&str])] = &[
        (r#""type":"system","subtype":"status","status":"compacting""#, &[]),
        (
            r#""type":"system","subtype":"compact_boundary","compact_metadata":{"trigger":"auto"}"#,
            &["the conversation was compacted (auto)"],
        ),
        (
            r#""type":"system","subtype":"task_notification","status":"failed","summary":"build""#,
            &["a background task failed: build"],
        ),
        (
            r#""type":"system","subtype":"hook_response","hook_name":"Stop","exit_code":0,"outcome":"success","stdout":"x""#,
            &[],
        ),
        (
            r#""type":"system","subtype":"hook_response","hook_name":"Stop","exit_code":2,"outcome":"error","stderr":"no\n""#,
            &["hook Stop ended with error, exit code 2: no"],
        ),
        (r#""type":"system","subtype":"local_command_output","content":"hi""#, &["hi"]),
        (r#""type":"system","subtype":"mirror_error","error":"disk""#, &["disk"]),
        (r#""type":"rate_limit_event","rate_limit_info":{"status":"allowed"}"#, &[]),
        (
            r#""type":"rate_limit_event","rate_limit_info":{"status":"rejected","rateLimitType":"five_hour"}"#,
            &["rate limit five_hour: rejected"],
        ),
        (r#""type":"auth_status","isAuthenticating":true,"output":[]"#, &[]),
        (r#""type":"auth_status","error":"expired""#, &["expired"]),
        (r#""type":"error","error":{"type":"x","message":"boom"}"#, &["boom"]),
        (r#""type":"user","message":{"content":"go on"},"isSynthetic":true"#, &["go on"]),
    ];
    for (line, expected) in cases {
        assert_eq!(notices(&decode(&[format!("{{{line}}}")])), *expected, "{line}");
    }
}

fn listed(tasks: &str) -> String {
    format!(
        r#"{{"type":"system","subtype":"background_tasks_changed","tasks":[{tasks}],"session_id":"s"}}"#
    )
}

fn agent(id: &str) -> String {
    format!(r#"{{"task_id":"{id}","task_type":"local_agent","description":"Feeding {id}"}}"#)
}

fn stated(result: &str, tokens: u64) -> String {
    format!(
        r#"{{"type":"result","subtype":"success","is_error":false,"result":"{result}","session_id":"s","usage":{{"input_tokens":{tokens},"output_tokens":1}}}}"#
    )
}

fn command(id: &str) -> String {
    format!(r#"{{"task_id":"{id}","task_type":"local_bash","description":"make {id}"}}"#)
}

/// The results of a turn, and which of them ended it.
fn results(events: &[EventKind]) -> Vec<(&'static str, Option<String>, Option<u64>)> {
    let used = |usage: &Option<Usage>| usage.as_ref().map(|usage| usage.tokens().input);
    let result = |event: &EventKind| match event {
        EventKind::TurnEnded { text, usage, .. } | EventKind::TurnResult { text, usage, .. } => {
            Some((event.name(), text.clone(), used(usage)))
        }
        _ => None,
    };
    events.iter().filter_map(result).collect()
}

#[expect(clippy::unnecessary_wraps, reason = "the text of a result may be missing")]
fn said(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn a_result_while_background_tasks_are_open_is_not_the_end() {
    for task in [
        agent("a"),
        command("a"),
        r#"{"task_id":"a","task_type":"monitor","description":"the log"}"#.to_owned(),
        r#"{"task_id":"a","task_type":"mcp_task"}"#.to_owned(),
        r#"{"task_type":"of tomorrow"}"#.to_owned(),
    ] {
        let early = [INIT.to_owned(), listed(&task), stated("Wait.", 3)];
        let mut whole = early.to_vec();
        whole.extend([listed(""), INIT.to_owned(), stated("Fed.", 4)]);
        let events = decode(&whole);
        let expected =
            [("turn.result", said("Wait."), Some(3)), ("turn.ended", said("Fed."), Some(4))];
        assert_eq!(results(&events), expected, "{task}");
        let names = names(&events);
        let of = |name: &str| names.iter().filter(|it| **it == name).count();
        // The second beginning is the one by which the agent wakes.
        assert_eq!((of("turn.started"), of("item.started"), of("item.completed")), (2, 1, 1));
    }
    // One after the other, and two results before the last one.
    let two = [
        INIT.to_owned(),
        listed(&format!("{},{}", agent("a"), command("b"))),
        stated("Wait.", 1),
        listed(&command("b")),
        stated("Still.", 1),
        listed(""),
        stated("Fed.", 1),
    ];
    let names: Vec<_> = results(&decode(&two)).into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names, ["turn.result", "turn.result", "turn.ended"]);
}

#[test]
fn a_sub_agent_in_the_background_does_not_wake_the_main_one() {
    let works = r#"{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}]},"parent_tool_use_id":"p","session_id":"s"}"#;
    let lines = [INIT.to_owned(), listed(&agent("a")), stated("Wait.", 3), works.to_owned()];
    let events = decode(&lines);
    let started = events.iter().filter(|event| event.name() == "turn.started").count();
    assert_eq!(started, 1);
}

#[test]
fn a_result_that_nothing_follows_is_the_end_when_the_stream_is_over() {
    let first = ("turn.result", said("Wait."), Some(3));
    let last = ("turn.ended", said("Wait."), None);
    for left in [listed(""), listed(&command("b"))] {
        let lines = [INIT.to_owned(), listed(&agent("a")), stated("Wait.", 3), left];
        assert_eq!(results(&decode(&lines)), [first.clone(), last.clone()]);
    }
    // Not one that agents were still at work for, nor one after which the agent had gone on.
    let lines = [INIT.to_owned(), listed(&agent("a")), stated("Wait.", 3)];
    assert_eq!(results(&decode(&lines)), std::slice::from_ref(&first));
    let lines = [INIT.to_owned(), listed(&agent("a")), stated("Wait.", 3), listed("")];
    let lines = [&lines[..], &[INIT.to_owned()]].concat();
    assert_eq!(results(&decode(&lines)), [first]);
}

#[test]
fn what_is_no_work_of_the_turn_puts_no_end_off() {
    for task in [
        r#"{"task_id":"b","task_type":"local_agent","description":"a helper","ambient":true}"#,
        r#"{"task_id":"b","task_type":"remote_agent","description":"elsewhere","off_host":true}"#,
    ] {
        let lines = [INIT.to_owned(), listed(task), stated("Done.", 3)];
        assert_eq!(results(&decode(&lines)), [("turn.ended", said("Done."), Some(3))], "{task}");
    }
    let failed = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"session_id":"s","usage":{"input_tokens":3,"output_tokens":1}}"#;
    let lines = [INIT.to_owned(), listed(&agent("a")), failed.to_owned()];
    let names: Vec<_> = results(&decode(&lines)).into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names, ["turn.ended"], "a turn that failed has no more to wait for");
}
