//! A log for every cause.

use super::*;
use CauseKind::*;
use Sure::*;
use std::collections::BTreeSet;

/// What a case must show: the first cause and how sure, or a remark beside a good run.
enum Shows {
    First(CauseKind, Sure),
    Remark(CauseKind),
}

use Shows::{First, Remark};

/// Every cause, by the log that shows it.
fn cases() -> Vec<(Shows, Log)> {
    let mut cases = ours();
    cases.extend(said());
    cases.extend(ends());
    cases.extend(silences());
    cases.extend(tools());
    cases.extend(remarks());
    cases
}

fn ours() -> Vec<(Shows, Log)> {
    let limit = Log::begun()
        .verdict("wall_clock", json!({ "limit_ms": 60_000 }))
        .ended_with("limit_reached", json!({ "verdict": "wall_clock" }));
    vec![
        (First(LimitSet, Certain), limit),
        (
            First(Interrupted, Certain),
            Log::begun().note("signal_received", "").ended("interrupted"),
        ),
        (First(ReaderGone, Certain), Log::begun().ended("reader_gone")),
        (First(NotStarted, Certain), {
            let mut log = Log::new();
            log.lines.truncate(1);
            log.note("spawn_failed", "no such program").ended("spawn_failed")
        }),
        (
            First(SessionTaken, Certain),
            Log::begun().note("session_taken", "another run").ended("internal"),
        ),
        (
            First(HooksInactive, Certain),
            Log::begun().note("hooks_inactive", "no hook").ended("internal"),
        ),
        (
            First(HooksChanged, Certain),
            Log::begun().note("hooks_changed", "no entries").ended("internal"),
        ),
        (
            First(NotAsked, Certain),
            Log::begun().note("tool_not_asked", "rm -rf x").ended("internal"),
        ),
        (First(KeeperLost, Certain), Log::begun().note("keeper_lost", "gone").ended("internal")),
        (First(LogFailed, Certain), Log::begun().note("log_degraded", "full").ended("internal")),
        (First(Unfinished, Possible), Log::begun()),
        (First(Unfinished, Likely), Log::begun().line("{\"time\":\"2026-")),
        (
            First(ForeignLines, Likely),
            Log::new().raw(json!({ "kind": "hello" })).exited(0).ended("no_result"),
        ),
        (
            First(ForeignLines, Possible),
            Log::new().text("Welcome to the stable!").exited(0).ended("no_result"),
        ),
    ]
}

fn said() -> Vec<(Shows, Log)> {
    let said = |text: &str| Log::begun().failed(text).exited(1).ended("agent_error");
    let denied = |by: &str| {
        let mut log = Log::begun();
        let event = json!({ "type": "approval.resolved", "id": "q", "choice": "deny", "by": by });
        log.decide("approval_resolved", json!({ "id": "q", "event": event }));
        log.stderr("giving up").exited(1).ended("no_result")
    };
    vec![
        (First(NotLoggedIn, Likely), said("Authentication required. Please log in")),
        (First(RateLimited, Likely), said("429 Too Many Requests")),
        (First(QuotaUsedUp, Likely), said("You've hit your usage limit")),
        (First(ServiceOverloaded, Likely), said("The service is overloaded")),
        (First(ConversationTooLong, Likely), said("prompt is too long")),
        (First(NetworkFailed, Likely), said("connect ECONNREFUSED 127.0.0.1:1")),
        (First(ModelUnavailable, Likely), said("Cannot use this model: x")),
        (First(RequestRefused, Likely), said("400 Bad Request")),
        (First(NotTrusted, Likely), said("Workspace Trust Required")),
        (First(AgentFailed, Possible), said("the hay is on fire")),
        (First(ResumeRefused, Likely), {
            let mut log = Log::new();
            log.lines.truncate(1);
            log.decide("agent_spawned", json!({ "run": "r", "resumed_from": "s-0" }));
            log.stderr("No conversation found with that id").exited(1).ended("no_result")
        }),
        (
            First(ToolFailed, Likely),
            Log::begun().exited(1).ended_with("agent_error", json!({ "failure": "tool" })),
        ),
        (
            First(NotLoggedIn, Likely),
            Log::new().stderr("Error: not logged in").exited(1).ended("no_result"),
        ),
        (First(NobodyAnswered, Possible), denied("unattended")),
        (First(Denied, Possible), denied("policy")),
        (First(RetriesInVain, Likely), {
            let log = Log::begun().raw(retry(1)).raw(retry(2)).raw(retry(3));
            log.hung("first_response", json!({}))
        }),
    ]
}

fn ends() -> Vec<(Shows, Log)> {
    let dies = |log: Log| log.ended("no_result");
    vec![
        (First(Crashed, Certain), dies(Log::begun().says("Hm.").killed_by(11))),
        (First(Killed, Certain), dies(Log::begun().says("Hm.").killed_by(9))),
        (
            First(OutOfMemory, Likely),
            dies(Log::begun().stderr("FATAL ERROR: JavaScript heap out of memory").exited(5)),
        ),
        (
            First(DiskFull, Likely),
            dies(Log::begun().stderr("write: No space left on device").exited(1)),
        ),
        (
            First(BrokenInstall, Likely),
            dies(Log::new().stderr("Error: Cannot find module 'hay'").exited(1)),
        ),
        (First(BrokenInstall, Likely), dies(Log::new().stderr("?").exited(127))),
        (
            First(OutputLost, Likely),
            Log::begun()
                .says("Hm.")
                .exited(1)
                .ended_with("truncated", json!({ "stdout_bytes": 131_072 })),
        ),
        (First(OutputLost, Likely), Log::begun().says("Hm.").exited(0).ended("truncated")),
        (First(OutputLost, Possible), Log::begun().says("Hm.").exited(7).ended("truncated")),
        (First(ResultLost, Possible), dies(Log::begun().says("All done.").exited(0))),
        (First(SaidNothing, Possible), dies(Log::new().exited(0))),
    ]
}

fn silences() -> Vec<(Shows, Log)> {
    let busy = json!({ "extensions": 3, "cpu_ms": 900 });
    let short = json!({ "limit_ms": 60_000, "silence_ms": 61_000 });
    // As older logs say it, which name no cause.
    let suspended = "the machine was suspended for 2h 00m";
    let after_tool = Log::begun().shell("c", "ls").shell_done("c", "ls");
    vec![
        (First(Stalled, Likely), after_tool.hung("idle_after_tool", json!({}))),
        (First(Stalled, Possible), Log::begun().hung("first_response", short.clone())),
        (
            First(AfterSuspend, Likely),
            Log::begun().note("limits_moved", suspended).hung("idle", short.clone()),
        ),
        (First(AfterSuspend, Likely), moved("suspension").hung("idle", short)),
        (First(BusySilence, Likely), Log::begun().hung("idle", busy.clone())),
        (First(SlowStart, Likely), Log::new().hung("startup", busy)),
        (First(NoStart, Possible), Log::new().hung("startup", json!({}))),
        (
            First(WaitsForStdin, Likely),
            Log::new().stderr("Reading additional input from stdin...").hung("startup", json!({})),
        ),
        (
            First(BackgroundHeld, Likely),
            Log::begun()
                .says("The server runs.")
                .note("background_stopped", "stopping background commands")
                .hung("idle_after_text", json!({})),
        ),
        (
            First(OnlyKeepalives, Certain),
            Log::begun().after(1_800_000).stderr(".").hung("no_progress", json!({})),
        ),
    ]
}

fn tools() -> Vec<(Shows, Log)> {
    let stuck = |command: &str, class: &str, more: Value| {
        let evidence = super::with(json!({ "open_tools": [open_tool(command, class)] }), more);
        Log::begun().shell("c1", command).hung("tool", evidence)
    };
    let with = |name: &str, state: char| json!({ "processes": [process(100, "pony", 'S'), process(101, name, state)] });
    let mut busy = with("cc", 'R');
    busy["cpu_ms"] = 990.into();
    vec![
        (First(Livelock, Certain), Log::begun().hung("livelock", json!({}))),
        (First(WaitsForInput, Likely), stuck("sudo make hay", "execute", with("sudo", 'S'))),
        (First(EndlessCommand, Likely), stuck("npm run dev", "execute", with("node", 'S'))),
        (First(WaitsForPermission, Likely), stuck("make hay", "execute", json!({}))),
        (First(WaitsForPermission, Possible), stuck("/srv/a", "local", json!({}))),
        (First(ToolTooSlow, Likely), stuck("make hay", "execute", busy)),
        (First(ToolSilent, Possible), stuck("make hay", "execute", with("make", 'S'))),
        (First(ToolSilent, Possible), stuck("graze", "mcp", json!({}))),
        (First(ProcessStopped, Likely), stuck("make hay", "execute", with("make", 'T'))),
        (First(StuckInKernel, Possible), stuck("make hay", "execute", with("make", 'D'))),
        (
            First(WaitsForKey, Likely),
            Log::begun().hung("idle", json!({ "screen": ["Install it?", "Proceed? (y/N) "] })),
        ),
        (First(OpenQuestion, Certain), {
            let mut log = Log::begun();
            let event = json!({ "type": "approval.requested", "id": "q", "what": "Bash make" });
            log.decide("approval_requested", json!({ "id": "q", "event": event }));
            log.ended("internal")
        }),
    ]
}

/// Limits moved for a cause, in words that nobody has to know.
fn moved(cause: &str) -> Log {
    let mut log = Log::begun();
    log.decide("limits_moved", json!({ "by_ms": 3000, "cause": cause, "text": "moved" }));
    log
}

/// The same command again and again; each time its output is another.
fn polled(times: u64) -> Log {
    (0..times).fold(Log::begun(), |log, time| {
        let id = format!("c{time}");
        log.shell(&id, "make -q").shell_printed(&id, "make -q", &format!("{time} bales"))
    })
}

/// Beside a run that ended well.
fn remarks() -> Vec<(Shows, Log)> {
    let well = |log: Log| log.result().exited(0).ended_with("success", json!({ "exit_code": 0 }));
    let left = json!({ "exit_code": 0, "leaked": [process(7, "vite", 'S')] });
    let there = json!({ "exit_code": 0, "survivors": [process(7, "vite", 'S')] });
    let late = |text: &str| Log::begun().note("limits_moved", text);
    vec![
        (Remark(NoExit), well(Log::begun().note("exit_overdue", "stopping"))),
        (Remark(LeftBehind), Log::begun().result().gone(left).ended("success")),
        (Remark(Survivors), Log::begun().result().gone(there).ended("success")),
        (Remark(NeededKill), {
            let mut log = Log::begun().result();
            log.decide(
                "agent_killed",
                json!({ "stage": "kill", "reason": "x", "left": [process(7, "vite", 'S')] }),
            );
            log.exited(0).ended("success")
        }),
        (Remark(LostCompletion), {
            let mut log = Log::begun().shell("c1", "make");
            log.decide("tool_call_completed", json!({ "call_id": "c1", "presumed": true }));
            well(log)
        }),
        (Remark(PromptRefused), well(Log::begun().note("prompt_refused", ""))),
        (Remark(LogDegraded), well(Log::begun().note("log_degraded", "full"))),
        (Remark(HookTrouble), well(Log::begun().note("tool_not_asked", "c1"))),
        (Remark(WouldHaveKilled), {
            let log = Log::begun().verdict("idle", json!({}));
            well(log.note("would_have_killed", "would have killed the agent"))
        }),
        (Remark(Starved), well(late("our own loop did not run for 3s"))),
        (Remark(Starved), well(moved("gap"))),
        (Remark(RepeatsItself), well(polled(24))),
        (Remark(RepeatsItself), {
            let same = |log: Log, time: u64| {
                let id = format!("c{time}");
                log.says("Let me look.").shell(&id, &id).shell_done(&id, &id)
            };
            well((0..12).fold(Log::begun(), same))
        }),
        (Remark(RepeatsItself), well(Log::begun().says(&"I shall feed the ponies. ".repeat(90)))),
        (Remark(ClockSetBack), well(Log::begun().after(-60_000).says("Hm."))),
        (Remark(Damaged), well(Log::begun().line("{\"torn"))),
        (Remark(Livelock), well(Log::begun().note("livelock_suspected", "the same 5 times"))),
        (Remark(ForeignLines), well(Log::begun().raw(json!({ "type": "nobody knows" })))),
    ]
}

#[test]
fn every_cause_is_found_from_what_it_rests_on() {
    for (shows, log) in cases() {
        let report = log.report();
        let (causes, remarks) = kinds(&report);
        match shows {
            First(kind, sure) => {
                assert_eq!(causes.first(), Some(&(kind, sure)), "{causes:?} {:#?}", log.lines);
                assert_ne!(report.standing, Standing::Well, "{kind:?}");
                assert!(!report.causes[0].evidence.is_empty(), "{kind:?} rests on nothing");
                for cause in &report.causes {
                    assert!(cause.text.ends_with('.'), "{}", cause.text);
                }
            }
            Remark(kind) => {
                assert_eq!(report.standing, Standing::Well, "{kind:?}");
                assert_eq!(causes, [], "a good run is not accused");
                assert!(remarks.contains(&kind), "{kind:?} is not in {remarks:?}");
            }
        }
    }
}

#[test]
fn causes_that_seldom_come_first_are_found_beside_others() {
    let impatient = Log::begun().hung("idle", json!({ "limit_ms": 2000, "silence_ms": 3000 }));
    assert_eq!(kinds(&impatient.report()).0, [(Stalled, Possible), (TooImpatient, Possible)]);
    let reasoning = Log::new().init("gpt-5-high").hung("first_response", json!({}));
    assert_eq!(
        kinds(&reasoning.report()).0,
        [(Stalled, Possible), (TooImpatient, Possible)],
        "five minutes are not long for a model that reasons"
    );
    let spoken = Log::begun().says("All done.").hung("idle_after_text", json!({}));
    assert_eq!(kinds(&spoken.report()).0, [(Stalled, Likely), (ResultLost, Possible)]);
    let polls = polled(24).ended("interrupted");
    assert_eq!(kinds(&polls.report()).0, [(Interrupted, Certain), (RepeatsItself, Likely)]);
    let got_over_it = (0..20).fold(polled(24), |log, n| {
        let id = format!("d{n}");
        log.shell(&id, &id).shell_done(&id, &id)
    });
    let report = got_over_it.ended("interrupted").report();
    assert_eq!(kinds(&report), (vec![(Interrupted, Certain)], vec![RepeatsItself]));
    assert_eq!(kinds(&polled(19).ended("interrupted").report()).1, []);
    // One tool, told of when it was over.
    let unseen = Log::begun().shell_done("c1", "make").hung("idle_after_tool", json!({}));
    assert_eq!(kinds(&unseen.report()).0, [(Stalled, Likely), (UnseenTool, Possible)]);
}

#[test]
fn an_end_that_the_agent_states_is_certain() {
    for (end, kind) in
        [("refused", ModelRefused), ("limit", AgentLimit), ("cancelled", TurnCancelled)]
    {
        let mut log = Log::begun();
        let event = json!({ "type": "turn.ended", "end": { "kind": end } });
        log.decide("turn_cancelled", json!({ "event": event }));
        let report = log.exited(1).ended("agent_error").report();
        assert_eq!(kinds(&report).0, [(kind, Certain)]);
    }
}

#[test]
fn every_cause_has_a_case_and_a_row_in_the_document() {
    let mut shown: BTreeSet<CauseKind> = cases()
        .into_iter()
        .map(|(shows, _)| match shows {
            First(kind, _) | Remark(kind) => kind,
        })
        .collect();
    // The two tests above have these.
    shown.extend([TooImpatient, ModelRefused, AgentLimit, TurnCancelled, UnseenTool]);
    let all: BTreeSet<CauseKind> = CauseKind::ALL.iter().copied().collect();
    assert_eq!(shown, all);
    let document = include_str!("../../../../../docs/post-mortem.md");
    let rows: BTreeSet<String> = document
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
        .map(|(name, _)| name.to_owned())
        .collect();
    let names: BTreeSet<String> = all
        .iter()
        .filter_map(|kind| Some(serde_json::to_value(kind).ok()?.as_str()?.to_owned()))
        .collect();
    assert_eq!(rows, names);
}
