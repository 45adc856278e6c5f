//! The proof that a denial bites, before the agent is started.
//!
//! The command that is installed for a hook is run once as an agent would run it, through a shell and
//! a heredoc, against the socket that the run will use. It has to come back with the denial that we
//! gave it: a wrong path, another program of the same name, a socket that cannot be reached or an
//! environment that gets lost show here and not when something has been done. That the agent runs
//! its hooks at all only the agent can show; see [`super`].

use super::serve::Exchange;
use crate::hook_call::{Response, SOCKET, TOKEN};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use stablehand_core::Moment;
use stablehand_core::hook::{Answered, Hooks, Reply};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A command that has not come back by then never will.
const BOUND: Duration = Duration::from_secs(15);

/// What is asked.
const CANARY: &str = r#"{"stablehand":"a trial of this hook, to be denied"}"#;

/// Tries it; how long it took.
pub(super) fn denial_bites(
    exchange: &mut Exchange,
    hooks: &'static dyn Hooks,
    event: &str,
    command: &str,
) -> io::Result<Duration> {
    let began = Instant::now();
    let reason = "denied by stablehand: a trial".to_owned();
    let expected = hooks.answer(event, &Reply::Deny { reason });
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("{command} <<'STABLEHAND_TRIAL'\n{CANARY}\nSTABLEHAND_TRIAL\n"));
    shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // The command has to find us by itself.
    shell.env_remove(SOCKET).env_remove(TOKEN);
    let mut child = shell.spawn()?;
    let listened = listen(exchange, &mut child, &expected, began);
    if listened.is_err() {
        let _over_already = child.kill();
    }
    let status = child.wait()?;
    let (stdout, stderr) = listened?;
    let exit = status.code().and_then(|code| u8::try_from(code).ok());
    if exit == Some(expected.exit) && stdout == expected.stdout {
        return Ok(began.elapsed());
    }
    let said = if stderr.trim().is_empty() { stdout } else { stderr };
    let said = stablehand_core::text::excerpt(said.trim().as_bytes(), 300);
    Err(io::Error::other(format!(
        "it was to deny a trial and did not ({status}); it said: {said}; the command is: {command}"
    )))
}

/// Serves the one call, until the command closes its outputs.
fn listen(
    exchange: &mut Exchange,
    child: &mut Child,
    expected: &Answered,
    began: Instant,
) -> io::Result<(String, String)> {
    let (mut stdout, mut stderr) = (child.stdout.take(), child.stderr.take());
    let (mut out, mut err) = (Vec::new(), Vec::new());
    while stdout.is_some() || stderr.is_some() {
        let left = BOUND.saturating_sub(began.elapsed());
        if left.is_zero() {
            let bound = BOUND.as_secs();
            return Err(io::Error::other(format!("it did not come back within {bound} s")));
        }
        let mut fds: Vec<PollFd<'_>> =
            exchange.wants().map(|(fd, flags)| PollFd::new(fd, flags)).collect();
        let ours = [stdout.as_ref().map(AsFd::as_fd), stderr.as_ref().map(AsFd::as_fd)];
        fds.extend(ours.iter().flatten().map(|fd| PollFd::new(*fd, PollFlags::POLLIN)));
        let wait = PollTimeout::try_from(left.as_millis()).unwrap_or(PollTimeout::MAX);
        let _interrupted = poll(&mut fds, wait);
        let mut ready = fds.iter().rev().map(|fd| fd.any().unwrap_or(true));
        let of_stderr = stderr.is_some() && ready.next().unwrap_or(false);
        let of_stdout = stdout.is_some() && ready.next().unwrap_or(false);
        drop(ready);
        drop(fds);
        if of_stdout {
            read_some(&mut stdout, &mut out)?;
        }
        if of_stderr {
            read_some(&mut stderr, &mut err)?;
        }
        let news = exchange.attend(Moment(began.elapsed()));
        if let Some(why) = news.refused.into_iter().next() {
            return Err(io::Error::other(why));
        }
        for call in news.calls {
            exchange.answer(call.number, &Response::of(expected.clone()));
        }
    }
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok((text(out), text(err)))
}

fn read_some(stream: &mut Option<impl Read>, to: &mut Vec<u8>) -> io::Result<()> {
    let Some(open) = stream else { return Ok(()) };
    let mut chunk = [0; 4096];
    match open.read(&mut chunk)? {
        0 => *stream = None,
        n => to.extend_from_slice(chunk.get(..n).unwrap_or_default()),
    }
    Ok(())
}
