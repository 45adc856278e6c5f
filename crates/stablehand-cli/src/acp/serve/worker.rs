//! One session of an editor, on a thread of its own: the only one who speaks to its agent.
//!
//! Owns the session's state: what is chosen, which turn is on, which questions are open. Words come
//! in (from the editor's requests, and from the thread that reads the agent's events), updates and
//! answers go out. A session of the library is started with the first prompt and kept; where
//! something else is chosen, or a cancelled turn left processes behind, it is ended and the next
//! prompt resumes the agent's own session.

use super::House;
use super::book::Entry;
use super::commands::{Asked, Command, Known, available};
use super::live::{Live, Start};
use super::prompt::parts;
use super::questions::Questions;
use super::settings::{MODE, MODEL, Settings};
use super::turn::{Ended, Turn, internal};
use super::updates::{Updates, chunk};
use crate::ask::Note;
use crate::sessions::read::each_event;
use agent_client_protocol::v1::Responder;
use agent_client_protocol::v1::schema::{
    ConfigOptionUpdate, CurrentModeUpdate, Error, PromptRequest, PromptResponse,
    RequestPermissionOutcome, SessionConfigOption, SessionInfoUpdate, SessionModeState,
    SessionNotification, SessionUpdate, SetSessionConfigOptionRequest,
    SetSessionConfigOptionResponse, SetSessionModeRequest, SetSessionModeResponse, StopReason,
};
use stablehand::Frame;
use stablehand::manage::Model;
use stablehand_core::Event;
use stablehand_core::event::{EventKind, Tokens, Usage};
use stablehand_core::mcp::McpServer;
use stablehand_core::speak::Prompt;
use stablehand_core::text::excerpt;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// How long the answer to `session/new` may wait for the agent to name its models.
const MODELS_WAIT: Duration = Duration::from_millis(1500);

/// What a worker is told.
pub(super) enum Word {
    Prompt(Box<PromptRequest>, Responder<PromptResponse>),
    Cancel,
    Mode(SetSessionModeRequest, Responder<SetSessionModeResponse>),
    Option(SetSessionConfigOptionRequest, Responder<SetSessionConfigOptionResponse>),
    /// The editor has answered a question.
    Answered {
        id: String,
        outcome: Option<RequestPermissionOutcome>,
    },
    /// The agent says something; of which start, so that old news is known as such.
    Event(u64, Arc<Frame>),
    /// It says nothing any more.
    Silent(u64),
    /// A command of ours has its answer; which one, so that one that nobody waits for any more is known.
    Commanded(u64, String),
    Models(Option<Vec<Model>>),
    /// The editor needs the session no longer; dropped when it is gone.
    Close(Sender<()>),
}

/// What a session has to offer, for the answer to the request that began it.
pub(super) struct Offer {
    pub(super) modes: Option<SessionModeState>,
    pub(super) options: Vec<SessionConfigOption>,
}

/// A session at work.
pub(super) struct Worker {
    house: Arc<House>,
    pub(super) entry: Entry,
    servers: Vec<McpServer>,
    settings: Settings,
    words: Sender<Word>,
    updates: Updates,
    live: Option<Live>,
    starts: u64,
    turn: Option<Turn>,
    waiting: VecDeque<(Box<PromptRequest>, Responder<PromptResponse>)>,
    questions: Questions,
    turns: u64,
    commands: u64,
    tokens: Option<Tokens>,
}

impl Worker {
    pub(super) fn new(
        house: Arc<House>,
        entry: Entry,
        servers: Vec<McpServer>,
        words: Sender<Word>,
    ) -> Worker {
        let mode = entry.mode.as_deref().and_then(stablehand::agent::Mode::by_name);
        let mode = mode.or(house.choice.mode);
        let model = entry.model.clone().or_else(|| house.choice.model.clone());
        let settings = Settings::new(house.agent, mode, model);
        let updates = Updates::new(entry.cwd.clone(), house.has_notices());
        Worker {
            questions: Questions::new(words.clone()),
            house,
            entry,
            servers,
            settings,
            words,
            updates,
            live: None,
            starts: 0,
            turn: None,
            waiting: VecDeque::new(),
            turns: 0,
            commands: 0,
            tokens: None,
        }
    }

    /// What can be chosen; the agent is asked for its models, and not waited for long.
    pub(super) fn offer(&mut self) -> Offer {
        let asked = self.asked();
        let (early, models) = channel();
        let words = self.words.clone();
        let ask = move || {
            let found = asked.models();
            // Late, it is told as news.
            if let Err(late) = early.send(found) {
                let _worker_gone = words.send(Word::Models(late.0));
            }
        };
        if std::thread::Builder::new().name("models".into()).spawn(ask).is_ok()
            && let Ok(Some(models)) = models.recv_timeout(MODELS_WAIT)
        {
            self.settings.offer(models);
        }
        Offer { modes: self.settings.modes(), options: self.settings.options() }
    }

    /// Tells everything that was said in the session before.
    pub(super) fn tell_past(&mut self) {
        let mut past =
            Updates::new(self.entry.cwd.clone(), self.house.has_notices()).with_prompts();
        let logs = self.entry.logs.clone();
        for log in logs {
            // A log that is gone takes nothing else with it.
            let _gone = each_event(&log, |event| {
                let mut out = Vec::new();
                past.of(event, &mut out);
                // What we believed then is nobody's business now.
                out.retain(|it| !matches!(it, SessionUpdate::SessionInfoUpdate(_)));
                for update in out {
                    if !self.house.flow.wait_for_room() {
                        return Ok(false);
                    }
                    self.send(update);
                }
                Ok(true)
            });
        }
    }

    /// Works until the editor closes the session or is gone.
    pub(super) fn run(mut self, words: &Receiver<Word>) {
        self.send(available());
        loop {
            let word = match self.deadline() {
                None => words.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(at) => words.recv_timeout(at.saturating_duration_since(Instant::now())),
            };
            match word {
                Ok(Word::Close(done)) => {
                    self.end();
                    drop(done);
                    return;
                }
                Ok(word) => self.take(word),
                Err(RecvTimeoutError::Timeout) => self.overdue(),
                Err(RecvTimeoutError::Disconnected) => return self.end(),
            }
        }
    }

    fn take(&mut self, word: Word) {
        match word {
            Word::Prompt(request, responder) => {
                if self.turn.is_some() {
                    // Whoever sends another prompt does not want the rest of the last.
                    self.waiting.push_back((request, responder));
                    return self.cancel();
                }
                self.prompt(&request, responder);
            }
            Word::Cancel => self.cancel(),
            Word::Mode(request, responder) => self.choose_mode(&request, responder),
            Word::Option(request, responder) => self.choose(&request, responder),
            Word::Answered { id, outcome } => {
                if let Some(live) = &self.live {
                    self.questions.answered(&id, outcome.as_ref(), live);
                }
            }
            Word::Event(start, frame) if start == self.starts => self.event(&frame.event),
            Word::Silent(start) if start == self.starts => self.silent(),
            Word::Event(..) | Word::Silent(_) | Word::Close(_) => {}
            Word::Commanded(number, _) if Some(number) != self.commanded() => {}
            Word::Commanded(_, text) => {
                self.send(SessionUpdate::AgentMessageChunk(chunk(&text)));
                self.finish(Ended::Stop(StopReason::EndTurn));
            }
            Word::Models(models) => {
                if let Some(models) = models {
                    self.settings.offer(models);
                    self.tell_options();
                }
            }
        }
    }

    fn prompt(&mut self, request: &PromptRequest, responder: Responder<PromptResponse>) {
        let parts = parts(&request.prompt);
        self.turn = Some(Turn::new(responder));
        if parts.prompt.is_empty() && parts.refused.is_none() {
            let why = "the prompt is empty".to_owned();
            return self.finish(Ended::Failed(Error::invalid_params().data(why)));
        }
        if let Some(command) =
            Command::of(&parts.prompt.text).filter(|_| parts.prompt.images.is_empty())
        {
            return self.command(command);
        }
        if let Some(why) = parts.refused {
            return self.finish(Ended::Failed(Error::invalid_params().data(why.to_owned())));
        }
        if !parts.prompt.images.is_empty() && !self.house.takes_images() {
            let why = format!("{} takes no images", self.entry.agent);
            return self.finish(Ended::Failed(Error::invalid_params().data(why)));
        }
        if self.entry.title.is_none() {
            let title = excerpt(parts.prompt.text.trim().as_bytes(), 80);
            let told = SessionInfoUpdate::new().title(title.clone());
            self.send(SessionUpdate::SessionInfoUpdate(told));
            self.entry.title = Some(title);
        }
        if let Err(error) = self.start(parts.prompt) {
            return self.finish(Ended::Failed(error));
        }
        self.turns += 1;
        self.remember();
    }

    /// Has the agent's session take the prompt: the one that lives, or one that is started.
    fn start(&mut self, prompt: Prompt) -> Result<(), Error> {
        let wanted = Start {
            cwd: self.entry.cwd.clone(),
            mode: self.settings.mode,
            model: self.settings.model.clone(),
            servers: self.servers.clone(),
            resume: self.entry.native.clone(),
        };
        if self.live.as_ref().is_some_and(|live| !live.serves(&wanted)) {
            self.end_live();
        }
        if self.live.is_none() {
            self.starts += 1;
            let live = Live::start(&self.house, wanted, self.starts, self.words.clone())?;
            self.entry.logs.push(live.log());
            self.live = Some(live);
        }
        let (Some(live), Some(turn)) = (&mut self.live, &mut self.turn) else { return Ok(()) };
        turn.processes = live.processes();
        let prompted =
            live.prompt(prompt).map_err(|error| internal(error.to_string(), serde_json::json!({})));
        turn.id = Some(prompted?);
        Ok(())
    }

    fn command(&mut self, command: Command) {
        self.commands += 1;
        let number = self.commands;
        if let Some(turn) = &mut self.turn {
            turn.command = Some(number);
        }
        if let Command::Model(Some(model)) = command {
            self.settings.model = Some(model.clone());
            self.remember();
            self.tell_options();
            let text = format!("From the next prompt on, the model is `{model}`.");
            let _own_queue = self.words.send(Word::Commanded(number, text));
            return;
        }
        let known = Known {
            model: self.settings.model.clone(),
            tokens: self.tokens,
            turns: self.turns,
            native: self.entry.native.clone(),
            log: self.entry.logs.last().cloned(),
        };
        let (asked, words) = (self.asked(), self.words.clone());
        let answer = move || {
            let _worker_gone = words.send(Word::Commanded(number, asked.answer(&command, &known)));
        };
        if std::thread::Builder::new().name("command".into()).spawn(answer).is_err() {
            self.finish(Ended::Failed(Error::internal_error()));
        }
    }

    /// Which command of ours the turn is, if it is one.
    fn commanded(&self) -> Option<u64> {
        self.turn.as_ref().and_then(|turn| turn.command)
    }

    fn asked(&self) -> Asked {
        let house = &self.house;
        Asked::new(house.agent, house.program.clone(), &house.env, &self.entry.cwd)
    }

    fn event(&mut self, event: &Event) {
        let mut out = Vec::new();
        self.updates.of(event, &mut out);
        for update in out {
            self.send(update);
        }
        self.notice(event);
        let Some(live) = &mut self.live else { return };
        live.event(event);
        if let Some(note) = Note::of(event) {
            let mut before = Vec::new();
            let request =
                self.questions.heard(note, &self.entry.id, &mut self.updates, &mut before);
            for update in before {
                self.send(update);
            }
            if let (Some(request), Some(live)) = (request, &self.live) {
                self.questions.ask(request, &self.house, live);
            }
        }
        if let Some(ended) = self.turn.as_mut().and_then(|turn| turn.heard(event)) {
            self.finish(ended);
        }
    }

    /// Keeps what is to be known of the session later.
    fn notice(&mut self, event: &Event) {
        match &event.event {
            EventKind::TurnEnded { usage: Some(usage), .. } => {
                self.tokens = Some(match (usage, &self.tokens) {
                    (Usage::Total(tokens), _) | (Usage::Turn(tokens), None) => *tokens,
                    (Usage::Turn(tokens), Some(before)) => before.plus(tokens),
                });
            }
            EventKind::SessionStarted { native_id, .. } => {
                // Also where the id is known: the log has just got its name, and `session/load` must
                // find it after a crash.
                self.entry.native = Some(native_id.0.clone());
                self.remember();
            }
            _ => {}
        }
    }

    /// The session of the library is over, whoever ended it.
    fn silent(&mut self) {
        let Some(live) = self.live.take() else { return };
        let ended = live.end(&mut self.entry, true);
        self.remember();
        self.questions.forget();
        if self.turn.is_some() {
            self.finish(ended);
        }
    }

    fn cancel(&mut self) {
        let Some(turn) = &mut self.turn else { return };
        turn.cancel();
        match &self.live {
            Some(live) if turn.command.is_none() => live.cancel(),
            _ => self.finish(Ended::Stop(StopReason::Cancelled)),
        }
    }

    /// The turn is over: the editor is told, and what was asked meanwhile comes next.
    fn finish(&mut self, ended: Ended) {
        let Some(turn) = self.turn.take() else { return };
        self.questions.forget();
        if turn.was_cancelled()
            && turn.command.is_none()
            && let Some(live) = &self.live
            && live.left_behind(&turn.processes)
        {
            // What the agent did not end, the end of its tree does; its session is resumed.
            self.end_live();
        }
        self.remember();
        turn.answer(ended, self.tokens, self.entry.logs.last());
        if let Some((request, responder)) = self.waiting.pop_front() {
            self.prompt(&request, responder);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.turn.as_ref().and_then(Turn::deadline)
    }

    /// Something that was to happen by now has not.
    fn overdue(&mut self) {
        let Some(turn) = &mut self.turn else { return };
        if turn.was_cancelled() {
            self.end_live();
            self.finish(Ended::Stop(StopReason::Cancelled));
        }
    }

    fn choose_mode(
        &mut self,
        request: &SetSessionModeRequest,
        responder: Responder<SetSessionModeResponse>,
    ) {
        if !self.settings.choose_mode(&request.mode_id.0) {
            let error = Error::invalid_params().data(format!("no mode `{}`", request.mode_id.0));
            return answer(responder, Err(error));
        }
        self.remember();
        answer(responder, Ok(SetSessionModeResponse::new()));
        self.tell_options();
    }

    fn choose(
        &mut self,
        request: &SetSessionConfigOptionRequest,
        responder: Responder<SetSessionConfigOptionResponse>,
    ) {
        let value = request.value.as_value_id().map(|it| it.0.to_string());
        let done = match (&*request.config_id.0, value) {
            (MODE, Some(mode)) => self.settings.choose_mode(&mode),
            (MODEL, Some(model)) if !model.is_empty() => {
                self.settings.model = Some(model);
                true
            }
            _ => false,
        };
        if !done {
            let what = format!("`{}` cannot be set so", request.config_id.0);
            return answer(responder, Err(Error::invalid_params().data(what)));
        }
        self.remember();
        answer(responder, Ok(SetSessionConfigOptionResponse::new(self.settings.options())));
        if &*request.config_id.0 == MODE {
            let mode = CurrentModeUpdate::new(self.settings.mode_name());
            self.send(SessionUpdate::CurrentModeUpdate(mode));
        }
    }

    fn tell_options(&self) {
        let options = ConfigOptionUpdate::new(self.settings.options());
        self.send(SessionUpdate::ConfigOptionUpdate(options));
    }

    fn remember(&mut self) {
        self.entry.mode = self.settings.mode.map(|mode| mode.name().to_owned());
        self.entry.model.clone_from(&self.settings.model);
        if let (Some(live), Some(log)) = (&self.live, self.entry.logs.last_mut()) {
            *log = live.log();
        }
        if let Err(error) = self.house.book.write(&mut self.entry) {
            self.house.warn(&format!("failed to write down session `{}`: {error}", self.entry.id));
        }
    }

    fn end_live(&mut self) {
        // What it still says is old news.
        self.starts += 1;
        if let Some(live) = self.live.take() {
            let _ended = live.end(&mut self.entry, self.turn.is_none());
            self.remember();
        }
        self.questions.forget();
    }

    fn end(&mut self) {
        self.end_live();
        self.finish(Ended::Stop(StopReason::Cancelled));
        for (_, responder) in self.waiting.drain(..) {
            answer(responder, Ok(PromptResponse::new(StopReason::Cancelled)));
        }
    }

    fn send(&self, update: SessionUpdate) {
        self.house.flow.sent();
        let told = SessionNotification::new(self.entry.id.clone(), update);
        // Whoever is gone is noticed elsewhere.
        let _editor_gone = self.house.editor.send_notification(told);
    }
}

/// Answers a request; an editor that is gone is noticed elsewhere.
pub(super) fn answer<T: agent_client_protocol::JsonRpcResponse>(
    responder: Responder<T>,
    result: Result<T, Error>,
) {
    let result = result.map_err(agent_client_protocol::Error::from);
    let _editor_gone = responder.respond_with_result(result);
}
