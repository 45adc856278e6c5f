//! What a policy is asked, and what it may ask of the machine.
//!
//! Plain values; the answer is core's, because it stands in the log. How a call becomes parts is
//! `parts`'s, how a part is judged `judge`'s.

use serde_json::Value;
use stablehand_core::event::{ToolInput, ToolKind};

/// A tool call that has not run yet.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The agent's name.
    pub agent: &'a str,
    /// The agent's own name of the tool.
    pub tool: &'a str,
    /// What sort of tool.
    pub kind: ToolKind,
    /// What it is given, as far as we read it.
    pub input: &'a ToolInput,
    /// What else it is given that is judged; a query among it is a pattern of file names.
    pub also: &'a [ToolInput],
    /// Everything it is given, for schemas; `Null` where the agent does not say.
    pub arguments: &'a Value,
    /// Where relative paths begin; the workspace where absent.
    pub cwd: Option<&'a str>,
}

/// What a policy has to know of the machine. The library has the real one; tests have tables.
pub trait World {
    /// The folder that the agent works in: absolute.
    fn workspace(&self) -> &str;

    /// The user's home, where there is one: absolute.
    fn home(&self) -> Option<&str>;

    /// An absolute path with every symbolic link in it followed. Of what does not exist, the part
    /// that does is followed. `None` where that cannot be found out, such as in a loop of links.
    fn real(&self, path: &str) -> Option<String>;

    /// Files of ours that no wildcard may open for writing: absolute paths.
    fn protected(&self) -> &[String] {
        &[]
    }

    /// What is wrong with a tool's arguments by a JSON Schema; `None` where they are as they should be.
    fn schema_error(&self, schema: &Value, arguments: &Value) -> Option<String>;
}
