//! `stablehand fake-agent` from outside: scenes, shims, scripts, and talking with it over pipes.
//!
//! That the same scene has the same shape in all agents is in `fake_agent/shape.rs`.

mod denied;
mod shape;
mod two_way;

use crate::support::{bins, ms, secs};
use nix::sys::signal::Signal;
use serde_json::Value;
use stablehand_testkit::{Run, TestEnv};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The dialects that answer one prompt and exit.
const ONE_WAY: [&str; 8] =
    ["cursor", "claude", "codex", "gemini", "opencode", "qwen", "grok", "agy"];

fn place() -> TestEnv {
    TestEnv::new(bins())
}

/// `stablehand fake-agent`, ten times as fast.
fn fake<'e>(env: &'e TestEnv, dialect: &str, scene: &str) -> Run<'e> {
    env.stablehand("fake-agent")
        .flag("--dialect", dialect)
        .flag("--scene", scene)
        .flag("--speed", "10")
}

/// What `stablehand decode --summary` says of a stream.
fn summary(env: &TestEnv, dialect: &str, stream: &[u8]) -> Value {
    let run = env.stablehand("decode").flag("--agent", dialect).args(["--summary"]);
    serde_json::from_slice(&run.stdin(stream).start().finish_alone().stdout).unwrap()
}

#[test]
fn every_scene_that_ends_is_decoded_whole_in_every_dialect() {
    let env = place();
    let list = env.stablehand("fake-agent").args(["--list"]).finish().stdout_text();
    let scenes: Vec<&str> = list.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(scenes.len(), 22, "{list}");
    // Those that never end, take their time or leave a process have tests of their own.
    let ends = |scene: &&str| {
        !matches!(*scene, "stall" | "no-exit" | "long-tool" | "background" | "crash" | "ask")
    };
    let scenes: Vec<&str> = scenes.into_iter().filter(ends).collect();
    let check = |dialect: &str, scene: &str| {
        let run = fake(&env, dialect, scene).stdin("feed the ponies").start().finish_alone();
        let head: String = run.stdout_text().chars().take(2000).collect();
        let place = format!("{scene} in {dialect}: {head}");
        let summary = summary(&env, dialect, &run.stdout);
        assert_eq!(summary["unrecognized"], 0, "{place}");
        assert_eq!(summary["noise"], 0, "{place}");
        assert_eq!(summary["torn"], u64::from(scene == "cut"), "{place}");
        assert_eq!(summary["tools"]["unpaired"], 0, "{place}");
        assert_eq!(run.code == Some(0), !scene.starts_with("error-"), "{place}");
    };
    // Most of the time is waiting, so the dialects wait together.
    std::thread::scope(|scope| {
        for dialect in ONE_WAY {
            let (check, scenes) = (&check, &scenes);
            scope.spawn(move || scenes.iter().for_each(|scene| check(dialect, scene)));
        }
    });
    env.assert_nobody_left();
}

#[test]
fn failures_have_the_exit_codes_of_the_real_programs() {
    let env = place();
    for (dialect, scene, code) in [
        ("claude", "error-auth", 1),
        ("codex", "error-rate-limit", 1),
        ("cursor", "error-auth", 1),
        ("gemini", "error-auth", 145),
        ("gemini", "error-rate-limit", 173),
        ("opencode", "error-overloaded", 1),
        ("grok", "error-auth", 1),
        ("agy", "error-auth", 1),
    ] {
        fake(&env, dialect, scene).finish().assert_code(code);
    }
    let run = fake(&env, "codex", "crash").finish();
    assert_eq!(run.signal, Some(Signal::SIGSEGV as i32));
    let again = fake(&env, "gemini", "retry-then-ok").finish();
    assert!(again.stderr.contains("Attempt 1 failed with status 500"), "{}", again.stderr);
}

#[test]
fn native_arguments_name_session_model_and_prompt() {
    let env = place();
    let told = |dialect: &str, args: &[&str]| {
        let run = fake(&env, dialect, "hello").args(["--"]).args(args.iter().copied());
        run.finish().assert_code(0).stdout_json()
    };
    let claude = told("claude", &["-p", "--resume", "s-1", "--model", "m-1", "hi", "--verbose"]);
    assert_eq!((&claude[0]["session_id"], &claude[0]["model"]), (&"s-1".into(), &"m-1".into()));
    let codex = told("codex", &["exec", "--json", "resume", "t-1", "-"]);
    assert_eq!(codex[0]["thread_id"], "t-1");
    let gemini = told("gemini", &["--yolo", "-p", "feed the ponies"]);
    assert_eq!(gemini[1]["content"], "feed the ponies");
    let opencode = told("opencode", &["run", "--session", "ses_1", "feed"]);
    assert_eq!(opencode[0]["sessionID"], "ses_1");
    let partial = told("claude", &["-p", "--include-partial-messages", "hi"]);
    assert!(partial.iter().any(|line| line["event"]["type"] == "content_block_delta"));
    let version = fake(&env, "claude", "hello").args(["--", "--version"]).finish();
    assert_eq!(version.stdout_text(), "2.1.325 (Claude Code)\n");
}

#[test]
fn a_printed_script_can_be_changed_and_played() {
    let env = place();
    let print = fake(&env, "codex", "shell").args(["--print-script"]).finish().stdout_text();
    assert!(print.contains("run c1 30s echo hi\n"), "{print}");
    fs::write(env.path("mine"), print.replace("echo hi", "echo oats; exit 4")).unwrap();
    let run =
        env.stablehand("fake-agent").flag("--dialect", "codex").flag("--script", env.path("mine"));
    let lines = run.args(["--prompt", "x"]).finish().assert_code(0).stdout_json();
    let command = lines.iter().find(|line| line["item"]["exit_code"] == 4).unwrap();
    assert_eq!(command["item"]["aggregated_output"], "oats\n");
    fs::write(env.path("mine"), "init\nfly away\n").unwrap();
    let bad = env.stablehand("fake-agent").flag("--script", env.path("mine")).finish();
    assert!(
        bad.assert_code(64).stderr.contains("line 2 of the script: unknown step"),
        "{}",
        bad.stderr
    );
}

#[test]
fn what_cannot_be_is_refused_with_what_there_is() {
    let env = place();
    let refused = |dialect: &str, scene: &str, words: &str| {
        let run = fake(&env, dialect, scene).finish();
        assert!(run.assert_code(64).stderr.contains(words), "{}", run.stderr);
    };
    refused("copilot", "hello", "there is: cursor, claude");
    refused("codex", "dance", "no scene `dance`");
    refused("gemini", "ask", "not possible in the `gemini` dialect");
    fake(&env, "codex", "hello").flag("--speed", "0").finish().assert_code(64);
}

#[test]
fn scenes_without_an_end_go_on_until_they_are_ended() {
    let env = place();
    for (dialect, scene) in [("claude", "stall"), ("opencode", "no-exit")] {
        let run = fake(&env, dialect, scene).start();
        std::thread::sleep(ms(400));
        run.signal(Signal::SIGTERM);
        let run = run.finish();
        assert_eq!(run.signal, Some(Signal::SIGTERM as i32), "{scene}");
        assert!(!run.stdout.is_empty(), "{scene} said something first");
    }
}

#[test]
fn a_record_has_what_it_was_given_and_a_start_has_its_section() {
    let env = place();
    fs::write(
        env.path("mine"),
        "init\nassistant One.\ndone\n---\ninit\nassistant Two.\nspawn setsid for 2s\ndone\n",
    )
    .unwrap();
    let start = || {
        env.stablehand("fake-agent")
            .flag("--script", env.path("mine"))
            .flag("--record", env.record_dir())
            .stdin("feed")
            .args(["--", "--print"])
            .start()
            .finish_alone()
    };
    assert!(start().stdout_text().contains("One."));
    assert!(start().stdout_text().contains("Two."));
    assert_eq!(env.record("2.stdin"), "feed");
    assert!(env.argv(1).contains(&"--print".to_owned()));
    assert!(env.has_record("2.child-1.pid") && !env.living().is_empty(), "its child lives");
    start().assert_code(1);
}

/// Shims in a folder whose name is hard to quote.
fn shims(env: &TestEnv, scene: &str) -> std::path::PathBuf {
    let folder = env.path("it's a \"bin\" $HOME");
    let run = env.stablehand("fake-agent").flag("--shims", &folder).flag("--scene", scene);
    let written = run.finish().assert_code(0).stdout_text();
    assert_eq!(written.lines().count(), 9, "{written}");
    folder
}

#[test]
fn shims_stand_in_for_the_real_programs() {
    let env = place();
    // The binary too may be anywhere.
    let odd = env.path("a 'quoted' folder");
    fs::create_dir(&odd).unwrap();
    let binary = odd.join("stablehand");
    fs::copy(&env.bins().stablehand, &binary).unwrap();
    let there = TestEnv::new(stablehand_testkit::Bins { stablehand: binary, ..env.bins().clone() });
    let folder = shims(&there, "hello");
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    for agent in ONE_WAY {
        let run = |variable: (&str, &str)| {
            there
                .stablehand("run")
                .flag("--agent", agent)
                .flag("--log-dir", there.log_dir())
                .flag("--output-format", "text")
                .variable("PATH", path.clone())
                .variable(variable.0, variable.1)
                .args(["feed"])
                .finish()
        };
        let hello = run(("NOTHING", ""));
        assert!(
            hello.assert_code(0).stdout_text().contains("Hello from the fake agent."),
            "{agent}"
        );
        let other = run(("STABLEHAND_FAKE_SCENE", "failing-tool"));
        assert!(
            other.assert_code(0).stdout_text().contains("The command failed with 3."),
            "{agent}"
        );
    }
    let text = fs::read_to_string(folder.join("codex")).unwrap();
    assert!(text.starts_with("#!/bin/sh\n") && text.contains("exec '"), "{text}");
}

#[test]
fn shims_overwrite_each_other_and_nothing_else() {
    let env = place();
    let folder = shims(&env, "hello");
    assert_eq!(shims(&env, "shell"), folder, "ours are written anew");
    let mode = |name: &str| fs::metadata(folder.join(name)).unwrap().permissions().mode();
    assert_eq!(mode("claude") & 0o777, 0o755);
    let theirs = folder.join("codex");
    fs::write(&theirs, "#!/bin/sh\nexec /opt/codex \"$@\"\n").unwrap();
    let before = fs::read(folder.join("claude")).unwrap();
    let run =
        env.stablehand("fake-agent").flag("--shims", &folder).flag("--scene", "stall").finish();
    assert!(run.assert_code(1).stderr.contains("is not a shim"), "{}", run.stderr);
    assert!(fs::read_to_string(&theirs).unwrap().contains("/opt/codex"));
    assert_eq!(fs::read(folder.join("claude")).unwrap(), before, "nothing was written");
    fs::remove_file(&theirs).unwrap();
    std::os::unix::fs::symlink("/bin/true", &theirs).unwrap();
    env.stablehand("fake-agent").flag("--shims", &folder).finish().assert_code(1);
    assert_eq!(fs::read_link(&theirs).unwrap(), Path::new("/bin/true"));
}

#[test]
fn a_supervisor_deals_with_every_bad_scene_of_every_agent() {
    let env = place();
    let folder = shims(&env, "hello");
    let end = |scene: &str, agent: &str| {
        let program = if agent == "cursor" { "cursor-agent" } else { agent };
        let run = env
            .stablehand("run")
            .flag("--agent", agent)
            .flag("--agent-bin", folder.join(program))
            .flag("--log-dir", env.log_dir())
            .flag("--idle-timeout", "1s")
            .flag("--exit-grace", "500ms")
            .flag("--retries", "0")
            .flag("--output-format", "events")
            .variable("STABLEHAND_FAKE_SCENE", scene)
            .args(["feed"])
            .deadline(secs(40));
        let run = run.start().finish_alone();
        let last = run.stdout_json().pop().unwrap();
        assert_eq!(last["event"]["type"], "session.ended", "{scene} of {agent}: {last}");
        let end = last["event"]["end"].as_str().unwrap_or_default().to_owned();
        (run.code, end, last)
    };
    // One after the other would be a matter of waiting.
    std::thread::scope(|scope| {
        for agent in ONE_WAY {
            scope.spawn(move || {
                for (scene, code, expected) in [
                    ("stall", 2, "hung"),
                    ("no-exit", 0, "success"),
                    ("background", 0, "success"),
                    ("crash", 1, "no_result"),
                    ("cut", 1, "truncated"),
                ] {
                    let (found, word, last) = end(scene, agent);
                    assert_eq!(
                        (found, word.as_str()),
                        (Some(code), expected),
                        "{scene} of {agent}: {last}"
                    );
                }
            });
        }
    });
    env.assert_nobody_left();
}

#[test]
fn a_shim_runs_the_hooks_of_its_workspace_unless_it_is_told_not_to() {
    let env = place();
    fs::write(env.path("script"), "init\nprompt\nrun c1 30s touch ran\ndone\n").unwrap();
    env.stablehand("fake-agent")
        .flag("--shims", env.path("bin"))
        .flag("--script", env.path("script"))
        .finish()
        .assert_code(0);
    let file = env.work().join(".cursor/hooks.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let hooks = r#"{"version":1,"hooks":{"preToolUse":[{"command":"echo no oats; exit 2"}]}}"#;
    fs::write(&file, hooks).unwrap();
    let shim = env.path("bin/cursor-agent").display().to_string();
    let run = |variables: &[(&str, &str)]| {
        let mut run = env.stablehand("-p").through(["sh", "-c", &format!("exec {shim} -p feed")]);
        for (name, value) in variables {
            run = run.variable(name, *value);
        }
        run.finish()
    };
    let refused = run(&[]);
    refused.assert_code(0);
    assert!(refused.stdout_text().contains(r#""rejected":{"command":"touch ran""#));
    assert!(!env.work().join("ran").exists());
    run(&[("STABLEHAND_FAKE_HOOKS", "old")]).assert_code(0);
    assert!(env.work().join("ran").exists(), "an old program knows no `preToolUse`");

    fs::remove_file(env.work().join("ran")).unwrap();
    let plain = env.stablehand("fake-agent").flag("--script", env.path("script"));
    plain.args(["--no-hooks", "--prompt", "hi"]).finish().assert_code(0);
    assert!(env.work().join("ran").exists());
}
