//! Reading one transcript, whatever form it has, and the events that it tells.
//!
//! Memory stays bounded: lines come from a splitter, a document has a most, and what is packed is
//! unpacked as it is read.

use super::database::Databases;
use super::tree;
use super::walk::Item;
use crate::StoreError;
use stablehand_core::Dialect;
use stablehand_core::decode::{Beside, Timed, TranscriptForm};
use stablehand_core::line::{Line, LineSplitter, Part};
use stablehand_core::time::UnixMillis;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The most of one document. Larger ones are read as far as they are of use when cut.
const MOST_OF_DOCUMENT: u64 = 64 << 20;

/// How much of a larger one is read.
const HEAD_OF_DOCUMENT: usize = 4 << 20;

/// The most that a packed file may have in it. One that has more was made to harm.
const MOST_UNPACKED: u64 = 4 << 30;

/// The most of a file that says where the agent worked.
const MOST_OF_PLACE: u64 = 4096;

/// How far above a transcript that file may be.
const PLACES_ABOVE: usize = 3;

/// Gives the events of a transcript as they are read, some at a time; the last time with the title
/// that the agent gave the session.
pub(super) fn each_event(
    dialect: Dialect,
    item: &Item,
    databases: &mut Databases,
    mut take: impl FnMut(&mut Vec<Timed>, Option<&str>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let Some(mut decoder) = dialect.transcript(&beside(dialect, item)) else { return Ok(()) };
    let mut events = Vec::new();
    each_line(item, databases, |line| {
        decoder.line(line, &mut events);
        if events.len() < 64 {
            return Ok(());
        }
        let taken = take(&mut events, None);
        events.clear();
        taken
    })?;
    decoder.finish(&mut events);
    take(&mut events, decoder.title())
}

fn beside(dialect: Dialect, item: &Item) -> Beside {
    let folder = item.path.parent();
    let name = folder.and_then(Path::file_name).unwrap_or_default();
    let file = dialect.transcript_files().and_then(|files| files.workspace);
    let places = item.path.ancestors().skip(1).take(PLACES_ABOVE);
    let cwd = file.and_then(|file| places.map(|place| place.join(file)).find_map(|it| place(&it)));
    Beside {
        name: item.name.clone(),
        folder: name.to_string_lossy().into_owned(),
        cwd,
        modified: UnixMillis(item.mtime_ms),
    }
}

fn place(file: &Path) -> Option<String> {
    let mut text = String::new();
    if !file.symlink_metadata().ok()?.is_file() {
        return None;
    }
    File::open(file).ok()?.take(MOST_OF_PLACE).read_to_string(&mut text).ok()?;
    Some(text.trim().to_owned()).filter(|place| place.starts_with('/'))
}

/// Gives the lines of a transcript.
fn each_line(
    item: &Item,
    databases: &mut Databases,
    mut take: impl FnMut(&Line<'_>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let failed = |source| StoreError::Read { path: item.path.clone(), source };
    match item.form {
        TranscriptForm::Database => return databases.each_line(item, take),
        TranscriptForm::Tree => return tree::each_line(item, take),
        _ => {}
    }
    let file = File::open(&item.path).map_err(failed)?;
    match item.form {
        TranscriptForm::PackedLines => {
            let broken = |error: &dyn std::fmt::Display| {
                failed(std::io::Error::other(format!("it cannot be unpacked: {error}")))
            };
            let packed = std::io::BufReader::new(file);
            let unpacked =
                ruzstd::decoding::StreamingDecoder::new(packed).map_err(|error| broken(&error))?;
            lines(&mut unpacked.take(MOST_UNPACKED), &item.path, take)
        }
        TranscriptForm::Document => {
            let mut bytes = Vec::new();
            (&file).take(MOST_OF_DOCUMENT + 1).read_to_end(&mut bytes).map_err(failed)?;
            let is_whole = bytes.len() as u64 <= MOST_OF_DOCUMENT;
            let part = if is_whole { Part::Whole } else { Part::First };
            let most = if is_whole { bytes.len() } else { HEAD_OF_DOCUMENT };
            let bytes = bytes.get(..most).unwrap_or(&bytes);
            take(&Line { bytes, offset: 0, part, newline: false })
        }
        _ => lines(&mut &file, &item.path, take),
    }
}

fn lines(
    from: &mut dyn Read,
    path: &Path,
    mut take: impl FnMut(&Line<'_>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut splitter = LineSplitter::default();
    loop {
        let n = match from.read(splitter.space()) {
            Ok(n) => n,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(source) => return Err(StoreError::Read { path: path.to_owned(), source }),
        };
        if n == 0 {
            break;
        }
        splitter.filled(n);
        while let Some(line) = splitter.next() {
            take(&line)?;
        }
    }
    while let Some(line) = splitter.finish() {
        take(&line)?;
    }
    Ok(())
}
