//! An agent of the protocol, behind which any other agent stands: what an editor asks for, and who
//! does it.
//!
//! A face of [`Host`], which has the sessions: only protocol and presentation are here. Owns the
//! connection, on a thread of its own, and which sessions the editor has open. Each of these has a
//! worker; a request is handed to it and answered from there, because the connection takes one
//! message after the other and must never wait. The protocol's own library is used in this folder
//! and nowhere else.

mod commands;
mod flow;
mod follow;
mod hello;
mod hunks;
mod prompt;
mod questions;
mod servers;
mod sessions;
mod settings;
mod start;
mod turn;
mod updates;
mod wire;
mod worker;

use crate::again::AgainArgs;
use crate::choice::ChoiceArgs;
use crate::env::Env;
use crate::failure::Failure;
use crate::main_stablehand::PROGRAM;
use crate::screen::Screen;
use crate::shell::by_signal;
use crate::{console, signals};
use agent_client_protocol::v1::schema::{
    AuthenticateRequest, CancelNotification, CloseSessionRequest, CloseSessionResponse,
    DeleteSessionRequest, DeleteSessionResponse, Error, InitializeRequest, ListSessionsRequest,
    ListSessionsResponse, LoadSessionRequest, LoadSessionResponse, LogoutRequest,
    NewSessionRequest, NewSessionResponse, PromptRequest, ResumeSessionRequest,
    ResumeSessionResponse, SessionNotification, SessionUpdate, SetSessionConfigOptionRequest,
    SetSessionModeRequest,
};
use agent_client_protocol::v1::{ConnectionTo, Responder};
use agent_client_protocol::{Agent as AgentRole, Client, JsonRpcResponse};
use flow::Flow;
use follow::Past;
pub(super) use hello::LOGIN;
use sessions::Target;
use stablehand::agent::Agent;
use stablehand::control::{self, Request};
use stablehand::{Actor, Host, SessionKey};
use stablehand_core::mcp::McpServer;
use std::collections::HashMap;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use worker::{Offer, Word, Worker, answer};

/// How long the sessions get to end when the editor is gone.
const GOODBYE: Duration = Duration::from_secs(15);

/// So many sessions are listed at once.
const PAGE: usize = 50;

/// Who prompts, answers and cancels here, in records.
fn actor() -> Actor {
    Actor::person("acp")
}

/// What there is before an editor has said hello.
pub(super) struct Place {
    env: Env,
    choice: ChoiceArgs,
    again: AgainArgs,
    agent: Agent,
    program: PathBuf,
    host: Host,
    screen: Screen,
    flow: Arc<Flow>,
}

/// What all sessions of an editor share.
pub(super) struct House {
    place: Arc<Place>,
    editor: ConnectionTo<Client>,
    notices: bool,
}

impl Deref for House {
    type Target = Place;

    fn deref(&self) -> &Place {
        &self.place
    }
}

impl House {
    /// Whether the editor has a place for notices.
    fn has_notices(&self) -> bool {
        self.notices
    }

    fn takes_images(&self) -> bool {
        self.agent.takes_images(self.choice.form_in_talk(self.agent))
    }

    /// Tells the editor something about a session, which it knows by that id.
    fn tell(&self, session: &str, update: SessionUpdate) {
        self.flow.sent();
        let told = SessionNotification::new(session.to_owned(), update);
        // That the editor is gone is noticed elsewhere.
        let _editor_gone = self.editor.send_notification(told);
    }

    fn warn(&self, text: &str) {
        self.screen.err(format!("{PROGRAM}: WARN {text}\n").as_bytes());
    }
}

/// The sessions that an editor has open, by its ids of them.
struct Door {
    place: Arc<Place>,
    house: OnceLock<Arc<House>>,
    sessions: Mutex<HashMap<String, Open>>,
}

/// A session that an editor has open.
struct Open {
    key: SessionKey,
    cwd: PathBuf,
    worker: Sender<Word>,
}

impl Deref for Door {
    type Target = Place;

    fn deref(&self) -> &Place {
        &self.place
    }
}

/// How an editor wants a session.
struct Wanted {
    cwd: PathBuf,
    servers: Vec<McpServer>,
    past: Past,
}

/// Serves one editor; the exit status.
pub(super) fn main(choice: &ChoiceArgs, again: &AgainArgs) -> Result<u8, Failure> {
    let env = Env::read()?;
    let io = |error: std::io::Error| Failure::new(format!("failed to set up our streams: {error}"));
    let agent = choice.agent()?;
    let program = choice.program(agent, &env)?;
    // What is wrong with it is said now, and not in the first turn.
    let config = choice.config(&env)?;
    choice.gate(agent, &config)?;
    let (control, requests) = control::control().map_err(io)?;
    let gone = control.clone();
    let attention = signals::watch(control).map_err(io)?;
    let screen = Screen::start(choice.redaction().as_ref()).map_err(io)?;
    attention.set(true);
    let folder = choice.log_dir(&env)?;
    let host = match choice.redaction() {
        Some(redaction) => Host::redacting(folder, redaction),
        None => Host::new(folder),
    };
    host.max_output(config.max_output);
    let listener_screen = screen.clone();
    host.listen(choice.log_level, move || {
        let shown = &["run_ended", "approval_resolved", "spawn_failed"];
        console::listener(PROGRAM, listener_screen.clone(), shown)
    });
    let place = Place {
        host,
        env,
        choice: choice.clone(),
        again: again.clone(),
        agent,
        program,
        screen,
        flow: Arc::default(),
    };
    let door = Arc::new(Door {
        place: Arc::new(place),
        house: OnceLock::new(),
        sessions: Mutex::default(),
    });
    let connection = Arc::clone(&door);
    let serve = move || {
        let result = futures_lite::future::block_on(connect(connection));
        gone.send(Request::ReaderGone);
        result
    };
    let editor = std::thread::Builder::new().name("editor".into()).spawn(serve).map_err(io)?;
    let signal = wait_for_end(&requests);
    door.close_all();
    door.screen.flush();
    if let Some(signal) = signal {
        return Ok(by_signal(signal));
    }
    match editor.join() {
        Ok(Err(error)) => {
            Err(Failure::new(format!("the connection to the editor broke: {}", error.message)))
        }
        _ => Ok(0),
    }
}

/// Waits until the editor is gone, or a signal comes: then which.
fn wait_for_end(requests: &control::Requests) -> Option<i32> {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    loop {
        match requests.next() {
            Some(Request::Stop { signal, .. }) => return Some(signal),
            Some(Request::ReaderGone) => return None,
            Some(_) => {}
            None => {
                let mut fds = [PollFd::new(requests.fd(), PollFlags::POLLIN)];
                let _interrupted = poll(&mut fds, PollTimeout::NONE);
            }
        }
    }
}

/// Takes requests until the editor is gone. The order of the handlers is of no meaning.
async fn connect(door: Arc<Door>) -> Result<(), agent_client_protocol::Error> {
    macro_rules! on_request {
        ($builder:expr, $request:ty, $handle:expr) => {{
            let door = Arc::clone(&door);
            $builder.on_receive_request(
                async move |request: $request, responder, editor: ConnectionTo<Client>| {
                    let handle: fn(&Arc<Door>, $request, _, ConnectionTo<Client>) = $handle;
                    handle(&door, request, responder, editor);
                    Ok(())
                },
                agent_client_protocol::on_receive_request!(),
            )
        }};
    }
    let builder = AgentRole.v1().name(PROGRAM);
    let builder = on_request!(builder, InitializeRequest, |door, request, responder, editor| {
        answer(responder, Ok(door.hello(&request, editor)));
    });
    let builder = on_request!(builder, AuthenticateRequest, |door, request, responder, _| {
        door.log_in(&request, responder);
    });
    let builder = on_request!(builder, LogoutRequest, |door, _request, responder, _| {
        door.log_out(responder);
    });
    let builder = on_request!(builder, NewSessionRequest, |door, request, responder, _| {
        door.begin(request, responder);
    });
    let builder = on_request!(builder, LoadSessionRequest, |door, request, responder, _| {
        let made = |offer: Offer| {
            LoadSessionResponse::new().modes(offer.modes).config_options(offer.options)
        };
        let servers = servers::servers(request.mcp_servers);
        let wanted = Wanted { cwd: request.cwd, servers, past: Past::Told };
        door.go_on(&request.session_id.0, wanted, made, responder);
    });
    let builder = on_request!(builder, ResumeSessionRequest, |door, request, responder, _| {
        let made = |offer: Offer| {
            ResumeSessionResponse::new().modes(offer.modes).config_options(offer.options)
        };
        let servers = servers::servers(request.mcp_servers);
        let wanted = Wanted { cwd: request.cwd, servers, past: Past::Untold };
        door.go_on(&request.session_id.0, wanted, made, responder);
    });
    let builder = on_request!(builder, ListSessionsRequest, |door, request, responder, _| {
        door.list(&request, responder);
    });
    let builder = on_request!(builder, CloseSessionRequest, |door, request, responder, _| {
        door.close(&request.session_id.0, responder);
    });
    let builder = on_request!(builder, DeleteSessionRequest, |door, request, responder, _| {
        door.delete(&request.session_id.0, responder);
    });
    let builder = on_request!(builder, PromptRequest, |door, request, responder, _| {
        let id = request.session_id.0.to_string();
        door.hand(&id, responder, |responder| Word::Prompt(Box::new(request), responder));
    });
    let builder = on_request!(builder, SetSessionModeRequest, |door, request, responder, _| {
        let id = request.session_id.0.to_string();
        door.hand(&id, responder, |responder| Word::Mode(request, responder));
    });
    let builder =
        on_request!(builder, SetSessionConfigOptionRequest, |door, request, responder, _| {
            let id = request.session_id.0.to_string();
            door.hand(&id, responder, |responder| Word::Option(request, responder));
        });
    let cancels = Arc::clone(&door);
    let builder = builder.on_receive_notification(
        async move |cancel: CancelNotification, _editor| {
            if let Some(worker) = cancels.worker(&cancel.session_id.0) {
                let _worker_gone = worker.send(Word::Cancel);
            }
            Ok(())
        },
        agent_client_protocol::on_receive_notification!(),
    );
    builder.connect_to(wire::stdio(Arc::clone(&door.flow))).await
}

impl Door {
    fn begin(
        self: &Arc<Self>,
        request: NewSessionRequest,
        responder: Responder<NewSessionResponse>,
    ) {
        let target = Target::new();
        let id = target.key.to_string();
        let made = move |offer: Offer| {
            NewSessionResponse::new(id).modes(offer.modes).config_options(offer.options)
        };
        let servers = servers::servers(request.mcp_servers);
        let wanted = Wanted { cwd: request.cwd, servers, past: Past::Untold };
        self.work(target.key.to_string(), || Some(target), wanted, made, responder);
    }

    fn go_on<T: JsonRpcResponse>(
        self: &Arc<Self>,
        id: &str,
        wanted: Wanted,
        made: impl FnOnce(Offer) -> T + Send + 'static,
        responder: Responder<T>,
    ) {
        let (place, named) = (Arc::clone(&self.place), id.to_owned());
        let is_open = self.sessions().contains_key(id);
        let find = move || {
            let target = place.target(&named)?;
            Some(Target { is_unlogged: target.is_unlogged && !is_open, ..target })
        };
        self.work(id.to_owned(), find, wanted, made, responder);
    }

    /// Starts the worker of a session, which answers. Finding the session may take a moment.
    fn work<T: JsonRpcResponse>(
        self: &Arc<Self>,
        id: String,
        find: impl FnOnce() -> Option<Target> + Send + 'static,
        wanted: Wanted,
        made: impl FnOnce(Offer) -> T + Send + 'static,
        responder: Responder<T>,
    ) {
        let Some(house) = self.house.get().map(Arc::clone) else {
            return answer(responder, Err(Error::invalid_request()));
        };
        if let Err(error) = check_place(&wanted.cwd) {
            return answer(responder, Err(error));
        }
        let door = Arc::clone(self);
        let work = move || {
            let Some(target) = find() else {
                return answer(responder, Err(Error::session_not_found(id)));
            };
            let Wanted { cwd, servers, past } = wanted;
            let (words, inbox) = channel();
            let open = Open { key: target.key, cwd: cwd.clone(), worker: words.clone() };
            door.replace(&id, open).iter().for_each(part_from);
            let mut worker = Worker::new(house, id, target, cwd, servers, words);
            worker.begin(past);
            answer(responder, Ok(made(worker.offer())));
            worker.run(&inbox);
        };
        if std::thread::Builder::new().name("session".into()).spawn(work).is_err() {
            self.house.get().inspect(|house| house.warn("there is no thread for a session"));
        }
    }

    /// Opens a session under an id. Returns what was open under that id or in that session: the same
    /// session twice would be two workers that both end it.
    fn replace(&self, id: &str, open: Open) -> Vec<Open> {
        let mut before = self.take_open(open.key);
        before.extend(self.sessions().insert(id.to_owned(), open));
        before
    }

    /// Takes what is open in a session, under whichever id.
    fn take_open(&self, key: SessionKey) -> Vec<Open> {
        let mut sessions = self.sessions();
        sessions.extract_if(|_, open| open.key == key).map(|(_, open)| open).collect()
    }

    fn list(&self, request: &ListSessionsRequest, responder: Responder<ListSessionsResponse>) {
        let place = Arc::clone(&self.place);
        let (cwd, cursor) = (request.cwd.clone(), request.cursor.clone());
        let open = self.sessions().values().map(|open| (open.key, open.cwd.clone())).collect();
        aside(responder, move || {
            let infos = place.infos(open, cwd.as_deref());
            let from = match &cursor {
                None => 0,
                Some(last) => infos
                    .iter()
                    .position(|info| *info.session_id.0 == **last)
                    .map(|at| at + 1)
                    .ok_or_else(|| Error::invalid_params().data("no such cursor".to_owned()))?,
            };
            let total = infos.len();
            let page: Vec<_> = infos.into_iter().skip(from).take(PAGE).collect();
            let is_last = from + page.len() >= total;
            let next = page.last().filter(|_| !is_last).map(|info| info.session_id.0.to_string());
            Ok(ListSessionsResponse::new(page).next_cursor(next))
        });
    }

    /// Ends a session. Closing one that is not open is a no-op.
    fn close(&self, id: &str, responder: Responder<CloseSessionResponse>) {
        let open = self.sessions().remove(id);
        aside(responder, move || {
            open.iter().for_each(part_from);
            Ok(CloseSessionResponse::new())
        });
    }

    /// Ends a session and deletes it. Deleting an unknown one is a no-op.
    fn delete(self: &Arc<Self>, id: &str, responder: Responder<DeleteSessionResponse>) {
        let (door, id) = (Arc::clone(self), id.to_owned());
        aside(responder, move || {
            let open = door.sessions().get(&id).map(|open| open.key);
            let known = || door.target(&id).map(|target| target.key);
            if let Some(key) = open.or_else(known) {
                door.take_open(key).iter().for_each(part_from);
                door.host.delete(key, &actor()).map_err(|error| {
                    turn::internal(stablehand::error_chain(&error), serde_json::json!({}))
                })?;
            }
            Ok(DeleteSessionResponse::new())
        });
    }

    /// Hands a request to the session's worker.
    fn hand<T: JsonRpcResponse>(
        &self,
        id: &str,
        responder: Responder<T>,
        word: impl FnOnce(Responder<T>) -> Word,
    ) {
        match self.worker(id) {
            Some(worker) => {
                let _worker_gone = worker.send(word(responder));
            }
            None => answer(responder, Err(Error::session_not_found(id.to_owned()))),
        }
    }

    fn worker(&self, id: &str) -> Option<Sender<Word>> {
        self.sessions().get(id).map(|open| open.worker.clone())
    }

    fn sessions(&self) -> std::sync::MutexGuard<'_, HashMap<String, Open>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends all sessions, with their trees.
    fn close_all(&self) {
        self.flow.close();
        let open: Vec<_> = self.sessions().drain().map(|(_, open)| open).collect();
        let until = Instant::now() + GOODBYE;
        let leaving: Vec<_> = open.iter().map(Open::dismiss).collect();
        for left in leaving {
            let _left = left.recv_timeout(until.saturating_duration_since(Instant::now()));
        }
    }
}

impl Open {
    /// Has the worker end the session; what is returned closes when it has.
    fn dismiss(&self) -> Receiver<()> {
        let (done, left) = channel();
        let _worker_gone = self.worker.send(Word::Close(done));
        left
    }
}

/// Ends a session, and waits for that.
fn part_from(open: &Open) {
    let _left = open.dismiss().recv_timeout(GOODBYE);
}

/// Answers from a thread of its own, since it may take a moment.
fn aside<T: JsonRpcResponse>(
    responder: Responder<T>,
    make: impl FnOnce() -> Result<T, Error> + Send + 'static,
) {
    // Without a thread the responder is dropped, and the editor told so.
    let _no_thread =
        std::thread::Builder::new().name("aside".into()).spawn(move || answer(responder, make()));
}

fn check_place(cwd: &Path) -> Result<(), Error> {
    if !cwd.is_absolute() {
        let what = format!("`{}` is no absolute path", cwd.display());
        return Err(Error::invalid_params().data(what));
    }
    if !cwd.is_dir() {
        let what = format!("`{}` is no folder", cwd.display());
        return Err(Error::invalid_params().data(what));
    }
    Ok(())
}
