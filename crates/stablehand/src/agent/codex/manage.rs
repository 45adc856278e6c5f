//! How Codex is asked about itself.
//!
//! `login status` is words on standard error; who it is stands in its credential file, of which
//! only the method and the e-mail address in the token are looked at. Its JSON of MCP servers has
//! secrets in it; only names and states are taken. It lists chats only to a person; its newest
//! transcripts are looked at instead.

use crate::manage::parse::{
    self, claims, done, json, message_text, plain, records, said, string, target, toml_string,
};
use crate::manage::transcript::Division;
use crate::manage::{
    About, Answer, Capabilities, Chat, Heard, Login, McpServer, McpState, Model, NAME, Place,
    Recipe, Recipes, Transcript, Transcripts, Trouble,
};
use serde_json::Value;

pub(super) const CAN: Capabilities = Capabilities {
    streaming: false,
    thinking: true,
    resume: true,
    model: true,
    native_modes: &["read-only", "workspace-write", "danger-full-access"],
    force: true,
    sandbox: true,
    mcp: true,
    hooks: true,
    cloud: true,
};

const fn in_home(file: &'static str) -> Place {
    Place::Home { variable: "CODEX_HOME", folder: ".codex", file }
}

pub(super) const TRANSCRIPTS: &[Place] = &[in_home("sessions"), in_home("archived_sessions")];

const NO_SWITCH: &str =
    "set `enabled` to true or false under `[mcp_servers.NAME]` in ~/.codex/config.toml";

pub(super) const RECIPES: Recipes = Recipes {
    credentials: &["CODEX_API_KEY"],
    folders: &["CODEX_HOME"],
    witnesses: &[in_home("auth.json"), in_home("config.toml")],
    install: "npm install -g @openai/codex",
    version: Recipe::command(&["--version"], parse::version),
    login: Recipe::command(&["login", "status"], login)
        .with(&[in_home("auth.json"), in_home("config.toml")]),
    about: Recipe::files(&[in_home("config.toml")], about),
    models: Recipe::command(&["debug", "models"], models).slow(),
    mcp: Recipe::command(&["mcp", "list", "--json"], mcp),
    chats: Recipe::transcripts(
        Transcripts {
            variable: "CODEX_HOME",
            folder: ".codex",
            division: Division::ByDay("sessions"),
        },
        chats,
    ),
    log_in: Recipe::Terminal(&["login"]),
    log_out: Recipe::command(&["logout"], done),
    enable_mcp: Recipe::Unsupported(NO_SWITCH),
    disable_mcp: Recipe::Unsupported(NO_SWITCH),
    log_in_mcp: Recipe::Terminal(&["mcp", "login", NAME]),
    new_chat: Recipe::Unsupported("a chat begins with its first `stablehand run --agent codex`"),
};

fn login(heard: &Heard<'_>) -> Result<Answer, Trouble> {
    let output = heard.output()?;
    let both = [plain(&output.stdout), plain(&output.stderr)].join("\n");
    let says = |words: &str| parse::lines(&both).any(|line| line.starts_with(words));
    if output.exited(0) && says("Logged in using ChatGPT") {
        return Ok(Answer::Login(Login::yes(account(heard.file(0)), "ChatGPT account")));
    }
    let key = says("API key configured") || says("Logged in using an API key");
    if output.exited(0) && key {
        return Ok(Answer::Login(Login::yes(None, "API key")));
    }
    if output.exited(0) && says("Logged in using ") {
        return Ok(Answer::Login(Login::yes(None, "access token")));
    }
    if output.exited(1) && says("Not logged in") {
        // Neither is known to `login status`.
        if heard.has("CODEX_API_KEY") {
            return Ok(Answer::Login(Login::unknown("CODEX_API_KEY is set, not tried")));
        }
        let provider = heard.file(1).and_then(|file| toml_string(file, "model_provider"));
        return Ok(Answer::Login(match provider.filter(|name| name != "openai") {
            Some(name) => Login::unknown(format!("left to the model provider `{name}`")),
            None => Login::no(),
        }));
    }
    Err(Trouble::Unreadable)
}

/// The e-mail address in the token of the credential file.
fn account(file: Option<&[u8]>) -> Option<String> {
    let token = string(&json(file?)?, &["tokens", "id_token"])?;
    string(&claims(&token)?, &["email"])
}

fn about(heard: &Heard<'_>) -> Result<Answer, Trouble> {
    if heard.file(0).is_some_and(|file| std::str::from_utf8(file).is_err()) {
        return Err(Trouble::Unreadable);
    }
    let setting = |key| heard.file(0).and_then(|file| toml_string(file, key));
    let facts = ["model_provider", "model_reasoning_effort", "approval_policy", "sandbox_mode"];
    let facts = facts.into_iter().filter_map(|key| Some((key.to_owned(), setting(key)?)));
    Ok(Answer::About(About { model: setting("model"), facts: facts.collect() }))
}

fn models(heard: &Heard<'_>) -> Result<Answer, Trouble> {
    let output = heard.output()?;
    let catalogue = json(&output.stdout).ok_or(Trouble::Unreadable)?;
    let models = catalogue.get("models").and_then(Value::as_array).ok_or(Trouble::Unreadable)?;
    let mut listed: Vec<(i64, Model)> = models
        .iter()
        .filter(|model| string(model, &["visibility"]).is_none_or(|shown| shown == "list"))
        .filter_map(|model| {
            let id = string(model, &["slug"])?;
            let name = string(model, &["display_name"]).filter(|name| *name != id);
            let rank = model.get("priority").and_then(Value::as_i64).unwrap_or(i64::MAX);
            Some((rank, Model { id, name, default: false, current: false }))
        })
        .collect();
    if listed.is_empty() {
        return Err(Trouble::Unreadable);
    }
    listed.sort_by_key(|(rank, _)| *rank);
    Ok(Answer::Models(listed.into_iter().map(|(_, model)| model).collect()))
}

fn mcp(heard: &Heard<'_>) -> Result<Answer, Trouble> {
    let output = heard.output()?;
    if !output.exited(0) {
        return Err(Trouble::Refused(said(heard)));
    }
    let list = json(&output.stdout).ok_or(Trouble::Unreadable)?;
    let servers = list.as_array().ok_or(Trouble::Unreadable)?.iter().map(|server| {
        let name = string(server, &["name"]).ok_or(Trouble::Unreadable)?;
        let enabled = server.get("enabled").and_then(Value::as_bool);
        let login = string(server, &["auth_status"]);
        let state = match (enabled, login.as_deref()) {
            (Some(false), _) => McpState::Disabled,
            (Some(true), Some("not_logged_in")) => McpState::NeedsLogin,
            (Some(true), _) => McpState::Enabled,
            (None, _) => McpState::Unknown,
        };
        let transport = server.get("transport").unwrap_or(&Value::Null);
        let reached = string(transport, &["command"]).or_else(|| string(transport, &["url"]));
        let detail = string(server, &["disabled_reason"]);
        Ok(McpServer { name, state, target: reached.and_then(|it| target(&it)), detail })
    });
    servers.collect::<Result<_, _>>().map(Answer::Mcp)
}

/// The first line of a transcript has the id and the folder; what a person said first, behind the
/// instructions in angle brackets, is its title.
fn chats(heard: &Heard<'_>) -> Result<Answer, Trouble> {
    let transcripts = heard.transcripts.ok_or(Trouble::Unreadable)?;
    let chat = |transcript: &Transcript| {
        let mut records = records(&transcript.head);
        let meta = records.next().filter(|line| is_of(line, "session_meta"))?;
        let here = heard.work.to_str()?;
        let id = string(&meta, &["payload", "id"])?;
        string(&meta, &["payload", "cwd"]).filter(|folder| folder == here)?;
        let said = |line: Value| {
            let payload = line.get("payload")?;
            string(payload, &["role"]).filter(|role| role == "user")?;
            message_text(payload.get("content")?)
        };
        let person = |text: &String| !text.starts_with('<') && !text.starts_with("# AGENTS.md");
        let title = records.filter_map(said).find(person);
        Some(Chat { id, title, updated_ms: transcript.modified_ms, updated: None })
    };
    Ok(Answer::Chats(transcripts.iter().filter_map(chat).collect()))
}

fn is_of(line: &Value, kind: &str) -> bool {
    string(line, &["type"]).is_some_and(|found| found == kind)
}

#[cfg(test)]
mod tests;
