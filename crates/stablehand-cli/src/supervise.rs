//! One invocation: a log, its faces, and the runs between opening and closing them.

use crate::ask::{self, Asking, Attendant, Told};
use crate::console;
use crate::env::Env;
use crate::failure::Failure;
use crate::input::Desk;
use crate::render::{EventLines, TextView};
use crate::screen::Screen;
use crate::signals::{self, Attention};
use stablehand::control::{self, Request, Requests};
use stablehand::driver::{self, Ending, Faces, RunReport};
use stablehand::follow::{Follower, Show};
use stablehand::host::ControlSocket;
use stablehand::log::{Durability, Log, LogOptions};
use stablehand::redact::{Redacting, Redaction};
use stablehand::session::{AllRuns, Between, Runs, end_session};
use stablehand::sink::{PassThrough, digest_of_log};
use stablehand_core::Dialect;
use stablehand_core::actor::Actor;
use stablehand_core::event::SessionEnd;
use stablehand_core::record::{DecisionRecord, Level, OutputLost, Stream, Verified};
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
    audience: Audience,
    asking: Option<Asking>,
    filler: Option<Filler>,
    requests: Requests,
    format: Format,
    /// Who runs it.
    by: Actor,
    /// How the last run ended.
    ended: Option<Ending>,
    /// Where other processes speak to it.
    socket: Option<ControlSocket>,
}

/// The readers of our output, which get everything of one run before the next one begins.
#[derive(Debug)]
struct Audience {
    program: &'static str,
    screen: Screen,
    follower: Option<Follower>,
    attention: Attention,
    shows_status: bool,
    verify: bool,
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
        let redaction = setup.redaction.as_ref();
        let raw = redaction.is_some_and(|redaction| redaction.raw);
        let io =
            |error: std::io::Error| Failure::new(format!("failed to set up our streams: {error}"));
        let screen = Screen::start(redaction).map_err(io)?;
        let options = LogOptions {
            folder: setup.log_dir.clone(),
            prefix: setup.program.to_owned(),
            durability: setup.durability,
            required: setup.log_required,
        };
        let listener = console::listener(setup.program, screen.clone(), setup.told_by_face);
        let listener = Some((setup.level, listener));
        let key = stablehand::new_session_key();
        let log = Log::open(options, key, setup.dialect, setup.redaction.clone(), listener)?;
        let (control, requests) = control::control().map_err(io)?;
        // A run that cannot be spoken to from outside is one all the same.
        let socket = ControlSocket::open(&setup.log_dir, key, control.clone()).ok();
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
        let audience = Audience {
            program: setup.program,
            screen: screen.clone(),
            follower,
            attention,
            shows_status,
            verify: setup.verify,
            run_began: 0,
        };
        Ok(House {
            log,
            screen,
            faces,
            audience,
            asking,
            filler,
            requests,
            format,
            by: ask::actor(env),
            ended: None,
            socket,
        })
    }

    /// Runs an agent, as often as that takes, and waits until its readers have everything.
    pub fn run(&mut self, runs: Runs) -> AllRuns {
        let House { log, faces, requests, audience, .. } = self;
        audience.attention.set(true);
        let runs = Runs { by: self.by.clone(), ..runs };
        let ended = runs.all(log, faces, requests, audience);
        self.ended = Some(ended.report.end);
        audience.attention.set(false);
        ended
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

    /// Where a person is asked between two runs.
    pub fn desk(&self) -> Desk<'_> {
        Desk { screen: &self.screen, requests: &self.requests, attention: &self.audience.attention }
    }

    /// Ends the log and waits for its readers. Returns the exit status, which is not 0 where a reader
    /// did not get everything.
    pub fn close(mut self, status: Result<u8, Failure>) -> Result<u8, Failure> {
        let missed = self.log.missed();
        if missed > 0 {
            self.log.decide(output_lost(missed), None);
        }
        // We do not wait for the index: a later `sessions` command reads what it lacks.
        if let Some(text) = self.filler.take().and_then(|filler| filler.trouble()) {
            let text = format!("the index is behind: {text}");
            self.log.decide(DecisionRecord::IndexBehind(text.into()), None);
        }
        drop(self.socket.take());
        if let Some(ending) = self.ended {
            end_session(ending, &mut self.log);
        }
        self.log.end();
        if let Some(follower) = &self.audience.follower {
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

impl Between for Audience {
    fn begins(&mut self, log: &Log, faces: &mut Faces) {
        if self.shows_status {
            let cell = driver::StatusCell::default();
            faces.status = Some(cell.clone());
            // Without a status line everything else still works.
            let _no_thread = self.screen.draw(cell);
        }
        self.run_began = log.position();
        if let Some(sink) = &mut faces.stdout {
            sink.restart_count();
        }
    }

    fn ended(
        &mut self,
        report: &RunReport,
        log: &mut Log,
        faces: &mut Faces,
        requests: &Requests,
    ) -> Option<i32> {
        if self.shows_status {
            self.screen.finish();
        }
        // After an interrupt we do not wait for a reader that may never come back.
        let patience = match report.end.end {
            SessionEnd::Interrupted | SessionEnd::ReaderGone => Some(LAST_CALL),
            _ => None,
        };
        let signal = self.settle(patience, log, faces, requests);
        if self.verify {
            self.verify(report, log, faces);
        }
        signal
    }
}

impl Audience {
    /// Waits until our readers have everything or are gone, or until a signal ends the wait. The agent's
    /// tree is gone by now, so only the readers depend on it.
    fn settle(
        &self,
        patience: Option<Duration>,
        log: &mut Log,
        faces: &mut Faces,
        requests: &Requests,
    ) -> Option<i32> {
        log.flush();
        let position = log.position();
        let until = patience.map(|patience| Instant::now() + patience);
        loop {
            if until.is_some_and(|until| Instant::now() >= until) {
                return None;
            }
            if let Some(Request::Stop { signal, .. }) = requests.next() {
                return Some(signal);
            }
            let sinks = [&mut faces.stdout, &mut faces.stderr];
            let mut waiting = false;
            for sink in sinks.into_iter().flatten().filter(|sink| !sink.is_caught_up()) {
                waiting = true;
                sink.settle(SETTLE);
            }
            if let Some(follower) = &self.follower {
                waiting |= !follower.wait_for(position, SETTLE);
            }
            if !waiting {
                return None;
            }
        }
    }

    /// Compares what was read with what was written and logged, and says what it found.
    fn verify(&self, report: &RunReport, log: &mut Log, faces: &Faces) {
        log.flush();
        let written = faces.stdout.as_ref().map(PassThrough::written);
        let logged = digest_of_log(log.tail(self.run_began), Stream::Stdout);
        let same_out = written.as_ref().is_none_or(|w| w.0 == report.bytes && w.1 == report.digest);
        // A log that was redacted is another text.
        let is_raw = !log.redaction().is_some_and(|redaction| redaction.raw);
        let same_log =
            !is_raw || logged.0 == report.bytes && Some(&logged.1) == report.digest.as_ref();
        let verdict = if same_out && same_log { "identical" } else { "DIFFERENT" };
        let out = match &written {
            Some((bytes, _)) => format!("{bytes} bytes written"),
            None => "nothing passed through".into(),
        };
        let text = format!(
            "verify: {} bytes read, {out}, {} bytes in the log{}: {verdict} (sha256 {})",
            report.bytes,
            logged.0,
            if is_raw { "" } else { " (redacted, not compared)" },
            report.digest.as_deref().unwrap_or("unknown")
        );
        self.screen.err(format!("{}: {text}\n", self.program).as_bytes());
        let verified = Verified {
            in_bytes: report.bytes,
            in_sha256: report.digest.clone(),
            out_bytes: written.as_ref().map(|w| w.0),
            out_sha256: written.and_then(|w| w.1),
            log_bytes: logged.0,
            log_sha256: logged.1,
            identical: same_out && same_log,
            text,
        };
        log.decide(verified, None);
    }
}

/// The exit status of what ran: that of its last run, unless a signal ended the wait behind it.
pub fn exit_code(ended: &AllRuns) -> u8 {
    match ended.signal {
        Some(signal) => 128u8.saturating_add(u8::try_from(signal).unwrap_or(2)),
        None => driver::exit_code(ended.report.end),
    }
}

/// Says that a reader of ours did not get everything.
pub fn output_lost(bytes: u64) -> OutputLost {
    let text = format!(
        "output is incomplete: another program truncated the log while {bytes} bytes of it had not \
         been shown yet"
    );
    OutputLost { bytes, text }
}
