//! Silence in every phase, other signs of life, and time that does not count.

use super::*;

#[test]
fn each_phase_has_its_limit() {
    use VerdictKind::{FirstResponse, Idle, IdleAfterText, IdleAfterTool, Startup};
    Run::plain().gives(Startup, 60.0);
    Run::plain().event(&session("s")).gives(FirstResponse, 300.0);
    // The echo of the prompt is no answer.
    Run::plain().wait(9.0).begin().gives(FirstResponse, 309.0);
    Run::plain().begin().think().gives(Idle, 300.0);
    Run::plain().begin().text().wait(5.0).more().gives(IdleAfterText, 305.0);
    Run::plain().begin().start(tool("a")).wait(2.0).done(tool("a")).gives(IdleAfterTool, 302.0);
    Run::wrap().gives(Startup, 60.0);
    Run::wrap().begin().wait(1.0).think().gives(Idle, 61.0);
}

#[test]
fn the_words_name_what_is_missing() {
    let mut run = Run::wrap();
    let kind = delta(1, TextRole::Reasoning, "hm");
    let native = "thinking/delta";
    run.begin().give(Input::Event { kind: &kind, native });
    run.gives(VerdictKind::Idle, 60.0)
        .says("hang detected: no output for 60s (limit 60s), last event thinking/delta");
    let (_, judgement) = run.judgement().unwrap();
    assert_eq!(judgement.evidence.silence_ms, 60_000);
    assert_eq!(judgement.evidence.limit_ms, 60_000);
    assert_eq!(
        judgement.evidence.last_events,
        ["session.started", "turn.started", "thinking/delta"]
    );
    Run::wrap()
        .gives(VerdictKind::Startup, 60.0)
        .says("hang detected: nothing for 60s since the start (limit 60s)");
    Run::wrap().begin().text().gives(VerdictKind::IdleAfterText, 60.0).says(
        "hang detected: no output for 60s after the model's text (limit 60s), \
             last event item.delta",
    );
}

#[test]
fn a_silence_is_recorded_at_each_tick_and_called_quiet() {
    let mut run = Run::wrap();
    run.begin().text().wait(14.9).is(Health::Working);
    run.wait(0.1).is(Health::Quiet).wait(44.0);
    assert_eq!(run.count(|a| matches!(a, Action::Waiting { .. })), 11);
    run.more().is(Health::Working).wait(4.0);
    assert_eq!(run.count(|a| matches!(a, Action::Waiting { .. })), 11);
    let said = run.actions.iter().find_map(|(_, a)| match a {
        Action::Waiting { why, .. } => Some(why.as_str()),
        _ => None,
    });
    assert_eq!(said, Some("no output for 5s, no tool open, 55s left, last event item.delta"));
}

#[test]
fn noise_is_life_but_not_progress() {
    // Noise keeps a slow start alive; it does not end the start.
    Run::plain()
        .wait(50.0)
        .give(Input::Heard)
        .is(Health::Starting)
        .gives(VerdictKind::Startup, 110.0);
    for keepalive in [
        reconnecting(),
        session("s"),
        EventKind::RetryScheduled { attempt: 1, detail: None },
        EventKind::ProcessStderr { text: "x".into() },
        EventKind::Unrecognized { why: Unrecognized::UnknownType, excerpt: String::new() },
    ] {
        let mut run = Run::plain();
        run.begin().text();
        for _ in 0..400 {
            run.wait(10.0).event(&keepalive);
        }
        run.gives(VerdictKind::NoProgress, 1800.0);
    }
}

#[test]
fn our_own_events_are_no_sign_of_life() {
    let ours = EventKind::ProcessSpawned { pid: 1, argv: Vec::new() };
    Run::plain().wait(20.0).event(&ours).is(Health::Starting).gives(VerdictKind::Startup, 60.0);
}

#[test]
fn a_long_silence_limit_is_not_undercut_by_no_progress() {
    let mut limits = Limits::modern();
    limits.witness.max_extensions = 0;
    limits.idle = secs(4000.0);
    let mut run = Run::with(limits);
    run.begin().text().wait(1.0).give(Input::Heard);
    run.gives(VerdictKind::NoProgress, 4000.0);
}

#[test]
fn a_busy_tree_extends_so_often_and_no_more() {
    let mut run = Run::modern();
    run.begin().text().wait(300.0).lives();
    assert_eq!(run.count(|a| *a == Action::AskWitness), 1);
    run.witness(500).wait(150.0).witness(20).wait(150.0).witness(500);
    assert_eq!(run.count(|a| *a == Action::AskWitness), 3);
    run.gives(VerdictKind::IdleAfterText, 750.0);
    let (_, judgement) = run.judgement().unwrap();
    assert_eq!(judgement.evidence.extensions, 3);
    assert_eq!(judgement.evidence.cpu_ms, Some(500));
    // A sign of life makes the next silence a new one.
    let mut run = Run::modern();
    run.begin().text().wait(300.0).witness(500).wait(100.0).more().wait(299.0);
    assert_eq!(run.count(|a| *a == Action::AskWitness), 1);
}

#[test]
fn an_idle_tree_or_no_answer_is_a_verdict() {
    use VerdictKind::IdleAfterText;
    Run::modern().begin().text().wait(300.0).witness(19).gives(IdleAfterText, 300.0);
    Run::modern().begin().text().gives(IdleAfterText, 302.0);
    // An answer that nobody asked for, or that comes after new text, changes nothing.
    Run::modern().begin().text().witness(0).wait(299.0).lives();
    Run::modern().begin().text().wait(300.5).more().witness(0).wait(200.0).lives();
    let mut run = Run::modern();
    run.begin().text().wait(300.0).give(Input::Witness {
        tree_cpu: Duration::ZERO,
        window: secs(1.0),
        other_activity: true,
    });
    run.wait(100.0).lives();
}

#[test]
fn a_slow_reader_or_a_question_stops_the_clock() {
    for (on, off, health) in [
        (Input::Backpressure(true), Input::Backpressure(false), Health::Backpressure),
        (Input::ApprovalPending(true), Input::ApprovalPending(false), Health::AwaitingApproval),
    ] {
        let mut run = Run::wrap();
        run.monitor.limits.blocked = Duration::MAX;
        run.begin().text().wait(50.0).give(on).is(health).wait(5000.0).lives();
        assert_eq!(run.monitor.deadline(), None);
        run.give(Input::Tick).lives().give(off);
        // It goes on where it stood: ten seconds are left.
        run.gives(VerdictKind::IdleAfterText, 5060.0);
    }
    // Both at once: the clock runs again when neither holds it.
    let mut run = Run::wrap();
    run.begin().text().give(Input::Backpressure(true)).give(Input::ApprovalPending(true));
    run.wait(100.0).give(Input::Backpressure(false)).wait(100.0).lives();
    run.give(Input::ApprovalPending(false)).gives(VerdictKind::IdleAfterText, 260.0);
}

#[test]
fn a_conversation_rests_between_its_turns_and_is_judged_in_them() {
    let mut run = Run::wrap();
    run.begin().text().end().give(Input::Resting(true)).is(Health::AwaitingPrompt);
    run.wait(5000.0).lives();
    assert_eq!((run.monitor.deadline(), run.overdue()), (None, 0), "nobody is asked to leave");
    // A prompt begins everything anew; the silence after it is one of the model.
    run.give(Input::Resting(false)).give(Input::Prompted).is(Health::Working);
    run.gives(VerdictKind::FirstResponse, 5060.0);
    // Without another prompt the process is expected to go, from the moment that it was told.
    let mut run = Run::wrap();
    run.begin().text().end().give(Input::Resting(true)).wait(5000.0);
    run.give(Input::Resting(false)).is(Health::Finishing).wait(4.0);
    assert_eq!(run.overdue(), 0);
    run.wait(2.0);
    assert_eq!(run.overdue(), 1);
}

#[test]
fn a_question_in_the_stream_does_not_wait_for_ever() {
    let asked = EventKind::ApprovalRequested {
        id: "1".into(),
        call: None,
        what: "may I".into(),
        options: Vec::new(),
        tool: None,
        why: None,
        waits: false,
    };
    Run::wrap().begin().text().event(&asked).gives(VerdictKind::IdleAfterText, 60.0);
}

#[test]
fn a_gap_of_our_own_moves_every_deadline() {
    let mut run = Run::wrap();
    run.begin().text().wait(50.0);
    // We were stopped for a thousand seconds, and the loop tells before it judges.
    run.now = run.now.plus(secs(1000.0));
    run.give(Input::Gap(secs(1000.0))).give(Input::Tick).lives();
    run.gives(VerdictKind::IdleAfterText, 1060.0);
    // Told after the events that waited, it still moves the limits of tools.
    let mut run = Run::wrap();
    run.begin().start(timed("a", 10)).start(timed("b", 10)).wait(30.0);
    run.now = run.now.plus(secs(1000.0));
    run.done(timed("b", 10)).give(Input::Gap(secs(1000.0))).give(Input::Tick).lives();
    // The completion in the gap counts from its end, and the agent gets the grace from there.
    run.gives(VerdictKind::Tool, 2060.0);
    // A senseless gap does not silence us.
    let mut run = Run::wrap();
    run.begin().text().wait(50.0).give(Input::Gap(Duration::MAX));
    run.gives(VerdictKind::IdleAfterText, 110.0);
}

#[test]
fn after_a_suspend_limits_begin_anew_and_silence_is_shorter() {
    let mut run = Run::plain();
    run.begin().text().wait(299.0).give(Input::Suspended(secs(4000.0)));
    assert_eq!(run.count(|a| matches!(a, Action::LimitsMoved { .. })), 1);
    run.gives(VerdictKind::IdleAfterText, 359.0);
    // A sign of life shows that the connection lives.
    let mut run = Run::plain();
    run.begin().text().give(Input::Suspended(secs(4000.0)));
    run.wait(10.0).more().gives(VerdictKind::IdleAfterText, 310.0);
    // A tool begins anew, and is not cut short.
    let mut run = Run::plain();
    run.begin().start(timed("a", 100)).wait(120.0).give(Input::Suspended(secs(9.0)));
    run.gives(VerdictKind::Tool, 250.0);
}

#[test]
fn hook_traffic_is_a_sign_of_life() {
    let mut run = Run::wrap();
    run.begin().text().wait(50.0).give(Input::SideChannel);
    run.gives(VerdictKind::IdleAfterText, 110.0);
}

#[test]
fn a_model_that_the_session_names_may_think_longer() {
    let EventKind::SessionStarted { agent, native_id, .. } = session("s") else { unreachable!() };
    let opus = EventKind::SessionStarted {
        agent,
        native_id,
        agent_version: None,
        model: Some("Claude Opus".into()),
        cwd: None,
        resumed_from: None,
    };
    Run::plain().event(&opus).gives(VerdictKind::FirstResponse, 900.0);
    Run::wrap().event(&opus).gives(VerdictKind::FirstResponse, 60.0);
}

#[test]
fn while_an_agent_works_in_the_background_silence_has_the_limit_of_sub_agents() {
    let agent = || Item { id: ItemId(77), body: ItemBody::SubAgent { description: "x".into() } };
    let mut run = Run::plain();
    run.begin().event(&EventKind::ItemStarted { item: agent() }).text();
    run.gives(VerdictKind::IdleAfterText, 3600.0);
    // Once it is done, the model has its usual time.
    let mut run = Run::plain();
    run.begin().event(&EventKind::ItemStarted { item: agent() }).text().wait(1000.0).lives();
    run.event(&EventKind::ItemCompleted { item: agent() });
    run.gives(VerdictKind::IdleAfterText, 1300.0);
    // Its commands are not taken for forgotten ones because the first agent speaks.
    let mut run = Run::plain();
    run.begin().event(&EventKind::ItemStarted { item: agent() }).start(tool("a")).text();
    assert_eq!(run.closed(true), Vec::<&str>::new());
}
