//! `stablehand hooks`: our hooks in the agents' settings files, put in and taken out for good.
//!
//! Owns the arguments, which file is meant, and what is said of it. The files are the library's;
//! what a hook does when an agent starts it is another command.

mod status;

use crate::choice::{agent_named, help};
use crate::env::Env;
use crate::failure::Failure;
use crate::output::print;
use stablehand::Agent;
use stablehand::hooks::{
    Answers, Finding, HookPlan, Lasting, Preview, Scope, Target, install, uninstall,
};
use stablehand_core::text;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Put our hooks into the agents' settings files, take them out, look
#[derive(Debug, clap::Subcommand)]
pub enum HooksCommand {
    /// Put our hooks into a settings file, behind those that are there
    Install(ChangeArgs),
    /// Take our hooks out of a settings file, and nothing else
    Uninstall(ChangeArgs),
    /// Say where our hooks are, and what is wrong
    #[command(
        after_help = "Exit status: 0 when our hooks are installed and will be run in one of the files asked about, 1 otherwise, 64 wrong usage."
    )]
    Status(StatusArgs),
}

/// Whose settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ScopeName {
    /// Those of the project in the workspace
    Project,
    /// Yours, for all projects
    User,
}

impl From<ScopeName> for Scope {
    fn from(name: ScopeName) -> Scope {
        match name {
            ScopeName::Project => Scope::Project,
            ScopeName::User => Scope::User,
        }
    }
}

/// Which file is changed.
#[derive(Debug, clap::Args)]
pub struct ChangeArgs {
    /// Which agent: one that has hooks
    #[arg(long, value_name = "AGENT", default_value = Agent::DEFAULT.name(), help = help::agent_with_hooks())]
    agent: String,

    /// Whose settings
    #[arg(long, value_enum, default_value_t = ScopeName::Project)]
    scope: ScopeName,

    /// The project's folder [default: where you are]
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,

    /// Print the file as it would be, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// Which files are looked at.
#[derive(Debug, clap::Args)]
pub struct StatusArgs {
    /// Only this agent [default: all that have hooks]
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,

    /// Only these settings [default: both]
    #[arg(long, value_enum)]
    scope: Option<ScopeName>,

    /// The project's folder [default: where you are]
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs it.
pub fn main(command: &HooksCommand) -> Result<u8, Failure> {
    let env = Env::read()?;
    match command {
        HooksCommand::Install(args) => change(args, &env, Way::In),
        HooksCommand::Uninstall(args) => change(args, &env, Way::Out),
        HooksCommand::Status(args) => status::main(args, &env),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    In,
    Out,
}

fn change(args: &ChangeArgs, env: &Env, way: Way) -> Result<u8, Failure> {
    let agent = agent_named(&args.agent)?;
    let plan = plan(agent, env)?;
    let target = target(agent, &plan, args.scope.into(), args.workspace.as_deref(), env)?;
    let preview = if args.dry_run { Preview::Only } else { Preview::No };
    let state = env.state()?;
    let done = match way {
        Way::In => install(&target, &plan, &state, preview)?,
        Way::Out => uninstall(&target, &plan, &state, preview)?,
    };
    if args.dry_run {
        // Nothing but the file, so that it can be compared with the one that is there.
        return print(done.text.as_deref().unwrap_or_default());
    }
    print(&report(&target, &plan, &done, way))
}

/// What was done.
fn report(target: &Target, plan: &HookPlan, done: &Lasting, way: Way) -> String {
    let mut out = format!("{}\n", shown(&target.path()));
    let wanted: Vec<_> = plan.commands.iter().map(|command| command.event).collect();
    match (way, done.changed) {
        (Way::In, 0) => out.push_str("  all our hooks were there already\n"),
        (Way::In, count) if count == wanted.len() => {
            let _infallible = writeln!(out, "  added our hooks: {}", wanted.join(", "));
        }
        (Way::In, count) => {
            let _infallible = writeln!(out, "  added {count} of our {} hooks", wanted.len());
        }
        (Way::Out, 0) => out.push_str("  none of our hooks were there\n"),
        (Way::Out, count) => {
            let _infallible = writeln!(out, "  took out our hooks: {count}");
        }
    }
    match (done.before.theirs, &done.text) {
        (0, None) if done.changed > 0 => out.push_str("  nothing else was in it: it is gone\n"),
        (0, _) => {}
        (count, _) => {
            let _infallible = writeln!(out, "  left alone: {count} of others");
        }
    }
    if !done.waits_for.is_empty() {
        let runs = numbers(&done.waits_for);
        let _infallible = writeln!(
            out,
            "  a run has the file now (process {runs}): it holds when that has ended"
        );
    }
    for finding in &done.before.findings {
        let _infallible = writeln!(out, "  warning: {}", warning(finding, plan.agent));
    }
    out
}

/// What is wrong with a file, and what of it.
fn warning(finding: &Finding, agent: &str) -> String {
    let consequence =
        if finding.voids { format!("; {agent} runs no hook of this file") } else { String::new() };
    format!("line {}: {}{consequence}", finding.line, text::plain(&finding.text))
}

fn numbers(list: &[u32]) -> String {
    let list: Vec<_> = list.iter().map(u32::to_string).collect();
    list.join(", ")
}

fn shown(path: &Path) -> String {
    text::plain(&path.display().to_string())
}

/// The hooks of an agent for this very program.
fn plan(agent: Agent, env: &Env) -> Result<HookPlan, Failure> {
    HookPlan::of(agent, &env.hook_program(), Answers::Alone)?.ok_or_else(|| {
        let able: Vec<_> = able().map(Agent::name).collect();
        Failure::usage(format!("{} has no hooks that we know", agent.name()))
            .hint(format!("these have: {}", able.join(", ")))
    })
}

/// The agents that have hooks.
fn able() -> impl Iterator<Item = Agent> {
    Agent::ALL.iter().copied().filter(|agent| agent.row().hooks.is_some())
}

/// The file of an agent.
fn target(
    agent: Agent,
    plan: &HookPlan,
    scope: Scope,
    workspace: Option<&Path>,
    env: &Env,
) -> Result<Target, Failure> {
    let variable = agent.row().hooks.map_or("", |form| form.variable);
    let moved = env.agent_homes().folders.get(variable).cloned();
    let root = match scope {
        Scope::Project => match workspace {
            Some(folder) => folder.to_owned(),
            None => std::env::current_dir()
                .map_err(|e| Failure::new(format!("failed to find the current folder: {e}")))?,
        },
        Scope::User => env.home.clone().or_else(|| moved.clone()).ok_or_else(|| {
            Failure::new("HOME is not set, so there are no settings of yours")
                .hint("set HOME, or choose --scope project")
        })?,
    };
    Ok(plan.form.target(scope, &root, moved.as_deref()))
}
