//! A conversation with one process: prompts one after another, interrupts, questions and answers.
//!
//! Owns whose turn it is. What is said is made by the dialect's speaker in core; what a turn or a
//! question is comes from the decoder's events, as for everybody. Which questions wait, and what
//! becomes of them, is [`super::approvals`]'.

use super::approvals::Asked;
use super::stop::StopReason;
use super::{Driver, PromptWriter, notes};
use crate::control::{Request, TurnRequest};
use serde_json::Value;
use serde_json::value::RawValue;
use stablehand_core::Moment;
use stablehand_core::actor::Actor;
use stablehand_core::event::{EventKind, Tool, TurnEnd};
use stablehand_core::id::{CallId, TurnId};
use stablehand_core::interaction::{Asker, CANCEL_GRACE, Permission};
use stablehand_core::json::Object;
use stablehand_core::monitor::Input;
use stablehand_core::record::{DecisionRecord, RuleWritten, ToldAgent, TurnCancelled};
use stablehand_core::speak::{Answer, Image, Opening, Prompt, Speak, Unanswerable};
use stablehand_core::time::human;
use stablehand_core::wish::{Service, Wish};
use stablehand_policy::settings::context::before;

/// A conversation, as it is asked for.
#[derive(Clone, Debug)]
pub struct TalkSpec {
    /// What it begins with.
    pub opening: Opening,
    /// Whether the process stays for further prompts when a turn is over, until
    /// [`Request::Finish`].
    pub stays: bool,
    /// What the agent is shown with the first prompt.
    pub images: Vec<Image>,
    /// What stands in front of the first prompt, where that comes only later.
    pub context: Option<String>,
}

/// What was said to the agent, for the record.
#[derive(Clone, Copy, Debug)]
enum Said {
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

/// A question, as the agent put it.
#[derive(Debug)]
struct Put {
    id: String,
    call: Option<CallId>,
    what: String,
    options: Vec<String>,
    /// What it is about, where the question says so itself.
    tool: Option<Box<Tool>>,
}

/// A conversation in progress.
pub(super) struct Talk {
    speaker: Box<dyn Speak>,
    /// What stands in front of the next prompt.
    context: Option<String>,
    /// Questions that came with the last chunk.
    asked: Vec<Put>,
    /// Questions that the agent itself has taken back or answered.
    settled: Vec<String>,
    /// What the speaker said to the last chunk.
    replies: Vec<u8>,
}

impl Talk {
    pub(super) fn new(spec: &TalkSpec, speaker: Box<dyn Speak>) -> Self {
        Talk {
            speaker,
            context: spec.context.clone(),
            asked: Vec::new(),
            settled: Vec::new(),
            replies: Vec::new(),
        }
    }

    /// A line of the agent, and what it says.
    pub(super) fn hear(&mut self, object: &Object<'_>, events: &[EventKind]) {
        self.speaker.heard(object, &mut self.replies);
        for event in events {
            match event {
                EventKind::ApprovalRequested { id, call, what, options, tool, .. } => {
                    self.asked.push(Put {
                        id: id.clone(),
                        call: call.clone(),
                        what: what.clone(),
                        options: options.clone(),
                        tool: tool.clone(),
                    });
                }
                EventKind::ApprovalResolved { id, .. } => self.settled.push(id.clone()),
                EventKind::TurnEnded { .. } => self.asked.clear(),
                _ => {}
            }
        }
    }
}

impl Driver<'_> {
    /// The first words.
    pub(super) fn open_talk(&mut self) {
        let Some(talk) = &mut self.talk else { return };
        let mut said = Vec::new();
        talk.speaker.open(&mut said);
        self.say(Said::Opening, &said);
        let text = String::from_utf8_lossy(&self.spec.prompt).into_owned();
        let images = self.spec.talk.as_ref().map(|talk| talk.images.clone()).unwrap_or_default();
        let prompt = Prompt { text, images };
        if prompt.is_empty() {
            self.rest();
        } else {
            self.give_prompt(prompt);
        }
    }

    fn give_prompt(&mut self, mut prompt: Prompt) {
        let Some(talk) = &mut self.talk else { return };
        self.interaction.prompted(prompt.clone());
        self.log.decide(notes::prompt(&prompt.text, &prompt.images), None);
        if let Some(context) = talk.context.take() {
            prompt.text = before(&context, &prompt.text);
        }
        let mut said = Vec::new();
        talk.speaker.put(&prompt, &mut said);
        self.note_left_out();
        // Where the agent is not ready, the speaker keeps it; it is on record all the same.
        if said.is_empty() {
            let what = Said::Prompt.word().to_owned();
            let kept = ToldAgent { what, lines: None, text: Some(prompt.text), kept: true };
            self.log.decide(DecisionRecord::Told(kept), None);
        }
        self.say(Said::Prompt, &said);
    }

    /// Says what the agent does not take, and so was not told.
    fn note_left_out(&mut self) {
        let Some(talk) = &mut self.talk else { return };
        for text in talk.speaker.left_out() {
            self.log.decide(DecisionRecord::LeftOut(text.into()), None);
        }
    }

    /// Between two turns: the agent waits for us, or leaves when it is told that nothing comes.
    fn rest(&mut self) {
        if self.interaction.is_last() {
            self.prompt.finish();
        } else if self.prompt.is_open() {
            self.tell(Input::Resting(true), self.clock.now());
        }
    }

    fn say(&mut self, what: Said, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let hidden = self.without_secrets(bytes);
        let shown = hidden.as_deref().unwrap_or(bytes);
        self.log.decide(told(what.word(), shown), None);
        // On record before the agent can act on it.
        self.log.flush();
        self.prompt.push(bytes);
        self.write_prompt();
    }

    /// What is said as it may be written down, where it holds secrets that were handed to us.
    fn without_secrets(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let speaker = &self.talk.as_ref()?.speaker;
        let text = str::from_utf8(bytes).ok()?;
        let hidden: Vec<_> = text.lines().map(|line| speaker.without_secrets(line)).collect();
        if hidden.iter().all(Option::is_none) {
            return None;
        }
        let lines = text.lines().zip(hidden);
        let lines: Vec<_> = lines.map(|(line, it)| it.unwrap_or_else(|| line.to_owned())).collect();
        Some(lines.join("\n").into_bytes())
    }

    /// After each chunk: what the agent's words mean for us.
    pub(super) fn advance_talk(&mut self) {
        let now = self.clock.now();
        let Some(talk) = &mut self.talk else { return };
        // Nothing may have been read since long, and what follows is decided now.
        self.log.set_time(self.clock.wall(now));
        let replies = std::mem::take(&mut talk.replies);
        let asked = std::mem::take(&mut talk.asked);
        let settled = std::mem::take(&mut talk.settled);
        self.note_left_out();
        self.say(Said::Reply, &replies);
        for id in settled {
            // What the agent answers itself it has not been told by us.
            self.interaction.settle(&id, Permission::Denied);
        }
        for put in asked {
            self.asked_in_talk(put, now);
        }
        self.judge_tools(now);
        if self.interaction.is_overdue(now) {
            let text =
                format!("the turn did not end within {} of its interrupt", human(CANCEL_GRACE));
            self.log.decide(DecisionRecord::CancelIgnored(text.into()), None);
            self.stop.begin(StopReason::Signal(2), now);
        }
        if self.interaction.take_ended() {
            self.interaction.withdraw(|asker| asker == Asker::Conversation);
            self.withdraw_services();
            self.continue_turn();
            let stays = !self.interaction.in_turn() && !self.interaction.is_last();
            if let Some(result) = self.facts.result.clone().filter(|_| stays) {
                self.turns.end(result, self.log);
            }
            // A prompt that waited for its turn comes before the rest.
            self.serve_requests();
            if !self.interaction.in_turn() {
                self.rest();
            }
        }
    }

    fn asked_in_talk(&mut self, put: Put, now: Moment) {
        let Some(talk) = &self.talk else { return };
        // What the stream has told of the call is more than what the question says.
        let told = put.call.as_ref().and_then(|call| self.interaction.begun(call));
        let tool = told.cloned().map(Box::new).or(put.tool);
        self.interaction.ask(&put.id, "conversation", put.call.as_ref(), tool.as_deref());
        let asked = Asked {
            id: &put.id,
            asker: Asker::Conversation,
            call: put.call.as_ref(),
            what: &put.what,
            options: &put.options,
            tool: tool.as_deref(),
            arguments: &Value::Null,
            cwd: None,
        };
        if !talk.speaker.is_open(&put.id) {
            // The speaker has declined it already.
            self.interaction.settle(&put.id, Permission::Denied);
            return self.announce(&asked, false, None);
        }
        self.was_asked(asked, now);
    }

    /// An answer in the agent's own words.
    pub(super) fn word_in_talk(
        &mut self,
        id: &str,
        answer: &Answer,
    ) -> Result<Vec<u8>, Unanswerable> {
        let mut said = Vec::new();
        match &mut self.talk {
            Some(talk) => talk.speaker.answer(id, answer, &mut said).map(|()| said),
            None => Err(Unanswerable::NotOpen { id: id.to_owned() }),
        }
    }

    /// What the agent wants done.
    pub(super) fn take_wishes(&mut self) -> Vec<Wish> {
        self.talk.as_mut().map(|talk| talk.speaker.take_wishes()).unwrap_or_default()
    }

    /// Tells the agent what became of a wish.
    pub(super) fn say_service(&mut self, id: &str, service: &Service) {
        let Some(talk) = &mut self.talk else { return };
        let mut said = Vec::new();
        talk.speaker.serve(id, service, &mut said);
        self.say(Said::Service, &said);
    }

    /// Says an answer that was worded so.
    pub(super) fn say_answer(&mut self, said: &[u8]) {
        self.say(Said::Answer, said);
    }

    /// Whether a request can be served now; a prompt waits for its turn.
    pub(super) fn can_serve(&self, request: &Request) -> bool {
        match (request, &self.talk) {
            (Request::Prompt(_) | Request::Finish, None) => false,
            // In the order in which they came: a prompt before the end is a prompt.
            (Request::Prompt(_) | Request::Finish, Some(_)) => {
                !self.interaction.in_turn() && self.prompt.is_open()
            }
            _ => true,
        }
    }

    /// What somebody wants to tell the agent.
    pub(super) fn serve_talk(&mut self, request: Request) {
        let now = self.clock.now();
        match request {
            Request::Prompt(TurnRequest { turn, by, prompt }) => {
                // What the agent did since the last turn belongs to that one.
                self.turns.end(TurnEnd::Done, self.log);
                self.turns.begin(turn, &by, prompt.text.as_bytes(), &self.spec.run, self.log);
                self.prompt_again(prompt);
            }
            Request::Finish => {
                self.interaction.finish();
                self.tell(Input::Resting(false), now);
                self.prompt.finish();
            }
            Request::Cancel { turn: Some(turn), by } if !self.turns.is_on(turn) => {
                self.cancel_waiting(turn, &by);
            }
            Request::Cancel { by, .. } => self.cancel(&by, now),
            Request::Answer { id, answer, by } => self.answer_of(&id, &answer, &by),
            Request::RuleWritten { id, rule, text } => {
                self.log.decide(RuleWritten { id, rule: Some(rule), text }, None);
            }
            Request::NobodyThere => self.left_alone(),
            Request::Stop { .. } | Request::Dump | Request::ReaderGone | Request::Resize(_) => {}
        }
    }

    /// Gives a further prompt to an agent at rest, in the turn that is on.
    pub(super) fn prompt_again(&mut self, prompt: Prompt) {
        let now = self.clock.now();
        // In this order what we believe goes from waiting for a prompt to working, and nowhere else.
        self.tell(Input::Prompted, now);
        self.tell(Input::Resting(false), now);
        self.facts.prompted();
        self.give_prompt(prompt);
    }

    /// Takes a prompt back that waits for its turn.
    fn cancel_waiting(&mut self, turn: TurnId, by: &Actor) {
        let is_meant =
            |request: &Request| matches!(request, Request::Prompt(asked) if asked.turn == turn);
        if let Some(Request::Prompt(request)) = self.requests.take(is_meant) {
            let text = "the prompt is taken back before its turn";
            let record = TurnCancelled { turn: Some(turn), ..cancelled(by, text, false) };
            self.log.decide(record, None);
            crate::session::end_waiting(&request, self.log);
        }
    }

    /// Ends the turn; without a way to do so, the process.
    fn cancel(&mut self, by: &Actor, now: Moment) {
        let Some(talk) = &mut self.talk else {
            let text = "the turn is cancelled, and ends with its process";
            self.log.decide(cancelled(by, text, true), None);
            return self.stop_by_signal(2);
        };
        let mut said = Vec::new();
        if talk.speaker.interrupt(&mut said) {
            self.interaction.interrupt(now);
            self.interrupt_services();
            let text = "the turn is interrupted, the process stays";
            self.log.decide(cancelled(by, text, false), None);
            self.say(Said::Interrupt, &said);
        }
    }
}

/// The record of a turn that somebody cancelled.
fn cancelled(by: &Actor, text: &str, ends_process: bool) -> TurnCancelled {
    TurnCancelled {
        by: Some(by.by.to_string()),
        via: by.via.clone(),
        turn: None,
        text: text.to_owned(),
        ends_process,
    }
}

/// How the agent is to read: a conversation stays open.
pub(super) fn writer(stdin: std::os::fd::OwnedFd, prompt: &[u8], talks: bool) -> PromptWriter {
    if talks { PromptWriter::open(stdin) } else { PromptWriter::new(stdin, prompt.to_vec()) }
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

impl std::fmt::Debug for Talk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Talk").field("asked", &self.asked).finish_non_exhaustive()
    }
}
