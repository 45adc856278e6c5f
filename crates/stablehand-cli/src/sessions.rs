//! `stablehand sessions`: what runs left behind.
//!
//! One module a command; `read` and `find` serve them all. What the records mean is core's.

mod approvals;
mod find;
mod import;
mod read;
mod show;

use crate::failure::Failure;

/// What runs left behind
#[derive(Debug, clap::Subcommand)]
pub enum SessionsCommand {
    /// Show a run from its log: what was said and done, or what was asked and decided
    Show(show::ShowArgs),

    /// Bring into the index what agents did before Stablehand, from their own transcripts
    Import(import::ImportArgs),
}

/// Runs it.
pub fn main(command: &SessionsCommand) -> Result<u8, Failure> {
    match command {
        SessionsCommand::Show(args) => show::main(args),
        SessionsCommand::Import(args) => import::main(args),
    }
}
