//! `--name value` and `--name`, nothing more: these commands have two or three options each.

use crate::Outcome;
use std::path::PathBuf;

/// What was typed.
#[derive(Debug)]
pub struct Options {
    words: Vec<String>,
}

impl Options {
    /// Reads the command line; `known` is what may stand there, and what `--help` shows.
    pub fn read(known: &[&str]) -> Outcome<Options> {
        let words: Vec<String> = std::env::args().skip(1).collect();
        for word in words.iter().filter(|word| word.starts_with("--")) {
            if !known.contains(&word.as_str()) {
                return Err(format!("`{word}` is not an option; there are {known:?}").into());
            }
        }
        Ok(Options { words })
    }

    /// Whether an option was given.
    pub fn has(&self, name: &str) -> bool {
        self.words.iter().any(|word| word == name)
    }

    /// The number after an option, or the default.
    pub fn number(&self, name: &str, default: usize) -> Outcome<usize> {
        let Some(value) = self.text(name)? else { return Ok(default) };
        value.parse().map_err(|_| format!("`{value}` is not a number").into())
    }

    /// The word after an option, where it was given.
    pub fn text(&self, name: &str) -> Outcome<Option<&str>> {
        let Some(at) = self.words.iter().position(|word| word == name) else {
            return Ok(None);
        };
        let value = self.words.get(at + 1).ok_or_else(|| format!("`{name}` needs a value"))?;
        Ok(Some(value))
    }
}

/// A program that was built beside this one.
pub fn sibling(name: &str) -> Outcome<PathBuf> {
    let path = std::env::current_exe()?.with_file_name(name);
    if path.exists() {
        return Ok(path);
    }
    Err(format!("`{}` is missing; build stablehand-cli and stablehand-benches", path.display())
        .into())
}

/// A program on the `PATH`, such as a peer that may not be installed.
pub fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// A folder for streams and logs, removed at the end. It says when it is in memory, since logs on a
/// real disk are what is meant.
pub fn work_folder() -> Outcome<tempfile::TempDir> {
    let folder = tempfile::Builder::new().prefix("stablehand-bench-").tempdir()?;
    #[cfg(target_os = "linux")]
    {
        let kind = nix::sys::statfs::statfs(folder.path())?.filesystem_type();
        if kind == nix::sys::statfs::TMPFS_MAGIC {
            crate::report::say("note: the logs go to a tmpfs; set TMPDIR to a folder on a disk")?;
        }
    }
    Ok(folder)
}
