//! What editors call their sessions: one small file each, beside the logs.
//!
//! An editor wants an id before the agent has one, and names it again to another process of ours. So
//! the id is our own, and the book says what stands behind it: whose session, where, under which
//! id of the agent's, and in which logs. The logs have everything else; an entry that is lost costs
//! the way to a session and none of its words.

use serde::{Deserialize, Serialize};
use stablehand::clock::unix_now;
use stablehand_store::query::Session;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The folder, in the state folder.
const FOLDER: &str = "acp";

/// The version of an entry.
const VERSION: u32 = 1;

/// A session, as an editor knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    v: u32,
    /// Our id, which the editor uses.
    pub(super) id: String,
    /// Whose session.
    pub(super) agent: String,
    /// Where it works.
    pub(super) cwd: PathBuf,
    /// The agent's own id, once there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) native: Option<String>,
    /// The beginning of the first prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) title: Option<String>,
    /// What was chosen for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) mode: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<String>,
    /// When it was last used, in milliseconds since 1970.
    pub(super) used_ms: i64,
    /// Its logs, in order.
    #[serde(default)]
    pub(super) logs: Vec<PathBuf>,
}

impl Entry {
    /// A session that begins.
    pub(super) fn new(agent: &str, cwd: PathBuf) -> Entry {
        Entry {
            v: VERSION,
            id: stablehand::new_run_id().0,
            agent: agent.to_owned(),
            cwd,
            native: None,
            title: None,
            mode: None,
            model: None,
            used_ms: unix_now().0,
            logs: Vec::new(),
        }
    }
}

impl From<Session> for Entry {
    /// A session that another face began. It has the agent's own id, for editors as well.
    fn from(session: Session) -> Entry {
        let cwd = session.workspace.map(PathBuf::from).unwrap_or_default();
        let native = session.session;
        Entry {
            id: native.clone().unwrap_or_default(),
            native,
            title: session.title,
            used_ms: session.last.0,
            logs: session.logs,
            ..Entry::new(&session.agent, cwd)
        }
    }
}

/// The book.
#[derive(Clone, Debug)]
pub(super) struct Book {
    folder: PathBuf,
}

impl Book {
    /// The book in that state folder.
    pub(super) fn new(state: &Path) -> Book {
        Book { folder: state.join(FOLDER) }
    }

    /// Writes an entry, whole or not at all.
    pub(super) fn write(&self, entry: &mut Entry) -> io::Result<()> {
        entry.used_ms = unix_now().0;
        let path = self.path(&entry.id).ok_or(io::ErrorKind::InvalidInput)?;
        std::fs::create_dir_all(&self.folder)?;
        // Several processes may write at once, never the same entry twice at a time.
        let draft = path.with_extension(format!("{}.new", std::process::id()));
        let mut file = std::fs::File::create(&draft)?;
        file.write_all(&serde_json::to_vec(entry)?)?;
        file.sync_data()?;
        std::fs::rename(&draft, &path)
    }

    /// An entry; none where there is none that can be read.
    pub(super) fn read(&self, id: &str) -> Option<Entry> {
        let bytes = std::fs::read(self.path(id)?).ok()?;
        let entry: Entry = serde_json::from_slice(&bytes).ok()?;
        (entry.v == VERSION && entry.id == id).then_some(entry)
    }

    /// All entries of an agent, the newest first.
    pub(super) fn of(&self, agent: &str) -> Vec<Entry> {
        let names = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let names = names.filter_map(|it| it.file_name().into_string().ok());
        let ids = names.filter_map(|name| Some(name.strip_suffix(".json")?.to_owned()));
        let mut found: Vec<Entry> = ids.filter_map(|id| self.read(&id)).collect();
        found.retain(|entry| entry.agent == agent);
        found.sort_by_key(|entry| std::cmp::Reverse(entry.used_ms));
        found
    }

    /// Takes an entry out; its logs stay.
    pub(super) fn remove(&self, id: &str) -> io::Result<()> {
        let path = self.path(id).ok_or(io::ErrorKind::NotFound)?;
        std::fs::remove_file(path)
    }

    /// Where an entry is. An id comes from outside: what could be more than a name is none of ours.
    fn path(&self, id: &str) -> Option<PathBuf> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        let fits = !id.is_empty() && id.len() <= 128 && id.bytes().all(plain);
        fits.then(|| self.folder.join(format!("{id}.json")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_comes_back_as_it_was_written_and_only_to_its_agent() {
        let state = tempfile::tempdir().unwrap();
        let book = Book::new(state.path());
        assert_eq!(book.of("claude"), []);
        let mut entry = Entry::new("claude", "/w".into());
        entry.native = Some("n-1".into());
        book.write(&mut entry).unwrap();
        assert_eq!(book.read(&entry.id), Some(entry.clone()));
        assert_eq!(book.of("claude"), [entry.clone()]);
        assert_eq!(book.of("codex"), []);
        book.remove(&entry.id).unwrap();
        assert_eq!(book.read(&entry.id), None);
    }

    #[test]
    fn an_id_never_leads_out_of_the_folder() {
        let state = tempfile::tempdir().unwrap();
        std::fs::write(state.path().join("x.json"), "{}").unwrap();
        let book = Book::new(state.path());
        for id in ["../x", "/x", "", "a/b", "a.b"] {
            assert_eq!(book.read(id), None);
            assert!(book.remove(id).is_err());
        }
        assert!(state.path().join("x.json").is_file());
    }
}
