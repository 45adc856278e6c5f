//! `sessions timeline`: what happened when, as text, as a picture, as a page.
//!
//! Owns the arguments, the reading of the log, the writing of the file, and the drawing in a terminal
//! (`text`). Spans, pictures and pages are [`stablehand_analysis::timeline`]'s.

mod text;

use super::export::create_private;
use super::read::{LogArgs, each_record, is_same_file, warn};
use crate::duration;
use crate::env::Env;
use crate::failure::Failure;
use crate::output::{self, Paint};
use crate::redact::RedactArgs;
use stablehand_analysis::timeline::{Fold, SILENCE_MS, Timeline};
use stablehand_core::time::{human, millis};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Text for nobody's terminal is so wide.
const COLUMNS: usize = 80;

/// A picture is so wide unless somebody says otherwise: it fits a page of documentation.
const PIXELS: usize = 1200;

/// The least that an axis and a few words need.
const LEAST: (usize, usize) = (40, 400);

/// Draw what happened when
#[derive(Debug, clap::Args)]
pub struct TimelineArgs {
    #[command(flatten)]
    log: LogArgs,

    /// Draw it into a file, by its ending: `.svg`, a still picture, or `.html`, a page to zoom and
    /// search in; both need nothing but themselves [default: text, here]
    #[arg(short, long, value_name = "FILE", conflicts_with = "json")]
    output: Option<PathBuf>,

    /// For programs: lanes and spans as one JSON object
    #[arg(long)]
    json: bool,

    /// How wide: columns of text, or pixels of an `.svg` [default: the terminal, else 80; 1200]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(40..=20_000))]
    width: Option<u16>,

    /// From how much silence on it is shown, while nothing is open [default: 2s]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    silence: Option<Duration>,
}

/// What is drawn into a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Svg,
    Html,
}

/// Runs it.
pub(super) fn main(args: &TimelineArgs) -> Result<u8, Failure> {
    // A wrong name is said before anything is read.
    let output = match &args.output {
        Some(path) => Some((path, form(path)?)),
        None => None,
    };
    let env = Env::read()?;
    let log = args.log.find(&env)?;
    let timeline = read(&log, args.silence)?;
    warn(&log, timeline.skipped);
    if timeline.left_out > 0 {
        output::say(&format!(
            "WARN {} spans beyond the first {} are left out",
            timeline.left_out,
            timeline.spans.len()
        ));
    }
    if args.json {
        return output::print_json(&timeline);
    }
    let width = args.width.map(usize::from);
    let Some((path, form)) = output else {
        let terminal = env.terminal_size.map(|size| usize::from(size.cols()));
        let columns = width.or(terminal).unwrap_or(COLUMNS).max(LEAST.0);
        return output::print(&text::draw(&timeline, columns, Paint::new(&env)));
    };
    if is_same_file(path, &log) {
        return Err(Failure::usage(format!("`{}` is the log itself", path.display()))
            .hint("name another file with -o"));
    }
    let drawn = match form {
        Form::Svg => timeline.svg(width.unwrap_or(PIXELS).max(LEAST.1)),
        Form::Html => timeline.html(),
    };
    create_private(path).and_then(|mut file| file.write_all(drawn.as_bytes())).map_err(
        |error| {
            Failure::new(format!("failed to write `{}`: {error}", path.display()))
                .hint("name a file that you may write to with -o")
        },
    )?;
    let (spans, lanes) = (timeline.spans.len(), timeline.lanes.len());
    let took = human(Duration::from_millis(timeline.length_ms));
    let kib = drawn.len().div_ceil(1024);
    output::print(&format!(
        "{}: {took}, {spans} spans in {lanes} lanes, {kib} KiB\n",
        path.display()
    ))
}

/// What a file is to hold, by its ending.
fn form(path: &Path) -> Result<Form, Failure> {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    match ending.as_deref() {
        Some("svg") => Ok(Form::Svg),
        Some("html" | "htm") => Ok(Form::Html),
        // Standard output has no ending, and text is what goes there anyway.
        _ if path.as_os_str() == "-" => {
            Err(Failure::usage("`-o -` does not say what to draw: a picture or a page")
                .hint("leave -o out for text, use --json for data, or name a .svg or .html file"))
        }
        _ => Err(Failure::usage(format!("cannot tell from `{}` what to draw", path.display()))
            .hint("end its name with .svg for a picture or .html for a page")),
    }
}

/// The timeline of a log, without its secrets.
fn read(log: &Path, silence: Option<Duration>) -> Result<Timeline, Failure> {
    let redaction = RedactArgs::default().redaction(&[]);
    let redactor = redaction.as_ref().map(|redaction| &*redaction.redactor);
    let mut fold = Fold::new(redactor).silence_from(silence.map_or(SILENCE_MS, millis));
    each_record(log, |record| {
        fold.record(record);
        Ok(())
    })?;
    Ok(fold.finish())
}
