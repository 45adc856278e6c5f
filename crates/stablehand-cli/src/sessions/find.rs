//! Which log is meant: a path, a session, a run, or the newest.

use super::read::each_line;
use crate::failure::Failure;
use stablehand_core::id::SessionId;
use stablehand_core::json::Value;
use stablehand_core::record::Record;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The word for the newest.
pub(super) const LATEST: &str = "latest";

/// The log that is meant; of several of one session, the newest.
pub(super) fn log(which: &str, folder: &Path) -> Result<PathBuf, Failure> {
    let path = PathBuf::from(which);
    if path.is_file() {
        return Ok(path);
    }
    let logs = newest_first(folder)?;
    let none = || {
        Failure::new(format!("there is no log in `{}`", folder.display()))
            .hint("name another folder with --log-dir")
    };
    if which == LATEST {
        return logs.into_iter().next().ok_or_else(none);
    }
    if logs.is_empty() {
        return Err(none());
    }
    let session = format!("-{}", SessionId(which.to_owned()).file_stem());
    let of_session = |path: &&PathBuf| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        // A second log of the same moment has a number behind its name.
        let bare = stem.rsplit_once('-').filter(|(_, end)| end.bytes().all(|b| b.is_ascii_digit()));
        stem.ends_with(&session) || bare.is_some_and(|(bare, _)| bare.ends_with(&session))
    };
    if let Some(found) = logs.iter().find(of_session) {
        return Ok(found.clone());
    }
    for log in &logs {
        if has_run(log, which)? {
            return Ok(log.clone());
        }
    }
    Err(Failure::new(format!(
        "`{which}` is no file, and no session or run of that id is in `{}`",
        folder.display()
    ))
    .hint("give the path of a log, the id of a session or of a run, or `latest`"))
}

/// The logs of a folder; none where there is no such folder.
pub(super) fn newest_first(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            let text = format!("failed to look into `{}`: {error}", folder.display());
            return Err(Failure::new(text));
        }
    };
    let mut logs: Vec<(SystemTime, PathBuf)> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
        .map(|path| {
            let changed = path.metadata().and_then(|about| about.modified());
            (changed.unwrap_or(SystemTime::UNIX_EPOCH), path)
        })
        .collect();
    logs.sort();
    Ok(logs.into_iter().rev().map(|(_, path)| path).collect())
}

fn has_run(log: &Path, run: &str) -> Result<bool, Failure> {
    let mut found = false;
    each_line(log, |line| {
        // Few records are worth a closer look.
        if !found && line.get(..160).unwrap_or(line).windows(13).any(|w| w == b"agent_spawned") {
            let record = Record::read(line);
            found = matches!(&record, Record::Decision { fields, .. }
                if fields.get("run").and_then(Value::string).as_deref() == Some(run));
        }
        Ok(())
    })?;
    Ok(found)
}
