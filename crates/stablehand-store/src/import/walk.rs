//! Which files in a folder are transcripts, within bounds and without following a link.

use stablehand_core::Dialect;
use stablehand_core::decode::TranscriptForm;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Folders within folders; the deepest that is known has five.
const DEEPEST: usize = 8;

/// So many entries are looked at, whatever they are: a folder with more is not an agent's.
const MOST_ENTRIES: usize = 500_000;

/// One transcript, or a database of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) path: PathBuf,
    /// The session, where the file has more than one.
    pub(super) session: Option<String>,
    /// The file's name without its ending, or the session.
    pub(super) name: String,
    pub(super) form: TranscriptForm,
    /// These change when there is more of it.
    pub(super) size: u64,
    pub(super) mtime_ms: i64,
}

impl Item {
    /// Who it is, in the index.
    pub(super) fn key(&self, agent: &str) -> String {
        let path = self.path.to_string_lossy();
        match &self.session {
            Some(session) => format!("{agent}:{path}#{session}"),
            None => format!("{agent}:{path}"),
        }
    }
}

/// What a folder has.
#[derive(Debug, Default)]
pub(super) struct Listed {
    pub(super) items: Vec<Item>,
    pub(super) unreadable: Vec<(PathBuf, String)>,
}

/// The transcripts below a folder, the newest first.
pub(super) fn list(dialect: Dialect, folder: &Path) -> Listed {
    let mut listed = Listed::default();
    let mut left = MOST_ENTRIES;
    below(dialect, folder, folder, 0, &mut left, &mut listed);
    if left == 0 {
        let why = format!("there is more in it than {MOST_ENTRIES} files; the rest is left out");
        listed.unreadable.push((folder.to_owned(), why));
    }
    listed.items.sort_by(|a, b| (b.mtime_ms, &a.path).cmp(&(a.mtime_ms, &b.path)));
    listed
}

fn below(
    dialect: Dialect,
    root: &Path,
    folder: &Path,
    depth: usize,
    left: &mut usize,
    listed: &mut Listed,
) {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => return listed.unreadable.push((folder.to_owned(), error.to_string())),
    };
    for entry in entries.flatten() {
        if *left == 0 {
            return;
        }
        *left -= 1;
        let path = entry.path();
        // Of the entry itself: a link is neither a folder nor a file here.
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && depth < DEEPEST {
            below(dialect, root, &path, depth + 1, left, listed);
        } else if kind.is_file()
            && let Some(item) = item(dialect, root, path)
        {
            listed.items.push(item);
        }
    }
}

pub(super) fn item(dialect: Dialect, root: &Path, path: PathBuf) -> Option<Item> {
    let files = dialect.transcript_files()?;
    let form = (files.form)(path.strip_prefix(root).ok()?.to_str()?)?;
    let mut about = path.metadata().ok().map(|about| size_and_time(&about))?;
    let name = path.file_name()?.to_str()?;
    let name = name.split('.').next().unwrap_or(name).to_owned();
    let beside = match form {
        // What was not yet taken over into the database is in a file beside it.
        TranscriptForm::Database => Some(with_ending(&path, "-wal")),
        TranscriptForm::Tree => super::tree::messages(root, &name),
        _ => None,
    };
    if let Some((size, mtime_ms)) = beside.and_then(|it| Some(size_and_time(&it.metadata().ok()?)))
    {
        about = (about.0 + size, about.1.max(mtime_ms));
    }
    Some(Item { path, session: None, name, form, size: about.0, mtime_ms: about.1 })
}

/// The same path with something behind its name.
pub(super) fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

fn size_and_time(about: &Metadata) -> (u64, i64) {
    (about.len(), about.mtime() * 1000 + about.mtime_nsec() / 1_000_000)
}
