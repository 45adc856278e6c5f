//! Finds the recordings of a dialect and decodes them, for the tests that read all of them.
//!
//! Our own recordings are in `fixtures/`. Other recordings may not be copied and are read where they
//! lie, if they are there.

use crate::transcripts;
use serde_json::Value;
use stablehand_core::decode::{Summary, Totals};
use stablehand_core::event::EventKind;
use stablehand_core::{Depth, Dialect, Line, LineSplitter, json};
use std::path::{Path, PathBuf};

#[expect(clippy::disallowed_methods, reason = "core does no I/O; its tests read recordings")]
pub(crate) fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The recordings in a folder, sorted.
pub(crate) fn in_folder(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "ndjson"))
        .collect();
    found.sort();
    found
}

/// Our own recordings of a dialect.
pub(crate) fn own(dialect: Dialect) -> Vec<PathBuf> {
    in_folder(&root().join("fixtures").join(dialect.name()))
}

/// Recordings of real runs of a dialect beside the checkout. The two-way protocol of an agent has a
/// folder within the agent's.
pub(crate) fn real_runs(dialect: Dialect) -> Vec<PathBuf> {
    let folder = match dialect {
        Dialect::CodexApp => "codex/app-server",
        other => other.name(),
    };
    let found = in_folder(&root().join("../shared/fixtures").join(folder));
    found.into_iter().filter(|path| dialect != Dialect::Grok || !is_another_format(path)).collect()
}

/// Whether a recording of Grok is of one of the other formats that it can write.
fn is_another_format(path: &Path) -> bool {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    name.starts_with("acp-") || name.ends_with("-messages")
}

/// Single lines and the example streams of documents: more shapes of Cursor.
pub(crate) fn single_lines() -> Vec<PathBuf> {
    in_folder(&root().join("../shared/fixtures/cursor/lines"))
}

/// The example streams that documents print.
pub(crate) fn documents() -> Vec<PathBuf> {
    in_folder(&root().join("../shared/fixtures/documents"))
}

/// Every recording of a dialect.
fn all(dialect: Dialect) -> Vec<PathBuf> {
    let mut found = own(dialect);
    found.extend(real_runs(dialect));
    if dialect == Dialect::Cursor {
        found.extend(single_lines());
        found.extend(documents());
    }
    found
}

type Decode = dyn Fn(&[u8]) -> Vec<EventKind>;

/// A way in which an agent tells what happens: its stream, or the transcript that it keeps.
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) recordings: Vec<Recording>,
    decode: Box<Decode>,
}

/// What an agent wrote, and the name of the file that has it.
pub(crate) struct Recording {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

impl Source {
    /// The streams of all dialects, then the transcripts of all that keep some.
    pub(crate) fn all() -> Vec<Source> {
        let streams = Dialect::ALL.iter().map(|dialect| Source {
            name: dialect.name().to_owned(),
            recordings: all(*dialect).iter().map(|path| Recording::read(path)).collect(),
            decode: Box::new(|bytes| replay(*dialect, bytes, 1 << 20, Depth::Full).events),
        });
        let transcripts = transcripts::by_dialect().into_iter().map(|(dialect, files)| Source {
            name: format!("{}-transcript", dialect.name()),
            recordings: files.iter().map(|path| Recording::read(path)).collect(),
            decode: Box::new(move |bytes| transcripts::events(dialect, bytes)),
        });
        streams.chain(transcripts).collect()
    }

    pub(crate) fn decode(&self, bytes: &[u8]) -> Vec<EventKind> {
        (self.decode)(bytes)
    }
}

impl Recording {
    fn read(path: &Path) -> Recording {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        Recording { name, bytes: agents_side(read(path)) }
    }
}

/// Of traffic that was recorded in both directions, `{"dir":"a2c","msg":…}`, what the agent wrote.
pub(crate) fn agents_side(bytes: Vec<u8>) -> Vec<u8> {
    let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let is_traffic = |line: &Value| line.get("t").is_some() && line.get("dir").is_some();
    if !serde_json::from_slice(first).is_ok_and(|line| is_traffic(&line)) {
        return bytes;
    }
    let mut side = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let line: Value = serde_json::from_slice(line).unwrap();
        if line["dir"] == "a2c" {
            side.extend_from_slice(line["msg"].to_string().as_bytes());
            side.push(b'\n');
        }
    }
    side
}

/// What a stream was decoded into.
pub(crate) struct Replay {
    pub(crate) totals: Totals,
    pub(crate) events: Vec<EventKind>,
}

/// Decodes bytes that come `chunk` at a time.
pub(crate) fn replay(dialect: Dialect, bytes: &[u8], chunk: usize, depth: Depth) -> Replay {
    let mut splitter = LineSplitter::default();
    let mut decoder = dialect.decoder();
    let mut summary = Summary::default();
    let mut events = Vec::new();
    let mut take = |line: Line<'_>| {
        let mut new = Vec::new();
        decoder.line(&line, &json::scan(line.bytes), depth, &mut new);
        summary.push(&line, &new);
        events.extend(new);
    };
    for piece in bytes.chunks(chunk) {
        let mut rest = piece;
        while !rest.is_empty() {
            let space = splitter.space();
            let n = rest.len().min(space.len());
            space[..n].copy_from_slice(&rest[..n]);
            splitter.filled(n);
            rest = &rest[n..];
            while let Some(line) = splitter.next() {
                take(line);
            }
        }
    }
    while let Some(line) = splitter.finish() {
        take(line);
    }
    let mut last = Vec::new();
    decoder.finish(depth, &mut last);
    summary.events(&last);
    events.extend(last);
    Replay { totals: summary.finish(), events }
}
