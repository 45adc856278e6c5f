//! What to do after a run that did not succeed: by phase, never by hope.
//!
//! Pure decisions; whoever runs agents carries them out. Nothing done yet: the same prompt again.
//! Something may have been changed: resume the session with a prompt to look first and continue,
//! never the same prompt. Errors that another try cannot mend are not tried again.

use crate::driver::{Progress, RunReport};
use stablehand_core::event::{FailureKind, SessionEnd};
use stablehand_core::id::{SessionId, digest64};
use stablehand_core::record::RetryScheduled;
use stablehand_core::time::{human, millis};
use std::time::Duration;

/// The prompt after an interruption, unless the user has another.
pub const CONTINUE_PROMPT: &str = "You were interrupted before you had finished. \
    Look at the present state of the work first, then continue and complete the task.";

/// The waits before the first tries; the last one repeats.
const BACK_OFF: [Duration; 3] =
    [Duration::from_secs(1), Duration::from_secs(4), Duration::from_secs(15)];

/// What comes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing; it ended as it ended.
    Stop {
        /// Why it is not tried again, where one might have expected it.
        why: &'static str,
    },
    /// The same prompt, in a new session: nothing was done.
    Again {
        /// After so long.
        after: Duration,
    },
    /// The same prompt, in the same session: it was taken up, nothing was changed.
    AgainInSession {
        /// Which session.
        session: SessionId,
        /// After so long.
        after: Duration,
    },
    /// The continuation prompt, in the same session: something may have been changed.
    Continue {
        /// Which session.
        session: SessionId,
        /// After so long.
        after: Duration,
    },
}

/// How often something was tried again, and may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tries {
    /// How many further tries there have been.
    pub tried: u32,
    /// How many there may be.
    pub allowed: u32,
}

/// What the log says of a further try: the fields of `retry_scheduled`. Nothing where there is none.
pub fn on_record(report: &RunReport, tried: u32, next: &Next) -> Option<RetryScheduled> {
    let (after, session, same) = match next {
        Next::Stop { .. } => return None,
        Next::Again { after } => (*after, None, true),
        Next::AgainInSession { session, after } => (*after, Some(session), true),
        Next::Continue { session, after } => (*after, Some(session), false),
    };
    let what = if same { "the same prompt" } else { "the continuation prompt" };
    Some(RetryScheduled {
        attempt: tried.saturating_add(2),
        after_ms: millis(after),
        session_id: session.cloned(),
        same_prompt: same,
        text: format!("{}; trying again with {what} in {}", report.summary(), human(after)),
    })
}

/// Decides what comes after a run. `tried` is how many further tries there have been.
pub fn next(report: &RunReport, tried: u32, allowed: u32) -> Next {
    let stop = |why| Next::Stop { why };
    match report.end.end {
        SessionEnd::Hung | SessionEnd::NoResult | SessionEnd::Truncated => {}
        SessionEnd::Success | SessionEnd::AgentError => return stop(""),
        SessionEnd::LimitReached => return stop("a limit was reached"),
        SessionEnd::Interrupted | SessionEnd::ReaderGone => return stop("it was interrupted"),
        SessionEnd::SpawnFailed => return stop("the agent could not be started"),
        SessionEnd::Internal => return stop("the run could not go on"),
    }
    if tried >= allowed {
        return stop(if allowed == 0 { "" } else { "all tries are used up" });
    }
    if !report.survivors.is_empty() {
        return stop("processes of the last run are still alive");
    }
    if let Some(why) = report.failure_kind().and_then(hopeless) {
        return stop(why);
    }
    let seed = report.session.as_ref().map_or(0, |id| digest64(id.0.as_bytes()));
    let after = back_off(tried, seed ^ u64::from(std::process::id()));
    match (report.progress, report.session.clone().filter(SessionId::is_safe_argument)) {
        (Progress::Nothing, _) | (Progress::Started | Progress::Answered, None) => {
            Next::Again { after }
        }
        (Progress::Started | Progress::Answered, Some(session)) => {
            Next::AgainInSession { session, after }
        }
        (Progress::SideEffects, Some(session)) => Next::Continue { session, after },
        (Progress::SideEffects, None) => {
            stop("something may have been changed and the session is unknown")
        }
    }
}

/// Failures that another try cannot mend, as far as the agent's last words or its exit code tell.
fn hopeless(failure: FailureKind) -> Option<&'static str> {
    match failure {
        FailureKind::Auth => Some("the agent is not logged in"),
        FailureKind::Approval => Some("an approval or the trust of the workspace is missing"),
        FailureKind::BadModel => Some("the model cannot be used"),
        FailureKind::Quota => Some("the usage limit is reached"),
        FailureKind::BadRequest => Some("the agent refused the request"),
        FailureKind::ContextLength => Some("the conversation is too long"),
        // Too many requests, overload, the network, a tool, the agent itself: they pass.
        _ => None,
    }
}

/// Longer each time, and not the same for all: many runs that failed together must not come back
/// together.
fn back_off(tried: u32, seed: u64) -> Duration {
    let last = BACK_OFF.len() - 1;
    let base = BACK_OFF.get((tried as usize).min(last)).copied().unwrap_or_default();
    let spread = digest64(&(seed ^ u64::from(tried)).to_le_bytes()) % 500;
    base.mul_f64(0.75 + spread as f64 / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::continuation::Continuations;
    use crate::driver::Ending;
    use stablehand_core::event::{EndedBy, ProcessExit};

    fn report(end: SessionEnd, progress: Progress, session: Option<&str>) -> RunReport {
        RunReport {
            end: Ending { end, by: EndedBy::Supervisor, signal: None },
            exit: ProcessExit::Code(1),
            forced: true,
            leaked: Vec::new(),
            survivors: Vec::new(),
            session: session.map(|id| SessionId(id.into())),
            progress,
            result: None,
            verdict: None,
            failure: None,
            usage: None,
            last_text: None,
            stderr_tail: None,
            bytes: 0,
            digest: None,
            elapsed: Duration::ZERO,
            model: None,
            tool_calls: 0,
            denials: 0,
            denied: Vec::new(),
            meaning: None,
            error: None,
            finished: true,
            continuations: Continuations::default(),
            continued: None,
            prompt: None,
            tried: 0,
            again: false,
        }
    }

    fn kind(next: &Next) -> &'static str {
        match next {
            Next::Stop { .. } => "stop",
            Next::Again { .. } => "again",
            Next::AgainInSession { .. } => "again in session",
            Next::Continue { .. } => "continue",
        }
    }

    #[test]
    fn by_phase() {
        use Progress::{Answered, Nothing, SideEffects, Started};
        let table = [
            (SessionEnd::Success, SideEffects, Some("s"), "stop"),
            (SessionEnd::Hung, Nothing, None, "again"),
            (SessionEnd::Hung, Started, Some("s"), "again in session"),
            (SessionEnd::Hung, Answered, Some("s"), "again in session"),
            (SessionEnd::Hung, SideEffects, Some("s"), "continue"),
            (SessionEnd::Hung, SideEffects, None, "stop"),
            (SessionEnd::Hung, SideEffects, Some("--force"), "stop"),
            (SessionEnd::NoResult, SideEffects, Some("s"), "continue"),
            (SessionEnd::Truncated, Nothing, None, "again"),
            (SessionEnd::AgentError, Started, Some("s"), "stop"),
            (SessionEnd::LimitReached, Started, Some("s"), "stop"),
            (SessionEnd::Interrupted, Nothing, None, "stop"),
            (SessionEnd::SpawnFailed, Nothing, None, "stop"),
        ];
        for (end, progress, session, expected) in table {
            let found = next(&report(end, progress, session), 0, 3);
            assert_eq!(kind(&found), expected, "{end:?} {progress:?} {session:?}");
        }
    }

    #[test]
    fn not_more_often_than_allowed_and_not_without_hope() {
        let hung = report(SessionEnd::Hung, Progress::Nothing, None);
        assert_eq!(kind(&next(&hung, 0, 0)), "stop");
        assert_eq!(kind(&next(&hung, 1, 2)), "again");
        assert_eq!(kind(&next(&hung, 2, 2)), "stop");
        let mut auth = report(SessionEnd::NoResult, Progress::Nothing, None);
        auth.stderr_tail = Some("Error: Authentication required. Please run 'agent login'".into());
        assert_eq!(kind(&next(&auth, 0, 3)), "stop");
    }

    #[test]
    fn the_waits_grow_and_differ() {
        assert!(back_off(0, 1) < back_off(1, 1) && back_off(1, 1) < back_off(2, 1));
        assert!(back_off(9, 1) < Duration::from_secs(20));
        assert_ne!(back_off(0, 1), back_off(0, 2));
    }
}
