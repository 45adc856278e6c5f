//! `sessions tail`: the end of a log, and what comes after it while it is written.
//!
//! The file is opened once, so that it stays the same one when it gets its session's name. Whether
//! anything can still come is told by the writer's lock, which goes with its process however that ends.

use super::play::{SecretArgs, still_there};
use super::read::{LogArgs, warn};
use super::records::{RecordView, Shape};
use crate::env::Env;
use crate::failure::Failure;
use crate::output::say;
use crate::render::{Page, TextView};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use stablehand::log::Writer;
use stablehand::redact::Redaction;
use stablehand_core::record::{DecisionRecord, LogReader};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Between two looks at a log that is followed.
const LOOK: u16 = 100;

/// Where the file system does not say whether a log is written: so long after the end of a run
/// nothing more is waited for.
const LAST_WORD: Duration = Duration::from_secs(5);

/// So much of what was drawn is kept before the first lines are thrown away.
const KEPT: usize = 1 << 20;

/// So much of the end is looked at first for the last lines of the agent's own output.
const FIRST_REACH: u64 = 1 << 20;

/// Show the end of a run, and follow it
#[derive(Debug, clap::Args)]
pub struct TailArgs {
    #[command(flatten)]
    log: LogArgs,

    /// Go on with what comes, until the run is over
    #[arg(short, long)]
    follow: bool,

    /// How many lines of the end are shown
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    lines: usize,

    /// What is shown: text for a person, the agent's own output, or our events
    #[arg(long, value_enum, default_value_t = Shape::Text)]
    output_format: Shape,

    #[command(flatten)]
    secrets: SecretArgs,
}

/// Runs it.
pub(super) fn main(args: &TailArgs) -> Result<u8, Failure> {
    let env = Env::read()?;
    let path = args.log.find(&env)?;
    let mut log = Followed::open(path)?;
    let redaction = args.secrets.redaction();
    let mut view = View::new(args.output_format, redaction.as_ref());
    let mut end = Recent::new(args.lines);
    if args.output_format == Shape::StreamJson {
        log.skip_to_last(args.lines)?;
    }
    log.read(&mut view, |drawn| end.push(drawn))?;
    if !args.follow {
        view.finish()?;
        end.push(&view.take());
    }
    if !still_there(print(end.lines()))? {
        return Ok(0);
    }
    if !args.follow {
        warn(&log.path, view.log.skipped());
        return Ok(0);
    }
    follow(&mut log, &mut view, args.output_format)
}

fn follow(log: &mut Followed, view: &mut View, shape: Shape) -> Result<u8, Failure> {
    let mut quiet = Instant::now();
    loop {
        // Before the look at the log: what was written before the writer left is then read.
        let writer = Writer::of(&log.file);
        let mut printed = Ok(());
        let grew = log.read(view, |drawn| {
            if printed.is_ok() {
                printed = print(drawn);
            }
        })?;
        if !still_there(printed)? {
            return Ok(0);
        }
        if grew {
            quiet = Instant::now();
            continue;
        }
        let over = match writer {
            Writer::There => false,
            Writer::Gone => true,
            Writer::Unknown => view.end.is_some() && quiet.elapsed() > LAST_WORD,
        };
        if over {
            break;
        }
        if reader_is_gone() {
            return Ok(0);
        }
    }
    view.finish()?;
    if !still_there(print(&view.take()))? {
        return Ok(0);
    }
    warn(&log.path, view.log.skipped());
    match &view.end {
        Some(how) => {
            if shape == Shape::Text {
                say(&format!("the run is over: {how}"));
            }
            Ok(0)
        }
        None => Err(Failure::new(format!(
            "the run broke off: whoever wrote `{}` is gone, and no end is on record",
            log.path.display()
        ))
        .hint("it was killed; the agent's processes were ended by its keeper")),
    }
}

/// Waits for a moment; true where nobody reads us any more.
fn reader_is_gone() -> bool {
    let stdout = io::stdout();
    let mut fds = [PollFd::new(stdout.as_fd(), PollFlags::empty())];
    let told = poll(&mut fds, PollTimeout::from(LOOK)).unwrap_or(0);
    told > 0 && fds.first().and_then(PollFd::revents).is_some_and(|it| !it.is_empty())
}

fn print(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// The last lines; one without its newline counts.
fn last_lines(text: &[u8], count: usize) -> &[u8] {
    if count == 0 {
        return &[];
    }
    let body = text.strip_suffix(b"\n").unwrap_or(text);
    let mut ends = body.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n');
    let from = ends.nth(count - 1).map_or(0, |(at, _)| at + 1);
    text.get(from..).unwrap_or_default()
}

/// The last lines of what is too much to keep.
struct Recent {
    kept: Vec<u8>,
    lines: usize,
    /// From this length on it is worth to throw away what is not among them.
    most: usize,
}

impl Recent {
    fn new(lines: usize) -> Recent {
        Recent { kept: Vec::new(), lines, most: KEPT }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.kept.extend_from_slice(bytes);
        if self.kept.len() > self.most {
            self.kept = last_lines(&self.kept, self.lines).to_vec();
            self.most = KEPT.max(2 * self.kept.len());
        }
    }

    fn lines(&self) -> &[u8] {
        last_lines(&self.kept, self.lines)
    }
}

/// A log that may be written while it is read.
struct Followed {
    path: PathBuf,
    file: File,
    /// Up to here it was read.
    position: u64,
    /// The beginning of a record whose end has not come.
    rest: Vec<u8>,
    block: Vec<u8>,
}

impl Followed {
    fn open(path: PathBuf) -> Result<Followed, Failure> {
        let file = File::open(&path).map_err(|error| failed(&path, &error))?;
        Ok(Followed { path, file, position: 0, rest: Vec::new(), block: vec![0; 64 << 10] })
    }

    /// Leaves out what cannot be among the last lines of the agent's own output. Only that can be
    /// cut so: what text and events say depends on everything before.
    fn skip_to_last(&mut self, lines: usize) -> Result<(), Failure> {
        let size = self.file.metadata().map_err(|error| failed(&self.path, &error))?.len();
        let mut reach = FIRST_REACH;
        while reach < size {
            self.position = size - reach;
            self.skip_rest_of_record()?;
            let from = self.position;
            let mut view = View::new(Shape::StreamJson, None);
            let mut ends = 0;
            self.read(&mut view, |drawn| ends += drawn.split(|b| *b == b'\n').count() - 1)?;
            self.rest.clear();
            self.position = from;
            // The first of them may be the end of a longer line.
            if ends > lines {
                return Ok(());
            }
            reach = reach.saturating_mul(4);
        }
        self.position = 0;
        Ok(())
    }

    /// To the beginning of a record.
    fn skip_rest_of_record(&mut self) -> Result<(), Failure> {
        loop {
            let count = match self.file.read_at(&mut self.block, self.position) {
                Ok(0) => return Ok(()),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(failed(&self.path, &error)),
            };
            let mut read = self.block.iter().take(count);
            match read.position(|byte| *byte == b'\n') {
                Some(at) => {
                    self.position += at as u64 + 1;
                    return Ok(());
                }
                None => self.position += count as u64,
            }
        }
    }

    /// Hands in what is new, and on what was drawn of it; whether there was something.
    fn read(&mut self, view: &mut View, mut draw: impl FnMut(&[u8])) -> Result<bool, Failure> {
        let mut grew = false;
        loop {
            let count = match self.file.read_at(&mut self.block, self.position) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(failed(&self.path, &error)),
            };
            grew = true;
            self.position += count as u64;
            for piece in
                self.block.get(..count).unwrap_or_default().split_inclusive(|b| *b == b'\n')
            {
                self.rest.extend_from_slice(piece);
                if let Some(line) = self.rest.strip_suffix(b"\n") {
                    view.record(line)?;
                    self.rest.clear();
                }
            }
            view.pause()?;
            draw(&view.take());
        }
        self.unread_what_was_cut()?;
        Ok(grew)
    }

    /// On a full disk the last record is cut off again, and comes later as a whole.
    fn unread_what_was_cut(&mut self) -> Result<(), Failure> {
        let size = self.file.metadata().map_err(|error| failed(&self.path, &error))?.len();
        if size < self.position {
            self.rest.clear();
            self.position = size;
        }
        Ok(())
    }
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::new(format!("failed to read the log `{}`: {error}", path.display()))
}

/// What is drawn of the records.
struct View {
    records: RecordView<Page>,
    page: Page,
    log: LogReader,
    /// How the last run ended; absent while one is on.
    end: Option<String>,
}

impl View {
    fn new(shape: Shape, redaction: Option<&Redaction>) -> View {
        let page = Page::default();
        let text = TextView::new(page.clone(), true).with_prompts();
        let records = RecordView::new(shape, page.clone(), text, redaction);
        View { records, page, log: LogReader::default(), end: None }
    }

    fn record(&mut self, line: &[u8]) -> Result<(), Failure> {
        if line.is_empty() {
            return Ok(());
        }
        let record = self.log.line(line);
        match record.decision() {
            Some(DecisionRecord::AgentSpawned(_)) => self.end = None,
            Some(DecisionRecord::RunEnded(ended)) => {
                self.end = Some(ended.text.clone().unwrap_or_default());
            }
            _ => {}
        }
        still_there(self.records.record(&record)).map(|_| ())
    }

    fn pause(&mut self) -> Result<(), Failure> {
        still_there(self.records.pause()).map(|_| ())
    }

    /// Nothing follows.
    fn finish(&mut self) -> Result<(), Failure> {
        still_there(self.records.finish()).map(|_| ())
    }

    /// What is to be printed.
    fn take(&mut self) -> Vec<u8> {
        self.page.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines() {
        let table: &[(&str, usize, &str)] = &[
            ("a\nb\nc\n", 2, "b\nc\n"),
            ("a\nb\nc", 2, "b\nc"),
            ("a\nb\n", 5, "a\nb\n"),
            ("a\n\n\n", 2, "\n\n"),
            ("", 3, ""),
            ("a\n", 0, ""),
        ];
        for (text, count, expected) in table {
            assert_eq!(last_lines(text.as_bytes(), *count), expected.as_bytes(), "{text:?}");
        }
    }
}
