//! Editors that write `initialize` and their first requests in one go, without waiting for an answer.

use super::{demo, with_shims};
use serde_json::{Value, json};

fn hello(id: u64) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "initialize", "params": { "protocolVersion": 1 } })
}

#[test]
fn requests_behind_initialize_are_answered_in_their_order() {
    let env = with_shims();
    let place = json!({ "cwd": env.work(), "mcpServers": [] });
    let new = json!({ "jsonrpc": "2.0", "id": 2, "method": "session/new", "params": place });
    let list = json!({ "jsonrpc": "2.0", "id": 3, "method": "session/list", "params": {} });
    for _ in 0..20 {
        let mut running = demo(&env).stdin_open().start();
        running.type_line(&format!("{}\n{new}\n{list}", hello(1)));
        running.wait_for_stdout("\"sessionId\"");
        running.wait_for_stdout("\"sessions\"");
        running.close_stdin();
        let run = running.finish();
        run.assert_code(0);
        let first: Value = serde_json::from_str(run.stdout_text().lines().next().unwrap()).unwrap();
        assert_eq!((&first["id"], &first["result"]["protocolVersion"]), (&json!(1), &json!(1)));
        assert!(!run.stdout_text().contains("\"error\""), "{}", run.stdout_text());
    }
    env.assert_nobody_left();
}

#[test]
fn an_initialize_that_is_refused_holds_nothing_up() {
    let env = with_shims();
    let place = json!({ "cwd": env.work(), "mcpServers": [] });
    let new = json!({ "jsonrpc": "2.0", "id": 5, "method": "session/new", "params": place });
    let wrong = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {} });
    let no_id = json!({ "jsonrpc": "2.0", "id": {}, "method": "initialize", "params": {} });
    let mut running = demo(&env).stdin_open().start();
    running.type_line(&format!("{no_id}\n{wrong}\n{}\n{}\n{new}", hello(3), hello(4)));
    running.wait_for_stdout("\"sessionId\"");
    running.close_stdin();
    running.finish().assert_code(0);
}
