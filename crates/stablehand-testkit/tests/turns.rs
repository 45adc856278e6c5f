//! Every accepted prompt has exactly one `turn.started` and one `turn.ended`, whatever the agent, the
//! way it is spoken with, and the way in which its turns end.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where it stopped")]

use stablehand::agent::Form;
use stablehand::core::event::EventKind;
use stablehand::core::id::TurnId;
use stablehand::core::monitor::Limits;
use stablehand::keeper::KeeperProgram;
use stablehand::{Agent, Policy, Session, SessionSpec, Surroundings};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

const KEEPER: &str = env!("CARGO_BIN_EXE_keeper-for-tests");
const FAKE: &str = env!("CARGO_BIN_EXE_fake-agent");

/// An agent, and how it is spoken with.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// One turn a process.
    One(Agent, &'static str),
    /// Its own two-way protocol, or ACP.
    Two(Agent, &'static str),
}

const WAYS: [Way; 10] = [
    Way::One(Agent::Cursor, "cursor"),
    Way::One(Agent::Gemini, "gemini"),
    Way::One(Agent::OpenCode, "opencode"),
    Way::One(Agent::Qwen, "qwen"),
    Way::One(Agent::Grok, "grok"),
    Way::One(Agent::Agy, "agy"),
    Way::Two(Agent::Claude, "claude"),
    Way::Two(Agent::Codex, "codex-app"),
    Way::Two(Agent::Gemini, "acp"),
    Way::Two(Agent::OpenCode, "acp"),
];

/// How the first turn ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Good,
    Failed,
    Crash,
    NoResult,
    Hang,
    Cancelled,
    /// The session is stopped while prompts wait.
    Stopped,
    /// The program does not exist.
    NotStarted,
}

const ENDINGS: [Ending; 8] = [
    Ending::Good,
    Ending::Failed,
    Ending::Crash,
    Ending::NoResult,
    Ending::Hang,
    Ending::Cancelled,
    Ending::Stopped,
    Ending::NotStarted,
];

fn script(ending: Ending) -> String {
    let first = match ending {
        Ending::Good | Ending::NotStarted => "assistant yes\ndone\n",
        Ending::Failed => "error overloaded\n",
        Ending::Crash => "assistant so\ndie SEGV\n",
        Ending::NoResult => "assistant so\nexit 0\n",
        Ending::Hang | Ending::Cancelled | Ending::Stopped => "assistant so\nforever\n",
    };
    let good = "init\nprompt\nassistant yes\ndone\n";
    format!("init\nprompt\n{first}---\n{good}---\n{good}---\n{good}")
}

fn spec(way: Way, ending: Ending, retries: u32, place: &Path) -> SessionSpec {
    let (Way::One(agent, dialect) | Way::Two(agent, dialect)) = way;
    let file = place.join("script");
    std::fs::write(&file, script(ending)).unwrap();
    std::fs::create_dir_all(place.join("record")).unwrap();
    let mut limits = Limits::modern();
    agent.adjust(&mut limits);
    (limits.idle, limits.idle_is_default) = (Duration::from_millis(700), false);
    limits.exit_grace = Duration::from_millis(500);
    let program = if ending == Ending::NotStarted { "/no/such/agent" } else { FAKE };
    let spec = Session::builder(agent)
        .surroundings(Surroundings::default())
        .program(program)
        .keeper(KeeperProgram { program: KEEPER.into(), args: vec!["__keeper".into()] })
        .log_dir(place.join("logs"))
        .limits(limits)
        .policy(Policy::Allow)
        .retries(retries)
        .env("FAKE_AGENT_SCRIPT", file)
        .env("FAKE_AGENT_RECORD", place.join("record"))
        .env("FAKE_AGENT_DIALECT", dialect)
        .env("FAKE_AGENT_TALKS", "1")
        .conversation();
    match way {
        Way::Two(_, "acp") => spec.form(Form::Acp),
        _ => spec,
    }
}

/// Plays one case; what is wrong with its events.
fn play(way: Way, ending: Ending, retries: u32) -> Result<(), String> {
    let place = tempfile::tempdir().unwrap();
    let mut session = spec(way, ending, retries, place.path()).start().unwrap();
    let handle = session.handle();
    let turns: Vec<TurnId> =
        ["one", "two", "three"].into_iter().map(|text| handle.prompt(text).unwrap()).collect();
    handle.finish();
    let mut counts: BTreeMap<TurnId, [u32; 2]> = BTreeMap::new();
    let (mut names, mut runs, mut acted) = (Vec::new(), [0, 0], false);
    for event in session.events() {
        names.push(event.event.name());
        match &event.event {
            EventKind::TurnStarted { .. } => counts.entry(event.turn.unwrap()).or_default()[0] += 1,
            EventKind::TurnEnded { .. } => counts.entry(event.turn.unwrap()).or_default()[1] += 1,
            EventKind::ProcessSpawned { .. } => runs[0] += 1,
            EventKind::RunEnded { .. } => runs[1] += 1,
            EventKind::ItemCompleted { .. } | EventKind::ItemDelta { .. } if !acted => {
                acted = true;
                match ending {
                    Ending::Cancelled => handle.cancel(),
                    Ending::Stopped => handle.stop(),
                    _ => {}
                }
            }
            _ => {}
        }
    }
    drop(session.wait());
    let wrong =
        |what: &str| Err(format!("{way:?} {ending:?} {retries} retries: {what}: {names:?}"));
    if turns.iter().any(|turn| counts.get(turn).is_none_or(|count| count[1] != 1)) {
        return wrong("not one end of each turn");
    }
    if counts.len() != turns.len() || counts.values().any(|count| count[0] > 1) {
        return wrong("turns that nobody asked for, or that began twice");
    }
    if runs[0] > runs[1] {
        return wrong("a process without an end");
    }
    if names.last() != Some(&"session.ended")
        || names.iter().filter(|name| **name == "session.ended").count() != 1
    {
        return wrong("not one end of the session");
    }
    let differences = stablehand_testkit::judged::differences_below(place.path());
    if differences.is_empty() { Ok(()) } else { wrong(&differences) }
}

#[test]
fn every_prompt_has_one_turn_whatever_happens() {
    let cases = WAYS.into_iter().flat_map(|way| {
        ENDINGS.into_iter().flat_map(move |ending| [0, 1].map(|retries| (way, ending, retries)))
    });
    let cases = Mutex::new(cases.collect::<Vec<_>>());
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while let Some((way, ending, retries)) = { cases.lock().unwrap().pop() } {
                    if let Err(what) = play(way, ending, retries) {
                        wrong.lock().unwrap().push(what);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
