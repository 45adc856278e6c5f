//! Noticing that an agent does the same again and again.
//!
//! Owns the comparison of digests of finished calls (name, input and result): runs of one call,
//! and cycles of two and three. Decides nothing; a repetition is a warning, because polling looks
//! the same.

/// The longest cycle that is looked for.
const LONGEST: usize = 3;

/// The same calls in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Streak {
    /// How many calls make one round.
    pub(super) period: usize,
    /// How many rounds there were.
    pub(super) rounds: u32,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Repetition {
    /// The last digests, newest first; 0 is none.
    recent: [u64; LONGEST],
    /// For each period: how many calls in a row equalled the one a period before.
    equal: [u32; LONGEST],
    warned: bool,
}

impl Repetition {
    /// Notes a finished call. A digest of 0 is unknown and breaks every streak.
    pub(super) fn note(&mut self, digest: u64) -> Option<Streak> {
        for (equal, before) in self.equal.iter_mut().zip(self.recent) {
            *equal = if digest != 0 && before == digest { equal.saturating_add(1) } else { 0 };
        }
        self.recent.rotate_right(1);
        self.recent[0] = digest;
        let streak = self.streak();
        if streak.is_none() {
            self.warned = false;
        }
        streak
    }

    /// Whether a warning is due at this streak: once for each.
    pub(super) fn warn(&mut self, streak: Streak, at: u32) -> bool {
        at > 0 && streak.rounds >= at && !std::mem::replace(&mut self.warned, true)
    }

    /// Forgets everything.
    pub(super) fn reset(&mut self) {
        *self = Repetition::default();
    }

    /// The streak of most rounds; a run of one call is also a cycle of two, and counts as one.
    fn streak(&self) -> Option<Streak> {
        let mut best: Option<Streak> = None;
        for (index, equal) in self.equal.iter().enumerate() {
            let period = index + 1;
            let rounds = equal / period as u32 + 1;
            if rounds > best.map_or(1, |b| b.rounds) {
                best = Some(Streak { period, rounds });
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last(digests: &[u64]) -> Option<(usize, u32)> {
        let mut repetition = Repetition::default();
        let mut streak = None;
        for digest in digests {
            streak = repetition.note(*digest);
        }
        streak.map(|s| (s.period, s.rounds))
    }

    #[test]
    fn runs_and_cycles_are_counted_in_rounds() {
        assert_eq!(last(&[7, 7, 7, 7, 7]), Some((1, 5)));
        assert_eq!(last(&[1, 2, 1, 2, 1, 2]), Some((2, 3)));
        assert_eq!(last(&[1, 2, 3, 1, 2, 3]), Some((3, 2)));
        assert_eq!(last(&[7, 7, 7, 8]), None);
        assert_eq!(last(&[0, 0, 0, 0]), None, "an unknown result equals nothing");
        assert_eq!(last(&[1, 2, 3, 4]), None);
    }

    #[test]
    fn a_streak_warns_once() {
        let mut repetition = Repetition::default();
        let mut warnings = 0;
        for digest in [1, 1, 1, 1, 1, 2, 1, 1, 1] {
            if let Some(streak) = repetition.note(digest)
                && repetition.warn(streak, 3)
            {
                warnings += 1;
            }
        }
        assert_eq!(warnings, 2);
    }
}
