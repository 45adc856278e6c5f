//! Sessions that were imported from agents' own transcripts: shown and exported like others.

use super::*;
use crate::approvals::{Terminal, can_seat};
use crate::support::secs;

/// A session of Claude Code's, with everything in it that must not get out.
const PONY: &str = "a6647231-3fac-4bfa-a021-1810444d17fc";

/// A session and an agent that worked for it.
const FOAL: &str = "2cf30200-bbb4-4156-b6da-a4cb68ae6b61";

fn recording(scene: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/transcripts/claude");
    fs::read_to_string(folder.join(format!("{scene}.jsonl"))).unwrap()
}

/// A home in which Claude Code has been, and its folder of transcripts.
fn lived_in() -> (TestEnv, PathBuf) {
    let env = place();
    let folder = env.home().join(".claude/projects/-home-rider-stable");
    fs::create_dir_all(folder.join(FOAL).join("subagents")).unwrap();
    // A terminal's sequences, a tag and a token in what the agent said.
    let hostile = format!(r"\u001b[31m<script>alert(1)</script> {}", token());
    let said = recording("shell").replace("The tools are done.", &hostile);
    fs::write(folder.join(format!("{PONY}.jsonl")), said).unwrap();
    fs::write(folder.join(format!("{FOAL}.jsonl")), recording("delegate")).unwrap();
    let below = folder.join(FOAL).join("subagents/agent-1.jsonl");
    fs::write(below, recording("sub-agent")).unwrap();
    sessions(&env, &["import", "claude"]).finish().assert_code(0);
    (env, folder)
}

fn text(env: &TestEnv, words: &[&str]) -> String {
    let done = sessions(env, words).finish();
    done.assert_code(0);
    done.stdout_text()
}

#[test]
fn it_is_shown_like_a_log() {
    let (env, folder) = lived_in();
    let shown = text(&env, &["show", "a664"]);
    let file = folder.join(format!("{PONY}.jsonl"));
    for part in [
        PONY,
        "/home/rider/stable",
        &format!("imported   {}", file.display()),
        "> Run it.\nI run a command.\n⏳ `echo neigh; echo whinny >&2`\n",
        "<script>alert(1)</script> ",
        "ended      success",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains('\u{1b}') && !shown.contains(&token()), "{shown}");
    assert!(text(&env, &["show", PONY, "--no-redact"]).contains(&token()));
    assert!(text(&env, &["show", PONY, "--tools"]).contains("echo neigh"));
    let tools = text(&env, &["show", PONY, "--tools", "--json"]);
    let tools: Value = serde_json::from_str(&tools).unwrap();
    assert_eq!((&tools[0]["tool"], &tools[0]["run"]), (&json!("Bash"), &json!(PONY)), "{tools}");

    let events = text(&env, &["show", PONY, "--events"]);
    assert!(!events.contains(&token()));
    let events: Vec<Value> =
        events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (number, event) in (1..).zip(&events) {
        let stamp = (&event["seq"], &event["session"], &event["origin"]);
        assert_eq!(stamp, (&json!(number), &json!(PONY), &json!("agent")), "{event}");
    }
    let kinds = [&events[0], &events[events.len() - 1]].map(|it| it["event"]["type"].clone());
    assert_eq!(kinds, ["session.started", "turn.ended"]);
}

#[test]
fn it_is_exported_like_a_log() {
    let (env, folder) = lived_in();
    let markdown = text(&env, &["export", PONY, "--format", "md"]);
    assert!(markdown.starts_with("# claude: Run it.\n"), "{markdown}");
    assert!(markdown.contains("> Run it.") && !markdown.contains("<script>"), "{markdown}");
    let page = env.work().join("page.html");
    text(&env, &["export", PONY, "-o", page.to_str().unwrap()]);
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("&lt;script&gt;alert(1)") && !page.contains("<script>"), "{page}");
    assert!(!page.contains(&token()) && !page.contains('\u{1b}'));
    assert_eq!(
        text(&env, &["export", PONY, "--format", "jsonl", "--no-redact"]),
        text(&env, &["show", PONY, "--events", "--no-redact"])
    );
    // What is read is not written over.
    let file = folder.join(format!("{PONY}.jsonl"));
    let before = fs::read(&file).unwrap();
    sessions(&env, &["export", PONY, "-o", file.to_str().unwrap()]).finish().assert_code(64);
    assert!(fs::read(&file).unwrap() == before);
}

#[test]
fn who_worked_for_it_is_told_too() {
    let (env, _) = lived_in();
    let shown = text(&env, &["show", "2cf3"]);
    let first = shown.find("> Have it done.").expect("its prompt");
    let second = shown.find("\n\n> Feed the ponies, please.").expect("the other's, apart");
    assert!(first < second, "{shown}");
    let markdown = text(&env, &["export", FOAL, "--format", "md"]);
    assert!(markdown.contains("- **Runs:** `2`") && markdown.contains("agent-1"), "{markdown}");
    // By the id of its run it is shown alone.
    let alone = text(&env, &["show", "agent-1"]);
    assert!(alone.contains("Feed the ponies") && !alone.contains("Have it done."), "{alone}");
}

#[test]
fn what_needs_a_log_says_so() {
    let (env, folder) = lived_in();
    let file = folder.join(format!("{PONY}.jsonl")).display().to_string();
    let refused = |run: Run<'_>| {
        let done = run.finish();
        done.assert_code(1);
        for part in [PONY, "was imported from", &file, "needs a log", "sessions show"] {
            assert!(done.stderr.contains(part), "{part}: {}", done.stderr);
        }
        assert_eq!(done.stdout_text(), "");
    };
    let cast = env.work().join("run.cast");
    for words in [
        &["show", PONY, "--raw"][..],
        &["show", PONY, "--approvals"],
        &["export", PONY, "-o", cast.to_str().unwrap()],
        &["timeline", PONY],
        &["replay", PONY],
        &["tail", PONY],
    ] {
        refused(sessions(&env, words));
    }
    assert!(!cast.exists(), "nothing is made of it");
    let logs = env.log_dir().display().to_string();
    refused(env.stablehand("doctor").args([PONY, "--log-dir", &logs]));
}

#[test]
fn it_is_resumed_where_it_was() {
    let (env, _) = lived_in();
    let work = env.work().display().to_string();
    let words = ["resume", "a664", "go on", "--dry-run", "--agent-bin", "/bin/true"];
    let gone = sessions(&env, &words).finish();
    gone.assert_code(1);
    assert!(gone.stderr.contains("`/home/rider/stable` is no longer there"), "{}", gone.stderr);
    let plan = text(&env, &[&words[..], &["--workspace", &work]].concat());
    let plan: Value = serde_json::from_str(&plan).unwrap();
    assert_eq!((&plan["agent"], &plan["resume"]), (&json!("claude"), &json!(PONY)), "{plan}");
}

#[test]
fn a_person_chooses_among_all() {
    if !can_seat() {
        return;
    }
    let (env, _) = lived_in();
    let mut log = Written::new("cursor");
    log.spawned("r-1", "cursor", json!({})).session("s-1", &env.work()).user("mend the fence");
    log.ended("success").save(&env, "a.jsonl");
    let mut terminal = Terminal::open();
    let words = ["resume", "--pick", "go on", "--dry-run", "--agent-bin", "/bin/true"];
    let work = env.work().display().to_string();
    let run = sessions(&env, &words).args(["--workspace", &work]);
    let run = terminal.seat(run).deadline(secs(40)).start();
    terminal.wait_for(&env, "3/3");
    let shown = terminal.text();
    assert!(shown.contains("mend the fence") && shown.contains("Run it."), "{shown:?}");
    terminal.press(b"Run it\r");
    let run = run.finish();
    run.assert_code(0);
    let plan: Value = serde_json::from_str(&run.stdout_text()).unwrap();
    assert_eq!((&plan["agent"], &plan["resume"]), (&json!("claude"), &json!(PONY)), "{plan}");
}

#[test]
fn a_log_of_ours_counts_more() {
    let (env, folder) = lived_in();
    let mut log = Written::new("claude");
    log.spawned("r-1", "claude", json!({}));
    log.raw(&json!({ "type": "system", "subtype": "init", "session_id": PONY }));
    log.decision("session_started", json!({ "session_id": PONY }));
    log.ended("success").save(&env, "a.jsonl");
    assert!(text(&env, &["show", "a664"]).contains("a.jsonl"));
    fs::remove_file(env.log_dir().join("a.jsonl")).unwrap();
    assert!(text(&env, &["show", "a664"]).contains("> Run it."));
    // Two that begin alike are both named, be they logs or not.
    let mut other = Written::new("cursor");
    other.spawned("r-2", "cursor", json!({})).session("a6640000", &env.work());
    other.ended("success").save(&env, "b.jsonl");
    let several = sessions(&env, &["show", "a664"]).finish();
    several.assert_code(1);
    assert!(
        several.stderr.contains("a6640000") && several.stderr.contains(PONY),
        "{}",
        several.stderr
    );
    // What the agent threw away is gone here too.
    fs::remove_file(folder.join(format!("{PONY}.jsonl"))).unwrap();
    sessions(&env, &["show", PONY]).finish().assert_code(1);
}
