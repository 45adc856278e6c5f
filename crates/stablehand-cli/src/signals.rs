//! Signals, turned into requests by a thread of their own.
//!
//! SIGINT, SIGTERM and SIGHUP stop the run (a second one kills at once, a third leaves at once: the
//! keeper then finishes alone); SIGQUIT asks for a dump; SIGWINCH tells the new size of our terminal.
//! SIGPIPE is ignored by Rust itself. Between runs, when nobody listens for requests, a stop ends
//! the program.

#[cfg_attr(target_os = "linux", path = "signals/linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "signals/other.rs")]
mod source;

use nix::sys::termios::{SetArg, Termios, tcgetattr, tcsetattr};
use signal_hook::consts::{SIGQUIT, SIGWINCH};
use stablehand::control::{Control, Request};
use stablehand_core::terminal::TerminalSize;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Whether somebody serves requests at present.
#[derive(Clone, Debug, Default)]
pub struct Attention(Arc<State>);

#[derive(Debug, Default)]
struct State {
    attentive: AtomicBool,
    /// Stops since somebody began to serve them.
    stops: AtomicU32,
    /// The last of them; 0 where there was none.
    signal: AtomicI32,
    /// A terminal that is not as it was, and how it was.
    changed: Mutex<Option<(File, Termios)>>,
}

impl Attention {
    /// Requests are served from now on, or no longer.
    pub fn set(&self, attentive: bool) {
        self.0.stops.store(0, Ordering::SeqCst);
        self.0.signal.store(0, Ordering::SeqCst);
        self.0.attentive.store(attentive, Ordering::SeqCst);
    }

    /// Whether somebody wants an end since requests are served.
    pub fn is_stopping(&self) -> bool {
        self.0.stops.load(Ordering::SeqCst) > 0
    }

    /// The signal that asked for an end last, since requests are served.
    pub fn signal(&self) -> Option<i32> {
        Some(self.0.signal.load(Ordering::SeqCst)).filter(|signal| *signal != 0)
    }

    /// A terminal is not as it was: whoever leaves in a hurry puts it back. None when it is again.
    pub fn changed_terminal(&self, terminal: Option<(File, Termios)>) {
        *self.0.changed.lock().unwrap_or_else(PoisonError::into_inner) = terminal;
    }

    fn put_terminal_back(&self) {
        let mut changed = self.0.changed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((terminal, modes)) = changed.take() {
            let _not_a_terminal_any_more = tcsetattr(&terminal, SetArg::TCSANOW, &modes);
        }
    }

    /// Counts a stop; true when it should be left to whoever serves requests.
    fn counts(&self, signal: i32) -> bool {
        self.0.signal.store(signal, Ordering::SeqCst);
        self.0.attentive.load(Ordering::SeqCst) && self.0.stops.fetch_add(1, Ordering::SeqCst) < 2
    }
}

/// Starts the thread. On Linux this has to come before every other thread: those that are started
/// later inherit that signals are blocked, so that the signals wait until this one takes them.
pub fn watch(control: Control) -> std::io::Result<Attention> {
    let signals = source::open(control.alarm())?;
    let attention = Attention::default();
    let attentive = attention.clone();
    // A line editor may have the terminal in raw mode when we are told to leave.
    let terminal = tcgetattr(std::io::stdin()).ok();
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals {
            if signal == SIGQUIT {
                control.send(Request::Dump);
                continue;
            }
            if signal == SIGWINCH {
                if let Some(size) = terminal_size() {
                    control.send(Request::Resize(size));
                }
                continue;
            }
            if attentive.counts(signal) {
                control.send(Request::Stop { signal, by: None });
            } else {
                attentive.put_terminal_back();
                leave(signal, terminal.as_ref());
            }
        }
    })?;
    Ok(attention)
}

/// The size of the terminal that standard output is, where it is one.
#[expect(unsafe_code, reason = "there is no safe wrapper for this request")]
pub fn terminal_size() -> Option<TerminalSize> {
    let mut size = nix::pty::Winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    let stdout = std::io::stdout().as_raw_fd();
    // SAFETY: TIOCGWINSZ writes one `winsize` through the pointer, which is valid for the call.
    let status = unsafe { nix::libc::ioctl(stdout, nix::libc::TIOCGWINSZ, &raw mut size) };
    (status == 0 && size.ws_col > 0 && size.ws_row > 0)
        .then(|| TerminalSize::new(size.ws_col, size.ws_row))
}

#[expect(clippy::exit, reason = "nobody is there who could return")]
fn leave(signal: i32, terminal: Option<&Termios>) {
    if let Some(terminal) = terminal {
        let _not_a_terminal_any_more = tcsetattr(std::io::stdin(), SetArg::TCSANOW, terminal);
    }
    std::process::exit(128 + signal);
}
