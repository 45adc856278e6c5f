//! The socket that hooks call at: connections, and nothing of what they mean.
//!
//! Owns the folder of one run (0700, removed with it), the listener and every open line. It never
//! blocks: everything is read and written from the driver's loop, as far as it goes, and a caller
//! that says nothing is let go after a while. Whoever is not our own user is not listened to.

use crate::hook_call::{Header, MOST_PAYLOAD, Response, address, peer_uid, socket_of, token_of};
use nix::poll::PollFlags;
use nix::sys::socket::{AddressFamily, Backlog, SockFlag, SockType, bind, listen, socket};
use stablehand_core::Moment;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// So many hooks may be under way at once.
const MOST_LINES: usize = 128;

/// A caller has so long to say what it wants.
const PATIENCE: Duration = Duration::from_secs(10);

/// The first line of a call is no longer than this.
const MOST_HEADER: usize = 4 << 10;

/// What the name of a run's folder begins with.
pub(crate) const FOLDER: &str = "stablehand-";

/// Held while a run lives, so that others can tell its folder from a dead one's.
const LOCK_NAME: &str = "lock";

/// So many folders of dead runs are swept at once.
const SWEEP: usize = 64;

/// Where the hooks of a run call.
#[derive(Debug)]
pub(in crate::driver) struct Exchange {
    folder: PathBuf,
    _lock: File,
    listener: UnixListener,
    lines: Vec<Line>,
    token: String,
    last: u64,
}

/// One caller.
#[derive(Debug)]
struct Line {
    number: u64,
    stream: UnixStream,
    since: Moment,
    state: State,
}

#[derive(Debug)]
enum State {
    /// It is telling us.
    Listening { heard: Vec<u8>, header: Option<(Header, usize)> },
    /// It waits for us.
    Thinking,
    /// It is being told.
    Telling { said: Vec<u8>, told: usize },
    /// It is over.
    Over,
}

/// Something that a caller said, whole.
#[derive(Debug)]
pub(in crate::driver) struct Incoming {
    /// Our number of the caller.
    pub(in crate::driver) number: u64,
    pub(in crate::driver) agent: String,
    pub(in crate::driver) event: String,
    pub(in crate::driver) payload: Vec<u8>,
}

/// What became of the callers since the last look.
#[derive(Debug, Default)]
pub(in crate::driver) struct News {
    /// Calls that are complete.
    pub(in crate::driver) calls: Vec<Incoming>,
    /// Callers that went away before they had an answer.
    pub(in crate::driver) gone: Vec<u64>,
    /// Callers that were not listened to, and why.
    pub(in crate::driver) refused: Vec<String>,
}

impl Exchange {
    /// Makes the folder and listens there.
    pub(in crate::driver) fn open(folder: &Path, token: &str) -> io::Result<Exchange> {
        if let Some(base) = folder.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(base)?;
            sweep(base);
        }
        // Not recursive: a folder that is there already is somebody else's.
        DirBuilder::new().mode(0o700).create(folder)?;
        let path = folder.join(LOCK_NAME);
        let lock = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        lock.try_lock()?;
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(token_of(folder))?;
        file.write_all(token.as_bytes())?;
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let fd = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
        bind(fd.as_raw_fd(), &address(&socket_of(folder))?)?;
        listen(&fd, Backlog::new(128)?)?;
        Ok(Exchange {
            folder: folder.to_owned(),
            _lock: lock,
            listener: UnixListener::from(fd),
            lines: Vec::new(),
            token: token.to_owned(),
            last: 0,
        })
    }

    /// What to wait for.
    pub(in crate::driver) fn wants(&self) -> impl Iterator<Item = (BorrowedFd<'_>, PollFlags)> {
        let listener = self.has_room().then(|| (self.listener.as_fd(), PollFlags::POLLIN));
        let lines = self.lines.iter().map(|line| {
            let flags = match line.state {
                // Of one that waits nothing but its going away can be heard.
                State::Listening { .. } | State::Thinking | State::Over => PollFlags::POLLIN,
                State::Telling { .. } => PollFlags::POLLOUT,
            };
            (line.stream.as_fd(), flags)
        });
        listener.into_iter().chain(lines)
    }

    /// When somebody has been silent for too long.
    pub(in crate::driver) fn deadline(&self) -> Option<Moment> {
        let hurried = |line: &&Line| !matches!(line.state, State::Thinking);
        self.lines.iter().filter(hurried).map(|line| line.since.plus(PATIENCE)).min()
    }

    /// Takes whoever calls, and hears everybody out as far as it goes.
    pub(in crate::driver) fn attend(&mut self, now: Moment) -> News {
        let mut news = News::default();
        // The lines that are open come first: one that has spoken is then not taken for an idle one.
        for line in &mut self.lines {
            line.attend(&self.token, now, &mut news);
        }
        self.accept(now, &mut news);
        self.lines.retain(|line| !matches!(line.state, State::Over));
        news
    }

    /// Answers a caller.
    pub(in crate::driver) fn answer(&mut self, number: u64, said: &[u8]) {
        let waits = |line: &&mut Line| line.number == number;
        let Some(line) = self.lines.iter_mut().find(waits) else { return };
        line.tell(said.to_vec());
        self.lines.retain(|line| !matches!(line.state, State::Over));
    }

    /// Returns true if one more caller can be heard: where all lines are taken, an idle one gives way.
    fn has_room(&self) -> bool {
        self.lines.len() < MOST_LINES || self.lines.iter().any(Line::is_idle)
    }

    fn accept(&mut self, now: Moment, news: &mut News) {
        while self.has_room() {
            let Ok((stream, _)) = self.listener.accept() else { return };
            let ours = peer_uid(&stream).is_ok_and(|uid| uid == nix::unistd::geteuid());
            if !ours || stream.set_nonblocking(true).is_err() {
                news.refused.push("a call of another user".to_owned());
                continue;
            }
            self.last += 1;
            let state = State::Listening { heard: Vec::new(), header: None };
            let mut line = Line { number: self.last, stream, since: now, state };
            // A hook writes as soon as it is connected, so it is not idle from here on.
            line.attend(&self.token, now, news);
            if self.lines.len() >= MOST_LINES
                && let Some(idle) = self.lines.iter().position(Line::is_idle)
            {
                self.lines.remove(idle);
                news.refused.push("a call that said nothing while others waited".to_owned());
            }
            self.lines.push(line);
        }
    }
}

impl Line {
    /// Returns true if it has not even said who calls.
    fn is_idle(&self) -> bool {
        matches!(self.state, State::Listening { header: None, .. })
    }

    fn attend(&mut self, token: &str, now: Moment, news: &mut News) {
        match &mut self.state {
            State::Listening { .. } => self.listen(token, now, news),
            State::Thinking => {
                let mut byte = [0];
                // Whoever waits has nothing more to say; what can be read is its end.
                let gone = match self.stream.read(&mut byte) {
                    Ok(n) => n == 0,
                    Err(error) => !matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                    ),
                };
                if gone {
                    news.gone.push(self.number);
                    self.state = State::Over;
                }
            }
            State::Telling { .. } => self.go_on_telling(now),
            State::Over => {}
        }
    }

    fn listen(&mut self, token: &str, now: Moment, news: &mut News) {
        let State::Listening { heard, header } = &mut self.state else { return };
        let mut chunk = [0; 16 << 10];
        let over = loop {
            match self.stream.read(&mut chunk) {
                Ok(0) => break true,
                Ok(n) => heard.extend_from_slice(chunk.get(..n).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break error.kind() != io::ErrorKind::WouldBlock,
            }
            if heard.len() > MOST_PAYLOAD + MOST_HEADER {
                break true;
            }
        };
        if header.is_none() {
            match read_header(heard, token) {
                Ok(found) => *header = found,
                Err(why) => {
                    news.refused.push(why.clone());
                    return self.tell(Response::refusal(why));
                }
            }
        }
        match header {
            Some((header, begins)) if heard.len() >= *begins + header.bytes => {
                let payload = heard.get(*begins..*begins + header.bytes).unwrap_or_default();
                news.calls.push(Incoming {
                    number: self.number,
                    agent: std::mem::take(&mut header.agent),
                    event: std::mem::take(&mut header.event),
                    payload: payload.to_vec(),
                });
                self.state = State::Thinking;
            }
            _ if over => {
                news.refused.push("a call that broke off".to_owned());
                self.state = State::Over;
            }
            _ if now.since(self.since) >= PATIENCE => {
                news.refused.push("a call that said too little for too long".to_owned());
                self.state = State::Over;
            }
            _ => {}
        }
    }

    fn tell(&mut self, said: Vec<u8>) {
        self.state = State::Telling { said, told: 0 };
        self.go_on_telling(self.since);
    }

    fn go_on_telling(&mut self, now: Moment) {
        let State::Telling { said, told } = &mut self.state else { return };
        while let Some(rest) = said.get(*told..).filter(|rest| !rest.is_empty()) {
            match self.stream.write(rest) {
                Ok(n) => *told += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error)
                    if error.kind() == io::ErrorKind::WouldBlock
                        && now.since(self.since) < PATIENCE =>
                {
                    return;
                }
                Err(_) => break,
            }
        }
        self.state = State::Over;
    }
}

/// The first line of a call, once it is there, and where the payload begins.
fn read_header(heard: &[u8], token: &str) -> Result<Option<(Header, usize)>, String> {
    let Some(end) = heard.iter().take(MOST_HEADER).position(|byte| *byte == b'\n') else {
        if heard.len() >= MOST_HEADER {
            return Err("a call without a beginning".to_owned());
        }
        return Ok(None);
    };
    let line = heard.get(..end).unwrap_or_default();
    let header: Header = serde_json::from_slice(line)
        .map_err(|error| format!("a call that cannot be read: {error}"))?;
    if !same(header.token.as_bytes(), token.as_bytes()) {
        return Err("its token is not that of this run".to_owned());
    }
    if header.bytes > MOST_PAYLOAD {
        return Err(format!("its payload is longer than {} MiB", MOST_PAYLOAD >> 20));
    }
    Ok(Some((header, end + 1)))
}

/// Compares without telling by its time how much was right.
fn same(given: &[u8], ours: &[u8]) -> bool {
    let differs = given.iter().zip(ours).fold(0, |differs, (a, b)| differs | (a ^ b));
    given.len() == ours.len() && differs == 0
}

/// Removes what runs left behind that were killed.
fn sweep(base: &Path) {
    let Ok(entries) = std::fs::read_dir(base) else { return };
    let named = |entry: &std::fs::DirEntry| {
        entry.file_name().to_str().is_some_and(|name| name.starts_with(FOLDER))
    };
    for entry in entries.flatten().filter(named).take(SWEEP) {
        let folder = entry.path();
        let ours = folder
            .symlink_metadata()
            .is_ok_and(|meta| meta.is_dir() && meta.uid() == nix::unistd::geteuid().as_raw());
        if !ours {
            continue;
        }
        let Ok(lock) = File::open(folder.join(LOCK_NAME)) else { continue };
        let age = lock.metadata().and_then(|meta| meta.modified()).map(|made| made.elapsed());
        // One that is just being made has its file before it has its lock.
        let settled = matches!(age, Ok(Ok(age)) if age > PATIENCE);
        if settled && lock.try_lock().is_ok() {
            let _next_time = std::fs::remove_dir_all(&folder);
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let _swept_later = std::fs::remove_dir_all(&self.folder);
    }
}
