//! Limits on use, and livelock.

use super::*;
use crate::event::{Tokens, Usage};

fn limited(change: impl Fn(&mut Limits)) -> Run {
    let mut limits = Limits::modern();
    change(&mut limits);
    Run::with(limits)
}

fn used(output: u64, cost: f64) -> Tokens {
    Tokens { output, cost_usd: Some(cost), ..Tokens::default() }
}

fn soft_stops(run: &Run) -> usize {
    run.count(|a| matches!(a, Action::SoftStop { .. }))
}

#[test]
fn the_wall_clock_ends_a_run_that_is_well() {
    let mut run = limited(|l| l.wall = Some(secs(100.0)));
    run.begin();
    for _ in 0..20 {
        run.wait(10.0).text();
    }
    run.gives(VerdictKind::WallClock, 100.0).says("limit reached: wall clock (limit 1m 40s)");
}

#[test]
fn an_open_tool_may_finish_first() {
    let mut run = limited(|l| l.wall = Some(secs(100.0)));
    run.begin().start(timed("a", 600)).wait(130.0).lives();
    assert_eq!(soft_stops(&run), 1);
    run.done(timed("a", 600)).gives(VerdictKind::WallClock, 130.0);
    // But not for ever.
    let mut run = limited(|l| l.wall = Some(secs(100.0)));
    run.begin().start(timed("a", 600)).gives(VerdictKind::WallClock, 160.0);
    assert_eq!(soft_stops(&run), 1);
    // The agent ends by itself meanwhile: no verdict.
    let mut run = limited(|l| l.wall = Some(secs(100.0)));
    run.begin().start(timed("a", 600)).wait(130.0).end().wait(100.0).lives();
    // And when it goes on after all, the limit stands.
    run.text().gives(VerdictKind::WallClock, 230.0);
}

#[test]
fn calls_are_counted() {
    let mut run = limited(|l| l.max_tool_calls = Some(2));
    run.begin().start(tool("a")).done(tool("a")).start(tool("b")).done(tool("b")).lives();
    run.start(tool("c")).lives().wait(3.0).done(tool("c"));
    run.gives(VerdictKind::ToolCalls, 3.0).says("limit reached: tool call 3 (limit 2)");
}

#[test]
fn answers_are_counted_not_their_tools() {
    let mut run = limited(|l| l.max_turns = Some(2));
    run.begin().think().text().more();
    run.start(in_step("1", tool("a"))).done(in_step("1", tool("a")));
    run.start(in_step("1", tool("b"))).done(in_step("1", tool("b")));
    assert_eq!(run.monitor.status(run.now).turns, 1);
    run.text().text().start(in_step("2", tool("c"))).done(in_step("2", tool("c")));
    assert_eq!(run.monitor.status(run.now).turns, 2);
    run.lives().text();
    run.gives(VerdictKind::Turns, 0.0).says("limit reached: answer 3 of the model (limit 2)");
}

#[test]
fn tokens_and_cost_are_counted_over_turns() {
    let update = |usage| EventKind::UsageUpdated { usage };
    let mut run = limited(|l| l.max_tokens = Some(100));
    run.begin().event(&update(Usage::Turn(used(60, 0.1))));
    // The same turn again: it replaces, it does not add.
    run.event(&update(Usage::Turn(used(70, 0.1)))).lives();
    run.event(&turn_ended(Some(Usage::Turn(used(80, 0.1))))).text().lives();
    run.event(&update(Usage::Turn(used(21, 0.1))));
    run.gives(VerdictKind::Tokens, 0.0).says("limit reached: 101 tokens (limit 100)");
    let mut run = limited(|l| l.max_cost_usd = Some(0.5));
    run.begin().event(&update(Usage::Total(used(1, 0.5)))).lives();
    run.event(&update(Usage::Total(used(1, 0.75)))).gives(VerdictKind::Cost, 0.0);
}

#[test]
fn a_limit_reached_by_the_result_itself_is_no_verdict() {
    let mut run = limited(|l| l.max_tokens = Some(100));
    run.begin().text().event(&turn_ended(Some(Usage::Turn(used(500, 0.0)))));
    run.wait(100.0).lives();
    assert_eq!(run.overdue(), 1);
}

#[test]
fn nothing_is_judged_while_a_person_is_asked_but_limits_hold_while_our_reader_blocks_us() {
    let mut run = limited(|l| l.max_tool_calls = Some(0));
    run.begin().give(Input::ApprovalPending(true)).done(tool("a")).lives();
    run.wait(7.0).give(Input::ApprovalPending(false)).gives(VerdictKind::ToolCalls, 7.0);
    let mut run = limited(|l| l.max_tool_calls = Some(0));
    run.begin().give(Input::Backpressure(true)).wait(7.0).done(tool("a"));
    run.gives(VerdictKind::ToolCalls, 7.0);
}

#[test]
fn a_limit_that_was_observed_is_not_told_again() {
    let mut run = limited(|l| l.wall = Some(secs(10.0)));
    run.begin().text().wait(10.0).is(Health::Stalled);
    run.monitor.resume_after_verdict(run.now);
    run.wait(200.0);
    assert_eq!(run.count(|a| matches!(a, Action::Verdict(_))), 1);
}

#[test]
fn the_same_call_again_and_again_is_a_warning() {
    let mut run = Run::plain();
    run.begin();
    for _ in 0..12 {
        run.start(tool("same")).done(tool("same"));
    }
    run.lives();
    let told: Vec<_> =
        run.actions.iter().filter(|(_, a)| matches!(a, Action::Livelock { .. })).collect();
    assert!(
        matches!(told[..], [(_, Action::Livelock { period: 1, rounds: 5, command })]
            if command == "run same"),
        "{told:?}"
    );
}

#[test]
fn livelock_is_a_verdict_where_somebody_wants_it() {
    let mut run = limited(|l| l.livelock_kill = Some(10));
    run.begin();
    for _ in 0..30 {
        run.wait(1.0);
        for call in ["a", "b", "c"] {
            run.start(tool(call)).done(tool(call));
        }
    }
    run.gives(VerdictKind::Livelock, 10.0).says(
        "hang detected: the same 3 calls with the same result 10 times in a row, last `run c`",
    );
}

#[test]
fn an_agent_that_we_cannot_read_is_waited_for_within_bounds() {
    let mut run = limited(|l| l.blocked = secs(60.0));
    run.begin().text().give(Input::Backpressure(true)).wait(59.0).lives();
    run.give(Input::Backpressure(false)).wait(1.0).give(Input::Backpressure(true));
    run.wait(59.0).lives().gives(VerdictKind::Blocked, 120.0);
    run.says(
        "limit reached: the disk is full, and the reader of our output has taken nothing for 60s \
         (limit 60s)",
    );
}

#[test]
fn the_wall_clock_runs_while_our_reader_blocks_us() {
    // Once for long, and a little at a time.
    for step in [1000.0, 7.0] {
        let mut run = limited(|l| l.wall = Some(secs(100.0)));
        run.begin().start(timed("a", 600));
        while run.judgement().is_none() {
            run.give(Input::Backpressure(true)).wait(step).give(Input::Backpressure(false));
        }
        run.gives(VerdictKind::WallClock, 100.0);
    }
    // A person who is asked is not on the wall, and then our reader does not count either.
    let mut run = limited(|l| l.wall = Some(secs(100.0)));
    run.begin().give(Input::ApprovalPending(true)).give(Input::Backpressure(true)).wait(500.0);
    run.lives().give(Input::ApprovalPending(false)).gives(VerdictKind::WallClock, 600.0);
}
