//! How the Gemini CLI is asked about itself.
//!
//! It has no command for its login: settings, credential files and variables tell. Its commands for
//! MCP servers print to standard error and exit with 0 even when they refuse; 0.61 refuses to
//! switch any server, because it looks its name up in the wrong list. Its list of sessions
//! is made by starting the agent, which needs a login and may ask the model for a title.

use crate::manage::parse::{
    self, config, lines, marked_servers, plain, said, sets_variable, setting, string,
};
use crate::manage::{
    About, Answer, Capabilities, Chat, Heard, Login, NAME, Place, Recipe, Recipes, Trouble,
};

pub(super) const CAN: Capabilities = Capabilities {
    streaming: true,
    thinking: false,
    resume: true,
    model: true,
    native_modes: &["default", "auto_edit", "plan", "yolo"],
    force: true,
    sandbox: true,
    mcp: true,
    hooks: true,
    cloud: false,
};

const fn in_home(file: &'static str) -> Place {
    Place::Home { variable: "", folder: ".gemini", file }
}

pub(super) const TRANSCRIPTS: Place = in_home("tmp");

const KEYS: &[&str] = &["GEMINI_API_KEY", "GOOGLE_API_KEY"];

pub(super) const RECIPES: Recipes = Recipes {
    credentials: &[
        "GEMINI_API_KEY",
        "GOOGLE_API_KEY",
        "GOOGLE_GENAI_USE_VERTEXAI",
        "GOOGLE_GENAI_USE_GCA",
        "GOOGLE_CLOUD_PROJECT",
    ],
    folders: &[],
    witnesses: &[in_home("oauth_creds.json"), in_home("gemini-credentials.json")],
    install: "npm install -g @google/gemini-cli",
    version: Recipe::command(&["--version"], parse::version),
    login: Recipe::files(
        &[
            Place::Work(".gemini/settings.json"),
            in_home("settings.json"),
            in_home("oauth_creds.json"),
            in_home("gemini-credentials.json"),
            in_home("google_accounts.json"),
            Place::Work(".gemini/.env"),
            Place::Work(".env"),
            in_home(".env"),
            Place::Home { variable: "", folder: "", file: ".env" },
        ],
        login,
    ),
    about: Recipe::files(&[Place::Work(".gemini/settings.json"), in_home("settings.json")], about),
    models: Recipe::Unsupported(
        "type /model inside `gemini` to see what there is; --model takes a full name",
    ),
    mcp: Recipe::command(&["mcp", "list"], mcp).slow(),
    chats: Recipe::command(&["--list-sessions"], chats).slow(),
    log_in: Recipe::Unsupported(
        "start `gemini` in a terminal and type /auth, or set GEMINI_API_KEY",
    ),
    log_out: Recipe::Unsupported("start `gemini` in a terminal and type /auth logout"),
    enable_mcp: Recipe::command(&["mcp", "enable", NAME], switched),
    disable_mcp: Recipe::command(&["mcp", "disable", NAME], switched),
    log_in_mcp: Recipe::Unsupported("start `gemini` in a terminal and type /mcp auth NAME"),
    new_chat: Recipe::Unsupported("a chat begins with its first `stablehand run --agent gemini`"),
};

fn login(heard: &Heard<'_>) -> Result<Answer, Trouble> {
    let chosen =
        setting(heard, 0..2, &[&["security", "auth", "selectedType"], &["selectedAuthType"]])?;
    let key_in_file = (5..9).filter_map(|at| heard.file(at)).any(|file| sets_variable(file, KEYS));
    let has_key = KEYS.iter().any(|name| heard.has(name)) || key_in_file;
    let stored = heard.file(2).is_some() || heard.file(3).is_some();
    let account = || string(&config(heard.file(4)?)?, &["active"]);
    let login = match chosen.as_deref() {
        Some("oauth-personal") if stored => Login::yes(account(), "Google account"),
        Some("oauth-personal") => Login::no(),
        Some("gemini-api-key") | None if has_key => Login::yes(None, "API key"),
        Some("gemini-api-key") if heard.file(3).is_some() => Login::yes(None, "stored API key"),
        Some("gemini-api-key") => {
            Login::unknown("an API key is chosen, but GEMINI_API_KEY is not set")
        }
        Some("vertex-ai") if has_key => Login::yes(None, "Vertex AI, API key"),
        Some("vertex-ai") => Login::unknown("Vertex AI, by the credentials of Google Cloud"),
        Some(other) => Login::unknown(format!("the login method `{other}`")),
        None if heard.has("GOOGLE_GENAI_USE_VERTEXAI") || heard.has("GOOGLE_GENAI_USE_GCA") => {
            Login::unknown("by the credentials of Google Cloud")
        }
        None => Login::no(),
    };
    Ok(Answer::Login(login))
}

fn about(heard: &Heard<'_>) -> Result<Answer, Trouble> {
    let model = setting(heard, 0..2, &[&["model", "name"], &["model"]])?;
    Ok(Answer::About(About { model, facts: Vec::new() }))
}

fn mcp(heard: &Heard<'_>) -> Result<Answer, Trouble> {
    let output = heard.output()?;
    if !output.exited(0) {
        return Err(Trouble::Refused(said(heard)));
    }
    let both = [plain(&output.stdout), plain(&output.stderr)].join("\n");
    let servers = marked_servers(&both);
    let none = lines(&both).any(|line| line.starts_with("No MCP servers configured"));
    if servers.is_empty() && !none { Err(Trouble::Unreadable) } else { Ok(Answer::Mcp(servers)) }
}

/// `✓ MCP server 'hay' enabled.`, or an error with exit code 0.
fn switched(heard: &Heard<'_>) -> Result<Answer, Trouble> {
    let output = heard.output()?;
    let both = [plain(&output.stdout), plain(&output.stderr)].join("\n");
    match lines(&both).find(|line| line.starts_with('✓')) {
        Some(line) if output.exited(0) => {
            Ok(Answer::Done(line.trim_start_matches('✓').trim().to_owned()))
        }
        _ => Err(Trouble::Refused(said(heard))),
    }
}

/// `  1. <title> (<when>) [<id>]`.
fn chats(heard: &Heard<'_>) -> Result<Answer, Trouble> {
    let output = heard.output()?;
    if !output.exited(0) {
        return Err(Trouble::Refused(said(heard)));
    }
    let text = plain(&output.stdout);
    let chat = |line: &str| {
        let (number, rest) = line.split_once(". ")?;
        number.parse::<u32>().ok()?;
        let (rest, id) = rest.strip_suffix(']')?.rsplit_once(" [")?;
        let (title, when) = rest.strip_suffix(')')?.rsplit_once(" (")?;
        Some(Chat {
            id: id.to_owned(),
            title: Some(title.to_owned()),
            updated_ms: None,
            updated: Some(when.to_owned()),
        })
    };
    let chats: Vec<_> = lines(&text).filter_map(chat).collect();
    let none = lines(&text).any(|line| line.starts_with("No previous sessions"));
    if chats.is_empty() && !none { Err(Trouble::Unreadable) } else { Ok(Answer::Chats(chats)) }
}

#[cfg(test)]
mod tests;
