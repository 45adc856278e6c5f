//! The thread that listens at the control sockets of all sessions of this process.
//!
//! It never blocks on a caller, so a slow or silent caller does not delay the others.

use super::socket::{PATIENCE, reply_to};
use crate::control::Control;
use crate::hook_call::peer_uid;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// So many callers are heard at a time; the others wait to be accepted.
const MOST_CALLERS: usize = 64;

/// How long the thread waits after `accept` failed: the process has too many open files.
const RECOVERY: Duration = Duration::from_millis(100);

/// The longest request: a prompt with images.
const LONGEST: usize = 64 << 20;

/// How much of a request is read at a time.
const CHUNK: usize = 16 << 10;

/// A socket that is listened at while this exists.
#[derive(Debug)]
pub(super) struct Listening(Arc<Door>);

/// One socket, and the session that is spoken to through it.
#[derive(Debug)]
struct Door {
    listener: UnixListener,
    control: Control,
}

/// What is listened at.
struct Doors {
    open: Vec<Arc<Door>>,
    /// Wakes the thread, where there is one: it has to look at the doors again.
    wake: Option<UnixStream>,
}

static DOORS: Mutex<Doors> = Mutex::new(Doors { open: Vec::new(), wake: None });

fn doors() -> MutexGuard<'static, Doors> {
    DOORS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Listening {
    /// Listens. The first one starts the thread.
    pub(super) fn start(listener: UnixListener, control: Control) -> io::Result<Listening> {
        listener.set_nonblocking(true)?;
        let door = Arc::new(Door { listener, control });
        let mut doors = doors();
        if doors.wake.is_none() {
            let (wake, woken) = UnixStream::pair()?;
            wake.set_nonblocking(true)?;
            woken.set_nonblocking(true)?;
            std::thread::Builder::new().name("control".into()).spawn(move || listen(&woken))?;
            doors.wake = Some(wake);
        }
        doors.open.push(Arc::clone(&door));
        doors.wake();
        Ok(Listening(door))
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let mut doors = doors();
        doors.open.retain(|door| !Arc::ptr_eq(door, &self.0));
        doors.wake();
    }
}

impl Doors {
    fn wake(&self) {
        if let Some(mut wake) = self.wake.as_ref() {
            // One that is full has woken it already.
            let _full = wake.write(&[0]);
        }
    }
}

/// A connection whose request has not arrived in full.
struct Caller {
    stream: UnixStream,
    to: Arc<Door>,
    said: Vec<u8>,
    until: Instant,
}

/// The thread. It ends with the last door.
fn listen(mut woken: &UnixStream) {
    let mut callers: Vec<Caller> = Vec::new();
    loop {
        let open = {
            let mut doors = doors();
            if doors.open.is_empty() {
                doors.wake = None;
                return;
            }
            doors.open.clone()
        };
        wait(woken, &open, &callers);
        let _nothing_more = woken.read(&mut [0; 64]);
        callers.retain_mut(|caller| {
            // A session that is over takes no requests.
            open.iter().any(|door| Arc::ptr_eq(door, &caller.to)) && caller.has_more_to_say()
        });
        for door in &open {
            accept(door, &mut callers);
        }
    }
}

/// Waits for a call, for more of one, for other doors, or until a caller has taken too long.
fn wait(woken: &UnixStream, open: &[Arc<Door>], callers: &[Caller]) {
    let mut fds = vec![PollFd::new(woken.as_fd(), PollFlags::POLLIN)];
    fds.extend(callers.iter().map(|it| PollFd::new(it.stream.as_fd(), PollFlags::POLLIN)));
    if has_room(callers) {
        fds.extend(open.iter().map(|it| PollFd::new(it.listener.as_fd(), PollFlags::POLLIN)));
    }
    let timeout = match callers.iter().map(|it| it.until).min() {
        None => PollTimeout::NONE,
        Some(until) => {
            let rest = until.saturating_duration_since(Instant::now());
            PollTimeout::try_from(rest + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX)
        }
    };
    let _signal = poll(&mut fds, timeout);
}

/// Returns true if one more caller can be heard: where all places are taken, an idle one gives way.
fn has_room(callers: &[Caller]) -> bool {
    callers.len() < MOST_CALLERS || callers.iter().any(Caller::is_idle)
}

fn accept(door: &Arc<Door>, callers: &mut Vec<Caller>) {
    while has_room(callers) {
        match door.listener.accept() {
            Ok((stream, _)) => {
                let Some(mut caller) = Caller::new(stream, door) else { continue };
                // A request is written at once, so its caller is not idle from here on.
                if !caller.has_more_to_say() {
                    continue;
                }
                if callers.len() >= MOST_CALLERS
                    && let Some(idle) = callers.iter().position(Caller::is_idle)
                {
                    callers.remove(idle);
                }
                callers.push(caller);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            Err(_) => return std::thread::sleep(RECOVERY),
        }
    }
}

impl Caller {
    /// Returns true if it has said nothing yet.
    fn is_idle(&self) -> bool {
        self.said.is_empty()
    }

    /// None where it is a process of another user.
    fn new(stream: UnixStream, door: &Arc<Door>) -> Option<Caller> {
        let is_ours = peer_uid(&stream).is_ok_and(|uid| uid == nix::unistd::geteuid());
        let until = Instant::now() + PATIENCE;
        (is_ours && stream.set_nonblocking(true).is_ok()).then(|| Caller {
            stream,
            to: Arc::clone(door),
            said: Vec::new(),
            until,
        })
    }

    /// Takes what there is, and replies where that is a whole request.
    fn has_more_to_say(&mut self) -> bool {
        let mut chunk = [0; CHUNK];
        let new = match self.stream.read(&mut chunk) {
            Ok(n) => chunk.get(..n).unwrap_or_default(),
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) =>
            {
                return Instant::now() < self.until;
            }
            Err(_) => return false,
        };
        self.said.extend_from_slice(new);
        if new.is_empty() || new.contains(&b'\n') {
            if let Some(reply) = reply_to(&self.said, &self.to.control) {
                // A reply is short and fits into the socket, unless the caller has left.
                let _gone = self.stream.write_all(&reply);
            }
            return false;
        }
        self.until = Instant::now() + PATIENCE;
        self.said.len() <= LONGEST
    }
}
