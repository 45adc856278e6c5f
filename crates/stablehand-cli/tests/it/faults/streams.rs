//! Streams that hold anything: bytes that are no text, lines without end, far too many of them.

use crate::support::{agent_output, env, print, secs};
use stablehand_testkit::TestEnv;
use stablehand_testkit::agent::{GIANT_HEAD, GIANT_TAIL};

/// Runs a script and demands that every byte comes out and is in the log.
fn passes_unchanged(script: &str) -> TestEnv {
    let env = env(script);
    let run = print(&env).finish();
    run.assert_code(0);
    let expected = agent_output(script);
    assert!(run.stdout == expected, "{} bytes, not {}", run.stdout.len(), expected.len());
    assert!(env.log().raw_bytes() == expected, "the log joins back to the same bytes");
    env
}

#[test]
fn odd_bytes_pass_unchanged() {
    passes_unchanged(
        r#"
        raw \xef\xbb\xbf{"type":"system","subtype":"init","session_id":"bom"}\r\n
        raw \n\n\r\n \t \n
        raw \x00\n\x00\x00 nul \x00\n
        raw \xff\xfe\xc3\x28 not utf-8\n\xed\xa0\x80 half a surrogate\n
        raw "\\ud800 alone"\n[1,2]\nnull\n17\n"text"\n{}\n
        raw   {"type" : "assistant"}  \n{"type":"assistant","type":"user"}\n
        raw {"type":"tool_call"}\n{"type":5}\n{"type":"nobody","subtype":"knows"}\n
        raw {"a":1e999,"b":-0,"c":123456789012345678901234567890}\n
        raw \x1b]52;c;aGF5\x07\x1b[2J\n
        result done
        raw no last newline
    "#,
    );
}

#[test]
fn deep_nesting_passes_unchanged() {
    let depth = 20_000;
    let (open, close) = ("[".repeat(depth), "]".repeat(depth));
    let objects = format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
    passes_unchanged(&format!("init\nsay {open}{close}\nsay {objects}\nsay {open}\nresult done"));
}

#[test]
fn three_hundred_thousand_events_at_once_pass_unchanged() {
    let script = "init\nevents thinking 200000 block\nevents tool 100000 block\nresult done";
    let env = env(script);
    let run = print(&env).deadline(secs(60)).finish();
    run.assert_code(0);
    assert!(run.stdout == agent_output(script), "byte-identical");
    // Counted in the text: parsing so many records takes longer than the run.
    let path = &stablehand_testkit::LogFile::paths_in(&env.log_dir())[0];
    let log = std::fs::read_to_string(path).unwrap();
    assert_eq!(log.matches(r#""msg":"raw_event""#).count(), 300_002);
    run.assert_memory();
}

#[test]
fn lines_written_one_by_one_pass_unchanged() {
    passes_unchanged("init\nevents assistant 5000 line\nresult done");
}

#[test]
fn a_line_of_a_few_megabytes_is_logged_in_parts_that_join() {
    passes_unchanged("init\ngiant 20000000\nresult done");
}

#[test]
fn a_giant_line_without_an_end_is_kept() {
    let script = format!("init\nresult done\nraw {}", "x".repeat(3_000_000));
    passes_unchanged(&script);
}

/// A whole gibibyte in a build with optimisation, a quarter of one in a build without.
#[test]
fn giant_line_of_a_gibibyte_passes_in_bounded_memory() {
    const SIZE: u64 = if cfg!(debug_assertions) { 1 << 28 } else { 1 << 30 };
    let env = env(&format!("init\ngiant {SIZE}\nresult done"));
    let before = [agent_output("init"), GIANT_HEAD.to_vec()].concat();
    let last = String::from_utf8(agent_output("init\nresult done")).unwrap();
    let last = last.lines().last().unwrap();
    let after = [GIANT_TAIL, last.as_bytes(), b"\n"].concat();
    let (from, to) = (before.len() as u64, before.len() as u64 + SIZE);
    let whole = to + after.len() as u64;
    let (mut head, mut tail) = (Vec::new(), Vec::new());
    let long = vec![b'x'; 1 << 20];
    let run = print(&env).deadline(secs(150)).stdout_check(move |offset, block| {
        // What of this block lies before, in and after the long string.
        let cut = |at: u64| (at.clamp(offset, offset + block.len() as u64) - offset) as usize;
        let (first, rest) = block.split_at(cut(from));
        let (middle, last) = rest.split_at(cut(to) - first.len());
        head.extend_from_slice(first);
        tail.extend_from_slice(last);
        assert!(middle == &long[..middle.len()], "changed somewhere after {offset}");
        if block.is_empty() {
            assert_eq!(offset, whole, "bytes in all");
            assert!(head == before && tail == after, "the ends of the line");
        }
    });
    let run = run.finish();
    run.assert_code(0);
    run.assert_memory();
    let path = &stablehand_testkit::LogFile::paths_in(&env.log_dir())[0];
    assert!(std::fs::metadata(path).unwrap().len() > SIZE, "the whole line is in the log");
}

#[test]
fn a_stderr_line_of_a_megabyte_does_not_stop_the_agent() {
    let env = env("init\nstderr-giant 1000000\nstderr-giant 1000000\nresult done");
    print(&env).finish().assert_code(0).assert_within(secs(10));
    let expected = format!("{0}\n{0}\n", "x".repeat(1_000_000));
    assert!(env.log().stderr_bytes() == expected.as_bytes(), "every byte is in the log");
}

#[test]
fn stderr_without_end_is_read_in_bounded_memory() {
    let env = env("init\nstderr-giant 40000000\nresult done");
    let run = print(&env).deadline(secs(60)).finish();
    run.assert_code(0);
    run.assert_memory();
}

#[test]
fn json_on_stderr_is_not_taken_for_events() {
    let script =
        "init\nstderr {\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false}\nexit 0";
    print(&env(script)).finish().assert_code(1);
}
