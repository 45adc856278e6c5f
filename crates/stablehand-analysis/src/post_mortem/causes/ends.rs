//! How the process ended: crashes, signals, lost output, and who outlived it.

use super::{CauseKind, Finding};
use crate::post_mortem::Sure;
use crate::post_mortem::advice::BY_HAND;
use crate::post_mortem::facts::{Exited, Facts, Last, Seen};
use crate::post_mortem::words;
use stablehand_core::event::{ProcessExit, ProcessRow, SessionEnd, TurnEnd};
use stablehand_core::record::DecisionKind;
use stablehand_core::text::excerpt;

/// What a pipe holds. A program that exits before it has written everything loses the rest, and
/// what was read then is often a multiple of this.
const PIPE: u64 = 65_536;

/// Wordings of memory that ran out, in small letters.
const NO_MEMORY: &[&str] =
    &["out of memory", "heap limit", "cannot allocate memory", "enomem", "oom-kill"];

/// Wordings of a disk without room, in small letters.
const NO_ROOM: &[&str] = &["no space left on device", "enospc", "disk quota exceeded"];

/// Wordings of a program that lacks a part of itself, in small letters.
const NO_PARTS: &[&str] =
    &["cannot find module", "command not found", "error while loading shared libraries"];

/// The agent ended by itself and delivered nothing.
fn ended_badly(facts: &Facts) -> Option<&Exited> {
    let without = matches!(facts.outcome(), Some(SessionEnd::NoResult | SessionEnd::Truncated));
    facts.exited.as_ref().filter(|exited| without && !exited.forced)
}

fn exit_seen(exited: &Exited) -> Seen {
    Seen::new(exited.at, DecisionKind::AgentExited.name(), &words::of_exit(exited.exit))
}

/// The last thing it wrote that is not part of its stream and holds one of these.
fn wording<'f>(facts: &'f Facts, wordings: &[&str]) -> Option<&'f Seen> {
    let holds = |seen: &&Seen| {
        let text = seen.text.to_lowercase();
        wordings.iter().any(|wording| text.contains(wording))
    };
    facts.stderr.iter().rev().find(holds).or_else(|| facts.noise.iter().rev().find(holds))
}

pub(super) fn crashed(facts: &Facts) -> Option<Finding> {
    let exited = ended_badly(facts)?;
    let ProcessExit::Signal(signal) = exited.exit else { return None };
    let name = words::of_exit(exited.exit);
    let seen = exit_seen(exited);
    let finding = if matches!(signal, 4 | 5 | 6 | 7 | 8 | 10 | 11 | 31) {
        let why = format!("The agent's program crashed: {name}.");
        let finding = Finding::new(CauseKind::Crashed, Sure::Certain, why).seen(&seen);
        finding.all_seen(facts.stderr.last()).change(facts.update())
    } else {
        let who = if signal == 9 {
            "The kernel does so where memory runs out, and jobs and containers at their limits."
        } else {
            "Somebody on this machine, or whatever it runs in, did that."
        };
        let why = format!("The agent was ended by {name}, which Stablehand did not send. {who}");
        let finding = Finding::new(CauseKind::Killed, Sure::Certain, why).seen(&seen);
        if signal == 9 {
            finding.change("see whether memory ran out: `journalctl -k | grep -i oom`")
        } else {
            finding
        }
    };
    Some(finding.change(facts.try_again()))
}

pub(super) fn out_of_memory(facts: &Facts) -> Option<Finding> {
    let exited = ended_badly(facts)?;
    let said = wording(facts, NO_MEMORY)?;
    let why = "By its own words, memory ran out.";
    let finding = Finding::new(CauseKind::OutOfMemory, Sure::Likely, why);
    let finding = finding.seen(said).seen(&exit_seen(exited));
    Some(finding.change("give it more memory, or run fewer agents and MCP servers at once"))
}

pub(super) fn disk_full(facts: &Facts) -> Option<Finding> {
    ended_badly(facts)?;
    let said = wording(facts, NO_ROOM)?;
    let why = "By its own words, the disk is full.";
    let finding = Finding::new(CauseKind::DiskFull, Sure::Likely, why).seen(said);
    Some(finding.change("make room: see `df -h`"))
}

pub(super) fn broken_install(facts: &Facts) -> Option<Finding> {
    let exited = ended_badly(facts).filter(|_| facts.progress == 0)?;
    let code = matches!(exited.exit, ProcessExit::Code(126 | 127));
    let said = wording(facts, NO_PARTS);
    if !code && said.is_none() {
        return None;
    }
    let why = "The agent's program, or something that it starts, is not installed as it should be.";
    let finding = Finding::new(CauseKind::BrokenInstall, Sure::Likely, why).all_seen(said);
    let finding = finding.seen(&exit_seen(exited));
    let look = format!("see what is installed: `stablehand agents{}`", facts.agent_flag());
    Some(finding.change("install the agent anew").change(look))
}

pub(super) fn output_lost(facts: &Facts) -> Option<Finding> {
    let exited = ended_badly(facts)?;
    if facts.outcome() != Some(SessionEnd::Truncated) {
        return None;
    }
    let end = facts.end.as_ref()?;
    let bytes = end.stdout_bytes.filter(|bytes| *bytes > 0 && bytes % PIPE == 0);
    let (sure, why) = match (bytes, exited.exit) {
        (Some(bytes), _) => (
            Sure::Likely,
            format!(
                "The agent exited before its output was written: it breaks off in the middle of a \
                 line after exactly {bytes} bytes, a multiple of what a pipe holds."
            ),
        ),
        (None, ProcessExit::Code(0)) => (
            Sure::Likely,
            "The agent exited as if all were well, but its output breaks off in the middle of a line: \
             the end of it was lost on its side."
                .to_owned(),
        ),
        (None, _) => (
            Sure::Possible,
            "The agent ended while it was writing: its output breaks off in the middle of a line."
                .to_owned(),
        ),
    };
    let finding = Finding::new(CauseKind::OutputLost, sure, why).all_seen(&facts.torn);
    let finding = finding.seen(&exit_seen(exited)).change(facts.update()).change(facts.try_again());
    Some(finding.changes(facts.resume()))
}

pub(super) fn result_lost(facts: &Facts) -> Option<Finding> {
    let exited = ended_badly(facts)?;
    let spoke = facts.last == Last::Message && facts.outcome() == Some(SessionEnd::NoResult);
    if !spoke || exited.exit != ProcessExit::Code(0) {
        return None;
    }
    let why = "The agent exited as if all were well after its last text, without the event that ends a \
               turn: perhaps the answer is complete.";
    let finding = Finding::new(CauseKind::ResultLost, Sure::Possible, why);
    let finding =
        finding.seen(&exit_seen(exited)).change("read its last text before you try again");
    Some(finding.changes(facts.resume()))
}

pub(super) fn said_nothing(facts: &Facts) -> Option<Finding> {
    let exited = ended_badly(facts)?;
    if facts.lines > 0 || !facts.stderr.is_empty() {
        return None;
    }
    let why = "It ended at once without a word: wrong arguments or settings, or a folder that it does \
               not work in.";
    let finding =
        Finding::new(CauseKind::SaidNothing, Sure::Possible, why).seen(&exit_seen(exited));
    let dry =
        format!("see how it is started: `stablehand run --dry-run{} \"…\"`", facts.agent_flag());
    Some(finding.change(BY_HAND).change(dry))
}

fn names(rows: &[ProcessRow]) -> String {
    let name = |row: &ProcessRow| match &row.command {
        Some(command) => format!("`{}` ({})", excerpt(command.as_bytes(), 80), row.pid),
        None => format!("{} ({})", row.name, row.pid),
    };
    let shown: Vec<String> = rows.iter().take(5).map(name).collect();
    let more = rows.len().saturating_sub(shown.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

pub(super) fn survivors(facts: &Facts) -> Option<Finding> {
    let exited = facts.exited.as_ref().filter(|exited| !exited.survivors.is_empty());
    let mark = facts.mark(DecisionKind::TreeNotEmpty).map(|mark| &mark.last);
    if exited.is_none() && mark.is_none() {
        return None;
    }
    let why = "Processes of this run could not be stopped, and may still be there.";
    let finding = Finding::new(CauseKind::Survivors, Sure::Certain, why).beside();
    let list = exited.map(|exited| {
        Seen::new(exited.at, DecisionKind::AgentExited.name(), &names(&exited.survivors))
    });
    let finding = finding.all_seen(&list).all_seen(mark);
    Some(finding.change("look for them: `stablehand doctor`"))
}

pub(super) fn left_behind(facts: &Facts) -> Option<Finding> {
    let exited = facts.exited.as_ref().filter(|it| !it.forced && !it.leaked.is_empty())?;
    let many = words::count(exited.leaked.len() as u64, "process", "processes");
    let why = format!("The agent left {many} behind when it ended; they were stopped.");
    let seen = Seen::new(exited.at, DecisionKind::AgentExited.name(), &names(&exited.leaked));
    Some(Finding::new(CauseKind::LeftBehind, Sure::Certain, why).beside().seen(&seen))
}

pub(super) fn no_exit(facts: &Facts) -> Option<Finding> {
    let mark = facts.mark(DecisionKind::ExitOverdue)?;
    let why = "The agent delivered its result and then did not exit, so what was left of it was stopped. \
               The result counts.";
    let finding = Finding::new(CauseKind::NoExit, Sure::Certain, why).beside();
    let result = facts.turn_end.as_ref().map(|(seen, _): &(Seen, TurnEnd)| seen);
    let finding = finding.all_seen(result).seen(&mark.last);
    Some(
        finding
            .change("have it wait less for the exit: `--exit-grace 1s`")
            .change("look for MCP servers and background commands that hold it"),
    )
}

pub(super) fn needed_kill(facts: &Facts) -> Option<Finding> {
    let stop = facts.stops.iter().find(|stop| stop.stage == "kill" && !stop.left.is_empty())?;
    let many = words::count(stop.left.len() as u64, "process", "processes");
    let why = format!("It did not go when it was asked to: {many} had to be killed.");
    let seen = Seen::new(stop.at, DecisionKind::AgentKilled.name(), &names(&stop.left));
    Some(Finding::new(CauseKind::NeededKill, Sure::Certain, why).beside().seen(&seen))
}
