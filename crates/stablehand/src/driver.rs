//! The driver of one run: select, decide, act.
//!
//! One thread, one loop. It waits for the agent's pipes, the keeper, requests and the one deadline;
//! it reads everything that is there; the monitor in core decides; the driver carries it out. It
//! never waits for a reader of ours (sinks refill from the log), never judges before it has read
//! what is readable, and has a bound on every wait. Plain `poll` and `read` instead of a runtime:
//! the loop is the whole program, and a line costs a third of what it costs elsewhere.
//!
//! Owns the order of things within a run, and the records of what was done. Leaves alone: how
//! agents are started ([`crate::agent`]), what a line means (core's decoders), when silence is too
//! long (core's monitor), what comes after a run ([`crate::recovery`] and the faces).

mod act;
mod approvals;
mod channel;
mod ending;
mod hooks;
mod inform;
mod lingering;
mod notes;
mod odd;
mod onward;
mod prompt;
mod relay;
mod relay_rules;
mod requests;
mod select;
mod services;
mod status;
mod stop;
mod streams;
mod terminal;
mod two_way;

pub use approvals::Approvals;
pub use ending::{Ending, RunReport};
pub(crate) use hooks::FOLDER;
pub use hooks::{HookFile, HookSpec};
pub(crate) use notes::cut;
pub use status::{StatusCell, StatusLine};
pub use stop::Stages;
pub use terminal::TerminalRun;
pub use two_way::TalkSpec;

use crate::agent::{self, ExitMeaning};
use crate::clock::{RunClock, unix_now};
use crate::continuation::Continuations;
use crate::control::Requests;
use crate::keeper::{Keeper, KeeperProgram, Launch, SpawnError, Transport};
use crate::log::Log;
use crate::recovery::{self, Tries};
use crate::session::Turns;
use crate::sink::PassThrough;
pub use stablehand_core::facts::{Facts, Progress};

use channel::{Channel, Channels, Pipe};
use odd::Oddities;
use onward::Onward;
use prompt::PromptWriter;
use relay::Relay;
use relay_rules::Rulings;
use stablehand_core::Dialect;
use stablehand_core::event::{EventKind, ProcessExit, SessionEnd};
use stablehand_core::id::{RunId, SessionId};
use stablehand_core::interaction::Interaction;
use stablehand_core::monitor::{Action, Judgement, Limits, Monitor};
use stablehand_policy::PromptRules;
use status::Shown;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;
use stop::{StopReason, StopState};
use streams::{StderrStream, StdoutStream};
use terminal::AtTerminal;
use two_way::TwoWay;

/// After the agent's exit, its pipes are read until so long nothing came.
const DRAIN_IDLE: Duration = Duration::from_millis(200);

/// And no longer than this, whoever still writes.
const DRAIN_MAX: Duration = Duration::from_secs(2);

/// What processes that outlived the agent get to end by themselves.
const POLITE: Duration = Duration::from_millis(250);

/// The keeper's own bound is five seconds; after this it is not waited for any more.
const CLEAN_MAX: Duration = Duration::from_secs(8);

/// The loop wakes at least so often, so that a stop of ourselves never goes unnoticed.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// A wake-up later than planned by this much is a gap: we, not the agent, were asleep.
const GAP: Duration = Duration::from_millis(500);

/// A suspension shorter than this changes nothing.
const SUSPENSION: Duration = Duration::from_secs(5);

/// One run, as it is asked for.
#[derive(Clone, Debug)]
pub struct RunSpec {
    /// Our id of it.
    pub run: RunId,
    /// A client of the agent's own speaks to it.
    pub is_relayed: bool,
    /// The agent's name.
    pub agent: String,
    /// How its output is read.
    pub dialect: Dialect,
    /// What is started.
    pub launch: Launch,
    /// How our keeper is started.
    pub keeper: KeeperProgram,
    /// What the agent gets on its standard input, which is then closed; in a conversation, the
    /// first prompt, where there is one.
    pub prompt: Vec<u8>,
    /// The prompt is among the arguments, and standard input is closed at once.
    pub prompt_is_argument: bool,
    /// A conversation with one process, where the dialect has one.
    pub talk: Option<TalkSpec>,
    /// What becomes of its questions whether it may do something, in a conversation or by hooks.
    pub approvals: Approvals,
    /// How its hooks reach us, where it has some and they are wanted.
    pub hooks: Option<HookSpec>,
    /// What the agent's exit codes mean.
    pub exit_codes: &'static [ExitMeaning],
    /// When silence is too long.
    pub limits: Limits,
    /// How an agent is stopped.
    pub stages: Stages,
    /// Judge, write the verdicts down, and stop nothing.
    pub observe_only: bool,
    /// Warn of lines that are no JSON, of completions without a start and of tools without a timeout.
    pub stream_warnings: bool,
    /// The session that this run continues.
    pub resumed_from: Option<SessionId>,
    /// Where the lease of a session is kept; none is taken without.
    pub leases: Option<PathBuf>,
    /// Keep a digest of what was read.
    pub verify: bool,
    /// What is done at the agent's terminal, where it has one: the prompt may have to be typed.
    pub terminal: Option<TerminalRun>,
    /// When the agent is told to go on after a turn that ended well.
    pub continuations: Continuations,
    /// Which prompts the agent must not get: those of its hooks, and those of its own client.
    pub prompt_rules: PromptRules,
    /// How often it may be tried again, where it hangs or breaks off.
    pub tries: Tries,
}

impl RunSpec {
    /// Returns true if tool calls are held against the permission requests when they are over.
    fn judges_tools(&self) -> bool {
        let has_rules = matches!(self.approvals, Approvals::Policy { .. });
        has_rules || (self.hooks.is_some() && self.approvals.judge())
    }

    /// Returns true if somebody may prompt the agent while it runs, or answer it.
    fn interacts(&self) -> bool {
        self.talk.is_some() || self.hooks.is_some() || self.is_relayed
    }

    /// Returns true if the agent has a terminal instead of pipes.
    fn is_at_terminal(&self) -> bool {
        self.launch.transport != Transport::Pipe
    }
}

/// Who is shown what, while the run goes on.
#[derive(Debug, Default)]
pub struct Faces {
    /// The agent's output, byte for byte.
    pub stdout: Option<PassThrough>,
    /// The agent's standard error, byte for byte.
    pub stderr: Option<PassThrough>,
    /// What it is doing.
    pub status: Option<StatusCell>,
    /// A client that speaks to the agent itself: what it says, which is passed on as it is. What the
    /// agent says goes to standard output, which must then be [apart](PassThrough::apart).
    pub client: Option<OwnedFd>,
}

/// Runs an agent from spawn to reaped.
pub(crate) fn run(
    spec: &RunSpec,
    log: &mut Log,
    faces: &mut Faces,
    requests: &Requests,
    turns: &mut Turns,
) -> RunReport {
    log.set_time(unix_now());
    let began = log.position();
    // Before anything is started: two agents in one session would write over each other's work.
    let lease = match act::known_lease(spec, log) {
        Ok(lease) => lease,
        Err(error) => return could_not_start(spec, log, SpawnError::SessionTaken(error)),
    };
    let hooks = match hooks::open(spec, log) {
        Ok(hooks) => hooks,
        Err(error) => return could_not_start(spec, log, error),
    };
    match Keeper::start(&spec.keeper, &hooks::equip(spec, hooks.as_ref())) {
        Ok((keeper, pipes)) => {
            let event = EventKind::ProcessSpawned {
                pid: keeper.agent_pid(),
                argv: agent::redacted(&spec.launch),
            };
            let clock = RunClock::start();
            log.set_time(clock.wall(stablehand_core::Moment::START));
            log.decide(notes::spawned(spec, &keeper), Some(&event));
            log.decide(notes::monitored(spec), None);
            if let (Ok(prompt), None) = (str::from_utf8(&spec.prompt), &spec.talk)
                && !prompt.is_empty()
            {
                log.decide(notes::prompt(prompt, &[]), None);
            }
            let (primary, prompt) = primary_channel(spec, pipes.stdin, faces.client.take());
            let mut channels = Channels { primary, hooks };
            let mut driver = Driver {
                clock,
                monitor: Monitor::new(spec.limits.clone(), stablehand_core::Moment::START),
                stdout: StdoutStream::new(pipes.stdout, spec.dialect, spec.verify),
                stderr: StderrStream::new(pipes.stderr),
                prompt,
                interaction: Interaction::new(spec.approvals.attendance())
                    .open_ended(spec.talk.as_ref().is_some_and(|talk| talk.stays))
                    .judging(spec.judges_tools()),
                commands: Vec::new(),
                onward: Onward::new(spec.continuations.clone(), spec.dialect, began),
                facts: Facts::default(),
                actions: Vec::new(),
                stop: StopState::new(spec.stages),
                phase: Phase::Running,
                exit: None,
                leaked: Vec::new(),
                survivors: Vec::new(),
                sample: None,
                leases: lease.into_iter().collect(),
                verdict_at: None,
                judged: None,
                congested: false,
                held_since: None,
                muttered: None,
                waiting_noted: None,
                odd: spec.stream_warnings.then(Oddities::default),
                mark: stablehand_core::Moment::START,
                shown: Shown::default(),
                spec,
                keeper,
                log,
                faces,
                requests,
                turns,
                began,
            };
            if let Some(redaction) = driver.log.redaction() {
                driver.monitor.redact(std::sync::Arc::clone(&redaction.redactor));
            }
            channels.primary.open(&mut driver);
            driver.run(&mut channels)
        }
        Err(error) => could_not_start(spec, log, error),
    }
}

/// Makes the channel by which the agent is prompted, and the writer of its standard input.
fn primary_channel(
    spec: &RunSpec,
    stdin: OwnedFd,
    client: Option<OwnedFd>,
) -> (Box<dyn Channel>, PromptWriter) {
    let speaker = spec.talk.as_ref().and_then(|talk| spec.dialect.speaker(&talk.opening));
    match (speaker.zip(spec.talk.as_ref()), client) {
        _ if spec.is_at_terminal() => {
            (Box::new(AtTerminal::new(spec, stdin)), PromptWriter::closed())
        }
        (Some((speaker, talk)), _) => {
            (Box::new(TwoWay::new(talk, speaker)), PromptWriter::open(stdin))
        }
        (None, Some(client)) => {
            let rulings = Rulings::new(&spec.approvals, &spec.run.0);
            (Box::new(Relay::new(client, rulings)), PromptWriter::open(stdin))
        }
        (None, None) if spec.prompt_is_argument => (Box::new(Pipe), PromptWriter::closed()),
        (None, None) => (Box::new(Pipe), PromptWriter::new(stdin, spec.prompt.clone())),
    }
}

fn could_not_start(spec: &RunSpec, log: &mut Log, error: SpawnError) -> RunReport {
    log.decide(notes::spawn_failed(spec, &error), None);
    let report = RunReport::not_started(spec, error);
    report.write_down(log);
    report
}

/// Everything that a run in progress consists of.
struct Driver<'a> {
    spec: &'a RunSpec,
    keeper: Keeper,
    log: &'a mut Log,
    faces: &'a mut Faces,
    requests: &'a Requests,
    turns: &'a mut Turns,
    clock: RunClock,
    monitor: Monitor,
    stdout: StdoutStream,
    stderr: StderrStream,
    prompt: PromptWriter,
    /// Turns, and permission requests.
    interaction: Interaction,
    /// The commands that run for it.
    commands: Vec<services::Terminal>,
    /// When it is told to go on.
    onward: Onward,
    facts: Facts,
    actions: Vec<Action>,
    stop: StopState,
    phase: Phase,
    exit: Option<ProcessExit>,
    leaked: Vec<stablehand_core::event::ProcessRow>,
    survivors: Vec<stablehand_core::event::ProcessRow>,
    /// A look at the tree's processor time that is under way.
    sample: Option<act::Sample>,
    leases: Vec<(SessionId, crate::lease::Lease)>,
    /// When the verdict was reached, while it is not carried out yet.
    verdict_at: Option<stablehand_core::Moment>,
    judged: Option<Judgement>,
    shown: Shown,
    /// The disk is full and a reader far behind: the agent has to wait, and knows nothing of it.
    congested: bool,
    /// When we last looked at the clock in order to judge.
    mark: stablehand_core::Moment,
    /// When the decision to wait for a call was last put on record.
    waiting_noted: Option<stablehand_core::Moment>,
    /// What is odd in the stream, where warnings about it are wanted.
    odd: Option<Oddities>,
    /// Since when our reader has not taken the last chunk whole.
    held_since: Option<stablehand_core::Moment>,
    /// When a piece of a line was last taken for a sign of life.
    muttered: Option<stablehand_core::Moment>,
    /// Where the records of this run begin.
    began: u64,
}

/// Where a run is, for the driver; the monitor has its own view.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// The agent lives.
    Running,
    /// It has exited; its pipes may still hold something.
    Draining { since: stablehand_core::Moment, last_byte: stablehand_core::Moment },
    /// The keeper was told to end what is left.
    Cleaning { since: stablehand_core::Moment },
    /// Nothing is left.
    Over,
}

impl Driver<'_> {
    fn run(&mut self, channels: &mut Channels) -> RunReport {
        // What came together with the answer to the launch makes no descriptor ready any more.
        self.serve_requests(channels);
        self.serve_keeper();
        // On record before anything that the agent says: it may have to wait for its first prompt.
        self.act(channels);
        while self.phase != Phase::Over {
            self.wait(channels);
            self.act(channels);
            channels.each(|channel| channel.advance(self));
            self.advance_questions(channels);
            self.judge_if_due(channels);
            self.act(channels);
            self.advance_stop(channels);
            self.advance_phase();
            self.show_status();
        }
        self.finish(channels)
    }

    /// The last bytes, the last records.
    fn finish(&mut self, channels: &mut Channels) -> RunReport {
        self.read_rest(channels);
        self.act(channels);
        // The last bytes may tell of one more tool.
        self.judge_tools(self.clock.now());
        channels.each(|channel| channel.finish(self));
        let end = self.conclude(channels.primary.as_ref());
        let continued = self.continue_session(end);
        let mut report = RunReport {
            end,
            exit: self.exit.unwrap_or(ProcessExit::Unknown),
            forced: self.stop.reason().is_some(),
            leaked: std::mem::take(&mut self.leaked),
            survivors: std::mem::take(&mut self.survivors),
            session: self.facts.session.clone(),
            progress: self.facts.progress,
            result: self.facts.result.clone(),
            verdict: self.judged.take(),
            failure: None,
            usage: self.facts.usage,
            last_text: self.last_screen(),
            stderr_tail: self.stderr.tail_text(),
            bytes: self.stdout.bytes(),
            digest: self.stdout.digest(),
            elapsed: self.clock.now().0,
            model: self.facts.model.clone(),
            tool_calls: self.monitor.status(self.clock.now()).tool_calls,
            denials: self.facts.denials,
            denied: std::mem::take(&mut self.facts.denied),
            meaning: ending::meaning(self.spec.exit_codes, self.exit),
            error: ending::error(self.facts.result.as_ref()),
            finished: self.interaction.is_last(),
            continuations: std::mem::take(&mut self.onward.rules),
            continued,
            prompt: self.interaction.take_prompt(),
            // A later turn of the same process has not been tried yet.
            tried: if self.interaction.prompts() > 1 { 0 } else { self.spec.tries.tried },
            again: false,
        };
        let next = recovery::next(&report, report.tried, self.spec.tries.allowed);
        // A turn that is over is not tried again.
        report.again = self.turns.is_open()
            && report.continued.is_none()
            && !matches!(next, recovery::Next::Stop { .. });
        let report = report.with_last_words(self.log, self.began, self.spec.dialect);
        let report = report.redacted(self.log);
        channels.primary.report(self, &report);
        report.write_down(self.log);
        report
    }
}

impl Driver<'_> {
    fn conclude(&self, channel: &dyn Channel) -> Ending {
        let result = self.facts.result.as_ref();
        if self.stop.reason().is_none() && self.interaction.was_cancelled(result) {
            return Ending {
                end: SessionEnd::Interrupted,
                by: stablehand_core::event::EndedBy::Person,
                signal: None,
            };
        }
        // A verdict holds although the agent was only asked to end its turns, and left otherwise.
        let reason = match (self.stop.reason(), &self.judged) {
            (None | Some(StopReason::ClientGone), Some(judged)) => {
                Some(StopReason::Verdict(judged.kind))
            }
            (reason, _) => reason,
        };
        channel.conclude(ending::conclude(&self.facts, reason, self.judged.as_ref()), reason)
    }
}

/// An exit status that shells understand, for a run that ended so (see `docs/exit-codes.md`).
pub fn exit_code(ending: Ending) -> u8 {
    match ending.end {
        SessionEnd::Success => 0,
        SessionEnd::AgentError
        | SessionEnd::NoResult
        | SessionEnd::Truncated
        | SessionEnd::SpawnFailed
        | SessionEnd::Internal => 1,
        SessionEnd::Hung | SessionEnd::LimitReached => 2,
        SessionEnd::ReaderGone => 141,
        SessionEnd::Interrupted => {
            128u8.saturating_add(u8::try_from(ending.signal.unwrap_or(2)).unwrap_or(2))
        }
    }
}
