//! Every other process of a measurement, played by one program: the agent that writes, the reader
//! that counts, the tree that is killed.
//!
//! Its part comes from the environment, because `cursor-wrap` gives its agent arguments of its own.
//! Figures that only the process itself knows go to a small file, one line of numbers.

use crate::proc::{cpu_of, now_ns, own_cpu};
use crate::report::say;
use crate::{Failure, Outcome};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Which part is played; see [`Role`].
pub const ROLE: &str = "STABLEHAND_BENCH_ROLE";
/// The stream that a writer writes.
pub const STREAM: &str = "STABLEHAND_BENCH_STREAM";
/// `block` or `line`: how much a writer writes at once.
pub const WRITES: &str = "STABLEHAND_BENCH_WRITES";
/// How often a writer writes everything but the last line of its stream.
pub const REPEAT: &str = "STABLEHAND_BENCH_REPEAT";
/// How many microseconds lie between two events of a pacer; a millisecond where it is not set.
pub const EVERY: &str = "STABLEHAND_BENCH_EVERY";
/// The id of a pacer's session; always the same where it is not set.
pub const SESSION: &str = "STABLEHAND_BENCH_SESSION";
/// How many events a pacer writes.
pub const COUNT: &str = "STABLEHAND_BENCH_COUNT";
/// Whether a counter also makes a hash; too dear for a measured round.
pub const HASH: &str = "STABLEHAND_BENCH_HASH";
/// Where the figures of a writer go.
pub const WRITER_REPORT: &str = "STABLEHAND_BENCH_WRITER_REPORT";
/// Where the figures of a reader go.
pub const READER_REPORT: &str = "STABLEHAND_BENCH_READER_REPORT";
/// Whether a leaf of a tree leaves its session.
pub const LEAVES: &str = "STABLEHAND_BENCH_LEAVES";

/// What one write or read takes at the most, as with most programs.
const BLOCK: usize = 64 << 10;

/// Buffers begin at a page: elsewhere a read can cost three times as much (see the README).
const PAGE: usize = 4096;

/// Nobody who was forgotten lives longer than this.
const LIFETIME: Duration = Duration::from_mins(5);

/// The session of all that do not say otherwise.
const SESSION_ID: &str = "6f1c2a90-4b7d-4e35-9a18-c0d2e4f60718";

/// A session that does nothing.
const INIT: &str = r#"{"type":"system","subtype":"init","apiKeySource":"login","cwd":"/srv/barn","session_id":"6f1c2a90-4b7d-4e35-9a18-c0d2e4f60718","model":"Pony 2","permissionMode":"default"}"#;
const RESULT: &str = r#"{"type":"result","subtype":"success","duration_ms":1,"duration_api_ms":1,"is_error":false,"result":"","session_id":"6f1c2a90-4b7d-4e35-9a18-c0d2e4f60718"}"#;

/// The parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Reads standard input to its end, then writes a stream as fast as it is taken.
    Write,
    /// Writes an event at equal distances, with the time in it.
    Pace,
    /// Begins and ends a session at once.
    Hello,
    /// Begins a session and says nothing more.
    Idle,
    /// Leaves word where its hooks call, and waits.
    Hooks,
    /// Starts five others, says so, and waits to be killed.
    Tree,
    /// One of those five.
    Leaf,
    /// Reads to the end and counts.
    Count,
    /// Reads what a pacer wrote and compares the times.
    Clock,
}

impl Role {
    const ALL: [Role; 9] = [
        Role::Write,
        Role::Pace,
        Role::Hello,
        Role::Idle,
        Role::Hooks,
        Role::Tree,
        Role::Leaf,
        Role::Count,
        Role::Clock,
    ];

    /// Its name in the environment.
    pub fn name(self) -> &'static str {
        match self {
            Role::Write => "write",
            Role::Pace => "pace",
            Role::Hello => "hello",
            Role::Idle => "idle",
            Role::Hooks => "hooks",
            Role::Tree => "tree",
            Role::Leaf => "leaf",
            Role::Count => "count",
            Role::Clock => "clock",
        }
    }
}

/// Plays the part that the environment names.
pub fn play() -> Outcome<()> {
    let name = var(ROLE)?;
    let role = Role::ALL.into_iter().find(|role| role.name() == name);
    match role.ok_or_else(|| format!("`{name}` is not a role"))? {
        Role::Write => write(),
        Role::Pace => pace(),
        Role::Hello => say(INIT).and_then(|()| say(RESULT)),
        Role::Idle => {
            say(INIT)?;
            std::thread::sleep(LIFETIME);
            Ok(())
        }
        Role::Hooks => hooks(),
        Role::Tree => tree(),
        Role::Leaf => leaf(),
        Role::Count => count(),
        Role::Clock => clock(),
    }
}

fn var(name: &str) -> Outcome<String> {
    std::env::var(name).map_err(|_| format!("`{name}` is not set").into())
}

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn report(name: &str, figures: &[u64]) -> Outcome<()> {
    let Some(path) = std::env::var_os(name).map(PathBuf::from) else { return Ok(()) };
    let words: Vec<String> = figures.iter().map(ToString::to_string).collect();
    Ok(std::fs::write(path, words.join(" "))?)
}

/// Standard output without the buffer of the standard library: one write is one system call.
fn bare_stdout() -> Outcome<File> {
    Ok(File::from(std::io::stdout().as_fd().try_clone_to_owned()?))
}

fn write() -> Outcome<()> {
    let bytes = std::fs::read(var(STREAM)?)?;
    let by_line = var(WRITES)? == "line";
    let repeat = number(REPEAT, 1);
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    let trimmed = bytes.len().saturating_sub(1);
    let last =
        memchr::memrchr(b'\n', bytes.get(..trimmed).unwrap_or_default()).map_or(0, |at| at + 1);
    let (body, ending) = bytes.split_at(last);
    let mut out = bare_stdout()?;
    let began = now_ns()?;
    let mut put = |part: &[u8]| -> std::io::Result<()> {
        if by_line {
            let mut from = 0;
            for newline in memchr::memchr_iter(b'\n', part) {
                out.write_all(part.get(from..=newline).unwrap_or_default())?;
                from = newline + 1;
            }
            return Ok(());
        }
        part.chunks(BLOCK).try_for_each(|block| out.write_all(block))
    };
    for _ in 0..repeat {
        put(body)?;
    }
    put(ending)?;
    // Giving the memory back is ours; without this it would be counted for whoever reaps us.
    drop(bytes);
    let keeper = cpu_of(nix::unistd::getppid().as_raw().unsigned_abs()).unwrap_or_default();
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    report(WRITER_REPORT, &[began, micros(own_cpu()?), micros(keeper)])
}

fn pace() -> Outcome<()> {
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    let mut out = bare_stdout()?;
    let session = std::env::var(SESSION).unwrap_or_else(|_| SESSION_ID.to_owned());
    let every = number(EVERY, 1000) as u64 * 1000;
    out.write_all(format!("{}\n", INIT.replace(SESSION_ID, &session)).as_bytes())?;
    let first = now_ns()? + 50_000_000;
    for index in 0..number(COUNT, 1000) as u64 {
        let due = first + index * every;
        let wait = due.saturating_sub(now_ns()?);
        std::thread::sleep(Duration::from_nanos(wait));
        // The stamp has a fixed width, so that the line is made before the clock is read.
        let line = format!(
            "{{\"type\":\"thinking\",\"subtype\":\"delta\",\"text\":\"@{:020}@ the parser returns a borrowed slice when no escape was seen\",\"session_id\":\"{session}\",\"timestamp_ms\":{}}}\n",
            now_ns()?,
            1_784_800_000_000 + index,
        );
        out.write_all(line.as_bytes())?;
    }
    out.write_all(format!("{}\n", RESULT.replace(SESSION_ID, &session)).as_bytes())?;
    Ok(())
}

fn hooks() -> Outcome<()> {
    say(INIT)?;
    let where_to = [var(stablehand::hook_call::SOCKET)?, var(stablehand::hook_call::TOKEN)?];
    let path = PathBuf::from(var(WRITER_REPORT)?);
    std::fs::write(path, format!("{}\n{}\n", where_to[0], where_to[1]))?;
    std::thread::sleep(LIFETIME);
    Ok(())
}

fn tree() -> Outcome<()> {
    let me = std::env::current_exe()?;
    let mut ready = Vec::new();
    for index in 0..5 {
        let (reader, writer) = std::io::pipe()?;
        Command::new(&me)
            .env(ROLE, Role::Leaf.name())
            .env(LEAVES, if index < 2 { var(LEAVES)? } else { "0".to_owned() })
            .stdin(Stdio::null())
            // It holds our output, as a forgotten server would, and says on its standard error
            // that it runs.
            .stderr(writer)
            .spawn()?;
        ready.push(reader);
    }
    for mut reader in ready {
        reader.read_exact(&mut [0])?;
    }
    say(INIT)?;
    std::thread::sleep(LIFETIME);
    Ok(())
}

fn leaf() -> Outcome<()> {
    if var(LEAVES)? == "1" {
        nix::unistd::setsid()?;
    }
    std::io::stderr().write_all(b"r")?;
    std::thread::sleep(LIFETIME);
    Ok(())
}

/// A buffer that begins at a page.
struct Aligned {
    memory: Vec<u8>,
    from: usize,
}

impl Aligned {
    fn new() -> Self {
        let memory = vec![0; BLOCK + PAGE];
        let from = memory.as_ptr().align_offset(PAGE).min(PAGE);
        Aligned { memory, from }
    }

    fn space(&mut self) -> &mut [u8] {
        self.memory.get_mut(self.from..self.from + BLOCK).unwrap_or_default()
    }
}

/// Calls `take` with each block that comes, until the end.
fn read_all(mut take: impl FnMut(&[u8]) -> Outcome<()>) -> Outcome<()> {
    let mut input = File::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let mut buffer = Aligned::new();
    loop {
        let space = buffer.space();
        match input.read(space) {
            Ok(0) => return Ok(()),
            Ok(n) => take(space.get(..n).unwrap_or_default())?,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn count() -> Outcome<()> {
    let with_hash = number(HASH, 0) == 1;
    let (mut bytes, mut last, mut hash) = (0u64, 0, Fnv::default());
    read_all(|block| {
        bytes += block.len() as u64;
        last = now_ns()?;
        if with_hash {
            hash.take(block);
        }
        Ok(())
    })?;
    report(READER_REPORT, &[bytes, last, hash.0])
}

fn clock() -> Outcome<()> {
    let (mut held, mut delays) = (Vec::new(), Vec::new());
    read_all(|block| {
        let now = now_ns()?;
        held.extend_from_slice(block);
        let whole = memchr::memrchr(b'\n', &held).map_or(0, |at| at + 1);
        for line in held.drain(..whole).collect::<Vec<u8>>().split(|b| *b == b'\n') {
            delays.extend(stamp(line).map(|at| now.saturating_sub(at)));
        }
        Ok(())
    })?;
    report(READER_REPORT, &delays)
}

/// The time between the two signs in a line, where there is one.
pub fn stamp(line: &[u8]) -> Option<u64> {
    let from = memchr::memchr(b'@', line)? + 1;
    std::str::from_utf8(line.get(from..from + 20)?).ok()?.parse().ok()
}

/// FNV-1a: enough to see that nothing was changed.
#[derive(Debug)]
pub struct Fnv(pub u64);

impl Default for Fnv {
    fn default() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    /// Takes more bytes in.
    pub fn take(&mut self, bytes: &[u8]) {
        self.0 = bytes
            .iter()
            .fold(self.0, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    }
}

/// The numbers that a process left.
pub fn figures(path: &std::path::Path) -> Outcome<Vec<u64>> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| Failure::from(format!("no figures in `{}`: {e}", path.display())))?;
    text.split_whitespace().map(|word| Ok(word.parse()?)).collect()
}
