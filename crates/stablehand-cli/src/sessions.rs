//! `stablehand sessions`: what runs left behind.
//!
//! One module a command; `read` and `find` serve them all. What the records mean is core's.

mod approvals;
mod find;
mod fresh;
mod grid;
mod ls;
mod prune;
mod read;
mod search;
mod select;
mod show;
mod stats;
mod when;

use crate::failure::Failure;

/// What runs left behind
#[derive(Debug, clap::Subcommand)]
pub enum SessionsCommand {
    /// List sessions, the one with the latest news first
    Ls(ls::LsArgs),
    /// Search everything that was asked, said, thought and done
    Search(Box<search::SearchArgs>),
    /// Count runs: how they ended, where the time went, tokens, cost, tools
    Stats(stats::StatsArgs),
    /// Remove old logs
    Prune(prune::PruneArgs),
    /// Show a run from its log: what was said and done, or what was asked and decided
    Show(show::ShowArgs),
}

/// Runs it.
pub fn main(command: &SessionsCommand) -> Result<u8, Failure> {
    match command {
        SessionsCommand::Ls(args) => ls::main(args),
        SessionsCommand::Search(args) => search::main(args),
        SessionsCommand::Stats(args) => stats::main(args),
        SessionsCommand::Prune(args) => prune::main(args),
        SessionsCommand::Show(args) => show::main(args),
    }
}
