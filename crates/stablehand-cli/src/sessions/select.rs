//! Which sessions are meant, by flags; and the word for how one ended or that it goes on.

use super::fresh::is_written;
use super::when::{Clock, SpanArgs};
use crate::env::Env;
use crate::failure::Failure;
use crate::output::Look;
use stablehand::Agent;
use stablehand_store::query::{Filter, outcome_words, outcomes_named};
use std::path::{Component, Path, PathBuf};

/// The flags that `ls` and `search` have in common.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct SelectArgs {
    /// Only sessions of this agent
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,

    /// Only sessions in this folder or below it; `.` is the one you are in
    #[arg(long, value_name = "PATH")]
    workspace: Option<PathBuf>,

    // Not a doc comment, in which the words would need marks that a terminal shows.
    #[arg(
        long,
        value_name = "OUTCOME",
        value_delimiter = ',',
        value_parser = outcome_named,
        help = "Only those that ended so: success, failed (whatever went wrong), hung, \
            limit_reached, agent_error, no_result, truncated, spawn_failed, internal, interrupted, \
            reader_gone; running, or unfinished (no end on record). Several with commas"
    )]
    outcome: Vec<String>,

    /// Only sessions with a model whose name has this in it
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,

    /// Only what is known from there: log (our own logs), or the agent whose transcripts were imported
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,

    #[command(flatten)]
    span: SpanArgs,
}

fn outcome_named(word: &str) -> Result<String, String> {
    let word = word.trim().to_ascii_lowercase().replace('-', "_");
    let words = outcome_words();
    if words.contains(&word.as_str()) {
        Ok(word)
    } else {
        Err(format!("an outcome is one of {}", words.join(", ")))
    }
}

/// The agent that is meant, as logs name it. A command line is as it is, however it was quoted.
pub(super) fn agent_meant(name: &str) -> String {
    let name_of = |agent: Agent| agent.name().to_owned();
    Agent::by_name(name).map_or_else(|| name.to_ascii_lowercase(), name_of)
}

impl SelectArgs {
    pub(super) fn filter(&self, clock: &Clock) -> Result<Filter, Failure> {
        let (since, until) = self.span.bounds(clock)?;
        let lower = |text: &Option<String>| text.as_ref().map(|text| text.to_ascii_lowercase());
        Ok(Filter {
            agent: self.agent.as_deref().map(agent_meant),
            workspace: self.workspace.as_deref().map(folder_names).unwrap_or_default(),
            model: self.model.clone(),
            source: lower(&self.source),
            since,
            until,
        })
    }

    /// The words of outcomes that are wanted; none where all are.
    pub(super) fn outcomes(&self) -> Vec<String> {
        outcomes_named(&self.outcome)
    }
}

/// The names that a folder may have in a log: as it was typed, made absolute, and what it really is.
fn folder_names(path: &Path) -> Vec<String> {
    let here = std::env::current_dir().unwrap_or_default();
    let mut absolute = PathBuf::new();
    for part in here.join(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                absolute.pop();
            }
            part => absolute.push(part),
        }
    }
    let name = |path: &Path| path.to_string_lossy().into_owned();
    let real = std::fs::canonicalize(&absolute).ok();
    let mut names = vec![name(&absolute)];
    names.extend(real.as_deref().map(name).filter(|real| *real != name(&absolute)));
    names
}

/// How a session stands: in the word of its end, `running`, or `unfinished`; nothing where it is
/// known from a transcript, which does not say.
pub(super) fn standing(outcome: Option<&str>, source: &str, log: &Path) -> Option<String> {
    match outcome {
        Some(word) => Some(word.to_owned()),
        None if source != "log" => None,
        None if is_written(log) => Some("running".into()),
        None => Some("unfinished".into()),
    }
}

/// The colour of an outcome.
pub(super) fn look(outcome: &str) -> Look {
    match outcome {
        "success" => Look::Good,
        "running" => Look::Bold,
        "interrupted" | "reader_gone" | "limit_reached" | "unfinished" => Look::Warn,
        _ => Look::Bad,
    }
}

/// A folder as people write it: `~` for home.
pub(super) fn at_home(path: &str, env: &Env) -> String {
    let home = env.home.as_ref().map(|home| home.to_string_lossy().into_owned());
    match home.filter(|home| !home.is_empty() && home != "/") {
        Some(home) if path == home => "~".into(),
        Some(home) => match path.strip_prefix(&home).filter(|rest| rest.starts_with('/')) {
            Some(rest) => format!("~{rest}"),
            None => path.to_owned(),
        },
        None => path.to_owned(),
    }
}
