//! `sessions show`: the transcript, the bytes, the events, the tools; and which log is meant.

use super::*;
use crate::support::{GOOD, PROMPT, agent_output, env, run};
use std::io::Read as _;

#[test]
fn a_transcript_begins_with_whose_it_is_and_ends_with_the_outcome() {
    let env = env(GOOD);
    let text = env.stablehand_run().args([PROMPT]).finish();
    text.assert_code(0);
    let shown = sessions(&env, &["show"]).finish();
    shown.assert_code(0);
    let told = shown.stdout_text();
    let session = env.log().one("session_started")["session_id"].as_str().unwrap().to_owned();
    assert!(told.starts_with("agent      cursor"), "{told}");
    for line in [&format!("session    {session}\n"), "began      20", "\n> feed the ponies\n"] {
        assert!(told.contains(line), "{line}: {told}");
    }
    assert!(told.contains(&text.stdout_text()), "{told}");
    let last = told.lines().last().unwrap();
    assert!(last.starts_with("ended      success, after "), "{last}");
}

#[test]
fn raw_is_what_the_agent_wrote() {
    let script = r"
        read-stdin
        init
        raw not json \xff\xfe bytes\r\n
        raw \n\n
        assistant Fed.
        giant 6000000
        result Fed.
        raw no newline
    ";
    let env = env(script);
    run(&env).finish();
    let shown = sessions(&env, &["show", "latest", "--raw"]).finish();
    shown.assert_code(0);
    assert!(shown.stdout == agent_output(script), "it differs");
    assert!(shown.stderr.is_empty(), "{}", shown.stderr);
}

#[test]
fn raw_of_a_redacted_log_says_so() {
    let env = env(GOOD);
    run(&env).args(["--redact-raw"]).finish().assert_code(0);
    let shown = sessions(&env, &["show", "--raw"]).finish();
    assert!(shown.stderr.contains("--redact-raw"), "{}", shown.stderr);
}

#[test]
fn events_are_those_of_the_run() {
    let env = env("
        init
        user feed the ponies
        shell c1 30s make
        shell-done c1 2 1s make
        stderr a warning
        assistant Fed.
        result Fed.
    ");
    let live = env.stablehand_run().args([PROMPT, "--output-format", "events"]).finish();
    live.assert_code(0);
    let shown = sessions(&env, &["show", "--events"]).finish();
    assert_eq!(shown.stdout_text(), live.stdout_text());
}

#[test]
fn tools_are_listed_with_what_became_of_them() {
    let env = env("
        init
        shell c1 30s make hay
        shell-done c1 0 1500ms make hay
        read r1 /srv/barn/none
        shell c2 30s false
        shell-done c2 1 20ms false
        assistant So it is.
        result done
    ");
    run(&env).finish().assert_code(0);
    let table = sessions(&env, &["show", "--tools"]).finish();
    table.assert_code(0);
    let text = table.stdout_text();
    let rows: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split("  ").filter(|cell| !cell.is_empty()).map(str::trim).collect())
        .collect();
    assert_eq!(rows[0], ["START", "TOOL", "WHAT", "TOOK", "OUTCOME"]);
    let behind: Vec<&[&str]> = rows[1..].iter().map(|row| &row[1..]).collect();
    assert_eq!(
        behind,
        [
            &["shellToolCall", "make hay", "1.5s", "ok"][..],
            &["readToolCall", "/srv/barn/none", "never ended"],
            &["shellToolCall", "false", "20ms", "exit 1"],
        ],
        "{text}"
    );
    let listed = sessions(&env, &["show", "--tools", "--json"]).finish();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let short =
        |index: usize| (listed[index]["call"].clone(), listed[index]["duration_ms"].clone());
    assert_eq!(short(0), (json!("c1"), json!(1500)));
    assert_eq!(listed[0]["input"], json!({ "kind": "command", "command": "make hay" }));
    assert_eq!(listed[1]["outcome"], Value::Null);
    assert_eq!(listed[2]["outcome"]["exit_code"], 1);
    sessions(&env, &["show", "--json"]).finish().assert_code(64);
    sessions(&env, &["show", "--raw", "--tools"]).finish().assert_code(64);
}

#[test]
fn an_id_may_be_given_by_its_beginning() {
    let env = place();
    let here = env.work();
    for (run, session, title) in [
        ("r-one", "pony-aa1", "first"),
        ("r-two", "pony-ab2", "second \u{1b}[31mred"),
        ("q-three", "mule-1", "third"),
    ] {
        Written::new("cursor")
            .spawned(run, "cursor", json!({}))
            .session(session, &here)
            .user(title)
            .ended("success")
            .save(&env, &format!("stablehand-20261003T022457.441Z-{session}.jsonl"));
    }
    let shows = |which: &str, title: &str| {
        let shown = sessions(&env, &["show", which]).finish();
        shown.assert_code(0);
        assert!(
            shown.stdout_text().contains(&format!("> {title}")),
            "{which}: {}",
            shown.stdout_text()
        );
    };
    shows("pony-aa1", "first");
    shows("pony-ab", "second");
    shows("mu", "third");
    shows("r-o", "first");
    shows("q", "third");
    let unsure = sessions(&env, &["show", "pony"]).finish();
    unsure.assert_code(1);
    for part in ["beginning of 2 ids", "pony-aa1", "pony-ab2", "second red", "give more of the id"]
    {
        assert!(unsure.stderr.contains(part), "{part}: {}", unsure.stderr);
    }
    let unsure = sessions(&env, &["show", "r-"]).finish();
    assert!(
        unsure.stderr.contains("r-one") && unsure.stderr.contains("r-two"),
        "{}",
        unsure.stderr
    );
    sessions(&env, &["show", ""]).finish().assert_code(1);
}

#[test]
fn secrets_are_taken_out_of_everything_but_the_bytes() {
    let env = place();
    let token = token();
    Written::new("cursor")
        .spawned("r1", "cursor", json!({}))
        .session("s1", &env.work())
        .user(&format!("use {token}"))
        .says(&format!("I have {token}."))
        .raw(&json!({ "type": "tool_call", "subtype": "started", "call_id": "c1", "tool_call":
            { "shellToolCall": { "args": { "command": format!("curl -H {token}") } } } }))
        .ended("success")
        .save(&env, "a.jsonl");
    let has = |words: &[&str]| {
        let shown = sessions(&env, words).finish();
        shown.assert_code(0);
        (shown.stdout_text() + &shown.stderr).contains(&token)
    };
    for words in [
        &["show"][..],
        &["show", "--events"],
        &["show", "--tools"],
        &["show", "--tools", "--json"],
        &["tail"],
        &["tail", "--output-format", "events"],
    ] {
        assert!(!has(words), "{words:?}");
    }
    for words in [
        &["show", "--raw"][..],
        &["show", "--no-redact"],
        &["show", "--events", "--no-redact"],
        &["tail", "--no-redact"],
    ] {
        assert!(has(words), "{words:?}");
    }
}

#[test]
fn torn_foreign_and_newer_lines_lose_nothing_else() {
    let env = place();
    let mut log = Written::new("cursor");
    log.spawned("r1", "cursor", json!({ "more": [1, 2] })).session("s1", &env.work());
    log.lines.push("not a record".to_owned());
    log.lines.push("[1]".to_owned());
    log.decision("from_the_future", json!({ "v": 99, "event": { "type": "unheard.of" } }));
    log.says("Still here.");
    let path = log.save(&env, "a.jsonl");
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend(b"{\"time\":\"2026-10-0");
    fs::write(&path, bytes).unwrap();
    for words in [
        &["show"][..],
        &["show", "--events"],
        &["tail"],
        &["export", "latest", "--format", "md"],
        &["export", "latest", "--format", "html"],
        &["export", "latest", "--format", "asciinema"],
    ] {
        let shown = sessions(&env, words).finish();
        shown.assert_code(0);
        assert!(shown.stdout_text().contains("Still here."), "{words:?}: {}", shown.stdout_text());
        let lines = if words[0] == "tail" { "2 lines are" } else { "3 lines are" };
        assert!(shown.stderr.contains(lines), "{words:?}: {}", shown.stderr);
    }
    let shown = sessions(&env, &["show"]).finish().stdout_text();
    assert!(shown.ends_with("no end is on record: it broke off\n"), "{shown}");
}

#[test]
fn the_end_of_a_text_that_broke_off_is_shown() {
    let env = place();
    let mut log = Written::new("cursor");
    log.spawned("r1", "cursor", json!({})).session("s1", &env.work());
    for piece in ["The answer ", "is ", "Qx7fortytwo"] {
        log.raw(&json!({ "type": "assistant", "timestamp_ms": 1, "message": { "role": "assistant",
                        "content": [{ "type": "text", "text": piece }] } }));
    }
    log.save(&env, "a.jsonl");
    for words in [&["show"][..], &["tail"], &["export", "latest", "--format", "md"]] {
        let shown = sessions(&env, words).finish().stdout_text();
        assert!(shown.contains("is Qx7fortytwo"), "{words:?}: {shown}");
    }
}

#[test]
fn a_reader_who_has_enough_is_no_error() {
    let env = place();
    let mut log = Written::new("cursor");
    log.spawned("r1", "cursor", json!({})).session("s1", &env.work());
    for _ in 0..4000 {
        log.says(&"hay ".repeat(40));
    }
    log.ended("success").save(&env, "a.jsonl");
    for words in [
        &["show"][..],
        &["show", "--raw"],
        &["show", "--events"],
        &["tail", "-n", "100000"],
        &["export", "latest", "--format", "html"],
        &["export", "latest", "--format", "asciinema"],
        &["export", "latest", "--format", "jsonl"],
    ] {
        let mut shown = sessions(&env, words).stdout_unread().start();
        let mut first = [0; 10];
        shown.take_stdout().read_exact(&mut first).unwrap();
        let ended = shown.finish();
        ended.assert_code(0);
        assert!(ended.stderr.is_empty(), "{words:?}: {}", ended.stderr);
    }
}
