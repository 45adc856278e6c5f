//! A log shown to a view: its events, without their secrets, to the end or as long as somebody reads.

use super::find::Found;
use super::read::{each_event, warn};
use crate::failure::Failure;
use crate::redact::RedactArgs;
use stablehand::redact::{Redacting, Redaction};
use stablehand::show::Show;
use stablehand_analysis::history::History;
use stablehand_core::Event;
use std::io::{self, ErrorKind};

/// What is taken out of what is shown.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct SecretArgs {
    /// Take nothing out: by default what looks like a secret is replaced. What was taken out when the
    /// log was written stays so
    #[arg(long)]
    no_redact: bool,
}

impl SecretArgs {
    /// What is redacted; nothing where that is wished.
    pub(super) fn redaction(self) -> Option<Redaction> {
        if self.no_redact { None } else { RedactArgs::default().redaction(&[]) }
    }
}

/// Shows a log or an imported session, and gives the view back. A reader who has gone has had enough.
pub(super) fn play<V: Show>(
    found: &Found,
    view: V,
    redaction: Option<&Redaction>,
) -> Result<V, Failure> {
    let mut view = Redacting::new(view, redaction);
    let mut gone = false;
    let show = |event: &Event| {
        let there = still_there(view.event(event))?;
        gone = !there;
        Ok(there)
    };
    let skipped = match found {
        Found::Log(log) => each_event(log, show)?,
        Found::Imported(imported) => {
            imported.each_event(show)?;
            0
        }
    };
    if !gone {
        still_there(view.finish())?;
    }
    if let Found::Log(log) = found {
        warn(log, skipped);
    }
    Ok(view.into_inner())
}

/// Reads a log or an imported session as a history.
pub(super) fn history(found: &Found, redaction: Option<&Redaction>) -> Result<History, Failure> {
    struct Collect(History);

    impl Show for Collect {
        fn event(&mut self, event: &Event) -> io::Result<()> {
            self.0.event(event);
            Ok(())
        }

        fn pause(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    Ok(play(found, Collect(History::default()), redaction)?.0)
}

/// Whether somebody still reads.
pub(super) fn still_there(printed: io::Result<()>) -> Result<bool, Failure> {
    match printed {
        Ok(()) => Ok(true),
        // `stablehand sessions show | head` has had enough.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::new(format!("failed to print: {error}"))),
    }
}
