//! The script of the fake agent: a text with one step a line.
//!
//! Owns the grammar and its meaning as [`Step`]s; [`crate::perform`] performs them, and the files in
//! `dialect/` write what is said. Sections are separated by a line `---`; the n-th start of the
//! agent takes the n-th section, which is how a test plays a second turn or a retry. Blank lines
//! and lines that begin with `#` are skipped, and so is the space before a step. Durations are
//! `200ms`, `3s`, `2m`. Texts know the escapes `\n \r \t \0 \\ \xHH`. In any line `"@CHILD@"`, with
//! its quotes, becomes the process id of the last child, and `"@SESSION@"` the session's id.
//!
//! What is said, in whichever dialect is chosen:
//!
//! ```text
//! init [SESSION]                 the session begins; later lines carry this id
//! user TEXT | prompt             the echo of a prompt: this one, or the one that was given
//! thinking TEXT                  some thinking, from its beginning to its end
//! assistant TEXT                 the last message (or the last flush of partial output)
//! assistant-before-tool TEXT     a message before a tool (or the flush before it)
//! delta TEXT                     a piece of a message, as with partial output
//! long BYTES                     a message of about that length
//! shell ID TIMEOUT COMMAND       a shell begins; TIMEOUT is a duration or `none`
//! shell-done ID EXIT TOOK COMMAND          it ends; nothing was really run
//! run ID TIMEOUT COMMAND         a shell that is really run, from its beginning to its end
//! start ID TIMEOUT COMMAND       the same, but the script goes on; and finish ID
//! ask ID TIMEOUT COMMAND         as `run`, if whoever is asked says yes
//! read|edit ID PATH              and read-done|edit-done ID PATH
//! write ID PATH TEXT             and write-done ID PATH TEXT; written only within a workspace with hooks
//! save ID PATH TEXT              a file that is really written, from its beginning to its end
//! mcp ID SERVER TOOL             and mcp-done ID SERVER TOOL
//! task ID TEXT                   and task-done ID TEXT (a sub-agent)
//! plan [x] TEXT | [>] TEXT | [ ] TEXT      the list of things to do: done, begun, open
//! retry ATTEMPT TROUBLE          auth, rate-limit, overloaded, context-length, server
//! usage INPUT OUTPUT             the tokens that are stated from here on
//! error TROUBLE                  the turn fails, in the agent's own words, with its exit code
//! result TEXT | result-error TEXT          the turn is over
//! done                           the turn is over; the final text is what was said
//! ```
//!
//! About hooks, where there are any (see `hooks`); without them nothing is done:
//!
//! ```text
//! hooks all|print|old|none       which of them are run from here on
//! compact                        the conversation is made shorter, which only hooks hear of
//! recall                         a message with everything that hooks have told the model
//! when-followed STEP             only when a hook keeps the turn going, once for each time
//! ```
//!
//! Only in Cursor's dialect:
//!
//! ```text
//! shell-background ID COMMAND    a shell ends by going to the background
//! tool ID KIND ARGS              any tool; KIND as `lsToolCall`, ARGS as JSON
//! tool-done ID KIND RESULT       RESULT as JSON with one outcome key
//! events KIND COUNT block|line   COUNT lines of thinking|assistant|tool, in blocks or one by one
//! giant BYTES                    one assistant line of that length, written in blocks
//! ```
//!
//! What is done, and how the process behaves:
//!
//! ```text
//! say LINE                       a line as it is
//! raw TEXT                       bytes, no newline added
//! cut TEXT                       half of the line of a message, and no newline
//! cat FILE [DELAY]               a recording as it is, DELAY after each line
//! pace TIME                      from here on texts come word by word, this far apart
//! stderr TEXT                    a line on standard error
//! stderr-giant BYTES             one line of that length on standard error
//! read-stdin                     reads to the end and records it
//! sleep TIME | burn TIME         wait; use the processor
//! hang | forever                 wait for a minute; for ever
//! wait-file NAME | touch NAME    in the record folder
//! wait-child                     until the last child is gone
//! look                           a message about the images that came with the prompt, if any did
//! when-resumed STEP              only where the agent was asked to resume a session, in its first turn
//! when-refused STEP              only where the last `ask` was answered with no
//! when-allowed STEP              only where it was not
//! ignore TERM INT HUP            from here on
//! on-signal TERM NAME CODE       touch NAME, then exit with CODE
//! spawn KIND [stdout] [stderr] [for TIME]  a child, see `ChildKind`; it may hold our outputs
//! close-stdin | close-stdout | close-stderr
//! exit CODE | die SIGNAL
//! ```
//!
//! At the end of its section the agent exits as the real one would after what it told last.

mod said;
mod words;

use crate::act::{Act, Call, Place};
use crate::hooks::Mode;
use nix::sys::signal::Signal;
use stablehand_core::Dialect;
use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Duration;
use thiserror::Error;
use words::{Words, duration, number, signal, text, unescape};

#[cfg(test)]
mod tests;

/// One thing that the agent does.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Tells something.
    Tell(Act),
    /// Tells the prompt that the agent was given.
    TellPrompt,
    /// Thinks, at the pace of the script.
    Think(String),
    /// Says a message, at the pace of the script.
    Message(String, Place),
    /// Writes half of a message's line.
    Cut(String),
    /// Really runs a command, and tells its beginning.
    Start(Call),
    /// Waits for a command that was started, and tells its end.
    Finish(String),
    /// Really writes a file, and tells the beginning and the end of it.
    Save(Call),
    /// Runs other hooks from here on.
    Hooks(Mode),
    /// Makes the conversation shorter.
    Compact,
    /// Says what hooks have told the model.
    Recall,
    /// Steps for each time that a hook keeps the turn going.
    WhenFollowed(Vec<Step>),
    /// Asks first, then runs a command or tells that it was refused.
    Ask(Call),
    /// From here on, the time between two words of a text.
    Pace(Duration),
    /// Says which images came with the prompt.
    Look,
    /// A step for whoever was told no.
    WhenRefused(Vec<Step>),
    /// A step for whoever was not.
    WhenAllowed(Vec<Step>),
    /// A step for a resumed session only.
    WhenResumed(Vec<Step>),
    /// Writes bytes to standard output, in one piece.
    Write(Vec<u8>),
    /// Writes a file to standard output as it is, waiting after each line.
    Cat(PathBuf, Duration),
    /// Writes many lines.
    Events(EventKind, u64, Writes),
    /// One assistant line of about so many bytes.
    Giant(u64),
    /// Writes a line to standard error.
    Stderr(String),
    /// One line of so many bytes on standard error.
    StderrGiant(u64),
    /// Reads standard input to its end.
    ReadStdin,
    /// Waits.
    Sleep(Duration),
    /// Waits until it is ended.
    Forever,
    /// Uses the processor.
    Burn(Duration),
    /// Waits for a file in the record folder.
    WaitFile(String),
    /// Waits until the last child is gone.
    WaitChild,
    /// Makes a file in the record folder.
    Touch(String),
    /// Ignores signals from here on.
    Ignore(Vec<Signal>),
    /// On the signal makes the file and exits with the code.
    OnSignal(Signal, String, i32),
    /// Starts a child.
    Spawn(ChildPlan),
    /// Closes one of the standard streams: 0, 1 or 2.
    Close(i32),
    /// Exits.
    Exit(i32),
    /// Dies by the signal.
    Die(Signal),
}

/// What `events` generates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// Reasoning deltas.
    Thinking,
    /// Message deltas.
    Assistant,
    /// Pairs of a read that begins and ends.
    Tool,
}

/// How generated lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writes {
    /// Many lines in one write.
    Block,
    /// One write per line.
    Line,
}

/// A child to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildPlan {
    /// How it hides from its parent.
    pub kind: ChildKind,
    /// Whether it keeps the agent's standard output open.
    pub holds_stdout: bool,
    /// Whether it keeps the agent's standard error open.
    pub holds_stderr: bool,
    /// How long it lives if nobody ends it; at most a minute.
    pub lives: Duration,
}

/// How a child hides from its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildKind {
    /// Not at all.
    Plain,
    /// In a process group of its own.
    Pgrp,
    /// In a session of its own.
    Setsid,
    /// Forked twice, in a session of its own.
    Daemon,
    /// As a daemon, with an empty environment, closed streams, in `/`.
    CleanDaemon,
    /// In a session of its own, ignoring TERM, INT and HUP.
    IgnTerm,
    /// Goes on in a new process every few milliseconds.
    Hopper,
}

impl ChildKind {
    /// Every kind, for tests that try them all.
    pub const ALL: [ChildKind; 7] = [
        ChildKind::Plain,
        ChildKind::Pgrp,
        ChildKind::Setsid,
        ChildKind::Daemon,
        ChildKind::CleanDaemon,
        ChildKind::IgnTerm,
        ChildKind::Hopper,
    ];

    /// Its word in a script.
    pub fn word(self) -> &'static str {
        match self {
            ChildKind::Plain => "plain",
            ChildKind::Pgrp => "pgrp",
            ChildKind::Setsid => "setsid",
            ChildKind::Daemon => "daemon",
            ChildKind::CleanDaemon => "cleandaemon",
            ChildKind::IgnTerm => "ignterm",
            ChildKind::Hopper => "hopper",
        }
    }

    /// The kind of that word.
    pub fn from_word(word: &str) -> Option<ChildKind> {
        ChildKind::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// A line of a script that says nothing we know.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("line {line} of the script: {why}: `{text}`")]
pub struct ScriptError {
    line: usize,
    why: Cow<'static, str>,
    text: String,
}

/// Why a line is refused.
type Refusal = Cow<'static, str>;

/// Reads a script into its sections, for a dialect: what it cannot say is refused here.
pub fn parse(text: &str, dialect: Dialect) -> Result<Vec<Vec<Step>>, ScriptError> {
    let mut sections = vec![Vec::new()];
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_start();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if line.trim_end() == "---" {
            sections.push(Vec::new());
            continue;
        }
        let refused = |why| ScriptError { line: index + 1, why, text: line.to_owned() };
        let steps = parse_line(line, dialect).map_err(refused)?;
        if let Some(section) = sections.last_mut() {
            section.extend(steps);
            check_finish(section).map_err(refused)?;
        }
    }
    Ok(sections)
}

fn parse_line(line: &str, dialect: Dialect) -> Result<Vec<Step>, Refusal> {
    let mut words = Words::new(line);
    let verb = words.next()?;
    if let Some(steps) = said::parse(verb, &mut words)? {
        for step in &steps {
            check(step, dialect)?;
        }
        return Ok(steps);
    }
    let step = match verb {
        "say" => say(words.rest().to_owned()),
        "raw" => Step::Write(unescape(words.rest())?),
        "cut" => Step::Cut(text(words.rest())?),
        "cat" => {
            let path = PathBuf::from(words.next()?);
            let delay = words.optional().map(duration).transpose()?;
            Step::Cat(path, delay.unwrap_or_default())
        }
        "pace" => Step::Pace(duration(words.next()?)?),
        "events" => events(&mut words)?,
        "giant" => Step::Giant(number(words.next()?)?),
        "stderr" => Step::Stderr(words.rest().to_owned()),
        "stderr-giant" => Step::StderrGiant(number(words.next()?)?),
        "read-stdin" => Step::ReadStdin,
        "sleep" => Step::Sleep(duration(words.next()?)?),
        "hang" => Step::Sleep(Duration::from_mins(1)),
        "forever" => Step::Forever,
        "burn" => Step::Burn(duration(words.next()?)?),
        "wait-file" => Step::WaitFile(words.next()?.to_owned()),
        "wait-child" => Step::WaitChild,
        "touch" => Step::Touch(words.next()?.to_owned()),
        "hooks" => {
            let mode = Mode::from_word(words.next()?);
            Step::Hooks(mode.ok_or("neither `all`, `print`, `old` nor `none`")?)
        }
        "compact" => Step::Compact,
        "recall" => Step::Recall,
        "when-followed" => Step::WhenFollowed(parse_line(words.rest(), dialect)?),
        "look" => Step::Look,
        "when-refused" => Step::WhenRefused(parse_line(words.rest(), dialect)?),
        "when-allowed" => Step::WhenAllowed(parse_line(words.rest(), dialect)?),
        "when-resumed" => Step::WhenResumed(parse_line(words.rest(), dialect)?),
        "ignore" => {
            let names = words.rest().split_whitespace();
            Step::Ignore(names.map(signal).collect::<Result<_, _>>()?)
        }
        "on-signal" => {
            Step::OnSignal(signal(words.next()?)?, words.next()?.to_owned(), number(words.next()?)?)
        }
        "spawn" => Step::Spawn(child_plan(&mut words)?),
        "close-stdin" => Step::Close(0),
        "close-stdout" => Step::Close(1),
        "close-stderr" => Step::Close(2),
        "exit" => Step::Exit(number(words.next()?)?),
        "die" => Step::Die(signal(words.next()?)?),
        _ => return Err("unknown step".into()),
    };
    check(&step, dialect)?;
    Ok(vec![step])
}

/// Refuses what the dialect cannot say.
fn check(step: &Step, dialect: Dialect) -> Result<(), Refusal> {
    let is_possible = match step {
        Step::Tell(Act::Cursor(_)) | Step::Events(..) | Step::Giant(_) => {
            dialect == Dialect::Cursor
        }
        Step::Ask(_) => crate::dialect::can_ask(dialect),
        _ => true,
    };
    let name = dialect.name();
    if is_possible { Ok(()) } else { Err(format!("not possible in the `{name}` dialect").into()) }
}

/// Refuses to wait for a command that was never started.
fn check_finish(section: &[Step]) -> Result<(), Refusal> {
    let Some((Step::Finish(id), before)) = section.split_last() else {
        return Ok(());
    };
    let count = |wanted: fn(&Step) -> Option<&str>| {
        before.iter().filter(|step| wanted(step) == Some(id.as_str())).count()
    };
    let started = count(|step| if let Step::Start(call) = step { Some(&call.id) } else { None });
    let finished = count(|step| if let Step::Finish(id) = step { Some(id) } else { None });
    if started > finished { Ok(()) } else { Err("no such command was started".into()) }
}

fn events(words: &mut Words<'_>) -> Result<Step, Refusal> {
    let kind = match words.next()? {
        "thinking" => EventKind::Thinking,
        "assistant" => EventKind::Assistant,
        "tool" => EventKind::Tool,
        _ => return Err("unknown kind of events".into()),
    };
    let count = number(words.next()?)?;
    match words.next()? {
        "block" => Ok(Step::Events(kind, count, Writes::Block)),
        "line" => Ok(Step::Events(kind, count, Writes::Line)),
        _ => Err("neither `block` nor `line`".into()),
    }
}

fn child_plan(words: &mut Words<'_>) -> Result<ChildPlan, Refusal> {
    let kind = ChildKind::from_word(words.next()?).ok_or("unknown kind of child")?;
    let mut plan =
        ChildPlan { kind, holds_stdout: false, holds_stderr: false, lives: Duration::from_mins(1) };
    while let Some(word) = words.optional() {
        match word {
            "stdout" => plan.holds_stdout = true,
            "stderr" => plan.holds_stderr = true,
            "for" => plan.lives = duration(words.next()?)?,
            _ => return Err("neither `stdout`, `stderr` nor `for`".into()),
        }
    }
    Ok(plan)
}

fn say(line: String) -> Step {
    let mut bytes = line.into_bytes();
    bytes.push(b'\n');
    Step::Write(bytes)
}
