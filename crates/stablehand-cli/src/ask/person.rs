//! A person at the terminal: questions one after the other, each until it is answered or withdrawn.
//!
//! Owns the order of the questions and the keys. How they look is `show`'s, the terminal's modes are
//! `keyboard`'s; everything else that is printed is kept back by the screen meanwhile.

use super::FACE;
use super::feed::{Note, Question, Resolved};
use super::keyboard::{Keyboard, Typed, key};
use super::show::{self, Style};
use crate::screen::{Hold, Screen};
use crate::signals::Attention;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use stablehand::Answer;
use stablehand::control::{Always, Control, Receiver, Request};
use stablehand::gate::Gate;
use stablehand_core::actor::Actor;
use stablehand_core::text::plain;
use stablehand_policy::Action;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

/// Between two looks at what no descriptor tells: a signal, a terminal that was taken from us.
const TICK: Duration = Duration::from_millis(200);

/// So long an answer may take to be taken; then the question is asked again.
const TAKEN: Duration = Duration::from_secs(5);

/// What a question denied without a word tells the agent.
const DENIED: &str = "denied by the user";

/// Somebody who is asked.
#[derive(Debug)]
pub(super) struct Person {
    notes: Receiver<Note>,
    control: Control,
    gate: Option<Arc<Gate>>,
    screen: Screen,
    attention: Attention,
    keyboard: Keyboard,
    style: Style,
    queue: VecDeque<Question>,
    /// Who waits for the terminal.
    resting: Vec<SyncSender<()>>,
    /// Nothing comes any more.
    over: bool,
}

/// What came while a question was shown.
enum Came {
    Typed(Vec<u8>),
    EndOfInput,
    /// Why nobody wants to know any more.
    Withdrawn(String),
    Gone,
}

/// What became of a question.
enum Became {
    Answered(Answer),
    /// A rule was written, and the answer is on its way.
    AlwaysAllowed,
    Withdrawn,
    Gone,
}

impl Person {
    pub(super) fn new(
        notes: Receiver<Note>,
        control: Control,
        gate: Option<Arc<Gate>>,
        screen: Screen,
        attention: Attention,
        keyboard: Keyboard,
        style: Style,
    ) -> Person {
        Person {
            notes,
            control,
            gate,
            screen,
            attention,
            keyboard,
            style,
            queue: VecDeque::new(),
            resting: Vec::new(),
            over: false,
        }
    }

    /// Asks until nothing comes any more.
    pub(super) fn run(mut self) {
        while !self.over {
            while let Some(note) = self.notes.next() {
                self.take(note, None);
            }
            for done in self.resting.drain(..) {
                let _tired_of_waiting = done.send(());
            }
            if let Some(question) = self.queue.pop_front() {
                self.put(question);
            } else if !self.over {
                let mut fds = [PollFd::new(self.notes.fd(), PollFlags::POLLIN)];
                let _interrupted = poll(&mut fds, PollTimeout::NONE);
            }
        }
    }

    /// Takes a note; why the question that is shown is none any more.
    fn take(&mut self, note: Note, shown: Option<&str>) -> Option<String> {
        match note {
            Note::Began => None,
            Note::Asked(question) => {
                self.queue.push_back(*question);
                None
            }
            Note::Resolved(resolved) => {
                self.queue.retain(|question| question.id != resolved.id);
                (shown == Some(&resolved.id)).then(|| withdrawn(&resolved))
            }
            Note::Over => {
                self.queue.clear();
                Some("the turn is over".to_owned())
            }
            Note::Rest(done) => {
                self.queue.clear();
                self.resting.push(done);
                Some("the turn is over".to_owned())
            }
            Note::End => {
                self.over = true;
                self.queue.clear();
                Some("the run is over".to_owned())
            }
        }
    }

    /// Asks one question, and sees to it that the answer is taken.
    fn put(&mut self, question: Question) {
        // "Always" may have answered it while it waited.
        if let (Some(gate), Some(tool)) = (&self.gate, &question.tool)
            && gate.judge(Some(tool)).action == Action::Allow
        {
            return self.answer(question, Answer::Allow);
        }
        let screen = self.screen.clone();
        let hold = screen.hold();
        let became = self.ask(&question, &hold);
        self.keyboard.put_back();
        drop(hold);
        match became {
            Became::Answered(answer) => self.answer(question, answer),
            Became::AlwaysAllowed => self.wait_until_taken(question),
            Became::Withdrawn => {}
            Became::Gone => {
                self.queue.clear();
                self.over = true;
                self.control.send(Request::NobodyThere);
            }
        }
    }

    fn answer(&mut self, question: Question, answer: Answer) {
        // A refusal shows as an answer that is not taken.
        let _refused = self.control.answer(&question.id, answer, Actor::person(FACE));
        self.wait_until_taken(question);
    }

    /// Waits until the agent has the answer; without that the question is asked again.
    fn wait_until_taken(&mut self, question: Question) {
        let id = question.id.clone();
        let began = Instant::now();
        while began.elapsed() < TAKEN && !self.attention.is_stopping() {
            while let Some(note) = self.notes.next() {
                if self.take(note, Some(&id)).is_some() {
                    return;
                }
            }
            let mut fds = [PollFd::new(self.notes.fd(), PollFlags::POLLIN)];
            let _interrupted = poll(&mut fds, tick());
        }
        if !self.attention.is_stopping() {
            self.screen.err(b"the agent did not take that answer\n");
            self.queue.push_front(question);
        }
    }

    /// Shows a question and reads keys until one of them is an answer.
    fn ask(&mut self, question: &Question, hold: &Hold<'_>) -> Became {
        let always = self.control.board().always(&question.id);
        let always = always.unwrap_or_else(|| Always::No("it is answered already".to_owned()));
        let style = self.style;
        // First the keys, so that an answer to what is read cannot be thrown away with the rest.
        self.keyboard.take_keys();
        hold.say(&show::question(question, style, false));
        hold.say(&show::keys(question, &always, style));
        loop {
            let typed = match self.wait(&question.id) {
                Came::Typed(bytes) => bytes,
                Came::EndOfInput => continue,
                Came::Withdrawn(why) => {
                    hold.say(&format!("withdrawn: {}\n", plain(&why)));
                    return Became::Withdrawn;
                }
                Came::Gone => return Became::Gone,
            };
            let keys = || hold.say(&show::keys(question, &always, style));
            match key(&typed) {
                Some('y') => {
                    hold.say("yes\n");
                    return Became::Answered(Answer::Allow);
                }
                Some('n') => {
                    hold.say("no\n");
                    return Became::Answered(Answer::Deny { message: DENIED.to_owned() });
                }
                Some('a') => {
                    hold.say("always\n");
                    match self.always(question, &always, hold) {
                        Some(became) => return became,
                        None => keys(),
                    }
                }
                Some('N' | 'w') => match self.word(question, hold) {
                    Ok(Some(message)) => return Became::Answered(Answer::Deny { message }),
                    Ok(None) => keys(),
                    Err(became) => return became,
                },
                Some('v') => {
                    hold.say("\n");
                    hold.say(&show::question(question, style, true));
                    if let Always::Rule { text, .. } = &always {
                        hold.say(&format!("  always would write:\n{}", show::indented(text)));
                    }
                    keys();
                }
                Some('?' | 'h') => {
                    hold.say(&show::help(&always));
                    keys();
                }
                Some(digit @ '1'..='9') => {
                    let at = digit.to_digit(10).unwrap_or(1) as usize - 1;
                    if let Some(option) = show::choices(question).get(at) {
                        hold.say(&format!("{}\n", plain(option)));
                        return Became::Answered(Answer::Choose((*option).clone()));
                    }
                }
                _ => {}
            }
        }
    }

    /// "Always": the rule is shown, then written and the question answered.
    fn always(&self, question: &Question, always: &Always, hold: &Hold<'_>) -> Option<Became> {
        match always {
            Always::Session => return Some(Became::Answered(Answer::AllowAlways)),
            Always::Rule { text, file } => {
                hold.say(&format!("  into {}:\n{}", plain(file), show::indented(text)));
            }
            Always::No(why) => {
                hold.say(&format!("  it cannot be allowed for always: {}\n", plain(why)));
                return None;
            }
        }
        match self.control.allow_always(&question.id, Actor::person(FACE)) {
            Ok(Some(rule)) => {
                hold.say(&format!("  written to {}:{}\n", plain(&rule.file), rule.line));
            }
            Ok(None) => hold.say("  the rules allow it already\n"),
            Err(error) => {
                hold.say(&format!("  {}\n", plain(&error.to_string())));
                return None;
            }
        }
        Some(Became::AlwaysAllowed)
    }

    /// A word to the agent; none where the person thinks better of it.
    fn word(&mut self, question: &Question, hold: &Hold<'_>) -> Result<Option<String>, Became> {
        self.keyboard.put_back();
        hold.say("no\n  why not? ");
        let mut line = Vec::new();
        let said = loop {
            match self.wait(&question.id) {
                Came::Typed(bytes) => line.extend(bytes),
                Came::EndOfInput => break None,
                Came::Withdrawn(why) => {
                    hold.say(&format!("\nwithdrawn: {}\n", plain(&why)));
                    return Err(Became::Withdrawn);
                }
                Came::Gone => return Err(Became::Gone),
            }
            if let Some(end) = line.iter().position(|byte| *byte == b'\n') {
                let said = String::from_utf8_lossy(line.get(..end).unwrap_or_default());
                break Some(said.trim().to_owned());
            }
        };
        match said {
            Some(said) if said.is_empty() => Ok(Some(DENIED.to_owned())),
            Some(said) => Ok(Some(said)),
            None => {
                hold.say("\n");
                self.keyboard.take_keys();
                Ok(None)
            }
        }
    }

    /// Waits for the person, or for a reason not to.
    fn wait(&mut self, id: &str) -> Came {
        loop {
            while let Some(note) = self.notes.next() {
                if let Some(why) = self.take(note, Some(id)) {
                    return Came::Withdrawn(why);
                }
            }
            if self.attention.is_stopping() {
                self.queue.clear();
                return Came::Withdrawn("stopping".to_owned());
            }
            let is_ours = self.keyboard.is_ours();
            self.keyboard.keep_keys();
            let mut fds = vec![PollFd::new(self.notes.fd(), PollFlags::POLLIN)];
            if is_ours {
                fds.push(PollFd::new(self.keyboard.fd(), PollFlags::POLLIN));
            }
            let _interrupted = poll(&mut fds, tick());
            let events = fds.get(1).and_then(PollFd::revents).unwrap_or(PollFlags::empty());
            if events.contains(PollFlags::POLLIN) {
                match self.keyboard.read() {
                    Typed::Bytes(bytes) => return Came::Typed(bytes),
                    Typed::End if events.contains(PollFlags::POLLHUP) => return Came::Gone,
                    Typed::End => return Came::EndOfInput,
                    Typed::Nothing => {}
                    Typed::Gone => return Came::Gone,
                }
            } else if events.intersects(PollFlags::POLLHUP | PollFlags::POLLERR) {
                return Came::Gone;
            }
        }
    }
}

fn tick() -> PollTimeout {
    PollTimeout::try_from(TICK.as_millis()).unwrap_or(PollTimeout::MAX)
}

fn withdrawn(resolved: &Resolved) -> String {
    let what = match resolved.choice.as_str() {
        "allow" | "allow_always" | "allow_with" => "allowed",
        "deny" => "denied",
        other => other,
    };
    match resolved.by.as_str() {
        "timeout" => format!("nobody answered in time, so it is {what}"),
        by => format!("it is {what} already, by {by}"),
    }
}
