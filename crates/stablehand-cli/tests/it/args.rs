//! The command line: flags, durations, what the agent is started with, and usage errors.

use crate::support::{GOOD, PROMPT, env, print, secs};

#[test]
fn the_agent_gets_its_arguments_in_order() {
    let env = env(GOOD);
    print(&env).finish().assert_code(0);
    assert_eq!(env.argv(1), ["--print", "--output-format", "stream-json", "--force"]);
}

#[test]
fn all_options_and_extra_flags_reach_the_agent_in_order() {
    let env = env(GOOD);
    let work = env.work().to_string_lossy().into_owned();
    let run = env
        .cursor_wrap()
        .flag("--resume", "s-7")
        .flag("--model", "pony-2")
        .flag("--workspace", &work)
        .args(["-p", PROMPT, "--", "--approve-mcps", "-x", "--", "last"])
        .finish();
    run.assert_code(0);
    let expected = [
        "--print",
        "--output-format",
        "stream-json",
        "--resume",
        "s-7",
        "--force",
        "--model",
        "pony-2",
        "--workspace",
        &work,
        "--approve-mcps",
        "-x",
        "--",
        "last",
    ];
    assert_eq!(env.argv(1), expected);
    assert_eq!(env.record("1.stdin").trim(), PROMPT, "extra flags are no prompt");
}

#[test]
fn force_can_be_turned_off() {
    let env = env(GOOD);
    env.cursor_wrap().args(["-p", "--force=false", PROMPT]).finish().assert_code(0);
    assert!(!env.argv(1).contains(&"--force".to_owned()));
}

#[test]
fn words_are_joined_to_one_prompt() {
    let env = env(GOOD);
    env.cursor_wrap().args(["-p", "feed", "the", "ponies"]).finish().assert_code(0);
    assert_eq!(env.record("1.stdin").trim(), "feed the ponies");
}

#[test]
fn the_prompt_is_read_from_stdin_to_its_end_and_trimmed() {
    let env = env(GOOD);
    let run = env.cursor_wrap().args(["-p"]).stdin("\n  feed\n\nthe ponies \n\n").finish();
    run.assert_code(0);
    assert_eq!(env.record("1.stdin").trim(), "feed\n\nthe ponies");
}

#[test]
fn no_prompt_exits_1_and_says_so() {
    let env = env(GOOD);
    for stdin in ["", " \n\t\n"] {
        let run = env.cursor_wrap().args(["-p"]).stdin(stdin).finish();
        run.assert_code(1).assert_within(secs(3));
        assert!(run.stderr.contains("no prompt provided"), "{}", run.stderr);
    }
    assert_eq!(env.starts(), 0);
}

#[test]
fn a_prompt_that_looks_like_a_flag_is_data_on_stdin() {
    let env = env(GOOD);
    env.cursor_wrap().args(["-p"]).stdin("--force; rm -rf /").finish().assert_code(0);
    assert_eq!(env.record("1.stdin").trim(), "--force; rm -rf /");
}

#[test]
fn durations_are_written_as_in_go() {
    for duration in ["90s", "1500ms", "1m30s", "1h", "1.5s", "2h45m30s"] {
        let env = env(GOOD);
        print(&env).flag("--idle-timeout", duration).finish().assert_code(0);
    }
}

#[test]
fn bad_flags_are_refused_before_the_agent_starts() {
    let env = env(GOOD);
    for (flag, value) in [
        ("--idle-timeout", "soon"),
        ("--idle-timeout", "10"),
        ("--tick-interval", "-1s"),
        ("--output-format", "yaml"),
        ("--log-level", "loud"),
        ("--max-hang-retries", "many"),
        ("--no-such-flag", "x"),
    ] {
        let run = print(&env).without(flag).args([&*format!("{flag}={value}")]).finish();
        let code = run.code.expect("an exit code");
        assert!(code != 0 && code != 2, "`{flag} {value}` gave {code}: {}", run.stderr);
        assert!(run.stderr.contains(flag), "it names the flag: {}", run.stderr);
    }
    assert_eq!(env.starts(), 0);
}

#[test]
fn usage_errors_of_stablehand_exit_64() {
    let env = env(GOOD);
    for args in [
        &["--idle-timeout=soon"][..],
        &["--no-such-flag"],
        &["--output-format=yaml"],
        &["--agent=horse"],
    ] {
        let run = env.stablehand("run").args(["-p", PROMPT]).args(args.iter().copied()).finish();
        run.assert_code(64).assert_within(secs(3));
    }
    env.stablehand("gallop").finish().assert_code(64);
    env.stablehand("decode").args(["--agent", "horse"]).finish().assert_code(64);
    assert_eq!(env.starts(), 0);
}

#[test]
fn help_and_version_exit_0_and_help_lists_the_exit_codes() {
    let env = env(GOOD);
    let help = env.stablehand("--help").finish();
    help.assert_code(0);
    for code in ["64", "73", "128"] {
        assert!(help.stdout_text().contains(code), "exit code {code} is listed");
    }
    env.stablehand("--version").finish().assert_code(0);
    let help = env.cursor_wrap().args(["--help"]).finish();
    help.assert_code(0);
    for flag in [
        "--print",
        "--output-format",
        "--idle-timeout",
        "--tool-grace",
        "--tick-interval",
        "--log-dir",
        "--log-level",
        "--log-sync",
        "--agent-bin",
        "--model",
        "--workspace",
        "--force",
        "--resume",
        "--prompt-after-hang",
        "--max-hang-retries",
    ] {
        assert!(help.stdout_text().contains(flag), "`{flag}` is in the help");
    }
}

#[test]
fn the_agent_is_told_that_nobody_is_there() {
    let env = env(GOOD);
    print(&env).finish().assert_code(0);
    let variables = env.agent_env(1);
    for (name, value) in [("GIT_TERMINAL_PROMPT", "0"), ("PAGER", "cat")] {
        assert_eq!(variables.get(name).map(String::as_str), Some(value), "{name}");
    }
    assert!(variables.contains_key("CI"));
}
