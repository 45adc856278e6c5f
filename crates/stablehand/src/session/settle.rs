//! Between two runs: the readers of the agent's bytes get everything, and the bytes are compared.

use crate::control::{Request, Requests};
use crate::driver::{Faces, RunReport};
use crate::log::Log;
use crate::sink::{PassThrough, digest_of_log};
use stablehand_core::event::SessionEnd;
use stablehand_core::record::{Stream, Verified};
use std::time::{Duration, Instant};

/// What a reader gets to take the rest after a signal.
const LAST_CALL: Duration = Duration::from_millis(300);

/// One wait for a slow reader, between two looks at the requests.
const SETTLE: Duration = Duration::from_millis(50);

/// While the log cannot be written, what a reader has not taken is in memory only. One that takes
/// nothing for so long, once the tree is gone, is given up: the disk may stay full for ever.
const STUCK: Duration = Duration::from_secs(5);

/// Waits until the readers have everything or are gone, or until a signal ends the wait, which it
/// returns. The agent's tree is gone by now, so only the readers depend on it.
pub(super) fn settle(
    report: &RunReport,
    log: &mut Log,
    faces: &mut Faces,
    requests: &Requests,
) -> Option<i32> {
    log.flush();
    // After an interrupt we do not wait for a reader that may never come back.
    let until = match report.end.end {
        SessionEnd::Interrupted | SessionEnd::ReaderGone => Some(Instant::now() + LAST_CALL),
        _ => None,
    };
    let mut taken = (0, Instant::now());
    loop {
        if until.is_some_and(|until| Instant::now() >= until) {
            return None;
        }
        let sent =
            [&faces.stdout, &faces.stderr].into_iter().flatten().map(PassThrough::sent).sum();
        if sent != taken.0 {
            taken = (sent, Instant::now());
        }
        log.flush();
        if log.is_degraded() && taken.1.elapsed() >= STUCK {
            let sinks = [&mut faces.stdout, &mut faces.stderr].into_iter().flatten();
            let missed = sinks.map(|sink| sink.give_up(log.position())).sum();
            log.count_missed(missed);
            return None;
        }
        let sinks = [&mut faces.stdout, &mut faces.stderr].into_iter().flatten();
        let mut waiting = false;
        for sink in sinks.filter(|sink| !sink.is_caught_up()) {
            waiting = true;
            sink.settle(SETTLE);
        }
        if !waiting {
            return None;
        }
        let is_stop = |request: &Request| matches!(request, Request::Stop { .. });
        if let Some(Request::Stop { signal, .. }) = requests.take(is_stop) {
            return Some(signal);
        }
    }
}

/// Compares what was read in a run with what was written and logged since `began`, and puts it on
/// record.
pub(super) fn verify(report: &RunReport, began: u64, log: &mut Log, faces: &Faces) -> Verified {
    log.flush();
    let written = faces.stdout.as_ref().map(PassThrough::written);
    let logged = digest_of_log(log.tail(began), Stream::Stdout);
    let same_out = written.as_ref().is_none_or(|w| w.0 == report.bytes && w.1 == report.digest);
    // A log that was redacted is another text.
    let is_raw = !log.redaction().is_some_and(|redaction| redaction.raw);
    let same_log = !is_raw || logged.0 == report.bytes && Some(&logged.1) == report.digest.as_ref();
    let out = match &written {
        Some((bytes, _)) => format!("{bytes} bytes written"),
        None => "nothing passed through".into(),
    };
    let text = format!(
        "verify: {} bytes read, {out}, {} bytes in the log{}: {} (sha256 {})",
        report.bytes,
        logged.0,
        if is_raw { "" } else { " (redacted, not compared)" },
        if same_out && same_log { "identical" } else { "DIFFERENT" },
        report.digest.as_deref().unwrap_or("unknown")
    );
    let verified = Verified {
        in_bytes: report.bytes,
        in_sha256: report.digest.clone(),
        out_bytes: written.as_ref().map(|w| w.0),
        out_sha256: written.and_then(|w| w.1),
        log_bytes: logged.0,
        log_sha256: logged.1,
        identical: same_out && same_log,
        text,
    };
    log.decide(verified.clone(), None);
    verified
}
