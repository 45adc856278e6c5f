//! Reading one log: from where the index stands to where the log ends.
//!
//! What a line means depends on those before it, so reading begins where the agent's last process
//! began that the index knows of, or at the beginning; rows that the index has already are left
//! out. On the way everything that was read before is summed up and compared with what was written
//! down then: a log that was changed instead of continued is indexed anew. Writes nothing, that is
//! [`crate::commit`]'s.

use crate::state::{Known, RestartPoint};
use crate::{Store, StoreError};
use stablehand_analysis::chronicle::{Chronicle, Row};
use stablehand_core::id::digest64;
use stablehand_core::line::{LineSplitter, PART, Part, WHOLE_LIMIT};
use stablehand_core::record::{DecisionRecord, LogOpened, Record};
use std::fs::{File, Metadata};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The source of our own logs.
pub(crate) const LOG: &str = "log";

/// How much of the beginning of a file may be its first line.
const FIRST_LINE: u64 = 64 << 10;

/// Most lines are pieces of something and make no row; each is remembered until it is written.
const LINES_A_ROW: usize = 8;

/// So often a log may grow just when all of it was read.
const MOST_ENDS: usize = 8;

/// How much is read before it is written: rows, bytes of text, and time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Batch {
    pub(crate) rows: usize,
    pub(crate) text: usize,
    pub(crate) time: Duration,
}

/// Somebody who reads one log for the index.
#[derive(Debug)]
pub(crate) struct Indexer {
    pub(crate) path: PathBuf,
    pub(crate) key: String,
    /// When it began, in milliseconds.
    pub(crate) began: i64,
    pub(crate) inode: u64,
    file: File,
    splitter: Option<LineSplitter>,
    pub(crate) chronicle: Chronicle,
    pub(crate) rows: Vec<Row>,
    /// Where each line of the batch begins, the digest up to it, and its first row.
    pub(crate) marks: Vec<Mark>,
    text: usize,
    /// How far the file was read.
    pub(crate) read: u64,
    /// The end of the last line, and the digest up to there.
    pub(crate) consumed: u64,
    pub(crate) digest: u64,
    /// Up to here the rows are in the index.
    pub(crate) committed: u64,
    /// What the digest has to be there, until we have read so far.
    expected: Option<u64>,
    /// What the index had of it at the last look.
    pub(crate) basis: Option<Known>,
    /// The rows in the index are not those of this file.
    pub(crate) anew: bool,
    pub(crate) restart: Option<RestartPoint>,
    /// Size and time of the file when all of it was read.
    pub(crate) at_end: Option<(u64, i64)>,
    /// Whether this belongs to the run that writes the log.
    pub(crate) live: bool,
}

/// A line of a batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    pub(crate) offset: u64,
    pub(crate) digest: u64,
    pub(crate) row: usize,
}

/// How far an indexer has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// There is more in the log.
    More,
    /// Everything that is in the log was read.
    End,
}

/// What a file turned out to be.
#[derive(Debug)]
pub(crate) enum Opened {
    /// A log.
    Log(Box<Indexer>),
    /// A copy of this log, which is indexed already.
    Copy(i64),
    /// Nothing, yet.
    Nothing,
}

impl Indexer {
    /// Begins with a log of the folder.
    pub(crate) fn open(store: &Store, path: &Path) -> Result<Opened, StoreError> {
        let file = File::open(path)
            .map_err(|source| StoreError::Read { path: path.to_owned(), source })?;
        Self::of(store, path, file)
    }

    /// The same for a file that is open already.
    pub(crate) fn of(store: &Store, path: &Path, mut file: File) -> Result<Opened, StoreError> {
        let failed = |source| StoreError::Read { path: path.to_owned(), source };
        let about = file.metadata().map_err(failed)?;
        file.rewind().map_err(failed)?;
        let Some((key, began)) = identity(&mut file, &about).map_err(failed)? else {
            return Ok(Opened::Nothing);
        };
        let known = Known::find(&store.db, &key).map_err(|error| store.failed(error))?;
        if let Some(known) = &known
            && is_copy_of(path, known, &key)
        {
            return Ok(Opened::Copy(known.id));
        }
        let mut indexer = Indexer {
            path: path.to_owned(),
            key,
            began,
            inode: about.ino(),
            file,
            splitter: None,
            chronicle: Chronicle::default(),
            rows: Vec::new(),
            marks: Vec::new(),
            text: 0,
            read: 0,
            consumed: 0,
            digest: 0,
            committed: 0,
            expected: None,
            basis: known,
            anew: false,
            restart: None,
            at_end: None,
            live: false,
        };
        match indexer.basis.clone() {
            Some(known) if about.len() < known.bytes => indexer.begin_anew()?,
            Some(known) => indexer.go_on_from(&known)?,
            None => indexer.go_to(0)?,
        }
        Ok(Opened::Log(Box::new(indexer)))
    }

    /// Begins behind what the index has.
    fn go_on_from(&mut self, known: &Known) -> Result<(), StoreError> {
        self.committed = known.bytes;
        self.expected = Some(known.digest);
        self.restart.clone_from(&known.restart);
        let resumed = known.restart.as_ref().and_then(|point| {
            let chronicle = Chronicle::resume(&point.with)?;
            Some((chronicle, point.at, point.digest))
        });
        let (chronicle, at, digest) = resumed.unwrap_or_default();
        self.chronicle = chronicle;
        self.digest = digest;
        self.go_to(at)
    }

    /// Begins at the beginning, since what the index has is not of this file.
    fn begin_anew(&mut self) -> Result<(), StoreError> {
        self.anew = true;
        self.chronicle = Chronicle::default();
        self.restart = None;
        self.digest = 0;
        self.committed = 0;
        self.expected = None;
        self.go_to(0)
    }

    fn go_to(&mut self, at: u64) -> Result<(), StoreError> {
        self.rows.clear();
        self.marks.clear();
        self.text = 0;
        self.consumed = at;
        self.read = at;
        self.splitter = None;
        self.file.seek(SeekFrom::Start(at)).map(|_| ()).map_err(|source| self.failed(source))
    }

    fn failed(&self, source: std::io::Error) -> StoreError {
        StoreError::Read { path: self.path.clone(), source }
    }

    /// The index has this now, from us or from somebody who was quicker: goes on behind it.
    pub(crate) fn settle(&mut self, known: Known) {
        self.rows.clear();
        self.marks.clear();
        self.text = 0;
        self.committed = known.bytes;
        self.expected = (known.bytes > self.consumed).then_some(known.digest);
        self.basis = Some(known);
        self.anew = false;
    }

    /// How many rows wait to be written.
    pub(crate) fn waiting(&self) -> (usize, usize) {
        (self.rows.len(), self.text)
    }

    /// Whether there is something that the index does not have.
    pub(crate) fn has_news(&self) -> bool {
        let is_called_so = |known: &Known| known.path == self.path.to_string_lossy();
        self.consumed > self.committed
            || self.anew
            || !self.basis.as_ref().is_some_and(is_called_so)
    }

    /// Gives back what only reading needs.
    pub(crate) fn rest(&mut self) {
        self.splitter = None;
    }

    /// The same in the middle of a log: what was read of the next line is read once more.
    pub(crate) fn pause(&mut self) -> Result<(), StoreError> {
        self.rest();
        self.read = self.consumed;
        let to = SeekFrom::Start(self.consumed);
        self.file.seek(to).map(|_| ()).map_err(|source| self.failed(source))
    }

    /// Reads until a batch is full or the log ends.
    pub(crate) fn read_on(&mut self, batch: Batch) -> Result<Progress, StoreError> {
        let until = Instant::now() + batch.time;
        let mut ends = 0;
        loop {
            let is_full = self.rows.len() >= batch.rows
                || self.text >= batch.text
                || self.marks.len() >= LINES_A_ROW * batch.rows;
            if is_full || Instant::now() >= until {
                self.at_end = None;
                return Ok(Progress::More);
            }
            let splitter = self
                .splitter
                .get_or_insert_with(|| LineSplitter::new(WHOLE_LIMIT + (1 << 20), PART));
            let n = match self.file.read(splitter.space()) {
                Ok(n) => n,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.failed(error)),
            };
            splitter.filled(n);
            self.read += n as u64;
            let same = self.take_lines();
            if n > 0 && same {
                continue;
            }
            let about = self.file.metadata().map_err(|source| self.failed(source))?;
            // Whoever stopped short of what the index has is another log than it was, too.
            let is_behind = n == 0 && self.consumed < self.committed;
            if !same || is_behind || about.len() < self.read {
                self.begin_anew()?;
                continue;
            }
            if about.len() == self.read {
                self.at_end = Some(size_and_time(&about));
                return Ok(Progress::End);
            }
            // It grew between two looks. One that only claims to have more is looked at again later.
            ends += 1;
            if ends > MOST_ENDS {
                self.at_end = None;
                return Ok(Progress::End);
            }
        }
    }

    /// Takes the lines that are complete; false where they are not those that the index knows.
    fn take_lines(&mut self) -> bool {
        let Some(splitter) = &mut self.splitter else { return true };
        loop {
            if self.consumed >= self.committed
                && let Some(expected) = self.expected.take()
                && (self.consumed != self.committed || self.digest != expected)
            {
                return false;
            }
            let Some(line) = splitter.next() else { return true };
            let record = match line.part {
                Part::Whole if line.bytes.is_empty() => None,
                Part::Whole => Some(Record::read(line.bytes)),
                Part::First => Some(Record::Broken(line.bytes)),
                Part::Middle | Part::Last => None,
            };
            let (offset, before) = (self.consumed, self.digest);
            self.digest = (before ^ digest64(line.bytes)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
                ^ (before >> 31);
            self.consumed += line.bytes.len() as u64 + u64::from(line.newline);
            let Some(record) = record else { continue };
            let row = self.rows.len();
            self.chronicle.record(&record, &mut self.rows);
            if Chronicle::begins(&record) {
                let with = self.chronicle.restart();
                self.restart = with.map(|with| RestartPoint { at: offset, digest: before, with });
            }
            if offset < self.committed {
                // Known already; it was read for what follows.
                self.rows.truncate(row);
                continue;
            }
            self.marks.push(Mark { offset, digest: before, row });
            for row in self.rows.get(row..).unwrap_or_default() {
                if let Row::Passage(passage) = row {
                    self.text += passage.text.len();
                }
            }
        }
    }
}

/// Who a log is, and when it began: the id in its first record. Older logs have none; the record
/// itself and the file stand in. Nothing where there is no first line yet.
fn identity(file: &mut File, about: &Metadata) -> std::io::Result<Option<(String, i64)>> {
    let mut head = Vec::new();
    file.take(FIRST_LINE).read_to_end(&mut head)?;
    let first = match head.iter().position(|byte| *byte == b'\n') {
        Some(end) => head.get(..end).unwrap_or_default(),
        None if head.len() as u64 == FIRST_LINE => head.as_slice(),
        None => return Ok(None),
    };
    let (_, changed) = size_and_time(about);
    let mut began = changed;
    let record = Record::read(first);
    if let Some(at) = record.at().filter(|at| at.0 > 0) {
        began = at.0;
    }
    if let Some(DecisionRecord::LogOpened(LogOpened { log: Some(id), .. })) = record.decision() {
        return Ok(Some((id.clone(), began)));
    }
    Ok(Some((format!("{:016x}-{}", digest64(first), about.ino()), began)))
}

/// Whether a file is merely a copy of the log that the index has under that key. Of several, the
/// longest counts, and then the first by name, so that everybody comes to the same result.
pub(crate) fn is_copy_of(path: &Path, known: &Known, key: &str) -> bool {
    let other = Path::new(&known.path);
    if path.to_string_lossy() == known.path {
        return false;
    }
    let Ok(about) = std::fs::metadata(path) else { return false };
    let Ok(mut file) = File::open(other) else { return false };
    let Ok(others) = file.metadata() else { return false };
    if !others.is_file() {
        return false;
    }
    let same = others.ino() == about.ino() && others.dev() == about.dev();
    if !same && !identity(&mut file, &others).is_ok_and(|it| it.is_some_and(|it| it.0 == key)) {
        return false;
    }
    (others.len(), path) > (about.len(), other)
}

pub(crate) fn size_and_time(about: &Metadata) -> (u64, i64) {
    let ms = about.mtime().saturating_mul(1000).saturating_add(about.mtime_nsec() / 1_000_000);
    (about.len(), ms)
}

pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
