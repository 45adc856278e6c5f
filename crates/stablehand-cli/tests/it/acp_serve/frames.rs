//! Frames that cannot be read for certain: each is an error of its own, and the session goes on.

use super::{Editor, demo, with_shims};
use serde_json::json;
use stablehand_testkit::TestEnv;

#[test]
fn a_frame_that_cannot_be_read_is_an_error_and_the_session_goes_on() {
    let env: TestEnv = with_shims();
    let mut editor = Editor::open(demo(&env), &env);
    let session = editor.new_session();
    let frames: [&[u8]; 6] = [
        b"{\"jsonrpc\":\"2.0\",\"id\":90,\"method\":\"session/list\",\"params\":{\"cursor\":\"\xff\"}}",
        b"\xff\xfe",
        b"{\"jsonrpc\":\"2.0\",\"id\":91,\"method\":\"session/list\",\"method\":\"session/new\",\"params\":{}}",
        b"{\"jsonrpc\":\"2.0\",\"id\":92,\"id\":93,\"method\":\"session/list\",\"params\":{}}",
        b"{\"jsonrpc\":\"2.0\",\"id\":94,\"method\":\"session/prompt\",\"params\":[]}",
        b"{\"jsonrpc\":\"2.0\",\"id\":95,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"x\",\"prompt\":\"a text\"}}",
    ];
    for (count, frame) in (1..).zip(frames) {
        editor.send_bytes(frame);
        let shown = String::from_utf8_lossy(frame);
        let errors = |editor: &Editor<'_>| {
            editor.frames().iter().filter(|frame| frame.get("error").is_some()).count()
        };
        editor.wait(&shown, |_| errors(&editor) >= count);
    }
    let listed = editor.ask("session/list", json!({}));
    assert!(listed["result"]["sessions"].is_array(), "{listed}");
    assert_ne!(editor.new_session(), session);
}
