//! `stablehand sessions`: what runs left behind.
//!
//! One module a command; `read` and `find` serve them all. What the records mean is core's.

mod approvals;
mod export;
pub(crate) mod find;
mod glance;
mod pick;
mod play;
pub(crate) mod read;
mod resume;
mod show;
mod story;
mod tail;
mod timeline;
mod tools;

use crate::failure::Failure;

/// What runs left behind
#[derive(Debug, clap::Subcommand)]
pub enum SessionsCommand {
    /// Show a run from its log: what was said and done, or what was asked and decided
    Show(show::ShowArgs),
    /// Draw what happened when: in the terminal, as a picture, or as a page to zoom and search in
    Timeline(timeline::TimelineArgs),
    /// Export a run as a document: Markdown, a page of HTML, events, or a recording for asciinema
    Export(export::ExportArgs),
    /// Show the end of a run, and follow it while it goes on
    Tail(tail::TailArgs),
    /// Go on with a session: the right agent, in its workspace, with a new prompt
    Resume(Box<resume::ResumeArgs>),
}

/// Runs it.
pub fn main(command: &SessionsCommand) -> Result<u8, Failure> {
    match command {
        SessionsCommand::Show(args) => show::main(args),
        SessionsCommand::Timeline(args) => timeline::main(args),
        SessionsCommand::Export(args) => export::main(args),
        SessionsCommand::Tail(args) => tail::main(args),
        SessionsCommand::Resume(args) => resume::main(args),
    }
}
