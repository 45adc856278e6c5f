//! What to paste into an editor's settings.
//!
//! Owns the shapes of those settings. The command is the one that was typed, without the wish to print
//! it, and with what an editor needs where it starts things in another folder and with another PATH:
//! our program and files by their whole paths. Only the paste goes to standard output.

use super::serve::LOGIN;
use crate::choice::ChoiceArgs;
use crate::env::Env;
use crate::failure::Failure;
use crate::output;
use serde_json::{Map, json};
use stablehand_core::words;
use std::io::Write as _;
use std::path::Path;

/// The editors whose settings we know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Editor {
    /// Zed.
    Zed,
    /// The editors of JetBrains.
    Jetbrains,
    /// Neovim, with codecompanion.nvim or avante.nvim.
    Neovim,
}

/// Flags whose values are files or folders.
const PATHS: [&str; 4] = ["--agent-bin", "--workspace", "--log-dir", "--policy"];

/// How an editor is to start us.
struct Start {
    name: String,
    command: String,
    args: Vec<String>,
    /// The way to log in that we offer the editor. An agent that is passed through offers its own.
    login: Option<&'static str>,
}

/// Prints it.
pub(super) fn print(
    editor: Editor,
    choice: &ChoiceArgs,
    through: Option<&str>,
) -> Result<u8, Failure> {
    let env = Env::read()?;
    let typed = std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned());
    let here = std::env::current_dir().unwrap_or_default();
    let start = Start {
        name: format!("Stablehand ({})", shown(choice, through)?),
        command: env.program.display().to_string(),
        args: arguments(typed, &here),
        login: match through {
            Some(_) => None,
            None => choice.agent()?.row().manage.has_login().then_some(LOGIN),
        },
    };
    let (text, place) = match editor {
        Editor::Zed => (start.json(true), "the settings file of Zed (`zed: open settings file`)"),
        Editor::Jetbrains => (
            start.json(false),
            "`~/.jetbrains/acp.json` (\"Configure ACP Agents\" in the menu of the AI chat)",
        ),
        Editor::Neovim => (start.lua(), "your Neovim configuration; keep the plugin that you use"),
    };
    let code = output::print(&text)?;
    let place = format!("paste this into {place}\n");
    let _nobody_there = std::io::stderr().write_all(place.as_bytes());
    Ok(code)
}

/// What the agent is called.
fn shown(choice: &ChoiceArgs, through: Option<&str>) -> Result<String, Failure> {
    let Some(command) = through else { return Ok(choice.agent.clone()) };
    let words = words::split(command)
        .map_err(|why| Failure::usage(format!("--through '{command}' is no command: {why}")))?;
    let program = words.first().map(Path::new).and_then(Path::file_name);
    Ok(program.unwrap_or_default().to_string_lossy().into_owned())
}

/// What was typed, without the wish to print it; files by their whole paths.
fn arguments(typed: impl Iterator<Item = String>, here: &Path) -> Vec<String> {
    let mut args: Vec<String> = Vec::new();
    let mut typed = typed.peekable();
    let whole = |value: &str| {
        // What is no file may be a ready-made policy.
        let path = here.join(value);
        if path.exists() { path.display().to_string() } else { value.to_owned() }
    };
    while let Some(arg) = typed.next() {
        if arg == "--" {
            args.push(arg);
            args.extend(typed.by_ref());
        } else if arg == "--print-config" {
            typed.next();
        } else if let Some((flag, value)) =
            arg.split_once('=').filter(|(flag, _)| PATHS.contains(flag))
        {
            args.push(format!("{flag}={}", whole(value)));
        } else if PATHS.contains(&arg.as_str()) {
            args.push(arg);
            args.extend(typed.next().map(|value| whole(&value)));
        } else if !arg.starts_with("--print-config=") {
            args.push(arg);
        }
    }
    args
}

impl Start {
    fn json(&self, custom: bool) -> String {
        let mut server = Map::new();
        if custom {
            server.insert("type".to_owned(), "custom".into());
        }
        server.insert("command".to_owned(), self.command.as_str().into());
        server.insert("args".to_owned(), self.args.clone().into());
        server.insert("env".to_owned(), json!({}));
        let settings = json!({ "agent_servers": { self.name.as_str(): server } });
        format!("{}\n", serde_json::to_string_pretty(&settings).unwrap_or_default())
    }

    fn lua(&self) -> String {
        let words = std::iter::once(&self.command).chain(&self.args);
        let all: Vec<String> = words.map(|word| quoted(word)).collect();
        let (name, command) = (quoted(&self.name), quoted(&self.command));
        let args = all.get(1..).unwrap_or_default().join(", ");
        let all = all.join(", ");
        // CodeCompanion refuses a way to log in that its adapter names and the agent does not offer.
        // The adapter that is extended here names none, and sets no variables.
        let login = match self.login {
            Some(method) => {
                format!("          defaults = {{ auth_method = {} }},\n", quoted(method))
            }
            None => String::new(),
        };
        format!(
            "-- codecompanion.nvim\n\
             require(\"codecompanion\").setup({{\n\
             \x20 adapters = {{\n\
             \x20   acp = {{\n\
             \x20     stablehand = function()\n\
             \x20       return require(\"codecompanion.adapters\").extend(\"goose\", {{\n\
             \x20         name = \"stablehand\",\n\
             \x20         formatted_name = {name},\n\
             \x20         commands = {{ default = {{ {all} }} }},\n\
             {login}\
             \x20       }})\n\
             \x20     end,\n\
             \x20   }},\n\
             \x20 }},\n\
             \x20 interactions = {{ chat = {{ adapter = \"stablehand\" }} }},\n\
             }})\n\
             \n\
             -- avante.nvim\n\
             require(\"avante\").setup({{\n\
             \x20 provider = \"stablehand\",\n\
             \x20 acp_providers = {{\n\
             \x20   stablehand = {{\n\
             \x20     command = {command},\n\
             \x20     args = {{ {args} }},\n\
             \x20     env = vim.fn.environ(), -- without it the agent has PATH and nothing else\n\
             \x20   }},\n\
             \x20 }},\n\
             }})\n"
        )
    }
}

/// As a string of Lua.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for sign in text.chars() {
        match sign {
            '"' | '\\' => out.extend(['\\', sign]),
            '\n' => out.push_str("\\n"),
            sign => out.push(sign),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(args: &[&str]) -> Vec<String> {
        arguments(args.iter().map(|arg| (*arg).to_owned()), Path::new("/"))
    }

    #[test]
    fn the_command_is_what_was_typed_without_the_wish_to_print() {
        let args = ["acp", "--print-config", "zed", "--policy", "etc", "--policy=read-only"];
        assert_eq!(typed(&args), ["acp", "--policy", "/etc", "--policy=read-only"]);
        let args = ["acp", "--print-config=zed", "--agent", "pony", "--", "--print-config", "x"];
        assert_eq!(typed(&args), ["acp", "--agent", "pony", "--", "--print-config", "x"]);
    }

    #[test]
    fn words_are_strings_of_lua() {
        assert_eq!(quoted("a \"b\" \\ c\n"), r#""a \"b\" \\ c\n""#);
    }
}
