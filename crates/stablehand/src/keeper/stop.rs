//! Decides how a tree is brought down: whom to signal, when to stop being polite, when to give up.
//!
//! Everything here is a function of what was seen and of the time; `serve.rs` looks, signals and
//! reaps.

use crate::tree::Process;
use stablehand_core::event::ProcessRow;
use std::time::{Duration, Instant};

/// How long a tree may resist `SIGKILL`. A process that waits for a dead file server does, for
/// ever, and a fork bomb may outrun the scan; nobody should wait for either.
const KILL_LIMIT: Duration = Duration::from_secs(5);

/// Longest politeness; whoever asks for more means "as long as it takes", and no clock overflows.
const MAX_POLITE: Duration = Duration::from_hours(24);

/// Shortest and longest pause between two looks at a tree that is being killed. A child that ends
/// wakes the keeper earlier.
const PAUSES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(20));

/// How long a background group has between `SIGTERM` and `SIGKILL`.
const GROUP_GRACE: Duration = Duration::from_secs(2);

/// So many command lines are kept for the report; a fork bomb has more, and all are the same.
const MOST_COMMANDS: usize = 64;

/// The end of a whole tree, in progress.
#[derive(Debug)]
pub(super) struct Stop {
    /// Who was there when it began.
    pub(super) found: Vec<Process>,
    /// The command lines of the first of them, by pid: once they have ended, they have none.
    commands: Vec<(u32, String)>,
    phase: Phase,
    pause: Duration,
}

#[derive(Debug)]
enum Phase {
    /// All were asked to end.
    Asked { until: Instant },
    /// All are being killed.
    Killing { until: Instant },
}

/// What to do now.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing before this moment.
    Wait(Instant),
    /// Kill whoever is there, then look again at this moment.
    Kill(Instant),
    /// Nobody is left.
    Done,
    /// Somebody is left, and that will not change.
    GiveUp,
}

impl Stop {
    /// Begins with those who are there. A zero `polite` kills at once.
    pub(super) fn new(found: Vec<Process>, polite: Duration, now: Instant) -> Stop {
        let phase = Phase::Asked { until: now + polite.min(MAX_POLITE) };
        Stop { found, commands: Vec::new(), phase, pause: PAUSES.0 }
    }

    /// Keeps the command lines of those who are there, for the report. Called before they are
    /// signalled.
    pub(super) fn name_commands(mut self) -> Stop {
        let command = |process: &Process| Some((process.pid, process.command()?));
        self.commands = self.found.iter().take(MOST_COMMANDS).filter_map(command).collect();
        self
    }

    /// The row of a process in the report.
    pub(super) fn row(&self, process: &Process) -> ProcessRow {
        let known = self.commands.iter().find(|(pid, _)| *pid == process.pid);
        ProcessRow { command: known.map(|(_, command)| command.clone()), ..process.row() }
    }

    /// A second order never makes it slower.
    pub(super) fn hurry(&mut self, polite: Duration, now: Instant) {
        if let Phase::Asked { until } = &mut self.phase {
            *until = (*until).min(now + polite.min(MAX_POLITE));
        }
    }

    /// What to do at `now`. `childless` is the kernel's word that the keeper has no child left.
    pub(super) fn step(&mut self, childless: bool, now: Instant) -> Step {
        if childless {
            return Step::Done;
        }
        let limit = match self.phase {
            Phase::Asked { until } if now < until => return Step::Wait(until),
            Phase::Asked { .. } => now + KILL_LIMIT,
            Phase::Killing { until } if now < until => until,
            Phase::Killing { .. } => return Step::GiveUp,
        };
        self.phase = Phase::Killing { until: limit };
        let again = now + self.pause;
        self.pause = (self.pause * 2).min(PAUSES.1);
        Step::Kill(again)
    }
}

/// The end of one background group, in progress. All its members were sent `SIGTERM`.
#[derive(Debug)]
pub(super) struct GroupStop {
    /// The process that the order named.
    pub(super) leader: u32,
    /// Who belonged to it when the order came.
    pub(super) victims: Vec<Process>,
    /// When those still there are killed.
    pub(super) until: Instant,
}

impl GroupStop {
    /// Begins with `victims`.
    pub(super) fn new(leader: u32, victims: Vec<Process>, now: Instant) -> GroupStop {
        GroupStop { leader, victims, until: now + GROUP_GRACE }
    }
}

/// The group that `leader` leads and everything below `leader`, out of the keeper's `descendants`
/// (parents first). Never the agent; nobody if `leader` is not ours.
pub(super) fn group_of(leader: u32, agent: u32, descendants: &[Process]) -> Vec<Process> {
    if leader == agent {
        return Vec::new();
    }
    let mut below = vec![leader];
    let mut members = Vec::new();
    for process in descendants.iter().filter(|process| process.pid != agent) {
        if below.contains(&process.ppid) {
            below.push(process.pid);
        }
        if process.pgid == leader || below.contains(&process.pid) {
            members.push(*process);
        }
    }
    members
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::tests::process;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn asks_then_kills_then_gives_up_and_never_waits_longer() {
        let start = Instant::now();
        let mut stop = Stop::new(Vec::new(), SECOND, start);
        assert_eq!(stop.step(false, start), Step::Wait(start + SECOND));
        let late = start + SECOND;
        assert_eq!(stop.step(false, late), Step::Kill(late + PAUSES.0));
        assert_eq!(stop.step(false, late), Step::Kill(late + PAUSES.0 * 2));
        for _ in 0..20 {
            assert!(
                matches!(stop.step(false, late), Step::Kill(again) if again <= late + PAUSES.1)
            );
        }
        assert_eq!(stop.step(false, late + KILL_LIMIT), Step::GiveUp);
    }

    #[test]
    fn ends_in_any_phase_once_nobody_is_left() {
        let start = Instant::now();
        assert_eq!(Stop::new(Vec::new(), SECOND, start).step(true, start), Step::Done);
        let mut stop = Stop::new(Vec::new(), Duration::ZERO, start);
        assert!(matches!(stop.step(false, start), Step::Kill(_)));
        assert_eq!(stop.step(true, start + SECOND * 60), Step::Done);
    }

    #[test]
    fn a_second_order_only_shortens() {
        let start = Instant::now();
        let mut stop = Stop::new(Vec::new(), Duration::MAX, start);
        stop.hurry(SECOND, start);
        stop.hurry(Duration::MAX, start);
        assert_eq!(stop.step(false, start), Step::Wait(start + SECOND));
        stop.hurry(Duration::ZERO, start);
        assert!(matches!(stop.step(false, start), Step::Kill(_)));
        // Once killing, an order with a longer grace changes nothing.
        stop.hurry(SECOND * 9, start);
        assert!(matches!(stop.step(false, start), Step::Kill(_)));
    }

    #[test]
    fn a_group_is_its_members_and_what_is_below_but_never_the_agent() {
        // Agent 10 with a helper 11; background shell 20 with 21 in its group and 22 in its own.
        let mut helper = process(11, 10);
        helper.pgid = 10;
        let mut member = process(21, 20);
        member.pgid = 20;
        let tree = [process(10, 1), helper, process(20, 10), member, process(22, 20)];
        let pids = |leader| -> Vec<u32> {
            group_of(leader, 10, &tree).iter().map(|process| process.pid).collect()
        };
        assert_eq!(pids(20), [20, 21, 22]);
        assert_eq!(pids(11), [11]);
        assert_eq!(pids(10), [0_u32; 0]);
        assert_eq!(pids(99), [0_u32; 0]);
        // The leader has ended and been reaped; its group lives on below the keeper.
        let mut orphan = process(21, 1);
        orphan.pgid = 20;
        assert_eq!(group_of(20, 10, &[orphan]).len(), 1);
    }
}
