//! Conversations with the real programs: many turns, questions before they act, interrupts.
//!
//! Claude Code and Codex listen while they work, and are one process for all turns; the others are
//! started anew for each and resumed.

use crate::support::{Told, for_main_agents, told, with};
use nix::sys::signal::Signal;
use stablehand_testkit::Run;
use stablehand_testkit::llm::scene::{HELLO, WRITTEN};
use stablehand_testkit::real::{Real, RealAgent};

for_main_agents!(many_turns);

fn talk<'r>(real: &'r Real, scene: &str) -> Run<'r> {
    real.stablehand("talk", scene)
}

fn many_turns(real: &Real) {
    let told = told(talk(real, "hello").stdin("The pony is called Dapple.\nWhat is it called?\n"));
    told.finished.assert_code(0);
    assert_eq!(told.messages(), [HELLO, HELLO]);
    let ends = told.all("turn.ended");
    assert!(ends.iter().all(|end| end["end"]["kind"] == "done") && ends.len() == 2, "{ends:?}");
    let listens = matches!(real.agent, RealAgent::Claude | RealAgent::Codex);
    let log = real.env.log();
    assert_eq!(log.all("agent_spawned").len(), if listens { 1 } else { 2 });
    let last = real.llm.main_requests().pop().unwrap();
    assert!(last.prompt().contains("What is it called?"), "{:?}", last.prompt());
    assert!(last.body.contains("Dapple"), "the model knows what was said before");
}

/// A file is written only if somebody said yes, and the model is told if somebody said no.
fn question(real: &Real) {
    for (policy, written) in [("deny", false), ("allow", true)] {
        let path = real.env.work().join(format!("{policy}.txt"));
        let prompt = format!("Write the list to {}\n", path.display());
        let told = told(talk(real, "write-file").flag("--approvals", policy).stdin(prompt));
        told.finished.assert_code(0);
        let resolved = told.one("approval.resolved");
        assert_eq!((&resolved["choice"], &resolved["by"]), (&policy.into(), &"setting".into()));
        assert!(told.one("approval.requested")["what"].as_str().unwrap().contains(policy));
        assert_eq!(std::fs::read_to_string(&path).ok().as_deref(), written.then_some(WRITTEN));
        let outcome = &told.tools()[0]["outcome"]["kind"];
        assert_eq!(outcome, if written { "success" } else { "rejected" }, "{:?}", told.events);
    }
}

/// A command that the rules deny is not run, although the agent takes it for harmless, and the model
/// is told why; one that they allow runs.
fn ruled(real: &Real) {
    for (action, runs) in [("deny", false), ("allow", true)] {
        let file = real.env.path("rules.toml");
        let rule = format!(
            "[[policy.rule]]\nname = \"words\"\ncommand = [\"echo *\", \"printf *\"]\n\
             action = \"{action}\"\nreason = \"quiet hours\"\n"
        );
        std::fs::write(&file, rule).unwrap();
        let run = real.stablehand("run", "shell").flag("--policy", &file).args(["Run it."]);
        let told = told(run);
        told.finished.assert_code(0);
        let tool = told.tools()[0];
        assert_eq!(tool["outcome"]["kind"], if runs { "success" } else { "rejected" }, "{tool}");
        let by = told.one("approval.resolved")["by"].as_str().unwrap();
        assert!(by.contains("`words`") && by.contains("rules.toml:1"), "{by}");
        let last = real.llm.main_requests().pop().unwrap();
        assert_eq!(last.body.contains("neigh\\nwhinny"), runs, "{}", last.body);
        assert_eq!(last.body.contains("quiet hours"), !runs, "{}", last.body);
    }
}

/// Ctrl-C ends the turn; the same process takes the next prompt.
fn interrupt(real: &Real) {
    let run = talk(real, "stall").flag("--output-format", "events");
    let mut running = run.stdin_open().start();
    for turn in 1..=2 {
        running.type_line("Say something.");
        let asked = || real.llm.main_requests().len() >= turn;
        real.env.wait_for("a request to the model", asked);
        // Codex shows the turn, Claude Code the first words.
        real.env.wait_for("the turn", || {
            running.stdout_so_far().matches(r#""type":"turn.started""#).count() >= turn
        });
        running.signal(Signal::SIGINT);
        real.env.wait_for("the end of the turn", || {
            running.stdout_so_far().matches(r#""type":"turn.ended""#).count() >= turn
        });
    }
    running.close_stdin();
    let finished = running.finish();
    finished.assert_code(130);
    let told = Told::from(finished);
    let ends = told.all("turn.ended");
    assert!(ends.iter().all(|end| end["end"]["kind"] == "cancelled"), "{ends:?}");
    let log = real.env.log();
    assert_eq!((log.all("agent_spawned").len(), log.has("cancel_ignored")), (1, false));
    assert_eq!(log.one("run_ended")["forced"], false);
}

#[test]
fn claude_asks_before_it_writes() {
    with(RealAgent::Claude, question);
}

#[test]
fn codex_asks_before_it_writes() {
    with(RealAgent::Codex, question);
}

#[test]
fn claude_runs_only_what_the_rules_allow() {
    with(RealAgent::Claude, ruled);
}

#[test]
fn claude_is_interrupted_and_stays() {
    with(RealAgent::Claude, interrupt);
}

#[test]
fn codex_is_interrupted_and_stays() {
    with(RealAgent::Codex, interrupt);
}
