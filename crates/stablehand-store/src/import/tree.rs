//! Sessions that are kept as a tree of small files: the session, its messages, the parts of each.
//!
//! `storage/session/<project>/<session>.json`, `storage/message/<session>/<message>.json`,
//! `storage/part/<message>/<part>.json`. The names of messages and parts sort by time.

use super::walk::Item;
use crate::StoreError;
use stablehand_core::line::{Line, Part};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The most of one file. Parts with pictures in them are the longest.
const MOST: u64 = 16 << 20;

/// So many messages, and so many parts of each, are read.
const MOST_FILES: usize = 50_000;

/// The folder of a session's messages.
pub(super) fn messages(root: &Path, session: &str) -> Option<PathBuf> {
    is_plain(session).then(|| root.join("storage/message").join(session))
}

/// Gives the session, its messages and their parts as lines.
pub(super) fn each_line(
    item: &Item,
    mut take: impl FnMut(&Line<'_>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let failed = |source| StoreError::Read { path: item.path.clone(), source };
    let session = read(&item.path).map_err(failed)?;
    take(&line(&wrapped("session", &item.name, "", &session)))?;
    // `storage/session/<project>/<session>.json`
    let Some(storage) = item.path.ancestors().nth(3).filter(|_| is_plain(&item.name)) else {
        return Ok(());
    };
    for (message, path) in files(&storage.join("message").join(&item.name)) {
        // One that was removed or is being written now is read next time.
        let Ok(data) = read(&path) else { continue };
        take(&line(&wrapped("message", &message, "", &data)))?;
        for (part, path) in files(&storage.join("part").join(&message)) {
            let Ok(data) = read(&path) else { continue };
            take(&line(&wrapped("part", &part, &message, &data)))?;
        }
    }
    Ok(())
}

/// The documents of a folder by their names.
fn files(folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_FILES);
    let mut files: Vec<_> = entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let name = name.strip_suffix(".json").filter(|name| is_plain(name))?.to_owned();
            Some((name, entry.path()))
        })
        .collect();
    files.sort();
    files
}

/// Whether a name is one part of a path and nothing else.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(MOST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// One stored thing as the line that core reads.
pub(super) fn wrapped(stored: &str, id: &str, message: &str, data: &[u8]) -> Vec<u8> {
    stamped(stored, id, message, None, data)
}

/// The same with the time at which it was stored.
pub(super) fn stamped(
    stored: &str,
    id: &str,
    message: &str,
    at: Option<i64>,
    data: &[u8],
) -> Vec<u8> {
    let mut head = serde_json::json!({"stored": stored, "id": id, "message": message});
    if let (Some(at), Some(head)) = (at, head.as_object_mut()) {
        head.insert("at".to_owned(), at.into());
    }
    let mut bytes = head.to_string().into_bytes();
    bytes.pop();
    bytes.extend_from_slice(b",\"data\":");
    bytes.extend_from_slice(data.trim_ascii());
    bytes.push(b'}');
    bytes
}

/// A whole line.
pub(super) fn line(bytes: &[u8]) -> Line<'_> {
    Line { bytes, offset: 0, part: Part::Whole, newline: true }
}
