//! The agent's two streams: reading them, and what each line goes through.
//!
//! This is the pass-through path. For every line: scan, log, decode, monitor; for every chunk: one
//! append to the log, then the sink. Nothing on it waits.

use super::channel::{Channel, Channels};
use super::hooks::HookServer;
use super::odd::Oddities;
use super::{Driver, Phase};
use crate::driver::prompt::Delivery;
use crate::sink::PassThrough;
use nix::errno::Errno;
use nix::unistd::read;
use sha2::{Digest, Sha256};
use stablehand_core::decode::TerminalDecoder;
use stablehand_core::event::{EventKind, ProcessExit};
use stablehand_core::json::{Memo, Object, Scan};
use stablehand_core::monitor::Input;
use stablehand_core::record::{PromptRefused, Stream};
use stablehand_core::{Decode, Depth, Dialect, LineSplitter, Part};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// So many reads before the other sources are looked at again.
const READS_IN_A_ROW: usize = 4;

/// The end of the agent's standard error, for error messages.
const TAIL: usize = 4096;

pub(super) struct StdoutStream {
    fd: Option<OwnedFd>,
    splitter: LineSplitter,
    memo: Memo,
    pub(super) decoder: Box<dyn Decode>,
    pub(super) events: Vec<EventKind>,
    bytes: u64,
    hash: Option<Sha256>,
}

/// Which bytes are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Take {
    /// Those of the last read, as far as they are complete.
    Read,
    /// Those that wait for more, although the stream has not ended.
    Held,
    /// The last ones.
    Rest,
}

/// What a read found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Bytes { may_be_more: bool },
    Nothing,
    End,
}

fn read_some(fd: Option<&OwnedFd>, splitter: &mut LineSplitter) -> Found {
    let Some(fd) = fd else { return Found::Nothing };
    loop {
        let space = splitter.space();
        let room = space.len();
        match read(fd, space) {
            Ok(0) => return Found::End,
            Ok(n) => {
                splitter.filled(n);
                return Found::Bytes { may_be_more: n == room };
            }
            Err(Errno::EINTR) => {}
            Err(Errno::EAGAIN) => return Found::Nothing,
            Err(_) => return Found::End,
        }
    }
}

impl StdoutStream {
    pub(super) fn new(fd: OwnedFd, dialect: Dialect, verify: bool) -> Self {
        StdoutStream {
            fd: Some(fd),
            splitter: LineSplitter::default(),
            memo: Memo::default(),
            decoder: dialect.decoder(),
            events: Vec::new(),
            bytes: 0,
            hash: verify.then(Sha256::new),
        }
    }

    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.fd.as_ref().map(AsFd::as_fd)
    }

    /// The screen that the output is drawn on, where it is a terminal's.
    pub(super) fn screen(&mut self) -> Option<&mut TerminalDecoder> {
        self.decoder.as_terminal()
    }

    /// Whether a part of a character waits for the rest.
    pub(super) fn holds_some(&self) -> bool {
        self.splitter.held() > 0
    }

    /// What a client of the agent said to it.
    pub(super) fn overhear(&mut self, object: &Object<'_>) {
        self.decoder.overhear(object);
    }

    /// The bytes that were passed on last.
    pub(super) fn last_chunk(&self) -> &[u8] {
        self.splitter.emitted()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn digest(&self) -> Option<String> {
        self.hash.as_ref().map(|hash| crate::sink::hex(&hash.clone().finalize()))
    }
}

pub(super) struct StderrStream {
    fd: Option<OwnedFd>,
    splitter: LineSplitter,
    tail: Vec<u8>,
}

impl StderrStream {
    pub(super) fn new(fd: OwnedFd) -> Self {
        StderrStream { fd: Some(fd), splitter: LineSplitter::default(), tail: Vec::new() }
    }

    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.fd.as_ref().map(AsFd::as_fd)
    }

    fn remember(&mut self) {
        let bytes = self.splitter.emitted();
        let keep = bytes.get(bytes.len().saturating_sub(TAIL)..).unwrap_or(bytes);
        self.tail.extend_from_slice(keep);
        let excess = self.tail.len().saturating_sub(TAIL);
        self.tail.drain(..excess);
    }

    /// The last of it, safe to show.
    pub(super) fn tail_text(&self) -> Option<String> {
        let text = stablehand_core::text::plain(&String::from_utf8_lossy(&self.tail));
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }
}

impl Driver<'_> {
    /// Reads what the agent wrote to its output; true when everything readable was read.
    pub(super) fn read_stdout(&mut self, channels: &mut Channels) -> bool {
        for _ in 0..READS_IN_A_ROW {
            if let Some(sink) = &mut self.faces.stdout {
                sink.let_go(self.log); // The next read takes the place of what is held.
            }
            match read_some(self.stdout.fd.as_ref(), &mut self.stdout.splitter) {
                Found::Bytes { may_be_more } => {
                    let Channels { primary, hooks } = channels;
                    self.take_stdout(primary.as_mut(), hooks.as_mut(), Take::Read);
                    if !may_be_more {
                        return true;
                    }
                    if self.faces.stdout.as_ref().is_some_and(PassThrough::is_holding) {
                        return false;
                    }
                }
                Found::Nothing => return true,
                Found::End => {
                    self.stdout.fd = None;
                    return true;
                }
            }
        }
        false
    }

    /// Reads what the agent wrote to its standard error.
    pub(super) fn read_stderr(&mut self) -> bool {
        for _ in 0..READS_IN_A_ROW {
            match read_some(self.stderr.fd.as_ref(), &mut self.stderr.splitter) {
                Found::Bytes { may_be_more } => {
                    self.take_stderr(false);
                    if !may_be_more {
                        return true;
                    }
                }
                Found::Nothing => return true,
                Found::End => {
                    self.stderr.fd = None;
                    return true;
                }
            }
        }
        false
    }

    /// Reads both to the end, once nobody writes any more.
    pub(super) fn read_rest(&mut self, channels: &mut Channels) {
        while self.stdout.fd.is_some() && !self.read_stdout(channels) {}
        while self.stderr.fd.is_some() && !self.read_stderr() {}
        if let Some(sink) = &mut self.faces.stdout {
            sink.let_go(self.log);
        }
        self.take_stdout(channels.primary.as_mut(), channels.hooks.as_mut(), Take::Rest);
        self.take_stderr(true);
        self.stdout.fd = None;
        self.stderr.fd = None;
    }

    /// What came to standard output: through scan, log, decoder and monitor, then to the sink.
    pub(super) fn take_stdout(
        &mut self,
        channel: &mut dyn Channel,
        mut hooks: Option<&mut HookServer>,
        take: Take,
    ) {
        let now = self.clock.now();
        let (at_end, at_once) = (take == Take::Rest, self.spec.is_at_terminal());
        let interacts = self.spec.interacts();
        self.log.set_time(self.clock.wall(now));
        let from = self.log.position();
        let StdoutStream { splitter, decoder, events, memo, .. } = &mut self.stdout;
        if take != Take::Read {
            splitter.space();
        }
        let mut chunk_offset = None;
        loop {
            let line = match take {
                Take::Rest => splitter.finish(),
                Take::Held => splitter.next_or_held(true),
                Take::Read if at_once => splitter.next_or_held(false),
                Take::Read => splitter.next(),
            };
            let Some(line) = line else { break };
            let scan = if line.part == Part::Whole { memo.scan(line.bytes) } else { Scan::Text };
            let at = (line.offset - *chunk_offset.get_or_insert(line.offset)) as usize;
            self.log.line_of_chunk(&line, &scan, at);
            decoder.line(&line, &scan, Depth::Skim, events);
            channel.hear(&line, &scan, events);
            if let Some(hooks) = &mut hooks {
                hooks.hear(&line, &scan, events);
            }
            if !line.newline {
                self.facts.saw_cut_line(&line, &scan);
            }
            if let Some(odd) = &mut self.odd {
                odd.line(events);
            }
            if events.is_empty() {
                self.monitor.handle(Input::Heard, now, &mut self.actions);
            }
            for event in &*events {
                let input = Input::Event { kind: event, native: decoder.last_type() };
                self.monitor.handle(input, now, &mut self.actions);
                self.facts.take(event);
                if interacts {
                    self.interaction.saw(event);
                }
            }
            events.clear();
        }
        if at_end {
            // What is closed here only because the stream is over says nothing new, but for a result
            // that only now turns out to be the last one. Where we stopped the agent, or it crashed,
            // another one might have followed.
            decoder.finish(Depth::Skim, events);
            let left_by_itself =
                self.stop.reason().is_none() && self.exit == Some(ProcessExit::Code(0));
            for event in events.drain(..) {
                if let EventKind::TurnEnded { .. } = event
                    && left_by_itself
                {
                    self.facts.take(&event);
                }
            }
        }
        channel.record(self);
        if self.facts.session_is_new
            && let Some(session) = &self.facts.session
        {
            // Before a reader sees the session: `Session::log` gives the final name from then on.
            self.log.name_after(session);
        }
        self.log.flush_chunk(self.stdout.splitter.emitted());
        if self.facts.session_is_new {
            // On the disk before the first token is shown: whatever happens to us, the session
            // can be resumed.
            self.session_started();
        }
        for record in self.odd.as_mut().map(Oddities::take).unwrap_or_default() {
            self.log.decide(record, None);
            self.log.flush();
        }
        let emitted = self.stdout.splitter.emitted();
        self.stdout.bytes += emitted.len() as u64;
        if let Some(hash) = &mut self.stdout.hash {
            hash.update(emitted);
        }
        if !channel.pass_on(self, now)
            && let Some(sink) = &mut self.faces.stdout
        {
            sink.chunk(self.stdout.splitter.emitted(), from);
            if at_end {
                sink.let_go(self.log);
            }
        }
        if chunk_offset.is_none() && take == Take::Read {
            self.mutters(now);
        }
        self.heard(now);
    }

    fn take_stderr(&mut self, at_end: bool) {
        let now = self.clock.now();
        self.log.set_time(self.clock.wall(now));
        let from = self.log.position();
        let splitter = &mut self.stderr.splitter;
        if at_end {
            splitter.space();
        }
        let mut lines = false;
        loop {
            let line = if at_end { splitter.finish() } else { splitter.next() };
            let Some(line) = line else { break };
            lines = true;
            self.log.line(Stream::Stderr, &line, &Scan::Text);
        }
        self.log.flush();
        self.stderr.remember();
        if let Some(sink) = &mut self.faces.stderr {
            sink.chunk(self.stderr.splitter.emitted(), from);
            sink.let_go(self.log);
        }
        if lines {
            self.monitor.handle(Input::Heard, now, &mut self.actions);
        } else if !at_end {
            self.mutters(now);
        }
        self.heard(now);
    }

    fn heard(&mut self, now: stablehand_core::Moment) {
        if let Phase::Draining { last_byte, .. } = &mut self.phase {
            *last_byte = now;
        }
    }

    pub(super) fn write_prompt(&mut self) {
        if let Delivery::Refused { taken, of } = self.prompt.write() {
            // Not fatal: it may have read enough, or have died with a message.
            self.stamp_now();
            self.log.decide(PromptRefused { taken: taken as u64, of: of as u64 }, None);
        }
    }

    /// Looks once more, right before a judgement: what waits in the pipe is not silence.
    pub(super) fn everything_is_read(&mut self, channels: &mut Channels) -> bool {
        if self.congested {
            return true;
        }
        let stdout = self.read_stdout(channels);
        self.read_stderr() && stdout
    }
}

impl std::fmt::Debug for StdoutStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StdoutStream").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}
