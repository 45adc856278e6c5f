//! The library's `Session` with real processes: one turn, many turns, cancels, and nobody left.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where it stopped")]

use stablehand::keeper::KeeperProgram;
use stablehand::session::{Policy, Session, SessionBuilder, StartError};
use stablehand::{Agent, EventKind, Surroundings};
use stablehand_core::event::{SessionEnd, TurnEnd};
use stablehand_core::id::SessionId;
use std::path::Path;
use std::time::{Duration, Instant};

const KEEPER: &str = env!("CARGO_BIN_EXE_keeper-for-tests");
const FAKE: &str = env!("CARGO_BIN_EXE_fake-agent");

/// A session with the fake agent and this script, everything in `place`.
fn session(place: &Path, script: &str) -> SessionBuilder {
    let file = place.join("script");
    std::fs::write(&file, script).unwrap();
    let record = place.join("record");
    std::fs::create_dir_all(&record).unwrap();
    Session::builder(Agent::Cursor)
        .surroundings(Surroundings::default())
        .program(FAKE)
        .keeper(KeeperProgram { program: KEEPER.into(), args: vec!["__keeper".into()] })
        .log_dir(place.join("logs"))
        .env("FAKE_AGENT_SCRIPT", file)
        .env("FAKE_AGENT_RECORD", record)
}

fn turn_ends(events: impl Iterator<Item = stablehand::Event>) -> Vec<TurnEnd> {
    events
        .filter_map(|event| match event.event {
            EventKind::TurnEnded { end, .. } => Some(end),
            _ => None,
        })
        .collect()
}

#[test]
fn one_prompt_gives_its_events_and_an_outcome() {
    let place = tempfile::tempdir().unwrap();
    let script = "read-stdin\ninit s1\nuser hi\nassistant hello\nresult hello\n";
    let mut session = session(place.path(), script).prompt("hi").start().unwrap();
    let names: Vec<_> = session.events().map(|event| event.event.name()).collect();
    assert_eq!(names.first(), Some(&"process.spawned"));
    assert_eq!(names.last(), Some(&"session.ended"));
    assert_eq!(names.iter().filter(|name| **name == "turn.ended").count(), 1);
    let outcome = session.wait().unwrap();
    assert!(outcome.is_success());
    assert_eq!(outcome.session(), Some(&SessionId("s1".into())));
    assert!(outcome.log.exists() && outcome.log.to_string_lossy().contains("s1"));
    let differences = stablehand_testkit::judged::differences_below(place.path());
    assert_eq!(differences, "", "judged again, the log differs");
}

#[test]
fn nobody_has_to_read_the_events() {
    let place = tempfile::tempdir().unwrap();
    // More than the queue holds, so that a session that waited for its reader would not end.
    let script = "read-stdin\ninit s1\nevents assistant 20000 block\nresult done\n";
    let session = session(place.path(), script).prompt("hi").start().unwrap();
    assert!(session.wait().unwrap().is_success());
}

#[test]
fn an_agent_of_one_turn_a_process_is_resumed_for_the_next() {
    let place = tempfile::tempdir().unwrap();
    let turn = "read-stdin\ninit s1\nassistant yes\nresult yes\n";
    let script = format!("{turn}---\n{turn}");
    let mut session = session(place.path(), &script).conversation().start().unwrap();
    let handle = session.handle();
    handle.prompt("first");
    handle.prompt("second");
    handle.finish();
    let events: Vec<_> = session.events().collect();
    assert_eq!(turn_ends(events.iter().cloned()), [TurnEnd::Done, TurnEnd::Done]);
    let spawned: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.event {
            EventKind::ProcessSpawned { argv, .. } => Some(argv.join(" ")),
            _ => None,
        })
        .collect();
    assert_eq!(spawned.len(), 2);
    assert!(!spawned[0].contains("--resume") && spawned[1].contains("--resume s1"), "{spawned:?}");
    assert!(session.wait().unwrap().is_success());
}

#[test]
fn a_conversation_that_nobody_begins_starts_nobody() {
    let place = tempfile::tempdir().unwrap();
    let mut session = session(place.path(), "hang\n").conversation().start().unwrap();
    session.handle().finish();
    assert_eq!(session.events().count(), 0);
    assert!(session.wait().unwrap().is_success());
}

#[test]
fn a_cancelled_turn_can_be_followed_by_another() {
    let place = tempfile::tempdir().unwrap();
    let script = "read-stdin\ninit s1\nassistant so\nhang\n---\n\
                  read-stdin\ninit s1\nassistant yes\nresult yes\n";
    let mut session = session(place.path(), script).prompt("go").conversation().start().unwrap();
    let handle = session.handle();
    let mut ends = Vec::new();
    for event in session.events() {
        match event.event {
            EventKind::ItemCompleted { .. } if ends.is_empty() => handle.cancel(),
            EventKind::SessionEnded { end, .. } => {
                ends.push(end);
                handle.prompt("again");
                handle.finish();
            }
            _ => {}
        }
    }
    assert_eq!(ends, [SessionEnd::Interrupted, SessionEnd::Success]);
    assert!(session.wait().unwrap().is_success());
}

#[test]
fn a_dropped_session_leaves_nobody() {
    let place = tempfile::tempdir().unwrap();
    let script = "ignore INT TERM\nread-stdin\ninit s1\nspawn daemon\nhang\n";
    let mut session = session(place.path(), script).prompt("go").start().unwrap();
    let pid = session.events().find_map(|event| match event.event {
        EventKind::ProcessSpawned { pid, .. } => Some(pid),
        _ => None,
    });
    let pid = i32::try_from(pid.unwrap()).unwrap();
    session.events().find(|event| event.event.name() == "session.started").unwrap();
    let began = Instant::now();
    drop(session);
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert!(!stablehand_testkit::census::is_alive(pid));
    let left = stablehand_testkit::census::living("no such marker", &place.path().join("record"));
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn what_is_missing_is_said_before_anything_starts() {
    let place = tempfile::tempdir().unwrap();
    let error = session(place.path(), "").start().unwrap_err();
    assert!(matches!(error, StartError::NoPrompt), "{error}");
    // This program has not called `init`: it would start itself again and again.
    let error = Session::builder(Agent::Claude)
        .surroundings(Surroundings::default())
        .prompt("hi")
        .policy(Policy::Ask)
        .start()
        .unwrap_err();
    assert!(matches!(error, StartError::NotInitialised), "{error}");
    let error = session(place.path(), "").prompt("hi").resume("--force").start().unwrap_err();
    assert!(matches!(error, StartError::Plan(_)), "{error}");
    assert!(!place.path().join("logs").exists(), "and no log is left behind");
}
