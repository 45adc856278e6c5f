//! `sessions resume`: a session goes on, with the agent and in the folder that its log or transcript
//! names.
//!
//! Owns which session is meant and what a run needs to know of it; everything else is `run`'s, with
//! all of its flags.

use super::find;
use super::find::glance;
use super::fresh::{self, Pace};
use super::imported::Imported;
use super::pick::{self, Choice};
use super::select::at_home;
use crate::ask::keyboard::Keyboard;
use crate::choice::{ChoiceArgs, agent_named};
use crate::env::Env;
use crate::failure::Failure;
use crate::input;
use crate::output;
use crate::run::{self, RunArgs};
use stablehand::Agent;
use stablehand::agent::BY_COMMAND;
use stablehand::log::Glance;
use stablehand_core::Dialect;
use stablehand_core::text::{excerpt, plain};
use stablehand_core::time::UnixMillis;
use stablehand_store::query::{Filter, Named};
use stablehand_store::{IMPORTS, logs_newest_first};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What a shell says of a program that Ctrl-C ended.
const CANCELLED: u8 = 130;

/// How every mark begins that stands for a secret.
const REDACTED: &str = "[redacted";

/// So many sessions are offered; older ones have to be named.
const MOST_OFFERED: usize = 500;

/// Go on with a session
#[derive(Debug, clap::Args)]
// Known from the log, so not offered.
#[command(mut_arg("agent", |arg| arg.hide(true)))]
#[command(mut_arg("resume", |arg| arg.hide(true)))]
#[command(mut_arg("continue_latest", |arg| arg.hide(true)))]
pub struct ResumeArgs {
    /// Which: the id of a session or a run, its beginning, the path of a log, or `latest`.
    /// Without it a list is shown to choose from
    #[arg(value_name = "ID|latest")]
    which: Option<String>,

    /// Choose from a list; every word is then part of the prompt
    #[arg(long)]
    pick: bool,

    /// As for `stablehand run`; agent and workspace are known from the log
    #[command(flatten)]
    run: RunArgs,
}

/// Runs it.
pub(super) fn main(args: &ResumeArgs) -> Result<u8, Failure> {
    let env = Env::read()?;
    let mut choice = args.run.choice().clone();
    if choice.resume.is_some() || choice.continue_latest {
        return Err(Failure::usage("which session is meant is said twice")
            .hint("leave out --resume and --continue, and give the id"));
    }
    let folder = choice.log_dir(&env)?;
    let seen = match &args.which {
        Some(which) if !args.pick => find::find(which, &folder, &env)?.glance()?,
        word => {
            if let Some(word) = word {
                choice.prompt.insert(0, word.clone());
            }
            match picked(&folder, &env)? {
                Some(seen) => seen,
                None => return Ok(CANCELLED),
            }
        }
    };
    let text = begin(&seen, &mut choice)?;
    // A plan is printed alone.
    output::say(&text);
    let asks = choice.prompt.iter().all(|word| word.trim().is_empty()) && env.stdin_is_terminal;
    if asks {
        match input::typed_prompt()? {
            Some(prompt) => choice.prompt = vec![prompt],
            None => return Ok(CANCELLED),
        }
    }
    run::main(&args.run.with_choice(choice))
}

/// Fills in what the log knows; what is about to be done, in words.
fn begin(seen: &Glance, choice: &mut ChoiceArgs) -> Result<String, Failure> {
    let log = seen.log.display();
    let Some(name) = &seen.agent else {
        return Err(Failure::new(format!("`{log}` does not say which agent it is of"))
            .hint("use `stablehand run --agent AGENT --resume ID`"));
    };
    let known = Agent::by_name(name).filter(|agent| agent.row().can.resume);
    let Some(agent) = known else {
        let able = Agent::ALL.iter().filter(|agent| agent.row().can.resume);
        let able: Vec<_> = able.map(|agent| agent.name()).collect();
        let name = excerpt(name.as_bytes(), 40);
        return Err(Failure::new(format!("sessions of `{name}` cannot be resumed from here"))
            .hint(format!("those of these can: {}", able.join(", "))));
    };
    // What nobody said is the default, and means nothing here.
    let is_said = choice.agent != Agent::DEFAULT.name();
    if is_said && agent_named(&choice.agent)?.name() != agent.name() {
        return Err(Failure::usage(format!(
            "the session is of {}, not of {}",
            agent.name(),
            choice.agent
        ))
        .hint("leave out --agent"));
    }
    if !is_said && name.starts_with(BY_COMMAND) && name.contains(REDACTED) {
        return Err(Failure::new(format!(
            "{} had a secret, which its log does not have",
            agent.name()
        ))
        .hint("give its command line once more with --agent"));
    }
    let Some(session) = &seen.session else {
        return Err(Failure::new(format!("{} never named its session in `{log}`", agent.name()))
            .hint("there is nothing to resume by; start a new one with `stablehand run`"));
    };
    if !is_said {
        agent.name().clone_into(&mut choice.agent);
    }
    choice.resume = Some(session.0.clone());
    choice.acp |= seen.dialect == Some(Dialect::Acp);
    if choice.workspace.is_none() {
        choice.workspace = seen.cwd.as_ref().map(PathBuf::from);
        if let Some(folder) = choice.workspace.as_ref().filter(|folder| !folder.is_dir()) {
            let text = format!("the session's workspace `{}` is no longer there", folder.display());
            return Err(Failure::new(text).hint("name another folder with --workspace"));
        }
    }
    let place = match &choice.workspace {
        Some(folder) => format!("in {}", folder.display()),
        None => "here: its log names no folder".to_owned(),
    };
    let session = excerpt(session.0.as_bytes(), 64);
    Ok(format!("resuming {} session {session} {}", agent.name(), plain(&place)))
}

/// The session that a person chooses; none where they think better of it.
fn picked(folder: &Path, env: &Env) -> Result<Option<Glance>, Failure> {
    if !Keyboard::is_there(env) || env.dumb {
        return Err(Failure::usage("there is no terminal to choose a session at")
            .hint("give the id of one, or `latest`"));
    }
    let mut sessions = sessions(folder, env)?;
    if sessions.is_empty() {
        return Err(find::none(folder));
    }
    let now = stablehand::clock::unix_now();
    let rows = sessions.iter().map(|seen| Choice {
        age: seen.began.map(|began| pick::age(now.since(began))).unwrap_or_default(),
        agent: plain(seen.agent.as_deref().unwrap_or_default()),
        title: seen.title.clone().unwrap_or_else(|| "(nothing was said)".to_owned()),
        place: plain(&at_home(seen.cwd.as_deref().unwrap_or_default(), env)),
        more: format!(
            "{} {}",
            plain(seen.session.as_ref().map(|it| it.0.as_str()).unwrap_or_default()),
            seen.began.map(UnixMillis::readable).unwrap_or_default()
        ),
    });
    let rows = rows.collect();
    Ok(pick::choose(rows, env)?.map(|index| sessions.swap_remove(index)))
}

/// The sessions of a folder that can be resumed, those of its logs and those that were imported, the
/// newest first.
fn sessions(folder: &Path, env: &Env) -> Result<Vec<Glance>, Failure> {
    let own = logged(folder)?;
    let is_known = |other: &Glance| {
        own.iter().any(|own| (&own.agent, &own.session) == (&other.agent, &other.session))
    };
    let mut others = imported(folder, env);
    others.retain(|(_, seen)| !is_known(seen));
    let changed = |seen: &Glance| {
        let at = seen.log.metadata().and_then(|about| about.modified()).ok();
        let at = at.and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
        UnixMillis(at.and_then(|at| i64::try_from(at.as_millis()).ok()).unwrap_or_default())
    };
    let mut all: Vec<(UnixMillis, Glance)> =
        own.into_iter().map(|seen| (changed(&seen), seen)).chain(others).collect();
    all.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    all.truncate(MOST_OFFERED);
    Ok(all.into_iter().map(|(_, seen)| seen).collect())
}

/// Those that no log of ours has, with the time of the latest news; none where the index cannot say.
fn imported(folder: &Path, env: &Env) -> Vec<(UnixMillis, Glance)> {
    // Whoever imports nothing waits for no index.
    if !folder.join(IMPORTS).is_file() {
        return Vec::new();
    }
    let asked = fresh::quietly(env, folder, Pace::Soon, |store| {
        let mut found = Vec::new();
        for brief in store.briefs(&Filter::default())? {
            if brief.source == "log" || found.len() == MOST_OFFERED {
                continue;
            }
            let runs = store.named(&brief.chat)?.into_iter();
            let is_its = |run: &Named| run.chat == brief.chat && run.agent == brief.agent;
            let runs = runs.filter(is_its).collect();
            found.push((brief.last, Imported::new(brief.chat, runs, folder).glance()));
        }
        Ok(found)
    });
    asked.map(|answered| answered.answer).unwrap_or_default()
}

/// Those of the logs, the newest first; each once, with what it began with.
fn logged(folder: &Path) -> Result<Vec<Glance>, Failure> {
    let mut sessions: Vec<Glance> = Vec::new();
    for log in logs_newest_first(folder)? {
        if sessions.len() == MOST_OFFERED {
            break;
        }
        // One that went away or cannot be read is not offered.
        let Ok(seen) = glance(&log) else { continue };
        if seen.session.is_none() || seen.agent.is_none() {
            continue;
        }
        let same =
            |other: &&mut Glance| (&other.agent, &other.session) == (&seen.agent, &seen.session);
        match sessions.iter_mut().find(same) {
            Some(newer) => newer.title = seen.title.or(newer.title.take()),
            None => sessions.push(seen),
        }
    }
    Ok(sessions)
}
