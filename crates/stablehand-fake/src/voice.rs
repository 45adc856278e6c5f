//! Who speaks: what every line of a stream carries, whatever the dialect.
//!
//! Owns the session's name, the model, the folder, the clock and the serial numbers that ids are
//! made of. With the invented clock all of them are the same in every run, so that a test can
//! compare bytes; with the real one they are as a program of its kind would have them.

use stablehand_core::time::UnixMillis;
use std::time::{SystemTime, UNIX_EPOCH};

/// The session id of a script that names none, under the invented clock.
pub const DEFAULT_SESSION: &str = "5e551017-0000-4000-8000-0000000000a1";

/// The request id under the invented clock.
const DEFAULT_REQUEST: &str = "9e0e57aa-0000-4000-8000-0000000000b2";

/// Where the invented clock begins.
const INVENTED_EPOCH_MS: u64 = 1_790_000_000_000;

/// Where times come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// Seven milliseconds further at each look.
    Invented,
    /// The system's.
    Real,
}

/// What an agent was given to know about itself.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The id of the session: a new one, or the one that is resumed.
    pub session: String,
    /// Whether it was asked to resume.
    pub resumed: bool,
    /// A name of this process that no other has: ids are made of it.
    pub unique: String,
    /// The model that it names, or none for the dialect's own.
    pub model: Option<String>,
    /// Where it works.
    pub cwd: String,
    /// Text as it is made, where the dialect leaves the choice.
    pub partial: bool,
    /// Thinking is told, where the dialect leaves the choice.
    pub thinking: bool,
    /// Questions go over standard input, where the dialect leaves the choice.
    pub asks: bool,
    /// It has a mode in which it changes nothing, where the dialect has modes.
    pub plans: bool,
    /// It takes images, where the dialect leaves the choice.
    pub sees: bool,
}

impl Identity {
    /// The one that is the same in every run; for tests.
    pub fn invented() -> Identity {
        Identity {
            session: DEFAULT_SESSION.to_owned(),
            resumed: false,
            unique: DEFAULT_REQUEST.to_owned(),
            model: None,
            cwd: "/srv/barn".to_owned(),
            partial: false,
            thinking: true,
            asks: false,
            plans: false,
            sees: true,
        }
    }
}

/// An identity with its clock and its counters.
#[derive(Debug, Clone)]
pub(crate) struct Voice {
    pub(crate) id: Identity,
    clock: Clock,
    invented_ms: u64,
    serial: u64,
    began_ms: u64,
    pub(crate) used: Used,
    /// The session was announced before the script began: by the protocol, not by the script.
    pub(crate) announced: bool,
    /// The id of the turn, where the protocol has given one out.
    pub(crate) turn: Option<String>,
    /// The mode that it was put into, where the protocol has modes.
    pub(crate) mode: Option<String>,
}

/// Tokens that a turn has used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Used {
    pub(crate) input: u64,
    pub(crate) output: u64,
}

impl Voice {
    pub(crate) fn new(id: Identity, clock: Clock) -> Voice {
        let used = Used { input: 1200, output: 34 };
        let mut voice = Voice {
            id,
            clock,
            invented_ms: INVENTED_EPOCH_MS,
            serial: 0,
            began_ms: 0,
            used,
            announced: false,
            turn: None,
            mode: None,
        };
        voice.turn_begins();
        voice
    }

    /// Milliseconds since 1970.
    pub(crate) fn now_ms(&mut self) -> u64 {
        match self.clock {
            Clock::Invented => {
                self.invented_ms += 7;
                self.invented_ms
            }
            Clock::Real => real_ms(),
        }
    }

    /// The time as RFC 3339.
    pub(crate) fn stamp(&mut self) -> String {
        let now = self.now_ms();
        UnixMillis(i64::try_from(now).unwrap_or(i64::MAX)).rfc3339()
    }

    /// From here on the turn's time is counted.
    pub(crate) fn turn_begins(&mut self) {
        self.began_ms = match self.clock {
            Clock::Invented => self.invented_ms,
            Clock::Real => real_ms(),
        };
    }

    /// How long the turn has taken.
    pub(crate) fn turn_took_ms(&self) -> u64 {
        match self.clock {
            // A figure that no test has to follow.
            Clock::Invented => 1200,
            Clock::Real => real_ms().saturating_sub(self.began_ms),
        }
    }

    /// When the turn began, in seconds.
    pub(crate) fn turn_began_secs(&self) -> u64 {
        self.began_ms / 1000
    }

    /// The next number.
    pub(crate) fn next(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    /// An id of the usual form, new at each call. Its first part is the process's.
    pub(crate) fn uuid(&mut self) -> String {
        let serial = self.next();
        format!("{:08x}-fa4e-4000-8000-{serial:012x}", self.seed() & 0xffff_ffff)
    }

    /// A word of hexadecimal digits and the next number: the inside of an id.
    pub(crate) fn token(&mut self) -> String {
        let serial = self.next();
        format!("{:012x}{serial:04}", self.seed() & 0xffff_ffff_ffff)
    }

    /// A script's id of a call as the inside of a native one: verbatim under the invented clock, and
    /// otherwise with something of this process, because a session may be resumed.
    pub(crate) fn call(&self, prefix: &str, id: &str) -> String {
        match self.clock {
            Clock::Invented => id.to_owned(),
            Clock::Real => format!("{prefix}{:08x}{id}", self.seed() & 0xffff_ffff),
        }
    }

    /// A number made of the process's unique name.
    fn seed(&self) -> u64 {
        let bytes = self.id.unique.bytes();
        bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }
}

fn real_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    stablehand_core::time::millis(since)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_invented_clock_repeats_itself_and_ids_do_not() {
        let [mut one, mut two] =
            [(); 2].map(|()| Voice::new(Identity::invented(), Clock::Invented));
        assert_eq!(one.now_ms(), two.now_ms());
        assert_eq!(one.uuid(), two.uuid());
        assert_ne!(one.uuid(), one.uuid());
        assert_ne!(one.token(), one.token());
        assert!(Voice::new(Identity::invented(), Clock::Real).stamp().ends_with('Z'));
    }
}
