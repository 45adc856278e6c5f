//! How `cursor-agent` is asked about itself.
//!
//! Before 2026.07 `status` and `about` have no JSON; their words are read then. Its list of chats
//! needs a terminal, and `create-chat` may stay after it has printed the id.

use crate::manage::parse::{self, done, email, json, lines, mcp_state, plain, said, string};
use crate::manage::{
    About, Answer, Capabilities, Heard, Login, McpServer, Model, NAME, Place, Recipe, Recipes,
    Trouble,
};
use serde_json::Value;

pub(super) const CAN: Capabilities = Capabilities {
    streaming: true,
    thinking: true,
    resume: true,
    model: true,
    native_modes: &["plan", "ask"],
    force: true,
    sandbox: true,
    mcp: true,
    hooks: true,
    cloud: true,
};

const CREDENTIAL_FILE: Place =
    Place::Home { variable: "XDG_CONFIG_HOME", folder: ".config", file: "cursor/auth.json" };

pub(super) const RECIPES: Recipes = Recipes {
    credentials: &["CURSOR_API_KEY", "CURSOR_AUTH_TOKEN"],
    folders: &["XDG_CONFIG_HOME", "CURSOR_CONFIG_DIR"],
    witnesses: &[CREDENTIAL_FILE],
    install: "curl https://cursor.com/install -fsS | bash",
    version: Recipe::command(&["--version"], parse::version),
    login: Recipe::command(&["status", "--format", "json"], login).older(&["status"]),
    about: Recipe::command(&["about", "--format", "json"], about).older(&["about"]),
    models: Recipe::command(&["models"], models).slow().older(&["--list-models"]),
    mcp: Recipe::command(&["mcp", "list"], mcp).slow(),
    chats: Recipe::Unsupported(
        "run `cursor-agent ls` yourself, which needs a terminal, or give the id that a run printed \
         to `stablehand run --resume`",
    ),
    log_in: Recipe::Terminal(&["login"]),
    log_out: Recipe::command(&["logout"], done),
    enable_mcp: Recipe::command(&["mcp", "enable", NAME], done),
    disable_mcp: Recipe::command(&["mcp", "disable", NAME], done),
    log_in_mcp: Recipe::Terminal(&["mcp", "login", NAME]),
    new_chat: Recipe::command(&["create-chat"], new_chat).slow().first_line(),
};

fn login(heard: &Heard<'_>) -> Result<Answer, Trouble> {
    let output = heard.output()?;
    let login = match json(&output.stdout) {
        Some(status) => match status.get("isAuthenticated").and_then(Value::as_bool) {
            Some(true) => {
                let who = string(&status, &["userInfo", "email"]);
                Login::yes(who.or_else(|| string(&status, &["email"])), "Cursor account")
            }
            Some(false) => Login::no(),
            None => return Err(Trouble::Unreadable),
        },
        None => in_words(&plain(&output.stdout))?,
    };
    let variable = CREDENTIALS.iter().find(|name| heard.has(name));
    Ok(Answer::Login(match variable {
        // `status` speaks of the account; a key is tried only by a run.
        Some(name) if login == Login::no() => Login::unknown(format!("{name} is set, not tried")),
        _ => login,
    }))
}

const CREDENTIALS: &[&str] = RECIPES.credentials;

/// ` ✓ Logged in as rider@example.com`.
fn in_words(text: &str) -> Result<Login, Trouble> {
    let line = lines(text).next().ok_or(Trouble::Unreadable)?;
    let line = line.trim_start_matches(|c: char| !c.is_alphanumeric());
    match (line.strip_prefix("Logged in as"), email(line)) {
        (Some(_), Some(who)) => Ok(Login::yes(Some(who), "Cursor account")),
        (None, _) if line.starts_with("Not logged in") => Ok(Login::no()),
        _ => Err(Trouble::Unreadable),
    }
}

fn about(heard: &Heard<'_>) -> Result<Answer, Trouble> {
    let output = heard.output()?;
    if !output.exited(0) {
        return Err(Trouble::Unreadable);
    }
    let facts: Vec<(String, String)> = match json(&output.stdout) {
        Some(Value::Object(members)) => members
            .into_iter()
            // An id of a request is of use to nobody here.
            .filter(|(name, _)| name != "lastRequestId")
            .filter_map(|(name, value)| Some((name, value.as_str()?.to_owned())))
            .collect(),
        Some(_) => return Err(Trouble::Unreadable),
        // Two columns with several spaces between them.
        None => lines(&plain(&output.stdout))
            .filter_map(|line| line.split_once("  "))
            .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
            .collect(),
    };
    let known = ["cliVersion", "CLI Version"];
    if !facts.iter().any(|(name, _)| known.contains(&name.as_str())) {
        return Err(Trouble::Unreadable);
    }
    let model = facts.iter().find(|(name, _)| name.eq_ignore_ascii_case("model"));
    let model = model.map(|(_, value)| value.clone());
    Ok(Answer::About(About { model, facts }))
}

/// `<id> - <name>`, and after the name `(default)`, `(current)` or `(current, default)`, between a header
/// and a tip. A model that was once named stays the current one.
fn models(heard: &Heard<'_>) -> Result<Answer, Trouble> {
    let output = heard.output()?;
    let text = plain(&output.stdout);
    let model = |line: &str| {
        let (id, name) = line.split_once(" - ")?;
        if id.contains(char::is_whitespace) {
            return None;
        }
        let mut name = name.trim();
        let (mut default, mut current) = (false, false);
        if let Some((before, mark)) = name.rsplit_once('(') {
            let marks: Vec<_> = mark.trim_end_matches(')').split(", ").collect();
            if marks.iter().all(|mark| matches!(*mark, "default" | "current")) {
                (default, current) = (marks.contains(&"default"), marks.contains(&"current"));
                name = before.trim();
            }
        }
        Some(Model { id: id.to_owned(), name: Some(name.to_owned()), default, current })
    };
    let models: Vec<_> = lines(&text).filter_map(model).collect();
    if output.exited(0) && !models.is_empty() {
        return Ok(Answer::Models(models));
    }
    Err(if output.exited(0) { Trouble::Unreadable } else { Trouble::Refused(said(heard)) })
}

/// `<name>: <state> (<reason>)`.
fn mcp(heard: &Heard<'_>) -> Result<Answer, Trouble> {
    let output = heard.output()?;
    let text = plain(&output.stdout);
    if !output.exited(0) {
        return Err(Trouble::Refused(said(heard)));
    }
    if text.trim_start().starts_with("No MCP servers") {
        return Ok(Answer::Mcp(Vec::new()));
    }
    let server = |line: &str| {
        let (name, said) = line.split_once(": ")?;
        let state = mcp_state(said);
        let detail = Some(said.trim().to_owned());
        Some(McpServer { name: name.to_owned(), state, target: None, detail })
    };
    let servers: Vec<_> = lines(&text).filter_map(server).collect();
    if servers.is_empty() { Err(Trouble::Unreadable) } else { Ok(Answer::Mcp(servers)) }
}

/// A bare id.
fn new_chat(heard: &Heard<'_>) -> Result<Answer, Trouble> {
    let text = plain(&heard.output()?.stdout);
    let id = lines(&text).next().unwrap_or_default();
    let fits = |c: char| c.is_ascii_hexdigit() || c == '-';
    if id.len() == 36 && id.chars().all(fits) {
        return Ok(Answer::Created(id.to_owned()));
    }
    Err(if id.is_empty() { Trouble::Refused(said(heard)) } else { Trouble::Unreadable })
}

#[cfg(test)]
mod tests;
