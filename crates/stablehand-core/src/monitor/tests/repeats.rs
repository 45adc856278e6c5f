//! What is said again is life and no progress; what is said after a result does not undo it.

use super::*;
use crate::event::TurnEnd;
use crate::facts::Facts;

/// No progress after 100 s, silence after 60 s, no witness.
fn run() -> Run {
    let mut limits = Limits::modern();
    limits.no_progress = secs(100.0);
    (limits.idle, limits.first_response) = (secs(60.0), secs(60.0));
    limits.class.execute = secs(60.0);
    limits.witness.max_extensions = 0;
    Run::with(limits)
}

/// Gives these events every ten seconds until a verdict comes.
fn again_and_again(run: &mut Run, kinds: &[EventKind]) -> (VerdictKind, u64) {
    for _ in 0..60 {
        run.wait(10.0);
        if let Some((at, judgement)) = run.judgement() {
            return (judgement.kind, millis(at.since(Moment::START)) / 1000);
        }
        for kind in kinds {
            run.give(Input::Event { kind, native: "" });
        }
    }
    panic!("no verdict in ten minutes");
}

fn started(tool: Tool) -> EventKind {
    EventKind::ItemStarted { item: Item { id: ItemId(9), body: ItemBody::Tool(Box::new(tool)) } }
}

fn completed(tool: Tool) -> EventKind {
    EventKind::ItemCompleted { item: Item { id: ItemId(9), body: ItemBody::Tool(Box::new(tool)) } }
}

fn text(id: u64, text: &str) -> [EventKind; 3] {
    let item = || Item { id: ItemId(id), body: ItemBody::Message { text: text.to_owned() } };
    [
        EventKind::ItemStarted { item: item() },
        delta(id, TextRole::Message, text),
        EventKind::ItemCompleted { item: item() },
    ]
}

#[test]
fn the_same_again_is_no_progress() {
    let echo = EventKind::TurnStarted { prompt: None, by: None };
    let question = serde_json::json!({"type": "approval.requested", "id": "q", "what": "May I?"});
    let question: EventKind = serde_json::from_value(question).unwrap();
    let cases: [(&str, Vec<EventKind>); 8] = [
        ("echoes of the prompt", vec![echo.clone()]),
        ("beginnings of one call", vec![started(tool("a"))]),
        ("one call, from its beginning to its end", vec![started(tool("a")), completed(tool("a"))]),
        ("ends of one call", vec![completed(tool("a"))]),
        (
            "blank words",
            vec![delta(1, TextRole::Message, " \n\t"), delta(2, TextRole::Reasoning, "\n")],
        ),
        ("blank messages", text(7, " ").to_vec()),
        ("questions", vec![question]),
        ("echoes and blank words", vec![echo, delta(1, TextRole::Message, "\u{a0}")]),
    ];
    for (name, kinds) in cases {
        let mut run = run();
        run.begin().text();
        let (verdict, at) = again_and_again(&mut run, &kinds);
        assert_eq!(verdict, VerdictKind::NoProgress, "{name}");
        assert!((100..=120).contains(&at), "{name}: after {at} s");
    }
}

#[test]
fn what_is_new_each_time_is_progress() {
    let mut run = run();
    run.begin().text();
    for round in 0..60 {
        let call = format!("call-{round}");
        for kind in [started(tool(&call)), completed(tool(&call))] {
            run.wait(2.0).give(Input::Event { kind: &kind, native: "" });
        }
        run.wait(30.0);
    }
    assert!(run.judgement().is_none());
}

#[test]
fn the_same_calls_are_still_seen_as_a_livelock() {
    let mut run = run();
    run.begin();
    let same = Tool { digest: 7, ..tool("a") };
    for _ in 0..6 {
        let kind = completed(same.clone());
        run.wait(1.0).give(Input::Event { kind: &kind, native: "" });
    }
    assert_eq!(run.count(|action| matches!(action, Action::Livelock { .. })), 1);
}

/// Each of them would have given the process its exit grace anew.
#[test]
fn repeated_results_and_what_says_nothing_do_not_put_off_the_exit() {
    let noise = [
        vec![turn_ended(None)],
        vec![EventKind::TurnStarted { prompt: None, by: None }, turn_ended(None)],
        vec![delta(1, TextRole::Message, "\n")],
        vec![completed(tool("a"))],
    ];
    for kinds in noise {
        let mut run = run();
        run.begin().start(tool("a")).done(tool("a")).text().event(&turn_ended(None));
        for _ in 0..20 {
            for kind in &kinds {
                run.wait(1.0).give(Input::Event { kind, native: "" });
            }
        }
        assert_eq!(run.count(|action| matches!(action, Action::ExitOverdue)), 1, "{kinds:?}");
    }
}

#[test]
fn nothing_after_a_good_result_undoes_it() {
    let after = [
        EventKind::TurnStarted { prompt: None, by: None },
        started(tool("late")),
        completed(tool("late")),
        delta(1, TextRole::Message, "Bye."),
        reconnecting(),
    ];
    let mut facts = Facts::default();
    facts.take(&turn_ended(None));
    for kind in after.iter().chain(&text(5, "And one more thing.")) {
        facts.take(kind);
        assert_eq!(facts.result, Some(TurnEnd::Done), "{kind:?}");
    }
    // A further prompt does, and so does another result.
    facts.prompted();
    assert_eq!(facts.result, None);
    let end = TurnEnd::Limit;
    let failed = EventKind::TurnEnded { end, text: None, usage: None, duration_ms: None };
    facts.take(&failed);
    facts.take(&delta(1, TextRole::Message, "Going on."));
    assert_eq!(facts.result, None, "an agent that goes on after a failure may still succeed");
}
