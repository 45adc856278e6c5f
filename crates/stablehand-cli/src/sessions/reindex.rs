//! `sessions reindex`: the index made anew from the logs, or held against them.

use super::fresh::describe;
use super::read::PlaceArgs;
use crate::env::Env;
use crate::failure::Failure;
use crate::main_stablehand::PROGRAM;
use crate::output::{self, Progress, figures};
use stablehand_core::text::plain;
use stablehand_core::time::human;
use stablehand_store::{FILE, Store};
use std::path::Path;
use std::time::{Duration, Instant};

/// Make the index of the logs anew
///
/// Nothing depends on it but time: `sessions` keeps the index up to date by itself, and notices most
/// damage. Runs may go on meanwhile, and whoever asks gets the old one until the new one is whole.
#[derive(Debug, clap::Args)]
pub struct ReindexArgs {
    /// Change nothing: make one beside it and compare. Exit status 1 where they differ
    #[arg(long)]
    verify: bool,

    /// For programs: one object
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    place: PlaceArgs,
}

/// Runs it.
pub(super) fn main(args: &ReindexArgs) -> Result<u8, Failure> {
    let env = Env::read()?;
    let folder = args.place.folder(&env)?;
    if !folder.is_dir() {
        let text = format!("there is no folder `{}`, so there are no logs", folder.display());
        return Err(Failure::new(text).hint("name another folder with --log-dir"));
    }
    if args.verify {
        return verify(args, &folder);
    }
    let began = Instant::now();
    let mut progress = Progress::new(&env, Duration::ZERO);
    let (store, done) =
        Store::reindex(&folder, &mut |advance| progress.draw(|| describe(advance)))?;
    drop(progress);
    let took = began.elapsed();
    for (path, why) in &done.unreadable {
        output::say(&format!("WARN failed to read `{}`: {why}", path.display()));
    }
    let summary = store.summary()?;
    if args.json {
        let object = serde_json::json!({
            "index": folder.join(FILE).to_string_lossy(),
            "logs": summary.logs,
            "runs": summary.runs,
            "passages": summary.passages,
            "read_bytes": summary.read_bytes,
            "index_bytes": summary.index_bytes,
            "unreadable": done.unreadable.iter().map(|(path, why)| {
                serde_json::json!({ "path": path.to_string_lossy(), "error": why })
            }).collect::<Vec<_>>(),
            "duration_ms": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        });
        return output::print(&format!("{object}\n"));
    }
    output::print(&format!(
        "{} logs ({}), {} runs, {} texts in {} ({}), in {}\n",
        summary.logs,
        figures::bytes(summary.read_bytes),
        summary.runs,
        summary.passages,
        plain(&folder.join(FILE).display().to_string()),
        figures::bytes(summary.index_bytes),
        human(took),
    ))
}

fn verify(args: &ReindexArgs, folder: &Path) -> Result<u8, Failure> {
    let wrong = Store::verify(folder)?;
    let index = folder.join(FILE);
    if args.json {
        let object = serde_json::json!({ "index": index, "same": wrong.is_none(), "wrong": wrong });
        output::print(&format!("{object}\n"))?;
    } else {
        let text = match &wrong {
            None => "the index has what the logs have".to_owned(),
            Some(wrong) => format!(
                "the index is not what the logs have: {wrong}; run `{PROGRAM} sessions reindex`"
            ),
        };
        output::print(&format!("{}\n", plain(&text)))?;
    }
    Ok(u8::from(wrong.is_some()))
}
