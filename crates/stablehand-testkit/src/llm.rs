//! A fake model service on the loopback: what the real agent programs talk to in our tests.
//!
//! Owns the server: its threads, its memory of what was asked, and the playing of a scene onto a
//! connection. What the model says is in [`scene`], how a request is understood in [`conversation`],
//! and each protocol has a file of its own. It never opens a connection and listens on the loopback
//! only; it ends with its value.
//!
//! The scene is in the address that the agent is given: `http://127.0.0.1:PORT/s/<scene>`. Which
//! answer of the scene it is follows from the conversation in the request.

mod anthropic;
mod chat;
pub mod conversation;
mod gemini;
mod http;
mod responses;
mod route;
pub mod scene;
#[cfg(test)]
mod tests;
mod tools;

pub use route::Protocol;

use conversation::{Conversation, Reply};
use http::{Connection, Request};
use route::Asked;
use scene::{Fault, Scene, Text, Turn};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Connections at once; an agent has a handful.
const MAX_CONNECTIONS: usize = 64;
/// Requests that are remembered, the newest ones.
const MAX_REMEMBERED: usize = 256;
/// How long a silence lasts when neither the client nor the server goes: longer than any test.
const SILENCE: Duration = Duration::from_hours(1);
/// What is said where a title or a summary is asked for.
const SIDE_TEXT: &str = "A pony in the stable";
/// What stands in a prompt that Claude Code makes of the end of a background task.
const NOTIFICATION: &str = "<task-notification>";

/// A fake model service; it ends when it is dropped.
#[derive(Debug)]
pub struct FakeLlm {
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    stopping: Arc<AtomicBool>,
    heard: Mutex<VecDeque<Heard>>,
    /// How often a scene has failed on purpose.
    failures: Mutex<BTreeMap<&'static str, usize>>,
    answers: AtomicUsize,
}

/// A request that came.
#[derive(Debug, Clone)]
pub struct Heard {
    /// Its method.
    pub method: String,
    /// Its path, without scene and query.
    pub path: String,
    /// The scene.
    pub scene: String,
    /// What it said, where it asked the model for an answer.
    pub conversation: Option<Conversation>,
    /// Its body, lossy.
    pub body: String,
}

impl Heard {
    /// Whether it is about the user's prompt: no title, no route, no count.
    pub fn is_main(&self) -> bool {
        self.conversation.as_ref().is_some_and(|asked| !asked.is_side_request())
    }

    /// The last text of the user in it.
    pub fn prompt(&self) -> &str {
        self.conversation.as_ref().map_or("", |asked| asked.prompt.as_str())
    }
}

/// What the scene `echo` says of a prompt.
pub fn echo_of(prompt: &str) -> String {
    let mut hex = String::new();
    for byte in Sha256::digest(prompt.as_bytes()) {
        let _infallible = write!(hex, "{byte:02x}");
    }
    format!("sha256 {hex} of {} bytes", prompt.len())
}

impl FakeLlm {
    /// Starts one on a free port of the loopback.
    pub fn start() -> FakeLlm {
        FakeLlm::start_on(0).expect("a port of the loopback")
    }

    /// Starts one on that port of the loopback.
    pub fn start_on(port: u16) -> io::Result<FakeLlm> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::default());
        let for_thread = Arc::clone(&shared);
        let acceptor = std::thread::Builder::new()
            .name("fake-llm".to_owned())
            .spawn(move || accept(&listener, &for_thread))?;
        Ok(FakeLlm { address, shared, acceptor: Some(acceptor) })
    }

    /// The address of a scene, for an agent's configuration. OpenAI's clients want `/v1` after it.
    #[track_caller]
    pub fn base_url(&self, scene: &str) -> String {
        assert!(Scene::by_name(scene).is_some(), "no scene `{scene}`");
        format!("http://{}/s/{scene}", self.address)
    }

    /// Every request so far, oldest first.
    pub fn requests(&self) -> Vec<Heard> {
        self.shared.heard().iter().cloned().collect()
    }

    /// Those that are about the user's prompt.
    pub fn main_requests(&self) -> Vec<Heard> {
        self.shared.heard().iter().filter(|heard| heard.is_main()).cloned().collect()
    }
}

impl Drop for FakeLlm {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::Relaxed);
        // The acceptor waits in `accept`; a connection wakes it.
        drop(TcpStream::connect(self.address));
        if let Some(acceptor) = self.acceptor.take() {
            let _its_panic_was_printed = acceptor.join();
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut connections: Vec<JoinHandle<()>> = Vec::new();
    for stream in listener.incoming() {
        if shared.stopping.load(Ordering::Relaxed) {
            break;
        }
        connections.retain(|connection| !connection.is_finished());
        let Ok(stream) = stream else { continue };
        if connections.len() < MAX_CONNECTIONS {
            let shared = Arc::clone(shared);
            // A client that goes in the middle of an answer is what several tests are about.
            connections.push(std::thread::spawn(move || drop(serve(stream, &shared))));
        }
    }
    for connection in connections {
        let _its_panic_was_printed = connection.join();
    }
}

fn serve(stream: TcpStream, shared: &Shared) -> io::Result<()> {
    let mut connection = Connection::new(stream, Arc::clone(&shared.stopping))?;
    while let Some(request) = connection.request()? {
        shared.answer(&mut connection, &request)?;
    }
    Ok(())
}

impl Shared {
    fn heard(&self) -> MutexGuard<'_, VecDeque<Heard>> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remember(&self, request: &Request, conversation: Option<Conversation>) {
        let (scene, path) = route::scene_of(&request.path);
        let mut heard = self.heard();
        if heard.len() == MAX_REMEMBERED {
            heard.pop_front();
        }
        heard.push_back(Heard {
            method: request.method.clone(),
            path: path.to_owned(),
            scene: scene.to_owned(),
            conversation,
            body: String::from_utf8_lossy(&request.body).into_owned(),
        });
    }

    fn answer(&self, connection: &mut Connection, request: &Request) -> io::Result<()> {
        let (scene_name, path) = route::scene_of(&request.path);
        let asked = route::asked(&request.method, path);
        let Asked::Answer { protocol, named } = asked else {
            self.remember(request, None);
            return small_answer(connection, &asked, request);
        };
        if request.encoded {
            self.remember(request, None);
            let error = protocol.error(415, "the fake model reads plain bodies only");
            return connection.answer(415, &[], &error.to_string());
        }
        let body: Value = match serde_json::from_slice(&request.body) {
            Ok(body) => body,
            Err(error) => {
                self.remember(request, None);
                let error = protocol.error(400, &format!("the body is not JSON: {error}"));
                return connection.answer(400, &[], &error.to_string());
            }
        };
        let mut conversation = protocol.read(&body);
        if let Some((model, streamed)) = named {
            conversation.model = model;
            conversation.streamed = streamed;
        }
        self.remember(request, Some(conversation.clone()));
        let Some(scene) = Scene::by_name(scene_name) else {
            let error = protocol.error(404, &format!("no scene `{scene_name}`"));
            return connection.answer(404, &[], &error.to_string());
        };
        let turn = self.turn(&scene, &conversation);
        let number = self.answers.fetch_add(1, Ordering::Relaxed);
        play(connection, protocol, &conversation, &turn, number)
    }

    /// The turn that a request is answered with.
    fn turn(&self, scene: &Scene, conversation: &Conversation) -> Turn {
        // Claude Code tells the model in the user's name that a background task has ended.
        let rounds = conversation.rounds + usize::from(conversation.prompt.contains(NOTIFICATION));
        let turn = scene.turn(rounds);
        if conversation.is_side_request() {
            // A service that is down is down for titles, too; other scenes are about the prompt.
            if matches!(turn.fault, Some(Fault::Status(_) | Fault::StallBeforeHeaders)) {
                return turn;
            }
            let text = conversation.schema.as_ref().map(|schema| tools::sample(schema).to_string());
            return Turn { text: text.as_deref().unwrap_or(SIDE_TEXT).into(), ..Turn::default() };
        }
        let Some(Fault::FirstRequests { count, fault }) = turn.fault else { return turn };
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let so_far = failures.entry(scene.name).or_default();
        if *so_far == count {
            return scene.turn(conversation.rounds + 1);
        }
        *so_far += 1;
        Turn { fault: Some(*fault), ..turn }
    }
}

fn small_answer(connection: &mut Connection, asked: &Asked, request: &Request) -> io::Result<()> {
    let (status, body) = match asked {
        Asked::TokenCount(field) => (200, json!({ *field: request.body.len() / 4 + 1 })),
        Asked::Models => {
            let model = json!({
                "id": "fake-model", "object": "model", "type": "model", "owned_by": "stablehand",
                "display_name": "Fake model", "created_at": "2025-01-01T00:00:00Z",
            });
            (200, json!({"object": "list", "data": [model], "models": []}))
        }
        Asked::Presence => (200, json!({"ok": true})),
        Asked::Unknown | Asked::Answer { .. } => {
            (404, Protocol::Messages.error(404, "the fake model has nothing at this path"))
        }
    };
    let body = if request.method == "HEAD" { String::new() } else { body.to_string() };
    connection.answer(status, &[], &body)
}

/// Plays a turn onto the connection.
fn play(
    connection: &mut Connection,
    protocol: Protocol,
    conversation: &Conversation,
    turn: &Turn,
    number: usize,
) -> io::Result<()> {
    match turn.fault {
        Some(Fault::Status(status)) => {
            let error = protocol.error(status, &format!("the fake model answers {status}"));
            let headers: &[_] = if status == 429 { &[("retry-after", "1")] } else { &[] };
            return connection.answer(status, headers, &error.to_string());
        }
        Some(Fault::StallBeforeHeaders) => return connection.pause(SILENCE),
        _ => {}
    }
    let reply = reply(conversation, turn, number);
    if !conversation.streamed {
        match turn.fault {
            Some(Fault::StallMidway) => return connection.pause(SILENCE),
            Some(Fault::CutMidway) => return connection.cut(),
            _ => {}
        }
        return connection.answer(200, &[], &protocol.whole(&reply).to_string());
    }
    connection.begin_stream()?;
    let half = (reply.pieces.len() / 2).max(1);
    let mut pieces = 0;
    for frame in protocol.frames(&reply) {
        if frame.is_text {
            if pieces > 0 {
                connection.pause(turn.pause)?;
            }
            if pieces == half {
                match turn.fault {
                    Some(Fault::StallMidway) => return connection.pause(SILENCE),
                    Some(Fault::CutMidway) => return connection.cut(),
                    _ => {}
                }
            }
            pieces += 1;
        }
        connection.chunk(&protocol.event(&frame.data))?;
    }
    connection.chunk(protocol.end())?;
    connection.end_stream()
}

fn reply(conversation: &Conversation, turn: &Turn, number: usize) -> Reply {
    let pieces = match &turn.text {
        Text::Echo => vec![echo_of(&conversation.prompt)],
        Text::Said { whole, piece_chars } => {
            let chars: Vec<char> = whole.chars().collect();
            chars.chunks((*piece_chars).max(1)).map(|piece| piece.iter().collect()).collect()
        }
    };
    let calls = turn.wishes.iter().map(|wish| tools::call(wish, conversation)).collect();
    let bytes: usize = pieces.iter().map(String::len).sum();
    Reply {
        id: format!("fake{number:06}"),
        model: conversation.model.clone(),
        thinking: turn.thinking.map(str::to_owned),
        tokens: (conversation.prompt.len() as u64 / 4 + 1, bytes as u64 / 4 + 1),
        pieces,
        calls,
    }
}
