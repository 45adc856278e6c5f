//! `stablehand hooks`: put in, looked at, taken out; and what a killed run left is put right.

use crate::support::{bins, secs};
use serde_json::Value;
use stablehand::Agent;
use stablehand::hooks::{Answers, HookPlan, Installation, Scope};
use stablehand_testkit::{Finished, TestEnv};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

const AGENTS: [(&str, &str, &str); 3] = [
    ("cursor", ".cursor/hooks.json", ".cursor/hooks.json"),
    ("claude", ".claude/settings.local.json", ".claude/settings.json"),
    ("gemini", ".gemini/settings.json", ".gemini/settings.json"),
];

fn hooks(env: &TestEnv, args: &[&str]) -> Finished {
    let run = env.stablehand("hooks").args(args.iter().copied()).finish();
    run.assert_within(secs(10));
    run
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn state(env: &TestEnv, args: &[&str]) -> (i32, Value) {
    let run = hooks(env, &[&["status", "--json"], args].concat());
    (run.code.unwrap(), serde_json::from_str(&run.stdout_text()).unwrap())
}

#[test]
fn each_agent_in_each_scope_is_installed_seen_and_taken_out_without_a_trace() {
    let env = TestEnv::new(bins());
    for (agent, project, user) in AGENTS {
        let files = [("project", env.work().join(project)), ("user", env.home().join(user))];
        for (scope, file) in files {
            let args = ["--agent", agent, "--scope", scope];
            let theirs = "{\n  // mine\n  \"other\": [1, 2,],\n  \"version\": 1\n}";
            write(&file, theirs);
            assert_eq!(state(&env, &args).0, 1, "{agent} {scope}");

            let dry = hooks(&env, &[&["install", "--dry-run"], &args[..]].concat());
            dry.assert_code(0);
            assert_eq!(fs::read_to_string(&file).unwrap(), theirs);
            let done = hooks(&env, &[&["install"], &args[..]].concat());
            done.assert_code(0);
            assert!(done.stdout_text().contains(&file.display().to_string()));
            let installed = fs::read_to_string(&file).unwrap();
            assert_eq!(dry.stdout_text(), installed);
            assert!(installed.contains(&format!("stablehand-hook' hook --agent {agent} --alone")));

            let (code, status) = state(&env, &args);
            assert_eq!((code, &status["files"][0]["state"]), (0, &"installed".into()), "{status}");
            hooks(&env, &[&["install"], &args[..]].concat()).assert_code(0);
            assert_eq!(fs::read_to_string(&file).unwrap(), installed, "nothing is put in twice");

            hooks(&env, &[&["uninstall"], &args[..]].concat()).assert_code(0);
            assert_eq!(fs::read_to_string(&file).unwrap(), theirs);
        }
    }
}

#[test]
fn what_makes_cursor_drop_the_file_is_said_and_counts() {
    let env = TestEnv::new(bins());
    let file = env.work().join(".cursor/hooks.json");
    let theirs = "{\"version\": 1, \"hooks\": {\n\"beforeEverything\": [{\"command\": \"x\"}]}}";
    write(&file, theirs);
    let done = hooks(&env, &["install"]);
    done.assert_code(0);
    let said = done.stdout_text();
    let expected = "warning: line 2: `beforeEverything` is no event that we know of; \
                    cursor runs no hook of this file";
    assert!(said.contains(expected) && said.contains("left alone: 1 of others"), "{said}");
    let (code, status) = state(&env, &["--agent", "cursor", "--scope", "project"]);
    assert_eq!((code, &status["files"][0]["state"]), (1, &"not_run".into()));
    assert!(
        hooks(&env, &["status"]).stdout_text().contains(expected.trim_start_matches("warning: "))
    );
}

#[test]
fn a_program_that_has_moved_is_told_and_brought_up_to_date() {
    let env = TestEnv::new(bins());
    let file = env.work().join(".cursor/hooks.json");
    hooks(&env, &["install"]).assert_code(0);
    let installed = fs::read_to_string(&file).unwrap();
    // The small program is beside the large one, and its name begins with the same.
    let stablehand = bins().stablehand.canonicalize().unwrap();
    let moved = installed.replace(stablehand.to_str().unwrap(), "/opt/old version/stablehand");
    let old = "/opt/old version/stablehand-hook";
    fs::write(&file, moved).unwrap();
    let (code, status) = state(&env, &["--agent", "cursor"]);
    let place = &status["files"][0];
    assert_eq!((code, &place["state"]), (1, &"partly".into()));
    assert_eq!(place["other_programs"][0]["program"], old);
    assert_eq!(place["other_programs"][0]["can_be_started"], false);
    let said = hooks(&env, &["status"]).stdout_text();
    assert!(said.contains(&format!("another program: {old}, which cannot be started")), "{said}");
    hooks(&env, &["install"]).assert_code(0);
    assert_eq!(fs::read_to_string(&file).unwrap(), installed);
}

#[test]
fn what_cannot_be_done_is_refused_with_what_to_do() {
    let env = TestEnv::new(bins());
    let file = env.work().join(".cursor/hooks.json");
    let refused = |hint: &str, code: i32, args: &[&str]| {
        let run = hooks(&env, args);
        run.assert_code(code);
        assert!(run.stderr.contains(hint), "{}", run.stderr);
    };
    write(&file, "{\n\"hooks\": 1}");
    refused("hooks.json`: line 2: `hooks` is no object\n  hint: mend the file", 1, &["install"]);
    fs::write(&file, "{}").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o400)).unwrap();
    refused("may not be written by us\n  hint: see to its owner and mode", 1, &["install"]);
    fs::remove_file(&file).unwrap();
    symlink("/dev/null", &file).unwrap();
    refused("hooks.json` is a symbolic link\n  hint: put a real file", 1, &["install"]);
    refused(
        "codex has no hooks that we know\n  hint: these have: cursor",
        64,
        &["install", "--agent", "codex"],
    );
    refused("no agent is called `x`", 64, &["status", "--agent", "x"]);
    refused("failed to find", 1, &["install", "--workspace", "/nowhere/at/all"]);
    // Claude's own variable moves the file of the user.
    let moved = env.home().join("moved");
    fs::create_dir(&moved).unwrap();
    let run = env
        .stablehand("hooks")
        .args(["install", "--agent", "claude", "--scope", "user"])
        .variable("CLAUDE_CONFIG_DIR", moved.to_str().unwrap())
        .finish();
    run.assert_code(0);
    assert!(moved.join("settings.json").exists());
}

/// A project as a run leaves it that was killed, with its keeper: the file changed, the journal there.
fn killed_run(env: &TestEnv) -> PathBuf {
    let file = env.work().join(".cursor/hooks.json");
    write(&file, "{\"version\": 1}");
    let state = env.home().join(".local/state/stablehand");
    let program = bins().stablehand.canonicalize().unwrap();
    let plan =
        HookPlan::of(Agent::Cursor, &program, Answers::ForRun(std::path::Path::new("/run/none")))
            .unwrap()
            .unwrap();
    let target = plan.form.target(Scope::Project, &env.work(), None);
    let run = Installation::begin(&target, &plan, &state).unwrap();
    let status = hooks(env, &["status"]).stdout_text();
    let expected = format!("a run has put its hooks in for now (process {})", std::process::id());
    assert!(status.contains(&expected), "{status}");
    let journal = run.release().unwrap().journal.join("journal.json");
    let (changed, record) = (fs::read(&file).unwrap(), fs::read(&journal).unwrap());
    run.end().unwrap();
    fs::write(&file, changed).unwrap();
    fs::write(&journal, record).unwrap();
    file
}

#[test]
fn status_and_doctor_put_right_what_a_killed_run_left() {
    for command in ["hooks", "doctor"] {
        let env = TestEnv::new(bins());
        let file = killed_run(&env);
        let run = match command {
            "hooks" => hooks(&env, &["status"]),
            _ => env.stablehand("doctor").variable("PATH", "/nowhere").deadline(secs(60)).finish(),
        };
        let said = run.stdout_text();
        assert!(said.contains("a run was killed; the file is what it was again"), "{said}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "{\"version\": 1}");
    }
}
