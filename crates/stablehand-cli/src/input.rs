//! Prompts: from the arguments, from a pipe, from a person.

mod piped;

use crate::env::Env;
use crate::failure::Failure;
use crate::main_stablehand::PROGRAM;
use crate::screen::Screen;
use crate::signals::Attention;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use piped::{Patience, Piped};
use rustyline::error::ReadlineError;
use rustyline::{Behavior, Config, DefaultEditor};
use stablehand::control::{Request, Requests};
use std::io::{BufRead, BufReader, Read, Stdin, Write as _};
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

/// The word that stands for standard input.
const DASH: &str = "-";

/// The prompt of `stablehand run`.
#[derive(Debug)]
pub struct RunPrompt {
    /// What the agent is told.
    pub bytes: Vec<u8>,
    /// Standard input was open and sent nothing, so it was left unread.
    left_open: bool,
}

impl RunPrompt {
    /// Makes the prompt of the words and of standard input, which follows them after an empty line,
    /// unchanged. Without words standard input is all of it; the word `-` at the end waits for it
    /// however long it takes.
    pub fn read(words: &[String], env: &Env) -> Result<RunPrompt, Failure> {
        let (given, patience) = match words.split_last() {
            Some((last, rest)) if last == DASH => (rest.join(" "), Patience::Endless),
            _ => (words.join(" "), Patience::Bounded),
        };
        if given.trim().is_empty() {
            if env.stdin_is_terminal && patience == Patience::Bounded {
                return Err(no_prompt());
            }
            // There is nothing else that we could do.
            let Piped::Bytes(bytes) = piped::read_all(Patience::Endless)? else {
                return Err(no_prompt());
            };
            let bytes = bytes.trim_ascii().to_vec();
            let prompt = RunPrompt { bytes, left_open: false };
            return if prompt.bytes.is_empty() { Err(no_prompt()) } else { Ok(prompt) };
        }
        let mut prompt = RunPrompt { bytes: given.into_bytes(), left_open: false };
        if patience == Patience::Bounded && !piped::is_redirected() {
            return Ok(prompt);
        }
        match piped::read_all(patience)? {
            Piped::Bytes(input) if input.trim_ascii().is_empty() => {}
            Piped::Bytes(input) => {
                prompt.bytes.extend_from_slice(b"\n\n");
                prompt.bytes.extend_from_slice(&input);
            }
            Piped::Idle => {
                prompt.left_open = true;
                warn(
                    "standard input is open, but nothing came; running without it",
                    "add `-` after the prompt to wait for it, or `</dev/null` to leave it out",
                );
            }
        }
        Ok(prompt)
    }

    /// Says that something came too late, where that is so.
    pub fn warn_if_late(&self) {
        if self.left_open && piped::is_readable() {
            warn(
                "standard input sent something after the run had begun; the agent did not get it",
                "add `-` after the prompt to wait for it",
            );
        }
    }
}

fn warn(what: &str, hint: &str) {
    let text = format!("{PROGRAM}: warning: {what}\n  hint: {hint}\n");
    let _nobody_there = std::io::stderr().write_all(text.as_bytes());
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
                        Prompt::Text(line) => {
                            desk.screen.line_was_typed();
                            line
                        }
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
        if let Some(Request::Stop { signal, .. }) = desk.requests.next() {
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
