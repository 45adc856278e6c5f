//! What the supervisor can still do about a tree whose keeper was killed.
//!
//! No proof is possible any more, since the orphans now belong to somebody else. But the agent dies
//! with its keeper, the cgroup (where there is one) is still exact, and so is the session: its
//! number is the keeper's pid, which cannot be reused before we reap the keeper. An agent at
//! a terminal has a session of its own: its number is the agent's pid, which nobody can get while
//! the session has a member, and not at once when it has none.

use super::cgroup;
use crate::tree::{Process, Snapshot};
use nix::sys::signal::Signal;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long we look for members of the lost session.
const LIMIT: Duration = Duration::from_millis(500);

/// Pause between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// Kills the members of the session of `keeper` and of `agent_session`, where there is one, their
/// descendants, and everything in `cgroup`. Must be called before the keeper is reaped.
pub(super) fn sweep(keeper: u32, agent_session: Option<u32>, cgroup: Option<&Path>) {
    let deadline = Instant::now() + LIMIT;
    loop {
        let emptied = cgroup.is_none_or(|folder| {
            cgroup::kill(folder);
            cgroup::remove(folder);
            !folder.exists()
        });
        let snapshot = Snapshot::take();
        let members: Vec<&Process> = snapshot
            .session(keeper)
            .chain(agent_session.into_iter().flat_map(|session| snapshot.session(session)))
            .filter(|process| process.pid != keeper && process.is_alive())
            .collect();
        if (emptied && members.is_empty()) || Instant::now() >= deadline {
            return;
        }
        for member in members {
            for below in snapshot.descendants(member.pid) {
                let _gone = below.signal(Signal::SIGKILL);
            }
            let _gone = member.signal(Signal::SIGKILL);
        }
        std::thread::sleep(PAUSE);
    }
}
