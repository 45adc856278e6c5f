//! The state of an [`EventReader`] as JSON, so that another one goes on where it stood.
//!
//! Owns what is saved. Where the states are kept, and whether the log is still the same, is left to
//! the caller.

use super::hooked::Hooked;
use super::session::SessionView;
use super::{EventReader, LogReader};
use crate::decode::Depth;
use crate::id::{RunId, Seq, SessionId};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use std::collections::VecDeque;

/// Differs between any two versions of this crate's code. A state that another version saved may be
/// read without an error and still mean something else, so it must not be restored.
pub const STATE_VERSION: &str = env!("STABLEHAND_STATE_VERSION");

#[derive(Serialize, Deserialize)]
struct SavedReader {
    log: LogReader,
    decoder: Box<RawValue>,
    seq: Seq,
    run: RunId,
    session: Option<SessionId>,
    hooked: Hooked,
    view: Option<SessionView>,
    prompt: Option<String>,
    is_early: bool,
    answered: VecDeque<String>,
}

impl EventReader {
    /// Returns the state between two records, for [`EventReader::restore`]. It holds text of the
    /// agent's, as the log does. Returns `None` while a line in parts is not complete, and for a
    /// dialect whose decoder cannot be restored.
    pub fn save(&self) -> Option<Box<RawValue>> {
        if !self.stdout.is_empty() || !self.stderr.is_empty() {
            return None;
        }
        let state = SavedReader {
            decoder: self.decoder.save()?,
            log: self.log.clone(),
            seq: self.seq,
            run: self.run.clone(),
            session: self.session.clone(),
            hooked: self.hooked.clone(),
            view: self.view.clone(),
            prompt: self.prompt.clone(),
            is_early: self.is_early,
            answered: self.answered.clone(),
        };
        to_raw_value(&state).ok()
    }

    /// Makes a reader that goes on behind the record at which `state` was saved by the same
    /// [`STATE_VERSION`]. It gives the events that the saved one would have given.
    pub fn restore(state: &RawValue, depth: Depth) -> Option<EventReader> {
        let saved: SavedReader = serde_json::from_str(state.get()).ok()?;
        let decoder = saved.log.dialect().restore(&saved.decoder)?;
        Some(EventReader {
            decoder,
            seq: saved.seq,
            run: saved.run,
            session: saved.session,
            hooked: saved.hooked,
            view: saved.view,
            prompt: saved.prompt,
            is_early: saved.is_early,
            answered: saved.answered,
            ..EventReader::of(saved.log, depth)
        })
    }
}
