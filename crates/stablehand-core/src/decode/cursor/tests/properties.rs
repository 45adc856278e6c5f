//! What must hold for any bytes: no panic, nothing unheard, and skimming only leaves texts out.

use super::super::super::kit::testing::{
    assert_cuts_are_survived, assert_skim_is_full_without_texts,
};
use super::*;
use proptest::prelude::*;

fn word() -> impl Strategy<Value = String> {
    prop_oneof!["[a-c]{0,3}", Just("\\n\\\"é\\ud83d\\ude00".to_owned()), Just("\\ud800".to_owned()),]
}

fn result() -> impl Strategy<Value = String> {
    let variant = prop::sample::select(vec![
        "success",
        "failure",
        "timeout",
        "rejected",
        "spawnError",
        "permissionDenied",
        "error",
        "fileNotFound",
        "stillRunning",
        "odd",
    ]);
    (variant, word(), -2i32..3, any::<bool>()).prop_map(|(variant, text, code, flag)| {
        format!(
            r#"{{"{variant}":{{"exitCode":{code},"stdout":"{text}","error":"{text}","aborted":{flag},"executionTime":"{code}"}},"isBackground":{flag}}}"#
        )
    })
}

/// Lines of every known type, in no order, with shapes that hold and shapes that do not.
fn line() -> impl Strategy<Value = String> {
    let name = prop::sample::select(table::TABLE.iter().map(|row| row.name).collect::<Vec<_>>());
    let call = ("[a-d]", name, word(), result(), 0..4u8).prop_map(|(id, name, text, result, form)| {
        let args = format!(
            r#""args":{{"command":"{text}","path":"{text}","todos":[{{"content":"{text}"}}],"timeout":"5","toolCallId":"x"}}"#
        );
        let (subtype, body) = match form {
            0 => ("started", args),
            1 => ("completed", format!("{args},\"result\":{result}")),
            2 => ("completed", format!("\"result\":{result}")),
            _ => ("started", String::new()),
        };
        format!(
            r#"{{"type":"tool_call","subtype":"{subtype}","call_id":"{id}","tool_call":{{"toolCallId":"{id}","{name}":{{{body}}},"startedAtMs":"5","completedAtMs":"9"}},"model_call_id":"m","session_id":"s"}}"#
        )
    });
    prop_oneof![
        3 => (word(), 0..3u8).prop_map(|(text, form)| {
            let rest = match form {
                0 => r#","timestamp_ms":1"#,
                1 => r#","timestamp_ms":1,"model_call_id":"m""#,
                _ => "",
            };
            format!(r#"{{"type":"assistant","message":{{"content":[{{"type":"text","text":"{text}"}}]}},"session_id":"s"{rest}}}"#)
        }),
        2 => word().prop_map(|text| format!(r#"{{"type":"thinking","subtype":"delta","text":"{text}","session_id":"s"}}"#)),
        1 => Just(r#"{"type":"thinking","subtype":"completed","session_id":"t"}"#.to_owned()),
        3 => call,
        1 => Just(RETRY.to_owned()),
        1 => word().prop_map(|text| format!(r#"{{"type":"user","message":{{"content":"{text}"}}}}"#)),
        1 => (word(), any::<bool>()).prop_map(|(text, bad)| format!(r#"{{"type":"result","subtype":"success","is_error":{bad},"result":"{text}","usage":{{"inputTokens":"1"}}}}"#)),
        1 => word().prop_map(|text| format!(r#"{{"type":"interaction_query","subtype":"request","query":{{"id":1,"createPlanRequestQuery":{{"args":{{"plan":"{text}"}}}}}}}}"#)),
        1 => word().prop_map(|text| format!(r#"{{"type":"{text}","payload":{{"type":"error","message":"{text}"}}}}"#)),
        1 => "[ -~]{0,20}",
    ]
}

/// Types of which some lines say nothing new: the end of reasoning that never began, a repetition.
fn may_be_silent(kind: &str) -> bool {
    matches!(kind, "thinking/delta" | "thinking/completed" | "assistant" | "text" | "system/init")
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        assert_skim_is_full_without_texts::<CursorDecoder>(&bytes);
    }

    #[test]
    fn any_lines_skim_as_they_decode(lines in prop::collection::vec(line(), 0..24)) {
        assert_skim_is_full_without_texts::<CursorDecoder>(lines.join("\n").as_bytes());
    }

    #[test]
    fn any_cut_of_a_line_is_survived(line in line(), at in 0usize..600, pad in 0usize..2000) {
        assert_cuts_are_survived::<CursorDecoder>(&line, at, pad);
    }

    #[test]
    fn no_line_goes_unheard(lines in prop::collection::vec(line(), 1..24)) {
        let mut decoder = CursorDecoder::default();
        for text in &lines {
            let line = Line { bytes: text.as_bytes(), offset: 0, part: Part::Whole, newline: true };
            let mut out = Vec::new();
            decoder.line(&line, &json::scan(line.bytes), Depth::Full, &mut out);
            let heard = !out.is_empty() || text.trim().is_empty() || may_be_silent(decoder.last_type());
            prop_assert!(heard, "{}", text);
        }
    }

    #[test]
    fn streamed_text_is_the_text(parts in prop::collection::vec("[a-b\n]{1,3}", 1..12), cuts in prop::collection::vec(0..3u8, 12)) {
        // Pieces, flushed at any point in either form: never lost, never doubled.
        let mut lines = Vec::new();
        let mut since = String::new();
        for (part, cut) in parts.iter().zip(&cuts) {
            lines.push(piece(part));
            since.push_str(part);
            if *cut > 0 {
                lines.push(if *cut == 1 { flush(&since) } else { last(&since) });
                since.clear();
            }
        }
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        prop_assert_eq!(said(&decode(&lines)), parts.concat());
    }
}
