//! What holds for any sequence of inputs at any times.

use super::steps::{Step, any_limits, any_step};
use super::*;
use proptest::prelude::*;

impl Run {
    fn held(&self) -> bool {
        self.monitor.approval || self.monitor.backpressure
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Wait(ms) => {
                self.wait(Duration::from_millis(*ms).as_secs_f64());
            }
            Step::Text(item, role) => {
                let role = match role {
                    0 => TextRole::Message,
                    1 => TextRole::Reasoning,
                    _ => TextRole::ToolOutput,
                };
                self.event(&delta(*item, role, "x"));
            }
            Step::Start(tool, item) => {
                let body = ItemBody::Tool(tool.clone());
                let id = ItemId(*item);
                self.event(&EventKind::ItemStarted { item: Item { id, body } });
            }
            Step::Done(tool) => {
                self.done((**tool).clone());
            }
            Step::Plain(kind) => {
                self.event(kind);
            }
            Step::Heard => {
                self.give(Input::Heard);
            }
            Step::Gap(ms) => {
                self.give(Input::Gap(Duration::from_millis(*ms)));
            }
            Step::Suspended(ms) => {
                self.give(Input::Suspended(Duration::from_millis(*ms)));
            }
            Step::Backpressure(on) => {
                self.give(Input::Backpressure(*on));
            }
            Step::Approval(on) => {
                self.give(Input::ApprovalPending(*on));
            }
            Step::Witness(ms) => {
                self.witness(*ms);
            }
        }
    }
}

/// Enlarges one limit.
fn enlarged(limits: &Limits, which: usize, by: u64) -> Limits {
    let mut limits = limits.clone();
    let by_time = Duration::from_millis(by);
    let by_count = by / 1000 + 1;
    match which {
        0 => limits.idle += by_time,
        1 => limits.tool_grace += by_time,
        2 => limits.startup += by_time,
        3 => limits.first_response += by_time,
        4 => limits.tool_max += by_time,
        5 => limits.class.execute += by_time,
        6 => limits.class.local += by_time,
        7 => limits.class.sub_agent += by_time,
        8 => limits.background_grace += by_time,
        9 => limits.result_grace += by_time,
        10 => limits.no_progress += by_time,
        11 => limits.wall = limits.wall.map(|wall| wall + by_time),
        12 => limits.max_turns = limits.max_turns.map(|max| max + by_count),
        13 => limits.max_tool_calls = limits.max_tool_calls.map(|max| max + by_count),
        14 => limits.max_tokens = limits.max_tokens.map(|max| max + by_count),
        15 => limits.livelock_kill = limits.livelock_kill.map(|kill| kill + 1),
        16 => limits.after_suspend += by_time,
        _ => limits.limit_grace += by_time,
    }
    limits
}

/// When the verdict came, with silence to the end; none where the agent was done first.
fn verdict_time(limits: Limits, steps: &[Step]) -> Option<Moment> {
    let mut run = Run::with(limits);
    for step in steps {
        run.step(step);
        if run.judgement().is_some() {
            break;
        }
    }
    run.give(Input::Backpressure(false)).give(Input::ApprovalPending(false));
    run.wait(1_000_000.0);
    run.judgement().map(|(at, _)| at)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn equal_inputs_give_equal_actions_and_nobody_spins(
        limits in any_limits(),
        steps in prop::collection::vec(any_step(), 0..60),
    ) {
        let mut first = Run::with(limits.clone());
        let mut second = Run::with(limits);
        for step in &steps {
            let verdicts = first.count(|a| matches!(a, Action::Verdict(_)));
            let held = first.held();
            first.step(step);
            second.step(step);
            prop_assert_eq!(first.monitor.deadline(), second.monitor.deadline());
            prop_assert_eq!(first.monitor.snapshot(first.now), second.monitor.snapshot(second.now));
            let given = first.count(|a| matches!(a, Action::Verdict(_)));
            prop_assert!(given <= 1);
            let kind = first.judgement().map(|(_, judgement)| judgement.kind);
            let by_blocked = first.monitor.backpressure
                && !first.monitor.approval
                && kind.is_some_and(|kind| kind.is_limit() || kind == VerdictKind::Livelock);
            let may = !held || !first.held() || by_blocked;
            prop_assert!(given == verdicts || may, "judged while held");
            if let Some(deadline) = first.monitor.deadline() {
                let now = first.now.max(deadline);
                let mut monitor = first.monitor.clone();
                monitor.handle(Input::Tick, now, &mut Vec::new());
                let next = monitor.deadline();
                prop_assert!(next.is_none_or(|next| next > now), "{next:?} is not after {now:?}");
            }
            prop_assert!(first.monitor.tools.remembered() <= super::super::tools::CAPACITY);
        }
        prop_assert_eq!(&first.actions, &second.actions);
    }

    #[test]
    fn the_short_way_for_words_is_the_long_way(
        limits in any_limits(),
        steps in prop::collection::vec(any_step(), 0..40),
    ) {
        let mut short = Run::with(limits.clone());
        let mut long = Run::with(limits);
        let native = "text";
        for step in &steps {
            let Step::Text(item, role @ 0..=1) = step else {
                short.step(step);
                long.step(step);
                continue;
            };
            let (text, id) = ("x".to_owned(), ItemId(*item));
            let (role, body) = match role {
                0 => (TextRole::Message, ItemBody::Message { text }),
                _ => (TextRole::Reasoning, ItemBody::Reasoning { text }),
            };
            let kind = delta(*item, role, "x");
            short.give(Input::Event { kind: &kind, native });
            // What the beginning of a text does at length, the word behind it need not do.
            let start = EventKind::ItemStarted { item: Item { id, body } };
            long.give(Input::Event { kind: &start, native });
            long.give(Input::Event { kind: &kind, native });
            prop_assert_eq!(short.monitor.deadline(), long.monitor.deadline());
        }
        prop_assert_eq!(&short.actions, &long.actions);
        prop_assert_eq!(short.monitor.status(short.now), long.monitor.status(long.now));
    }

    #[test]
    fn silence_always_ends_in_a_verdict_or_an_exit(
        limits in any_limits(),
        steps in prop::collection::vec(any_step(), 0..60),
    ) {
        // No limit here is longer than 100 s (class defaults 900 s), and extensions add halves.
        let most = 2.0 * 900.0 + 600.0;
        let mut run = Run::with(limits);
        for step in &steps {
            run.step(step);
        }
        run.give(Input::Backpressure(false)).give(Input::ApprovalPending(false));
        run.wait(most);
        prop_assert!(run.judgement().is_some() || run.overdue() > 0, "{:?}", run);
        prop_assert_eq!(run.monitor.deadline(), None);
    }

    #[test]
    fn a_larger_limit_never_brings_a_verdict_sooner(
        mut limits in any_limits(),
        steps in prop::collection::vec(any_step(), 0..40),
        which in 0usize..18,
        by in 1u64..200_000,
    ) {
        // Witnesses are asked at other times then, and may answer otherwise.
        limits.witness.max_extensions = 0;
        let before = verdict_time(limits.clone(), &steps);
        let after = verdict_time(enlarged(&limits, which, by), &steps);
        if let Some(after) = after {
            prop_assert!(before.is_some_and(|before| before <= after), "{before:?} {after:?}");
        }
    }
}
