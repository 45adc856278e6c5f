//! What the first and the last records of a log tell: enough to list it, name it and resume it.
//!
//! Reads a bounded part of each end, however long the log is. Everything that an agent named in it is
//! still as the agent wrote it; whoever shows it makes it plain.

use super::Writer;
use crate::agent::Agent;
use stablehand_core::event::{EventKind, ItemBody, TextRole};
use stablehand_core::id::{LogId, SessionId, SessionKey};
use stablehand_core::record::{
    DecisionKind, DecisionRecord, LogReader, LogWord, Record, RunStart, SessionStarted,
    SettingsChosen,
};
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
    /// The agent's program.
    pub program: Option<PathBuf>,
    /// The folder that it worked in.
    pub cwd: Option<String>,
    /// What was chosen for it.
    pub chosen: SettingsChosen,
    /// Whether it says that the session was deleted.
    pub deleted: bool,
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
        program: None,
        cwd: None,
        chosen: SettingsChosen::default(),
        deleted: false,
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
        let mut reader = EventReader::of(LogReader::default(), Depth::Full);
        let mut events = Vec::new();
        let mut said = String::new();
        let (mut started_in, mut resumed) = (None, None);
        while file.read_until(b'\n', &mut line)? > 0 {
            let record = Record::read(line.strip_suffix(b"\n").unwrap_or(&line));
            if let Record::Decision(decision) = &record {
                self.began.get_or_insert(decision.at());
                match decision.record() {
                    Some(DecisionRecord::LogOpened(header)) => {
                        self.id = header.log.as_ref().and_then(|id| id.parse().ok());
                        self.key = header.session;
                        self.redacted_raw = header.redacted_raw;
                        self.dialect = header.dialect();
                    }
                    Some(
                        DecisionRecord::AgentSpawned(start) | DecisionRecord::SpawnFailed(start),
                    ) => {
                        self.agent = text(Some(&start.agent)).or(self.agent.take());
                        self.program = start.argv.first().map(PathBuf::from);
                        started_in = started_in.or_else(|| workspace(start));
                        resumed = resumed.or_else(|| session(start.resumed_from.as_ref()));
                    }
                    Some(DecisionRecord::SessionStarted(started)) => self.session(started),
                    Some(DecisionRecord::SettingsChosen(chosen)) => self.chosen = chosen.clone(),
                    Some(DecisionRecord::SessionDeleted(_)) => self.deleted = true,
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
        // Where it was told to work counts for more than where we started it, and that for more than
        // where it says that it is.
        self.cwd = self.chosen.workspace.clone().or(started_in).or(self.cwd.take());
        Ok(resumed)
    }

    fn tail(&mut self, line: &[u8]) {
        // Few records are worth a closer look.
        let kinds =
            [DecisionKind::RunEnded, DecisionKind::AgentSpawned, DecisionKind::SessionStarted];
        if !kinds.into_iter().any(|kind| kind.is_named_in(line)) {
            return;
        }
        match Record::read(line).decision() {
            Some(DecisionRecord::AgentSpawned(_)) => self.end = None,
            Some(DecisionRecord::SessionStarted(started)) => self.session(started),
            Some(DecisionRecord::RunEnded(ended)) => {
                self.session = session(ended.session_id.as_ref()).or(self.session.take());
                self.end = Some(LogEnd {
                    outcome: ended.outcome.as_ref().map(LogWord::text).unwrap_or_default(),
                    text: ended.text.clone().unwrap_or_default(),
                    elapsed_ms: ended.elapsed_ms,
                });
            }
            _ => {}
        }
    }

    fn session(&mut self, started: &SessionStarted) {
        self.session = session(started.session_id.as_ref()).or(self.session.take());
        self.model = text(started.model.as_ref()).or(self.model.take());
        self.cwd = self.cwd.take().or_else(|| text(started.cwd.as_ref()));
    }
}

fn text(text: Option<&String>) -> Option<String> {
    text.filter(|text| !text.is_empty()).cloned()
}

fn session(id: Option<&SessionId>) -> Option<SessionId> {
    id.filter(|id| !id.0.is_empty()).cloned()
}

/// The folder that an agent was told to work in, or started in.
fn workspace(start: &RunStart) -> Option<String> {
    let agent = Agent::by_name(&start.agent);
    let told = agent.and_then(|agent| agent.workspace_in(&start.argv));
    match (told, text(start.cwd.as_ref())) {
        (Some(told), Some(cwd)) => Some(Path::new(&cwd).join(told).display().to_string()),
        (told, cwd) => told.map(str::to_owned).or(cwd),
    }
}

fn title(text: &str) -> Option<String> {
    let text = excerpt(text.trim().as_bytes(), TITLE);
    Some(text).filter(|text| !text.is_empty())
}
