//! Judging recorded runs again: what the monitor was told is in the log, and so is what it decided.
//!
//! [`Check`] runs decoder and monitor over a log and says where they decide otherwise than they did
//! then. [`WhatIf`] lets the monitor judge with other limits. [`Survey`] collects how long agents
//! were silent and went on, and [`tune`] says of a limit's values whom each would have caught and
//! whom it would have stopped for nothing. All three read records in order, through [`Tape`], which
//! owns what in a log is an input of the monitor. Nothing here reads a file or knows the time.
//!
//! Decisions depend on moments, and the driver's clock counts whole milliseconds that its records are
//! stamped with. So the moment of an input is the time of its record, exactly; only a wall clock that
//! was set in between has to be followed (`clock_stepped`).

mod check;
mod decision;
mod ending;
mod survey;
mod tape;
pub mod tune;
mod what_if;

#[cfg(test)]
mod tests;

pub use check::{Check, Difference, Report, Sort};
pub use decision::Decision;
pub use survey::{Hang, RunSilences, Silence, Survey};
pub use tape::{Header, Step, Tape};
pub use what_if::{Change, Finding, Hypothesis, WhatIf};

use stablehand_core::monitor::{Action, Input, Monitor};
use stablehand_core::time::Moment;

/// More ticks than this at one place mean that a clock was set by years, not that there is so much
/// to say.
const MOST_TICKS: usize = 100_000;

/// Until when the monitor's deadlines count before this input: while our own loop did not run,
/// nobody could have judged.
pub(crate) fn judged_until(input: Input<'_>, at: Moment) -> Moment {
    match input {
        Input::Gap(gap) => Moment(at.0.saturating_sub(gap)),
        _ => at,
    }
}

/// Ticks at every deadline before `until`, each at its own moment. What comes at a deadline is
/// read before it is judged.
pub(crate) fn tick_until(monitor: &mut Monitor, until: Moment, out: &mut Vec<(Moment, Action)>) {
    let mut actions = Vec::new();
    for _ in 0..MOST_TICKS {
        let Some(at) = monitor.deadline().filter(|at| *at < until) else { return };
        monitor.handle(Input::Tick, at, &mut actions);
        out.extend(actions.drain(..).map(|action| (at, action)));
    }
}
