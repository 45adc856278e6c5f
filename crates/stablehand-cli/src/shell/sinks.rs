//! Where the agent's own bytes go: our standard output and standard error, and a client's input.

use super::{Format, Setup};
use crate::screen::Screen;
use stablehand::driver::Faces;
use stablehand::sink::PassThrough;
use stablehand_core::record::Stream;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

/// Opens them. `passes_stderr` where no view shows the agent's standard error, `shows_status` where
/// that shares the terminal with a status line.
pub(super) fn open(
    setup: &Setup,
    screen: &Screen,
    passes_stderr: bool,
    shows_status: bool,
) -> io::Result<Faces> {
    let mut faces = Faces::default();
    if setup.client {
        faces.client = Some(nix::unistd::dup(io::stdin())?);
    }
    if passes_stderr {
        let sink = pass(setup, io::stderr().as_fd(), Stream::Stderr)?;
        let sink = if shows_status { sink.announced(screen.passes_by()) } else { sink };
        faces.stderr = Some(sink);
    }
    if setup.format == Format::StreamJson {
        faces.stdout = Some(pass(setup, io::stdout().as_fd(), Stream::Stdout)?);
    }
    Ok(faces)
}

fn pass(setup: &Setup, fd: BorrowedFd<'_>, stream: Stream) -> io::Result<PassThrough> {
    let sink = PassThrough::new(nix::unistd::dup(fd)?, stream)?;
    let folder = || setup.log_dir.clone();
    let raw = setup.redaction.as_ref().is_some_and(|redaction| redaction.raw);
    let sink = match &setup.redaction {
        // The agent's own stream comes with the agent's own messages.
        Some(redaction) if setup.format != Format::StreamJson => {
            sink.redacted(Arc::clone(&redaction.redactor), folder())
        }
        _ if raw || setup.client => sink.apart(folder()),
        _ => sink,
    };
    Ok(if setup.verify { sink.with_digest() } else { sink })
}
