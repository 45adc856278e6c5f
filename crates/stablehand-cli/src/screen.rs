//! The terminal, shared by what we print and the status line below it.
//!
//! One lock: whoever prints takes the status line away first; the ticker puts it back when it has
//! been quiet, unless that would cover an unfinished line. Without a terminal there is no status line
//! and this is a plain writer. While a person is asked something, everything else is kept back, so that
//! the question stays whole. Everything that is ours on standard error passes here, so this is where
//! secrets are taken out of it.

mod last_line;
mod status;

use last_line::LastLine;
use stablehand::driver::{StatusCell, StatusLine};
use stablehand::redact::{Redaction, Redactor};
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

/// How often the status line is drawn.
const RHYTHM: Duration = Duration::from_millis(250);

/// A run that answers at once needs no status line.
const QUIET: Duration = Duration::from_millis(700);

/// So many messages of ours may wait for a terminal that is stopped; the log has them all.
const WAITING: usize = 256;

/// What our last words get to reach a slow terminal.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// How wide a terminal is that does not say so.
const USUAL_COLUMNS: usize = 80;

/// So often, with a millisecond in between, the agent's own messages wait for their turn. Only a
/// terminal that is stopped takes longer, and the driver must not wait for that.
const TRIES: u32 = 5;

/// So much is kept back while a question is shown; more is printed all the same.
const KEPT_BACK: usize = 256 << 10;

/// So much is written to standard output at once: half of what the smallest pipe holds.
const PIECE: usize = 32 << 10;

/// Who may print.
///
/// Nothing of ours on standard error may ever make the driver wait, so a thread writes it. What
/// finds the queue full is dropped; it is in the log.
#[derive(Clone, Debug)]
pub struct Screen {
    line: Arc<Mutex<LastLine>>,
    /// Counts the status lines that were begun or finished; the odd ones are drawn.
    drawing: Arc<AtomicU64>,
    messages: SyncSender<Message>,
    redactor: Option<Arc<Redactor>>,
    held: Arc<Mutex<Held>>,
    /// How many bytes standard output has taken.
    taken: Arc<AtomicU64>,
    /// Whether standard output is a terminal, on which it would be mixed with a question.
    out_is_terminal: bool,
    /// Whether standard error is a terminal, which then is the same one.
    err_is_terminal: bool,
}

/// What waits while a question is shown.
#[derive(Debug, Default)]
struct Held {
    /// Whether one is shown.
    on: bool,
    out: Vec<u8>,
    err: Vec<u8>,
}

impl Held {
    /// Keeps bytes back; false where they are to be printed.
    fn keep(on: bool, kept: &mut Vec<u8>, bytes: &[u8]) -> bool {
        let keeps = on && kept.len() + bytes.len() <= KEPT_BACK;
        if keeps {
            kept.extend_from_slice(bytes);
        }
        keeps
    }
}

#[derive(Debug)]
enum Message {
    Text(Vec<u8>),
    Flush(SyncSender<()>),
}

impl Screen {
    /// Starts the thread.
    pub fn start(redaction: Option<&Redaction>) -> io::Result<Screen> {
        let (messages, inbox) = sync_channel(WAITING);
        let screen = Screen {
            line: Arc::default(),
            drawing: Arc::default(),
            messages,
            redactor: redaction.map(|redaction| Arc::clone(&redaction.redactor)),
            held: Arc::default(),
            taken: Arc::default(),
            out_is_terminal: io::stdout().is_terminal(),
            err_is_terminal: io::stderr().is_terminal(),
        };
        let err_is_terminal = screen.err_is_terminal;
        let (line, held) = (Arc::clone(&screen.line), Arc::clone(&screen.held));
        std::thread::Builder::new().name("messages".into()).spawn(move || {
            for message in inbox {
                match message {
                    Message::Text(text) => {
                        let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
                        let Held { on, err, .. } = &mut *held;
                        if Held::keep(*on, err, &text) {
                            continue;
                        }
                        if !err_is_terminal {
                            let _nobody_there = io::stderr().lock().write_all(&text);
                            continue;
                        }
                        let mut line = lock(&line);
                        let mut bytes = line.fresh(columns());
                        line.message(&text);
                        bytes.extend_from_slice(&text);
                        let _nobody_there = io::stderr().lock().write_all(&bytes);
                    }
                    Message::Flush(done) => {
                        let _tired_of_waiting = done.send(());
                    }
                }
            }
        })?;
        Ok(screen)
    }

    /// Prints to standard output, above the status line; for threads that may wait.
    pub fn out(&self, bytes: &[u8]) -> io::Result<()> {
        if !self.out_is_terminal {
            // A program that reads us is not to wait for a person, and the status line is elsewhere.
            return self.write_out(bytes);
        }
        let mut held = self.lock_held();
        let Held { on, out, .. } = &mut *held;
        if Held::keep(*on, out, bytes) {
            return Ok(());
        }
        let mut line = lock(&self.line);
        erase(&mut line);
        self.write_out(line.text(bytes))
    }

    /// Writes in small pieces, so that a slow reader can be told from one that takes nothing.
    fn write_out(&self, bytes: &[u8]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        for piece in bytes.chunks(PIECE) {
            out.write_all(piece)?;
            out.flush()?;
            self.taken.fetch_add(piece.len() as u64, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Returns how many bytes standard output has taken.
    pub fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Keeps everything else back until the question is over.
    pub fn hold(&self) -> Hold<'_> {
        self.lock_held().on = true;
        let fresh = lock(&self.line).fresh(columns());
        let _nobody_there = io::stderr().lock().write_all(&fresh);
        Hold { screen: self }
    }

    /// Takes note that a person has typed a line, which ends the line of a prompt.
    pub fn line_was_typed(&self) {
        lock(&self.line).ended();
    }

    /// Returns what takes note of the agent's own messages, which pass by on their way to the same
    /// terminal: it tells what to write before them.
    pub fn passes_by(&self) -> impl FnMut(&[u8]) -> &'static [u8] + Send + 'static {
        let line = Arc::clone(&self.line);
        move |bytes| {
            for _ in 0..TRIES {
                let mut line = match line.try_lock() {
                    Ok(line) => line,
                    Err(TryLockError::Poisoned(line)) => line.into_inner(),
                    Err(TryLockError::WouldBlock) => {
                        std::thread::sleep(Duration::from_millis(1));
                        continue;
                    }
                };
                line.message(bytes);
                return line.erase(columns());
            }
            b""
        }
    }

    fn lock_held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prints to standard error, above the status line. It does not wait.
    pub fn err(&self, bytes: &[u8]) {
        let safe = match &self.redactor {
            Some(redactor) => redactor.redact_bytes(bytes),
            None => bytes.into(),
        };
        let _dropped_when_full = self.messages.try_send(Message::Text(safe.into_owned()));
    }

    /// Gives what was said so far a moment to be read.
    pub fn flush(&self) {
        let (done, told) = sync_channel(1);
        if self.messages.try_send(Message::Flush(done)).is_ok() {
            let _gave_up = told.recv_timeout(LAST_WORDS);
        }
    }

    /// Starts to draw the status line on standard error until [`finish`](Self::finish).
    pub fn draw(&self, cell: StatusCell) -> io::Result<()> {
        let mine = self.drawing.fetch_add(1, Ordering::SeqCst) + 1;
        let screen = self.clone();
        std::thread::Builder::new().name("status".into()).spawn(move || {
            let mut beat = 0;
            while screen.drawing.load(Ordering::SeqCst) == mine {
                std::thread::sleep(RHYTHM);
                beat += 1;
                let status = cell.get();
                if status.is_none() && screen.drawing.load(Ordering::SeqCst) == mine {
                    // Between two runs there is nothing to tell.
                    erase(&mut lock(&screen.line));
                }
                let status = status.filter(|status| status.heard.elapsed() > QUIET);
                if let Some(mut status) = status {
                    // Before it is cut short: a half of a secret has no form.
                    if let (Some(redactor), Some((tool, _))) = (&screen.redactor, &mut status.tool)
                    {
                        *tool = redactor.redact(tool).into_owned();
                    }
                    screen.show(&status, beat, mine);
                }
            }
        })?;
        Ok(())
    }

    /// Takes the status line away for good.
    pub fn finish(&self) {
        self.drawing.fetch_add(1, Ordering::SeqCst);
        // A view that waits for a terminal that is stopped has the line; then nothing is drawn either.
        for _ in 0..LAST_WORDS.as_millis() {
            match self.line.try_lock() {
                Ok(mut line) => return erase(&mut line),
                Err(TryLockError::Poisoned(line)) => return erase(&mut line.into_inner()),
                Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    fn show(&self, status: &StatusLine, beat: usize, mine: u64) {
        let held = self.lock_held();
        let mut line = lock(&self.line);
        if held.on || self.drawing.load(Ordering::SeqCst) != mine {
            return;
        }
        if let Some(bytes) = line.draw(&status::Shown::of(status, beat), columns()) {
            let _nobody_there = io::stderr().lock().write_all(&bytes);
        }
    }
}

/// The screen while a person is asked something; when it is dropped, what was kept back is printed.
#[derive(Debug)]
pub struct Hold<'s> {
    screen: &'s Screen,
}

impl Hold<'_> {
    /// Prints a part of the question. It may wait for the terminal, as the person does.
    pub fn say(&self, text: &str) {
        let _nobody_there = io::stderr().lock().write_all(text.as_bytes());
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        let mut held = self.screen.lock_held();
        held.on = false;
        let (out, err) = (std::mem::take(&mut held.out), std::mem::take(&mut held.err));
        // A question ends with a newline, ours or that of the person.
        let mut line = lock(&self.screen.line);
        line.ended();
        line.message(&err);
        let _nobody_there = io::stderr().lock().write_all(&err);
        let out = line.text(&out);
        let mut stdout = io::stdout().lock();
        let _nobody_there = stdout.write_all(out).and_then(|()| stdout.flush());
    }
}

fn lock(line: &Mutex<LastLine>) -> MutexGuard<'_, LastLine> {
    line.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes the status line away, where there is one.
fn erase(line: &mut LastLine) {
    let bytes = line.erase(columns());
    if !bytes.is_empty() {
        let _nobody_there = io::stderr().lock().write_all(bytes);
    }
}

/// How wide the terminal is now, which may change at any time.
fn columns() -> usize {
    let size = terminal_size::terminal_size_of(io::stderr());
    size.map_or(USUAL_COLUMNS, |(width, _)| usize::from(width.0))
}
