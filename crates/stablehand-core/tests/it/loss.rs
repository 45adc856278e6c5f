//! Counts what agents say, independently of the decoders, and finds what the events do not have.
//!
//! This reader knows nothing of a dialect but the list below of what is not told on purpose. Every
//! text, every id of a call, every count of tokens and every exit code that stands anywhere in a
//! recording must stand in the events of that recording.

use crate::recordings::{Source, real_runs};
use serde_json::Value;
use stablehand_core::Dialect;
use std::collections::{BTreeMap, BTreeSet};

/// What is not told, and why: a dialect (`*` for all), a part of a place, a reason.
const NOT_TOLD: &[(&str, &str, &str)] = &[
    ("*", ".description", "the model's remark on a call; what the call is given is told"),
    ("acp", " result.agentInfo.title", "the agent's name and version are told"),
    ("acp", " result.authMethods", "what can be chosen, not what happened"),
    ("acp", "configOptions", "what can be chosen, not what happened"),
    ("acp", " result.models", "what can be chosen, not what happened"),
    ("acp", " result.modes", "what can be chosen, not what happened"),
    ("acp", ".availableCommands", "what can be chosen, not what happened"),
    ("acp", " result.sessions", "other sessions"),
    ("acp", "model_usage", "a part of the sum, which is told"),
    ("acp", "_auth/status_update", "an extension; a login that is missing is an error"),
    ("acp", "params.options.*.name", "the ids of the options are told"),
    ("acp", "params.toolCall.title", "what the call is given is told"),
    ("acp", "tool_call params.update.title", "what the call is given is told"),
    ("acp", "user_message_chunk", "the prompt is on record"),
    ("acp", "session_info_update params.update.title", "there is no event for a title"),
    ("agy", " result.usage", "a running total; what is new of it is told"),
    ("claude", "local_command_source", "the same as the text of the message"),
    ("claude", "message.content.*.input.content", "told as a diff once the file is written"),
    ("claude", "tool_use_meta", "the tool's name is told"),
    ("claude", "control_response response.response", "what can be chosen, not what happened"),
    ("claude", "result/error_during_execution errors", "the turn was cancelled; a diagnosis"),
    ("claude", " modelUsage", "a running total; what is new of it is told"),
    ("claude", " total_cost_usd", "a running total; what is new of it is told"),
    ("claude", "prompt_suggestion", "what the user might say next"),
    ("claude", "tool_progress tool_use_id", "the call is told when it begins"),
    ("claude", "tool_use_summary", "the calls themselves are told"),
    ("claude", " permission_denials", "each denied call is told"),
    ("claude", "event.delta.partial_json", "the call is told when it is whole"),
    ("claude", "user message.content.*.content", "a long output, of which more is told"),
    ("claude", "user tool_use_result", "the result itself is told"),
    ("codex", " item.command", "the command is told without its shell"),
    ("codex-app", " result.userAgent", "the version in it is told"),
    ("codex-app", ".command", "the command is told without its shell"),
    ("codex-app", "tokenUsage.last", "the total is told"),
    ("copilot", "data.toolRequests", "the call is told when it begins"),
    ("copilot", "data.toolTitle", "what the call is given is told"),
    ("copilot", "data.inputDelta", "the call is told when it begins"),
    ("copilot", "model.call_failure", "told by the error of the session that follows"),
    ("copilot", "subagent.failed data.toolCallId", "the call is told when it ends"),
    ("copilot", "session.info data.message", "told as a retry"),
    ("copilot", "data.transformedContent", "the prompt is told as it was given"),
    ("cursor", "result.rejected.reason", "the answer is told"),
    ("cursor", ".args.toolCallId", "the call has another id on the line, which is told"),
    ("cursor", "afterFullFileContent", "told as a diff"),
    ("cursor", ".permissionDenied.command", "what the call is given is told"),
    ("cursor", ".rejected.command", "what the call is given is told"),
    ("cursor", "taskToolCall.args.prompt", "the description is told"),
    ("cursor", "writeFileToolCall.contents", "the path is told; the file holds the content"),
    ("gemini", "stats.models", "a part of the sum, which is told"),
    ("gemini", "parameters.content", "the path is told; the file holds the content"),
    ("grok", "_for_prompt", "the output in other words, for the model"),
    ("grok", "content.*.content.text", "of a call that is announced, the model's remark on it"),
    ("grok", "content.*.newText", "told as a diff once the file is written"),
    ("grok", "rawInput.content", "the path is told; the file holds the content"),
    ("opencode", "error.data.response", "the message is told"),
    ("opencode", "state.input.content", "the path is told; the file holds the content"),
    ("opencode", "state.metadata.output", "the same as the output, but for what was cut"),
    ("opencode", "state.title", "what the call is given is told"),
    ("claude-transcript", ".input.content", "told as a diff once the file is written"),
    ("claude-transcript", ".input.prompt", "the description is told"),
    ("claude-transcript", "message.usage", "a part of the turn's sum, which is told"),
    ("claude-transcript", "api_error error.message", "the same in the agent's words is told"),
    ("claude-transcript", "compact_boundary content", "told in our words"),
    ("claude-transcript", "user toolUseResult", "the result itself is told"),
    ("codex-transcript", ".changes.", "told as a diff"),
    (
        "codex-transcript",
        "function_call payload.arguments.message",
        "the name of the other agent is told",
    ),
    (
        "codex-transcript",
        "function_call payload.arguments.prompt",
        "the name of the other agent is told",
    ),
    ("codex-transcript", "last_token_usage", "the total is told"),
    ("codex-transcript", "token_usage_record", "the total is told"),
    ("codex-transcript", "custom_tool_call payload.input", "told as a diff"),
    ("codex-transcript", "_output payload.output", "told without what frames it for the model"),
    ("gemini-transcript", ".displayName", "the tool's name is told"),
    ("gemini-transcript", "functionResponse.response", "told without what frames it for the model"),
    ("gemini-transcript", "recentActivity", "the sub-agent's own transcript has it"),
    ("opencode-transcript", "state.input.content", "the path is told; the file holds the content"),
    ("opencode-transcript", "state.input.prompt", "the description is told"),
    ("opencode-transcript", "state.title", "what the call is given is told"),
    ("opencode-transcript", "session data.title", "a title that is the time says nothing"),
];

/// Texts that a program says to the model in the user's name, by how they begin: where they stand,
/// prompts stand too.
const NOT_SAID: &[(&str, &str)] = &[
    ("claude-transcript", "<local-command-caveat>"),
    ("claude-transcript", "<command-name>"),
    ("claude-transcript", "<local-command-stdout>"),
    ("claude-transcript", "[Request interrupted by user"),
    ("codex-transcript", "(left out)"),
    ("codex-transcript", "<environment_context>"),
    ("codex-transcript", "<turn_aborted>"),
    ("gemini-transcript", "<session_context>"),
];

/// Members whose values are the ids of calls.
const IDS: &[&str] =
    &["toolCallId", "tool_use_id", "call_id", "callID", "callId", "tool_id", "tool_call_id"];

/// Members whose values count something that a face shows.
const NUMBERS: &[&str] = &[
    "input_tokens",
    "output_tokens",
    "inputTokens",
    "outputTokens",
    "cost",
    "total_cost_usd",
    "costUSD",
    "exit_code",
    "exitCode",
    "exit",
];

#[test]
fn every_fact_of_every_recording_is_told() {
    let mut lost = BTreeMap::new();
    let mut used = BTreeSet::new();
    let mut facts = 0;
    for source in Source::all() {
        for recording in &source.recordings {
            let told = Told::new(&serde_json::to_value(source.decode(&recording.bytes)).unwrap());
            let lines = recording.bytes.split(|byte| *byte == b'\n').enumerate();
            for (n, line) in lines {
                let Ok(line) = serde_json::from_slice::<Value>(line) else { continue };
                let mut found = Vec::new();
                collect(&line, &mut Vec::new(), &mut found);
                for (place, fact) in found {
                    if told.has(&fact) {
                        facts += 1;
                        continue;
                    }
                    if is_not_said(&source.name, &fact) {
                        continue;
                    }
                    let place = format!("{} {}", kind(&line), place.join("."));
                    let excuse = NOT_TOLD.iter().position(|(whose, part, _)| {
                        (*whose == "*" || *whose == source.name) && place.contains(part)
                    });
                    if let Some(excuse) = excuse {
                        used.insert(excuse);
                        continue;
                    }
                    lost.entry(format!("{} {place}", source.name))
                        .or_insert_with(|| format!("{fact:?} ({}:{})", recording.name, n + 1));
                }
            }
        }
    }
    // The excuses come from all recordings; a machine that has ours only cannot tell which are stale.
    if !real_runs(Dialect::Claude).is_empty() {
        let stale = (0..NOT_TOLD.len()).filter(|at| !used.contains(at)).map(|at| NOT_TOLD[at]);
        assert_eq!(stale.collect::<Vec<_>>(), Vec::new(), "excuses that nothing needs any more");
    }
    let lost: Vec<String> = lost.iter().map(|(place, fact)| format!("{place}: {fact}")).collect();
    assert!(
        lost.is_empty(),
        "{facts} facts told, {} places lost:\n{}",
        lost.len(),
        lost.join("\n")
    );
}

/// The excuse for `message.usage` above holds only as long as this does.
#[test]
fn the_usage_of_a_transcript_is_that_of_its_answers() {
    let sources = Source::all();
    let claude = sources.iter().find(|source| source.name == "claude-transcript").unwrap();
    let mut with_usage = 0;
    for recording in &claude.recordings {
        let lines = recording.bytes.split(|byte| *byte == b'\n');
        let lines = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
        // An answer stands on several lines, each with its whole usage.
        let answers: BTreeMap<String, Value> = lines
            .filter(|line| line["type"] == "assistant")
            .map(|line| (line["message"]["id"].to_string(), line["message"]["usage"].clone()))
            .collect();
        let stated =
            |key: &str| answers.values().filter_map(|usage| usage[key].as_u64()).sum::<u64>();
        let events = serde_json::to_value(claude.decode(&recording.bytes)).unwrap();
        let told = |key: &str| {
            let (mut sum, mut turn) = (0, 0);
            for event in events.as_array().unwrap() {
                if event["type"] == "turn.started" {
                    sum += std::mem::take(&mut turn);
                }
                turn = event["usage"]["turn"][key].as_u64().unwrap_or(turn);
            }
            sum + turn
        };
        let both = [("input_tokens", "input"), ("output_tokens", "output")];
        for (theirs, ours) in both {
            assert_eq!(told(ours), stated(theirs), "{}: {ours}", recording.name);
        }
        with_usage += usize::from(stated("output_tokens") > 0);
    }
    assert!(with_usage > 5, "only {with_usage} transcripts state what was used");
}

fn is_not_said(source: &str, fact: &Fact) -> bool {
    let Fact::Text(text) = fact else { return false };
    NOT_SAID.iter().any(|(whose, begin)| *whose == source && text.starts_with(begin))
}

/// What a line calls itself.
fn kind(line: &Value) -> String {
    let word = |value: &Value, key| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let update = &line["params"]["update"];
    let words = [
        word(line, "type"),
        word(line, "subtype"),
        word(line, "method"),
        word(update, "sessionUpdate"),
        word(&line["item"], "type"),
        word(line, "stored"),
        word(&line["payload"], "type"),
        word(&line["data"], "type"),
    ];
    words.into_iter().flatten().collect::<Vec<_>>().join("/")
}

#[derive(Debug, Clone, PartialEq)]
enum Fact {
    Text(String),
    Id(String),
    Number(f64),
}

fn collect(value: &Value, place: &mut Vec<String>, found: &mut Vec<(Vec<String>, Fact)>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                place.push(key.clone());
                let is = |keys: &[&str]| keys.contains(&key.as_str());
                match value {
                    Value::String(id) if is(IDS) => {
                        found.push((place.clone(), Fact::Id(id.clone())));
                    }
                    Value::Number(n) if is(NUMBERS) && n.as_f64() != Some(0.0) => {
                        found.push((place.clone(), Fact::Number(n.as_f64().unwrap())));
                    }
                    _ => collect(value, place, found),
                }
                place.pop();
            }
        }
        Value::Array(list) => {
            place.push("*".to_owned());
            for value in list {
                collect(value, place, found);
            }
            place.pop();
        }
        // Some agents keep what a tool is given as JSON in a string.
        Value::String(text) if is_prose(text) => match serde_json::from_str(text) {
            Ok(inner @ Value::Object(_)) => collect(&inner, place, found),
            _ => found.push((place.clone(), Fact::Text(text.clone()))),
        },
        _ => {}
    }
}

/// Whether a text is for people.
fn is_prose(text: &str) -> bool {
    text.trim().contains([' ', '\n'])
}

/// What the events say.
struct Told {
    words: String,
    numbers: BTreeSet<String>,
}

impl Told {
    fn new(events: &Value) -> Told {
        let mut told = Told { words: String::new(), numbers: BTreeSet::new() };
        let mut pieces: BTreeMap<String, String> = BTreeMap::new();
        for event in events.as_array().unwrap() {
            told.add(event);
            if event["type"] == "item.delta" {
                let text = event["text"].as_str().unwrap_or_default();
                pieces.entry(event["id"].to_string()).or_default().push_str(text);
            }
        }
        // Agents state what one message used; the events tell the sum so far.
        let sums = |key: &str| -> Vec<f64> {
            let tokens = |event: &Value| event["usage"]["turn"][key].as_f64();
            events.as_array().unwrap().iter().filter_map(tokens).collect()
        };
        for sums in ["input", "output"].map(sums) {
            let steps = sums.windows(2).map(|pair| pair[1] - pair[0]);
            told.numbers.extend(steps.map(|step| format!("{step:.6}")));
        }
        for text in pieces.values() {
            told.words.push_str(text);
            told.words.push('\u{1}');
        }
        told.words.extend(pieces.into_values());
        told
    }

    fn add(&mut self, value: &Value) {
        match value {
            Value::Object(members) => members.values().for_each(|value| self.add(value)),
            Value::Array(list) => list.iter().for_each(|value| self.add(value)),
            Value::String(text) => {
                self.words.push_str(text);
                self.words.push('\u{1}');
            }
            Value::Number(n) => {
                self.numbers.insert(format!("{:.6}", n.as_f64().unwrap()));
            }
            _ => {}
        }
    }

    fn has(&self, fact: &Fact) -> bool {
        match fact {
            Fact::Text(text) => {
                let head: String = text.trim().chars().take(200).collect();
                self.words.contains(&head)
            }
            Fact::Id(id) => self.words.contains(id.as_str()),
            Fact::Number(n) => self.numbers.contains(&format!("{n:.6}")),
        }
    }
}
