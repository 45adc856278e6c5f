//! What we say to an agent that speaks ACP: the handshake, a session, prompts, answers.
//!
//! One request at a time until there is a session, since agents refuse what comes before the answer to
//! what it depends on: `initialize`, perhaps `authenticate`, a session that is new or continued, its
//! model and mode; then prompts, one after the other. The ids of our requests say what they were
//! about, so that whoever reads the answers alone, live or years later, can tell ([`about`]).

use super::super::kit::first;
use super::super::questions::Questions;
use super::question::id_text;
use super::serve;
use crate::json::{Object, Value};
use crate::mcp::{McpServer, McpTakes, McpTransport};
use crate::speak::{Access, Answer, Image, Opening, Prompt, Speak, Unanswerable};
use crate::wish::{Service, Wish};
use serde_json::json;
use serde_json::value::RawValue;

const HELLO: &str = "stablehand-hello";
const LOGIN: &str = "stablehand-login";
const NEW: &str = "stablehand-session";
/// What follows is the session that is continued: the answer does not name it.
const CONTINUE: &str = "stablehand-continue-";
const MODEL: &str = "stablehand-model";
const MODE: &str = "stablehand-mode";
/// The same where the mode is to keep it from doing something: without it there is no turn.
const CONFINE: &str = "stablehand-confine";
const TURN: &str = "stablehand-turn-";

/// What an answer is to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum About {
    /// A request of ours without which there is no turn.
    Needed,
    /// Another one of ours.
    Other,
    /// Somebody else's.
    Unknown,
}

/// What the request of that id was about.
pub(super) fn about(id: Value<'_>) -> About {
    let id = id.raw_str().unwrap_or_default();
    let is = |ours: &str| id == ours.as_bytes();
    let begins = |ours: &str| id.starts_with(ours.as_bytes());
    let is_needed = [HELLO, LOGIN, NEW, MODEL, CONFINE].into_iter().any(is);
    if is_needed || begins(CONTINUE) || begins(TURN) {
        About::Needed
    } else if begins("stablehand-") {
        About::Other
    } else {
        About::Unknown
    }
}

/// Which prompt of ours the request of that id was.
pub(super) fn turn(id: Value<'_>) -> Option<u64> {
    id.str()?.strip_prefix(TURN)?.parse().ok()
}

/// Whether that is the first answer of an agent.
pub(super) fn is_hello(id: Value<'_>) -> bool {
    id.is_str(HELLO)
}

/// The session that was continued by the request of that id.
pub(super) fn continued(id: Value<'_>) -> Option<String> {
    id.str()?.strip_prefix(CONTINUE).map(str::to_owned)
}

/// Speaks to an ACP agent.
#[derive(Debug)]
pub struct AcpSpeaker {
    opening: Opening,
    session: Option<String>,
    /// Whether it can go on with a session without telling all of it again.
    resumes: bool,
    /// Requests that have to be answered before there can be a prompt, each after the one before.
    steps: Vec<Step>,
    /// One of them was said and is not answered yet.
    in_step: bool,
    /// Prompts that wait for the session, or for the turn before.
    waiting: Vec<Prompt>,
    /// Whether it takes images.
    sees: bool,
    /// Which servers of tools it takes.
    takes: McpTakes,
    /// What it was not told, because it does not take it.
    left_out: Vec<String>,
    in_turn: bool,
    /// Somebody wanted an interrupt before the prompt was said.
    interrupt_wanted: bool,
    requests: u64,
    open: Questions<Question>,
    /// What is wanted of us, by the id as the agent wrote it.
    wishes: Questions<Box<RawValue>>,
    /// Those that nobody has looked at.
    new_wishes: Vec<Wish>,
}

/// What is still to be said before the first prompt.
#[derive(Debug)]
struct Step {
    id: &'static str,
    method: &'static str,
    params: serde_json::Value,
}

/// A question that waits.
#[derive(Debug)]
struct Question {
    /// The id as the agent wrote it: a number stays one.
    id: Box<RawValue>,
    kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    /// The options: id and kind.
    Permission(Vec<(String, String)>),
    Elicitation,
}

impl AcpSpeaker {
    /// For a conversation that begins so.
    pub fn new(opening: Opening) -> Self {
        AcpSpeaker {
            opening,
            session: None,
            resumes: false,
            steps: Vec::new(),
            in_step: false,
            waiting: Vec::new(),
            sees: false,
            takes: McpTakes { stdio: true, http: false, sse: false },
            left_out: Vec::new(),
            in_turn: false,
            interrupt_wanted: false,
            requests: 0,
            open: Questions::default(),
            wishes: Questions::default(),
            new_wishes: Vec::new(),
        }
    }

    /// The agent has said what it can: a session, by the way that it knows.
    fn begin_session(&mut self, out: &mut Vec<u8>) {
        let (given, not): (Vec<_>, Vec<_>) =
            self.opening.mcp.iter().partition(|server| self.takes.takes(&server.transport));
        let refused = |server: &McpServer| {
            let (name, word) = (&server.name, server.transport.word());
            format!("skipping MCP server `{name}`: the agent does not support MCP over {word}")
        };
        self.left_out.extend(not.into_iter().map(refused));
        let mut params = json!({
            "cwd": self.opening.cwd.as_deref().unwrap_or("/"),
            "mcpServers": given.into_iter().map(as_told).collect::<Vec<_>>(),
        });
        let Some(session) = &self.opening.resume else {
            return request(NEW, "session/new", &params, out);
        };
        // Where it can do neither, its refusal says so.
        let method = if self.resumes { "session/resume" } else { "session/load" };
        if let Some(params) = params.as_object_mut() {
            params.insert("sessionId".to_owned(), session.0.clone().into());
        }
        request(&format!("{CONTINUE}{}", session.0), method, &params, out);
    }

    /// There is a session: what was asked for it, then what waits.
    fn settle(&mut self, session: String, result: Value<'_>, out: &mut Vec<u8>) {
        if let Some(model) = &self.opening.model {
            self.steps.push(choose_model(&session, model, result));
        }
        self.steps.extend(choose_mode(&session, self.opening.access, result));
        self.session = Some(session);
        self.steps.reverse();
        self.go_on(out);
    }

    /// The next step, or else the next prompt.
    fn go_on(&mut self, out: &mut Vec<u8>) {
        let Some(session) = &self.session else { return };
        if self.in_step {
            return;
        }
        if let Some(step) = self.steps.pop() {
            self.in_step = true;
            return request(step.id, step.method, &step.params, out);
        }
        if self.in_turn || self.waiting.is_empty() {
            return;
        }
        let prompt = self.waiting.remove(0);
        self.requests += 1;
        self.in_turn = true;
        if !prompt.images.is_empty() && !self.sees {
            let text = "the agent takes no images, so it was told that there are some";
            self.left_out.push(text.to_owned());
        }
        let prompt = blocks(&prompt, self.sees);
        let params = json!({ "sessionId": session, "prompt": prompt });
        request(&format!("{TURN}{}", self.requests), "session/prompt", &params, out);
        if std::mem::take(&mut self.interrupt_wanted) {
            cancel(session, out);
        }
    }

    fn answered(&mut self, id: Value<'_>, object: &Object<'_>, out: &mut Vec<u8>) {
        let failed = object.get("error").is_some();
        let result = object.get("result").unwrap_or(Value::new(b"{}"));
        let raw = id.str().unwrap_or_default();
        if failed && about(id) == About::Needed && !raw.starts_with(TURN) {
            // There will be no turn; the agent has said why.
            self.waiting.clear();
            return;
        }
        match &*raw {
            HELLO => {
                let can = result.get("agentCapabilities");
                let resume = can.and_then(|can| can.get("sessionCapabilities")?.get("resume"));
                self.resumes = resume.is_some_and(|it| !it.is_null());
                let image = can.and_then(|can| can.get("promptCapabilities")?.get("image"));
                let servers = can.and_then(|can| can.get("mcpCapabilities"));
                let is_taken = |kind: &str| {
                    servers.and_then(|it| it.get(kind)).is_some_and(|it| it.raw() == b"true")
                };
                self.takes.http = is_taken("http");
                self.takes.sse = is_taken("sse");
                self.sees = image.is_some_and(|it| it.raw() == b"true");
                match &self.opening.login {
                    Some(method) => {
                        request(LOGIN, "authenticate", &json!({ "methodId": method }), out);
                    }
                    None => self.begin_session(out),
                }
            }
            LOGIN => self.begin_session(out),
            NEW => {
                if let Some(session) = result.get("sessionId").and_then(Value::string) {
                    self.settle(session, result, out);
                }
            }
            MODEL | MODE | CONFINE => {
                self.in_step = false;
                self.go_on(out);
            }
            // One that is answered twice says nothing about the turn that is on.
            raw if raw.strip_prefix(TURN) == Some(self.requests.to_string().as_str()) => {
                self.in_turn = false;
                self.go_on(out);
            }
            raw => {
                if let Some(session) = raw.strip_prefix(CONTINUE) {
                    self.settle(session.to_owned(), result, out);
                }
            }
        }
    }

    fn asked(&mut self, method: &[u8], id: Value<'_>, params: Value<'_>, out: &mut Vec<u8>) {
        let Ok(raw) = serde_json::from_slice::<Box<RawValue>>(id.raw()) else { return };
        let kind = match method {
            b"session/request_permission" => Kind::permission(params),
            b"elicitation/create" => Kind::Elicitation,
            _ => return self.wished(method, id, raw, params, out),
        };
        self.open.ask(id_text(Some(id)), Question { id: raw, kind });
    }
}

impl AcpSpeaker {
    /// Something that we are to do; nothing but what was offered.
    fn wished(
        &mut self,
        method: &[u8],
        id: Value<'_>,
        raw: Box<RawValue>,
        params: Value<'_>,
        out: &mut Vec<u8>,
    ) {
        let error = match serve::wanted(method, params) {
            Some(Ok(want)) if serve::is_offered(&want, self.opening.services) => {
                let id = id_text(Some(id));
                self.wishes.ask(id.clone(), raw);
                return self.new_wishes.push(Wish { id, want });
            }
            Some(Err(text)) => json!({ "code": serve::INVALID_PARAMS, "message": text }),
            Some(Ok(_)) | None => json!({ "code": -32601, "message": "not supported" }),
        };
        line(&json!({ "jsonrpc": "2.0", "id": raw, "error": error }), out);
    }
}

impl Speak for AcpSpeaker {
    fn open(&mut self, out: &mut Vec<u8>) {
        let info = json!({
            "name": "stablehand", "title": "Stablehand", "version": env!("CARGO_PKG_VERSION"),
        });
        let ours = self.opening.services;
        let can = json!({
            "fs": { "readTextFile": ours.reads, "writeTextFile": ours.writes },
            "terminal": ours.commands,
        });
        let params = json!({ "protocolVersion": 1, "clientCapabilities": can, "clientInfo": info });
        request(HELLO, "initialize", &params, out);
    }

    fn put(&mut self, prompt: &Prompt, out: &mut Vec<u8>) {
        self.waiting.push(prompt.clone());
        self.go_on(out);
    }

    fn without_secrets(&self, line: &str) -> Option<String> {
        if self.opening.mcp.is_empty() {
            return None;
        }
        let mut line: serde_json::Value = serde_json::from_str(line).ok()?;
        for server in line.pointer_mut("/params/mcpServers")?.as_array_mut()? {
            for key in ["env", "headers"] {
                let pairs = server.get_mut(key).and_then(serde_json::Value::as_array_mut);
                for pair in pairs.into_iter().flatten() {
                    pair["value"] = "[redacted]".into();
                }
            }
        }
        Some(line.to_string())
    }

    fn left_out(&mut self) -> Vec<String> {
        std::mem::take(&mut self.left_out)
    }

    fn interrupt(&mut self, out: &mut Vec<u8>) -> bool {
        let Some(session) = self.session.as_ref().filter(|_| self.in_turn) else {
            // The turn ends as any other does: with the agent's word for it.
            self.interrupt_wanted = !self.waiting.is_empty();
            return self.interrupt_wanted;
        };
        cancel(session, out);
        // Whoever cancels answers what is open; without that, agents wait on.
        for question in self.open.take_all() {
            let result = match question.kind {
                Kind::Permission(_) => json!({ "outcome": { "outcome": "cancelled" } }),
                Kind::Elicitation => json!({ "action": "cancel" }),
            };
            line(&json!({ "jsonrpc": "2.0", "id": question.id, "result": result }), out);
        }
        true
    }

    fn answer(&mut self, id: &str, answer: &Answer, out: &mut Vec<u8>) -> Result<(), Unanswerable> {
        let question = self.open.get(id)?;
        let Some(result) = question.kind.reply(answer) else {
            let (id, answer) = (id.to_owned(), answer.word().to_owned());
            return Err(Unanswerable::NoSuchAnswer { id, answer });
        };
        line(&json!({ "jsonrpc": "2.0", "id": question.id, "result": result }), out);
        self.open.close(id);
        Ok(())
    }

    fn heard(&mut self, object: &Object<'_>, out: &mut Vec<u8>) {
        let method = object.get("method").map(|method| method.raw_str().unwrap_or_default());
        let params = object.get("params").unwrap_or(Value::new(b"{}"));
        match (object.get("id").filter(|id| !id.is_null()), method) {
            (Some(id), Some(method)) => self.asked(method, id, params, out),
            (Some(id), None) => self.answered(id, object, out),
            (None, Some(b"$/cancel_request")) => {
                let id = params.get("requestId").or_else(|| params.get("id"));
                let id = id_text(id);
                self.open.close(&id);
                self.wishes.close(&id);
            }
            _ => {}
        }
    }

    fn take_wishes(&mut self) -> Vec<Wish> {
        std::mem::take(&mut self.new_wishes)
    }

    fn serve(&mut self, id: &str, service: &Service, out: &mut Vec<u8>) {
        let Ok(raw) = self.wishes.get(id) else { return };
        let (word, value) = serve::reply(service);
        line(&json!({ "jsonrpc": "2.0", "id": raw, word: value }), out);
        self.wishes.close(id);
    }

    fn is_open(&self, id: &str) -> bool {
        self.open.get(id).is_ok()
    }
}

impl Kind {
    /// A request for permission.
    pub(super) fn permission(params: Value<'_>) -> Kind {
        let options = params.get("options").into_iter().flat_map(Value::elements);
        let option = |it: Value<'_>| {
            Some((first(it, &["optionId"])?, first(it, &["kind"]).unwrap_or_default()))
        };
        Kind::Permission(options.filter_map(option).collect())
    }

    /// The result for an answer; none where there is no such answer.
    pub(super) fn reply(&self, answer: &Answer) -> Option<serde_json::Value> {
        let options = match self {
            Kind::Permission(options) => options,
            Kind::Elicitation => {
                let action = match answer {
                    Answer::Deny { .. } => "decline",
                    Answer::Choose(option) if option != "accept" => option,
                    // What would be accepted has to be said, too.
                    _ => return None,
                };
                return Some(json!({ "action": action }));
            }
        };
        let of_kind = |kinds: &[&str]| {
            let find = |kind: &&str| options.iter().find(|(_, of)| of == kind);
            kinds.iter().find_map(find).map(|(id, _)| id.clone())
        };
        let chosen = match answer {
            // Whoever says yes once has not said yes for ever.
            Answer::Allow => of_kind(&["allow_once"])?,
            Answer::AllowAlways => of_kind(&["allow_always", "allow_once"])?,
            Answer::Choose(id) => options.iter().find(|(of, _)| of == id)?.0.clone(),
            Answer::Deny { .. } => match of_kind(&["reject_once", "reject_always"]) {
                Some(id) => id,
                None => return Some(json!({ "outcome": { "outcome": "cancelled" } })),
            },
            // The agent does what it asked about, and nothing else.
            Answer::AllowWith { .. } => return None,
        };
        Some(json!({ "outcome": { "outcome": "selected", "optionId": chosen } }))
    }
}

/// How a model is chosen: by an option of that category, or as agents did it before there were any.
fn choose_model(session: &str, model: &str, result: Value<'_>) -> Step {
    match (option_of(result, "model"), result.get("models")) {
        (None, Some(_)) => Step {
            id: MODEL,
            method: "session/set_model",
            params: json!({ "sessionId": session, "modelId": model }),
        },
        (option, _) => {
            let option = option.and_then(|option| first(option, &["id"]));
            let option = option.unwrap_or_else(|| "model".to_owned());
            set_option(MODEL, session, &option, model)
        }
    }
}

/// The mode that fits what the agent may do. Where it has none, more is asked than it had to be; but
/// one that is to confine it is asked for all the same, so that its refusal ends the matter.
fn choose_mode(session: &str, access: Access, result: Value<'_>) -> Option<Step> {
    let (id, wanted): (_, &[&str]) = match access {
        Access::Asked => return None,
        Access::ReadOnly => (CONFINE, &["plan", "read-only", "ask", "architect"]),
        Access::Workspace => {
            (MODE, &["acceptEdits", "autoEdit", "auto-edit", "workspace-write", "auto"])
        }
        Access::Everything => {
            // Not Copilot's `autopilot`: there it goes on by itself, request after request, until the
            // model calls the task complete. What it asks instead is answered with yes.
            (MODE, &["bypassPermissions", "yolo", "full-access", "agent-full-access"])
        }
    };
    // Some have them as an option among others.
    let option = option_of(result, "mode");
    let options = option.and_then(|option| option.get("options"));
    let modes = result.get("modes").and_then(|modes| modes.get("availableModes"));
    let known: Vec<String> = [modes, options]
        .into_iter()
        .flatten()
        .flat_map(Value::elements)
        .filter_map(|mode| first(mode, &["id", "value"]))
        .collect();
    let fits = |wanted: &&str| known.iter().find(|id| id.rsplit('#').next() == Some(*wanted));
    let mode = match wanted.iter().find_map(fits) {
        Some(mode) => mode.as_str(),
        None if id == CONFINE => wanted.first()?,
        None => return None,
    };
    let by_option = option.and_then(|option| first(option, &["id"])).filter(|_| modes.is_none());
    Some(if let Some(option) = by_option {
        set_option(id, session, &option, mode)
    } else {
        let params = json!({ "sessionId": session, "modeId": mode });
        Step { id, method: "session/set_mode", params }
    })
}

fn set_option(id: &'static str, session: &str, option: &str, value: &str) -> Step {
    let params = json!({ "sessionId": session, "configId": option, "value": value });
    Step { id, method: "session/set_config_option", params }
}

/// The option of that category.
fn option_of<'a>(result: Value<'a>, category: &str) -> Option<Value<'a>> {
    let mut options = result.get("configOptions")?.elements();
    options.find(|it| it.get("category").is_some_and(|it| it.is_str(category)))
}

/// A server of tools, in the protocol's words.
fn as_told(server: &McpServer) -> serde_json::Value {
    let pairs = |pairs: &[(String, String)]| -> Vec<_> {
        pairs.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect()
    };
    match &server.transport {
        McpTransport::Stdio { command, args, env } => json!({
            "name": server.name, "command": command, "args": args, "env": pairs(env),
        }),
        McpTransport::Http { url, headers } | McpTransport::Sse { url, headers } => json!({
            "type": server.transport.word(), "name": server.name, "url": url,
            "headers": pairs(headers),
        }),
    }
}

/// A prompt, in the protocol's words.
fn blocks(prompt: &Prompt, sees: bool) -> Vec<serde_json::Value> {
    let words = |text: &str| json!({ "type": "text", "text": text });
    if !sees {
        return vec![words(&prompt.in_words())];
    }
    let image = |image: &Image| {
        let mut block = json!({ "type": "image", "mimeType": image.mime, "data": image.data });
        if let Some(uri) = &image.uri {
            block["uri"] = uri.as_str().into();
        }
        block
    };
    let text = Some(words(&prompt.text)).filter(|_| !prompt.text.is_empty());
    text.into_iter().chain(prompt.images.iter().map(image)).collect()
}

pub(super) fn cancel(session: &str, out: &mut Vec<u8>) {
    let params = json!({ "sessionId": session });
    line(&json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": params }), out);
}

fn request(id: &str, method: &str, params: &serde_json::Value, out: &mut Vec<u8>) {
    line(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }), out);
}

pub(super) fn line(value: &serde_json::Value, out: &mut Vec<u8>) {
    out.extend_from_slice(value.to_string().as_bytes());
    out.push(b'\n');
}
