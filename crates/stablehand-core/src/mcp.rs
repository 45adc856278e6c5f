//! Servers of tools that an agent is given for one session, in words that belong to no agent.
//!
//! Owns the values only: how an agent is told of them is in its own speaker or among its arguments.

/// A server of the Model Context Protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpServer {
    /// Its name.
    pub name: String,
    /// How it is reached.
    pub transport: McpTransport,
}

/// How a server is reached.
#[derive(Clone, PartialEq, Eq)]
pub enum McpTransport {
    /// The agent starts it and talks over its standard streams.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables for it. The values may be secrets.
        env: Vec<(String, String)>,
    },
    /// Over HTTP.
    Http {
        /// Where.
        url: String,
        /// With these headers. The values may be secrets.
        headers: Vec<(String, String)>,
    },
    /// Over HTTP with server-sent events, as it was done before.
    Sse {
        /// Where.
        url: String,
        /// With these headers. The values may be secrets.
        headers: Vec<(String, String)>,
    },
}

impl McpTransport {
    /// Its word in messages.
    pub fn word(&self) -> &'static str {
        match self {
            McpTransport::Stdio { .. } => "stdio",
            McpTransport::Http { .. } => "http",
            McpTransport::Sse { .. } => "sse",
        }
    }
}

impl std::fmt::Debug for McpTransport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The rest may hold secrets.
        let named = match self {
            McpTransport::Stdio { command, .. } => command,
            McpTransport::Http { url, .. } | McpTransport::Sse { url, .. } => url,
        };
        write!(f, "{}({named})", self.word())
    }
}

/// Which servers can be given to an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct McpTakes {
    /// Those that it starts.
    pub stdio: bool,
    /// Those over HTTP.
    pub http: bool,
    /// Those over HTTP with server-sent events.
    pub sse: bool,
}

impl McpTakes {
    /// None at all.
    pub const NONE: McpTakes = McpTakes { stdio: false, http: false, sse: false };

    /// Whether one of that kind can be given.
    pub fn takes(self, transport: &McpTransport) -> bool {
        match transport {
            McpTransport::Stdio { .. } => self.stdio,
            McpTransport::Http { .. } => self.http,
            McpTransport::Sse { .. } => self.sse,
        }
    }
}
