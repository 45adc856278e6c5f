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
use crate::supervise::{Format, House, Results, Settled, Setup};
use plan::RunPlan;
use stablehand::driver::{self, RunReport, RunSpec};
use stablehand::log::Durability;
use stablehand::recovery::{self, Next, Tries};
use stablehand_core::event::SessionEnd;
use stablehand_core::record::Level;
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
    let plan = RunPlan::new(args, &env)?;
    let first = plan.spec(&prompt.bytes, plan.resume.clone())?;
    if args.dry_run {
        return plan::print(&first, &plan, args.choice.redaction().as_ref());
    }
    let setup = Setup {
        program: PROGRAM,
        log_dir: plan.log_dir.clone(),
        format: args.format(),
        level: args.choice.log_level,
        log_required: args.log_required,
        durability: args.log_sync,
        verify: args.verify,
        told_by_face: &["run_ended", "spawn_failed"],
        dialect: first.dialect,
        status: true,
        redaction: args.choice.redaction(),
        attendant: plan.attendant.clone(),
        index: args.choice.indexes(&env),
        results: Results::New,
        client: false,
    };
    if first.terminal.is_some() {
        terminal::hush_emulator();
    }
    // Before the log is made, so that a session that is taken leaves nothing behind.
    plan.check_lease()?;
    let mut house = House::open(&env, &setup)?;
    for text in plan.settings.ignored() {
        let fields = serde_json::json!({ "text": text });
        house.log.decide(Level::Warn, "setting_ignored", &fields, None);
    }
    let code = supervise(args, &plan, &mut house, first, prompt.bytes.clone());
    let code = house.close(code);
    prompt.warn_if_late();
    code
}

/// Runs, and runs again where that is allowed and safe, or where a rule has the agent go on.
fn supervise(
    args: &RunArgs,
    plan: &RunPlan,
    house: &mut House,
    first: RunSpec,
    mut prompt: Vec<u8>,
) -> Result<u8, Failure> {
    let mut spec = first;
    let mut resume = plan.resume.clone();
    let mut tried = 0;
    loop {
        spec.tries = Tries { tried, allowed: args.again.retries };
        let (mut report, settled) = house.run(&spec);
        if args.verify {
            verify(house, &report);
        }
        if let Settled::Interrupted(signal) = settled {
            return Ok(128u8.saturating_add(u8::try_from(signal).unwrap_or(2)));
        }
        let continuations = std::mem::take(&mut report.continuations);
        if let Some(continued) = report.continued {
            prompt = continued.prompt.into_bytes();
            resume = report.session;
            spec = RunSpec { continuations, ..plan.spec(&prompt, resume.clone())? };
            continue;
        }
        let next = recovery::next(&report, tried, args.again.retries);
        if let Some(fields) = recovery::on_record(&report, tried, &next) {
            house.log.decide(Level::Warn, "retry_scheduled", &fields, None);
        }
        let (after, session, again) = match next {
            Next::Stop { why } => {
                tell(house, &report, if args.again.retries > 0 { why } else { "" });
                return Ok(driver::exit_code(report.end));
            }
            Next::Again { after } => (after, None, true),
            Next::AgainInSession { session, after } => (after, Some(session), true),
            Next::Continue { session, after } => (after, Some(session), false),
        };
        tried += 1;
        if let Some(signal) = house.rest(after) {
            return Ok(128u8.saturating_add(u8::try_from(signal).unwrap_or(2)));
        }
        let text = if again { prompt.as_slice() } else { args.again.continue_prompt.as_bytes() };
        let next = plan.spec(text, session.or_else(|| resume.clone()))?;
        spec = RunSpec { continuations, ..next };
    }
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

/// Bytes in, bytes out, bytes in the log: the same?
fn verify(house: &mut House, report: &RunReport) {
    let written = house.written();
    let logged = house.logged();
    let same_out = written.as_ref().is_none_or(|w| w.0 == report.bytes && w.1 == report.digest);
    // A log that was redacted is another text.
    let is_raw = !house.log.redaction().is_some_and(|redaction| redaction.raw);
    let same_log = !is_raw || logged.0 == report.bytes && Some(&logged.1) == report.digest.as_ref();
    let verdict = if same_out && same_log { "identical" } else { "DIFFERENT" };
    let out = match &written {
        Some((bytes, _)) => format!("{bytes} bytes written"),
        None => "nothing passed through".into(),
    };
    let text = format!(
        "verify: {} bytes read, {out}, {} bytes in the log{}: {verdict} (sha256 {})",
        report.bytes,
        logged.0,
        if is_raw { "" } else { " (redacted, not compared)" },
        report.digest.as_deref().unwrap_or("unknown")
    );
    let level = if same_out && same_log { Level::Info } else { Level::Error };
    let fields = serde_json::json!({
        "in_bytes": report.bytes,
        "in_sha256": report.digest,
        "out_bytes": written.as_ref().map(|w| w.0),
        "out_sha256": written.as_ref().and_then(|w| w.1.clone()),
        "log_bytes": logged.0,
        "log_sha256": logged.1,
        "identical": same_out && same_log,
        "text": text,
    });
    house.log.decide(level, "verified", &fields, None);
    house.screen.err(format!("{PROGRAM}: {text}\n").as_bytes());
}
