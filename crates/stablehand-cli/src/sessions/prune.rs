//! `sessions prune`: removes old logs, never one that is written, never a file that is not ours.
//!
//! What goes is decided by [`plan`] from what is known of each log; the shell around it looks again,
//! at the file itself, just before it removes it.

mod plan;

use super::fresh::{self, Pace, is_written};
use super::grid::{self, Column, Grid};
use super::read::PlaceArgs;
use super::when::{self, Clock};
use crate::env::Env;
use crate::failure::Failure;
use crate::manage::{self, Look, Paint};
use plan::{Known, Plan, Reason, Wish};
use serde_json::{Value, json};
use stablehand_core::record::{DecisionRecord, Record};
use stablehand_core::time::UnixMillis;
use stablehand_store::query::LogFile;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// Remove old logs
#[derive(Debug, clap::Args)]
pub struct PruneArgs {
    /// Logs in which nothing has happened for so long go [default: 7d; no age with only --max-size]
    #[arg(long, value_name = "DURATION", value_parser = when::long)]
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

/// The first record of a log is not longer than this.
const FIRST_RECORD: u64 = 64 << 10;

/// Runs it.
pub(super) fn main(args: &PruneArgs) -> Result<u8, Failure> {
    let env = Env::read()?;
    let clock = Clock::read();
    let folder = args.place.folder(&env)?;
    let wish = Wish {
        older_than: match (args.older_than, args.max_size) {
            (Some(age), _) => Some(age),
            (None, Some(_)) => None,
            (None, None) => Some(RETENTION),
        },
        max_bytes: args.max_size,
        also_failed: args.all,
    };
    let indexed = fresh::ask(&env, &folder, Pace::Thorough, |store| store.log_files())?;
    let known = look(&folder, indexed.unwrap_or_default())?;
    let mut plan = plan::plan(known, &wish, clock.now());
    if !args.dry_run {
        carry_out(&mut plan);
        // What the index has of them goes with them.
        fresh::ask(&env, &folder, Pace::Thorough, |_| Ok(()))?;
    }
    if args.json {
        return manage::print_json(&object(&plan, args.dry_run));
    }
    manage::print(&text(&plan, args, &env, &clock))
}

/// What is known of every log in the folder.
fn look(folder: &Path, indexed: HashMap<PathBuf, LogFile>) -> Result<Vec<Known>, Failure> {
    let mut indexed = indexed;
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            let text = format!("failed to look into `{}`: {error}", folder.display());
            return Err(Failure::new(text));
        }
    };
    let mut known = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.extension().is_none_or(|end| end != "jsonl") {
            continue;
        }
        // A link is somebody's own arrangement.
        let Ok(about) = path.symlink_metadata() else { continue };
        let changed = about.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let changed = changed.and_then(|since| i64::try_from(since.as_millis()).ok());
        let log = indexed.remove(&path);
        let is_ours = about.is_file() && is_log(&path);
        known.push(Known {
            bytes: about.len(),
            changed: UnixMillis(changed.unwrap_or(i64::MAX)),
            is_written: is_ours && is_written(&path),
            is_ours,
            log,
            path,
        });
    }
    Ok(known)
}

/// Whether a file begins as our logs do.
fn is_log(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(FIRST_RECORD).read_to_end(&mut head));
    let Some(first) = read.ok().and_then(|_| head.split(|byte| *byte == b'\n').next()) else {
        return false;
    };
    matches!(Record::read(first).decision(), Some(DecisionRecord::LogOpened(header))
        if header.v.is_some() && header.dialect.is_some())
}

/// Removes what is to go; what cannot be removed, or is written after all, stays.
fn carry_out(plan: &mut Plan) {
    for known in std::mem::take(&mut plan.going) {
        if is_written(&known.path) {
            plan.staying.push((known, Reason::Running));
            continue;
        }
        match stablehand::log::remove(&known.path) {
            Ok(()) => plan.going.push(known),
            Err(error) => {
                fresh::say(&format!("WARN failed to remove `{}`: {error}", known.path.display()));
                plan.staying.push((known, Reason::Stuck));
            }
        }
    }
}

fn object(plan: &Plan, dry_run: bool) -> Value {
    let log = |known: &Known| {
        let sessions = known
            .log
            .iter()
            .flat_map(|log| &log.runs)
            .map(|run| json!({ "agent": run.agent, "id": run.chat, "outcome": run.outcome }));
        json!({
            "log": known.path.to_string_lossy(),
            "bytes": known.bytes,
            "last_at": known.last().rfc3339(),
            "runs": sessions.collect::<Vec<_>>(),
        })
    };
    let staying = plan.staying.iter().map(|(known, reason)| {
        let mut object = log(known);
        if let Value::Object(fields) = &mut object {
            fields.insert("reason".into(), json!(reason.word()));
        }
        object
    });
    json!({
        "dry_run": dry_run,
        "removed": plan.going.iter().map(log).collect::<Vec<_>>(),
        "kept": staying.collect::<Vec<_>>(),
        "freed_bytes": plan.freed(),
        "kept_bytes": plan.kept(),
    })
}

fn text(plan: &Plan, args: &PruneArgs, env: &Env, clock: &Clock) -> String {
    let paint = Paint::new(env);
    let mut out = String::new();
    if args.dry_run && !plan.going.is_empty() {
        let mut grid = Grid::new(&[
            Column::left("LOG").gives_way(24),
            Column::left("LAST"),
            Column::right("SIZE"),
            Column::left("TITLE").gives_way(12).can_be_missed(1),
        ]);
        for known in &plan.going {
            let run = known.log.as_ref().and_then(|log| log.runs.first());
            let title = run.and_then(|run| run.title.clone()).unwrap_or_default();
            let name = known.path.file_name().unwrap_or_default().to_string_lossy();
            grid.row(vec![
                (name.into_owned(), Look::Plain),
                (clock.ago(known.last()), Look::Plain),
                (grid::bytes(known.bytes), Look::Plain),
                (grid::cut(&title, 60), Look::Dim),
            ]);
        }
        out.push_str(&grid.render(paint, grid::width(env)));
    }
    let logs = grid::many(plan.going.len() as u64, "log");
    let freed = grid::bytes(plan.freed());
    let done = match (plan.going.is_empty(), args.dry_run) {
        (true, _) => "nothing to remove".into(),
        (_, true) => format!("{logs} would be removed, {freed} freed"),
        (_, false) => format!("{logs} removed, {freed} freed"),
    };
    out.push_str(&done);
    let mut kept: Vec<String> = Vec::new();
    for reason in Reason::ALL {
        let count = plan.staying.iter().filter(|(_, it)| *it == reason).count() as u64;
        if count > 0 {
            kept.push(format!("{} {}", grid::grouped(count), reason.text()));
        }
    }
    if !kept.is_empty() {
        let size = grid::bytes(plan.kept());
        let _infallible = write!(out, "; kept: {} ({size})", kept.join(", "));
    }
    out.push('\n');
    let failed = plan.staying.iter().any(|(_, it)| *it == Reason::Failed);
    if failed {
        out.push_str(&paint.dim("--all also removes logs of runs that hung or failed\n"));
    }
    if args.max_size.is_some_and(|most| plan.kept() > most) {
        let more = "what is kept is still bigger than --max-size\n";
        out.push_str(&paint.warn(more));
    }
    out
}

/// Reads a size: `500000`, `500MB`, `2GiB`, `2G`.
fn size(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is no size; write it like 500MB or 2GiB");
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = text.strip_prefix(digits).unwrap_or_default().to_ascii_lowercase();
    let number: f64 = digits.trim().parse().map_err(|_| wrong())?;
    let factor: f64 = match unit.as_str() {
        "" | "b" => 1.0,
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        "tb" => 1e12,
        "k" | "kib" => 1024.0,
        "m" | "mib" => 1024.0 * 1024.0,
        "g" | "gib" => 1024.0 * 1024.0 * 1024.0,
        "t" | "tib" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return Err(wrong()),
    };
    let bytes = number * factor;
    if bytes.is_finite() && (0.0..1e18).contains(&bytes) { Ok(bytes as u64) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_as_people_type_them() {
        let table = [("0", 0), ("12", 12), ("1kb", 1000), ("1.5KiB", 1536), ("2GiB", 2 << 30)];
        for (text, bytes) in table {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for wrong in ["", "GiB", "2x", "-1", "1e300GB", "nan"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
