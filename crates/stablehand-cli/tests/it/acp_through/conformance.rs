//! Every message of the protocol, both ways: what each end gets is what the other sent, byte for byte,
//! and what our events make of it is a snapshot. The schema's own lists say whether one is missing.

use super::through;
use crate::support::{bins, secs};
use agent_client_protocol::v1::schema;
use proptest::prelude::*;
use serde_json::{Value, json};
use stablehand_core::event::{Event, Origin};
use stablehand_core::record::Record;
use stablehand_core::replay::EventReader;
use stablehand_core::{Depth, Dialect};
use stablehand_testkit::{LogFile, TestEnv};
use std::fmt::Write as _;

/// What a client says.
const CLIENT: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true,"writeTextFile":true},"terminal":true,"session":{"notices":{}}},"_meta":{"own":{"x":[1,2.50,1e3]}}}}"#,
    r#"{"jsonrpc":"2.0","id":"a","method":"authenticate","params":{"methodId":"key"}}"#,
    r#"{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/barn","mcpServers":[]}}"#,
    r#"{"jsonrpc":"2.0","id":3,"method":"session/load","params":{"sessionId":"s2","cwd":"/barn","mcpServers":[]}}"#,
    r#"{"jsonrpc":"2.0","id":4,"method":"session/list","params":{}}"#,
    r#"{"jsonrpc":"2.0","id":5,"method":"session/resume","params":{"sessionId":"s3","cwd":"/barn","mcpServers":[]}}"#,
    r#"{"jsonrpc":"2.0","id":6,"method":"session/set_mode","params":{"sessionId":"s1","modeId":"plan"}}"#,
    r#"{"jsonrpc":"2.0","id":7,"method":"session/set_config_option","params":{"sessionId":"s1","configId":"model","value":"hay-1"}}"#,
    r#"{"jsonrpc":"2.0","id":12345678901234567890123,"method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":"feed \u00e9 \ud83d\ude00 them"},{"type":"image","mimeType":"image/png","data":"aGF5"}]}}"#,
    r#"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s9"}}"#,
    r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":4}}"#,
    r#"{"jsonrpc":"2.0","id":8,"method":"session/close","params":{"sessionId":"s3"}}"#,
    r#"{"jsonrpc":"2.0","id":9,"method":"session/delete","params":{"sessionId":"s3"}}"#,
    r#"{"jsonrpc":"2.0","id":10,"method":"logout","params":{}}"#,
    r#"{"id":50,"jsonrpc":"2.0","result":{"outcome":{"outcome":"selected","optionId":"yes"}}}"#,
    r#"{"jsonrpc":"2.0","id":51,"error":{"code":-32002,"message":"no such file"}}"#,
    r#"  { "params" : { } , "method":"_own/thing" , "id" : -1 }  "#,
    r#"{"jsonrpc":"2.0","method":"unknown/notification"}"#,
    r#"[{"jsonrpc":"2.0","id":11,"method":"_a"},{"jsonrpc":"2.0","method":"_b"}]"#,
    r#"{"lone":"\ud800","same":1,"same":2,"big":1e999,"zero":-0.0}"#,
    "no JSON at all",
    "",
];

/// What an agent says, once there is a session.
const AGENT: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true},"agentInfo":{"name":"pony","version":"1.2"},"authMethods":[]}}"#,
    r#"{"jsonrpc":"2.0","id":"a","result":{}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s2","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"of the past"}}}}"#,
    r#"{"jsonrpc":"2.0","id":3,"result":{}}"#,
    r#"{"jsonrpc":"2.0","id":4,"result":{"sessions":[]}}"#,
    r#"{"jsonrpc":"2.0","id":5,"result":null}"#,
    r#"{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s1","modes":null}}"#,
    r#"{"jsonrpc":"2.0","id":6,"result":{}}"#,
    r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"no such model"}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"feed them"}}}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"oats or hay"}}}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Hay \u2014 \ud83d\udc34"}}}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"tool_call","toolCallId":"c1","title":"ls","kind":"execute","status":"pending","rawInput":{"command":"ls"}}}}"#,
    r#"{"jsonrpc":"2.0","id":50,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"c1"},"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"}]}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"hay"}}]}}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"plan","entries":[{"content":"feed","priority":"high","status":"pending"}]}}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"available_commands_update","availableCommands":[]}}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"current_mode_update","currentModeId":"plan"}}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"config_option_update","configOptions":[]}}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"session_info_update","title":"Ponies"}}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"usage_update","used":10,"size":100,"cost":{"amount":0.5,"currency":"USD"}}}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"notice","severity":"warning","title":"Rain"}}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"compaction_update","compactionId":"k1","status":"in_progress"}}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"compaction_summary_chunk","compactionId":"k1","content":{"type":"text","text":"fed"}}}}"#,
    r#"{"jsonrpc":"2.0","id":51,"method":"fs/read_text_file","params":{"sessionId":"s1","path":"/barn/hay.txt"}}"#,
    r#"{"jsonrpc":"2.0","id":52,"method":"fs/write_text_file","params":{"sessionId":"s1","path":"/barn/hay.txt","content":"hay"}}"#,
    r#"{"jsonrpc":"2.0","id":53,"method":"terminal/create","params":{"sessionId":"s1","command":"ls","args":["-l"]}}"#,
    r#"{"jsonrpc":"2.0","id":54,"method":"terminal/output","params":{"sessionId":"s1","terminalId":"t1"}}"#,
    r#"{"jsonrpc":"2.0","id":55,"method":"terminal/wait_for_exit","params":{"sessionId":"s1","terminalId":"t1"}}"#,
    r#"{"jsonrpc":"2.0","id":56,"method":"terminal/kill","params":{"sessionId":"s1","terminalId":"t1"}}"#,
    r#"{"jsonrpc":"2.0","id":57,"method":"terminal/release","params":{"sessionId":"s1","terminalId":"t1"}}"#,
    r#"{"jsonrpc":"2.0","id":58,"method":"elicitation/create","params":{"sessionId":"s1","mode":"form","message":"Which pony?","requestedSchema":{"type":"object","properties":{}}}}"#,
    r#"{"jsonrpc":"2.0","method":"elicitation/complete","params":{"elicitationId":"e1"}}"#,
    r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":58}}"#,
    r#"{"jsonrpc":"2.0","method":"_own/news","params":{"x":12345678901234567890,"y":1.50}}"#,
    r#"  { "method":"_own/question" , "id" : "\u0061" , "params":{} }  "#,
    r#"{"jsonrpc":"2.0","method":"unknown/notification"}"#,
    r#"[{"jsonrpc":"2.0","method":"session/update","params":{}}]"#,
    r#"{"lone":"\ud800","same":1,"same":2}"#,
    "Loaded cached credentials.",
    "",
    r#"{"jsonrpc":"2.0","id":12345678901234567890123,"result":{"stopReason":"end_turn","_meta":{"kept":true}}}"#,
];

/// Plays the lines between a client and an agent, through us; what each of them got.
fn play(client: &[u8], agent: &[u8]) -> (TestEnv, Vec<u8>, Vec<u8>) {
    let env = TestEnv::new(bins());
    std::fs::write(env.path("frames"), agent).unwrap();
    // It speaks when it has heard everything, so that the order is the same every time.
    let script =
        format!("cat > '{}'; cat '{}'", env.path("heard").display(), env.path("frames").display());
    std::fs::write(env.path("play.sh"), script).unwrap();
    let command = format!("sh '{}'", env.path("play.sh").display());
    let run = through(&env, &command).flag("--stop-grace", "20s").stdin(client).deadline(secs(60));
    let got = run.finish().stdout;
    let heard = std::fs::read(env.path("heard")).unwrap();
    (env, got, heard)
}

fn joined(lines: &[&str]) -> Vec<u8> {
    lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect()
}

fn methods(lines: &[&str]) -> Vec<String> {
    let messages = lines.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    messages.filter_map(|message| message["method"].as_str().map(str::to_owned)).collect()
}

fn names(table: impl serde::Serialize) -> Vec<String> {
    let table = serde_json::to_value(table).unwrap();
    let names = table.as_object().unwrap().values();
    names.map(|name| name.as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_table_has_every_method_of_the_schema() {
    let general = names(schema::PROTOCOL_LEVEL_METHOD_NAMES);
    let of_client = names(schema::AGENT_METHOD_NAMES);
    let of_agent = names(schema::CLIENT_METHOD_NAMES);
    for (lines, wanted) in [(CLIENT, of_client), (AGENT, of_agent)] {
        let there = methods(lines);
        for name in wanted.iter().chain(&general) {
            assert!(there.contains(name), "{name} is missing from the table");
        }
    }
    for line in AGENT
        .iter()
        .filter(|line| line.starts_with(r#"{"jsonrpc":"2.0","method":"session/update""#))
    {
        let message: Value = serde_json::from_str(line).unwrap();
        let update =
            serde_json::from_value::<schema::SessionNotification>(message["params"].clone());
        assert!(update.is_ok(), "{line}: {update:?}");
    }
}

#[test]
fn every_message_passes_as_it_is_and_means_the_same() {
    let (client, agent) = (joined(CLIENT), joined(AGENT));
    let (env, got, heard) = play(&client, &agent);
    assert_eq!(String::from_utf8_lossy(&got), String::from_utf8_lossy(&agent));
    assert_eq!(String::from_utf8_lossy(&heard), String::from_utf8_lossy(&client));
    let mut reader = EventReader::new(Dialect::Acp, Depth::Full);
    let mut events: Vec<Event> = Vec::new();
    let log = std::fs::read(&LogFile::paths_in(&env.log_dir())[0]).unwrap();
    for line in log.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        reader.record(&Record::read(line), &mut events);
    }
    let mut text = String::new();
    for event in events.iter().filter(|event| event.origin == Origin::Agent) {
        let _infallible = writeln!(text, "{}", json!(event.event));
    }
    insta::assert_snapshot!(text);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn any_bytes_pass(
        client in proptest::collection::vec(any::<u8>(), 0..4000),
        agent in proptest::collection::vec(any::<u8>(), 0..4000),
    ) {
        let (env, got, heard) = play(&client, &agent);
        prop_assert_eq!(got, agent);
        prop_assert_eq!(heard, client);
        drop(env);
    }
}
