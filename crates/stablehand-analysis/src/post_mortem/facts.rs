//! What a log says about one run, as far as its end may depend on it.
//!
//! Owns the fold of decisions; [`events`] has that of events. Everything here is bounded: of what may
//! come often only the newest, and the count, are kept. It judges nothing.

mod again;
mod events;
mod parts;

pub(super) use again::{Again, Often, chant};
pub(super) use parts::{
    Call, End, Exited, Judged, Last, Mark, Question, Quiet, Refusal, Seen, Spoken, Stopped, Told,
};

use super::tail::Tail;
use parts::{ended, exited, few, trimmed};
use stablehand_core::decode::{Dialect, failure_of};
use stablehand_core::event::{Evidence, SessionEnd, TurnEnd};
use stablehand_core::id::SessionId;
use stablehand_core::monitor::Moved;
use stablehand_core::record::{
    AgentKilled, DecisionKind, DecisionRecord, LimitsMoved, LoggedDecision, Record, Stream,
    ToolCallCompleted,
};
use stablehand_core::text::excerpt;
use stablehand_core::time::{UnixMillis, millis};
use std::collections::BTreeMap;

/// So much of any text is kept.
pub(super) const TEXT: usize = 240;

/// The most processes of a table that are kept.
const PROCESSES: usize = 64;

/// Pauses shorter than this are not called silences.
const SILENCE_MS: u64 = 1000;

/// The longest silences that are kept.
const SILENCES: usize = 3;

/// A clock that was set back by less is one that was corrected.
const CLOCK_STEP_MS: i64 = 1000;

/// Decisions of which the last and the number are kept.
const MARKED: &[DecisionKind] = &[
    DecisionKind::AnswerRefused,
    DecisionKind::AskedToLeave,
    DecisionKind::BackgroundStopped,
    DecisionKind::CancelIgnored,
    DecisionKind::ExitOverdue,
    DecisionKind::HookRefused,
    DecisionKind::HookUnreadable,
    DecisionKind::HooksChanged,
    DecisionKind::HooksInactive,
    DecisionKind::HooksLeft,
    DecisionKind::KeeperLost,
    DecisionKind::LeaseFailed,
    DecisionKind::LeftAlone,
    DecisionKind::LimitsMoved,
    DecisionKind::LivelockSuspected,
    DecisionKind::LogDegraded,
    DecisionKind::LogRecovered,
    DecisionKind::NotContinued,
    DecisionKind::PromptRefused,
    DecisionKind::RetryScheduled,
    DecisionKind::SessionTaken,
    DecisionKind::SettingIgnored,
    DecisionKind::SignalReceived,
    DecisionKind::SpawnFailed,
    DecisionKind::ToolNotAsked,
    DecisionKind::TreeNotEmpty,
    DecisionKind::TurnCancelled,
    DecisionKind::WouldHaveKilled,
];

/// Everything about one run.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) number: u64,
    pub(super) id: String,
    pub(super) dialect: Dialect,
    pub(super) program: Option<String>,
    pub(super) agent: Option<String>,
    pub(super) agent_version: Option<String>,
    pub(super) model: Option<String>,
    pub(super) session: Option<SessionId>,
    pub(super) resumed: bool,
    pub(super) pid: Option<u32>,
    pub(super) began: Option<UnixMillis>,
    pub(super) newest: UnixMillis,
    pub(super) heard: Option<UnixMillis>,
    pub(super) clock_set_back: Option<(Seen, u64)>,
    pub(super) suspended: Option<Seen>,
    pub(super) starved: Option<Seen>,
    pub(super) busy: Option<Seen>,
    pub(super) started_at_all: bool,
    pub(super) verdict: Option<Judged>,
    pub(super) dump: Option<(UnixMillis, Evidence)>,
    pub(super) stops: Tail<Stopped>,
    pub(super) exited: Option<Exited>,
    pub(super) end: Option<End>,
    pub(super) last: Last,
    pub(super) last_words: String,
    /// The last message was told as complete.
    pub(super) spoke_out: bool,
    pub(super) lines: u64,
    pub(super) noise: Tail<Seen>,
    pub(super) unknown: Tail<Seen>,
    pub(super) torn: Option<Seen>,
    pub(super) stderr: Tail<Seen>,
    pub(super) spoken: Tail<Spoken>,
    pub(super) calls: Tail<Call>,
    pub(super) last_done: Option<Seen>,
    pub(super) presumed: Tail<Seen>,
    pub(super) failed_calls: Tail<Seen>,
    /// Calls and messages that are always the same.
    pub(super) same_calls: Again,
    pub(super) same_messages: Again,
    /// Calls that were told when they began, and those that were told when they were over.
    pub(super) told_early: u64,
    pub(super) told_late: u64,
    pub(super) progress: u64,
    pub(super) progressed: Option<UnixMillis>,
    pub(super) turn_end: Option<(Seen, TurnEnd)>,
    pub(super) retries: Tail<Seen>,
    /// Attempts that were announced, and connections that were made anew: some agents tell both of
    /// one and the same attempt.
    tries: (u64, u64),
    tries_before: u64,
    pub(super) questions: Tail<Question>,
    pub(super) refusals: Tail<Refusal>,
    pub(super) events: Tail<Told>,
    pub(super) silences: Vec<Quiet>,
    pub(super) lost_lines: u64,
    pub(super) last_line_was_lost: bool,
    /// Another run follows in the log.
    pub(super) is_followed: bool,
    marks: BTreeMap<DecisionKind, Mark>,
    records: u64,
}

impl Facts {
    pub(super) fn begin(number: u64, dialect: Dialect, program: Option<String>) -> Facts {
        Facts {
            number,
            id: String::new(),
            dialect,
            program,
            agent: None,
            agent_version: None,
            model: None,
            session: None,
            resumed: false,
            pid: None,
            began: None,
            newest: UnixMillis(0),
            heard: None,
            clock_set_back: None,
            suspended: None,
            starved: None,
            busy: None,
            started_at_all: false,
            verdict: None,
            dump: None,
            stops: Tail::of(6),
            exited: None,
            end: None,
            last: Last::Nothing,
            last_words: String::new(),
            spoke_out: false,
            lines: 0,
            noise: Tail::of(3),
            unknown: Tail::of(3),
            torn: None,
            stderr: Tail::of(5),
            spoken: Tail::of(8),
            calls: Tail::of(64),
            last_done: None,
            presumed: Tail::of(2),
            failed_calls: Tail::of(3),
            same_calls: Again::calls(),
            same_messages: Again::messages(),
            told_early: 0,
            told_late: 0,
            progress: 0,
            progressed: None,
            turn_end: None,
            retries: Tail::of(4),
            tries: (0, 0),
            tries_before: 0,
            questions: Tail::of(16),
            refusals: Tail::of(5),
            events: Tail::of(8),
            silences: Vec::new(),
            lost_lines: 0,
            last_line_was_lost: false,
            is_followed: false,
            marks: BTreeMap::new(),
            records: 0,
        }
    }

    /// Takes a record in, before the events that it tells.
    pub(super) fn record(&mut self, at: UnixMillis, record: &Record<'_>) {
        self.records += 1;
        self.last_line_was_lost = false;
        self.keep_time(at);
        match record {
            Record::Raw { stream, .. } => {
                self.hear(at);
                self.lines += u64::from(*stream == Stream::Stdout);
            }
            Record::Decision(decision) => self.decision(decision),
            Record::Foreign(_) | Record::Broken(_) => {}
        }
    }

    /// A line of this run is no record.
    pub(super) fn lost_line(&mut self) {
        self.lost_lines += 1;
        self.last_line_was_lost = true;
    }

    /// Nothing more comes.
    pub(super) fn close(&mut self, at_the_end: bool) {
        self.is_followed = !at_the_end;
        let quiet_until = match (&self.verdict, &self.exited) {
            (Some(verdict), _) => verdict.seen.at,
            (None, Some(exited)) => exited.at,
            (None, None) => self.newest,
        };
        self.note_silence(quiet_until);
    }

    /// When something was last read from the agent, or when it was started.
    pub(super) fn last_heard(&self) -> Option<UnixMillis> {
        self.heard.or(self.began)
    }

    /// Decisions of that kind, where there were any.
    pub(super) fn mark(&self, kind: DecisionKind) -> Option<&Mark> {
        self.marks.get(&kind)
    }

    /// How often the agent tried again to reach its model.
    pub(super) fn tries(&self) -> u64 {
        self.tries.0.max(self.tries.1)
    }

    /// The same since anything new came.
    pub(super) fn tries_in_vain(&self) -> u64 {
        self.tries().saturating_sub(self.tries_before)
    }

    /// Whether the agent did what it was to do.
    pub(super) fn ended_well(&self) -> bool {
        self.outcome() == Some(SessionEnd::Success)
    }

    pub(super) fn outcome(&self) -> Option<SessionEnd> {
        self.end.as_ref()?.outcome
    }

    /// When the run was over, as far as the log goes.
    pub(super) fn ended_at(&self) -> UnixMillis {
        self.end.as_ref().map_or(self.newest, |end| end.seen.at)
    }

    /// The verdict that ended the run, or that it was under when the log stops.
    pub(super) fn fatal(&self) -> Option<&Judged> {
        let judged = self.verdict.as_ref()?;
        match &self.end {
            Some(end) => (end.verdict == Some(judged.kind)
                && matches!(end.outcome, Some(SessionEnd::Hung | SessionEnd::LimitReached)))
            .then_some(judged),
            None => (!self.marks.contains_key(&DecisionKind::WouldHaveKilled)).then_some(judged),
        }
    }

    fn keep_time(&mut self, at: UnixMillis) {
        let back = self.newest.0.saturating_sub(at.0);
        // A record without a time is at the beginning of 1970.
        if at.0 > 0 && back >= CLOCK_STEP_MS {
            let seen = Seen::new(at, "time", "a record is older than the one before it");
            let most = self.clock_set_back.as_ref().map_or(0, |(_, ms)| *ms);
            let back = u64::try_from(back).unwrap_or(0);
            if back > most {
                self.clock_set_back = Some((seen, back));
            }
        }
        if at.0 > 0 {
            self.newest = at;
        }
    }

    /// Something was read from the agent now.
    fn hear(&mut self, at: UnixMillis) {
        self.note_silence(at);
        self.heard = Some(at);
    }

    fn note_silence(&mut self, at: UnixMillis) {
        let since = self.last_heard().unwrap_or(at);
        let ms = millis(at.since(since));
        if ms >= SILENCE_MS {
            let during = self.pause();
            let place = self.silences.partition_point(|quiet| quiet.ms >= ms);
            self.silences.insert(place, Quiet { from: since, ms, during });
            self.silences.truncate(SILENCES);
        }
    }

    fn decision(&mut self, decision: &LoggedDecision<'_>) {
        let (at, Some(record)) = (decision.at(), decision.record()) else { return };
        if MARKED.contains(&record.kind()) {
            let seen = Seen::new(at, decision.name(), &decision.text());
            let mark = self.marks.entry(record.kind());
            let mark = mark.or_insert_with(|| Mark { last: seen.clone(), count: 0 });
            mark.count += 1;
            mark.last = seen;
        }
        match record {
            DecisionRecord::AgentSpawned(start) | DecisionRecord::SpawnFailed(start) => {
                self.began = Some(at);
                self.heard = None;
                self.id.clone_from(&start.run.0);
                let agent = Some(&start.agent).filter(|agent| !agent.is_empty());
                self.agent = agent.map(|name| excerpt(name.as_bytes(), 40));
                self.pid = start.pid;
                self.resumed = start.resumed_from.is_some();
                self.started_at_all = record.kind() == DecisionKind::AgentSpawned;
            }
            DecisionRecord::LimitsMoved(moved) => self.limits_moved(at, moved),
            DecisionRecord::StateDump(dump) => {
                self.dump = dump.evidence.as_deref().map(|it| (at, trimmed(it.clone())));
            }
            DecisionRecord::ToolCallCompleted(closed) => self.completed(at, closed),
            DecisionRecord::AgentKilled(AgentKilled { stage, reason, left, .. }) => {
                self.stops.push(Stopped {
                    at,
                    stage: excerpt(stage.text().as_bytes(), 40),
                    reason: excerpt(reason.as_bytes(), TEXT),
                    left: few(left),
                });
            }
            DecisionRecord::AgentExited(it) => self.exited = Some(exited(at, it)),
            DecisionRecord::RunEnded(it) => self.end = Some(ended(at, it)),
            _ => {}
        }
    }

    fn limits_moved(&mut self, at: UnixMillis, moved: &LimitsMoved) {
        let seen = Some(Seen::new(at, DecisionKind::LimitsMoved.name(), &moved.text));
        match moved.cause.or_else(|| Moved::of_words(&moved.text)) {
            Some(Moved::Suspension) => self.suspended = seen,
            Some(Moved::Gap) => self.starved = seen,
            Some(Moved::Busy) => self.busy = seen,
            None => {}
        }
    }

    /// A call is over for the monitor; that may have to be presumed.
    fn completed(&mut self, at: UnixMillis, closed: &ToolCallCompleted) {
        if !closed.presumed {
            return;
        }
        let id = events::short(&closed.call_id.0);
        if let Some(call) = self.calls.take(|call| call.id == id) {
            let text = format!("`{}` never said that it was over", call.headline);
            self.presumed.push(Seen::new(at, DecisionKind::ToolCallCompleted.name(), &text));
        }
    }

    pub(super) fn speak(&mut self, at: UnixMillis, record: &str, text: &str) {
        if let Some(kind) = failure_of(text) {
            let seen = Seen::new(at, record, text);
            self.spoken.push(Spoken { seen, kind, progress: self.progress });
        }
    }
}
