//! The gate within the agent's reach: its own tools take our entries away, or change them.

use super::{HOOKED, RULES, held_as, hooks_file, made};
use crate::support::{env, secs};
use stablehand_testkit::{Finished, TestEnv};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

fn repository(env: &TestEnv) {
    let git = |args: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@b", "-C"]).arg(env.work()).args(args);
        assert!(git.stdout(Stdio::null()).status().unwrap().success(), "git {args:?}");
    };
    git(&["init", "-q"]);
    git(&["commit", "-q", "--allow-empty", "-m", "begin"]);
}

/// The run is stopped because of its file, and what is denied did not run.
fn is_stopped(env: &TestEnv, agent: &str, run: &Finished) {
    run.assert_code(1).assert_within(secs(15));
    let log = env.log();
    assert!(!made(env, "made"), "{agent}: {:?}\n{}", log.names(), run.stderr);
    let path = log.one("hooks_changed")["path"].as_str().unwrap().to_owned();
    assert!(run.stderr.contains(&path), "{agent}: {}", run.stderr);
    assert_eq!(log.last()["outcome"], "internal", "{agent}");
    env.assert_nobody_left();
}

#[test]
fn entries_that_a_tool_removes_stop_the_run_before_the_next_tool() {
    for agent in HOOKED.into_iter().filter(|agent| *agent != "claude") {
        for first in ["git clean -fdxq", "rm -rf .cursor .gemini", "mv .cursor .gemini elsewhere"] {
            // In a script, which the rules do not see into; they protect the files otherwise. The
            // denied one asks nobody, and leaves the time in which a run is stopped.
            let env = env(
                "read-stdin\ninit\nrun c1 10s ./tidy\nhooks none\nrun c2 10s sleep 2; touch made\ndone\n",
            );
            repository(&env);
            let tidy = env.work().join("tidy");
            let script = format!("#!/bin/sh\nmkdir -p elsewhere .cursor .gemini; {first}\n");
            fs::write(&tidy, script).unwrap();
            fs::set_permissions(&tidy, fs::Permissions::from_mode(0o755)).unwrap();
            is_stopped(&env, agent, &held_as(&env, agent, RULES).finish());
        }
    }
}

/// Starts an agent, changes a file of its project by a shell, and lets it go on.
fn changed(agent: &str, change: &str) -> (TestEnv, Finished) {
    let env = env(
        "read-stdin\ninit\nrun c1 10s true\nrun c2 20s until [ -e changed ]; do sleep 0.05; done\nrun c3 10s true\ndone\n",
    );
    let run = held_as(&env, agent, RULES).start();
    env.wait_for_log("approval_resolved");
    let mut shell = Command::new("sh");
    assert!(shell.args(["-ec", change]).current_dir(env.work()).status().unwrap().success());
    fs::write(env.work().join("changed"), "").unwrap();
    let finished = run.finish();
    (env, finished)
}

#[test]
fn entries_that_somebody_changes_stop_the_run_before_the_next_tool() {
    for (agent, change) in [
        ("cursor", "rm .cursor/hooks.json"),
        ("cursor", "sed -i 's/ hook --agent / hooks --agent /' .cursor/hooks.json"),
        ("cursor", "sed -i 's/--within [0-9]*/--within 0/' .cursor/hooks.json"),
        ("cursor", "sed -i 's/preToolUse\"/postToolUse\"/' .cursor/hooks.json"),
        ("cursor", "echo no JSON > .cursor/hooks.json"),
        ("gemini", "sed -i 's/--run/--alone --agent/' .gemini/settings.json"),
        ("gemini", "sed -i 's/\"hooks\"/\"no\"/' .gemini/settings.json"),
        ("gemini", "sed -i '1s/{/{\"hooksConfig\":{\"enabled\":false},/' .gemini/settings.json"),
        // Its entries are in no file, but a file can switch them off.
        (
            "claude",
            "mkdir -p .claude; echo '{\"disableAllHooks\":true}' > .claude/settings.local.json",
        ),
    ] {
        let (env, run) = changed(agent, change);
        is_stopped(&env, &format!("{agent}: {change}"), &run);
    }
}

#[test]
fn edits_that_leave_our_entries_alone_do_no_harm() {
    for (agent, change) in [
        ("cursor", "sed -i 's/\"version\"/ \"version\"/' .cursor/hooks.json; touch .cursor/other"),
        ("gemini", "sed -i '1s/{/{\"theme\":\"hay\",/' .gemini/settings.json"),
        ("claude", "mkdir -p .claude; echo '{\"model\":\"hay\"}' > .claude/settings.local.json"),
    ] {
        let (env, run) = changed(agent, change);
        run.assert_code(0);
        assert!(!env.log().has("hooks_changed"), "{agent}");
    }
}

/// The command of an entry, started without our variables, is held by its run; after that it denies.
#[test]
fn an_entry_needs_no_variables() {
    let env = env("read-stdin\ninit\nrun c1 10s true\nsleep 25s\ndone\n");
    let run = held_as(&env, "cursor", RULES).start();
    env.wait_for_log("approval_resolved");
    let file: serde_json::Value =
        serde_json::from_slice(&fs::read(hooks_file(&env)).unwrap()).unwrap();
    let command = file["hooks"]["preToolUse"][0]["command"].as_str().unwrap().to_owned();
    let ask = |what: &str| {
        let input = format!(r#"{{"tool_name":"Shell","tool_input":{{"command":"{what}"}}}}"#);
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(format!("{command} <<'E'\n{input}\nE\n")).current_dir(env.work());
        shell.env_remove("STABLEHAND_HOOK_SOCKET").env_remove("STABLEHAND_HOOK_RUN");
        String::from_utf8(shell.output().unwrap().stdout).unwrap()
    };
    assert!(ask("touch fine").contains(r#""permission":"allow""#));
    assert!(ask("touch made").contains("nothing of that name"));
    run.signal(nix::sys::signal::Signal::SIGKILL);
    run.finish_alone();
    let said = ask("touch fine");
    assert!(
        said.contains(r#""permission":"deny""#) && said.contains("cannot be reached"),
        "{said}"
    );
}
