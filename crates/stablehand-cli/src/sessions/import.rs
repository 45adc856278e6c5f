//! `sessions import`: what agents kept of their own sessions, brought into the index.
//!
//! Says what is there and has the store remember the folders. Reads and never writes where the agents
//! keep theirs; what a transcript means is core's, how it gets into the index the store's.

use super::read::PlaceArgs;
use crate::env::Env;
use crate::failure::Failure;
use crate::output::{Look, Paint, Table, figures, print, print_json, say};
use clap::builder::PossibleValuesParser;
use serde::Serialize;
use stablehand::Agent;
use stablehand_core::time::UnixMillis;
use stablehand_store::{Budget, Refreshed, Source, Store, Survey, survey};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The word for all agents.
const ALL: &str = "all";

/// So many files that could not be read are named; there may be thousands.
const MOST_NAMED: usize = 5;

/// Bring into the index what agents did before Stablehand
#[derive(Debug, clap::Args)]
pub struct ImportArgs {
    /// Whose transcripts
    #[arg(value_name = "AGENT", default_value = ALL, value_parser = PossibleValuesParser::new(names()))]
    agents: Vec<String>,

    /// The folder of the transcripts [default: where the agent keeps them]
    #[arg(long, value_name = "FOLDER")]
    from: Option<PathBuf>,

    /// Only say what is there
    #[arg(long)]
    dry_run: bool,

    /// Import nothing of the agent any more, and take what was imported out of the index
    #[arg(long, conflicts_with_all = ["from", "dry_run"])]
    forget: bool,

    /// For programs: one object
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    place: PlaceArgs,
}

/// What was found in one folder.
#[derive(Debug, Serialize)]
struct Found {
    agent: String,
    folder: PathBuf,
    files: usize,
    bytes: u64,
    sessions: usize,
    turns: usize,
    first: Option<String>,
    last: Option<String>,
    unreadable: Vec<Unreadable>,
}

#[derive(Debug, Serialize)]
struct Unreadable {
    path: PathBuf,
    why: String,
}

/// What was found and done.
#[derive(Debug, Serialize)]
struct Done {
    dry_run: bool,
    found: Vec<Found>,
    /// Transcripts and logs that were new or changed.
    indexed: usize,
    /// Those that are not there any more.
    forgotten: usize,
}

/// Runs it.
pub(super) fn main(args: &ImportArgs) -> Result<u8, Failure> {
    let env = Env::read()?;
    let logs = args.place.folder(&env)?;
    let agents = args.chosen();
    if args.forget {
        return forget(&agents, &logs, args.json);
    }
    let sources = args.sources(&agents, &env)?;
    let scratch = if logs.is_dir() { logs.clone() } else { std::env::temp_dir() };
    let found: Vec<_> = sources.iter().map(|it| Found::new(it, survey(it, &scratch))).collect();
    let mut done = Done { dry_run: args.dry_run, found, indexed: 0, forgotten: 0 };
    if !args.dry_run && !sources.is_empty() {
        let mut store = open(&logs)?;
        store.add_imports(&sources)?;
        let refreshed = store.refresh(Budget::UNLIMITED)?;
        (done.indexed, done.forgotten) = (refreshed.indexed, refreshed.forgotten);
    }
    if args.json {
        return print_json(&done);
    }
    warn(&done.found);
    print(&text(&done, &env))
}

/// The agents whose transcripts can be read, and the word for all of them.
fn names() -> Vec<&'static str> {
    importable().map(Agent::name).chain([ALL]).collect()
}

fn importable() -> impl Iterator<Item = Agent> {
    Agent::ALL.iter().copied().filter(|agent| !agent.row().history.is_empty())
}

impl ImportArgs {
    fn chosen(&self) -> Vec<Agent> {
        let is_chosen =
            |agent: &Agent| self.agents.iter().any(|name| name == ALL || name == agent.name());
        importable().filter(is_chosen).collect()
    }

    /// The folders that are there.
    fn sources(&self, agents: &[Agent], env: &Env) -> Result<Vec<Source>, Failure> {
        let source = |agent: &Agent, folder| Source { agent: agent.name().to_owned(), folder };
        if let Some(from) = &self.from {
            let [agent] = agents else {
                let example = importable().next().map(Agent::name).unwrap_or_default();
                return Err(Failure::usage("--from needs one agent, whose transcripts these are")
                    .hint(format!("name it: stablehand sessions import {example} --from FOLDER")));
            };
            let folder = from.canonicalize().map_err(|error| {
                Failure::new(format!("failed to read the folder `{}`: {error}", from.display()))
            })?;
            return Ok(vec![source(agent, folder)]);
        }
        let homes = env.agent_homes();
        let mut sources = Vec::new();
        let mut places = Vec::new();
        for agent in agents {
            for folder in agent.transcript_folders(&homes) {
                if folder.is_dir() {
                    sources.push(source(agent, folder));
                } else {
                    places.push(format!("`{}`", folder.display()));
                }
            }
        }
        if sources.is_empty() {
            let text = format!("there are no transcripts: no {}", places.join(", no "));
            return Err(Failure::new(text).hint("say where they are with --from"));
        }
        Ok(sources)
    }
}

impl Found {
    fn new(source: &Source, survey: Survey) -> Found {
        let unreadable = survey.unreadable.into_iter();
        Found {
            agent: source.agent.clone(),
            folder: source.folder.clone(),
            files: survey.files,
            bytes: survey.bytes,
            sessions: survey.sessions,
            turns: survey.turns,
            first: survey.first.map(UnixMillis::rfc3339),
            last: survey.last.map(UnixMillis::rfc3339),
            unreadable: unreadable.map(|(path, why)| Unreadable { path, why }).collect(),
        }
    }
}

fn forget(agents: &[Agent], logs: &Path, json: bool) -> Result<u8, Failure> {
    let names: Vec<String> = agents.iter().map(|agent| agent.name().to_owned()).collect();
    let mut refreshed = Refreshed::default();
    if logs.is_dir() {
        let mut store = open(logs)?;
        store.drop_imports(&names)?;
        refreshed = store.refresh(Budget::UNLIMITED)?;
    }
    let forgotten = refreshed.forgotten;
    if json {
        let done =
            Done { dry_run: false, found: Vec::new(), indexed: refreshed.indexed, forgotten };
        return print_json(&done);
    }
    print(&format!("nothing of {} is imported any more\n", names.join(", ")))
}

fn open(logs: &Path) -> Result<Store, Failure> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(logs);
    made.map_err(|error| {
        Failure::new(format!("failed to make the folder `{}`: {error}", logs.display()))
            .hint("choose a folder that you may write to with --log-dir")
    })?;
    Ok(Store::open(logs)?)
}

/// Says which files could not be read.
fn warn(found: &[Found]) {
    let all: Vec<_> = found.iter().flat_map(|it| &it.unreadable).collect();
    for it in all.iter().take(MOST_NAMED) {
        say(&format!("WARN `{}` is left out: {}", it.path.display(), it.why));
    }
    if let Some(more) = all.len().checked_sub(MOST_NAMED).filter(|more| *more > 0) {
        say(&format!("WARN and {more} more"));
    }
}

fn text(done: &Done, env: &Env) -> String {
    let headings = ["AGENT", "FILES", "SIZE", "SESSIONS", "TURNS", "FIRST", "LAST", "FOLDER"];
    let mut table = Table::headed(&headings);
    for it in &done.found {
        let day = |at: &Option<String>| {
            at.as_deref().and_then(|at| at.get(..10)).unwrap_or("-").to_owned()
        };
        table.row(vec![
            (it.agent.clone(), Look::Bold),
            (it.files.to_string(), Look::Plain),
            (figures::bytes(it.bytes), Look::Plain),
            (it.sessions.to_string(), Look::Plain),
            (it.turns.to_string(), Look::Plain),
            (day(&it.first), Look::Plain),
            (day(&it.last), Look::Plain),
            (it.folder.display().to_string(), Look::Dim),
        ]);
    }
    let end = match (done.dry_run, done.indexed) {
        (true, _) => "nothing was imported (--dry-run)".to_owned(),
        (false, 0) => "all of it was in the index already".to_owned(),
        (false, 1) => "1 transcript or log was new or changed, and is in the index now".to_owned(),
        (false, n) => {
            format!("{n} transcripts and logs were new or changed, and are in the index now")
        }
    };
    table.render(Paint::new(env), 0) + &end + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_with_transcripts_has_a_reader_for_them() {
        for agent in importable() {
            assert!(agent.row().dialect.transcript_files().is_some(), "{}", agent.name());
            assert_eq!(agent.row().dialect.name(), agent.name());
        }
    }
}
