//! `stablehand run`: any agent, the modern limits, and another try where that is safe.

mod plan;
mod terminal;

use crate::again::AgainArgs;
use crate::ask::AskArgs;
use crate::choice::ChoiceArgs;
use crate::env::Env;
use crate::failure::Failure;
use crate::input::RunPrompt;
use crate::shell::{Format, Setup, Shell};
use plan::Plan;
use stablehand::log::Durability;
use stablehand::recovery::{self, Next};
use stablehand_core::event::SessionEnd;
use terminal::TerminalArgs;

/// Run an agent, supervised: it cannot hang, leave processes behind or lose output.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = crate::failure::EXIT_CODES)]
pub struct RunArgs {
    #[command(flatten)]
    choice: ChoiceArgs,

    /// For scripts: the agent's own output instead of text, unless --output-format says otherwise
    #[arg(short = 'p', long)]
    print: bool,

    /// What standard output carries [default: stream-json with -p, text without]
    #[arg(long, value_enum)]
    output_format: Option<Format>,

    #[command(flatten)]
    again: AgainArgs,

    /// Judge and write down what would have been done, but stop nothing
    #[arg(long)]
    observe_only: bool,

    /// Compare what was read with what was written and logged, by SHA-256, at the end
    #[arg(long)]
    verify: bool,

    /// Print how the agent would be started, and do not start it
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    asks: AskArgs,

    #[command(flatten)]
    terminal: TerminalArgs,

    /// When the log reaches the disk: in groups within 100 ms, or always before anybody sees it
    #[arg(long, value_name = "group|always", default_value = "group", value_parser = durability, help_heading = "Log")]
    log_sync: Durability,

    /// Stop the run when the log cannot be written
    #[arg(long, help_heading = "Log")]
    log_required: bool,
}

fn durability(name: &str) -> Result<Durability, String> {
    match name {
        "group" => Ok(Durability::Group),
        "always" => Ok(Durability::Always),
        _ => Err(format!("`{name}` is not a way to sync; choose group or always")),
    }
}

impl RunArgs {
    /// Which agent, how, and within which limits.
    pub(crate) fn choice(&self) -> &ChoiceArgs {
        &self.choice
    }

    /// The same, with another choice.
    pub(crate) fn with_choice(&self, choice: ChoiceArgs) -> RunArgs {
        RunArgs { choice, ..self.clone() }
    }

    fn format(&self) -> Format {
        self.output_format.unwrap_or(if self.print { Format::StreamJson } else { Format::Text })
    }
}

/// Runs it; the exit status.
pub fn main(args: &RunArgs) -> Result<u8, Failure> {
    let env = Env::read()?;
    let prompt = RunPrompt::read(&args.choice.prompt, &env)?;
    let plan = Plan::new(args, &env, &prompt)?;
    if args.dry_run {
        return plan.print(args.choice.redaction().as_ref());
    }
    let setup = Setup {
        format: args.format(),
        told_by_face: &["run_ended", "spawn_failed", "verified", "prompt_denied"],
        status: true,
        attendant: plan.attendant,
        verify: args.verify,
        ..Setup::of(&args.choice, &env)?
    };
    if plan.has_terminal {
        terminal::hush_emulator();
    }
    let mut shell = Shell::start(&env, plan.spec, &setup)?;
    let ended = shell.wait()?;
    let is_well = matches!(ended.outcome.end(), SessionEnd::Success | SessionEnd::ReaderGone);
    if ended.signal.is_none() && !is_well {
        let (report, allowed) = (&ended.outcome.report, args.again.retries);
        let why = match recovery::next(report, report.tried, allowed) {
            Next::Stop { why } if allowed > 0 => why,
            _ => "",
        };
        shell.tell(&ended.failure(why));
    }
    let code = shell.close(&ended, ended.exit_code());
    prompt.warn_if_late();
    Ok(code)
}
