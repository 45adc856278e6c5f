//! `sessions show`: one run as the text that was shown while it ran, or as the list of what was
//! asked and decided.

use super::approvals;
use super::read::{LogArgs, each_event, each_line, warn};
use crate::env::Env;
use crate::failure::Failure;
use crate::redact::RedactArgs;
use crate::render::TextView;
use crate::screen::Screen;
use stablehand::follow::Show;
use stablehand_core::ledger::Ledger;
use stablehand_core::record::Record;
use std::io::ErrorKind;
use std::path::Path;

/// Show a run from its log
#[derive(Debug, clap::Args)]
pub struct ShowArgs {
    #[command(flatten)]
    log: LogArgs,

    /// List every question and decision: what about, allowed or not, by which rule or by whom
    #[arg(long)]
    approvals: bool,

    /// With --approvals, for programs: an array of objects
    #[arg(long, requires = "approvals")]
    json: bool,
}

/// Runs it.
pub(super) fn main(args: &ShowArgs) -> Result<u8, Failure> {
    let env = Env::read()?;
    let log = args.log.find(&env)?;
    if args.approvals {
        let mut ledger = Ledger::default();
        each_line(&log, |line| {
            ledger.record(&Record::read(line));
            Ok(())
        })?;
        warn(&log, ledger.skipped());
        return approvals::print(ledger.entries(), args.json, &env);
    }
    transcript(&log)
}

/// The text of a run, as it was shown.
fn transcript(log: &Path) -> Result<u8, Failure> {
    let io = |error: std::io::Error| Failure::new(format!("failed to print: {error}"));
    let redaction = RedactArgs::default().redaction(&[]);
    let screen = Screen::start(redaction.as_ref()).map_err(io)?;
    let mut view = TextView::new(screen.clone(), true);
    let mut gone = false;
    let skipped = each_event(log, |event| {
        match view.event(event) {
            Ok(()) => Ok(true),
            // `stablehand sessions show | head` has had enough.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                gone = true;
                Ok(false)
            }
            Err(error) => Err(io(error)),
        }
    })?;
    if !gone {
        match view.pause() {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => return Err(io(error)),
            _ => screen.flush(),
        }
    }
    warn(log, skipped);
    Ok(0)
}
