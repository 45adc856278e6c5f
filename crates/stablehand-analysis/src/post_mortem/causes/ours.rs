//! What we, a person or the machine did, as our own records state it.

use super::{CauseKind, Finding};
use crate::post_mortem::Sure;
use crate::post_mortem::advice::BY_HAND;
use crate::post_mortem::facts::{Facts, Seen};
use crate::post_mortem::words;
use stablehand_core::event::{SessionEnd, VerdictKind};
use stablehand_core::record::DecisionKind;

pub(super) fn limit_set(facts: &Facts) -> Option<Finding> {
    let judged = facts.fatal().filter(|judged| judged.kind.is_limit())?;
    let flag = words::flag_of(judged.kind);
    if judged.kind == VerdictKind::Background {
        let why = "The agent gave a result while background tasks were open, and none of them woke it \
                   in time: what it would have said after them is missing.";
        let finding = Finding::new(CauseKind::LimitSet, Sure::Certain, why).seen(&judged.seen);
        let finding = finding.change(format!("raise `{flag}`, where the tasks need longer"));
        let change = "have it stop servers that it started, or start them yourself beforehand";
        return Some(finding.change(change).changes(facts.resume()));
    }
    let finding = Finding::new(
        CauseKind::LimitSet,
        Sure::Certain,
        format!("A limit that was set for this run (`{flag}`) was reached."),
    );
    let finding =
        finding.seen(&judged.seen).change(format!("raise `{flag}`, or give it less to do"));
    Some(finding.changes(facts.resume()))
}

pub(super) fn interrupted(facts: &Facts) -> Option<Finding> {
    if facts.outcome() != Some(SessionEnd::Interrupted) {
        return None;
    }
    let end = facts.end.as_ref()?;
    let signal = facts.mark(DecisionKind::SignalReceived).map(|mark| &mark.last);
    let why = match signal {
        Some(_) => {
            "Stablehand was told to stop by a signal: by a person, or by whatever started it."
        }
        None => "The last turn was cancelled.",
    };
    let finding = Finding::new(CauseKind::Interrupted, Sure::Certain, why);
    Some(finding.all_seen(signal).seen(&end.seen).changes(facts.resume()))
}

pub(super) fn reader_gone(facts: &Facts) -> Option<Finding> {
    let end = facts.end.as_ref().filter(|end| end.outcome == Some(SessionEnd::ReaderGone))?;
    let why = "Whoever read our standard output closed it, so the agent was stopped.";
    let finding = Finding::new(CauseKind::ReaderGone, Sure::Certain, why).seen(&end.seen);
    Some(finding.change(
        "let the reader read to the end (`| head` does not), or write to a file: `> out.ndjson`",
    ))
}

pub(super) fn not_started(facts: &Facts) -> Option<Finding> {
    let failed = facts.mark(DecisionKind::SpawnFailed)?;
    let why = "The agent's program could not be started.";
    let finding = Finding::new(CauseKind::NotStarted, Sure::Certain, why).seen(&failed.last);
    Some(
        finding
            .change("see what is installed: `stablehand agents`")
            .change("name the program: `--agent-bin PROGRAM`"),
    )
}

/// The reasons for which we ourselves give up a run.
pub(super) fn could_not_go_on(facts: &Facts) -> Option<Finding> {
    let over = match &facts.end {
        Some(end) => end.outcome == Some(SessionEnd::Internal),
        None => true,
    };
    let mark = |kind| facts.mark(kind).filter(|_| over).map(|mark| &mark.last);
    let (kind, seen, why, change) = if let Some(seen) = mark(DecisionKind::SessionTaken) {
        let why = "Another run had the same session, so this one was stopped.";
        (CauseKind::SessionTaken, seen, why, "wait for the other run, or begin a new session")
    } else if let Some(seen) = mark(DecisionKind::HooksInactive) {
        let why = "Hooks were to hold the agent, and it did not call them, so it was killed.";
        let change = "see why they are not run: `stablehand hooks status`; or leave out `--hooks`";
        (CauseKind::HooksInactive, seen, why, change)
    } else if let Some(seen) = mark(DecisionKind::HooksChanged) {
        let why = "Our hooks in the agent's file were removed or changed, so the agent was killed.";
        let change = "deny the command that did so (`git clean`, `rm`) by a rule";
        (CauseKind::HooksChanged, seen, why, change)
    } else if let Some(seen) = mark(DecisionKind::KeeperLost) {
        let why = "Another program killed the keeper, which owns the agent's process tree.";
        let change =
            "look for who kills processes here: the kernel (`journalctl -k`), a job's limits";
        (CauseKind::KeeperLost, seen, why, change)
    } else if let Some(seen) = mark(DecisionKind::ToolNotAsked) {
        // Last but one, because such a tool may have been allowed or tolerated.
        let why =
            "The agent ran a tool without asking, and the rules do not allow it, so it was killed.";
        let change = "look at what the tool did; allow it by a rule, or see why the agent did not ask: \
                      `stablehand hooks status`";
        (CauseKind::NotAsked, seen, why, change)
    } else {
        let seen = mark(DecisionKind::LogDegraded).filter(|_| facts.end.is_some())?;
        let why = "The log could not be written, and `--log-required` was given.";
        (CauseKind::LogFailed, seen, why, "make room on the disk, or choose another `--log-dir`")
    };
    Some(Finding::new(kind, Sure::Certain, why).seen(seen).change(change))
}

pub(super) fn unfinished(facts: &Facts) -> Option<Finding> {
    if facts.end.is_some() {
        return None;
    }
    let last = Seen::new(facts.newest, "the last record", "nothing follows in the log");
    let (sure, why) = if facts.is_followed {
        let why =
            "The record of its end is missing, although another run follows: the log is damaged.";
        (Sure::Likely, why)
    } else if facts.last_line_was_lost {
        let why = "The log ends in the middle of a line: Stablehand was killed, the power went, or the \
                   disk was full.";
        (Sure::Likely, why)
    } else {
        let why = "The log has no end of this run: it is still going on, or Stablehand itself was killed.";
        (Sure::Possible, why)
    };
    let finding = Finding::new(CauseKind::Unfinished, sure, why).seen(&last);
    let finding = finding.change("see whether anything was left behind: `stablehand doctor`");
    Some(finding.changes(facts.resume()))
}

/// Lines that the dialect does not know, and none that it does.
pub(super) fn foreign_lines(facts: &Facts) -> Option<Finding> {
    let unknown = facts.unknown.count();
    let says_nothing = facts.session.is_none() && facts.progress == 0;
    let lines = words::count(unknown, "line", "lines");
    if says_nothing && unknown > 0 {
        let why = format!(
            "{lines} of the agent could not be understood, and none that names a session came: it \
             is another program than was meant, or a version that speaks differently."
        );
        let finding = Finding::new(CauseKind::ForeignLines, Sure::Likely, why);
        let finding = finding.all_seen(facts.unknown.iter());
        return Some(
            finding
                .change("see that `--agent` names the program that is run")
                .change("update Stablehand, or go back to an older version of the agent"),
        );
    }
    if says_nothing && facts.noise.count() > 0 && facts.spoken.is_empty() {
        let why = "The agent wrote text instead of its stream, and no session began.";
        let finding = Finding::new(CauseKind::ForeignLines, Sure::Possible, why);
        return Some(finding.all_seen(facts.noise.iter()).change(BY_HAND));
    }
    (unknown > 0).then(|| {
        let why = format!("{lines} of the agent could not be understood.");
        let finding = Finding::new(CauseKind::ForeignLines, Sure::Certain, why).beside();
        finding.all_seen(facts.unknown.last()).change("update Stablehand; the agent may be newer")
    })
}

pub(super) fn prompt_refused(facts: &Facts) -> Option<Finding> {
    let mark = facts.mark(DecisionKind::PromptRefused)?;
    // Whoever ends at once has not read, either; so it explains nothing.
    let why = "The agent closed its standard input before it had the whole prompt.";
    let finding = Finding::new(CauseKind::PromptRefused, Sure::Certain, why).beside();
    Some(finding.seen(&mark.last).change(BY_HAND))
}

pub(super) fn log_degraded(facts: &Facts) -> Option<Finding> {
    let mark = facts.mark(DecisionKind::LogDegraded)?;
    let why = "The log could not be written for a while; something may be missing in it.";
    let finding = Finding::new(CauseKind::LogDegraded, Sure::Certain, why).beside();
    let recovered = facts.mark(DecisionKind::LogRecovered).map(|mark| &mark.last);
    Some(finding.seen(&mark.last).all_seen(recovered).change("make room on the disk"))
}

pub(super) fn hook_trouble(facts: &Facts) -> Option<Finding> {
    let kinds = [
        DecisionKind::ToolNotAsked,
        DecisionKind::HookRefused,
        DecisionKind::HookUnreadable,
        DecisionKind::HooksLeft,
    ];
    let marks: Vec<_> = kinds.into_iter().filter_map(|kind| facts.mark(kind)).collect();
    if marks.is_empty() {
        return None;
    }
    let count: u64 = marks.iter().map(|mark| mark.count).sum();
    let why = format!("Hooks did not do their part, {}.", words::count(count, "time", "times"));
    let finding = Finding::new(CauseKind::HookTrouble, Sure::Certain, why).beside();
    let finding = finding.all_seen(marks.iter().map(|mark| &mark.last));
    Some(finding.change("see how they are: `stablehand hooks status`"))
}

pub(super) fn would_have_killed(facts: &Facts) -> Option<Finding> {
    let mark = facts.mark(DecisionKind::WouldHaveKilled)?;
    let times = words::count(mark.count, "time", "times");
    let why = format!("With its limits this run would have been stopped, {times}.");
    let finding = Finding::new(CauseKind::WouldHaveKilled, Sure::Certain, why).beside();
    Some(finding.seen(&mark.last).change("raise that limit before you leave out `--observe-only`"))
}

pub(super) fn starved(facts: &Facts) -> Option<Finding> {
    let seen = facts.starved.as_ref()?;
    let why = "Stablehand itself did not get to run for a while: the machine was stopped or overloaded. \
               That time was not counted.";
    Some(Finding::new(CauseKind::Starved, Sure::Certain, why).beside().seen(seen))
}

pub(super) fn clock_set_back(facts: &Facts) -> Option<Finding> {
    let (seen, ms) = facts.clock_set_back.as_ref()?;
    let why = format!("The clock was set back by {}: times here are not exact.", words::ms(*ms));
    Some(Finding::new(CauseKind::ClockSetBack, Sure::Certain, why).beside().seen(seen))
}

pub(super) fn damaged(facts: &Facts) -> Option<Finding> {
    (facts.lost_lines > 0).then(|| {
        let lines = words::count(facts.lost_lines, "line of this run is", "lines of this run are");
        let why = format!("{lines} no record; something may be missing here.");
        Finding::new(CauseKind::Damaged, Sure::Certain, why).beside()
    })
}
