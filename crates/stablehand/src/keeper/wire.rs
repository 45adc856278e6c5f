//! What supervisor and keeper say to each other, and how it travels.
//!
//! Each message is JSON behind its length in four bytes. The three pipe ends for the agent travel
//! beside one byte ahead of the first message. Both sides use the socket without blocking: what it
//! does not take yet waits in memory, so a stopped peer can never stop us. This file decides
//! nothing about processes.

use crate::hooks::Release;
use crate::keeper::{Launch, Order, Transport};
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use stablehand_core::event::{ProcessExit, ProcessRow};
use stablehand_core::terminal::TerminalSize;
use std::ffi::{OsStr, OsString};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

/// Longest message that is believed. An environment and an argument list fit many times; a longer
/// one means that the peer does not speak our language.
const MAX_MESSAGE_BYTES: usize = 64 << 20;

/// How often one call to [`Channel::receive`] reads, so that a chatty peer cannot hold us there.
const READS_PER_CALL: usize = 64;

/// The byte that carries the agent's pipe ends.
const PIPES_FOLLOW: u8 = b'P';

/// From the supervisor to the keeper.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToKeeper {
    /// The first message, and only the first.
    Launch(LaunchRequest),
    /// Any later one.
    Order(Order),
    /// The last one of a supervisor that ends the keeper and lives on.
    Farewell,
}

/// From the keeper to the supervisor.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum FromKeeper {
    /// The agent runs.
    Spawned {
        agent_pid: u32,
        /// The cgroup that was made for it, so that the supervisor can empty it should the keeper
        /// be killed.
        cgroup: Option<Vec<u8>>,
    },
    /// The agent could not be started; the keeper ends.
    Failed { stage: FailedStage, errno: i32 },
    /// The agent ended.
    AgentExited(ProcessExit),
    /// A kill of the whole tree is over.
    TreeGone { leaked: Vec<ProcessRow>, survivors: Vec<ProcessRow> },
}

/// What the keeper was doing when the start failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum FailedStage {
    /// Preparing itself.
    Keeper,
    /// Entering the working directory.
    WorkingDirectory,
    /// Executing the program.
    Program,
    /// The program is there, what it needs to run is not.
    Interpreter,
}

/// A [`Launch`] as it travels. Names and values need not be text, so all are bytes.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LaunchRequest {
    program: Vec<u8>,
    args: Vec<Vec<u8>>,
    env: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    cwd: Option<Vec<u8>>,
    /// Columns and rows, where the pipe ends are those of a terminal.
    #[serde(default)]
    terminal: Option<(u16, u16)>,
    /// The journal and the user of an installation.
    #[serde(default)]
    release: Option<(Vec<u8>, Vec<u8>)>,
}

impl From<&Launch> for LaunchRequest {
    fn from(launch: &Launch) -> LaunchRequest {
        let bytes = |text: &OsStr| text.as_bytes().to_vec();
        LaunchRequest {
            program: bytes(launch.program.as_os_str()),
            args: launch.args.iter().map(|arg| bytes(arg)).collect(),
            env: launch
                .env
                .iter()
                .map(|(name, value)| (bytes(name), value.as_deref().map(bytes)))
                .collect(),
            cwd: launch.cwd.as_ref().map(|cwd| bytes(cwd.as_os_str())),
            terminal: match launch.transport {
                Transport::Pipe | Transport::Together => None,
                Transport::Pty { size } => Some((size.cols(), size.rows())),
            },
            release: launch
                .release
                .as_ref()
                .map(|release| (bytes(release.journal.as_os_str()), bytes(&release.user))),
        }
    }
}

impl From<LaunchRequest> for Launch {
    fn from(request: LaunchRequest) -> Launch {
        let text = OsString::from_vec;
        Launch {
            program: PathBuf::from(text(request.program)),
            args: request.args.into_iter().map(text).collect(),
            env: request
                .env
                .into_iter()
                .map(|(name, value)| (text(name), value.map(text)))
                .collect(),
            cwd: request.cwd.map(|cwd| PathBuf::from(text(cwd))),
            transport: request.terminal.map_or(Transport::Pipe, |(cols, rows)| Transport::Pty {
                size: TerminalSize::new(cols, rows),
            }),
            release: request.release.map(|(journal, user)| Release {
                journal: PathBuf::from(text(journal)),
                user: text(user),
            }),
        }
    }
}

/// One end of the socket with what was read but not understood yet, and what was said but not
/// taken yet.
#[derive(Debug)]
pub(crate) struct Channel {
    stream: UnixStream,
    inbox: Vec<u8>,
    outbox: Vec<u8>,
}

impl Channel {
    /// Takes one end of the socket pair and makes it non-blocking.
    pub(crate) fn new(stream: UnixStream) -> io::Result<Channel> {
        stream.set_nonblocking(true)?;
        Ok(Channel { stream, inbox: Vec::new(), outbox: Vec::new() })
    }

    /// Queues `message`; [`Channel::flush`] sends it.
    pub(crate) fn push(&mut self, message: &impl Serialize) -> io::Result<()> {
        let json = serde_json::to_vec(message)?;
        let len = u32::try_from(json.len())
            .ok()
            .filter(|_| json.len() <= MAX_MESSAGE_BYTES)
            .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
        self.outbox.extend_from_slice(&len.to_le_bytes());
        self.outbox.extend_from_slice(&json);
        Ok(())
    }

    /// Sends as much as the socket takes now; the rest stays queued, which is not an error.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let mut sent = 0;
        let result = loop {
            let rest = self.outbox.get(sent..).unwrap_or_default();
            if rest.is_empty() {
                break Ok(());
            }
            match self.stream.write(rest) {
                Ok(0) => break Err(io::ErrorKind::WriteZero.into()),
                Ok(len) => sent += len,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        self.outbox.drain(..sent);
        result
    }

    /// How much is queued.
    pub(crate) fn unsent_bytes(&self) -> usize {
        self.outbox.len()
    }

    /// Reads what is there. `Ok(false)` means that the peer has closed its end.
    pub(crate) fn receive(&mut self) -> io::Result<bool> {
        let mut chunk = [0_u8; 4096];
        for _ in 0..READS_PER_CALL {
            match self.stream.read(&mut chunk) {
                Ok(0) => return Ok(false),
                Ok(len) => self.inbox.extend_from_slice(chunk.get(..len).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// The next whole message among what was received.
    pub(crate) fn next<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        let Some((header, rest)) = self.inbox.split_first_chunk::<4>() else {
            return Ok(None);
        };
        let len = u32::from_le_bytes(*header) as usize;
        if len > MAX_MESSAGE_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let Some(body) = rest.get(..len) else {
            return Ok(None);
        };
        let message = serde_json::from_slice(body)?;
        self.inbox.drain(..4 + len);
        Ok(Some(message))
    }

    /// Hands `pipes` over to the peer. Only for a fresh socket, which always has room for a byte.
    pub(crate) fn send_pipes(&self, pipes: &[BorrowedFd<'_>; 3]) -> io::Result<()> {
        let raw = pipes.map(|pipe| pipe.as_raw_fd());
        sendmsg::<()>(
            self.stream.as_raw_fd(),
            &[IoSlice::new(&[PIPES_FOLLOW])],
            &[ControlMessage::ScmRights(&raw)],
            MsgFlags::empty(),
            None,
        )?;
        Ok(())
    }

    /// Takes the pipes that the peer handed over. `WouldBlock` until they have come.
    pub(crate) fn receive_pipes(&self) -> io::Result<[OwnedFd; 3]> {
        #[cfg(target_os = "linux")]
        let flags = MsgFlags::MSG_CMSG_CLOEXEC;
        #[cfg(not(target_os = "linux"))]
        let flags = MsgFlags::empty();

        let mut byte = [0_u8; 1];
        let mut slices = [IoSliceMut::new(&mut byte)];
        let mut space = nix::cmsg_space!([RawFd; 3]);
        let received =
            recvmsg::<()>(self.stream.as_raw_fd(), &mut slices, Some(&mut space), flags)?;
        let mut pipes = Vec::new();
        for message in received.cmsgs()? {
            if let ControlMessageOwned::ScmRights(raw) = message {
                pipes.extend(raw.into_iter().map(own));
            }
        }
        #[cfg(not(target_os = "linux"))]
        for pipe in &pipes {
            use nix::fcntl::{FcntlArg, FdFlag, fcntl};
            fcntl(pipe, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
        }
        <[OwnedFd; 3]>::try_from(pipes).map_err(|_| io::ErrorKind::InvalidData.into())
    }

    /// Tells the peer that nothing more will come, as a closed socket would.
    pub(crate) fn close(&self) {
        // A socket that is not connected any more is closed already.
        let _already_closed = self.stream.shutdown(std::net::Shutdown::Both);
    }
}

#[expect(unsafe_code, reason = "a received file descriptor is only a number")]
fn own(raw: RawFd) -> OwnedFd {
    // SAFETY: the kernel has just made this descriptor for us with the message, so nobody else
    // owns it.
    unsafe { OwnedFd::from_raw_fd(raw) }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn pair() -> (Channel, Channel) {
        let (left, right) = UnixStream::pair().unwrap();
        (Channel::new(left).unwrap(), Channel::new(right).unwrap())
    }

    #[test]
    fn names_and_values_need_not_be_text() {
        let odd = OsString::from_vec(vec![0xff, b'=', b'\n', 0x80]);
        let launch = Launch {
            program: PathBuf::from(&odd),
            args: vec![odd.clone(), OsString::new()],
            env: vec![(odd.clone(), Some(odd.clone())), (OsString::from("GONE"), None)],
            cwd: Some(PathBuf::from(&odd)),
            transport: Transport::Pty { size: TerminalSize::new(90, 30) },
            release: Some(Release { journal: PathBuf::from(&odd), user: odd.clone() }),
        };
        let (mut ours, mut theirs) = pair();
        ours.push(&ToKeeper::Launch(LaunchRequest::from(&launch))).unwrap();
        ours.flush().unwrap();
        assert!(theirs.receive().unwrap());
        let Some(ToKeeper::Launch(request)) = theirs.next().unwrap() else {
            panic!("no launch request");
        };
        assert_eq!(Launch::from(request), launch);
    }

    #[test]
    fn messages_come_whole_whatever_the_socket_takes_at_once() {
        let (mut ours, mut theirs) = pair();
        let order = Order::KillTree { polite: Duration::from_millis(1500) };
        let mut said = 0;
        while ours.unsent_bytes() == 0 {
            ours.push(&ToKeeper::Order(order)).unwrap();
            ours.flush().unwrap();
            said += 1;
        }
        let mut heard = 0;
        while heard < said {
            ours.flush().unwrap();
            assert!(theirs.receive().unwrap());
            while let Some(message) = theirs.next::<ToKeeper>().unwrap() {
                assert!(matches!(message, ToKeeper::Order(same) if same == order));
                heard += 1;
            }
        }
        ours.close();
        assert!(!theirs.receive().unwrap());
    }

    #[test]
    fn a_peer_that_speaks_another_language_is_an_error_and_not_a_huge_allocation() {
        let (mut ours, mut theirs) = pair();
        ours.outbox.extend_from_slice(b"GET / HTTP/1.1\r\n");
        ours.flush().unwrap();
        assert!(theirs.receive().unwrap());
        assert!(theirs.next::<ToKeeper>().is_err());
    }
}
