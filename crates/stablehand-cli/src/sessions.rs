//! `stablehand sessions`: what runs left behind.
//!
//! One module a command; `read` and `find` serve them all. What the records mean is
//! core's and the analyses'.

mod approvals;
mod export;
pub(crate) mod find;
mod fresh;
mod import;
mod imported;
pub(crate) mod known;
mod ls;
mod pick;
mod play;
mod prune;
pub(crate) mod read;
mod records;
mod reindex;
mod replay;
mod resume;
mod search;
mod select;
mod show;
mod stats;
mod tail;
mod timeline;
mod tools;
mod tune;
mod when;

use crate::failure::Failure;
use std::ffi::OsString;

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
    /// Show a run, or an imported session: what was said and done, or what was asked and decided
    Show(show::ShowArgs),
    /// Draw what happened when: in the terminal, as a picture, or as a page to zoom and search in
    Timeline(timeline::TimelineArgs),
    /// Export a run as a document: Markdown, a page of HTML, events, or a recording for asciinema
    Export(export::ExportArgs),
    /// Show the end of a run, and follow it while it goes on
    Tail(tail::TailArgs),
    /// Go on with a session: the right agent, in its workspace, with a new prompt
    Resume(Box<resume::ResumeArgs>),
    /// Play a run again from its log, check that it would be judged the same, or try other limits
    Replay(Box<replay::ReplayArgs>),
    /// Say what each value of each limit would have done to past runs, and which to choose
    Tune(tune::TuneArgs),
    /// Bring into the index what agents did before Stablehand, from their own transcripts
    Import(import::ImportArgs),
    /// Make the index of the logs anew, or hold it against them
    Reindex(reindex::ReindexArgs),
}

/// The arguments of our program, such that words to search for are not taken for flags.
pub(crate) fn mark_words(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    search::mark_words(arguments)
}

/// Runs it.
pub fn main(command: &SessionsCommand) -> Result<u8, Failure> {
    match command {
        SessionsCommand::Ls(args) => ls::main(args),
        SessionsCommand::Search(args) => search::main(args),
        SessionsCommand::Stats(args) => stats::main(args),
        SessionsCommand::Prune(args) => prune::main(args),
        SessionsCommand::Show(args) => show::main(args),
        SessionsCommand::Timeline(args) => timeline::main(args),
        SessionsCommand::Export(args) => export::main(args),
        SessionsCommand::Tail(args) => tail::main(args),
        SessionsCommand::Resume(args) => resume::main(args),
        SessionsCommand::Replay(args) => replay::main(args),
        SessionsCommand::Tune(args) => tune::main(args),
        SessionsCommand::Import(args) => import::main(args),
        SessionsCommand::Reindex(args) => reindex::main(args),
    }
}
