//! Makes decision records from what the driver knows, with the words that people read in them.

use super::Facts;
use super::RunSpec;
use crate::agent;
use crate::keeper::{Keeper, SpawnError, Transport};
use serde::Serialize;
use serde_json::Value;
use stablehand_core::event::{Evidence, Health, OpenTool, Outcome, ProcessRow, VerdictKind};
use stablehand_core::id::CallId;
use stablehand_core::monitor::{Input, Judgement, Moved};
use stablehand_core::record::{
    AgentKilled, AskedToLeave, BackgroundStopped, ClockStepped, DecisionRecord, LimitsMoved,
    LivelockSuspected, MonitorStarted, MonitorTold, NumberedCalls, OpenCall, PromptGiven,
    PromptTyped, ResultStands, RunStart, SessionStarted, StateDump, StopStage, TerminalResized,
    ToolCallCompleted, ToolCallOpened, TreeNotEmpty, VerdictReached, VerdictWaiting, WaitEnded,
};
use stablehand_core::speak::Image;
use stablehand_core::terminal::TerminalSize;
use stablehand_core::text::excerpt;
use stablehand_core::time::{human, millis};
use std::fmt::Write as _;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// The word that a value is written as, for texts.
pub(crate) fn word<T: Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        _ => String::new(),
    }
}

/// Returns the folder that the agent is started in; a resumed run has to start there too. JSON cannot
/// hold a name that is not UTF-8, so the log has the nearest text.
fn folder(spec: &RunSpec) -> Option<String> {
    let folder = spec.launch.cwd.clone().or_else(crate::surroundings::working_folder);
    folder.map(|folder| folder.to_string_lossy().into_owned())
}

pub(super) fn spawned(spec: &RunSpec, keeper: &Keeper) -> DecisionRecord {
    // A replay has to draw on a screen of the same size.
    let size = match spec.launch.transport {
        Transport::Pty { size } => Some(size),
        _ => None,
    };
    DecisionRecord::AgentSpawned(RunStart {
        run: spec.run.clone(),
        agent: spec.agent.clone(),
        pid: Some(keeper.agent_pid()),
        keeper_pid: Some(keeper.pid()),
        argv: agent::redacted(&spec.launch),
        cwd: folder(spec),
        prompt_bytes: Some(spec.prompt.len() as u64),
        resumed_from: spec.resumed_from.clone(),
        transport: size.map(|_| "pty".to_owned()),
        cols: size.map(TerminalSize::cols),
        rows: size.map(TerminalSize::rows),
        recorded: recorded(spec),
        text: None,
    })
}

/// What of a session the records of this run tell, and not the agent's stream: a client of the agent's
/// prompts it and answers it without us.
fn recorded(spec: &RunSpec) -> Vec<String> {
    match (spec.is_relayed, &spec.talk) {
        (true, _) => Vec::new(),
        (false, None) => vec!["turns".to_owned()],
        (false, Some(_)) => vec!["turns".to_owned(), "approvals".to_owned()],
    }
}

/// The most of a prompt that is put on record.
const PROMPT: usize = 256 << 10;

/// Cuts a prompt to what is put on record.
pub(crate) fn cut(prompt: &str) -> &str {
    prompt.get(..prompt.floor_char_boundary(PROMPT)).unwrap_or_default()
}

/// What the agent is asked; few agents repeat it.
pub(super) fn prompt(text: &str, images: &[Image]) -> PromptGiven {
    let kept = cut(text);
    PromptGiven {
        bytes: text.len() as u64,
        text: Some(kept.to_owned()),
        cut: kept.len() < text.len(),
        images: images.iter().map(|image| image.mime.clone()).collect(),
    }
}

/// What the monitor judges by, so that it can judge the log again.
pub(super) fn monitored(spec: &RunSpec) -> MonitorStarted {
    MonitorStarted { limits: Some(Box::new(spec.limits.clone())), observe_only: spec.observe_only }
}

/// What the monitor is told, as far as no other record says it.
pub(super) fn told(input: Input<'_>) -> Option<MonitorTold> {
    match input {
        Input::Backpressure(on) => Some(MonitorTold::Backpressure { on }),
        Input::ApprovalPending(on) => Some(MonitorTold::Approval { on }),
        Input::Resting(on) => Some(MonitorTold::Resting { on }),
        Input::Prompted => Some(MonitorTold::Prompted),
        Input::Heard => Some(MonitorTold::Heard),
        Input::SideChannel => Some(MonitorTold::SideChannel),
        Input::Witness { tree_cpu, window, other_activity } => Some(MonitorTold::Witness {
            cpu_ms: millis(tree_cpu),
            window_ms: millis(window),
            other_activity,
        }),
        // `limits_moved`, `health_changed` to `ended`, whatever a tick brings about, raw records.
        Input::Gap(_)
        | Input::Suspended(_)
        | Input::AgentExited
        | Input::Tick
        | Input::Event { .. } => None,
    }
}

pub(super) fn stepped(by_ms: i64) -> ClockStepped {
    ClockStepped { by_ms, text: format!("the wall clock was set by {by_ms} ms") }
}

pub(super) fn resized(size: TerminalSize) -> TerminalResized {
    TerminalResized { cols: Some(size.cols()), rows: Some(size.rows()) }
}

pub(super) fn typed(prompt_bytes: usize) -> PromptTyped {
    let text = "typing the prompt at the agent's terminal".to_owned();
    PromptTyped { bytes: prompt_bytes as u64, text }
}

pub(super) fn asked_to_leave(quiet: Duration) -> AskedToLeave {
    let text = format!("nothing was written for {}; asking the agent to leave", human(quiet));
    AskedToLeave { quiet_ms: millis(quiet), text }
}

pub(super) fn spawn_failed(spec: &RunSpec, error: &SpawnError) -> DecisionRecord {
    DecisionRecord::SpawnFailed(RunStart {
        run: spec.run.clone(),
        agent: spec.agent.clone(),
        argv: agent::redacted(&spec.launch),
        cwd: folder(spec),
        resumed_from: spec.resumed_from.clone(),
        text: Some(crate::error_chain(error)),
        ..RunStart::default()
    })
}

pub(super) fn session(facts: &Facts) -> SessionStarted {
    SessionStarted {
        session_id: facts.session.clone(),
        model: facts.model.clone(),
        cwd: facts.cwd.clone(),
    }
}

fn calls(open: &[OpenTool]) -> Vec<OpenCall> {
    open.iter().map(OpenCall::from).collect()
}

pub(super) fn waiting(silence: Duration, open: &[OpenTool], why: String) -> VerdictWaiting {
    VerdictWaiting {
        idle_silence_ms: millis(silence),
        open_call_count: open.len() as u64,
        open_calls: calls(open),
        text: why,
    }
}

/// Why an open call is waited for, in words.
pub(super) fn why_wait(tool: &OpenTool) -> String {
    format!("a call is open; waiting up to {}", human(Duration::from_millis(tool.limit_ms)))
}

pub(super) fn opened(tool: &OpenTool) -> ToolCallOpened {
    ToolCallOpened {
        call_id: tool.call_id.clone(),
        command: tool.command.clone(),
        class: Some(tool.class),
        timeout_ms: tool.timeout_ms,
        limit_ms: tool.limit_ms,
    }
}

pub(super) fn closed(
    call_id: CallId,
    presumed: bool,
    elapsed: Duration,
    outcome: Option<Outcome>,
) -> ToolCallCompleted {
    ToolCallCompleted { call_id, elapsed_ms: millis(elapsed), presumed, outcome }
}

pub(super) fn limits_moved(by: Duration, cause: Moved, why: String) -> LimitsMoved {
    LimitsMoved { by_ms: millis(by), cause: Some(cause), text: why }
}

pub(super) fn background(pids: &[u32]) -> BackgroundStopped {
    let text = "stopping background commands that keep the agent from ending".to_owned();
    BackgroundStopped { pids: pids.to_owned(), text }
}

pub(super) fn soft_stop(verdict: VerdictKind, why: String) -> DecisionRecord {
    DecisionRecord::LimitReached(VerdictReached {
        verdict: Some(verdict.into()),
        text: why,
        soft: true,
        ..VerdictReached::default()
    })
}

pub(super) fn livelock(period: usize, rounds: u32, command: String) -> LivelockSuspected {
    let text =
        format!("the same {period} call(s) gave the same result {rounds} times: `{command}`");
    LivelockSuspected { period: period as u64, rounds, command, text }
}

pub(super) fn result_stands(by: WaitEnded) -> ResultStands {
    let why = match by {
        WaitEnded::Quiet => "no background task is open, and the agent does not go on",
        WaitEnded::Prompt => "the next prompt waits",
        WaitEnded::Cancel => "the turn was cancelled",
    };
    let text = format!("the last result ends the turn: {why}");
    ResultStands { by: by.into(), text }
}

pub(super) fn exit_overdue() -> DecisionRecord {
    let text = "the result has come but the agent does not exit; stopping what is left of it";
    DecisionRecord::ExitOverdue(text.into())
}

pub(super) fn verdict(judgement: &Judgement, last_event: &str, of_monitor: bool) -> DecisionRecord {
    let evidence = &judgement.evidence;
    let reached = VerdictReached {
        verdict: Some(judgement.kind.into()),
        text: judgement.text.clone(),
        soft: false,
        idle_silence_ms: Some(evidence.silence_ms),
        limit_ms: Some(evidence.limit_ms),
        open_call_count: Some(evidence.open_tools.len() as u64),
        numbered_calls: NumberedCalls(calls(&evidence.open_tools)),
        open_calls: Some(calls(&evidence.open_tools)),
        last_event_type: Some(last_event.to_owned()),
        judge: (!of_monitor).then(|| "terminal".to_owned()),
    };
    if judgement.kind.is_limit() {
        DecisionRecord::LimitReached(reached)
    } else {
        DecisionRecord::HangDetected(reached)
    }
}

pub(super) fn would_have_killed(judgement: &Judgement) -> DecisionRecord {
    DecisionRecord::WouldHaveKilled(VerdictReached {
        verdict: Some(judgement.kind.into()),
        text: format!("would have killed the agent: {}", judgement.text),
        ..VerdictReached::default()
    })
}

pub(super) fn killed(stage: StopStage, reason: String, left: Vec<ProcessRow>) -> AgentKilled {
    let doing = match stage {
        StopStage::Interrupt => "interrupting the agent",
        StopStage::Terminate => "terminating the agent",
        StopStage::Kill => "killing the agent and everything below it",
    };
    let text = format!("{doing}: {reason} ({} process(es) left)", left.len());
    AgentKilled { stage: stage.into(), reason, left, text }
}

pub(super) fn not_clean(left: Vec<ProcessRow>) -> TreeNotEmpty {
    TreeNotEmpty { text: format!("{} process(es) could not be stopped", left.len()), left }
}

pub(super) fn dump(health: Health, evidence: Evidence) -> StateDump {
    let quiet = human(Duration::from_millis(evidence.silence_ms));
    let mut text = format!(
        "{}, quiet for {quiet}, {} open call(s), {} process(es); last events: {}",
        word(&health),
        evidence.open_tools.len(),
        evidence.processes.len(),
        evidence.last_events.join(", ")
    );
    for tool in &evidence.open_tools {
        let open = human(Duration::from_millis(tool.elapsed_ms));
        let limit = human(Duration::from_millis(tool.limit_ms));
        let command = excerpt(tool.command.as_bytes(), 80);
        let _infallible = write!(text, "\n  open for {open} (limit {limit}): {command}");
    }
    for row in &evidence.processes {
        let _infallible = write!(
            text,
            "\n  process {} (parent {}), state {}, {} ms of CPU: {}",
            row.pid,
            row.ppid,
            row.state,
            row.cpu_ms,
            excerpt(row.name.as_bytes(), 40)
        );
    }
    for line in &evidence.screen {
        let _infallible = write!(text, "\n  screen: {}", excerpt(line.as_bytes(), 120));
    }
    StateDump { text, health: Some(health), evidence: Some(Box::new(evidence)) }
}

/// How many bytes wait in a pipe.
#[expect(unsafe_code, reason = "there is no safe wrapper for this request")]
pub(super) fn unread(fd: BorrowedFd<'_>) -> Option<u64> {
    let mut count: nix::libc::c_int = 0;
    // SAFETY: FIONREAD writes one int through the pointer, which is valid for the whole call.
    let status = unsafe { nix::libc::ioctl(fd.as_raw_fd(), nix::libc::FIONREAD, &raw mut count) };
    (status == 0).then(|| u64::try_from(count).unwrap_or(0))
}
