//! Saved states of the reader of a log, so that a cursor in the middle of a long log is found without
//! decoding what stands before it.
//!
//! Owns one file per log, in a folder beside the logs: a line of JSON for each checkpoint, in the order
//! of their offsets. It is a cache: without it a log is read from its beginning, and nothing else
//! fails where it cannot be written. The file's name has the version of the code that decodes, so
//! that a state of other code is never read. What a state holds comes from the log and from nowhere
//! else; the file is readable by its owner only, as the log is.

use crate::log::LogSource;
use nix::libc;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use stablehand_core::Depth;
use stablehand_core::id::LogId;
use stablehand_core::replay::{EventReader, STATE_VERSION};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The folder beside the logs.
const FOLDER: &str = "checkpoints";

/// How far checkpoints are apart. Frames are made from about 60 MB of log a second (`benches/seek`), so
/// what is decoded before a cursor takes 4 ms.
const EVERY_BYTES: u64 = 256 << 10;

/// A state that is larger than this part of the log since the last checkpoint has to wait, so the file
/// is never larger than an eighth of the log.
const SHARE: u64 = 8;

/// Where the checkpoints of a log are kept, and how dense they are.
#[derive(Clone, Debug)]
pub(crate) struct Checkpoints {
    pub(super) folder: PathBuf,
    pub(super) every_bytes: u64,
    pub(super) share: u64,
}

/// The checkpoints of one log, as one reader of it uses them.
#[derive(Debug)]
pub(super) struct CheckpointFile {
    place: Checkpoints,
    name: String,
    id: LogId,
    log: LogSource,
    /// The next checkpoint is made at the first record from here on.
    due: u64,
}

/// One line of the file.
#[derive(Serialize, Deserialize)]
struct Checkpoint {
    /// Everything before this offset is in the state; a record begins here.
    offset: u64,
    /// A digest of the bytes before it. A log that another program truncated has others there.
    before: u64,
    state: Box<RawValue>,
}

impl Checkpoints {
    /// Those of the logs in this folder.
    pub(crate) fn beside(logs: &Path) -> Checkpoints {
        Checkpoints { folder: logs.join(FOLDER), every_bytes: EVERY_BYTES, share: SHARE }
    }

    /// Removes those of a log.
    pub(crate) fn remove(&self, log: LogId) {
        self.remove_but(log, "");
    }

    fn remove_but(&self, log: LogId, kept: &str) {
        let log = log.0.simple().to_string();
        for entry in std::fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with(&log) && (kept.is_empty() || !name.contains(kept)) {
                let _only_a_cache = std::fs::remove_file(entry.path());
            }
        }
    }

    /// Those of one log. Readers that redact have their own: such a reader can be restored only where
    /// no text is held back, and one that does not redact cannot know where that is.
    pub(super) fn of(&self, id: LogId, log: LogSource, is_redacted: bool) -> CheckpointFile {
        let kind = if is_redacted { "redacted" } else { "plain" };
        CheckpointFile {
            place: self.clone(),
            name: format!("{}-{STATE_VERSION}-{kind}", id.0.simple()),
            id,
            log,
            due: self.every_bytes,
        }
    }
}

impl CheckpointFile {
    /// Returns the last reader that was saved at or before this offset, and the offset at which it
    /// goes on.
    pub(super) fn restore(&mut self, offset: u64) -> Option<(u64, EventReader)> {
        if offset < self.due {
            return None;
        }
        let file = File::open(self.place.folder.join(&self.name)).ok()?;
        let mut most = offset;
        loop {
            let (_, found) = last(&file, most).ok()??;
            if self.log.digest_before(found.offset) == Some(found.before)
                && let Some(reader) = EventReader::restore(&found.state, Depth::Full)
            {
                self.due = found.offset.saturating_add(self.place.every_bytes);
                return Some((found.offset, reader));
            }
            most = found.offset.checked_sub(1)?;
        }
    }

    /// Returns true if a checkpoint is wanted at this offset.
    #[inline]
    pub(super) fn is_due(&self, offset: u64) -> bool {
        offset >= self.due
    }

    /// Makes no further checkpoints. Where bytes of the log are gone, its offsets are no longer those of
    /// the file.
    pub(super) fn stop(&mut self) {
        self.due = u64::MAX;
    }

    /// Saves a reader that stands at this offset, where a record begins.
    pub(super) fn save(&mut self, offset: u64, reader: &EventReader) {
        // A decoder puts together what the log has in pieces. A secret that was cut in two is not found
        // in a log that is redacted, and would stand whole in the state.
        if reader.log().header().redacted_raw {
            return self.stop();
        }
        // In the middle of a line in parts; soon there is another record.
        let Some(state) = reader.save() else { return };
        self.due = offset + self.place.every_bytes;
        let Some(before) = self.log.digest_before(offset) else { return };
        let Ok(mut line) = serde_json::to_vec(&Checkpoint { offset, before, state }) else {
            return;
        };
        line.push(b'\n');
        let _only_a_cache = self.append(offset, &line);
    }

    /// Appends a line, unless another reader of this or another process was here before.
    fn append(&mut self, offset: u64, line: &[u8]) -> io::Result<()> {
        let file = self.open()?;
        // It is unlocked when it is closed.
        file.try_lock()?;
        let (end, before) = last(&file, u64::MAX)?.map_or((0, 0), |(end, last)| (end, last.offset));
        let apart = self.place.every_bytes.max(self.place.share * line.len() as u64);
        let next = before.saturating_add(apart);
        if offset < next {
            self.due = next;
            return Ok(());
        }
        // A process that died while it wrote left a line without its end.
        if file.metadata()?.len() > end {
            file.set_len(end)?;
        }
        (&file).write_all(line)
    }

    /// Opens the file to be written; where it is new, those of other versions go.
    fn open(&self) -> io::Result<File> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.place.folder)?;
        let path = self.place.folder.join(&self.name);
        if !path.exists() {
            self.place.remove_but(self.id, STATE_VERSION);
        }
        OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW)
            .open(path)
    }
}

/// Finds the last checkpoint at or before this offset, and where its line ends. The lines are sorted by
/// their offsets, so most of the file is not read.
fn last(file: &File, offset: u64) -> io::Result<Option<(u64, Checkpoint)>> {
    let (mut from, mut to) = (0, file.metadata()?.len());
    let mut found = None;
    while from < to {
        let middle = from + (to - from) / 2;
        match next(file, middle, to)? {
            Some((end, checkpoint)) if checkpoint.offset <= offset => {
                from = end;
                found = Some((end, checkpoint));
            }
            _ => to = middle,
        }
    }
    Ok(found)
}

/// Reads the first line that begins from `from` on and before `to`, and where it ends. A damaged one
/// is skipped.
fn next(file: &File, from: u64, to: u64) -> io::Result<Option<(u64, Checkpoint)>> {
    let mut reader = BufReader::new(file);
    let mut at = from.saturating_sub(1);
    reader.seek(SeekFrom::Start(at))?;
    if from > 0 {
        at += reader.skip_until(b'\n')? as u64;
    }
    let mut line = Vec::new();
    while at < to {
        line.clear();
        at += reader.read_until(b'\n', &mut line)? as u64;
        if let (Some(b'\n'), Ok(checkpoint)) = (line.last(), serde_json::from_slice(&line)) {
            return Ok(Some((at, checkpoint)));
        }
    }
    Ok(None)
}
