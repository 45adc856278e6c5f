//! What the demo agent can play.

use super::{Stage, pause};
use serde_json::json;
use std::io::{self, Write};

/// One scene.
pub(super) type Play = fn(&mut Stage) -> io::Result<u8>;

/// A scene and the words that ask for it.
pub(super) struct Scene {
    pub(super) words: &'static [&'static str],
    pub(super) play: Play,
}

/// In the order in which the prompt is searched; without any of the words, the tour is played.
pub(super) const SCENES: &[Scene] = &[
    Scene { words: &["hang"], play: hang },
    Scene { words: &["linger", "never exit"], play: linger },
    Scene { words: &["long"], play: long_tool },
    Scene { words: &["approv", "ask me"], play: approval },
    Scene { words: &["edit"], play: edit },
    Scene { words: &["orphan", "background"], play: orphan },
    Scene { words: &["error"], play: error },
    Scene { words: &["crash"], play: crash },
];

/// A little of everything, in about four seconds.
pub(super) fn tour(stage: &mut Stage) -> io::Result<u8> {
    stage.think("A look around should do: what is here, and what time is it?")?;
    if stage.is_resumed() {
        stage.say("Welcome back; I remember this session.\n")?;
    }
    stage.say("I will look at the folder first.\n")?;
    stage.shell("ls | head -5", 30_000)?;
    stage.tool(
        "readToolCall",
        &json!({ "path": "README.md" }),
        json!({ "success": { "content": "# A project\n", "isEmpty": false, "totalLines": 1 } }),
        300,
    )?;
    stage.shell("sleep 1; date -u", 30_000)?;
    stage.say("All is well. I am only a demo: try the words hang, long, edit, orphan, error, crash, linger or approval.\n")?;
    stage.result(false)
}

/// A tool that takes its time, within what it declared.
fn long_tool(stage: &mut Stage) -> io::Result<u8> {
    stage.say("This takes a while; a good supervisor waits for it.\n")?;
    stage.shell("sleep 20", 60_000)?;
    stage.say("Done.\n")?;
    stage.result(false)
}

/// Silence without end, in the middle of a thought.
fn hang(stage: &mut Stage) -> io::Result<u8> {
    stage.think("Let me see. First")?;
    loop {
        pause(60_000);
    }
}

/// The answer is complete, but the process stays.
fn linger(stage: &mut Stage) -> io::Result<u8> {
    stage.say("Here is your answer. I shall stay a little.\n")?;
    stage.result(false)?;
    loop {
        pause(60_000);
    }
}

/// A question that the agent asks and answers itself, as Cursor does without a terminal.
fn approval(stage: &mut Stage) -> io::Result<u8> {
    stage.say("I would like to fetch a page.\n")?;
    stage.emit(json!({
        "type": "interaction_query", "subtype": "request", "query_type": "webFetchRequestQuery",
        "query": { "id": 1, "webFetchRequestQuery": { "args": { "url": "https://example.com" }, "skipApproval": false } },
    }))?;
    stage.emit(json!({
        "type": "interaction_query", "subtype": "response", "query_type": "webFetchRequestQuery",
        "response": { "id": 1, "webFetchRequestResponse": { "rejected": { "reason": "nobody is here to approve" } } },
    }))?;
    stage.tool(
        "webFetchToolCall",
        &json!({ "url": "https://example.com" }),
        json!({ "rejected": { "reason": "nobody is here to approve" } }),
        50,
    )?;
    stage.say("I was not allowed to; so be it.\n")?;
    stage.result(false)
}

/// A file is made and changed, with diffs. Only told, nothing is written.
fn edit(stage: &mut Stage) -> io::Result<u8> {
    stage.say("I will write a greeting.\n")?;
    let diff = "--- /dev/null\n+++ b/hello.txt\n@@ -0,0 +1 @@\n+Hello, world!";
    stage.tool(
        "editToolCall",
        &json!({ "path": "hello.txt", "streamContent": "Hello, world!\n" }),
        json!({ "success": {
            "path": "hello.txt", "linesAdded": 1, "linesRemoved": 0, "diffString": diff,
            "afterFullFileContent": "Hello, world!\n", "message": "Wrote contents to hello.txt",
        } }),
        400,
    )?;
    stage.say("The greeting stands in hello.txt (not really, this is a demo).\n")?;
    stage.result(false)
}

/// A process of its own session that would outlive the agent, if nobody took care.
fn orphan(stage: &mut Stage) -> io::Result<u8> {
    stage.say("I leave a server running.\n")?;
    stage.shell("setsid sleep 300 >/dev/null 2>&1 & echo started", 30_000)?;
    stage.result(false)
}

/// The agent itself reports a failure.
fn error(stage: &mut Stage) -> io::Result<u8> {
    stage.say("This will not work.\n")?;
    stage.result(true)
}

/// It breaks off, in the middle of a tool and of a line.
fn crash(stage: &mut Stage) -> io::Result<u8> {
    stage.open_shell("make all", 30_000)?;
    let mut err = io::stderr().lock();
    writeln!(err, "T: [internal] Failed to run step, exceeded max retries")?;
    let mut out = io::stdout().lock();
    write!(out, "{{\"type\":\"assistant\",\"mess")?;
    out.flush()?;
    Ok(3)
}
