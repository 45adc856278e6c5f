//! `stablehand acp`: the Agent Client Protocol towards an editor.
//!
//! Owns the arguments. With `--agent` we are the agent and drive any other (`acp/serve.rs`); with
//! `--through` an agent that speaks the protocol itself is passed through (`acp/through.rs`); with
//! `--print-config` an editor's settings are printed (`acp/config.rs`). How we speak the protocol with
//! agents is core's (`decode/acp`).

mod config;
mod serve;
mod through;

use crate::again::AgainArgs;
use crate::choice::ChoiceArgs;
use crate::failure::Failure;
use config::Editor;

/// Be an agent of the Agent Client Protocol on standard input and output, for editors.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = crate::failure::EXIT_CODES)]
pub struct AcpArgs {
    #[command(flatten)]
    choice: ChoiceArgs,

    #[command(flatten)]
    again: AgainArgs,

    /// Supervise this agent, which speaks the protocol itself, and pass everything on unchanged: a
    /// command line, split as a shell would
    #[arg(long, value_name = "COMMAND")]
    through: Option<String>,

    /// Print what to paste into the settings of an editor, and do nothing else
    #[arg(long, value_name = "EDITOR", value_enum)]
    print_config: Option<Editor>,
}

/// Leaves out of the help what comes from the editor.
pub(crate) fn trim_help(command: clap::Command) -> clap::Command {
    let comes_from_editor =
        |arg: &clap::Arg| ["prompt", "resume", "continue_latest"].contains(&arg.get_id().as_str());
    command.mut_args(|arg| if comes_from_editor(&arg) { arg.hide(true) } else { arg })
}

/// Serves one editor; the exit status.
pub fn main(args: &AcpArgs) -> Result<u8, Failure> {
    let choice = &args.choice;
    if !choice.prompt.is_empty() || choice.resume.is_some() || choice.continue_latest {
        return Err(Failure::usage("prompts and sessions come from the editor")
            .hint("leave out the prompt, --resume and --continue"));
    }
    if let Some(editor) = args.print_config {
        return config::print(editor, choice, args.through.as_deref());
    }
    match &args.through {
        Some(command) => through::main(command, choice),
        None => serve::main(choice, &args.again),
    }
}
