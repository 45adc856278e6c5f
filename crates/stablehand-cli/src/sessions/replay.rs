//! `sessions replay`: a run once more from its log.
//!
//! Owns playing it: the agent's standard output at the pace at which it came, in any of the faces
//! that `run` has. Whether it would be judged the same is `check`'s, what other limits would have
//! done is `what_if`'s; the judging itself is `stablehand_analysis::rerun`'s.

mod check;
mod what_if;

use super::play::still_there;
use super::read::{LogArgs, each_record, warn};
use super::records::{RecordView, Shape};
use crate::duration;
use crate::env::Env;
use crate::failure::Failure;
use crate::limits::LimitArgs;
use crate::output;
use crate::redact::RedactArgs;
use crate::render::TextView;
use crate::screen::Screen;
use stablehand_core::UnixMillis;
use stablehand_core::record::{DecisionRecord, Record};
use std::path::Path;
use std::time::{Duration, Instant};

/// Play a run again from its log
#[derive(Debug, clap::Args)]
pub struct ReplayArgs {
    #[command(flatten)]
    log: LogArgs,

    /// How many times faster than it was, such as 10 or 0.5; `max` waits for nothing
    #[arg(long, value_name = "N|max", value_parser = speed)]
    speed: Option<Speed>,

    /// Wait no longer than this between two things that happened
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    max_pause: Option<Duration>,

    /// What to print: the agent's own output byte for byte, text for a person, or our events
    /// [default: stream-json]
    #[arg(long, value_enum)]
    output_format: Option<Shape>,

    /// Play nothing: judge the log again, and say where decoder and monitor decide otherwise than
    /// they did then. Exit status 1 where they do
    #[arg(long, conflicts_with_all = ["speed", "max_pause", "output_format"])]
    check: bool,

    /// With --check or with limits, for programs: one JSON document
    #[arg(long)]
    json: bool,

    /// With any of these, play nothing: say what would have been decided with these limits instead of
    /// those that held
    #[command(flatten)]
    limits: LimitArgs,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Speed {
    Times(f64),
    Max,
}

fn speed(text: &str) -> Result<Speed, String> {
    if text == "max" {
        return Ok(Speed::Max);
    }
    let times: Option<f64> = text.strip_suffix('x').unwrap_or(text).parse().ok();
    match times.filter(|times| times.is_finite() && *times > 0.0) {
        Some(times) => Ok(Speed::Times(times)),
        None => Err(format!("`{text}` is no speed; give a number like 10 or 0.5, or `max`")),
    }
}

/// Runs it.
pub(super) fn main(args: &ReplayArgs) -> Result<u8, Failure> {
    let env = Env::read()?;
    let log = args.log.find(&env)?;
    let plays = args.speed.is_some() || args.max_pause.is_some() || args.output_format.is_some();
    match (args.check, args.limits.any()) {
        (true, true) => Err(Failure::usage("--check judges by the limits that held")
            .hint("leave the limits out, or --check to see what these would have done")),
        (true, false) => check::main(&log, args.json, &env),
        (false, true) if plays => {
            Err(Failure::usage("with other limits there is nothing to play: what the agent would have said then is not known")
                .hint("leave out --speed, --max-pause and --output-format"))
        }
        (false, true) => what_if::main(&log, &args.limits, args.json, &env),
        (false, false) if args.json => {
            Err(Failure::usage("--json needs --check or a limit")
                .hint("events as JSON are --output-format events"))
        }
        (false, false) => play(args, &log),
    }
}

/// Plays the log to its end, or until the reader of standard output is gone.
fn play(args: &ReplayArgs, log: &Path) -> Result<u8, Failure> {
    let shape = args.output_format.unwrap_or(Shape::StreamJson);
    let mut pace = Pace::new(args.speed.unwrap_or(Speed::Times(1.0)), args.max_pause);
    let redaction = RedactArgs::default().redaction(&[]);
    let screen = Screen::start(redaction.as_ref())
        .map_err(|error| Failure::new(format!("failed to set up our streams: {error}")))?;
    let text = TextView::new(screen.clone(), true);
    let mut view = RecordView::new(shape, screen.clone(), text, redaction.as_ref());
    let (mut is_read, mut has_warned) = (true, false);
    let skipped = each_record(log, |record| {
        let Some(at) = record.at().filter(|_| is_read) else { return Ok(()) };
        if shape == Shape::StreamJson && is_redacted(record) && !has_warned {
            has_warned = true;
            output::say(
                "WARN raw records of this log are redacted; it cannot be played byte for byte",
            );
        }
        let played = match pace.wait_for(at) {
            Some(pause) => view.pause().map(|()| std::thread::sleep(pause)),
            None => Ok(()),
        };
        is_read = still_there(played.and_then(|()| view.record(record)))?;
        Ok(())
    })?;
    if is_read {
        still_there(view.finish())?;
    }
    screen.flush();
    warn(log, skipped);
    Ok(0)
}

/// When the next record is due.
struct Pace {
    speed: Speed,
    longest: Option<Duration>,
    began: Instant,
    last: Option<UnixMillis>,
    /// How far into the replay the last record was.
    due: Duration,
}

impl Pace {
    fn new(speed: Speed, longest: Option<Duration>) -> Pace {
        Pace { speed, longest, began: Instant::now(), last: None, due: Duration::ZERO }
    }

    /// How long to wait for what happened then, if at all. By the clock and not by what was waited:
    /// printing takes time, too.
    fn wait_for(&mut self, at: UnixMillis) -> Option<Duration> {
        let passed = self.last.map_or(Duration::ZERO, |last| at.since(last));
        self.last = Some(at);
        let Speed::Times(times) = self.speed else { return None };
        // A clock that was set by years makes a pause that no duration holds.
        let pause = Duration::try_from_secs_f64(passed.as_secs_f64() / times);
        let pause = pause.unwrap_or(Duration::MAX).min(self.longest.unwrap_or(Duration::MAX));
        self.due = self.due.saturating_add(pause);
        let left = self.due.saturating_sub(self.began.elapsed());
        (!left.is_zero()).then_some(left)
    }
}

fn is_redacted(record: &Record<'_>) -> bool {
    matches!(record.decision(), Some(DecisionRecord::LogOpened(header)) if header.redacted_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_scaled_and_bounded() {
        let left = |speed, longest, gaps: &[i64]| {
            let mut pace = Pace::new(speed, longest);
            let mut at = UnixMillis(1_000_000);
            pace.wait_for(at);
            for gap in gaps {
                at.0 += gap;
                pace.wait_for(at);
            }
            pace.due
        };
        let secs = Duration::from_secs;
        assert_eq!(left(Speed::Times(1.0), None, &[1000, 2000]), secs(3));
        assert_eq!(left(Speed::Times(10.0), None, &[1000, 9000]), secs(1));
        assert_eq!(left(Speed::Times(0.5), None, &[1000]), secs(2));
        assert_eq!(left(Speed::Times(1.0), Some(secs(2)), &[1000, 900_000]), secs(3));
        assert_eq!(left(Speed::Max, None, &[1_000_000]), secs(0));
        assert_eq!(left(Speed::Times(1.0), None, &[-5000, 1000]), secs(1), "a clock set back");
    }

    #[test]
    fn speeds_are_numbers_or_max() {
        assert_eq!(speed("max"), Ok(Speed::Max));
        assert_eq!(speed("10"), Ok(Speed::Times(10.0)));
        assert_eq!(speed("0.5x"), Ok(Speed::Times(0.5)));
        for wrong in ["", "0", "-1", "fast", "inf", "NaN", "1/2"] {
            assert!(speed(wrong).is_err(), "{wrong}");
        }
    }
}
