//! A session at the command line: where its bytes and events go, who answers, and the wait for its
//! end.
//!
//! `run`, `talk`, `cursor-wrap` and `acp --through` are this with different settings. What a session
//! does is the library's; here is only what a shell and a person see of it.

mod converse;
mod show;
mod sinks;

pub use converse::{Follow, Interrupt, Left, TurnOver};

use crate::ask::{Asking, Attendant};
use crate::choice::ChoiceArgs;
use crate::console;
use crate::env::Env;
use crate::failure::{self, Failure};
use crate::main_stablehand::PROGRAM;
use crate::render::{EventLines, TextView};
use crate::screen::Screen;
use crate::signals::{self, Attention};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use show::View;
use stablehand::agent::Agent;
use stablehand::control::{self, Requests};
use stablehand::redact::Redaction;
use stablehand::session::{Attach, Handle, Outcome, Session, SessionSpec};
use stablehand::show::Show;
use stablehand::{driver, pages};
use stablehand_core::event::SessionEnd;
use stablehand_core::record::{DecisionRecord, Level};
use stablehand_store::Filler;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What a view gets to show the rest after a signal.
const LAST_CALL: Duration = Duration::from_millis(300);

/// One wait for a slow view, between two looks at the signals.
const LOOK: Duration = Duration::from_millis(50);

/// While the log cannot be written, what a view has not shown is in memory only. One whose reader takes
/// nothing for so long, once the tree is gone, is given up: the disk may stay full for ever.
const STUCK: Duration = Duration::from_secs(5);

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

/// How a session is shown.
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
    /// Decisions that the face tells in its own words.
    pub told_by_face: &'static [&'static str],
    /// Whether a status line may be shown where there is a terminal.
    pub status: bool,
    /// Whether text shows the agent's standard error; else it is passed on beside it.
    pub stderr_in_text: bool,
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
    /// Keep digests of what is written, and compare.
    pub verify: bool,
    /// Whether a person or a pipe prompts: signals then come to the face first.
    pub conversation: bool,
}

impl Setup {
    /// One turn of an agent that asks nothing, with text as its output; the fields say what else is
    /// wanted.
    pub fn new(program: &'static str, log_dir: PathBuf) -> Setup {
        Setup {
            program,
            log_dir,
            format: Format::Text,
            level: Level::Warn,
            told_by_face: &["run_ended", "spawn_failed", "prompt_denied"],
            status: false,
            stderr_in_text: false,
            redaction: None,
            attendant: None,
            index: false,
            results: Results::New,
            client: false,
            verify: false,
            conversation: false,
        }
    }

    /// The same for what was chosen on the command line.
    pub fn of(choice: &ChoiceArgs, env: &Env) -> Result<Setup, Failure> {
        Ok(Setup {
            level: choice.log_level,
            redaction: choice.redaction(),
            index: choice.indexes(env),
            ..Setup::new(PROGRAM, choice.log_dir(env)?)
        })
    }
}

/// Which results of turns are shown as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Results {
    /// What was not said before in the turn.
    New,
    /// Those of turns in which nothing was said.
    Lonely,
}

/// A session in progress.
#[derive(Debug)]
pub struct Shell {
    /// What may be printed on.
    pub screen: Screen,
    program: &'static str,
    agent: Option<Agent>,
    session: Option<Session>,
    handle: Handle,
    attention: Attention,
    /// Signals, in a conversation.
    requests: Option<Requests>,
    /// What shows events, where anything does.
    view: Option<View>,
    asking: Option<Asking>,
    format: Format,
    shows_status: bool,
    /// A rule denied a prompt: then not everything went well.
    has_denied: bool,
}

/// How a session ended.
#[derive(Debug)]
pub struct Ended {
    /// The session's own account.
    pub outcome: Outcome,
    /// The signal that ended the wait for a slow reader.
    pub signal: Option<i32>,
    /// The agent that ran, where we know it.
    agent: Option<Agent>,
}

impl Shell {
    /// Starts the session with its sinks, its view and its approvals. Nothing is started where the
    /// log cannot be made.
    pub fn start(env: &Env, spec: SessionSpec, setup: &Setup) -> Result<Shell, Failure> {
        let redaction = setup.redaction.as_ref();
        let (control, requests) = control::control().map_err(streams)?;
        let attention = signals::watch(control.clone()).map_err(streams)?;
        let screen = Screen::start(redaction).map_err(streams)?;
        let shows_status = setup.status
            && env.stderr_is_terminal
            && !env.dumb
            && !(env.stdout_is_terminal && setup.format == Format::StreamJson);
        let stderr_in_text = setup.format == Format::Text && (setup.stderr_in_text || shows_status);
        let filler: Arc<Mutex<Option<Filler>>> = Arc::default();
        let index = Arc::clone(&filler);
        // In a conversation the face hears signals, and says what they mean.
        let (face, session) = if setup.conversation {
            (Some(requests), None)
        } else {
            (None, Some((control, requests)))
        };
        let attach = Attach {
            listener: Some((
                setup.level,
                console::listener(setup.program, screen.clone(), setup.told_by_face),
            )),
            faces: sinks::open(setup, &screen, !stderr_in_text, shows_status).map_err(streams)?,
            control: session,
            last_records: Some(Box::new(move || index_trouble(&index))),
        };
        let spec = spec.log_dir(&setup.log_dir).log_prefix(setup.program).verify(setup.verify);
        let spec = match &setup.redaction {
            Some(redaction) => spec.redact(redaction.clone()),
            None => spec,
        };
        attention.set(true);
        let agent = spec.agent();
        let session = spec.start_with(attach)?;
        let handle = session.handle();
        if setup.index {
            let redactor = redaction.map(|redaction| Arc::clone(&redaction.redactor));
            *lock(&filler) = Some(Filler::start(&session.log(), redactor, pages::give_back));
        }
        let asking = match &setup.attendant {
            Some(attendant) => Asking::start(attendant, handle.control(), &screen, &attention),
            None => Ok(None),
        };
        let mut shell = Shell {
            screen,
            program: setup.program,
            agent,
            handle,
            attention,
            requests: face,
            view: None,
            asking: asking.map_err(streams)?,
            format: setup.format,
            shows_status,
            has_denied: false,
            session: Some(session),
        };
        shell.show(setup, stderr_in_text).map_err(streams)?;
        if !setup.conversation {
            shell.draw();
        }
        Ok(shell)
    }

    /// Starts the thread that shows events, where anybody needs them.
    fn show(&mut self, setup: &Setup, stderr: bool) -> io::Result<()> {
        let view: Option<Box<dyn Show>> = match setup.format {
            Format::StreamJson | Format::Quiet => None,
            Format::Text => {
                let view = TextView::new(self.screen.clone(), stderr);
                Some(Box::new(match setup.results {
                    Results::New => view,
                    Results::Lonely => view.with_lonely_results(),
                }))
            }
            Format::Events => Some(Box::new(EventLines::new(self.screen.clone()))),
        };
        let feed = self.asking.as_ref().map(Asking::feed);
        let Some(session) = &self.session else { return Ok(()) };
        if view.is_none() && feed.is_none() && !setup.conversation {
            return Ok(());
        }
        let events = session.subscribe(stablehand::From::Start).leading();
        self.view = Some(show::start(view, feed, events, self.handle.clone())?);
        Ok(())
    }

    /// What can be said to the session.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// A line of our own on standard output, after all that the agent wrote.
    pub fn insert(&self, line: &str) {
        match self.format {
            Format::StreamJson => self.handle.insert(line),
            Format::Text | Format::Events => {
                let _nobody_there = self.screen.out(line.as_bytes());
            }
            Format::Quiet => {}
        }
    }

    fn draw(&self) {
        if self.shows_status {
            // Without a status line everything else still works.
            let _no_thread = self.screen.draw(self.handle.status_cell());
        }
    }

    /// Waits until the session is over and its readers have everything.
    pub fn wait(&mut self) -> Result<Ended, Failure> {
        let session = self.session.take().map(Session::wait);
        let outcome = session.transpose().map_err(|error| Failure::new(error.to_string()))?;
        let Some(outcome) = outcome else { return Err(Failure::new("the session is over")) };
        if self.shows_status {
            self.screen.finish();
        }
        let signal = outcome.signal.or_else(|| self.wait_for_view(&outcome));
        self.attention.set(false);
        for verified in &outcome.verified {
            self.screen.err(format!("{}: {}\n", self.program, verified.text).as_bytes());
        }
        Ok(Ended { outcome, signal, agent: self.agent })
    }

    /// Waits until the view has shown everything. Only a signal ends the wait for a reader that takes
    /// its time, which it returns; after an interrupt it may never come back, and while the log cannot be
    /// written it must not hold us for ever.
    fn wait_for_view(&self, outcome: &Outcome) -> Option<i32> {
        let view = self.view.as_ref()?;
        let until = match outcome.end() {
            SessionEnd::Interrupted | SessionEnd::ReaderGone => Some(Instant::now() + LAST_CALL),
            _ => None,
        };
        self.attention.set(true);
        let mut taken = (self.screen.taken(), Instant::now());
        loop {
            while view.notes.next().is_some() {}
            if view.shown.get().is_some() {
                return None;
            }
            if self.screen.taken() != taken.0 {
                taken = (self.screen.taken(), Instant::now());
            }
            if outcome.has_unwritten_log() && taken.1.elapsed() >= STUCK {
                outcome.count_missed(1);
                return None;
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return None;
            }
            if let Some(signal) = self.attention.signal() {
                return Some(signal);
            }
            let mut fds = [PollFd::new(view.notes.fd(), PollFlags::POLLIN)];
            let bound = PollTimeout::try_from(LOOK).unwrap_or(PollTimeout::ZERO);
            let _interrupted = poll(&mut fds, bound);
        }
    }

    /// Says what went wrong.
    pub fn tell(&self, failure: &Failure) {
        self.screen.err(failure.message(self.program).as_bytes());
    }

    /// Gives the terminal back, says the last words, and returns the exit status: not 0 where a
    /// reader did not get everything or standard output failed, `--verify` found a difference, or a rule denied a prompt.
    pub fn close(mut self, ended: &Ended, status: u8) -> u8 {
        // Before the last words: it may still have the terminal.
        drop(self.asking.take());
        let missed = ended.outcome.missed_bytes();
        if missed > ended.outcome.lost_bytes {
            let text = stablehand::session::output_lost(missed).text;
            self.screen.err(format!("{}: ERROR {text}\n", self.program).as_bytes());
        }
        let failure = self.view.as_ref().and_then(|view| view.shown.get()?.as_ref().err());
        let failure = failure.filter(|error| error.kind() != io::ErrorKind::BrokenPipe);
        // Of one that stopped the run the log has told.
        if let Some(error) = failure.filter(|_| ended.outcome.end() != SessionEnd::ReaderGone) {
            let text = stablehand::sink::output_failed(error).text;
            self.screen.err(format!("{}: ERROR {text}\n", self.program).as_bytes());
        }
        self.screen.flush();
        let differs = ended.outcome.verified.iter().any(|verified| !verified.identical);
        let failed = missed > 0 || failure.is_some() || differs || self.has_denied;
        if status == 0 && failed { 1 } else { status }
    }
}

impl Ended {
    /// How it ended and what to look at, where it did not end well; `why_once` says why it was not
    /// tried again, where that is of interest.
    pub fn failure(&self, why_once: &str) -> Failure {
        let Outcome { report, log, .. } = &self.outcome;
        // A verdict has been said already, in the words of the log.
        let text = match report.verdict {
            Some(_) => "the agent was stopped".to_owned(),
            None => report.summary(),
        };
        let failure = Failure::new(match why_once {
            "" => text,
            why => format!("{text} (not tried again: {why})"),
        });
        failure.hint(failure::run_hint(report, self.agent, log))
    }

    /// The exit status that shells understand: that of the last run, unless a signal ended the wait
    /// behind it.
    pub fn exit_code(&self) -> u8 {
        match self.signal {
            Some(signal) => by_signal(signal),
            None => driver::exit_code(self.outcome.report.end),
        }
    }
}

/// The exit status of a program that a signal ended.
pub fn by_signal(signal: i32) -> u8 {
    128u8.saturating_add(u8::try_from(signal).unwrap_or(2))
}

/// Returns why the index lacks some of the log. The run does not wait for the index: the next
/// `sessions` command adds the rest.
fn index_trouble(filler: &Mutex<Option<Filler>>) -> Vec<DecisionRecord> {
    let trouble = lock(filler).take().and_then(|filler| filler.trouble());
    let record = |text| DecisionRecord::IndexBehind(format!("the index is behind: {text}").into());
    trouble.map(record).into_iter().collect()
}

#[expect(clippy::needless_pass_by_value, reason = "to be handed to `map_err`")]
fn streams(error: io::Error) -> Failure {
    Failure::new(format!("failed to set up our streams: {error}"))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
