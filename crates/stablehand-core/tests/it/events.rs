//! The JSON form of the event model: one sample of every kind goes out and comes back, has the
//! shape that the schema tells other programs of, and is told of in the document.
//!
//! The samples hold every variant of every inner enum too, because those are where serde's tags
//! meet: an item is flattened, and a tool inside it has tagged fields of its own.

use crate::shape::assert_shape;
use serde_json::Value;
use stablehand_core::actor::Actor;
use stablehand_core::event::{
    Choice, EndedBy, Evidence, FailureKind, Health, Item, ItemBody, NoticeLevel, OpenTask,
    OpenTool, Outcome, ProcessExit, ProcessRow, SessionEnd, TextRole, Todo, TodoStatus, Tokens,
    Tool, ToolClass, ToolInput, ToolKind, TurnEnd, Unrecognized, Usage, VerdictKind,
};
use stablehand_core::id::{CallId, ItemId, RunId, Seq, SessionId};
use stablehand_core::{Event, EventKind, Origin, UnixMillis};
use std::collections::BTreeSet;
use std::path::Path;

/// A text that JSON has to escape.
const AWKWARD: &str = "a \"b\"\n\u{1}é😀 kind";

fn text() -> String {
    AWKWARD.to_owned()
}

fn todos() -> Vec<Todo> {
    [TodoStatus::Pending, TodoStatus::InProgress, TodoStatus::Completed, TodoStatus::Cancelled]
        .into_iter()
        .map(|status| Todo { text: text(), status })
        .collect()
}

fn inputs() -> Vec<ToolInput> {
    vec![
        ToolInput::Command { command: text(), cwd: Some(text()) },
        ToolInput::Command { command: String::new(), cwd: None },
        ToolInput::Path { path: text() },
        ToolInput::Query { query: text(), path: Some(text()) },
        ToolInput::Url { url: text() },
        ToolInput::Mcp { server: text(), tool: text() },
        ToolInput::SubAgent { description: text() },
        ToolInput::Todos { todos: todos() },
        ToolInput::Other { summary: text() },
    ]
}

fn outcomes() -> Vec<Outcome> {
    vec![
        Outcome::Success,
        Outcome::Failure { exit_code: Some(-1), message: Some(text()) },
        Outcome::Failure { exit_code: None, message: None },
        Outcome::Rejected { reason: text() },
        Outcome::Denied { reason: text() },
        Outcome::TimedOut,
        Outcome::SpawnError { message: text() },
        Outcome::Unknown,
    ]
}

fn tool(input: ToolInput, outcome: Option<Outcome>) -> Tool {
    let ended = outcome.is_some();
    Tool {
        call: CallId("call_1\nfc_2".to_owned()),
        name: "shellToolCall".to_owned(),
        tool_kind: ToolKind::Execute,
        input,
        timeout_ms: ended.then_some(u64::MAX),
        background: ended,
        pid: ended.then_some(7),
        step: ended.then(text),
        outcome,
        output: ended.then(text),
        also: Vec::new(),
        output_bytes: ended.then_some(u64::MAX),
        diff: ended.then(text),
        duration_ms: ended.then_some(5),
        // It is not on the wire.
        digest: 0,
    }
}

fn bodies() -> Vec<ItemBody> {
    let mut bodies = vec![
        ItemBody::Message { text: text() },
        ItemBody::Reasoning { text: text() },
        ItemBody::Plan { todos: todos(), text: Some(text()) },
        ItemBody::Plan { todos: Vec::new(), text: None },
        ItemBody::FileChange { path: text(), diff: Some(text()) },
        ItemBody::SubAgent { description: text() },
        ItemBody::BackgroundTask { task: "local_bash".to_owned(), description: text() },
    ];
    for level in [NoticeLevel::Info, NoticeLevel::Warning, NoticeLevel::Error] {
        bodies.push(ItemBody::Notice { level, text: text() });
    }
    for input in inputs() {
        bodies.push(ItemBody::Tool(Box::new(tool(input, None))));
    }
    for outcome in outcomes() {
        let input = ToolInput::Path { path: text() };
        bodies.push(ItemBody::Tool(Box::new(tool(input, Some(outcome)))));
    }
    bodies
}

fn evidence() -> Evidence {
    Evidence {
        verdict: Some(VerdictKind::IdleAfterText),
        limit_ms: 300_000,
        silence_ms: 300_001,
        last_events: vec!["thinking/delta".to_owned(), text()],
        open_tools: vec![OpenTool {
            call_id: CallId(text()),
            command: text(),
            class: ToolClass::Execute,
            elapsed_ms: 1,
            timeout_ms: None,
            limit_ms: 600_000,
        }],
        background_tasks: vec![OpenTask {
            task: "local_bash".to_owned(),
            description: text(),
            elapsed_ms: 1,
        }],
        extensions: 3,
        cpu_ms: Some(1),
        cpu_window_ms: None,
        pipe_unread: Some(0),
        processes: vec![ProcessRow {
            pid: 1,
            ppid: 0,
            pgid: 1,
            sid: 1,
            state: 'S',
            cpu_ms: 0,
            name: text(),
            command: Some(text()),
        }],
        screen: vec!["Trust this folder?".into()],
    }
}

fn usages() -> [Usage; 2] {
    let tokens = Tokens { input: 1, output: u64::MAX, cost_usd: Some(0.25), ..Tokens::default() };
    [Usage::Turn(tokens), Usage::Total(Tokens { cost_usd: None, ..tokens })]
}

/// At least one of every kind, with fields there and with fields left out.
fn samples() -> Vec<EventKind> {
    let session = SessionId("../../x\n".to_owned());
    let failure = FailureKind::ContextLength;
    let mut samples = vec![
        EventKind::SessionStarted {
            agent: "cursor".to_owned(),
            agent_version: Some(text()),
            native_id: session.clone(),
            model: Some(text()),
            cwd: Some(text()),
            resumed_from: Some(session),
        },
        EventKind::TurnStarted { prompt: None, by: None },
        EventKind::TurnStarted { prompt: Some(text()), by: Some(Actor::person("terminal")) },
        EventKind::ApprovalRequested {
            id: text(),
            call: None,
            what: text(),
            options: vec![text()],
            tool: None,
            why: None,
            waits: false,
        },
        EventKind::ApprovalRequested {
            id: text(),
            call: Some(CallId(text())),
            what: text(),
            options: Vec::new(),
            tool: None,
            why: Some(text()),
            waits: true,
        },
        EventKind::resolved(text(), text(), "agent"),
        EventKind::ApprovalResolved {
            id: text(),
            choice: Choice::AllowAlways,
            by: Actor::person("acp"),
        },
        EventKind::RetryScheduled { attempt: 1, detail: Some(text()) },
        EventKind::ConnectionChanged { state: "reconnecting".to_owned(), attempt: Some(2) },
        EventKind::ProcessSpawned { pid: u32::MAX, argv: vec![text()] },
        EventKind::ProcessStderr { text: text() },
        EventKind::HookReceived {
            name: "stop".to_owned(),
            tool: Some(CallId(text())),
            payload: serde_json::json!({"type": "x", "kind": [1, 1.5, null]}),
        },
        EventKind::TurnContinued { prompt: text(), by: text(), count: 1, max: 3, sub_agent: None },
        EventKind::TurnContinued {
            prompt: text(),
            by: text(),
            count: 1,
            max: 3,
            sub_agent: Some(text()),
        },
    ];
    for end in [
        TurnEnd::Done,
        TurnEnd::Refused,
        TurnEnd::Limit,
        TurnEnd::Cancelled,
        TurnEnd::Failed { failure, message: text() },
        TurnEnd::Stopped { verdict: VerdictKind::Idle, message: text() },
    ] {
        let (text, usage, duration_ms) = (Some(text()), Some(usages()[0]), Some(1));
        samples.push(EventKind::TurnResult {
            end: end.clone(),
            text: text.clone(),
            usage,
            duration_ms,
        });
        samples.push(EventKind::TurnEnded { end, text, usage, duration_ms });
    }
    for body in bodies() {
        let item = Item { id: ItemId(7), body };
        samples.push(EventKind::ItemStarted { item: item.clone() });
        samples.push(EventKind::ItemCompleted { item });
    }
    for role in [TextRole::Message, TextRole::Reasoning, TextRole::ToolOutput] {
        samples.push(EventKind::ItemDelta { id: ItemId(7), role, text: text() });
    }
    for usage in usages() {
        samples.push(EventKind::UsageUpdated { usage });
    }
    for exit in [ProcessExit::Code(-1), ProcessExit::Signal(9), ProcessExit::Unknown] {
        samples.push(EventKind::ProcessExited { exit, forced: true, leaked: 2 });
    }
    for evidence in [None, Some(Box::new(evidence()))] {
        let (from, to) = (Health::Quiet, Health::Stalled);
        samples.push(EventKind::HealthChanged { from, to, why: text(), evidence });
    }
    for why in [
        Unrecognized::Noise,
        Unrecognized::Torn,
        Unrecognized::UnknownType,
        Unrecognized::BadShape,
        Unrecognized::NotAnObject,
        Unrecognized::Oversized,
    ] {
        samples.push(EventKind::Unrecognized { why, excerpt: text() });
    }
    for tail in [None, Some(text())] {
        samples.push(EventKind::RunEnded {
            end: SessionEnd::Hung,
            ended_by: EndedBy::Supervisor,
            last_text: tail.clone(),
            usage: tail.is_some().then(|| usages()[1]),
            again: tail.is_some(),
            stderr_tail: tail.clone(),
        });
        samples.push(EventKind::SessionEnded {
            end: SessionEnd::Hung,
            ended_by: EndedBy::Supervisor,
            last_text: tail.clone(),
            usage: tail.is_some().then(|| usages()[1]),
            again: tail.is_some(),
            stderr_tail: tail,
        });
    }
    samples
}

#[expect(clippy::disallowed_methods, reason = "core does no I/O; its tests read documents")]
fn document(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    String::from_utf8(std::fs::read(path).unwrap()).unwrap()
}

fn schema() -> Value {
    serde_json::from_str(&document("event.schema.json")).unwrap()
}

/// The values of `type` that the schema allows for an event.
fn kinds_of_schema() -> BTreeSet<String> {
    let schema = schema();
    let variants = schema["$defs"]["EventKind"]["oneOf"].as_array().unwrap();
    variants
        .iter()
        .map(|variant| variant["properties"]["type"]["const"].as_str().unwrap().to_owned())
        .collect()
}

/// Fails where a value holds the same key twice: one of the two would be lost on reading.
fn assert_no_key_twice(json: &str) {
    struct Unique;
    impl<'de> serde::de::DeserializeSeed<'de> for Unique {
        type Value = ();
        fn deserialize<D: serde::Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
            d.deserialize_any(self)
        }
    }
    impl<'de> serde::de::Visitor<'de> for Unique {
        type Value = ();
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("JSON")
        }
        fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            let mut seen = BTreeSet::new();
            while let Some(key) = map.next_key::<String>()? {
                assert!(seen.insert(key.clone()), "`{key}` stands twice");
                map.next_value_seed(Unique)?;
            }
            Ok(())
        }
        fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
            while seq.next_element_seed(Unique)?.is_some() {}
            Ok(())
        }
        fn visit_bool<E>(self, _: bool) -> Result<(), E> {
            Ok(())
        }
        fn visit_i64<E>(self, _: i64) -> Result<(), E> {
            Ok(())
        }
        fn visit_u64<E>(self, _: u64) -> Result<(), E> {
            Ok(())
        }
        fn visit_f64<E>(self, _: f64) -> Result<(), E> {
            Ok(())
        }
        fn visit_str<E>(self, _: &str) -> Result<(), E> {
            Ok(())
        }
        fn visit_unit<E>(self) -> Result<(), E> {
            Ok(())
        }
    }
    let mut reader = serde_json::Deserializer::from_str(json);
    serde::de::DeserializeSeed::deserialize(Unique, &mut reader).unwrap();
}

#[test]
fn every_kind_goes_out_under_its_name_and_comes_back() {
    for kind in samples() {
        let json = serde_json::to_string(&kind).unwrap();
        assert_no_key_twice(&json);
        let tree: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(tree["type"], kind.name(), "{json}");
        let back: EventKind = serde_json::from_str(&json).unwrap();
        assert_eq!(back, kind, "{json}");
        // By way of a tree the order of keys is lost, and nothing else may be.
        assert_eq!(serde_json::from_value::<EventKind>(tree).unwrap(), kind, "{json}");
    }
}

#[test]
fn whole_events_come_back_and_have_the_shape_of_the_schema() {
    let schema = schema();
    let origins = [Origin::Agent, Origin::Hook, Origin::Supervisor];
    for (kind, origin) in samples().into_iter().zip(origins.into_iter().cycle()) {
        let session = (origin != Origin::Hook).then(|| SessionId("s".to_owned()));
        let run = RunId("r".to_owned());
        let event = Event::stamp(Seq(1), UnixMillis(0), session, run, origin, kind);
        let json = serde_json::to_string(&event).unwrap();
        assert_eq!(serde_json::from_str::<Event>(&json).unwrap(), event, "{json}");
        assert_shape(&schema, &serde_json::from_str(&json).unwrap());
    }
}

#[test]
fn the_samples_the_schema_and_the_document_know_the_same_kinds() {
    let sampled: BTreeSet<String> = samples().iter().map(|kind| kind.name().to_owned()).collect();
    assert_eq!(sampled, kinds_of_schema());
    let document = document("event-model.md");
    for kind in sampled {
        assert!(document.contains(&format!("`{kind}`")), "event-model.md does not tell of {kind}");
        let example = format!(r#""type":"{kind}""#);
        assert!(document.contains(&example), "event-model.md has no example of {kind}");
    }
}

#[test]
fn the_examples_of_the_document_are_events() {
    let document = document("event-model.md");
    let examples: Vec<&str> =
        document.lines().filter(|line| line.starts_with(r#"{"v":"#)).collect();
    assert!(examples.len() >= kinds_of_schema().len());
    for example in examples {
        let event: Event = serde_json::from_str(example).unwrap();
        assert_eq!(serde_json::to_string(&event).unwrap(), example, "not as we write it");
    }
}
