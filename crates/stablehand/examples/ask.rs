//! One question, one answer: `cargo run --example ask -- claude "Which tests are slow?"`

#![expect(clippy::print_stdout, reason = "it is a program, and this is what it says")]

use stablehand::{Agent, Policy, Session};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    stablehand::init();
    let mut words = std::env::args().skip(1);
    let agent = words.next().and_then(|name| Agent::by_name(&name)).ok_or("which agent?")?;
    let prompt = words.collect::<Vec<_>>().join(" ");
    let session = Session::builder(agent).prompt(prompt).policy(Policy::Deny).start()?;
    let outcome = session.wait()?;
    println!("{}", outcome.final_text().unwrap_or_default());
    let (model, tools) = (outcome.model().unwrap_or("a model"), outcome.tool_count());
    println!("{:?} after {:?}: {model}, {tools} tools", outcome.end(), outcome.duration());
    println!("the log is {}", outcome.log.display());
    Ok(())
}
