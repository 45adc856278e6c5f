//! A conversation with one process: prompts one after another, interrupts, questions and answers.
//!
//! Owns whose turn it is. What is said is made by the dialect's speaker in core; what a turn or a
//! question is comes from the decoder's events, as for everybody. Which questions wait, and what
//! becomes of them, is [`super::approvals`]'.

use super::approvals::{Approvals, Asked, Asker};
use super::stop::StopReason;
use super::{Driver, PromptWriter, notes};
use crate::control::{Request, TurnRequest};
use crate::tree;
use serde_json::Value;
use serde_json::value::RawValue;
use stablehand_core::Moment;
use stablehand_core::actor::Actor;
use stablehand_core::event::{EventKind, ItemBody, Tool, ToolInput, TurnEnd};
use stablehand_core::id::{CallId, TurnId};
use stablehand_core::json::Object;
use stablehand_core::monitor::Input;
use stablehand_core::record::{
    DecisionRecord, RuleWritten, ToldAgent, ToolNotAsked, TurnCancelled,
};
use stablehand_core::speak::{Answer, Image, Opening, Prompt, Speak, Unanswerable};
use stablehand_core::text::excerpt;
use stablehand_core::time::human;
use stablehand_core::wish::{Service, Wish};
use stablehand_policy::Action;
use stablehand_policy::settings::context::before;
use std::collections::VecDeque;
use std::time::Duration;

/// So long a turn may take to end after it was interrupted; then the process is stopped.
const CANCEL_GRACE: Duration = Duration::from_secs(10);

/// So long the processes that a turn began may outlive its interrupt; then the agent is stopped with
/// them. An agent that kills its tools takes a few milliseconds for it.
const LINGER: Duration = Duration::from_secs(2);

/// Between two looks at them.
const LINGER_LOOK: Duration = Duration::from_millis(50);

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
    /// Whether the agent does some things without asking, however it is told to ask: rules are then
    /// held against what it did.
    pub acts_unasked: bool,
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

/// So many calls that have begun are remembered.
const MOST_CALLS: usize = 64;

/// A conversation in progress.
pub(super) struct Talk {
    speaker: Box<dyn Speak>,
    /// What stands in front of the next prompt.
    context: Option<String>,
    /// A turn is on.
    turn: bool,
    /// The prompt that was given last, and how many there were.
    prompt: Option<Prompt>,
    prompts: u32,
    /// No prompt comes any more.
    last: bool,
    /// Questions that came with the last chunk.
    asked: Vec<Put>,
    /// Questions that the agent itself has taken back or answered.
    settled: Vec<String>,
    /// Calls that have begun and are not over: what a question is about.
    calls: VecDeque<Tool>,
    /// Whether it may have done something without asking.
    acts_unasked: bool,
    /// Calls that it has asked about.
    asked_about: VecDeque<CallId>,
    /// Calls that were over with the last chunk, and had not been asked about.
    unasked: Vec<Tool>,
    /// A turn ended with the last chunk.
    ended: bool,
    /// What the speaker said to the last chunk.
    replies: Vec<u8>,
    /// When an interrupted turn must be over.
    cancel_by: Option<Moment>,
    /// A person interrupted the last turn.
    cancelled: bool,
    /// The agent's processes before the turn.
    before: Vec<u32>,
    /// An interrupted turn is over, and its processes must be gone by then.
    lingers_until: Option<Moment>,
    /// When they are looked at next.
    look_at: Option<Moment>,
}

impl Talk {
    pub(super) fn new(spec: &TalkSpec, speaker: Box<dyn Speak>) -> Self {
        Talk {
            speaker,
            context: spec.context.clone(),
            turn: false,
            prompt: None,
            prompts: 0,
            last: !spec.stays,
            asked: Vec::new(),
            settled: Vec::new(),
            calls: VecDeque::new(),
            acts_unasked: spec.acts_unasked,
            asked_about: VecDeque::new(),
            unasked: Vec::new(),
            ended: false,
            replies: Vec::new(),
            cancel_by: None,
            cancelled: false,
            before: Vec::new(),
            lingers_until: None,
            look_at: None,
        }
    }

    /// A line of the agent.
    pub(super) fn hear(&mut self, object: &Object<'_>) {
        self.speaker.heard(object, &mut self.replies);
    }

    /// An event of the agent.
    pub(super) fn saw(&mut self, event: &EventKind) {
        match event {
            EventKind::ApprovalRequested { id, call, what, options, tool, .. } => {
                if self.asked_about.len() == MOST_CALLS {
                    self.asked_about.pop_front();
                }
                self.asked_about.extend(call.clone());
                self.asked.push(Put {
                    id: id.clone(),
                    call: call.clone(),
                    what: what.clone(),
                    options: options.clone(),
                    tool: tool.clone(),
                });
            }
            EventKind::ApprovalResolved { id, .. } => self.settled.push(id.clone()),
            EventKind::ItemStarted { item } => {
                if let ItemBody::Tool(tool) = &item.body {
                    if self.calls.len() == MOST_CALLS {
                        self.calls.pop_front();
                    }
                    self.calls.push_back((**tool).clone());
                }
            }
            EventKind::ItemCompleted { item } => {
                if let ItemBody::Tool(tool) = &item.body {
                    self.calls.retain(|open| open.call != tool.call);
                    let was_asked = self.asked_about.contains(&tool.call);
                    if self.acts_unasked && tool.was_done() && !was_asked {
                        self.unasked.push((**tool).clone());
                    }
                }
            }
            EventKind::TurnEnded { .. } => {
                self.ended = true;
                self.turn = false;
                self.cancel_by = None;
                self.asked.clear();
                self.calls.clear();
            }
            _ => {}
        }
    }

    /// The prompt that was given last.
    pub(super) fn take_prompt(&mut self) -> Option<Prompt> {
        self.prompt.take()
    }

    /// How many prompts there were.
    pub(super) fn prompts(&self) -> u32 {
        self.prompts
    }

    /// When something is due.
    pub(super) fn deadline(&self) -> Option<Moment> {
        [self.cancel_by, self.look_at].into_iter().flatten().min()
    }

    /// Whether no prompt comes any more.
    pub(super) fn is_last(&self) -> bool {
        self.last
    }

    /// Whether a person interrupted the last turn.
    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled
    }

    /// Whether a person ended the last turn, which then ended as asked.
    pub(super) fn was_cancelled(&self, result: Option<&TurnEnd>) -> bool {
        self.cancelled && matches!(result, Some(TurnEnd::Cancelled))
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
        talk.turn = true;
        talk.cancelled = false;
        if !talk.last {
            let rows = tree::descendants(self.keeper.agent_pid());
            talk.before = rows.iter().map(|row| row.pid).collect();
        }
        talk.prompts = talk.prompts.saturating_add(1);
        talk.prompt = Some(prompt.clone());
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
        let Some(talk) = &self.talk else { return };
        if talk.last {
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
        let ended = std::mem::take(&mut talk.ended);
        let unasked = std::mem::take(&mut talk.unasked);
        let overdue = talk.cancel_by.take_if(|by| *by <= now).is_some();
        self.note_left_out();
        self.say(Said::Reply, &replies);
        for id in settled {
            self.questions.settle(&id);
        }
        for put in asked {
            self.asked_in_talk(put, now);
        }
        for tool in unasked {
            self.judge_unasked(&tool, now);
        }
        if overdue {
            let text =
                format!("the turn did not end within {} of its interrupt", human(CANCEL_GRACE));
            self.log.decide(DecisionRecord::CancelIgnored(text.into()), None);
            self.stop.begin(StopReason::Signal(2), now);
        }
        if ended {
            self.questions.clear(|asker| asker == Asker::Conversation);
            self.withdraw_services();
            self.continue_turn();
            if let Some(talk) = &mut self.talk
                && talk.cancelled
                && !talk.turn
                && !talk.last
            {
                talk.lingers_until = Some(now.plus(LINGER));
            }
        }
        let lingers = self.talk.as_ref().is_some_and(|talk| talk.lingers_until.is_some());
        if (ended || lingers) && self.is_turn_cleared(now) {
            self.end_turn();
        }
    }

    /// Ends a turn whose process stays, and begins the next one.
    fn end_turn(&mut self) {
        let stays = self.talk.as_ref().is_some_and(|talk| !talk.turn && !talk.last);
        if let Some(result) = self.facts.result.clone().filter(|_| stays) {
            self.turns.end(result, self.log);
        }
        // A prompt that waited for its turn comes before the rest.
        self.serve_requests();
        if self.talk.as_ref().is_some_and(|talk| !talk.turn) {
            self.rest();
        }
    }

    /// Returns true once no process is left that an interrupted turn began. Where some stay, the
    /// agent is stopped with them; the next prompt resumes its session.
    fn is_turn_cleared(&mut self, now: Moment) -> bool {
        let Some(talk) = &mut self.talk else { return true };
        talk.look_at = None;
        let Some(until) = talk.lingers_until else { return true };
        if self.stop.reason().is_some() {
            return false;
        }
        let mut left = tree::descendants(self.keeper.agent_pid());
        left.retain(|row| row.state != 'Z' && !talk.before.contains(&row.pid));
        if left.is_empty() {
            talk.lingers_until = None;
            return true;
        }
        if now < until {
            talk.look_at = Some(now.plus(LINGER_LOOK).min(until));
            return false;
        }
        let names: Vec<_> = left.iter().map(|row| format!("{} {}", row.pid, row.name)).collect();
        let text = format!(
            "processes of the interrupted turn are left after {}, so the agent is stopped: {}",
            human(LINGER),
            excerpt(names.join(", ").as_bytes(), 200)
        );
        self.log.decide(DecisionRecord::CancelIgnored(text.into()), None);
        self.stop.begin(StopReason::Signal(2), now);
        false
    }

    /// Judges a tool that the agent ran without asking, and stops the run where the rules do not allow
    /// it. Nobody can take it back; but it does nothing more. Returns whether the run may go on.
    pub(super) fn judge_unasked(&mut self, tool: &Tool, now: Moment) -> bool {
        let Approvals::Policy { gate, .. } = &self.spec.approvals else { return true };
        let decision = gate.judge_call(Some(tool), &Value::Null, None);
        if decision.action == Action::Allow {
            return true;
        }
        if self.stop.reason().is_some() {
            return false;
        }
        let text = format!(
            "the agent ran a tool without asking, and the rules do not allow it, so the run is \
             stopped: {} {}: {}",
            excerpt(tool.name.as_bytes(), 60),
            excerpt(tool.headline().as_bytes(), 200),
            excerpt(decision.reason.as_bytes(), 400)
        );
        let call_id = tool.call.clone();
        self.log.decide(ToolNotAsked { call_id, decision: Some(decision), text }, None);
        self.stop.kill(StopReason::Unasked, now);
        false
    }

    /// Judges what the last bytes told, after which nobody waits for anything.
    pub(super) fn judge_last_tools(&mut self) {
        let now = self.clock.now();
        let unasked = self.talk.as_mut().map(|talk| std::mem::take(&mut talk.unasked));
        for tool in unasked.into_iter().flatten() {
            self.stamp(now);
            self.judge_unasked(&tool, now);
        }
        self.look_for_unasked(now);
    }

    fn asked_in_talk(&mut self, put: Put, now: Moment) {
        let Some(talk) = &self.talk else { return };
        // What the stream has told of the call is more than what the question says.
        // Of several announcements of a call the last knows most.
        let told = talk.calls.iter().rfind(|tool| Some(&tool.call) == put.call.as_ref());
        let tool = told.cloned().map(Box::new).or(put.tool);
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

    /// What was judged when it was wanted done is not held against the rules once more when the call
    /// is told that it was part of.
    pub(super) fn was_judged(&mut self, tool: &Tool) {
        let Some(talk) = &mut self.talk else { return };
        let is_same = |call: &&Tool| match (&call.input, &tool.input) {
            (ToolInput::Command { command, .. }, ToolInput::Command { command: run, .. }) => {
                command == run
            }
            (ToolInput::Path { path }, ToolInput::Path { path: touched }) => path == touched,
            (input, _) => call.tool_kind == tool.tool_kind && says_nothing(input),
        };
        let calls: Vec<CallId> =
            talk.calls.iter().filter(is_same).map(|call| call.call.clone()).collect();
        for call in calls {
            if talk.asked_about.len() == MOST_CALLS {
                talk.asked_about.pop_front();
            }
            talk.asked_about.push_back(call);
        }
    }

    /// Says an answer that was worded so.
    pub(super) fn say_answer(&mut self, said: &[u8]) {
        self.say(Said::Answer, said);
    }

    /// Whether a request can be served now; a prompt waits for its turn.
    pub(super) fn can_serve(&self, request: &Request) -> bool {
        match (request, &self.talk) {
            (Request::Prompt(_) | Request::Finish, None) | (Request::Insert(_), _) => false,
            // In the order in which they came: a prompt before the end is a prompt.
            (Request::Prompt(_) | Request::Finish, Some(talk)) => {
                !talk.turn && talk.lingers_until.is_none() && self.prompt.is_open()
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
                let Some(talk) = &mut self.talk else { return };
                talk.last = true;
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
            Request::Stop { .. }
            | Request::Dump
            | Request::ReaderGone
            | Request::Insert(_)
            | Request::Note(_)
            | Request::Resize(_) => {}
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
            talk.cancelled = true;
            talk.cancel_by = Some(now.plus(CANCEL_GRACE));
            // Whoever interrupts has answered every question.
            self.questions.clear(|asker| asker == Asker::Conversation);
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

/// Whether nothing is known of what a tool was given.
fn says_nothing(input: &ToolInput) -> bool {
    matches!(input, ToolInput::Other { .. })
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
        f.debug_struct("Talk").field("turn", &self.turn).finish_non_exhaustive()
    }
}
