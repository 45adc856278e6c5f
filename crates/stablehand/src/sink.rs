//! Passing the agent's bytes on, exactly, to a reader that may be slow, stopped or gone.
//!
//! A [`PassThrough`] never blocks the driver and never drops. While its reader keeps up it writes
//! straight from the buffer that the bytes were read into. A chunk that a full pipe did not take
//! whole is held for a moment; then it lets go and falls behind: it remembers where it was in the
//! log and goes on from there once there is room again. Memory stays the same however far behind.
//!
//! Where the log does not hold what has to be written, because one of the two is redacted, it goes
//! [apart](PassThrough::apart): what cannot be written at once waits in a backlog of its own.

mod backlog;
mod output;

use backlog::Backlog;
use output::Output;
use sha2::{Digest, Sha256};
use stablehand_core::record::{self, OutputFailed, Record, Stream};
use stablehand_core::redact::{Lines, Redactor};
use std::borrow::Cow;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;

use crate::log::{Fill, Log, Tail};

/// How long one wait for a full pipe lasts while a line of our own is written.
const INSERT_WAIT: std::time::Duration = std::time::Duration::from_millis(100);

/// Bytes on their way to one reader.
#[derive(Debug)]
pub struct PassThrough {
    output: Output,
    stream: Stream,
    state: State,
    sent: u64,
    hash: Option<Sha256>,
    apart: Option<Box<Apart>>,
    announces: Option<Announces>,
    /// Why nothing can be written, where the reader has not simply gone.
    failure: Option<std::io::Error>,
}

/// Is told of every chunk before it is written, and returns what to write before it.
struct Announces(Box<Before>);

type Before = dyn FnMut(&[u8]) -> &'static [u8] + Send;

impl std::fmt::Debug for Announces {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Announces")
    }
}

/// What a pass-through has that does not read the log.
#[derive(Debug)]
struct Apart {
    backlog: Backlog,
    /// Takes secrets out, line by line.
    redactor: Option<(Arc<Redactor>, Lines)>,
}

#[derive(Debug)]
enum State {
    /// Everything so far has been written.
    Live,
    /// A part of the last chunk has not; whoever has the chunk may offer it again.
    Held {
        /// Where its records begin in the log.
        log_position: u64,
        /// So much of it has been written.
        sent: usize,
    },
    /// The reader is slow; the rest is in the log.
    Behind(Box<CatchUp>),
    /// The reader is slow; the rest is in a backlog of our own.
    Queued,
    /// The reader is gone, or its device failed.
    Gone,
}

#[derive(Debug)]
struct CatchUp {
    tail: Tail,
    /// So many bytes of what the tail gives next have been written already.
    skip: u64,
    pending: Vec<u8>,
    written: usize,
    /// What was taken last did not end a line.
    in_line: bool,
}

impl PassThrough {
    /// Passes the agent's `stream` on to a descriptor of ours.
    pub fn new(target: OwnedFd, stream: Stream) -> std::io::Result<Self> {
        let output = Output::new(target)?;
        Ok(PassThrough {
            output,
            stream,
            state: State::Live,
            sent: 0,
            hash: None,
            apart: None,
            announces: None,
            failure: None,
        })
    }

    /// Asks `before` what to write before each chunk: the status line is erased so where it shares the
    /// terminal. The answer is written once, as far as the terminal takes it, and not counted.
    #[must_use]
    pub fn announced(
        mut self,
        before: impl FnMut(&[u8]) -> &'static [u8] + Send + 'static,
    ) -> Self {
        self.announces = Some(Announces(Box::new(before)));
        self
    }

    /// Also keeps a digest of what was written, for `--verify`.
    #[must_use]
    pub fn with_digest(mut self) -> Self {
        self.hash = Some(Sha256::new());
        self
    }

    /// Never reads the log, which does not have what is to be written. What the reader does not take
    /// at once waits in memory, then in a file in `folder` that has no name.
    #[must_use]
    pub fn apart(mut self, folder: PathBuf) -> Self {
        let redactor = self.apart.and_then(|apart| apart.redactor);
        self.apart = Some(Box::new(Apart { backlog: Backlog::new(folder), redactor }));
        self
    }

    /// Takes secrets out of what is written, line by line; also goes [`apart`](Self::apart).
    #[must_use]
    pub fn redacted(mut self, redactor: Arc<Redactor>, folder: PathBuf) -> Self {
        let redactor = Some((redactor, Lines::default()));
        self.apart = Some(Box::new(Apart { backlog: Backlog::new(folder), redactor }));
        self
    }

    /// Whether so much waits in memory that the agent has to wait too. Only on a disk that cannot
    /// be written.
    pub fn is_congested(&self) -> bool {
        self.apart.as_ref().is_some_and(|apart| apart.backlog.is_congested())
    }

    /// Takes a chunk whose records begin at `log_position` and are flushed.
    #[inline]
    pub fn chunk(&mut self, bytes: &[u8], log_position: u64) {
        if self.apart.is_some() {
            return self.chunk_apart(bytes);
        }
        if bytes.is_empty() || !matches!(self.state, State::Live) {
            return; // Behind: it will come to these bytes through the log.
        }
        self.announce(bytes);
        match self.output.write(bytes) {
            Ok(n) => {
                self.count(n, bytes);
                if n < bytes.len() {
                    self.state = State::Held { log_position, sent: n };
                }
            }
            Err(error) => self.fail(error),
        }
    }

    #[inline]
    fn announce(&mut self, bytes: &[u8]) {
        if let Some(Announces(before)) = &mut self.announces {
            let first = before(bytes);
            if !first.is_empty() {
                let _full_or_gone = self.output.write(first);
            }
        }
    }

    #[cold]
    fn chunk_apart(&mut self, bytes: &[u8]) {
        if let State::Live = self.state {
            self.announce(bytes);
        }
        let Some(apart) = &mut self.apart else { return };
        let bytes = apart.redact(bytes);
        let mut rest = bytes.as_ref();
        if let State::Live = self.state {
            match self.output.write(rest) {
                Ok(n) => {
                    self.sent += n as u64;
                    let (written, after) = rest.split_at(n);
                    if let Some(hash) = &mut self.hash {
                        hash.update(written);
                    }
                    rest = after;
                }
                Err(error) => return self.fail(error),
            }
        }
        if !rest.is_empty() && !matches!(self.state, State::Gone) {
            apart.backlog.push(rest);
            self.state = State::Queued;
        }
    }

    /// Writes some of the backlog.
    fn pump_apart(&mut self) {
        let Some(apart) = &mut self.apart else { return };
        let waiting = apart.backlog.front();
        match self.output.write(waiting) {
            Ok(n) => {
                self.sent += n as u64;
                if let Some(hash) = &mut self.hash {
                    hash.update(waiting.get(..n).unwrap_or_default());
                }
                apart.backlog.consume(n);
                if apart.backlog.is_empty() {
                    self.state = State::Live;
                }
            }
            Err(error) => self.fail(error),
        }
    }

    /// Whether a part of the last chunk waits to be offered again.
    pub fn is_holding(&self) -> bool {
        matches!(self.state, State::Held { .. })
    }

    /// Offers the chunk again that is being held.
    pub fn offer(&mut self, chunk: &[u8]) {
        let State::Held { log_position, sent } = self.state else { return };
        let rest = chunk.get(sent..).unwrap_or_default();
        match self.output.write(rest) {
            Ok(n) => {
                self.count(n, rest);
                self.state = if n == rest.len() {
                    State::Live
                } else {
                    State::Held { log_position, sent: sent + n }
                };
            }
            Err(error) => self.fail(error),
        }
    }

    /// The chunk that is being held will not be offered again: the log has it.
    pub fn let_go(&mut self, log: &Log) {
        if let State::Held { log_position, sent } = self.state {
            self.state = State::Behind(Box::new(CatchUp {
                tail: log.tail(log_position),
                skip: sent as u64,
                pending: Vec::new(),
                written: 0,
                in_line: false,
            }));
        }
    }

    /// Text of our own, between the agent's lines; only while nothing of theirs waits.
    pub fn insert(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let (State::Live, false) = (&self.state, rest.is_empty()) {
            match self.output.write(rest) {
                Ok(0) => self.output.wait_writable(INSERT_WAIT),
                Ok(n) => rest = rest.get(n..).unwrap_or_default(),
                Err(error) => self.fail(error),
            }
        }
    }

    /// The descriptor to wait for, while there is something to write.
    pub fn wants_write(&self) -> Option<BorrowedFd<'_>> {
        match self.state {
            State::Held { .. } | State::Behind(_) | State::Queued => Some(self.output.fd()),
            State::Live | State::Gone => None,
        }
    }

    /// The descriptor on which a reader that goes away can be noticed while nothing is to be written.
    pub fn watches(&self) -> Option<BorrowedFd<'_>> {
        match self.state {
            State::Live if self.output.shows_lost_reader() => Some(self.output.fd()),
            State::Live | State::Held { .. } | State::Behind(_) | State::Queued | State::Gone => {
                None
            }
        }
    }

    /// Called when the descriptor of [`wants_write`](Self::wants_write) is writable: writes some of
    /// what waits. When that of [`watches`](Self::watches) reported something, the reader is gone.
    pub fn pump(&mut self) {
        let behind = match &mut self.state {
            State::Behind(behind) => behind,
            State::Held { .. } | State::Gone => return,
            State::Queued => return self.pump_apart(),
            State::Live => {
                // It was only watched, and something happened: the reader is gone.
                self.state = State::Gone;
                return;
            }
        };
        if behind.written == behind.pending.len() && !behind.refill(self.stream) {
            self.state = State::Live;
            return;
        }
        let rest = behind.pending.get(behind.written..).unwrap_or_default();
        match self.output.write(rest) {
            Ok(n) => {
                behind.written += n;
                let written = rest.get(..n).unwrap_or_default();
                self.sent += n as u64;
                if let Some(hash) = &mut self.hash {
                    hash.update(written);
                }
            }
            Err(error) => self.fail(error),
        }
    }

    /// Waits up to `bound` for the reader to take more; for when there is nothing else to do.
    pub fn settle(&mut self, bound: std::time::Duration) {
        if self.wants_write().is_some() {
            self.output.wait_writable(bound);
            self.pump();
        } else if !self.is_caught_up() {
            // Our own thread writes for us; it does not tell when it has.
            std::thread::sleep(bound.min(std::time::Duration::from_millis(5)));
        }
    }

    /// Whether the reader has everything that was logged.
    pub fn is_caught_up(&self) -> bool {
        match self.state {
            State::Live => self.output.is_drained(),
            State::Held { .. } | State::Behind(_) | State::Queued => false,
            State::Gone => true,
        }
    }

    /// How many bytes were written since the count began.
    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    /// Gives up a reader that takes nothing any more. Returns about how much it did not get, where
    /// the log ends at `end`.
    pub(crate) fn give_up(&mut self, end: u64) -> u64 {
        if self.is_caught_up() {
            return 0;
        }
        let waiting = match std::mem::replace(&mut self.state, State::Gone) {
            State::Behind(behind) => {
                let pending = behind.pending.len().saturating_sub(behind.written);
                end.saturating_sub(behind.tail.position()) + pending as u64
            }
            State::Queued => self.apart.as_ref().map_or(0, |apart| apart.backlog.len()),
            State::Live | State::Held { .. } | State::Gone => 0,
        };
        waiting.max(1)
    }

    /// Whether the reader is gone.
    pub fn is_gone(&self) -> bool {
        matches!(self.state, State::Gone)
    }

    /// Begins to count anew: a run has its own figures.
    pub fn restart_count(&mut self) {
        self.sent = 0;
        self.hash = self.hash.take().map(|_| Sha256::new());
    }

    /// How many bytes were written, and their SHA-256 where it was asked for.
    pub fn written(&self) -> (u64, Option<String>) {
        (self.sent, self.hash.as_ref().map(|hash| hex(&hash.clone().finalize())))
    }

    /// Nothing can be written any more.
    #[cold]
    fn fail(&mut self, error: std::io::Error) {
        self.state = State::Gone;
        if error.kind() != std::io::ErrorKind::BrokenPipe {
            self.failure = Some(error);
        }
    }

    /// Puts on record, once, that this output could not be written. What is missing counts as lost.
    pub(crate) fn report_failure(&mut self, log: &mut Log) {
        if let Some(error) = self.failure.take() {
            log.decide(output_failed(&error), None);
            log.count_missed(1);
        }
    }

    fn count(&mut self, n: usize, bytes: &[u8]) {
        self.sent += n as u64;
        if let Some(hash) = &mut self.hash {
            hash.update(bytes.get(..n).unwrap_or_default());
        }
    }
}

impl Apart {
    fn redact<'b>(&mut self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        let Some((redactor, lines)) = &mut self.redactor else { return Cow::Borrowed(bytes) };
        let mut out: Option<Vec<u8>> = None;
        let mut seen = 0;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let safe = lines.bytes(redactor, line);
            if let (Cow::Owned(_), None) = (&safe, &out) {
                out = bytes.get(..seen).map(<[u8]>::to_vec);
            }
            if let Some(out) = &mut out {
                out.extend_from_slice(&safe);
            }
            seen += line.len();
        }
        out.map_or(Cow::Borrowed(bytes), Cow::Owned)
    }
}

impl CatchUp {
    fn skip_lost(&mut self, bytes: u64) {
        self.tail.count_missed(bytes);
        // What follows is a line of its own, not the end of one that was cut.
        if self.skip > 0 || self.in_line {
            self.pending.push(b'\n');
        }
        (self.skip, self.in_line) = (0, false);
    }

    /// Brings the next bytes from the log; false when the log has no more for now.
    fn refill(&mut self, wanted: Stream) -> bool {
        self.pending.clear();
        self.written = 0;
        loop {
            while let Some(line) = self.tail.next() {
                if wanted == Stream::Stdout
                    && let Some((bytes, newline)) = record::verbatim(line.bytes)
                {
                    take(&mut self.pending, &mut self.skip, bytes);
                    take(&mut self.pending, &mut self.skip, if newline { b"\n" } else { b"" });
                    self.in_line = !newline;
                } else if let Record::Raw { stream, bytes, newline, .. } = Record::read(line.bytes)
                    && stream == wanted
                {
                    take(&mut self.pending, &mut self.skip, &bytes);
                    if newline {
                        take(&mut self.pending, &mut self.skip, b"\n");
                    }
                    self.in_line = !newline;
                }
            }
            if !self.pending.is_empty() {
                return true;
            }
            match self.tail.fill() {
                Ok(Fill::Grew) => {}
                Ok(Fill::Lost(bytes)) => self.skip_lost(bytes),
                Ok(Fill::UpToDate | Fill::Finished) => return false,
                Err(_) => match self.tail.pass_unreadable() {
                    0 => return false,
                    lost => self.skip_lost(lost),
                },
            }
        }
    }
}

/// Says that standard output cannot be written.
pub fn output_failed(error: &std::io::Error) -> OutputFailed {
    let text = format!("cannot write to standard output: {error}; the output is incomplete");
    OutputFailed { error: error.to_string(), text }
}

/// How many bytes of a stream a log holds from `tail` on, and their SHA-256.
pub fn digest_of_log(mut tail: Tail, wanted: Stream) -> (u64, String) {
    let (mut count, mut hash) = (0, Sha256::new());
    while let Ok(Fill::Grew | Fill::Lost(_)) = tail.fill() {
        while let Some(line) = tail.next() {
            if let Record::Raw { stream, bytes, newline, .. } = Record::read(line.bytes)
                && stream == wanted
            {
                hash.update(&bytes);
                hash.update(if newline { &b"\n"[..] } else { b"" });
                count += bytes.len() as u64 + u64::from(newline);
            }
        }
    }
    (count, hex(&hash.finalize()))
}

fn take(pending: &mut Vec<u8>, skip: &mut u64, bytes: &[u8]) {
    let skipped = (*skip).min(bytes.len() as u64);
    *skip -= skipped;
    pending.extend_from_slice(bytes.get(skipped as usize..).unwrap_or_default());
}

/// Lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut out, byte| {
        let _infallible = write!(out, "{byte:02x}");
        out
    })
}

#[cfg(test)]
mod tests;
