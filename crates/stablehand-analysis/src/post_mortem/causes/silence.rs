//! Verdicts on silence: who it was that did not answer, as far as the evidence tells.

use super::{CauseKind, Finding};
use crate::post_mortem::Sure;
use crate::post_mortem::advice::BY_HAND;
use crate::post_mortem::facts::{Facts, Judged, Seen};
use crate::post_mortem::words;
use stablehand_core::event::{Evidence, VerdictKind};
use stablehand_core::monitor::is_reasoning_model;
use stablehand_core::record::DecisionKind;

/// As for the witnesses of a verdict: below this share of one processor a tree does nothing.
const BUSY_PERCENT: u64 = 2;

/// Healthy models were silent for so long; a shorter limit may be what ended the run.
const USUAL_MS: u64 = 300_000;
/// The same for models that reason.
const USUAL_OF_REASONING_MS: u64 = 900_000;

/// Wordings of a program that waits for its standard input, in small letters.
const STDIN: &[&str] = &["from stdin", "standard input"];

/// The verdict on silence that ended the run, where no tool was open.
fn silent(facts: &Facts) -> Option<&Judged> {
    facts.fatal().filter(|judged| {
        matches!(
            judged.kind,
            VerdictKind::FirstResponse
                | VerdictKind::Idle
                | VerdictKind::IdleAfterText
                | VerdictKind::IdleAfterTool
        )
    })
}

/// What the processes did when somebody looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    Busy,
    Idle,
    Unknown,
}

pub(super) fn work_of(evidence: &Evidence) -> Work {
    match evidence.cpu_ms.zip(evidence.cpu_window_ms) {
        Some((_, 0)) | None => Work::Unknown,
        Some((used, window)) if used.saturating_mul(100) >= window.saturating_mul(BUSY_PERCENT) => {
            Work::Busy
        }
        Some(_) => Work::Idle,
    }
}

/// The verdict, with the processor time that speaks for it.
pub(super) fn with_cpu(judged: &Judged) -> Vec<Seen> {
    let cpu = words::of_cpu(&judged.evidence);
    let cpu = cpu.map(|text| Seen::new(judged.seen.at, "evidence", &text));
    [Some(judged.seen.clone()), cpu].into_iter().flatten().collect()
}

pub(super) fn background_held(facts: &Facts) -> Option<Finding> {
    let mark = facts.mark(DecisionKind::BackgroundStopped)?;
    let change = "have it stop servers that it started, or start them yourself beforehand";
    if facts.fatal().is_some() {
        let why = "A command in the background kept the agent from ending its turn; it was stopped, and \
                   still no result came.";
        let finding = Finding::new(CauseKind::BackgroundHeld, Sure::Likely, why).seen(&mark.last);
        let finding = finding.all_seen(facts.fatal().map(|judged| &judged.seen)).change(change);
        return Some(finding.change("read its last text: the answer may be complete"));
    }
    let why = "A command in the background kept the agent from ending its turn, and was stopped.";
    let finding = Finding::new(CauseKind::BackgroundHeld, Sure::Likely, why).beside();
    Some(finding.seen(&mark.last).change(change))
}

pub(super) fn after_suspend(facts: &Facts) -> Option<Finding> {
    let judged = silent(facts)?;
    let suspended = facts.suspended.as_ref()?;
    let heard = facts.last_heard()?;
    if suspended.at < heard {
        return None; // It had spoken since.
    }
    let why = "The machine had been suspended, and nothing came after that: the connection to the model \
               was most likely dead.";
    let finding = Finding::new(CauseKind::AfterSuspend, Sure::Likely, why);
    let finding = finding.seen(suspended).seen(&judged.seen).changes(facts.resume());
    Some(finding.change(facts.try_again()).change("keep the machine awake while agents run"))
}

pub(super) fn busy(facts: &Facts) -> Option<Finding> {
    let judged = silent(facts)?;
    let evidence = &judged.evidence;
    if evidence.extensions == 0 && work_of(evidence) != Work::Busy {
        return None;
    }
    let times = words::count(u64::from(evidence.extensions), "time", "times");
    let why = format!(
        "The agent's processes were at work while it said nothing (the limit was extended {times}): it \
         may have been doing something that it does not tell of."
    );
    let sure = if work_of(evidence) == Work::Busy { Sure::Likely } else { Sure::Possible };
    let finding = Finding::new(CauseKind::BusySilence, sure, why);
    let finding = finding.all_seen(&facts.busy).all_seen(&with_cpu(judged));
    Some(finding.change(facts.wait_longer(judged.kind, evidence.limit_ms)))
}

/// Some agents tell of a tool only when it is over; its time looks like silence.
pub(super) fn unseen_tool(facts: &Facts) -> Option<Finding> {
    let judged = silent(facts)?;
    if facts.told_late == 0 || facts.told_early > 0 {
        return None;
    }
    let children =
        judged.evidence.processes.iter().filter(|row| Some(row.pid) != facts.pid).count();
    let why = "This agent tells of a tool only when it is over; a command may have been at work that \
               cannot be seen from outside.";
    let finding = Finding::new(CauseKind::UnseenTool, Sure::Possible, why);
    let finding = finding.all_seen(&with_cpu(judged)).all_seen(&facts.last_done);
    let finding = if children > 0 {
        let text =
            format!("{} below the agent", words::count(children as u64, "process", "processes"));
        finding.seen(&Seen::new(judged.seen.at, "evidence", &text))
    } else {
        finding
    };
    Some(finding.change(facts.wait_longer(judged.kind, judged.evidence.limit_ms)))
}

/// The model had spoken to the end, and then nothing came.
pub(super) fn result_lost(facts: &Facts) -> Option<Finding> {
    let judged = silent(facts).filter(|judged| judged.kind == VerdictKind::IdleAfterText)?;
    if facts.mark(DecisionKind::BackgroundStopped).is_some() || !facts.spoke_out {
        return None;
    }
    let why = "The model had said a whole message, and nothing followed: perhaps the answer is complete \
               and only the event that ends the turn never came.";
    let finding = Finding::new(CauseKind::ResultLost, Sure::Possible, why);
    let finding = finding.all_seen(&with_cpu(judged));
    Some(finding.change("read its last text before you try again").changes(facts.resume()))
}

pub(super) fn only_keepalives(facts: &Facts) -> Option<Finding> {
    let judged = facts.fatal().filter(|judged| judged.kind == VerdictKind::NoProgress)?;
    let why = "The agent gave signs of life and nothing else: no text, no thought, no tool.";
    let finding = Finding::new(CauseKind::OnlyKeepalives, Sure::Certain, why).seen(&judged.seen);
    let finding = finding.all_seen(facts.retries.last()).changes(facts.resume());
    Some(finding.change(facts.wait_longer(judged.kind, judged.evidence.limit_ms)))
}

pub(super) fn waits_for_stdin(facts: &Facts) -> Option<Finding> {
    let early =
        |judged: &&Judged| matches!(judged.kind, VerdictKind::Startup | VerdictKind::FirstResponse);
    let judged = facts.fatal().filter(early)?;
    let holds = |seen: &&Seen| {
        let text = seen.text.to_lowercase();
        STDIN.iter().any(|wording| text.contains(wording))
    };
    let said = facts.stderr.iter().chain(facts.noise.iter()).find(holds)?;
    let why =
        "By its own words the agent was reading its standard input, and never had enough of it.";
    let finding = Finding::new(CauseKind::WaitsForStdin, Sure::Likely, why);
    Some(finding.seen(said).seen(&judged.seen).change(facts.update()).change(BY_HAND))
}

/// Nothing was heard that names a session.
pub(super) fn start(facts: &Facts) -> Option<Finding> {
    let judged = facts.fatal().filter(|judged| judged.kind == VerdictKind::Startup)?;
    let evidence = &judged.evidence;
    if evidence.extensions > 0 || work_of(evidence) == Work::Busy {
        let why = "The agent was still at work when its time to start was over: a slow machine, or much \
                   to load.";
        let finding = Finding::new(CauseKind::SlowStart, Sure::Likely, why);
        let finding = finding.all_seen(&facts.busy).all_seen(&with_cpu(judged));
        return Some(finding.change(facts.wait_longer(judged.kind, evidence.limit_ms)));
    }
    let why = "The agent never began, and does not say why: it may wait for a login, for trust in the \
               folder, for an MCP server or for the network.";
    let finding = Finding::new(CauseKind::NoStart, Sure::Possible, why).all_seen(&with_cpu(judged));
    let finding = finding.all_seen(facts.noise.last()).all_seen(facts.stderr.last());
    let servers =
        format!("see whether its MCP servers answer: `stablehand mcp list{}`", facts.agent_flag());
    Some(
        finding
            .change(facts.look_at_agent())
            .change(BY_HAND)
            .change(servers)
            .change(facts.try_again() + "; nothing was done yet"),
    )
}

fn usual_ms(facts: &Facts) -> u64 {
    let reasons = facts.model.as_deref().is_some_and(is_reasoning_model);
    if reasons { USUAL_OF_REASONING_MS } else { USUAL_MS }
}

/// Nobody was at work here: the answer of the model did not come.
pub(super) fn stalled(facts: &Facts) -> Option<Finding> {
    let judged = silent(facts)?;
    let evidence = &judged.evidence;
    if work_of(evidence) == Work::Busy {
        return None;
    }
    let long_enough = evidence.silence_ms >= usual_ms(facts);
    let sure =
        if long_enough && work_of(evidence) == Work::Idle { Sure::Likely } else { Sure::Possible };
    let when = match judged.kind {
        VerdictKind::FirstResponse => "never answered",
        VerdictKind::IdleAfterTool => "did not go on after a tool's result",
        VerdictKind::IdleAfterText if !facts.spoke_out => "stopped in the middle of a text",
        _ => "stopped answering",
    };
    let why = format!(
        "The model {when}, and nothing was at work on this machine: the connection to its service, or \
         the service itself, was stuck."
    );
    let finding = Finding::new(CauseKind::Stalled, sure, why).all_seen(&with_cpu(judged));
    let finding = finding.changes(facts.resume()).change(facts.try_again());
    Some(finding.change("run fewer agents at once: such stalls come with the load"))
}

/// The limit was shorter than healthy models are silent.
pub(super) fn too_impatient(facts: &Facts) -> Option<Finding> {
    let judged = silent(facts)?;
    let usual = usual_ms(facts);
    if judged.evidence.silence_ms >= usual {
        return None;
    }
    let model = match &facts.model {
        Some(model) => format!(" ({model})"),
        None => String::new(),
    };
    let why = format!(
        "The model{model} may only have been thinking: it was given {} of silence, and healthy ones of \
         its sort take up to {}.",
        words::ms(judged.evidence.limit_ms),
        words::ms(usual)
    );
    let finding = Finding::new(CauseKind::TooImpatient, Sure::Possible, why).seen(&judged.seen);
    Some(finding.change(facts.wait_longer(judged.kind, judged.evidence.limit_ms)))
}
