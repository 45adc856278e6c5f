//! When something is typed at an agent's terminal: the prompt, the key behind it, the way out.
//!
//! A pure machine: it says what is to be done now, the driver does it. A program at a terminal does
//! not say when it is ready; a screen that has come to rest is the best sign there is, and there is
//! a bound for screens that never do.

use stablehand_core::Moment;
use std::time::Duration;

/// A screen that was not written to for so long waits for somebody.
const REST: Duration = Duration::from_millis(700);

/// A program that shows nothing at all reads nevertheless, from about here on.
const SILENT_START: Duration = Duration::from_secs(3);

/// A screen that never rests is typed at after this.
const RESTLESS_START: Duration = Duration::from_secs(15);

/// A program that draws reads keys itself; before it does, the kernel would take what is typed for
/// a line and lose the rest. And before it has drawn anything to read it does not listen. One that
/// has not come so far is typed at after this.
const LATE_START: Duration = Duration::from_secs(30);

/// From the last of the prompt to the key that sends it: programs take a key that comes at once for
/// a part of the paste.
const BEFORE_ENTER: Duration = Duration::from_millis(300);

/// A prompt that is still being drawn is sent after this all the same.
const RESTLESS_PASTE: Duration = Duration::from_secs(3);

/// Between two of the keys that ask a program to leave.
const BETWEEN_KEYS: Duration = Duration::from_millis(400);

/// What a program that was asked to leave gets to do so.
const LEAVE_GRACE: Duration = Duration::from_secs(5);

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    /// Type the prompt.
    Prompt,
    /// Type the key that sends it.
    Enter,
    /// Nothing has come for so long: begin to ask the program to leave, with these keys.
    Leave(&'static str, Duration),
    /// The next keys.
    Keys(&'static str),
    /// It did not leave.
    GiveUp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The prompt is to be typed.
    Before,
    /// It is on its way.
    Typing,
    /// All of it was taken.
    Typed { at: Moment },
    /// There is nothing to type.
    Watching { since: Moment },
    /// So many of the keys were typed.
    Leaving { keys: usize, next: Moment },
    /// Nothing more will be typed.
    Over,
}

/// Types at a terminal.
#[derive(Debug)]
pub(super) struct Typist {
    stage: Stage,
    heard: Option<Moment>,
    /// The program does not read keys itself yet, although it will.
    is_early: bool,
    /// There was something to read: a program that has only begun to start is not done.
    has_shown: bool,
    leave: &'static [&'static str],
    leave_after: Option<Duration>,
}

impl Typist {
    /// With a prompt to type, or without; leaving by these keys after so long a silence, or never.
    pub(super) fn new(
        has_prompt: bool,
        leave: &'static [&'static str],
        leave_after: Option<Duration>,
    ) -> Self {
        let stage =
            if has_prompt { Stage::Before } else { Stage::Watching { since: Moment::START } };
        Typist { stage, heard: None, is_early: false, has_shown: false, leave, leave_after }
    }

    /// The program wrote something.
    pub(super) fn heard(&mut self, now: Moment) {
        self.heard = Some(now);
    }

    /// Whether the prompt is still to be typed.
    pub(super) fn is_before(&self) -> bool {
        self.stage == Stage::Before
    }

    /// Whether the program has yet to begin to read keys itself; it must have shown something, too.
    pub(super) fn early(&mut self, edits_lines: bool) {
        self.is_early = edits_lines || !self.has_shown;
    }

    /// The program is at work, although it writes nothing: the silence begins anew.
    pub(super) fn put_off(&mut self, now: Moment) {
        self.stage = Stage::Watching { since: now };
    }

    /// There is something to read on the screen.
    pub(super) fn was_shown(&mut self) {
        self.has_shown = true;
    }

    /// Everything that was to be typed was taken.
    pub(super) fn was_taken(&mut self, now: Moment) {
        if self.stage == Stage::Typing {
            self.stage = Stage::Typed { at: now };
        }
    }

    /// Nothing more is to be typed.
    pub(super) fn stop(&mut self) {
        self.stage = Stage::Over;
    }

    /// Whether the program was asked to leave.
    pub(super) fn has_asked(&self) -> bool {
        matches!(self.stage, Stage::Leaving { .. })
    }

    /// When something is due, if nothing happens before.
    pub(super) fn deadline(&self) -> Option<Moment> {
        match self.stage {
            Stage::Before if self.is_early => Some(Moment::START.plus(LATE_START)),
            Stage::Before => Some(match self.heard {
                None => Moment::START.plus(SILENT_START),
                Some(heard) => heard.plus(REST).min(Moment::START.plus(RESTLESS_START)),
            }),
            Stage::Typing | Stage::Over => None,
            Stage::Typed { at } => {
                let rest = self.heard.map_or(at, |heard| heard.max(at)).plus(BEFORE_ENTER);
                Some(rest.min(at.plus(RESTLESS_PASTE)))
            }
            Stage::Watching { since } => {
                let quiet_since = self.heard.map_or(since, |heard| heard.max(since));
                let may_leave = self.has_shown && !self.leave.is_empty();
                self.leave_after.filter(|_| may_leave).map(|limit| quiet_since.plus(limit))
            }
            Stage::Leaving { next, .. } => Some(next),
        }
    }

    /// What is due now, if anything.
    pub(super) fn due(&mut self, now: Moment) -> Option<Deed> {
        if self.deadline().is_none_or(|deadline| deadline > now) {
            return None;
        }
        match self.stage {
            Stage::Before => {
                self.stage = Stage::Typing;
                Some(Deed::Prompt)
            }
            Stage::Typed { .. } => {
                self.stage = Stage::Watching { since: now };
                Some(Deed::Enter)
            }
            Stage::Watching { .. } => {
                Some(Deed::Leave(self.next_keys(0, now)?, self.leave_after.unwrap_or_default()))
            }
            Stage::Leaving { keys, .. } => {
                if let Some(keys) = self.next_keys(keys, now) {
                    return Some(Deed::Keys(keys));
                }
                self.stage = Stage::Over;
                Some(Deed::GiveUp)
            }
            Stage::Typing | Stage::Over => None,
        }
    }

    fn next_keys(&mut self, typed: usize, now: Moment) -> Option<&'static str> {
        let keys = self.leave.get(typed)?;
        let is_last = typed + 1 == self.leave.len();
        let pause = if is_last { LEAVE_GRACE } else { BETWEEN_KEYS };
        self.stage = Stage::Leaving { keys: typed + 1, next: now.plus(pause) };
        Some(keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Moment {
        Moment::from_millis(ms)
    }

    #[test]
    fn a_prompt_is_typed_when_the_screen_rests_and_sent_when_it_was_drawn() {
        let mut typist = Typist::new(true, &[], None);
        typist.heard(at(100));
        typist.heard(at(500));
        assert_eq!((typist.due(at(1199)), typist.due(at(1200))), (None, Some(Deed::Prompt)));
        assert_eq!(typist.deadline(), None, "it takes as long as it takes");
        typist.was_taken(at(1300));
        typist.heard(at(1400));
        assert_eq!((typist.due(at(1699)), typist.due(at(1700))), (None, Some(Deed::Enter)));
        assert_eq!((typist.due(at(99_000)), typist.deadline()), (None, None));
    }

    #[test]
    fn a_silent_program_and_a_restless_one_get_their_prompt() {
        let mut silent = Typist::new(true, &[], None);
        assert_eq!((silent.due(at(2999)), silent.due(at(3000))), (None, Some(Deed::Prompt)));
        silent.was_taken(at(3000));
        assert_eq!(silent.due(at(3300)), Some(Deed::Enter));
        let mut restless = Typist::new(true, &[], None);
        for ms in (0..15_000).step_by(100) {
            restless.heard(at(ms));
            assert_eq!(restless.due(at(ms)), None);
        }
        assert_eq!(restless.due(at(15_000)), Some(Deed::Prompt));
        restless.was_taken(at(15_000));
        restless.heard(at(17_900));
        assert_eq!(restless.due(at(18_000)), Some(Deed::Enter));
    }

    #[test]
    fn a_program_that_does_not_read_keys_yet_is_waited_for() {
        let mut typist = Typist::new(true, &[], None);
        typist.early(true);
        typist.heard(at(100));
        assert_eq!(typist.due(at(10_000)), None);
        typist.early(false);
        assert_eq!(typist.due(at(20_000)), None, "nothing was shown");
        typist.was_shown();
        typist.early(false);
        typist.heard(at(20_000));
        assert_eq!((typist.due(at(20_600)), typist.is_before()), (Some(Deed::Prompt), false));
        let mut never = Typist::new(true, &[], None);
        never.early(true);
        assert_eq!((never.due(at(29_999)), never.due(at(30_000))), (None, Some(Deed::Prompt)));
    }

    #[test]
    fn a_quiet_program_is_asked_to_leave_key_by_key() {
        let mut typist = Typist::new(false, &["a", "b"], Some(Duration::from_secs(2)));
        typist.heard(at(1000));
        assert_eq!(typist.due(at(99_000)), None, "it has shown nothing yet");
        typist.was_shown();
        assert_eq!(typist.due(at(2999)), None);
        let asked = Deed::Leave("a", Duration::from_secs(2));
        assert_eq!(typist.due(at(3000)), Some(asked));
        assert!(typist.has_asked());
        typist.heard(at(3100));
        assert_eq!((typist.due(at(3399)), typist.due(at(3400))), (None, Some(Deed::Keys("b"))));
        assert_eq!((typist.due(at(8399)), typist.due(at(8400))), (None, Some(Deed::GiveUp)));
        assert_eq!(typist.deadline(), None);
    }

    #[test]
    fn a_program_at_work_is_not_asked_to_leave() {
        let mut typist = Typist::new(false, &["a"], Some(Duration::from_secs(2)));
        typist.was_shown();
        assert!(matches!(typist.due(at(2000)), Some(Deed::Leave("a", _))));
        typist.put_off(at(2000));
        assert!(!typist.has_asked());
        assert_eq!(typist.due(at(3999)), None);
        assert!(matches!(typist.due(at(4000)), Some(Deed::Leave("a", _))));
    }

    #[test]
    fn nobody_is_asked_to_leave_who_has_no_way_to() {
        let mut typist = Typist::new(false, &[], Some(Duration::from_secs(2)));
        typist.was_shown();
        assert_eq!((typist.deadline(), typist.due(at(9000))), (None, None));
    }

    #[test]
    fn silence_counts_from_the_prompt_on() {
        let mut typist = Typist::new(true, &["a"], Some(Duration::from_secs(2)));
        assert_eq!(typist.due(at(3000)), Some(Deed::Prompt));
        typist.was_shown();
        typist.was_taken(at(3000));
        assert_eq!(typist.due(at(3300)), Some(Deed::Enter));
        assert_eq!(typist.due(at(5299)), None);
        assert!(matches!(typist.due(at(5300)), Some(Deed::Leave("a", _))));
    }
}
