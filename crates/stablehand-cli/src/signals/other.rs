//! Takes signals from handlers, where no descriptor gives them.

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGWINCH};
use signal_hook::iterator::Signals;
use stablehand::control::Alarm;
use std::sync::Arc;

/// Returns the signals as they come.
pub(super) fn open(alarm: Arc<Alarm>) -> std::io::Result<impl Iterator<Item = i32>> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH])?;
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // The thread that takes them may be late; what the handler itself does is not.
        signal_hook::flag::register(signal, alarm.flag())?;
    }
    Ok(std::iter::from_fn(move || signals.forever().next()))
}
