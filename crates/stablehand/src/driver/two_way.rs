//! The two-way channel: a conversation with one process, with prompts one after another.
//!
//! Owns what we say to the agent and when. What is said is made by the dialect's speaker in core; what
//! a turn or a request is comes from the decoder's events, as for everybody. Whose turn it is and
//! which requests wait is core's [`Interaction`](stablehand_core::interaction::Interaction); what the
//! agent has us do for it is in [`super::services`].

use super::approvals::Asked;
use super::channel::{Channel, Given, Wanted, cancelled};
use super::lingering::Lingering;
use super::services::{Serving, Terminal};
use super::stop::StopReason;
use super::{Driver, notes};
use crate::control::Request;
use nix::poll::PollFlags;
use serde_json::Value;
use serde_json::value::RawValue;
use stablehand_core::Moment;
use stablehand_core::actor::Actor;
use stablehand_core::event::EventKind;
use stablehand_core::interaction::{Asker, CANCEL_GRACE, Permission};
use stablehand_core::json::Scan;
use stablehand_core::line::Line;
use stablehand_core::monitor::Input;
use stablehand_core::record::{DecisionRecord, ToldAgent, WaitEnded};
use stablehand_core::speak::{Answer, Image, Opening, Prompt, Speak, Unanswerable};
use stablehand_core::time::human;
use stablehand_policy::settings::context::before;

/// A conversation, as it is asked for.
#[derive(Clone, Debug)]
pub struct TalkSpec {
    /// What it begins with.
    pub opening: Opening,
    /// Whether the process stays for further prompts when a turn is over, until
    /// [`crate::control::Request::Finish`].
    pub stays: bool,
    /// What the agent is shown with the first prompt.
    pub images: Vec<Image>,
    /// What stands in front of the first prompt, where that comes only later.
    pub context: Option<String>,
}

/// What was said to the agent, for the record.
#[derive(Clone, Copy, Debug)]
pub(super) enum Said {
    Opening,
    Prompt,
    Interrupt,
    Answer,
    Reply,
    Service,
}

impl Said {
    fn word(self) -> &'static str {
        match self {
            Said::Opening => "opening",
            Said::Prompt => "prompt",
            Said::Interrupt => "interrupt",
            Said::Answer => "answer",
            Said::Reply => "reply",
            Said::Service => "service",
        }
    }
}

/// A conversation in progress.
pub(super) struct TwoWay {
    pub(super) speaker: Box<dyn Speak>,
    pub(super) serving: Serving,
    /// What stands in front of the next prompt.
    context: Option<String>,
    /// The requests ([`EventKind::ApprovalRequested`]) that came with the last chunk.
    asked: Vec<EventKind>,
    /// Questions that the agent itself has taken back or answered.
    settled: Vec<String>,
    /// What the speaker said to the last chunk.
    replies: Vec<u8>,
    /// The agent has said something, and that was taken note of.
    heard: bool,
    is_up: bool,
    /// The processes of an interrupted turn.
    lingering: Lingering,
}

impl TwoWay {
    pub(super) fn new(spec: &TalkSpec, speaker: Box<dyn Speak>) -> Self {
        TwoWay {
            speaker,
            serving: Serving::new(spec),
            context: spec.context.clone(),
            asked: Vec::new(),
            settled: Vec::new(),
            replies: Vec::new(),
            heard: false,
            is_up: false,
            lingering: Lingering::default(),
        }
    }

    fn give_prompt(&mut self, driver: &mut Driver<'_>, mut prompt: Prompt) {
        driver.interaction.prompted(prompt.clone());
        if !driver.interaction.is_last() {
            self.lingering.begin(driver);
        }
        driver.log.decide(notes::prompt(&prompt.text, &prompt.images), None);
        if let Some(context) = self.context.take() {
            prompt.text = before(&context, &prompt.text);
        }
        let mut said = Vec::new();
        self.speaker.put(&prompt, &mut said);
        self.note_left_out(driver);
        // Where the agent is not ready, the speaker keeps it; it is on record all the same.
        if said.is_empty() {
            let what = Said::Prompt.word().to_owned();
            let kept = ToldAgent { what, lines: None, text: Some(prompt.text), kept: true };
            driver.log.decide(DecisionRecord::Told(kept), None);
        }
        self.say(driver, Said::Prompt, &said);
    }

    /// Says what the agent does not take, and so was not told.
    fn note_left_out(&mut self, driver: &mut Driver<'_>) {
        for text in self.speaker.left_out() {
            driver.log.decide(DecisionRecord::LeftOut(text.into()), None);
        }
    }

    /// Between two turns: the agent waits for us, or leaves when it is told that nothing comes.
    fn rest(driver: &mut Driver<'_>) {
        if driver.interaction.is_last() {
            driver.prompt.finish();
        } else if driver.prompt.is_open() {
            driver.tell(Input::Resting(true), driver.clock.now());
        }
    }

    pub(super) fn say(&self, driver: &mut Driver<'_>, what: Said, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let hidden = self.without_secrets(bytes);
        let shown = hidden.as_deref().unwrap_or(bytes);
        driver.log.decide(told(what.word(), shown), None);
        // On record before the agent can act on it.
        driver.log.flush();
        driver.prompt.push(bytes);
        driver.write_prompt();
    }

    /// What is said as it may be written down, where it holds secrets that were handed to us.
    fn without_secrets(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let text = str::from_utf8(bytes).ok()?;
        let hidden: Vec<_> = text.lines().map(|line| self.speaker.without_secrets(line)).collect();
        if hidden.iter().all(Option::is_none) {
            return None;
        }
        let lines = text.lines().zip(hidden);
        let lines: Vec<_> = lines.map(|(line, it)| it.unwrap_or_else(|| line.to_owned())).collect();
        Some(lines.join("\n").into_bytes())
    }

    fn was_asked(&mut self, driver: &mut Driver<'_>, request: EventKind, now: Moment) {
        let EventKind::ApprovalRequested { id, call, what, options, tool, .. } = request else {
            return;
        };
        // What the stream has told of the call is more than what the question says.
        let begun = call.as_ref().and_then(|call| driver.interaction.begun(call));
        let tool = begun.cloned().map(Box::new).or(tool);
        driver.interaction.ask(&id, "conversation", call.as_ref(), tool.as_deref());
        let asked = Asked {
            id: &id,
            asker: Asker::Conversation,
            call: call.as_ref(),
            what: &what,
            options: &options,
            tool: tool.as_deref(),
            arguments: &Value::Null,
            cwd: None,
        };
        if !self.speaker.is_open(&id) {
            // The speaker has declined it already.
            driver.interaction.settle(&id, Permission::Denied);
            return driver.announce(&asked, false, None);
        }
        driver.was_asked(self, asked, now);
    }

    /// After a turn: it goes on by a rule, or ends.
    fn turn_ended(&mut self, driver: &mut Driver<'_>, now: Moment) {
        driver.interaction.withdraw(|asker| asker == Asker::Conversation);
        self.withdraw_services(driver);
        if let Some(continued) = driver.continuation_of_turn() {
            self.prompt(driver, continued.prompt.into());
        }
        let is_over = !driver.interaction.in_turn() && !driver.interaction.is_last();
        if is_over && driver.interaction.is_cancelled() {
            self.lingering.wait(now);
        }
        if self.lingering.is_cleared(driver, now) {
            self.end_turn(driver);
        }
    }

    /// Ends a turn whose process stays, and gives the next prompt its turn.
    fn end_turn(&mut self, driver: &mut Driver<'_>) {
        let stays = !driver.interaction.in_turn() && !driver.interaction.is_last();
        if let Some(result) = driver.facts.result.clone().filter(|_| stays) {
            driver.turns.end(result, driver.log);
        }
        // A prompt that waited for its turn comes before the rest.
        while let Some(request) = driver.next_prompt(self) {
            driver.serve_prompt(self, request);
        }
        if !driver.interaction.in_turn() {
            TwoWay::rest(driver);
        }
    }
}

impl Channel for TwoWay {
    fn open(&mut self, driver: &mut Driver<'_>) {
        let mut said = Vec::new();
        self.speaker.open(&mut said);
        self.say(driver, Said::Opening, &said);
        let text = String::from_utf8_lossy(&driver.spec.prompt).into_owned();
        let images = driver.spec.talk.as_ref().map(|talk| talk.images.clone()).unwrap_or_default();
        let prompt = Prompt { text, images };
        if prompt.is_empty() {
            TwoWay::rest(driver);
        } else {
            self.give_prompt(driver, prompt);
        }
    }

    fn hear(&mut self, _line: &Line<'_>, scan: &Scan<'_>, events: &[EventKind]) {
        self.heard = true;
        let Scan::Object(object) = scan else { return };
        self.speaker.heard(object, &mut self.replies);
        for event in events {
            match event {
                EventKind::ApprovalRequested { .. } => self.asked.push(event.clone()),
                EventKind::ApprovalResolved { id, .. } => self.settled.push(id.clone()),
                EventKind::TurnEnded { .. } => self.asked.clear(),
                _ => {}
            }
        }
    }

    fn wants<'a>(&'a self, driver: &'a Driver<'_>, wanted: &mut Vec<Wanted<'a>>) {
        let fds = driver.commands.iter().flat_map(Terminal::fds);
        wanted.extend(fds.map(|fd| (fd, PollFlags::POLLIN)));
    }

    fn ready(&mut self, driver: &mut Driver<'_>) {
        self.look_at_commands(driver);
    }

    fn advance(&mut self, driver: &mut Driver<'_>) {
        let now = driver.clock.now();
        if self.heard && !self.is_up {
            self.is_up = true;
            self.lingering.is_up(driver);
        }
        // Nothing may have been read since long, and what follows is decided now.
        driver.stamp(now);
        self.note_left_out(driver);
        let replies = std::mem::take(&mut self.replies);
        self.say(driver, Said::Reply, &replies);
        for id in std::mem::take(&mut self.settled) {
            // What the agent answers itself it has not been told by us.
            driver.interaction.settle(&id, Permission::Denied);
        }
        for request in std::mem::take(&mut self.asked) {
            self.was_asked(driver, request, now);
        }
        if driver.spec.hooks.is_none() {
            // Where hooks ask too, they have not been heard yet.
            driver.judge_tools(now);
        }
        if driver.interaction.is_overdue(now) {
            let text =
                format!("the turn did not end within {} of its interrupt", human(CANCEL_GRACE));
            driver.log.decide(DecisionRecord::CancelIgnored(text.into()), None);
            driver.stop.begin(StopReason::Signal(2), now);
        }
        if driver.monitor.may_end_turn() && driver.requests.has(is_prompt) {
            driver.result_stands(WaitEnded::Prompt, now);
        }
        if driver.interaction.take_ended() {
            self.turn_ended(driver, now);
        } else if self.lingering.is_waiting() && self.lingering.is_cleared(driver, now) {
            self.end_turn(driver);
        }
        self.advance_services(driver);
    }

    fn takes_prompts(&self) -> bool {
        !self.lingering.is_waiting()
    }

    fn deadline(&self, driver: &Driver<'_>) -> Option<Moment> {
        // A turn that ended without a line of the agent's makes no descriptor ready.
        let ended = driver.interaction.has_ended().then_some(Moment::START);
        ended.or_else(|| self.lingering.deadline())
    }

    fn prompt(&mut self, driver: &mut Driver<'_>, prompt: Prompt) {
        let now = driver.clock.now();
        // In this order what we believe goes from waiting for a prompt to working, and nowhere else.
        driver.tell(Input::Prompted, now);
        driver.tell(Input::Resting(false), now);
        self.give_prompt(driver, prompt);
    }

    fn interrupt(&mut self, driver: &mut Driver<'_>, by: &Actor) {
        if driver.monitor.may_end_turn() {
            let text = "the turn ends with its last result; background tasks and the process stay";
            driver.log.decide(cancelled(by, text, false), None);
            return driver.result_stands(WaitEnded::Cancel, driver.clock.now());
        }
        let mut said = Vec::new();
        if self.speaker.interrupt(&mut said) {
            driver.interaction.interrupt(driver.clock.now());
            driver.kill_commands();
            self.withdraw_services(driver);
            let text = "the turn is interrupted, the process stays";
            driver.log.decide(cancelled(by, text, false), None);
            self.say(driver, Said::Interrupt, &said);
        }
    }

    fn word(&mut self, id: &str, asker: Asker, answer: &Answer) -> Result<Vec<u8>, Unanswerable> {
        if let Asker::Service(number) = asker {
            return self.word_for_service(id, number, answer);
        }
        let mut said = Vec::new();
        self.speaker.answer(id, answer, &mut said).map(|()| said)
    }

    fn deliver(&mut self, driver: &mut Driver<'_>, asker: Asker, given: &Given<'_>) {
        match asker {
            Asker::Service(number) => self.serve_or_refuse(driver, number, given.answer),
            _ => self.say(driver, Said::Answer, given.worded),
        }
    }

    fn finish(&mut self, driver: &mut Driver<'_>) {
        driver.commands.clear();
    }
}

fn is_prompt(request: &Request) -> bool {
    matches!(request, Request::Prompt(_))
}

/// What was said, as it was said.
pub(super) fn told(what: &str, bytes: &[u8]) -> DecisionRecord {
    let (what, lines) = (what.to_owned(), Some(lines(bytes)));
    DecisionRecord::Told(ToldAgent { what, lines, text: None, kept: false })
}

/// Lines for the record; a speaker makes JSON only.
pub(super) fn lines(bytes: &[u8]) -> Vec<Box<RawValue>> {
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.filter_map(|line| serde_json::from_slice(line).ok()).collect()
}
