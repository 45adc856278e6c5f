//! `stablehand sessions`: what runs left behind.
//!
//! One module a command; `read` and `find` serve them all. What the records mean is core's.

mod approvals;
mod find;
mod read;
mod replay;
mod show;
mod tune;

use crate::failure::Failure;

/// What runs left behind
#[derive(Debug, clap::Subcommand)]
pub enum SessionsCommand {
    /// Show a run from its log: what was said and done, or what was asked and decided
    Show(show::ShowArgs),
    /// Play a run again from its log, check that it would be judged the same, or try other limits
    Replay(Box<replay::ReplayArgs>),
    /// Say what each value of each limit would have done to past runs, and which to choose
    Tune(tune::TuneArgs),
}

/// Runs it.
pub fn main(command: &SessionsCommand) -> Result<u8, Failure> {
    match command {
        SessionsCommand::Show(args) => show::main(args),
        SessionsCommand::Replay(args) => replay::main(args),
        SessionsCommand::Tune(args) => tune::main(args),
    }
}
