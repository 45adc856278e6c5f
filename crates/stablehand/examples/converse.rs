//! A conversation: every line is a prompt, and questions of the agent are answered by `y` or `n`.
//!
//! `cargo run --example converse -- claude [PROGRAM]`. An interrupt of the turn is the line `stop`.

#![expect(clippy::print_stdout, reason = "it is a program, and this is what it says")]

use stablehand::{Agent, EventKind, Handle, Policy, Session};
use std::io::BufRead;
use std::sync::{Arc, Mutex};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    stablehand::init();
    let mut words = std::env::args().skip(1);
    let agent = words.next().and_then(|name| Agent::by_name(&name)).ok_or("which agent?")?;
    let mut builder = Session::builder(agent).conversation().policy(Policy::Ask);
    if let Some(program) = words.next() {
        builder = builder.program(program);
    }
    let mut session = builder.start()?;
    let handle = session.handle();
    let question = Arc::new(Mutex::new(None::<String>));
    let asked = Arc::clone(&question);
    std::thread::spawn(move || listen(&handle, &asked));
    for event in session.events() {
        match event.event {
            EventKind::ItemDelta { text, .. } => print!("{text}"),
            EventKind::TurnEnded { end, .. } => println!("\n[{end:?}]"),
            EventKind::ApprovalRequested { id, what, waits: true, .. } => {
                println!("[may it {what}? y/n]");
                *question.lock().map_err(|_| "a thread broke down")? = Some(id);
            }
            EventKind::ApprovalResolved { choice, by, .. } => println!("[{choice} by {by}]"),
            _ => {}
        }
    }
    println!("{:?}", session.wait()?.end());
    Ok(())
}

fn listen(handle: &Handle, question: &Mutex<Option<String>>) {
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let asked = question.lock().ok().and_then(|mut open| open.take());
        let refused = match (asked, line.trim()) {
            (Some(id), "y") => handle.approve(&id).err().map(|error| error.to_string()),
            (Some(id), why) => handle.deny(&id, why).err().map(|error| error.to_string()),
            (None, "stop") => {
                handle.cancel();
                None
            }
            (None, prompt) => handle.prompt(prompt).err().map(|error| error.to_string()),
        };
        if let Some(why) = refused {
            println!("[{why}]");
        }
    }
    handle.finish();
}
