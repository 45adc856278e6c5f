//! A conversation with one process: prompts one after another, interrupts, questions and answers.
//!
//! Owns whose turn it is and which questions wait. What is said is made by the dialect's speaker in
//! core; what a turn or a question is comes from the decoder's events, as for everybody. A question
//! stops the clock of the monitor; nobody is waited for without a bound unless that was asked for.

use super::stop::StopReason;
use super::{Driver, PromptWriter};
use crate::clock::unix_now;
use crate::control::Request;
use crate::gate::{Attendance, Gate};
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;
use stablehand_core::Moment;
use stablehand_core::event::{EventKind, ItemBody, Tool, TurnEnd};
use stablehand_core::id::CallId;
use stablehand_core::json::Object;
use stablehand_core::monitor::Input;
use stablehand_core::policy::{Action, Decision};
use stablehand_core::record::Level;
use stablehand_core::speak::{Answer, Opening, Speak, Unanswerable};
use stablehand_core::time::human;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// So long a turn may take to end after it was interrupted; then the process is stopped.
const CANCEL_GRACE: Duration = Duration::from_secs(10);

/// A conversation, as it is asked for.
#[derive(Clone, Debug)]
pub struct TalkSpec {
    /// What it begins with.
    pub opening: Opening,
    /// Whether the process stays for further prompts when a turn is over, until
    /// [`Request::Finish`].
    pub stays: bool,
    /// What becomes of the agent's questions.
    pub approvals: Approvals,
}

/// What becomes of the agent's questions.
#[derive(Clone, Debug)]
pub enum Approvals {
    /// They are allowed.
    Allow,
    /// They are denied.
    Deny,
    /// Somebody answers with [`Request::Answer`]; after so long without an answer they are denied.
    Ask {
        /// No limit where absent.
        patience: Option<Duration>,
    },
    /// A policy answers, and where it says `ask`, somebody else.
    Policy {
        /// The rules.
        gate: Arc<Gate>,
        /// Who that is.
        attendance: Attendance,
    },
}

impl Approvals {
    /// How long a question waits for a person.
    fn patience(&self) -> Option<Duration> {
        match self {
            Approvals::Ask { patience }
            | Approvals::Policy { attendance: Attendance::Person { patience }, .. } => *patience,
            _ => None,
        }
    }
}

/// What was said to the agent, for the record.
#[derive(Clone, Copy, Debug)]
enum Said {
    Opening,
    Prompt,
    Interrupt,
    Answer,
    Reply,
}

impl Said {
    fn word(self) -> &'static str {
        match self {
            Said::Opening => "opening",
            Said::Prompt => "prompt",
            Said::Interrupt => "interrupt",
            Said::Answer => "answer",
            Said::Reply => "reply",
        }
    }
}

/// A question that waits for a person.
#[derive(Debug)]
struct Waiting {
    id: String,
    since: Moment,
    /// What it becomes when nobody answers.
    otherwise: Answer,
}

/// A question, as the agent put it.
#[derive(Debug)]
struct Asked {
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
    approvals: Approvals,
    /// A turn is on.
    turn: bool,
    /// No prompt comes any more.
    last: bool,
    /// Questions that wait for somebody, and since when.
    waiting: Vec<Waiting>,
    /// Questions that came with the last chunk.
    asked: Vec<Asked>,
    /// Calls that have begun, where a policy wants to see them.
    calls: VecDeque<Tool>,
    /// A turn ended with the last chunk.
    ended: bool,
    /// What the speaker said to the last chunk.
    replies: Vec<u8>,
    /// When an interrupted turn must be over.
    cancel_by: Option<Moment>,
    /// A person interrupted the last turn.
    cancelled: bool,
}

impl Talk {
    pub(super) fn new(spec: &TalkSpec, speaker: Box<dyn Speak>) -> Self {
        Talk {
            speaker,
            approvals: spec.approvals.clone(),
            turn: false,
            last: !spec.stays,
            waiting: Vec::new(),
            asked: Vec::new(),
            calls: VecDeque::new(),
            ended: false,
            replies: Vec::new(),
            cancel_by: None,
            cancelled: false,
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
                self.asked.push(Asked {
                    id: id.clone(),
                    call: call.clone(),
                    what: what.clone(),
                    options: options.clone(),
                    tool: tool.clone(),
                });
            }
            EventKind::ApprovalResolved { id, .. } => self.waiting.retain(|open| open.id != *id),
            EventKind::ItemStarted { item } => {
                if let (ItemBody::Tool(tool), Approvals::Policy { .. }) =
                    (&item.body, &self.approvals)
                {
                    if self.calls.len() == MOST_CALLS {
                        self.calls.pop_front();
                    }
                    self.calls.push_back((**tool).clone());
                }
            }
            EventKind::ItemCompleted { item } => {
                if let ItemBody::Tool(tool) = &item.body {
                    self.calls.retain(|open| open.call != tool.call);
                }
            }
            EventKind::TurnEnded { .. } => {
                self.ended = true;
                self.turn = false;
                self.cancel_by = None;
                self.waiting.clear();
                self.asked.clear();
                self.calls.clear();
            }
            _ => {}
        }
    }

    /// When something is due.
    pub(super) fn deadline(&self) -> Option<Moment> {
        let patience = self.approvals.patience();
        let first = self.waiting.first().zip(patience).map(|(open, p)| open.since.plus(p));
        first.into_iter().chain(self.cancel_by).min()
    }

    /// Whether no prompt comes any more.
    pub(super) fn is_last(&self) -> bool {
        self.last
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
        if self.spec.prompt.is_empty() {
            self.rest();
        } else {
            let text = String::from_utf8_lossy(&self.spec.prompt).into_owned();
            self.give_prompt(&text);
        }
    }

    fn give_prompt(&mut self, text: &str) {
        let Some(talk) = &mut self.talk else { return };
        talk.turn = true;
        talk.cancelled = false;
        let mut said = Vec::new();
        talk.speaker.prompt(text, &mut said);
        // Where the agent is not ready, the speaker keeps it; it is on record all the same.
        if said.is_empty() {
            let fields = json!({ "what": "prompt", "text": text, "kept": true });
            self.log.decide(Level::Debug, "told", &fields, None);
        }
        self.say(Said::Prompt, &said);
    }

    /// Between two turns: the agent waits for us, or leaves when it is told that nothing comes.
    fn rest(&mut self) {
        let Some(talk) = &self.talk else { return };
        if talk.last {
            self.prompt.finish();
        } else if self.prompt.is_open() {
            self.monitor.handle(Input::Resting(true), self.clock.now(), &mut self.actions);
        }
    }

    fn say(&mut self, what: Said, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let fields = Told { what: what.word(), lines: lines(bytes) };
        self.log.decide(Level::Debug, "told", &fields, None);
        // On record before the agent can act on it.
        self.log.flush();
        self.prompt.push(bytes);
        self.write_prompt();
    }

    /// After each chunk: what the agent's words mean for us.
    pub(super) fn advance_talk(&mut self) {
        let now = self.clock.now();
        let Some(talk) = &mut self.talk else { return };
        // Nothing may have been read since long, and what follows is decided now.
        self.log.set_time(unix_now());
        let replies = std::mem::take(&mut talk.replies);
        let asked = std::mem::take(&mut talk.asked);
        let ended = std::mem::take(&mut talk.ended);
        let overdue = talk.cancel_by.take_if(|by| *by <= now).is_some();
        self.say(Said::Reply, &replies);
        for asked in asked {
            self.was_asked(asked, now);
        }
        if overdue {
            let text =
                format!("the turn did not end within {} of its interrupt", human(CANCEL_GRACE));
            self.log.decide(Level::Warn, "cancel_ignored", &json!({ "text": text }), None);
            self.stop.begin(StopReason::Signal(2), now);
        }
        self.deny_unanswered(now);
        if ended {
            // A prompt that waited for its turn comes before the rest.
            self.serve_requests();
            if self.talk.as_ref().is_some_and(|talk| !talk.turn) {
                self.rest();
            }
        }
        self.hold_for_questions(now);
    }

    fn was_asked(&mut self, mut asked: Asked, now: Moment) {
        let Some(talk) = &mut self.talk else { return };
        if !talk.speaker.is_open(&asked.id) {
            return; // The speaker has declined it already.
        }
        let id = asked.id.clone();
        match talk.approvals.clone() {
            Approvals::Ask { .. } => {
                let otherwise = deny("denied: nobody answered in time");
                talk.waiting.push(Waiting { id, since: now, otherwise });
            }
            Approvals::Allow => self.answer(&id, &Answer::Allow, "policy"),
            Approvals::Deny => self.answer(&id, &deny("denied: nobody is there to ask"), "policy"),
            Approvals::Policy { gate, attendance } => {
                let known = talk.calls.iter().find(|tool| Some(&tool.call) == asked.call.as_ref());
                if let Some(tool) = known {
                    asked.tool = Some(Box::new(tool.clone()));
                }
                let decision = gate.judge(asked.tool.as_deref());
                self.rule(asked, &decision, attendance, now);
            }
        }
    }

    /// Carries out what the policy says, and puts it on record first.
    fn rule(&mut self, asked: Asked, decision: &Decision, attendance: Attendance, now: Moment) {
        let Asked { id, call, what, options, tool } = asked;
        let fields = json!({ "id": id, "decision": decision });
        // Whoever is to answer must know that it is for them, and why.
        let is_for_person =
            decision.action == Action::Ask && matches!(attendance, Attendance::Person { .. });
        let question = is_for_person.then(|| EventKind::ApprovalRequested {
            id: id.clone(),
            call,
            what,
            options,
            tool,
            why: Some(decision.reason.clone()),
        });
        self.log.decide(Level::Info, "policy_decided", &fields, question.as_ref());
        let by = match &decision.rule {
            Some(rule) => rule.to_string(),
            None => "policy".to_owned(),
        };
        let answer = |action| match action {
            Action::Allow => Answer::Allow,
            Action::Ask | Action::Deny => deny(&format!("denied: {}", decision.reason)),
        };
        match (decision.action, attendance) {
            (Action::Ask, Attendance::Person { .. }) => {
                let otherwise = answer(decision.unattended);
                if let Some(talk) = &mut self.talk {
                    talk.waiting.push(Waiting { id, since: now, otherwise });
                }
            }
            (Action::Ask, Attendance::Nobody) => {
                self.answer(&id, &answer(decision.unattended), &by);
            }
            (action, _) => self.answer(&id, &answer(action), &by),
        }
    }

    fn deny_unanswered(&mut self, now: Moment) {
        let Some(talk) = &mut self.talk else { return };
        let Some(patience) = talk.approvals.patience() else { return };
        let late = |open: &Waiting| open.since.plus(patience) <= now;
        let due: Vec<Waiting> = talk.waiting.extract_if(.., |open| late(open)).collect();
        for open in due {
            self.answer(&open.id, &open.otherwise, "timeout");
        }
    }

    /// Nobody answers any more: every question becomes what it is without anybody.
    fn left_alone(&mut self) {
        let Some(talk) = &mut self.talk else { return };
        match &mut talk.approvals {
            Approvals::Policy { attendance, .. } => *attendance = Attendance::Nobody,
            Approvals::Ask { .. } => talk.approvals = Approvals::Deny,
            Approvals::Allow | Approvals::Deny => return,
        }
        let waiting = std::mem::take(&mut talk.waiting);
        let text = "nobody is there to answer questions any more";
        let fields = json!({ "waiting": waiting.len(), "text": text });
        self.log.decide(Level::Info, "left_alone", &fields, None);
        for open in waiting {
            self.answer(&open.id, &open.otherwise, "unattended");
        }
    }

    fn hold_for_questions(&mut self, now: Moment) {
        let waits = self.talk.as_ref().is_some_and(|talk| !talk.waiting.is_empty());
        if waits != self.asking {
            self.asking = waits;
            self.monitor.handle(Input::ApprovalPending(waits), now, &mut self.actions);
        }
    }

    /// Answers a question, on record first.
    fn answer(&mut self, id: &str, answer: &Answer, by: &str) {
        let Some(talk) = &mut self.talk else { return };
        let mut said = Vec::new();
        let mut given = answer.clone();
        let mut tried = talk.speaker.answer(id, &given, &mut said);
        if matches!(tried, Err(Unanswerable::NoSuchAnswer { .. })) && by != "person" {
            // Nobody is there to choose better, and the agent waits.
            given = Answer::Deny { message: "denied: it cannot be answered here".to_owned() };
            tried = talk.speaker.answer(id, &given, &mut said);
        }
        match tried {
            Ok(()) => {
                talk.waiting.retain(|open| open.id != id);
                let choice = given.word().to_owned();
                let event =
                    EventKind::ApprovalResolved { id: id.to_owned(), choice, by: by.to_owned() };
                let message = match &given {
                    Answer::Deny { message } => Some(message),
                    _ => None,
                };
                let fields =
                    json!({ "id": id, "choice": given.word(), "by": by, "message": message });
                self.log.decide(Level::Info, "approval_resolved", &fields, Some(&event));
                self.say(Said::Answer, &said);
            }
            Err(error) => {
                let fields =
                    json!({ "id": id, "choice": answer.word(), "text": error.to_string() });
                self.log.decide(Level::Warn, "answer_refused", &fields, None);
            }
        }
    }

    /// Whether a request can be served now; a prompt waits for its turn.
    pub(super) fn can_serve(&self, request: &Request) -> bool {
        match (request, &self.talk) {
            (Request::Prompt(_) | Request::Finish, None) => false,
            // In the order in which they came: a prompt before the end is a prompt.
            (Request::Prompt(_) | Request::Finish, Some(talk)) => {
                !talk.turn && self.prompt.is_open()
            }
            _ => true,
        }
    }

    /// What somebody wants to tell the agent.
    pub(super) fn serve_talk(&mut self, request: Request) {
        let now = self.clock.now();
        match request {
            Request::Prompt(text) => {
                self.monitor.handle(Input::Resting(false), now, &mut self.actions);
                self.monitor.handle(Input::Prompted, now, &mut self.actions);
                self.give_prompt(&text);
            }
            Request::Finish => {
                let Some(talk) = &mut self.talk else { return };
                talk.last = true;
                self.monitor.handle(Input::Resting(false), now, &mut self.actions);
                self.prompt.finish();
            }
            Request::Cancel => self.cancel(now),
            Request::Answer { id, answer } => {
                self.answer(&id, &answer, "person");
                self.hold_for_questions(now);
            }
            Request::RuleWritten { id, rule, text } => {
                let fields = json!({ "id": id, "rule": rule, "text": text });
                self.log.decide(Level::Info, "rule_written", &fields, None);
            }
            Request::NobodyThere => {
                self.left_alone();
                self.hold_for_questions(now);
            }
            Request::Stop { .. } | Request::Dump | Request::ReaderGone | Request::Resize(_) => {}
        }
    }

    /// Ends the turn; without a way to do so, the process.
    fn cancel(&mut self, now: Moment) {
        let Some(talk) = &mut self.talk else {
            return self.stop_by_signal(2);
        };
        let mut said = Vec::new();
        if talk.speaker.interrupt(&mut said) {
            talk.cancelled = true;
            talk.cancel_by = Some(now.plus(CANCEL_GRACE));
            // Whoever interrupts has answered every question.
            talk.waiting.clear();
            let text = "the turn is interrupted, the process stays";
            self.log.decide(Level::Info, "turn_cancelled", &json!({ "text": text }), None);
            self.say(Said::Interrupt, &said);
            self.hold_for_questions(now);
        }
    }
}

fn deny(message: &str) -> Answer {
    Answer::Deny { message: message.to_owned() }
}

/// How the agent is to read: a conversation stays open.
pub(super) fn writer(stdin: std::os::fd::OwnedFd, prompt: &[u8], talks: bool) -> PromptWriter {
    if talks { PromptWriter::open(stdin) } else { PromptWriter::new(stdin, prompt.to_vec()) }
}

/// What was said, as it was said.
#[derive(Serialize)]
struct Told<'a> {
    what: &'static str,
    lines: Vec<&'a RawValue>,
}

/// Lines for the record; a speaker makes JSON only.
fn lines(bytes: &[u8]) -> Vec<&RawValue> {
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

impl std::fmt::Debug for Talk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Talk").field("turn", &self.turn).finish_non_exhaustive()
    }
}
