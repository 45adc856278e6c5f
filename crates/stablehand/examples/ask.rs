//! One question, one answer: `cargo run --example ask -- claude "Which tests are slow?"`

#![expect(clippy::print_stdout, reason = "it is a program, and this is what it says")]

use stablehand::{Agent, EventKind, Policy, Session};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    stablehand::init();
    let mut words = std::env::args().skip(1);
    let agent = words.next().and_then(|name| Agent::by_name(&name)).ok_or("which agent?")?;
    let prompt = words.collect::<Vec<_>>().join(" ");
    let mut session = Session::builder(agent).prompt(prompt).policy(Policy::Deny).start()?;
    for event in session.events() {
        if let EventKind::ItemDelta { text, .. } = event.event {
            print!("{text}");
        }
    }
    let outcome = session.wait()?;
    println!("\n{:?}; the log is {}", outcome.end(), outcome.log.display());
    Ok(())
}
