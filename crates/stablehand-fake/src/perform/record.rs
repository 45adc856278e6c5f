//! What the fake agent notes about itself, as files in one folder.
//!
//! Owns the names: `N.argv.json`, `N.env.json`, `N.cwd`, `N.stdin` for the N-th start, `*.pid` for
//! every process ever made, `N.hooks.jsonl` and `N.context.jsonl` for what hooks did and told the
//! model, and whatever a script touches.

use crate::pid;
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// One start of the agent and its place to write to; without a folder it writes nothing.
#[derive(Debug, Clone)]
pub struct Record {
    folder: Option<PathBuf>,
    number: usize,
}

impl Record {
    /// Takes the next number and notes what this start was given.
    pub fn begin(folder: Option<PathBuf>, arguments: &[String]) -> Record {
        let number = folder.as_deref().map_or(1, take_number);
        let record = Record { folder, number };
        let environment: BTreeMap<String, String> = std::env::vars_os()
            .map(|(key, value)| {
                (key.to_string_lossy().into_owned(), value.to_string_lossy().into_owned())
            })
            .collect();
        record.note_run("argv.json", &serde_json::to_vec(arguments).unwrap_or_default());
        record.note_run("env.json", &serde_json::to_vec(&environment).unwrap_or_default());
        let cwd = std::env::current_dir().unwrap_or_default();
        record.note_run("cwd", cwd.as_os_str().as_encoded_bytes());
        record.note_run("pid", pid::own_line().as_bytes());
        record
    }

    /// The how-manieth start this is, from 1.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Where the child of that number notes its process id.
    pub(crate) fn child_pid_file(&self, child: u32) -> PathBuf {
        let number = self.number;
        let Some(folder) = &self.folder else {
            let own = std::process::id();
            return std::env::temp_dir().join(format!("stablehand-fake-{own}-{child}.pid"));
        };
        folder.join(format!("{number}.child-{child}.pid"))
    }

    /// Whether there is a folder.
    pub(crate) fn is_kept(&self) -> bool {
        self.folder.is_some()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.folder.as_ref().is_some_and(|folder| folder.join(name).exists())
    }

    /// Notes something of this start: `N.NAME`.
    pub fn note_run(&self, name: &str, bytes: &[u8]) {
        self.note(&format!("{}.{name}", self.number), bytes);
    }

    /// Adds a line to something of this start: `N.NAME`.
    pub(crate) fn append_run(&self, name: &str, line: &str) {
        if let Some(folder) = &self.folder {
            append(&folder.join(format!("{}.{name}", self.number)), &format!("{line}\n"));
        }
    }

    pub(crate) fn note(&self, name: &str, bytes: &[u8]) {
        if let Some(folder) = &self.folder {
            write_whole(&folder.join(name), bytes);
        }
    }
}

/// Writes beside and renames, so that a file that is there is complete.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) {
    let beside = path.with_extension(format!("new-{}", std::process::id()));
    if fs::write(&beside, bytes).is_ok() {
        drop(fs::rename(&beside, path));
    }
}

/// Adds a line to a file; children that go on in a new process keep the pids of all of them.
pub(crate) fn append(path: &Path, line: &str) {
    if let Ok(mut file) = OpenOptions::new().append(true).create(true).open(path) {
        drop(file.write_all(line.as_bytes()));
    }
}

/// The first number whose file nobody had made: safe against two starts at once.
fn take_number(folder: &Path) -> usize {
    (1..10_000)
        .find(|number| {
            let path = folder.join(format!("{number}.started"));
            OpenOptions::new().write(true).create_new(true).open(path).is_ok()
        })
        .unwrap_or(1)
}
