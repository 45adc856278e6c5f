//! `stablehand policy`: decisions with their rule, file and line, tables of cases, and whose files hold.

use crate::support::{bins, secs};
use stablehand::policy_world::FileWorld;
use stablehand_core::event::{ToolInput, ToolKind};
use stablehand_policy::{Action, Call, Policy};
use stablehand_testkit::TestEnv;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

fn env() -> TestEnv {
    TestEnv::new(bins())
}

fn check(env: &TestEnv, args: &[&str]) -> (i32, String) {
    let run = env.stablehand("policy").args(["check"]).args(args.iter().copied()).finish();
    run.assert_within(secs(10));
    (run.code.expect("an exit code"), run.stdout_text())
}

#[test]
fn the_decision_comes_with_its_rule_file_and_line() {
    let env = env();
    let file = env.work().join("mine.toml");
    fs::write(
        &file,
        "[policy]\ndefault = 'deny'\n\n[[policy.rule]]\nname = 'looking'\ncommand = ['git status', 'git log *']\naction = 'allow'\n\n[[policy.rule]]\ncommand = 'git push *'\naction = 'ask'\nreason = 'it leaves the house'\n",
    )
    .unwrap();
    let policy = file.to_str().unwrap();
    let call = |command: &str| {
        check(
            &env,
            &["--policy", policy, "--agent", "cursor", "--tool", "Shell", "--command", command],
        )
    };
    let (code, said) = call("git status");
    assert_eq!(code, 0);
    assert!(
        said.contains(&format!(
            "allow: command git status: allowed by rule `looking` ({policy}:4)"
        )),
        "{said}"
    );
    let (code, said) = call("git status && git push");
    assert_eq!(code, 4);
    assert!(said.contains(&format!("the rule at {policy}:9 asks: it leaves the house")), "{said}");
    assert!(said.contains("when nobody is there: deny"), "{said}");
    let (code, said) = call("git log --output=x");
    assert_eq!(code, 3);
    assert!(
        said.contains("`--output=x` can make it run another command or write a file"),
        "{said}"
    );
}

#[test]
fn the_decision_can_be_json() {
    let env = env();
    let (code, said) = check(&env, &["--profile", "read-only", "--command", "rm x", "--json"]);
    assert_eq!(code, 3);
    let decision: serde_json::Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!(decision["action"], "deny");
    assert_eq!(decision["rule"]["name"], "no-changes");
    assert_eq!(decision["rule"]["file"], "profile:read-only");
}

#[test]
fn links_of_the_workspace_are_followed() {
    let env = env();
    symlink("/etc", env.work().join("out")).unwrap();
    symlink("/etc/not-there-yet", env.work().join("dangling")).unwrap();
    for (path, code) in [
        ("new.txt", 0),
        ("a/b/c", 0),
        ("out/x", 3),
        ("dangling", 3),
        ("../x", 3),
        (".git/config", 4),
    ] {
        let got = check(&env, &["--profile", "workspace-write", "--tool", "Write", "--path", path]);
        assert_eq!(got.0, code, "{path}: {}", got.1);
    }
}

#[test]
fn a_project_may_narrow_and_not_widen() {
    let env = env();
    let config = env.home().join(".config/stablehand/config.toml");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    let mine = "[[policy.rule]]\ncommand = 'make *'\naction = 'allow'\n";
    fs::write(&config, mine).unwrap();
    let project = "[policy]\ndefault = 'allow'\n[[policy.rule]]\naction = 'allow'\n[[policy.rule]]\ncommand = 'make deploy'\naction = 'deny'\n";
    fs::write(env.work().join("stablehand.toml"), project).unwrap();
    let code = |command: &str| check(&env, &["--command", command]).0;
    assert_eq!((code("make test"), code("make deploy"), code("rm x")), (0, 3, 4));
    fs::write(&config, format!("[policy]\ntrust_project = true\n{mine}")).unwrap();
    assert_eq!((code("make test"), code("make deploy"), code("rm x")), (0, 3, 0));
    // The files that decide cannot be opened by a wildcard.
    let wide = "[policy]\n[[policy.rule]]\ntool = 'edit'\npath = '/**'\naction = 'allow'\n";
    fs::write(&config, wide).unwrap();
    let write = |path: &Path| check(&env, &["--tool", "Write", "--path", path.to_str().unwrap()]).0;
    assert_eq!((write(&config), write(&env.work().join("x"))), (4, 0));
}

#[test]
fn our_tables_hold_and_a_wrong_case_is_told() {
    let env = env();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/policy");
    let tables: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let run = env
        .stablehand("policy")
        .args(["test"])
        .args(tables.iter().map(|table| table.to_str().unwrap()))
        .finish();
    run.assert_code(0).assert_within(secs(15));
    assert!(run.stdout_text().contains("all as expected"), "{}", run.stdout_text());

    let table = env.work().join("cases.toml");
    fs::write(&table, "[[case]]\nname = 'pony'\ncommand = ['ls', 'rm x']\nexpect = 'allow'\n")
        .unwrap();
    let test = || env.stablehand("policy").args(["test", table.to_str().unwrap()]);
    let run = test().args(["--profile", "read-only"]).finish();
    run.assert_code(1);
    let said = run.stdout_text();
    assert!(said.contains("cases.toml:1 (pony): expected allow, got deny"), "{said}");
    assert!(said.contains("2 cases, 1 not as expected"), "{said}");
    // Without a policy there is nothing to test.
    test().finish().assert_code(64);
}

#[test]
fn mistakes_are_refused_with_their_place() {
    let env = env();
    let file = env.work().join("p.toml");
    for (text, expected) in [
        ("[policy]\ndefualt = 'deny'\n", ":2:1: unknown field `defualt`"),
        ("[[policy.rule]]\nagent = 'cursr'\naction = 'deny'\n", "no agent is called so"),
    ] {
        fs::write(&file, text).unwrap();
        let run = env
            .stablehand("policy")
            .args(["check", "--command", "ls", "--policy"])
            .args([file.to_str().unwrap()])
            .finish();
        run.assert_code(1);
        assert!(run.stderr.contains(expected), "{}", run.stderr);
    }
    for args in [
        &["check"][..],
        &["check", "--command", "ls", "--agent", "horse"],
        &["check", "--command", "ls", "--profile", "wild"],
        &["check", "--command", "ls", "--path", "x"],
        &["show", "wild"],
        &["test"],
    ] {
        env.stablehand("policy").args(args.iter().copied()).finish().assert_code(64);
    }
}

#[test]
fn profiles_can_be_printed_and_used_as_files() {
    let env = env();
    for profile in ["read-only", "workspace-write", "no-network", "yolo"] {
        let shown = env.stablehand("policy").args(["show", profile]).finish();
        shown.assert_code(0);
        let file = env.work().join(profile);
        fs::write(&file, shown.stdout).unwrap();
        let policy = file.to_str().unwrap();
        let by_file = check(&env, &["--policy", policy, "--command", "rm x"]).0;
        assert_eq!(
            by_file,
            check(&env, &["--profile", profile, "--command", "rm x"]).0,
            "{profile}"
        );
    }
    let list = env.stablehand("policy").args(["show"]).finish();
    assert!(list.assert_code(0).stdout_text().contains("workspace-write"));
}

/// Pieces of shell that are put together at random.
const PIECES: &[&str] = &[
    "git",
    "status",
    " ",
    " ",
    " ",
    "\t",
    "\n",
    ";",
    "&&",
    "||",
    "|",
    "&",
    "'",
    "\"",
    "\\",
    "$",
    "(",
    ")",
    "$(",
    "`",
    "{",
    "}",
    "x",
    "=",
    "!",
    "*",
    "~",
    "#",
    " #",
    "<<EOF\n",
    "\nEOF\n",
    "<<-E\n",
    "\tE\n",
    "<<'E'\n",
    "if ",
    "then ",
    "fi",
    "case ",
    "esac",
    "git status",
    "git status",
    "\\\n",
    "$'",
    "\"\"",
    "''",
    "((",
    "))",
    "[[",
    "]]",
    "${",
    "#\n",
    ";;",
    "()",
    "-",
    "2>&1",
    ">&2",
    "\u{a0}",
    "evil",
    "time ",
];

/// Our reading of a command line against the shell's own: whatever a policy for `git status` and
/// `git log *` allows is run by a real shell, in which every other command would be noticed.
#[test]
fn what_is_allowed_runs_nothing_else_in_a_real_shell() {
    let Ok(bash) = Path::new("/bin/bash").canonicalize() else {
        return crate::support::skip("there is no /bin/bash to compare with");
    };
    let env = env();
    let (bin, log) = (env.path("bin"), env.path("calls"));
    fs::create_dir(&bin).unwrap();
    for name in ["git", "evil"] {
        let stub =
            format!("#!{}\nprintf '%s\\n' \"{name} $1 $#\" >> {}\n", bash.display(), log.display());
        fs::write(bin.join(name), stub).unwrap();
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let text = "[[policy.rule]]\ncommand = ['git status', 'git log *']\naction = 'allow'";
    let policy = Policy::parse(text, "test").unwrap();
    let world = FileWorld::new(&env.work(), None, &[]);
    let mut seed = 0x5eed_u64;
    let mut random = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed % below as u64).unwrap()
    };
    let mut tried = 0;
    while tried < 150 {
        let mut command = ["", "git log ", "git status ", "git log x"][random(4)].to_owned();
        for _ in 0..=random(11) {
            command.push_str(PIECES[random(PIECES.len())]);
        }
        let input = ToolInput::Command { command: command.clone(), cwd: None };
        let (tool, kind, arguments) = ("Shell", ToolKind::Execute, serde_json::Value::Null);
        let call = Call {
            agent: "any",
            tool,
            kind,
            input: &input,
            also: &[],
            arguments: &arguments,
            cwd: None,
        };
        if policy.decide(&call, &world).action != Action::Allow {
            continue;
        }
        tried += 1;
        fs::write(&log, "").unwrap();
        let mut shell = Command::new(&bash);
        shell.arg("-c").arg(&command).env_clear().env("PATH", &bin).current_dir(env.work());
        let run = shell
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        assert!(!said.contains("not found"), "{command:?} ran another command: {said}");
        for call in fs::read_to_string(&log).unwrap().lines() {
            assert!(
                call == "git status 1" || call.starts_with("git log "),
                "{command:?} ran {call:?}"
            );
        }
        assert_eq!(fs::read_dir(env.work()).unwrap().count(), 0, "{command:?} made a file");
    }
}
