//! The terminal channel: drawing, answering, typing, and looking.
//!
//! Owns what is written to the terminal, and when the screen is looked at. What is drawn, what
//! a terminal answers and what is new on it is core's; when to type is the typist's, a machine of
//! its own. The agent's output itself goes the way of every output (`streams.rs`).

mod typist;

use super::channel::{Channel, Wanted};
use super::streams::Take;
use super::{Driver, Phase, RunSpec, notes};
use crate::keeper;
use crate::tree;
use nix::errno::Errno;
use nix::poll::PollFlags;
use nix::sys::termios::{LocalFlags, tcgetattr};
use nix::unistd::write;
use stablehand_core::event::{FailureKind, ProcessExit, ProcessRow, TurnEnd, VerdictKind};
use stablehand_core::monitor::{Input, Judgement};
use stablehand_core::record::{DecisionRecord, NoFields};
use stablehand_core::terminal::TerminalSize;
use stablehand_core::text::excerpt;
use stablehand_core::time::human;
use stablehand_core::{Depth, Moment};
use std::os::fd::{AsFd, OwnedFd};
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

impl AtTerminal {
    /// Writes to the terminal by this descriptor.
    pub(super) fn new(spec: &RunSpec, fd: OwnedFd) -> AtTerminal {
        let plan = spec.terminal.unwrap_or_default();
        AtTerminal {
            fd: Some(fd),
            unsent: Vec::new(),
            sent: 0,
            typist: Typist::new(plan.type_prompt.is_some(), plan.leave, plan.exit_when_quiet),
            plan,
            unseen_since: None,
            drawn: Moment::START,
            cpu_ms: 0,
        }
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

impl AtTerminal {
    fn write(&mut self, now: Moment) {
        if self.send() {
            self.typist.was_taken(now);
        }
    }

    fn type_keys(&mut self, keys: &[u8], now: Moment) {
        self.queue(keys);
        self.write(now);
    }

    /// Looks at the screen. The log says so, because a replay has to look at the same place.
    fn look(&mut self, driver: &mut Driver<'_>) {
        if driver.stdout.holds_some() {
            if let Some(sink) = &mut driver.faces.stdout {
                sink.let_go(driver.log);
            }
            // A screen tells of no tool, so hooks have nothing to hear.
            driver.take_stdout(self, None, Take::Held);
        }
        // What is seen now may be newer than what `now` was when it was time to look.
        let now = driver.clock.now();
        driver.stamp(now);
        self.unseen_since = None;
        if self.plan.exit_when_quiet.is_some() {
            // From here on it may be quiet.
            self.note_processor_time(&tree::descendants(driver.keeper.pid()));
        }
        driver.log.decide(DecisionRecord::ScreenSettled(NoFields {}), None);
        let mut events = Vec::new();
        if let Some(screen) = driver.stdout.screen() {
            screen.settle(Depth::Skim, &mut events);
        }
        for event in &events {
            let input = Input::Event { kind: event, native: "screen" };
            driver.monitor.handle(input, now, &mut driver.actions);
            driver.facts.take(event);
        }
        if events.is_empty() {
            return;
        }
        // Nobody can tell from a screen what was done behind it.
        driver.facts.progress = super::Progress::SideEffects;
        self.typist.was_shown();
    }

    /// Whether the agent's processes have worked through a silence that has lasted for so long.
    /// Remembers where their clocks stand now, for the next time.
    fn was_busy_for(&mut self, keeper: u32, quiet: Duration) -> bool {
        let rows = tree::descendants(keeper);
        let used = self.note_processor_time(&rows);
        let share = Duration::from_millis(used).as_millis() * 100 / quiet.as_millis().max(1);
        share >= BUSY_PERCENT || !tree::runnable(&rows).is_empty()
    }

    /// What the agent's processes have used since the last call, in milliseconds.
    fn note_processor_time(&mut self, rows: &[ProcessRow]) -> u64 {
        let total = tree::cpu_ms(rows);
        total.saturating_sub(std::mem::replace(&mut self.cpu_ms, total))
    }

    fn carry_out(&mut self, driver: &mut Driver<'_>, deed: Deed, now: Moment) {
        match deed {
            Deed::Prompt => {
                let screen = driver.stdout.screen();
                let bracketed =
                    screen.is_some_and(|screen| screen.terminal().wants_bracketed_paste());
                driver.log.decide(notes::typed(driver.spec.prompt.len()), None);
                self.type_keys(&as_typed(&driver.spec.prompt, bracketed), now);
            }
            Deed::Enter => {
                let enter = self.plan.type_prompt.unwrap_or_default();
                self.type_keys(enter.as_bytes(), now);
            }
            Deed::Leave(_, quiet) if self.was_busy_for(driver.keeper.pid(), quiet) => {
                self.typist.put_off(now);
            }
            Deed::Leave(keys, quiet) => {
                driver.log.decide(notes::asked_to_leave(quiet), None);
                self.type_keys(keys.as_bytes(), now);
            }
            Deed::Keys(keys) => self.type_keys(keys.as_bytes(), now),
            Deed::GiveUp => driver.did_not_leave(),
        }
    }
}

impl Channel for AtTerminal {
    /// Something was drawn: what was asked is answered.
    fn pass_on(&mut self, driver: &mut Driver<'_>, now: Moment) -> bool {
        self.typist.heard(now);
        self.drawn = now;
        self.unseen_since.get_or_insert(now);
        let replies = driver.stdout.screen().map(|screen| screen.terminal().take_replies());
        if let Some(replies) = replies.filter(|replies| !replies.is_empty())
            && self.unsent.len() - self.sent < MOST_UNSENT
        {
            self.type_keys(&replies, now);
        }
        false
    }

    fn wants<'a>(&'a self, _driver: &'a Driver<'_>, wanted: &mut Vec<Wanted<'a>>) {
        let fd = self.fd.as_ref().filter(|_| self.sent < self.unsent.len());
        wanted.extend(fd.map(|fd| (fd.as_fd(), PollFlags::POLLOUT)));
    }

    fn ready(&mut self, driver: &mut Driver<'_>) {
        self.write(driver.clock.now());
    }

    fn deadline(&self, driver: &Driver<'_>) -> Option<Moment> {
        let typing = self.typist.deadline().filter(|_| driver.phase == Phase::Running);
        typing.into_iter().chain(self.look_at()).min()
    }

    /// Looks and types, when it is time.
    fn advance(&mut self, driver: &mut Driver<'_>) {
        let now = driver.clock.now();
        if self.plan.reads_keys && self.typist.is_before() {
            self.typist.early(self.edits_lines());
        }
        if self.deadline(driver).is_none_or(|deadline| deadline > now) {
            return;
        }
        driver.stamp(now);
        if self.look_at().is_some_and(|at| at <= now) {
            self.look(driver);
        }
        if driver.phase == Phase::Running
            && let Some(deed) = self.typist.due(now)
        {
            self.carry_out(driver, deed, now);
        }
        driver.log.flush();
    }

    fn stop(&mut self, _driver: &mut Driver<'_>) {
        self.typist.stop();
        self.unsent.clear();
        self.sent = 0;
    }

    /// At a terminal there is no terminal event: the exit is all that the agent says about how it
    /// went, unless we ended it.
    fn finish(&mut self, driver: &mut Driver<'_>) {
        let left = self.typist.has_asked();
        if driver.stop.reason().is_some() {
            return;
        }
        driver.facts.result = match driver.exit.unwrap_or(ProcessExit::Unknown) {
            ProcessExit::Code(0) => Some(TurnEnd::Done),
            // Leaving when asked is what was wanted, however a program calls it.
            _ if left => Some(TurnEnd::Done),
            ProcessExit::Code(code) => Some(failed(format!("exit code {code}"))),
            ProcessExit::Signal(signal) => Some(failed(format!("signal {signal}"))),
            ProcessExit::Unknown => None,
        };
    }
}

impl Driver<'_> {
    /// It was quiet, was asked to leave, and is still there.
    fn did_not_leave(&mut self) {
        let now = self.clock.now();
        let judgement = Judgement {
            kind: VerdictKind::Idle,
            from: self.monitor.health(),
            text: "the agent was quiet, was asked to leave, and did not".into(),
            evidence: self.monitor.snapshot(now),
        };
        self.judged(judgement, now);
    }

    pub(super) fn resize_terminal(&mut self, size: TerminalSize) {
        let follows = self.spec.terminal.is_some_and(|plan| plan.follow_size);
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
        if !self.spec.is_at_terminal() {
            return;
        }
        let lines = self.screen_lines();
        at_terminal(judgement, &lines);
        judgement.evidence.screen = lines;
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
