//! Events as JSON, one a line, for programs.

use super::Surface;
use crate::screen::Screen;
use stablehand::show::Show;
use stablehand_core::Event;
use stablehand_core::text::safe_json;
use std::borrow::Cow;
use std::io;

/// Escapes what would drive or deceive a terminal in the JSON that begins at `from`.
pub(crate) fn make_json_safe(buffer: &mut Vec<u8>, from: usize) {
    let json = buffer.get(from..).and_then(|json| std::str::from_utf8(json).ok());
    if let Some(Cow::Owned(safe)) = json.map(safe_json) {
        buffer.truncate(from);
        buffer.extend_from_slice(safe.as_bytes());
    }
}

/// Writes each event as a line of JSON.
#[derive(Debug)]
pub struct EventLines<S = Screen> {
    screen: S,
    buffer: Vec<u8>,
}

impl<S: Surface> EventLines<S> {
    /// On a screen, or a page.
    pub fn new(screen: S) -> Self {
        EventLines { screen, buffer: Vec::new() }
    }
}

impl<S: Surface> Show for EventLines<S> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        let from = self.buffer.len();
        serde_json::to_writer(&mut self.buffer, event)?;
        make_json_safe(&mut self.buffer, from);
        self.buffer.push(b'\n');
        if self.buffer.len() > 64 << 10 { self.pause() } else { Ok(()) }
    }

    fn pause(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let done = self.screen.out(&self.buffer);
        self.buffer.clear();
        done
    }
}
