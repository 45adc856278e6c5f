//! `stablehand doctor LOG`: why a run ended as it did, from its log.
//!
//! Reads the log, takes secrets out and prints. What the records mean and which causes fit is
//! [`stablehand_analysis::post_mortem`]'s; `text` has the form for people.

mod text;

use crate::env::Env;
use crate::failure::Failure;
use crate::output::{Paint, print, print_json};
use crate::redact::RedactArgs;
use crate::sessions::find;
use crate::sessions::read::{PlaceArgs, each_record, warn};
use stablehand_analysis::post_mortem::{PostMortem, Report, Standing, Which};
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Which run to look at.
#[derive(Debug, clap::Args)]
pub(super) struct RunArgs {
    /// Look at a run that is over instead, and say why it ended as it did: the path of a log, the id
    /// of a session or a run, or `latest`
    #[arg(value_name = "LOG|ID|latest")]
    which: Option<OsString>,

    /// Which run of the log, counted from 1 [default: the last that did not end well]
    #[arg(long, value_name = "N", requires = "which", value_parser = clap::value_parser!(u64).range(1..))]
    run: Option<u64>,

    #[command(flatten)]
    place: PlaceArgs,
}

impl RunArgs {
    /// The log that is meant, where one is.
    pub(super) fn which(&self) -> Option<&OsStr> {
        self.which.as_deref()
    }
}

/// Looks at the run and says what it found; 0 when it ended well.
pub(super) fn main(which: &OsStr, args: &RunArgs, json: bool, env: &Env) -> Result<u8, Failure> {
    let log = find::log(which, &args.place.folder(env)?, env)?;
    let meant = match args.run {
        Some(number) => Which::Number(number),
        None => Which::Id(which.to_string_lossy().into_owned()),
    };
    let mut post_mortem = PostMortem::of(meant);
    each_record(&log, |record| {
        post_mortem.record(record);
        Ok(())
    })?;
    let (runs, skipped) = (post_mortem.runs(), post_mortem.skipped());
    warn(&log, skipped);
    let report = post_mortem.report().ok_or_else(|| no_run(&log, runs, args.run))?;
    // Raw records are as the agent wrote them, and so is what is quoted from them.
    let redaction = RedactArgs::default().redaction(&[]);
    let printed = if json {
        let mut value = serde_json::to_value(&report)
            .map_err(|error| Failure::new(format!("failed to write the report: {error}")))?;
        if let Some(redaction) = &redaction {
            redaction.redactor.redact_json(&mut value);
        }
        print_json(&value)
    } else {
        let text = text::of(&report, &log, Paint::new(env));
        match &redaction {
            Some(redaction) => print(&redaction.redactor.redact(&text)),
            None => print(&text),
        }
    };
    printed.map(|_| exit_code(&report))
}

fn exit_code(report: &Report) -> u8 {
    u8::from(report.standing != Standing::Well)
}

fn no_run(log: &Path, runs: u64, wanted: Option<u64>) -> Failure {
    let path = log.display();
    match (runs, wanted) {
        (0, _) => Failure::new(format!("no run was begun in `{path}`"))
            .hint("is it a log of Stablehand's? see docs/log-format.md"),
        (runs, Some(wanted)) => {
            Failure::new(format!("there is no run {wanted} in `{path}`: it has {runs}"))
                .hint("leave out --run for the last that did not end well")
        }
        (_, None) => Failure::new(format!("there is nothing to tell about `{path}`")),
    }
}
