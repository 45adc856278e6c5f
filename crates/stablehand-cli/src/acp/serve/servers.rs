//! The servers of tools that an editor gives a session, in our words.

use agent_client_protocol::v1::schema::{HttpHeader, McpServer as Given};
use stablehand_core::mcp::{McpServer, McpTransport};

/// The servers that can be meant; what is of another kind was never offered.
pub(super) fn servers(given: Vec<Given>) -> Vec<McpServer> {
    let pairs = |headers: Vec<HttpHeader>| {
        headers.into_iter().map(|header| (header.name, header.value)).collect()
    };
    let server = |given| match given {
        Given::Stdio(it) => Some(McpServer {
            name: it.name,
            transport: McpTransport::Stdio {
                command: it.command.to_string_lossy().into_owned(),
                args: it.args,
                env: it.env.into_iter().map(|variable| (variable.name, variable.value)).collect(),
            },
        }),
        Given::Http(it) => Some(McpServer {
            name: it.name,
            transport: McpTransport::Http { url: it.url, headers: pairs(it.headers) },
        }),
        Given::Sse(it) => Some(McpServer {
            name: it.name,
            transport: McpTransport::Sse { url: it.url, headers: pairs(it.headers) },
        }),
        _ => None,
    };
    given.into_iter().filter_map(server).collect()
}
