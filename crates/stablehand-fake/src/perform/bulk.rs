//! Much at once: many lines, one endless line, a file as it is.
//!
//! What is generated is Cursor's, written by hand: hundreds of thousands of lines are made at once.

use crate::script::{EventKind, Writes};
use crate::voice::DEFAULT_SESSION;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

/// What comes before and after the long string of a giant line.
pub const GIANT_HEAD: &[u8] =
    br#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":""#;
/// See [`GIANT_HEAD`].
pub const GIANT_TAIL: &[u8] = b"\"}]},\"session_id\":\"5e551017-0000-4000-8000-0000000000a1\"}\n";

/// Standard output without a buffer, so that one write is one write.
pub(super) fn stdout() -> io::Result<File> {
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

/// Standard error, the same.
pub(super) fn stderr() -> io::Result<File> {
    Ok(File::from(io::stderr().as_fd().try_clone_to_owned()?))
}

/// A file as it is, waiting after each line.
pub(super) fn cat(path: &Path, delay: Duration) -> io::Result<()> {
    let mut file = File::open(path)?;
    let mut stdout = stdout()?;
    if delay.is_zero() {
        io::copy(&mut file, &mut stdout)?;
        return Ok(());
    }
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        stdout.write_all(&line)?;
        line.clear();
        std::thread::sleep(delay);
    }
    Ok(())
}

/// Many lines.
pub(super) fn events(kind: EventKind, count: u64, writes: Writes) -> io::Result<()> {
    let mut stdout = stdout()?;
    let mut block = Vec::with_capacity(80 * 1024);
    for number in 0..count {
        event(kind, number, &mut block)?;
        if writes == Writes::Line || block.len() >= 64 * 1024 {
            stdout.write_all(&block)?;
            block.clear();
        }
    }
    stdout.write_all(&block)
}

fn event(kind: EventKind, number: u64, block: &mut Vec<u8>) -> io::Result<()> {
    let session = DEFAULT_SESSION;
    let at = 1_790_000_100_000 + number;
    match kind {
        EventKind::Thinking => writeln!(
            block,
            r#"{{"type":"thinking","subtype":"delta","text":"step {number} ","session_id":"{session}","timestamp_ms":{at}}}"#
        ),
        EventKind::Assistant => writeln!(
            block,
            r#"{{"type":"assistant","message":{{"role":"assistant","content":[{{"type":"text","text":"word {number} "}}]}},"session_id":"{session}","timestamp_ms":{at}}}"#
        ),
        EventKind::Tool => {
            let id = format!("tool_{}", number / 2);
            let (subtype, result) = if number.is_multiple_of(2) {
                ("started", "")
            } else {
                ("completed", r#","result":{"success":{"content":"","isEmpty":true}}"#)
            };
            writeln!(
                block,
                r#"{{"type":"tool_call","subtype":"{subtype}","call_id":"{id}","tool_call":{{"readToolCall":{{"args":{{"path":"/srv/barn/{number}"}}{result}}}}},"session_id":"{session}","timestamp_ms":{at}}}"#
            )
        }
    }
}

/// One assistant line of about so many bytes.
pub(super) fn giant(bytes: u64) -> io::Result<()> {
    let mut stdout = stdout()?;
    stdout.write_all(GIANT_HEAD)?;
    write_repeated(&mut stdout, bytes)?;
    stdout.write_all(GIANT_TAIL)
}

/// So many bytes of nothing.
pub(super) fn write_repeated(to: &mut File, bytes: u64) -> io::Result<()> {
    let block = vec![b'x'; 1 << 20];
    let mut left = bytes;
    while left > 0 {
        let size = left.min(block.len() as u64);
        to.write_all(block.get(..size as usize).unwrap_or(&block))?;
        left -= size;
    }
    Ok(())
}
