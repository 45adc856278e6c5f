//! `stablehand run`: any agent, the modern limits, and another try where that is safe.

mod plan;
mod terminal;

use crate::again::AgainArgs;
use crate::ask::AskArgs;
use crate::choice::ChoiceArgs;
use crate::env::Env;
use crate::failure::Failure;
use crate::input::RunPrompt;
use crate::main_stablehand::PROGRAM;
use crate::supervise::{self, Format, House, Results, Setup};
use plan::Prepared;
use stablehand::driver::RunReport;
use stablehand::log::Durability;
use stablehand::recovery::{self, Next};
use stablehand_core::event::SessionEnd;
use stablehand_core::record::DecisionRecord;
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
    let Prepared { agent, runs, log_dir, attendant, settings } =
        Prepared::new(args, &env, &prompt)?;
    let first = runs.spec(&prompt.asked())?;
    if args.dry_run {
        return plan::print(&first, agent, &log_dir, &settings, args.choice.redaction().as_ref());
    }
    let setup = Setup {
        program: PROGRAM,
        log_dir,
        format: args.format(),
        level: args.choice.log_level,
        log_required: args.log_required,
        durability: args.log_sync,
        verify: args.verify,
        told_by_face: &["run_ended", "spawn_failed"],
        dialect: first.dialect,
        status: true,
        redaction: args.choice.redaction(),
        attendant,
        index: args.choice.indexes(&env),
        results: Results::New,
        client: false,
    };
    if first.terminal.is_some() {
        terminal::hush_emulator();
    }
    // Before the log is made, so that a session that is taken leaves nothing behind.
    runs.check_lease()?;
    let mut house = House::open(&env, &setup)?;
    for text in settings.ignored() {
        house.log.decide(DecisionRecord::SettingIgnored(text.into()), None);
    }
    let allowed = args.again.retries;
    let ended = house.run(runs);
    if ended.signal.is_none() {
        let why = match recovery::next(&ended.report, ended.report.tried, allowed) {
            Next::Stop { why } if allowed > 0 => why,
            _ => "",
        };
        tell(&house, &ended.report, why);
    }
    let code = house.close(Ok(supervise::exit_code(&ended)));
    prompt.warn_if_late();
    code
}

/// Says how it ended, where it did not end well.
fn tell(house: &House, report: &RunReport, why_no_retry: &str) {
    if matches!(report.end.end, SessionEnd::Success | SessionEnd::ReaderGone) {
        return;
    }
    // A verdict has been said already, in the words of the log.
    let text = match report.verdict {
        Some(_) => "the agent was stopped".to_owned(),
        None => report.summary(),
    };
    let failure = Failure::new(match why_no_retry {
        "" => text,
        why => format!("{text} (not tried again: {why})"),
    });
    let failure = match report.failure.as_ref().and_then(crate::failure::spawn_hint) {
        Some(hint) => failure.hint(hint),
        None => failure.hint(crate::failure::log_hint(&house.log.path())),
    };
    house.screen.err(failure.message(PROGRAM).as_bytes());
}
