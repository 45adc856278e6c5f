//! What goes in and comes out, byte for byte: difficult prompts, long ones, and the agent's own stream.

use crate::support::{Told, for_main_agents, for_quick_agents, told};
use stablehand::Agent;
use stablehand_testkit::llm::echo_of;
use stablehand_testkit::llm::scene::{HELLO, UNICODE, long_text};
use stablehand_testkit::real::Real;
use std::time::{Duration, Instant};

for_main_agents!(unicode, slow_reader, prompt_like_an_option);
for_quick_agents!(prompt_of_a_megabyte, own_stream);

/// Not a byte more or less; the message is short because the prompt need not be.
#[track_caller]
fn assert_model_got(real: &Real, prompt: &str) {
    let requests = real.llm.main_requests();
    let got = requests.last().expect("a request").prompt();
    let begin: String = got.chars().take(200).collect();
    assert!(
        got == real.as_sent(prompt),
        "{} bytes instead of {}: {begin:?}",
        got.len(),
        prompt.len()
    );
}

fn unicode(real: &Real) {
    let prompt = format!("Say this: {UNICODE}");
    let told = told(real.run("unicode").stdin(prompt.as_bytes()));
    told.assert_success();
    assert_eq!(told.messages(), [UNICODE]);
    assert_model_got(real, &prompt);
}

/// A prompt is data, whatever it begins with.
fn prompt_like_an_option(real: &Real) {
    let prompt = "--help me with --version and -x";
    let told = told(real.run("hello").stdin(prompt));
    told.assert_success();
    assert_eq!(told.messages(), [HELLO]);
    assert_model_got(real, prompt);
}

/// No argument of a program can be so long; no pipe takes it at once.
fn prompt_of_a_megabyte(real: &Real) {
    let line = "oats and hay, oats and hay, and now and then a carrot.\n";
    let mut prompt = line.repeat(1_000_000 / line.len());
    prompt.push_str("The end.");
    let told = told(real.run("echo").stdin(prompt.as_bytes()));
    told.assert_success();
    assert_model_got(real, &prompt);
    assert_eq!(told.messages(), [echo_of(&prompt)]);
}

/// Standard output has what the program wrote, and so has the log.
fn own_stream(real: &Real) {
    let run =
        real.run("shell").flag("--output-format", "stream-json").args(["--verify", "Run it."]);
    let finished = run.finish();
    finished.assert_code(0);
    let log = real.env.log();
    assert!(finished.stdout == log.raw_bytes(), "standard output differs from the log");
    assert!(finished.stdout.len() > 500, "{}", finished.stdout_text());
    for line in finished.stdout_json() {
        assert!(line["type"].is_string(), "{line}");
    }
    assert_eq!(log.one("verified")["identical"], true);
}

/// Most of these programs write what fits into the pipe, throw the rest away and exit with 0 when
/// their reader is slow. We always read, so that our own reader may take its time.
fn slow_reader(real: &Real) {
    let run = real.run("long").flag("--output-format", "stream-json").args(["Tell me everything."]);
    let mut running = run.stdout_unread().start();
    let since = Instant::now();
    while !real.env.logs().iter().any(|log| log.has("agent_exited")) {
        assert!(since.elapsed() < Duration::from_mins(1), "{}", real.env.log_tail());
        std::thread::sleep(Duration::from_millis(100));
    }
    running.read_stdout_now();
    let finished = running.finish();
    finished.assert_code(0);
    assert!(finished.stdout == real.env.log().raw_bytes(), "standard output differs from the log");
    let dialect = Agent::by_name(real.agent.name()).unwrap().row().dialect;
    let decode = real.env.stablehand("decode").flag("--agent", dialect.name());
    let told = Told::from(decode.stdin(finished.stdout).finish());
    assert_eq!(told.messages().concat().trim_end(), long_text().trim_end());
}
