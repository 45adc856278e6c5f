//! How OpenCode is asked about itself.
//!
//! Its lists are drawn with frames; the marks in them are read, not the words. One login per
//! provider is possible, and some of its models need none.

use crate::manage::parse::{self, json, lines, mcp_state, plain, said, string, target};
use crate::manage::{
    About, Answer, Capabilities, Chat, Heard, Login, McpServer, McpState, Model, NAME, Place,
    Recipe, Recipes, Trouble,
};
use serde_json::Value;

pub(super) const CAN: Capabilities = Capabilities {
    streaming: false,
    thinking: true,
    resume: true,
    model: true,
    native_modes: &["build", "plan"],
    force: true,
    sandbox: false,
    mcp: true,
    hooks: false,
    cloud: false,
};

const CREDENTIAL_FILE: Place =
    Place::Home { variable: "XDG_DATA_HOME", folder: ".local/share", file: "opencode/auth.json" };

pub(super) const TRANSCRIPTS: Place =
    Place::Home { variable: "XDG_DATA_HOME", folder: ".local/share", file: "opencode" };

const NO_SWITCH: &str = "set `enabled` of the server to true or false in opencode.json";

pub(super) const RECIPES: Recipes = Recipes {
    // The variables of its many providers are its own business; these are the most common ones,
    // so that a change of them is noticed.
    credentials: &[
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "OPENROUTER_API_KEY",
        "GEMINI_API_KEY",
        "OPENCODE_API_KEY",
    ],
    folders: &["XDG_DATA_HOME", "XDG_CONFIG_HOME"],
    witnesses: &[CREDENTIAL_FILE],
    install: "npm install -g opencode-ai",
    version: Recipe::command(&["--version"], parse::version),
    login: Recipe::command(&["auth", "list"], login).slow(),
    about: Recipe::command(&["debug", "config"], about).slow(),
    models: Recipe::command(&["models"], models).slow(),
    mcp: Recipe::command(&["mcp", "list"], mcp).slow(),
    chats: Recipe::command(&["session", "list", "--format", "json"], chats).slow(),
    log_in: Recipe::Terminal(&["auth", "login"]),
    log_out: Recipe::Terminal(&["auth", "logout"]),
    enable_mcp: Recipe::Unsupported(NO_SWITCH),
    disable_mcp: Recipe::Unsupported(NO_SWITCH),
    log_in_mcp: Recipe::Terminal(&["mcp", "auth", NAME]),
    new_chat: Recipe::Unsupported("a chat begins with its first `stablehand run --agent opencode`"),
};

/// Frames `┌ … ● <provider> <method> … └ <number> …`. The number must be that of the dots, or the
/// shape has changed.
fn login(heard: &Heard<'_>) -> Result<Answer, Trouble> {
    let output = heard.output()?;
    if !output.exited(0) {
        return Err(Trouble::Unreadable);
    }
    let text = plain(&output.stdout);
    let mut all = Vec::new();
    let (mut dots, mut frames) = (Vec::new(), 0);
    for line in lines(&text) {
        if let Some(entry) = line.strip_prefix('●') {
            dots.push(entry.trim().to_owned());
        } else if let Some(end) = line.strip_prefix('└') {
            let number = end.split_whitespace().next().and_then(|word| word.parse::<usize>().ok());
            if number != Some(dots.len()) {
                return Err(Trouble::Unreadable);
            }
            frames += 1;
            all.append(&mut dots);
        }
    }
    if frames == 0 || !dots.is_empty() {
        return Err(Trouble::Unreadable);
    }
    let entries = all.iter().map(|entry| match entry.rsplit_once(' ') {
        Some((provider, method)) => format!("{} ({method})", provider.trim()),
        None => entry.clone(),
    });
    Ok(Answer::Login(if all.is_empty() {
        Login::no()
    } else {
        Login::yes(None, entries.collect::<Vec<_>>().join(", "))
    }))
}

fn about(heard: &Heard<'_>) -> Result<Answer, Trouble> {
    let config = json(&heard.output()?.stdout).ok_or(Trouble::Unreadable)?;
    if !config.is_object() {
        return Err(Trouble::Unreadable);
    }
    let facts = ["small_model", "default_agent", "share"];
    let facts =
        facts.into_iter().filter_map(|key| Some((key.to_owned(), string(&config, &[key])?)));
    Ok(Answer::About(About { model: string(&config, &["model"]), facts: facts.collect() }))
}

/// `<provider>/<model>`, one a line.
fn models(heard: &Heard<'_>) -> Result<Answer, Trouble> {
    let output = heard.output()?;
    if !output.exited(0) {
        return Err(Trouble::Refused(said(heard)));
    }
    let text = plain(&output.stdout);
    let is_id = |line: &&str| !line.contains(char::is_whitespace) && line.contains('/');
    let models = lines(&text).filter(is_id);
    let models: Vec<_> = models
        .map(|id| Model { id: id.to_owned(), name: None, default: false, current: false })
        .collect();
    if models.is_empty() { Err(Trouble::Unreadable) } else { Ok(Answer::Models(models)) }
}

/// `●  ✗ <name> <state>`, then lines with the reason and the program or address.
fn mcp(heard: &Heard<'_>) -> Result<Answer, Trouble> {
    let output = heard.output()?;
    if !output.exited(0) {
        return Err(Trouble::Refused(said(heard)));
    }
    let text = plain(&output.stdout);
    let mut servers: Vec<McpServer> = Vec::new();
    let mut last: Option<String> = None;
    for line in lines(&text) {
        if let Some(entry) = line.strip_prefix('●') {
            let entry = entry.trim();
            let words: Vec<_> = entry.split_whitespace().collect();
            let [_mark, name, state @ ..] = words.as_slice() else {
                return Err(Trouble::Unreadable);
            };
            let said = state.join(" ");
            last = None;
            let by_words = mcp_state(&said);
            servers.push(McpServer {
                name: (*name).to_owned(),
                // The mark alone does not tell a login that is needed from a failure.
                state: if by_words == McpState::Unknown { mcp_state(entry) } else { by_words },
                target: None,
                detail: Some(said),
            });
        } else if let (Some(more), Some(server)) = (line.strip_prefix('│'), servers.last_mut()) {
            // The last of these lines is the program or the address; one before it says why.
            let more = more.trim();
            if !more.is_empty() {
                server.detail = last.replace(more.to_owned()).or_else(|| server.detail.take());
                server.target = target(more);
            }
        }
    }
    let framed = lines(&text).any(|line| line.starts_with('└'));
    if framed { Ok(Answer::Mcp(servers)) } else { Err(Trouble::Unreadable) }
}

/// A JSON list; nothing at all where there is no chat.
fn chats(heard: &Heard<'_>) -> Result<Answer, Trouble> {
    let output = heard.output()?;
    if !output.exited(0) {
        return Err(Trouble::Refused(said(heard)));
    }
    if plain(&output.stdout).trim().is_empty() {
        return Ok(Answer::Chats(Vec::new()));
    }
    let list = json(&output.stdout).ok_or(Trouble::Unreadable)?;
    let chats = list.as_array().ok_or(Trouble::Unreadable)?.iter().map(|chat| {
        Ok(Chat {
            id: string(chat, &["id"]).ok_or(Trouble::Unreadable)?,
            title: string(chat, &["title"]),
            updated_ms: chat.get("updated").and_then(Value::as_i64),
            updated: None,
        })
    });
    chats.collect::<Result<_, _>>().map(Answer::Chats)
}

#[cfg(test)]
mod tests;
