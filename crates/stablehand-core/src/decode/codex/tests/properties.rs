//! What must hold for any bytes: no panic, and skimming only leaves texts out.

use super::super::super::kit::testing::{
    assert_cuts_are_survived, assert_skim_is_full_without_texts,
};
use super::*;
use proptest::prelude::*;

fn word() -> impl Strategy<Value = String> {
    prop_oneof!["[a-c]{0,3}", Just("\\n\\\"é\\ud83d\\ude00".to_owned()), Just("\\ud800".to_owned())]
}

fn item() -> impl Strategy<Value = String> {
    let kind = prop::sample::select(vec![
        "agent_message",
        "agentMessage",
        "reasoning",
        "userMessage",
        "plan",
        "todo_list",
        "error",
        "command_execution",
        "fileChange",
        "mcp_tool_call",
        "dynamicToolCall",
        "collab_tool_call",
        "web_search",
        "imageView",
        "imageGeneration",
        "sleep",
        "exitedReviewMode",
        "contextCompaction",
        "odd",
    ]);
    let status =
        prop::sample::select(vec!["in_progress", "completed", "failed", "declined", "odd"]);
    (kind, status, "[a-d]", word(), -1i32..3, any::<bool>()).prop_map(
        |(kind, status, id, text, code, flag)| {
            let head = format!(r#""id":"{id}","type":"{kind}","text":"{text}""#);
            if flag {
                return format!("{{{head}}}");
            }
            format!(
                r#"{{{head},"message":"{text}","command":"bash -lc '{text}'","aggregatedOutput":"{text}","exit_code":{code},"status":"{status}","changes":[{{"path":"{text}","kind":"add","diff":"{text}"}},{{"path":"b","kind":{{"type":"update"}},"diff":"{text}"}}],"server":"{text}","tool":"{text}","arguments":{{"a":"{text}"}},"result":{{"content":[{{"text":"{text}"}}]}},"summary":["{text}","{text}"],"content":[{{"text":"{text}"}}],"items":[{{"text":"{text}","completed":true}}],"query":"{text}","durationMs":5}}"#
            )
        },
    )
}

/// Lines of every known type of either protocol, in no order, with shapes that hold or do not.
fn line() -> impl Strategy<Value = String> {
    let phase = || prop::sample::select(vec!["started", "updated", "completed"]);
    let delta = prop::sample::select(vec![
        "item/agentMessage/delta",
        "item/reasoning/summaryTextDelta",
        "item/commandExecution/outputDelta",
    ]);
    let thread = || prop::sample::select(vec!["t", "sub"]);
    prop_oneof![
        4 => (phase(), item()).prop_map(|(phase, item)| format!(r#"{{"type":"item.{phase}","item":{item}}}"#)),
        4 => (phase(), item(), thread()).prop_map(|(phase, item, thread)| format!(
            r#"{{"method":"item/{phase}","params":{{"item":{item},"threadId":"{thread}"}}}}"#)),
        3 => (delta, "[a-d]", word(), 0..2u8).prop_map(|(method, id, text, part)| format!(
            r#"{{"method":"{method}","params":{{"threadId":"t","itemId":"{id}","delta":"{text}","summaryIndex":{part}}}}}"#)),
        1 => Just(r#"{"type":"thread.started","thread_id":"t"}"#.to_owned()),
        1 => Just(r#"{"id":2,"result":{"thread":{"id":"t"},"model":"m","approvalPolicy":"never"}}"#.to_owned()),
        1 => Just(r#"{"type":"turn.started"}"#.to_owned()),
        1 => thread().prop_map(|thread| format!(r#"{{"method":"turn/started","params":{{"threadId":"{thread}"}}}}"#)),
        1 => word().prop_map(|text| format!(r#"{{"type":"turn.failed","error":{{"message":"{text}"}}}}"#)),
        1 => word().prop_map(|text| format!(r#"{{"type":"error","message":"Reconnecting... {text}"}}"#)),
        1 => Just(r#"{"type":"turn.completed","usage":{"input_tokens":1}}"#.to_owned()),
        1 => (word(), thread()).prop_map(|(text, thread)| format!(
            r#"{{"method":"turn/completed","params":{{"threadId":"{thread}","turn":{{"status":"{text}","items":[{{"type":"agentMessage","text":"{text}"}}]}}}}}}"#)),
        1 => word().prop_map(|text| format!(
            r#"{{"method":"item/fileChange/requestApproval","id":1,"params":{{"itemId":"a","reason":"{text}"}}}}"#)),
        1 => "[ -~]{0,20}",
    ]
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        assert_skim_is_full_without_texts::<CodexDecoder>(&bytes);
        assert_skim_is_full_without_texts::<CodexAppDecoder>(&bytes);
    }

    #[test]
    fn any_lines_skim_as_they_decode(lines in prop::collection::vec(line(), 0..24)) {
        let bytes = lines.join("\n");
        assert_skim_is_full_without_texts::<CodexDecoder>(bytes.as_bytes());
        assert_skim_is_full_without_texts::<CodexAppDecoder>(bytes.as_bytes());
    }

    #[test]
    fn any_cut_of_a_line_is_survived(line in line(), at in 0usize..900, pad in 0usize..2000) {
        assert_cuts_are_survived::<CodexDecoder>(&line, at, pad);
        assert_cuts_are_survived::<CodexAppDecoder>(&line, at, pad);
    }

    #[test]
    fn calls_that_began_have_ended_with_the_turn(lines in prop::collection::vec(line(), 0..24)) {
        let ended = |end: &str| lines.join("\n") + "\n" + end + "\n";
        let exec = ended(r#"{"type":"turn.completed"}"#);
        let app = ended(r#"{"method":"turn/completed","params":{"turn":{"status":"completed"}}}"#);
        for events in [
            decode_bytes::<CodexDecoder>(exec.as_bytes(), Depth::Skim),
            decode_bytes::<CodexAppDecoder>(app.as_bytes(), Depth::Skim),
        ] {
            let mut open = std::collections::HashSet::new();
            for event in &events {
                match event {
                    EventKind::ItemStarted { item } => { open.insert(item.id); }
                    EventKind::ItemCompleted { item } => { open.remove(&item.id); }
                    _ => {}
                }
            }
            prop_assert!(open.is_empty());
        }
    }
}
