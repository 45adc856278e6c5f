//! `stablehand sessions`: what runs left behind.
//!
//! One module a command; `read` and `find` serve them all. What the records mean is core's.

mod approvals;
pub(crate) mod find;
pub(crate) mod read;
mod show;
mod timeline;

use crate::failure::Failure;

/// What runs left behind
#[derive(Debug, clap::Subcommand)]
pub enum SessionsCommand {
    /// Show a run from its log: what was said and done, or what was asked and decided
    Show(show::ShowArgs),
    /// Draw what happened when: in the terminal, as a picture, or as a page to zoom and search in
    Timeline(timeline::TimelineArgs),
}

/// Runs it.
pub fn main(command: &SessionsCommand) -> Result<u8, Failure> {
    match command {
        SessionsCommand::Show(args) => show::main(args),
        SessionsCommand::Timeline(args) => timeline::main(args),
    }
}
