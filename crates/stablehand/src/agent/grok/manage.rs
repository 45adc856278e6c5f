//! How Grok CLI is asked about itself: its commands answer in words.

use crate::manage::parse::{self, done, lines, plain, said, target};
use crate::manage::{
    Answer, Capabilities, Heard, Login, McpServer, McpState, Model, NAME, Place, Recipe, Recipes,
    Trouble,
};

pub(super) const CAN: Capabilities = Capabilities {
    streaming: true,
    thinking: true,
    resume: true,
    model: true,
    native_modes: &["default", "acceptEdits", "auto", "dontAsk", "bypassPermissions", "plan"],
    force: true,
    sandbox: true,
    mcp: true,
    hooks: true,
    cloud: false,
};

const fn in_home(file: &'static str) -> Place {
    Place::Home { variable: "GROK_HOME", folder: ".grok", file }
}

pub(super) const RECIPES: Recipes = Recipes {
    credentials: &["XAI_API_KEY"],
    folders: &["GROK_HOME"],
    witnesses: &[in_home("auth.json"), in_home("config.toml")],
    install: "npm install -g @xai-official/grok",
    version: Recipe::command(&["--version"], parse::version),
    login: Recipe::command(&["models"], login).slow(),
    about: Recipe::Unsupported("run `grok inspect`"),
    models: Recipe::command(&["models"], models).slow(),
    mcp: Recipe::command(&["mcp", "list"], mcp),
    chats: Recipe::Unsupported(
        "run `grok sessions list`, or give the id that a run printed to `stablehand run --resume`",
    ),
    log_in: Recipe::Terminal(&["login"]),
    log_out: Recipe::command(&["logout"], done),
    enable_mcp: Recipe::command(&["mcp", "enable", NAME], done),
    disable_mcp: Recipe::command(&["mcp", "disable", NAME], done),
    log_in_mcp: Recipe::Unsupported("start `grok` in a terminal and type /mcp"),
    new_chat: Recipe::Unsupported("a chat begins with its first `stablehand run --agent grok`"),
};

/// The first line of `grok models`.
fn login(heard: &Heard<'_>) -> Result<Answer, Trouble> {
    let output = heard.output()?;
    let text = plain(&output.stdout);
    let line = lines(&text).next().unwrap_or_default();
    let login = if let Some(how) = line.strip_prefix("You are logged in with ") {
        Login::yes(None, how.trim_end_matches('.'))
    } else if line.starts_with("You are using XAI_API_KEY") {
        Login::unknown("XAI_API_KEY is set, not tried")
    } else if line.starts_with("You are not authenticated") {
        Login::no()
    } else {
        return Err(Trouble::Unreadable);
    };
    Ok(Answer::Login(login))
}

/// `* <id> (default)` or `- <id>`.
fn models(heard: &Heard<'_>) -> Result<Answer, Trouble> {
    let output = heard.output()?;
    let text = plain(&output.stdout);
    let model = |line: &str| {
        let line = line.strip_prefix("* ").or_else(|| line.strip_prefix("- "))?;
        let id = line.split_whitespace().next()?.to_owned();
        Some(Model { id, name: None, default: line.ends_with("(default)"), current: false })
    };
    let models: Vec<_> = lines(&text).filter_map(model).collect();
    if output.exited(0) && !models.is_empty() {
        return Ok(Answer::Models(models));
    }
    Err(if output.exited(0) { Trouble::Unreadable } else { Trouble::Refused(said(heard)) })
}

/// `<name>: <command or address>`, and `(disabled)` behind it.
fn mcp(heard: &Heard<'_>) -> Result<Answer, Trouble> {
    let output = heard.output()?;
    if !output.exited(0) {
        return Err(Trouble::Refused(said(heard)));
    }
    let text = plain(&output.stdout);
    let server = |line: &str| {
        let (name, said) = line.split_once(": ")?;
        let (reached, state) = match said.strip_suffix(" (disabled)") {
            Some(reached) => (reached, McpState::Disabled),
            None => (said, McpState::Enabled),
        };
        Some(McpServer { name: name.to_owned(), state, target: target(reached), detail: None })
    };
    if lines(&text).any(|line| line.starts_with("No MCP servers configured")) {
        return Ok(Answer::Mcp(Vec::new()));
    }
    let servers: Vec<_> = lines(&text).filter_map(server).collect();
    if servers.is_empty() { Err(Trouble::Unreadable) } else { Ok(Answer::Mcp(servers)) }
}

#[cfg(test)]
mod tests;
