//! Runs commands that the shipped `read-only` profile allows, in a cell with tripwires.
//!
//! A policy says that a command only reads. Here that is tried: commands are made up by the thousand,
//! the policy decides, and what it allows runs for real in a chroot of its own, where a file that was
//! written, a connection that was made or a secret that was printed shows at once. `cell` is the chroot,
//! `commands` makes commands up. The same seed gives the same commands.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for a person and a test")]

#[cfg(target_os = "linux")]
mod cell;
#[cfg(target_os = "linux")]
mod commands;
#[cfg(target_os = "linux")]
mod rng;

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    eprintln!("tripwire: there are no namespaces on this system");
    std::process::ExitCode::from(77)
}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    linux::main()
}

#[cfg(target_os = "linux")]
mod linux {
    use super::cell::{Cell, SECRET, Trip};
    use super::commands::{Corpus, Maker};
    use super::rng::Rng;
    use serde_json::Value;
    use stablehand::policy_world::FileWorld;
    use stablehand_core::event::{ToolInput, ToolKind};
    use stablehand_policy::{Action, Call, Policy, profile};
    use std::path::Path;
    use std::process::{Command, ExitCode};
    use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

    /// Holes that are looked for before it gives up.
    const ENOUGH: u32 = 20;
    /// The inner process has found one, and its cell is spoilt.
    const TRIPPED: u8 = 3;
    /// This system cannot give the cell.
    const SKIPPED: u8 = 77;

    const USAGE: &str =
        "usage: tripwire [--seconds N] [--seed N] [--commands FILE.toml ...] [--run COMMAND]";

    /// What stands beside the profile in every second decision.
    const SECRETS: &str = "[policy]\n[[policy.rule]]\nname = \"secrets\"\naction = \"deny\"\n\
                           path = [\"~/.ssh/**\", \".env\", \"src/.env\"]\n";

    struct Args {
        seconds: u64,
        seed: u64,
        tables: Vec<String>,
        run: Option<String>,
        is_inside: bool,
    }

    fn read_args() -> Result<Args, String> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |now| now.as_secs());
        let mut args = Args { seconds: 60, seed: now, tables: vec![], run: None, is_inside: false };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("`{word}` needs a value\n{USAGE}"));
            let number =
                |text: String| text.parse().map_err(|_| format!("`{text}` is no number\n{USAGE}"));
            match word.as_str() {
                "--seconds" => args.seconds = number(value()?)?,
                "--seed" => args.seed = number(value()?)?,
                "--commands" => args.tables.push(value()?),
                "--run" => args.run = Some(value()?),
                "--inside" => args.is_inside = true,
                _ => return Err(format!("`{word}` is not known\n{USAGE}")),
            }
        }
        Ok(args)
    }

    pub(super) fn main() -> ExitCode {
        let args = match read_args() {
            Ok(args) => args,
            Err(error) => {
                eprintln!("tripwire: {error}");
                return ExitCode::from(64);
            }
        };
        if args.is_inside {
            return match inside(&args) {
                Ok(code) => code,
                Err(error) => {
                    eprintln!("tripwire: no cell: {error}");
                    ExitCode::from(SKIPPED)
                }
            };
        }
        outside(&args)
    }

    /// Starts cells, one after the other: a trip spoils the one that it happened in.
    fn outside(args: &Args) -> ExitCode {
        println!("tripwire: seed {}, {} s", args.seed, args.seconds);
        let began = Instant::now();
        let mut trips = 0;
        loop {
            let left = Duration::from_secs(args.seconds).saturating_sub(began.elapsed());
            let Ok(this) = std::env::current_exe() else { return ExitCode::FAILURE };
            let mut unshare = Command::new("unshare");
            unshare.args([
                "--user",
                "--map-root-user",
                "--mount",
                "--net",
                "--ipc",
                "--uts",
                "--pid",
            ]);
            unshare.args(["--fork", "--kill-child=KILL", "--"]).arg(this).arg("--inside");
            unshare.args(["--seconds", &left.as_secs().to_string()]);
            unshare.args(["--seed", &args.seed.wrapping_add(trips.into()).to_string()]);
            for table in &args.tables {
                unshare.args(["--commands", table]);
            }
            if let Some(command) = &args.run {
                unshare.args(["--run", command]);
            }
            let code = match unshare.status() {
                Ok(status) => status.code(),
                Err(error) => {
                    eprintln!("tripwire: cannot start `unshare`: {error}");
                    return ExitCode::from(SKIPPED);
                }
            };
            if code == Some(TRIPPED.into()) {
                trips += 1;
                if trips < ENOUGH && args.run.is_none() && began.elapsed().as_secs() < args.seconds
                {
                    continue;
                }
            } else if code != Some(0) {
                let code = code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
                return ExitCode::from(code);
            }
            println!("tripwire: {trips} trips in {} s", began.elapsed().as_secs());
            return if trips == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE };
        }
    }

    fn policies() -> Result<[Policy; 2], String> {
        let text = profile("read-only").ok_or("there is no profile `read-only`")?;
        let plain = Policy::parse(text, "read-only").map_err(|error| error.to_string())?;
        let secrets = Policy::parse(SECRETS, "secrets").map_err(|error| error.to_string())?;
        Ok([plain.clone(), Policy::layered([plain, secrets])])
    }

    fn allows(policy: &Policy, command: &str, world: &FileWorld) -> bool {
        let input = ToolInput::Command { command: command.to_owned(), cwd: None };
        let (kind, arguments) = (ToolKind::Execute, Value::Null);
        let call = Call {
            agent: "",
            tool: "Shell",
            kind,
            input: &input,
            also: &[],
            arguments: &arguments,
            cwd: None,
        };
        policy.decide(&call, world).action == Action::Allow
    }

    fn inside(args: &Args) -> Result<ExitCode, String> {
        let policies = policies()?;
        let mut corpus = Corpus::default();
        for table in &args.tables {
            corpus.read(Path::new(table))?;
        }
        let mut cell = Cell::enter()?;
        let world = FileWorld::new(Path::new("/w"), Some(Path::new("/home/u")), &[]);
        if let Some(command) = &args.run {
            let allowed = policies.each_ref().map(|policy| allows(policy, command, &world));
            let done = cell.run("bash", command);
            println!("{command}\n  allowed: {allowed:?}\n  trip: {:?}\n{}", done.trip, done.text);
            return Ok(ExitCode::from(if done.trip.is_some() { TRIPPED } else { 0 }));
        }
        // A tripwire that cannot trip proves nothing.
        let honest = cell.run("bash", "cat a.txt; git log --oneline");
        if honest.trip.is_some() || !honest.text.contains("first") {
            return Err(format!(
                "an honest command fails in it: {:?} {}",
                honest.trip, honest.text
            ));
        }
        let mut maker = Maker::new(&mut cell, corpus, Rng::new(args.seed));
        let until = Instant::now() + Duration::from_secs(args.seconds);
        let (mut made, mut ran) = (0_u64, 0_u64);
        while Instant::now() < until {
            let made_up = maker.next();
            made += 1;
            let with_secrets = made % 2 == 0;
            let [plain, secrets] = &policies;
            let policy = if with_secrets { secrets } else { plain };
            if !allows(policy, &made_up.command, &world) {
                continue;
            }
            ran += 1;
            let done = cell.run(made_up.shell, &made_up.command);
            maker.learn(&made_up.command);
            let printed = with_secrets && done.text.contains(SECRET);
            if let Some(trip) = done.trip.or(printed.then_some(Trip::Secret)) {
                println!("TRIP after {ran} of {made} commands: {trip}");
                println!("  {}: {}", made_up.shell, made_up.command);
                println!("  policy: read-only{}", if with_secrets { " and secrets" } else { "" });
                return Ok(ExitCode::from(TRIPPED));
            }
        }
        println!("tripwire: {ran} of {made} commands were allowed and ran without a trip");
        // The wires hold to the end.
        let wires = ["touch ran", "echo > /dev/tcp/127.0.0.1/9"];
        for wire in wires {
            if cell.run("bash", wire).trip.is_none() {
                return Err(format!("`{wire}` trips no wire"));
            }
            cell.forget();
        }
        Ok(ExitCode::SUCCESS)
    }
}
