//! The events of a session for any number of subscribers.
//!
//! One thread per session decodes its log once and redacts once; every subscriber gets the same
//! [`Frame`]s. The newest frames are in a ring. A subscriber that is further behind reads the log
//! itself until it has caught up with the ring, so it never misses one, and nobody waits for it. A
//! [`Cursor`] says where a subscriber is, also to another process and after a restart. Checkpoints of
//! the decoder are kept beside the log, so that a cursor is found without reading all that stands
//! before it.

mod checkpoints;
mod cursor;
mod cut;
mod feed;
mod reader;
mod subscription;

pub(crate) use checkpoints::Checkpoints;
pub use cursor::{Cursor, CursorError};
pub(crate) use feed::{Feed, Past};
pub(crate) use reader::How;
pub use subscription::{From, Subscription};

use stablehand_core::Event;
use std::sync::OnceLock;

/// One event with its cursor, as a subscriber receives it.
#[derive(Debug)]
pub struct Frame {
    /// Where it stands among the events of the session.
    pub cursor: Cursor,
    /// The event.
    pub event: Event,
    json: OnceLock<String>,
}

impl Frame {
    fn new(cursor: Cursor, event: Event) -> Frame {
        Frame { cursor, event, json: OnceLock::new() }
    }

    /// The event as one line of JSON, without a newline. It is made once, whoever asks first.
    pub fn json(&self) -> &str {
        self.json.get_or_init(|| {
            // An event has string keys only, and every value of it has a JSON form.
            serde_json::to_string(&self.event).unwrap_or_default()
        })
    }
}

#[cfg(test)]
mod tests;
