//! The library's `Session` with real processes: one turn, many turns, cancels, and nobody left.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where it stopped")]

use stablehand::agent::Form;
use stablehand::keeper::KeeperProgram;
use stablehand::session::{Policy, Session, SessionSpec, StartError, TerminalWish};
use stablehand::{Agent, EventKind, Surroundings};
use stablehand_core::event::{ItemBody, SessionEnd, TurnEnd};
use stablehand_core::id::SessionId;
use stablehand_core::mcp::{McpServer, McpTransport};
use stablehand_core::monitor::{Limits, WitnessPolicy};
use stablehand_core::speak::{Image, Prompt};
use stablehand_core::terminal::TerminalSize;
use std::path::Path;
use std::time::{Duration, Instant};

const KEEPER: &str = env!("CARGO_BIN_EXE_keeper-for-tests");
const FAKE: &str = env!("CARGO_BIN_EXE_fake-agent");

/// A session with the fake agent and this script, everything in `place`.
fn session(place: &Path, script: &str) -> SessionSpec {
    session_with(Agent::Cursor, place, script)
}

/// A session with an agent that is talked with, in its own protocol or with `acp`.
fn talk(agent: Agent, acp: bool, place: &Path, script: &str) -> SessionSpec {
    let dialect = match (agent, acp) {
        (_, true) => "acp",
        (Agent::Codex, _) => "codex-app",
        _ => agent.name(),
    };
    session_with(agent, place, script)
        .form(if acp { Form::Acp } else { Form::TwoWay })
        .env("FAKE_AGENT_TALKS", "1")
        .env("FAKE_AGENT_DIALECT", dialect)
}

/// Every agent that listens while it works.
const TALKERS: [(Agent, bool); 3] =
    [(Agent::Claude, false), (Agent::Codex, false), (Agent::Gemini, true)];

fn session_with(agent: Agent, place: &Path, script: &str) -> SessionSpec {
    let file = place.join("script");
    std::fs::write(&file, script).unwrap();
    let record = place.join("record");
    std::fs::create_dir_all(&record).unwrap();
    Session::builder(agent)
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
    assert_eq!(names[..2], ["turn.started", "process.spawned"]);
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
fn an_outcome_tells_the_answer_the_model_the_time_and_the_tools() {
    let place = tempfile::tempdir().unwrap();
    let turn = |text: &str| {
        format!(
            "read-stdin\ninit s1\nassistant-before-tool I look.\nread c1 /a\nread-done c1 /a\n\
             sleep 200ms\nassistant {text}\nresult {text}\n"
        )
    };
    let script = format!("{}---\n{}", turn("One."), turn("The word is hunter2-hunter2."));
    let redactor = stablehand::redact::Redactor::builder()
        .variables([("SECRET_TOKEN".to_owned(), "hunter2-hunter2".to_owned())])
        .build();
    let spec = session(place.path(), &script).conversation().redact(redactor);
    let session = spec.start().unwrap();
    let handle = session.handle();
    handle.prompt("first").unwrap();
    handle.prompt("second").unwrap();
    handle.finish();
    let outcome = session.wait().unwrap();
    assert!(outcome.is_success());
    let text = outcome.final_text().unwrap();
    assert!(text.starts_with("The word is ") && !text.contains("hunter2"), "{text}");
    assert_eq!(outcome.tool_count(), 2, "of both runs");
    assert!(outcome.model().is_some_and(|model| !model.is_empty()));
    let limits = Duration::from_millis(400)..Duration::from_mins(1);
    assert!(limits.contains(&outcome.duration()), "{:?}", outcome.duration());
}

#[test]
fn an_outcome_of_a_run_that_was_cut_tells_the_last_message() {
    let place = tempfile::tempdir().unwrap();
    let script = "read-stdin\ninit s1\nassistant Half an answer.\nhang\n";
    let limits = Limits { idle: Duration::from_millis(500), ..Limits::modern() };
    let limits =
        Limits { witness: WitnessPolicy { max_extensions: 0, ..limits.witness }, ..limits };
    let session = session(place.path(), script).limits(limits).prompt("hi").start().unwrap();
    let outcome = session.wait().unwrap();
    assert_eq!(outcome.end(), SessionEnd::Hung);
    assert_eq!(outcome.final_text().as_deref(), Some("Half an answer."));
    let session = session_with(Agent::Cursor, place.path(), "read-stdin\nexit 3\n");
    let outcome = session.prompt("hi").start().unwrap().wait().unwrap();
    assert_eq!((outcome.final_text(), outcome.model(), outcome.tool_count()), (None, None, 0));
}

/// The agent sees a terminal of the size that was asked for.
#[test]
fn a_program_can_give_the_agent_a_terminal() {
    let place = tempfile::tempdir().unwrap();
    let shell = place.path().join("agent");
    std::fs::write(&shell, "#!/bin/sh\ntest -t 0 && test -t 1 && stty size\n").unwrap();
    std::fs::set_permissions(&shell, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let terminal =
        TerminalWish { size: TerminalSize::new(90, 33), follow_size: false, exit_when_quiet: None };
    let spec = session(place.path(), "").program(&shell).terminal(Some(terminal)).prompt("hi");
    let outcome = spec.start().unwrap().wait().unwrap();
    assert!(outcome.is_success(), "{:?}", outcome.report);
    assert_eq!(outcome.final_text().as_deref().map(str::trim), Some("33 90"));
}

/// An agent that has answered and whose command in the background never ends.
const SERVES: &str = r#"
    say {"type":"system","subtype":"init","session_id":"s1","model":"m","cwd":"/"}
    say {"type":"system","subtype":"background_tasks_changed","tasks":[{"task_id":"t1","task_type":"local_bash","description":"pump --serve"}],"session_id":"s1"}
    say {"type":"result","subtype":"success","is_error":false,"result":"It runs.","session_id":"s1"}
"#;

/// A conversation in which the next prompt, or a cancel, comes while that command runs.
fn while_it_serves(interrupt: impl Fn(&stablehand::session::Handle)) -> (Vec<TurnEnd>, String) {
    let place = tempfile::tempdir().unwrap();
    let last = r#"say {"type":"result","subtype":"success","is_error":false,"result":"Bye.","session_id":"s1"}"#;
    let script = format!("{SERVES}---\n{last}\n---\n{last}\n");
    let mut session =
        talk(Agent::Claude, false, place.path(), &script).conversation().start().unwrap();
    let handle = session.handle();
    handle.prompt("serve").unwrap();
    let told = session.events().find(|event| event.event.name() == "turn.result").unwrap();
    assert!(handle.turn().is_some() && handle.turn() == told.turn, "the turn is still on");
    interrupt(&handle);
    let mut ends = turn_ends(session.events().take_while(|it| it.event.name() != "turn.ended"));
    assert_eq!(ends, []);
    ends.push(TurnEnd::Done);
    handle.prompt("leave").unwrap();
    handle.finish();
    ends.extend(turn_ends(session.events()));
    let outcome = session.wait().unwrap();
    assert!(outcome.is_success(), "{:?}", outcome.report);
    assert_eq!(outcome.final_text().as_deref(), Some("Bye."));
    let differences = stablehand_testkit::judged::differences_below(place.path());
    assert_eq!(differences, "", "judged again, the log differs");
    let log = std::fs::read_to_string(&outcome.log).unwrap();
    assert!(!log.contains("agent_killed") && log.matches("\"agent_spawned\"").count() == 1);
    let stands = log.lines().find(|line| line.contains("\"result_stands\"")).unwrap();
    let stands: serde_json::Value = serde_json::from_str(stands).unwrap();
    (ends, stands["by"].as_str().unwrap().to_owned())
}

#[test]
fn a_prompt_or_a_cancel_ends_the_wait_for_a_command_in_the_background() {
    let (ends, by) = while_it_serves(stablehand::session::Handle::cancel);
    assert_eq!((ends, by.as_str()), (vec![TurnEnd::Done, TurnEnd::Done], "cancel"));
    let (ends, by) = while_it_serves(|handle| {
        handle.prompt("again").unwrap();
    });
    assert_eq!((ends.len(), by.as_str()), (3, "prompt"));
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
    handle.prompt("first").unwrap();
    handle.prompt("second").unwrap();
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
    let names: Vec<_> = session.events().map(|event| event.event.name()).collect();
    assert_eq!(names, ["session.ended"]);
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
            EventKind::RunEnded { end, .. } => {
                if ends.is_empty() {
                    handle.prompt("again").unwrap();
                    handle.finish();
                }
                ends.push(end);
            }
            _ => {}
        }
    }
    assert_eq!(ends, [SessionEnd::Interrupted, SessionEnd::Success]);
    assert!(session.wait().unwrap().is_success());
}

#[test]
fn a_cancelled_turn_ends_the_processes_that_it_began() {
    for (agent, acp) in TALKERS {
        let place = tempfile::tempdir().unwrap();
        // Every process plays it from the beginning.
        let script = "init\nprompt\nspawn setsid for 120s\nassistant so\nhang\n";
        let spec = talk(agent, acp, place.path(), script);
        let mut session = spec.prompt("go").conversation().start().unwrap();
        let handle = session.handle();
        let (mut starts, mut cancels, mut ends) = (0, 0, Vec::new());
        for event in session.events() {
            match event.event {
                EventKind::ProcessSpawned { .. } => starts += 1,
                EventKind::ItemDelta { .. } | EventKind::ItemCompleted { .. }
                    if cancels == ends.len() =>
                {
                    cancels += 1;
                    handle.cancel();
                }
                EventKind::TurnEnded { end, .. } => {
                    if ends.is_empty() {
                        let record = place.path().join("record");
                        let left = stablehand_testkit::census::living("no such marker", &record);
                        assert!(left.is_empty(), "{agent:?}: {left:?}");
                        handle.prompt("again").unwrap();
                        handle.finish();
                    }
                    ends.push(end);
                }
                _ => {}
            }
        }
        assert_eq!(ends, [TurnEnd::Cancelled, TurnEnd::Cancelled], "{agent:?}");
        assert_eq!(starts, 2, "{agent:?}");
        let log = std::fs::read_to_string(session.wait().unwrap().log).unwrap();
        let said = log.lines().find(|line| line.contains("\"cancel_ignored\""));
        let said = said.unwrap_or_else(|| panic!("{agent:?}: {log}"));
        assert!(said.contains("processes of the interrupted turn are left"), "{agent:?}: {said}");
    }
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

const LOOK: &str = "init\nprompt\nlook\nassistant That is all.\ndone\n";

fn picture() -> Prompt {
    // Eight bytes of it, in twelve characters.
    let image = Image { mime: "image/png".into(), data: "iVBORw0KGgo=".into(), uri: None };
    Prompt { text: "what is this?".into(), images: vec![image] }
}

/// Everything that the agent said, and what its log has.
fn said(mut session: Session) -> (String, String) {
    let texts: Vec<_> = session
        .events()
        .filter_map(|event| match event.event {
            EventKind::ItemCompleted { item } => match item.body {
                ItemBody::Message { text } => Some(text),
                _ => None,
            },
            _ => None,
        })
        .collect();
    let outcome = session.wait().unwrap();
    assert!(outcome.is_success(), "{:?}", outcome.end());
    (texts.concat(), std::fs::read_to_string(outcome.log).unwrap())
}

#[test]
fn images_are_shown_to_who_can_see_them_with_any_prompt() {
    for (agent, acp) in TALKERS {
        let place = tempfile::tempdir().unwrap();
        let builder = talk(agent, acp, place.path(), LOOK).prompt(picture()).conversation();
        let session = builder.start().unwrap();
        session.handle().prompt(picture()).unwrap();
        session.handle().finish();
        let (texts, log) = said(session);
        let seen = texts.matches("I see an image (image/png, 8 bytes)").count();
        assert_eq!(seen, 2, "{agent:?}: {texts}");
        assert!(log.contains(r#""images":["image/png"]"#), "{agent:?}");
        assert!(!log.contains("left_out"), "{agent:?}");
    }
}

#[test]
fn images_are_never_dropped_without_a_word() {
    // The agent says that it takes none: it is told so, and so is the person.
    let place = tempfile::tempdir().unwrap();
    let builder = talk(Agent::Gemini, true, place.path(), LOOK).env("FAKE_AGENT_BLIND", "1");
    let (texts, log) = said(builder.prompt(picture()).start().unwrap());
    assert!(!texts.contains("I see"), "{texts}");
    assert!(log.contains(r#""msg":"left_out""#), "{log}");
    assert!(log.contains("[an image (image/png) that you cannot be shown]"), "{log}");
    // One that takes one turn a process is not started with one.
    let error = session(place.path(), "").prompt(picture()).start().unwrap_err();
    assert!(matches!(error, StartError::NoImages { agent: "cursor" }), "{error}");
    // And later it is told what it was not shown.
    let place = tempfile::tempdir().unwrap();
    let script = "read-stdin\ninit s1\nassistant yes\nresult yes\n";
    let session = session(place.path(), script).conversation().start().unwrap();
    session.handle().prompt(picture()).unwrap();
    session.handle().finish();
    let (_, log) = said(session);
    assert!(log.contains(r#""msg":"left_out""#), "{log}");
    let stdin = std::fs::read_to_string(place.path().join("record/1.stdin")).unwrap();
    assert_eq!(stdin, "what is this?\n\n[an image (image/png) that you cannot be shown]");
}

#[test]
fn servers_of_tools_are_given_to_who_takes_them_and_secrets_are_not_written_down() {
    let pairs = |name: &str| vec![(name.to_owned(), "s3cret-value".to_owned())];
    let stdio = McpTransport::Stdio {
        command: "/bin/oats".into(),
        args: vec!["--hay".into()],
        env: pairs("KEY"),
    };
    let url = "https://barn.example/mcp".to_owned();
    let http = McpTransport::Http { url: url.clone(), headers: pairs("X-Key") };
    let sse = McpTransport::Sse { url, headers: pairs("X-Key") };
    let servers: Vec<_> = [("door", stdio), ("hay", http), ("old", sse)]
        .map(|(name, transport)| McpServer { name: name.into(), transport })
        .into();
    let table: [(Agent, bool, &[&str]); 4] = [
        (Agent::Claude, false, &[]),
        (Agent::Codex, false, &["`old`"]),
        (Agent::Gemini, true, &["`hay`", "`old`"]),
        (Agent::Cursor, false, &["`door`", "`hay`", "`old`"]),
    ];
    for (agent, acp, left_out) in table {
        let place = tempfile::tempdir().unwrap();
        let builder = match agent {
            Agent::Cursor => session(place.path(), "read-stdin\ninit s1\nresult yes\n"),
            agent => talk(agent, acp, place.path(), LOOK),
        };
        let builder = builder.mcp_servers(servers.clone()).prompt("hi");
        let (_, log) = said(builder.start().unwrap());
        let argv = std::fs::read_to_string(place.path().join("record/1.argv.json")).unwrap();
        for server in ["door", "hay", "old"] {
            let is_told = log.contains(&format!("skipping MCP server `{server}`"));
            assert_eq!(is_told, left_out.contains(&format!("`{server}`").as_str()), "{agent:?}");
        }
        assert!(!log.contains("s3cret-value"), "{agent:?}: {log}");
        assert_eq!(argv.contains("s3cret-value"), !acp && agent != Agent::Cursor, "{agent:?}");
        assert_eq!(log.contains("/bin/oats") || argv.contains("/bin/oats"), agent != Agent::Cursor);
    }
}

#[test]
fn a_cancel_ends_the_wait_for_another_try_and_the_next_prompt_is_another_turn() {
    let place = tempfile::tempdir().unwrap();
    let script = "read-stdin\ninit s1\nassistant so\nexit 3\n---\n\
                  read-stdin\ninit s1\nassistant yes\nresult yes\n";
    let builder = session(place.path(), script).prompt("go").conversation().retries(3);
    let mut session = builder.start().unwrap();
    let handle = session.handle();
    let mut ends = Vec::new();
    for event in session.events() {
        match event.event {
            EventKind::RunEnded { again: true, .. } => handle.cancel(),
            EventKind::TurnEnded { end, .. } => {
                if ends.is_empty() {
                    handle.prompt("something else").unwrap();
                    handle.finish();
                }
                ends.push(end);
            }
            _ => {}
        }
    }
    assert_eq!(ends, [TurnEnd::Cancelled, TurnEnd::Done]);
    let stdin = std::fs::read_to_string(place.path().join("record/2.stdin")).unwrap();
    assert_eq!(stdin, "something else");
    assert!(session.wait().unwrap().is_success());
    let differences = stablehand_testkit::judged::differences_below(place.path());
    assert_eq!(differences, "", "judged again, the log differs");
}
