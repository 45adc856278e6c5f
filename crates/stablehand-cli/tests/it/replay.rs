//! Recordings: through `cursor-wrap` byte for byte, and decoded without a line that nobody knows.

use crate::support::{bins, env, print, skip};
use serde_json::Value;
use stablehand_testkit::TestEnv;
use stablehand_testkit::fixtures::{self, Recording};

/// Our own recordings, and others' where they stand beside the checkout.
fn recordings() -> Vec<Recording> {
    let mut recordings = fixtures::own("cursor");
    match fixtures::shared("cursor") {
        Some(shared) => recordings.extend(shared),
        None => skip("no others' recordings beside this checkout; our own are replayed"),
    }
    recordings
}

#[test]
fn every_recording_passes_byte_for_byte() {
    for recording in recordings() {
        let env = env(&format!("read-stdin\ncat {}", recording.path.display()));
        let run = print(&env).finish();
        let name = &recording.name;
        assert!(run.stdout == recording.bytes, "`{name}` came out changed");
        assert!(env.log().raw_bytes() == recording.bytes, "`{name}` is in the log changed");
        let wanted = i32::from(!ends_well(&recording));
        assert_eq!(run.code, Some(wanted), "`{name}`: {}", run.stderr);
    }
}

#[test]
fn every_recording_passes_in_text_without_a_crash() {
    for recording in recordings() {
        let env = env(&format!("cat {}", recording.path.display()));
        let run = print(&env).args(["--output-format", "text"]).finish();
        assert!(!run.stderr.contains("panicked"), "`{}`: {}", recording.name, run.stderr);
    }
}

#[test]
fn our_recordings_decode_to_their_written_summaries() {
    for recording in fixtures::own("cursor") {
        let summary = summary(&recording);
        let expected = recording.expected_summary().expect("a written summary");
        assert_contains(&summary, &expected, &recording.name);
    }
}

#[test]
fn every_recording_decodes_with_nothing_unknown_and_every_tool_paired() {
    for recording in recordings() {
        let summary = summary(&recording);
        let name = &recording.name;
        assert_eq!(summary["unrecognized"], 0, "`{name}`: {summary}");
        assert_eq!(summary["tools"]["unpaired"], 0, "`{name}`: {summary}");
        if let [result] = &*results(&recording)
            && let Some(text) = result["result"].as_str()
        {
            assert_eq!(summary["text_bytes"], text.len(), "`{name}`: {summary}");
        }
    }
}

#[test]
fn decoded_events_are_json_lines_of_known_kinds() {
    for recording in fixtures::own("cursor") {
        let env = TestEnv::new(bins());
        let run = env.stablehand("decode").args(["--agent", "cursor"]);
        let run = run.stdin(recording.bytes.clone()).finish();
        run.assert_code(0);
        for line in run.stdout_json() {
            let kind = line["event"]["type"].as_str().or_else(|| line["type"].as_str());
            assert!(kind.is_some_and(|kind| !kind.is_empty()), "`{}`: {line}", recording.name);
        }
    }
}

#[test]
fn any_bytes_decode_without_a_crash() {
    let env = TestEnv::new(bins());
    let bytes: Vec<u8> =
        (0..200_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let run = env.stablehand("decode").args(["--agent", "cursor", "--summary"]).stdin(bytes);
    run.finish().assert_code(0);
}

fn summary(recording: &Recording) -> Value {
    let env = TestEnv::new(bins());
    let run = env.stablehand("decode").args(["--agent", "cursor", "--summary"]);
    let run = run.stdin(recording.bytes.clone()).finish();
    run.assert_code(0);
    serde_json::from_slice(&run.stdout).expect("one JSON object")
}

/// Every field of `expected` is in `found` with the same value.
fn assert_contains(found: &Value, expected: &Value, name: &str) {
    match expected {
        Value::Object(fields) => {
            for (key, value) in fields {
                assert_contains(&found[key], value, &format!("{name}: {key}"));
            }
        }
        _ => assert_eq!(found, expected, "{name}"),
    }
}

/// The terminal events of a recording, wrapped in an envelope or not.
fn results(recording: &Recording) -> Vec<Value> {
    let lines = recording.bytes.split(|byte| *byte == b'\n');
    let values = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let bare = values.map(|value| match value.get("payload") {
        Some(payload) => payload.clone(),
        None => value,
    });
    bare.filter(|value| value["type"] == "result").collect()
}

fn ends_well(recording: &Recording) -> bool {
    results(recording).last().is_some_and(|result| result["is_error"] == false)
}
