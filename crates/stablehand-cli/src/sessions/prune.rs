//! `sessions prune`: removes old logs, never one that is written, never a file that is not ours.
//!
//! Reads the arguments and prints the result. [`stablehand_store::prune`] chooses the logs.

use super::fresh::{self, Pace, is_written};
use super::read::PlaceArgs;
use super::when::Clock;
use crate::duration;
use crate::env::Env;
use crate::failure::Failure;
use crate::output::{self, Column, Look, Paint, Table, figures};
use serde::Serialize;
use stablehand_core::text::fit;
use stablehand_store::prune::{self, KeepReason, PruneCandidate, PrunePlan, PruneRules};
use std::fmt::Write as _;
use std::time::Duration;

/// Remove old logs
#[derive(Debug, clap::Args)]
pub struct PruneArgs {
    /// Logs in which nothing has happened for so long go [default: 7d; no age with only --max-size]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse_long)]
    older_than: Option<Duration>,

    /// The oldest go until all logs together are no bigger than this: 500MB, 2GiB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_size: Option<u64>,

    /// Keep logs of runs that hung or failed, however old; this is the default
    #[arg(long, conflicts_with = "all")]
    keep_failed: bool,

    /// Also remove logs of runs that hung or failed
    #[arg(long)]
    all: bool,

    /// Say what would go, and remove nothing
    #[arg(long)]
    dry_run: bool,

    /// For programs: an object with what went and what stayed
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    place: PlaceArgs,
}

/// How long a log is kept unless somebody says otherwise.
const RETENTION: Duration = Duration::from_hours(7 * 24);

/// What was done, for programs.
#[derive(Serialize)]
struct Pruned<'a> {
    dry_run: bool,
    #[serde(flatten)]
    plan: &'a PrunePlan,
    freed_bytes: u64,
    kept_bytes: u64,
}

/// Runs it.
pub(super) fn main(args: &PruneArgs) -> Result<u8, Failure> {
    let env = Env::read()?;
    let clock = Clock::read();
    let folder = args.place.folder(&env)?;
    let rules = PruneRules {
        older_than: match (args.older_than, args.max_size) {
            (Some(age), _) => Some(age),
            (None, Some(_)) => None,
            (None, None) => Some(RETENTION),
        },
        max_bytes: args.max_size,
        also_failed: args.all,
    };
    let indexed = fresh::ask(&env, &folder, Pace::Thorough, |store| store.log_files())?;
    let logs = PruneCandidate::all(&folder, indexed.unwrap_or_default(), &is_written)?;
    let mut plan = prune::plan(logs, &rules, clock.now());
    if !args.dry_run {
        for (path, error) in plan.carry_out(&is_written, &stablehand::log::remove) {
            output::say(&format!("WARN failed to remove `{}`: {error}", path.display()));
        }
        // What the index has of them goes with them.
        fresh::ask(&env, &folder, Pace::Thorough, |_| Ok(()))?;
    }
    if args.json {
        return output::print_json(&Pruned {
            dry_run: args.dry_run,
            plan: &plan,
            freed_bytes: plan.freed_bytes(),
            kept_bytes: plan.kept_bytes(),
        });
    }
    output::print(&text(&plan, args, &env, &clock))
}

/// Why logs are kept, as the end of a sentence.
fn describe(reason: KeepReason) -> &'static str {
    match reason {
        KeepReason::Recent => "recent",
        KeepReason::Failed => "that hung or failed",
        KeepReason::Running => "being written",
        KeepReason::Foreign => "not ours",
        KeepReason::Unknown => "that the index does not know",
        KeepReason::Stuck => "that could not be removed",
    }
}

fn text(plan: &PrunePlan, args: &PruneArgs, env: &Env, clock: &Clock) -> String {
    let paint = Paint::new(env);
    let mut out = String::new();
    if args.dry_run && !plan.removed.is_empty() {
        let mut table = Table::new(&[
            Column::left("LOG").gives_way(24),
            Column::left("LAST"),
            Column::right("SIZE"),
            Column::left("TITLE").gives_way(12).can_be_missed(1),
        ]);
        for known in &plan.removed {
            let run = known.runs.first();
            let title = run.and_then(|run| run.title.clone()).unwrap_or_default();
            let name = known.path.file_name().unwrap_or_default().to_string_lossy();
            table.row(vec![
                (name.into_owned(), Look::Plain),
                (clock.ago(known.last), Look::Plain),
                (figures::bytes(known.bytes), Look::Plain),
                (fit(&title, 60), Look::Dim),
            ]);
        }
        out.push_str(&table.render(paint, 0));
    }
    let logs = figures::many(plan.removed.len() as u64, "log");
    let freed = figures::bytes(plan.freed_bytes());
    let done = match (plan.removed.is_empty(), args.dry_run) {
        (true, _) => "nothing to remove".into(),
        (_, true) => format!("{logs} would be removed, {freed} freed"),
        (_, false) => format!("{logs} removed, {freed} freed"),
    };
    out.push_str(&done);
    let mut kept: Vec<String> = Vec::new();
    for reason in KeepReason::ALL {
        let count = plan.kept.iter().filter(|it| it.reason == reason).count() as u64;
        if count > 0 {
            kept.push(format!("{} {}", figures::grouped(count), describe(reason)));
        }
    }
    if !kept.is_empty() {
        let size = figures::bytes(plan.kept_bytes());
        let _infallible = write!(out, "; kept: {} ({size})", kept.join(", "));
    }
    out.push('\n');
    let failed = plan.kept.iter().any(|it| it.reason == KeepReason::Failed);
    if failed {
        out.push_str(&paint.dim("--all also removes logs of runs that hung or failed\n"));
    }
    if args.max_size.is_some_and(|most| plan.kept_bytes() > most) {
        let more = "what is kept is still bigger than --max-size\n";
        out.push_str(&paint.warn(more));
    }
    out
}

/// Reads a size.
fn size(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is no size; write it like 500MB or 2GiB");
    stablehand_core::size::parse(text).ok_or_else(wrong)
}
