//! `sessions stats`: numbers of real and written runs.

use super::*;
use crate::support::{env, run};

const WITH_TOOLS: &str = "
    read-stdin
    init
    user feed the ponies
    shell c1 30s make
    shell-done c1 0 1s make
    shell c2 30s false
    shell-done c2 1 2s false
    assistant Fed.
    result Fed.
";

fn stats(env: &TestEnv, flags: &[&str]) -> Value {
    let words: Vec<&str> = ["stats", "--json"].iter().chain(flags).copied().collect();
    let run = sessions(env, &words).finish();
    run.assert_code(0);
    serde_json::from_slice(&run.stdout).expect("an object")
}

#[test]
fn real_runs_are_counted() {
    let hang = "read-stdin\ninit\nhang\n";
    let env = env(&format!("{WITH_TOOLS}---\n{hang}---\n{hang}"));
    run(&env).finish().assert_code(0);
    run(&env).finish().assert_code(2);
    run(&env).args(["--observe-only", "--max-wall", "3s"]).finish();
    let all = stats(&env, &[]);
    let total = &all["total"];
    assert_eq!(total["runs"], 3);
    assert_eq!(total["outcomes"]["success"], 1);
    assert!(total["hung"].as_u64().unwrap() >= 1, "{total}");
    assert_eq!((&total["tools"], &total["tools_failed"]), (&json!(2), &json!(1)));
    let tool = &all["tools"][0];
    assert_eq!((&tool["calls"], &tool["failed"]), (&json!(2), &json!(1)));
    assert_eq!((&tool["longest_ms"], &tool["median_ms"]), (&json!(2000), &json!(1000)));
    assert_eq!(all["agents"][0]["agent"], "cursor");
    assert!(all["time_zone"].is_string());
    let by_day = stats(&env, &["--by", "day"]);
    assert!(by_day["tools"].is_null() && by_day["days"].is_array(), "{by_day}");
    assert_eq!(stats(&env, &["--agent", "codex"])["total"]["runs"], 0);
    for by in ["day", "agent", "model", "workspace", "tool"] {
        let text = sessions(&env, &["stats", "--by", by]).finish().assert_code(0).stdout_text();
        assert!(text.starts_with(&by.to_uppercase()), "{text}");
    }
    let text = sessions(&env, &["stats"]).finish().assert_code(0).stdout_text();
    for part in ["3 runs", "Outcomes", "success", "Hangs", "TOOL"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains('\u{1b}'), "{text}");
    env.assert_nobody_left();
}

#[test]
fn days_are_those_of_the_zone() {
    let env = place();
    // 02:24 in UTC.
    let mut log = Written::new("cursor");
    log.spawned("r-1", "cursor", json!({})).session("s-1", Path::new("/x")).ended("success");
    log.save(&env, "a.jsonl");
    for (zone, day) in [("UTC", "2026-10-03"), ("UTC+5", "2026-10-02"), ("UTC-9", "2026-10-03")] {
        let run = sessions(&env, &["stats", "--json", "--by", "day"]).variable("TZ", zone).finish();
        run.assert_code(0);
        let stats: Value = serde_json::from_slice(&run.stdout).expect("an object");
        assert_eq!(stats["days"][0]["day"], day, "{zone}: {stats}");
    }
    let none = sessions(&env, &["stats", "--since", "1h"]).finish();
    assert!(none.assert_code(0).stdout_text().starts_with("no run that fits"));
}
