//! `stablehand agents|login|logout|status|about|models|mcp|chats`: the same words for all agents.
//!
//! This file owns the arguments and the choice of agents. Asking is the library's; what is printed
//! is in `overview` and `lists`; a login on this terminal in `terminal`.

mod lists;
mod overview;
mod terminal;

use crate::choice::agent_named;
use crate::duration;
use crate::env::Env;
use crate::failure::Failure;
use crate::output::{Paint, Progress, print_json};
use stablehand::agent::{Agent, Form};
use stablehand::error_chain;
use stablehand::manage::cache::Cache;
use stablehand::manage::desk::Step;
use stablehand::manage::{
    Action, AgentProgram, AgentStatus, Answer, AskError, Desk, LoginState, Question,
};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::output::print;
pub(crate) use overview::{login_words, statuses};

/// Whom to ask, and how.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct AskArgs {
    /// Only this agent [default: all, or all that are installed]
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,

    /// The agent's program [default: from PATH]
    #[arg(long, value_name = "PROGRAM", requires = "agent")]
    agent_bin: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    how: How,
}

/// How agents are asked.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct How {
    /// Ask again, whatever was answered in the last 30 seconds
    #[arg(long)]
    refresh: bool,

    /// Neither use nor keep remembered answers
    #[arg(long)]
    no_cache: bool,

    /// How long each native command may take [default: 10s, 30s for slow ones]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    timeout: Option<Duration>,
}

/// Who is to do something.
#[derive(Clone, Debug, clap::Args)]
pub struct ActArgs {
    /// Which agent [default: the one that is installed, if it is the only one]
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,

    /// The agent's program [default: from PATH]
    #[arg(long, value_name = "PROGRAM", requires = "agent")]
    agent_bin: Option<PathBuf>,

    /// How long a native command may take that needs no person [default: 10s, 30s for slow ones]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    timeout: Option<Duration>,
}

/// Who is to log in.
#[derive(Clone, Debug, clap::Args)]
pub struct LoginArgs {
    #[command(flatten)]
    act: ActArgs,

    /// Everything after -- goes to the agent's own login
    #[arg(last = true, value_name = "AGENT ARGS")]
    extra: Vec<OsString>,
}

/// Who is to do something with an MCP server.
#[derive(Clone, Debug, clap::Args)]
pub struct ServerArgs {
    /// The server, as `stablehand mcp list` names it
    #[arg(value_name = "NAME")]
    name: String,

    #[command(flatten)]
    act: ActArgs,
}

/// What can be done with MCP servers.
#[derive(Debug, clap::Subcommand)]
pub enum McpCommand {
    /// List the servers that agents know, and how they are; most agents try each one
    #[command(visible_alias = "ls")]
    List(AskArgs),
    /// Let a server be used
    Enable(ServerArgs),
    /// Let a server be used no longer
    Disable(ServerArgs),
    /// Log in to a server, on this terminal
    Login(ServerArgs),
}

/// What can be done with chats.
#[derive(Debug, clap::Subcommand)]
pub enum ChatsCommand {
    /// List the chats that can be resumed here
    #[command(visible_alias = "list")]
    Ls(AskArgs),
    /// Begin an empty chat and print its id
    New(ActArgs),
}

/// `stablehand agents`.
pub fn agents(args: &AskArgs) -> Result<u8, Failure> {
    let env = Env::read()?;
    let chosen = match &args.agent {
        Some(name) => vec![find(&env, agent_named(name)?, args.agent_bin.as_ref())],
        None => everybody(&env),
    };
    let statuses = statuses(&desk(&env, &args.how), &chosen, &env);
    if args.json {
        return print_json(&statuses.iter().map(AgentStatus::object).collect::<Vec<_>>());
    }
    let paint = Paint::new(&env);
    match (&args.agent, statuses.as_slice()) {
        (Some(_), [one]) => print(&overview::in_detail(one, paint)),
        _ => print(&overview::overview(&statuses, paint)),
    }
}

/// `stablehand status`: 0 when everybody who was asked is logged in.
pub fn status(args: &AskArgs) -> Result<u8, Failure> {
    let env = Env::read()?;
    let answers = lists::ask_all(&env, args, Question::Login)?;
    let all_in = answers.iter().all(
        |(_, answer)| matches!(answer, Ok(Answer::Login(login)) if login.state == LoginState::In),
    );
    let printed = if args.json {
        print_json(&lists::json(&answers))
    } else {
        print(&lists::logins(&answers, Paint::new(&env)))
    };
    printed.map(|_| u8::from(!all_in))
}

/// `stablehand about`.
pub fn about(args: &AskArgs) -> Result<u8, Failure> {
    let env = Env::read()?;
    let chosen = lists::choose(&env, args)?;
    let statuses = statuses(&desk(&env, &args.how), &chosen, &env);
    if args.json {
        return print_json(&statuses.iter().map(AgentStatus::object).collect::<Vec<_>>());
    }
    let paint = Paint::new(&env);
    let texts = statuses.iter().map(|status| overview::about(status, paint));
    print(&texts.collect::<Vec<_>>().join("\n"))
}

/// `stablehand models`.
pub fn models(args: &AskArgs) -> Result<u8, Failure> {
    lists::show(args, Question::Models)
}

/// `stablehand mcp …`.
pub fn mcp(command: &McpCommand) -> Result<u8, Failure> {
    match command {
        McpCommand::List(args) => lists::show(args, Question::Mcp),
        McpCommand::Enable(server) => act(&server.act, Action::EnableMcp, Some(&server.name), &[]),
        McpCommand::Disable(server) => {
            act(&server.act, Action::DisableMcp, Some(&server.name), &[])
        }
        McpCommand::Login(server) => act(&server.act, Action::LogInMcp, Some(&server.name), &[]),
    }
}

/// `stablehand chats …`.
pub fn chats(command: &ChatsCommand) -> Result<u8, Failure> {
    match command {
        ChatsCommand::Ls(args) => lists::show(args, Question::Chats),
        ChatsCommand::New(args) => act(args, Action::NewChat, None, &[]),
    }
}

/// `stablehand login`.
pub fn log_in(args: &LoginArgs) -> Result<u8, Failure> {
    act(&args.act, Action::LogIn, None, &args.extra)
}

/// `stablehand logout`.
pub fn log_out(args: &ActArgs) -> Result<u8, Failure> {
    act(args, Action::LogOut, None, &[])
}

fn act(
    args: &ActArgs,
    action: Action,
    name: Option<&str>,
    extra: &[OsString],
) -> Result<u8, Failure> {
    let env = Env::read()?;
    let found = match &args.agent {
        Some(name) => find(&env, agent_named(name)?, args.agent_bin.as_ref()),
        None => the_only_one(&env)?,
    };
    let how = How { timeout: args.timeout, ..How::default() };
    let desk = desk(&env, &how);
    // What an agent cannot do it cannot do when it is installed, either.
    let program = match found.program {
        Some(program) => program,
        None if found.agent.row().manage.action(action).is_supported() => {
            return Err(not_installed(found.agent));
        }
        None => PathBuf::new(),
    };
    match desk.act(found.agent, &program, action, name)? {
        Step::Done(Answer::Created(id)) => print(&format!("{id}\n")),
        Step::Done(Answer::Done(said)) if said.is_empty() => print("done\n"),
        Step::Done(Answer::Done(said)) => print(&format!("{said}\n")),
        Step::Done(_) => Ok(0),
        Step::OnTerminal(mut launch) => {
            launch.args.extend(extra.iter().cloned());
            let code = terminal::run(found.agent, &launch, &env);
            // Whatever it was that the person did there, what we knew is old.
            desk.forget(found.agent);
            code
        }
    }
}

/// Where agents are asked.
pub(crate) fn desk(env: &Env, how: &How) -> Desk {
    let state = env.state().ok().filter(|_| !how.no_cache);
    let cache = state.map(|state| Cache::new(state.join("cache")));
    Desk {
        keeper: env.keeper(),
        around: env.agent_homes(),
        env: env.non_interactive(),
        cache: if how.refresh { cache.map(Cache::refreshed) } else { cache },
        limit: how.timeout,
    }
}

fn find(env: &Env, agent: Agent, given: Option<&PathBuf>) -> AgentProgram {
    match given {
        Some(program) => AgentProgram { agent, program: Some(program.clone()) },
        None => AgentProgram::find(agent, env.path.as_deref(), &env.program),
    }
}

/// Every agent, installed or not.
pub(crate) fn everybody(env: &Env) -> Vec<AgentProgram> {
    Agent::ALL.iter().copied().map(|agent| find(env, agent, None)).collect()
}

fn the_only_one(env: &Env) -> Result<AgentProgram, Failure> {
    let mut installed: Vec<_> =
        everybody(env).into_iter().filter(AgentProgram::is_installed).collect();
    match installed.len() {
        0 => Err(Failure::new("no agent is installed").hint("see `stablehand doctor`")),
        1 => installed.pop().ok_or_else(|| Failure::new("no agent is installed")),
        _ => {
            let names: Vec<_> = installed.iter().map(|found| found.agent.name()).collect();
            Err(Failure::usage(format!("several agents are installed: {}", names.join(", ")))
                .hint("say which one with --agent"))
        }
    }
}

pub(crate) fn not_installed(agent: Agent) -> Failure {
    agent.not_found(Form::OneTurn).into()
}

/// Why there is no answer, in one line.
fn why(error: AskError) -> String {
    let text = error_chain(&error);
    match Failure::from(error).advice() {
        Some(advice) => format!("{text}; {advice}"),
        None => text,
    }
}

/// Shows who is being asked, until it is dropped.
fn asking(env: &Env, whom: &[&str]) -> Progress {
    let mut progress = Progress::new(env, Duration::ZERO);
    if !whom.is_empty() {
        progress.draw(|| format!("asking {} …", whom.join(", ")));
    }
    progress
}
