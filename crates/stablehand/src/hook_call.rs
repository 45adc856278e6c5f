//! A hook's call from the agent's side: the small process that an agent starts, and what it says to
//! the run that is above it.
//!
//! Owns the words on the socket (`Header`, `Response`) and the client. The client reads its
//! standard input, asks, and gives back what is to be written and the exit status; it reads no
//! environment and prints nothing. Without a good answer in time it refuses whatever waits for a yes
//! or no, and says why; what is only told goes on as if we were not there. Who listens is
//! [`crate::driver`]; what an agent's answer looks like is core's `hook`.

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, UnixAddr, connect, setsockopt, socket, sockopt,
};
use nix::sys::time::TimeVal;
use serde::{Deserialize, Serialize};
use stablehand_core::hook::{Answered, HookAnswers, Reply};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The variable that names the socket of the run above.
pub const SOCKET: &str = "STABLEHAND_HOOK_SOCKET";

/// The variable with the word that proves that a hook belongs to that run. Not called a token: some
/// agents keep variables of such names from their hooks.
pub const TOKEN: &str = "STABLEHAND_HOOK_RUN";

/// Returns the socket in the folder of a run; its name is short, because paths of sockets are.
pub fn socket_of(folder: &Path) -> PathBuf {
    folder.join("s")
}

/// Returns the file with the token in the folder of a run.
pub fn token_of(folder: &Path) -> PathBuf {
    folder.join("token")
}

/// What a hook may bring along: the largest file that an agent reads whole, and then some.
pub const MOST_PAYLOAD: usize = 32 << 20;

/// The version of the words on the socket.
const VERSION: u32 = 1;

/// What a call begins with: one line of JSON. The payload follows, `bytes` long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Header {
    pub(crate) v: u32,
    pub(crate) token: String,
    pub(crate) agent: String,
    pub(crate) event: String,
    pub(crate) bytes: usize,
}

/// What comes back: one line of JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Response {
    /// Why the call was not heard at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
    #[serde(default)]
    stdout: String,
    #[serde(default)]
    stderr: String,
    #[serde(default)]
    exit: u8,
}

impl Response {
    /// An answer, as a line.
    pub(crate) fn of(answered: Answered) -> Vec<u8> {
        let Answered { stdout, stderr, exit } = answered;
        Response { refused: None, stdout, stderr, exit }.line()
    }

    /// A refusal to listen, as a line.
    pub(crate) fn refusal(why: impl Into<String>) -> Vec<u8> {
        Response { refused: Some(why.into()), ..Response::default() }.line()
    }

    fn line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

/// One call of a hook.
#[derive(Clone, Debug)]
pub struct HookCall<'a> {
    /// The agent's name, as in our table.
    pub agent: &'a str,
    /// Its hooks; none where no agent of that name has any.
    pub hooks: Option<&'static dyn HookAnswers>,
    /// The agent's name of the event.
    pub event: &'a str,
    /// Where the run above listens.
    pub socket: Option<PathBuf>,
    /// The word that belongs to it.
    pub token: String,
    /// The answer is given no later than this; the agent would not wait longer.
    pub within: Duration,
}

/// What a hook's process says when nobody can be asked.
fn unheard(hooks: Option<&'static dyn HookAnswers>, event: &str, why: &str) -> Answered {
    let reason = format!("denied by stablehand: {why}");
    match hooks {
        Some(hooks) if hooks.role(event).fails_closed() => {
            hooks.answer(event, &Reply::Deny { reason })
        }
        // Said where somebody may look for it, and nothing else happens.
        Some(hooks) => Answered {
            stderr: format!("stablehand: {why}; going on without it\n"),
            ..hooks.answer(event, &Reply::Nothing)
        },
        // Status 2 blocks with every agent that has hooks.
        None => Answered { stdout: String::new(), stderr: format!("{reason}\n"), exit: 2 },
    }
}

impl HookCall<'_> {
    /// Makes the call with the payload on `input`.
    pub fn make(&self, input: &mut (impl Read + AsFd)) -> Answered {
        let deadline = Instant::now() + self.within;
        let payload = read_bounded(input, deadline);
        match payload.and_then(|payload| self.ask(&payload, deadline)) {
            Ok(answered) => answered,
            Err(why) => unheard(self.hooks, self.event, &why),
        }
    }

    /// The answer to a call that is not made, and why.
    pub fn refuse(&self, why: &str) -> Answered {
        unheard(self.hooks, self.event, why)
    }

    fn ask(&self, payload: &[u8], deadline: Instant) -> Result<Answered, String> {
        if self.hooks.is_none_or(|hooks| hooks.event(self.event).is_none()) {
            return Err(format!("{} has no hook called `{}` that we know", self.agent, self.event));
        }
        let Some(path) = &self.socket else {
            return Err(format!("no run is above this hook ({SOCKET} is not set)"));
        };
        let mut stream = connect_to(path, deadline).map_err(|error| {
            format!("the run at `{}` cannot be reached: {error}", path.display())
        })?;
        let header = Header {
            v: VERSION,
            token: self.token.clone(),
            agent: self.agent.to_owned(),
            event: self.event.to_owned(),
            bytes: payload.len(),
        };
        let mut message = serde_json::to_vec(&header).map_err(|error| error.to_string())?;
        message.push(b'\n');
        message.extend_from_slice(payload);
        // A run that does not want it all has answered already.
        let told = stream.write_all(&message);
        let mut answer = Vec::new();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(format!("no answer came within {} s", self.within.as_secs()));
            }
            stream.set_read_timeout(Some(left)).map_err(|error| error.to_string())?;
            let mut chunk = [0; 4096];
            match stream.read(&mut chunk) {
                Ok(0) => break,
                Ok(n) => answer.extend_from_slice(chunk.get(..n).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // A run that dies with words of ours unread resets the connection.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => break,
                Err(error) => return Err(format!("the run did not answer: {error}")),
            }
            if answer.last() == Some(&b'\n') {
                break;
            }
        }
        if answer.is_empty() {
            let why = told.err().map(|error| format!(": {error}")).unwrap_or_default();
            return Err(format!("the run ended before it answered{why}"));
        }
        let response: Response = serde_json::from_slice(&answer)
            .map_err(|error| format!("the run's answer cannot be read: {error}"))?;
        match response {
            Response { refused: Some(why), .. } => Err(why),
            Response { stdout, stderr, exit, .. } => Ok(Answered { stdout, stderr, exit }),
        }
    }
}

/// Everything on `input`, within the time and the size that there is.
fn read_bounded(input: &mut (impl Read + AsFd), deadline: Instant) -> Result<Vec<u8>, String> {
    let mut payload = Vec::with_capacity(8 << 10);
    let mut chunk = [0; 16 << 10];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err("its standard input was not closed in time".to_owned());
        }
        // In pieces that every system can count, and a signal only costs another look.
        let wait = left.min(Duration::from_secs(30)).as_millis();
        let mut fds = [PollFd::new(input.as_fd(), PollFlags::POLLIN)];
        let ready = poll(&mut fds, PollTimeout::try_from(wait).unwrap_or(PollTimeout::MAX));
        if !matches!(ready, Ok(1..)) {
            continue;
        }
        match input.read(&mut chunk) {
            Ok(0) => return Ok(payload),
            Ok(n) if payload.len() + n > MOST_PAYLOAD => {
                return Err(format!("its payload is longer than {} MiB", MOST_PAYLOAD >> 20));
            }
            Ok(n) => payload.extend_from_slice(chunk.get(..n).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(format!("its standard input cannot be read: {error}")),
        }
    }
}

/// Connects to a socket of our own user, and of nobody else: whoever could put one there could
/// allow anything.
fn connect_to(path: &Path, deadline: Instant) -> io::Result<UnixStream> {
    let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
    let fd = socket(AddressFamily::Unix, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    // A queue that is full makes us wait, and this says for how long.
    let seconds = i64::try_from(left.as_secs()).unwrap_or(i64::MAX);
    let micros = i64::from(left.subsec_micros());
    setsockopt(&fd, sockopt::SendTimeout, &TimeVal::new(seconds, micros))?;
    connect(fd.as_raw_fd(), &address(path)?)?;
    let stream = UnixStream::from(fd);
    let owner = peer_uid(&stream)?;
    if owner != nix::unistd::geteuid() {
        return Err(io::Error::other(format!("it belongs to another user ({owner})")));
    }
    Ok(stream)
}

/// The address of a socket; a path that the system has no room for is named with its limit.
pub(crate) fn address(path: &Path) -> io::Result<UnixAddr> {
    UnixAddr::new(path).map_err(|_| {
        let length = path.as_os_str().len();
        io::Error::other(format!(
            "its path has {length} bytes, and sockets have room for {MOST_PATH}"
        ))
    })
}

/// The longest path of a socket, on the strictest system that we run on.
pub(crate) const MOST_PATH: usize = 103;

/// Who is at the other end.
pub(crate) fn peer_uid(stream: &UnixStream) -> io::Result<nix::unistd::Uid> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        let peer = nix::sys::socket::getsockopt(stream, sockopt::PeerCredentials)?;
        Ok(nix::unistd::Uid::from_raw(peer.uid()))
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    {
        let (uid, _) = nix::unistd::getpeereid(stream)?;
        Ok(uid)
    }
}
