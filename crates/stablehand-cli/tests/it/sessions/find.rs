//! Which session or run is meant: by the index, and by the logs where it is behind or in the way.

use super::*;
use crate::support::{env, run};
use std::os::unix::fs::FileExt as _;
use std::time::SystemTime;

/// A log of one run.
fn saved(env: &TestEnv, run: &str, session: Option<&str>, name: &str) -> PathBuf {
    let mut log = Written::new("cursor");
    log.spawned(run, "cursor", json!({}));
    if let Some(session) = session {
        log.session(session, &env.work());
    }
    log.says(&format!("This is {run}.")).ended("success");
    let path = log.save(env, name);
    // The newest is the one that was changed last.
    std::thread::sleep(std::time::Duration::from_millis(15));
    path
}

fn show(env: &TestEnv, which: &str) -> String {
    let shown = sessions(env, &["show", which]).finish();
    shown.assert_code(0);
    shown.stdout_text()
}

/// Everything that can be asked for, with what is found.
fn assert_all_found(env: &TestEnv) {
    let table = [
        ("s-pony-1", "r-30"),
        ("s-pony", "r-30"),
        ("s-mule-2", "r-20"),
        ("r-10", "r-10"),
        ("r-2", "r-20"),
        ("r-lone", "r-lone-4"),
        ("latest", "r-lone-4"),
    ];
    for (which, wanted) in table {
        let text = show(env, which);
        assert!(text.contains(&format!("This is {wanted}.")), "{which}: {text}");
    }
    let several = sessions(env, &["show", "s-"]).finish();
    several.assert_code(1);
    assert!(several.stderr.contains("is the beginning of 2 ids"), "{}", several.stderr);
    let nothing = sessions(env, &["show", "s-donkey"]).finish();
    nothing.assert_code(1);
    assert!(nothing.stderr.contains("no session or run of that id"), "{}", nothing.stderr);
}

fn stable() -> TestEnv {
    let env = place();
    saved(&env, "r-10", Some("s-pony-1"), "a.jsonl");
    saved(&env, "r-20", Some("s-mule-2"), "b.jsonl");
    saved(&env, "r-30", Some("s-pony-1"), "c.jsonl");
    saved(&env, "r-lone-4", None, "d.jsonl");
    env
}

#[test]
fn ids_are_found_with_the_index_and_without() {
    let env = stable();
    let index = env.log_dir().join("index.sqlite");
    assert_all_found(&env);
    assert!(index.is_file(), "the first question made it");
    assert_all_found(&env);
    // Made by a newer version: nobody touches it, and the logs answer.
    let file = fs::OpenOptions::new().write(true).open(&index).unwrap();
    file.write_all_at(&99_u32.to_be_bytes(), 60).unwrap();
    assert_all_found(&env);
    sessions(&env, &["ls"]).finish().assert_code(1);
    // No file at all.
    fs::remove_file(&index).unwrap();
    fs::create_dir(&index).unwrap();
    assert_all_found(&env);
    // Damaged: it is made again.
    fs::remove_dir(&index).unwrap();
    fs::write(&index, "no database").unwrap();
    assert_all_found(&env);
    sessions(&env, &["ls"]).finish().assert_code(0);
}

#[test]
fn logs_that_the_index_knows_are_not_read() {
    let env = stable();
    show(&env, "r-10");
    let log = env.log_dir().join("b.jsonl");
    // Another run in the same place, in a file that looks the same from outside.
    let text = fs::read_to_string(&log).unwrap().replace("r-20", "r-11");
    let changed = log.metadata().unwrap().modified().unwrap();
    let file = fs::OpenOptions::new().write(true).open(&log).unwrap();
    file.write_all_at(text.as_bytes(), 0).unwrap();
    file.set_modified(changed).unwrap();
    // Whoever read it would find two runs that begin so.
    assert!(show(&env, "r-1").contains("This is r-10."));
    file.set_modified(SystemTime::now()).unwrap();
    let several = sessions(&env, &["show", "r-1"]).finish();
    several.assert_code(1);
    assert!(several.stderr.contains("is the beginning of 2 ids"), "{}", several.stderr);
}

#[test]
fn what_is_new_or_gone_since_is_known() {
    let env = stable();
    show(&env, "s-pony-1");
    saved(&env, "r-50", Some("s-pony-1"), "e.jsonl");
    assert!(show(&env, "s-pony").contains("This is r-50."));
    fs::remove_file(env.log_dir().join("e.jsonl")).unwrap();
    assert!(show(&env, "s-pony").contains("This is r-30."));
    sessions(&env, &["show", "r-50"]).finish().assert_code(1);
}

#[test]
fn the_folder_may_have_another_name() {
    let env = stable();
    show(&env, "s-pony-1");
    // Before and behind its own in the order of names.
    for name in ["a", "z"] {
        let link = env.path(name);
        std::os::unix::fs::symlink(env.log_dir(), &link).unwrap();
        for which in ["s-pony", "r-2", "r-lone"] {
            let shown = env.stablehand("sessions").args(["show", which, "--log-dir"]);
            let shown = shown.args([link.to_str().unwrap()]).finish();
            shown.assert_code(0);
            assert!(shown.stdout_text().contains("This is r-"), "{name} {which}");
        }
    }
}

#[test]
fn what_is_listed_is_shown() {
    let env = stable();
    let listed = sessions(&env, &["ls", "--json"]).finish();
    let listed: Value = serde_json::from_str(&listed.stdout_text()).unwrap();
    let ids: Vec<&str> =
        listed.as_array().unwrap().iter().map(|it| it["short_id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 3, "{listed}");
    for id in ids {
        assert!(show(&env, id).contains("This is "), "{id}");
    }
}

#[test]
fn a_resumed_run_that_fails_at_once_is_of_its_session() {
    let env = env("
        read-stdin
        init s-pony-1
        user feed the ponies
        assistant Fed.
        result Fed.
        ---
        stderr No hay today.
        exit 3
    ");
    run(&env).finish().assert_code(0);
    run(&env).args(["--resume", "s-pony-1"]).finish().assert_code(1);
    run(&env)
        .args(["--resume", "s-pony-1"])
        .flag("--agent-bin", "/no/such/agent")
        .finish()
        .assert_code(1);
    let listed = sessions(&env, &["ls", "--json"]).finish();
    let listed: Value = serde_json::from_str(&listed.stdout_text()).unwrap();
    let facts: Vec<_> =
        listed.as_array().unwrap().iter().map(|it| (&it["id"], &it["runs"])).collect();
    assert_eq!(facts, [(&json!("s-pony-1"), &json!(3))], "{listed}");
    // Its newest log is the one of the run that failed, and it can be resumed all the same.
    let shown = sessions(&env, &["show", "s-pony"]).finish();
    assert!(shown.stdout_text().contains("`/no/such/agent` was not found"), "{shown:?}");
    let plan =
        sessions(&env, &["resume", "latest", "again", "--dry-run", "--agent-bin", "/bin/true"]);
    let plan = plan.finish();
    plan.assert_code(0);
    let work = format!("resuming cursor session s-pony-1 in {}", env.work().display());
    assert!(plan.stderr.contains(&work), "{}", plan.stderr);
    let plan: Value = serde_json::from_str(&plan.stdout_text()).unwrap();
    assert_eq!(plan["resume"], "s-pony-1");
}
