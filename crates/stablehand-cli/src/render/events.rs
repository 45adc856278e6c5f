//! Events as JSON, one a line, for programs.

use super::Surface;
use crate::screen::Screen;
use stablehand::show::Show;
use stablehand_core::Event;
use std::io;

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
