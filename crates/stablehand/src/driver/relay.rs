//! The relay channel: between an agent and a client of its own.
//!
//! Owns the client's side: reading it no faster than the agent reads, putting its lines on record
//! before the agent has them, and its end. What is open between the two is core's ([`AcpRelay`]);
//! nothing that either says is changed. The agent's side is read as in every run
//! ([`super::streams`]); what it may do is held against rules in [`super::relay_rules`].

use super::channel::{Channel, Wanted};
use super::relay_rules::Rulings;
use super::stop::StopReason;
use super::{Driver, Ending, RunReport, notes, two_way};
use crate::prompt_gate;
use nix::errno::Errno;
use nix::poll::PollFlags;
use nix::unistd::read;
use serde_json::json;
use stablehand_core::actor::ActorKind;
use stablehand_core::decode::{AcpRelay, ClientWord};
use stablehand_core::event::{EndedBy, EventKind, SessionEnd};
use stablehand_core::json::{self, Object, Scan};
use stablehand_core::line::{Line, WHOLE_LIMIT};
use stablehand_core::monitor::{Input, Judgement};
use stablehand_core::record::{ClientLeft, DecisionRecord, PromptJudged, ToldClient};
use stablehand_core::{LineSplitter, Moment, Part};
use std::os::fd::{AsFd, OwnedFd};

/// A client is not read while so much of what it said waits for the agent.
const MOST_WAITING: usize = 1 << 20;

/// A relay in progress.
pub(super) struct Relay {
    client: Option<OwnedFd>,
    splitter: LineSplitter,
    state: AcpRelay,
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
    /// How many prompts were open when the client left, or when a signal began to end the run.
    left: Option<usize>,
    /// Words of ours that wait until a line of the client is whole; nobody may break it in two.
    to_agent: Vec<u8>,
    /// The same for the client.
    to_client: Vec<u8>,
    /// A long line of the client is under way.
    client_in_line: bool,
    /// A long line of the client that the agent does not get is under way.
    drops_client_line: bool,
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
            drops_client_line: false,
            agent_in_line: false,
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
}

impl Relay {
    /// Reads what the client said.
    fn read_client(&mut self, driver: &mut Driver<'_>) {
        let Some(client) = &self.client else { return };
        match read(client, self.splitter.space()) {
            Ok(0) => self.client_left(driver),
            Ok(n) => {
                self.splitter.filled(n);
                self.take_client(driver, false);
            }
            Err(Errno::EINTR | Errno::EAGAIN) => {}
            Err(_) => self.client_left(driver),
        }
    }

    /// What the client said: on record, then to the agent as it is.
    fn take_client(&mut self, driver: &mut Driver<'_>, at_end: bool) {
        let now = driver.clock.now();
        driver.act_at(now);
        driver.stamp(now);
        let mut passed = Vec::new();
        let mut answers = Vec::new();
        let mut refusals = Vec::new();
        if at_end {
            self.splitter.space();
        }
        loop {
            let line = if at_end { self.splitter.finish() } else { self.splitter.next() };
            let Some(line) = line else { break };
            let object = match line.part {
                Part::Whole => match json::scan(line.bytes) {
                    Scan::Object(object) => Some(object),
                    _ => None,
                },
                Part::First => json::scan_prefix(line.bytes),
                Part::Middle | Part::Last => None,
            };
            if matches!(line.part, Part::Whole | Part::First) {
                let denied = object.as_ref().and_then(|it| denied_prompt(driver, it, &line));
                self.drops_client_line = denied.is_some();
                if let (Some(why), Some(object)) = (denied, &object) {
                    AcpRelay::refuse_prompt(object, &line, &why, &mut refusals);
                }
            }
            if self.drops_client_line {
                // Not on record either: the rule may be there because of what stands in it.
                self.drops_client_line = !line.newline;
                continue;
            }
            driver.log.client_line(&line);
            if let Some(object) = object {
                if self.rulings.answered(&object) {
                    continue; // It was we who asked.
                }
                match self.state.client_said(&object, &line) {
                    ClientWord::Prompt(text) => {
                        self.prompted = true;
                        driver.log.decide(notes::prompt(&text, &[]), None);
                    }
                    ClientWord::Answer { id, choice: Some(choice) } => answers.push((id, choice)),
                    ClientWord::Answer { .. } | ClientWord::Request | ClientWord::Other => {}
                }
                if line.part == Part::Whole {
                    driver.stdout.overhear(&object);
                }
            }
            passed.extend_from_slice(line.bytes);
            self.client_in_line = !line.newline;
            if line.newline {
                passed.push(b'\n');
                passed.append(&mut self.to_agent);
            }
        }
        for (id, choice) in answers {
            self.client_answered(driver, &id, &choice);
        }
        self.settle(driver, now);
        driver.log.flush();
        driver.prompt.push(&passed);
        driver.write_prompt();
        self.tell_client(driver, "error", &refusals);
        self.carry_out_asked(driver);
    }

    /// The client is gone: the agent is told by the end of its input, and gets a moment to leave.
    fn client_left(&mut self, driver: &mut Driver<'_>) {
        if self.client.is_none() {
            return;
        }
        self.take_client(driver, true);
        let now = driver.clock.now();
        driver.stamp(now);
        self.client = None;
        let open = *self.left.get_or_insert(self.state.prompted_sessions().len());
        self.leave_by = Some(now.plus(driver.spec.stages.interrupt));
        let text = "the client is gone; the agent may leave".to_owned();
        driver.log.decide(ClientLeft { open: Some(open as u64), text }, None);
        driver.log.flush();
        driver.prompt.finish();
        driver.write_prompt();
        self.settle(driver, now);
    }

    /// Tells the monitor whether anybody waits for the agent.
    fn settle(&mut self, driver: &mut Driver<'_>, now: Moment) {
        let busy = self.state.is_busy() && self.client.is_some();
        let prompted = std::mem::take(&mut self.prompted);
        // Where a turn ended and another goes on, the agent is not about to leave.
        let goes_on = std::mem::take(&mut self.ended) && busy;
        let wakes = busy && std::mem::replace(&mut self.resting, !busy);
        let rests = !busy && !std::mem::replace(&mut self.resting, true);
        if wakes {
            driver.tell(Input::Resting(false), now);
        }
        if wakes || prompted || goes_on {
            driver.tell(Input::Prompted, now);
        }
        if rests {
            driver.tell(Input::Resting(true), now);
        }
    }

    /// Words of ours to the client, on record first.
    pub(super) fn tell_client(&mut self, driver: &mut Driver<'_>, what: &str, lines: &[u8]) {
        if lines.is_empty() {
            return;
        }
        let told = ToldClient { what: what.to_owned(), lines: two_way::lines(lines) };
        driver.log.decide(told, None);
        driver.log.flush();
        self.to_client.extend_from_slice(lines);
        self.speak_to_client(driver, false);
    }

    /// Writes what waits for the end of the agent's line; where no end comes, it gets one.
    pub(super) fn speak_to_client(&mut self, driver: &mut Driver<'_>, at_end: bool) {
        let Some(sink) = &mut driver.faces.stdout else { return };
        if self.to_client.is_empty() || (self.agent_in_line && !at_end) {
            return;
        }
        if std::mem::take(&mut self.agent_in_line) {
            sink.chunk(b"\n", 0);
        }
        sink.chunk(&std::mem::take(&mut self.to_client), 0);
    }

    /// Words of ours to the agent, between those of the client, on record first.
    pub(super) fn say_for_client(&mut self, driver: &mut Driver<'_>, what: &str, lines: &[u8]) {
        if lines.is_empty() {
            return;
        }
        driver.log.decide(two_way::told(what, lines), None);
        driver.log.flush();
        if self.client_in_line {
            return self.to_agent.extend_from_slice(lines);
        }
        driver.prompt.push(lines);
        driver.write_prompt();
    }
}

/// Returns why a line of the client is a prompt that the agent must not get; that is on record then. A
/// line that is too long to be held whole cannot be judged, so no rule about prompts lets it pass.
fn denied_prompt(driver: &mut Driver<'_>, object: &Object<'_>, line: &Line<'_>) -> Option<String> {
    let rules = &driver.spec.prompt_rules;
    if rules.is_empty() {
        return None;
    }
    let prompt = AcpRelay::prompt_in(object, line)?;
    if line.part != Part::Whole {
        let text = format!("the prompt is denied: it is longer than {} MiB", WHOLE_LIMIT >> 20);
        let (by, bytes) = (ActorKind::Client.to_string(), line.bytes.len() as u64);
        let judged = PromptJudged { by, bytes, text: text.clone(), ..PromptJudged::default() };
        driver.log.decide(DecisionRecord::PromptDenied(judged), None);
        return Some(text);
    }
    let verdict = prompt_gate::judge(rules, &prompt, &ActorKind::Client.into(), None)?;
    driver.log.decide(verdict.record, None);
    verdict.denied.map(|why| format!("the prompt is {why}"))
}

impl Channel for Relay {
    /// Before the first word of the client nobody waits for the agent.
    fn open(&mut self, driver: &mut Driver<'_>) {
        self.settle(driver, driver.clock.now());
    }

    fn hear(&mut self, line: &Line<'_>, scan: &Scan<'_>, events: &[EventKind]) {
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

    fn record(&mut self, driver: &mut Driver<'_>) {
        self.rulings.record(driver);
    }

    /// Passes on what the agent wrote, as far as the client is to have it.
    fn pass_on(&mut self, driver: &mut Driver<'_>, _now: Moment) -> bool {
        if let Some(sink) = &mut driver.faces.stdout {
            sink.chunk(self.rulings.passed().unwrap_or(driver.stdout.last_chunk()), 0);
        }
        self.rulings.pass_anew();
        self.speak_to_client(driver, false);
        true
    }

    /// The client is read no faster than the agent reads.
    fn wants<'a>(&'a self, driver: &'a Driver<'_>, wanted: &mut Vec<Wanted<'a>>) {
        let client = self.client.as_ref().filter(|_| driver.prompt.waiting() < MOST_WAITING);
        wanted.extend(client.map(|client| (client.as_fd(), PollFlags::POLLIN)));
    }

    fn ready(&mut self, driver: &mut Driver<'_>) {
        self.read_client(driver);
    }

    fn deadline(&self, _driver: &Driver<'_>) -> Option<Moment> {
        self.cancel_by.into_iter().chain(self.leave_by).min()
    }

    /// After each chunk: whose turn it is, and what is overdue.
    fn advance(&mut self, driver: &mut Driver<'_>) {
        let now = driver.clock.now();
        self.settle(driver, now);
        self.carry_out_rulings(driver, now);
        if self.leave_by.take_if(|by| *by <= now).is_some() {
            driver.stop.begin(StopReason::ClientGone, now);
        }
        let obeyed = self.cancel_by.is_some() && !self.state.has_prompt();
        let overdue = self.cancel_by.is_some_and(|by| by <= now);
        if !obeyed && !overdue {
            return;
        }
        self.cancel_by = None;
        driver.stamp(now);
        let Some(kind) = driver.judged.as_ref().map(|judged| judged.kind) else { return };
        if obeyed && !kind.is_limit() {
            let text = "the agent ended its turns when it was asked to; it stays";
            driver.log.decide(DecisionRecord::VerdictLifted(text.into()), None);
            driver.judged = None;
            driver.monitor.resume_after_verdict(now);
            return;
        }
        if overdue {
            let text = "the turns did not end when they were cancelled";
            driver.log.decide(DecisionRecord::CancelIgnored(text.into()), None);
        }
        driver.stop.begin(StopReason::Verdict(kind), now);
    }

    /// Both are told before anything is stopped, and the agent is given time to end its turns.
    fn cancel_turns(
        &mut self,
        driver: &mut Driver<'_>,
        judgement: &Judgement,
        now: Moment,
    ) -> bool {
        if !self.state.has_prompt() || !driver.prompt.is_open() {
            return false;
        }
        let about = json!({ "verdict": judgement.kind, "evidence": judgement.evidence });
        let (mut to_client, mut to_agent) = (Vec::new(), Vec::new());
        let text = format!("{}; the turn is cancelled", judgement.text);
        self.state.explain(&text, &about, &mut to_client);
        self.state.cancel(&mut to_agent);
        let stages = driver.spec.stages;
        self.cancel_by = Some(now.plus(stages.interrupt + stages.terminate));
        self.tell_client(driver, "verdict", &to_client);
        self.say_for_client(driver, "interrupt", &to_agent);
        true
    }

    fn waits_for_client(&self) -> bool {
        self.state.waits_for_client() || self.rulings.is_asking()
    }

    /// The reader of the agent's output is the client.
    fn reader_gone(&mut self, driver: &mut Driver<'_>) {
        self.client_left(driver);
    }

    /// Where a signal ends the run, what is open now decides how it ended: an agent may answer
    /// because it is interrupted. A client that waits for nothing has left with its signal.
    fn stop(&mut self, driver: &mut Driver<'_>) {
        if self.left.is_some() || !matches!(driver.stop.reason(), Some(StopReason::Signal(_))) {
            return;
        }
        match self.state.prompted_sessions().len() {
            0 => self.client_left(driver),
            open => self.left = Some(open),
        }
    }

    /// Such a run is over when the client leaves or sends a signal, and a request without an answer
    /// is no success.
    fn conclude(&self, ending: Ending, stopped: Option<StopReason>) -> Ending {
        let open = match stopped {
            None | Some(StopReason::ClientGone | StopReason::ExitOverdue) => self.left,
            Some(StopReason::Signal(_)) if self.left == Some(0) => self.left,
            Some(_) => return ending,
        };
        let by_client = |end| Ending { end, by: EndedBy::Person, signal: None };
        match open {
            Some(0) => by_client(SessionEnd::Success),
            Some(_) => by_client(SessionEnd::Interrupted),
            None if ending.end == SessionEnd::Success && self.state.unanswered() > 0 => {
                Ending { end: SessionEnd::NoResult, ..ending }
            }
            None => ending,
        }
    }

    /// The agent is gone: whoever still waits for an answer gets one.
    fn report(&mut self, driver: &mut Driver<'_>, report: &RunReport) {
        // Whoever has left waits for nothing.
        if self.client.is_none() || self.state.unanswered() == 0 {
            return;
        }
        let about = json!({
            "outcome": report.end.end,
            "exit": report.exit,
            "verdict": report.verdict.as_ref().map(|verdict| verdict.kind),
            "log": driver.log.path().to_string_lossy(),
            "stderr": report.stderr_tail,
        });
        let mut lines = Vec::new();
        let message = match &report.end.end {
            SessionEnd::Success => "the agent is gone".to_owned(),
            _ => report.summary(),
        };
        self.state.answer_all(&message, &about, &mut lines);
        driver.stamp_now();
        self.tell_client(driver, "error", &lines);
        self.speak_to_client(driver, true);
    }
}
