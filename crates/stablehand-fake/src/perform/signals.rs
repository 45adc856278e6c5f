//! Signals that a script ignores or answers.

use super::record::Record;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{Signal, raise};
use signal_hook::iterator::Signals;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A handler that does nothing: to the sender it is the same as ignoring, and it needs no `unsafe`.
pub(super) fn ignore(signal: i32) -> io::Result<()> {
    signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false))).map(|_| ())
}

/// On the signal notes `name` and exits with `code`.
pub(super) fn exit_on(signal: i32, name: String, code: i32, record: Record) -> io::Result<()> {
    let mut signals = Signals::new([signal])?;
    std::thread::spawn(move || {
        if signals.forever().next().is_some() {
            record.note(&name, b"");
            exit_now(code);
        }
    });
    Ok(())
}

#[expect(clippy::exit, reason = "a signal thread ends the process while the main thread sleeps")]
fn exit_now(code: i32) -> ! {
    std::process::exit(code)
}

/// Dies by the signal.
pub(super) fn die(signal: Signal) -> io::Result<()> {
    // A core file would only fill the disk.
    setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
    // Rust's own handler takes the first SIGSEGV and gives the signal back.
    for _ in 0..2 {
        raise(signal)?;
    }
    Ok(())
}
