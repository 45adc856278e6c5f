//! The door of `stablehand`.

use crate::decode::DecodeArgs;
use crate::demo;
use crate::env::KEEPER;
use crate::policy::PolicyArgs;
use crate::run::RunArgs;
use crate::talk::TalkArgs;
use crate::{decode, policy, run, talk};
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// The name in messages and in the log.
pub const PROGRAM: &str = "stablehand";

/// Runs any command-line coding agent so that a person can leave it alone.
#[derive(Debug, Parser)]
#[command(name = "stablehand", version, max_term_width = 100, after_help = crate::failure::EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run an agent, supervised
    Run(Box<RunArgs>),
    /// Talk with an agent: many turns, and it may ask
    Talk(Box<TalkArgs>),
    /// Read an agent's recorded output from standard input as events
    Decode(DecodeArgs),
    /// Try out the rules about what an agent may do
    Policy(PolicyArgs),
    #[command(name = "__demo-agent", hide = true, disable_help_flag = true)]
    Demo(demo::DemoArgs),
}

/// Parses the command line and runs.
pub fn main() -> ExitCode {
    // Before anything else is set up: a keeper is to be small.
    if std::env::args_os().nth(1).is_some_and(|word| word == KEEPER) {
        return crate::keeper_exit();
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return crate::explain(&error),
    };
    let result = match cli.command {
        Command::Run(args) => run::main(&args),
        Command::Talk(args) => talk::main(&args),
        Command::Decode(args) => decode::main(&args),
        Command::Policy(args) => policy::main(&args),
        Command::Demo(args) => demo::main(&args),
    };
    crate::finish(PROGRAM, result)
}
