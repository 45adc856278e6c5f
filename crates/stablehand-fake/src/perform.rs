//! The agent itself: performs the steps of a script, one by one.
//!
//! Owns the process: its outputs, its commands and children, its signals, its end. What is said is
//! the dialect's business, who is talked to while it is said `duplex`'s. Whoever starts an
//! agent hands in everything that surrounds it ([`Options`]); nothing is read from the environment.

mod bulk;
pub(crate) mod child;
mod hooked;
mod record;
mod shell;
mod signals;
mod talk;

pub use bulk::{GIANT_HEAD, GIANT_TAIL};
pub use child::{FLAG as CHILD_FLAG, main as child_main};
pub use record::Record;

use crate::act::{Act, Call, Ending, Place, Work};
use crate::dialect::{self, Said, Speak};
use crate::duplex::{Duplex, Prompted};
use crate::hooks::{Consent, Moment, Surroundings};
use crate::pid;
use crate::script::Step;
use crate::voice::{Clock, Identity, Voice};
use hooked::{Hooked, Reach};
use shell::{Group, Running};
use stablehand_core::Dialect;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// After this the kernel ends an agent of a test and each child of any agent, whatever the script
/// says.
pub const LONGEST_LIFE: Duration = Duration::from_mins(1);

/// What stands for the last child's process id in a line.
const CHILD: &str = "\"@CHILD@\"";
/// What stands for the session's id in a line.
const SESSION: &str = "\"@SESSION@\"";

/// How often a running command is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// What surrounds an agent.
#[derive(Debug)]
pub struct Options {
    /// What it speaks.
    pub dialect: Dialect,
    /// Where its times come from.
    pub clock: Clock,
    /// What it knows about itself.
    pub identity: Identity,
    /// What it was asked.
    pub prompt: String,
    /// Where it notes what happens to it.
    pub record: Record,
    /// How many times faster than the script says it waits.
    pub speed: f64,
    /// What its own binary wants before [`CHILD_FLAG`].
    pub child_words: Vec<OsString>,
    /// What it exits with when its reader is gone.
    pub closed_code: u8,
    /// Where its hooks are, and which of them it runs.
    pub hooks: Surroundings,
}

/// Ends this process after a time, whatever it does: `SIGALRM`'s default action is the one bound
/// that no script can lift.
pub fn end_after(time: Duration) {
    nix::unistd::alarm::set(u32::try_from(time.as_secs()).unwrap_or(u32::MAX));
}

/// Plays one turn: the section of this start. Gives back the exit code.
pub fn play(sections: &[Vec<Step>], options: Options) -> u8 {
    let Some((section, before)) =
        sections.get(..options.record.number()).and_then(<[_]>::split_last)
    else {
        return 0;
    };
    let Some(mut stage) = Stage::new(options, None) else {
        return 1;
    };
    stage.pass_over(before);
    stage.hooks_begin_turn(section);
    let flow = stage.section(section);
    stage.leave(&flow);
    stage.code_of(flow)
}

/// Plays a turn for each message that comes by standard input, until it ends; the n-th turn is the
/// n-th section, and the last section is played again and again.
pub fn converse(sections: &[Vec<Step>], options: Options) -> u8 {
    let choose = |turn: &Turn<'_>| sections.get(turn.before).or(sections.last()).cloned();
    converse_by(choose, options)
}

/// A turn of a conversation that is about to be played.
#[derive(Debug)]
pub struct Turn<'a> {
    /// How many were played before.
    pub before: usize,
    /// What is asked.
    pub prompt: &'a str,
    /// The mode that the agent was put into, where the protocol has modes.
    pub mode: Option<&'a str>,
}

/// The same with the steps that somebody chooses for each turn; with none the agent exits.
pub fn converse_by(mut choose: impl FnMut(&Turn<'_>) -> Option<Vec<Step>>, options: Options) -> u8 {
    let duplex = Duplex::start(options.dialect);
    let Some(mut stage) = duplex.and_then(|duplex| Stage::new(options, Some(duplex))) else {
        return 1;
    };
    loop {
        match stage.next_turn() {
            Ok(Ok(Prompted { text, images })) => {
                stage.prompt = text;
                stage.images = images;
            }
            Ok(Err(code)) => {
                stage.leave(&Ok(Flow::Next));
                return code;
            }
            Err(error) => return stage.failed(&error),
        }
        let turn =
            Turn { before: stage.turns, prompt: &stage.prompt, mode: stage.voice.mode.as_deref() };
        let Some(section) = choose(&turn) else {
            return 0;
        };
        stage.turns += 1;
        stage.voice.turn_begins();
        stage.hooks_begin_turn(&section);
        match stage.section(&section) {
            Ok(Flow::Next | Flow::Over) => {}
            Ok(Flow::Interrupted) => {
                if let Err(error) = stage.break_off() {
                    return stage.failed(&error);
                }
            }
            flow => return stage.code_of(flow),
        }
    }
}

/// What comes after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    /// The next one.
    Next,
    /// Nothing: the agent exits.
    Exit(u8),
    /// Nothing in this turn: somebody broke it off.
    Interrupted,
    /// Nothing in this turn: a hook has ended it.
    Over,
}

#[derive(Debug)]
struct Stage {
    dialect: Dialect,
    writer: Box<dyn Speak>,
    voice: Voice,
    prompt: String,
    /// What is known of the images that came with it.
    images: Vec<String>,
    /// How many turns of a conversation have begun.
    turns: usize,
    /// Whoever was asked last said no.
    refused: bool,
    record: Record,
    speed: f64,
    pace: Duration,
    child_words: Vec<OsString>,
    closed_code: u8,
    children: u32,
    last_child: Option<i32>,
    running: Vec<(Call, Running)>,
    duplex: Option<Duplex>,
    hooks: Option<Hooked>,
}

impl Stage {
    fn new(options: Options, duplex: Option<Duplex>) -> Option<Stage> {
        let hooks = Hooked::find(options.dialect, &options.hooks);
        for found in hooks.iter().flat_map(Hooked::found) {
            options.record.append_run("hooks.jsonl", &found.to_string());
        }
        Some(Stage {
            dialect: options.dialect,
            writer: dialect::writer(options.dialect)?,
            voice: Voice::new(options.identity, options.clock),
            prompt: options.prompt,
            images: Vec::new(),
            turns: 0,
            refused: false,
            record: options.record,
            speed: if options.speed > 0.0 { options.speed } else { 1.0 },
            pace: Duration::ZERO,
            child_words: options.child_words,
            closed_code: options.closed_code,
            children: 0,
            last_child: None,
            running: Vec::new(),
            duplex,
            hooks,
        })
    }

    /// What earlier starts of the same script have said, so that clocks and ids go on from there.
    fn pass_over(&mut self, sections: &[Vec<Step>]) {
        let mut unsaid = Said::default();
        for step in sections.iter().flatten() {
            match step {
                Step::Tell(act) => self.writer.speak(act, &mut self.voice, &mut unsaid),
                Step::Message(text, place) => {
                    let act = Act::Message(text.clone(), *place);
                    self.writer.speak(&act, &mut self.voice, &mut unsaid);
                }
                Step::Save(call) => {
                    let ends = Act::ToolEnds(call.clone(), Ending::Well);
                    for act in [Act::ToolBegins(call.clone()), ends] {
                        self.writer.speak(&act, &mut self.voice, &mut unsaid);
                    }
                }
                Step::Think(text) => {
                    for act in [Act::ThoughtPiece(text.clone()), Act::ThoughtEnds] {
                        self.writer.speak(&act, &mut self.voice, &mut unsaid);
                    }
                }
                _ => {}
            }
        }
    }

    fn section(&mut self, section: &[Step]) -> io::Result<Flow> {
        for step in section {
            let flow = self.hooks_before(step)?;
            if flow != Flow::Next {
                return Ok(flow);
            }
            let flow = self.step(step)?;
            if flow != Flow::Next {
                return Ok(flow);
            }
            // A message to us may be there even where the script never waits.
            let flow = self.wait(Duration::ZERO)?;
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    /// What the process exits with.
    fn code_of(&self, flow: io::Result<Flow>) -> u8 {
        match flow {
            Ok(Flow::Exit(code)) => code,
            Ok(Flow::Next | Flow::Interrupted | Flow::Over) => self.writer.exit_code(),
            Err(error) => self.failed(&error),
        }
    }

    fn failed(&self, error: &io::Error) -> u8 {
        self.record.note("write-error", error.to_string().as_bytes());
        if error.kind() == io::ErrorKind::InvalidInput {
            say_to_stderr(format!("fake agent: {error}").as_bytes());
            return 1;
        }
        self.closed_code
    }

    fn step(&mut self, step: &Step) -> io::Result<Flow> {
        match step {
            Step::Tell(act) => return self.act(act),
            Step::TellPrompt => return self.act(&Act::Prompt(self.prompt.clone())),
            Step::Think(text) => return self.think(text),
            Step::Message(text, place) => return self.message(text, *place),
            Step::Recall => return self.recall(),
            Step::Compact => self.hooks_hear(&Moment::Compacts),
            Step::Cut(text) => self.cut(text)?,
            Step::Start(call) => return self.start(call),
            Step::Finish(id) => return self.finish(id),
            Step::Save(call) => return self.save(call),
            Step::Ask(call) => return self.ask(call),
            Step::Hooks(mode) => self.set_hooks(*mode),
            Step::Pace(pace) => self.pace = *pace,
            Step::Look => return self.look(),
            Step::WhenRefused(steps) if self.refused => return self.section(steps),
            Step::WhenAllowed(steps) if !self.refused => return self.section(steps),
            // Later turns are not those of somebody who comes back.
            Step::WhenResumed(steps) if self.voice.id.resumed && self.turns < 2 => {
                return self.section(steps);
            }
            // What follows a hook's wish was taken before the section began.
            Step::WhenResumed(_)
            | Step::WhenFollowed(_)
            | Step::WhenRefused(_)
            | Step::WhenAllowed(_) => {}
            Step::Sleep(time) => return self.wait(time.div_f64(self.speed)),
            Step::Forever => loop {
                let flow = self.wait(LONGEST_LIFE)?;
                if flow != Flow::Next {
                    return Ok(flow);
                }
            },
            Step::Exit(code) => return Ok(Flow::Exit(*code as u8)),
            step => self.behave(step)?,
        }
        Ok(Flow::Next)
    }

    /// The steps in which nothing of the dialect is said.
    fn behave(&mut self, step: &Step) -> io::Result<()> {
        match step {
            Step::Write(bytes) => self.write(bytes)?,
            Step::Cat(path, delay) => bulk::cat(path, *delay)?,
            Step::Events(kind, count, writes) => bulk::events(*kind, *count, *writes)?,
            Step::Giant(bytes) => bulk::giant(*bytes)?,
            Step::Stderr(text) => say_to_stderr(text.as_bytes()),
            Step::StderrGiant(bytes) => {
                let mut stderr = bulk::stderr()?;
                bulk::write_repeated(&mut stderr, *bytes)?;
                stderr.write_all(b"\n")?;
            }
            Step::ReadStdin => {
                let mut prompt = Vec::new();
                io::stdin().lock().read_to_end(&mut prompt)?;
                self.record.note_run("stdin", &prompt);
                String::from_utf8_lossy(&prompt).trim_end().clone_into(&mut self.prompt);
            }
            Step::Burn(time) => {
                let start = Instant::now();
                while start.elapsed() < *time {
                    std::hint::spin_loop();
                }
            }
            // The life of a test's agent bounds this wait.
            Step::WaitFile(_) if !self.record.is_kept() => {
                let why = "`wait-file` needs a record folder, in which the file appears";
                return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
            }
            Step::WaitFile(name) => {
                while !self.record.has(name) {
                    std::thread::sleep(LOOK);
                }
            }
            Step::WaitChild => {
                while self.last_child.is_some_and(pid::is_alive) {
                    std::thread::sleep(LOOK);
                }
            }
            Step::Touch(name) => self.record.note(name, b""),
            Step::Ignore(signals) => {
                for signal in signals {
                    signals::ignore(*signal as i32)?;
                }
            }
            Step::OnSignal(signal, name, code) => {
                signals::exit_on(*signal as i32, name.clone(), *code, self.record.clone())?;
            }
            Step::Spawn(plan) => {
                self.children += 1;
                let (record, words) = (&self.record, &self.child_words);
                self.last_child = child::spawn(plan, record, self.children, words)?;
            }
            Step::Close(stream) => nix::unistd::close(*stream)?,
            Step::Die(signal) => signals::die(*signal)?,
            _ => {}
        }
        Ok(())
    }

    fn tell(&mut self, act: &Act) -> io::Result<()> {
        // Whoever reads the end may ask for the next turn at once.
        if let (Act::Ends { .. } | Act::Fails(_), Some(duplex)) = (act, &mut self.duplex) {
            duplex.turn_is_over();
        }
        let mut said = Said::default();
        self.writer.speak(act, &mut self.voice, &mut said);
        self.emit(said)
    }

    fn emit(&self, said: Said) -> io::Result<()> {
        for line in said.errors {
            say_to_stderr(line.as_bytes());
        }
        for line in said.lines {
            self.write(format!("{line}\n").as_bytes())?;
        }
        Ok(())
    }

    /// Writes, with the last child's process id and the session's name where a line asks for them.
    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let mut stdout = bulk::stdout()?;
        match std::str::from_utf8(bytes) {
            Ok(text) if text.contains("\"@") => {
                let session = serde_json::Value::from(self.voice.id.session.as_str());
                let mut text = text.replace(SESSION, &session.to_string());
                if let Some(pid) = self.last_child {
                    text = text.replace(CHILD, &pid.to_string());
                }
                stdout.write_all(text.as_bytes())
            }
            _ => stdout.write_all(bytes),
        }
    }

    /// All lines of a message but the second half of the last.
    fn cut(&mut self, text: &str) -> io::Result<()> {
        let mut said = Said::default();
        let act = Act::Message(text.to_owned(), Place::Last);
        self.writer.speak(&act, &mut self.voice, &mut said);
        let last = said.lines.pop().unwrap_or_default();
        self.emit(said)?;
        let half = last.floor_char_boundary(last.len() / 2);
        self.write(last.get(..half).unwrap_or_default().as_bytes())
    }

    fn start(&mut self, call: &Call) -> io::Result<Flow> {
        self.tell(&Act::ToolBegins(call.clone()))?;
        match self.permit(call, Consent::Open)? {
            Ok(call) => self.launch(&call)?,
            Err(flow) => return Ok(flow),
        }
        Ok(Flow::Next)
    }

    fn launch(&mut self, call: &Call) -> io::Result<()> {
        let Work::Shell { command, timeout } = &call.work else {
            return Ok(());
        };
        let group = if self.duplex.is_some() { Group::Own } else { Group::Ours };
        let cwd = Path::new(&self.voice.id.cwd);
        let none = BTreeMap::new();
        let env = self.hooks.as_ref().map_or(&none, |hooks| &hooks.env);
        let running = Running::start(command, cwd, *timeout, group, env)?;
        self.running.push((call.clone(), running));
        Ok(())
    }

    fn finish(&mut self, id: &str) -> io::Result<Flow> {
        if self.is_refused(id) {
            return Ok(Flow::Next);
        }
        loop {
            let at = self.running.iter().position(|(call, _)| call.id == id);
            let Some((call, running)) = at.and_then(|at| self.running.get_mut(at)) else {
                let why = format!("`finish {id}`: no such command was started");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
            };
            if let Some(ending) = running.ended()? {
                let call = call.clone();
                self.running.retain(|(running, _)| running.id != id);
                return self.ended(&call, ending, Reach::Inside);
            }
            let flow = self.wait(LOOK)?;
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
    }
}

fn say_to_stderr(line: &[u8]) {
    let mut bytes = line.to_vec();
    bytes.push(b'\n');
    // Nobody is left to tell when standard error is gone.
    drop(io::stderr().write_all(&bytes));
}
