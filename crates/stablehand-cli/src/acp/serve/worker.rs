//! One session of an editor, on a thread of its own: requests and events in, updates and answers out.
//!
//! Owns what is chosen for the next prompt, and which answers the editor waits for. The session
//! itself, with its turns, approvals and processes, is the host's. It is opened with the first
//! prompt; where another mode or model was chosen since, it is ended and opened anew.

use super::commands::{Asked, Command, Known as Facts, available};
use super::prompt::parts;
use super::questions::Questions;
use super::sessions::Target;
use super::settings::{MODE, MODEL, Settings};
use super::turn::{Ended, Seen, Turn, cost_update, failed, internal};
use super::updates::{Updates, chunk};
use super::{House, actor, start};
use crate::ask::Note;
use agent_client_protocol::v1::Responder;
use agent_client_protocol::v1::schema::{
    ConfigOptionUpdate, CurrentModeUpdate, Error, PromptRequest, PromptResponse,
    RequestPermissionOutcome, SessionConfigOption, SessionInfoUpdate, SessionModeState,
    SessionUpdate, SetSessionConfigOptionRequest, SetSessionConfigOptionResponse,
    SetSessionModeRequest, SetSessionModeResponse, StopReason,
};
use serde_json::json;
use stablehand::control::Refused;
use stablehand::manage::Model;
use stablehand::{Cursor, Frame, From};
use stablehand_core::Event;
use stablehand_core::event::{EventKind, Tokens, Usage};
use stablehand_core::id::TurnId;
use stablehand_core::mcp::McpServer;
use stablehand_core::record::SettingsChosen;
use stablehand_core::speak::Prompt;
use stablehand_core::text::excerpt;
use stablehand_store::Filler;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// How long the answer to `session/new` may wait for the agent to name its models.
const MODELS_WAIT: Duration = Duration::from_millis(1500);

/// How long an agent gets to leave before it is killed.
const FAREWELL: Duration = Duration::from_secs(5);

/// What a worker is told.
pub(super) enum Word {
    Prompt(Box<PromptRequest>, Responder<PromptResponse>),
    Cancel,
    Mode(SetSessionModeRequest, Responder<SetSessionModeResponse>),
    Option(SetSessionConfigOptionRequest, Responder<SetSessionConfigOptionResponse>),
    /// The editor has answered an approval.
    Answered {
        id: String,
        outcome: Option<RequestPermissionOutcome>,
    },
    /// The session has an event.
    Event(Arc<Frame>),
    /// The subscription of that number has ended.
    Silent(u64),
    /// The command of that number has its answer.
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
    pub(super) house: Arc<House>,
    /// The editor's id of it.
    pub(super) id: String,
    pub(super) target: Target,
    cwd: PathBuf,
    servers: Vec<McpServer>,
    settings: Settings,
    pub(super) words: Sender<Word>,
    pub(super) updates: Updates,
    pub(super) questions: Questions,
    /// With what the session was opened, where this process runs it.
    opened: Option<SettingsChosen>,
    /// How often it was followed, and the last event of it that the worker took.
    pub(super) subscriptions: u64,
    pub(super) last: Option<Cursor>,
    /// The turns that the editor waits for.
    pub(super) turns: BTreeMap<TurnId, Turn>,
    /// The commands of ours that it waits for, and how many there were.
    commands: BTreeMap<u64, Turn>,
    commanded: u64,
    seen: Seen,
    turn_count: u64,
    /// What the turns that are over have used.
    pub(super) tokens: Option<Tokens>,
    /// The cost that the editor was told last.
    cost_told: Option<f64>,
    filler: Option<Filler>,
}

impl Worker {
    pub(super) fn new(
        house: Arc<House>,
        id: String,
        target: Target,
        cwd: PathBuf,
        servers: Vec<McpServer>,
        words: Sender<Word>,
    ) -> Worker {
        let chosen = &target.chosen;
        let mode = chosen.mode.as_deref().and_then(stablehand::Mode::by_name);
        let model = chosen.model.clone().or_else(|| house.choice.model.clone());
        Worker {
            settings: Settings::new(house.agent, mode.or(house.choice.mode), model),
            updates: Updates::new(cwd.clone(), house.has_notices()),
            questions: Questions::new(Arc::clone(&house), target.key, words.clone()),
            house,
            id,
            target,
            cwd,
            servers,
            words,
            opened: None,
            subscriptions: 0,
            last: None,
            turns: BTreeMap::new(),
            commands: BTreeMap::new(),
            commanded: 0,
            seen: Seen::default(),
            turn_count: 0,
            tokens: None,
            cost_told: None,
            filler: None,
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

    /// Works until the editor closes the session or is gone.
    pub(super) fn run(mut self, words: &Receiver<Word>) {
        self.send(available());
        loop {
            match words.recv() {
                Ok(Word::Close(done)) => {
                    self.end();
                    drop(done);
                    return;
                }
                Ok(word) => self.take(word),
                Err(_) => return self.end(),
            }
        }
    }

    fn take(&mut self, word: Word) {
        match word {
            Word::Prompt(request, responder) => {
                // An editor that sends another prompt does not want the rest of the last.
                self.cancel();
                self.prompt(&request, Turn::new(responder));
            }
            Word::Cancel => self.cancel(),
            Word::Mode(request, responder) => self.choose_mode(&request, responder),
            Word::Option(request, responder) => self.choose(&request, responder),
            Word::Answered { id, outcome } => self.questions.answered(&id, outcome.as_ref()),
            Word::Event(frame) => {
                // Where the session was opened anew, two subscriptions may bring the same event.
                if self.last.is_none_or(|last| frame.cursor > last) {
                    self.last = Some(frame.cursor);
                    self.event(&frame.event);
                }
            }
            Word::Silent(number) if number == self.subscriptions => self.silent(),
            Word::Silent(_) | Word::Close(_) => {}
            Word::Commanded(number, text) => {
                if let Some(turn) = self.commands.remove(&number) {
                    self.send(SessionUpdate::AgentMessageChunk(chunk(&text)));
                    self.answer(turn, Ended::Stop(StopReason::EndTurn), None);
                }
            }
            Word::Models(models) => {
                if let Some(models) = models {
                    self.settings.offer(models);
                    self.tell_options();
                }
            }
        }
    }

    fn prompt(&mut self, request: &PromptRequest, turn: Turn) {
        let parts = parts(&request.prompt);
        let refuse = |why: String| Ended::Failed(Error::invalid_params().data(why));
        if parts.prompt.is_empty() && parts.refused.is_none() {
            return self.answer(turn, refuse("the prompt is empty".to_owned()), None);
        }
        if let Some(command) =
            Command::of(&parts.prompt.text).filter(|_| parts.prompt.images.is_empty())
        {
            return self.command(command, turn);
        }
        if let Some(why) = parts.refused {
            return self.answer(turn, refuse(why.to_owned()), None);
        }
        if !parts.prompt.images.is_empty() && !self.house.takes_images() {
            let why = format!("{} takes no images", self.house.agent.name());
            return self.answer(turn, refuse(why), None);
        }
        if self.target.title.is_none() {
            let title = excerpt(parts.prompt.text.trim().as_bytes(), 80);
            let told = SessionInfoUpdate::new().title(title.clone());
            self.send(SessionUpdate::SessionInfoUpdate(told));
            self.target.title = Some(title);
        }
        match self.give(parts.prompt) {
            Ok(id) => {
                self.turns.insert(id, turn);
                self.turn_count += 1;
            }
            Err(error) => self.answer(turn, Ended::Failed(error), None),
        }
    }

    /// Gives a prompt to the session, which is opened where it is not.
    fn give(&mut self, prompt: Prompt) -> Result<TurnId, Error> {
        let (host, key) = (&self.house.host, self.target.key);
        if self.opened.as_ref().is_some_and(|opened| *opened != self.settings.chosen()) {
            // An agent's process keeps the mode and the model that it was started with.
            host.end(key, FAREWELL);
        }
        let refused = |why: Refused| match why {
            Refused::Denied { .. } => {
                let mut error = Error::invalid_params();
                error.message = why.to_string();
                error
            }
            why => internal(why.to_string(), json!({})),
        };
        match host.prompt(key, prompt.clone(), actor()) {
            Err(Refused::NoSession | Refused::Over) => {
                // One that takes no prompt any more may take a moment to be over.
                host.close(key);
                self.open()?;
                self.house.host.prompt(key, prompt, actor()).map_err(refused)
            }
            given => given.map_err(refused),
        }
    }

    /// Opens the session: the one that there is, or a new one.
    fn open(&mut self) -> Result<(), Error> {
        let (host, key) = (&self.house.host, self.target.key);
        let chosen = self.settings.chosen();
        let spec = start::spec(&self.house, &self.cwd, &chosen, &self.servers)?;
        let failed =
            |error: &dyn std::error::Error| internal(stablehand::error_chain(error), json!({}));
        let is_logged = host.find(key).is_some_and(|known| known.agent.is_some());
        if is_logged {
            host.open_as(key, |_, _| spec).map_err(|error| failed(&error))?;
        } else {
            let spec = match &self.target.native {
                Some(native) => spec.resume(native),
                None => spec,
            };
            host.start(spec.key(key)).map_err(|error| failed(&error))?;
        }
        let from = match self.last {
            Some(last) => From::After(last),
            None if is_logged => From::Now,
            None => From::Start,
        };
        let events = host.subscribe(key, from).map_err(|error| failed(&error))?;
        // Another process's session has its own settings, and fills the index itself.
        let own = host.handle(key);
        self.opened = own.as_ref().map(|_| chosen);
        self.filler = own.filter(|_| self.house.choice.indexes(&self.house.env)).map(|handle| {
            let redaction = self.house.choice.redaction();
            let redactor = redaction.map(|redaction| redaction.redactor);
            Filler::start(&handle.log(), redactor, stablehand::pages::give_back)
        });
        self.follow(events);
        Ok(())
    }

    fn command(&mut self, command: Command, turn: Turn) {
        self.commanded += 1;
        let number = self.commanded;
        self.commands.insert(number, turn);
        if let Command::Model(Some(model)) = command {
            let text = format!("From the next prompt on, the model is `{model}`.");
            self.settings.model = Some(model);
            self.tell_options();
            return self.take(Word::Commanded(number, text));
        }
        let facts = Facts {
            model: self.settings.model.clone(),
            tokens: self.tokens,
            turns: self.turn_count,
            native: self.target.native.clone(),
            log: self.house.host.log(self.target.key),
        };
        let (asked, words) = (self.asked(), self.words.clone());
        let answer = move || {
            let _worker_gone = words.send(Word::Commanded(number, asked.answer(&command, &facts)));
        };
        if std::thread::Builder::new().name("command".into()).spawn(answer).is_err()
            && let Some(turn) = self.commands.remove(&number)
        {
            self.answer(turn, Ended::Failed(Error::internal_error()), None);
        }
    }

    fn asked(&self) -> Asked {
        let house = &self.house;
        Asked::new(house.agent, house.program.clone(), &house.env, &self.cwd)
    }

    fn event(&mut self, event: &Event) {
        let mut out = Vec::new();
        self.updates_of(event, &mut out);
        for update in out {
            self.send(update);
        }
        if let EventKind::UsageUpdated { usage } = &event.event {
            self.tell_cost(Some(self.used_with(usage)));
        }
        self.notice(event);
        if let EventKind::TurnEnded { .. } = &event.event {
            self.tell_cost(self.tokens);
        }
        match Note::of(event) {
            Some(Note::Asked(question)) => {
                self.questions.ask(&question, &self.id, &mut self.updates);
            }
            Some(Note::Over) => self.questions.withdraw_all(),
            _ => {}
        }
        if let EventKind::ApprovalResolved { id, choice, .. } = &event.event
            && let Some(call) = self.questions.resolved(id, choice)
            && let Some(update) = self.updates.permitted(&call)
        {
            self.send(update);
        }
        if let EventKind::TurnEnded { end, usage, .. } = &event.event
            && let Some(turn) = event.turn.and_then(|id| self.turns.remove(&id))
        {
            let ended = turn.conclude(end, &self.seen, self.house.agent);
            self.answer(turn, ended, usage.as_ref());
        }
    }

    /// Keeps what is to be known of the session later.
    pub(super) fn notice(&mut self, event: &Event) {
        self.seen.event(&event.event);
        match &event.event {
            EventKind::TurnEnded { usage: Some(usage), .. } => {
                self.tokens = Some(self.used_with(usage));
            }
            EventKind::SessionStarted { native_id, .. } => {
                self.target.native = Some(native_id.0.clone());
            }
            _ => {}
        }
    }

    /// Returns what the session has used, with a turn that used so much.
    fn used_with(&self, usage: &Usage) -> Tokens {
        match (usage, &self.tokens) {
            (Usage::Total(tokens), _) | (Usage::Turn(tokens), None) => *tokens,
            (Usage::Turn(tokens), Some(before)) => before.plus(tokens),
        }
    }

    /// Tells the editor what the session has cost, where that has changed.
    pub(super) fn tell_cost(&mut self, tokens: Option<Tokens>) {
        let cost = tokens.and_then(|tokens| tokens.cost_usd);
        if cost != self.cost_told
            && let Some(update) = tokens.as_ref().and_then(cost_update)
        {
            self.cost_told = cost;
            self.send(update);
        }
    }

    /// The session is over, and every turn of it has ended; unless the process that ran it is gone.
    fn silent(&mut self) {
        self.filler = None;
        self.questions.withdraw_all();
        for turn in std::mem::take(&mut self.turns).into_values() {
            let why = "the session ended before its turn did".to_owned();
            self.answer(turn, failed(why, json!({})), None);
        }
    }

    fn cancel(&mut self) {
        for (id, turn) in self.turns.iter_mut().filter(|(_, turn)| !turn.cancelled) {
            turn.cancelled = true;
            // A session that is over ends its turns by itself.
            let _over = self.house.host.cancel_turn(self.target.key, Some(*id), actor());
        }
        for turn in std::mem::take(&mut self.commands).into_values() {
            self.answer(turn, Ended::Stop(StopReason::Cancelled), None);
        }
    }

    fn answer(&self, turn: Turn, ended: Ended, usage: Option<&Usage>) {
        turn.answer(ended, usage, self.tokens, self.house.host.log(self.target.key));
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

    /// Ends the session, where this process runs it.
    fn end(&mut self) {
        self.questions.withdraw_all();
        self.house.host.end(self.target.key, FAREWELL);
        let turns = std::mem::take(&mut self.turns).into_values();
        for turn in turns.chain(std::mem::take(&mut self.commands).into_values()) {
            self.answer(turn, Ended::Stop(StopReason::Cancelled), None);
        }
    }

    pub(super) fn send(&self, update: SessionUpdate) {
        self.house.tell(&self.id, update);
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
