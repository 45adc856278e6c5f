//! What is wrong with a file is found, with its line, and what of it makes an agent drop everything.

use super::plan;
use crate::agent::Agent;

fn findings(agent: Agent, text: &str) -> Vec<(usize, String, bool)> {
    let survey = plan(agent).survey(Some(text)).unwrap();
    survey.findings.into_iter().map(|found| (found.line, found.text, found.voids)).collect()
}

#[test]
fn what_makes_cursor_drop_the_whole_file_is_found() {
    let table = [
        (r#"{"version":1,"hooks":{"before":[{"command":"a"}]}}"#, None),
        (
            r#"{"version":1,"hooks":{"beforeAll":[]}}"#,
            Some(("`beforeAll` is no event that we know of", true)),
        ),
        (
            r#"{"version":1,"hooks":{"before":["a"]}}"#,
            Some(("an entry is no object, under `before`", true)),
        ),
        (
            r#"{"version":1,"hooks":{"before":[{"command":1}]}}"#,
            Some(("`command` is missing or no text, under `before`", true)),
        ),
        (
            r#"{"version":1,"hooks":{"before":[{"command":"a","timeout":0}]}}"#,
            Some(("`timeout` is no number above 0, under `before`", true)),
        ),
        (
            r#"{"version":1,"hooks":{"before":[{"command":"a","timeout":"9"}]}}"#,
            Some(("`timeout` is no number above 0, under `before`", true)),
        ),
        (
            r#"{"version":1,"hooks":{"before":[{"command":"a","timeout":3601}]}}"#,
            Some(("a `timeout` under `before` is beyond an hour", false)),
        ),
        (
            r#"{"version":1,"hooks":{"before":[{"command":"a","matcher":[]}]}}"#,
            Some(("`matcher` is no text, under `before`", true)),
        ),
        (
            r#"{"version":1,"hooks":{"before":[{"command":"a","failClosed":1}]}}"#,
            Some(("`failClosed` is neither true nor false, under `before`", true)),
        ),
        (
            r#"{"version":1,"hooks":{"before":[{"command":"a","loop_limit":0.5}]}}"#,
            Some(("`loop_limit` is no whole number above 0, under `before`", true)),
        ),
        (r#"{"version":1,"hooks":{"before":[{"command":"a","loop_limit":null}]}}"#, None),
        (
            r#"{"version":1,"hooks":{"before":[{"type":"magic","command":"a"}]}}"#,
            Some(("`type` is neither command nor prompt, under `before`", true)),
        ),
        (r#"{"version":1,"hooks":{"before":[{"type":"prompt","prompt":"ok?"}]}}"#, None),
        (
            r#"{"version":1,"hooks":{"before":[{"type":"prompt","prompt":""}]}}"#,
            Some(("`prompt` is missing or no text, under `before`", true)),
        ),
        (
            r#"{"version":1,"hooks":{"before":[],"before":[]}}"#,
            Some(("`before` is there twice; the last one counts", false)),
        ),
        (
            r#"{"version":1,"hooks":{"before":[{"command":"a"},{"command":"a"}]}}"#,
            Some(("`a` is there twice under `before`", false)),
        ),
        (
            r#"{"version":1,"hooks":{"before":[{"command":"a"},{"command":"a","matcher":"x"}]}}"#,
            None,
        ),
        (r#"{"hooks":{}}"#, Some(("`version` is missing; \"version\": 1 is expected", false))),
    ];
    for (text, expected) in table {
        let expected: Vec<_> =
            expected.into_iter().map(|(text, voids)| (1, text.to_owned(), voids)).collect();
        assert_eq!(findings(Agent::Cursor, text), expected, "{text}");
    }
}

#[test]
fn others_are_told_less_loudly_but_a_switch_that_is_off_is_told() {
    let claude = |text| findings(Agent::Claude, text);
    assert_eq!(
        claude(
            "{\n\"disableAllHooks\": true,\n\"hooks\":{\"Odd\":[{\"hooks\":[{\"type\":\"command\"}]}]}}"
        ),
        [
            (2, "`disableAllHooks` switches all hooks off".to_owned(), true),
            (3, "`Odd` is no event that we know of".to_owned(), false),
            (3, "`command` is missing or no text, under `Odd`".to_owned(), false),
        ]
    );
    assert_eq!(claude(r#"{"hooks":{"before":[{"hooks":[{"type":"http","url":"x"}]}]}}"#), []);
    assert_eq!(
        claude(r#"{"hooks":{"before":[{"command":"x"}]}}"#),
        [(1, "a group has no list of `hooks`, under `before`".to_owned(), false)]
    );
    let gemini = findings(Agent::Gemini, "{\"hooksConfig\": {\"enabled\": false}}");
    assert_eq!(gemini, [(1, "`hooksConfig.enabled` switches all hooks off".to_owned(), true)]);
    assert_eq!(findings(Agent::Gemini, "{\"hooksConfig\": {\"enabled\": true}}"), []);
}

#[test]
fn ours_are_counted_apart_from_theirs_and_covered_only_by_a_program_that_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("stablehand");
    let plan = super::plan_for(Agent::Claude, program.to_str().unwrap());
    let theirs = r#"{"hooks":{"before":[{"hooks":[{"type":"command","command":"mine"}]}]}}"#;
    let text = plan.merge(Some(theirs)).unwrap().text;
    let survey = plan.survey(Some(&text)).unwrap();
    assert_eq!((survey.ours.len(), survey.theirs), (3, 1));
    assert!(survey.ours.iter().all(|ours| ours.program == program));
    assert!(!plan.is_covered_by(&survey), "nothing is there");
    std::fs::write(&program, "").unwrap();
    assert_eq!(plan.missing_from(&survey), ["start", "before", "after"], "it cannot be started");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&program, mode).unwrap();
    assert!(plan.is_covered_by(&survey));
}
