//! The agent behind an editor's session, while it lives: a session of the library.
//!
//! Owns how it is started and ended, and the thread that brings its events. Which prompt it gets,
//! and what becomes of its events, is the worker's.

use super::House;
use super::book::Entry;
use super::turn::{Ended, failed, internal};
use super::worker::Word;
use crate::console;
use crate::failure::Failure;
use crate::main_stablehand::PROGRAM;
use agent_client_protocol::v1::schema::{Error, StopReason};
use serde_json::json;
use stablehand::agent::Mode;
use stablehand::control::Refused;
use stablehand::gate::Gate;
use stablehand::session::{Attach, Handle, Policy, Session};
use stablehand::tree;
use stablehand_core::Event;
use stablehand_core::actor::Actor;
use stablehand_core::event::{EventKind, SessionEnd};
use stablehand_core::id::TurnId;
use stablehand_core::mcp::McpServer;
use stablehand_core::speak::Prompt;
use stablehand_store::Filler;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// How long the processes of a cancelled turn get to end.
const LINGER: Duration = Duration::from_secs(2);

/// How long an agent at rest gets to leave by itself.
const FAREWELL: Duration = Duration::from_secs(5);

/// One look at them, and the next.
const LOOK: Duration = Duration::from_millis(50);

/// How a session is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Start {
    pub(super) cwd: PathBuf,
    pub(super) mode: Option<Mode>,
    pub(super) model: Option<String>,
    /// The servers of tools that the editor gives.
    pub(super) servers: Vec<McpServer>,
    /// The agent's own id, where it is to go on.
    pub(super) resume: Option<String>,
}

/// A session that lives.
pub(super) struct Live {
    session: Session,
    handle: Handle,
    start: Start,
    /// The rules that ask, where there are any.
    pub(super) gate: Option<Arc<Gate>>,
    agent_pid: Option<u32>,
    _filler: Option<Filler>,
}

impl Live {
    /// Starts it, and the thread that brings its events.
    pub(super) fn start(
        house: &House,
        start: Start,
        number: u64,
        words: Sender<Word>,
    ) -> Result<Live, Error> {
        let live = Live::try_start(house, start, number, words);
        live.map_err(|failure| {
            internal(failure.text().to_owned(), json!({ "hint": failure.advice() }))
        })
    }

    fn try_start(
        house: &House,
        start: Start,
        number: u64,
        words: Sender<Word>,
    ) -> Result<Live, Failure> {
        let io =
            |error: std::io::Error| Failure::new(format!("failed to set up a session: {error}"));
        let agent = house.agent;
        let mut choice = house.choice.clone();
        choice.workspace = Some(start.cwd.clone());
        choice.mode = start.mode;
        choice.model.clone_from(&start.model);
        choice.resume.clone_from(&start.resume);
        let held = choice.config(&house.env)?;
        let gate = choice.gate(agent, &held)?;
        let listens = choice.listens(agent);
        let policy = match &gate {
            Some(gate) => Policy::Rules(Arc::clone(gate)),
            None if choice.force => Policy::Allow,
            None if listens || choice.hooks => Policy::Ask,
            None => Policy::Deny,
        };
        // The editor's person answers when he likes; meanwhile no limit runs.
        let builder = choice
            .spec(&house.env, agent, &held, &house.again)?
            .log_dir(choice.log_dir(&house.env)?)
            .conversation()
            .policy(policy)
            .patience(None)
            .actor(Actor::person("acp"))
            .mcp_servers(start.servers.clone());
        let builder = match choice.redaction() {
            Some(redaction) => builder.redact(redaction),
            None => builder,
        };
        let told = &["run_ended", "approval_resolved", "spawn_failed"];
        let listener = console::listener(PROGRAM, house.screen.clone(), told);
        let listener = Some((choice.log_level, listener));
        let session = builder.start_with(Attach { listener, ..Attach::default() })?;
        let filler = choice.indexes(&house.env).then(|| Filler::start(&session.log()));
        let events = session.subscribe(stablehand::From::Start);
        let flow = Arc::clone(&house.flow);
        let bring = move || {
            for frame in events {
                // What the editor has not taken yet waits in the log.
                if !flow.wait_for_room() || words.send(Word::Event(number, frame)).is_err() {
                    break;
                }
            }
            let _worker_gone = words.send(Word::Silent(number));
        };
        std::thread::Builder::new().name("events".into()).spawn(bring).map_err(io)?;
        Ok(Live {
            handle: session.handle(),
            session,
            start,
            gate,
            agent_pid: None,
            _filler: filler,
        })
    }

    /// Whether it is the one that is wanted.
    pub(super) fn serves(&self, wanted: &Start) -> bool {
        let resume = self.start.resume.clone();
        self.start == Start { resume, ..wanted.clone() }
    }

    /// Its log.
    pub(super) fn log(&self) -> PathBuf {
        self.session.log()
    }

    /// Has it take a prompt.
    pub(super) fn prompt(&self, prompt: Prompt) -> Result<TurnId, Refused> {
        self.handle.prompt(prompt)
    }

    /// Ends the turn.
    pub(super) fn cancel(&self) {
        self.handle.cancel();
    }

    /// What can be said to it.
    pub(super) fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Takes the next event.
    pub(super) fn event(&mut self, event: &Event) {
        match &event.event {
            EventKind::ProcessSpawned { pid, .. } => self.agent_pid = Some(*pid),
            EventKind::ProcessExited { .. } => self.agent_pid = None,
            _ => {}
        }
    }

    /// The processes that the agent has now.
    pub(super) fn processes(&self) -> Vec<u32> {
        let rows = self.agent_pid.map(tree::descendants).unwrap_or_default();
        rows.iter().map(|row| row.pid).collect()
    }

    /// Whether processes that a turn began are still there after it was cancelled.
    pub(super) fn left_behind(&self, before: &[u32]) -> bool {
        let until = Instant::now() + LINGER;
        loop {
            if self.processes().iter().all(|pid| before.contains(pid)) {
                return false;
            }
            if Instant::now() >= until {
                return true;
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Ends it with its tree; how it ended. One that rests may leave by itself.
    pub(super) fn end(self, entry: &mut Entry, is_at_rest: bool) -> Ended {
        self.handle.finish();
        let (over, is_over) = channel::<()>();
        let handle = self.handle.clone();
        let urge = move || {
            let patience = if is_at_rest { FAREWELL } else { Duration::ZERO };
            if is_over.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                // The second word kills at once. Whoever is over hears neither.
                handle.stop();
                handle.stop();
            }
        };
        if std::thread::Builder::new().name("farewell".into()).spawn(urge).is_err() {
            self.handle.stop();
        }
        let outcome = self.session.wait();
        drop(over);
        let (log, ended) = match outcome {
            Ok(outcome) => {
                let ended = match outcome.end() {
                    SessionEnd::Success | SessionEnd::Interrupted => {
                        Ended::Stop(StopReason::Cancelled)
                    }
                    end => failed(outcome.report.summary(), json!({ "end": end })),
                };
                (outcome.log, ended)
            }
            Err(error) => {
                let stablehand::WaitError::BrokeDown { log } = &error else {
                    return failed(error.to_string(), json!({}));
                };
                (log.clone(), failed(error.to_string(), json!({})))
            }
        };
        // It was given the name of the agent's session.
        entry.logs.pop();
        entry.logs.push(log);
        ended
    }
}
