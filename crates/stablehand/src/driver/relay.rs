//! Between an agent and a client of its own: what the client says, and what we say to either.
//!
//! Owns the client's side: reading it no faster than the agent reads, putting its lines on record
//! before the agent has them, and its end. What is open between the two is core's ([`AcpRelay`]);
//! nothing that either says is changed. The agent's side is read as in every run
//! ([`super::streams`]); what it may do is held against rules in [`super::relay_rules`].

use super::relay_rules::Rulings;
use super::stop::StopReason;
use super::{Driver, RunReport, notes, talk};
use nix::errno::Errno;
use nix::unistd::read;
use serde_json::json;
use stablehand_core::decode::{AcpRelay, ClientWord};
use stablehand_core::event::{EventKind, SessionEnd};
use stablehand_core::json::{self, Scan};
use stablehand_core::line::Line;
use stablehand_core::monitor::{Input, Judgement};
use stablehand_core::record::{ClientLeft, DecisionRecord, ToldClient};
use stablehand_core::{LineSplitter, Moment, Part};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// A client is not read while so much of what it said waits for the agent.
const MOST_WAITING: usize = 1 << 20;

/// A relay in progress.
pub(super) struct Relay {
    client: Option<OwnedFd>,
    splitter: LineSplitter,
    pub(super) state: AcpRelay,
    pub(super) rulings: Rulings,
    /// The monitor knows that nobody waits for the agent.
    resting: bool,
    /// A prompt was given since the monitor was last told.
    prompted: bool,
    /// A turn ended with the last chunk.
    ended: bool,
    /// When an agent that was asked to end its turns must have done so.
    cancel_by: Option<Moment>,
    /// When an agent whose client is gone must have left.
    leave_by: Option<Moment>,
    /// The client is gone, with so many prompts open.
    left: Option<usize>,
    /// Words of ours that wait until a line of the client is whole; nobody may break it in two.
    to_agent: Vec<u8>,
    /// The same for the client.
    to_client: Vec<u8>,
    /// A long line of the client is under way.
    client_in_line: bool,
    /// A long line of the agent is under way.
    agent_in_line: bool,
}

impl Relay {
    pub(super) fn new(client: OwnedFd, rulings: Rulings) -> Relay {
        Relay {
            client: Some(client),
            splitter: LineSplitter::default(),
            state: AcpRelay::default(),
            rulings,
            resting: false,
            prompted: false,
            ended: false,
            cancel_by: None,
            leave_by: None,
            left: None,
            to_agent: Vec::new(),
            to_client: Vec::new(),
            client_in_line: false,
            agent_in_line: false,
        }
    }

    /// The descriptor to wait for, where the agent has room for more.
    pub(super) fn wants_read(&self, waiting: usize) -> Option<BorrowedFd<'_>> {
        self.client.as_ref().filter(|_| waiting < MOST_WAITING).map(AsFd::as_fd)
    }

    /// Whether the client has something to answer.
    pub(super) fn waits_for_client(&self) -> bool {
        self.state.waits_for_client() || self.rulings.is_asking()
    }

    /// When something is due.
    pub(super) fn deadline(&self) -> Option<Moment> {
        self.cancel_by.into_iter().chain(self.leave_by).min()
    }

    /// A line of the agent, and what it says.
    pub(super) fn hear(&mut self, line: &Line<'_>, scan: &Scan<'_>, events: &[EventKind]) {
        self.ended |= events.iter().any(|event| matches!(event, EventKind::TurnEnded { .. }));
        self.agent_in_line = !line.newline;
        if !self.rulings.passes(line, scan, events) {
            return;
        }
        match (line.part, scan) {
            (Part::Whole, Scan::Object(object)) => self.state.agent_said(object, line),
            (Part::First, _) => {
                if let Some(object) = json::scan_prefix(line.bytes) {
                    self.state.agent_said(&object, line);
                }
            }
            _ => {}
        }
    }

    /// A line of the agent that was withheld until now.
    pub(super) fn pass_later(&mut self, line: &[u8]) {
        let whole =
            Line { bytes: line.trim_ascii_end(), offset: 0, part: Part::Whole, newline: true };
        if let Scan::Object(object) = json::scan(whole.bytes) {
            self.state.agent_said(&object, &whole);
        }
        self.to_client.extend_from_slice(line);
    }

    /// How many prompts were open when the client left, where it has.
    pub(super) fn left(&self) -> Option<usize> {
        self.left
    }
}

impl Driver<'_> {
    /// Before the first word of the client nobody waits for the agent.
    pub(super) fn open_relay(&mut self) {
        self.settle_relay(self.clock.now());
    }

    /// Reads what the client said.
    pub(super) fn read_client(&mut self) {
        let Some(relay) = &mut self.relay else { return };
        let Some(client) = &relay.client else { return };
        match read(client, relay.splitter.space()) {
            Ok(0) => self.client_left(),
            Ok(n) => {
                relay.splitter.filled(n);
                self.take_client(false);
            }
            Err(Errno::EINTR | Errno::EAGAIN) => {}
            Err(_) => self.client_left(),
        }
    }

    /// What the client said: on record, then to the agent as it is.
    fn take_client(&mut self, at_end: bool) {
        let now = self.clock.now();
        self.act_at(now);
        self.stamp(now);
        let Some(relay) = &mut self.relay else { return };
        let mut passed = Vec::new();
        let mut answers = Vec::new();
        if at_end {
            relay.splitter.space();
        }
        loop {
            let line = if at_end { relay.splitter.finish() } else { relay.splitter.next() };
            let Some(line) = line else { break };
            self.log.client_line(&line);
            let object = match line.part {
                Part::Whole => match json::scan(line.bytes) {
                    Scan::Object(object) => Some(object),
                    _ => None,
                },
                Part::First => json::scan_prefix(line.bytes),
                Part::Middle | Part::Last => None,
            };
            if let Some(object) = object {
                if relay.rulings.answered(&object) {
                    continue; // It was we who asked.
                }
                match relay.state.client_said(&object, &line) {
                    ClientWord::Prompt(text) => {
                        relay.prompted = true;
                        self.log.decide(notes::prompt(&text, &[]), None);
                    }
                    ClientWord::Answer { id, choice: Some(choice) } => answers.push((id, choice)),
                    ClientWord::Answer { .. } | ClientWord::Request | ClientWord::Other => {}
                }
                if line.part == Part::Whole {
                    self.stdout.overhear(&object);
                }
            }
            passed.extend_from_slice(line.bytes);
            relay.client_in_line = !line.newline;
            if line.newline {
                passed.push(b'\n');
                passed.append(&mut relay.to_agent);
            }
        }
        for (id, choice) in answers {
            self.client_answered(&id, &choice);
        }
        self.settle_relay(now);
        self.log.flush();
        self.prompt.push(&passed);
        self.write_prompt();
        self.carry_out_asked();
    }

    /// The client is gone: the agent is told by the end of its input, and gets a moment to leave.
    pub(super) fn client_left(&mut self) {
        if self.relay.as_ref().is_none_or(|relay| relay.left.is_some()) {
            return;
        }
        self.take_client(true);
        let now = self.clock.now();
        self.stamp(now);
        let grace = self.spec.stages.interrupt;
        let Some(relay) = &mut self.relay else { return };
        relay.client = None;
        let open = relay.state.prompted_sessions().len();
        relay.left = Some(open);
        relay.leave_by = Some(now.plus(grace));
        let text = "the client is gone; the agent may leave".to_owned();
        self.log.decide(ClientLeft { open: Some(open as u64), text }, None);
        self.log.flush();
        self.prompt.finish();
        self.write_prompt();
        self.settle_relay(now);
    }

    /// After each chunk: whose turn it is, and what is overdue.
    pub(super) fn advance_relay(&mut self) {
        let now = self.clock.now();
        if self.relay.is_none() {
            return;
        }
        self.settle_relay(now);
        self.carry_out_rulings(now);
        let Some(relay) = &mut self.relay else { return };
        if relay.leave_by.take_if(|by| *by <= now).is_some() {
            self.stop.begin(StopReason::ClientGone, now);
        }
        let Some(relay) = &mut self.relay else { return };
        let on = relay.state.has_prompt();
        let obeyed = relay.cancel_by.is_some() && !on;
        let overdue = relay.cancel_by.is_some_and(|by| by <= now);
        if !obeyed && !overdue {
            return;
        }
        relay.cancel_by = None;
        self.stamp(now);
        let Some(kind) = self.judged.as_ref().map(|judged| judged.kind) else { return };
        if obeyed && !kind.is_limit() {
            let text = "the agent ended its turns when it was asked to; it stays";
            self.log.decide(DecisionRecord::VerdictLifted(text.into()), None);
            self.judged = None;
            self.monitor.resume_after_verdict(now);
            return;
        }
        if overdue {
            let text = "the turns did not end when they were cancelled";
            self.log.decide(DecisionRecord::CancelIgnored(text.into()), None);
        }
        self.stop.begin(StopReason::Verdict(kind), now);
    }

    /// Tells the monitor whether anybody waits for the agent.
    fn settle_relay(&mut self, now: Moment) {
        let Some(relay) = &mut self.relay else { return };
        let busy = relay.state.is_busy() && relay.left.is_none();
        let prompted = std::mem::take(&mut relay.prompted);
        // Where a turn ended and another goes on, the agent is not about to leave.
        let goes_on = std::mem::take(&mut relay.ended) && busy;
        let wakes = busy && std::mem::replace(&mut relay.resting, !busy);
        let rests = !busy && !std::mem::replace(&mut relay.resting, true);
        if wakes {
            self.tell(Input::Resting(false), now);
        }
        if wakes || prompted || goes_on {
            self.tell(Input::Prompted, now);
        }
        if rests {
            self.tell(Input::Resting(true), now);
        }
    }

    /// A verdict on an agent with a client: both are told before anything is stopped. True where the
    /// agent is given time to end its turns.
    pub(super) fn cancel_turns(&mut self, judgement: &Judgement, now: Moment) -> bool {
        let Some(relay) = &mut self.relay else { return false };
        if !relay.state.has_prompt() || !self.prompt.is_open() {
            return false;
        }
        let about = json!({ "verdict": judgement.kind, "evidence": judgement.evidence });
        let (mut to_client, mut to_agent) = (Vec::new(), Vec::new());
        let text = format!("{}; the turn is cancelled", judgement.text);
        relay.state.explain(&text, &about, &mut to_client);
        relay.state.cancel(&mut to_agent);
        relay.cancel_by = Some(now.plus(patience(self.spec.stages)));
        self.tell_client("verdict", &to_client);
        self.say_for_client("interrupt", &to_agent);
        true
    }

    /// Words of ours to the client, on record first.
    pub(super) fn tell_client(&mut self, what: &str, lines: &[u8]) {
        if lines.is_empty() {
            return;
        }
        let told = ToldClient { what: what.to_owned(), lines: talk::lines(lines) };
        self.log.decide(told, None);
        self.log.flush();
        let Some(relay) = &mut self.relay else { return };
        relay.to_client.extend_from_slice(lines);
        self.speak_to_client(false);
    }

    /// Writes what waits for the end of the agent's line; where no end comes, it gets one.
    pub(super) fn speak_to_client(&mut self, at_end: bool) {
        let (Some(sink), Some(relay)) = (&mut self.faces.stdout, &mut self.relay) else { return };
        if relay.to_client.is_empty() || (relay.agent_in_line && !at_end) {
            return;
        }
        if std::mem::take(&mut relay.agent_in_line) {
            sink.chunk(b"\n", 0);
        }
        sink.chunk(&std::mem::take(&mut relay.to_client), 0);
    }

    /// Passes on what the agent wrote, as far as the client is to have it.
    pub(super) fn pass_to_client(&mut self) {
        let (Some(sink), Some(relay)) = (&mut self.faces.stdout, &mut self.relay) else { return };
        match relay.rulings.passed() {
            Some(bytes) => sink.chunk(bytes, 0),
            None => sink.chunk(self.stdout.last_chunk(), 0),
        }
        relay.rulings.pass_anew();
        self.speak_to_client(false);
    }

    /// Words of ours to the agent, between those of the client, on record first.
    pub(super) fn say_for_client(&mut self, what: &str, lines: &[u8]) {
        if lines.is_empty() {
            return;
        }
        self.log.decide(talk::told(what, lines), None);
        self.log.flush();
        let Some(relay) = &mut self.relay else { return };
        if relay.client_in_line {
            return relay.to_agent.extend_from_slice(lines);
        }
        self.prompt.push(lines);
        self.write_prompt();
    }

    /// The agent is gone: whoever still waits for an answer gets one.
    pub(super) fn answer_for_agent(&mut self, report: &RunReport) {
        let Some(relay) = &mut self.relay else { return };
        // Whoever has left waits for nothing.
        if relay.left.is_some() || relay.state.unanswered() == 0 {
            return;
        }
        let about = json!({
            "outcome": report.end.end,
            "exit": report.exit,
            "verdict": report.verdict.as_ref().map(|verdict| verdict.kind),
            "log": self.log.path().to_string_lossy(),
            "stderr": report.stderr_tail,
        });
        let mut lines = Vec::new();
        let message = match &report.end.end {
            SessionEnd::Success => "the agent is gone".to_owned(),
            _ => report.summary(),
        };
        relay.state.answer_all(&message, &about, &mut lines);
        self.stamp_now();
        self.tell_client("error", &lines);
        self.speak_to_client(true);
    }
}

/// What an agent gets to end its turns.
fn patience(stages: super::Stages) -> Duration {
    stages.interrupt + stages.terminate
}
