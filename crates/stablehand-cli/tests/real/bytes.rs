//! What goes in and comes out, byte for byte: difficult prompts, long ones, and the agent's own stream.

use crate::support::{for_each_agent, told};
use stablehand_testkit::llm::echo_of;
use stablehand_testkit::llm::scene::{HELLO, UNICODE, long_text};
use stablehand_testkit::real::{Real, RealAgent};

for_each_agent!(unicode, prompt_like_an_option, prompt_of_a_megabyte, long_answer, own_stream);

/// The prompt as the model gets it. OpenCode puts it into quotes.
fn as_sent(agent: RealAgent, prompt: &str) -> String {
    if agent == RealAgent::OpenCode { format!("\"{prompt}\"") } else { prompt.to_owned() }
}

#[track_caller]
fn assert_model_got(real: &Real, prompt: &str) {
    let requests = real.llm.main_requests();
    let got = requests.last().expect("a request").prompt();
    let same = got == prompt || got == as_sent(real.agent, prompt);
    let (start, end): (String, String) =
        (got.chars().take(200).collect(), got.chars().rev().take(200).collect());
    assert!(same, "{} bytes of {}: {start:?} … {end:?} (reversed)", got.len(), prompt.len());
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
    let got = real.llm.main_requests().last().unwrap().prompt().to_owned();
    assert_eq!(told.messages(), [echo_of(&got)]);
}

fn long_answer(real: &Real) {
    let told = told(real.run("long").args(["Tell me everything."]));
    told.assert_success();
    assert_eq!(told.messages().concat().trim_end(), long_text().trim_end());
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
