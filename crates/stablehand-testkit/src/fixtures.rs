//! Finds the recordings: our own in `fixtures/`, and others' beside the checkout where they exist.
//!
//! Others' recordings are read in place and never copied; a machine without them runs our own only,
//! and the tests say so.

use std::fs;
use std::path::{Path, PathBuf};

/// One recorded stream.
#[derive(Debug, Clone)]
pub struct Recording {
    /// The file.
    pub path: PathBuf,
    /// Its name without the extension.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl Recording {
    /// What `decode --summary` should say of it, where that is written beside it. Only the fields
    /// that are there are meant.
    pub fn expected_summary(&self) -> Option<serde_json::Value> {
        let text = fs::read_to_string(self.path.with_extension("expect.json")).ok()?;
        Some(serde_json::from_str(&text).expect("the expectation is JSON"))
    }
}

/// The root of the workspace.
pub fn workspace() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the workspace root")
}

/// Our own recordings of a dialect, by name. There are some, or the test fails.
pub fn own(dialect: &str) -> Vec<Recording> {
    let found = recordings_in(&workspace().join("fixtures").join(dialect));
    assert!(!found.is_empty(), "no fixtures for `{dialect}`");
    found
}

/// Others' whole recordings of a dialect, or nothing where they are not beside the checkout.
pub fn shared(dialect: &str) -> Option<Vec<Recording>> {
    let folder = workspace().join("../shared/fixtures").join(dialect);
    let found = recordings_in(&folder);
    (!found.is_empty()).then_some(found)
}

fn recordings_in(folder: &Path) -> Vec<Recording> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "ndjson"))
        .collect();
    paths.sort();
    let recording = |path: PathBuf| Recording {
        name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        bytes: fs::read(&path).expect("a readable recording"),
        path,
    };
    paths.into_iter().map(recording).collect()
}
