//! What tells the agents of this stream apart. All else is the same for them.

use super::table::{Row, TABLE};
use crate::json::Value;

/// One agent that writes this stream.
#[derive(Debug)]
pub(in crate::decode) struct Flavor {
    /// Its name, as its dialect has it.
    pub(in crate::decode) agent: &'static str,
    /// The member of the first line that has its version.
    pub(in crate::decode) version: &'static str,
    /// Its tools.
    pub(in crate::decode) tools: &'static [Row],
    /// Finds the exit code of a command in the words of its result, which is an error or not.
    pub(in crate::decode) exit_code: fn(&str, bool) -> Option<i32>,
    /// Whether a message that looks like the model's is the agent's own word of a failed request;
    /// it is given as it stands on the line.
    pub(in crate::decode) is_failure_text: fn(&[u8]) -> bool,
}

/// Claude Code.
pub(super) const CLAUDE: Flavor = Flavor {
    agent: "claude",
    version: "claude_code_version",
    tools: TABLE,
    exit_code,
    // It marks such messages (`is_api_error_message`).
    is_failure_text: |_| false,
};

/// Claude Code's, for a decoder whose state is restored.
pub(super) fn claude() -> &'static Flavor {
    &CLAUDE
}

/// `Exit code 3`, the first line of a failed command's result. The words of any other are what the
/// command wrote.
fn exit_code(words: &str, is_error: bool) -> Option<i32> {
    let line = words.lines().next().filter(|_| is_error)?;
    let code = line.strip_prefix("Error: ").unwrap_or(line).strip_prefix("Exit code ")?;
    code.trim().parse().ok()
}

/// Whether a member is there and says something.
pub(super) fn says_something(value: Option<Value<'_>>) -> bool {
    value.is_some_and(|value| !value.is_null() && value.bool() != Some(false))
}
