//! Prompts: from the arguments, from a pipe, from a person.

use crate::env::Env;
use crate::failure::Failure;
use crate::screen::Screen;
use crate::signals::Attention;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustyline::error::ReadlineError;
use rustyline::{Behavior, Config, DefaultEditor};
use stablehand::control::{Request, Requests};
use std::io::{BufRead, BufReader, Read, Stdin};
use std::os::fd::AsFd;

/// The one prompt of a run with `-p`: the arguments, or standard input to its end.
pub fn only_prompt(words: &[String], env: &Env) -> Result<String, Failure> {
    let given = words.join(" ");
    if !given.trim().is_empty() {
        return Ok(given);
    }
    if env.stdin_is_terminal {
        return Err(no_prompt());
    }
    let mut bytes = Vec::new();
    std::io::stdin()
        .read_to_end(&mut bytes)
        .map_err(|e| Failure::new(format!("failed to read the prompt from standard input: {e}")))?;
    let prompt = String::from_utf8_lossy(&bytes).trim().to_owned();
    if prompt.is_empty() { Err(no_prompt()) } else { Ok(prompt) }
}

/// A prompt that a person types now; none where they think better of it.
pub fn typed_prompt() -> Result<Option<String>, Failure> {
    let config = Config::builder().behavior(Behavior::PreferTerm).build();
    let mut editor = DefaultEditor::with_config(config).map_err(|error| from_terminal(&error))?;
    match editor.readline("> ") {
        Ok(line) => Ok(Some(line.trim().to_owned()).filter(|line| !line.is_empty())),
        Err(ReadlineError::Interrupted | ReadlineError::Eof) => Ok(None),
        Err(error) => Err(from_terminal(&error)),
    }
}

fn no_prompt() -> Failure {
    Failure::new("no prompt provided").hint("give it as an argument or on standard input")
}

/// Where the prompts of a conversation come from.
pub enum Prompts {
    /// Lines of a pipe or a file.
    Piped(BufReader<Stdin>),
    /// A person, but no terminal for a line editor: a plain prompt sign and plain lines.
    Plain(BufReader<Stdin>),
    /// A person at a terminal.
    Terminal(Box<DefaultEditor>),
}

impl std::fmt::Debug for Prompts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Prompts::Piped(_) => "Piped",
            Prompts::Plain(_) => "Plain",
            Prompts::Terminal(_) => "Terminal",
        })
    }
}

/// Where a person is asked: what to print on, and who may interrupt.
#[derive(Debug)]
pub struct Desk<'a> {
    /// For the prompt sign.
    pub screen: &'a Screen,
    /// Signals.
    pub requests: &'a Requests,
    /// Whether signals are served.
    pub attention: &'a Attention,
}

/// What came.
#[derive(Debug, PartialEq, Eq)]
pub enum Prompt {
    /// A prompt; never blank.
    Text(String),
    /// The end of the input.
    End,
    /// A signal ended the wait.
    Signal(i32),
}

impl Prompts {
    /// From standard input, whatever that is.
    pub fn open(env: &Env) -> Self {
        if !env.stdin_is_terminal {
            return Prompts::Piped(BufReader::new(std::io::stdin()));
        }
        // The terminal itself, so that standard output stays the agent's.
        let config = Config::builder().behavior(Behavior::PreferTerm).build();
        let has_terminal = env.stderr_is_terminal && std::fs::File::open("/dev/tty").is_ok();
        match DefaultEditor::with_config(config) {
            Ok(editor) if has_terminal => Prompts::Terminal(Box::new(editor)),
            _ => Prompts::Plain(BufReader::new(std::io::stdin())),
        }
    }

    /// Whether a person is there.
    pub fn is_terminal(&self) -> bool {
        matches!(self, Prompts::Terminal(_) | Prompts::Plain(_))
    }

    /// The next prompt. Blank lines are skipped.
    pub fn next(&mut self, desk: &Desk<'_>) -> Result<Prompt, Failure> {
        loop {
            let line = match self {
                Prompts::Piped(reader) => match wait_for_line(reader, desk)? {
                    Prompt::Text(line) => line,
                    other => return Ok(other),
                },
                Prompts::Plain(reader) => {
                    desk.screen.err(b"> ");
                    match wait_for_line(reader, desk)? {
                        Prompt::Text(line) => line,
                        other => return Ok(other),
                    }
                }
                Prompts::Terminal(editor) => match editor.readline("> ") {
                    Ok(line) => line,
                    Err(ReadlineError::Interrupted) => continue,
                    Err(ReadlineError::Eof) => return Ok(Prompt::End),
                    Err(error) => return Err(from_terminal(&error)),
                },
            };
            let line = line.trim();
            if !line.is_empty() {
                if let Prompts::Terminal(editor) = self {
                    let _history_is_a_comfort = editor.add_history_entry(line);
                }
                return Ok(Prompt::Text(line.to_owned()));
            }
        }
    }
}

fn from_terminal(error: &ReadlineError) -> Failure {
    Failure::new(format!("failed to read from the terminal: {error}"))
}

/// A line of the pipe, or a signal, whichever comes first.
fn wait_for_line(reader: &mut BufReader<Stdin>, desk: &Desk<'_>) -> Result<Prompt, Failure> {
    desk.attention.set(true);
    let found = loop {
        if let Some(Request::Stop { signal }) = desk.requests.next() {
            break Ok(Prompt::Signal(signal));
        }
        if reader.buffer().is_empty() {
            let stdin = std::io::stdin();
            let mut fds = [
                PollFd::new(stdin.as_fd(), PollFlags::POLLIN),
                PollFd::new(desk.requests.fd(), PollFlags::POLLIN),
            ];
            let _interrupted = poll(&mut fds, PollTimeout::NONE);
            if !fds.first().and_then(PollFd::any).unwrap_or(false) {
                continue;
            }
        }
        let mut line = Vec::new();
        break match reader.read_until(b'\n', &mut line) {
            Ok(0) => Ok(Prompt::End),
            Ok(_) => Ok(Prompt::Text(String::from_utf8_lossy(&line).into_owned())),
            Err(e) => Err(Failure::new(format!("failed to read a prompt: {e}"))),
        };
    };
    desk.attention.set(false);
    found
}
