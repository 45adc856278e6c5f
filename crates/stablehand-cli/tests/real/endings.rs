//! Runs that are ended by us: by a signal, by a verdict, by our own death. Nobody may be left.

use crate::support::{
    for_all_agents, for_each_of, for_main_agents, for_quick_agents, in_a_tool, told,
};
use nix::sys::signal::Signal;
use stablehand_testkit::llm::scene::{HELLO, TOOLS_DONE};
use stablehand_testkit::real::{Real, RealAgent};
use std::time::Duration;

for_all_agents!(interrupted_in_a_tool, stalled_then_resumed);
for_main_agents!(background_child, killed_in_a_tool, silent_from_the_start);
for_quick_agents!(stalled_then_tried_again);
for_each_of!([claude Claude] background_agent, background_command);

fn interrupted_in_a_tool(real: &Real) {
    let running = in_a_tool(real, real.run("long-tool"));
    running.signal(Signal::SIGINT);
    running.finish().assert_code(130).assert_within(Duration::from_secs(80));
    let log = real.env.log();
    assert_eq!(log.one("run_ended")["outcome"], "interrupted");
    assert_eq!(log.one("run_ended")["ended_by"], "person");
}

/// The keeper sees that we are gone and ends the tree without us.
fn killed_in_a_tool(real: &Real) {
    let running = in_a_tool(real, real.run("long-tool"));
    running.signal(Signal::SIGKILL);
    let finished = running.finish_alone();
    assert_eq!(finished.signal, Some(Signal::SIGKILL as i32));
}

/// A model that stops in the middle of its answer is found out, and the session can be used again.
fn stalled_then_resumed(real: &Real) {
    let stalled = told(real.run("stall").flag("--idle-timeout", "5s").args(["Say something."]));
    stalled.finished.assert_code(2);
    let logs = real.env.logs();
    let verdict = logs[0].one("hang_detected");
    let shows_pieces = real.agent.row().shows_pieces;
    let expected = if shows_pieces { "idle_after_text" } else { "first_response" };
    assert_eq!(verdict["verdict"], expected);
    assert_eq!(logs[0].one("run_ended")["outcome"], "hung");
    if real.agent == RealAgent::Grok {
        // It names its session when it is done, and not before.
        return;
    }
    let session = stalled.session();
    let again = told(real.run("hello").flag("--resume", &session).args(["Again, please."]));
    again.assert_success();
    assert_eq!(again.session(), session);
    assert_eq!(again.messages(), [HELLO]);
}

/// Not even an answer's head comes.
fn silent_from_the_start(real: &Real) {
    let run = real.run("stall-headers").flag("--idle-timeout", "3s");
    let silent = told(run.flag("--startup-timeout", "35s").args(["Say something."]));
    silent.finished.assert_code(2);
    let expected = if real.agent.row().speaks_first { "first_response" } else { "startup" };
    assert_eq!(real.env.log().one("hang_detected")["verdict"], expected);
    assert!(!real.llm.requests().is_empty());
}

/// We try again by ourselves.
fn stalled_then_tried_again(real: &Real) {
    let run = real.run("stall-once").flag("--idle-timeout", "3s").flag("--retries", "1");
    let told = told(run.args(["Say something."]));
    told.finished.assert_code(0);
    assert_eq!(told.events.last().unwrap()["end"], "success");
    assert_eq!(*told.messages().last().unwrap(), HELLO);
    let log = real.env.log();
    assert_eq!(log.all("agent_spawned").len(), 2);
    assert_eq!(log.all("hang_detected").len(), 1);
    let last = real.llm.main_requests().pop().unwrap();
    assert_eq!(last.prompt(), "Say something.");
}

/// A command left a child behind; the turn succeeds, and the child ends with the run.
fn background_child(real: &Real) {
    let told = told(real.run("background").args(["Start it."]));
    told.assert_success();
    assert_eq!(*told.messages().last().unwrap(), TOOLS_DONE);
    let leaked = told.one("process.exited")["leaked"].as_u64();
    assert!(!real.agent.row().leaves_children || leaked > Some(0), "{leaked:?}");
}

/// A command goes on in the background when the answer has come. Claude Code wakes when it has ended, and
/// its second answer belongs to the turn. In a run of one turn it may end a slow command itself and leave.
fn background_command(real: &Real) {
    for transport in ["pipe", "two-way"] {
        let run = real.run("shell-background").flag("--transport", transport);
        let told = told(run.args(["Have it done."]));
        told.finished.assert_code(0);
        assert_eq!(told.events.last().unwrap()["end"], "success", "{transport}");
        let (fed, results) = (real.env.work().join("fed"), told.all("turn.result").len());
        assert_eq!(results, 1 + usize::from(fed.is_file()), "{transport}");
        assert!(transport == "pipe" || fed.is_file(), "{transport}");
        assert_eq!(told.all("turn.ended").len(), 1, "{transport}");
        let _ = std::fs::remove_file(fed);
    }
    assert!(real.env.logs().iter().all(|log| !log.has("exit_overdue")));
}

/// The first agent has answered while the other one works; that is not the end of the run. Only Claude
/// Code has such agents, and only in a conversation it tells its answer before they are done.
fn background_agent(real: &Real) {
    for transport in ["pipe", "two-way"] {
        let run = real.run("delegate-background").flag("--transport", transport);
        let told = told(run.args(["Have it done."]));
        told.finished.assert_code(0);
        assert_eq!(told.events.last().unwrap()["end"], "success", "{transport}");
        let fed = real.env.work().join("fed");
        assert!(fed.is_file(), "{transport}: the other agent could finish");
        std::fs::remove_file(fed).unwrap();
    }
    assert!(real.env.logs().iter().all(|log| !log.has("exit_overdue")));
}
