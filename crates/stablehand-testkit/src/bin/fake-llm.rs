//! The fake model service by hand: prints its address and ends by itself.
//!
//! Owns the command line only; the service is `stablehand_testkit::llm`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for a person")]

use stablehand_testkit::FakeLlm;
use stablehand_testkit::llm::scene::Scene;
use std::process::ExitCode;
use std::time::Duration;

const USAGE: &str = "\
usage: fake-llm [--port N] [--life SECONDS] | --scene-list

A fake model service on the loopback. Give an agent http://127.0.0.1:PORT/s/SCENE as its base URL
(with /v1 after it for OpenAI's clients). It ends by itself after --life seconds (600).
";

enum Wanted {
    Serve { port: u16, life: Duration },
    SceneList,
    Usage,
}

fn main() -> ExitCode {
    match wanted(std::env::args().skip(1)) {
        None => {
            eprint!("{USAGE}");
            ExitCode::from(64)
        }
        Some(Wanted::Usage) => {
            print!("{USAGE}");
            ExitCode::SUCCESS
        }
        Some(Wanted::SceneList) => {
            for scene in Scene::all() {
                println!("{:14} {}", scene.name, scene.about);
            }
            ExitCode::SUCCESS
        }
        Some(Wanted::Serve { port, life }) => match FakeLlm::start_on(port) {
            Err(error) => {
                eprintln!("fake-llm: cannot listen on port {port} of the loopback: {error}");
                ExitCode::FAILURE
            }
            Ok(llm) => {
                println!("{}", llm.base_url("hello"));
                std::thread::sleep(life);
                ExitCode::SUCCESS
            }
        },
    }
}

fn wanted(mut args: impl Iterator<Item = String>) -> Option<Wanted> {
    let (mut port, mut life) = (0, Duration::from_mins(10));
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--port" => port = args.next()?.parse().ok()?,
            "--life" => life = Duration::from_secs(args.next()?.parse().ok()?),
            "--scene-list" => return Some(Wanted::SceneList),
            "--help" | "-h" => return Some(Wanted::Usage),
            _ => return None,
        }
    }
    Some(Wanted::Serve { port, life })
}
