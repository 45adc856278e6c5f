//! As much HTTP/1.1 as agents need: requests with a length or in chunks, answers whole or in chunks.
//!
//! Owns one connection: its bytes, its bounds, and the noticing of a client that has gone or a server
//! that is to stop. What is asked and answered is nothing to it.

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The head of a request; agents send one or two kilobytes.
const MAX_HEAD_BYTES: usize = 64 * 1024;
/// The body of a request: a prompt of a megabyte becomes several in a long conversation.
const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;
const MAX_HEADERS: usize = 64;
/// How soon a waiting connection sees that the server stops.
const LOOK: Duration = Duration::from_millis(50);
/// A connection without a request is closed after this time; agents open a new one.
const IDLE: Duration = Duration::from_mins(2);
/// A client that takes nothing for so long is gone.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// One request.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: String,
    /// Without the query.
    pub(super) path: String,
    pub(super) body: Vec<u8>,
    /// A body that was compressed or otherwise encoded, which we cannot read.
    pub(super) encoded: bool,
}

/// One connection.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    /// What was read and is not yet used.
    unused: Vec<u8>,
    stopping: Arc<AtomicBool>,
}

struct Head {
    bytes: usize,
    method: String,
    path: String,
    length: usize,
    chunked: bool,
    wants_continue: bool,
    encoded: bool,
}

impl Connection {
    pub(super) fn new(stream: TcpStream, stopping: Arc<AtomicBool>) -> io::Result<Connection> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(LOOK))?;
        stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
        Ok(Connection { stream, unused: Vec::new(), stopping })
    }

    /// The next request; none when the client has closed the connection.
    pub(super) fn request(&mut self) -> io::Result<Option<Request>> {
        let head = loop {
            if let Some(head) = head_of(&self.unused)? {
                break head;
            }
            if self.unused.len() > MAX_HEAD_BYTES {
                return Err(refused("the head is too long"));
            }
            if self.fill()? == 0 {
                return Ok(None);
            }
        };
        self.unused.drain(..head.bytes);
        if head.wants_continue {
            self.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        let body = if head.chunked { self.chunks()? } else { self.take(head.length)? };
        let Head { method, path, encoded, .. } = head;
        Ok(Some(Request { method, path, body, encoded }))
    }

    /// Reads some more; 0 is the end.
    fn fill(&mut self) -> io::Result<usize> {
        let mut block = [0; 16 * 1024];
        let since = Instant::now();
        loop {
            match self.stream.read(&mut block) {
                Ok(count) => {
                    self.unused.extend_from_slice(block.get(..count).unwrap_or_default());
                    return Ok(count);
                }
                Err(error) if is_timeout(&error) => {
                    if self.stopping.load(Ordering::Relaxed) || since.elapsed() > IDLE {
                        return Ok(0);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn take(&mut self, count: usize) -> io::Result<Vec<u8>> {
        if count > MAX_BODY_BYTES {
            return Err(refused("the body is too long"));
        }
        while self.unused.len() < count {
            if self.fill()? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(self.unused.drain(..count).collect())
    }

    fn chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let size = loop {
                match httparse::parse_chunk_size(&self.unused) {
                    Ok(httparse::Status::Complete((used, size))) => {
                        self.unused.drain(..used);
                        break usize::try_from(size).unwrap_or(usize::MAX);
                    }
                    Ok(httparse::Status::Partial) if self.fill()? > 0 => {}
                    _ => return Err(refused("a chunk has no size")),
                }
            };
            if size > MAX_BODY_BYTES.saturating_sub(body.len()) {
                return Err(refused("the body is too long"));
            }
            body.extend(self.take(size)?);
            self.take(2)?;
            if size == 0 {
                return Ok(body);
            }
        }
    }

    /// A whole answer.
    pub(super) fn answer(
        &mut self,
        status: u16,
        headers: &[(&str, &str)],
        body: &str,
    ) -> io::Result<()> {
        let mut answer = head(status, "application/json", headers);
        answer.push_str("content-length: ");
        answer.push_str(&body.len().to_string());
        answer.push_str("\r\n\r\n");
        answer.push_str(body);
        self.stream.write_all(answer.as_bytes())
    }

    /// The head of an answer that comes in chunks.
    pub(super) fn begin_stream(&mut self) -> io::Result<()> {
        let mut begin = head(200, "text/event-stream", &[("cache-control", "no-cache")]);
        begin.push_str("transfer-encoding: chunked\r\n\r\n");
        self.stream.write_all(begin.as_bytes())
    }

    /// A chunk of an answer; an empty one would end it and is not sent.
    pub(super) fn chunk(&mut self, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.stream.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes())
    }

    /// The end of an answer in chunks.
    pub(super) fn end_stream(&mut self) -> io::Result<()> {
        self.stream.write_all(b"0\r\n\r\n")
    }

    /// Ends the connection in the middle of whatever it was at.
    pub(super) fn cut(&mut self) -> io::Result<()> {
        self.stream.shutdown(Shutdown::Both)
    }

    /// Waits, unless the client goes or the server stops: both are errors that end the connection.
    pub(super) fn pause(&mut self, time: Duration) -> io::Result<()> {
        let since = Instant::now();
        while let Some(left) = time.checked_sub(since.elapsed()).filter(|left| !left.is_zero()) {
            if self.stopping.load(Ordering::Relaxed) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let step = left.min(LOOK);
            let timeout = PollTimeout::try_from(step).unwrap_or(PollTimeout::ZERO);
            let mut ready = [PollFd::new(self.stream.as_fd(), PollFlags::POLLIN)];
            if poll(&mut ready, timeout)? == 0 {
                continue;
            }
            if self.stream.peek(&mut [0])? == 0 {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            // The next request is here already; it waits for its turn.
            std::thread::sleep(step);
        }
        Ok(())
    }
}

fn head(status: u16, content_type: &str, headers: &[(&str, &str)]) -> String {
    let mut head = format!("HTTP/1.1 {status} {}\r\n", reason(status));
    for (name, value) in [("content-type", content_type)].iter().chain(headers) {
        head.push_str(name);
        head.push_str(": ");
        head.push_str(value);
        head.push_str("\r\n");
    }
    head
}

/// Agents repeat these words in their messages.
fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        404 => "Not Found",
        415 => "Unsupported Media Type",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        _ => "Error",
    }
}

/// The head of a request, once all of it is there.
fn head_of(bytes: &[u8]) -> io::Result<Option<Head>> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let parsed = request.parse(bytes).map_err(|error| refused(&error.to_string()))?;
    let httparse::Status::Complete(used) = parsed else { return Ok(None) };
    let value = |name: &str| {
        let header = request.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
        header.map(|header| String::from_utf8_lossy(header.value).trim().to_ascii_lowercase())
    };
    let length = match value("content-length") {
        None => 0,
        Some(length) => length.parse().map_err(|_| refused("the length is not a number"))?,
    };
    let path = request.path.unwrap_or_default();
    Ok(Some(Head {
        bytes: used,
        method: request.method.unwrap_or_default().to_owned(),
        path: path.split_once('?').map_or(path, |(path, _)| path).to_owned(),
        length,
        chunked: value("transfer-encoding").is_some_and(|coding| coding.contains("chunked")),
        wants_continue: value("expect").is_some_and(|expected| expected == "100-continue"),
        encoded: value("content-encoding").is_some_and(|coding| coding != "identity"),
    }))
}

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("not a request that we take: {why}"))
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}
