//! `sessions search`: words as people type them, for people and for programs.

use super::*;

fn found(env: &TestEnv, words: &[&str]) -> Value {
    let all: Vec<&str> = ["search", "--json"].iter().chain(words).copied().collect();
    let run = sessions(env, &all).finish();
    run.assert_code(0);
    serde_json::from_slice(&run.stdout).expect("an object")
}

fn snippets(found: &Value) -> Vec<String> {
    let sessions = found["sessions"].as_array().expect("sessions");
    let passages = sessions.iter().flat_map(|it| it["passages"].as_array().expect("passages"));
    passages.map(|it| it["snippet"].as_str().expect("a snippet").to_owned()).collect()
}

fn written(env: &TestEnv) {
    let mut log = Written::new("cursor");
    log.spawned("r-1", "cursor", json!({})).session("s-ponies", Path::new("/home/rider"));
    log.user("feed the red pony").later(60_000);
    log.says("I looked into src/main.rs and C++; the café is\nclosed. 🐴").ended("success");
    log.save(env, "a.jsonl");
    let mut log = Written::new("cursor");
    log.later(1000).spawned("r-2", "cursor", json!({})).session("s-cows", Path::new("/home/rider"));
    log.user("milk the cow").says("The cow has no pony.").ended("hung");
    log.save(env, "b.jsonl");
}

#[test]
fn matches_are_grouped_by_session() {
    let env = place();
    written(&env);
    let run = sessions(&env, &["search", "pony"]).finish();
    run.assert_code(0);
    let text = run.stdout_text();
    let lines: Vec<&str> = text.lines().collect();
    let head = lines.iter().position(|line| line.starts_with("s-cows  cursor  ")).expect(&text);
    assert!(lines[head].contains("hung"), "{text}");
    assert_eq!(lines[head + 1], "  milk the cow");
    assert!(lines[head + 2].starts_with("    message "), "{text}");
    assert!(lines[head + 2].ends_with("The cow has no pony."), "{text}");
    assert!(text.contains("2 passages in 2 sessions, the best first"), "{text}");
    assert!(text.contains("sessions show ID"), "{text}");
    assert_eq!(sessions(&env, &["search", "unheard"]).finish().stdout_text(), "nothing found\n");
}

#[test]
fn anything_typed_is_a_search() {
    let env = place();
    written(&env);
    let folder = env.log_dir().display().to_string();
    for typed in ["\"", "*", "NEAR(", "NOT", "a AND", "foo-bar", "^x", "{}", "'", "🐴", "-", "-hay"]
    {
        found(&env, &[typed]);
        let run = env.stablehand("sessions").args(["search", "--log-dir", &folder, "--", typed]);
        run.finish().assert_code(0);
    }
}

#[test]
fn words_phrases_and_signs() {
    let env = place();
    written(&env);
    let count = |words: &[&str]| snippets(&found(&env, words)).len();
    assert_eq!(count(&["pony"]), 2);
    assert_eq!(count(&["pony", "-cow"]), 1);
    assert_eq!(count(&["-cow", "pony"]), 1);
    assert_eq!(count(&["red pony"]), 1);
    assert_eq!(count(&["pony red"]), 0);
    assert_eq!(count(&["pon*"]), 2);
    assert_eq!(count(&["src/main.rs"]), 1);
    assert_eq!(count(&["c++"]), 1);
    assert_eq!(count(&["cafe"]), 1);
    assert_eq!(count(&["🐴"]), 1);
    assert_eq!(count(&["pony", "--in", "prompt"]), 1);
    assert_eq!(count(&["pony", "--outcome", "hung"]), 1);
    assert_eq!(count(&["pony", "--agent", "claude"]), 0);
    assert_eq!(count(&["pony", "--limit", "1"]), 1);
    sessions(&env, &["search", "pony", "--in", "heart"]).finish().assert_code(64);
    sessions(&env, &["search"]).finish().assert_code(64);
}

#[test]
fn programs_are_told_where_it_is() {
    let env = place();
    written(&env);
    let found = found(&env, &["CAFE"]);
    let session = &found["sessions"][0];
    assert_eq!(
        (&session["id"], &session["title"]),
        (&json!("s-ponies"), &json!("feed the red pony"))
    );
    let passage = &session["passages"][0];
    assert_eq!((&passage["kind"], &passage["run"]), (&json!("message"), &json!("r-1")));
    assert_eq!(passage["at"], "2026-10-03T02:25:57.000Z");
    let snippet: Vec<char> = passage["snippet"].as_str().unwrap().chars().collect();
    let range = |n: usize| usize::try_from(passage["ranges"][0][n].as_u64().unwrap()).unwrap();
    assert_eq!(snippet[range(0)..range(1)].iter().collect::<String>(), "café");
    assert_eq!(found["matches"], json!({ "count": 1, "exact": true }));
}

#[test]
fn secrets_are_not_found() {
    let env = place();
    let mut log = Written::new("cursor");
    log.spawned("r-1", "cursor", json!({})).session("s-1", Path::new("/x"));
    log.user(&format!("use {} for hay", token()))
        .says("my own word is tumbleweed77")
        .ended("success");
    log.save(&env, "a.jsonl");
    for words in [&["hay"][..], &["tumbleweed77"], &["own"]] {
        let words = [&["search", "--json"], words].concat();
        // What only this environment knows to be a secret goes, too.
        let run = sessions(&env, &words).variable("BARN_TOKEN", "tumbleweed77").finish();
        run.assert_code(0);
        let text = run.stdout_text();
        assert!(!text.contains(&token()) && !text.contains("tumbleweed77"), "{text}");
    }
}

#[test]
fn names_of_tools_and_what_only_a_result_says_are_found() {
    let env = crate::support::env(
        "
        read-stdin
        init s-barn
        user feed the ponies
        read r1 hay.txt
        read-done r1 hay.txt
        read r2 oats.txt
        read-done r2 oats.txt
        mcp m1 granary measure
        mcp-done m1 granary measure
        result Everybody is satiated.
    ",
    );
    crate::support::run(&env).finish().assert_code(0);
    assert_eq!(snippets(&found(&env, &["satiated"])), ["Everybody is satiated."]);
    let named = found(&env, &["readToolCall", "--in", "tool"]);
    assert_eq!(snippets(&named), ["readToolCall"], "once in a run");
    assert_eq!(named["sessions"][0]["passages"][0]["tool"]["name"], "readToolCall");
    for name in ["granary", "measure", "mcpToolCall"] {
        assert_eq!(snippets(&found(&env, &[name, "--in", "tool"])).len(), 1, "{name}");
    }
}
