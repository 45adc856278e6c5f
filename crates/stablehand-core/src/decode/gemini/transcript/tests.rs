//! What Gemini CLI's transcripts have that no recording shows: other versions, and what goes wrong.

use super::super::super::Dialect;
use super::super::super::transcript::testing::read;
use crate::event::{Outcome, TurnEnd};

/// Older versions wrote one document, and tools with a status while they ran.
#[test]
fn a_document_is_read() {
    let told = read(
        Dialect::Gemini,
        &[r#"{
          "sessionId": "g1", "projectHash": "x", "startTime": "2025-10-01T10:00:00.000Z",
          "summary": "Feeding the ponies",
          "messages": [
            {"id":"1","timestamp":"2025-10-01T10:00:01.000Z","type":"user","content":"feed them"},
            {"id":"2","timestamp":"2025-10-01T10:00:02.000Z","type":"gemini","content":"",
             "toolCalls":[
               {"id":"a","name":"run_shell_command","args":{"command":"echo fed"},"status":"success",
                "timestamp":"2025-10-01T10:00:03.000Z","resultDisplay":"fed",
                "result":[{"functionResponse":{"response":{"output":"Output: fed\nExit Code: 0"}}}]},
               {"id":"b","name":"write_file","args":{"file_path":"x"},"status":"cancelled"},
               {"id":"c","name":"read_file","args":{"file_path":"y"},"status":"executing"}],
             "model":"gemini-2.5-pro"},
            {"id":"3","timestamp":"2025-10-01T10:00:04.000Z","type":"gemini","content":"Fed.","tokens":{"input":9,"cached":4,"output":2,"thoughts":1}},
            {"id":"4","timestamp":"2025-10-01T10:00:05.000Z","type":"error","content":"[API Error: quota exceeded]"},
            {"id":"5","timestamp":"2025-10-01T10:00:06.000Z","type":"strange","content":"what?"}
          ]}"#],
    );
    assert_eq!(told.session(), [Some("g1"), Some("gemini-2.5-pro"), None, None]);
    assert_eq!(told.title.as_deref(), Some("Feeding the ponies"));
    assert_eq!(told.prompts(), ["feed them"]);
    assert_eq!(told.said(), "Fed.");
    let tools = told.tools();
    let outcomes: Vec<_> = tools.iter().map(|tool| tool.outcome.clone().unwrap()).collect();
    let cancelled = Outcome::Rejected { reason: "cancelled".to_owned() };
    // The last one was open when the turn failed.
    assert_eq!(outcomes, [Outcome::Success, cancelled, Outcome::Unknown]);
    assert_eq!(told.notices(), ["[API Error: quota exceeded]", "what?"]);
    assert!(matches!(told.ends()[..], [TurnEnd::Failed { .. }]));
}

#[test]
fn a_message_that_grows_is_told_as_it_grows() {
    let part = |calls: &str| {
        format!(
            r#"{{"id":"2","timestamp":"2026-01-01T10:00:02.000Z","type":"gemini","content":"Look.","thoughts":[{{"subject":"Hay","description":"or oats"}}]{calls}}}"#
        )
    };
    let running = r#","toolCalls":[{"id":"a","name":"read_file","args":{"file_path":"y"},"status":"executing"}]"#;
    let over = running.replace("executing", "success");
    let (first, then, last) = (part(""), part(running), part(&over));
    let told = read(
        Dialect::Gemini,
        &[r#"{"sessionId":"g2","kind":"subagent"}"#, &first, &then, &last, &last],
    );
    // What a sub-agent does belongs to the session whose folder it is in.
    assert_eq!(told.session()[0], Some("a-folder"));
    assert_eq!(told.said(), "Look.");
    assert_eq!(told.tools().len(), 1);
    let names = told.names();
    assert_eq!(names.iter().filter(|name| **name == "item.started").count(), 3, "{names:?}");
}

#[test]
fn the_folder_is_found_in_the_words_about_the_place() {
    for words in [
        "<session_context>\\n- **Workspace Directories:**\\n  - /home/rider/hay\\n",
        "This is the Gemini CLI. We are setting up.\\nI'm currently working in the directory: /home/rider/hay",
    ] {
        let context = format!(r#"{{"id":"1","type":"user","content":[{{"text":"{words}"}}]}}"#);
        let said = r#"{"id":"2","type":"user","content":"hello"}"#;
        let told = read(Dialect::Gemini, &[&context, said]);
        assert_eq!(told.session()[2], Some("/home/rider/hay"), "{words}");
        assert_eq!(told.prompts(), ["hello"]);
    }
}
