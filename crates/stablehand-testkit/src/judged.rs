//! Every log that a test leaves behind is judged again: decoder and monitor must decide what they
//! decided while it was written.
//!
//! Owns finding the logs and the words for a failure. The comparison is the product's own
//! (`stablehand_analysis::rerun`), which thereby has the whole test suite for a test.

use stablehand_analysis::rerun::Check;
use stablehand_core::record::{DecisionKind, Record};
use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// No folder of a test is nested deeper.
const DEPTH: usize = 8;

/// So much of a log is judged; those that are longer are the same line again and again.
const MOST: u64 = 16 << 20;

/// What is otherwise in the logs below a folder; empty where nothing is.
pub fn differences_below(folder: &Path) -> String {
    let mut logs = Vec::new();
    find(folder, DEPTH, &mut logs);
    let mut text = String::new();
    for log in logs {
        let bytes = beginning(&log);
        if !DecisionKind::LogOpened.is_named_in(&bytes) {
            continue;
        }
        let mut check = Check::default();
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            check.record(&Record::read(line));
        }
        let report = check.finish();
        if report.differing > 0 {
            let _infallible = writeln!(text, "{}: {report:#?}", log.display());
            let _infallible = writeln!(text, "{}", shortened(&bytes));
        }
    }
    text
}

/// The log, as far as it is judged: whole lines only.
fn beginning(log: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    // One that is being renamed may be gone by now.
    let Ok(file) = fs::File::open(log) else { return bytes };
    let _read_so_far = file.take(MOST).read_to_end(&mut bytes);
    if bytes.len() as u64 == MOST {
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        bytes.truncate(whole);
    }
    bytes
}

fn find(folder: &Path, depth: usize, logs: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && depth > 0 {
            find(&path, depth - 1, logs);
        } else if path.extension().is_some_and(|end| end == "jsonl") {
            logs.push(path);
        }
    }
}

/// The log with its long lines cut, for the text of a failure.
fn shortened(bytes: &[u8]) -> String {
    let lines = bytes.split(|byte| *byte == b'\n').map(|line| {
        String::from_utf8_lossy(line.get(..line.len().min(400)).unwrap_or_default()).into_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}
