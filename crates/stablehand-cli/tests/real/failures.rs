//! A model service that refuses, breaks or comes back.

use crate::support::{Told, for_all_agents, for_main_agents, for_quick_agents, told};
use stablehand_testkit::llm::scene::HELLO;
use stablehand_testkit::real::{Real, RealAgent};

for_all_agents!(no_such_key);
for_main_agents!(bad_request, too_many_requests, internal_error, flaky);
for_quick_agents!(cut);

/// The run failed, and the agent says why.
#[track_caller]
fn assert_failed(told: &Told, failures: &[&str]) {
    told.finished.assert_code(1);
    let end = &told.one("turn.ended")["end"];
    assert_eq!(end["kind"], "failed");
    assert!(failures.iter().any(|failure| end["failure"] == *failure), "{end}");
    assert_eq!(told.events.last().unwrap()["end"], "agent_error");
}

/// Gemini and OpenCode try some failures again for minutes and say nothing of it, so that to us such an
/// agent hangs. On a busy machine it starts so slowly that its work would extend the limit.
#[track_caller]
fn assert_hung(real: &Real, scene: &str) {
    let run = real
        .run(scene)
        .flag("--idle-timeout", "4s")
        .flag("--startup-timeout", "35s")
        .flag("--max-extensions", "0");
    let told = told(run.args(["Say hello."]));
    told.finished.assert_code(2);
    assert_eq!(told.events.last().unwrap()["end"], "hung");
    assert!(real.llm.requests().iter().any(|heard| heard.scene == scene));
}

fn no_such_key(real: &Real) {
    assert_failed(&told(real.run("401").args(["Say hello."])), &["auth"]);
}

fn bad_request(real: &Real) {
    assert_failed(&told(real.run("400").args(["Say hello."])), &["bad_request"]);
}

fn too_many_requests(real: &Real) {
    if real.agent == RealAgent::Gemini {
        return assert_hung(real, "429");
    }
    assert_failed(&told(real.run("429").args(["Say hello."])), &["rate_limit"]);
}

fn internal_error(real: &Real) {
    if matches!(real.agent, RealAgent::Gemini | RealAgent::OpenCode) {
        return assert_hung(real, "500");
    }
    assert_failed(&told(real.run("500").args(["Say hello."])), &["overloaded", "internal"]);
}

/// Two failures and then an answer: a success, whether the agent speaks of its retries or not.
fn flaky(real: &Real) {
    let told = told(real.run("flaky").args(["Say hello."]));
    told.assert_success();
    assert_eq!(told.messages(), [HELLO]);
    assert_eq!(real.llm.main_requests().len(), 3);
}

/// The connection ends in the middle of the answer.
fn cut(real: &Real) {
    if real.agent == RealAgent::OpenCode {
        return assert_hung(real, "cut");
    }
    assert_failed(&told(real.run("cut").args(["Say hello."])), &["network"]);
}
