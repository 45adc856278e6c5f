//! Processes that an interrupted turn began and that outlive it: its end waits until they are gone.
//!
//! Where some stay, the agent is stopped with them; the next prompt resumes its session.

use super::Driver;
use super::stop::StopReason;
use crate::tree;
use stablehand_core::Moment;
use stablehand_core::record::DecisionRecord;
use stablehand_core::text::excerpt;
use stablehand_core::time::human;
use std::time::Duration;

/// So long the processes that a turn began may outlive its interrupt. An agent that kills its tools
/// takes a few milliseconds for it.
const LINGER: Duration = Duration::from_secs(2);

/// Between two looks at them.
const LOOK: Duration = Duration::from_millis(50);

/// The processes of the turn that is on, or that was interrupted.
#[derive(Debug, Default)]
pub(super) struct Lingering {
    /// The agent's processes before the turn.
    before: Vec<u32>,
    /// Those in its process group when it said its first words. A launcher may have started the
    /// program itself after the first prompt was given.
    own: Vec<u32>,
    /// An interrupted turn is over, and its processes must be gone by then.
    until: Option<Moment>,
    /// When they are looked at next.
    look_at: Option<Moment>,
}

impl Lingering {
    /// A turn begins.
    pub(super) fn begin(&mut self, driver: &Driver<'_>) {
        let rows = tree::descendants(driver.keeper.agent_pid());
        self.before = rows.iter().map(|row| row.pid).collect();
    }

    /// The agent has said its first words.
    pub(super) fn is_up(&mut self, driver: &Driver<'_>) {
        let agent = driver.keeper.agent_pid();
        let own = tree::descendants(agent).into_iter().filter(|row| row.pgid == agent);
        self.own = own.map(|row| row.pid).collect();
    }

    /// An interrupted turn is over.
    pub(super) fn wait(&mut self, now: Moment) {
        self.until = Some(now.plus(LINGER));
    }

    /// Returns true while an interrupted turn waits for its processes.
    pub(super) fn is_waiting(&self) -> bool {
        self.until.is_some()
    }

    /// When they are looked at next.
    pub(super) fn deadline(&self) -> Option<Moment> {
        self.look_at
    }

    /// Returns true once no process is left that an interrupted turn began.
    pub(super) fn is_cleared(&mut self, driver: &mut Driver<'_>, now: Moment) -> bool {
        self.look_at = None;
        let Some(until) = self.until else { return true };
        if driver.stop.reason().is_some() {
            return false;
        }
        let agent = driver.keeper.agent_pid();
        let mut left = tree::descendants(agent);
        // A tool that was being started then has a process group of its own by now.
        let is_own = |pid: u32, group: u32| self.own.contains(&pid) && group == agent;
        left.retain(|row| row.state != 'Z' && !self.before.contains(&row.pid));
        left.retain(|row| !is_own(row.pid, row.pgid));
        if left.is_empty() {
            self.until = None;
            return true;
        }
        if now < until {
            self.look_at = Some(now.plus(LOOK).min(until));
            return false;
        }
        let names: Vec<_> = left.iter().map(|row| format!("{} {}", row.pid, row.name)).collect();
        let text = format!(
            "processes of the interrupted turn are left after {}, so the agent is stopped: {}",
            human(LINGER),
            excerpt(names.join(", ").as_bytes(), 200)
        );
        driver.log.decide(DecisionRecord::CancelIgnored(text.into()), None);
        driver.stop.begin(StopReason::Signal(2), now);
        false
    }
}
