//! Slow, stopped and vanished readers.

use super::*;
use crate::log::{Durability, LogOptions};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use stablehand_core::json;
use stablehand_core::line::{Line, Part};
use stablehand_core::time::UnixMillis;
use std::io::Read;

fn log(folder: &std::path::Path) -> Log {
    let options = LogOptions {
        folder: folder.to_owned(),
        prefix: "test".into(),
        durability: Durability::Group,
        required: false,
    };
    Log::create(options, UnixMillis(0)).unwrap()
}

/// Pumps as the driver does: only while something waits.
fn pump(sink: &mut PassThrough) {
    if sink.wants_write().is_some() {
        sink.pump();
    }
}

/// Logs and passes on one line, as the driver does.
fn send(log: &mut Log, sink: &mut PassThrough, text: &str) {
    let from = log.position();
    let line = Line { bytes: text.as_bytes(), offset: 0, part: Part::Whole, newline: true };
    log.line(Stream::Stdout, &line, &json::scan(line.bytes));
    log.flush();
    sink.chunk(format!("{text}\n").as_bytes(), from);
    sink.let_go(log);
}

fn slow_reader_gets_everything(reader: impl Read + Send + 'static, target: OwnedFd) {
    let home = tempfile::tempdir().unwrap();
    let mut log = log(home.path());
    let mut sink = PassThrough::new(target, Stream::Stdout).unwrap().with_digest();
    let mut expected = Vec::new();
    for n in 0..30_000 {
        let text = if n % 7 == 0 {
            format!("noise {n} \u{e9}")
        } else {
            format!("{{\"n\":{n},\"pad\":\"{}\"}}", "x".repeat(100))
        };
        send(&mut log, &mut sink, &text);
        expected.extend_from_slice(text.as_bytes());
        expected.push(b'\n');
    }
    assert!(!sink.is_caught_up(), "nobody has read yet");
    let mut reader = reader;
    let taken = std::thread::spawn(move || {
        let mut all = Vec::new();
        reader.read_to_end(&mut all).unwrap();
        all
    });
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !sink.is_caught_up() {
        assert!(std::time::Instant::now() < deadline);
        pump(&mut sink);
        std::thread::yield_now();
    }
    send(&mut log, &mut sink, "{\"live\":\"again\"}");
    expected.extend_from_slice(b"{\"live\":\"again\"}\n");
    while !sink.is_caught_up() {
        pump(&mut sink);
    }
    let (sent, digest) = sink.written();
    assert_eq!(sent, expected.len() as u64);
    assert_eq!(digest, Some(hex(&Sha256::digest(&expected))));
    drop(sink);
    assert!(taken.join().unwrap() == expected);
}

#[test]
fn a_pipe_whose_reader_sleeps_loses_nothing_and_keeps_its_flags() {
    let (reader, writer) = nix::unistd::pipe().unwrap();
    let keep = nix::unistd::dup(&writer).unwrap();
    let flags = |fd: &OwnedFd| OFlag::from_bits_retain(fcntl(fd, FcntlArg::F_GETFL).unwrap());
    let sink = PassThrough::new(nix::unistd::dup(&writer).unwrap(), Stream::Stdout).unwrap();
    assert!(!flags(&keep).contains(OFlag::O_NONBLOCK), "others must not notice");
    drop((sink, keep));
    slow_reader_gets_everything(std::fs::File::from(reader), writer);
}

#[test]
fn a_socket_is_written_by_a_thread_of_its_own() {
    let (reader, writer) = std::os::unix::net::UnixStream::pair().unwrap();
    slow_reader_gets_everything(reader, writer.into());
}

#[test]
fn a_reader_that_goes_away_is_noticed() {
    let home = tempfile::tempdir().unwrap();
    let mut log = log(home.path());
    let (reader, writer) = nix::unistd::pipe().unwrap();
    let mut sink = PassThrough::new(writer, Stream::Stdout).unwrap();
    send(&mut log, &mut sink, "{}");
    drop(reader);
    send(&mut log, &mut sink, "{}");
    assert!(sink.is_gone() && sink.is_caught_up());
}

#[test]
fn a_file_is_appended_to_where_it_stands() {
    let home = tempfile::tempdir().unwrap();
    let mut log = log(home.path());
    let path = home.path().join("out");
    let file = std::fs::File::create(&path).unwrap();
    std::io::Write::write_all(&mut &file, b"before\n").unwrap();
    let mut sink = PassThrough::new(file.into(), Stream::Stdout).unwrap();
    send(&mut log, &mut sink, "{}");
    assert!(sink.is_caught_up());
    assert_eq!(std::fs::read(&path).unwrap(), b"before\n{}\n");
}

#[test]
fn a_chunk_that_is_held_can_be_offered_again() {
    let home = tempfile::tempdir().unwrap();
    let mut log = log(home.path());
    let (reader, writer) = nix::unistd::pipe().unwrap();
    let mut sink = PassThrough::new(writer, Stream::Stdout).unwrap();
    let chunk: Vec<u8> =
        (0..200_000).flat_map(|n| format!("{{\"n\":{n}}}\n").into_bytes()).collect();
    let from = log.position();
    for line in chunk.split_inclusive(|byte| *byte == b'\n') {
        let bytes = &line[..line.len() - 1];
        let line = Line { bytes, offset: 0, part: Part::Whole, newline: true };
        log.line(Stream::Stdout, &line, &json::scan(bytes));
    }
    log.flush();
    sink.chunk(&chunk, from);
    assert!(sink.is_holding() && !sink.is_caught_up());
    let mut reader = std::fs::File::from(reader);
    let mut taken = vec![0; 50_000];
    reader.read_exact(&mut taken).unwrap();
    sink.offer(&chunk);
    assert!(sink.is_holding(), "more than one pipe full is left");
    sink.let_go(&log);
    let rest = std::thread::spawn(move || {
        let mut rest = Vec::new();
        reader.read_to_end(&mut rest).unwrap();
        rest
    });
    while !sink.is_caught_up() {
        pump(&mut sink);
    }
    drop(sink);
    taken.extend(rest.join().unwrap());
    assert!(taken == chunk);
}
