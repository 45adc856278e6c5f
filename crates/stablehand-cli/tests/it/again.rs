//! The log tells the whole run again: the same events, and the same verdict by the same monitor.

use crate::support::{env, ms, print, run};
use stablehand_core::event::EventKind;
use stablehand_core::monitor::{Action, Input, Limits, Monitor};
use stablehand_core::record::{DecisionKind, DecisionRecord, Record};
use stablehand_core::replay::EventReader;
use stablehand_core::{Depth, Dialect, Moment};
use stablehand_testkit::{LogFile, TestEnv};

fn log_bytes(env: &TestEnv) -> Vec<u8> {
    let paths = LogFile::paths_in(&env.log_dir());
    assert_eq!(paths.len(), 1);
    std::fs::read(&paths[0]).unwrap()
}

fn lines(log: &[u8]) -> impl Iterator<Item = &[u8]> {
    log.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
}

#[test]
fn what_was_shown_live_is_what_the_log_shows() {
    let scripts = [
        "init\nuser hi\nthinking hm\ndelta Hel\ndelta lo\nassistant Hello\nresult Hello",
        "init\nraw T: noise\\n\nshell c1 30s make\nshell-done c1 2 1s make\nstderr oops\nexit 3",
        "init\nstderr-giant 300000\nraw \\xff\\xfe\\n\nraw {\"type\":\"assistant\",\"mes",
        "init\nshell c1 1s make\nhang",
    ];
    for script in scripts {
        let env = env(script);
        let live = run(&env).args(["--output-format", "events"]).finish();
        let mut reader = EventReader::new(Dialect::Cursor, Depth::Full);
        let (mut events, mut again) = (Vec::new(), String::new());
        let log = log_bytes(&env);
        for line in lines(&log) {
            reader.record(&Record::read(line), &mut events);
            for event in events.drain(..) {
                again.push_str(&serde_json::to_string(&event).unwrap());
                again.push('\n');
            }
        }
        assert_eq!(live.stdout_text(), again, "{script}");
        let last = live.stdout_json().pop().unwrap();
        assert_eq!(last["event"]["type"], "session.ended", "{script}");
    }
}

#[test]
fn the_same_monitor_gives_the_same_verdict_from_the_log() {
    let cases = [
        ("init\nthinking hm\nhang", "idle"),
        ("init\nassistant All done.\nhang", "idle_after_text"),
        ("init\nshell c1 1s make\nhang", "tool"),
        ("init\nshell c1 1s make\nshell-done c1 0 1s make\nhang", "idle_after_tool"),
        ("hang", "startup"),
    ];
    for (script, verdict) in cases {
        let env = env(script);
        print(&env).finish().assert_code(2);
        let log = log_bytes(&env);
        let decided = env.log().one("hang_detected")["verdict"].clone();
        assert_eq!(decided, verdict, "{script}");
        let judged = judge(&log, Limits::cursor_wrap(ms(1000), ms(300), ms(100)));
        assert_eq!(judged.as_deref(), Some(verdict), "{script}");
    }
}

/// Lets a fresh monitor watch a log: what came, when it came, and the time in between.
fn judge(log: &[u8], limits: Limits) -> Option<String> {
    let mut monitor = Monitor::new(limits, Moment::START);
    let mut reader = EventReader::new(Dialect::Cursor, Depth::Skim);
    let (mut events, mut actions, mut spawned) = (Vec::new(), Vec::new(), None);
    for line in lines(log) {
        let record = Record::read(line);
        match &record {
            Record::Decision(decision) if decision.kind() == Some(DecisionKind::AgentSpawned) => {
                spawned = Some(decision.at().0);
            }
            Record::Raw { at, .. } => {
                let now = Moment::from_millis(u64::try_from(at.0 - spawned?).unwrap_or(0));
                tick_until(&mut monitor, now, &mut actions);
                reader.record(&record, &mut events);
                for event in events.drain(..) {
                    let input = match &event.event {
                        EventKind::ProcessStderr { .. } => Input::Heard,
                        kind => Input::Event { kind, native: kind.name() },
                    };
                    monitor.handle(input, now, &mut actions);
                }
            }
            _ => {}
        }
        if let Some(DecisionRecord::HangDetected(reached)) = record.decision() {
            // It came without the agent's doing: the time alone must bring it again.
            assert!(reached.hard().is_some());
            tick_until(&mut monitor, Moment::from_millis(60_000), &mut actions);
        }
    }
    actions.iter().find_map(|action| match action {
        Action::Verdict(judgement) => {
            serde_json::to_value(judgement.kind).ok()?.as_str().map(str::to_owned)
        }
        _ => None,
    })
}

fn tick_until(monitor: &mut Monitor, now: Moment, actions: &mut Vec<Action>) {
    while let Some(deadline) = monitor.deadline().filter(|deadline| *deadline <= now) {
        monitor.handle(Input::Tick, deadline, actions);
    }
}
