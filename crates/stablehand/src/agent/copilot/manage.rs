//! How Copilot CLI is asked about itself: its version; everything else is said inside it.

use crate::manage::parse;
use crate::manage::{Capabilities, Recipe, Recipes};

pub(super) const CAN: Capabilities = Capabilities {
    streaming: true,
    thinking: true,
    resume: true,
    model: true,
    native_modes: &["agent", "plan", "autopilot"],
    force: true,
    sandbox: false,
    mcp: true,
    hooks: false,
    cloud: false,
};

const INSIDE_MCP: &str = "start `copilot` in a terminal and type /mcp";

pub(super) const RECIPES: Recipes = Recipes {
    credentials: &["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"],
    folders: &[],
    witnesses: &[],
    install: "npm install -g @github/copilot",
    version: Recipe::command(&["--version"], parse::version),
    login: Recipe::Unsupported("start `copilot` in a terminal: it says whether you are logged in"),
    about: Recipe::Unsupported("start `copilot` in a terminal and type /help"),
    models: Recipe::Unsupported("start `copilot` in a terminal and type /model"),
    mcp: Recipe::Unsupported(INSIDE_MCP),
    chats: Recipe::Unsupported("run `copilot --resume` in a terminal to choose one"),
    log_in: Recipe::Unsupported("start `copilot` in a terminal and type /login"),
    log_out: Recipe::Unsupported("start `copilot` in a terminal and type /logout"),
    enable_mcp: Recipe::Unsupported(INSIDE_MCP),
    disable_mcp: Recipe::Unsupported(INSIDE_MCP),
    log_in_mcp: Recipe::Unsupported(INSIDE_MCP),
    new_chat: Recipe::Unsupported("a chat begins with its first `stablehand run --agent copilot`"),
};
