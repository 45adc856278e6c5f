//! The real programs, spoken with in the Agent Client Protocol.

use crate::support::{
    Told, command, for_each_of, for_main_agents, for_quick_agents, in_a_tool, told, with,
};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use stablehand_core::record::DecisionKind;
use stablehand_testkit::llm::scene::{
    CHORE_FILES, CHORES, HELLO, SHELL_COMMAND, TOOLS_DONE, WRITTEN,
};
use stablehand_testkit::real::{Real, RealAgent};
use std::fs;
use std::time::Duration;

for_main_agents!(hello, shell, interrupted_in_a_tool);
for_quick_agents!(by_command, only_plans);
for_each_of!([claude Claude, gemini Gemini] allowed);
for_each_of!([claude Claude, gemini Gemini, copilot Copilot, qwen Qwen] denied);

/// It asks about no command that its own sandbox confines, but about files where it may only read.
#[test]
fn codex_asks_before_it_writes() {
    with(RealAgent::Codex, |real| {
        for (default, written) in [("deny", false), ("allow", true)] {
            let rules = real.env.path("rules.toml");
            fs::write(&rules, format!("[policy]\ndefault = \"{default}\"\n")).unwrap();
            let path = real.env.work().join(format!("{default}.txt"));
            let prompt = format!("Write the list to {}", path.display());
            let run = real.by_acp("run", "write-file").flag("--policy", rules);
            let told = told(run.args(["--mode", "ask", &prompt]));
            // A refusal is the end of the turn for it.
            told.finished.assert_code(i32::from(!written));
            assert_eq!(told.one("approval.resolved")["choice"], default);
            assert_eq!(fs::read_to_string(&path).ok().as_deref(), written.then_some(WRITTEN));
        }
    });
}

/// The calls that were completed. A call may be announced again, to tell more of it.
fn calls(told: &Told) -> Vec<&Value> {
    let items = told.all("item.completed").into_iter().map(|event| &event["item"]);
    items.filter(|item| item["kind"] == "tool").collect()
}

fn hello(real: &Real) {
    let told = told(real.by_acp("run", "hello").args(["--force", "Say hello."]));
    told.assert_success();
    assert_eq!(told.messages(), [HELLO]);
    assert!(!told.session().is_empty());
    assert_eq!(told.one("process.exited")["forced"], false);
    let used = told.one("turn.ended").pointer("/usage/turn/output").and_then(Value::as_u64);
    assert!(used > Some(0), "{:#?}", told.events);
    assert_eq!(real.llm.main_requests()[0].prompt(), "Say hello.");
    let log = real.env.log();
    assert_eq!(log.one("run_ended")["outcome"], "success");
    assert_eq!(log.one(DecisionKind::LogOpened.name())["dialect"], "acp");
}

/// Nobody has to know which agent it is.
fn by_command(real: &Real) {
    let told = told(real.by_command("run", "hello").args(["--force", "Say hello."]));
    told.assert_success();
    assert_eq!(told.messages(), [HELLO]);
    assert!(real.env.log().one("agent_spawned")["agent"].as_str().unwrap().starts_with("acp:"));
}

fn shell(real: &Real) {
    let told = told(real.by_command("run", "shell").args(["--force", "Run it."]));
    told.assert_success();
    let calls = calls(&told);
    assert_eq!(calls.len(), 1, "{:#?}", told.events);
    assert_eq!(calls[0]["tool_kind"], "execute");
    assert_eq!(calls[0]["outcome"]["kind"], "success");
    if real.agent != RealAgent::Gemini {
        assert!(command(calls[0]).contains(SHELL_COMMAND), "{}", calls[0]);
        let output = calls[0]["output"].as_str().unwrap();
        assert!(output.contains("neigh") && output.contains("whinny"), "{output}");
    }
    assert_eq!(*told.messages().last().unwrap(), TOOLS_DONE);
    assert!(real.llm.main_requests()[1].body.contains("neigh"));
}

/// What was said before is known to the model, and is not told again.
#[test]
fn opencode_resumes() {
    with(RealAgent::OpenCode, resumed);
}

fn resumed(real: &Real) {
    let first = told(real.run("hello").args(["--acp", "The pony is called Dapple."]));
    first.assert_success();
    let session = first.session();
    let second =
        told(real.run("shell").flag("--resume", &session).args(["--acp", "What is its name?"]));
    second.assert_success();
    assert_eq!(second.session(), session);
    assert_eq!(*second.messages().last().unwrap(), TOOLS_DONE);
    assert!(!second.messages().contains(&HELLO));
    let request =
        real.llm.main_requests().into_iter().find(|heard| heard.scene == "shell").unwrap();
    assert!(request.body.contains("Dapple") && request.body.contains(HELLO), "{}", request.body);
}

fn interrupted_in_a_tool(real: &Real) {
    let running = in_a_tool(real, real.by_command("run", "long-tool").args(["--force"]));
    running.signal(Signal::SIGINT);
    running.finish().assert_code(130).assert_within(Duration::from_secs(80));
    assert_eq!(real.env.log().one("run_ended")["outcome"], "interrupted");
}

/// It does everything without asking, so a policy is refused before it is started; and where its own
/// settings make it ask, what it asks can be answered.
#[test]
fn opencode_asks_about_nothing_by_itself() {
    with(RealAgent::OpenCode, |real| {
        let prompt = format!("Do the chores in {}", real.env.work().display());
        let told = told(real.by_acp("run", "chores").args([prompt.as_str()]));
        told.assert_success();
        assert!(CHORES.iter().all(|chore| is_done(real, chore)));
        assert!(told.all("approval.requested").is_empty(), "{:#?}", told.events);
        for run in [real.by_acp("run", "chores"), real.by_command("run", "chores")] {
            let refused = run.flag("--policy", "read-only").args([prompt.as_str()]).finish();
            refused.assert_code(64);
            assert!(refused.stderr.contains("a policy cannot hold it"), "{}", refused.stderr);
        }
    });
}

/// What `OpenCode` asks where its own settings have it ask is answered in its own words.
#[test]
fn opencode_is_denied_what_its_own_settings_make_it_ask() {
    with(RealAgent::OpenCode, |real| {
        let config = real.env.home().join(".config/opencode");
        fs::create_dir_all(&config).unwrap();
        let asks = json!({ "permission": { "bash": "ask" } });
        fs::write(config.join("config.json"), asks.to_string()).unwrap();
        for (approvals, done) in [("deny", false), ("allow", true)] {
            let prompt = format!("Do the chores in {}\n", real.env.work().display());
            let talk = real.by_command("talk", "chores").flag("--approvals", approvals);
            let log = real.env.path(approvals);
            told(talk.flag("--log-dir", log).stdin(prompt)).finished.assert_code(0);
            // It ends its turn at the first refusal.
            assert!(CHORES.iter().all(|chore| is_done(real, chore) == done), "{approvals}");
        }
    });
}

fn is_done(real: &Real, chore: &str) -> bool {
    real.env.work().join(chore.trim_start_matches("touch ")).exists()
}

/// Does the chores under rules; which of them were done, and what was answered.
fn chores(real: &Real, rules: &str) -> ([bool; 2], Vec<String>) {
    let file = real.env.path("rules.toml");
    fs::write(&file, rules).unwrap();
    let prompt = format!("Do the chores in {}", real.env.work().display());
    let run = real.by_command("run", "chores").flag("--policy", file).args([prompt.as_str()]);
    told(run).finished.assert_code(0);
    let log = real.env.log();
    assert!(!log.has("tool_not_asked"), "{:?}", log.names());
    let answers = log.all("approval_resolved").into_iter();
    let answers = answers.map(|record| record["choice"].as_str().unwrap().to_owned()).collect();
    (CHORES.map(|chore| is_done(real, chore)), answers)
}

/// What the agent asks for, the rules allow.
fn allowed(real: &Real) {
    let (done, answers) = chores(real, "[policy]\ndefault = \"allow\"\n");
    assert_eq!(done, [true, true]);
    // New files, whoever writes them.
    for name in CHORE_FILES {
        assert_eq!(fs::read_to_string(real.env.work().join(name)).unwrap(), WRITTEN);
    }
    assert!(!answers.is_empty() && answers.iter().all(|answer| answer == "allow"), "{answers:?}");
}

/// Or deny. Gemini never says which command it asks about, so that a
/// rule about one command holds for all; Claude Code says so and goes on.
fn denied(real: &Real) {
    let rules = "[policy]\ndefault = \"allow\"\n[[policy.rule]]\ncommand = \"touch mucked-out\"\n\
                 action = \"deny\"\nreason = \"not today\"\n";
    let (done, answers) = chores(real, rules);
    assert_eq!(done, [false, real.agent == RealAgent::Claude]);
    assert_eq!(answers.first().map(String::as_str), Some("deny"));
}

/// It has its client run its commands, and asks about none that it takes for harmless: we refuse the
/// command, and its call is then one that it made unasked.
#[test]
fn grok_has_a_denied_command_refused() {
    with(RealAgent::Grok, |real| {
        let file = real.env.path("rules.toml");
        let rules = "[policy]\ndefault = \"allow\"\n[[policy.rule]]\n\
                     command = \"touch mucked-out\"\naction = \"deny\"\n";
        fs::write(&file, rules).unwrap();
        let run = real.by_acp("run", "chores").flag("--policy", file);
        let prompt = format!("Do the chores in {}", real.env.work().display());
        told(run.args([prompt.as_str()])).finished.assert_code(1);
        // The other one is allowed, and may be done before the run is stopped.
        assert!(!is_done(real, CHORES[0]));
        let log = real.env.log();
        let answers = log.all("approval_resolved");
        assert!(answers.iter().any(|answer| answer["choice"] == "deny"), "{answers:?}");
        assert!(log.has("tool_not_asked"), "{:?}", log.names());
    });
}

/// A mode that confines it is set before anything is asked: in the words of modes, or as an option.
fn only_plans(real: &Real) {
    // Codex calls it otherwise.
    let mode = if real.agent == RealAgent::Codex { "ask" } else { "plan" };
    let run = real.by_acp("run", "hello").args(["--mode", mode, "Say hello."]);
    told(run).assert_success();
    let log = real.env.log();
    let said = |told: &&serde_json::Map<String, Value>| {
        let lines = told.get("lines").and_then(Value::as_array);
        lines.into_iter().flatten().any(|line| line["id"] == "stablehand-confine")
    };
    assert_eq!(log.all("told").into_iter().filter(said).count(), 1, "{:?}", log.names());
}

/// What it has us do is done, and is on record.
#[test]
fn gemini_has_files_written_for_it() {
    with(RealAgent::Gemini, |real| {
        let path = real.env.work().join("list.txt");
        let prompt = format!("Write the list to {}", path.display());
        told(real.by_acp("run", "write-file").args(["--force", &prompt])).assert_success();
        assert_eq!(fs::read_to_string(&path).unwrap(), WRITTEN);
        let log = real.env.log();
        let served = |record: &&serde_json::Map<String, Value>| record["what"] == "service";
        assert!(log.all("told").into_iter().any(|record| served(&record)), "{:?}", log.names());
    });
}
