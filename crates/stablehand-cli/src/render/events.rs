//! Events as JSON, one a line, for programs.

use crate::screen::Screen;
use stablehand::follow::Show;
use stablehand_core::Event;
use std::io;

/// Writes each event as a line of JSON.
#[derive(Debug)]
pub struct EventLines {
    screen: Screen,
    buffer: Vec<u8>,
}

impl EventLines {
    /// On a screen.
    pub fn new(screen: Screen) -> Self {
        EventLines { screen, buffer: Vec::new() }
    }
}

impl Show for EventLines {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        serde_json::to_writer(&mut self.buffer, event)?;
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
