//! `stablehand policy check`: one call or prompt, its decision, the rule.

use super::find::SourceArgs;
use super::{ASKED, DENIED, explain};
use crate::env::Env;
use crate::failure::Failure;
use crate::output::print;
use serde_json::{Value, json};
use stablehand::Agent;
use stablehand::config::agent_names;
use stablehand::policy_world::FileWorld;
use stablehand_core::Dialect;
use stablehand_core::event::{Tool, ToolInput, ToolKind};
use stablehand_core::text::safe_json;
use stablehand_policy::{Action, Call};

/// Say what the policy decides of one call or prompt
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("what").multiple(false))]
pub(super) struct CheckArgs {
    #[command(flatten)]
    sources: SourceArgs,

    /// Which agent calls
    #[arg(long, value_name = "AGENT", default_value = Agent::DEFAULT.name())]
    agent: String,

    /// The agent's own name of the tool [default: by what is given]
    #[arg(long, value_name = "TOOL")]
    tool: Option<String>,

    /// What sort of tool: read, edit, delete, move, search, execute, think, fetch, `switch_mode` or
    /// other [default: by its name]
    #[arg(long, value_name = "KIND", value_parser = kind)]
    kind: Option<ToolKind>,

    /// A command line
    #[arg(long, value_name = "COMMAND", allow_hyphen_values = true, group = "what")]
    command: Option<String>,

    /// A file or folder
    #[arg(long, value_name = "PATH", allow_hyphen_values = true, group = "what")]
    path: Option<String>,

    /// An address
    #[arg(long, value_name = "URL", allow_hyphen_values = true, group = "what")]
    url: Option<String>,

    /// A prompt, held against the [[prompt]] rules
    #[arg(
        long,
        value_name = "TEXT",
        allow_hyphen_values = true,
        group = "what",
        conflicts_with_all = ["tool", "kind", "input", "cwd"]
    )]
    prompt: Option<String>,

    /// A tool of an MCP server
    #[arg(long, value_name = "SERVER:TOOL", group = "what")]
    mcp: Option<String>,

    /// The arguments of the tool as JSON
    #[arg(long, value_name = "JSON", value_parser = json_value)]
    input: Option<Value>,

    /// Where relative paths begin [default: the workspace]
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<String>,

    /// Print the decision as one JSON object
    #[arg(long)]
    json: bool,
}

fn kind(word: &str) -> Result<ToolKind, String> {
    ToolKind::by_word(word).ok_or_else(|| format!("`{word}` is no kind of tool"))
}

fn json_value(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("it is no JSON: {error}"))
}

/// Runs it.
pub(super) fn main(args: &CheckArgs, env: &Env) -> Result<u8, Failure> {
    let names = agent_names();
    if !names.contains(&args.agent.as_str()) {
        return Err(Failure::usage(format!("no agent is called `{}`", args.agent))
            .hint(format!("choose one of: {}", names.join(", "))));
    }
    let sources = args.sources.sources();
    let workspace = sources.workspace()?;
    let (policy, files) = sources.policy(&env.places())?;
    let world = FileWorld::new(&workspace, env.home.as_deref(), &files);
    let decision = if let Some(prompt) = &args.prompt {
        policy.prompt_rules(&args.agent).decide(prompt)
    } else {
        let (tool, arguments) = call(args)?;
        let call = Call {
            agent: &args.agent,
            tool: &tool.name,
            kind: tool.tool_kind,
            input: &tool.input,
            also: &tool.also,
            arguments: &arguments,
            cwd: args.cwd.as_deref(),
        };
        policy.decide(&call, &world)
    };
    let code = match decision.action {
        Action::Allow => 0,
        Action::Deny => DENIED,
        Action::Ask => ASKED,
    };
    if args.json {
        let text = serde_json::to_string(&decision)
            .map_err(|error| Failure::new(format!("failed to write the decision: {error}")))?;
        return print(&format!("{}\n", safe_json(&text))).map(|_| code);
    }
    let mut out = explain(&decision);
    if files.is_empty() && !sources.is_named() {
        out.push_str("no policy was found; name one with --policy or --profile\n");
    }
    print(&out).map(|_| code)
}

/// The call that was described, read as the agent's own calls are, and its arguments.
fn call(args: &CheckArgs) -> Result<(Tool, Value), Failure> {
    let (usual, kind, input, arguments) = if let Some(command) = &args.command {
        let input = ToolInput::Command { command: command.clone(), cwd: None };
        ("Shell", ToolKind::Execute, Some(input), json!({ "command": command }))
    } else if let Some(path) = &args.path {
        let input = ToolInput::Path { path: path.clone() };
        ("Read", ToolKind::Read, Some(input), json!({ "path": path }))
    } else if let Some(url) = &args.url {
        ("Fetch", ToolKind::Fetch, Some(ToolInput::Url { url: url.clone() }), json!({ "url": url }))
    } else if let Some(name) = &args.mcp {
        let Some((server, tool)) = name.split_once(':') else {
            return Err(Failure::usage(format!("`{name}` is no tool of a server"))
                .hint("write it as SERVER:TOOL"));
        };
        let input = ToolInput::Mcp { server: server.to_owned(), tool: tool.to_owned() };
        ("Mcp", ToolKind::Other, Some(input), Value::Null)
    } else {
        ("", ToolKind::Other, None, Value::Null)
    };
    let name = match &args.tool {
        Some(tool) => tool,
        None if usual.is_empty() => {
            return Err(Failure::usage("there is no call to judge")
                .hint("give --tool, --command, --path, --url, --mcp or --prompt"));
        }
        None => usual,
    };
    let arguments = args.input.clone().unwrap_or(arguments);
    let dialect = Agent::by_name(&args.agent).map_or(Dialect::Acp, Agent::dialect);
    let mut tool = dialect.read_call(name, &arguments);
    // What is given says more than a name that says nothing.
    if input.is_some() && (args.tool.is_none() || tool.tool_kind == ToolKind::Other) {
        tool.tool_kind = kind;
    }
    tool.tool_kind = args.kind.unwrap_or(tool.tool_kind);
    tool.input = input.unwrap_or(tool.input);
    Ok((tool, arguments))
}
