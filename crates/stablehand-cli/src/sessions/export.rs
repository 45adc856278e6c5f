//! `sessions export`: a log as a document that can be handed on.
//!
//! Owns the choice of the format and of the file. Exports are redacted unless `--no-redact` is given.
//! Markdown and HTML are [`stablehand_analysis::document`]'s; `cast` writes recordings.

mod cast;

use super::find::Found;
use super::play::{SecretArgs, history, play, still_there};
use super::read::{LogArgs, is_same_file};
use super::show::outcome;
use crate::duration;
use crate::env::Env;
use crate::failure::Failure;
use crate::render::{EventLines, Surface};
use stablehand::log::Glance;
use stablehand::redact::Redaction;
use stablehand_analysis::document::{self, DocumentHead};
use stablehand_core::text::plain;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Longer pauses than this say nothing to whoever watches.
const MAX_PAUSE: &str = "2s";

/// Export a run as a document
#[derive(Debug, clap::Args)]
pub struct ExportArgs {
    #[command(flatten)]
    log: LogArgs,

    /// What to make of it [default: by the ending of the file]
    #[arg(long, value_enum)]
    format: Option<Format>,

    /// Where to; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,

    /// With asciinema: no pause is longer than this
    #[arg(long, value_name = "DURATION", default_value = MAX_PAUSE, value_parser = duration::parse_positive)]
    max_pause: Duration,

    #[command(flatten)]
    secrets: SecretArgs,
}

/// What to make of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Markdown, with tools folded
    Md,
    /// One page of HTML that needs nothing else
    Html,
    /// Our events, one JSON object a line
    Jsonl,
    /// A recording for asciinema: the text as it came, or the agent's own terminal
    Asciinema,
}

impl Format {
    fn by_ending(path: &Path) -> Option<Format> {
        match path.extension()?.to_str()? {
            "md" | "markdown" => Some(Format::Md),
            "html" | "htm" => Some(Format::Html),
            "jsonl" | "ndjson" => Some(Format::Jsonl),
            "cast" => Some(Format::Asciinema),
            _ => None,
        }
    }
}

/// Runs it.
pub(super) fn main(args: &ExportArgs) -> Result<u8, Failure> {
    let Some(format) = args.format.or_else(|| Format::by_ending(&args.output)) else {
        return Err(Failure::usage("it is not said what to make of the log")
            .hint("give --format md, html, jsonl or asciinema, or a file that ends so"));
    };
    let env = Env::read()?;
    let found = args.log.find_any(&env)?;
    let seen = found.glance()?;
    let redaction = args.secrets.redaction();
    let redaction = redaction.as_ref();
    if let (Format::Asciinema, Found::Imported(imported)) = (format, &found) {
        return Err(imported.needs_log("a recording for asciinema"));
    }
    let sheet = Sheet::open(&args.output, &found)?;
    match format {
        Format::Jsonl => {
            play(&found, EventLines::new(sheet.clone()), redaction)?;
        }
        Format::Md | Format::Html => {
            let history = history(&found, redaction)?;
            let head = head(&seen, redaction);
            let text = match format {
                Format::Md => document::markdown(&head, &history),
                _ => document::html(&head, &history),
            };
            still_there(sheet.out(text.as_bytes()))?;
        }
        Format::Asciinema => {
            let log = found.log("asciinema")?;
            cast::write(log, &seen, redaction, args.max_pause, &sheet)?;
        }
    }
    sheet.close()
}

/// What is known of the session, fit to be shown.
fn head(seen: &Glance, redaction: Option<&Redaction>) -> DocumentHead {
    let safe = |text: &Option<String>| {
        text.as_ref().map(|text| match redaction {
            Some(redaction) => plain(&redaction.redactor.redact(text)),
            None => plain(text),
        })
    };
    DocumentHead {
        agent: safe(&seen.agent),
        model: safe(&seen.model),
        workspace: safe(&seen.cwd),
        session: seen.session.as_ref().map(|session| session.0.clone()),
        title: safe(&seen.title),
        began: seen.began,
        ended: outcome(seen, " after").0,
    }
}

/// Creates a file that only its owner may read, also where it was there before: what a session said is
/// for nobody else.
pub(super) fn create_private(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
    let options = File::options().write(true).create(true).truncate(true).mode(0o600).clone();
    let file = options.open(path)?;
    // Not for `/dev/stdout` and pipes.
    if file.metadata()?.is_file() {
        file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

/// What is written on: a file, or standard output.
#[derive(Clone)]
struct Sheet {
    to: Arc<Mutex<Box<dyn Write + Send>>>,
    /// Its name, for messages.
    name: String,
}

impl Sheet {
    fn open(path: &Path, found: &Found) -> Result<Sheet, Failure> {
        let name = path.display().to_string();
        if path == Path::new("-") {
            let to: Box<dyn Write + Send> = Box::new(BufWriter::new(io::stdout()));
            return Ok(Sheet { to: Arc::new(Mutex::new(to)), name });
        }
        let is_what_is_read = match found {
            Found::Log(log) => is_same_file(path, log),
            Found::Imported(imported) => imported.files().any(|file| is_same_file(path, file)),
        };
        if is_what_is_read {
            return Err(Failure::usage(format!("`{name}` is the log itself"))
                .hint("give another name; a log is not written over"));
        }
        let file = create_private(path)
            .map_err(|error| Failure::new(format!("failed to create `{name}`: {error}")))?;
        let to: Box<dyn Write + Send> = Box::new(BufWriter::with_capacity(256 << 10, file));
        Ok(Sheet { to: Arc::new(Mutex::new(to)), name })
    }

    fn close(&self) -> Result<u8, Failure> {
        let flushed = self.to.lock().unwrap_or_else(PoisonError::into_inner).flush();
        match flushed {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Failure::new(format!("failed to write `{}`: {error}", self.name)))
            }
            _ => Ok(0),
        }
    }
}

impl Surface for Sheet {
    fn out(&self, bytes: &[u8]) -> io::Result<()> {
        self.to.lock().unwrap_or_else(PoisonError::into_inner).write_all(bytes)
    }

    fn err(&self, _: &[u8]) {}
}
