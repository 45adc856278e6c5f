//! Logs that a driver of a few lines writes, judged again: as they are, and with something changed.
//!
//! The real driver's logs are judged again by every test with processes (`stablehand-testkit`).

mod waits;
mod writer;

use super::tune::{ENOUGH, ladder, rung, try_out};
use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};
use stablehand_core::event::VerdictKind;
use stablehand_core::monitor::{Limits, Moved, TimeLimit};
use stablehand_core::record::{DecisionKind, MonitorTold, Record};
use stablehand_core::time::UnixMillis;
use std::time::Duration;
use writer::{BEGAN, INIT, RESULT, Writer, ms, shell, text};

fn lines(log: &[u8]) -> Vec<&[u8]> {
    log.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect()
}

fn check<'a>(lines: impl IntoIterator<Item = &'a [u8]>) -> Report {
    let mut check = Check::default();
    lines.into_iter().for_each(|line| check.record(&Record::read(line)));
    check.finish()
}

fn short_limits() -> Limits {
    Limits {
        startup: ms(60_000),
        idle: ms(40_000),
        idle_is_default: false,
        waiting_interval: ms(5000),
        witness: stablehand_core::monitor::WitnessPolicy { max_extensions: 1, busy_cpu_percent: 2 },
        ..Limits::modern()
    }
}

/// A run with a tool, a silence, a gap, a busy tree and a hang.
fn hung() -> Vec<u8> {
    let mut run = Writer::new(&short_limits(), false);
    run.pass(ms(700), ms(1));
    run.line(INIT);
    run.line(&text(1));
    run.pass(ms(12_000), ms(3));
    run.line(&shell(1, false, Some(30_000)));
    run.pass(ms(20_000), ms(3));
    run.line(&shell(1, true, Some(30_000)));
    run.pass(ms(1000), ms(0));
    run.now = run.now.plus(ms(9000));
    run.tell(Input::Gap(ms(9000)), None);
    run.pass(ms(40_000), ms(2));
    let witness = Input::Witness { tree_cpu: ms(500), window: ms(1000), other_activity: false };
    let told = MonitorTold::Witness { cpu_ms: 500, window_ms: 1000, other_activity: false };
    run.pass(ms(910), ms(2));
    run.tell(witness, Some(told));
    run.pass(ms(60_000), ms(2));
    run.end()
}

#[test]
fn a_log_that_nobody_touched_does_not_differ() {
    let log = hung();
    let report = check(lines(&log));
    assert_eq!(report.differences, []);
    assert_eq!((report.runs, report.unfinished, report.without_limits), (1, 0, 0));
    let text = String::from_utf8_lossy(&log);
    for part in ["witness_asked", r#""cause":"busy""#, r#""cause":"gap""#, "hang_detected"] {
        assert!(text.contains(part), "no {part} in {text}");
    }
    assert!(report.decisions > 15, "{report:?}");
}

#[test]
fn every_decision_that_is_taken_out_or_put_in_again_is_noticed() {
    let log = hung();
    let all = lines(&log);
    for (n, line) in all.iter().enumerate() {
        let is = |word: &str| line.windows(word.len()).any(|part| part == word.as_bytes());
        // Who began, under which limits and what for are no decisions of the monitor's.
        let ours = [
            DecisionKind::LogOpened,
            DecisionKind::AgentSpawned,
            DecisionKind::MonitorStarted,
            DecisionKind::RunEnded,
            DecisionKind::AgentExited,
        ];
        if ours.iter().any(|kind| is(kind.name())) || is(r#""idle_silence_ms":0"#) {
            continue;
        }
        // A silence put on record right before the verdict: without, the tick may just have been late.
        // And that the process is gone is known by what followed from it.
        if is(r#""idle_silence_ms":60022"#) || is(r#""to":"ended""#) {
            continue;
        }
        let without = all.iter().enumerate().filter(|(m, _)| *m != n).map(|(_, line)| *line);
        let report = check(without);
        assert!(report.differing > 0, "without {}", String::from_utf8_lossy(line));
        // A sign of life that is told twice at the same moment is the same.
        if is("raw_event") || is("monitor_told") {
            continue;
        }
        let twice = all
            .iter()
            .enumerate()
            .flat_map(|(m, line)| std::iter::repeat_n(*line, if m == n { 2 } else { 1 }));
        assert!(check(twice).differing > 0, "twice {}", String::from_utf8_lossy(line));
    }
}

#[test]
fn a_deadline_of_which_nothing_follows_was_not_overslept() {
    // The limit on calls is reached while they run, and stands; that on time comes later.
    let limits = Limits { wall: Some(ms(20_700)), max_tool_calls: Some(1), ..short_limits() };
    let mut run = Writer::new(&limits, false);
    run.line(INIT);
    for call in 0..3 {
        run.line(&shell(call, false, None));
    }
    run.pass(ms(46_000), ms(175));
    assert_eq!(check(lines(&run.end())).differences, []);
}

#[test]
fn other_limits_and_other_ends_are_noticed() {
    let log = String::from_utf8(hung()).expect("text");
    for (record, from, to, sort) in [
        ("monitor_started", r#""idle_ms":40000"#, r#""idle_ms":30000"#, None),
        ("run_ended", r#""outcome":"hung""#, r#""outcome":"no_result""#, Some(Sort::Ending)),
        ("run_ended", r#""session_id":"s1""#, r#""session_id":"s2""#, Some(Sort::Ending)),
        ("tool_call_completed", r#""call_id":"c1""#, r#""call_id":"c9""#, Some(Sort::Unexpected)),
        ("", r#""verdict":"idle_after_tool""#, r#""verdict":"idle""#, Some(Sort::Unexpected)),
    ] {
        let is_it = |line: &str| line.contains(&format!(r#""msg":"{record}"#));
        let change =
            |line: &str| if is_it(line) { line.replace(from, to) } else { line.to_owned() };
        let changed = log.lines().map(change).collect::<Vec<_>>().join("\n") + "\n";
        assert_ne!(changed, log, "no {from} in {log}");
        let report = check(lines(changed.as_bytes()));
        assert!(report.differing > 0, "{to}");
        if let Some(sort) = sort {
            assert!(report.differences.iter().any(|it| it.sort == sort), "{to}: {report:#?}");
        }
    }
}

#[test]
fn a_deadline_that_nobody_kept_is_noticed() {
    let log = hung();
    // Up to the silence after the tool, and then the agent speaks hours later.
    let all = lines(&log);
    let cut = all.iter().rposition(|line| line.windows(9).any(|part| part == b"raw_event"));
    let mut late: Vec<Vec<u8>> =
        all.iter().take(cut.expect("a raw record") + 3).map(|line| line.to_vec()).collect();
    let raw = format!(r#"{{"msg":"raw_event","recv_ts":{},"raw":{}}}"#, BEGAN + 9_000_000, text(2));
    late.push(raw.into_bytes());
    let report = check(late.iter().map(Vec::as_slice));
    assert!(report.differences.iter().any(|it| it.sort == Sort::Overslept), "{report:#?}");
    assert_eq!(report.unfinished, 1);
}

#[test]
fn a_log_without_limits_is_looked_at_as_far_as_that_goes() {
    let log = hung();
    let old = |line: &&[u8]| !line.windows(15).any(|part| part == b"monitor_started");
    let report = check(lines(&log).into_iter().filter(old));
    assert_eq!((report.differing, report.without_limits), (0, 1), "{report:#?}");
    let fewer = |line: &&[u8]| !line.windows(16).any(|part| part == b"tool_call_opened");
    let report = check(lines(&log).into_iter().filter(old).filter(fewer));
    assert_eq!(report.differing, 1, "{report:#?}");
}

#[test]
fn broken_and_foreign_lines_are_counted_and_passed_over() {
    let mut log = hung();
    log.extend_from_slice(b"{\"torn\":\nnot json\n[]\n{\"msg\":\"from_the_future\",\"ts\":1}\n");
    let report = check(lines(&log));
    assert_eq!((report.differing, report.skipped), (0, 3), "{report:#?}");
}

#[test]
fn a_clock_that_was_set_changes_nothing() {
    let log = String::from_utf8(hung()).expect("text");
    let by = 3_600_000;
    let mut moved = false;
    let mut out = String::new();
    for line in log.lines() {
        if line.contains("tool_call_opened") && !moved {
            moved = true;
            let step = json!({ "msg": "clock_stepped", "ts": BEGAN, "by_ms": -by });
            out.push_str(&step.to_string());
            out.push('\n');
        }
        let fields: Value = serde_json::from_str(line).expect("JSON");
        let ts = fields["ts"].as_i64().or(fields["recv_ts"].as_i64()).expect("a time");
        let later = if moved { ts - by } else { ts };
        out += &line.replace(&format!("ts\":{ts}"), &format!("ts\":{later}"));
        out.push('\n');
    }
    assert!(moved);
    assert_eq!(check(lines(out.as_bytes())).differences, []);
}

fn what_if(log: &[u8], limits: impl Fn(Limits) -> Limits) -> Vec<Finding> {
    let mut what_if = WhatIf::new(|_, known| limits(known.cloned().unwrap_or(Limits::modern())));
    for line in lines(log) {
        what_if.record(&Record::read(line));
    }
    what_if.finish()
}

#[test]
fn other_limits_judge_sooner_or_later() {
    let log = hung();
    let found = what_if(&log, |limits| Limits { idle: ms(10_000), ..limits });
    let [finding] = found.as_slice() else { panic!("{found:?}") };
    let verdict = finding.verdict.as_ref().expect("a verdict");
    assert_eq!((verdict.kind, verdict.at_ms), (VerdictKind::IdleAfterText, 10_700));
    assert_eq!(verdict.at, UnixMillis(BEGAN + 10_700));
    assert_eq!(verdict.heard_after_ms, Some(2000), "the agent was at work");
    assert_eq!(finding.outcome.as_deref(), Some("hung"));
    let (kind, actual) = finding.actual.expect("what was decided");
    assert_eq!(kind, VerdictKind::IdleAfterTool);
    // After the tool nothing came any more, however long one would have waited.
    let patient = what_if(&log, |limits| Limits { idle: ms(600_000), ..limits });
    let verdict = patient[0].verdict.as_ref().expect("a verdict");
    assert_eq!(verdict.kind, VerdictKind::IdleAfterTool);
    assert_eq!((verdict.at_ms, verdict.heard_after_ms), (32_700 + 9000 + 600_000, None));
    assert!(verdict.at_ms > actual);
    let never = what_if(&log, |_| Limits::none());
    assert_eq!(never[0].verdict, None);
}

#[test]
fn limits_on_use_can_be_tried_too() {
    let mut run = Writer::new(&Limits::modern(), false);
    run.line(INIT);
    for call in 0..5 {
        run.pass(ms(1000), ms(0));
        run.line(&shell(call, false, None));
        run.line(&shell(call, true, None));
    }
    run.line(RESULT);
    run.pass(ms(100), ms(0));
    let log = run.end();
    assert_eq!(check(lines(&log)).differences, []);
    let found = what_if(&log, |limits| Limits { max_tool_calls: Some(3), ..limits });
    let verdict = found[0].verdict.as_ref().expect("a verdict");
    assert_eq!((verdict.kind, verdict.at_ms), (VerdictKind::ToolCalls, 4000));
    assert_eq!(what_if(&log, |limits| limits)[0].verdict, None);
}

fn survey(logs: &[Vec<u8>]) -> Vec<RunSilences> {
    let survey = |log: &Vec<u8>| {
        let mut survey = Survey::default();
        for line in lines(log) {
            survey.record(&Record::read(line));
        }
        survey.finish().0
    };
    logs.iter().flat_map(survey).collect()
}

#[test]
fn silences_are_told_by_limit_and_by_how_they_ended() {
    let mut slow = Writer::new(&Limits::modern(), false);
    slow.pass(ms(3000), ms(0));
    slow.line(INIT);
    slow.pass(ms(8000), ms(0));
    slow.line(&text(1));
    slow.pass(ms(90_000), ms(0));
    slow.line(&text(2));
    slow.line(RESULT);
    slow.pass(ms(1500), ms(0));
    let runs = survey(&[hung(), slow.end()]);
    let [stuck, slow] = runs.as_slice() else { panic!("{runs:?}") };
    assert_eq!(stuck.silences[&TimeLimit::Idle].survived, ms(12_000));
    let hang = stuck.hang.expect("a hang");
    assert_eq!(hang.limit, TimeLimit::Idle);
    assert_eq!((stuck.agent.as_str(), stuck.model.as_deref()), ("cursor", Some("m")));
    let survived = |limit| slow.silences[&limit].survived;
    assert_eq!(survived(TimeLimit::Startup), ms(3000));
    assert_eq!(survived(TimeLimit::FirstResponse), ms(8000));
    assert_eq!(survived(TimeLimit::Idle), ms(90_000));
    assert_eq!(survived(TimeLimit::ExitGrace), ms(1500));
    assert_eq!(slow.hang, None);
    let runs: Vec<&RunSilences> = runs.iter().collect();
    let at = |secs| rung(&runs, TimeLimit::Idle, Duration::from_secs(secs));
    assert_eq!((at(10).caught, at(10).killed), (0, 2), "both were silent for longer and went on");
    assert_eq!((at(60).caught, at(60).killed), (1, 1));
    assert_eq!(at(60).late, Some(ms(60_000)));
    assert_eq!((at(120).caught, at(120).killed), (1, 0));
}

#[test]
fn a_value_is_proposed_only_by_enough_runs() {
    let one = survey(&[hung()]);
    let few: Vec<&RunSilences> = one.iter().collect();
    let trials = try_out(&few);
    assert!(trials.iter().all(|trial| trial.proposed.is_none()), "{trials:?}");
    let many: Vec<&RunSilences> = std::iter::repeat_n(&one[0], ENOUGH).collect();
    let trials = try_out(&many);
    let idle = trials.iter().find(|trial| trial.limit == TimeLimit::Idle).expect("idle");
    assert_eq!(idle.proposed, Some(Duration::from_secs(30)), "twice what was survived");
    assert_eq!((idle.runs, idle.hung, idle.rungs.len()), (ENOUGH, ENOUGH, ladder().count()));
}

/// What may happen in a run; times are milliseconds.
#[derive(Clone, Debug)]
enum Happening {
    Pass(u64, u64),
    Text(u64),
    Shell(u64, bool, Option<u64>),
    Result,
    Noise,
    Gap(u64),
    Suspended(u64),
    Switch(u8, bool),
    Witness(u64, bool),
}

/// Ticks of the driver come so late, in milliseconds, and what is read before one counts.
const LATEST: u64 = 400;

fn any_happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        6 => (0u64..80_000, 0u64..LATEST).prop_map(|(by, late)| Happening::Pass(by, late)),
        3 => (0u64..9).prop_map(Happening::Text),
        4 => (0u64..4, any::<bool>(), prop::option::of(1u64..90_000))
            .prop_map(|(call, done, timeout)| Happening::Shell(call, done, timeout)),
        1 => Just(Happening::Result),
        1 => Just(Happening::Noise),
        1 => (500u64..30_000).prop_map(Happening::Gap),
        1 => (5000u64..90_000).prop_map(Happening::Suspended),
        1 => (0u8..4, any::<bool>()).prop_map(|(which, on)| Happening::Switch(which, on)),
        2 => (0u64..100, any::<bool>()).prop_map(|(cpu, other)| Happening::Witness(cpu, other)),
    ]
}

fn happen(run: &mut Writer, happening: &Happening) {
    match happening {
        Happening::Pass(by, late) => run.pass(ms(*by), ms(*late)),
        Happening::Text(n) => run.line(&text(*n)),
        Happening::Shell(call, done, timeout) => run.line(&shell(*call, *done, *timeout)),
        Happening::Result => run.line(RESULT),
        Happening::Noise => run.line("a word of somebody else"),
        Happening::Gap(by) => {
            run.now = run.now.plus(ms(*by));
            run.tell(Input::Gap(ms(*by)), None);
        }
        Happening::Suspended(by) => run.tell(Input::Suspended(ms(*by)), None),
        Happening::Switch(which, on) => {
            let on = *on;
            let (told, input) = match which {
                0 => (MonitorTold::Backpressure { on }, Input::Backpressure(on)),
                1 => (MonitorTold::Approval { on }, Input::ApprovalPending(on)),
                2 => (MonitorTold::Resting { on }, Input::Resting(on)),
                _ => (MonitorTold::Prompted, Input::Prompted),
            };
            run.tell(input, Some(told));
        }
        Happening::Witness(cpu, other) => {
            let input =
                Input::Witness { tree_cpu: ms(*cpu), window: ms(1000), other_activity: *other };
            let (cpu_ms, other_activity) = (*cpu, *other);
            let told = MonitorTold::Witness { cpu_ms, window_ms: 1000, other_activity };
            run.tell(input, Some(told));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happened_is_decided_again(
        happenings in prop::collection::vec(any_happening(), 0..50),
        observe_only in any::<bool>(),
        idle in 1000u64..60_000,
        wall in prop::option::of(10_000u64..400_000),
        max_tool_calls in prop::option::of(1u64..4),
        wrap in any::<bool>(),
    ) {
        let limits = if wrap {
            Limits::cursor_wrap(ms(idle), ms(idle / 3), ms(5000))
        } else {
            Limits { wall: wall.map(ms), max_tool_calls, ..short_limits() }
        };
        let mut run = Writer::new(&limits, observe_only);
        run.line(INIT);
        for happening in &happenings {
            happen(&mut run, happening);
            if run.verdict.is_some() || run.overdue {
                break;
            }
        }
        let log = run.end();
        let report = check(lines(&log));
        prop_assert_eq!(&report.differences, &[], "{}", String::from_utf8_lossy(&log));
        // With the limits that held, what would have been decided is what was; witnesses apart.
        if !observe_only && report.runs == 1 && !log.windows(13).any(|w| w == b"witness_asked") {
            let found = what_if(&log, |limits| limits);
            let (would, was) = (found[0].verdict.as_ref(), found[0].actual.map(|it| it.0));
            // A word or an exit behind the deadline but before the tick was in time then, also where we
            // ourselves slept in between.
            let slept = happenings.iter().map(|it| match it {
                Happening::Gap(by) => *by,
                _ => 0,
            });
            let latest = LATEST + slept.sum::<u64>();
            let in_time = would.is_some_and(|it| {
                let ended = found[0].ended_ms.saturating_sub(it.at_ms);
                // And at a late tick two limits may be over, of which one was first.
                let late = found[0].actual.is_some_and(|(_, at)| at > it.at_ms);
                late || it.heard_after_ms.unwrap_or(ended) < latest
            });
            if !in_time {
                let would = would.map(|it| it.kind);
                prop_assert_eq!(would, was, "{}", String::from_utf8_lossy(&log));
            }
        }
    }

    #[test]
    fn any_lines_are_read_without_a_panic(lines in prop::collection::vec(".{0,80}", 0..20)) {
        let mut check = Check::default();
        let mut what_if = WhatIf::new(|_, _| Limits::modern());
        let mut survey = Survey::default();
        for line in &lines {
            let record = Record::read(line.as_bytes());
            check.record(&record);
            what_if.record(&record);
            survey.record(&record);
        }
        prop_assert_eq!(check.finish().differing, 0);
        prop_assert!(what_if.finish().is_empty());
        prop_assert!(survey.finish().0.is_empty());
    }
}

#[test]
fn decisions_read_as_they_were_written() {
    let moved = Decision::LimitsMoved(Some(Moved::Busy));
    assert_eq!(moved.to_string(), "limits moved (busy)");
    let over =
        Decision::ToolClosed { call: "c1".into(), presumed: true, outcome: Some("success".into()) };
    assert_eq!(over.to_string(), "call `c1` over (success, presumed)");
}
