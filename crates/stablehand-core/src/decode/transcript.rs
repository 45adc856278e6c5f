//! From the transcripts that agents keep of themselves to events, each with the time that it has there.
//!
//! An agent writes its transcript to go on from it later, not for us: there is no beginning of a run,
//! no exit, and often no end of a turn. A reader tells what stands there in the words of
//! [`EventKind`], in its order, and leaves out what nobody can know. It never fails and never drops:
//! what it does not know becomes [`EventKind::Unrecognized`]. Files are found and read elsewhere.

use super::Depth;
use super::kit::unrecognized;
use crate::event::{EventKind, Unrecognized};
use crate::id::SessionId;
use crate::json::{self, Object, Scan, Value};
use crate::line::{Line, Part};
use crate::time::UnixMillis;

/// Texts are what transcripts are read for.
pub(super) const DEPTH: Depth = Depth::Full;

/// So many events wait for the model to be named; then the session is told without it.
const MOST_HELD: usize = 256;

/// Years that a clock can have shown: from 2000 to 2100. Whatever else a file says is no time.
const TIMES: std::ops::Range<i64> = 946_684_800_000..4_102_444_800_000;

/// A fact and when it happened, by the agent's own clock.
pub type Timed = (UnixMillis, EventKind);

/// What is known of a transcript before it is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Beside {
    /// The name of its file without its ending: the session, where the transcript names none.
    pub name: String,
    /// The name of the folder that it is in.
    pub folder: String,
    /// Where the agent worked, where the place of the transcript says so.
    pub cwd: Option<String>,
    /// When it was last written: the time of what has no time of its own.
    pub modified: UnixMillis,
}

/// How a transcript stands in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TranscriptForm {
    /// Line by line.
    Lines,
    /// Line by line, compressed with Zstandard.
    PackedLines,
    /// One document: the whole file is one line.
    Document,
    /// A database with the sessions in it, each to be told line by line.
    Database,
    /// The description of a session whose messages are in files of their own, to be told line by
    /// line.
    Tree,
}

/// How an agent names its transcripts, and what stands beside them.
#[derive(Clone, Copy, Debug)]
pub struct TranscriptFiles {
    /// The form of the file of that name, below the agent's folder of transcripts, with `/` between
    /// the parts; nothing for any other file.
    pub form: fn(&str) -> Option<TranscriptForm>,
    /// A file, in the same folder or above, with the place where the agent worked.
    pub workspace: Option<&'static str>,
}

/// Reads the transcript of one session.
pub trait TranscriptDecode: Send {
    /// Takes one line, or one part of a line that is too long to be held, and appends what it said.
    /// A transcript that is one document is one line.
    fn line(&mut self, line: &Line<'_>, out: &mut Vec<Timed>);

    /// The transcript is over, for now. Tools stay open; their end was not seen.
    fn finish(&mut self, out: &mut Vec<Timed>);

    /// What the agent itself calls the session.
    fn title(&self) -> Option<&str>;
}

/// Transcripts whose lines are objects: what a line is that is none, is the same for all of these.
pub(super) trait Entries {
    fn front(&self) -> &Front;

    fn front_mut(&mut self) -> &mut Front;

    /// A line that is an object, or the beginning of one.
    fn entry(&mut self, entry: &Entry<'_, '_>, out: &mut Vec<Timed>);

    /// Closes what is open and cannot come any more.
    fn close(&mut self, out: &mut Vec<Timed>);
}

impl<D: Entries + Send> TranscriptDecode for D {
    fn line(&mut self, line: &Line<'_>, out: &mut Vec<Timed>) {
        match line.part {
            Part::Whole => match &json::scan(line.bytes) {
                Scan::Object(object) => self.entry(&Entry { object, line }, out),
                Scan::Scalar => self.front_mut().odd(Unrecognized::NotAnObject, line, out),
                Scan::Text | Scan::Binary => self.front_mut().no_json(line, out),
            },
            Part::First => match &json::scan_prefix(line.bytes) {
                Some(object) => self.entry(&Entry { object, line }, out),
                None => self.front_mut().odd(Unrecognized::Oversized, line, out),
            },
            Part::Middle | Part::Last => {}
        }
    }

    fn finish(&mut self, out: &mut Vec<Timed>) {
        self.close(out);
        self.front_mut().open(out);
    }

    fn title(&self) -> Option<&str> {
        self.front().title.as_deref()
    }
}

/// An object of a transcript.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'e, 'a> {
    pub(super) object: &'e Object<'a>,
    pub(super) line: &'e Line<'a>,
}

impl<'a> Entry<'_, 'a> {
    /// A member; of an entry that is too long, also the one at which it was cut.
    pub(super) fn get(&self, key: &str) -> Option<Value<'a>> {
        self.object.get(key).or_else(|| {
            let cut = self.object.cut_member().filter(|_| self.line.part == Part::First);
            cut.filter(|(found, _)| *found == key.as_bytes()).map(|(_, value)| value)
        })
    }

    /// A member that is a string and says something.
    pub(super) fn said(&self, key: &str) -> Option<String> {
        said(self.get(key))
    }

    /// A string as it stands between its quotes.
    pub(super) fn word(&self, key: &str) -> &'a [u8] {
        self.get(key).and_then(Value::raw_str).unwrap_or_default()
    }

    /// Whether a flag is set.
    pub(super) fn is(&self, key: &str) -> bool {
        self.get(key).and_then(Value::bool) == Some(true)
    }
}

/// A string that says something.
pub(super) fn said(value: Option<Value<'_>>) -> Option<String> {
    value.and_then(Value::string).filter(|text| !text.is_empty())
}

/// A time: in words, or as milliseconds or seconds since 1970.
pub(super) fn time(value: Option<Value<'_>>) -> Option<UnixMillis> {
    let value = value?;
    if let Some(at) = value.str().and_then(|text| UnixMillis::from_rfc3339(&text)) {
        return Some(at).filter(|at| TIMES.contains(&at.0));
    }
    let number = value.i64()?;
    [number, number.saturating_mul(1000)].into_iter().find(|ms| TIMES.contains(ms)).map(UnixMillis)
}

/// What all transcripts have in front: the session, told once, as soon as all there is to say about it
/// is known. What comes before that waits for it.
#[derive(Debug, Default)]
pub(super) struct Front {
    agent: &'static str,
    pub(super) beside: Beside,
    pub(super) session: Option<String>,
    pub(super) version: Option<String>,
    pub(super) model: Option<String>,
    pub(super) cwd: Option<String>,
    pub(super) title: Option<String>,
    /// The time of the last entry that had one.
    now: Option<UnixMillis>,
    begun: Option<UnixMillis>,
    held: Vec<Timed>,
    is_open: bool,
}

impl Front {
    pub(super) fn new(agent: &'static str, beside: &Beside) -> Self {
        Front { agent, beside: beside.clone(), cwd: beside.cwd.clone(), ..Front::default() }
    }

    /// What time it is by the transcript: the given one, or that of the entry before.
    pub(super) fn at(&mut self, time: Option<UnixMillis>) -> UnixMillis {
        if let Some(time) = time {
            self.now = Some(time);
            self.begun.get_or_insert(time);
        }
        self.now.unwrap_or(self.beside.modified)
    }

    /// Tells what happened at that time.
    pub(super) fn tell(
        &mut self,
        at: UnixMillis,
        kinds: impl IntoIterator<Item = EventKind>,
        out: &mut Vec<Timed>,
    ) {
        let is_known = self.session.is_some() && self.model.is_some() && self.cwd.is_some();
        if is_known || self.held.len() >= MOST_HELD {
            self.open(out);
        }
        let to = if self.is_open { out } else { &mut self.held };
        to.extend(kinds.into_iter().map(|kind| (at, kind)));
    }

    /// Tells of the session, and what waited for that. A file in which nothing was told is none.
    pub(super) fn open(&mut self, out: &mut Vec<Timed>) {
        if self.is_open || (self.held.is_empty() && self.session.is_none()) {
            return;
        }
        self.is_open = true;
        let first = self.held.first().map(|(at, _)| *at);
        let at = self.begun.or(first).unwrap_or(self.beside.modified);
        let native_id = self.session.clone().unwrap_or_else(|| self.beside.name.clone());
        out.push((
            at,
            EventKind::SessionStarted {
                agent: self.agent.to_owned(),
                agent_version: self.version.clone(),
                native_id: SessionId(native_id),
                model: self.model.clone(),
                cwd: self.cwd.clone(),
                resumed_from: None,
            },
        ));
        out.append(&mut self.held);
    }

    /// A line that is not what the transcript is made of.
    pub(super) fn odd(&mut self, why: Unrecognized, line: &Line<'_>, out: &mut Vec<Timed>) {
        let at = self.at(None);
        let mut kinds = Vec::new();
        unrecognized(why, line.bytes, &mut kinds);
        self.tell(at, kinds, out);
    }

    /// An entry of a type that nobody knows here.
    pub(super) fn unknown(&mut self, line: &Line<'_>, out: &mut Vec<Timed>) {
        let why = match line.part {
            Part::Whole => Unrecognized::UnknownType,
            Part::First | Part::Middle | Part::Last => Unrecognized::Oversized,
        };
        self.odd(why, line, out);
    }

    fn no_json(&mut self, line: &Line<'_>, out: &mut Vec<Timed>) {
        let bytes = line.bytes.trim_ascii();
        if bytes.is_empty() {
            return;
        }
        // The agent may be writing it at this moment.
        let is_torn = !line.newline && matches!(bytes.first(), Some(b'{' | b'['));
        let why = if is_torn { Unrecognized::Torn } else { Unrecognized::Noise };
        self.odd(why, line, out);
    }
}

#[cfg(test)]
pub(super) mod testing;
