//! `sessions timeline`: the same milliseconds in every form, and hostile text in none.

mod page;

use crate::support::{bins, secs};
use serde_json::Value;
use stablehand_core::record::{DecisionKind, LogOpened, decision_line};
use stablehand_core::{Dialect, UnixMillis};
use stablehand_testkit::{Run, TestEnv};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// When the log was opened.
const ZERO: i64 = 1_790_994_297_441;

/// Times after it at which the lines of the recording came.
const TIMES: [i64; 8] = [103, 104, 5_020, 5_041, 9_033, 14_077, 14_600, 14_613];

/// What they make of its tools: start, end, command.
const TOOLS: [(u64, u64, &str); 2] = [(5_020, 9_033, "sleep 4"), (5_041, 14_077, "sleep 9")];

/// A log in the making.
struct Log(String);

impl Log {
    fn new(dialect: &str) -> Log {
        let mut log = Log(String::new());
        let opened = LogOpened::new(Dialect::by_name(dialect).unwrap());
        log.line(&decision_line(UnixMillis(ZERO), opened));
        log.line(&format!(
            r#"{{"msg":"agent_spawned","ts":{},"run":"r1","agent":"{dialect}","event":{{"type":"process.spawned","pid":1,"argv":[]}}}}"#,
            ZERO + 7
        ));
        log
    }

    fn line(&mut self, line: &str) {
        let _infallible = writeln!(self.0, "{line}");
    }

    fn raw(&mut self, after: i64, line: &str) {
        self.line(&format!(r#"{{"msg":"raw_event","recv_ts":{},"raw":{line}}}"#, ZERO + after));
    }

    /// A command of Claude Code's, from its beginning to its end.
    fn command(&mut self, id: &str, from: i64, to: i64, command: &str, output: &str) {
        let (command, output) = (Value::from(command), Value::from(output));
        self.raw(from, &format!(r#"{{"type":"assistant","message":{{"id":"m","role":"assistant","content":[{{"type":"tool_use","id":"{id}","name":"Bash","input":{{"command":{command}}}}}]}},"session_id":"s1"}}"#));
        self.raw(to, &format!(r#"{{"type":"user","message":{{"role":"user","content":[{{"tool_use_id":"{id}","type":"tool_result","content":{output},"is_error":false}}]}},"session_id":"s1"}}"#));
    }

    fn end(&mut self, after: i64) {
        let (exit, end) = (ZERO + after, ZERO + after + 2);
        self.line(&format!(r#"{{"msg":"agent_exited","ts":{exit},"event":{{"type":"process.exited","exit":{{"code":0}},"forced":false,"leaked":0}}}}"#));
        self.line(&format!(r#"{{"msg":"run_ended","ts":{end},"event":{{"type":"session.ended","end":"success","ended_by":"agent"}}}}"#));
    }

    fn save(self, env: &TestEnv) -> PathBuf {
        // No monitor ever judged it.
        env.damages_logs();
        let path = env.path("recorded.jsonl");
        fs::write(&path, self.0).unwrap();
        path
    }
}

/// A recording of two tools at once, received at known times.
fn parallel(env: &TestEnv) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join("fixtures/cursor/2026.01-parallel.ndjson")).unwrap();
    assert_eq!(text.lines().count(), TIMES.len());
    let mut log = Log::new("cursor");
    for (line, after) in text.lines().zip(TIMES) {
        log.raw(after, line);
    }
    log.end(14_624);
    log.save(env)
}

fn timeline<'e>(env: &'e TestEnv, log: &'e Path, more: &[&'e str]) -> Run<'e> {
    let args = ["timeline", log.to_str().unwrap()];
    env.stablehand("sessions").args(args).args(more.iter().copied())
}

/// Draws into a file and gives back its text.
fn drawn(env: &TestEnv, log: &Path, name: &str) -> (PathBuf, String) {
    let path = env.path(name);
    let run = timeline(env, log, &["-o", path.to_str().unwrap()]).deadline(secs(60));
    run.finish().assert_code(0);
    let text = fs::read_to_string(&path).unwrap();
    (path, text)
}

/// The block of data in a page.
fn data(page: &str) -> Value {
    let (_, rest) = page.split_once(r#"<script type="application/json" id="data">"#).unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

/// Start, end and text of the tools in the JSON form.
fn tools(timeline: &Value) -> Vec<(u64, u64, String)> {
    let spans = timeline["spans"].as_array().unwrap().iter();
    let tools = spans.filter(|span| span["kind"].is_string());
    tools
        .map(|span| {
            let ms = |name: &str| span[name].as_u64().unwrap();
            (ms("start_ms"), ms("end_ms"), span["text"].as_str().unwrap().to_owned())
        })
        .collect()
}

fn expected() -> Vec<(u64, u64, String)> {
    TOOLS.iter().map(|(start, end, text)| (*start, *end, (*text).to_owned())).collect()
}

/// The value of an attribute in a tag.
fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
    Some(rest.split_once('"')?.0)
}

#[test]
fn parallel_tools_are_right_to_the_millisecond_in_every_form() {
    let env = TestEnv::new(bins());
    let log = parallel(&env);
    let run = timeline(&env, &log, &["--json"]).finish();
    run.assert_code(0);
    let json: Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(tools(&json), expected());
    assert_eq!(json["length_ms"], 14_626);
    let (_, page) = drawn(&env, &log, "t.html");
    assert_eq!(data(&page)["timeline"], json, "the page has what --json prints");

    let (_, svg) = drawn(&env, &log, "t.svg");
    let bars = svg.split('<').filter(|tag| tag.starts_with("rect class=\"s execute"));
    let number = |tag: &str, name: &str| attribute(tag, name).unwrap().parse::<f64>().unwrap();
    let mut seen = Vec::new();
    for bar in bars.filter(|tag| tag.contains("data-start")) {
        let (start, end) = (number(bar, "data-start"), number(bar, "data-end"));
        // 1200 pixels, of which 92 are titles and 20 the edge.
        let scale = 1088.0 / 14_626.0;
        assert!((number(bar, "x") - 92.0 - start * scale).abs() < 0.01, "{bar}");
        assert!((number(bar, "width") - (end - start) * scale).abs() < 0.01, "{bar}");
        seen.push((start, end, number(bar, "y")));
    }
    let [one, two] = seen.as_slice() else { panic!("{seen:?}") };
    assert_eq!(((one.0, one.1), (two.0, two.1)), ((5_020.0, 9_033.0), (5_041.0, 14_077.0)));
    assert!(one.2 < two.2, "each has a lane of its own");

    let text = timeline(&env, &log, &["--width", "100"]).finish();
    text.assert_code(0);
    let text = text.stdout_text();
    assert!(text.contains("sleep 4 4.0s") && text.contains("sleep 9 9.0s"), "{text}");
    assert!(text.contains("(agent: 9.0s)"), "{text}");
    assert!(!text.contains('\u{1b}'), "no colours into a pipe");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn a_run_of_ours_is_drawn_as_it_went() {
    let env = crate::support::env(
        "
        read-stdin
        init
        user feed the ponies
        shell c1 200ms make oats
        hang
    ",
    );
    crate::support::run(&env).finish().assert_code(2);
    let folder = env.log_dir();
    let run = env
        .stablehand("sessions")
        .args(["timeline", "latest", "--json", "--log-dir", folder.to_str().unwrap()])
        .finish();
    run.assert_code(0);
    let json: Value = serde_json::from_slice(&run.stdout).unwrap();
    let tracks: Vec<_> = json["lanes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|lane| lane["track"].as_str().unwrap())
        .collect();
    for track in ["run", "turn", "tool", "health", "verdict", "stop"] {
        assert!(tracks.contains(&track), "{tracks:?}");
    }
    let log = env.log();
    let opened = log.one(DecisionKind::LogOpened.name())["ts"].as_i64().unwrap();
    let ended = log.last()["ts"].as_i64().unwrap();
    assert_eq!(json["length_ms"].as_i64().unwrap(), ended - opened);
}

#[test]
fn files_that_cannot_be_written_are_said_before_and_after() {
    let env = TestEnv::new(bins());
    let log = parallel(&env);
    let fails = |output: &str, code: i32, said: &str| {
        let run = timeline(&env, &log, &["-o", output]).finish();
        run.assert_code(code);
        assert!(run.stderr.contains(said) && run.stderr.contains("hint:"), "{}", run.stderr);
        assert!(run.stdout.is_empty());
    };
    fails("picture.png", 64, "cannot tell from `picture.png` what to draw");
    fails("picture", 64, "cannot tell from `picture`");
    fails("-", 64, "`-o -` does not say what to draw");
    fails("/no/such/folder/t.svg", 1, "failed to write `/no/such/folder/t.svg`");
    let folder = env.path("folder.html");
    fs::create_dir(&folder).unwrap();
    fails(folder.to_str().unwrap(), 1, "failed to write");
    timeline(&env, &log, &["--json", "-o", "t.svg"]).finish().assert_code(64);
    timeline(&env, &log, &["--width", "39"]).finish().assert_code(64);

    // A log may be called anything; it is not overwritten by its own picture.
    let odd = env.path("log.svg");
    fs::copy(&log, &odd).unwrap();
    let run = timeline(&env, &odd, &["-o", odd.to_str().unwrap()]).finish();
    run.assert_code(64);
    assert!(run.stderr.contains("is the log itself"), "{}", run.stderr);
    assert_eq!(fs::read(&log).unwrap(), fs::read(&odd).unwrap());

    // What is there is overwritten, and the ending may be written in any way.
    let path = env.path("T.SVG");
    fs::write(&path, "old").unwrap();
    let run = timeline(&env, &log, &["-o", path.to_str().unwrap()]).finish();
    run.assert_code(0);
    assert!(run.stdout_text().contains("14.6s, 6 spans in 6 lanes"), "{}", run.stdout_text());
    assert!(fs::read_to_string(&path).unwrap().starts_with("<svg"));
}

#[test]
fn torn_and_foreign_lines_are_counted_and_nothing_is_not_an_error() {
    let env = TestEnv::new(bins());
    let log = parallel(&env);
    let mut bytes = fs::read(&log).unwrap();
    bytes.extend_from_slice(
        b"17\n{\"msg\":\"from_the_future\",\"ts\":1790994320000}\n{\"time\":\"torn",
    );
    fs::write(&log, bytes).unwrap();
    let run = timeline(&env, &log, &["--json"]).finish();
    run.assert_code(0);
    assert!(run.stderr.contains("2 lines are no record"), "{}", run.stderr);
    let json: Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(tools(&json), expected());
    fs::write(&log, "").unwrap();
    let run = timeline(&env, &log, &[]).finish();
    run.assert_code(0);
    assert!(run.stdout_text().contains("nothing happened"), "{}", run.stdout_text());
    for name in ["empty.svg", "empty.html"] {
        drawn(&env, &log, name);
    }
}

/// A log of everything that an agent may say to break out of a page.
fn hostile(env: &TestEnv) -> PathBuf {
    let mut log = Log::new("claude");
    let token = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let texts = [
        "</script><script>document.title='owned'</script>".to_owned(),
        "<img src=x onerror=\"document.title='owned'\">".to_owned(),
        "]]></title></svg><svg onload=alert(1)>".to_owned(),
        "\u{1b}]0;owned\u{7}\u{202e}gnp.exe\u{0}\u{ffff}".to_owned(),
        "<!-- --><!--<script>".to_owned(),
        format!("export TOKEN={token}"),
        "x".repeat(1 << 20),
    ];
    for (number, text) in texts.iter().enumerate() {
        let from = 100 * i64::try_from(number).unwrap() + 100;
        log.command(&format!("t{number}"), from, from + 50, text, text);
    }
    log.end(2_000);
    log.save(env)
}

#[test]
fn hostile_text_breaks_out_of_nothing() {
    let env = TestEnv::new(bins());
    let log = hostile(&env);
    let (_, page) = drawn(&env, &log, "t.html");
    let (_, svg) = drawn(&env, &log, "t.svg");
    let text = timeline(&env, &log, &[]).finish();
    text.assert_code(0);
    for drawn in [&page, &svg, &text.stdout_text()] {
        assert!(drawn.len() < 300_000, "a long command is cut short: {}", drawn.len());
        for evil in ["\u{1b}", "\u{202e}", "\u{0}", "ghp_16C7"] {
            assert!(!drawn.contains(evil), "{evil:?}");
        }
    }
    assert_eq!(page.matches("</script>").count(), 2, "the data and the script");
    assert!(!page.contains("<img") && !page.contains("<!--"), "no markup of the agent's");
    assert!(!svg.contains("<script") && !svg.contains("<img") && !svg.contains("]]>"));
    assert_eq!(svg.matches("<svg").count(), 1);
    assert!(!svg.contains('\u{ffff}'), "XML cannot hold it");
    assert!(page.contains("[redacted:github-token:"), "what it was is said");
    let (_, rest) = page.split_once("Content-Security-Policy\" content=\"").unwrap();
    let policy = rest.split_once('"').unwrap().0;
    assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
}

#[test]
fn a_picture_grows_with_its_width_and_not_with_the_log() {
    let env = TestEnv::new(bins());
    let mut log = Log::new("claude");
    for number in 0..4_000 {
        let from = 10 * number + 10;
        log.command(&format!("t{number}"), from, from + 5, &format!("step {number}"), "ok");
    }
    log.end(40_100);
    let log = log.save(&env);
    let (_, svg) = drawn(&env, &log, "t.svg");
    let counts = svg.split('<').filter_map(|tag| attribute(tag, "data-count"));
    let together: u64 = counts.map(|count| count.parse::<u64>().unwrap()).sum();
    let alone = svg.matches("class=\"s execute").count() - svg.matches("data-count").count();
    // One of them is in the legend.
    assert_eq!(together + alone as u64 - 1, 4_000, "none is missing");
    assert!(svg.matches("<rect").count() < 1_200, "{}", svg.matches("<rect").count());
}
