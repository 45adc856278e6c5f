//! The report: what a person or a program is told about one run.
//!
//! Owns the shape and its JSON form. Times stand twice in it: when, and how long before the end.

use super::Sure;
use super::causes::{self, CauseKind, Finding};
use super::facts::{Facts, Seen};
use super::words;
use serde::Serialize;
use stablehand_core::event::{
    EndedBy, Evidence, FailureKind, ProcessExit, ProcessRow, SessionEnd, VerdictKind,
};
use stablehand_core::time::UnixMillis;

/// One run, and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Which run.
    pub run: RunRef,
    /// Whether anything is wrong.
    pub standing: Standing,
    /// How it ended.
    pub ended: Ended,
    /// What the agent was doing.
    pub doing: String,
    /// What explains the end, the surest first. Empty for a run that ended well, and where it
    /// cannot be told.
    pub causes: Vec<Cause>,
    /// What is good to know beside that.
    pub remarks: Vec<Cause>,
    /// The verdict, or the last one with `--observe-only`, with the processes at that moment.
    pub verdict: Option<Verdict>,
    /// What the last `SIGQUIT` showed.
    pub state_dump: Option<Verdict>,
    /// How it was stopped.
    pub stops: Vec<Stop>,
    /// Who outlived the agent, and was stopped.
    pub left_behind: Vec<ProcessRow>,
    /// Who could not be stopped.
    pub survivors: Vec<ProcessRow>,
    /// What came last.
    pub last_events: Vec<Note>,
    /// The longest pauses, longest first.
    pub silences: Vec<Silence>,
    /// When the agent tried again, the last few.
    pub retries: Vec<Note>,
    /// How often it did.
    pub retry_count: u64,
    /// What was denied, or answered for nobody, the last few.
    pub refusals: Vec<Note>,
    /// The end of standard error.
    pub stderr: Vec<Note>,
    /// How many lines of the whole log are no records.
    pub skipped_lines: u64,
    /// The version of the log's format, where it is newer than this program.
    pub newer_format: Option<i64>,
}

/// Which run, and of whom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunRef {
    /// Its place in the log, from one.
    pub number: u64,
    /// How many the log has.
    pub of: u64,
    /// Our id of it.
    pub id: String,
    /// The agent, as we call it.
    pub agent: Option<String>,
    /// Its version, where it says so.
    pub agent_version: Option<String>,
    /// What it speaks.
    pub dialect: &'static str,
    /// The model.
    pub model: Option<String>,
    /// The agent's id of the session.
    pub session: Option<String>,
    /// When it began.
    pub began: Option<String>,
    /// When it was over, as far as the log goes.
    pub ended: String,
    /// How long it took.
    pub elapsed_ms: u64,
}

/// Whether anything is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It ended well.
    Well,
    /// It did not, and there is a cause.
    Explained,
    /// It did not, and it cannot be told why.
    Unexplained,
    /// The log has no end of it.
    Open,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ended {
    /// In one word.
    pub outcome: Option<SessionEnd>,
    /// By whom.
    pub by: Option<EndedBy>,
    /// Our exit code for it.
    pub exit_code: Option<i64>,
    /// How the agent's process ended.
    pub agent: Option<ProcessExit>,
    /// Whether we had to stop it.
    pub forced: bool,
    /// The kind of verdict.
    pub verdict: Option<VerdictKind>,
    /// What the agent says went wrong.
    pub failure: Option<FailureKind>,
    /// For a person.
    pub text: String,
}

/// A cause that fits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// Which.
    pub cause: CauseKind,
    /// How sure we are.
    pub sure: Sure,
    /// For a person.
    pub text: String,
    /// What it rests on.
    pub evidence: Vec<Note>,
    /// What to change, the best first.
    pub change: Vec<String>,
}

/// Something in the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    /// When.
    pub time: String,
    /// How long before the end of the run; negative for what came after it.
    pub before_end_ms: i64,
    /// The name of the record or event.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub record: String,
    /// What it says.
    pub text: String,
    /// How often, one after another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
}

/// A verdict, or a look at the state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// When.
    pub time: String,
    /// How long before the end of the run.
    pub before_end_ms: i64,
    /// What it says.
    pub text: String,
    /// What it rests on, with the processes.
    pub evidence: Evidence,
}

/// A stage of a stop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stop {
    /// When.
    pub time: String,
    /// How long before the end of the run.
    pub before_end_ms: i64,
    /// `interrupt`, `terminate` or `kill`.
    pub stage: String,
    /// Why.
    pub reason: String,
    /// Who was there.
    pub left: Vec<ProcessRow>,
}

/// A pause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Silence {
    /// When it began.
    pub time: String,
    /// How long before the end of the run.
    pub before_end_ms: i64,
    /// How long it was.
    pub ms: u64,
    /// What was going on.
    pub during: String,
}

impl Report {
    pub(super) fn of(facts: &Facts, runs: u64, skipped: u64, newer: Option<i64>) -> Report {
        let (causes, remarks) = causes::find(facts);
        let clock = Clock { end: facts.ended_at() };
        let standing = match (&facts.end, causes.is_empty()) {
            (None, _) => Standing::Open,
            (Some(_), _) if facts.ended_well() => Standing::Well,
            (Some(_), false) => Standing::Explained,
            (Some(_), true) => Standing::Unexplained,
        };
        let exited = facts.exited.as_ref();
        Report {
            run: run_ref(facts, runs),
            standing,
            ended: ended(facts),
            doing: facts.doing(),
            causes: causes.into_iter().map(|finding| clock.cause(finding)).collect(),
            remarks: remarks.into_iter().map(|finding| clock.cause(finding)).collect(),
            verdict: facts.verdict.as_ref().map(|judged| {
                clock.verdict(judged.seen.at, judged.seen.text.clone(), &judged.evidence)
            }),
            state_dump: facts.dump.as_ref().map(|(at, evidence)| {
                clock.verdict(*at, "asked for by SIGQUIT".to_owned(), evidence)
            }),
            stops: facts
                .stops
                .iter()
                .map(|stop| Stop {
                    time: stop.at.rfc3339(),
                    before_end_ms: clock.before_end(stop.at),
                    stage: stop.stage.clone(),
                    reason: stop.reason.clone(),
                    left: stop.left.clone(),
                })
                .collect(),
            left_behind: exited.map(|exited| exited.leaked.clone()).unwrap_or_default(),
            survivors: exited.map(|exited| exited.survivors.clone()).unwrap_or_default(),
            last_events: facts
                .events
                .iter()
                .map(|told| {
                    let count = (told.count > 1).then_some(told.count);
                    Note { count, ..clock.note(&Seen::new(told.at, "", &told.what)) }
                })
                .collect(),
            silences: facts
                .silences
                .iter()
                .map(|quiet| Silence {
                    time: quiet.from.rfc3339(),
                    before_end_ms: clock.before_end(quiet.from),
                    ms: quiet.ms,
                    during: quiet.during.clone(),
                })
                .collect(),
            retries: facts.retries.iter().map(|seen| clock.note(seen)).collect(),
            retry_count: facts.tries(),
            refusals: facts.refusals.iter().map(|refusal| clock.note(&refusal.seen)).collect(),
            stderr: facts.stderr.iter().map(|seen| clock.note(seen)).collect(),
            skipped_lines: skipped,
            newer_format: newer,
        }
    }
}

fn run_ref(facts: &Facts, runs: u64) -> RunRef {
    let began = facts.began.unwrap_or(facts.newest);
    let elapsed = facts.end.as_ref().and_then(|end| end.elapsed_ms);
    RunRef {
        number: facts.number,
        of: runs,
        id: stablehand_core::text::excerpt(facts.id.as_bytes(), super::facts::TEXT),
        agent: facts.agent.clone(),
        agent_version: facts.agent_version.clone(),
        dialect: facts.dialect.name(),
        model: facts.model.clone(),
        session: facts
            .session
            .as_ref()
            .map(|id| stablehand_core::text::excerpt(id.0.as_bytes(), super::facts::TEXT)),
        began: facts.began.map(UnixMillis::rfc3339),
        ended: facts.ended_at().rfc3339(),
        elapsed_ms: elapsed
            .unwrap_or_else(|| stablehand_core::time::millis(facts.ended_at().since(began))),
    }
}

fn ended(facts: &Facts) -> Ended {
    let end = facts.end.as_ref();
    let text = match end {
        Some(end) if !end.seen.text.is_empty() => end.seen.text.clone(),
        Some(end) => words::of_outcome_of_run(end.outcome).to_owned(),
        None => "the log has no end of this run".to_owned(),
    };
    Ended {
        outcome: facts.outcome(),
        by: end.and_then(|end| end.by),
        exit_code: end.and_then(|end| end.exit_code),
        agent: facts.exited.as_ref().map(|exited| exited.exit),
        forced: facts.exited.as_ref().is_some_and(|exited| exited.forced),
        verdict: end.and_then(|end| end.verdict),
        failure: end.and_then(|end| end.failure),
        text,
    }
}

/// Times are told from the end.
#[derive(Clone, Copy, Debug)]
struct Clock {
    end: UnixMillis,
}

impl Clock {
    fn before_end(self, at: UnixMillis) -> i64 {
        self.end.0.saturating_sub(at.0)
    }

    fn note(self, seen: &Seen) -> Note {
        Note {
            time: seen.at.rfc3339(),
            before_end_ms: self.before_end(seen.at),
            record: seen.record.clone(),
            text: seen.text.clone(),
            count: None,
        }
    }

    fn verdict(self, at: UnixMillis, text: String, evidence: &Evidence) -> Verdict {
        let (time, before_end_ms) = (at.rfc3339(), self.before_end(at));
        Verdict { time, before_end_ms, text, evidence: evidence.clone() }
    }

    fn cause(self, finding: Finding) -> Cause {
        Cause {
            cause: finding.kind,
            sure: finding.sure,
            text: finding.why,
            evidence: finding.seen.iter().map(|seen| self.note(seen)).collect(),
            change: finding.change,
        }
    }
}
