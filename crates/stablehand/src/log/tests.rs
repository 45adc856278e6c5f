//! The writer and its tails on real files.

use super::*;
use stablehand_core::json;
use stablehand_core::record::Record;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn options(folder: &Path) -> LogOptions {
    LogOptions {
        folder: folder.join("logs"),
        prefix: "test".into(),
        durability: Durability::Group,
        required: false,
    }
}

fn put(log: &mut Log, text: &str) {
    let line = Line {
        bytes: text.as_bytes(),
        offset: 0,
        part: stablehand_core::line::Part::Whole,
        newline: true,
    };
    log.line(Stream::Stdout, &line, &json::scan(line.bytes));
}

fn read_all(tail: &mut Tail) -> Vec<String> {
    let mut found = Vec::new();
    while tail.fill().unwrap() == Fill::Grew {
        while let Some(line) = tail.next() {
            if let Record::Raw { bytes, .. } = Record::read(line.bytes) {
                found.push(String::from_utf8(bytes.into_owned()).unwrap());
            }
        }
    }
    found
}

#[test]
fn the_file_is_private_named_after_its_session_and_never_replaced() {
    let home = tempfile::tempdir().unwrap();
    let mut first = Log::create(options(home.path()), UnixMillis(0)).unwrap();
    let mut second = Log::create(options(home.path()), UnixMillis(0)).unwrap();
    let hostile = SessionId("../../x\n".into());
    first.name_after(&hostile);
    second.name_after(&hostile);
    put(&mut first, "{\"a\":1}");
    first.end();
    let folder = home.path().join("logs");
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&folder), mode(&first.path())), (0o700, 0o600));
    let names: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(names.len(), 2);
    assert_ne!(first.path(), second.path());
    assert!(first.path().to_str().unwrap().contains("/logs/test-19700101T000000.000Z-x-"));
}

#[test]
fn a_folder_that_cannot_be_made_is_an_error_that_names_it() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("logs"), "a file").unwrap();
    let error = Log::create(options(home.path()), UnixMillis(0)).unwrap_err();
    assert!(error.to_string().contains("logs"), "{error}");
}

#[test]
fn tails_see_everything_in_order_from_where_they_begin() {
    let home = tempfile::tempdir().unwrap();
    let mut log = Log::create(options(home.path()), UnixMillis(0)).unwrap();
    let mut early = log.tail(0);
    put(&mut log, "{\"n\":1}");
    log.flush();
    let middle = log.position();
    put(&mut log, "{\"n\":2}");
    assert_eq!(read_all(&mut early), ["{\"n\":1}"], "not before it is flushed");
    log.flush();
    assert_eq!(read_all(&mut early), ["{\"n\":2}"]);
    assert_eq!(read_all(&mut log.tail(middle)), ["{\"n\":2}"]);
    assert_eq!(early.fill().unwrap(), Fill::UpToDate);
    log.end();
    assert_eq!(early.fill().unwrap(), Fill::Finished);
}

#[test]
fn a_waiting_tail_is_woken_by_growth_and_by_the_end() {
    let home = tempfile::tempdir().unwrap();
    let mut log = Log::create(options(home.path()), UnixMillis(0)).unwrap();
    let mut tail = log.tail(0);
    let reader = std::thread::spawn(move || {
        let mut found = Vec::new();
        loop {
            found.extend(read_all(&mut tail));
            if tail.fill().unwrap() == Fill::Finished {
                return found;
            }
            tail.wait(Duration::from_secs(20));
        }
    });
    for n in 0..50 {
        put(&mut log, &format!("{{\"n\":{n}}}"));
        log.flush();
    }
    log.end();
    assert_eq!(reader.join().unwrap().len(), 50);
}

/// A limit on the size of files stands in for a full disk where nothing can be mounted.
#[test]
fn a_file_that_cannot_grow_loses_nothing_for_its_readers() {
    let home = tempfile::tempdir().unwrap();
    let mut log = Log::create(options(home.path()), UnixMillis(0)).unwrap();
    let heard = Arc::new(std::sync::Mutex::new(Vec::new()));
    let ear = Arc::clone(&heard);
    let listener = move |_, message: &str, _: &_| ear.lock().unwrap().push(message.to_owned());
    log.set_listener(Level::Info, Box::new(listener));
    let mut tail = log.tail(0);
    put(&mut log, "{\"n\":0}");
    log.flush();
    // From here on writes fail: the descriptor is replaced by one that is only for reading.
    let read_only = File::open(log.path()).unwrap();
    let good = std::mem::replace(&mut log.file, read_only);
    for n in 1..5 {
        put(&mut log, &format!("{{\"n\":{n}}}"));
        log.flush();
    }
    assert_eq!(read_all(&mut tail).len(), 5, "readers do not notice");
    assert_eq!(*heard.lock().unwrap(), ["log_degraded"], "it is said once");
    log.file = good;
    log.end();
    assert_eq!(*heard.lock().unwrap(), ["log_degraded", "log_recovered"]);
    let text = std::fs::read_to_string(log.path()).unwrap();
    let raw = text.lines().filter(|line| line.contains("raw_event")).count();
    assert_eq!(raw, 5, "and in the end everything is in the file");
    assert_eq!(read_all(&mut log.tail(0)).len(), 5);
}

#[test]
fn large_lines_of_a_chunk_are_written_in_their_places() {
    let home = tempfile::tempdir().unwrap();
    let mut log = Log::create(options(home.path()), UnixMillis(0)).unwrap();
    let mut tail = log.tail(0);
    let large = |n: usize| format!("{{\"n\":{n},\"pad\":\"{}\"}}", "x".repeat(LARGE));
    let lines: Vec<String> =
        (0..2000).map(|n| if n % 3 == 0 { large(n) } else { format!("{{\"n\":{n}}}") }).collect();
    for group in lines.chunks(1200) {
        let chunk = group.join("\n") + "\n";
        let mut at = 0;
        for line in group {
            let bytes = line.as_bytes();
            let part = stablehand_core::line::Part::Whole;
            let found = Line { bytes, offset: 0, part, newline: true };
            log.line_of_chunk(&found, &json::scan(bytes), at);
            at += bytes.len() + 1;
        }
        let position = log.position();
        log.flush_chunk(chunk.as_bytes());
        assert_eq!(log.position(), position);
    }
    assert!(read_all(&mut tail) == lines);
    log.end();
    assert_eq!(std::fs::metadata(log.path()).unwrap().len(), log.position());
}

#[test]
fn a_log_is_locked_while_it_is_written_also_under_its_new_name() {
    let home = tempfile::tempdir().unwrap();
    let mut log = Log::create(options(home.path()), UnixMillis(0)).unwrap();
    let reader = File::open(log.path()).unwrap();
    assert_eq!(Writer::of(&reader), Writer::There);
    log.name_after(&SessionId("s1".into()));
    let renamed = File::open(log.path()).unwrap();
    assert_eq!((Writer::of(&reader), Writer::of(&renamed)), (Writer::There, Writer::There));
    drop(log);
    assert_eq!((Writer::of(&reader), Writer::of(&renamed)), (Writer::Gone, Writer::Gone));
}

/// What `logrotate` does with `copytruncate`, at any moment.
#[test]
fn a_file_that_another_program_truncates_is_noticed_by_all_and_goes_on() {
    let home = tempfile::tempdir().unwrap();
    let mut log = Log::create(options(home.path()), UnixMillis(0)).unwrap();
    log.begin(record::LogOpened::default());
    let heard = Arc::new(std::sync::Mutex::new(Vec::new()));
    let ear = Arc::clone(&heard);
    let listener = move |_, message: &str, _: &_| ear.lock().unwrap().push(message.to_owned());
    log.set_listener(Level::Info, Box::new(listener));
    let (mut quick, mut slow) = (log.tail(0), log.tail(0));
    for n in 0..100 {
        put(&mut log, &format!("{{\"n\":{n}}}"));
    }
    log.flush();
    let whole = log.position();
    assert_eq!(read_all(&mut quick).len(), 100);
    std::fs::OpenOptions::new().write(true).open(log.path()).unwrap().set_len(0).unwrap();
    // Before anything more is written: the one that is behind learns it from the file itself.
    let mut early = log.tail(0);
    assert_eq!(early.fill().unwrap(), Fill::Lost(whole));
    assert_eq!(early.fill().unwrap(), Fill::UpToDate, "and does not look again and again");
    put(&mut log, "{\"n\":\"after\"}");
    log.flush();
    assert_eq!(*heard.lock().unwrap(), ["log_truncated"]);
    assert_eq!(read_all(&mut quick), ["{\"n\":\"after\"}"], "what it has read it has");
    assert_eq!(slow.fill().unwrap(), Fill::Lost(whole));
    assert_eq!(read_all(&mut slow), ["{\"n\":\"after\"}"]);
    log.end();
    let text = std::fs::read_to_string(log.path()).unwrap();
    let messages: Vec<_> = ["after", record::DecisionKind::LogOpened.name(), "log_truncated"]
        .map(|it| text.find(it).unwrap())
        .into();
    assert!(messages.is_sorted(), "it can be read by its own header: {text}");
    assert!(!text.contains('\0'), "no hole");
}

#[test]
fn a_file_that_another_program_appends_to_is_read_in_its_right_places() {
    let home = tempfile::tempdir().unwrap();
    let mut log = Log::create(options(home.path()), UnixMillis(0)).unwrap();
    let mut tail = log.tail(0);
    for n in 0..10 {
        put(&mut log, &format!("{{\"n\":{n}}}"));
        log.flush();
        let mut other = std::fs::OpenOptions::new().append(true).open(log.path()).unwrap();
        other.write_all(b"something else\n").unwrap();
    }
    assert_eq!(read_all(&mut tail).len(), 10);
}

/// The run that hung: nobody was behind, and a record that did not fit exactly kept the ring full.
#[test]
fn a_full_ring_holds_the_agent_up_only_for_a_reader_that_is_behind() {
    let home = tempfile::tempdir().unwrap();
    let mut log = Log::create(options(home.path()), UnixMillis(0)).unwrap();
    log.file = File::open(log.path()).unwrap();
    let record = format!("{{\"pad\":\"{}\"}}", "x".repeat(100_000));
    for _ in 0..200 {
        put(&mut log, &record);
        log.flush();
        assert!(!log.is_congested(), "nobody reads it");
    }
    let mut tail = log.tail(log.position());
    let mut put_in = 0;
    while !log.is_congested() {
        assert!(put_in < 200, "a reader that is behind is waited for");
        put(&mut log, &record);
        log.flush();
        put_in += 1;
    }
    assert_eq!(read_all(&mut tail).len(), put_in, "it gets everything");
    assert!(!log.is_congested(), "and then nobody is waited for, although nothing was written");
}
