//! Every dialect, read back by its decoder: nothing unknown, no call without its end, every line
//! JSON whatever is said.

mod recordings;

use super::*;
use crate::act::{Place, Todo, TodoState, Trouble, Work};
use crate::scene::SCENES;
use crate::script::{Step, parse};
use crate::voice::{Clock, Identity};
use proptest::prelude::*;
use stablehand_core::decode::{Summary, Totals};
use stablehand_core::event::{EventKind, FailureKind, ItemBody, Outcome, TurnEnd};
use stablehand_core::{Depth, Line, Part, json};
use std::time::Duration;

/// What a script says, without running anything: commands print `hi`.
fn told(dialect: Dialect, script: &str, id: Identity) -> (Vec<String>, u8) {
    let sections = parse(script, dialect).unwrap();
    let mut writer = writer(dialect).unwrap();
    let mut voice = Voice::new(id, Clock::Invented);
    let mut said = Said::default();
    let mut calls: Vec<Call> = Vec::new();
    let ending = Ending::Exited {
        code: 0,
        stdout: "hi\n".into(),
        stderr: String::new(),
        took: Duration::from_millis(3),
    };
    for step in sections.into_iter().flatten() {
        let acts = match step {
            Step::Tell(act) => vec![act],
            Step::TellPrompt => vec![Act::Prompt("feed".into())],
            Step::Think(text) => vec![Act::ThoughtPiece(text), Act::ThoughtEnds],
            Step::Message(text, place) if streams(dialect, voice.id.partial) => {
                let half = text.floor_char_boundary(text.len() / 2);
                let (one, two) = text.split_at(half);
                vec![
                    Act::Piece(one.into()),
                    Act::Piece(two.into()),
                    Act::Message(text.clone(), place),
                ]
            }
            Step::Message(text, place) => vec![Act::Message(text, place)],
            Step::Start(call) => {
                calls.push(call.clone());
                vec![Act::ToolBegins(call)]
            }
            Step::Finish(id) => {
                let at = calls.iter().position(|call| call.id == id).unwrap();
                vec![Act::ToolEnds(calls.remove(at), ending.clone())]
            }
            Step::Ask(call) => {
                let question = writer.ask(&call, &mut voice, &mut said);
                if let Some(question) = question {
                    writer.answered(&question, &mut voice, &mut said);
                }
                vec![Act::ToolEnds(call, ending.clone())]
            }
            _ => vec![],
        };
        for act in acts {
            writer.speak(&act, &mut voice, &mut said);
        }
    }
    (said.lines, writer.exit_code())
}

fn decode(dialect: Dialect, lines: &[String]) -> (Vec<EventKind>, Totals) {
    let mut decoder = dialect.decoder();
    let mut summary = Summary::default();
    let mut all = Vec::new();
    for text in lines {
        let line = Line { bytes: text.as_bytes(), offset: 0, part: Part::Whole, newline: true };
        let mut out = Vec::new();
        decoder.line(&line, &json::scan(line.bytes), Depth::Full, &mut out);
        summary.push(&line, &out);
        all.append(&mut out);
    }
    let mut out = Vec::new();
    decoder.finish(Depth::Full, &mut out);
    summary.events(&out);
    all.append(&mut out);
    (all, summary.finish())
}

fn identities() -> Vec<Identity> {
    let plain = Identity::invented();
    vec![plain.clone(), Identity { partial: true, asks: true, ..plain }]
}

#[test]
fn every_scene_in_every_dialect_is_read_back_whole() {
    for dialect in SPOKEN {
        for scene in SCENES {
            if scene.steps(*dialect).is_err() {
                assert_eq!(scene.name, "ask", "{dialect:?}");
                continue;
            }
            for id in identities() {
                let (lines, _) = told(*dialect, scene.script, id);
                let (events, totals) = decode(*dialect, &lines);
                let place = format!("{} in {}: {lines:#?}", scene.name, dialect.name());
                assert_eq!(totals.unrecognized + totals.noise + totals.torn, 0, "{place}");
                assert_eq!(totals.tools.unpaired, 0, "{place}");
                let goes_on = matches!(scene.name, "stall" | "cut" | "crash");
                let is_over = events.iter().any(|e| matches!(e, EventKind::TurnEnded { .. }));
                // Cursor tells a failed request on standard error alone.
                let has_no_end = *dialect == Dialect::Cursor && scene.name.starts_with("error-");
                assert_eq!(is_over, !goes_on && !has_no_end, "{place}");
            }
        }
    }
}

#[test]
fn every_tool_is_of_the_same_kind_and_ends_well() {
    let script = "init s-1\nuser feed\nthinking oats or hay\nassistant-before-tool I begin.\n\
        shell c1 3s make\nshell-done c1 0 1s make\nread r1 /a\nread-done r1 /a\n\
        edit e1 /b\nedit-done e1 /b\nmcp m1 barn open\nmcp-done m1 barn open\n\
        task t1 look around\ntask-done t1 look around\nassistant Fed.\nresult Fed.";
    for dialect in SPOKEN {
        let (lines, code) = told(*dialect, script, Identity::invented());
        let (events, totals) = decode(*dialect, &lines);
        let place = format!("{}: {lines:#?}", dialect.name());
        assert_eq!(
            (totals.unrecognized, totals.tools.opened, totals.tools.closed),
            (0, 5, 5),
            "{place}"
        );
        assert_eq!(code, 0);
        let tools = events.iter().filter_map(|event| match event {
            EventKind::ItemCompleted { item } => match &item.body {
                ItemBody::Tool(tool) => Some((tool.headline().to_owned(), tool.outcome.clone())),
                _ => None,
            },
            _ => None,
        });
        let (headlines, outcomes): (Vec<_>, Vec<_>) = tools.unzip();
        let read = match dialect {
            Dialect::Codex | Dialect::CodexApp => "cat /a",
            _ => "/a",
        };
        assert_eq!(headlines, ["make", read, "/b", "open", "look around"], "{place}");
        assert!(
            outcomes.iter().all(|outcome| *outcome == Some(Outcome::Success)),
            "{outcomes:?} in {place}"
        );
        let session = events.iter().find_map(|event| match event {
            EventKind::SessionStarted { native_id, .. } => Some(native_id.0.as_str()),
            _ => None,
        });
        assert_eq!(session, Some("s-1"), "{place}");
    }
}

#[test]
fn every_trouble_is_known_for_what_it_is() {
    let kinds = [
        (Trouble::Auth, FailureKind::Auth),
        (Trouble::RateLimit, FailureKind::RateLimit),
        (Trouble::Overloaded, FailureKind::Overloaded),
        (Trouble::ContextLength, FailureKind::ContextLength),
    ];
    for dialect in SPOKEN.iter().filter(|dialect| **dialect != Dialect::Cursor) {
        for (trouble, expected) in kinds {
            let script = format!("init\nuser feed\nerror {}", trouble.word());
            let (lines, code) = told(*dialect, &script, Identity::invented());
            let (events, _) = decode(*dialect, &lines);
            let end = events.iter().find_map(|event| match event {
                EventKind::TurnEnded { end: TurnEnd::Failed { failure, .. }, .. } => Some(*failure),
                _ => None,
            });
            assert_eq!(end, Some(expected), "{trouble:?} in {}: {lines:#?}", dialect.name());
            let is_server = matches!(dialect, Dialect::CodexApp | Dialect::Acp);
            assert_eq!(code == 0, is_server, "{}", dialect.name());
        }
    }
    let mut said = Said::default();
    let mut voice = Voice::new(Identity::invented(), Clock::Invented);
    let mut cursor = writer(Dialect::Cursor).unwrap();
    cursor.speak(&Act::Fails(Trouble::RateLimit), &mut voice, &mut said);
    let words = stablehand_core::decode::failure_of(&said.errors[0]);
    assert_eq!((words, cursor.exit_code()), (Some(FailureKind::RateLimit), 1));
    let gemini =
        |word: &str| told(Dialect::Gemini, &format!("error {word}"), Identity::invented()).1;
    assert_eq!([gemini("auth"), gemini("rate-limit")], [145, 173], "the low byte of the status");
}

#[test]
fn an_interruption_closes_what_is_open() {
    for dialect in [Dialect::Claude, Dialect::CodexApp, Dialect::Acp] {
        let mut voice = Voice::new(Identity::invented(), Clock::Invented);
        let mut writer = writer(dialect).unwrap();
        let mut said = Said::default();
        let work = Work::Shell { command: "make".into(), timeout: None };
        let acts = [
            Act::Begins(None),
            Act::Prompt("feed".into()),
            Act::Message("I begin.".into(), Place::BeforeTool),
            Act::ToolBegins(Call { id: "c1".into(), work }),
        ];
        for act in &acts {
            writer.speak(act, &mut voice, &mut said);
        }
        writer.interrupted(&mut voice, &mut said);
        let (events, totals) = decode(dialect, &said.lines);
        assert_eq!(totals.unrecognized, 0, "{:#?}", said.lines);
        assert!(
            matches!(events.last(), Some(EventKind::TurnEnded { end: TurnEnd::Cancelled, .. })),
            "{events:#?}"
        );
        // The next turn is as good as the first.
        said.lines.clear();
        for act in &[
            Act::Begins(None),
            Act::Prompt("more".into()),
            Act::Message("Hi.".into(), Place::Last),
            Act::Ends { text: None, failed: false },
        ] {
            writer.speak(act, &mut voice, &mut said);
        }
        let (events, _) = decode(dialect, &said.lines);
        assert!(matches!(events.last(), Some(EventKind::TurnEnded { end: TurnEnd::Done, .. })));
    }
}

#[test]
fn cursor_keeps_the_ids_of_a_test_and_its_kind_beside_sibling_keys() {
    let (lines, _) = told(Dialect::Cursor, "init\nshell c1 3s make all", Identity::invented());
    let line: serde_json::Value = serde_json::from_str(&lines[1]).unwrap();
    assert_eq!(line["tool_call"]["shellToolCall"]["args"]["timeout"], 3000);
    assert_eq!(line["tool_call"]["shellToolCall"]["args"]["command"], "make all");
    assert_eq!(line["tool_call"]["toolCallId"], "c1");
    assert_eq!(line["session_id"], crate::voice::DEFAULT_SESSION);
    let (lines, _) = told(Dialect::Cursor, "shell-background c1 pump", Identity::invented());
    let line: serde_json::Value = serde_json::from_str(&lines[0]).unwrap();
    let pid = &line["tool_call"]["shellToolCall"]["result"]["success"]["pid"];
    assert!(pid.as_u64().unwrap() > 1 << 22, "above the greatest `pid_max`");
}

fn call() -> impl Strategy<Value = Call> {
    let work = prop_oneof![
        any::<String>().prop_map(|command| Work::Shell { command, timeout: None }),
        any::<String>().prop_map(|path| Work::Read { path }),
        (any::<String>(), any::<String>())
            .prop_map(|(path, content)| Work::Write { path, content }),
        (any::<String>(), any::<String>()).prop_map(|(server, tool)| Work::Mcp { server, tool }),
        any::<String>().prop_map(|description| Work::Task { description }),
    ];
    (any::<String>(), work).prop_map(|(id, work)| Call { id, work })
}

fn ending() -> impl Strategy<Value = Ending> {
    prop_oneof![
        Just(Ending::Well),
        any::<String>().prop_map(|reason| Ending::Refused { reason }),
        (any::<i32>(), any::<String>(), any::<String>()).prop_map(|(code, stdout, stderr)| {
            Ending::Exited { code, stdout, stderr, took: Duration::from_millis(5) }
        }),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    let trouble = || proptest::sample::select(&Trouble::ALL[..]);
    prop_oneof![
        any::<Option<String>>().prop_map(Act::Begins),
        any::<String>().prop_map(Act::Prompt),
        any::<String>().prop_map(Act::ThoughtPiece),
        Just(Act::ThoughtEnds),
        any::<String>().prop_map(Act::Piece),
        any::<String>().prop_map(|text| Act::Message(text, Place::Last)),
        call().prop_map(Act::ToolBegins),
        (call(), ending()).prop_map(|(call, ending)| Act::ToolEnds(call, ending)),
        any::<String>().prop_map(|text| Act::Plan(vec![Todo { text, state: TodoState::Current }])),
        (any::<u32>(), trouble()).prop_map(|(attempt, trouble)| Act::Retries { attempt, trouble }),
        trouble().prop_map(Act::Fails),
        (any::<Option<String>>(), any::<bool>())
            .prop_map(|(text, failed)| Act::Ends { text, failed }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn whatever_is_said_is_json_that_the_decoder_knows(
        acts in proptest::collection::vec(act(), 0..20), partial: bool, interrupted: bool,
    ) {
        for dialect in SPOKEN {
            let id = Identity { partial, asks: partial, ..Identity::invented() };
            let mut voice = Voice::new(id, Clock::Invented);
            let mut writer = writer(*dialect).unwrap();
            let mut said = Said::default();
            for act in &acts {
                writer.speak(act, &mut voice, &mut said);
            }
            if interrupted {
                writer.interrupted(&mut voice, &mut said);
            }
            for line in &said.lines {
                prop_assert!(!line.contains('\n'));
                let value: serde_json::Value = serde_json::from_str(line).unwrap();
                prop_assert!(value.is_object());
            }
            let (_, totals) = decode(*dialect, &said.lines);
            prop_assert_eq!(totals.unrecognized, 0, "{}: {:#?}", dialect.name(), said.lines);
        }
    }

    #[test]
    fn whatever_a_script_says_is_json(
        lines in proptest::collection::vec((verb(), "[^\\r\\n\\\\]{0,40}"), 0..20),
    ) {
        let script: Vec<String> = lines.iter().map(|(verb, text)| format!("{verb} {text}")).collect();
        // What is left out is refused as a script, which is an answer too.
        let well_formed = |dialect: Dialect| {
            let lines = script.iter().filter(|line| parse(line, dialect).is_ok());
            lines.cloned().collect::<Vec<_>>().join("\n")
        };
        for dialect in SPOKEN {
            for line in told(*dialect, &well_formed(*dialect), Identity::invented()).0 {
                let value: serde_json::Value = serde_json::from_str(&line).unwrap();
                prop_assert!(value.is_object() && !line.contains('\n'));
            }
        }
    }
}

fn verb() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        "init",
        "user",
        "thinking",
        "assistant",
        "assistant-before-tool",
        "delta",
        "result",
        "result-error",
        "done",
        "shell c1 3s",
        "shell-done c1 1 3ms",
        "read r1",
        "read-done r1",
        "edit e1",
        "edit-done e1",
        "write w1 a",
        "write-done w1 a",
        "task t1",
        "task-done t1",
        "mcp m1 s t",
        "mcp-done m1 s t",
        "plan [x]",
        "retry 1 server",
        "error auth",
        "long 99",
        "run c2 3s",
        "ask c3 3s",
        "usage 1 2",
        "shell-background c4",
        "prompt",
    ])
}
