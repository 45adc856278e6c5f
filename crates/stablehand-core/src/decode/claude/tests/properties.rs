//! What must hold for any bytes: no panic, and skimming only leaves texts out.

use super::super::super::kit::testing::{
    assert_cuts_are_survived, assert_skim_is_full_without_texts,
};
use super::*;
use proptest::prelude::*;

fn word() -> impl Strategy<Value = String> {
    prop_oneof!["[a-b]{0,3}", Just("\\n\\\"é\\ud83d\\ude00".to_owned()), Just("\\ud800".to_owned())]
}

fn block() -> impl Strategy<Value = String> {
    let name =
        prop::sample::select(vec!["Bash", "Write", "TodoWrite", "ExitPlanMode", "mcp__a__b", "x"]);
    prop_oneof![
        3 => word().prop_map(|text| format!(r#"{{"type":"text","text":"{text}"}}"#)),
        1 => word().prop_map(|text| format!(r#"{{"type":"thinking","thinking":"{text}"}}"#)),
        2 => ("[a-c]", name, word()).prop_map(|(id, name, text)| format!(
            r#"{{"type":"tool_use","id":"{id}","name":"{name}","input":{{"command":"{text}","plan":"{text}","todos":[{{"content":"{text}"}}]}}}}"#
        )),
        2 => ("[a-c]", word(), any::<bool>()).prop_map(|(id, text, bad)| format!(
            r#"{{"type":"tool_result","tool_use_id":"{id}","content":"{text}","is_error":{bad}}}"#
        )),
        1 => word().prop_map(|text| format!("\"{text}\"")),
    ]
}

/// Lines of every known type, in no order, with shapes that hold and shapes that do not.
fn line() -> impl Strategy<Value = String> {
    let flags = prop::sample::select(vec![
        "",
        r#","aborted":true"#,
        r#","error":"unknown""#,
        r#","isReplay":true"#,
        r#","parent_tool_use_id":"a""#,
        r#","tool_use_result":{"interrupted":true,"filePath":"p","structuredPatch":[{"lines":["+a"]}]}"#,
        r#","tool_result_meta":[{"id":"a","non_execution_kind":"k","permission_decision":{"decision":"reject","source":"user"}}]"#,
    ]);
    let blocks = prop::collection::vec(block(), 0..3).prop_map(|blocks| blocks.join(","));
    let role = prop::sample::select(vec!["assistant", "user"]);
    let event = prop_oneof![
        4 => (0..3u8, word()).prop_map(|(index, text)| format!(
            r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"text_delta","text":"{text}"}}}}"#
        )),
        1 => (0..3u8, block()).prop_map(|(index, block)| format!(
            r#"{{"type":"content_block_start","index":{index},"content_block":{block}}}"#
        )),
        1 => Just(r#"{"type":"content_block_stop","index":0}"#.to_owned()),
        1 => Just(r#"{"type":"message_start"}"#.to_owned()),
        1 => Just(r#"{"type":"message_stop"}"#.to_owned()),
    ];
    let ask = ("[a-c]", word()).prop_map(|(id, text)| format!(
        r#"{{"type":"control_request","request_id":"{id}","request":{{"subtype":"can_use_tool","tool_name":"Bash","input":{{"command":"{text}"}},"tool_use_id":"{id}"}}}}"#
    ));
    let hook = word().prop_map(|text| format!(
        r#"{{"type":"control_request","request_id":"h","request":{{"subtype":"hook_callback","input":{{"x":"{text}"}}}}}}"#
    ));
    let end = (word(), any::<bool>()).prop_map(|(text, bad)| format!(
        r#"{{"is_error":{bad},"subtype":"success","result":"{text}","usage":{{"input_tokens":1}},"total_cost_usd":0.5,"type":"result"}}"#
    ));
    let system = (prop::sample::select(vec!["init", "status", "permission_denied", "new"]), word())
        .prop_map(|(subtype, text)| format!(
            r#"{{"type":"system","subtype":"{subtype}","message":"{text}","tool_use_id":"a","session_id":"{text}"}}"#
        ));
    prop_oneof![
        6 => (role, blocks, flags).prop_map(|(role, blocks, flags)| format!(
            r#"{{"type":"{role}","message":{{"id":"m","content":[{blocks}]}},"session_id":"s"{flags}}}"#
        )),
        5 => event.prop_map(|event| stream(&event)),
        1 => Just(RETRY.to_owned()),
        1 => ask,
        1 => hook,
        1 => end,
        1 => system,
        1 => "[ -~]{0,20}",
    ]
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        assert_skim_is_full_without_texts::<ClaudeDecoder>(&bytes);
    }

    #[test]
    fn any_lines_skim_as_they_decode(lines in prop::collection::vec(line(), 0..24)) {
        assert_skim_is_full_without_texts::<ClaudeDecoder>(lines.join("\n").as_bytes());
    }

    #[test]
    fn any_cut_of_a_line_is_survived(line in line(), at in 0usize..600, pad in 0usize..2000) {
        assert_cuts_are_survived::<ClaudeDecoder>(&line, at, pad);
    }

    #[test]
    fn every_item_is_completed_once(lines in prop::collection::vec(line(), 0..24)) {
        let mut open = std::collections::HashSet::new();
        for event in decode(&lines) {
            match event {
                EventKind::ItemStarted { item } => prop_assert!(open.insert(item.id)),
                EventKind::ItemDelta { id, .. } => prop_assert!(open.contains(&id)),
                EventKind::ItemCompleted { item } => {
                    let is_tool_or_text = !matches!(
                        item.body,
                        ItemBody::Notice { .. } | ItemBody::Plan { .. }
                    );
                    prop_assert_eq!(open.remove(&item.id), is_tool_or_text);
                }
                _ => {}
            }
        }
    }

    #[test]
    fn streamed_text_is_the_text(
        blocks in prop::collection::vec(prop::collection::vec("[a-b\n]{1,3}", 1..5), 1..5),
        late in any::<bool>(),
    ) {
        // Pieces of any size, each block repeated whole, early or late: never lost, never doubled.
        let mut lines = vec![start("1")];
        let mut wholes = Vec::new();
        for (index, pieces) in (0..).zip(&blocks) {
            lines.extend(pieces.iter().map(|text| piece(index, text)));
            let whole = whole("1", &pieces.concat());
            if late {
                wholes.push(whole);
            } else {
                lines.push(whole);
            }
            lines.push(stop(index));
        }
        lines.push(message_stop());
        lines.extend(wholes);
        let events = decode(&lines);
        let expected: Vec<String> = blocks.iter().map(|pieces| pieces.concat()).collect();
        prop_assert_eq!(messages(&events), expected.clone());
        prop_assert_eq!(said(&events, TextRole::Message), expected.concat());
    }
}
