//! Logs that were torn, mixed with other text or written by a newer program: what is whole is shown, and
//! the rest is warned of.

use super::*;
use std::fs;

/// A log of a run that hung, with its records one by one.
fn log() -> (TestEnv, Vec<Vec<u8>>) {
    let env =
        env("init\nstderr first words\nassistant-before-tool Feeding.\nstderr last words\nhang");
    run(&env).finish().assert_code(2);
    let bytes = fs::read(&env.log().path).expect("the log");
    let lines = bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    (env, lines)
}

fn write(env: &TestEnv, lines: &[Vec<u8>]) -> String {
    let path = env.path("damaged.jsonl");
    fs::write(&path, lines.concat()).expect("writing the log");
    path.display().to_string()
}

fn show<'e>(env: &'e TestEnv, which: &str) -> Run<'e> {
    env.stablehand("sessions").args(["show", which])
}

/// What is shown of a log, with the warnings; the agent's own standard error is shown there, too.
fn shown(env: &TestEnv, path: &str) -> [(String, String); 2] {
    let (text, doctor) = (show(env, path).finish(), doctor(env, path, &[]).finish());
    text.assert_code(0);
    doctor.assert_code(1);
    let warnings = |stderr: &str| stderr.lines().filter(|line| line.contains("WARN")).collect();
    [&text, &doctor].map(|run| (run.stdout_text(), warnings(&run.stderr)))
}

#[test]
fn whole_records_are_shown_whatever_stands_between_them() {
    let (env, mut lines) = log();
    let whole = write(&env, &lines);
    let [(text, no_warning), (doctor, none_either)] = shown(&env, &whole);
    assert_eq!((no_warning.as_str(), none_either.as_str()), ("", ""));
    assert!(text.contains("Feeding."), "{text}");

    lines.insert(3, b"somebody's text\n".to_vec());
    lines.insert(4, b"{\"msg\":\"something_new\",\"ts\":1,\"v\":[]}\n".to_vec());
    lines.insert(5, b"17\n\x00\x00\x00\n\xff\xfe\n".to_vec());
    let at = lines.len() - 2;
    lines.insert(at, b"{\"time\":\"2026-10-03T02:24:57.441Z\",\"level\":\"DEBUG\",\"ms\n".to_vec());
    for line in &mut lines {
        if line.ends_with(b"}\n") {
            line.insert(line.len() - 1, b'\r');
        }
    }
    let damaged = write(&env, &lines);
    let [(text_after, warning), (doctor_after, other_warning)] = shown(&env, &damaged);
    assert_eq!(text_after, text, "nothing that was whole is missing");
    for said in [warning, other_warning] {
        assert!(said.contains("5 lines are no record"), "{said}");
    }
    assert!(doctor_after.contains("lines of this run are no record"), "{doctor_after}");
    let until_remarks =
        |text: &str| text.split("Remarks").next().map(|text| text.trim_end().to_owned());
    let log_line = |text: String| text.replace(&damaged, "LOG").replace(&whole, "LOG");
    assert_eq!(until_remarks(&log_line(doctor_after)), until_remarks(&log_line(doctor)));
}

#[test]
fn a_log_that_was_cut_off_says_so() {
    let (env, mut lines) = log();
    let ends_run = |line: &Vec<u8>| String::from_utf8_lossy(line).contains("\"run_ended\"");
    let at = lines.iter().position(ends_run).expect("the last record of the run");
    lines.truncate(at + 1);
    let end = lines.pop().expect("the last record");
    lines.push(end[..end.len() / 2].to_vec());
    let path = write(&env, &lines);
    let [_, (doctor, warning)] = shown(&env, &path);
    assert!(warning.contains("1 line is no record"), "{warning}");
    assert!(doctor.contains("ends in the middle of a line"), "{doctor}");
}

#[test]
fn a_log_of_a_newer_program_is_read_and_says_so() {
    let (env, mut lines) = log();
    let first = String::from_utf8_lossy(&lines[0]).replace("\"v\":2", "\"v\":3");
    assert_ne!(first.as_bytes(), lines[0]);
    lines[0] = first.into_bytes();
    let path = write(&env, &lines);
    for (text, said) in shown(&env, &path) {
        assert!(said.contains("version 3") && said.contains("knows 2"), "{said}");
        assert!(text.contains("Feeding.") || text.contains("What it was doing"), "{text}");
    }
}

#[test]
fn a_line_without_an_end_takes_bounded_memory() {
    let (env, mut lines) = log();
    lines.push(vec![b'x'; 80 << 20]);
    let path = write(&env, &lines);
    for run in [show(&env, &path).finish(), doctor(&env, &path, &[]).finish()] {
        assert!(run.stderr.contains("1 line is no record"), "{}", run.stderr);
        assert!(run.peak_rss_kib < 64 * 1024, "held {} KiB", run.peak_rss_kib);
    }
}

#[test]
fn what_is_no_log_is_said() {
    let env = env("exit 0");
    let path = write(&env, &[b"not a log\n".to_vec()]);
    let run = doctor(&env, &path, &[]).finish();
    run.assert_code(1);
    assert!(
        run.stderr.contains("no run was begun") && run.stderr.contains("hint:"),
        "{}",
        run.stderr
    );
}
