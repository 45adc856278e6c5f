//! The terminal event, the exit, and what comes after a verdict.

use super::*;

#[test]
fn a_result_without_an_exit_is_overdue_and_no_verdict() {
    let mut run = Run::wrap();
    run.begin().text().end().is(Health::Finishing).wait(4.9);
    assert_eq!(run.overdue(), 0);
    run.wait(0.1);
    assert_eq!(run.overdue(), 1);
    run.wait(10_000.0).lives();
    assert_eq!(run.overdue(), 1);
    assert_eq!(run.monitor.deadline(), None);
    run.give(Input::AgentExited).is(Health::Ended);
}

#[test]
fn something_new_after_a_result_takes_it_back() {
    let mut run = Run::wrap();
    run.begin().text().end().wait(1.0).text().is(Health::Working).wait(30.0);
    assert_eq!(run.overdue(), 0);
    run.end().is(Health::Finishing).wait(5.0);
    assert_eq!(run.overdue(), 1);
    // A next prompt waits for its own first answer.
    let mut run = Run::plain();
    run.begin().text().end().event(&EventKind::TurnStarted { prompt: None, by: None });
    run.gives(VerdictKind::FirstResponse, 300.0);
}

#[test]
fn keepalives_and_stragglers_do_not_take_a_result_back() {
    let mut run = Run::wrap();
    run.begin().start(timed("a", 600)).end();
    assert_eq!(run.closed(true), ["a"]);
    run.wait(1.0).event(&reconnecting()).give(Input::Heard).event(&session("s"));
    run.done(timed("a", 600)).is(Health::Finishing).wait(4.0);
    assert_eq!(run.overdue(), 1);
}

#[test]
fn the_time_to_exit_stands_still_with_the_clock() {
    let mut run = Run::wrap();
    run.begin().end().wait(3.0).give(Input::Backpressure(true)).wait(60.0);
    run.give(Input::Backpressure(false)).wait(1.9);
    assert_eq!(run.overdue(), 0);
    run.wait(0.1);
    assert_eq!(run.overdue(), 1);
}

#[test]
fn a_verdict_is_given_once_and_then_only_the_exit_follows() {
    let mut run = Run::wrap();
    run.begin().text().wait(70.0).is(Health::Stalled);
    let told = run.actions.len();
    assert_eq!(run.monitor.deadline(), None);
    run.more().end().give(Input::Tick).give(Input::Suspended(secs(9.0)));
    run.witness(5).wait(500.0).is(Health::Stalled);
    assert_eq!(run.actions.len(), told);
    run.give(Input::AgentExited).is(Health::Ended);
    assert_eq!(run.actions.len(), told + 1);
}

#[test]
fn whoever_only_observes_goes_on() {
    let mut run = Run::wrap();
    run.begin().text().wait(60.0).is(Health::Stalled);
    run.monitor.resume_after_verdict(run.now);
    run.is(Health::Working).wait(59.0);
    assert_eq!(run.count(|a| matches!(a, Action::Verdict(_))), 1);
    run.wait(1.0);
    assert_eq!(run.count(|a| matches!(a, Action::Verdict(_))), 2);
}

#[test]
fn completions_that_are_drained_after_the_exit_are_still_paired() {
    let mut run = Run::wrap();
    run.begin().start(tool("a")).give(Input::AgentExited).done(tool("a"));
    assert_eq!(run.closed(false), ["a"]);
    run.is(Health::Ended);
}

#[test]
fn a_snapshot_tells_without_judging() {
    let mut run = Run::wrap();
    run.begin().start(timed("a", 10)).wait(7.0);
    let evidence = run.monitor.snapshot(run.now);
    assert_eq!(evidence.verdict, None);
    assert_eq!((evidence.limit_ms, evidence.silence_ms), (40_000, 7000));
    assert_eq!(evidence.open_tools[0].elapsed_ms, 7000);
    assert_eq!(evidence.open_tools[0].timeout_ms, Some(10_000));
    let status = run.monitor.status(run.now);
    assert_eq!((status.since, status.quiet), (secs(7.0), secs(7.0)));
    assert_eq!(status.open, evidence.open_tools);
    assert_eq!(run.monitor.quiet_for(run.now), secs(7.0));
    assert_eq!(run.monitor.last_event(), "item.started");
}
