//! What the real programs wrote down of themselves against what we heard while they ran.

use crate::support::{Told, for_main_agents, told};
use serde_json::Value;
use stablehand_core::event::{EventKind, ItemBody};
use stablehand_store::{Source, Store, each_transcript};
use stablehand_testkit::llm::scene::TASK_COMMAND;
use stablehand_testkit::real::{Real, RealAgent};
use std::path::PathBuf;

for_main_agents!(same_as_the_log, sub_agents, counted_once);

/// The scenes, each with its prompt.
const SCENES: &[(&str, &str)] = &[
    ("thinking", "Think."),
    ("parallel", "Run both."),
    ("write-file", "Write the list to"),
    ("failing-tool", "Run it."),
];

/// What was written down of one session, by the program or by us, in the order of its end.
#[derive(Debug, Default, PartialEq)]
struct Session {
    prompts: Vec<String>,
    messages: Vec<String>,
    reasoning: Vec<String>,
    /// Kind, what it was given, how it ended.
    tools: Vec<(Value, Value, Value)>,
}

impl Session {
    fn item(&mut self, item: &Value) {
        let text = || item["text"].as_str().unwrap_or_default().to_owned();
        match item["kind"].as_str() {
            Some("message") => self.messages.push(text()),
            Some("reasoning") => self.reasoning.push(text()),
            Some("tool") => {
                let mut input = item["input"].clone();
                // Where a command runs is said by the one and not by the other.
                if let Some(input) = input.as_object_mut() {
                    input.remove("cwd");
                }
                let mut outcome = item["outcome"].clone();
                if let Some(outcome) = outcome.as_object_mut() {
                    outcome.remove("message");
                }
                self.tools.push((item["tool_kind"].clone(), input, outcome));
            }
            _ => {}
        }
    }

    /// Calls that ran at once may end in any order.
    fn sorted(mut self) -> Session {
        self.tools.sort_by_key(|(_, input, _)| input.to_string());
        self
    }
}

/// What we heard.
fn heard(told: &Told, prompt: &str) -> Session {
    let mut session = Session { prompts: vec![prompt.to_owned()], ..Session::default() };
    for event in told.all("item.completed") {
        session.item(&event["item"]);
    }
    session.sorted()
}

/// Where the program keeps its transcripts.
fn source(real: &Real) -> Source {
    let folder = match real.agent {
        RealAgent::Claude => ".claude/projects",
        RealAgent::Codex => ".codex/sessions",
        RealAgent::Gemini => ".gemini/tmp",
        RealAgent::OpenCode => ".local/share/opencode",
        other => panic!("we read no transcripts of {other:?}"),
    };
    Source { agent: real.agent.name().to_owned(), folder: real.env.home().join(folder) }
}

/// What the program wrote of a session: its own transcript, and those of its sub-agents.
fn written(real: &Real, id: &str) -> Vec<Session> {
    let mut found = Vec::new();
    each_transcript(&source(real), &real.env.path("tmp"), |transcript| {
        let mut session = Session::default();
        let mut is_it = false;
        for (_, event) in transcript.events {
            match &event {
                EventKind::SessionStarted { native_id, .. } => is_it = native_id.0 == id,
                EventKind::TurnStarted { prompt, .. } => session.prompts.extend(prompt.clone()),
                EventKind::ItemCompleted { item } => {
                    if let ItemBody::Notice { text, .. } = &item.body {
                        eprintln!("noticed: {text}");
                    }
                    session.item(&serde_json::to_value(item).unwrap());
                }
                EventKind::Unrecognized { excerpt, .. } => {
                    panic!("{}: {excerpt}", transcript.path.display());
                }
                _ => {}
            }
        }
        if is_it {
            found.push(session.sorted());
        }
    });
    found
}

/// The same prompts, messages, thoughts and tools, with the same ends.
fn same_as_the_log(real: &Real) {
    for (scene, prompt) in SCENES {
        let file = real.env.work().join("feed.txt");
        let prompt = match *scene {
            "write-file" => format!("{prompt} {}", file.display()),
            _ => (*prompt).to_owned(),
        };
        let told = told(real.run(scene).args([prompt.as_str()]));
        told.assert_success();
        let mut heard = heard(&told, &prompt);
        let mut written = written(real, &told.session());
        assert_eq!(written.len(), 1, "{scene}");
        let mut written = written.remove(0);
        match (real.agent, *scene) {
            // It does not show its thoughts, and writes them down.
            (RealAgent::Gemini, "thinking") => heard.reasoning.clone_from(&written.reasoning),
            // Its stream calls every command a success; what the model is told is written down.
            (RealAgent::Gemini, "failing-tool") => {
                assert_eq!(written.tools[0].2["exit_code"], 3);
                written.tools[0].2.clone_from(&heard.tools[0].2);
            }
            _ => {}
        }
        assert_eq!(written, heard, "{scene}");
    }
}

/// What a sub-agent did is found under the session that it worked for.
fn sub_agents(real: &Real) {
    let told = told(real.run("delegate").args(["Have it done."]));
    told.assert_success();
    let written = written(real, &told.session());
    // Codex has its sub-agents only where the model is given them, which ours is not.
    let expected = if real.agent == RealAgent::Codex { 1 } else { 2 };
    assert_eq!(written.len(), expected, "{written:#?}");
    let ran = |session: &&Session| {
        session.tools.iter().any(|(_, input, _)| input["command"] == TASK_COMMAND)
    };
    assert_eq!(written.iter().filter(ran).count(), expected - 1, "{written:#?}");
}

/// Turns by source, in the index.
fn turns(real: &Real) -> Vec<(String, i64)> {
    let store = Store::open(&real.env.log_dir()).unwrap();
    let query = "SELECT source, sum(turns) FROM runs GROUP BY source ORDER BY source";
    let mut find = store.database().prepare(query).unwrap();
    let rows = find.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

/// A turn from before, and one that our log has too; and the folder of the program as it was.
fn counted_once(real: &Real) {
    let elsewhere = real.env.path("elsewhere");
    let first = told(real.run("hello").flag("--log-dir", &elsewhere).args(["Say hello."]));
    first.assert_success();
    let second = real.run("shell").flag("--resume", first.session()).args(["Run it."]);
    told(second).assert_success();
    let before = tree(&source(real).folder);
    let import = || {
        let logs = real.env.log_dir();
        let place = ["--json", "--log-dir", logs.to_str().unwrap()];
        let run = real.env.stablehand("sessions").args(["import", real.agent.name()]);
        let done = run.args(place).finish();
        done.assert_code(0);
        serde_json::from_str::<Value>(&done.stdout_text()).unwrap()
    };
    let done = import();
    assert_eq!(done["found"][0]["sessions"], 1, "{done}");
    assert_eq!(done["found"][0]["turns"], 2, "{done}");
    let mut expected = vec![(real.agent.name().to_owned(), 1), ("log".to_owned(), 1)];
    expected.sort();
    assert_eq!(turns(real), expected);
    assert_eq!(import()["indexed"], 0);
    assert_eq!(tree(&source(real).folder), before);
}

/// Names, sizes and times of everything in a folder.
fn tree(folder: &std::path::Path) -> Vec<(PathBuf, u64, std::time::SystemTime)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let about = entry.metadata().unwrap();
        found.push((entry.path(), about.len(), about.modified().unwrap()));
        if about.is_dir() {
            found.extend(tree(&entry.path()));
        }
    }
    found.sort();
    found
}
