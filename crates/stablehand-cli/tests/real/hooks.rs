//! The real programs held by their own hooks: `run --hooks --policy`, and hooks without a run above.
//!
//! What was denied shows on the disk, and in what the model was told next. Which events the programs
//! really call in a run without a terminal is proved here too.

use crate::support::{Told, told, with};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use stablehand::Agent;
use stablehand_testkit::llm::scene::{CHORE_FILES, CHORES, TOOLS_DONE, WRITTEN};
use stablehand_testkit::real::{Real, RealAgent};
use stablehand_testkit::{Run, Running};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// One command and one file are denied.
const RULES: &str = r#"
[policy]
default = "allow"
[[policy.rule]]
name = "stable"
command = "touch mucked-out"
action = "deny"
reason = "quiet hours"
[[policy.rule]]
name = "secrets"
path = "secret.txt"
action = "deny"
reason = "keys stay here"
"#;

/// A settings file of a project's, with a spacing of its own.
const THEIRS: &str = "{ \"ui\" :\t{\"hideTips\": true} }\n";

/// What the model is to know from the beginning.
const CONTEXT: &str = "The pony is called Dapple.";

/// A machine with two processors and other work does in this time whatever is waited for.
const PATIENCE: Duration = Duration::from_mins(1);

struct Names {
    asks: &'static str,
    folder: &'static str,
    /// Those of the events that we ask for that come in a session without a terminal, with tools that
    /// were denied and allowed.
    fired: &'static [&'static str],
}

fn names(real: &Real) -> Names {
    if real.agent == RealAgent::Claude {
        return Names {
            asks: "PreToolUse",
            folder: ".claude",
            fired: &[
                "SessionStart",
                "UserPromptSubmit",
                "PreToolUse",
                "PostToolUse",
                "Stop",
                "SessionEnd",
            ],
        };
    }
    Names {
        asks: "BeforeTool",
        folder: ".gemini",
        fired: &[
            "SessionStart",
            "BeforeAgent",
            "BeforeTool",
            "AfterTool",
            "AfterAgent",
            "SessionEnd",
        ],
    }
}

fn wait_for(what: &str, mut there: impl FnMut() -> bool) {
    let began = Instant::now();
    while !there() {
        assert!(began.elapsed() < PATIENCE, "waited for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn rules(real: &Real) -> PathBuf {
    let file = real.env.path("rules.toml");
    fs::write(&file, RULES).unwrap();
    file
}

/// A run under the rules, with hooks.
fn held<'r>(real: &'r Real, scene: &str) -> Run<'r> {
    let prompt = format!("Do the chores in {}", real.env.work().display());
    let run = real.stablehand("run", scene).flag("--policy", rules(real));
    run.flag("--output-format", "events").args(["--hooks", &prompt])
}

fn is_there(real: &Real, name: &str) -> bool {
    real.env.work().join(name).exists()
}

/// What the user has in their settings beside what the program needs to run at all.
fn add_to_home(real: &Real, more: &Value) {
    let file = real.env.home().join(names(real).folder).join("settings.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let mut settings: Value = fs::read_to_string(&file)
        .map_or_else(|_| json!({}), |text| serde_json::from_str(&text).unwrap());
    for (name, value) in more.as_object().unwrap() {
        settings[name] = value.clone();
    }
    fs::write(&file, settings.to_string()).unwrap();
}

/// A settings file in the workspace, of the program that has its hooks there.
fn project_file(real: &Real) -> PathBuf {
    let file = real.env.work().join(".gemini/settings.json");
    if real.agent == RealAgent::Gemini {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, THEIRS).unwrap();
    }
    file
}

#[track_caller]
fn assert_given_back(real: &Real, file: &Path) {
    if real.agent == RealAgent::Gemini {
        assert_eq!(fs::read_to_string(file).unwrap(), THEIRS);
    }
}

/// Only what the rules deny was not done.
#[track_caller]
fn assert_held(real: &Real) {
    let made = CHORES.map(|command| is_there(real, command.trim_start_matches("touch ")));
    let written = CHORE_FILES.map(|name| fs::read_to_string(real.env.work().join(name)).ok());
    assert_eq!((made, written), ([false, true], [None, Some(WRITTEN.to_owned())]));
}

/// What was denied is not done, and the model is told why. It knows the context from the beginning,
/// and the user's own hooks are called too. A session that goes on is held as well.
fn denied(real: &Real) {
    let file = project_file(real);
    let agent = Agent::by_name(real.agent.name()).unwrap();
    let context = real.env.path("context.md");
    fs::write(&context, CONTEXT).unwrap();
    let run = held(real, "chores").flag("--context", &context);
    let theirs = real.env.path("theirs");
    let command = format!("cat >/dev/null; echo asked >> {}", theirs.display());
    let mut hooks = json!({});
    hooks[names(real).asks] = json!([{ "hooks": [{ "type": "command", "command": command }] }]);
    add_to_home(real, &json!({ "hooks": hooks }));
    let told = Told::from(run.finish());
    told.assert_success();
    assert_held(real);
    assert_eq!(*told.messages().last().unwrap(), TOOLS_DONE);

    let requests = real.llm.main_requests();
    assert_eq!(requests.len(), 5);
    // It went by the hook; where the program puts it is its own business.
    assert!(requests[0].body.contains(CONTEXT), "{}", requests[0].body);
    assert!(real.env.log().has("hook_answered"));
    let heard = |nth: usize, why: &str| requests[nth].body.contains(why);
    assert!(!heard(0, "quiet hours") && heard(1, "quiet hours"), "{}", requests[1].body);
    assert!(!heard(2, "keys stay here") && heard(3, "keys stay here"), "{}", requests[3].body);
    assert_eq!(fs::read_to_string(&theirs).unwrap(), "asked\n".repeat(4));

    let kinds: Vec<_> = told.tools().iter().map(|tool| &tool["outcome"]["kind"]).collect();
    let no = if real.agent == RealAgent::Claude { "rejected" } else { "denied" };
    assert_eq!(kinds, [no, "success", no, "success"]);
    let choices: Vec<_> =
        told.all("approval.resolved").into_iter().map(|event| &event["choice"]).collect();
    assert_eq!(choices, ["deny", "allow", "deny", "allow"]);
    let log = real.env.log();
    assert_eq!((log.all("policy_decided").len(), log.all("approval_resolved").len()), (4, 4));
    assert!(!log.has("tool_not_asked") && !log.has("hook_refused"), "{:?}", log.names());
    assert_given_back(real, &file);

    let fired: BTreeSet<&str> = told
        .all("hook.received")
        .into_iter()
        .map(|event| event["name"].as_str().unwrap())
        .collect();
    assert_eq!(fired, names(real).fired.iter().copied().collect());
    let headless = |name: &&str| agent.hooks().unwrap().event(name).unwrap().headless;
    assert!(fired.iter().all(headless), "{fired:?}");
    assert!(log.has("hooks_tried"));

    let again = held(real, "slow-chore").flag("--resume", told.session());
    let told = Told::from(again.flag("--log-dir", real.env.path("again")).finish());
    told.assert_success();
    assert_eq!(told.one("approval.resolved")["choice"], "deny");
    assert!(!is_there(real, "mucked-out"));
    assert_given_back(real, &file);
}

/// In a conversation each turn is held, and the session is the same.
fn talked(real: &Real) {
    let file = project_file(real);
    let prompt = format!("Do the chores in {}\n", real.env.work().display());
    let run = real.stablehand("talk", "chores").flag("--policy", rules(real));
    let run = run.flag("--output-format", "events").args(["--hooks"]);
    let told = Told::from(run.stdin(format!("{prompt}{prompt}")).finish());
    told.finished.assert_code(0);
    assert_held(real);
    let sessions: BTreeSet<&str> =
        told.all("session.started").iter().map(|it| it["native_id"].as_str().unwrap()).collect();
    assert_eq!((sessions.len(), told.all("process.spawned").len()), (1, 2));
    let log = real.env.log();
    assert_eq!(log.all("hooks_tried").len(), 2);
    assert!(!log.has("tool_not_asked") && !log.has("hook_refused"), "{:?}", log.names());
    assert_given_back(real, &file);
}

/// Settings of the user's that switch all hooks off.
fn switched_off(real: &Real) {
    let run = held(real, "chores");
    add_to_home(
        real,
        &if real.agent == RealAgent::Claude {
            json!({ "disableAllHooks": true })
        } else {
            json!({ "hooksConfig": { "enabled": false } })
        },
    );
    let told = Told::from(run.finish());
    if real.agent == RealAgent::Claude {
        // The run's own settings count more.
        told.assert_success();
        return assert_held(real);
    }
    // Those of the project are not ours to change so far: it is stopped before it does anything.
    assert!(real.env.log().has("hooks_inactive"), "{:?}", real.env.log().names());
    assert_ne!(told.finished.code, Some(0));
    assert_eq!(told.tools(), Vec::<&Value>::new());
    let made = ["mucked-out", "groomed", "secret.txt", "list.txt"];
    assert!(!made.iter().any(|name| is_there(real, name)));
}

/// Holds a run in the middle of a question: the hook has called, and we do not answer.
fn in_a_question(real: &Real) -> Running<'_> {
    let running = held(real, "slow-chore").start();
    wait_for("a request to the model", || !real.llm.main_requests().is_empty());
    running.signal(Signal::SIGSTOP);
    let asks = format!(" {}", names(real).asks);
    let called = |line: &String| line.contains(" hook --agent") && line.trim_end().ends_with(&asks);
    wait_for("a hook that asks", || real.living().values().any(called));
    running
}

/// We are killed while the agent waits for an answer: that is no yes, and nothing of it is left.
fn killed(real: &Real) {
    let file = project_file(real);
    let running = in_a_question(real);
    running.signal(Signal::SIGKILL);
    running.finish_alone();
    wait_for("the end of everybody", || real.living().is_empty());
    assert!(!is_there(real, "mucked-out"));
    assert_given_back(real, &file);
}

/// The same with an interrupt.
fn interrupted(real: &Real) {
    let file = project_file(real);
    let running = in_a_question(real);
    running.signal(Signal::SIGINT);
    running.signal(Signal::SIGCONT);
    running.finish().assert_code(130);
    assert!(!is_there(real, "mucked-out"));
    assert_given_back(real, &file);
}

/// Two runs share the file in their folder, and the last one gives it back.
fn two_at_once(real: &Real) {
    let file = project_file(real);
    let first = held(real, "slow-chore").flag("--log-dir", real.env.path("first")).start();
    wait_for("a request to the model", || !real.llm.main_requests().is_empty());
    let second = held(real, "chores").flag("--log-dir", real.env.path("second")).start();
    let (first, second) = (Told::from(first.finish_alone()), Told::from(second.finish_alone()));
    assert_eq!(first.assert_success().all("approval.resolved").len(), 1);
    assert_eq!(second.assert_success().all("approval.resolved").len(), 4);
    assert_held(real);
    assert_given_back(real, &file);
}

/// In a conversation the program could ask there too; it asks once.
fn asked_once(real: &Real) {
    let told = told(held(real, "chores").flag("--transport", "two-way"));
    told.assert_success();
    assert_held(real);
    assert_eq!(told.all("approval.requested").len(), 4);
    assert_eq!(real.env.log().all("policy_decided").len(), 4);
}

/// Hooks that are installed for good, and a program that somebody starts without us: the user's
/// policy holds it, and without any it does what it always did.
fn by_hand(real: &Real) {
    let prompt = format!("Do the chores in {}", real.env.work().display());
    let args: &[&str] = match real.agent {
        RealAgent::Claude => &["-p", "--dangerously-skip-permissions"],
        _ => &["--yolo", "-p"],
    };
    let config = real.env.home().join(".config/stablehand/config.toml");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    for policy in [true, false] {
        let run = real.by_hand("chores").args(args.iter().copied()).args([prompt.as_str()]);
        let install = real.env.stablehand("hooks").args(["install", "--agent", real.agent.name()]);
        install.args(["--scope", "user"]).finish().assert_code(0);
        if policy {
            fs::write(&config, RULES).unwrap();
        } else {
            fs::remove_file(&config).unwrap();
        }
        let finished = run.finish();
        finished.assert_code(0);
        assert!(finished.stdout_text().contains(TOOLS_DONE), "{}", finished.stdout_text());
        let last = real.llm.main_requests().pop().unwrap();
        assert_eq!(last.body.contains("quiet hours"), policy, "{}", last.body);
        if policy {
            assert_held(real);
        } else {
            let made = ["mucked-out", "groomed", "secret.txt", "list.txt"];
            assert!(made.iter().all(|name| is_there(real, name)));
        }
    }
}

/// A prompt that a rule denies does not reach the model, although we did not start the program.
fn prompt_denied(real: &Real) {
    let prompt = format!("Do the chores in {}", real.env.work().display());
    let args: &[&str] = match real.agent {
        RealAgent::Claude => &["-p", "--dangerously-skip-permissions"],
        _ => &["--yolo", "-p"],
    };
    let config = real.env.home().join(".config/stablehand/config.toml");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    let rule = "[[prompt]]\nmatches = 'chores'\naction = 'deny'\nreason = 'no chores today'\n";
    let run = real.by_hand("chores").args(args.iter().copied()).args([prompt.as_str()]);
    let install = real.env.stablehand("hooks").args(["install", "--agent", real.agent.name()]);
    install.args(["--scope", "user"]).finish().assert_code(0);
    fs::write(&config, rule).unwrap();
    let finished = run.finish();
    let said = format!("{}{}", finished.stdout_text(), finished.stderr);
    assert!(said.contains("no chores today"), "{said}");
    assert!(real.llm.main_requests().is_empty(), "the model was asked");
    assert!(["mucked-out", "groomed"].iter().all(|name| !is_there(real, name)));
}

macro_rules! for_both {
    ($($case:ident),* $(,)?) => {$(
        mod $case {
            use crate::support::with;
            use stablehand_testkit::real::RealAgent;

            #[test]
            fn claude() {
                with(RealAgent::Claude, super::$case);
            }
            #[test]
            fn gemini() {
                with(RealAgent::Gemini, super::$case);
            }
        }
    )*};
}

for_both!(denied, talked, switched_off, killed, interrupted, by_hand, prompt_denied);

#[test]
fn gemini_is_held_twice_in_one_folder() {
    with(RealAgent::Gemini, two_at_once);
}

#[test]
fn claude_asks_once_in_a_conversation() {
    with(RealAgent::Claude, asked_once);
}
