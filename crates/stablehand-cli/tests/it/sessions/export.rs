//! `sessions export`: documents in which nothing that an agent wrote is more than text.

use super::*;
use crate::support::secs;
use std::os::unix::fs::PermissionsExt as _;

/// What breaks out of a page, of Markdown, or of a terminal that is not careful.
const HOSTILE: &str = "</pre></section><script>alert(1)</script><img src=x onerror=alert(2)>\n\
                       ![p](http://evil.invalid/p.png) `Vec<u8>`\n\
                       ````\n</details>\n```\n\u{1b}]52;c;ZXZpbA==\u{7}\u{1b}[31mred";

fn hostile(env: &TestEnv) -> PathBuf {
    let diff = "--- a/<x>\n+++ b/<x>\n@@ -1 +1 @@\n-<script>\n+```\n";
    let mut log = Written::new("cursor");
    log.spawned("<script>r1", "cursor", json!({})).session("\"><script>s1", &env.work());
    log.user("<script>prompt</script>\n```\nopen").says(HOSTILE);
    log.raw(&json!({ "type": "tool_call", "subtype": "started", "call_id": "c1", "tool_call":
        { "editToolCall": { "args": { "path": "/srv/<script>.txt" } } } }));
    log.later(40).raw(
        &json!({ "type": "tool_call", "subtype": "completed", "call_id": "c1", "tool_call":
        { "editToolCall": { "args": { "path": "/srv/<script>.txt" },
          "result": { "success": { "path": "/srv/<script>.txt", "diffString": diff } } } } }),
    );
    log.decision(
        "hang_detected",
        json!({ "event": { "type": "health.changed", "from": "working",
        "to": "stalled", "why": "<script>silence" } }),
    );
    log.ended("hung").save(env, "a.jsonl")
}

fn export(env: &TestEnv, words: &[&str]) -> String {
    let all: Vec<&str> = ["export", "latest"].iter().chain(words).copied().collect();
    let run = sessions(env, &all).finish();
    run.assert_code(0);
    run.stdout_text()
}

#[test]
fn a_page_has_no_tag_and_no_address_but_ours() {
    let env = place();
    hostile(&env);
    let page = export(&env, &["--format", "html"]);
    for never in ["<script", "<img", "\u{1b}", "http:", "https:", "url(", "@import", "javascript:"]
    {
        let text = page.replace("(http://evil.invalid/p.png)", "");
        assert!(!text.contains(never), "{never}: {page}");
    }
    assert!(page.contains("default-src 'none'; style-src 'sha256-"), "{page}");
    assert!(page.contains("&lt;script&gt;alert(1)") && page.contains("<code>Vec&lt;u8&gt;</code>"));
    assert!(page.contains("<span class=\"del\">-&lt;script&gt;</span>"), "{page}");
    let opened = page.matches("<section").count();
    assert_eq!(opened, page.matches("</section>").count());
    assert_eq!(page.matches("<details").count(), page.matches("</details>").count());
    // Every link goes to a place in the page.
    for link in page.split("href=\"").skip(1) {
        let target = link.split('"').next().unwrap();
        let id = format!("id=\"{}\"", target.strip_prefix('#').unwrap());
        assert!(page.contains(&id), "{target}");
    }
}

#[test]
fn the_style_of_a_page_is_the_one_that_its_policy_names() {
    let env = place();
    hostile(&env);
    let page = export(&env, &["--format", "html"]);
    let style = page.split("<style>").nth(1).unwrap().split("</style>").next().unwrap();
    let hash = page.split("'sha256-").nth(1).unwrap().split('\'').next().unwrap();
    fs::write(env.path("style"), style).unwrap();
    let command = "openssl dgst -sha256 -binary \"$0\" | openssl base64";
    let found =
        std::process::Command::new("sh").args(["-c", command]).arg(env.path("style")).output();
    match found {
        Ok(found) if found.status.success() && !found.stdout.is_empty() => {
            assert_eq!(String::from_utf8_lossy(&found.stdout).trim(), hash);
        }
        _ => crate::support::skip("no openssl to compute a hash with"),
    }
}

#[test]
fn markdown_cannot_be_broken_out_of() {
    let env = place();
    hostile(&env);
    let text = export(&env, &["--format", "md"]);
    assert!(!text.contains('\u{1b}'), "{text}");
    // Outside of our fences no tag but ours.
    let mut fence: Option<String> = None;
    let mut folds = 0;
    for line in text.lines() {
        let line = line.strip_prefix("> ").unwrap_or(line);
        let ticks: String = line.chars().take_while(|c| *c == '`').collect();
        match &fence {
            Some(open) if *open == line => fence = None,
            Some(_) => {}
            None if ticks.len() >= 3 && !line.trim_start_matches('`').contains('`') => {
                fence = Some(ticks);
            }
            None => {
                let ours = line
                    .replace("<details><summary>", "")
                    .replace("</summary>", "")
                    .replace("<code>", "")
                    .replace("</code>", "");
                folds += line.matches("<details>").count();
                assert!(!ours.replace("</details>", "").contains('<'), "{line}");
                assert!(!line.contains("![") || line.contains("\\!["), "{line}");
            }
        }
    }
    assert_eq!(fence, None, "every fence is closed: {text}");
    assert!(folds >= 2 && text.matches("\n</details>\n").count() > folds - 1, "{text}");
    assert!(text.contains("-<script>\n+```\n````\n"), "a fence longer than any in it: {text}");
}

#[test]
fn secrets_stay_out_of_documents() {
    let env = place();
    let token = token();
    Written::new("cursor")
        .spawned("r1", "cursor", json!({}))
        .session("s1", &env.work())
        .user(&format!("title {token}"))
        .says(&format!("I have {token}."))
        .ended("success")
        .save(&env, "a.jsonl");
    for format in ["md", "html", "jsonl", "asciinema"] {
        assert!(!export(&env, &["--format", format]).contains(&token), "{format}");
        assert!(export(&env, &["--format", format, "--no-redact"]).contains(&token), "{format}");
    }
}

#[test]
fn the_ending_of_the_file_says_the_format() {
    let env = place();
    let log = hostile(&env);
    for (name, begins) in [
        ("a.md", "# cursor"),
        ("a.html", "<!doctype html>"),
        ("a.ndjson", "{\"v\":1,"),
        ("a.cast", "{\"version\":2,"),
    ] {
        let path = env.path(name).display().to_string();
        assert_eq!(export(&env, &["-o", &path]), "");
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with(begins), "{name}: {text}");
    }
    let before = fs::read(&log).unwrap();
    let log = log.display().to_string();
    let refused = sessions(&env, &["export", "latest", "-o", &log]).finish();
    refused.assert_code(64);
    assert!(refused.stderr.contains("the log itself"), "{}", refused.stderr);
    assert_eq!(fs::read(&log).unwrap(), before);
    let unsaid = sessions(&env, &["export", "latest"]).finish();
    unsaid.assert_code(64);
    assert!(unsaid.stderr.contains("--format"), "{}", unsaid.stderr);
    let nowhere = sessions(&env, &["export", "latest", "-o", "/no/such/folder/a.md"]).finish();
    nowhere.assert_code(1);
    assert!(nowhere.stderr.contains("/no/such/folder/a.md"), "{}", nowhere.stderr);
}

/// The head and the frames of a recording, held to the published form of version 2.
fn frames(text: &str) -> (Value, Vec<(f64, String, String)>) {
    let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let head = lines.next().unwrap();
    assert_eq!(head["version"], 2);
    assert!(head["width"].is_u64() && head["height"].is_u64() && head["timestamp"].is_i64());
    let frames: Vec<_> = lines
        .map(|frame| {
            let parts = frame.as_array().unwrap();
            assert_eq!(parts.len(), 3, "{frame}");
            let text = |index: usize| parts[index].as_str().unwrap().to_owned();
            (parts[0].as_f64().unwrap(), text(1), text(2))
        })
        .collect();
    assert!(frames.windows(2).all(|pair| pair[0].0 <= pair[1].0), "{frames:?}");
    assert!(frames.iter().all(|frame| ["o", "r", "m"].contains(&frame.1.as_str())), "{frames:?}");
    (head, frames)
}

fn output(frames: &[(f64, String, String)]) -> String {
    frames.iter().filter(|frame| frame.1 == "o").map(|frame| frame.2.as_str()).collect()
}

#[test]
fn a_recording_has_the_text_with_its_times_and_no_long_pause() {
    let env = place();
    let mut log = Written::new("cursor");
    log.spawned("r1", "cursor", json!({})).session("s1", &env.work()).user("feed them");
    log.later(700).says("First.").later(3_600_000).says("Second.").later(-5000).says("Third.");
    log.later(100).ended("success").save(&env, "a.jsonl");
    let (head, told) = frames(&export(&env, &["--format", "asciinema"]));
    assert_eq!((&head["width"], &head["timestamp"]), (&json!(100), &json!(1_790_994_297)));
    assert_eq!(output(&told), "> feed them\r\nFirst.\r\nSecond.\r\nThird.\r\n");
    let at = |text: &str| told.iter().find(|frame| frame.2.contains(text)).unwrap().0;
    assert_eq!((at("First"), at("Second"), at("Third")), (0.7, 2.7, 2.7));
    let (_, told) = frames(&export(&env, &["--format", "asciinema", "--max-pause", "500ms"]));
    assert!((told.last().unwrap().0 - 1.0).abs() < 1e-9, "{told:?}");
}

#[test]
fn a_recording_of_a_terminal_has_its_own_bytes_and_sizes() {
    let env = place();
    let mut log = Written::new("terminal");
    log.spawned("r1", "cursor", json!({ "transport": "pty", "cols": 91, "rows": 33 }));
    let part = |log: &mut Written, text: &str, last: bool| {
        let at = log.at;
        log.lines.push(
            json!({ "msg": "raw_part", "recv_ts": at, "raw_text": text, "last": last }).to_string(),
        );
    };
    part(&mut log, "\u{1b}]0;title", false);
    part(&mut log, "\u{7}\u{1b}[31mred\r", true);
    log.later(250).decision("terminal_resized", json!({ "cols": 60, "rows": 20 }));
    // Half of a character in one record, the rest in the next.
    for b64 in ["wg==", "qQ=="] {
        let at = log.at;
        log.lines.push(json!({ "msg": "raw_part", "recv_ts": at, "raw_b64": b64 }).to_string());
    }
    log.ended("success").save(&env, "a.jsonl");
    let (head, told) = frames(&export(&env, &["--format", "asciinema"]));
    assert_eq!((&head["width"], &head["height"]), (&json!(91), &json!(33)));
    let short: Vec<_> = told.iter().map(|it| (it.0, it.1.as_str(), it.2.as_str())).collect();
    assert_eq!(short, [(0.0, "o", "\u{1b}[31mred\r\n"), (0.25, "r", "60x20"), (0.25, "o", "©")]);
}

#[test]
fn a_real_run_at_a_terminal_can_be_played_again() {
    let env = place();
    let agent = env.path("agent.sh");
    fs::write(&agent, "#!/bin/sh\nprintf '\\033[1mbold\\033[0m \\033]52;c;eA==\\007done\\n'\n")
        .unwrap();
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
    let run = env.stablehand_run().flag("--agent-bin", agent).flag("--transport", "pty");
    run.flag("--size", "77x21").args(["go"]).deadline(secs(30)).finish().assert_code(0);
    let (head, told) = frames(&export(&env, &["--format", "asciinema"]));
    assert_eq!((&head["width"], &head["height"]), (&json!(77), &json!(21)));
    assert_eq!(output(&told), "\u{1b}[1mbold\u{1b}[0m done\r\n");
}
