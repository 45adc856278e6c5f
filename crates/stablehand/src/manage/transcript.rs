//! The transcripts that some agents keep of their chats: which there are, and how they begin.
//!
//! Only the newest are looked at, and only their beginnings. What they say is the parser's
//! business.

use super::AgentHomes;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Chats that are looked at; older ones are found by the agent's own means.
const MAX_FILES: usize = 100;

/// Files that are seen at all in one folder, however many there are.
const MAX_ENTRIES: usize = 10_000;

/// How much of each is read. The first lines of some agents have 30 KB.
const HEAD_BYTES: u64 = 128 << 10;

/// Where an agent keeps its transcripts: `.jsonl` files named after the chat.
#[derive(Clone, Copy, Debug)]
pub struct Transcripts {
    /// The variable that moves the folder; empty where there is none.
    pub(crate) variable: &'static str,
    /// The folder in the home.
    pub(crate) folder: &'static str,
    /// How it is divided.
    pub(crate) division: Division,
}

/// How a folder of transcripts is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Division {
    /// `<below>/<working directory with dashes>/<file>`.
    ByWork(&'static str),
    /// `<below>/<year>/<month>/<day>/<file>`.
    ByDay(&'static str),
}

/// One transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transcript {
    /// The file's name without its end.
    pub name: String,
    /// When it was last written, in milliseconds since 1970.
    pub modified_ms: Option<i64>,
    /// How it begins.
    pub head: Vec<u8>,
}

impl Transcripts {
    /// The newest, newest first; nothing where the folder cannot be named.
    pub(crate) fn read(&self, around: &AgentHomes) -> Option<Vec<Transcript>> {
        let moved = around.folders.get(self.variable).cloned();
        let base = match moved {
            Some(folder) => folder,
            None => around.home.as_ref()?.join(self.folder),
        };
        let mut files: Vec<(Option<i64>, PathBuf)> = match self.division {
            Division::ByWork(below) => {
                let folder = base.join(below).join(dashed(&around.work)?);
                names(&folder).into_iter().map(|path| (modified_ms(&path), path)).collect()
            }
            Division::ByDay(below) => {
                let newest = newest_days(&base.join(below), 3, MAX_FILES);
                newest.into_iter().map(|path| (modified_ms(&path), path)).collect()
            }
        };
        files.retain(|(_, path)| path.extension().is_some_and(|end| end == "jsonl"));
        files.sort_by(|a, b| b.cmp(a));
        files.truncate(MAX_FILES);
        Some(files.into_iter().filter_map(|(modified_ms, path)| open(modified_ms, &path)).collect())
    }
}

/// `/home/rider/w` as `-home-rider-w`; nothing for a path that is too long to stay as it is.
fn dashed(work: &Path) -> Option<String> {
    let name: String =
        work.to_str()?.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    (name.len() <= 200).then_some(name)
}

/// What is in a folder, the last name first.
fn names(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(MAX_ENTRIES);
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort_by(|a, b| b.cmp(a));
    paths
}

/// The files of the newest days, until there are enough.
fn newest_days(folder: &Path, depth: usize, enough: usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in names(folder) {
        if found.len() >= enough {
            break;
        }
        if depth == 0 {
            found.push(path);
        } else {
            found.extend(newest_days(&path, depth - 1, enough - found.len()));
        }
    }
    found
}

fn modified_ms(path: &Path) -> Option<i64> {
    let since = path.metadata().ok()?.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok()
}

fn open(modified_ms: Option<i64>, path: &Path) -> Option<Transcript> {
    // A pipe or device of that name would make us wait.
    path.metadata().ok().filter(fs::Metadata::is_file)?;
    let mut head = Vec::new();
    File::open(path).ok()?.take(HEAD_BYTES).read_to_end(&mut head).ok()?;
    Some(Transcript { name: path.file_stem()?.to_str()?.to_owned(), modified_ms, head })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_found_within_bounds() {
        let home = tempfile::tempdir().unwrap();
        let around = AgentHomes {
            home: Some(home.path().to_owned()),
            work: "/home/rider/a.b".into(),
            ..AgentHomes::default()
        };
        let by_work =
            Transcripts { variable: "", folder: ".x", division: Division::ByWork("projects") };
        assert_eq!(by_work.read(&around), Some(Vec::new()));
        let folder = home.path().join(".x/projects/-home-rider-a-b");
        fs::create_dir_all(folder.join("folder.jsonl")).unwrap();
        fs::write(folder.join("one.jsonl"), b"1\n").unwrap();
        fs::write(folder.join("notes.txt"), b"no").unwrap();
        let found = by_work.read(&around).unwrap();
        let names: Vec<_> =
            found.iter().map(|one| (one.name.as_str(), one.head.as_slice())).collect();
        assert_eq!(names, [("one", &b"1\n"[..])]);
        let long = AgentHomes { work: "/x".repeat(200).into(), ..around.clone() };
        assert_eq!(by_work.read(&long), None);

        let by_day = Transcripts { division: Division::ByDay("sessions"), ..by_work };
        for (day, count) in [("2026/11/15", 90), ("2026/11/16", 60), ("2025/01/01", 9)] {
            let folder = home.path().join(".x/sessions").join(day);
            fs::create_dir_all(&folder).unwrap();
            for n in 0..count {
                fs::write(folder.join(format!("{}-{n:02}.jsonl", day.replace('/', "-"))), b"")
                    .unwrap();
            }
        }
        let found = by_day.read(&around).unwrap();
        assert_eq!(found.len(), MAX_FILES);
        assert_eq!(found.iter().filter(|one| one.name.starts_with("2026-11-16")).count(), 60);
        assert!(!found.iter().any(|one| one.name.starts_with("2025")));
    }
}
