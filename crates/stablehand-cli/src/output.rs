//! What commands print: text and JSON on standard output, notes and progress on standard error.
//!
//! Owns tables (`table`), colours (`paint`) and numbers as people read them (`figures`). What goes
//! past a run's status line is `screen`'s.

pub(crate) mod figures;
mod paint;
mod table;

pub(crate) use paint::{Look, Paint};
pub(crate) use table::{Cell, Column, Table};

use crate::env::Env;
use crate::failure::Failure;
use crate::main_stablehand::PROGRAM;
use stablehand_core::text::{plain, safe_json};
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// Between two drawings of a progress line.
const REDRAW: Duration = Duration::from_millis(100);

/// Erases the row of the cursor.
const ERASE_ROW: &str = "\r\x1b[2K";

/// Prints to standard output. A reader that has gone has read enough, which is no error.
pub(crate) fn print(text: &str) -> Result<u8, Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(0),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(0),
        Err(error) => Err(Failure::new(format!("failed to print: {error}"))),
    }
}

/// Prints a value as JSON, indented.
pub(crate) fn print_json(value: &impl serde::Serialize) -> Result<u8, Failure> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Failure::new(format!("failed to print JSON: {error}")))?;
    print(&format!("{}\n", safe_json(&text)))
}

/// Prints one line to standard error, after our name.
pub(crate) fn say(text: &str) {
    let line = format!("{PROGRAM}: {}\n", plain(text));
    let _nobody_there = io::stderr().write_all(line.as_bytes());
}

/// A line on a terminal that says what takes so long. It is erased when it is dropped.
#[derive(Debug)]
pub(crate) struct Progress {
    is_wanted: bool,
    is_shown: bool,
    next: Instant,
}

impl Progress {
    /// Shows nothing before `patience` has passed, and nothing at all where there is no terminal.
    pub(crate) fn new(env: &Env, patience: Duration) -> Progress {
        let is_wanted = env.stderr_is_terminal;
        Progress { is_wanted, is_shown: false, next: Instant::now() + patience }
    }

    /// Draws the line, unless it has just been drawn.
    pub(crate) fn draw(&mut self, text: impl FnOnce() -> String) {
        if self.is_wanted && Instant::now() >= self.next {
            self.next = Instant::now() + REDRAW;
            self.is_shown = true;
            let line = format!("{ERASE_ROW}{PROGRAM}: {}", text());
            let _nobody_there = io::stderr().write_all(line.as_bytes());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_shown {
            let _nobody_there = io::stderr().write_all(ERASE_ROW.as_bytes());
        }
    }
}
