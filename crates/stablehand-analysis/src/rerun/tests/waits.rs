//! What is measured without any limit is what the monitor does with one.

use super::super::survey::silences_of;
use super::*;
use stablehand_core::event::{EventKind, Item, ItemBody, TextRole, Tool};
use stablehand_core::id::ItemId;
use steps::{Step, any_limits, any_step, delta};

/// Steps and limits, as the monitor's own property tests have them.
#[path = "../../../../stablehand-core/src/monitor/tests/steps.rs"]
#[expect(dead_code, reason = "no limit of these tests asks for a witness")]
mod steps;

/// The events of the steps, with the others: they have to live as long as the inputs do.
enum Told {
    Event(EventKind),
    Other(Input<'static>),
}

/// Steps as inputs with their moments.
fn told(steps: &[Step]) -> Vec<(Moment, Told)> {
    let mut now = Moment::START;
    let mut told = Vec::new();
    let text = |item: u64, role: u8| {
        let role = [TextRole::Message, TextRole::Reasoning, TextRole::ToolOutput]
            [usize::from(role.min(2))];
        Told::Event(delta(item, role, "x"))
    };
    for step in steps {
        let ms = Duration::from_millis;
        // A command in the background may be stopped, which no limit of these decides.
        let tame = |tool: &Tool| ItemBody::Tool(Box::new(Tool { pid: None, ..tool.clone() }));
        let next = match step {
            Step::Wait(by) => {
                now = now.plus(ms(*by));
                continue;
            }
            Step::Text(item, role) => text(*item, *role),
            Step::Start(tool, item) => Told::Event(EventKind::ItemStarted {
                item: Item { id: ItemId(*item), body: tame(tool) },
            }),
            Step::Done(tool) => Told::Event(EventKind::ItemCompleted {
                item: Item { id: ItemId(0), body: tame(tool) },
            }),
            Step::Plain(kind) => Told::Event((**kind).clone()),
            Step::Heard => Told::Other(Input::Heard),
            Step::Gap(by) => Told::Other(Input::Gap(ms(*by))),
            Step::Suspended(by) => Told::Other(Input::Suspended(ms(*by))),
            Step::Backpressure(on) => Told::Other(Input::Backpressure(*on)),
            Step::Approval(on) => Told::Other(Input::ApprovalPending(*on)),
            Step::Witness(_) => continue,
        };
        told.push((now, next));
    }
    told
}

fn inputs<'a>(told: &'a [(Moment, Told)]) -> Vec<(Moment, Input<'a>)> {
    let input = |told: &'a Told| match told {
        Told::Event(kind) => Input::Event { kind, native: "" },
        Told::Other(input) => *input,
    };
    told.iter().map(|(at, told)| (*at, input(told))).collect()
}

/// What the monitor may have against a run.
#[derive(Debug, PartialEq)]
enum Against {
    Verdict(VerdictKind),
    NoExit,
}

/// The first of it.
fn judged(limits: Limits, inputs: &[(Moment, Input<'_>)]) -> Option<Against> {
    let mut monitor = Monitor::new(limits, Moment::START);
    let mut ticked = Vec::new();
    let mut actions = Vec::new();
    for (at, input) in inputs {
        tick_until(&mut monitor, judged_until(*input, *at), &mut ticked);
        monitor.handle(*input, *at, &mut actions);
    }
    ticked.into_iter().find_map(|(_, action)| match action {
        Action::Verdict(judgement) => Some(Against::Verdict(judgement.kind)),
        Action::ExitOverdue => Some(Against::NoExit),
        _ => None,
    })
}

/// No limits but this one.
fn only(limit: TimeLimit, value: Duration) -> Limits {
    let mut limits = Limits { tool_max: Duration::from_hours(1), ..Limits::none() };
    let slot = match limit {
        TimeLimit::Startup => &mut limits.startup,
        TimeLimit::FirstResponse => &mut limits.first_response,
        TimeLimit::Idle => &mut limits.idle,
        TimeLimit::ToolGrace => &mut limits.tool_grace,
        TimeLimit::Execute => &mut limits.class.execute,
        TimeLimit::Mcp => &mut limits.class.mcp,
        TimeLimit::SubAgent => &mut limits.class.sub_agent,
        TimeLimit::Local => &mut limits.class.local,
        TimeLimit::Fetch => &mut limits.class.fetch,
        TimeLimit::Other => &mut limits.class.other,
        TimeLimit::NoProgress => &mut limits.no_progress,
        TimeLimit::ExitGrace => &mut limits.exit_grace,
    };
    *slot = value;
    limits
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn a_limit_ends_a_run_exactly_where_a_longer_silence_was_measured(
        steps in prop::collection::vec(any_step(), 0..40),
        which in 0usize..12,
        value in 1u64..120_000,
    ) {
        // The one of them that the others decide about has its own test.
        let limit = [TimeLimit::ALL[which], TimeLimit::Idle]
            [usize::from(TimeLimit::ALL[which] == TimeLimit::NoProgress)];
        let value = Duration::from_millis(value);
        let told = told(&steps);
        let inputs = inputs(&told);
        let base = Limits { tool_max: Duration::from_hours(1), ..Limits::none() };
        let silences = silences_of(&base, &inputs);
        let longest = silences.get(&limit).map(|it| it.longest).unwrap_or_default();
        let ended = judged(only(limit, value), &inputs).is_some();
        prop_assert_eq!(ended, longest > value, "{:?} {:?} {:?}", limit, value, silences);
    }

    #[test]
    fn no_progress_ends_a_run_exactly_where_a_longer_standstill_was_measured(
        steps in prop::collection::vec(any_step(), 0..40),
        mut limits in any_limits(),
        value in 1u64..120_000,
    ) {
        [limits.max_turns, limits.max_tool_calls, limits.max_tokens] = [None; 3];
        limits.wall = None;
        limits.livelock_kill = None;
        limits.witness.max_extensions = 0;
        limits.exit_grace = Duration::MAX;
        limits.after_suspend = Duration::MAX;
        limits.no_progress = Duration::from_millis(value);
        let told = told(&steps);
        let inputs = inputs(&told);
        let verdict = judged(limits.clone(), &inputs);
        // Another limit may have been faster.
        if !matches!(verdict, None | Some(Against::Verdict(VerdictKind::NoProgress))) {
            return Ok(());
        }
        let silences = silences_of(&limits, &inputs);
        let longest = silences.get(&TimeLimit::NoProgress).map(|it| it.longest).unwrap_or_default();
        prop_assert_eq!(verdict.is_some(), longest > limits.no_progress, "{:?}", silences);
    }
}
