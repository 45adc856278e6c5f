//! Lines to decode: recordings of every dialect, and generated sessions of Cursor's.
//!
//! Owns where recordings are found and which dialect a folder is; measuring is the command's. Lines
//! that are not JSON are left out: a peer that makes values refuses them at the first byte, so they
//! would say nothing.

use crate::Outcome;
use crate::stream::{Shape, Stream};
use stablehand_core::{Dialect, json};
use std::path::{Path, PathBuf};

/// The lines of some sessions of one dialect, again and again until there are enough.
#[derive(Debug)]
pub struct Corpus {
    /// Its name in tables.
    pub name: String,
    /// How it is read.
    pub dialect: Dialect,
    /// Whole sessions, each in one piece.
    sessions: Vec<Vec<u8>>,
    /// How often all of them are gone through.
    repeat: usize,
}

impl Corpus {
    /// All recordings of the repository, one corpus a dialect; and those beside the repository,
    /// where there are some. At least `bytes` each.
    pub fn recorded(bytes: usize) -> Outcome<Vec<Corpus>> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut all = Vec::new();
        for (folder, place) in [("fixtures", ""), ("../shared/fixtures", ", shared")] {
            // A terminal has no recordings: its bytes are a program's drawing, not lines of JSON.
            for dialect in Dialect::ALL.iter().filter(|dialect| **dialect != Dialect::Terminal) {
                let sessions = sessions(&root.join(folder).join(home_of(*dialect, place)))?;
                let corpus = |name: &str, sessions: Vec<Vec<u8>>| {
                    let repeat = bytes / total(&sessions).max(1) + 1;
                    Corpus { name: format!("{name}{place}"), dialect: *dialect, sessions, repeat }
                };
                let partial: Vec<Vec<u8>> =
                    sessions.iter().filter(|session| is_partial(session)).cloned().collect();
                all.push(corpus(dialect.name(), sessions));
                if *dialect == Dialect::Claude {
                    all.push(corpus("claude, partial messages", partial));
                }
            }
        }
        all.retain(|corpus| !corpus.sessions.is_empty());
        Ok(all)
    }

    /// A generated session of Cursor's.
    pub fn generated(shape: Shape, bytes: usize) -> Corpus {
        let name = format!("cursor, {}", shape.name());
        let sessions = vec![Stream::of_bytes(shape, bytes).bytes];
        Corpus { name, dialect: Dialect::Cursor, sessions, repeat: 1 }
    }

    /// The lines of each session in turn.
    pub fn sessions(&self) -> Vec<Vec<&[u8]>> {
        self.sessions.iter().map(|session| lines_of(session)).collect()
    }

    /// All sessions as one stream, again and again. Recorded sessions are short, so that a decoder
    /// for each would be a measurement of beginnings.
    pub fn streams(&self) -> Vec<Vec<&[u8]>> {
        std::iter::repeat_n(self.sessions().concat(), self.repeat).collect()
    }
}

/// The folder of a dialect's recordings.
fn home_of(dialect: Dialect, place: &str) -> &'static str {
    match (dialect, place) {
        (Dialect::CodexApp, ", shared") => "codex/app-server",
        _ => dialect.name(),
    }
}

fn sessions(folder: &Path) -> Outcome<Vec<Vec<u8>>> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut files: Vec<PathBuf> = entries.map(|e| Ok(e?.path())).collect::<Outcome<_>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "ndjson"));
    files.sort();
    let read = |file: &PathBuf| Ok(json_lines(&std::fs::read(file)?));
    let sessions: Vec<Vec<u8>> = files.iter().map(read).collect::<Outcome<_>>()?;
    Ok(sessions.into_iter().filter(|session| !session.is_empty()).collect())
}

/// What of a recording is JSON, line by line.
fn json_lines(recording: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(recording.len());
    for line in lines_of(recording) {
        if matches!(json::scan(line), json::Scan::Object(_)) {
            kept.extend_from_slice(line);
            kept.push(b'\n');
        }
    }
    kept
}

fn lines_of(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect()
}

fn total(sessions: &[Vec<u8>]) -> usize {
    sessions.iter().map(Vec::len).sum()
}

/// Whether a session was recorded with partial messages.
fn is_partial(session: &[u8]) -> bool {
    memchr::memmem::find(session, br#""type":"stream_event""#).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dialect_has_recordings() {
        let all = Corpus::recorded(1).unwrap();
        for dialect in Dialect::ALL.iter().filter(|dialect| **dialect != Dialect::Terminal) {
            let corpus = all.iter().find(|corpus| corpus.name == dialect.name());
            let corpus = corpus.unwrap_or_else(|| panic!("none for {}", dialect.name()));
            assert!(corpus.sessions().iter().flatten().count() > 10, "{}", corpus.name);
        }
        assert!(all.iter().any(|corpus| corpus.name == "claude, partial messages"));
    }
}
