//! How the built-in agent is asked about itself: it is our own program.

use crate::manage::parse;
use crate::manage::{About, Answer, Capabilities, Heard, Login, Model, Recipe, Recipes, Trouble};

pub(super) const CAN: Capabilities = Capabilities {
    streaming: true,
    thinking: true,
    resume: true,
    model: true,
    native_modes: &["plan"],
    force: false,
    sandbox: false,
    mcp: false,
    hooks: false,
    cloud: false,
};

const NO_LOGIN: &str = "nothing; it needs no account";
const NO_MCP: &str = "use another agent; the demo agent plays scenes and has no servers";

pub(super) const RECIPES: Recipes = Recipes {
    credentials: &[],
    folders: &[],
    witnesses: &[],
    install: "nothing to do; it is built in",
    version: Recipe::command(&["--version"], parse::version),
    login: Recipe::files(&[], login),
    about: Recipe::files(&[], about),
    models: Recipe::files(&[], models),
    mcp: Recipe::Unsupported(NO_MCP),
    chats: Recipe::Unsupported("give any id to `stablehand run --agent demo --resume`"),
    log_in: Recipe::Unsupported(NO_LOGIN),
    log_out: Recipe::Unsupported(NO_LOGIN),
    enable_mcp: Recipe::Unsupported(NO_MCP),
    disable_mcp: Recipe::Unsupported(NO_MCP),
    log_in_mcp: Recipe::Unsupported(NO_MCP),
    new_chat: Recipe::Unsupported("a chat begins with its first `stablehand run --agent demo`"),
};

/// The model that the demo agent names when it is told none.
const MODEL: &str = "Demo 1";

#[expect(clippy::unnecessary_wraps, reason = "a parser")]
fn login(_: &Heard<'_>) -> Result<Answer, Trouble> {
    Ok(Answer::Login(Login::yes(None, "needs no account")))
}

#[expect(clippy::unnecessary_wraps, reason = "a parser")]
fn about(_: &Heard<'_>) -> Result<Answer, Trouble> {
    Ok(Answer::About(About { model: Some(MODEL.into()), facts: Vec::new() }))
}

#[expect(clippy::unnecessary_wraps, reason = "a parser")]
fn models(_: &Heard<'_>) -> Result<Answer, Trouble> {
    let demo = Model { id: MODEL.into(), name: None, default: true, current: false };
    Ok(Answer::Models(vec![demo]))
}
