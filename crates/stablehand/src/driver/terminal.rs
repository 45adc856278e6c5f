//! The driver's part at an agent's terminal: drawing, answering, typing, and looking.
//!
//! Owns what is written to the terminal, and when the screen is looked at. What is drawn, what
//! a terminal answers and what is new on it is core's; when to type is the typist's, a machine of
//! its own. The agent's output itself goes the way of every output (`streams.rs`).

mod typist;

use super::prompt::PromptWriter;
use super::streams::Take;
use super::{Driver, Phase, RunSpec, notes};
use crate::keeper::{self, Transport};
use crate::tree;
use nix::errno::Errno;
use nix::sys::termios::{LocalFlags, tcgetattr};
use nix::unistd::write;
use stablehand_core::event::{FailureKind, ProcessExit, ProcessRow, TurnEnd, VerdictKind};
use stablehand_core::monitor::{Input, Judgement};
use stablehand_core::record::{DecisionRecord, NoFields};
use stablehand_core::terminal::TerminalSize;
use stablehand_core::text::excerpt;
use stablehand_core::time::human;
use stablehand_core::{Depth, Moment};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;
use typist::{Deed, Typist};

/// A screen that was not written to for so long is looked at: nobody repaints that slowly in the
/// middle of a picture.
const REST: Duration = Duration::from_millis(250);

/// A screen that is written to all the time is looked at so often.
const RESTLESS: Duration = Duration::from_secs(3);

/// What waits to be typed, but for the prompt, is no more than this; a program that asks and does
/// not listen gets no further answers.
const MOST_UNSENT: usize = 64 << 10;

/// From this share of one processor on, an agent that writes nothing is at work. Those that wait for
/// a key use a few percent at the most.
const BUSY_PERCENT: u128 = 15;

/// So many lines of the screen are evidence.
const EVIDENCE_LINES: usize = 12;

/// And so many are part of a sentence.
const QUOTED_LINES: usize = 3;

/// What is done at an agent's terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TerminalRun {
    /// Type the prompt, and these keys behind it; without, it is among the arguments.
    pub type_prompt: Option<&'static str>,
    /// Wait with that until the program reads keys itself.
    pub reads_keys: bool,
    /// The keys that make the agent leave, one after the other.
    pub leave: &'static [&'static str],
    /// Ask it to leave once nothing was written for so long.
    pub exit_when_quiet: Option<Duration>,
    /// Follow the size of our own terminal.
    pub follow_size: bool,
}

/// A terminal in use.
pub(super) struct AtTerminal {
    /// Our side of it, for writing; gone when nobody has the other side.
    fd: Option<OwnedFd>,
    unsent: Vec<u8>,
    sent: usize,
    typist: Typist,
    plan: TerminalRun,
    /// Since when there is something that no look has seen.
    unseen_since: Option<Moment>,
    drawn: Moment,
    /// What its processes had used at the last look; only where silence has a meaning.
    cpu_ms: u64,
}

/// Who gets the agent's standard input: the writer of the prompt, or the terminal.
pub(super) fn split_input(
    spec: &RunSpec,
    stdin: OwnedFd,
    talks: bool,
) -> (PromptWriter, Option<AtTerminal>) {
    if spec.launch.transport == Transport::Pipe {
        return (super::talk::writer(stdin, &spec.prompt, talks), None);
    }
    let plan = spec.terminal.unwrap_or_default();
    let typist = Typist::new(plan.type_prompt.is_some(), plan.leave, plan.exit_when_quiet);
    let terminal = AtTerminal {
        fd: Some(stdin),
        unsent: Vec::new(),
        sent: 0,
        typist,
        plan,
        unseen_since: None,
        drawn: Moment::START,
        cpu_ms: 0,
    };
    (PromptWriter::closed(), Some(terminal))
}

impl AtTerminal {
    /// The descriptor to wait for, while there is something to type.
    pub(super) fn wants_write(&self) -> Option<BorrowedFd<'_>> {
        self.fd.as_ref().filter(|_| self.sent < self.unsent.len()).map(AsFd::as_fd)
    }

    fn queue(&mut self, bytes: &[u8]) {
        if self.fd.is_some() {
            self.unsent.extend_from_slice(bytes);
        }
    }

    /// Writes what fits; true when everything is written.
    fn send(&mut self) -> bool {
        let Some(fd) = &self.fd else { return true };
        loop {
            let rest = self.unsent.get(self.sent..).unwrap_or_default();
            if rest.is_empty() {
                self.unsent.clear();
                self.sent = 0;
                return true;
            }
            match write(fd, rest) {
                Ok(n) => self.sent += n,
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return false,
                Err(_) => {
                    // Nobody has the other side any more; its exit says the rest.
                    self.fd = None;
                    self.unsent = Vec::new();
                    self.sent = 0;
                    return true;
                }
            }
        }
    }

    /// Whether whatever is typed now would still be taken for a line by the kernel.
    fn edits_lines(&self) -> bool {
        let settings = self.fd.as_ref().and_then(|fd| tcgetattr(fd).ok());
        settings.is_some_and(|settings| settings.local_flags.contains(LocalFlags::ICANON))
    }

    fn look_at(&self) -> Option<Moment> {
        self.unseen_since.map(|since| self.drawn.plus(REST).min(since.plus(RESTLESS)))
    }
}

/// A prompt as a person would paste it: a newline is the key of that name, and nothing in it can
/// press other keys.
fn as_typed(prompt: &[u8], bracketed: bool) -> Vec<u8> {
    let text = prompt.iter().filter(|byte| matches!(byte, b'\t' | b'\n' | 0x20..=0x7e | 0x80..));
    let keys = text.map(|byte| if *byte == b'\n' { b'\r' } else { *byte });
    if bracketed {
        b"\x1b[200~".iter().copied().chain(keys).chain(b"\x1b[201~".iter().copied()).collect()
    } else {
        keys.collect()
    }
}

impl Driver<'_> {
    /// Something was drawn: what was asked is answered.
    pub(super) fn terminal_was_drawn(&mut self, now: Moment) {
        let replies = self.stdout.screen().map(|screen| screen.terminal().take_replies());
        let Some(terminal) = &mut self.terminal else { return };
        terminal.typist.heard(now);
        terminal.drawn = now;
        terminal.unseen_since.get_or_insert(now);
        if let Some(replies) = replies.filter(|replies| !replies.is_empty())
            && terminal.unsent.len() - terminal.sent < MOST_UNSENT
        {
            terminal.queue(&replies);
            self.write_terminal();
        }
    }

    pub(super) fn write_terminal(&mut self) {
        let now = self.clock.now();
        if let Some(terminal) = &mut self.terminal
            && terminal.send()
        {
            terminal.typist.was_taken(now);
        }
    }

    pub(super) fn type_no_more(&mut self) {
        if let Some(terminal) = &mut self.terminal {
            terminal.typist.stop();
            terminal.unsent.clear();
            terminal.sent = 0;
        }
    }

    /// When the terminal needs us, if nothing happens before.
    pub(super) fn terminal_deadline(&self) -> Option<Moment> {
        let terminal = self.terminal.as_ref()?;
        let typing = terminal.typist.deadline().filter(|_| self.phase == Phase::Running);
        typing.into_iter().chain(terminal.look_at()).min()
    }

    /// Looks and types, when it is time.
    pub(super) fn advance_terminal(&mut self) {
        let now = self.clock.now();
        if let Some(terminal) = &mut self.terminal
            && terminal.plan.reads_keys
            && terminal.typist.is_before()
        {
            let edits_lines = terminal.edits_lines();
            terminal.typist.early(edits_lines);
        }
        if self.terminal_deadline().is_none_or(|deadline| deadline > now) {
            return;
        }
        self.stamp(now);
        if self.terminal.as_ref().and_then(AtTerminal::look_at).is_some_and(|at| at <= now) {
            self.look();
        }
        let running = self.phase == Phase::Running;
        let due = self.terminal.as_mut().filter(|_| running).and_then(|t| t.typist.due(now));
        match due {
            None => {}
            Some(Deed::Prompt) => {
                let bracketed = self
                    .stdout
                    .screen()
                    .is_some_and(|screen| screen.terminal().wants_bracketed_paste());
                let prompt = as_typed(&self.spec.prompt, bracketed);
                self.log.decide(notes::typed(self.spec.prompt.len()), None);
                self.type_keys(&prompt);
            }
            Some(Deed::Enter) => {
                let enter = self.terminal.as_ref().and_then(|terminal| terminal.plan.type_prompt);
                self.type_keys(enter.unwrap_or_default().as_bytes());
            }
            Some(Deed::Leave(_, quiet)) if self.was_busy_for(quiet) => {
                if let Some(terminal) = &mut self.terminal {
                    terminal.typist.put_off(now);
                }
            }
            Some(Deed::Leave(keys, quiet)) => {
                self.log.decide(notes::asked_to_leave(quiet), None);
                self.type_keys(keys.as_bytes());
            }
            Some(Deed::Keys(keys)) => self.type_keys(keys.as_bytes()),
            Some(Deed::GiveUp) => self.did_not_leave(),
        }
        self.log.flush();
    }

    fn type_keys(&mut self, keys: &[u8]) {
        if let Some(terminal) = &mut self.terminal {
            terminal.queue(keys);
        }
        self.write_terminal();
    }

    /// Looks at the screen. The log says so, because a replay has to look at the same place.
    fn look(&mut self) {
        if self.stdout.holds_some() {
            if let Some(sink) = &mut self.faces.stdout {
                sink.let_go(self.log);
            }
            self.take_stdout(Take::Held);
        }
        // What is seen now may be newer than what `now` was when it was time to look.
        let now = self.clock.now();
        self.stamp(now);
        if let Some(terminal) = &mut self.terminal {
            terminal.unseen_since = None;
            if terminal.plan.exit_when_quiet.is_some() {
                // From here on it may be quiet.
                self.note_processor_time(&tree::descendants(self.keeper.pid()));
            }
        }
        self.log.decide(DecisionRecord::ScreenSettled(NoFields {}), None);
        let mut events = Vec::new();
        if let Some(screen) = self.stdout.screen() {
            screen.settle(Depth::Skim, &mut events);
        }
        for event in &events {
            let input = Input::Event { kind: event, native: "screen" };
            self.monitor.handle(input, now, &mut self.actions);
            self.facts.take(event);
        }
        if events.is_empty() {
            return;
        }
        // Nobody can tell from a screen what was done behind it.
        self.facts.progress = super::Progress::SideEffects;
        if let Some(terminal) = &mut self.terminal {
            terminal.typist.was_shown();
        }
    }

    /// Whether the agent's processes have worked through a silence that has lasted for so long.
    /// Remembers where their clocks stand now, for the next time.
    fn was_busy_for(&mut self, quiet: Duration) -> bool {
        let rows = tree::descendants(self.keeper.pid());
        let used = self.note_processor_time(&rows);
        let share = Duration::from_millis(used).as_millis() * 100 / quiet.as_millis().max(1);
        share >= BUSY_PERCENT || !tree::runnable(&rows).is_empty()
    }

    /// What the agent's processes have used since the last call, in milliseconds.
    fn note_processor_time(&mut self, rows: &[ProcessRow]) -> u64 {
        let total = tree::cpu_ms(rows);
        let Some(terminal) = &mut self.terminal else { return 0 };
        total.saturating_sub(std::mem::replace(&mut terminal.cpu_ms, total))
    }

    /// It was quiet, was asked to leave, and is still there.
    fn did_not_leave(&mut self) {
        let now = self.clock.now();
        self.stamp(now);
        let judgement = Judgement {
            kind: VerdictKind::Idle,
            from: self.monitor.health(),
            text: "the agent was quiet, was asked to leave, and did not".into(),
            evidence: self.monitor.snapshot(now),
        };
        self.judged(judgement, now);
    }

    pub(super) fn resize_terminal(&mut self, size: TerminalSize) {
        let follows = self.terminal.as_ref().is_some_and(|terminal| terminal.plan.follow_size);
        let now = self.stdout.screen().map(|screen| screen.terminal().size());
        let Some(fd) = self.stdout.fd().filter(|_| follows && now != Some(size)) else { return };
        if keeper::set_size(fd, size).is_ok() {
            self.log.decide(notes::resized(size), None);
            if let Some(screen) = self.stdout.screen() {
                screen.terminal().resize(size);
            }
        }
    }

    /// The last lines of the screen; none without one.
    pub(super) fn screen_lines(&mut self) -> Vec<String> {
        let screen = self.stdout.screen();
        screen.map(|screen| screen.terminal().last_lines(EVIDENCE_LINES)).unwrap_or_default()
    }

    /// The screen as last words.
    pub(super) fn last_screen(&mut self) -> Option<String> {
        let lines = self.screen_lines();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    /// Adds the screen to a judgement, and says what silence at a terminal means.
    pub(super) fn look_at_screen(&mut self, judgement: &mut Judgement) {
        if self.terminal.is_none() {
            return;
        }
        let lines = self.screen_lines();
        at_terminal(judgement, &lines);
        judgement.evidence.screen = lines;
    }

    /// At a terminal there is no terminal event: the exit is all that the agent says about how it
    /// went, unless we ended it.
    pub(super) fn conclude_by_exit(&mut self) {
        let Some(terminal) = &self.terminal else { return };
        let left = terminal.typist.has_asked();
        if self.stop.reason().is_some() {
            return;
        }
        self.facts.result = match self.exit.unwrap_or(ProcessExit::Unknown) {
            ProcessExit::Code(0) => Some(TurnEnd::Done),
            // Leaving when asked is what was wanted, however a program calls it.
            _ if left => Some(TurnEnd::Done),
            ProcessExit::Code(code) => Some(failed(format!("exit code {code}"))),
            ProcessExit::Signal(signal) => Some(failed(format!("signal {signal}"))),
            ProcessExit::Unknown => None,
        };
    }
}

fn failed(message: String) -> TurnEnd {
    TurnEnd::Failed { failure: FailureKind::Internal, message }
}

/// Silence at a terminal is, as a rule, a program that waits for somebody to press a key. That is
/// what the verdict says, and where it waits.
fn at_terminal(judgement: &mut Judgement, lines: &[String]) {
    let silent = matches!(
        judgement.kind,
        VerdictKind::FirstResponse
            | VerdictKind::Idle
            | VerdictKind::IdleAfterText
            | VerdictKind::IdleAfterTool
    );
    if silent && judgement.evidence.verdict.is_some() {
        let span = |ms| human(Duration::from_millis(ms));
        judgement.kind = VerdictKind::Idle;
        judgement.evidence.verdict = Some(VerdictKind::Idle);
        let idle = judgement.evidence.cpu_ms.is_some() && judgement.evidence.extensions == 0;
        judgement.text = format!(
            "hang detected: it waits for input at a terminal: nothing was written for {}{} (limit {})",
            span(judgement.evidence.silence_ms),
            if idle { " and no process is busy" } else { "" },
            span(judgement.evidence.limit_ms),
        );
    }
    judgement.evidence.verdict.get_or_insert(judgement.kind);
    let quoted = lines.get(lines.len().saturating_sub(QUOTED_LINES)..).unwrap_or_default();
    let quoted: Vec<String> =
        quoted.iter().map(|line| excerpt(line.trim().as_bytes(), 80)).collect();
    if !quoted.is_empty() {
        judgement.text = format!("{}; the screen ends: {}", judgement.text, quoted.join(" / "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stablehand_core::event::{Evidence, Health};

    #[test]
    fn a_prompt_cannot_press_keys() {
        let wild = b"one\ntwo\x1b[201~\x03\x04\r\x00 \xc3\xa9\tend";
        assert_eq!(as_typed(wild, false), b"one\rtwo[201~ \xc3\xa9\tend");
        assert_eq!(as_typed(wild, true), b"\x1b[200~one\rtwo[201~ \xc3\xa9\tend\x1b[201~");
    }

    #[test]
    fn silence_at_a_terminal_is_a_wait_for_input() {
        let judgement = |kind| Judgement {
            kind,
            from: Health::Quiet,
            text: "hang detected: x".into(),
            evidence: Evidence {
                verdict: Some(kind),
                limit_ms: 60_000,
                silence_ms: 61_000,
                ..Evidence::default()
            },
        };
        let lines = ["a".to_owned(), "Trust this folder?".into(), "1. Yes".into(), "2. No".into()];
        let mut idle = judgement(VerdictKind::IdleAfterText);
        at_terminal(&mut idle, &lines);
        assert_eq!(idle.kind, VerdictKind::Idle);
        assert_eq!(idle.evidence.verdict, Some(VerdictKind::Idle));
        assert!(idle.text.contains("waits for input at a terminal"), "{}", idle.text);
        assert!(idle.text.ends_with("Trust this folder? / 1. Yes / 2. No"), "{}", idle.text);
        let mut startup = judgement(VerdictKind::Startup);
        at_terminal(&mut startup, &[]);
        assert_eq!(
            (startup.kind, startup.text.as_str()),
            (VerdictKind::Startup, "hang detected: x")
        );
    }
}
