//! How Antigravity CLI is asked about itself: its version; it logs in inside itself.

use crate::manage::parse;
use crate::manage::{Capabilities, Recipe, Recipes};

pub(super) const CAN: Capabilities = Capabilities {
    streaming: true,
    thinking: false,
    resume: true,
    model: true,
    native_modes: &["accept-edits", "plan"],
    force: true,
    sandbox: true,
    mcp: true,
    hooks: true,
    cloud: false,
};

const INSIDE: &str = "start `agy` in a terminal";
const INSIDE_MCP: &str = "start `agy` in a terminal and type /mcp";

pub(super) const RECIPES: Recipes = Recipes {
    credentials: &[],
    folders: &[],
    witnesses: &[],
    install: "see https://antigravity.google/docs/cli",
    version: Recipe::command(&["--version"], parse::version),
    login: Recipe::Unsupported("run `agy models`: it fails where you are not logged in"),
    about: Recipe::Unsupported(INSIDE),
    models: Recipe::Unsupported("run `agy models`"),
    mcp: Recipe::Unsupported(INSIDE_MCP),
    chats: Recipe::Unsupported("give the id that a run printed to `stablehand run --resume`"),
    log_in: Recipe::Unsupported("start `agy` in a terminal: it asks you to log in"),
    log_out: Recipe::Unsupported(INSIDE),
    enable_mcp: Recipe::Unsupported(INSIDE_MCP),
    disable_mcp: Recipe::Unsupported(INSIDE_MCP),
    log_in_mcp: Recipe::Unsupported(INSIDE_MCP),
    new_chat: Recipe::Unsupported("a chat begins with its first `stablehand run --agent agy`"),
};
