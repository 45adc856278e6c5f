//! Random steps of a run and random limits, for property tests of the monitor.
//!
//! `stablehand-analysis` tests its readers against the monitor with this very file.

use proptest::prelude::*;
use stablehand_core::event::{
    EventKind, TextRole, Tokens, Tool, ToolInput, ToolKind, TurnEnd, Usage,
};
use stablehand_core::id::{CallId, ItemId, SessionId, digest64};
use stablehand_core::monitor::Limits;
use std::time::Duration;

/// One random step; times are milliseconds.
#[derive(Clone, Debug)]
pub(crate) enum Step {
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

pub(crate) fn any_step() -> impl Strategy<Value = Step> {
    let plain = prop_oneof![
        Just(session("s")),
        Just(reconnecting()),
        Just(EventKind::TurnStarted { prompt: None, by: None }),
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
    pub(crate) fn any_limits()(
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

/// A call of a command; its item is given when it starts.
pub(crate) fn tool(call: &str) -> Tool {
    Tool {
        call: CallId(call.into()),
        name: "shell".into(),
        tool_kind: ToolKind::Execute,
        input: ToolInput::Command { command: format!("run {call}"), cwd: None },
        timeout_ms: None,
        background: false,
        pid: None,
        step: None,
        outcome: None,
        output: None,
        output_bytes: None,
        also: Vec::new(),
        diff: None,
        duration_ms: None,
        digest: digest64(call.as_bytes()),
    }
}

pub(crate) fn sub_agent(call: &str) -> Tool {
    Tool { input: ToolInput::SubAgent { description: "look around".into() }, ..tool(call) }
}

pub(crate) fn session(id: &str) -> EventKind {
    EventKind::SessionStarted {
        agent: "demo".into(),
        agent_version: None,
        native_id: SessionId(id.into()),
        model: None,
        cwd: None,
        resumed_from: None,
    }
}

pub(crate) fn reconnecting() -> EventKind {
    EventKind::ConnectionChanged { state: "reconnecting".into(), attempt: None }
}

pub(crate) fn turn_ended(usage: Option<Usage>) -> EventKind {
    EventKind::TurnEnded { end: TurnEnd::Done, text: None, usage, duration_ms: None }
}

pub(crate) fn delta(item: u64, role: TextRole, text: &str) -> EventKind {
    EventKind::ItemDelta { id: ItemId(item), role, text: text.into() }
}
