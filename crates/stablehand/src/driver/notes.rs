//! The fields of decision records, in one place, as `docs/log-format.md` lists them.

use super::Facts;
use super::RunSpec;
use super::stop::Stage;
use crate::agent;
use crate::keeper::{Keeper, SpawnError, Transport};
use serde::Serialize;
use serde_json::{Value, json};
use stablehand_core::event::{
    Evidence, Health, OpenTool, Outcome, ProcessRow, ToolClass, VerdictKind,
};
use stablehand_core::id::CallId;
use stablehand_core::monitor::{Input, Judgement, Moved};
use stablehand_core::speak::Image;
use stablehand_core::terminal::TerminalSize;
use stablehand_core::text::excerpt;
use stablehand_core::time::{human, millis};
use std::fmt::Write as _;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// No fields.
#[derive(Serialize)]
pub(super) struct Nothing {}

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

pub(super) fn spawned(spec: &RunSpec, keeper: &Keeper) -> Value {
    let mut fields = json!({
        "run": spec.run,
        "agent": spec.agent,
        "pid": keeper.agent_pid(),
        "keeper_pid": keeper.pid(),
        "argv": agent::redacted(&spec.launch),
        "cwd": folder(spec),
        "prompt_bytes": spec.prompt.len(),
        "resumed_from": spec.resumed_from,
    });
    let recorded = recorded(spec);
    if !recorded.is_empty() {
        fields["recorded"] = recorded.into();
    }
    // Whoever replays the log has to draw on a screen of the same size.
    if let (Transport::Pty { size }, Some(fields)) = (spec.launch.transport, fields.as_object_mut())
    {
        fields.insert("transport".into(), "pty".into());
        fields.insert("cols".into(), size.cols().into());
        fields.insert("rows".into(), size.rows().into());
    }
    fields
}

/// What of a session the records of this run tell, and not the agent's stream: a client of the agent's
/// prompts it and answers it without us.
fn recorded(spec: &RunSpec) -> Vec<&'static str> {
    match (spec.is_relayed, &spec.talk) {
        (true, _) => Vec::new(),
        (false, None) => vec!["turns"],
        (false, Some(_)) => vec!["turns", "approvals"],
    }
}

/// The most of a prompt that is put on record.
const PROMPT: usize = 256 << 10;

/// What the agent is asked; few agents repeat it.
pub(super) fn prompt(text: &str, images: &[Image]) -> Value {
    let kept = text.get(..text.floor_char_boundary(PROMPT)).unwrap_or_default();
    let mut fields = json!({ "bytes": text.len(), "text": kept });
    if kept.len() < text.len() {
        fields["cut"] = true.into();
    }
    if !images.is_empty() {
        fields["images"] = images.iter().map(|image| image.mime.as_str()).collect();
    }
    fields
}

/// What the monitor judges by, so that it can judge the log again.
pub(super) fn monitored(spec: &RunSpec) -> Value {
    json!({ "limits": spec.limits, "observe_only": spec.observe_only })
}

/// What the monitor is told, as far as no other record says it.
pub(super) fn told(input: Input<'_>) -> Option<Value> {
    let switch = |what: &str, on: bool| Some(json!({ "what": what, "on": on }));
    match input {
        Input::Backpressure(on) => switch("backpressure", on),
        Input::ApprovalPending(on) => switch("approval", on),
        Input::Resting(on) => switch("resting", on),
        Input::Prompted => Some(json!({ "what": "prompted" })),
        Input::Heard => Some(json!({ "what": "heard" })),
        Input::SideChannel => Some(json!({ "what": "side_channel" })),
        Input::Witness { tree_cpu, window, other_activity } => Some(json!({
            "what": "witness",
            "cpu_ms": millis(tree_cpu),
            "window_ms": millis(window),
            "other_activity": other_activity,
        })),
        // `limits_moved`, `health_changed` to `ended`, whatever a tick brings about, raw records.
        Input::Gap(_)
        | Input::Suspended(_)
        | Input::AgentExited
        | Input::Tick
        | Input::Event { .. } => None,
    }
}

pub(super) fn stepped(by_ms: i64) -> Value {
    json!({ "by_ms": by_ms, "text": format!("the wall clock was set by {by_ms} ms") })
}

pub(super) fn resized(size: TerminalSize) -> Value {
    json!({ "cols": size.cols(), "rows": size.rows() })
}

pub(super) fn typed(prompt_bytes: usize) -> Value {
    json!({ "bytes": prompt_bytes, "text": "typing the prompt at the agent's terminal" })
}

pub(super) fn asked_to_leave(quiet: Duration) -> Value {
    let text = format!("nothing was written for {}; asking the agent to leave", human(quiet));
    json!({ "quiet_ms": millis(quiet), "text": text })
}

pub(super) fn spawn_failed(spec: &RunSpec, error: &SpawnError) -> Value {
    json!({
        "run": spec.run,
        "agent": spec.agent,
        "argv": agent::redacted(&spec.launch),
        "cwd": folder(spec),
        "resumed_from": spec.resumed_from,
        "text": crate::error_chain(error),
    })
}

pub(super) fn session(facts: &Facts) -> Value {
    json!({ "session_id": facts.session, "model": facts.model, "cwd": facts.cwd })
}

/// An open call, as records list it.
#[derive(Serialize)]
struct Call<'a> {
    id: &'a CallId,
    command: &'a str,
    class: ToolClass,
    elapsed_ms: u64,
    timeout_ms: Option<u64>,
    limit_ms: u64,
}

fn calls(open: &[OpenTool]) -> Vec<Call<'_>> {
    fn call(tool: &OpenTool) -> Call<'_> {
        Call {
            id: &tool.call_id,
            command: &tool.command,
            class: tool.class,
            elapsed_ms: tool.elapsed_ms,
            timeout_ms: tool.timeout_ms,
            limit_ms: tool.limit_ms,
        }
    }
    open.iter().map(call).collect()
}

/// The three records that every tool call leaves are structs: there may be thousands.
#[derive(Serialize)]
pub(super) struct Waiting<'a> {
    idle_silence_ms: u64,
    open_call_count: usize,
    open_calls: Vec<Call<'a>>,
    text: &'a str,
}

pub(super) fn waiting<'a>(silence: Duration, open: &'a [OpenTool], why: &'a str) -> Waiting<'a> {
    Waiting {
        idle_silence_ms: millis(silence),
        open_call_count: open.len(),
        open_calls: calls(open),
        text: why,
    }
}

/// See [`Waiting`].
#[derive(Serialize)]
pub(super) struct Opened<'a> {
    call_id: &'a CallId,
    command: &'a str,
    class: ToolClass,
    timeout_ms: Option<u64>,
    limit_ms: u64,
}

/// Why an open call is waited for, in words.
pub(super) fn why_wait(tool: &OpenTool) -> String {
    format!("a call is open; waiting up to {}", human(Duration::from_millis(tool.limit_ms)))
}

pub(super) fn opened(tool: &OpenTool) -> Opened<'_> {
    Opened {
        call_id: &tool.call_id,
        command: &tool.command,
        class: tool.class,
        timeout_ms: tool.timeout_ms,
        limit_ms: tool.limit_ms,
    }
}

/// See [`Waiting`].
#[derive(Serialize)]
pub(super) struct Closed<'a> {
    call_id: &'a CallId,
    elapsed_ms: u64,
    presumed: bool,
    outcome: Option<&'a Outcome>,
}

pub(super) fn closed<'a>(
    call: &'a CallId,
    presumed: bool,
    elapsed: Duration,
    outcome: Option<&'a Outcome>,
) -> Closed<'a> {
    Closed { call_id: call, elapsed_ms: millis(elapsed), presumed, outcome }
}

pub(super) fn limits_moved(by: Duration, cause: Moved, why: &str) -> Value {
    json!({ "by_ms": millis(by), "cause": cause, "text": why })
}

pub(super) fn background(pids: &[u32]) -> Value {
    json!({ "pids": pids, "text": "stopping background commands that keep the agent from ending" })
}

pub(super) fn soft_stop(verdict: VerdictKind, why: &str) -> Value {
    json!({ "verdict": verdict, "soft": true, "text": why })
}

pub(super) fn livelock(period: usize, rounds: u32, command: &str) -> Value {
    let text =
        format!("the same {period} call(s) gave the same result {rounds} times: `{command}`");
    json!({ "period": period, "rounds": rounds, "command": command, "text": text })
}

pub(super) fn exit_overdue() -> Value {
    json!({ "text": "the result has come but the agent does not exit; stopping what is left of it" })
}

pub(super) fn verdict(judgement: &Judgement, last_event: &str, of_monitor: bool) -> Value {
    let evidence = &judgement.evidence;
    let mut fields = json!({
        "verdict": judgement.kind,
        "text": judgement.text,
        "idle_silence_ms": evidence.silence_ms,
        "limit_ms": evidence.limit_ms,
        "open_call_count": evidence.open_tools.len(),
        "open_calls": calls(&evidence.open_tools),
        "last_event_type": last_event,
    });
    if !of_monitor {
        fields["judge"] = "terminal".into();
    }
    fields
}

pub(super) fn would_have_killed(judgement: &Judgement) -> Value {
    json!({ "verdict": judgement.kind, "text": format!("would have killed the agent: {}", judgement.text) })
}

pub(super) fn killed(stage: Stage, reason: &str, left: &[ProcessRow]) -> Value {
    let (stage, doing) = match stage {
        Stage::Interrupt => ("interrupt", "interrupting the agent"),
        Stage::Terminate => ("terminate", "terminating the agent"),
        Stage::Kill => ("kill", "killing the agent and everything below it"),
    };
    let text = format!("{doing}: {reason} ({} process(es) left)", left.len());
    json!({ "stage": stage, "reason": reason, "left": left, "text": text })
}

pub(super) fn not_clean(left: &[ProcessRow]) -> Value {
    json!({ "left": left, "text": format!("{} process(es) could not be stopped", left.len()) })
}

pub(super) fn dump(health: Health, evidence: &Evidence) -> Value {
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
    json!({ "text": text, "health": health, "evidence": evidence })
}

/// How many bytes wait in a pipe.
#[expect(unsafe_code, reason = "there is no safe wrapper for this request")]
pub(super) fn unread(fd: BorrowedFd<'_>) -> Option<u64> {
    let mut count: nix::libc::c_int = 0;
    // SAFETY: FIONREAD writes one int through the pointer, which is valid for the whole call.
    let status = unsafe { nix::libc::ioctl(fd.as_raw_fd(), nix::libc::FIONREAD, &raw mut count) };
    (status == 0).then(|| u64::try_from(count).unwrap_or(0))
}
