//! Management commands against small fake programs: right answers, and nobody left behind whatever
//! a program does.

use crate::support::{bins, ms, secs};
use serde_json::Value;
use stablehand_testkit::{Run, TestEnv};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

/// A place where PATH has nothing but what a test puts there, so that no real agent is asked.
fn stable() -> TestEnv {
    let env = TestEnv::new(bins());
    fs::create_dir(env.path("bin")).unwrap();
    for tool in ["sh", "sleep", "setsid", "cat", "head", "yes"] {
        let real = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(tool));
        let real = real.iter().find(|path| path.exists()).expect("a usual tool");
        symlink(real, env.path("bin").join(tool)).unwrap();
    }
    env
}

/// An agent that is a shell script.
fn program(env: &TestEnv, name: &str, script: &str) {
    let path = env.path("bin").join(name);
    // Written elsewhere and moved: a program that is open for writing cannot be started.
    let draft = env.path(format!("{name}.draft"));
    fs::write(&draft, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&draft, fs::Permissions::from_mode(0o755)).unwrap();
    fs::rename(draft, path).unwrap();
}

fn ask<'e>(env: &'e TestEnv, words: &[&'e str]) -> Run<'e> {
    let (first, rest) = words.split_first().unwrap();
    let path = env.path("bin").to_string_lossy().into_owned();
    env.stablehand(first).args(rest.iter().copied()).variable("PATH", path)
}

fn json(run: &stablehand_testkit::Finished) -> Value {
    serde_json::from_slice(&run.stdout).unwrap_or_else(|e| panic!("{e}: {}", run.stdout_text()))
}

/// A `codex` that counts how often it is asked, and is logged in while its credential file exists.
const CODEX: &str = r#"
    echo "$*" >> "$HOME/asked"
    case "$*" in
        --version) echo "codex-cli 1.2.3" ;;
        "login status")
            if [ -e "$HOME/.codex/auth.json" ]; then echo "Logged in using ChatGPT" >&2
            else echo "Not logged in" >&2; exit 1; fi ;;
        "mcp list --json")
            echo '[{"name":"hay","enabled":true,"transport":{"type":"stdio","command":"/bin/true",
                "args":["--token","verysecret"],"env":{"KEY":"verysecret"}}}]' ;;
        "logout") echo "Successfully logged out" >&2 ;;
        *) exit 2 ;;
    esac
"#;

fn log_in(env: &TestEnv) {
    fs::create_dir_all(env.home().join(".codex")).unwrap();
    // {"email":"rider@example.com"}
    let token = "e30.eyJlbWFpbCI6InJpZGVyQGV4YW1wbGUuY29tIn0.x";
    let file = format!(r#"{{"tokens":{{"id_token":"{token}","access_token":"verysecret"}}}}"#);
    fs::write(env.home().join(".codex/auth.json"), file).unwrap();
}

fn times_asked(env: &TestEnv) -> usize {
    fs::read_to_string(env.home().join("asked")).unwrap_or_default().lines().count()
}

#[test]
fn the_table_has_everybody_and_the_json_says_the_same() {
    let env = stable();
    program(&env, "codex", CODEX);
    log_in(&env);
    let table = ask(&env, &["agents"]).finish();
    table.assert_code(0);
    let text = table.stdout_text();
    assert!(!text.contains('\u{1b}'), "no colours without a terminal");
    let row = text.lines().find(|line| line.starts_with("codex")).unwrap();
    let words: Vec<_> = row.split_whitespace().collect();
    assert_eq!(words.get(..3).unwrap(), ["codex", "1.2.3", "rider@example.com"]);
    assert!(text.lines().any(|line| line.starts_with("claude") && line.ends_with("not installed")));
    for ability in ["streaming", "resume", "modes", "list models", "hooks", "cloud", "sandbox"] {
        assert!(text.contains(ability), "{ability}");
    }
    let all = ask(&env, &["agents", "--json"]).finish();
    let list = json(&all);
    let names: Vec<_> = list.as_array().unwrap().iter().map(|agent| &agent["agent"]).collect();
    let known = [
        "cursor", "claude", "codex", "gemini", "opencode", "qwen", "copilot", "grok", "agy", "demo",
    ];
    assert_eq!(names, known);
    let codex = &list[2];
    assert_eq!(codex["version"], "1.2.3");
    assert_eq!(codex["login"]["account"], "rider@example.com");
    assert_eq!(codex["login"]["state"], "in");
    assert_eq!(codex["can"]["streaming"], false);
    assert_eq!(codex["can"]["list_models"], true);
    assert_eq!(list[1]["installed"], false);
    assert!(!format!("{text}{list}").contains("verysecret"));
    let one = ask(&env, &["agents", "--agent", "codex"]).finish();
    assert!(one.stdout_text().contains("workspace-write"), "{}", one.stdout_text());
}

#[test]
fn status_exits_like_other_tools_do() {
    let env = stable();
    ask(&env, &["status"]).finish().assert_code(1);
    program(&env, "codex", CODEX);
    let out = ask(&env, &["status"]).finish();
    out.assert_code(1);
    assert!(out.stdout_text().contains("stablehand login --agent codex"));
    log_in(&env);
    // At once, although the former answer is not old: the credential file has changed.
    ask(&env, &["status", "--agent", "codex"]).finish().assert_code(0);
    ask(&env, &["status", "--agent", "demo"]).finish().assert_code(0);
    let missing = ask(&env, &["status", "--agent", "qwen"]).finish();
    missing.assert_code(1);
    assert!(missing.stderr.contains("npm install -g"), "{}", missing.stderr);
    ask(&env, &["status", "--agent", "pony"]).finish().assert_code(64);
    ask(&env, &["status", "--no-such-flag"]).finish().assert_code(64);
}

#[test]
fn answers_are_remembered_for_a_moment_without_secrets() {
    let env = stable();
    program(&env, "codex", CODEX);
    log_in(&env);
    let status = |more: &[&'static str]| {
        let words = [&["status", "--agent", "codex"], more].concat();
        ask(&env, &words).finish().assert_code(0);
        times_asked(&env)
    };
    assert_eq!(status(&[]), 1);
    assert_eq!(status(&[]), 1, "remembered");
    assert_eq!(status(&["--refresh"]), 2);
    assert_eq!(status(&[]), 2, "and that is remembered");
    assert_eq!(status(&["--no-cache"]), 3);
    ask(&env, &["logout", "--agent", "codex"]).finish().assert_code(0);
    assert_eq!(status(&[]), 5, "after a logout nothing is remembered");
    let servers = ask(&env, &["mcp", "list", "--agent", "codex", "--json"]).finish();
    assert_eq!(json(&servers)[0]["mcp"][0]["state"], "enabled");
    let cache = env.home().join(".local/state/stablehand/cache");
    assert_eq!(fs::metadata(&cache).unwrap().permissions().mode() & 0o777, 0o700);
    let mut kept = String::new();
    for entry in fs::read_dir(cache).unwrap() {
        kept.push_str(&fs::read_to_string(entry.unwrap().path()).unwrap());
    }
    assert!(kept.contains("hay"), "{kept}");
    assert!(!format!("{kept}{}", servers.stdout_text()).contains("verysecret"));
}

#[test]
fn a_program_that_hangs_is_ended_with_all_that_it_started() {
    let env = stable();
    program(
        &env,
        "codex",
        "sleep 300 & setsid sleep 300 & trap '' TERM INT; while :; do sleep 300; done",
    );
    let run = ask(&env, &["status", "--agent", "codex", "--timeout", "1s"]).finish();
    run.assert_code(1).assert_within(secs(6));
    let text = run.stdout_text();
    assert!(text.contains("did not answer `codex login status` in 1.0s"), "{text}");
    let models = ask(&env, &["models", "--agent", "codex", "--timeout", "500ms"]).finish();
    models.assert_code(1).assert_within(secs(6));
    assert!(models.stderr.contains("--timeout"), "{}", models.stderr);
}

#[test]
fn whoever_kills_us_leaves_nobody_behind() {
    use nix::sys::signal::Signal;
    for signal in [Signal::SIGINT, Signal::SIGKILL] {
        let env = stable();
        let script = "setsid sleep 300 & echo ready > \"$HOME/ready\"; trap '' TERM; sleep 300";
        program(&env, "codex", script);
        let run = ask(&env, &["status", "--agent", "codex"]).start();
        env.wait_for("the question", || env.home().join("ready").exists());
        run.signal(signal);
        let run = run.finish();
        assert_eq!(run.signal, Some(signal as i32));
    }
}

#[test]
fn one_that_hangs_does_not_delay_the_others() {
    let env = stable();
    program(&env, "codex", CODEX);
    program(&env, "claude", "sleep 300");
    program(&env, "gemini", "echo 0.61.0");
    let run = ask(&env, &["agents", "--json", "--timeout", "2s"]).finish();
    // Two seconds for the one that hangs, which is asked no second question.
    run.assert_code(0).assert_within(secs(5));
    let list = json(&run);
    assert_eq!(list[2]["version"], "1.2.3");
    assert_eq!(list[3]["version"], "0.61.0");
    assert_eq!(list[1]["version"], Value::Null);
    assert!(list[1]["troubles"][0].as_str().unwrap().contains("did not answer"));
}

#[test]
fn noise_is_quoted_briefly_and_cannot_drive_the_terminal() {
    let env = stable();
    program(
        &env,
        "codex",
        r"printf '\033]0;owned\007\033[31mwas ist das \000\377 sk-abcdef0123456789'",
    );
    for command in [&["status"][..], &["models"], &["mcp", "list"]] {
        let words = [command, &["--agent", "codex"]].concat();
        let run = ask(&env, &words).finish();
        run.assert_code(1);
        let said = format!("{}{}", run.stdout_text(), run.stderr);
        assert!(said.contains("could not read codex's answer to `codex "), "{said}");
        assert!(said.contains("was ist das"), "{said}");
        assert!(!said.contains('\u{1b}') && !said.contains("owned"), "{said:?}");
        assert!(!said.contains("sk-abcdef"), "{said}");
    }
}

#[test]
fn megabytes_are_read_to_their_end_and_not_kept() {
    let env = stable();
    program(&env, "codex", "yes hay | head -c 20000000; yes oats | head -c 3000000 >&2");
    let run = ask(&env, &["models", "--agent", "codex"]).finish();
    run.assert_code(1).assert_within(secs(10));
    assert!(run.stderr.contains("hay hay"), "{}", run.stderr);
    assert!(run.stderr.contains("more than 1024 KiB"), "{}", run.stderr);
    assert!(run.stderr.len() < 1000);
    assert!(run.peak_rss_kib < 64 << 10, "{} KiB", run.peak_rss_kib);
}

#[test]
fn a_failure_is_said_with_its_code() {
    let env = stable();
    program(&env, "codex", "echo 'the stable burns' >&2; exit 3");
    let run = ask(&env, &["models", "--agent", "codex"]).finish();
    run.assert_code(1);
    assert!(run.stderr.contains("the stable burns (exit code 3)"), "{}", run.stderr);
    program(&env, "codex", "kill -9 $$");
    let run = ask(&env, &["models", "--agent", "codex"]).finish();
    assert!(run.stderr.contains("ended by signal 9"), "{}", run.stderr);
    fs::write(env.path("bin/codex"), "#!/no/such/interpreter\n").unwrap();
    let run = ask(&env, &["models", "--agent", "codex"]).finish();
    run.assert_code(1);
    assert!(run.stderr.contains("could not be asked"), "{}", run.stderr);
}

#[test]
fn what_a_command_leaves_running_is_ended_without_waiting_for_it() {
    let env = stable();
    // Both hold the pipes open.
    let script = format!("sleep 300 & setsid sleep 300 &\n{CODEX}");
    program(&env, "codex", &script);
    log_in(&env);
    let run = ask(&env, &["status", "--agent", "codex"]).finish();
    run.assert_code(0).assert_within(secs(5));
}

#[test]
fn a_question_has_no_standard_input() {
    let env = stable();
    program(&env, "codex", &format!("cat > \"$HOME/read\"\n{CODEX}"));
    log_in(&env);
    let run = ask(&env, &["status", "--agent", "codex"]).stdin_open().start();
    run.finish().assert_code(0).assert_within(secs(5));
    assert_eq!(fs::read(env.home().join("read")).unwrap(), b"");
}

#[test]
fn an_id_is_enough_where_the_program_stays() {
    let env = stable();
    let id = "0b7c6f0e-0000-4000-8000-000000000001";
    program(&env, "cursor-agent", &format!("echo {id}; sleep 300"));
    let run = ask(&env, &["chats", "new", "--agent", "cursor"]).finish();
    run.assert_code(0).assert_within(secs(5));
    assert_eq!(run.stdout_text(), format!("{id}\n"));
}

#[test]
fn an_older_cursor_is_asked_in_its_own_way() {
    let env = stable();
    let script = r#"case "$*" in
        status) printf '\n \033[32m✓ Logged in as rider@example.com\033[0m\n\n' ;;
        *) echo "error: unknown option '--format'" >&2; exit 1 ;;
    esac"#;
    program(&env, "cursor-agent", script);
    let run = ask(&env, &["status", "--agent", "cursor"]).finish();
    run.assert_code(0);
    assert!(run.stdout_text().contains("logged in as rider@example.com"));
}

#[test]
fn what_an_agent_cannot_do_is_said_without_starting_it() {
    let env = stable();
    program(&env, "claude", "echo started >> \"$HOME/asked\"");
    for words in [&["models"][..], &["mcp", "disable", "hay"], &["chats", "new"]] {
        let words = [words, &["--agent", "claude"]].concat();
        let run = ask(&env, &words).finish();
        run.assert_code(1);
        assert!(run.stderr.contains("not supported: claude cannot"), "{}", run.stderr);
        assert!(run.stderr.contains("hint: "), "{}", run.stderr);
    }
    assert_eq!(times_asked(&env), 0);
    let bad = ask(&env, &["mcp", "login", "--agent", "claude", "--", "--evil"]).finish();
    bad.assert_code(64);
    assert_eq!(times_asked(&env), 0);
}

#[test]
fn a_login_has_the_terminal_and_takes_its_time() {
    let env = stable();
    program(&env, "codex", r#"read code; echo "code $code, $*" > "$HOME/login"; echo welcome"#);
    let run = ask(&env, &["login", "--timeout", "100ms"]).stdin("4711\n").finish();
    run.assert_code(0);
    assert_eq!(run.stdout_text(), "welcome\n");
    assert_eq!(fs::read_to_string(env.home().join("login")).unwrap(), "code 4711, login\n");
    let extra = ask(&env, &["login", "--", "--device-auth"]).stdin("1\n").finish();
    extra.assert_code(0);
    let told = fs::read_to_string(env.home().join("login")).unwrap();
    assert_eq!(told, "code 1, login --device-auth\n");
    program(&env, "codex", "exit 130");
    ask(&env, &["login"]).finish().assert_code(130);
    program(&env, "codex", "exit 7");
    let run = ask(&env, &["login"]).finish();
    run.assert_code(1);
    assert!(run.stderr.contains("exit code 7"), "{}", run.stderr);
    program(&env, "claude", "true");
    let several = ask(&env, &["login"]).finish();
    several.assert_code(64);
    assert!(several.stderr.contains("--agent"), "{}", several.stderr);
}

#[test]
fn a_login_gets_our_signals() {
    let env = stable();
    let script = r#"trap 'echo asked to leave > "$HOME/told"; exit 9' TERM
        echo ready > "$HOME/ready"; while :; do sleep 0.05; done"#;
    program(&env, "codex", script);
    let run = ask(&env, &["login"]).stdin_open().start();
    env.wait_for("the login", || env.home().join("ready").exists());
    std::thread::sleep(ms(50));
    run.signal(nix::sys::signal::Signal::SIGTERM);
    let run = run.finish();
    run.assert_code(1);
    assert!(run.stderr.contains("exit code 9"), "{}", run.stderr);
    assert!(env.home().join("told").exists());
}

#[test]
fn the_doctor_finds_nothing_broken_in_a_healthy_house() {
    let env = stable();
    program(&env, "codex", CODEX);
    log_in(&env);
    let run = ask(&env, &["doctor", "--json"]).deadline(secs(40)).finish();
    run.assert_code(0);
    let report = json(&run);
    assert_eq!(report["broken"], 0);
    let level = |check: &str| {
        let findings = report["findings"].as_array().unwrap();
        let found = findings.iter().find(|finding| finding["check"] == check);
        found.unwrap_or_else(|| panic!("no finding about {check}"))["level"].clone()
    };
    for check in ["codex", "keeper", "logs", "leases", "orphans", "files", "clock", "PATH"] {
        assert_eq!(level(check), "ok", "{check}: {report:#}");
    }
    assert_eq!(level("claude"), "note");
    let logs = env.home().join(".local/state/stablehand/logs");
    assert!(!logs.exists(), "a look makes no folder for logs");
    fs::create_dir_all(&logs).unwrap();
    fs::set_permissions(&logs, fs::Permissions::from_mode(0o755)).unwrap();
    let run = ask(&env, &["doctor"]).deadline(secs(40)).finish();
    run.assert_code(0);
    assert!(run.stdout_text().contains("fix: chmod 700 "), "{}", run.stdout_text());
}

#[test]
fn the_doctor_says_what_is_broken() {
    let env = stable();
    program(&env, "codex", "sleep 300");
    fs::write(env.home().join("file"), "").unwrap();
    let home = env.home().join("file/state").to_string_lossy().into_owned();
    let run = ask(&env, &["doctor", "--json", "--timeout", "1s"])
        .variable("STABLEHAND_HOME", home)
        .deadline(secs(40))
        .finish();
    run.assert_code(1);
    let report = json(&run);
    let findings = report["findings"].as_array().unwrap();
    let broken: Vec<_> = findings
        .iter()
        .filter(|finding| finding["level"] == "broken")
        .map(|finding| finding["check"].as_str().unwrap())
        .collect();
    assert_eq!(broken, ["codex", "logs"], "{report:#}");
    assert!(
        findings.iter().all(|f| f["level"] == "ok" || f["level"] == "note" || f["fix"].is_string())
    );
}

#[test]
fn the_current_model_is_told_from_the_default() {
    let env = stable();
    program(
        &env,
        "cursor-agent",
        "echo 'auto - Auto (default)'; echo 'gpt-6 - GPT 6 (current)'; echo 'opus - Opus'",
    );
    let list = ask(&env, &["models", "--agent", "cursor"]).finish();
    list.assert_code(0);
    let text = list.stdout_text();
    let line = |id: &str| text.lines().find(|line| line.starts_with(id)).unwrap().to_owned();
    assert!(line("auto").ends_with("(default)"), "{text}");
    assert!(line("gpt-6").ends_with("(current)"), "{text}");
    assert!(line("opus").ends_with("Opus"), "{text}");
    let models = json(&ask(&env, &["models", "--agent", "cursor", "--json"]).finish());
    let marks = |model: &Value| (model["default"] == true, model["current"] == true);
    let marks: Vec<_> = models[0]["models"].as_array().unwrap().iter().map(marks).collect();
    assert_eq!(marks, [(true, false), (false, true), (false, false)]);
}

#[test]
fn the_launcher_of_the_editor_is_the_agent_where_nothing_else_is() {
    let env = stable();
    program(&env, "cursor", "[ \"$1\" = agent ] && [ \"$2\" = models ] && echo 'auto - Auto'");
    let list = ask(&env, &["models", "--agent", "cursor"]).finish();
    list.assert_code(0);
    assert!(list.stdout_text().starts_with("auto"), "{}", list.stdout_text());
    let plan = ask(&env, &["run", "--agent", "cursor", "--dry-run", "feed them"]).finish();
    plan.assert_code(0);
    assert_eq!(json(&plan)["args"][0], "agent", "{}", plan.stdout_text());
}

#[test]
fn a_missing_program_is_answered_with_the_command_that_installs_it() {
    let env = stable();
    let install = "npm install -g @openai/codex, or pass --agent-bin PATH";
    for words in [
        &["run", "--agent", "codex", "feed them"][..],
        &["talk", "--agent", "codex"],
        &["acp", "--agent", "codex"],
        &["models", "--agent", "codex"],
        &["login", "--agent", "codex"],
        &["run", "--agent", "codex", "--agent-bin", "./no-such-program", "feed them"],
    ] {
        let run = ask(&env, words).finish();
        run.assert_code(1);
        assert!(run.stderr.contains(install), "{words:?}: {}", run.stderr);
    }
    let run = ask(&env, &["run", "--agent", "codex", "feed them"]).finish();
    let what = "cannot start agent 'codex': program not found in PATH";
    assert!(run.stderr.contains(what), "{}", run.stderr);
    let adapter = ask(&env, &["run", "--agent", "codex", "--acp", "feed them"]).finish();
    assert!(adapter.stderr.contains("@zed-industries/codex-acp"), "{}", adapter.stderr);
    let path = env.path("bin").to_string_lossy().into_owned();
    let wrap = env.cursor_wrap().without("--agent-bin").args(["-p", "hi"]).variable("PATH", path);
    let wrap = wrap.finish();
    wrap.assert_code(1);
    assert!(wrap.stderr.contains("curl https://cursor.com/install -fsS | bash"), "{}", wrap.stderr);
}

#[test]
fn an_agent_that_is_not_logged_in_is_answered_with_the_login() {
    let env = stable();
    program(&env, "cursor-agent", "echo 'Error: Authentication required.' >&2; exit 1");
    for words in [&["run", "--agent", "cursor", "feed them"][..], &["models", "--agent", "cursor"]]
    {
        let run = ask(&env, words).finish();
        run.assert_code(1);
        let hint = "stablehand login --agent cursor";
        assert!(run.stderr.contains(hint), "{words:?}: {}", run.stderr);
    }
}
