//! What holds for any sequence of inputs at any times.

use super::*;
use crate::event::Tokens;
use proptest::prelude::*;

/// One random step; times are milliseconds.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Wait(u64),
    Text(u64, u8),
    Start(Box<Tool>, u64),
    Done(Box<Tool>),
    Plain(Box<EventKind>),
    Heard,
    Gap(u64),
    Suspended(u64),
    Backpressure(bool),
    Approval(bool),
    Witness(u64),
}

fn any_tool() -> impl Strategy<Value = Tool> {
    let timeout = prop_oneof![
        Just(None),
        Just(Some(0)),
        (1u64..200_000).prop_map(Some),
        Just(Some(u64::MAX))
    ];
    let step = prop_oneof![Just(None), (0u8..3).prop_map(|n| Some(n.to_string()))];
    (0u8..6, timeout, step, 0u8..8, any::<bool>()).prop_map(
        |(call, timeout_ms, step, kind, pid)| {
            let call = call.to_string();
            let base = if kind == 0 { sub_agent(&call) } else { tool(&call) };
            Tool {
                timeout_ms,
                step,
                background: kind == 1,
                pid: (pid && kind == 1).then_some(42),
                tool_kind: if kind > 4 { ToolKind::Read } else { ToolKind::Execute },
                ..base
            }
        },
    )
}

pub(super) fn any_step() -> impl Strategy<Value = Step> {
    let plain = prop_oneof![
        Just(session("s")),
        Just(reconnecting()),
        Just(EventKind::TurnStarted { prompt: None }),
        Just(turn_ended(None)),
        Just(turn_ended(Some(Usage::Turn(Tokens { output: 40, ..Tokens::default() })))),
        Just(EventKind::UsageUpdated {
            usage: Usage::Total(Tokens { output: 90, ..Tokens::default() })
        }),
    ];
    prop_oneof![
        6 => (0u64..90_000).prop_map(Step::Wait),
        4 => (1u64..30, 0u8..3).prop_map(|(item, role)| Step::Text(item, role)),
        4 => (any_tool(), 1u64..30).prop_map(|(tool, item)| Step::Start(Box::new(tool), item)),
        3 => any_tool().prop_map(|tool| Step::Done(Box::new(tool))),
        3 => plain.prop_map(|kind| Step::Plain(Box::new(kind))),
        1 => Just(Step::Heard),
        1 => (0u64..100_000).prop_map(Step::Gap),
        1 => (0u64..100_000).prop_map(Step::Suspended),
        1 => any::<bool>().prop_map(Step::Backpressure),
        1 => any::<bool>().prop_map(Step::Approval),
        1 => (0u64..100).prop_map(Step::Witness),
    ]
}

prop_compose! {
    pub(super) fn any_limits()(
        wrap in any::<bool>(),
        times in prop::array::uniform12(100u64..100_000),
        wall in prop::option::of(1000u64..500_000),
        counts in prop::array::uniform3(prop::option::of(0u64..120)),
        livelock_kill in prop::option::of(2u32..6),
        max_extensions in 0u32..3,
    ) -> Limits {
        let time = |n: usize| Duration::from_millis(times[n]);
        let mut limits = if wrap {
            Limits::cursor_wrap(time(0), time(1), time(2))
        } else {
            Limits { idle: time(0), tool_grace: time(1), waiting_interval: time(2), ..Limits::modern() }
        };
        // A record per second at most: the tests count verdicts, not records.
        limits.waiting_interval = limits.waiting_interval.max(Duration::from_secs(1));
        limits.startup = time(3);
        limits.first_response = time(4);
        limits.tool_max = time(5);
        limits.class.execute = time(6);
        limits.class.local = time(7);
        limits.class.sub_agent = time(8);
        limits.background_grace = time(9);
        limits.result_grace = time(10);
        limits.no_progress = time(11);
        limits.wall = wall.map(Duration::from_millis);
        [limits.max_turns, limits.max_tool_calls, limits.max_tokens] = counts;
        limits.livelock_kill = livelock_kill;
        limits.witness.max_extensions = max_extensions;
        limits
    }
}

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
            let kind = EventKind::ItemStarted { item: Item { id, body } };
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
