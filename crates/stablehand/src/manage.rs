//! What can be asked of an agent beside its work: version, login, models, MCP servers, chats.
//!
//! One set of words for all agents. A [`Question`] or an [`Action`] is looked up in the agent's
//! [`Recipes`], which live beside its launch row: native arguments, or files, and a pure parser.
//! [`Desk`] carries a recipe out. A parser claims only what it has read: what it does not know is
//! [`Trouble::Unreadable`], never a guess.
//!
//! This file owns the words. It asks nobody ([`mod@desk`]), starts nothing ([`mod@native`]) and
//! remembers nothing ([`mod@cache`]).

pub mod cache;
pub mod desk;
pub mod native;
pub mod parse;
pub mod place;
pub mod status;
pub mod transcript;

pub use desk::{AgentHomes, AskError, Desk, Fresh};
pub use native::Output;
pub use place::Place;
pub use status::{AgentProgram, AgentStatus};
pub use transcript::{Transcript, Transcripts};

use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;

/// How long a native command may take, unless its recipe says otherwise: several agents need two
/// seconds to say their version, and five on a busy machine.
pub const COMMAND_LIMIT: Duration = Duration::from_secs(10);

/// How long one may take that starts servers or asks a network.
pub const SLOW_COMMAND_LIMIT: Duration = Duration::from_secs(30);

/// What can be asked. Nothing changes by it, so an answer may be remembered for a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Question {
    /// Which version it is.
    Version,
    /// Whether it is logged in, and as whom.
    Login,
    /// Its default model, and other facts about it.
    About,
    /// Which models it offers.
    Models,
    /// Which MCP servers it knows, and how they are.
    Mcp,
    /// Which chats can be resumed from here.
    Chats,
}

/// What can be done. Nothing of this is remembered, and it makes what was remembered worthless.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Log in.
    LogIn,
    /// Log out.
    LogOut,
    /// Let an MCP server be used.
    EnableMcp,
    /// Let it be used no longer.
    DisableMcp,
    /// Log in to an MCP server.
    LogInMcp,
    /// Begin a chat, without a word in it.
    NewChat,
}

/// What an agent answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// To [`Question::Version`].
    Version(String),
    /// To [`Question::Login`].
    Login(Login),
    /// To [`Question::About`].
    About(About),
    /// To [`Question::Models`].
    Models(Vec<Model>),
    /// To [`Question::Mcp`].
    Mcp(Vec<McpServer>),
    /// To [`Question::Chats`].
    Chats(Vec<Chat>),
    /// An action is done; what the agent said about it.
    Done(String),
    /// To [`Action::NewChat`]: its id.
    Created(String),
}

/// Whether an agent is logged in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoginState {
    /// It says so.
    In,
    /// It says that it is not.
    Out,
    /// It cannot be told from here.
    Unknown,
}

/// A login, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Login {
    /// In, out or unknown.
    pub state: LoginState,
    /// Who: an e-mail address or an organisation.
    pub account: Option<String>,
    /// By what: an account, an API key and where it comes from, a list of providers.
    pub method: Option<String>,
}

impl Login {
    /// Logged in.
    pub fn yes(account: Option<String>, method: impl Into<String>) -> Login {
        Login { state: LoginState::In, account, method: Some(method.into()) }
    }

    /// Not logged in.
    pub fn no() -> Login {
        Login { state: LoginState::Out, account: None, method: None }
    }

    /// Nobody can tell; `method` says what is known.
    pub fn unknown(method: impl Into<String>) -> Login {
        Login { state: LoginState::Unknown, account: None, method: Some(method.into()) }
    }
}

/// What an agent says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The model that it uses when none is named; absent where it is left to the agent.
    pub model: Option<String>,
    /// Other facts, in the agent's order.
    pub facts: Vec<(String, String)>,
}

/// A model on offer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Model {
    /// What `--model` takes.
    pub id: String,
    /// Its name for people, where it has another.
    pub name: Option<String>,
    /// Whether the agent marks it as its default.
    pub default: bool,
    /// Whether the agent marks it as the one that is chosen now: it is used when none is named.
    #[serde(default)]
    pub current: bool,
}

impl Model {
    /// Returns the one that is used when none is named: the current one, else the agent's default.
    pub fn in_use(models: &[Model]) -> Option<&Model> {
        let current = models.iter().find(|model| model.current);
        current.or_else(|| models.iter().find(|model| model.default))
    }
}

/// How an MCP server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum McpState {
    /// It was tried and answers.
    Connected,
    /// It may be used; the agent has not tried it.
    Enabled,
    /// It may not be used.
    Disabled,
    /// It was tried and does not answer.
    Failed,
    /// A person has to allow it first.
    NeedsApproval,
    /// A person has to log in to it first.
    NeedsLogin,
    /// The agent says something else of it.
    Unknown,
}

/// An MCP server that an agent knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpServer {
    /// Its name.
    pub name: String,
    /// How it is.
    pub state: McpState,
    /// Its program without arguments, or its address without query and user: the rest may be secret.
    pub target: Option<String>,
    /// What the agent said about its state.
    pub detail: Option<String>,
}

/// A chat that can be resumed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chat {
    /// What `--resume` takes.
    pub id: String,
    /// What it is about.
    pub title: Option<String>,
    /// When it was last used, in milliseconds since 1970.
    pub updated_ms: Option<i64>,
    /// The same in the agent's words, where it gives no time.
    pub updated: Option<String>,
}

/// Why a parser gives no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It does not know what was said.
    Unreadable,
    /// The agent said no, in these words.
    Refused(String),
}

/// What a parser is given.
#[derive(Debug)]
pub struct Heard<'a> {
    /// What the command printed; absent where a recipe has files only.
    pub output: Option<&'a Output>,
    /// The files of the recipe in its order, where they exist.
    pub files: &'a [Option<Vec<u8>>],
    /// Which of the agent's [`Recipes::credentials`] are set.
    pub set: &'a [&'static str],
    /// The newest transcripts, where the recipe wants them and they can be found.
    pub transcripts: Option<&'a [Transcript]>,
    /// The working directory.
    pub work: &'a Path,
}

impl Heard<'_> {
    /// The n-th file of the recipe.
    pub fn file(&self, index: usize) -> Option<&[u8]> {
        self.files.get(index).and_then(|file| file.as_deref())
    }

    /// What the command printed.
    pub fn output(&self) -> Result<&Output, Trouble> {
        self.output.ok_or(Trouble::Unreadable)
    }

    /// Whether a variable is set.
    pub fn has(&self, variable: &str) -> bool {
        self.set.contains(&variable)
    }
}

/// A pure reader of what was heard.
pub type Parse = fn(&Heard<'_>) -> Result<Answer, Trouble>;

/// How one agent is asked one thing.
#[derive(Clone, Copy, Debug)]
pub enum Recipe {
    /// By a command, by files, or both.
    Ask(Ask),
    /// By a command on the person's own terminal.
    Terminal(&'static [&'static str]),
    /// Not at all; what to do instead.
    Unsupported(&'static str),
}

/// The arguments, the files and the parser. The word [`NAME`] among the arguments stands for the
/// name that the person gave.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    pub(crate) args: Option<&'static [&'static str]>,
    pub(crate) older: Option<&'static [&'static str]>,
    pub(crate) files: &'static [Place],
    pub(crate) transcripts: Option<Transcripts>,
    pub(crate) parse: Parse,
    pub(crate) limit: Duration,
    pub(crate) first_line: bool,
}

/// Stands for a name among arguments.
pub const NAME: &str = "{name}";

impl Recipe {
    pub(crate) const fn command(args: &'static [&'static str], parse: Parse) -> Recipe {
        Recipe::Ask(Ask {
            args: Some(args),
            older: None,
            files: &[],
            transcripts: None,
            parse,
            limit: COMMAND_LIMIT,
            first_line: false,
        })
    }

    pub(crate) const fn files(files: &'static [Place], parse: Parse) -> Recipe {
        Recipe::Ask(Ask {
            args: None,
            older: None,
            files,
            transcripts: None,
            parse,
            limit: COMMAND_LIMIT,
            first_line: false,
        })
    }

    /// By the transcripts that it keeps.
    pub(crate) const fn transcripts(transcripts: Transcripts, parse: Parse) -> Recipe {
        Recipe::Ask(Ask {
            args: None,
            older: None,
            files: &[],
            transcripts: Some(transcripts),
            parse,
            limit: COMMAND_LIMIT,
            first_line: false,
        })
    }

    /// Files that the parser wants as well.
    pub(crate) const fn with(self, files: &'static [Place]) -> Recipe {
        match self {
            Recipe::Ask(ask) => Recipe::Ask(Ask { files, ..ask }),
            other => other,
        }
    }

    /// It may take as long as starting servers takes.
    pub(crate) const fn slow(self) -> Recipe {
        match self {
            Recipe::Ask(ask) => Recipe::Ask(Ask { limit: SLOW_COMMAND_LIMIT, ..ask }),
            other => other,
        }
    }

    /// The arguments for versions that do not know the first ones.
    pub(crate) const fn older(self, args: &'static [&'static str]) -> Recipe {
        match self {
            Recipe::Ask(ask) => Recipe::Ask(Ask { older: Some(args), ..ask }),
            other => other,
        }
    }

    /// The first line is the whole answer: the program may stay after it.
    pub(crate) const fn first_line(self) -> Recipe {
        match self {
            Recipe::Ask(ask) => Recipe::Ask(Ask { first_line: true, ..ask }),
            other => other,
        }
    }

    /// Whether there is a way.
    pub const fn is_supported(&self) -> bool {
        !matches!(self, Recipe::Unsupported(_))
    }
}

/// How one agent is asked everything.
#[derive(Clone, Copy, Debug)]
pub struct Recipes {
    /// Variables that log in by being set. Only whether they are set is ever looked at.
    pub credentials: &'static [&'static str],
    /// Variables that name folders in which the agent keeps its files.
    pub folders: &'static [&'static str],
    /// Files that change when somebody logs in or out, so that no old answer outlives that.
    pub witnesses: &'static [Place],
    /// How to get it.
    pub install: &'static str,
    /// [`Question::Version`].
    pub version: Recipe,
    /// [`Question::Login`].
    pub login: Recipe,
    /// [`Question::About`].
    pub about: Recipe,
    /// [`Question::Models`].
    pub models: Recipe,
    /// [`Question::Mcp`].
    pub mcp: Recipe,
    /// [`Question::Chats`].
    pub chats: Recipe,
    /// [`Action::LogIn`].
    pub log_in: Recipe,
    /// [`Action::LogOut`].
    pub log_out: Recipe,
    /// [`Action::EnableMcp`].
    pub enable_mcp: Recipe,
    /// [`Action::DisableMcp`].
    pub disable_mcp: Recipe,
    /// [`Action::LogInMcp`].
    pub log_in_mcp: Recipe,
    /// [`Action::NewChat`].
    pub new_chat: Recipe,
}

impl Recipes {
    /// Returns false for an agent that needs no login: its answer about that depends on nothing.
    pub const fn has_login(&self) -> bool {
        !matches!(self.login, Recipe::Ask(Ask { args: None, files: [], transcripts: None, .. }))
    }

    /// How a question is asked.
    pub fn question(&self, question: Question) -> &Recipe {
        match question {
            Question::Version => &self.version,
            Question::Login => &self.login,
            Question::About => &self.about,
            Question::Models => &self.models,
            Question::Mcp => &self.mcp,
            Question::Chats => &self.chats,
        }
    }

    /// How an action is taken.
    pub fn action(&self, action: Action) -> &Recipe {
        match action {
            Action::LogIn => &self.log_in,
            Action::LogOut => &self.log_out,
            Action::EnableMcp => &self.enable_mcp,
            Action::DisableMcp => &self.disable_mcp,
            Action::LogInMcp => &self.log_in_mcp,
            Action::NewChat => &self.new_chat,
        }
    }
}

impl Question {
    /// Short and fixed, for file names and messages.
    pub fn name(self) -> &'static str {
        match self {
            Question::Version => "version",
            Question::Login => "login",
            Question::About => "about",
            Question::Models => "models",
            Question::Mcp => "mcp",
            Question::Chats => "chats",
        }
    }

    /// What is not supported, in words that fit behind "cannot".
    fn wish(self) -> &'static str {
        match self {
            Question::Version => "tell its version",
            Question::Login => "tell whether it is logged in",
            Question::About => "tell about itself",
            Question::Models => "list its models",
            Question::Mcp => "list its MCP servers",
            Question::Chats => "list its chats",
        }
    }
}

impl Action {
    fn wish(self) -> &'static str {
        match self {
            Action::LogIn => "log in by a command",
            Action::LogOut => "log out by a command",
            Action::EnableMcp => "enable an MCP server by a command",
            Action::DisableMcp => "disable an MCP server by a command",
            Action::LogInMcp => "log in to an MCP server by a command",
            Action::NewChat => "begin an empty chat",
        }
    }
}

/// What an agent can do, as far as a run of it is concerned. Whether it can list its models, its
/// MCP servers and its chats is said by its [`Recipes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Capabilities {
    /// Text as it is made.
    pub streaming: bool,
    /// Its thoughts are in its output.
    pub thinking: bool,
    /// A session can be continued.
    pub resume: bool,
    /// A model can be chosen.
    pub model: bool,
    /// Ways to work that can be chosen with its own options, in its own words.
    pub native_modes: &'static [&'static str],
    /// It can be told to run everything without asking.
    pub force: bool,
    /// It confines commands, or can.
    pub sandbox: bool,
    /// It uses MCP servers.
    pub mcp: bool,
    /// It calls hooks.
    pub hooks: bool,
    /// It can work on its maker's machines.
    pub cloud: bool,
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
