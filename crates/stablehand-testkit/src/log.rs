//! Reads the log of a run as a test wants it: decisions by name, and the raw bytes joined back.
//!
//! Owns a reader of its own, on purpose: the product's reader must not vouch for the product's
//! writer. It is strict where the product's is lenient: every whole line must be a JSON object.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// One log file.
#[derive(Debug)]
pub struct LogFile {
    /// Where it is.
    pub path: PathBuf,
    /// Its records without their `raw` field, which may be nested deeper than a value can be.
    pub records: Vec<Map<String, Value>>,
    /// What the records with raw bytes hold, in order.
    raw: Vec<Raw>,
    /// Bytes after the last newline.
    pub torn_tail: Vec<u8>,
}

#[derive(Debug)]
struct Raw {
    stderr: bool,
    bytes: Vec<u8>,
}

impl LogFile {
    /// The log files of a folder, by name.
    pub fn paths_in(folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
            .collect();
        paths.sort();
        paths
    }

    /// Reads every log file of a folder.
    pub fn all_in(folder: &Path) -> Vec<LogFile> {
        LogFile::paths_in(folder).iter().map(|path| LogFile::read(path)).collect()
    }

    /// Reads one; a whole line that is not a JSON object fails the test.
    #[track_caller]
    pub fn read(path: &Path) -> LogFile {
        // A log that is being renamed may be gone between the listing and the reading.
        let bytes = fs::read(path).unwrap_or_default();
        let mut log = LogFile {
            path: path.to_owned(),
            records: Vec::new(),
            raw: Vec::new(),
            torn_tail: Vec::new(),
        };
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            if line.last() == Some(&b'\n') {
                log.push(line);
            } else {
                line.clone_into(&mut log.torn_tail);
            }
        }
        log
    }

    #[track_caller]
    fn push(&mut self, line: &[u8]) {
        let fields: BTreeMap<String, &RawValue> =
            serde_json::from_slice(line).unwrap_or_else(|error| {
                panic!("a log line is not an object: {error}: {}", String::from_utf8_lossy(line))
            });
        let parsed = |name: &str| fields.get(name).and_then(|raw| value(raw));
        let record: Map<String, Value> = fields
            .iter()
            .filter(|(name, _)| *name != "raw")
            .filter_map(|(name, raw)| Some((name.clone(), value(raw)?)))
            .collect();
        let msg = record.get("msg").and_then(Value::as_str).unwrap_or_default().to_owned();
        let is_last = parsed("last") == Some(true.into());
        let has_newline = parsed("eol") != Some(false.into());
        let (stderr, ends_line) = match msg.as_str() {
            "raw_event" => (false, has_newline),
            "raw_part" => (false, is_last && has_newline),
            "stderr" => (true, has_newline),
            "stderr_part" => (true, is_last && has_newline),
            _ => {
                self.records.push(record);
                return;
            }
        };
        let text = |name| parsed(name).and_then(|value| Some(value.as_str()?.to_owned()));
        let mut bytes = if let Some(raw) = fields.get("raw") {
            verbatim(line, raw).to_vec()
        } else if let Some(text) = text("raw_text").or_else(|| text("line")) {
            text.into_bytes()
        } else if let Some(text) = text("raw_b64").or_else(|| text("line_b64")) {
            STANDARD.decode(text).expect("base64 in the log")
        } else {
            panic!("a raw record without bytes: {}", String::from_utf8_lossy(line))
        };
        if ends_line {
            bytes.push(b'\n');
        }
        self.raw.push(Raw { stderr, bytes });
        self.records.push(record);
    }

    /// Every record of that name.
    pub fn all(&self, msg: &str) -> Vec<&Map<String, Value>> {
        self.records.iter().filter(|record| record.get("msg") == Some(&msg.into())).collect()
    }

    /// The one record of that name.
    #[track_caller]
    pub fn one(&self, msg: &str) -> &Map<String, Value> {
        let found = self.all(msg);
        let names = self.names();
        assert_eq!(found.len(), 1, "records `{msg}` among {names:?}");
        found.first().expect("one record")
    }

    /// Whether there is a record of that name.
    pub fn has(&self, msg: &str) -> bool {
        !self.all(msg).is_empty()
    }

    /// The last record.
    #[track_caller]
    pub fn last(&self) -> &Map<String, Value> {
        self.records.last().expect("a record")
    }

    /// The names of the decisions, in order, for the text of a failure.
    pub fn names(&self) -> Vec<&str> {
        let names = self.records.iter().filter_map(|record| record.get("msg")?.as_str());
        names.filter(|name| !name.starts_with("raw_") && !name.starts_with("stderr")).collect()
    }

    /// The agent's standard output, joined back from the log.
    pub fn raw_bytes(&self) -> Vec<u8> {
        self.joined(false)
    }

    /// The agent's standard error, joined back from the log.
    pub fn stderr_bytes(&self) -> Vec<u8> {
        self.joined(true)
    }

    fn joined(&self, stderr: bool) -> Vec<u8> {
        let mut bytes = Vec::new();
        for raw in self.raw.iter().filter(|raw| raw.stderr == stderr) {
            bytes.extend_from_slice(&raw.bytes);
        }
        bytes
    }

    /// Whether any record holds the text, in whatever field.
    pub fn mentions(&self, text: &str) -> bool {
        let holds = |record: &Map<String, Value>| {
            serde_json::to_string(record).is_ok_and(|json| json.contains(text))
        };
        self.records.iter().any(holds)
    }
}

/// The bytes of a field in its line, with the space around it: a raw line may begin or end with space,
/// which JSON allows and a parser forgets.
fn verbatim<'l>(line: &'l [u8], raw: &RawValue) -> &'l [u8] {
    let start = raw.get().as_ptr().addr() - line.as_ptr().addr();
    let end = start + raw.get().len();
    let (before, after) = (&line[..start], &line[end..]);
    let space_before = before.iter().rev().take_while(|byte| byte.is_ascii_whitespace()).count();
    let space_after = after.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    &line[start - space_before..end + space_after]
}

/// A field as a value, unless it is nested too deep to be one.
fn value(raw: &RawValue) -> Option<Value> {
    serde_json::from_str(raw.get()).ok()
}
