//! `sessions stats`: how runs ended, where the time went, what they cost, which tools they used.

mod show;

use super::fresh::{self, Pace};
use super::read::PlaceArgs;
use super::select::agent_meant;
use super::when::{Clock, SpanArgs};
use crate::env::Env;
use crate::failure::Failure;
use crate::output;
use stablehand_store::query::Filter;

/// Count runs: outcomes, hangs, time, tokens, cost, tools
#[derive(Debug, clap::Args)]
pub struct StatsArgs {
    /// One table, by this [default: an overview]
    #[arg(long, value_name = "WHAT", value_enum)]
    by: Option<By>,

    /// Only runs of this agent
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,

    /// Only runs with a model whose name has this in it
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,

    #[command(flatten)]
    span: SpanArgs,

    /// For programs: an object with all numbers
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    place: PlaceArgs,
}

/// What numbers are listed by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum By {
    /// The day on which a run began, by the local clock
    Day,
    /// The agent
    Agent,
    /// The model
    Model,
    /// The folder
    Workspace,
    /// The tool
    Tool,
}

impl By {
    /// The name of its table among the numbers for programs.
    fn table(self) -> &'static str {
        match self {
            By::Day => "days",
            By::Agent => "agents",
            By::Model => "models",
            By::Workspace => "workspaces",
            By::Tool => "tools",
        }
    }
}

/// Runs it.
pub(super) fn main(args: &StatsArgs) -> Result<u8, Failure> {
    let env = Env::read()?;
    let clock = Clock::read();
    let (since, until) = args.span.bounds(&clock)?;
    let filter = Filter {
        agent: args.agent.as_deref().map(agent_meant),
        model: args.model.clone(),
        since,
        until,
        ..Filter::default()
    };
    let folder = args.place.folder(&env)?;
    let stats = fresh::ask(&env, &folder, Pace::Thorough, |store| {
        store.stats(&filter, &|at| clock.day(at))
    })?;
    let stats = stats.unwrap_or_default();
    if args.json {
        let mut object = stats.object();
        object.insert("time_zone".into(), clock.zone().into());
        let tables = [By::Day, By::Agent, By::Model, By::Workspace, By::Tool];
        for unwanted in tables.into_iter().filter(|it| args.by.is_some_and(|by| by != *it)) {
            object.remove(unwanted.table());
        }
        return output::print_json(&object);
    }
    if stats.all.runs == 0 {
        let fits = if filter.is_open() { "" } else { " that fits" };
        return output::print(&format!("no run{fits} in `{}`\n", folder.display()));
    }
    let view = show::View::new(&env, &clock);
    output::print(&match args.by {
        None => view.overview(&stats),
        Some(by) => view.table(&stats, by),
    })
}
