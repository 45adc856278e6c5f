//! What must hold for any bytes: no panic, and skimming only leaves texts out.

use super::*;
use proptest::prelude::*;

/// A value without the texts that skimming leaves out.
fn without_texts(mut events: Vec<EventKind>) -> Vec<EventKind> {
    for event in &mut events {
        match event {
            EventKind::TurnStarted { prompt } => *prompt = None,
            EventKind::TurnEnded { text, .. } => *text = None,
            EventKind::ItemDelta { text, .. } => text.clear(),
            EventKind::ItemStarted { item } | EventKind::ItemCompleted { item } => {
                match &mut item.body {
                    ItemBody::Message { text } | ItemBody::Reasoning { text } => text.clear(),
                    ItemBody::Plan { text, .. } => *text = None,
                    ItemBody::FileChange { diff, .. } => *diff = None,
                    ItemBody::Tool(tool) => {
                        tool.output = None;
                        tool.diff = None;
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
    events
}

fn decoders() -> [fn() -> Box<dyn Decode>; 2] {
    [|| Box::new(CodexDecoder::default()), || Box::new(CodexAppDecoder::default())]
}

fn assert_skim_is_full_without_texts(bytes: &[u8]) {
    for decoder in decoders() {
        let full = without_texts(decode_bytes(&mut *decoder(), bytes, Depth::Full));
        let skim = decode_bytes(&mut *decoder(), bytes, Depth::Skim);
        assert_eq!(skim, full);
    }
}

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
        assert_skim_is_full_without_texts(&bytes);
    }

    #[test]
    fn any_lines_skim_as_they_decode(lines in prop::collection::vec(line(), 0..24)) {
        assert_skim_is_full_without_texts(lines.join("\n").as_bytes());
    }

    #[test]
    fn any_cut_of_a_line_is_survived(line in line(), at in 0usize..900, pad in 0usize..2000) {
        // Cut as the end of the stream, and as the first part of a line that is too long.
        let cut = line.as_bytes().get(..at.min(line.len())).unwrap();
        assert_skim_is_full_without_texts(cut);
        for decoder in decoders() {
            for part in [Part::First, Part::Middle, Part::Last] {
                let head = Line { bytes: cut, offset: 0, part, newline: false };
                let mut full = Vec::new();
                decoder().line(&head, &Scan::Text, Depth::Full, &mut full);
                let mut skim = Vec::new();
                decoder().line(&head, &Scan::Text, Depth::Skim, &mut skim);
                prop_assert_eq!(without_texts(full), skim);
            }
        }
        let long = line.replacen("\"text\":\"", &format!("\"text\":\"{}", "x".repeat(pad * 64)), 1);
        assert_skim_is_full_without_texts(long.as_bytes());
    }

    #[test]
    fn calls_that_began_have_ended_with_the_turn(lines in prop::collection::vec(line(), 0..24)) {
        for (decoder, end) in decoders().into_iter().zip([
            r#"{"type":"turn.completed"}"#,
            r#"{"method":"turn/completed","params":{"turn":{"status":"completed"}}}"#,
        ]) {
            let bytes = lines.join("\n") + "\n" + end + "\n";
            let events = decode_bytes(&mut *decoder(), bytes.as_bytes(), Depth::Skim);
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
