//! `sessions show`: one log, or one imported session, as a transcript, as the agent's bytes, as events, or as the list of its
//! tools or of what was asked and decided.

use super::find::glance;
use super::play::{SecretArgs, history, play, still_there};
use super::read::{LogArgs, each_record, warn};
use super::{approvals, tools};
use crate::env::Env;
use crate::failure::Failure;
use crate::output::{self, Look, Paint, Table};
use crate::render::{EventLines, TextView};
use crate::screen::Screen;
use stablehand::log::Writer;
use stablehand::log::{Glance, LogKind};
use stablehand_analysis::ledger::Ledger;
use stablehand_core::record::{Record, Stream};
use stablehand_core::time::{UnixMillis, human};
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::time::Duration;

/// Show a run from its log, or an imported session
#[derive(Debug, clap::Args)]
pub struct ShowArgs {
    #[command(flatten)]
    log: LogArgs,

    /// The agent's standard output, byte for byte as it wrote it, secrets included
    #[arg(long, group = "form")]
    raw: bool,

    /// Our events, one JSON object a line, as `run --output-format events` gives them
    #[arg(long, group = "form")]
    events: bool,

    /// List every tool call: when, what, how long, and what became of it
    #[arg(long, group = "form")]
    tools: bool,

    /// List every question and decision: what about, allowed or not, by which rule or by whom
    #[arg(long, group = "form")]
    approvals: bool,

    /// With --tools or --approvals, for programs: an array of objects
    #[arg(long, conflicts_with_all = ["raw", "events"], requires = "form")]
    json: bool,

    #[command(flatten)]
    secrets: SecretArgs,
}

/// Runs it.
pub(super) fn main(args: &ShowArgs) -> Result<u8, Failure> {
    let env = Env::read()?;
    let found = args.log.find_any(&env)?;
    if args.raw {
        return raw(&found.log("--raw")?);
    }
    if args.approvals {
        let log = found.log("--approvals")?;
        let mut ledger = Ledger::default();
        each_record(&log, |record| {
            ledger.record(record);
            Ok(())
        })?;
        warn(&log, ledger.skipped());
        return approvals::print(ledger.entries(), args.json, &env);
    }
    let redaction = args.secrets.redaction();
    if args.tools {
        let history = history(&found, redaction.as_ref())?;
        return tools::print(&history, args.json, &env);
    }
    let io = |error: std::io::Error| Failure::new(format!("failed to print: {error}"));
    let screen = Screen::start(redaction.as_ref()).map_err(io)?;
    if args.events {
        play(&found, EventLines::new(screen), redaction.as_ref())?;
        return Ok(0);
    }
    let seen = found.glance()?;
    let paint = Paint::new(&env);
    let said = |text: String| match &redaction {
        Some(redaction) => redaction.redactor.redact(&text).into_owned(),
        None => text,
    };
    if !still_there(screen.out(said(head(&seen, paint)).as_bytes()))? {
        return Ok(0);
    }
    let view = TextView::new(screen.clone(), true).with_prompts();
    play(&found, view, redaction.as_ref())?;
    still_there(screen.out(said(ending(&seen, paint)).as_bytes()))?;
    screen.flush();
    Ok(0)
}

/// Whose run it was, where and when.
fn head(seen: &Glance, paint: Paint) -> String {
    let mut table = Table::default();
    let mut line = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            table.row(vec![(name.to_owned(), Look::Dim), (value, Look::Plain)]);
        }
    };
    let agent = seen.agent.as_ref().map(|agent| match &seen.model {
        Some(model) => format!("{agent} ({model})"),
        None => agent.clone(),
    });
    line("agent", agent);
    line("workspace", seen.cwd.clone());
    line("session", seen.session.as_ref().map(|session| session.0.clone()));
    line("began", seen.began.map(UnixMillis::readable));
    let file = match seen.kind {
        LogKind::Log => "log",
        LogKind::Transcript => "imported",
    };
    line(file, Some(seen.log.display().to_string()));
    table.render(paint, 0) + "\n"
}

/// How it ended, or that it did not.
fn ending(seen: &Glance, paint: Paint) -> String {
    let (mut text, look) = outcome(seen, ", after");
    if let Some(end) = &seen.end {
        text = format!("{text}: {}", end.text);
    }
    let mut table = Table::default();
    table.row(vec![(format!("{:<9}", "ended"), Look::Dim), (text, look)]);
    format!("\n{}", table.render(paint, 0))
}

/// How a run ended and after how long, in words, and how good that is.
pub(super) fn outcome(seen: &Glance, after: &str) -> (String, Look) {
    match (&seen.end, seen.writer) {
        (Some(end), _) => {
            let took = end.elapsed_ms.map(|ms| human(Duration::from_millis(ms)));
            let took = took.map(|time| format!("{after} {time}")).unwrap_or_default();
            let look = if end.outcome == "success" { Look::Good } else { Look::Bad };
            (format!("{}{took}", end.outcome), look)
        }
        (None, Writer::There) => ("not yet: it is still running".to_owned(), Look::Warn),
        (None, Writer::Gone | Writer::Unknown) => {
            ("no end is on record: it broke off".to_owned(), Look::Bad)
        }
    }
}

/// What the agent wrote to its standard output.
fn raw(log: &Path) -> Result<u8, Failure> {
    if glance(log)?.redacted_raw {
        output::say(&format!(
            "WARN this log was written with --redact-raw: secrets were taken out of `{}`",
            log.display()
        ));
    }
    let mut out = BufWriter::with_capacity(64 << 10, std::io::stdout().lock());
    let mut gone = false;
    let skipped = each_record(log, |record| {
        if let Record::Raw { stream: Stream::Stdout, bytes, newline, .. } = record
            && !gone
        {
            let end: &[u8] = if *newline { b"\n" } else { b"" };
            let written = out.write_all(bytes).and_then(|()| out.write_all(end));
            gone = !still_there(written)?;
        }
        Ok(())
    })?;
    if !gone {
        still_there(out.flush())?;
    }
    warn(log, skipped);
    Ok(0)
}
