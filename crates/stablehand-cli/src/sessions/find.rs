//! Which log is meant: a path, a session, a run, or the newest. Of an id its beginning will do.

use super::glance::{glance, moment};
use super::read::lines_of;
use crate::failure::Failure;
use stablehand_core::id::SessionId;
use stablehand_core::json::Value;
use stablehand_core::record::Record;
use stablehand_core::text::excerpt;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The word for the newest.
pub(crate) const LATEST: &str = "latest";

/// So many are listed where an id fits several.
const MOST_LISTED: usize = 10;

/// The log that is meant; of several of one session, the newest.
pub(crate) fn log(which: &str, folder: &Path) -> Result<PathBuf, Failure> {
    let path = PathBuf::from(which);
    if path.is_file() {
        return Ok(path);
    }
    let logs = newest_first(folder)?;
    if which == LATEST {
        return logs.into_iter().next().ok_or_else(|| none(folder));
    }
    if logs.is_empty() {
        return Err(none(folder));
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
    if let Some(found) = by_beginning(which, sessions(&logs, which))? {
        return Ok(found);
    }
    let mut runs = Vec::new();
    for log in &logs {
        for run in runs_of(log)? {
            if run == which {
                return Ok(log.clone());
            }
            if !which.is_empty() && run.starts_with(which) {
                runs.push((run, log.clone()));
            }
        }
    }
    if let Some(found) = by_beginning(which, runs)? {
        return Ok(found);
    }
    Err(Failure::new(format!(
        "`{which}` is no file, and no session or run of that id is in `{}`",
        folder.display()
    ))
    .hint("give the path of a log, the id of a session or of a run, or `latest`"))
}

/// There is nothing to show.
pub(super) fn none(folder: &Path) -> Failure {
    Failure::new(format!("there is no log in `{}`", folder.display()))
        .hint("name another folder with --log-dir")
}

/// The logs whose names have a session that begins so, with that session.
fn sessions(logs: &[PathBuf], beginning: &str) -> Vec<(String, PathBuf)> {
    let fits = |log: &&PathBuf| {
        let stem = log.file_stem().unwrap_or_default().to_string_lossy();
        session_in_name(&stem).is_some_and(|it| it.starts_with(beginning) && it != "unknown")
    };
    let named = |log: &PathBuf| {
        let session = glance(log).ok()?.session?;
        Some((session.0, log.clone()))
    };
    logs.iter().filter(|_| !beginning.is_empty()).filter(fits).filter_map(named).collect()
}

/// What stands behind the time in the name of a log.
fn session_in_name(stem: &str) -> Option<&str> {
    let is_time = |part: &str| {
        part.len() == 20 && part.ends_with('Z') && part.as_bytes().get(8) == Some(&b'T')
    };
    let mut rest = stem;
    while let Some((part, behind)) = rest.split_once('-') {
        if is_time(part) {
            return Some(behind);
        }
        rest = behind;
    }
    None
}

/// The newest log of the one id that was found; an error where it could be several.
fn by_beginning(
    beginning: &str,
    found: Vec<(String, PathBuf)>,
) -> Result<Option<PathBuf>, Failure> {
    let mut ids: Vec<(String, PathBuf)> = Vec::new();
    for (id, log) in found {
        if ids.iter().all(|(known, _)| *known != id) {
            ids.push((id, log));
        }
    }
    let Some((_, first)) = ids.first() else { return Ok(None) };
    // Several runs of one log are one thing to show.
    if ids.iter().all(|(_, log)| log == first) {
        return Ok(Some(first.clone()));
    }
    let mut text = format!("`{beginning}` is the beginning of {} ids:", ids.len());
    for (id, log) in ids.iter().take(MOST_LISTED) {
        let seen = glance(log).ok();
        let seen = seen.as_ref();
        let when = seen.and_then(|it| it.began).map(moment).unwrap_or_default();
        let agent = seen.and_then(|it| it.agent.as_deref()).unwrap_or("?");
        let title = seen.and_then(|it| it.title.as_deref()).unwrap_or_default();
        let line = format!("{}  {when}  {agent}  {title}", excerpt(id.as_bytes(), 64));
        let _infallible = write!(text, "\n  {}", excerpt(line.as_bytes(), 150));
    }
    if ids.len() > MOST_LISTED {
        let _infallible = write!(text, "\n  and {} more", ids.len() - MOST_LISTED);
    }
    Err(Failure::new(text).hint("give more of the id"))
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

/// The runs of a log, in order.
fn runs_of(log: &Path) -> Result<Vec<String>, Failure> {
    let mut runs = Vec::new();
    lines_of(log, |line| {
        // Few records are worth a closer look.
        let start = line.get(..160).unwrap_or(line);
        let about = |name: &[u8]| start.windows(name.len()).any(|window| window == name);
        if (about(b"agent_spawned") || about(b"spawn_failed"))
            && let Record::Decision { fields, .. } = Record::read(line)
        {
            runs.extend(fields.get("run").and_then(Value::string));
        }
        Ok(())
    })?;
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_session_is_behind_the_time() {
        let table = [
            ("stablehand-20261003T022457.441Z-bc35-1", Some("bc35-1")),
            ("cursor-wrap-20261003T022457.441Z-x", Some("x")),
            ("20261003T022457.441Z-x", Some("x")),
            ("notes", None),
            ("a-b-c", None),
        ];
        for (stem, expected) in table {
            assert_eq!(session_in_name(stem), expected, "{stem}");
        }
    }
}
