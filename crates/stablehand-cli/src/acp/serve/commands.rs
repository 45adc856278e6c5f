//! The commands that we answer ourselves, without a turn of the agent: `/status` and its like.
//!
//! Owns their names and the words of their answers. What is asked of an agent, and how long that may
//! take, is the library's ([`stablehand::manage`]).

use crate::env::Env;
use crate::manage::{How, desk, login_words};
use agent_client_protocol::v1::schema::{
    AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, SessionUpdate,
    UnstructuredCommandInput,
};
use stablehand::agent::Agent;
use stablehand::error_chain;
use stablehand::manage::desk::Step;
use stablehand::manage::{Action, Answer, AskError, Desk, Model, Question};
use stablehand_core::event::Tokens;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A command that was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Status,
    Models,
    /// The model that is wanted; none asks which it is.
    Model(Option<String>),
    Mcp,
    LogIn,
    LogOut,
    Stats,
}

/// Each with what it does, and what may follow it.
const ALL: &[(&str, &str, Option<&str>)] = &[
    ("status", "Is the agent there, and logged in?", None),
    ("models", "The models that the agent offers", None),
    ("model", "Use another model from the next prompt on", Some("the model's id")),
    ("mcp", "The MCP servers that the agent knows", None),
    ("login", "How to log in", None),
    ("logout", "Log the agent out", None),
    ("stats", "What this session has used so far, and where its log is", None),
];

impl Command {
    /// The command that a prompt is. Anything else is the agent's.
    pub(super) fn of(prompt: &str) -> Option<Command> {
        let text = prompt.trim().strip_prefix('/')?;
        let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let rest = rest.trim();
        match (name, rest) {
            ("model", "") => Some(Command::Model(None)),
            ("model", model) if !model.contains(char::is_whitespace) => {
                Some(Command::Model(Some(model.to_owned())))
            }
            ("status", "") => Some(Command::Status),
            ("models", "") => Some(Command::Models),
            ("mcp", "") => Some(Command::Mcp),
            ("login", "") => Some(Command::LogIn),
            ("logout", "") => Some(Command::LogOut),
            ("stats", "") => Some(Command::Stats),
            _ => None,
        }
    }
}

/// All of them, for the editor.
pub(super) fn available() -> SessionUpdate {
    let command = |(name, what, input): &(&str, &str, Option<&str>)| {
        let hint =
            |hint: &str| AvailableCommandInput::Unstructured(UnstructuredCommandInput::new(hint));
        AvailableCommand::new(*name, *what).input(input.map(hint))
    };
    let commands = ALL.iter().map(command).collect();
    SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(commands))
}

/// Whom we ask.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) agent: Agent,
    pub(super) program: PathBuf,
    desk: Desk,
}

/// What is known of a session here.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    pub(super) model: Option<String>,
    pub(super) tokens: Option<Tokens>,
    pub(super) turns: u64,
    pub(super) native: Option<String>,
    pub(super) log: Option<PathBuf>,
}

impl Asked {
    /// The agent, for somebody who works there.
    pub(super) fn new(agent: Agent, program: PathBuf, env: &Env, cwd: &Path) -> Asked {
        let mut desk = desk(env, &How::default());
        cwd.clone_into(&mut desk.around.work);
        Asked { agent, program, desk }
    }

    /// The models that it offers; none where it cannot say.
    pub(super) fn models(&self) -> Option<Vec<Model>> {
        match self.ask(Question::Models) {
            Ok(Answer::Models(models)) => Some(models),
            _ => None,
        }
    }

    /// Logs it out; what it said.
    pub(super) fn log_out(&self) -> Result<String, String> {
        self.act(Action::LogOut)
    }

    /// Whether it is logged in; none where it cannot say.
    pub(super) fn is_logged_in(&self) -> Option<bool> {
        use stablehand::manage::LoginState;
        match self.ask(Question::Login) {
            Ok(Answer::Login(login)) => match login.state {
                LoginState::In => Some(true),
                LoginState::Out => Some(false),
                LoginState::Unknown => None,
            },
            _ => None,
        }
    }

    /// The answer to a command, in Markdown. Takes as long as the agent's own programs do.
    pub(super) fn answer(&self, command: &Command, known: &Known) -> String {
        match command {
            Command::Status => self.status(),
            Command::Models => match self.ask(Question::Models) {
                Ok(Answer::Models(models)) => list_models(&models, known.model.as_deref()),
                other => not_known(other),
            },
            Command::Model(_) => match &known.model {
                Some(model) => format!("The model is `{model}`."),
                None => "The agent uses its default model.".to_owned(),
            },
            Command::Mcp => match self.ask(Question::Mcp) {
                Ok(Answer::Mcp(servers)) if servers.is_empty() => "No MCP servers.".to_owned(),
                Ok(Answer::Mcp(servers)) => {
                    let line = |server: &stablehand::manage::McpServer| {
                        let state = serde_json::to_value(server.state).unwrap_or_default();
                        let state = state.as_str().unwrap_or_default().replace('_', " ");
                        let target = server.target.as_deref().unwrap_or_default();
                        format!("- `{}`: {state} {target}", server.name)
                    };
                    servers.iter().map(line).collect::<Vec<_>>().join("\n")
                }
                other => not_known(other),
            },
            Command::LogIn => self.how_to_log_in(),
            Command::LogOut => self.log_out().unwrap_or_else(|why| why),
            Command::Stats => stats(known),
        }
    }

    fn status(&self) -> String {
        let mut text = format!("**{}** (`{}`)\n", self.agent.name(), self.program.display());
        if let Ok(Answer::Version(version)) = self.ask(Question::Version) {
            let _infallible = writeln!(text, "- version: {version}");
        }
        match self.ask(Question::Login) {
            Ok(Answer::Login(login)) => {
                let _infallible = writeln!(text, "- {}", login_words(&login).0);
            }
            other => {
                let _infallible = writeln!(text, "- login: {}", not_known(other));
            }
        }
        if let Ok(Answer::About(about)) = self.ask(Question::About)
            && let Some(model) = about.model
        {
            let _infallible = writeln!(text, "- default model: {model}");
        }
        text
    }

    fn how_to_log_in(&self) -> String {
        let name = self.agent.name();
        match self.is_logged_in() {
            Some(true) => format!("{name} is logged in."),
            _ => format!("Run this in a terminal:\n\n    stablehand login --agent {name}\n"),
        }
    }

    fn ask(&self, question: Question) -> Result<Answer, AskError> {
        self.desk.ask(self.agent, &self.program, question).map(|(answer, _)| answer)
    }

    fn act(&self, action: Action) -> Result<String, String> {
        match self.desk.act(self.agent, &self.program, action, None) {
            Ok(Step::Done(Answer::Done(said))) if !said.trim().is_empty() => Ok(said),
            Ok(Step::Done(_)) => Ok("Done.".to_owned()),
            Ok(Step::OnTerminal(_)) => Err(format!(
                "Run this in a terminal: `stablehand {} --agent {}`",
                if action == Action::LogOut { "logout" } else { "login" },
                self.agent.name()
            )),
            Err(error) => Err(error_chain(&error)),
        }
    }
}

fn list_models(models: &[Model], chosen: Option<&str>) -> String {
    if models.is_empty() {
        return "The agent names no models.".to_owned();
    }
    let chosen = chosen.or_else(|| Model::in_use(models).map(|model| model.id.as_str()));
    let line = |model: &Model| {
        let mark = if chosen == Some(model.id.as_str()) { " (in use)" } else { "" };
        match &model.name {
            Some(name) if *name != model.id => format!("- `{}`: {name}{mark}", model.id),
            _ => format!("- `{}`{mark}", model.id),
        }
    };
    models.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn stats(known: &Known) -> String {
    let mut text = format!("- turns: {}\n", known.turns);
    if let Some(tokens) = known.tokens {
        let _infallible = writeln!(
            text,
            "- tokens: {} in, {} out, {} from the cache",
            tokens.input, tokens.output, tokens.cache_read
        );
        if let Some(cost) = tokens.cost_usd {
            let _infallible = writeln!(text, "- cost: ${cost:.4}");
        }
    }
    if let Some(native) = &known.native {
        let _infallible = writeln!(text, "- the agent's session: `{native}`");
    }
    if let Some(log) = &known.log {
        let _infallible = writeln!(text, "- log: `{}`", log.display());
    }
    text
}

fn not_known(answer: Result<Answer, AskError>) -> String {
    match answer {
        Ok(_) => "The agent does not say.".to_owned(),
        Err(error) => error_chain(&error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_one_only_when_it_is_all_that_was_typed() {
        assert_eq!(Command::of(" /status "), Some(Command::Status));
        assert_eq!(Command::of("/model"), Some(Command::Model(None)));
        assert_eq!(Command::of("/model hay-2"), Some(Command::Model(Some("hay-2".into()))));
        for text in ["status", "/status of the fence", "/compact", "/model one two", "/", ""] {
            assert_eq!(Command::of(text), None, "{text}");
        }
    }

    #[test]
    fn every_command_that_is_offered_is_understood() {
        for (name, ..) in ALL {
            assert!(Command::of(&format!("/{name}")).is_some(), "{name}");
        }
    }
}
