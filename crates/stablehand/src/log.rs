//! The log: every byte and every decision, on its way to the disk before anybody sees it.
//!
//! Owns the file, its name, its durability and what happens when the disk is full. The format is
//! `stablehand_core::record`'s. Sinks and faces read the log through [`Tail`]: it is the queue
//! between an agent that must never wait and readers that may.
//!
//! Durability: [`Log::flush`] hands whole records to the kernel with one append, so nothing is lost
//! if we die; a thread of its own calls `fdatasync` at most 100 ms later, which bounds what
//! a power cut can take. On a full disk the file is cut back to its last whole record, records go
//! to a ring in memory, and the file is tried again every few seconds.
//!
//! Secrets are taken out of decisions where a redactor was given ([`Log::redact`]), out of raw records
//! only where that was asked for: then the log is no queue for [`crate::sink`]s any more, which have to
//! keep what they cannot write ([`crate::sink::PassThrough::apart`]).

mod file;
mod glance;
mod open;
mod path;
mod place;
mod sync;
mod tail;

pub use file::{LogError, Writer, remove};
pub use glance::{Glance, LogEnd, LogKind, glance};
pub use path::PathCell;
pub use sync::Durability;
pub use tail::{Fill, LogSource, Tail};

use crate::redact::Redaction;
use place::Place;
use serde::Serialize;
use stablehand_core::event::EventKind;
use stablehand_core::id::{LogId, SessionId};
use stablehand_core::json::Scan;
use stablehand_core::line::Line;
use stablehand_core::record::{
    self, ClientLine, DecisionKind, DecisionRecord, Level, LogDegraded, LogMoved, LogOpened,
    LogRecovered, LogTruncated, Stamp, Stream,
};
use stablehand_core::redact::Lines;
use stablehand_core::time::UnixMillis;
use std::borrow::Cow;
use std::fs::File;
use std::io::{IoSlice, Seek, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use sync::Syncer;
use tail::Shared;

/// How much is remembered while the file cannot be written.
const RING: usize = 8 << 20;

/// How often a file that failed is tried again.
const RETRY: Duration = Duration::from_secs(2);

/// How often we look whether the file is still at its path, and whether its disk takes what was written.
const LOOK: Duration = Duration::from_secs(1);

/// The buffer goes to the kernel when it has grown to this, even within one chunk.
const FLUSH_AT: usize = 512 << 10;

/// Lines from this length on are not copied on their way to the file.
const LARGE: usize = 4 << 10;

/// The most parts that one append can have.
const MOST_PARTS: usize = 1024;

/// Told of each decision, for a face that shows them.
pub type Listener = Box<dyn FnMut(Level, &str, &serde_json::Value) + Send>;

/// How a log is kept.
#[derive(Clone, Debug)]
pub struct LogOptions {
    /// The folder; made if it is not there.
    pub folder: PathBuf,
    /// The program's name, with which the file's name begins.
    pub prefix: String,
    /// When records reach the disk itself.
    pub durability: Durability,
    /// Whether a log that cannot be written ends the run.
    pub required: bool,
}

/// The one writer of a log.
pub struct Log {
    file: File,
    path: PathCell,
    options: LogOptions,
    id: LogId,
    /// The first record, once it was written.
    header: Option<LogOpened>,
    started: UnixMillis,
    stamp: Stamp,
    buffer: Vec<u8>,
    /// Lines that stand in the chunk and not in the buffer.
    borrowed: Vec<Borrowed>,
    borrowed_bytes: usize,
    /// Length of the file, whole records only.
    physical: u64,
    shared: Arc<Shared>,
    syncer: Syncer,
    trouble: Option<Trouble>,
    /// Bytes that another program took out of the file, until that is said.
    truncated: Option<u64>,
    /// Whether another program ever did so.
    was_truncated: bool,
    /// Where the file was at the last look.
    place: Place,
    next_look: Instant,
    /// The disk did not keep what was written.
    is_unsafe: bool,
    listener: Option<(Level, Listener)>,
    redaction: Option<Redaction>,
    /// What is known of secrets in raw lines, where those are redacted.
    raw: Option<Box<RawLines>>,
}

/// The state of redaction for each of the agent's streams.
#[derive(Debug, Default)]
struct RawLines {
    stdout: Lines,
    stderr: Lines,
}

/// A line that is written from the chunk that it came in.
#[derive(Clone, Copy, Debug)]
struct Borrowed {
    /// It belongs behind so much of the buffer.
    behind: usize,
    /// Where it stands in the chunk.
    at: usize,
    len: usize,
}

/// The file cannot be written at present.
struct Trouble {
    next_try: Instant,
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log")
            .field("path", &self.path.get())
            .field("physical", &self.physical)
            .field("degraded", &self.trouble.is_some())
            .finish_non_exhaustive()
    }
}

impl Log {
    /// Makes the folder and the file; the agent is not started where this fails.
    pub fn create(options: LogOptions, started: UnixMillis) -> Result<Log, LogError> {
        survive_file_size_limit();
        let (file, path) = file::create(&options.folder, &options.prefix, started)?;
        let io = |source| LogError::Create { path: path.clone(), source };
        let shared = Arc::new(Shared::new(file.try_clone().map_err(io)?));
        let syncer = Syncer::new(file.try_clone().map_err(io)?, options.durability).map_err(io)?;
        Ok(Log {
            file,
            path: PathCell::new(path.clone()),
            options,
            id: crate::new_log_id(),
            header: None,
            started,
            stamp: Stamp::new(started),
            buffer: Vec::with_capacity(64 << 10),
            borrowed: Vec::new(),
            borrowed_bytes: 0,
            physical: 0,
            shared,
            syncer,
            trouble: None,
            truncated: None,
            was_truncated: false,
            place: Place::There,
            next_look: Instant::now() + LOOK,
            is_unsafe: false,
            listener: None,
            redaction: None,
            raw: None,
        })
    }

    /// Returns true if another program has taken bytes out of the file.
    pub(crate) fn was_truncated(&self) -> bool {
        self.was_truncated
    }

    /// Where the log is now.
    pub fn path(&self) -> PathBuf {
        self.path.get()
    }

    /// The same for others, also after the file was renamed.
    pub fn path_cell(&self) -> PathCell {
        self.path.clone()
    }

    /// Writes the first record, `log_opened`: without it nobody can read the others.
    fn begin(&mut self, header: LogOpened) {
        self.decide(header.clone(), None);
        self.header = Some(header);
    }

    /// Whom to tell of decisions that are at least so loud.
    pub fn set_listener(&mut self, level: Level, listener: Listener) {
        self.listener = Some((level, listener));
    }

    /// From here on, takes secrets out of decisions and, where that is asked for, of raw records.
    pub fn redact(&mut self, redaction: Redaction) {
        self.raw = redaction.raw.then(Box::default);
        self.redaction = Some(redaction);
    }

    /// What is redacted here.
    pub fn redaction(&self) -> Option<&Redaction> {
        self.redaction.as_ref()
    }

    /// What records are stamped with until the next call.
    pub fn set_time(&mut self, now: UnixMillis) {
        self.stamp.set(now);
    }

    /// Where the next record will begin, for [`Tail`]s.
    pub fn position(&self) -> u64 {
        self.shared.end() + (self.buffer.len() + self.borrowed_bytes) as u64
    }

    /// Puts down what the agent wrote. It is in the kernel after the next [`flush`](Self::flush).
    #[inline]
    pub fn line(&mut self, stream: Stream, line: &Line<'_>, scan: &Scan<'_>) {
        if self.raw.is_some() {
            return self.redacted_line(stream, line, scan);
        }
        record::push_line(&mut self.buffer, &self.stamp, stream, line, scan);
        if self.buffer.len() >= FLUSH_AT && self.borrowed.is_empty() {
            self.flush();
        }
    }

    /// Like [`line`](Self::line), for a line that begins at `at` in a chunk which will be given to
    /// [`flush_chunk`](Self::flush_chunk): a large one is written from there and not copied.
    #[inline]
    pub fn line_of_chunk(&mut self, line: &Line<'_>, scan: &Scan<'_>, at: usize) {
        if self.raw.is_some() {
            return self.redacted_line(Stream::Stdout, line, scan);
        }
        if line.bytes.len() < LARGE || !record::is_verbatim(Stream::Stdout, line, scan) {
            record::push_line(&mut self.buffer, &self.stamp, Stream::Stdout, line, scan);
            return;
        }
        record::push_verbatim_head(&mut self.buffer, &self.stamp, line);
        let len = line.bytes.len();
        self.borrowed.push(Borrowed { behind: self.buffer.len(), at, len });
        self.borrowed_bytes += len;
        self.buffer.extend_from_slice(record::VERBATIM_TAIL);
    }

    /// The record of a line without its secrets: JSON stays JSON, with nothing changed but the
    /// strings that held one.
    #[cold]
    fn redacted_line(&mut self, stream: Stream, line: &Line<'_>, scan: &Scan<'_>) {
        let (Some(redaction), Some(raw)) = (&self.redaction, &mut self.raw) else { return };
        let redactor = &redaction.redactor;
        let lines = match stream {
            Stream::Stdout => &mut raw.stdout,
            Stream::Stderr => &mut raw.stderr,
        };
        let safe = match std::str::from_utf8(line.bytes) {
            Ok(json) if record::is_verbatim(stream, line, scan) => {
                match redactor.redact_json_text(json) {
                    Cow::Borrowed(json) => Cow::Borrowed(json.as_bytes()),
                    Cow::Owned(json) => Cow::Owned(json.into_bytes()),
                }
            }
            _ => lines.bytes(redactor, line.bytes),
        };
        let line = Line { bytes: &safe, ..*line };
        record::push_line(&mut self.buffer, &self.stamp, stream, &line, scan);
    }

    /// Hands all records to the kernel, those of a chunk among them, with one append.
    pub fn flush_chunk(&mut self, chunk: &[u8]) {
        if self.borrowed.is_empty() {
            return self.flush();
        }
        let total = self.buffer.len() + self.borrowed_bytes;
        let mut parts = Vec::with_capacity(2 * self.borrowed.len() + 1);
        let mut from = 0;
        for borrowed in &self.borrowed {
            parts.push(self.buffer.get(from..borrowed.behind).unwrap_or_default());
            parts.push(chunk.get(borrowed.at..borrowed.at + borrowed.len).unwrap_or_default());
            from = borrowed.behind;
        }
        parts.push(self.buffer.get(from..).unwrap_or_default());
        let slices: Vec<IoSlice<'_>> = parts.iter().map(|part| IoSlice::new(part)).collect();
        let fits = self.trouble.is_none() && slices.len() <= MOST_PARTS;
        let written = if fits { self.file.write_vectored(&slices).unwrap_or(0) } else { 0 };
        self.borrowed_bytes = 0;
        if written == total {
            self.borrowed.clear();
            self.buffer.clear();
            self.grew(total);
            self.tell_truncation();
            return self.look_if_due();
        }
        // The way of small records knows what to do about a disk that is full; it begins anew.
        let whole = parts.concat();
        self.borrowed.clear();
        self.buffer = whole;
        take_back(&mut self.file, written);
        self.flush();
    }

    /// Counts records that were just appended to the file.
    fn grew(&mut self, by: usize) {
        let offset = self.place_of_last(by);
        self.shared.grew_in_file(by, offset);
        self.syncer.dirty();
    }

    /// Where the bytes that were just appended begin in the file. They begin elsewhere than where the
    /// file ended if another program truncated it (`logrotate` with `copytruncate`) or appended to it.
    fn place_of_last(&mut self, by: usize) -> u64 {
        let expected = self.physical;
        if by == 0 {
            return expected;
        }
        let end = self.file.stream_position().unwrap_or(expected + by as u64);
        let offset = end.saturating_sub(by as u64);
        self.physical = end;
        if offset < expected {
            self.shared.cut(offset);
            *self.truncated.get_or_insert(0) += expected - offset;
            self.was_truncated = true;
        }
        offset
    }

    /// Says that another program truncated the file, once that was noticed.
    fn tell_truncation(&mut self) {
        let Some(bytes) = self.truncated.take() else { return };
        let text = format!(
            "another program truncated the log `{}` ({bytes} bytes are gone); the run goes on, and so does the log",
            self.path.get().display()
        );
        if let Some(header) = self.header.clone() {
            self.decide(header, None);
        }
        let path = self.path.get().to_string_lossy().into_owned();
        self.decide(LogTruncated { bytes, path, text }, None);
        self.flush();
    }

    /// Puts down what we did, and tells the listener.
    pub fn decide(&mut self, record: impl Into<DecisionRecord>, event: Option<&EventKind>) {
        let record = record.into();
        let from = self.buffer.len();
        record::push_decision(&mut self.buffer, &self.stamp, &record, event);
        if self.redaction.is_some() {
            self.redact_decision(from);
        }
        self.tell(record.level(), record.kind(), &record);
    }

    /// The same for what was redacted before, where it came from: every tool call leaves five such
    /// records, and nothing else in them is a text. Ids count as none, unless all of the log is
    /// redacted.
    pub fn decide_known(&mut self, record: impl Into<DecisionRecord>, event: Option<&EventKind>) {
        let record = record.into();
        if self.raw.is_some() {
            return self.decide(record, event);
        }
        record::push_decision(&mut self.buffer, &self.stamp, &record, event);
        self.tell(record.level(), record.kind(), &record);
    }

    /// Puts down a line that a client of the agent's wrote, or a part of one.
    pub fn client_line(&mut self, line: &Line<'_>) {
        let from = self.buffer.len();
        let line = ClientLine::of(line);
        record::push_client_line(&mut self.buffer, &self.stamp, &line);
        if self.redaction.is_some() {
            self.redact_decision(from);
        }
        self.tell(Level::Debug, DecisionKind::ClientSaid, &line);
    }

    fn tell<T: Serialize>(&mut self, level: Level, kind: DecisionKind, record: &T) {
        if let Some((_, listener)) = self.listener.as_mut().filter(|(from, _)| level >= *from) {
            let mut fields = serde_json::to_value(record).unwrap_or_default();
            if let Some(fields) = fields.as_object_mut() {
                fields.shift_remove("msg");
            }
            if let Some(redaction) = &self.redaction {
                redaction.redactor.redact_json(&mut fields);
            }
            listener(level, kind.name(), &fields);
        }
    }

    /// Takes secrets out of the record that begins there in the buffer.
    fn redact_decision(&mut self, from: usize) {
        // What every record begins with is ours.
        let head = self.stamp.head_len().min(self.buffer.len() - from);
        if let Some(redaction) = &self.redaction
            && let Some(Ok(fields)) = self.buffer.get(from + head..).map(str::from_utf8)
            && let Cow::Owned(safe) = redaction.redactor.redact_json_text(fields)
        {
            self.buffer.truncate(from + head);
            self.buffer.extend_from_slice(safe.as_bytes());
        }
    }

    /// Hands all records to the kernel, with one append.
    pub fn flush(&mut self) {
        self.look_if_due();
        self.write_out();
    }

    fn write_out(&mut self) {
        if self.buffer.is_empty() {
            self.retry_if_due();
            return;
        }
        if self.trouble.is_none() {
            let (taken, result) = write_records(&mut self.file, &self.buffer);
            self.grew(taken);
            match result {
                Ok(()) => {
                    self.buffer.clear();
                    return self.tell_truncation();
                }
                Err(error) => {
                    self.buffer.drain(..taken);
                    self.degrade(&error);
                }
            }
        }
        self.shared.grew_in_ring(&self.buffer, RING);
        self.buffer.clear();
        self.retry_if_due();
    }

    /// Whether a reader is so far behind, with nothing but memory between, that the agent has to
    /// wait. Only on a disk that cannot be written.
    pub fn is_congested(&self) -> bool {
        self.trouble.is_some() && self.shared.is_congested(RING)
    }

    /// Returns true while the file cannot be written.
    pub(crate) fn is_degraded(&self) -> bool {
        self.trouble.is_some()
    }

    /// Whether the log was required and cannot be kept.
    pub fn has_failed(&self) -> bool {
        let fails = self.trouble.is_some() || self.is_unsafe || self.place == Place::Deleted;
        self.options.required && fails
    }

    /// How many bytes of the log a reader of ours needed and did not get, because they were gone before
    /// or it took nothing any more.
    pub fn missed(&self) -> u64 {
        self.shared.missed()
    }

    /// Counts bytes that a reader needed and does not get, for [`missed`](Self::missed).
    pub(crate) fn count_missed(&self, bytes: u64) {
        self.shared.count_missed(bytes);
    }

    /// Waits until everything so far is on the disk.
    pub fn sync(&mut self) {
        self.flush();
        self.syncer.sync_now();
    }

    /// Puts the session into the file's name, once it is known. The name never holds the id itself
    /// where that is not plain.
    pub fn name_after(&mut self, session: &SessionId) {
        let path = self.path.get();
        // At the path may be a file of another program by now.
        if place::look(&self.file, &path) == Place::There
            && let Some(path) =
                file::rename(&path, &self.options.prefix, self.started, &session.file_stem())
        {
            self.path.set(path);
        }
    }

    /// A reader of this log that begins at `position`.
    pub fn tail(&self, position: u64) -> Tail {
        Tail::new(Arc::clone(&self.shared), position)
    }

    /// The log, to be read by others at any time.
    pub fn source(&self) -> LogSource {
        LogSource::new(Arc::clone(&self.shared))
    }

    /// Our id of this log, as its first record has it.
    pub fn id(&self) -> LogId {
        self.id
    }

    /// Says that nothing will follow, and syncs.
    pub fn end(&mut self) {
        self.flush();
        if self.trouble.is_some() {
            self.recover();
        }
        self.syncer.sync_now();
        self.look();
        self.write_out();
        if self.place == Place::Deleted {
            self.restore();
        }
        self.shared.finish();
        // Readers of ours may keep the file open; to others it is complete from now on.
        let _not_marked = self.file.unlock();
    }

    fn degrade(&mut self, error: &std::io::Error) {
        self.trouble = Some(Trouble { next_try: Instant::now() + RETRY });
        let degraded = LogDegraded {
            error: error.to_string(),
            path: self.path.get().to_string_lossy().into_owned(),
            text: format!(
                "the log `{}` cannot be written ({error}); going on in memory",
                self.path.get().display()
            ),
        };
        // It goes behind what could not be written, and to the listener now.
        self.decide(degraded, None);
    }

    fn look_if_due(&mut self) {
        let now = Instant::now();
        if now >= self.next_look {
            self.next_look = now + LOOK;
            self.look();
        }
    }

    /// Looks what became of the file, and says so where it is no longer what it was.
    pub(crate) fn look(&mut self) {
        let path = self.path.get();
        if let Some(error) = self.syncer.take_error().filter(|_| !self.is_unsafe) {
            self.is_unsafe = true;
            let text = format!(
                "the disk did not keep all of the log `{}` ({error}); some of it may be lost",
                path.display()
            );
            let path = path.to_string_lossy().into_owned();
            self.decide(LogDegraded { error: error.to_string(), path, text }, None);
        }
        let place = place::look(&self.file, &path);
        if place == self.place {
            return;
        }
        self.place = place;
        let shown = path.display();
        let text = match place {
            Place::There => return,
            Place::Deleted => format!(
                "another program deleted the log `{shown}`; it is written anew when the run ends, \
                 and lost if we are killed before"
            ),
            Place::Moved => format!(
                "another program moved or replaced the log `{shown}`; records go on in the file \
                 that had this name"
            ),
        };
        let deleted = place == Place::Deleted;
        self.decide(LogMoved { path: shown.to_string(), deleted, text }, None);
    }

    /// Writes the file anew that another program deleted.
    fn restore(&mut self) {
        let path = self.path.get();
        match place::restore(&self.file, &path) {
            Ok(path) => self.path.set(path),
            Err(error) => {
                let text = format!(
                    "the log `{}` is lost: another program deleted it, and it cannot be written \
                     anew ({error})",
                    path.display()
                );
                let path = path.to_string_lossy().into_owned();
                self.decide(LogDegraded { error: error.to_string(), path, text }, None);
            }
        }
    }

    fn retry_if_due(&mut self) {
        if self.trouble.as_ref().is_some_and(|trouble| Instant::now() >= trouble.next_try) {
            self.recover();
        }
    }

    /// Tries to bring what is in memory to the file.
    fn recover(&mut self) {
        let Some(trouble) = &mut self.trouble else { return };
        let waiting = self.shared.ring();
        let (taken, result) = write_records(&mut self.file, &waiting);
        if result.is_err() {
            trouble.next_try = Instant::now() + RETRY;
        }
        let offset = self.place_of_last(taken);
        self.shared.ring_is_in_file(offset, taken);
        self.syncer.dirty();
        if result.is_err() {
            return;
        }
        self.trouble = None;
        self.decide(LogRecovered { lost_bytes: self.shared.dropped() }, None);
        self.flush();
        self.tell_truncation();
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.flush();
        self.shared.finish();
    }
}

/// Installs a handler for SIGXFSZ that does nothing, once. By default a write beyond `RLIMIT_FSIZE`
/// kills the process; with a handler it fails with an error, like one on a full disk. A handler is
/// reset by `exec`, so no child inherits it.
fn survive_file_size_limit() {
    static DONE: std::sync::Once = std::sync::Once::new();
    DONE.call_once(|| {
        let seen = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let _default_stays = signal_hook::flag::register(nix::libc::SIGXFSZ, seen);
    });
}

/// Appends records, as many as there is room for: one that fits only in part is cut off again.
/// Returns how many bytes were taken.
fn write_records(file: &mut File, bytes: &[u8]) -> (usize, std::io::Result<()>) {
    let mut written = 0;
    let error = loop {
        match file.write(bytes.get(written..).unwrap_or_default()) {
            Ok(n) if written + n == bytes.len() => return (bytes.len(), Ok(())),
            Ok(0) => break std::io::ErrorKind::WriteZero.into(),
            Ok(n) => written += n,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => break e,
        }
    };
    let whole = bytes.get(..written).unwrap_or_default();
    let whole = whole.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    take_back(file, written - whole);
    (whole, Err(error))
}

/// Removes the last `bytes` bytes that were appended to the file.
fn take_back(file: &mut File, bytes: usize) {
    if bytes == 0 {
        return;
    }
    // Nothing better can be done where even this fails; the reader repairs a torn record.
    if let Ok(end) = file.stream_position() {
        let end = end.saturating_sub(bytes as u64);
        let _uncut = file.set_len(end).and_then(|()| file.seek(std::io::SeekFrom::Start(end)));
    }
}

#[cfg(test)]
mod tests;
