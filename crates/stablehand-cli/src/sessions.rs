//! `stablehand sessions`: what runs left behind.
//!
//! One module a command; `read` and `find` serve them all. What the records mean is core's.

mod approvals;
mod find;
mod read;
mod reindex;
mod show;

use crate::failure::Failure;

/// What runs left behind
#[derive(Debug, clap::Subcommand)]
pub enum SessionsCommand {
    /// Show a run from its log: what was said and done, or what was asked and decided
    Show(show::ShowArgs),
    /// Make the index of the logs anew, or hold it against them
    Reindex(reindex::ReindexArgs),
}

/// Runs it.
pub fn main(command: &SessionsCommand) -> Result<u8, Failure> {
    match command {
        SessionsCommand::Show(args) => show::main(args),
        SessionsCommand::Reindex(args) => reindex::main(args),
    }
}
