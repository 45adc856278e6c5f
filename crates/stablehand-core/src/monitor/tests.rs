//! Scripts for the monitor: a run is told line by line, and the clock ticks at every deadline on
//! the way.

mod background;
mod ends;
mod limits;
mod properties;
mod repeats;
mod silence;
mod steps;
mod tools;
mod waits;

use super::*;
use crate::event::{Outcome, VerdictKind};
use crate::time::millis;
use steps::{delta, reconnecting, session, sub_agent, tool, turn_ended};

/// One run under a monitor.
struct Run {
    monitor: Monitor,
    now: Moment,
    actions: Vec<(Moment, Action)>,
    items: u64,
}

/// The same with a declared timeout in seconds.
fn timed(call: &str, secs: u64) -> Tool {
    Tool { timeout_ms: Some(secs * 1000), ..tool(call) }
}

/// The same with a step.
fn in_step(step: &str, tool: Tool) -> Tool {
    Tool { step: Some(step.into()), ..tool }
}

fn secs(secs: f64) -> Duration {
    Duration::from_secs_f64(secs)
}

impl Run {
    fn with(limits: Limits) -> Self {
        Run {
            monitor: Monitor::new(limits, Moment::START),
            now: Moment::START,
            actions: Vec::new(),
            items: 0,
        }
    }

    /// Idle 60 s, grace 30 s, tick 5 s.
    fn wrap() -> Self {
        Run::with(Limits::cursor_wrap(secs(60.0), secs(30.0), secs(5.0)))
    }

    fn modern() -> Self {
        Run::with(Limits::modern())
    }

    /// Modern limits that ask no witness.
    fn plain() -> Self {
        let mut limits = Limits::modern();
        limits.witness.max_extensions = 0;
        Run::with(limits)
    }

    fn give(&mut self, input: Input<'_>) -> &mut Self {
        let mut out = Vec::new();
        self.monitor.handle(input, self.now, &mut out);
        self.actions.extend(out.into_iter().map(|a| (self.now, a)));
        self
    }

    fn event(&mut self, kind: &EventKind) -> &mut Self {
        self.give(Input::Event { kind, native: "" })
    }

    /// Lets time pass, with a tick at each deadline.
    fn wait(&mut self, seconds: f64) -> &mut Self {
        let end = self.now.plus(secs(seconds));
        while let Some(deadline) = self.monitor.deadline().filter(|d| *d <= end) {
            self.now = deadline.max(self.now);
            self.give(Input::Tick);
            let next = self.monitor.deadline();
            assert!(next.is_none_or(|next| next > self.now), "spins: {self:?}");
        }
        self.now = end;
        self
    }

    /// A session that has been prompted.
    fn begin(&mut self) -> &mut Self {
        self.event(&session("s")).event(&EventKind::TurnStarted { prompt: None, by: None })
    }

    /// A new message.
    fn text(&mut self) -> &mut Self {
        self.items += 1;
        self.event(&delta(self.items, TextRole::Message, "word"))
    }

    /// New reasoning.
    fn think(&mut self) -> &mut Self {
        self.items += 1;
        self.event(&delta(self.items, TextRole::Reasoning, "hm"))
    }

    /// More of the last item.
    fn more(&mut self) -> &mut Self {
        self.event(&delta(self.items, TextRole::Message, "word"))
    }

    fn start(&mut self, tool: Tool) -> &mut Self {
        self.items += 1;
        self.event(&EventKind::ItemStarted {
            item: Item { id: ItemId(self.items), body: ItemBody::Tool(Box::new(tool)) },
        })
    }

    fn done(&mut self, tool: Tool) -> &mut Self {
        let body = ItemBody::Tool(Box::new(Tool { outcome: Some(Outcome::Success), ..tool }));
        let id = ItemId(0);
        self.event(&EventKind::ItemCompleted { item: Item { id, body } })
    }

    fn end(&mut self) -> &mut Self {
        self.event(&turn_ended(None))
    }

    fn witness(&mut self, cpu_ms: u64) -> &mut Self {
        self.give(Input::Witness {
            tree_cpu: Duration::from_millis(cpu_ms),
            window: secs(1.0),
            other_activity: false,
        })
    }

    fn judgement(&self) -> Option<(Moment, &Judgement)> {
        self.actions.iter().find_map(|(at, action)| match action {
            Action::Verdict(judgement) => Some((*at, &**judgement)),
            _ => None,
        })
    }

    /// Waits for a verdict and compares it and its time in seconds.
    #[track_caller]
    fn gives(&mut self, kind: VerdictKind, at: f64) -> &mut Self {
        self.wait(100_000.0);
        let given = self.judgement().map(|(at, j)| (j.kind, at));
        assert_eq!(given, Some((kind, Moment(secs(at)))), "{self:#?}");
        self
    }

    /// No verdict so far.
    #[track_caller]
    fn lives(&mut self) -> &mut Self {
        assert_eq!(self.judgement(), None);
        self
    }

    #[track_caller]
    fn says(&mut self, text: &str) -> &mut Self {
        let said = self.judgement().map_or("", |(_, j)| j.text.as_str());
        assert_eq!(said, text);
        self
    }

    #[track_caller]
    fn is(&mut self, health: Health) -> &mut Self {
        assert_eq!(self.monitor.health(), health);
        self
    }

    fn count(&self, wanted: impl Fn(&Action) -> bool) -> usize {
        self.actions.iter().filter(|(_, a)| wanted(a)).count()
    }

    fn overdue(&self) -> usize {
        self.count(|a| *a == Action::ExitOverdue)
    }

    fn closed(&self, presumed: bool) -> Vec<&str> {
        self.actions
            .iter()
            .filter_map(|(_, action)| match action {
                Action::ToolClosed { call, presumed: p, .. } if *p == presumed => {
                    Some(call.0.as_str())
                }
                _ => None,
            })
            .collect()
    }
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, action) in &self.actions {
            writeln!(f, "{:>9} {action:?}", millis(at.0))?;
        }
        Ok(())
    }
}
