//! What an agent says and does, in words that belong to no agent.
//!
//! Owns the vocabulary between a script and a dialect: [`crate::script`] makes acts, the files in
//! `dialect/` write each as the lines of one agent. Nothing here knows JSON or processes.

use serde_json::Value;
use std::time::Duration;

/// One thing that an agent tells.
#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    /// The session begins, under this id where the script names one.
    Begins(Option<String>),
    /// The prompt, which some agents echo.
    Prompt(String),
    /// A piece of thinking.
    ThoughtPiece(String),
    /// The thinking is over.
    ThoughtEnds,
    /// A piece of a message.
    Piece(String),
    /// A whole message; the pieces before it, if any, were its parts.
    Message(String, Place),
    /// A tool begins.
    ToolBegins(Call),
    /// It ends.
    ToolEnds(Call, Ending),
    /// The list of things to do, as it stands now.
    Plan(Vec<Todo>),
    /// A request failed and is tried again.
    Retries {
        /// Which attempt, from 1.
        attempt: u32,
        /// Why.
        trouble: Trouble,
    },
    /// What the turn has used, for whoever states it later.
    Uses {
        /// Tokens sent.
        input: u64,
        /// Tokens received.
        output: u64,
    },
    /// The turn fails for a reason that every agent has its own words for.
    Fails(Trouble),
    /// The turn is over.
    Ends {
        /// The final text; where there is none, what was said.
        text: Option<String>,
        /// Whether the agent calls it failed.
        failed: bool,
    },
    /// What only Cursor's stream has.
    Cursor(CursorAct),
}

/// What only Cursor's stream has.
#[derive(Debug, Clone, PartialEq)]
pub enum CursorAct {
    /// Any tool by its own name begins.
    ToolBegins {
        /// The id of the call.
        id: String,
        /// As `lsToolCall`.
        kind: String,
        /// Its arguments.
        args: Value,
    },
    /// Any tool by its own name ends.
    ToolEnds {
        /// The id of the call.
        id: String,
        /// As `lsToolCall`.
        kind: String,
        /// With one outcome key.
        result: Value,
    },
    /// A shell goes to the background.
    ShellInBackground {
        /// The id of the call.
        id: String,
        /// The command.
        command: String,
    },
}

/// Where a message stands in its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A tool follows.
    BeforeTool,
    /// It is the last.
    Last,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The id in the script; a dialect makes its own of it.
    pub id: String,
    /// What it is to do.
    pub work: Work,
}

/// What a tool is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// Run a command, within a time where there is one.
    Shell {
        /// The command line.
        command: String,
        /// The timeout that the agent declares.
        timeout: Option<Duration>,
    },
    /// Read a file.
    Read {
        /// Which.
        path: String,
    },
    /// Make a file.
    Write {
        /// Which.
        path: String,
        /// What is in it then.
        content: String,
    },
    /// A tool of an MCP server.
    Mcp {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
    },
    /// A task for another agent.
    Task {
        /// What it is to do.
        description: String,
    },
}

/// How a call ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// As it should; a dialect has an invented result for it.
    Well,
    /// A command ended.
    Exited {
        /// With which code.
        code: i32,
        /// What it wrote to its standard output.
        stdout: String,
        /// What it wrote to its standard error.
        stderr: String,
        /// How long it ran.
        took: Duration,
    },
    /// Somebody said no.
    Refused {
        /// In these words.
        reason: String,
    },
}

/// The content of every file that a script reads.
pub(crate) const FILE: &str = "oats\n";

/// One entry of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Todo {
    /// What is to be done.
    pub text: String,
    /// How far it is.
    pub state: TodoState,
}

/// How far an entry of a plan is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TodoState {
    /// Not begun.
    Open,
    /// Begun.
    Current,
    /// Done.
    Done,
}

impl TodoState {
    /// The word that most agents have for it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            TodoState::Open => "pending",
            TodoState::Current => "in_progress",
            TodoState::Done => "completed",
        }
    }
}

/// Why a request to the model failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// The key is not accepted.
    Auth,
    /// Too many requests.
    RateLimit,
    /// The service has too much to do.
    Overloaded,
    /// The conversation does not fit.
    ContextLength,
    /// The service failed.
    Server,
}

impl Trouble {
    /// Every one, for messages and tests.
    pub const ALL: [Trouble; 5] = [
        Trouble::Auth,
        Trouble::RateLimit,
        Trouble::Overloaded,
        Trouble::ContextLength,
        Trouble::Server,
    ];

    /// Its word in a script.
    pub fn word(self) -> &'static str {
        match self {
            Trouble::Auth => "auth",
            Trouble::RateLimit => "rate-limit",
            Trouble::Overloaded => "overloaded",
            Trouble::ContextLength => "context-length",
            Trouble::Server => "server",
        }
    }

    /// The one of that word.
    pub fn from_word(word: &str) -> Option<Trouble> {
        Trouble::ALL.into_iter().find(|trouble| trouble.word() == word)
    }
}
