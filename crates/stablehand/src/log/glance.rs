//! What the first and the last records of a log tell: enough to list it, name it and resume it.
//!
//! Reads a bounded part of each end, however long the log is. Everything that an agent named in it is
//! still as the agent wrote it; whoever shows it makes it plain.

use super::Writer;
use crate::agent::Agent;
use stablehand_core::event::{EventKind, ItemBody, TextRole};
use stablehand_core::id::{LogId, SessionId, SessionKey};
use stablehand_core::json::{Object, Value};
use stablehand_core::record::Record;
use stablehand_core::replay::EventReader;
use stablehand_core::text::excerpt;
use stablehand_core::time::UnixMillis;
use stablehand_core::{Depth, Dialect};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

/// So much is read of the beginning: the session and the first prompt are among the first records.
const HEAD: u64 = 512 << 10;

/// So much of the end, first and where that is not enough: the last record may hold the last text and
/// the end of standard error.
const TAILS: [u64; 2] = [16 << 10, 512 << 10];

/// So much of a prompt is a title.
const TITLE: usize = 200;

/// What a glance was at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogKind {
    /// A log of ours.
    Log,
    /// What an agent wrote down itself.
    Transcript,
}

/// What there is to know of a log at a glance.
#[derive(Debug)]
pub struct Glance {
    /// What it is.
    pub kind: LogKind,
    /// The file.
    pub log: PathBuf,
    /// Our id of the log.
    pub id: Option<LogId>,
    /// Our id of the session; logs of format 1 have none.
    pub key: Option<SessionKey>,
    /// The agent's name on the command line.
    pub agent: Option<String>,
    /// How its output is read.
    pub dialect: Option<Dialect>,
    /// The agent's id of the session; the latest, where it changed. Where the agent never named one,
    /// the one that it was asked to continue.
    pub session: Option<SessionId>,
    /// The model, as the agent names it.
    pub model: Option<String>,
    /// The folder that it worked in.
    pub cwd: Option<String>,
    /// The first prompt, or what the agent said first, where it does not echo prompts; in one line.
    pub title: Option<String>,
    /// When the log was opened.
    pub began: Option<UnixMillis>,
    /// The end of the last run; absent while it goes on, and where it broke off.
    pub end: Option<LogEnd>,
    /// Whether it is being written.
    pub writer: Writer,
    /// Whether the raw records are not what the agent wrote.
    pub redacted_raw: bool,
}

/// How the last run ended.
#[derive(Debug)]
pub struct LogEnd {
    /// In one word.
    pub outcome: String,
    /// In a sentence.
    pub text: String,
    /// How long that run took.
    pub elapsed_ms: Option<u64>,
}

/// Looks at both ends of a log.
pub fn glance(log: &Path) -> std::io::Result<Glance> {
    let file = File::open(log)?;
    let size = file.metadata()?.len();
    let mut seen = Glance {
        kind: LogKind::Log,
        log: log.to_owned(),
        id: None,
        key: None,
        agent: None,
        dialect: None,
        session: None,
        model: None,
        cwd: None,
        title: None,
        began: None,
        end: None,
        writer: Writer::of(&file),
        redacted_raw: false,
    };
    let resumed = seen.head(&file)?;
    for most in TAILS {
        let from = size.saturating_sub(most);
        let tail = part(&file, from, most)?;
        // The first line is the rest of a longer one, unless all of the log is here.
        let skip = usize::from(from > 0);
        for line in tail.split(|byte| *byte == b'\n').skip(skip) {
            seen.tail(line);
        }
        if seen.end.is_some() || from == 0 {
            break;
        }
    }
    seen.session = seen.session.or(resumed);
    Ok(seen)
}

fn part(file: &File, from: u64, most: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; most as usize];
    let mut filled = 0;
    while let Some(room) = bytes.get_mut(filled..).filter(|room| !room.is_empty()) {
        match file.read_at(room, from + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

impl Glance {
    /// Reads the beginning; gives the session that the first run was asked to continue.
    fn head(&mut self, file: &File) -> std::io::Result<Option<SessionId>> {
        let mut file = BufReader::with_capacity(16 << 10, file.take(HEAD));
        let mut line = Vec::new();
        let mut reader = EventReader::new(Dialect::DEFAULT, Depth::Full);
        let mut events = Vec::new();
        let mut said = String::new();
        let (mut started_in, mut resumed) = (None, None);
        while file.read_until(b'\n', &mut line)? > 0 {
            let record = Record::read(line.strip_suffix(b"\n").unwrap_or(&line));
            if let Record::Decision { at, message, fields } = &record {
                self.began.get_or_insert(*at);
                match message.as_ref() {
                    "log_opened" => {
                        self.id = text(fields, "log").and_then(|id| id.parse().ok());
                        self.key = text(fields, "session").and_then(|key| key.parse().ok());
                        self.redacted_raw =
                            fields.get("redacted_raw").and_then(Value::bool).unwrap_or(false);
                        self.dialect = text(fields, "dialect").and_then(|it| Dialect::by_name(&it));
                        if let Some(dialect) = self.dialect {
                            reader = EventReader::new(dialect, Depth::Full);
                        }
                    }
                    "agent_spawned" | "spawn_failed" => {
                        self.agent = text(fields, "agent").or(self.agent.take());
                        started_in = started_in.or_else(|| workspace(fields));
                        resumed = resumed.or_else(|| text(fields, "resumed_from"));
                    }
                    "session_started" => self.session(fields),
                    _ => {}
                }
            }
            reader.record(&record, &mut events);
            for event in events.drain(..) {
                match event.event {
                    EventKind::TurnStarted { prompt: Some(prompt), .. } if self.title.is_none() => {
                        self.title = title(&prompt);
                    }
                    EventKind::ItemDelta { role: TextRole::Message, text, .. }
                        if said.len() < TITLE =>
                    {
                        said.push_str(&text);
                    }
                    EventKind::ItemCompleted { item } if said.is_empty() => {
                        if let ItemBody::Message { text } = item.body {
                            said = text;
                        }
                    }
                    _ => {}
                }
            }
            if self.title.is_some() && self.session.is_some() {
                break;
            }
            line.clear();
        }
        self.title = self.title.take().or_else(|| title(&said));
        // Where we started it counts for more than where it says that it is.
        self.cwd = started_in.or(self.cwd.take());
        Ok(resumed.map(SessionId))
    }

    fn tail(&mut self, line: &[u8]) {
        // Few records are worth a closer look.
        let start = line.get(..160).unwrap_or(line);
        let about = |name: &[u8]| start.windows(name.len()).any(|window| window == name);
        if !(about(b"run_ended") || about(b"agent_spawned") || about(b"session_started")) {
            return;
        }
        let Record::Decision { message, fields, .. } = Record::read(line) else { return };
        match message.as_ref() {
            "agent_spawned" => self.end = None,
            "session_started" => self.session(&fields),
            "run_ended" => {
                self.session = text(&fields, "session_id").map(SessionId).or(self.session.take());
                let elapsed = fields.get("elapsed_ms").and_then(Value::i64);
                self.end = Some(LogEnd {
                    outcome: text(&fields, "outcome").unwrap_or_default(),
                    text: text(&fields, "text").unwrap_or_default(),
                    elapsed_ms: elapsed.and_then(|ms| u64::try_from(ms).ok()),
                });
            }
            _ => {}
        }
    }

    fn session(&mut self, fields: &Object<'_>) {
        self.session = text(fields, "session_id").map(SessionId).or(self.session.take());
        self.model = text(fields, "model").or(self.model.take());
        self.cwd = self.cwd.take().or_else(|| text(fields, "cwd"));
    }
}

fn text(fields: &Object<'_>, name: &str) -> Option<String> {
    fields.get(name).and_then(Value::string).filter(|text| !text.is_empty())
}

/// The folder that an agent was told to work in, or started in.
fn workspace(fields: &Object<'_>) -> Option<String> {
    let argv: Vec<String> = fields
        .get("argv")
        .and_then(|argv| serde_json::from_slice(argv.raw()).ok())
        .unwrap_or_default();
    let agent = text(fields, "agent").and_then(|name| Agent::by_name(&name));
    let told = agent.and_then(|agent| agent.workspace_in(&argv));
    match (told, text(fields, "cwd")) {
        (Some(told), Some(cwd)) => Some(Path::new(&cwd).join(told).display().to_string()),
        (told, cwd) => told.map(str::to_owned).or(cwd),
    }
}

fn title(text: &str) -> Option<String> {
    let text = excerpt(text.trim().as_bytes(), TITLE);
    Some(text).filter(|text| !text.is_empty())
}
