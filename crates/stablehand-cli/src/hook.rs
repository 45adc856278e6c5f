//! `stablehand hook EVENT`: what an agent starts when one of its hooks is due.
//!
//! An agent may start it before every tool, so it is on an early path: no parser of arguments, no
//! log, nothing but the socket of the run above. A signal does not end it, since some agents take a
//! hook that was interrupted for a yes. Everything that goes wrong is a
//! denial where somebody waits for yes or no; wrong usage too, with the exit status that agents
//! take for one. Without a run above, `--alone` judges right here, by the user's policy.
//!
//! There is a small program, `stablehand-hook`, with nothing else in it: the large one takes more than
//! twice the time of `/bin/true` merely to be loaded. What it cannot do it leaves to the large one.

use nix::sys::signal::{SigSet, Signal};
use stablehand::hook_call::{HookCall, SOCKET, TOKEN, socket_of, token_of};
use stablehand::hooks::SMALL;
use stablehand_core::Dialect;
use stablehand_core::hook::Answered;
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// The name in messages.
const PROGRAM: &str = "stablehand";

/// The subcommand.
pub const SUBCOMMAND: &str = "hook";

/// Blocks, with every agent that has hooks.
const BLOCK: u8 = 2;

/// How long an answer may take where nobody says: the shortest default of an agent, less a little.
const WITHIN: Duration = Duration::from_secs(55);

/// For `--help` alone: the early path reads the arguments itself.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The event's payload is read from standard input; the answer is written to \
standard output in the agent's own shape. Where the agent waits for yes or no and no good answer \
comes, the answer is no."
)]
pub struct HookArgs {
    /// Whose hook it is [default: the agent that has such an event]
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,

    /// Without a run of ours above, judge by the user's policy and the project's; have no opinion
    /// where there is none
    #[arg(long)]
    alone: bool,

    /// Answer within so many seconds
    #[arg(long, value_name = "SECONDS")]
    within: Option<u64>,

    /// The folder of the run to ask where no run of ours is above [see `STABLEHAND_HOOK_SOCKET`]
    #[arg(long, value_name = "FOLDER")]
    run: Option<PathBuf>,

    /// The agent's name of the event, such as preToolUse
    #[arg(value_name = "EVENT")]
    event: String,
}

/// What was asked for.
#[derive(Debug, Default)]
struct Wanted {
    agent: Option<String>,
    alone: bool,
    within: Option<Duration>,
    run: Option<PathBuf>,
    event: Option<String>,
}

/// Reads the arguments behind the subcommand.
fn read(mut args: impl Iterator<Item = OsString>) -> Result<Wanted, String> {
    let mut wanted = Wanted::default();
    while let Some(arg) = args.next() {
        let text = arg.to_str().ok_or("an argument is not UTF-8")?;
        let mut value = |name: &str| args.next().ok_or_else(|| format!("{name} needs a value"));
        match text {
            "--agent" => wanted.agent = Some(value(text)?.to_string_lossy().into_owned()),
            "--alone" => wanted.alone = true,
            "--within" => {
                let seconds = value(text)?;
                let seconds = seconds.to_str().and_then(|text| text.parse().ok());
                let seconds = seconds.ok_or("--within needs a number of seconds")?;
                wanted.within = Some(Duration::from_secs(seconds));
            }
            "--run" => wanted.run = Some(value(text)?.into()),
            option if option.starts_with('-') => {
                return Err(format!("there is no option {option}"));
            }
            event if wanted.event.is_none() => wanted.event = Some(event.to_owned()),
            more => return Err(format!("one event at a time; `{more}` is one too many")),
        }
    }
    Ok(wanted)
}

/// Whose hook it is: the name, and the hooks. Dialects and agents have the same names here; the table
/// of agents would bring everything along that can be done with one.
fn whose(wanted: &Wanted, event: &str) -> Result<Dialect, String> {
    if let Some(name) = &wanted.agent {
        return Dialect::by_name(name).ok_or_else(|| format!("no agent is called `{name}`"));
    }
    let has = |one: &&Dialect| one.hook_answers().is_some_and(|hooks| hooks.event(event).is_some());
    let found = Dialect::ALL.iter().find(has).copied();
    found.ok_or_else(|| format!("no agent has a hook called `{event}`"))
}

/// What is done without a run above.
pub type Alone = fn(&HookCall<'_>) -> Answered;

/// Serves one hook. `None` where the arguments ask for help, which somebody else gives.
pub fn early_main(alone: Alone) -> Option<ExitCode> {
    let args: Vec<OsString> = std::env::args_os().skip(2).collect();
    if args.iter().any(|arg| arg == "--help" || arg == "-h") {
        return None;
    }
    hold_on();
    let wanted = match read(args.into_iter()) {
        Ok(wanted) => wanted,
        Err(why) => return Some(blocked(&why)),
    };
    let Some(event) = wanted.event.clone() else {
        return Some(blocked("no event is named"));
    };
    let agent = match whose(&wanted, &event) {
        Ok(agent) => agent,
        Err(why) => return Some(blocked(&why)),
    };
    Some(say(&serve(&wanted, agent, &event, alone)))
}

/// Whoever interrupts an agent interrupts its group, and so this hook too; the answer must still
/// come. Every wait here has an end of its own.
fn hold_on() {
    let ends = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT];
    // Where it cannot be done, the answer is only less certain to come.
    let _less_certain = SigSet::from_iter(ends).thread_block();
}

fn serve(wanted: &Wanted, agent: Dialect, event: &str, alone: Alone) -> Answered {
    let var = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let mut call = HookCall {
        agent: agent.name(),
        hooks: agent.hook_answers(),
        event,
        socket: var(SOCKET).map(PathBuf::from),
        token: String::new(),
        within: wanted.within.unwrap_or(WITHIN),
    };
    match &wanted.run {
        _ if call.socket.is_some() => {
            call.token = var(TOKEN).and_then(|it| it.into_string().ok()).unwrap_or_default();
        }
        Some(folder) => match std::fs::read_to_string(token_of(folder)) {
            Ok(token) => {
                call.socket = Some(socket_of(folder));
                call.token = token;
            }
            Err(error) => {
                let folder = folder.display();
                return call.refuse(&format!("the run at `{folder}` cannot be reached: {error}"));
            }
        },
        None if wanted.alone => return alone(&call),
        None => {}
    }
    call.make(&mut std::io::stdin())
}

/// Says it; an answer that cannot be said is none.
fn say(answered: &Answered) -> ExitCode {
    let said = std::io::stdout()
        .write_all(answered.stdout.as_bytes())
        .and_then(|()| std::io::stdout().flush())
        .and_then(|()| std::io::stderr().write_all(answered.stderr.as_bytes()));
    ExitCode::from(if said.is_ok() { answered.exit } else { BLOCK })
}

fn blocked(why: &str) -> ExitCode {
    let stderr = format!("{PROGRAM} hook: {why}; see `{PROGRAM} hook --help`\n");
    say(&Answered { stdout: String::new(), stderr, exit: BLOCK })
}

/// The whole of `stablehand-hook`.
pub fn small_main() -> ExitCode {
    match early_main(ask_large) {
        Some(code) => code,
        None => say(&large()),
    }
}

/// Only the large program knows the policy files.
fn ask_large(_: &HookCall<'_>) -> Answered {
    large()
}

/// Becomes the large program with the same arguments; comes back only where that cannot be done.
fn large() -> Answered {
    let program = std::env::current_exe().map(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        path.with_file_name(name.strip_suffix(SMALL).unwrap_or(PROGRAM))
    });
    let failed = program.map(|program| {
        std::process::Command::new(program).args(std::env::args_os().skip(1)).exec()
    });
    let (Ok(why) | Err(why)) = failed;
    let stderr = format!("{PROGRAM}-hook: `{PROGRAM}` cannot be started beside it: {why}\n");
    Answered { stdout: String::new(), stderr, exit: BLOCK }
}
