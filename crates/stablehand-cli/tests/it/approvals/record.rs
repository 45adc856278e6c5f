//! What is left of questions and decisions: the line while it runs, and `sessions show`.

use super::*;

const RULES: &str = "[policy]\ndefault = \"ask\"\n\n[[policy.rule]]\nname = \"greeting\"\n\
                     command = \"echo hi\"\naction = \"allow\"\n";

fn show<'e>(env: &'e TestEnv, which: &'e str, more: &[&'e str]) -> Run<'e> {
    env.stablehand("sessions")
        .args(["show", which, "--log-dir", env.path("logs").to_str().unwrap()])
        .args(more.iter().copied())
}

#[test]
fn decisions_are_told_while_it_runs_and_listed_later() {
    let env = place(THREE);
    fs::write(rules(&env), RULES).unwrap();
    let run = ruled(&env, "claude").finish();
    run.assert_code(0);
    let text = run.stdout_text();
    assert!(text.contains("✓ allowed: Bash echo hi (by rule `greeting` ("), "{text}");
    assert!(text.contains("✗ denied: Bash echo ho (by policy)"), "{text}");

    let path = env.log().path.display().to_string();
    let ended = env.log().one("run_ended").clone();
    let session = ended["session_id"].as_str().unwrap().to_owned();
    let run_id = env.log().one("agent_spawned")["run"].as_str().unwrap().to_owned();
    let mut seen = Vec::new();
    for which in [path.as_str(), session.as_str(), run_id.as_str(), "latest"] {
        let listed = show(&env, which, &["--approvals", "--json"]).finish();
        listed.assert_code(0);
        seen.push(serde_json::from_slice::<Value>(&listed.stdout).unwrap());
    }
    assert!(seen.windows(2).all(|pair| pair[0] == pair[1]), "{seen:?}");
    let entries = seen[0].as_array().unwrap();
    let short: Vec<_> = entries
        .iter()
        .map(|entry| {
            let text = |name: &str| entry[name].as_str().unwrap_or("").to_owned();
            (text("tool"), text("target"), text("outcome"), entry["asked"].as_bool().unwrap())
        })
        .collect();
    let row = |target: &str, outcome: &str| ("Bash".into(), target.into(), outcome.into(), false);
    assert_eq!(
        short,
        [row("echo hi", "allowed"), row("echo hi", "allowed"), row("echo ho", "denied")]
    );
    assert_eq!(entries[0]["rule"]["line"], 4);
    assert!(entries[2]["reason"].as_str().unwrap().contains("no rule is about it"));

    let table = show(&env, "latest", &["--approvals"]).finish();
    table.assert_code(0);
    let text = table.stdout_text();
    assert!(text.starts_with("TIME") && text.contains("rules.toml:4"), "{text}");
    assert!(table.stderr.is_empty(), "{}", table.stderr);
}

#[test]
fn a_log_is_shown_as_it_was_and_a_torn_one_too() {
    let env = place(ONE);
    let run = ruled(&env, "claude").finish();
    run.assert_code(0);
    let shown = show(&env, "latest", &[]).finish();
    shown.assert_code(0);
    let (told, text) = (shown.stdout_text(), run.stdout_text());
    assert!(told.contains(&text), "the same text as while it ran: {told}");
    let path = env.log().path.clone();
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend_from_slice(b"17\nnot a record\n{\"time\":\"torn");
    fs::write(&path, bytes).unwrap();
    let shown = show(&env, "latest", &["--approvals"]).finish();
    shown.assert_code(0);
    assert!(shown.stderr.contains("3 lines are no record"), "{}", shown.stderr);
    assert!(shown.stdout_text().contains("echo hi"));
}

#[test]
fn what_is_not_there_is_said() {
    let env = place(ONE);
    let run = show(&env, "latest", &["--approvals"]).finish();
    run.assert_code(1);
    assert!(run.stderr.contains("no log in"), "{}", run.stderr);
    ruled(&env, "claude").finish().assert_code(0);
    let run = show(&env, "no-such-session", &["--approvals"]).finish();
    run.assert_code(1);
    assert!(run.stderr.contains("no session or run"), "{}", run.stderr);
    show(&env, "latest", &["--json"]).finish().assert_code(64);
}
