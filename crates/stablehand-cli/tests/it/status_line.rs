//! The status line, seen on a terminal of 80 columns and 24 rows: it covers no text, stays in one row
//! and leaves no trace.

use crate::support::{PROMPT, env, secs};
use nix::pty::{Winsize, openpty};
use stablehand_core::terminal::{Terminal, TerminalSize};
use stablehand_testkit::{Run, TestEnv};
use std::fs::File;
use std::io::Read;
use std::sync::{Arc, Mutex};

const ANSWER: &str = "First I will look at the two files, then fix both of them.";

/// A terminal, and everything that was ever written to it.
struct Window {
    slave: File,
    written: Arc<Mutex<Vec<u8>>>,
}

impl Window {
    fn open() -> Window {
        let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        let pair = openpty(Some(&size), None).unwrap();
        let written = Arc::new(Mutex::new(Vec::new()));
        let (mut master, into) = (File::from(pair.master), Arc::clone(&written));
        // The thread ends with the test.
        std::thread::spawn(move || {
            let mut block = [0; 4096];
            while let Ok(count @ 1..) = master.read(&mut block) {
                into.lock().unwrap().extend_from_slice(&block[..count]);
            }
        });
        Window { slave: File::from(pair.slave), written }
    }

    fn slave(&self) -> File {
        self.slave.try_clone().unwrap()
    }

    /// The rows that have text, after so much of what was written.
    fn rows_after(bytes: &[u8]) -> Vec<String> {
        let mut terminal = Terminal::new(TerminalSize::new(80, 24));
        terminal.feed(bytes);
        let texts = terminal.rows().into_iter().map(|row| row.text);
        texts.filter(|text| !text.is_empty()).collect()
    }

    fn rows(&self) -> Vec<String> {
        Window::rows_after(&self.written.lock().unwrap())
    }

    /// The rows as they were when each newline or carriage return had been written.
    fn moments(&self) -> Vec<Vec<String>> {
        let written = self.written.lock().unwrap();
        let ends = written.iter().enumerate().filter(|(_, byte)| b"\r\n".contains(byte));
        ends.map(|(at, _)| Window::rows_after(&written[..=at])).collect()
    }

    /// Waits until a row begins so.
    fn wait_for(&self, env: &TestEnv, start: &str) {
        env.wait_for(start, || self.rows().iter().any(|row| row.starts_with(start)));
    }
}

/// `stablehand run`, patient enough for agents that are quiet for a while.
fn run(env: &TestEnv) -> Run<'_> {
    env.stablehand_run()
        .flag("--idle-timeout", "15s")
        .variable("TERM", "xterm-256color")
        .args([PROMPT])
}

fn is_status(row: &str) -> bool {
    row.starts_with(['◐', '◓', '◑', '◒'])
}

#[test]
fn an_answer_that_comes_in_pieces_is_never_covered() {
    let env = env(&format!(
        "read-stdin\ninit\ndelta First I will look at the two files,\nsleep 1200ms\ndelta  then fix\n\
         sleep 1200ms\ndelta  both of them.\nassistant {ANSWER}\nresult {ANSWER}\n"
    ));
    let window = Window::open();
    let run = run(&env).stdin_terminal(window.slave()).stdout_terminal(window.slave());
    run.stderr_terminal(window.slave()).finish().assert_code(0);
    assert_eq!(window.rows(), [ANSWER]);
    // From its first piece on, something of it is there at every moment.
    let said = |rows: &Vec<String>| rows.iter().any(|row| row.starts_with("First I will look"));
    let moments = window.moments();
    assert!(moments.iter().skip_while(|rows| !said(rows)).all(said), "{moments:#?}");
}

#[test]
fn it_stays_in_one_row_and_leaves_no_trace() {
    let command =
        "make 编译全部代码 with a long list of targets, far more than eighty columns can show";
    let env = env(&format!(
        "read-stdin\ninit\nassistant-before-tool I build it.\nshell a 30s {command}\nsleep 2500ms\n\
         shell-done a 0 2500ms {command}\nassistant Done.\nresult Done.\n"
    ));
    let window = Window::open();
    let run = run(&env).stdin_terminal(window.slave()).stdout_terminal(window.slave());
    let run = run.stderr_terminal(window.slave()).start();
    window.wait_for(&env, "◐ make 编译全部代码 with a long list");
    run.finish().assert_code(0);
    for rows in window.moments() {
        let shown: Vec<_> = rows.iter().filter(|row| is_status(row)).collect();
        assert!(shown.len() <= 1, "{rows:#?}");
        let is_last =
            rows.iter().position(|row| is_status(row)).is_none_or(|at| at + 1 == rows.len());
        assert!(is_last, "something follows it: {rows:#?}");
    }
    let rows = window.rows();
    assert!(!rows.iter().any(|row| is_status(row)), "{rows:#?}");
    assert_eq!((rows.first(), rows.last()), (Some(&"I build it.".into()), Some(&"Done.".into())));
}

#[test]
fn messages_of_the_agent_take_its_place() {
    let env =
        env("read-stdin\ninit\nshell a 30s make\nsleep 1500ms\nstderr no hay left\nsleep 1500ms\n\
         shell-done a 0 3000ms make\nresult Done.\n");
    let window = Window::open();
    let run = run(&env).args(["-p"]).stderr_terminal(window.slave()).start();
    window.wait_for(&env, "◐ make");
    let run = run.finish();
    run.assert_code(0).assert_within(secs(15));
    assert_eq!(window.rows(), ["no hay left"]);
    let moments = window.moments();
    let mixed = |row: &String| row.contains("no hay") && row != "no hay left";
    assert!(!moments.iter().flatten().any(mixed), "{moments:#?}");
}

#[test]
fn a_terminal_that_can_only_print_gets_no_status_line() {
    let env = env("read-stdin\ninit\nsleep 1500ms\nassistant Done.\nresult Done.\n");
    let window = Window::open();
    let run = run(&env).variable("TERM", "dumb").stdout_terminal(window.slave());
    run.stderr_terminal(window.slave()).finish().assert_code(0);
    assert_eq!(String::from_utf8_lossy(&window.written.lock().unwrap()), "Done.\r\n");
}
