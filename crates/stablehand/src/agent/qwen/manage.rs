//! How Qwen Code is asked about itself: like the Gemini CLI that it comes from.
//!
//! Its words are translated, so its settings and credential files are read for the login.

use crate::manage::parse::{self, lines, marked_servers, plain, said, setting};
use crate::manage::{About, Answer, Capabilities, Heard, Login, Place, Recipe, Recipes, Trouble};

pub(super) const CAN: Capabilities = Capabilities {
    streaming: true,
    thinking: true,
    resume: true,
    model: true,
    native_modes: &["plan", "default", "auto-edit", "yolo"],
    force: true,
    sandbox: true,
    mcp: true,
    hooks: true,
    cloud: false,
};

const fn in_home(file: &'static str) -> Place {
    Place::Home { variable: "", folder: ".qwen", file }
}

const NO_SWITCH: &str = "name the servers to use under `mcp.allowed`, or not to use under `mcp.excluded`, in \
     ~/.qwen/settings.json";

pub(super) const RECIPES: Recipes = Recipes {
    credentials: &["OPENAI_API_KEY", "DASHSCOPE_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"],
    folders: &[],
    witnesses: &[in_home("oauth_creds.json")],
    install: "npm install -g @qwen-code/qwen-code",
    version: Recipe::command(&["--version"], parse::version),
    login: Recipe::files(
        &[
            Place::Work(".qwen/settings.json"),
            in_home("settings.json"),
            in_home("oauth_creds.json"),
        ],
        login,
    ),
    about: Recipe::files(&[Place::Work(".qwen/settings.json"), in_home("settings.json")], about),
    models: Recipe::Unsupported("type /model inside `qwen` to see what there is"),
    mcp: Recipe::command(&["mcp", "list"], mcp).slow(),
    chats: Recipe::Unsupported(
        "run `qwen --resume` in a terminal to choose one, or give the id that a run printed to \
         `stablehand run --resume`",
    ),
    log_in: Recipe::Unsupported("start `qwen` in a terminal and type /auth"),
    log_out: Recipe::Unsupported("remove ~/.qwen/oauth_creds.json, or unset the API key"),
    enable_mcp: Recipe::Unsupported(NO_SWITCH),
    disable_mcp: Recipe::Unsupported(NO_SWITCH),
    log_in_mcp: Recipe::Unsupported("start `qwen` in a terminal and type /mcp"),
    new_chat: Recipe::Unsupported("a chat begins with its first `stablehand run --agent qwen`"),
};

fn login(heard: &Heard<'_>) -> Result<Answer, Trouble> {
    let chosen = setting(heard, 0..2, &[&["security", "auth", "selectedType"]])?;
    let key = RECIPES.credentials.iter().find(|name| heard.has(name));
    let login = match (chosen.as_deref(), key) {
        (Some("qwen-oauth"), _) if heard.file(2).is_some() => Login::yes(None, "Qwen account"),
        (Some("qwen-oauth"), _) | (None, None) => Login::no(),
        (Some("openai"), Some(name)) if *name == "OPENAI_API_KEY" => {
            Login::yes(None, format!("API key ({name})"))
        }
        (Some(other), _) => Login::unknown(format!("the login method `{other}`")),
        (None, Some(name)) => Login::unknown(format!("{name} is set, not tried")),
    };
    Ok(Answer::Login(login))
}

fn about(heard: &Heard<'_>) -> Result<Answer, Trouble> {
    let model = setting(heard, 0..2, &[&["model", "name"]])?;
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

#[cfg(test)]
mod tests;
