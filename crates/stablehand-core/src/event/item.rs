//! Items: what an agent says and does between the beginning and the end of a turn.

use super::Outcome;
use crate::id::{CallId, ItemId};
use serde::{Deserialize, Serialize};

/// One thing with a beginning and an end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Item {
    /// Our ordinal; the same in `item.started`, `item.delta` and `item.completed`.
    pub id: ItemId,
    /// What it is.
    #[serde(flatten)]
    pub body: ItemBody,
}

/// What an item is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ItemBody {
    /// Text for the user.
    Message {
        /// The text so far.
        text: String,
    },
    /// The model's thinking.
    Reasoning {
        /// The text so far.
        text: String,
    },
    /// A tool call.
    Tool(Box<Tool>),
    /// The agent's list of things to do.
    Plan {
        /// The entries.
        todos: Vec<Todo>,
        /// A plan in prose, where the agent gives one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// A file was changed, reported apart from a tool call.
    FileChange {
        /// Which file.
        path: String,
        /// A unified diff, where the agent gives one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        diff: Option<String>,
    },
    /// Another agent at work for this one, reported apart from a tool call.
    SubAgent {
        /// What it is to do.
        description: String,
    },
    /// Work that goes on in the background after the call that began it returned: a command, a watch.
    BackgroundTask {
        /// The agent's word for its kind.
        task: String,
        /// What it is.
        description: String,
    },
    /// Something the agent wants known.
    Notice {
        /// How grave.
        level: NoticeLevel,
        /// The text.
        text: String,
    },
}

/// Whose text a delta extends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TextRole {
    /// Text for the user.
    Message,
    /// Thinking.
    Reasoning,
    /// Output of a running tool.
    ToolOutput,
}

/// How grave a notice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum NoticeLevel {
    /// Good to know.
    Info,
    /// Something is not as it should be.
    Warning,
    /// Something failed.
    Error,
}

/// One entry of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Todo {
    /// What is to be done.
    pub text: String,
    /// How far it is.
    pub status: TodoStatus,
}

/// How far an entry of a plan is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Not begun.
    Pending,
    /// Begun.
    InProgress,
    /// Done.
    Completed,
    /// Given up.
    Cancelled,
    /// The agent used a word that is not known.
    Unknown,
}

/// A tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tool {
    /// The agent's id of the call.
    pub call: CallId,
    /// The agent's own name of the tool.
    pub name: String,
    /// What sort of tool.
    pub tool_kind: ToolKind,
    /// What it was given.
    pub input: ToolInput,
    /// What else it was given that a policy judges: further paths, addresses and commands. A query here
    /// is a pattern of file names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<ToolInput>,
    /// The timeout that the agent declared, in milliseconds; absent where it says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Whether it goes on in the background after the call returned.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
    /// The process group of a background command, where the agent tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The agent's id of the model call that asked for it: calls of one step share it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// How it ended; absent while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// What it gave back, as text; left out when the stream is only skimmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// How long the whole output is, in bytes, where `output` is only the beginning of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<u64>,
    /// What it changed, as a unified diff; left out when the stream is only skimmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// How long it ran by the agent's own clock, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// A digest of name and input, and on completion of the result too: equal digests mean that
    /// the agent does the same again. Not on the wire.
    #[serde(skip)]
    pub digest: u64,
}

/// ACP's ten words for tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolKind {
    /// Reads files or data.
    Read,
    /// Changes files.
    Edit,
    /// Removes files.
    Delete,
    /// Moves or renames files.
    Move,
    /// Searches.
    Search,
    /// Runs commands.
    Execute,
    /// Thinks, plans, hands to a sub-agent.
    Think,
    /// Gets something from the network.
    Fetch,
    /// Changes the agent's mode.
    SwitchMode,
    /// Anything else.
    Other,
}

impl ToolKind {
    /// Every kind.
    const ALL: [ToolKind; 10] = [
        ToolKind::Read,
        ToolKind::Edit,
        ToolKind::Delete,
        ToolKind::Move,
        ToolKind::Search,
        ToolKind::Execute,
        ToolKind::Think,
        ToolKind::Fetch,
        ToolKind::SwitchMode,
        ToolKind::Other,
    ];

    /// Returns the word for it, the same in JSON, policies and tables.
    pub fn word(self) -> &'static str {
        match self {
            ToolKind::Read => "read",
            ToolKind::Edit => "edit",
            ToolKind::Delete => "delete",
            ToolKind::Move => "move",
            ToolKind::Search => "search",
            ToolKind::Execute => "execute",
            ToolKind::Think => "think",
            ToolKind::Fetch => "fetch",
            ToolKind::SwitchMode => "switch_mode",
            ToolKind::Other => "other",
        }
    }

    /// Returns the kind that has this word.
    pub fn by_word(word: &str) -> Option<ToolKind> {
        ToolKind::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// What a tool was given, as far as it is of use to judge and to show.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolInput {
    /// A shell command.
    Command {
        /// The command line.
        command: String,
        /// Where it runs, where stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cwd: Option<String>,
    },
    /// A file or folder.
    Path {
        /// The path, as the agent gave it.
        path: String,
    },
    /// A search.
    Query {
        /// What is looked for.
        query: String,
        /// Where.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
    },
    /// An address.
    Url {
        /// The address.
        url: String,
    },
    /// A tool of an MCP server.
    Mcp {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
    },
    /// A task for another agent.
    SubAgent {
        /// What it is to do, in a few words.
        description: String,
    },
    /// A list of things to do.
    Todos {
        /// The entries.
        todos: Vec<Todo>,
    },
    /// Anything else, in a few words; may be empty.
    Other {
        /// What there is to show.
        summary: String,
    },
}

impl ToolInput {
    /// What to call it in one line: the command, the path, the query.
    pub fn headline(&self) -> &str {
        match self {
            ToolInput::Command { command, .. } => command,
            ToolInput::Path { path } => path,
            ToolInput::Query { query, .. } => query,
            ToolInput::Url { url } => url,
            ToolInput::Mcp { tool, .. } => tool,
            ToolInput::SubAgent { description } => description,
            ToolInput::Todos { .. } => "",
            ToolInput::Other { summary } => summary,
        }
    }
}

/// How long a tool may reasonably be silent depends on this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolClass {
    /// A command.
    Execute,
    /// A tool of an MCP server.
    Mcp,
    /// Another agent.
    SubAgent,
    /// Reading, editing, searching on this machine.
    Local,
    /// The network.
    Fetch,
    /// Anything else.
    Other,
}

impl Tool {
    /// A call of which no more than this is known.
    pub fn new(
        call: CallId,
        name: impl Into<String>,
        tool_kind: ToolKind,
        input: ToolInput,
    ) -> Tool {
        Tool {
            call,
            name: name.into(),
            tool_kind,
            input,
            also: Vec::new(),
            timeout_ms: None,
            background: false,
            pid: None,
            step: None,
            outcome: None,
            output: None,
            output_bytes: None,
            diff: None,
            duration_ms: None,
            digest: 0,
        }
    }

    /// Whether it was made, and is more than a thought: rules are about what an agent does.
    pub fn was_done(&self) -> bool {
        matches!(self.outcome, Some(Outcome::Success | Outcome::Failure { .. }))
            && !matches!(self.tool_kind, ToolKind::Think | ToolKind::SwitchMode)
    }

    /// The class by which its silence is judged.
    pub fn class(&self) -> ToolClass {
        match (&self.input, self.tool_kind) {
            (ToolInput::Mcp { .. }, _) => ToolClass::Mcp,
            (ToolInput::SubAgent { .. }, _) => ToolClass::SubAgent,
            (_, ToolKind::Execute) => ToolClass::Execute,
            (_, ToolKind::Fetch) => ToolClass::Fetch,
            (
                _,
                ToolKind::Read
                | ToolKind::Edit
                | ToolKind::Delete
                | ToolKind::Move
                | ToolKind::Search,
            ) => ToolClass::Local,
            (_, ToolKind::Think | ToolKind::SwitchMode | ToolKind::Other) => ToolClass::Other,
        }
    }

    /// What to call it in one line: the command, the path, the query.
    pub fn headline(&self) -> &str {
        self.input.headline()
    }

    /// Whether running it again could do harm: then a prompt is never simply repeated.
    pub fn may_have_side_effects(&self) -> bool {
        match self.tool_kind {
            ToolKind::Read | ToolKind::Search | ToolKind::Think | ToolKind::SwitchMode => {
                matches!(self.input, ToolInput::SubAgent { .. } | ToolInput::Mcp { .. })
            }
            ToolKind::Edit
            | ToolKind::Delete
            | ToolKind::Move
            | ToolKind::Execute
            | ToolKind::Fetch
            | ToolKind::Other => true,
        }
    }
}
