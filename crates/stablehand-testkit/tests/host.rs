//! The host from outside: sessions, subscribers, cursors, approvals, and other processes' sessions.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test may fail by a panic")]

use stablehand::control::{Always, AnswerError, Refused};
use stablehand::core::actor::Actor;
use stablehand::core::event::{EventKind, SessionEnd, TurnEnd};
use stablehand::core::id::{SessionKey, TurnId};
use stablehand::host::{AttachError, Filter, OpenError, SessionState, SubscribeError};
use stablehand::keeper::KeeperProgram;
use stablehand::{Agent, Answer, Cursor, Frame, From, Host, Policy, Session, SessionSpec};
use stablehand::{Subscription, Surroundings};
use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const KEEPER: &str = env!("CARGO_BIN_EXE_keeper-for-tests");
const FAKE: &str = env!("CARGO_BIN_EXE_fake-agent");

/// A conversation with a scripted agent.
fn spec(agent: Agent, place: &Path, script: &str) -> SessionSpec {
    let file = place.join("script");
    std::fs::write(&file, script).unwrap();
    std::fs::create_dir_all(place.join("record")).unwrap();
    let mut around = Surroundings::default();
    around.state = Some(place.join("state"));
    Session::builder(agent)
        .surroundings(around)
        .program(FAKE)
        .keeper(KeeperProgram { program: KEEPER.into(), args: vec!["__keeper".into()] })
        .workspace(place)
        .env("FAKE_AGENT_SCRIPT", &file)
        .env("FAKE_AGENT_RECORD", place.join("record"))
        .env("FAKE_AGENT_DIALECT", agent.name())
        .conversation()
}

fn person() -> Actor {
    Actor::person("test")
}

/// One turn of an agent that takes one turn a process.
const TURN: &str = "read-stdin\ninit s1\nassistant yes\nresult yes\n";

/// Everything up to the end of that turn.
fn until_turn(events: &mut Subscription, turn: TurnId) -> Vec<Arc<Frame>> {
    let mut seen = Vec::new();
    for frame in events.by_ref() {
        let is_end = matches!(frame.event.event, EventKind::TurnEnded { .. })
            && frame.event.turn == Some(turn);
        seen.push(frame);
        if is_end {
            return seen;
        }
    }
    panic!("the turn never ended: {:?}", names(&seen));
}

fn names(frames: &[Arc<Frame>]) -> Vec<&'static str> {
    frames.iter().map(|frame| frame.event.event.name()).collect()
}

fn cursors(frames: &[Arc<Frame>]) -> Vec<Cursor> {
    frames.iter().map(|frame| frame.cursor).collect()
}

fn state_of(host: &Host, key: SessionKey) -> Option<SessionState> {
    let found = host.list(&Filter::default());
    found.iter().find(|summary| summary.key == key).map(|summary| summary.state)
}

fn wait_for(what: &str, mut there: impl FnMut() -> bool) {
    let began = Instant::now();
    while !there() {
        assert!(began.elapsed() < Duration::from_secs(30), "{what} never came");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn each_prompt_has_one_turn_and_every_subscriber_the_same_frames() {
    let place = tempfile::tempdir().unwrap();
    let host = Host::new(place.path().join("logs"));
    let key = host.start(spec(Agent::Cursor, place.path(), &format!("{TURN}---\n{TURN}"))).unwrap();
    let mut first = host.subscribe(key, From::Start).unwrap();
    let one = host.prompt(key, "first", person()).unwrap();
    let seen = until_turn(&mut first, one);
    assert_eq!(names(&seen)[0], "turn.started");
    let started = serde_json::to_value(&seen[0].event.event).unwrap();
    assert_eq!((&started["by"], &started["via"]), (&"person".into(), &"test".into()));
    let two = host.prompt(key, "second", person()).unwrap();
    host.finish(key).unwrap();
    assert_eq!(host.prompt(key, "third", person()), Err(Refused::Finishing));
    let rest: Vec<_> = first.collect();
    assert_eq!(names(&rest).last(), Some(&"session.ended"));
    let all: Vec<_> = seen.iter().chain(&rest).cloned().collect();
    for turn in [one, two] {
        let of_turn = |name| {
            let is_it =
                |it: &&Arc<Frame>| it.event.turn == Some(turn) && it.event.event.name() == name;
            all.iter().filter(is_it).count()
        };
        assert_eq!((of_turn("turn.started"), of_turn("turn.ended")), (1, 1));
    }
    assert!(cursors(&all).is_sorted_by(|one, two| one < two), "cursors are ordered");
    // The same frames, not copies, while the ring has them.
    let again: Vec<_> = host.subscribe(key, From::Start).unwrap().collect();
    assert_eq!(cursors(&again), cursors(&all));
    assert!(all.iter().zip(&again).all(|(one, two)| Arc::ptr_eq(one, two)));
    assert_eq!(host.subscribe(key, From::Now).unwrap().count(), 0);
    // From every cursor exactly what follows it.
    for (at, cursor) in cursors(&all).into_iter().enumerate() {
        let text: Cursor = cursor.to_string().parse().unwrap();
        let rest: Vec<_> = host.subscribe(key, From::After(text)).unwrap().collect();
        assert_eq!(cursors(&rest), cursors(&all[at + 1..]));
    }
    wait_for("the end of the session", || state_of(&host, key) == Some(SessionState::Over));
    assert_eq!(host.prompt(key, "late", person()), Err(Refused::Over));
    let reports = host.shutdown(Duration::from_secs(5));
    assert!(reports[0].outcome.as_ref().unwrap().is_success());
}

#[test]
fn a_subscriber_that_stands_still_gets_everything_later() {
    let place = tempfile::tempdir().unwrap();
    let host = Host::new(place.path().join("logs"));
    let script = "read-stdin\ninit s1\nevents assistant 20000 block\nresult done\n";
    let key = host.start(spec(Agent::Cursor, place.path(), script).prompt("go")).unwrap();
    let mut slow = host.subscribe(key, From::Start).unwrap();
    let early: Vec<_> = slow.by_ref().take(3).collect();
    host.finish(key).unwrap();
    let all: Vec<_> = host.subscribe(key, From::Start).unwrap().collect();
    assert!(all.len() > 20_000, "{}", all.len());
    let late: Vec<_> = early.iter().cloned().chain(slow).collect();
    assert_eq!(cursors(&late), cursors(&all));
    let texts =
        |frames: &[Arc<Frame>]| frames.iter().map(|it| it.json().to_owned()).collect::<Vec<_>>();
    assert_eq!(texts(&late), texts(&all));
}

/// Where the process works that is to be killed: this test binary, started once more.
const KILLED: &str = "STABLEHAND_TEST_HOST_TO_BE_KILLED";

/// Runs a session that says much, and follows it, until somebody ends this process.
fn be_killed(place: &Path) {
    let host = Host::new(place.join("logs"));
    let script = "read-stdin\ninit s1\nevents tool 20000 block\nhang\n";
    let key = host.start(spec(Agent::Cursor, place, script).prompt("go")).unwrap();
    let _the_end = host.subscribe(key, From::Start).unwrap().count();
}

/// The other process; it does not outlive a test that fails.
struct Owner(std::process::Child);

impl Owner {
    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.kill();
    }
}

#[test]
fn a_cursor_is_found_again_after_kill_9() {
    if let Some(place) = std::env::var_os(KILLED) {
        return be_killed(Path::new(&place));
    }
    let place = tempfile::tempdir().unwrap();
    let logs = place.path().join("logs");
    let mut owner = Owner(
        std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_cursor_is_found_again_after_kill_9"])
            .env(KILLED, place.path())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap(),
    );
    let saved = || {
        let files = std::fs::read_dir(logs.join("checkpoints")).into_iter().flatten().flatten();
        let texts = files.map(|file| std::fs::read_to_string(file.path()).unwrap());
        texts.map(|text| text.lines().count()).sum::<usize>()
    };
    wait_for("checkpoints", || saved() > 5);
    owner.kill();
    let host = Host::new(&logs);
    let key = host.list(&Filter::default())[0].key;
    wait_for("the end of the session", || state_of(&host, key) == Some(SessionState::Over));
    let all: Vec<_> = host.subscribe(key, From::Start).unwrap().collect();
    let texts = |frames: &[Arc<Frame>]| -> Vec<(Cursor, String)> {
        frames.iter().map(|it| (it.cursor, it.json().to_owned())).collect()
    };
    for at in [all.len() / 3, all.len() / 2, all.len() - 2] {
        let rest = host.subscribe(key, From::After(all[at].cursor)).unwrap();
        assert!(texts(&rest.collect::<Vec<_>>()) == texts(&all[at + 1..]), "after {at}");
    }
    let record = place.path().join("record");
    wait_for("the end of the tree", || {
        stablehand_testkit::census::living("no such marker", &record).is_empty()
    });
}

#[test]
fn the_first_answer_wins_and_the_others_learn_who_gave_it() {
    let place = tempfile::tempdir().unwrap();
    let host = Host::new(place.path().join("logs"));
    let script = "init\nprompt\nask c1 10s echo hi\nassistant Done.\ndone\n";
    let spec = spec(Agent::Claude, place.path(), script)
        .env("FAKE_AGENT_TALKS", "1")
        .policy(Policy::Ask)
        .prompt("go");
    let key = host.start(spec).unwrap();
    let mut events = host.subscribe(key, From::Start).unwrap();
    let asked = events.find_map(|frame| match &frame.event.event {
        EventKind::ApprovalRequested { id, waits: true, .. } => Some(id.clone()),
        _ => None,
    });
    let id = asked.expect("a question");
    wait_for("the approval on the list", || {
        host.list(&Filter::default())[0].approvals == [id.clone()]
    });
    let answer = |via: &str| host.answer(key, &id, Answer::Allow, Actor::person(via));
    assert_eq!(answer("web"), Ok(()));
    let by = Actor::person("web");
    let late = AnswerError::AlreadyAnswered { id: id.clone(), by: by.clone() };
    assert_eq!(answer("terminal"), Err(late.clone()));
    let resolved = events.find_map(|frame| match &frame.event.event {
        EventKind::ApprovalResolved { by, .. } => Some(by.clone()),
        _ => None,
    });
    assert_eq!(resolved, Some(by));
    assert_eq!(answer("terminal"), Err(late));
    let unknown = host.answer(key, "nothing", Answer::Allow, person());
    assert!(matches!(unknown, Err(AnswerError::NotWaiting { .. })), "{unknown:?}");
    host.finish(key).unwrap();
    assert_eq!(events.filter(|it| it.event.event.name() == "turn.ended").count(), 1);
}

#[test]
fn always_is_written_by_the_session_whichever_process_answers() {
    let place = tempfile::tempdir().unwrap();
    let logs = place.path().join("logs");
    let rules = place.path().join("rules.toml");
    std::fs::write(&rules, "[policy]\ndefault = \"ask\"\n").unwrap();
    let policy = stablehand::policy::Policy::parse("[policy]\ndefault = \"ask\"\n", "rules");
    let world = stablehand::policy_world::FileWorld::new(place.path(), None, &[]);
    let gate = stablehand::gate::Gate::new(policy.unwrap(), world, "claude")
        .with_rules_file(Some(rules.clone()));
    let script = "init\nprompt\nask c1 10s echo hi\nassistant Done.\ndone\n";
    let spec = spec(Agent::Claude, place.path(), script)
        .env("FAKE_AGENT_TALKS", "1")
        .policy(Policy::Rules(Arc::new(gate)))
        .prompt("go");
    let owner = Host::new(&logs);
    let key = owner.start(spec).unwrap();
    let guest = Host::new(&logs);
    let mut events = guest.subscribe(key, From::Start).unwrap();
    let asked = events.find_map(|frame| match &frame.event.event {
        EventKind::ApprovalRequested { id, waits: true, .. } => Some(id.clone()),
        _ => None,
    });
    let id = asked.expect("a question");
    wait_for("the approval on the board", || guest.always(key, &id).is_some());
    let Some(Always::Rule { text, file }) = guest.always(key, &id) else { panic!("no rule") };
    assert!(text.contains("command = \"echo hi\""), "{text}");
    assert_eq!(file, rules.display().to_string());
    assert_eq!(owner.always(key, &id), guest.always(key, &id));
    assert_eq!(guest.answer(key, &id, Answer::AllowAlways, person()), Ok(()));
    owner.finish(key).unwrap();
    assert_eq!(events.filter(|it| it.event.event.name() == "turn.ended").count(), 1);
    let written = std::fs::read_to_string(&rules).unwrap();
    assert_eq!(written.matches("command = \"echo hi\"").count(), 1, "{written}");
    let log = std::fs::read_to_string(owner.log(key).unwrap()).unwrap();
    let at =
        |name: &str| log.lines().position(|line| line.contains(&format!("\"msg\":\"{name}\"")));
    assert!(at("rule_written").unwrap() < at("approval_resolved").unwrap(), "{log}");
    drop(owner.shutdown(Duration::from_secs(5)));
}

#[test]
fn a_session_that_was_deleted_is_neither_listed_nor_opened() {
    let place = tempfile::tempdir().unwrap();
    let logs = place.path().join("logs");
    let host = Host::new(&logs);
    let spec = spec(Agent::Cursor, place.path(), TURN).mode(stablehand::Mode::Plan).model("hay-2");
    let key = host.start(spec.prompt("first")).unwrap();
    host.finish(key).unwrap();
    // Reads to the end of the session: `end` would stop the agent in the middle of its turn.
    assert!(host.subscribe(key, From::Start).unwrap().count() > 0);
    assert!(host.end(key, Duration::from_secs(5)).unwrap().outcome.unwrap().is_success());
    let found = Host::new(&logs).find(key).unwrap();
    assert_eq!(found.chosen.mode.as_deref(), Some("plan"));
    assert_eq!(found.chosen.model.as_deref(), Some("hay-2"));
    assert!(found.used >= found.began, "{found:?}");
    host.delete(key, &person()).unwrap();
    for host in [host, Host::new(&logs)] {
        assert!(host.find(key).is_none() && host.list(&Filter::default()).is_empty());
        assert!(matches!(host.open(key), Err(OpenError::Unknown { .. })));
        assert!(matches!(host.subscribe(key, From::Start), Err(SubscribeError::NoSession(_))));
        let all = host.list(&Filter { deleted: true, ..Filter::default() });
        assert_eq!((all.len(), all[0].deleted, all[0].logs.len()), (1, true, 2));
    }
}

#[test]
fn sessions_that_are_one_for_the_agent_know_of_each_other() {
    let place = tempfile::tempdir().unwrap();
    let host = Host::new(place.path().join("logs"));
    // One part for each process.
    let script =
        ["same", "other", "same", "same"].map(|name| TURN.replace("s1", name)).join("---\n");
    let run = || {
        let key = host.start(spec(Agent::Cursor, place.path(), &script).prompt("go")).unwrap();
        host.finish(key).unwrap();
        assert!(host.subscribe(key, From::Start).unwrap().count() > 0);
        wait_for("its end", || state_of(&host, key) == Some(SessionState::Over));
        key
    };
    let (first, other, second, third) = (run(), run(), run(), run());
    let found = |name: &str| host.find_by_name("cursor", name).unwrap();
    assert_eq!(found("same").key, third, "the newest");
    assert_eq!((found("same").earlier, found("same").later), (vec![first, second], None));
    assert_eq!(found(&second.to_string()).earlier, [first]);
    assert_eq!(found(&second.to_string()).later, Some(third));
    assert_eq!((found("other").earlier, found("other").later), (vec![], None));
    host.delete(second, &person()).unwrap();
    assert_eq!(found("same").earlier, [first]);
    assert!(found(&second.to_string()).deleted);
    assert!(host.find_by_name("codex", "same").is_none());
    assert!(host.find_by_name("codex", &other.to_string()).is_none());
}

#[test]
fn a_prompt_that_waits_can_be_taken_back() {
    let place = tempfile::tempdir().unwrap();
    let host = Host::new(place.path().join("logs"));
    let script = format!("read-stdin\ninit s1\nassistant so\nhang\n---\n{TURN}");
    let key = host.start(spec(Agent::Cursor, place.path(), &script)).unwrap();
    let mut events = host.subscribe(key, From::Start).unwrap();
    let first = host.prompt(key, "first", person()).unwrap();
    let second = host.prompt(key, "second", person()).unwrap();
    let third = host.prompt(key, "third", person()).unwrap();
    let is_said = |frame: &Arc<Frame>| frame.event.event.name() == "item.completed";
    events.find(is_said).expect("the first words");
    host.cancel_turn(key, Some(second), person()).unwrap();
    host.cancel(key, person()).unwrap();
    host.finish(key).unwrap();
    let ends: Vec<_> = events
        .filter_map(|frame| match &frame.event.event {
            EventKind::TurnEnded { end, .. } => Some((frame.event.turn.unwrap(), end.clone())),
            _ => None,
        })
        .collect();
    let expected =
        [(second, TurnEnd::Cancelled), (first, TurnEnd::Cancelled), (third, TurnEnd::Done)];
    assert_eq!(ends, expected);
    assert_eq!(std::fs::read_to_string(place.path().join("record/2.stdin")).unwrap(), "third");
}

#[test]
fn a_session_of_before_is_opened_and_goes_on_under_its_key() {
    let place = tempfile::tempdir().unwrap();
    let logs = place.path().join("logs");
    let script = format!("{TURN}---\n{TURN}");
    let before = Host::new(&logs);
    let key = before.start(spec(Agent::Cursor, place.path(), &script).prompt("first")).unwrap();
    before.finish(key).unwrap();
    let past: Vec<_> = before.subscribe(key, From::Start).unwrap().collect();
    drop(before.shutdown(Duration::from_secs(5)));

    let host = Host::new(&logs);
    let read: Vec<_> = host.subscribe(key, From::Start).unwrap().collect();
    assert_eq!(cursors(&read), cursors(&past), "it can be read before it is opened");
    assert_eq!(host.prompt(key, "no", person()), Err(Refused::NoSession));
    let other = Cursor { log: stablehand::core::id::LogId(key.0), ..past[0].cursor };
    let foreign = host.subscribe(key, From::After(other));
    assert!(matches!(foreign, Err(SubscribeError::ForeignCursor { .. })), "{foreign:?}");
    let listed = host.list(&Filter::default());
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].title.as_deref(), Some("first"));
    assert_eq!(listed[0].workspace.as_deref(), Some(place.path()));
    let unknown = stablehand::new_session_key();
    assert!(matches!(host.open(unknown), Err(OpenError::Unknown { .. })));
    assert!(matches!(host.attach(key), Err(AttachError::NotRunning(_))));
    host.open_as(key, |_, agent| spec(agent, place.path(), &script)).unwrap();
    let mut all = host.subscribe(key, From::Start).unwrap();
    let old: Vec<_> = all.by_ref().take(past.len()).collect();
    assert_eq!(cursors(&old), cursors(&past), "what was said before is there");
    let turn = host.prompt(key, "second", person()).unwrap();
    let new = until_turn(&mut all, turn);
    let spawned = new.iter().find_map(|frame| match &frame.event.event {
        EventKind::ProcessSpawned { argv, .. } => Some(argv.join(" ")),
        _ => None,
    });
    assert!(spawned.unwrap().contains("--resume s1"));
    // A cursor of the first log goes on into the second.
    let after = host.subscribe(key, From::After(past[0].cursor)).unwrap();
    let rest: Vec<_> = after.take(past.len() - 1 + new.len()).collect();
    let expected: Vec<_> = past[1..].iter().chain(&new).map(|frame| frame.cursor).collect();
    assert_eq!(cursors(&rest), expected);
    assert_eq!(host.list(&Filter::default())[0].logs.len(), 2, "one session, two logs");
    drop(host.shutdown(Duration::from_secs(5)));
}

#[test]
fn a_session_that_another_host_runs_is_followed_prompted_and_stopped() {
    let place = tempfile::tempdir().unwrap();
    let logs = place.path().join("logs");
    let script = format!("{TURN}---\nread-stdin\ninit s1\nassistant so\nhang\n");
    let owner = Host::new(&logs);
    let key = owner.start(spec(Agent::Cursor, place.path(), &script)).unwrap();
    let mut own = owner.subscribe(key, From::Start).unwrap();

    let guest = Host::new(&logs);
    assert_eq!(state_of(&guest, key), Some(SessionState::Elsewhere));
    guest.open(key).unwrap();
    assert_eq!(state_of(&guest, key), Some(SessionState::Attached));
    let mut seen = guest.subscribe(key, From::Start).unwrap();
    // Callers that send nothing, or half of a request, do not delay other callers.
    let socket = logs.join(".control").join(format!("{key}.sock"));
    let silent: Vec<_> = (0..3).map(|_| UnixStream::connect(&socket).unwrap()).collect();
    for mut caller in &silent {
        caller.write_all(b"{\"prompt").unwrap();
    }
    let turn = guest.prompt(key, "hello", person()).unwrap();
    let (theirs, ours) = (until_turn(&mut own, turn), until_turn(&mut seen, turn));
    assert_eq!(cursors(&theirs), cursors(&ours));
    let next = guest.prompt(key, "more", person()).unwrap();
    seen.find(|frame| frame.event.event.name() == "item.completed").expect("words");
    guest.cancel(key, person()).unwrap();
    let ended = until_turn(&mut seen, next);
    let last = serde_json::to_value(&ended.last().unwrap().event.event).unwrap();
    assert_eq!(last["end"]["kind"], "cancelled");
    let mode = |path: &Path| {
        use std::os::unix::fs::PermissionsExt as _;
        path.metadata().unwrap().permissions().mode() & 0o777
    };
    assert_eq!(mode(&logs.join(".control")), 0o700);
    guest.stop(key, person()).unwrap();
    let log = owner.list(&Filter::default())[0].logs[0].clone();
    assert_eq!(names(&seen.collect::<Vec<_>>()).last(), Some(&"session.ended"));
    assert_eq!(guest.prompt(key, "late", person()), Err(Refused::Over));
    wait_for("the end of the session", || state_of(&guest, key) == Some(SessionState::Over));
    drop(owner.shutdown(Duration::from_secs(5)));
    assert!(!logs.join(".control").exists(), "no socket is left");
    let log = std::fs::read_to_string(log).unwrap();
    let stopped = log.lines().find(|line| line.contains("\"signal_received\""));
    assert!(stopped.unwrap().contains(r#""by":"person","via":"test""#), "{log}");
}

#[test]
fn secrets_are_taken_out_of_sessions_that_the_host_did_not_start() {
    let place = tempfile::tempdir().unwrap();
    let logs = place.path().join("logs");
    let script = "read-stdin\ninit s1\nassistant The key is kN0wn-Value-1234.\nresult done\n";
    let owner = Host::new(&logs);
    let key = owner.start(spec(Agent::Cursor, place.path(), script)).unwrap();
    let mut own = owner.subscribe(key, From::Start).unwrap();
    let redactor = || {
        let known = [("API_KEY".to_owned(), "kN0wn-Value-1234".to_owned())];
        stablehand::redact::Redactor::builder().variables(known).build()
    };
    let attached = Host::redacting(&logs, redactor());
    let mut seen = attached.subscribe(key, From::Start).unwrap();
    let turn = owner.prompt(key, "go", person()).unwrap();
    let texts = |frames: &[Arc<Frame>]| frames.iter().map(|it| it.json()).collect::<String>();
    assert!(texts(&until_turn(&mut own, turn)).contains("kN0wn-Value-1234"));
    let live = until_turn(&mut seen, turn);
    drop(owner.shutdown(Duration::from_secs(5)));
    let later = Host::redacting(&logs, redactor());
    let later: Vec<_> = later.subscribe(key, From::Start).unwrap().collect();
    for frames in [live, later] {
        let text = texts(&frames);
        assert!(text.contains("[redacted") && !text.contains("kN0wn-Value-1234"), "{text}");
    }
}

#[test]
fn a_shutdown_ends_every_tree_within_its_bound() {
    let place = tempfile::tempdir().unwrap();
    let host = Host::new(place.path().join("logs"));
    for number in 0..3 {
        let place = place.path().join(number.to_string());
        std::fs::create_dir(&place).unwrap();
        let script = format!("ignore INT TERM\nread-stdin\ninit s{number}\nspawn daemon\nhang\n");
        let key = host.start(spec(Agent::Cursor, &place, &script).prompt("go")).unwrap();
        let mut events = host.subscribe(key, From::Start).unwrap();
        events.find(|frame| frame.event.event.name() == "session.started").unwrap();
    }
    let began = Instant::now();
    let reports = host.shutdown(Duration::from_millis(200));
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    assert_eq!(reports.len(), 3);
    assert!(
        reports
            .iter()
            .all(|report| report.outcome.as_ref().unwrap().end() == SessionEnd::Interrupted)
    );
    for number in ["0", "1", "2"] {
        let record = place.path().join(number).join("record");
        let left = stablehand_testkit::census::living("no such marker", &record);
        assert!(left.is_empty(), "{left:?}");
    }
}
