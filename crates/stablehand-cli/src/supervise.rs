//! One invocation: a log, its faces, and the runs between opening and closing them.

use crate::ask::{Asking, Attendant, Told};
use crate::console;
use crate::env::Env;
use crate::failure::Failure;
use crate::input::Desk;
use crate::render::{EventLines, TextView};
use crate::screen::Screen;
use crate::signals::{self, Attention};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use stablehand::control::{self, Request, Requests};
use stablehand::driver::{self, Faces, RunReport, RunSpec};
use stablehand::follow::{Follower, Show};
use stablehand::log::{Durability, Log, LogOptions};
use stablehand::redact::{Redacting, Redaction};
use stablehand::sink::PassThrough;
use stablehand_core::Dialect;
use stablehand_core::event::SessionEnd;
use stablehand_core::record::{FORMAT, Level, Stream};
use stablehand_store::Filler;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What standard output carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// The agent's own output, byte for byte.
    StreamJson,
    /// Text for a person.
    Text,
    /// Our events, as JSON lines.
    Events,
    /// Nothing.
    Quiet,
}

/// How an invocation is set up.
#[derive(Debug)]
pub struct Setup {
    /// The program's name, for messages and the log.
    pub program: &'static str,
    /// Where the log goes.
    pub log_dir: PathBuf,
    /// What standard output carries.
    pub format: Format,
    /// How loud we are on standard error.
    pub level: Level,
    /// Whether a log that cannot be written ends the run.
    pub log_required: bool,
    /// When the log reaches the disk.
    pub durability: Durability,
    /// Keep digests of what is written.
    pub verify: bool,
    /// Decisions that the face tells in its own words.
    pub told_by_face: &'static [&'static str],
    /// How the agent is read.
    pub dialect: Dialect,
    /// Whether a status line may be shown where there is a terminal.
    pub status: bool,
    /// What is redacted, in the log and by the faces.
    pub redaction: Option<Redaction>,
    /// Who answers the agent's questions, where it asks any.
    pub attendant: Option<Attendant>,
    /// Whether the log is indexed while it grows.
    pub index: bool,
    /// Which results text shows.
    pub results: Results,
    /// Whether standard input is a client that speaks to the agent itself.
    pub client: bool,
}

/// Which results of turns are shown as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Results {
    /// What was not said before in the turn.
    New,
    /// Those of turns in which nothing was said.
    Lonely,
}

/// An invocation in progress.
#[derive(Debug)]
pub struct House {
    /// Its log.
    pub log: Log,
    /// Who may print.
    pub screen: Screen,
    faces: Faces,
    follower: Option<Follower>,
    asking: Option<Asking>,
    filler: Option<Filler>,
    requests: Requests,
    attention: Attention,
    shows_status: bool,
    format: Format,
    /// Where the records of the present run begin.
    run_began: u64,
}

/// What a reader gets to take the rest after a signal.
const LAST_CALL: Duration = Duration::from_millis(300);

/// One wait for a slow reader, between two looks at the signals.
const SETTLE: Duration = Duration::from_millis(50);

impl House {
    /// Opens the log, then the faces; nothing is started where the log cannot be made.
    pub fn open(env: &Env, setup: &Setup) -> Result<House, Failure> {
        let started = stablehand::clock::unix_now();
        let options = LogOptions {
            folder: setup.log_dir.clone(),
            prefix: setup.program.to_owned(),
            durability: setup.durability,
            required: setup.log_required,
        };
        let mut log = Log::create(options, started)?;
        let redaction = setup.redaction.as_ref();
        let raw = redaction.is_some_and(|redaction| redaction.raw);
        let io =
            |error: std::io::Error| Failure::new(format!("failed to set up our streams: {error}"));
        let screen = Screen::start(redaction).map_err(io)?;
        log.set_listener(
            setup.level,
            console::listener(setup.program, screen.clone(), setup.told_by_face),
        );
        let mut opened = serde_json::json!({
            "v": FORMAT,
            "log": stablehand::new_run_id(),
            "program": setup.program,
            "version": env!("CARGO_PKG_VERSION"),
            "dialect": setup.dialect.name(),
        });
        if raw {
            opened["redacted_raw"] = true.into();
        }
        log.begin(opened);
        // From here on; what is above is ours, and an agent that is to start need not wait for what
        // the first look costs.
        if let Some(redaction) = redaction {
            log.redact(redaction.clone());
        }
        let (control, requests) = control::control().map_err(io)?;
        let attention = signals::watch(control.clone()).map_err(io)?;
        let shows_status = setup.status
            && env.stderr_is_terminal
            && !env.dumb
            && !(env.stdout_is_terminal && setup.format == Format::StreamJson);
        let mut faces = Faces::default();
        if setup.client {
            faces.client = Some(nix::unistd::dup(std::io::stdin()).map_err(|e| io(e.into()))?);
        }
        let pass = |fd: std::os::fd::BorrowedFd<'_>, stream| {
            let sink = PassThrough::new(nix::unistd::dup(fd)?, stream)?;
            let folder = || setup.log_dir.clone();
            let sink = match redaction {
                // The agent's own stream comes with the agent's own messages.
                Some(redaction) if setup.format != Format::StreamJson => {
                    sink.redacted(Arc::clone(&redaction.redactor), folder())
                }
                _ if raw || setup.client => sink.apart(folder()),
                _ => sink,
            };
            Ok(if setup.verify { sink.with_digest() } else { sink })
        };
        let text_shows_stderr = shows_status && setup.format == Format::Text;
        if !text_shows_stderr {
            let sink = pass(std::io::stderr().as_fd(), Stream::Stderr).map_err(io)?;
            let sink = if shows_status { sink.announced(screen.passes_by()) } else { sink };
            faces.stderr = Some(sink);
        }
        let asking = match &setup.attendant {
            Some(attendant) => {
                Asking::start(attendant, control.clone(), &screen, &attention).map_err(io)?
            }
            None => None,
        };
        let gone = move || control.send(Request::ReaderGone);
        let view: Option<Box<dyn Show>> = match setup.format {
            Format::StreamJson => {
                faces.stdout = Some(pass(std::io::stdout().as_fd(), Stream::Stdout).map_err(io)?);
                None
            }
            Format::Quiet => None,
            Format::Text => {
                let view = TextView::new(screen.clone(), text_shows_stderr);
                let view = match setup.results {
                    Results::New => view,
                    Results::Lonely => view.with_lonely_results(),
                };
                Some(Box::new(Redacting::new(view, redaction)))
            }
            Format::Events => {
                Some(Box::new(Redacting::new(EventLines::new(screen.clone()), redaction)))
            }
        };
        let feed = asking.as_ref().map(Asking::feed);
        let follower = if view.is_some() || feed.is_some() {
            let told = Told::new(view, feed);
            Some(Follower::start(log.tail(0), setup.dialect, told, gone).map_err(io)?)
        } else {
            None
        };
        let format = setup.format;
        let filler = setup.index.then(|| Filler::start(&log.path()));
        Ok(House {
            log,
            screen,
            faces,
            follower,
            asking,
            filler,
            requests,
            attention,
            shows_status,
            format,
            run_began: 0,
        })
    }

    /// Runs an agent, and waits until its readers have everything.
    pub fn run(&mut self, spec: &RunSpec) -> (RunReport, Settled) {
        self.attention.set(true);
        if self.shows_status {
            let cell = driver::StatusCell::default();
            self.faces.status = Some(cell.clone());
            // Without a status line everything else still works.
            let _no_thread = self.screen.draw(cell);
        }
        self.run_began = self.log.position();
        if let Some(sink) = &mut self.faces.stdout {
            sink.restart_count();
        }
        let report = driver::run(spec, &mut self.log, &mut self.faces, &self.requests);
        if self.shows_status {
            self.screen.finish();
        }
        // Whoever was told to stop does not wait for a reader that may never come back.
        let patience = match report.end.end {
            SessionEnd::Interrupted | SessionEnd::ReaderGone => Some(LAST_CALL),
            _ => None,
        };
        let settled = self.settle(patience);
        self.attention.set(false);
        (report, settled)
    }

    /// Waits until whoever reads us has everything, or is gone, or somebody is tired of waiting.
    /// The agent's tree is gone by now, so nothing but the reader depends on it.
    fn settle(&mut self, patience: Option<Duration>) -> Settled {
        self.log.flush();
        let position = self.log.position();
        let until = patience.map(|patience| Instant::now() + patience);
        loop {
            if until.is_some_and(|until| Instant::now() >= until) {
                return Settled::Everything;
            }
            if let Some(Request::Stop { signal }) = self.requests.next() {
                return Settled::Interrupted(signal);
            }
            let sinks = [&mut self.faces.stdout, &mut self.faces.stderr];
            let mut waiting = false;
            for sink in sinks.into_iter().flatten().filter(|sink| !sink.is_caught_up()) {
                waiting = true;
                sink.settle(SETTLE);
            }
            if let Some(follower) = &self.follower {
                waiting |= !follower.wait_for(position, SETTLE);
            }
            if !waiting {
                return Settled::Everything;
            }
        }
    }

    /// A line of our own on standard output, after all that the agent wrote.
    pub fn insert(&mut self, line: &str) {
        match (&mut self.faces.stdout, self.format) {
            (Some(sink), _) => sink.insert(line.as_bytes()),
            (None, Format::Text | Format::Events) => {
                let _nobody_there = self.screen.out(line.as_bytes());
            }
            (None, Format::StreamJson | Format::Quiet) => {}
        }
    }

    /// Bytes and digest of what was written to standard output.
    pub fn written(&self) -> Option<(u64, Option<String>)> {
        self.faces.stdout.as_ref().map(PassThrough::written)
    }

    /// Bytes and digest of the agent's output of the last run, as it stands in the log.
    pub fn logged(&mut self) -> (u64, String) {
        self.log.flush();
        stablehand::sink::digest_of_log(self.log.tail(self.run_began), Stream::Stdout)
    }

    /// Waits, unless a signal says otherwise.
    pub fn rest(&self, how_long: Duration) -> Option<i32> {
        self.attention.set(true);
        let until = Instant::now() + how_long;
        let signal = loop {
            if let Some(Request::Stop { signal }) = self.requests.next() {
                break Some(signal);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break None;
            }
            let mut fds = [PollFd::new(self.requests.fd(), PollFlags::POLLIN)];
            let bound = PollTimeout::try_from(left.as_millis() + 1).unwrap_or(PollTimeout::MAX);
            let _interrupted = poll(&mut fds, bound);
        };
        self.attention.set(false);
        signal
    }

    /// Where a person is asked between two runs.
    pub fn desk(&self) -> Desk<'_> {
        Desk { screen: &self.screen, requests: &self.requests, attention: &self.attention }
    }

    /// Ends the log and waits for its readers. Returns the exit status, which is not 0 where a reader
    /// did not get everything.
    pub fn close(mut self, status: Result<u8, Failure>) -> Result<u8, Failure> {
        let missed = self.log.missed();
        if missed > 0 {
            self.log.decide(Level::Error, "output_lost", &output_lost(missed), None);
        }
        // Nobody waits for it: what the index lacks, whoever asks it reads.
        if let Some(text) = self.filler.take().and_then(|filler| filler.trouble()) {
            let fields = serde_json::json!({ "text": format!("the index is behind: {text}") });
            self.log.decide(Level::Debug, "index_behind", &fields, None);
        }
        self.log.end();
        if let Some(follower) = &self.follower {
            // They have everything already; this is only the end of a thread.
            follower.wait_for(u64::MAX, Duration::from_secs(1));
        }
        // Before the last words: it may still have the terminal.
        drop(self.asking.take());
        self.screen.flush();
        match status {
            Ok(0) if missed > 0 => Ok(1),
            status => status,
        }
    }
}

/// Says that a reader of ours did not get everything.
pub fn output_lost(bytes: u64) -> serde_json::Value {
    let text = format!(
        "output is incomplete: another program truncated the log while {bytes} bytes of it had not \
         been shown yet"
    );
    serde_json::json!({ "bytes": bytes, "text": text })
}

/// Whether the readers got everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// They did, or are gone.
    Everything,
    /// A signal ended the wait.
    Interrupted(i32),
}
