//! `sessions prune`: what goes, what stays, and that nothing else is touched.

use super::*;
use std::time::{Duration, SystemTime};

fn pruned(env: &TestEnv, flags: &[&str]) -> Value {
    let words: Vec<&str> = ["prune", "--json"].iter().chain(flags).copied().collect();
    let run = sessions(env, &words).finish();
    run.assert_code(0);
    serde_json::from_slice(&run.stdout).expect("an object")
}

/// A log of a run that ended so, last written to so many days ago.
fn old(env: &TestEnv, name: &str, days: u64, outcome: &str) -> PathBuf {
    let mut log = Written::new("cursor");
    // By its records it is as old.
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
    log.at = i64::try_from(now.as_millis()).expect("fits")
        - i64::try_from(days).expect("fits") * 86_400_000;
    log.spawned(&format!("r-{name}"), "cursor", json!({}));
    log.session(&format!("s-{name}"), Path::new("/x")).user(&format!("feed {name}"));
    if outcome != "unfinished" {
        log.ended(outcome);
    }
    let path = log.save(env, &format!("{name}.jsonl"));
    age(&path, days);
    path
}

fn age(path: &Path, days: u64) {
    let then = SystemTime::now() - Duration::from_hours(24 * days);
    let file = fs::File::options().append(true).open(path).expect("the file");
    file.set_modified(then).expect("its time");
}

fn names(list: &Value) -> Vec<String> {
    let paths = list.as_array().expect("a list").iter().filter_map(|it| it["log"].as_str());
    let mut names: Vec<String> = paths
        .filter_map(|path| Some(Path::new(path).file_stem()?.to_string_lossy().into_owned()))
        .collect();
    names.sort();
    names
}

#[test]
fn old_successes_go_and_what_went_wrong_stays() {
    let env = place();
    for (name, days, outcome) in [
        ("new", 1, "success"),
        ("old", 9, "success"),
        ("stopped", 9, "interrupted"),
        ("hung", 30, "hung"),
        ("failed", 30, "agent_error"),
        ("open", 30, "unfinished"),
    ] {
        old(&env, name, days, outcome);
    }
    // What the host keeps beside a log goes with it.
    let checkpoints = env.log_dir().join("checkpoints");
    fs::create_dir(&checkpoints).unwrap();
    let beside = |name: &str, days: u64, id: &str| {
        let log = env.log_dir().join(format!("{name}.jsonl"));
        let named = format!(r#""v":1,"log":"{id}""#);
        fs::write(&log, fs::read_to_string(&log).unwrap().replacen(r#""v":1"#, &named, 1)).unwrap();
        age(&log, days);
        let file = checkpoints.join(format!("{}-0123456789abcdef-plain", id.replace('-', "")));
        fs::write(&file, "").unwrap();
        file
    };
    let gone = beside("old", 9, "01a1eaf3-3b1e-73bd-b14d-1564984ffb37");
    let kept = beside("new", 1, "01a1eaf3-3b1e-73bd-b14d-1564984ffb38");
    let planned = pruned(&env, &["--dry-run"]);
    assert_eq!(names(&planned["removed"]), ["old", "stopped"]);
    assert_eq!(names(&planned["kept"]), ["failed", "hung", "new", "open"]);
    let text = sessions(&env, &["prune", "--dry-run"]).finish().stdout_text();
    assert!(text.contains("old.jsonl") && text.contains("2 logs would be removed"), "{text}");
    let logs = || fs::read_dir(env.log_dir()).unwrap().flatten().count();
    let before = logs();
    let done = pruned(&env, &[]);
    assert_eq!(names(&done["removed"]), ["old", "stopped"]);
    assert!(done["freed_bytes"].as_u64().unwrap() > 100, "{done}");
    assert_eq!(logs(), before - 2);
    assert!(!gone.exists() && kept.exists());
    let listed = sessions(&env, &["ls"]).finish().stdout_text();
    assert!(!listed.contains("feed old") && listed.contains("feed hung"), "{listed}");
    // Neither is found any more.
    let found = sessions(&env, &["search", "old"]).finish().stdout_text();
    assert_eq!(found, "nothing found\n");
    let text = sessions(&env, &["prune", "--all", "--older-than", "2w"]).finish().stdout_text();
    assert!(text.starts_with("3 logs removed, "), "{text}");
    let text = sessions(&env, &["prune"]).finish().stdout_text();
    assert!(text.starts_with("nothing to remove"), "{text}");
}

#[test]
fn a_size_takes_the_oldest_and_no_age() {
    let env = place();
    let sizes: Vec<u64> = ["a", "b", "c"]
        .iter()
        .zip([20, 2, 1])
        .map(|(name, days)| old(&env, name, days, "success").metadata().unwrap().len())
        .collect();
    let most = (sizes[1] + sizes[2]).to_string();
    assert_eq!(names(&pruned(&env, &["--max-size", "1GiB"])["removed"]), [""; 0]);
    assert_eq!(names(&pruned(&env, &["--max-size", &most])["removed"]), ["a"]);
    assert_eq!(names(&pruned(&env, &["--max-size", "0"])["removed"]), ["b", "c"]);
    for wrong in [["--max-size", "much"], ["--older-than", "old"]] {
        sessions(&env, &["prune", wrong[0], wrong[1]]).finish().assert_code(64);
    }
}

#[test]
fn what_is_not_ours_is_not_touched() {
    let env = place();
    let ours = old(&env, "ours", 30, "success");
    let folder = env.log_dir();
    let elsewhere = env.path("elsewhere.jsonl");
    fs::copy(&ours, &elsewhere).unwrap();
    age(&elsewhere, 30);
    std::os::unix::fs::symlink(&elsewhere, folder.join("link.jsonl")).unwrap();
    for (name, text) in [
        ("transcript.jsonl", "{\"type\":\"user\"}\n"),
        ("empty.jsonl", ""),
        ("notes.txt", "hay"),
        ("binary.jsonl", "\u{0}\u{1}"),
    ] {
        fs::write(folder.join(name), text).unwrap();
        age(&folder.join(name), 30);
    }
    fs::create_dir(folder.join("folder.jsonl")).unwrap();
    let done = pruned(&env, &["--all", "--older-than", "1d", "--max-size", "0"]);
    assert_eq!(names(&done["removed"]), ["ours"]);
    for name in [
        "transcript.jsonl",
        "empty.jsonl",
        "notes.txt",
        "binary.jsonl",
        "link.jsonl",
        "folder.jsonl",
    ] {
        assert!(folder.join(name).symlink_metadata().is_ok(), "{name}");
    }
    assert!(elsewhere.exists() && !ours.exists());
    // Where there is no folder there is nothing to do.
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(names(&pruned(&env, &[])["removed"]), [""; 0]);
}
