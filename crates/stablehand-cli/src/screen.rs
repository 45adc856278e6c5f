//! The terminal, shared by what we print and the status line below it.
//!
//! One lock: whoever prints takes the status line away first; the ticker puts it back when it has
//! been quiet. Without a terminal there is no status line and this is a plain writer. While a person
//! is asked something, everything else is kept back, so that the question stays whole. Everything that
//! is ours on standard error passes here, so this is where secrets are taken out of it.

use stablehand::driver::{StatusCell, StatusLine};
use stablehand::redact::{Redaction, Redactor};
use stablehand_core::event::Health;
use stablehand_core::text;
use stablehand_core::time::human;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often the status line is drawn.
const RHYTHM: Duration = Duration::from_millis(250);

/// A run that answers at once needs no status line.
const QUIET: Duration = Duration::from_millis(700);

/// So many messages of ours may wait for a terminal that is stopped; the log has them all.
const WAITING: usize = 256;

/// What our last words get to reach a slow terminal.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// So much is kept back while a question is shown; more is printed all the same.
const KEPT_BACK: usize = 256 << 10;

/// Who may print.
///
/// Nothing of ours on standard error may ever make the driver wait, so a thread writes it. What
/// finds the queue full is dropped; it is in the log.
#[derive(Clone, Debug)]
pub struct Screen {
    drawn: Arc<Mutex<bool>>,
    over: Arc<AtomicBool>,
    messages: SyncSender<Message>,
    redactor: Option<Arc<Redactor>>,
    held: Arc<Mutex<Held>>,
    /// Whether standard output is a terminal, on which it would be mixed with a question.
    out_is_terminal: bool,
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
            drawn: Arc::default(),
            over: Arc::default(),
            messages,
            redactor: redaction.map(|redaction| Arc::clone(&redaction.redactor)),
            held: Arc::default(),
            out_is_terminal: io::stdout().is_terminal(),
        };
        let (drawn, held) = (Arc::clone(&screen.drawn), Arc::clone(&screen.held));
        std::thread::Builder::new().name("messages".into()).spawn(move || {
            for message in inbox {
                match message {
                    Message::Text(text) => {
                        let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
                        let Held { on, err, .. } = &mut *held;
                        if Held::keep(*on, err, &text) {
                            continue;
                        }
                        clear(&drawn);
                        let _nobody_there = io::stderr().lock().write_all(&text);
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
        // A program that reads us is not to wait for a person.
        let mut held = self.out_is_terminal.then(|| self.lock_held());
        if let Some(Held { on, out, .. }) = held.as_deref_mut()
            && Held::keep(*on, out, bytes)
        {
            return Ok(());
        }
        clear(&self.drawn);
        let mut out = io::stdout().lock();
        out.write_all(bytes)?;
        out.flush()
    }

    /// Keeps everything else back until the question is over.
    pub fn hold(&self) -> Hold<'_> {
        self.lock_held().on = true;
        clear(&self.drawn);
        Hold { screen: self }
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
        self.over.store(false, Ordering::SeqCst);
        let screen = self.clone();
        std::thread::Builder::new().name("status".into()).spawn(move || {
            let mut beat = 0;
            while !screen.over.load(Ordering::SeqCst) {
                std::thread::sleep(RHYTHM);
                beat += 1;
                let status = cell.get().filter(|status| status.heard.elapsed() > QUIET);
                if let Some(mut status) = status {
                    // Before it is cut short: a half of a secret has no form.
                    if let (Some(redactor), Some((tool, _))) = (&screen.redactor, &mut status.tool)
                    {
                        *tool = redactor.redact(tool).into_owned();
                    }
                    screen.show(&status, beat);
                }
            }
        })?;
        Ok(())
    }

    /// Takes the status line away for good.
    pub fn finish(&self) {
        self.over.store(true, Ordering::SeqCst);
        clear(&self.drawn);
    }

    fn show(&self, status: &StatusLine, beat: usize) {
        let held = self.lock_held();
        let mut drawn = self.drawn.lock().unwrap_or_else(PoisonError::into_inner);
        if held.on || self.over.load(Ordering::SeqCst) {
            return;
        }
        let line = format!("\r\x1b[2K\x1b[2m{}\x1b[0m", describe(status, beat));
        let _nobody_there = io::stderr().lock().write_all(line.as_bytes());
        *drawn = true;
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
        clear(&self.screen.drawn);
        let _nobody_there = io::stderr().lock().write_all(text.as_bytes());
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        let mut held = self.screen.lock_held();
        held.on = false;
        let (out, err) = (std::mem::take(&mut held.out), std::mem::take(&mut held.err));
        let _nobody_there = io::stderr().lock().write_all(&err);
        let mut stdout = io::stdout().lock();
        let _nobody_there = stdout.write_all(&out).and_then(|()| stdout.flush());
    }
}

/// Takes the status line away, where there is one.
fn clear(drawn: &Mutex<bool>) {
    let mut drawn = drawn.lock().unwrap_or_else(PoisonError::into_inner);
    if std::mem::take(&mut *drawn) {
        let _nobody_there = io::stderr().lock().write_all(b"\r\x1b[2K");
    }
}

/// What it is doing, for how long, and how long it has been quiet.
fn describe(status: &StatusLine, beat: usize) -> String {
    const SPIN: [char; 4] = ['◐', '◓', '◑', '◒'];
    let spin = SPIN.get(beat % SPIN.len()).copied().unwrap_or('•');
    let doing = match (&status.health, &status.tool) {
        (Health::AwaitingPrompt, _) => "waiting for a prompt".to_owned(),
        (Health::AwaitingApproval, _) => "waiting for an answer".to_owned(),
        (Health::Finishing, _) => "finishing".to_owned(),
        (Health::Stalled, _) => "stopping".to_owned(),
        (_, Some((tool, 1))) => text::excerpt(tool.as_bytes(), 48),
        (_, Some((tool, n))) => {
            format!("{} and {} more", text::excerpt(tool.as_bytes(), 40), n - 1)
        }
        (Health::Starting, None) => "starting".to_owned(),
        (_, None) => "thinking".to_owned(),
    };
    let mut line = format!("{spin} {doing} · {}", human(status.since.elapsed()));
    let quiet = status.heard.elapsed();
    if quiet.as_secs() >= 2 && status.since.elapsed().saturating_sub(quiet).as_secs() >= 2 {
        let _infallible = write!(line, " · quiet for {}", human(quiet));
    }
    if status.tool_calls > 0 {
        let s = if status.tool_calls == 1 { "" } else { "s" };
        let _infallible = write!(line, " · {} tool call{s}", status.tool_calls);
    }
    if status.tokens > 0 {
        let _infallible = write!(line, " · {} tokens", status.tokens);
    }
    let _infallible = write!(line, " · {} in all", human(status.began.elapsed()));
    line
}
