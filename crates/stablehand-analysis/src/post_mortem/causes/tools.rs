//! Tools: one that waits, one that never ends, one that nobody allowed, and the same again and again.

use super::habits;
use super::silence::{Work, with_cpu, work_of};
use super::{CauseKind, Finding};
use crate::post_mortem::Sure;
use crate::post_mortem::facts::{Facts, Judged, Often, Seen, chant};
use crate::post_mortem::words;
use stablehand_core::event::{OpenTool, ProcessRow, SessionEnd, ToolClass, VerdictKind};
use stablehand_core::record::DecisionKind;

/// The ends of a question at a terminal, in small letters.
const QUESTIONS: &[&str] = &["y/n", "yes/no", "press ", "continue?", "password", "[y]", "enter to"];

/// The verdict on tools that ended the run.
fn stuck(facts: &Facts) -> Option<&Judged> {
    facts.fatal().filter(|judged| judged.kind == VerdictKind::Tool)
}

/// The processes below the agent.
fn below<'f>(facts: &'f Facts, judged: &'f Judged) -> impl Iterator<Item = &'f ProcessRow> {
    let rows = judged.evidence.processes.iter();
    rows.filter(|row| Some(row.pid) != facts.pid && row.state != 'Z')
}

fn is_command(tool: &OpenTool) -> bool {
    tool.class == ToolClass::Execute
}

fn tool_seen(judged: &Judged, tool: &OpenTool) -> Seen {
    let limit = words::ms(tool.limit_ms);
    let text =
        format!("`{}` open for {} (limit {limit})", tool.command, words::ms(tool.elapsed_ms));
    Seen::new(judged.seen.at, "evidence", &text)
}

fn rows_seen<'r>(judged: &Judged, rows: impl Iterator<Item = &'r ProcessRow>) -> Seen {
    let list: Vec<String> = rows
        .take(6)
        .map(|row| {
            format!("{} ({}, state {}, {})", row.name, row.pid, row.state, words::ms(row.cpu_ms))
        })
        .collect();
    Seen::new(judged.seen.at, "evidence", &format!("processes: {}", list.join(", ")))
}

fn find_command(judged: &Judged, is: fn(&str) -> bool) -> Option<&OpenTool> {
    let mut commands = judged.evidence.open_tools.iter().filter(|tool| is_command(tool));
    commands.find(|tool| is(&tool.command))
}

pub(super) fn livelock(facts: &Facts) -> Option<Finding> {
    let again = "give it another prompt: it does the same again and again";
    if let Some(judged) = facts.fatal().filter(|judged| judged.kind == VerdictKind::Livelock) {
        let why = "The agent made the same calls and got the same results, again and again.";
        let finding = Finding::new(CauseKind::Livelock, Sure::Certain, why).seen(&judged.seen);
        return Some(finding.change(again).change("allow more rounds: `--livelock N`"));
    }
    let mark = facts.mark(DecisionKind::LivelockSuspected)?;
    let why = "For a while the agent made the same calls and got the same results.";
    let finding = Finding::new(CauseKind::Livelock, Sure::Likely, why).seen(&mark.last);
    let finding = finding.change("stop it when that happens: `--livelock 10`");
    Some(if was_cut_short(facts) { finding.change(again) } else { finding.beside() })
}

/// Whether a limit on use was reached or somebody lost patience: whatever it was doing then counts.
fn was_cut_short(facts: &Facts) -> bool {
    matches!(
        facts.outcome(),
        Some(SessionEnd::LimitReached | SessionEnd::Interrupted | SessionEnd::AgentError)
    )
}

/// The same again and again, where results differ or something else comes between.
pub(super) fn repeats_itself(facts: &Facts) -> Option<Finding> {
    if livelock(facts).is_some() {
        return None; // That says it better.
    }
    let often = |often: &Often, what: &str| {
        let why = format!("{what} {} times within {}.", often.count, often.of);
        (why, often.seen.clone(), often.goes_on)
    };
    let calls = facts.same_calls.often().map(|it| often(it, "The agent made the same call"));
    let messages = || facts.same_messages.often().map(|it| often(it, "The agent said the same"));
    let chanted = || {
        let (words, times) = chant(&facts.last_words)?;
        let why =
            format!("The agent ended with the same words over and over, {times} times at least.");
        let at = facts.progressed.unwrap_or(facts.newest);
        Some((why, Seen::new(at, "message", &words), true))
    };
    let (why, seen, goes_on) = chanted().or(calls).or_else(messages)?;
    let finding = Finding::new(CauseKind::RepeatsItself, Sure::Likely, why).seen(&seen);
    let finding = finding.change("give it another prompt, or a smaller task");
    let finding = finding.change("bound it: `--max-turns N`, `--max-tool-calls N`");
    Some(if goes_on && was_cut_short(facts) { finding } else { finding.beside() })
}

/// Somebody was asked, and had not answered when the run was over.
pub(super) fn open_question(facts: &Facts) -> Option<Finding> {
    let open = facts.questions.last()?;
    if facts.fatal().is_some() {
        return None; // While a question is open no limit runs: it was not asked of us.
    }
    let why = "The agent waited for an answer that had not come when the run was over.";
    let finding = Finding::new(CauseKind::OpenQuestion, Sure::Certain, why).seen(&open.seen);
    Some(finding.change(facts.let_it()).changes(facts.resume()))
}

pub(super) fn process_stopped(facts: &Facts) -> Option<Finding> {
    let judged = facts.fatal().filter(|judged| !judged.kind.is_limit())?;
    let is_stopped = |row: &&ProcessRow| matches!(row.state, 'T' | 't');
    let stopped: Vec<&ProcessRow> = judged.evidence.processes.iter().filter(is_stopped).collect();
    if stopped.is_empty() {
        return None;
    }
    let why = "A process of the agent's was stopped (not ended): by a signal, a debugger, or because it \
               read from a terminal that is not its own.";
    let finding = Finding::new(CauseKind::ProcessStopped, Sure::Likely, why);
    let finding = finding.seen(&rows_seen(judged, stopped.into_iter())).seen(&judged.seen);
    Some(finding.change("find out who stops it; `kill -CONT PID` lets it go on"))
}

pub(super) fn stuck_in_kernel(facts: &Facts) -> Option<Finding> {
    let judged = facts.fatal().filter(|judged| !judged.kind.is_limit())?;
    let waits = |row: &&ProcessRow| row.state == 'D';
    let waiting: Vec<&ProcessRow> = judged.evidence.processes.iter().filter(waits).collect();
    if waiting.is_empty() || work_of(&judged.evidence) == Work::Busy {
        return None;
    }
    let why = "A process of the agent's waits inside the kernel: for a disk, a network file system or a \
               device that does not answer.";
    let finding = Finding::new(CauseKind::StuckInKernel, Sure::Possible, why);
    let finding = finding.seen(&rows_seen(judged, waiting.into_iter())).seen(&judged.seen);
    Some(finding.change("look at the file systems: `dmesg`, and whether `ls` hangs there too"))
}

/// At a terminal the screen says what is waited for.
pub(super) fn waits_for_key(facts: &Facts) -> Option<Finding> {
    let judged = facts.fatal().filter(|judged| !judged.kind.is_limit())?;
    let screen = &judged.evidence.screen;
    let lines = || screen.iter().rev().filter(|line| !line.trim().is_empty()).take(6);
    let asks = lines().find(|line| {
        let line = line.to_lowercase();
        line.trim_end().ends_with('?') || QUESTIONS.iter().any(|words| line.contains(words))
    })?;
    let why = "On its screen the agent, or a tool of its, waits for somebody to press a key.";
    let finding = Finding::new(CauseKind::WaitsForKey, Sure::Likely, why);
    let finding = finding.seen(&Seen::new(judged.seen.at, "screen", asks)).seen(&judged.seen);
    Some(finding.change("answer it once by hand").change(facts.let_it()))
}

pub(super) fn waits_for_input(facts: &Facts) -> Option<Finding> {
    let judged = stuck(facts).filter(|judged| work_of(&judged.evidence) != Work::Busy)?;
    let tool = find_command(judged, habits::asks)?;
    below(facts, judged).next()?;
    let why =
        "The command is one that asks somebody, and nobody is there; it runs and does nothing.";
    let finding = Finding::new(CauseKind::WaitsForInput, Sure::Likely, why);
    let finding =
        finding.seen(&tool_seen(judged, tool)).seen(&rows_seen(judged, below(facts, judged)));
    Some(
        finding
            .change("tell the agent to use the form of it that asks nothing (`-y`, `-n`, a pipe)")
            .change("forbid it by a rule: `--policy FILE`"),
    )
}

pub(super) fn endless_command(facts: &Facts) -> Option<Finding> {
    let judged = stuck(facts)?;
    let tool = find_command(judged, habits::never_ends)?;
    let why = "The command is one that never ends by itself, and the agent waits for its end.";
    let finding = Finding::new(CauseKind::EndlessCommand, Sure::Likely, why);
    let finding = finding.seen(&tool_seen(judged, tool)).seen(&judged.seen);
    Some(
        finding
            .change("tell the agent to start it in the background, or with a timeout")
            .change("start it yourself beforehand"),
    )
}

/// A command is said to run, and there is no process of it.
pub(super) fn waits_for_permission(facts: &Facts) -> Option<Finding> {
    let judged = stuck(facts).filter(|judged| work_of(&judged.evidence) != Work::Busy)?;
    // Without a table nobody looked, or the system has none.
    if judged.evidence.processes.is_empty() || below(facts, judged).next().is_some() {
        return None;
    }
    let tools = &judged.evidence.open_tools;
    let tool = tools
        .iter()
        .find(|tool| is_command(tool))
        .or_else(|| tools.iter().find(|tool| tool.class == ToolClass::Local))?;
    let (sure, why) = if is_command(tool) {
        let why = "The agent says that a command runs, but no process of it exists: most likely it waits \
                   for a permission that nobody can give here, unless the end of it was lost.";
        (Sure::Likely, why)
    } else {
        let why = "A tool that takes moments did not come back, and nothing is at work: it may wait for a \
                   permission that nobody can give here.";
        (Sure::Possible, why)
    };
    let finding = Finding::new(CauseKind::WaitsForPermission, sure, why);
    let agent = judged.evidence.processes.iter();
    let finding = finding.seen(&tool_seen(judged, tool)).seen(&rows_seen(judged, agent));
    Some(finding.change(facts.let_it()).change("see what it asks: `--transport pty`"))
}

pub(super) fn too_slow(facts: &Facts) -> Option<Finding> {
    let judged = stuck(facts)?;
    let evidence = &judged.evidence;
    if evidence.extensions == 0 && work_of(evidence) != Work::Busy {
        return None;
    }
    let tool = evidence.open_tools.first()?;
    let why = "The tool was past its time, but processes of the agent's were still at work.";
    let finding = Finding::new(CauseKind::ToolTooSlow, Sure::Likely, why);
    let finding = finding.seen(&tool_seen(judged, tool)).all_seen(&facts.busy);
    Some(finding.all_seen(&with_cpu(judged)).change(longer(facts, judged, tool)))
}

fn longer(facts: &Facts, judged: &Judged, tool: &OpenTool) -> String {
    match tool.timeout_ms {
        Some(declared) => format!(
            "have the agent declare more than {} for it, or give it more on top: `--tool-grace`",
            words::ms(declared)
        ),
        None => facts.wait_longer(judged.kind, tool.limit_ms),
    }
}

/// All that is left to say of a tool.
pub(super) fn silent(facts: &Facts) -> Option<Finding> {
    let judged = stuck(facts).filter(|judged| work_of(&judged.evidence) != Work::Busy)?;
    let tool = judged.evidence.open_tools.first()?;
    let what = match tool.class {
        ToolClass::Execute => {
            "The command did not come back: it waits for input, a lock or the network, \
                               or it is done and its end was never told."
        }
        ToolClass::Mcp => "The MCP server did not answer.",
        ToolClass::SubAgent => "The sub-agent did not come back.",
        ToolClass::Fetch => "The address did not answer.",
        _ => "The tool did not come back.",
    };
    let finding = Finding::new(CauseKind::ToolSilent, Sure::Possible, what);
    let finding = finding.seen(&tool_seen(judged, tool));
    let rows: Vec<&ProcessRow> = below(facts, judged).collect();
    let finding = if rows.is_empty() {
        finding.seen(&judged.seen)
    } else {
        finding.seen(&rows_seen(judged, rows.into_iter()))
    };
    let finding = finding.change(longer(facts, judged, tool));
    Some(match tool.class {
        ToolClass::Mcp => finding
            .change(format!("see how the server is: `stablehand mcp list{}`", facts.agent_flag())),
        _ => finding.changes(facts.resume()),
    })
}

pub(super) fn lost_completion(facts: &Facts) -> Option<Finding> {
    let last = facts.presumed.last()?;
    let times = words::count(facts.presumed.count(), "tool", "tools");
    let why = format!("The agent never told the end of {times}; they were presumed to be over.");
    let finding = Finding::new(CauseKind::LostCompletion, Sure::Certain, why).beside();
    Some(finding.seen(last).change(facts.update()))
}
