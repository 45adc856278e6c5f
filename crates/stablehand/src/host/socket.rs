//! The control socket of a session: how another process of the same user speaks to it.
//!
//! One connection, one request, one reply, each a line of JSON. The socket is in a folder that only
//! the user can enter, and a caller with another user id is turned away.

use super::listen::Listening;
use crate::control::{Always, AnswerError, Control, Refused, Request};
use crate::hook_call::peer_uid;
use serde::{Deserialize, Serialize};
use stablehand_core::actor::Actor;
use stablehand_core::id::{SessionKey, TurnId};
use stablehand_core::speak::{Answer, Prompt};
use std::fs::{DirBuilder, File};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The folder of the sockets, beside the logs.
const FOLDER: &str = ".control";

/// How long a caller and a session may take for a line.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// A request.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Call {
    Prompt { prompt: Prompt, by: Actor },
    Cancel { turn: Option<TurnId>, by: Actor },
    Answer { id: String, answer: Answer, by: Actor },
    Always { id: String },
    Finish,
    Stop { by: Actor },
}

/// The reply to it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reply {
    Done,
    Turn(TurnId),
    Refused(Refused),
    AlreadyAnswered(Actor),
    NotWaiting,
    NoRule(String),
    Always(Always),
}

/// Listens for requests to one session while it exists.
#[derive(Debug)]
pub struct ControlSocket {
    path: PathBuf,
    _listening: Listening,
}

/// Where the socket of a session is.
pub(super) fn path(folder: &Path, key: SessionKey) -> PathBuf {
    folder.join(FOLDER).join(format!("{key}.sock"))
}

impl ControlSocket {
    /// Listens for a session whose logs are in `folder`.
    pub fn open(folder: &Path, key: SessionKey, control: Control) -> io::Result<ControlSocket> {
        let path = path(folder, key);
        // Another session that ends removes the folder, where it is empty for a moment.
        let listener = match bind(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => bind(&path),
            bound => bound,
        }?;
        Ok(ControlSocket { path, _listening: Listening::start(listener, control)? })
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        let _gone_already = std::fs::remove_file(&self.path);
        if let Some(folder) = self.path.parent() {
            let _others_use_it = std::fs::remove_dir(folder);
        }
    }
}

fn bind(path: &Path) -> io::Result<UnixListener> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    // One of an earlier process, which is gone: the session has one writer at a time.
    let _none_there = std::fs::remove_file(path);
    near(path, |path| UnixListener::bind(path))
}

/// Uses the path of a socket in a form that the system has room for, however long the path is.
fn near<T>(path: &Path, with: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    #[cfg(target_os = "linux")]
    if let (Some(folder), Some(name)) = (path.parent(), path.file_name()) {
        use std::os::fd::AsRawFd as _;
        let folder = File::open(folder)?;
        let short = format!("/proc/self/fd/{}", folder.as_raw_fd());
        return with(&Path::new(&short).join(name));
    }
    with(path)
}

/// Does what a caller asks for; none where that is no request.
pub(super) fn reply_to(said: &[u8], control: &Control) -> Option<Vec<u8>> {
    let call: Call = serde_json::from_slice(said).ok()?;
    let reply = match call {
        Call::Prompt { prompt, by } => match control.prompt(prompt, by) {
            Ok(turn) => Reply::Turn(turn),
            Err(why) => Reply::Refused(why),
        },
        Call::Cancel { turn, by } => {
            control.send(Request::Cancel { turn, by });
            Reply::Done
        }
        Call::Answer { id, answer, by } => match control.answer(&id, answer, by) {
            Ok(()) => Reply::Done,
            Err(AnswerError::AlreadyAnswered { by, .. }) => Reply::AlreadyAnswered(by),
            Err(AnswerError::NoRule { why, .. }) => Reply::NoRule(why),
            Err(AnswerError::NotWaiting { .. } | AnswerError::NoSession) => Reply::NotWaiting,
        },
        Call::Always { id } => control.board().always(&id).map_or(Reply::NotWaiting, Reply::Always),
        Call::Finish => {
            control.finish();
            Reply::Done
        }
        Call::Stop { by } => {
            control.stop(by);
            Reply::Done
        }
    };
    line(&reply).ok()
}

/// Sends a request to a session of another process, and waits for the reply.
pub(super) fn call(path: &Path, call: &Call) -> io::Result<Reply> {
    let stream = near(path, |path| UnixStream::connect(path))?;
    if peer_uid(&stream)? != nix::unistd::geteuid() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    (&stream).write_all(&line(call)?)?;
    let mut reply = Vec::new();
    BufReader::new(stream).read_until(b'\n', &mut reply)?;
    Ok(serde_json::from_slice(&reply)?)
}

fn line(what: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    Ok(line)
}
