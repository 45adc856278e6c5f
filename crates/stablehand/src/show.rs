//! Showing events: what every view of a session implements, live and in a replay.

use stablehand_core::Event;
use std::io;

/// Somebody who is shown events; an error means that nobody is there any more.
pub trait Show: Send + 'static {
    /// One event.
    fn event(&mut self, event: &Event) -> io::Result<()>;

    /// Everything that is in the log so far was shown: a good moment to flush.
    fn pause(&mut self) -> io::Result<()>;
}
