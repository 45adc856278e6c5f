//! The decoder and the speaker by table: every message of the protocol, and what it becomes.

use super::super::kit::testing::*;
use super::*;
use crate::event::{ItemBody, Outcome, TodoStatus, Tool, ToolInput, ToolKind, Unrecognized};
use crate::id::SessionId;
use crate::json::{Scan, scan};
use crate::speak::{Access, Answer, Opening, Speak};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

const HELLO: &str = r#"{"jsonrpc":"2.0","id":"stablehand-hello","result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true},"agentInfo":{"name":"pony","version":"1.2"}}}"#;
const SESSION: &str = r#"{"jsonrpc":"2.0","id":"stablehand-session","result":{"sessionId":"s1","configOptions":[{"id":"m","category":"model","currentValue":"hay-1"}]}}"#;

fn decode(lines: &[&str]) -> Vec<EventKind> {
    super::super::kit::testing::decode::<AcpDecoder>(lines)
}

fn update(body: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s1","update":{body}}}}}"#
    )
}

fn chunk(kind: &str, text: &str) -> String {
    update(&format!(r#"{{"sessionUpdate":"{kind}","content":{{"type":"text","text":{text:?}}}}}"#))
}

fn call(body: &str) -> String {
    update(&format!(r#"{{"sessionUpdate":"tool_call","toolCallId":"c1",{body}}}"#))
}

fn more(body: &str) -> String {
    update(&format!(r#"{{"sessionUpdate":"tool_call_update","toolCallId":"c1",{body}}}"#))
}

fn stop(reason: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":"stablehand-turn-1","result":{{"stopReason":"{reason}","usage":{{"inputTokens":10,"outputTokens":5,"cachedReadTokens":3,"cachedWriteTokens":2,"thoughtTokens":1}}}}}}"#
    )
}

/// What is told of these lines behind the beginning of a session.
fn in_session(lines: &[&str]) -> Vec<EventKind> {
    let mut events = decode(&[&[HELLO, SESSION], lines].concat());
    events.drain(..1);
    events
}

fn tool_of(lines: &[String]) -> Tool {
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let [tool] = tools(&in_session(&lines)).try_into().unwrap();
    tool
}

#[test]
fn a_turn_from_the_first_word_to_the_last() {
    let events = decode(&[
        HELLO,
        SESSION,
        &chunk("agent_thought_chunk", "hm"),
        &chunk("agent_message_chunk", "I \"run\""),
        &chunk("agent_message_chunk", " it"),
        &call(
            r#""title":"ls","kind":"execute","status":"in_progress","rawInput":{"command":"ls","cwd":"/d"}"#,
        ),
        &more(r#""status":"completed","rawOutput":{"output":"x\n","metadata":{"exit":0}}"#),
        &stop("end_turn"),
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
            "item.started",
            "item.completed",
            "turn.ended",
        ]
    );
    let EventKind::SessionStarted { agent, agent_version, native_id, model, .. } = &events[0]
    else {
        panic!("{:?}", events[0])
    };
    assert_eq!((agent.as_str(), agent_version.as_deref()), ("pony", Some("1.2")));
    assert_eq!((native_id, model.as_deref()), (&SessionId("s1".into()), Some("hay-1")));
    assert_eq!(said(&events), "I \"run\" it");
    let [tool] = tools(&events).try_into().unwrap();
    assert_eq!(tool.outcome, Some(Outcome::Success));
    assert_eq!(tool.output.as_deref(), Some("x\n"));
    let command = ToolInput::Command { command: "ls".into(), cwd: Some("/d".into()) };
    assert_eq!((tool.tool_kind, &tool.input), (ToolKind::Execute, &command));
    let Some(EventKind::TurnEnded { end, usage, .. }) = events.last() else { panic!() };
    assert_eq!(*end, TurnEnd::Done);
    let tokens = *usage.as_ref().unwrap().tokens();
    assert_eq!(
        tokens,
        Tokens {
            input: 10,
            output: 5,
            cache_read: 3,
            cache_write: 2,
            reasoning: 1,
            cost_usd: None
        }
    );
}

#[test]
fn turns_end_as_the_agent_says() {
    let table = [
        ("end_turn", TurnEnd::Done),
        ("max_tokens", TurnEnd::Limit),
        ("max_turn_requests", TurnEnd::Limit),
        ("refusal", TurnEnd::Refused),
        ("cancelled", TurnEnd::Cancelled),
    ];
    for (word, end) in table {
        assert_eq!(ends(&in_session(&[&stop(word)])), [end], "{word}");
    }
    let [TurnEnd::Failed { message, .. }] = &ends(&in_session(&[&stop("bored")]))[..] else {
        panic!()
    };
    assert_eq!(message, "the turn stopped: bored");
}

#[test]
fn errors_end_the_turn_they_are_of() {
    let error = |id: &str, code: i32, text: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"{text}","data":{{"details":"HTTP 401"}}}}}}"#
        )
    };
    for id in ["stablehand-hello", "stablehand-login", "stablehand-session", "stablehand-turn-3"] {
        let quoted = format!("\"{id}\"");
        let [TurnEnd::Failed { failure, message }] =
            &ends(&decode(&[&error(&quoted, -32000, "Authentication required")]))[..]
        else {
            panic!("{id}")
        };
        assert_eq!(*failure, FailureKind::Auth);
        assert_eq!(message, "Authentication required: HTTP 401");
    }
    // A mode that is refused is a pity and no more.
    let events = in_session(&[&error("\"stablehand-mode\"", -32602, "no such mode")]);
    assert!(ends(&events).is_empty());
    assert!(matches!(bodies(&events)[..], [ItemBody::Notice { level: NoticeLevel::Error, .. }]));
    // Whose it is nobody knows: in a turn it is the turn's.
    let text = chunk("agent_message_chunk", "x");
    assert_eq!(ends(&in_session(&[&text, &error("7", -32603, "boom")])).len(), 1);
    assert!(ends(&in_session(&[&error("7", -32603, "boom")])).is_empty());
}

#[test]
fn the_past_of_a_session_that_is_loaded_is_no_news() {
    let events = decode(&[
        HELLO,
        &chunk("user_message_chunk", "before"),
        &chunk("agent_message_chunk", "long ago"),
        &call(r#""title":"ls","kind":"execute","status":"completed""#),
        r#"{"jsonrpc":"2.0","id":"stablehand-continue-s1","result":{"modes":null}}"#,
        &chunk("agent_message_chunk", "now"),
        &stop("end_turn"),
    ]);
    assert_eq!(said(&events), "now");
    assert!(tools(&events).is_empty());
    assert!(
        matches!(&events[0], EventKind::SessionStarted { native_id, .. } if native_id.0 == "s1")
    );
}

#[test]
fn a_call_is_told_again_when_its_input_is_known() {
    let events = in_session(&[
        &call(r#""title":"Terminal","kind":"execute","status":"pending","rawInput":{}"#),
        &more(r#""title":"echo hi","rawInput":{"command":"echo hi"}"#),
        &more(r#""rawInput":{"command":"echo hi","timeout":600000}"#),
        &more(r#""content":[{"type":"content","content":{"type":"text","text":"h"}}]"#),
        &more(r#""content":[{"type":"content","content":{"type":"text","text":"hi"}}]"#),
        &more(
            r#""status":"completed","content":[{"type":"content","content":{"type":"text","text":"hi"}}]"#,
        ),
    ]);
    let began: Vec<&str> = events
        .iter()
        .filter_map(|event| match event {
            EventKind::ItemStarted { item } => match &item.body {
                ItemBody::Tool(tool) => Some(tool.headline()),
                _ => None,
            },
            _ => None,
        })
        .collect();
    assert_eq!(began, ["Terminal", "echo hi"]);
    let shown: Vec<&str> = events
        .iter()
        .filter_map(|event| match event {
            EventKind::ItemDelta { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(shown, ["h", "i"], "each piece once");
    let [tool] = tools(&events).try_into().unwrap();
    assert_eq!((tool.timeout_ms, tool.output.as_deref()), (Some(600_000), Some("hi")));
}

#[test]
fn what_tools_are_given_and_how_they_end() {
    let done = |body: &str| more(&format!(r#""status":"completed"{body}"#));
    let argv = tool_of(&[
        call(
            r#""title":"x","kind":"execute","rawInput":{"command":["/bin/bash","-lc","echo hi"]}"#,
        ),
        done(r#","rawOutput":{"exit_code":3,"aggregated_output":"no\n"}"#),
    ]);
    assert_eq!(argv.headline(), "echo hi");
    // What one tells of a terminal of its own, beside the protocol.
    let streamed = tool_of(&[
        call(r#""title":"x","kind":"execute","rawInput":{"command":"make"}"#),
        more(r#""_meta":{"terminal_output_delta":{"data":"one\n","terminal_id":"t"}}"#),
        done(
            r#","_meta":{"terminal_output_delta":{"data":"two\n"},"terminal_exit":{"exit_code":2}}"#,
        ),
    ]);
    assert_eq!(streamed.output.as_deref(), Some("one\ntwo\n"));
    assert_eq!(streamed.outcome, Some(Outcome::Failure { exit_code: Some(2), message: None }));
    assert_eq!(argv.outcome, Some(Outcome::Failure { exit_code: Some(3), message: None }));
    let read = tool_of(&[
        call(r#""title":"Read a.rs","kind":"read","locations":[{"path":"/w/a.rs","line":3}]"#),
        done(""),
    ]);
    assert_eq!(read.input, ToolInput::Path { path: "/w/a.rs".into() });
    let edit = tool_of(&[
        call(r#""title":"Edit","kind":"edit","rawInput":{"file_path":"/w/a.rs"}"#),
        done(
            r#","content":[{"type":"diff","path":"/w/a.rs","oldText":"one\n","newText":"two\n"}]"#,
        ),
    ]);
    let diff = edit.diff.unwrap();
    assert!(diff.contains("-one\n+two\n") && diff.contains("/w/a.rs"), "{diff}");
    let failed = tool_of(&[
        call(r#""title":"Fetch","kind":"fetch","rawInput":{"url":"http://x"}"#),
        more(
            r#""status":"failed","content":[{"type":"content","content":{"type":"text","text":"no route"}}]"#,
        ),
    ]);
    let message = Some("no route".to_owned());
    assert_eq!(failed.outcome, Some(Outcome::Failure { exit_code: None, message }));
    assert_eq!(failed.input, ToolInput::Url { url: "http://x".into() });
    // A title is for people; nothing is run by it.
    let titled = tool_of(&[call(r#""title":"rm -rf /","kind":"execute""#), done("")]);
    assert_eq!(titled.input, ToolInput::Other { summary: "rm -rf /".into() });
    let named = tool_of(&[call(r#""title":"T","kind":"other","name":"mcp__x__y""#), done("")]);
    assert_eq!(named.name, "mcp__x__y");
    // The turn ended before the call did.
    let lost = tool_of(&[call(r#""title":"x","kind":"think""#), stop("cancelled")]);
    assert_eq!(lost.outcome, Some(Outcome::Unknown));
}

#[test]
fn questions_come_with_the_call_and_the_options() {
    let ask = r#"{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"c1","title":"rm -rf build","kind":"execute","rawInput":{"command":"rm -rf build"}},"options":[{"optionId":"yes","kind":"allow_once","name":"Yes"},{"optionId":"no","kind":"reject_once","name":"No"}]}}"#;
    let events = in_session(&[ask]);
    assert_eq!(names(&events), ["turn.started", "item.started", "approval.requested"]);
    let Some(EventKind::ApprovalRequested { id, call, what, options, tool, .. }) = events.last()
    else {
        panic!()
    };
    assert_eq!((id.as_str(), what.as_str()), ("7", "rm -rf build"));
    assert_eq!(call.as_ref().unwrap().0, "c1");
    assert_eq!(options, &["yes", "no"]);
    assert_eq!(tool.as_ref().unwrap().headline(), "rm -rf build");
    let ask =
        r#"{"jsonrpc":"2.0","id":"e","method":"elicitation/create","params":{"message":"which?"}}"#;
    let taken_back = r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"e"}}"#;
    let events = in_session(&[ask, taken_back]);
    assert_eq!(names(&events), ["approval.requested", "approval.resolved"]);
}

#[test]
fn everything_else_that_the_protocol_knows() {
    let silent = [
        update(r#"{"sessionUpdate":"available_commands_update","availableCommands":[]}"#),
        update(r#"{"sessionUpdate":"current_mode_update","currentModeId":"plan"}"#),
        update(r#"{"sessionUpdate":"config_option_update","configOptions":[]}"#),
        update(r#"{"sessionUpdate":"session_info_update","title":"t"}"#),
        update(r#"{"sessionUpdate":"usage_update","used":0,"size":2}"#),
        update(r#"{"sessionUpdate":"terminal_update","terminalId":"t"}"#),
        update(r#"{"sessionUpdate":"state_update","state":"requires_action"}"#),
        chunk("user_message_chunk", "what I said"),
        r#"{"jsonrpc":"2.0","method":"_auth/status_update","params":{}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":1,"method":"fs/read_text_file","params":{}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":2,"method":"terminal/create","params":{}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":3,"result":null}"#.to_owned(),
    ];
    for line in &silent {
        assert_eq!(names(&in_session(&[line])), Vec::<&str>::new(), "{line}");
    }
    let plan = update(
        r#"{"sessionUpdate":"plan","entries":[{"content":"a","priority":"high","status":"in_progress"},{"content":"b","status":"completed"}]}"#,
    );
    let events = in_session(&[&plan]);
    let [ItemBody::Plan { todos, .. }] = &bodies(&events)[..] else { panic!("{events:?}") };
    assert_eq!((todos[0].status, todos[1].text.as_str()), (TodoStatus::InProgress, "b"));
    let notice = update(r#"{"sessionUpdate":"notice","severity":"warning","message":"slow"}"#);
    let events = in_session(&[&notice]);
    assert!(
        matches!(bodies(&events)[..], [ItemBody::Notice { level: NoticeLevel::Warning, text }] if text == "slow")
    );
    let picture = update(
        r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"image","mimeType":"image/png","data":"AA=="}}"#,
    );
    assert_eq!(said(&in_session(&[&picture])), "[image: image/png]");
    let mode = chunk("agent_message_chunk", "[MODE_UPDATE] yolo");
    assert_eq!(names(&in_session(&[&mode])), ["item.completed"]);
    let strange = [
        r#"{"jsonrpc":"2.0","method":"session/dance","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":4,"method":"session/dance","params":{}}"#,
        r#"{"jsonrpc":"2.0"}"#,
        &update(r#"{"sessionUpdate":"dance"}"#),
    ];
    for line in strange {
        let events = in_session(&[line]);
        let why = Unrecognized::UnknownType;
        assert!(
            matches!(&events[..], [EventKind::Unrecognized { why: it, .. }] if *it == why),
            "{line}: {events:?}"
        );
    }
}

/// The events of lines that follow the beginning of a session, by name.
fn told(lines: &[&str]) -> Vec<&'static str> {
    names(&in_session(lines))
}

#[test]
fn drafts_of_the_protocol_are_read() {
    let plan = |plan: &str| update(&format!(r#"{{"sessionUpdate":"plan_update","plan":{plan}}}"#));
    let items =
        plan(r#"{"type":"items","planId":"p","entries":[{"content":"a","status":"pending"}]}"#);
    let events = in_session(&[&items]);
    let [ItemBody::Plan { todos, .. }] = &bodies(&events)[..] else { panic!("{events:?}") };
    assert_eq!((todos[0].status, todos[0].text.as_str()), (TodoStatus::Pending, "a"));
    let events = in_session(&[&plan(r##"{"type":"markdown","planId":"p","content":"# A"}"##)]);
    assert!(matches!(bodies(&events)[..], [ItemBody::Plan { text: Some(it), .. }] if it == "# A"));
    assert_eq!(told(&[&plan(r#"{"type":"song"}"#)]), ["unrecognized"]);
    let removed = update(r#"{"sessionUpdate":"plan_removed","planId":"p"}"#);
    assert_eq!(told(&[&removed]), ["item.completed"]);
    // Version 2: a message may come whole after its pieces, and the state ends the turn.
    let piece = update(
        r#"{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"text","text":"hay"}}"#,
    );
    let whole = |id: &str| {
        update(&format!(
            r#"{{"sessionUpdate":"agent_message","messageId":"{id}","content":[{{"type":"text","text":"hay"}}]}}"#
        ))
    };
    assert_eq!(said(&in_session(&[&piece, &whole("m")])), "hay");
    assert_eq!(said(&in_session(&[&piece, &whole("n")])), "hayhay");
    let idle = update(r#"{"sessionUpdate":"state_update","state":"idle","stopReason":"refusal"}"#);
    let events = in_session(&[&piece, &idle]);
    assert!(matches!(events.last(), Some(EventKind::TurnEnded { end: TurnEnd::Refused, .. })));
    let shown = update(
        r#"{"sessionUpdate":"tool_call_content_chunk","toolCallId":"c1","content":{"type":"content","content":{"type":"text","text":"out"}}}"#,
    );
    let call = call(r#""title":"x","kind":"think""#);
    assert_eq!(told(&[&call, &shown])[2..], ["item.delta"]);
}

#[test]
fn a_recording_that_begins_in_the_middle_of_a_session_is_news() {
    let events = decode(&[&chunk("agent_message_chunk", "hay"), &stop("end_turn")]);
    assert_eq!(names(&events)[..2], ["session.started", "turn.started"]);
    assert_eq!(said(&events), "hay");
    // What comes between an answer and the beginning of a session is its past.
    let events = decode(&[HELLO, &chunk("agent_message_chunk", "hay")]);
    assert_eq!(said(&events), "");
}

#[test]
fn a_search_in_the_web_is_a_search() {
    let search = |input: &str| {
        let call = call(&format!(r#""title":"Search","kind":"fetch","rawInput":{input}"#));
        tool_of(&[call, more(r#""status":"completed""#)]).input
    };
    let query = ToolInput::Query { query: "hay".into(), path: None };
    assert_eq!(search(r#"{"query":"hay"}"#), query);
    assert_eq!(search(r#"{"url":"http://x"}"#), ToolInput::Url { url: "http://x".into() });
}

#[test]
fn a_run_that_is_cut_has_the_usage_that_was_told() {
    let used = update(
        r#"{"sessionUpdate":"usage_update","used":900,"size":2000,"cost":{"amount":0.5,"currency":"USD"}}"#,
    );
    let expected = Tokens { input: 900, cost_usd: Some(0.5), ..Tokens::default() };
    let usage = Usage::Turn(expected);
    assert_eq!(in_session(&[&used]), [EventKind::UsageUpdated { usage }]);
}

#[test]
fn words_that_are_not_known_are_told_beside_the_call() {
    let events = in_session(&[&call(r#""title":"x","kind":"sing","status":"humming""#)]);
    let strange = |event: &&EventKind| {
        matches!(event, EventKind::Unrecognized { why: Unrecognized::UnknownValue, .. })
    };
    assert_eq!(events.iter().filter(strange).count(), 2, "{events:?}");
    assert!(names(&events).contains(&"item.started"));
}

#[test]
fn the_cost_of_a_session_is_shared_among_its_turns() {
    let cost = |amount: &str| {
        update(&format!(
            r#"{{"sessionUpdate":"usage_update","used":1,"size":2,"cost":{{"amount":{amount},"currency":"USD"}}}}"#
        ))
    };
    let second = stop("end_turn").replace("turn-1", "turn-2");
    // One that is answered twice has ended once.
    let lines = [&cost("0.5"), &stop("end_turn"), &stop("end_turn"), &cost("0.75"), &second];
    let events = in_session(&lines.map(String::as_str));
    let costs: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            EventKind::TurnEnded { usage: Some(usage), .. } => usage.tokens().cost_usd,
            _ => None,
        })
        .collect();
    assert_eq!(costs, [0.5, 0.25]);
}

fn hear(speaker: &mut AcpSpeaker, line: &str) -> Vec<Json> {
    let Scan::Object(object) = scan(line.as_bytes()) else { panic!("no object: {line}") };
    words(|out| speaker.heard(&object, out))
}

fn words(f: impl FnOnce(&mut Vec<u8>)) -> Vec<Json> {
    let mut out = Vec::new();
    f(&mut out);
    String::from_utf8(out).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect()
}

fn methods(said: &[Json]) -> Vec<&str> {
    said.iter().map(|line| line["method"].as_str().unwrap_or("-")).collect()
}

#[test]
fn each_word_waits_for_the_answer_to_the_one_before() {
    let mut speaker = AcpSpeaker::new(Opening {
        model: Some("hay-2".into()),
        access: Access::ReadOnly,
        login: Some("key".into()),
        cwd: Some("/w".into()),
        ..Opening::default()
    });
    assert_eq!(methods(&words(|out| speaker.open(out))), ["initialize"]);
    assert!(words(|out| speaker.prompt("hi", out)).is_empty());
    assert_eq!(methods(&hear(&mut speaker, HELLO)), ["authenticate"]);
    let next = hear(&mut speaker, r#"{"id":"stablehand-login","result":{}}"#);
    assert_eq!(methods(&next), ["session/new"]);
    assert_eq!(next[0]["params"], json!({ "cwd": "/w", "mcpServers": [] }));
    let session = r#"{"id":"stablehand-session","result":{"sessionId":"s1","modes":{"availableModes":[{"id":"default"},{"id":"plan"}]},"configOptions":[{"id":"m","category":"model"}]}}"#;
    let next = hear(&mut speaker, session);
    assert_eq!(methods(&next), ["session/set_config_option"]);
    assert_eq!(next[0]["params"], json!({ "sessionId": "s1", "configId": "m", "value": "hay-2" }));
    let next = hear(&mut speaker, r#"{"id":"stablehand-model","result":{}}"#);
    assert_eq!(methods(&next), ["session/set_mode"]);
    assert_eq!(next[0]["params"]["modeId"], "plan");
    // Another prompt waits for the end of the first.
    assert!(words(|out| speaker.prompt("and then", out)).is_empty());
    let next = hear(&mut speaker, r#"{"id":"stablehand-confine","result":{}}"#);
    assert_eq!(methods(&next), ["session/prompt"]);
    assert_eq!(next[0]["params"]["prompt"], json!([{ "type": "text", "text": "hi" }]));
    let next = hear(&mut speaker, &stop("end_turn"));
    assert_eq!(next[0]["params"]["prompt"][0]["text"], "and then");
}

#[test]
fn a_failure_that_comes_as_a_message_fails_the_turn() {
    let hello = r#"{"id":"stablehand-hello","result":{"agentInfo":{"name":"Copilot"}}}"#;
    let message = |text| chunk("agent_message_chunk", text);
    let (retry, error) = (message("Info: Retrying..."), message("Error: 401 no"));
    let stop = stop("end_turn");
    let events = decode(&[hello, SESSION, &retry, &error, &stop]);
    let failure = FailureKind::Auth;
    assert_eq!(ends(&events), [TurnEnd::Failed { failure, message: "401 no".to_owned() }]);
    assert_eq!(said(&events), "");
    // What comes after it shows that the program went on.
    let events = decode(&[hello, SESSION, &error, &message("Hay."), &stop]);
    assert_eq!((ends(&events), said(&events)), (vec![TurnEnd::Done], "Hay.".to_owned()));
    let events = decode(&[hello, SESSION, &error, &call(r#""status":"pending""#), &stop]);
    assert_eq!(ends(&events), [TurnEnd::Done]);
}

#[test]
fn a_mode_that_confines_is_needed_and_any_other_is_not() {
    let modes = r#""modes":{"availableModes":[{"id":"build"},{"id":"plan"},{"id":"yolo"}]}"#;
    let option = r#""configOptions":[{"id":"o","category":"mode","options":[{"value":"build"},{"value":"plan"}]}]"#;
    let copilot =
        r#""modes":{"availableModes":[{"id":"x#agent"},{"id":"x#plan"},{"id":"x#autopilot"}]}"#;
    let table = [
        (Access::Asked, modes, None),
        (Access::ReadOnly, modes, Some(("stablehand-confine", "session/set_mode", "plan"))),
        (
            Access::ReadOnly,
            option,
            Some(("stablehand-confine", "session/set_config_option", "plan")),
        ),
        (Access::ReadOnly, r#""x":1"#, Some(("stablehand-confine", "session/set_mode", "plan"))),
        (Access::Everything, modes, Some(("stablehand-mode", "session/set_mode", "yolo"))),
        (Access::Everything, option, None),
        (Access::Everything, copilot, None),
        (Access::ReadOnly, copilot, Some(("stablehand-confine", "session/set_mode", "x#plan"))),
        (Access::Workspace, modes, None),
    ];
    for (access, result, expected) in table {
        let mut speaker = AcpSpeaker::new(Opening { access, ..Opening::default() });
        speaker.prompt("hi", &mut Vec::new());
        let session =
            format!(r#"{{"id":"stablehand-session","result":{{"sessionId":"s1",{result}}}}}"#);
        let next = hear(&mut speaker, &session);
        let Some((id, method, mode)) = expected else {
            assert_eq!(methods(&next), ["session/prompt"], "{access:?} {result}");
            continue;
        };
        assert_eq!((&next[0]["id"], &next[0]["method"]), (&json!(id), &json!(method)));
        let said = [&next[0]["params"]["modeId"], &next[0]["params"]["value"]];
        assert!(said.contains(&&json!(mode)), "{next:?}");
        // A refusal is the end where the mode was to confine it.
        let refusal = format!(r#"{{"id":"{id}","error":{{"code":-32602,"message":"no"}}}}"#);
        let goes_on = !hear(&mut speaker, &refusal).is_empty();
        assert_eq!(goes_on, access != Access::ReadOnly, "{access:?} {result}");
        assert_eq!(ends(&in_session(&[&refusal])).len(), usize::from(!goes_on));
    }
}

#[test]
fn a_session_is_continued_by_the_way_that_the_agent_knows() {
    let resumes = r#"{"id":"stablehand-hello","result":{"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"resume":{}}}}}"#;
    for (hello, method) in [(HELLO, "session/load"), (resumes, "session/resume")] {
        let opening = Opening { resume: Some(SessionId("s9".into())), ..Opening::default() };
        let mut speaker = AcpSpeaker::new(opening);
        speaker.prompt("go on", &mut Vec::new());
        let next = hear(&mut speaker, hello);
        assert_eq!(methods(&next), [method]);
        assert_eq!(next[0]["params"]["sessionId"], "s9");
        let next = hear(&mut speaker, r#"{"id":"stablehand-continue-s9","result":null}"#);
        assert_eq!(next[0]["params"]["sessionId"], "s9");
        assert_eq!(methods(&next), ["session/prompt"]);
    }
}

#[test]
fn older_agents_are_told_their_model_in_the_older_way() {
    let mut speaker =
        AcpSpeaker::new(Opening { model: Some("flash".into()), ..Opening::default() });
    let session = r#"{"id":"stablehand-session","result":{"sessionId":"s1","models":{"currentModelId":"auto"}}}"#;
    let next = hear(&mut speaker, session);
    assert_eq!(methods(&next), ["session/set_model"]);
    assert_eq!(next[0]["params"]["modelId"], "flash");
}

fn in_turn() -> AcpSpeaker {
    let mut speaker = AcpSpeaker::new(Opening::default());
    hear(&mut speaker, SESSION);
    speaker.prompt("hi", &mut Vec::new());
    speaker
}

const ASK: &str = r#"{"id":7,"method":"session/request_permission","params":{"options":[{"optionId":"a","kind":"allow_once"},{"optionId":"b","kind":"allow_always"},{"optionId":"c","kind":"reject_once"}]}}"#;

#[test]
fn answers_are_options_of_the_kind_that_is_meant() {
    let deny = || Answer::Deny { message: "no".into() };
    let table = [
        (Answer::Allow, "a"),
        (Answer::AllowAlways, "b"),
        (deny(), "c"),
        (Answer::Choose("b".into()), "b"),
    ];
    for (answer, option) in table {
        let mut speaker = in_turn();
        hear(&mut speaker, ASK);
        assert!(speaker.is_open("7"));
        let said = words(|out| speaker.answer("7", &answer, out).unwrap());
        let outcome = json!({ "outcome": "selected", "optionId": option });
        assert_eq!(said, [json!({ "jsonrpc": "2.0", "id": 7, "result": { "outcome": outcome } })]);
        assert!(!speaker.is_open("7"));
    }
    let mut speaker = in_turn();
    hear(
        &mut speaker,
        r#"{"id":8,"method":"session/request_permission","params":{"options":[{"optionId":"b","kind":"allow_always"}]}}"#,
    );
    assert!(speaker.answer("8", &Answer::Allow, &mut Vec::new()).is_err(), "not for ever");
    assert!(speaker.answer("8", &Answer::Choose("x".into()), &mut Vec::new()).is_err());
    let said = words(|out| speaker.answer("8", &deny(), out).unwrap());
    assert_eq!(said[0]["result"]["outcome"]["outcome"], "cancelled");
}

#[test]
fn a_cancel_answers_what_is_open() {
    let mut speaker = in_turn();
    hear(&mut speaker, ASK);
    let said = words(|out| assert!(speaker.interrupt(out)));
    assert_eq!(methods(&said), ["session/cancel", "-"]);
    assert_eq!(said[1]["result"]["outcome"]["outcome"], "cancelled");
    assert!(!speaker.is_open("7"));
    hear(&mut speaker, &stop("cancelled"));
    assert!(!speaker.interrupt(&mut Vec::new()), "nothing is on");
    // One that comes before the session waits for it, so that the turn has an end.
    let mut speaker = AcpSpeaker::new(Opening::default());
    assert!(!speaker.interrupt(&mut Vec::new()), "nothing is wanted");
    speaker.prompt("hi", &mut Vec::new());
    assert!(words(|out| assert!(speaker.interrupt(out))).is_empty());
    assert_eq!(methods(&hear(&mut speaker, SESSION)), ["session/prompt", "session/cancel"]);
}

#[test]
fn what_is_done_for_an_agent_is_a_call_where_no_call_of_its_own_is_open() {
    let create = r#"{"id":4,"method":"terminal/create","params":{"sessionId":"s1","command":"make","args":["-k"]}}"#;
    let release = r#"{"id":5,"method":"terminal/release","params":{"sessionId":"s1","terminalId":"terminal-4"}}"#;
    let read =
        r#"{"id":6,"method":"fs/read_text_file","params":{"sessionId":"s1","path":"/w/a.rs"}}"#;
    let events = in_session(&[create, read, release, read]);
    let expected = ["turn.started", "item.started", "item.started", "item.completed"];
    assert_eq!(names(&events)[..4], expected);
    let tools: Vec<String> = bodies(&events)
        .iter()
        .filter_map(|body| match body {
            ItemBody::Tool(tool) => Some(tool.headline().to_owned()),
            _ => None,
        })
        .collect();
    assert_eq!(tools, ["/w/a.rs", "make -k", "/w/a.rs"]);
    // What a call tells of is not told twice.
    let call = update(
        r#"{"sessionUpdate":"tool_call","toolCallId":"c","title":"make","kind":"execute","rawInput":{"command":"make"}}"#,
    );
    let over =
        update(r#"{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed"}"#);
    let events = in_session(&[&call, create, read, release, &over]);
    assert_eq!(names(&events), ["turn.started", "item.started", "item.completed"]);
}

#[test]
fn what_was_not_offered_is_refused() {
    let mut speaker = in_turn();
    let said =
        hear(&mut speaker, r#"{"id":"x","method":"fs/read_text_file","params":{"path":"/w/x"}}"#);
    assert_eq!((&said[0]["id"], &said[0]["error"]["code"]), (&json!("x"), &json!(-32601)));
}

proptest! {
    #[test]
    fn nothing_makes_it_fail(bytes in any::<Vec<u8>>(), body in "[a-z_\":{},\\[\\]0-9 ]{0,200}") {
        decode_bytes::<AcpDecoder>(&bytes, Depth::Full);
        let line = update(&format!(r#"{{"sessionUpdate":"tool_call_update",{body}}}"#));
        decode_bytes::<AcpDecoder>(format!("{SESSION}\n{line}\n").as_bytes(), Depth::Full);
    }
}

#[test]
fn calls_of_two_sessions_are_two_even_with_one_id() {
    let call = |session: &str, command: &str| {
        format!(
            r#"{{"method":"session/update","params":{{"sessionId":"{session}","update":{{"sessionUpdate":"tool_call","toolCallId":"c1","kind":"execute","rawInput":{{"command":"{command}"}}}}}}}}"#
        )
    };
    let asks = r#"{"id":5,"method":"session/request_permission","params":{"sessionId":"s2","toolCall":{"toolCallId":"c1","kind":"execute","title":"x"},"options":[]}}"#;
    let harmless = call("s1", "ls");
    let events = decode(&[HELLO, SESSION, &harmless, asks]);
    let asked = events.iter().find_map(|event| match event {
        EventKind::ApprovalRequested { tool, .. } => tool.clone(),
        _ => None,
    });
    let input = asked.map(|tool| tool.input);
    assert!(matches!(input, Some(ToolInput::Other { .. })), "{input:?}");
}

#[test]
fn turns_of_several_sessions_are_one_until_the_last_ends() {
    let mut decoder = AcpDecoder::default();
    let mut out = Vec::new();
    let prompt = |id: u8| {
        format!(r#"{{"id":{id},"method":"session/prompt","params":{{"sessionId":"s{id}"}}}}"#)
    };
    for id in 1..=2 {
        if let Scan::Object(object) = scan(prompt(id).as_bytes()) {
            crate::decode::Decode::overhear(&mut decoder, &object);
        }
    }
    let mut ends = Vec::new();
    for id in 1..=2 {
        let text = format!(r#"{{"id":{id},"result":{{"stopReason":"end_turn"}}}}"#);
        let line = crate::line::Line {
            bytes: text.as_bytes(),
            offset: 0,
            part: crate::line::Part::Whole,
            newline: true,
        };
        crate::decode::Decode::line(
            &mut decoder,
            &line,
            &scan(text.as_bytes()),
            Depth::Full,
            &mut out,
        );
        let ended = |event: EventKind| matches!(event, EventKind::TurnEnded { .. });
        ends.push(out.drain(..).any(ended));
    }
    assert_eq!(ends, [false, true]);
}
