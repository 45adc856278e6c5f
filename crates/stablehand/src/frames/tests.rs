//! Subscribers from any cursor, with checkpoints and without: each has exactly the rest of the events.

use super::reader::FrameReader;
use super::*;
use crate::log::{Durability, Log, LogOptions, LogSource};
use crate::redact::{Redaction, Redactor};
use proptest::prelude::*;
use stablehand_core::Dialect;
use stablehand_core::event::EventKind;
use stablehand_core::id::{RunId, SessionKey};
use stablehand_core::json;
use stablehand_core::line::{Line, Part};
use stablehand_core::record::{DecisionRecord, RunStart, Stream};
use stablehand_core::replay::STATE_VERSION;
use stablehand_core::size::MaxOutput;
use std::fs::File;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

/// What the fake secrets of the streams below are.
const SECRET: &str = "kN0wn-Value_42";

/// So many bytes lie between two checkpoints, where a test wants many of them.
const DENSE: u64 = 300;

/// What the agent says in each run.
const RECORDINGS: [&str; 8] = [
    "partial",
    "partial-think",
    "parallel",
    "shell",
    "duplex-multiturn",
    "flaky",
    "hooks",
    "failcmd",
];

/// A log that is being written, in a folder of its own.
struct Written {
    home: tempfile::TempDir,
    log: Log,
    runs: usize,
}

impl Written {
    fn new() -> Written {
        Written::with(None)
    }

    fn with(redaction: Option<Redaction>) -> Written {
        let home = tempfile::tempdir().unwrap();
        let options = LogOptions {
            folder: home.path().to_owned(),
            prefix: "test".into(),
            durability: Durability::Group,
            required: false,
        };
        let key = SessionKey(uuid::Uuid::now_v7());
        let log = Log::open(options, key, Dialect::Claude, redaction, None).unwrap();
        Written { home, log, runs: 0 }
    }

    fn line(&mut self, stream: Stream, text: &[u8]) {
        let line = Line { bytes: text, offset: 0, part: Part::Whole, newline: true };
        self.log.line(stream, &line, &json::scan(text));
    }

    /// One process of the agent, with recordings of a real one, and a secret that comes in pieces.
    fn run(&mut self) {
        self.runs += 1;
        let start = RunStart { run: RunId(format!("r{}", self.runs)), ..RunStart::default() };
        let spawned = EventKind::ProcessSpawned { pid: 1, argv: Vec::new() };
        self.log.decide(DecisionRecord::AgentSpawned(start), Some(&spawned));
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/claude");
        for name in RECORDINGS {
            let recording = std::fs::read(folder.join(name).with_extension("ndjson")).unwrap();
            for line in recording.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                self.line(Stream::Stdout, line);
            }
            self.line(Stream::Stderr, format!("warning: {SECRET} in run {}", self.runs).as_bytes());
        }
        let piece = |event: serde_json::Value| {
            let line =
                serde_json::json!({"type": "stream_event", "session_id": "s", "event": event});
            line.to_string().into_bytes()
        };
        let index = 0;
        let begun = serde_json::json!({"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}});
        self.line(Stream::Stdout, &piece(begun));
        for text in ["see kN0", "wn-Val", "ue_42 there\n", "next lin", "e and more\n", "the_end9"] {
            let delta = serde_json::json!({"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": text}});
            self.line(Stream::Stdout, &piece(delta));
        }
        self.log.flush();
    }

    fn how(&self, every_bytes: u64) -> How {
        let checkpoints =
            Checkpoints { every_bytes, share: 0, ..Checkpoints::beside(self.home.path()) };
        How {
            log: self.log.id(),
            dialect: Dialect::Claude,
            redaction: None,
            max_output: MaxOutput::default(),
            checkpoints: Some(checkpoints),
        }
    }

    fn redacting(&self, every_bytes: u64) -> How {
        How { redaction: Some(redaction()), ..self.how(every_bytes) }
    }

    /// The log as another process finds it.
    fn found(&self) -> LogSource {
        let source = LogSource::of_file(File::open(self.log.path()).unwrap()).unwrap();
        source.finish();
        source
    }

    /// What a subscriber in another process gets.
    fn subscribe(&self, how: &How, from: From) -> Vec<Got> {
        all(Subscription::new(Feed::new(self.found(), how.clone(), Vec::new()), from))
    }

    /// What a subscriber gets where there are no checkpoints.
    fn plainly(&self, how: &How) -> Vec<Got> {
        self.subscribe(&How { checkpoints: None, ..how.clone() }, From::Start)
    }

    /// Where a reader begins that wants what comes after this cursor.
    fn begins(&self, how: &How, cursor: Cursor) -> u64 {
        let reader = FrameReader::new(&self.found(), how, cursor.offset);
        reader.since().map_or(0, |since| since.offset + 1)
    }

    fn files(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.home.path().join("checkpoints")).into_iter().flatten();
        let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    }
}

fn redaction() -> Redaction {
    Redaction::from(Redactor::builder().value(SECRET).build())
}

/// A frame, to be compared.
type Got = (Cursor, String);

fn all(events: impl Iterator<Item = Arc<Frame>>) -> Vec<Got> {
    events.map(|frame| (frame.cursor, frame.json().to_owned())).collect()
}

/// Compares without showing thousands of events.
fn assert_same(got: &[Got], wanted: &[Got], what: &str) {
    let differs = got.iter().zip(wanted).find(|(got, wanted)| got != wanted);
    assert_eq!((differs, got.len()), (None, wanted.len()), "{what}");
}

/// After some of the cursors: exactly what comes after each, and not from the beginning of the log.
fn assert_sought(written: &Written, how: &How, whole: &[Got], step: usize) {
    for (at, (cursor, _)) in whole.iter().enumerate().step_by(step) {
        let got = written.subscribe(how, From::After(*cursor));
        assert_same(&got, &whole[at + 1..], &cursor.to_string());
    }
    let (middle, last) = (whole[whole.len() / 2].0, whole[whole.len() - 1].0);
    for cursor in [middle, last] {
        let begins = written.begins(how, cursor);
        assert!(begins <= cursor.offset && begins > cursor.offset * 3 / 4, "{cursor}: {begins}");
    }
}

#[test]
fn every_cursor_is_followed_by_the_rest_and_found_without_the_beginning() {
    let mut written = Written::new();
    (0..3).for_each(|_| written.run());
    written.log.end();
    for how in [written.how(DENSE), written.redacting(DENSE)] {
        let whole = written.plainly(&how);
        assert!(whole.len() > 300, "{}", whole.len());
        assert_eq!(whole.iter().any(|(_, json)| json.contains(SECRET)), how.redaction.is_none());
        assert_eq!(written.begins(&how, whole[200].0), 0, "there are no checkpoints yet");
        assert_same(&written.subscribe(&how, From::Start), &whole, "from the start");
        assert_sought(&written, &how, &whole, 23);
        assert_eq!(written.subscribe(&how, From::Now), []);
    }
    let files = written.files();
    assert_eq!(files.len(), 2, "{files:?}");
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(files[0].parent().unwrap()), 0o700);
    assert_eq!(files.iter().map(|file| mode(file)).collect::<Vec<_>>(), [0o600; 2]);
    crate::log::remove(&written.log.path()).unwrap();
    assert_eq!(written.files(), [] as [PathBuf; 0]);
}

#[test]
fn checkpoints_of_another_version_and_damaged_ones_are_not_used() {
    let mut written = Written::new();
    (0..3).for_each(|_| written.run());
    written.log.end();
    let how = written.how(DENSE);
    let whole = written.subscribe(&how, From::Start);
    let [file] = &written.files()[..] else { panic!("one file") };
    let name = file.file_name().unwrap().to_str().unwrap();
    let old = file.with_file_name(name.replace(STATE_VERSION, "0123456789abcdef"));
    // The same states, but by another version: nothing of it is read.
    std::fs::rename(file, &old).unwrap();
    assert_eq!(written.begins(&how, whole[200].0), 0);
    assert_same(&written.subscribe(&how, From::After(whole[200].0)), &whole[201..], "after 200");
    assert_eq!(
        written.files(),
        std::slice::from_ref(file),
        "the file of the other version is gone"
    );
    // A process was killed in the middle of a line; a line is damaged; a state is not one.
    let bytes = std::fs::read(file).unwrap();
    let line_of = |at: usize| bytes[..at].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    let damage = File::options().write(true).open(file).unwrap();
    damage.write_all_at(b"\0\0\0", line_of(bytes.len() / 2) as u64).unwrap();
    let state = bytes.windows(9).rposition(|it| it == br#""decoder""#).unwrap();
    damage.write_all_at(br#""decoded""#, state as u64).unwrap();
    assert_sought(&written, &how, &whole, 23);
    damage.set_len(bytes.len() as u64 - 20).unwrap();
    assert_sought(&written, &how, &whole, 23);
    // A file that cannot be written.
    std::fs::remove_file(file).unwrap();
    std::fs::remove_dir(file.parent().unwrap()).unwrap();
    std::fs::write(file.parent().unwrap(), "not a folder").unwrap();
    assert_same(&written.subscribe(&how, From::After(whole[200].0)), &whole[201..], "after 200");
}

#[test]
fn a_torn_line_is_mended_when_the_log_goes_on() {
    let mut written = Written::new();
    (0..2).for_each(|_| written.run());
    let how = written.how(DENSE);
    let early = written.subscribe(&how, From::Start);
    let [file] = &written.files()[..] else { panic!("one file") };
    let torn = File::options().write(true).open(file).unwrap();
    torn.set_len(file.metadata().unwrap().len() - 20).unwrap();
    (0..2).for_each(|_| written.run());
    written.log.end();
    let whole = written.plainly(&how);
    let (cursor, _) = early[early.len() - 1];
    assert_same(&written.subscribe(&how, From::After(cursor)), &whole[early.len()..], "later");
    let lines = std::fs::read_to_string(file).unwrap();
    let offsets: Vec<u64> = lines
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["offset"].as_u64().unwrap()
        })
        .collect();
    assert!(offsets.is_sorted_by(|one, two| one < two), "{offsets:?}");
    assert_sought(&written, &how, &whole, 23);
}

#[test]
fn a_log_that_another_program_changed_is_read_from_its_beginning() {
    let mut written = Written::new();
    (0..2).for_each(|_| written.run());
    written.log.end();
    let how = written.how(DENSE);
    let whole = written.subscribe(&how, From::Start);
    let (cursor, _) = whole[whole.len() - 2];
    assert!(written.begins(&how, cursor) > 0);
    let log = std::fs::read(written.log.path()).unwrap();
    let second = log.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let third = second + log[second..].iter().position(|byte| *byte == b'\n').unwrap() + 1;
    std::fs::write(written.log.path(), [&log[..second], &log[third..]].concat()).unwrap();
    assert_eq!(written.begins(&how, cursor), 0);
    assert_same(&written.subscribe(&how, From::Start), &written.plainly(&how), "changed");
}

#[test]
fn a_large_state_is_saved_less_often() {
    let mut written = Written::new();
    (0..4).for_each(|_| written.run());
    written.log.end();
    let mut how = written.how(DENSE);
    how.checkpoints = how.checkpoints.map(|it| Checkpoints { share: 8, ..it });
    let whole = written.subscribe(&how, From::Start);
    let sizes = (written.files()[0].metadata().unwrap().len(), written.found().end());
    assert!(sizes.0 > 0 && sizes.0 * 8 <= sizes.1, "{sizes:?}");
    assert_same(&written.subscribe(&how, From::After(whole[300].0)), &whole[301..], "after 300");
}

#[test]
fn a_log_that_is_redacted_has_no_checkpoints() {
    let mut written = Written::with(Some(redaction().with_raw(true)));
    written.run();
    written.log.end();
    let how = written.redacting(DENSE);
    assert_same(&written.subscribe(&how, From::Start), &written.plainly(&how), "from the start");
    assert_eq!(written.files(), [] as [PathBuf; 0]);
}

#[test]
fn subscribers_of_a_log_that_grows_come_stand_still_and_wait() {
    let mut written = Written::new();
    written.run();
    let how = written.redacting(10 * DENSE);
    let feed = Feed::new(written.log.source(), how.clone(), Vec::new());
    let mut slow = Subscription::new(Arc::clone(&feed), From::Start);
    let early: Vec<_> = slow.by_ref().take(5).collect();
    let mut quick = Subscription::new(Arc::clone(&feed), From::Now);
    assert!(matches!(
        quick.next_timeout(Duration::from_millis(20)),
        Err(RecvTimeoutError::Timeout)
    ));
    // More than the ring holds.
    (0..12).for_each(|_| written.run());
    written.log.end();
    let whole = written.plainly(&how);
    assert!(whole.len() > 1_500, "{}", whole.len());
    assert_same(&all(early.into_iter().chain(slow)), &whole, "slow");
    let first = whole.len() / 13;
    let rest: Vec<_> =
        std::iter::from_fn(|| quick.next_timeout(Duration::from_secs(30)).ok()).collect();
    assert!(whole.ends_with(&all(rest.iter().cloned())) && rest.len() >= whole.len() - first - 5);
    let over = quick.next_timeout(Duration::from_secs(30));
    assert!(matches!(over, Err(RecvTimeoutError::Disconnected)));
    // The first subscriber of a feed comes with a cursor, the second wants everything.
    let source = LogSource::of_file(File::open(written.log.path()).unwrap()).unwrap();
    let feed = Feed::new(source.clone(), how.clone(), Vec::new());
    let (cursor, _) = whole[1_000];
    let mut late = Subscription::new(Arc::clone(&feed), From::After(cursor));
    let mut got = all(late.by_ref().take(100));
    let start = Subscription::new(feed, From::Start);
    source.finish();
    got.extend(all(late));
    assert_same(&got, &whole[1_001..], "late");
    assert_same(&all(start), &whole, "from the start");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn checkpoints_anywhere_change_nothing(
        every in 100_u64..20_000,
        redacts in any::<bool>(),
        runs in 1_usize..4,
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 1..8),
        again in any::<prop::sample::Index>(),
    ) {
        let mut written = Written::new();
        (0..runs).for_each(|_| written.run());
        let how = if redacts { written.redacting(every) } else { written.how(every) };
        // A process that read as far as the log went then, and another one later.
        let before = written.subscribe(&how, From::Start);
        written.run();
        written.log.end();
        let whole = written.plainly(&how);
        let again = again.index(before.len());
        let got = written.subscribe(&how, From::After(before[again].0));
        assert_same(&got, &whole[again + 1..], "another process");
        for cut in cuts {
            let cut = cut.index(whole.len());
            let got = written.subscribe(&how, From::After(whole[cut].0));
            assert_same(&got, &whole[cut + 1..], "cut");
        }
    }
}
