//! Text in, text out: what is put in comes out again, and nothing else changes.

use super::random::file;
use super::{AGENTS, form, plan, plan_for};
use crate::agent::Agent;
use crate::hooks::doc::Doc;
use crate::hooks::{FileError, unmerge};
use jsonc_parser::ast::Value as Node;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::ffi::OsStr;

fn name() -> &'static OsStr {
    OsStr::new("stablehand")
}

fn value(text: &str) -> Value {
    Value::from(Node::Object(Doc::parse(text).unwrap().root))
}

const START: &str = r"'/opt/it'\''s here/stablehand' hook --agent cursor --alone --within 8 start";
const BEFORE: &str =
    r"'/opt/it'\''s here/stablehand' hook --agent cursor --alone --within 3595 before";

#[test]
fn a_new_file_is_laid_out_for_people() {
    let merged = plan(Agent::Cursor).merge(None).unwrap();
    let expected = r#"{
  "hooks": {
    "start": [
      { "command": "'/opt/it'\\''s here/stablehand' hook --agent cursor --alone --within 8 start", "timeout": 10 }
    ],
    "before": [
      { "command": "'/opt/it'\\''s here/stablehand' hook --agent cursor --alone --within 3595 before", "timeout": 3600, "failClosed": true }
    ],
    "after": [
      { "command": "'/opt/it'\\''s here/stablehand' hook --agent cursor --alone --within 8 after", "timeout": 10 }
    ]
  },
  "version": 1
}
"#;
    assert_eq!(merged.text, expected);
    assert_eq!(merged.added, ["start", "before", "after"]);
    assert_eq!(unmerge(&merged.text, name()).unwrap().text, None, "the whole file was ours");
    for blank in ["", " \n"] {
        assert_eq!(plan(Agent::Cursor).merge(Some(blank)).unwrap().text, expected);
    }
}

#[test]
fn each_agent_gets_its_own_shape_in_a_file_and_for_one_run() {
    let cursor = plan(Agent::Cursor);
    let settings = cursor.form.settings(&cursor.commands);
    assert_eq!(settings["version"], 1);
    assert_eq!(settings["hooks"]["start"], json!([{ "command": START, "timeout": 10 }]));
    let before = json!([{ "command": BEFORE, "timeout": 3600, "failClosed": true }]);
    assert_eq!(settings["hooks"]["before"], before);
    for (agent, unit) in [(Agent::Claude, 1), (Agent::Gemini, 1000)] {
        let plan = plan(agent);
        let settings = plan.form.settings(&plan.commands);
        assert_eq!(settings.get("version"), None);
        let line = BEFORE.replace("cursor", agent.name());
        let mut hook = json!({ "type": "command", "command": line, "timeout": 3600 * unit });
        if agent == Agent::Claude {
            hook["onFailure"] = "block".into();
        }
        assert_eq!(settings["hooks"]["before"], json!([{ "matcher": "*", "hooks": [hook] }]));
        let after = &settings["hooks"]["after"][0];
        assert_eq!(after.get("matcher"), None);
        assert_eq!(after["hooks"][0].get("onFailure"), None);
        assert_eq!(after["hooks"][0]["timeout"], 10 * unit);
        // The file says the same of its hooks.
        let file = value(&plan.merge(None).unwrap().text);
        assert_eq!(file["hooks"], settings["hooks"]);
    }
}

#[test]
fn comments_and_odd_formatting_stay() {
    let theirs = r#"// mine
{
    "version": 1, // as it should be
	"hooks": { /* two */
        "before": [
            {"command": "./mine.sh"}, // first
            { "command" : "./yours.sh" } // last
        ],
        "after": [{"command": "a"}],
        "start": [ ]
    }
}"#;
    let merged = plan(Agent::Cursor).merge(Some(theirs)).unwrap().text;
    let expected = theirs
        .replace(
            "} // last",
            &format!(
                "}}, // last\n            {}",
                entry("before", 3595, r#", "timeout": 3600, "failClosed": true"#)
            ),
        )
        .replace(
            r#"{"command": "a"}"#,
            &format!(r#"{{"command": "a"}}, {}"#, entry("after", 8, r#", "timeout": 10"#)),
        )
        .replace("[ ]", &format!("[{} ]", entry("start", 8, r#", "timeout": 10"#)));
    assert_eq!(merged, expected);
    assert_eq!(unmerge(&merged, name()).unwrap().text.as_deref(), Some(theirs));
}

fn entry(event: &str, within: u64, rest: &str) -> String {
    format!(
        r#"{{ "command": "'/opt/it'\\''s here/stablehand' hook --agent cursor --alone --within {within} {event}"{rest} }}"#
    )
}

#[test]
fn what_says_something_else_for_our_program_is_brought_up_to_date() {
    let old = plan_for(Agent::Claude, "/old/stablehand").merge(None).unwrap().text;
    let plan = plan_for(Agent::Claude, "/new/stablehand");
    let new = plan.merge(Some(&old)).unwrap();
    assert_eq!(new.text, old.replace("/old/", "/new/"));
    assert_eq!(new.added.len(), 3);
    let again = plan.merge(Some(&new.text)).unwrap();
    assert_eq!((again.text.as_str(), again.added.len()), (new.text.as_str(), 0));
    // A program of another name is somebody else's.
    let other = plan_for(Agent::Claude, "/new/other").merge(Some(&new.text)).unwrap();
    assert_eq!(other.added.len(), 3);
    assert_eq!(unmerge(&other.text, OsStr::new("other")).unwrap().text.unwrap(), new.text);
}

#[test]
fn ours_is_taken_out_of_where_people_have_moved_it() {
    let ours = r#"{"command":"/a/stablehand hook --agent x before"}"#;
    let table = [
        (
            format!(r#"{{"hooks":{{"e":[{ours},{{"command":"b"}}]}}}}"#),
            r#"{"hooks":{"e":[{"command":"b"}]}}"#,
        ),
        (
            format!(r#"{{"hooks":{{"e":[{{"hooks":[{{"command":"b"}}, {ours}]}}]}}}}"#),
            r#"{"hooks":{"e":[{"hooks":[{"command":"b"}]}]}}"#,
        ),
        (
            format!("{{\"hooks\":{{\"e\":[ // note\n{ours}, {{}}]}}}}"),
            "{\"hooks\":{\"e\":[ // note\n {}]}}",
        ),
        (
            format!("{{\"hooks\":{{\"e\":[{{}}, // note\n{ours}]}}}}"),
            "{\"hooks\":{\"e\":[{} // note\n]}}",
        ),
        // Twice the same name: none is forgotten.
        (
            format!(r#"{{"a":1, "hooks":{{ "e":[ {ours} ]}}, "hooks":{{ "e":[ {ours} ]}}}}"#),
            r#"{"a":1}"#,
        ),
    ];
    for (text, expected) in table {
        assert_eq!(unmerge(&text, name()).unwrap().text.as_deref(), Some(expected), "{text}");
    }
}

#[test]
fn a_name_that_is_there_twice_gets_ours_where_it_counts() {
    let plan = plan(Agent::Cursor);
    let first = plan.merge(None).unwrap().text;
    let hooks = first.trim().trim_start_matches('{').trim_end_matches('}');
    let twice = format!("{{{hooks}, \"hooks\": {{}}}}");
    let merged = plan.merge(Some(&twice)).unwrap();
    assert_eq!(merged.added.len(), 3);
    let survey = plan.survey(Some(&merged.text)).unwrap();
    assert_eq!(survey.ours.len(), 3, "{}", merged.text);
    assert!(plan.merge(Some(&merged.text)).unwrap().added.is_empty());
}

#[test]
fn a_file_that_is_not_understood_is_refused_with_its_line() {
    let table = [
        ("{\n  \"hooks\": {\n  x }}", "line 3 is no JSON: Expected string for object property"),
        ("{\"a\":1", "line 1 is no JSON: Unterminated object"),
        ("[1]", "line 1: the file is no object"),
        ("\n7", "line 2: the file is no object"),
        ("// nothing\n", "line 1: the file is no object"),
        ("{\n\"hooks\": []}", "line 2: `hooks` is no object"),
        ("{\"hooks\": {\"a\": [],\n\"b\": {}}}", "line 2: `b` under `hooks` is no list"),
        ("{\n\n\"version\": 2}", "line 3: `version` is 2, and we know 1 only"),
        ("{\"version\": \"1\"}", "line 1: `version` is \"1\", and we know 1 only"),
        ("{} {}", "line 1 is no JSON: Text cannot contain more than one JSON value"),
        ("{'a': 1}", "line 1 is no JSON: Single-quoted strings are not allowed"),
    ];
    for (text, expected) in table {
        let error = plan(Agent::Cursor).merge(Some(text)).unwrap_err();
        assert!(error.to_string().starts_with(expected), "{text}: {error}");
        assert!(plan(Agent::Cursor).survey(Some(text)).is_err(), "{text}");
    }
    assert!(plan(Agent::Claude).merge(Some("{\"version\": 2}")).is_ok(), "theirs has none");
    let deep = "[".repeat(100_000);
    let error = plan(Agent::Claude).merge(Some(&format!("{{\"a\": {deep}"))).unwrap_err();
    assert!(matches!(error, FileError::NotJson { .. }), "{error}");
}

#[test]
fn lines_end_as_the_others_do_and_tabs_stay_tabs() {
    let theirs = "{\r\n\t\"a\": 1\r\n}\r\n";
    let merged = plan(Agent::Gemini).merge(Some(theirs)).unwrap().text;
    assert!(
        merged.contains("1,\r\n\t\"hooks\": {\r\n\t\t\"start\": [\r\n\t\t\t{ \"hooks\""),
        "{merged}"
    );
    assert_eq!(merged.matches('\n').count(), merged.matches("\r\n").count());
    assert_eq!(unmerge(&merged, name()).unwrap().text.as_deref(), Some(theirs));
    // One line stays one line.
    let merged = plan(Agent::Gemini).merge(Some("{\"a\":1}")).unwrap().text;
    assert!(!merged.contains('\n'), "{merged}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn what_is_put_in_comes_out_again_to_the_byte(text in file(), which in 0..3_usize) {
        let plan = plan(AGENTS[which]);
        prop_assume!(plan.form.version.is_none() || !text.contains("\"version\"") || value(&text)["version"] == 1);
        let merged = plan.merge(Some(&text)).unwrap();
        // Ours are all there, once, and where they count.
        let survey = plan.survey(Some(&merged.text)).unwrap();
        let found: Vec<_> = survey.ours.iter().map(|ours| ours.command.as_str()).collect();
        for command in plan.commands.iter() {
            prop_assert_eq!(found.iter().filter(|line| **line == command.command).count(), 1);
        }
        // Theirs are what they were, in their order, before ours.
        let (was, is) = (value(&text), value(&merged.text));
        for command in plan.commands.iter() {
            let list = is["hooks"][command.event].as_array().unwrap();
            let theirs = was["hooks"][command.event].as_array().cloned().unwrap_or_default();
            prop_assert_eq!(&list[..list.len() - 1], theirs.as_slice());
        }
        prop_assert_eq!(unmerge(&merged.text, name()).unwrap().text, Some(text.clone()));
        // Twice is once.
        prop_assert_eq!(plan.merge(Some(&merged.text)).unwrap().text, merged.text);
        // Where nothing is ours, nothing is taken.
        let nothing = unmerge(&text, name()).unwrap();
        prop_assert_eq!((nothing.text, nothing.removed), (Some(text), 0));
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[\\[\\]{}\":, \n/*a1\\\\]{0,60}") {
        let plan = plan(Agent::Cursor);
        if let Ok(merged) = plan.merge(Some(&text)) {
            prop_assert!(plan.survey(Some(&merged.text)).is_ok());
        }
        let _ = unmerge(&text, name());
    }
}

#[test]
fn forms_name_the_files_of_each_agent() {
    use crate::hooks::Scope;
    use std::path::Path;
    let path = |agent, scope, moved| form(agent).target(scope, Path::new("/r"), moved).path();
    let moved = Some(Path::new("/elsewhere/conf"));
    let table = [
        (Agent::Cursor, Scope::Project, None, "/r/.cursor/hooks.json"),
        (Agent::Cursor, Scope::User, None, "/r/.cursor/hooks.json"),
        (Agent::Claude, Scope::Project, moved, "/r/.claude/settings.local.json"),
        (Agent::Claude, Scope::User, None, "/r/.claude/settings.json"),
        (Agent::Claude, Scope::User, moved, "/elsewhere/conf/settings.json"),
        (Agent::Gemini, Scope::Project, None, "/r/.gemini/settings.json"),
        (Agent::Gemini, Scope::User, None, "/r/.gemini/settings.json"),
    ];
    for (agent, scope, moved, expected) in table {
        assert_eq!(path(agent, scope, moved), Path::new(expected));
    }
}
