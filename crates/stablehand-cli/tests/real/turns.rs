//! Turns in which nothing goes wrong with the model: text, tools, files, sessions.

use crate::support::{command, for_all_agents, for_main_agents, for_quick_agents, told};
use serde_json::{Value, json};
use stablehand_testkit::llm::scene::{
    FAILING_COMMAND, HELLO, PARALLEL_COMMANDS, SHELL_COMMAND, THOUGHT, TOOLS_DONE, WRITTEN,
};
use stablehand_testkit::real::Real;

for_all_agents!(hello, shell, resume);
for_main_agents!(failing_tool, write_file, bad_tool);
for_quick_agents!(thinking, parallel);

fn hello(real: &Real) {
    let told = told(real.run("hello").args(["Say hello."]));
    told.assert_success();
    assert_eq!(told.messages(), [HELLO]);
    assert!(!told.session().is_empty());
    // By the protocol it says itself how its name is written.
    let named = told.one("session.started")["agent"].as_str().unwrap();
    assert!(named.eq_ignore_ascii_case(real.agent.name()), "{named}");
    assert_eq!(told.one("process.exited")["exit"], json!({"code": 0}));
    assert_eq!(told.one("process.exited")["forced"], false);
    if let Some(used_in) = real.agent.row().output_tokens {
        let mut used = told.events.iter().filter_map(|event| event.pointer(used_in));
        assert!(used.next_back().and_then(Value::as_u64) > Some(0), "{:#?}", told.events);
    }
    let requests = real.llm.main_requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].prompt(), real.as_sent("Say hello."));
    let log = real.env.log();
    assert_eq!(log.one("run_ended")["outcome"], "success");
    assert_eq!(log.one("run_ended")["session_id"], told.session());
}

/// The model's reasoning is no part of its answer.
fn thinking(real: &Real) {
    let told = told(real.run("thinking").args(["Think."]));
    told.assert_success();
    assert_eq!(told.messages(), ["Hay it is."]);
    let items = told.all("item.completed").into_iter().map(|event| &event["item"]);
    let reasoning: Vec<&str> = items
        .filter(|item| item["kind"] == "reasoning")
        .filter_map(|item| item["text"].as_str())
        .collect();
    let shows = real.agent.row().shows_reasoning;
    assert_eq!(reasoning, if shows { vec![THOUGHT] } else { vec![] });
}

fn shell(real: &Real) {
    let told = told(real.run("shell").args(["Run it."]));
    told.assert_success();
    let tools = told.tools();
    assert_eq!(tools.len(), 1);
    assert_eq!(tools[0]["tool_kind"], "execute");
    assert!(command(tools[0]).contains(SHELL_COMMAND), "{}", tools[0]);
    assert_eq!(tools[0]["outcome"]["kind"], "success");
    let output = tools[0]["output"].as_str().unwrap();
    assert!(output.contains("neigh") && output.contains("whinny"), "{output}");
    assert_eq!(*told.messages().last().unwrap(), TOOLS_DONE);
    let requests = real.llm.main_requests();
    assert_eq!(requests.len(), 2);
    assert!(requests[1].body.contains("neigh"), "the model was told what the command said");
}

fn parallel(real: &Real) {
    let told = told(real.run("parallel").args(["Run both."]));
    told.assert_success();
    let tools = told.tools();
    assert_eq!(tools.len(), 2);
    assert_ne!(tools[0]["call"], tools[1]["call"]);
    for wanted in PARALLEL_COMMANDS {
        let found = tools.iter().filter(|tool| command(tool).contains(wanted));
        assert_eq!(found.count(), 1, "{wanted} in {tools:#?}");
    }
    assert_eq!(*told.messages().last().unwrap(), TOOLS_DONE);
}

/// A tool that fails is no failure of the run.
fn failing_tool(real: &Real) {
    let told = told(real.run("failing-tool").args(["Run it."]));
    told.assert_success();
    let tools = told.tools();
    assert_eq!(tools.len(), 1);
    assert!(command(tools[0]).contains(FAILING_COMMAND), "{}", tools[0]);
    let outcome = &tools[0]["outcome"];
    if real.agent.row().tells_exit_codes {
        assert_eq!(outcome["kind"], "failure");
        assert_eq!(outcome["exit_code"], 3);
    } else {
        // It calls every command that ran a success, and its exit code is nowhere in the stream.
        assert_eq!(outcome["kind"], "success");
    }
    assert_eq!(*told.messages().last().unwrap(), TOOLS_DONE);
}

/// A tool that does not exist is told to the model, which goes on.
fn bad_tool(real: &Real) {
    let told = told(real.run("bad-tool").args(["Run it."]));
    told.assert_success();
    assert_eq!(*told.messages().last().unwrap(), TOOLS_DONE);
    let outcomes: Vec<&str> =
        told.tools().iter().filter_map(|tool| tool["outcome"]["kind"].as_str()).collect();
    let expected: &[&str] = if real.agent.row().shows_unknown_tools { &["failure"] } else { &[] };
    assert_eq!(outcomes, expected);
}

fn write_file(real: &Real) {
    let path = real.env.work().join("feed.txt");
    let prompt = format!("Write the list to {}", path.display());
    let told = told(real.run("write-file").args([prompt.as_str()]));
    told.assert_success();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), WRITTEN);
    let tools = told.tools();
    assert_eq!(tools.len(), 1);
    assert_eq!(tools[0]["tool_kind"], "edit");
    assert_eq!(tools[0]["outcome"]["kind"], "success");
}

/// A second run goes on with the session of the first: the same id, and the model gets what was said.
fn resume(real: &Real) {
    let first = told(real.run("hello").args(["The pony is called Dapple."]));
    first.assert_success();
    let session = first.session();
    let second =
        told(real.run("shell").flag("--resume", &session).args(["What is the pony called?"]));
    second.assert_success();
    assert_eq!(second.session(), session);
    assert_eq!(second.tools().len(), 1);
    let request =
        real.llm.main_requests().into_iter().find(|heard| heard.scene == "shell").unwrap();
    assert_eq!(request.prompt(), real.as_sent("What is the pony called?"));
    assert!(request.body.contains("Dapple") && request.body.contains(HELLO), "{}", request.body);
}
