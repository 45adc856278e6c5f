//! `sessions ls`: the sessions that there are, the one with the latest news first.

use super::fresh::{self, Pace};
use super::read::PlaceArgs;
use super::select::{SelectArgs, at_home, look, standing};
use super::when::Clock;
use crate::env::Env;
use crate::failure::Failure;
use crate::output::{self, Cell, Column, Look, Paint, Table, figures};
use crate::redact::redactor;
use crate::render::make_json_safe;
use stablehand::redact::Redactor;
use stablehand_core::text::fit;
use stablehand_store::query::{Brief, Session, SessionObject};
use stablehand_store::{Store, StoreError, in_parts};
use std::borrow::Cow;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

/// List sessions, the newest first
#[derive(Debug, clap::Args)]
pub struct LsArgs {
    #[command(flatten)]
    select: SelectArgs,

    /// At most so many [default: 20 on a terminal, otherwise all]
    #[arg(long, short = 'n', value_name = "N")]
    limit: Option<usize>,

    /// For programs: an array of objects
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    place: PlaceArgs,
}

/// So many fit a screen.
const SCREENFUL: usize = 20;

/// Where nobody says how wide a line is, a title takes no more than this of it.
const TITLE: usize = 72;

/// A folder takes no more than this of a line.
const FOLDER: usize = 28;

struct Listed {
    session: Session,
    outcome: Option<String>,
    short: String,
}

/// Runs it.
pub(super) fn main(args: &LsArgs) -> Result<u8, Failure> {
    let env = Env::read()?;
    let clock = Clock::read();
    let filter = args.select.filter(&clock)?;
    let outcomes = args.select.outcomes();
    let on_terminal = env.stdout_is_terminal && !args.json;
    let limit = args.limit.unwrap_or(if on_terminal { SCREENFUL } else { usize::MAX });
    let folder = args.place.folder(&env)?;
    let answer = fresh::ask(&env, &folder, Pace::Soon, |store| {
        if outcomes.is_empty() && limit == usize::MAX {
            let listed = list(store.all_sessions(&filter)?);
            let all = listed.len();
            return Ok((listed, all));
        }
        let mut briefs = store.briefs(&filter)?;
        choose(store, &mut briefs, &outcomes)?;
        let all = briefs.len();
        briefs.truncate(limit);
        let sessions = store.sessions(&briefs)?;
        let ids: Vec<&str> = sessions.iter().map(|it| it.chat.as_str()).collect();
        let shorts = store.short_ids(&ids)?;
        Ok((list(sessions.into_iter().zip(shorts).collect()), all))
    })?;
    let (mut listed, all) = answer.unwrap_or_default();
    let redactor = redactor(&[]);
    for it in &mut listed {
        hide(&mut it.session, &redactor);
    }
    if args.json {
        return print_objects(&listed);
    }
    if listed.is_empty() {
        let nothing = match (all, filter.is_open() && outcomes.is_empty()) {
            (0, true) => format!("no session in `{}`\n", folder.display()),
            _ => "no session fits\n".into(),
        };
        return output::print(&nothing);
    }
    let paint = Paint::new(&env);
    let mut text = table(&listed, &env, &clock).render(paint, 0);
    if all > listed.len() {
        let more = format!(
            "and {}; -n {all} lists all\n",
            figures::many((all - listed.len()) as u64, "more session")
        );
        text.push_str(&paint.dim(&more));
    }
    output::print(&text)
}

/// Prints an array with one object a line.
fn print_objects(listed: &[Listed]) -> Result<u8, Failure> {
    let lines = |part: &[Listed]| {
        let mut text = Vec::new();
        for it in part {
            text.extend_from_slice(if text.is_empty() { b"" } else { b",\n" });
            let outcome = it.outcome.as_deref();
            let from = text.len();
            serde_json::to_writer(&mut text, &SessionObject::new(&it.session, &it.short, outcome))?;
            make_json_safe(&mut text, from);
        }
        Ok(text)
    };
    let print = || {
        let parts: Result<Vec<_>, serde_json::Error> =
            in_parts(listed, lines).into_iter().collect();
        let mut out = std::io::stdout().lock();
        out.write_all(if listed.is_empty() { b"[" } else { b"[\n" })?;
        for (n, part) in parts?.iter().enumerate() {
            out.write_all(if n == 0 { b"" } else { b",\n" })?;
            out.write_all(part)?;
        }
        out.write_all(if listed.is_empty() { b"]\n" } else { b"\n]\n" })?;
        out.flush()
    };
    match print() {
        Ok(()) => Ok(0),
        // Whoever read it has had enough.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(0),
        Err(error) => Err(Failure::new(format!("failed to print: {error}"))),
    }
}

/// Only those that stand as wanted.
fn choose(store: &Store, briefs: &mut Vec<Brief>, outcomes: &[String]) -> Result<(), StoreError> {
    if outcomes.is_empty() {
        return Ok(());
    }
    let mut chosen = Vec::new();
    for brief in briefs.drain(..) {
        let log = match brief.outcome {
            Some(_) => PathBuf::new(),
            None => store.path_of(brief.log)?,
        };
        let standing = standing(brief.outcome.as_deref(), &brief.source, &log);
        if standing.is_some_and(|word| outcomes.contains(&word)) {
            chosen.push(brief);
        }
    }
    *briefs = chosen;
    Ok(())
}

fn list(sessions: Vec<(Session, String)>) -> Vec<Listed> {
    let listed = sessions.into_iter().map(|(session, short)| {
        let log = session.logs.last().map_or(Path::new(""), PathBuf::as_path);
        let outcome = standing(session.outcome.as_deref(), &session.source, log);
        Listed { session, outcome, short }
    });
    listed.collect()
}

/// What the index has was made plain by rules; what only this environment knows goes too.
fn hide(session: &mut Session, redactor: &Redactor) {
    for text in [&mut session.title, &mut session.note].into_iter().flatten() {
        if let Cow::Owned(hidden) = redactor.redact(text) {
            *text = hidden;
        }
    }
}

fn table(listed: &[Listed], env: &Env, clock: &Clock) -> Table {
    let mut table = Table::new(&[
        Column::left("ID"),
        Column::left("AGENT"),
        Column::left("TITLE").gives_way(18),
        Column::left("WORKSPACE").gives_way(9).of_paths().can_be_missed(1),
        Column::left("WHEN"),
        Column::right("TURNS").can_be_missed(3),
        Column::right("TOOLS").can_be_missed(4),
        Column::right("TOKENS").can_be_missed(2),
        Column::right("COST").can_be_missed(5),
        Column::left("OUTCOME"),
    ]);
    table.rows_of(listed, |it| row(it, env, clock.ago(it.session.last)));
    table
}

fn row(it: &Listed, env: &Env, when: String) -> Vec<Cell> {
    let Listed { session, outcome, short } = it;
    let plain = |text: String| (text, Look::Plain);
    let count = |n: u64| plain(if n == 0 { String::new() } else { figures::grouped(n) });
    let tokens = session.spent.tokens;
    let workspace = session.workspace.as_deref().map(|path| at_home(path, env));
    let outcome = outcome.clone().unwrap_or_default();
    let look = look(&outcome);
    vec![
        (short.clone(), Look::Bold),
        plain(session.agent.clone()),
        plain(fit(session.title.as_deref().unwrap_or("-"), TITLE)),
        (end_of_path(&workspace.unwrap_or_default(), FOLDER), Look::Dim),
        plain(when),
        count(session.spent.turns),
        count(session.spent.tools),
        plain(tokens.map(|it| figures::short(it.total())).unwrap_or_default()),
        plain(tokens.and_then(|it| it.cost_usd).map(figures::dollars).unwrap_or_default()),
        (outcome, look),
    ]
}

/// Of a long path its end, which tells the most.
fn end_of_path(path: &str, most: usize) -> String {
    let mut kept = path;
    while kept.chars().count() + 2 > most {
        let Some((_, rest)) = kept.trim_start_matches('/').split_once('/') else { break };
        kept = rest;
    }
    if kept.len() < path.len() {
        format!("…/{}", kept.trim_start_matches('/'))
    } else {
        path.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_path_keeps_its_end() {
        assert_eq!(end_of_path("~/hay", 20), "~/hay");
        assert_eq!(end_of_path("/srv/stable/boxes/ponies", 16), "…/boxes/ponies");
        assert_eq!(end_of_path("/a/averyveryverylongname", 10), "…/averyveryverylongname");
    }
}
