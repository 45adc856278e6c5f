//! How Claude Code is asked about itself.
//!
//! `auth status` is JSON. It has no list of models and none of chats; for these the transcripts of
//! the working directory are looked at. Its list of MCP servers is words with marks; every server
//! is tried, which takes time.

use crate::manage::parse::{
    self, done, json, lines, mcp_state, message_text, plain, records, said, setting, string, target,
};
use crate::manage::transcript::Division;
use crate::manage::{
    About, Answer, Capabilities, Chat, Heard, Login, McpServer, NAME, Place, Recipe, Recipes,
    Transcript, Transcripts, Trouble,
};
use serde_json::Value;

pub(super) const CAN: Capabilities = Capabilities {
    streaming: true,
    thinking: true,
    resume: true,
    model: true,
    native_modes: &["manual", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions"],
    force: true,
    sandbox: true,
    mcp: true,
    hooks: true,
    cloud: true,
};

const fn in_config(file: &'static str) -> Place {
    Place::Home { variable: "CLAUDE_CONFIG_DIR", folder: ".claude", file }
}

pub(super) const TRANSCRIPTS: Place = in_config("projects");

const NO_SWITCH: &str = "type /mcp inside `claude` to turn a server on or off, or add and remove it \
                         with `claude mcp add` and `claude mcp remove`";

pub(super) const RECIPES: Recipes = Recipes {
    credentials: &[
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "CLAUDE_CODE_USE_BEDROCK",
        "CLAUDE_CODE_USE_VERTEX",
        "CLAUDE_CODE_USE_FOUNDRY",
    ],
    folders: &["CLAUDE_CONFIG_DIR"],
    witnesses: &[
        in_config(".credentials.json"),
        Place::Home { variable: "CLAUDE_CONFIG_DIR", folder: "", file: ".claude.json" },
    ],
    install: "npm install -g @anthropic-ai/claude-code",
    version: Recipe::command(&["--version"], parse::version),
    login: Recipe::command(&["auth", "status"], login),
    // The nearer file wins.
    about: Recipe::files(
        &[
            Place::Work(".claude/settings.local.json"),
            Place::Work(".claude/settings.json"),
            in_config("settings.json"),
        ],
        about,
    ),
    models: Recipe::Unsupported(
        "give --model an alias (opus, sonnet, haiku) or a full name; /model inside `claude` shows \
         what your account may use",
    ),
    mcp: Recipe::command(&["mcp", "list"], mcp).slow(),
    chats: Recipe::transcripts(
        Transcripts {
            variable: "CLAUDE_CONFIG_DIR",
            folder: ".claude",
            division: Division::ByWork("projects"),
        },
        chats,
    ),
    log_in: Recipe::Terminal(&["auth", "login"]),
    log_out: Recipe::command(&["auth", "logout"], done),
    enable_mcp: Recipe::Unsupported(NO_SWITCH),
    disable_mcp: Recipe::Unsupported(NO_SWITCH),
    log_in_mcp: Recipe::Terminal(&["mcp", "login", NAME]),
    new_chat: Recipe::Unsupported("a chat begins with its first `stablehand run --agent claude`"),
};

fn login(heard: &Heard<'_>) -> Result<Answer, Trouble> {
    let status = json(&heard.output()?.stdout).ok_or(Trouble::Unreadable)?;
    let logged_in = status.get("loggedIn").and_then(Value::as_bool).ok_or(Trouble::Unreadable)?;
    if !logged_in {
        return Ok(Answer::Login(Login::no()));
    }
    let by = string(&status, &["authMethod"]).unwrap_or_default();
    let method = match (by.as_str(), string(&status, &["apiKeySource"])) {
        ("api_key", Some(source)) => format!("API key ({source})"),
        ("api_key", None) => "API key".to_owned(),
        ("oauth_token", _) => "token from the environment".to_owned(),
        ("third_party", _) => {
            string(&status, &["apiProvider"]).unwrap_or_else(|| "another provider".into())
        }
        ("claude.ai", _) => match string(&status, &["subscriptionType"]) {
            Some(plan) => format!("claude.ai account, {plan}"),
            None => "claude.ai account".to_owned(),
        },
        (other, _) => other.to_owned(),
    };
    let who = string(&status, &["email"]).or_else(|| string(&status, &["orgName"]));
    Ok(Answer::Login(Login::yes(who, method)))
}

fn about(heard: &Heard<'_>) -> Result<Answer, Trouble> {
    let model = setting(heard, 0..3, &[&["model"]])?;
    Ok(Answer::About(About { model, facts: Vec::new() }))
}

/// `<name>: <program or address> - <mark> <state>`.
fn mcp(heard: &Heard<'_>) -> Result<Answer, Trouble> {
    let output = heard.output()?;
    if !output.exited(0) {
        return Err(Trouble::Refused(said(heard)));
    }
    let text = plain(&output.stdout);
    if text.trim_start().starts_with("No MCP servers") {
        return Ok(Answer::Mcp(Vec::new()));
    }
    let server = |line: &str| {
        let (name, rest) = line.split_once(": ")?;
        // A program may have a dash of its own among its arguments; a state begins with a mark.
        let is_state = |said: &&str| said.trim().chars().next().is_some_and(|c| !c.is_ascii());
        let (reached, state) = rest
            .match_indices(" - ")
            .filter_map(|(at, dash)| Some((rest.get(..at)?, rest.get(at + dash.len()..)?)))
            .find(|(_, state)| is_state(state))
            .or_else(|| rest.rsplit_once(" - "))?;
        let detail = state.trim().trim_start_matches(|c: char| !c.is_alphanumeric());
        Some(McpServer {
            name: name.to_owned(),
            state: mcp_state(state),
            target: target(reached),
            detail: Some(detail.to_owned()),
        })
    };
    let servers: Vec<_> = lines(&text).filter_map(server).collect();
    if servers.is_empty() { Err(Trouble::Unreadable) } else { Ok(Answer::Mcp(servers)) }
}

/// A transcript is named after its chat; what a person said first is its title.
fn chats(heard: &Heard<'_>) -> Result<Answer, Trouble> {
    let transcripts = heard.transcripts.ok_or(Trouble::Unreadable)?;
    let chat = |transcript: &Transcript| Chat {
        id: transcript.name.clone(),
        title: records(&transcript.head)
            .filter(|line| string(line, &["type"]).is_some_and(|kind| kind == "user"))
            .filter(|line| line.get("isMeta") != Some(&Value::Bool(true)))
            .find_map(|line| message_text(line.get("message")?.get("content")?)),
        updated_ms: transcript.modified_ms,
        updated: None,
    };
    // Files with another name belong to sub-agents.
    let is_chat = |transcript: &&Transcript| transcript.name.len() == 36;
    Ok(Answer::Chats(transcripts.iter().filter(is_chat).map(chat).collect()))
}

#[cfg(test)]
mod tests;
