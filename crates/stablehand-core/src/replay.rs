//! From the records of a log to stamped events: live, and the same again years later.
//!
//! Every face that shows events reads them here, so live and replayed runs cannot differ. Owns the
//! sequence numbers: they follow from the order of the log alone. Reads no file; whoever follows
//! one hands its records in.

mod hooked;
mod saved;
mod session;

pub use saved::STATE_VERSION;

use crate::decode::{Decode, Depth, Dialect};
use crate::event::{Event, EventKind, Origin};
use crate::id::{RunId, Seq, SessionId, TurnId};
use crate::json::{self, Memo, Object};
use crate::line::{Line, Part, WHOLE_LIMIT};
use crate::record::{
    DecisionKind, DecisionRecord, LogReader, LoggedDecision, Reader, Record, RunStart, Stream,
    TerminalResized,
};
use crate::terminal::TerminalSize;
use crate::time::UnixMillis;
use hooked::Hooked;
use session::SessionView;
use std::collections::VecDeque;

/// So many answers are remembered within a turn.
const MOST_ANSWERED: usize = 1024;

/// The decisions whose fields say something about events.
const MATTERS: &[DecisionKind] = &[
    DecisionKind::AgentSpawned,
    DecisionKind::SpawnFailed,
    DecisionKind::PromptGiven,
    DecisionKind::TerminalResized,
    DecisionKind::ScreenSettled,
    DecisionKind::ResultStands,
    DecisionKind::AgentExited,
    DecisionKind::HookReceived,
];

/// A fact without its stamp.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// When we received or decided it.
    pub at: UnixMillis,
    /// Who says so.
    pub origin: Origin,
    /// What happened.
    pub kind: EventKind,
}

/// Turns records into events.
pub struct EventReader {
    log: LogReader,
    decoder: Box<dyn Decode>,
    memo: Memo,
    depth: Depth,
    seq: Seq,
    run: RunId,
    session: Option<SessionId>,
    stdout: Reader,
    stderr: Reader,
    kinds: Vec<EventKind>,
    hooked: Hooked,
    /// None where single runs are told, and not the session.
    view: Option<SessionView>,
    told: Vec<Told>,
    /// A prompt that we gave, until the agent takes it up.
    prompt: Option<String>,
    /// A result came that was not the last one of its turn: what the agent does by itself after it
    /// belongs to the same turn.
    is_early: bool,
    /// Questions that we answered. Some agents show the answer once more in what became of the
    /// call; it is told once.
    answered: VecDeque<String>,
}

impl std::fmt::Debug for EventReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventReader")
            .field("log", &self.log)
            .field("seq", &self.seq)
            .field("run", &self.run)
            .finish_non_exhaustive()
    }
}

impl EventReader {
    /// A reader for logs whose agent speaks `dialect`, until the log itself names another.
    pub fn new(dialect: Dialect, depth: Depth) -> Self {
        EventReader::of(LogReader::resume(dialect, 0), depth)
    }

    /// A reader for what `log` reads next.
    pub fn of(log: LogReader, depth: Depth) -> Self {
        EventReader {
            decoder: log.dialect().decoder(),
            log,
            memo: Memo::default(),
            depth,
            seq: Seq(0),
            run: RunId(String::new()),
            session: None,
            stdout: Reader::default(),
            stderr: Reader::default(),
            kinds: Vec::new(),
            hooked: Hooked::default(),
            view: Some(SessionView::default()),
            told: Vec::new(),
            prompt: None,
            is_early: false,
            answered: VecDeque::new(),
        }
    }

    /// Tells turns and questions as the agent's processes do, for readers that are about single runs.
    #[must_use]
    pub fn of_runs(mut self) -> Self {
        self.view = None;
        self
    }

    /// The log, as far as it was read: its dialect, its header, its damage.
    pub fn log(&self) -> &LogReader {
        &self.log
    }

    /// Takes the next record and appends what the session tells with it.
    pub fn record(&mut self, record: &Record<'_>, out: &mut Vec<Event>) {
        let mut told = std::mem::take(&mut self.told);
        if let (Record::Decision(decision), Some(view)) = (record, &mut self.view)
            && session::matters(decision.kind())
            && let Some(fields) = decision.record()
        {
            view.decision(fields);
            if session::is_of_session(decision.kind())
                && let Some(event) = decision.event()
            {
                let (kind, turn) = view.own(fields, event);
                if let DecisionRecord::TurnStarted(started) = fields {
                    self.run.clone_from(&started.run);
                }
                let told = Told { at: decision.at(), origin: Origin::Supervisor, kind };
                self.stamped(told, turn, out);
            }
        }
        self.tell(record, &mut told);
        let settled = settled(&told);
        for mut told in told.drain(..) {
            let mut turn = None;
            if let Some(view) = &mut self.view {
                let Some(kind) = view.tell(told.origin, told.kind, &settled) else { continue };
                (told.kind, turn) = (kind, view.turn());
            }
            self.stamped(told, turn, out);
        }
        self.told = told;
    }

    fn stamped(&mut self, told: Told, turn: Option<TurnId>, out: &mut Vec<Event>) {
        let Told { at, origin, kind } = told;
        if let EventKind::SessionStarted { native_id, .. } = &kind {
            self.session = Some(native_id.clone());
        }
        self.seq.0 += 1;
        let (session, run) = (self.session.clone(), self.run.clone());
        let event = Event::stamp(self.seq, at, session, run, origin, kind);
        out.push(Event { turn, ..event });
    }

    /// Appends what the run tells, without stamps: turns as the agent's processes see them, for
    /// readers that count runs and show none. Use one of both: only stamped events are numbered.
    pub fn tell(&mut self, record: &Record<'_>, out: &mut Vec<Told>) {
        if self.log.take(record) {
            self.restart();
        }
        match record {
            Record::Raw { stream, at, bytes, part, last, newline } => {
                self.raw(*stream, *at, bytes, *part, *last, *newline, out);
            }
            Record::Decision(decision) => self.decision(decision, out),
            Record::Foreign(_) | Record::Broken(_) => {}
        }
    }

    /// A new process says everything anew, its session too; so does its decoder.
    fn restart(&mut self) {
        self.decoder = self.log.dialect().decoder();
        self.session = None;
        self.hooked = Hooked::default();
        self.answered.clear();
        self.is_early = false;
        self.prompt = None;
        self.stdout.forget();
        self.stderr.forget();
    }

    fn decision(&mut self, decision: &LoggedDecision<'_>, out: &mut Vec<Told>) {
        // The fields of most decisions matter to others, so they are not even read here.
        let kind = decision.kind().filter(|kind| MATTERS.contains(kind));
        let (at, record) = (decision.at(), kind.and_then(|_| decision.record()));
        if let Some(start) = record.and_then(DecisionRecord::run_start) {
            self.restart();
            if !start.run.0.is_empty() {
                self.run = start.run.clone();
            }
        }
        if let Some(DecisionRecord::PromptGiven(given)) = record {
            self.is_early = false;
            self.prompt.clone_from(&given.text);
        }
        overheard(decision, |object| self.decoder.overhear(object));
        // What we did to the terminal of an agent that has one, its decoder has to do again.
        if let (Some(record), Some(decoder)) = (record, self.decoder.as_terminal()) {
            if let Some(size) = size_of(record) {
                decoder.terminal().resize(size);
            }
            if let DecisionRecord::ScreenSettled(_) = record {
                decoder.settle(self.depth, &mut self.kinds);
            }
        }
        self.stamp(at, Origin::Agent, out);
        if let Some(DecisionRecord::AgentExited(_) | DecisionRecord::ResultStands(_)) = record {
            self.decoder.finish(self.depth, &mut self.kinds);
            if let Some(DecisionRecord::AgentExited(exited)) = record
                && !exited.left_by_itself()
            {
                // Another result might have followed.
                self.kinds.retain(|kind| !matches!(kind, EventKind::TurnEnded { .. }));
            }
            self.stamp(at, Origin::Agent, out);
        }
        if let Some(event) = decision.event().filter(|_| !session::is_of_session(decision.kind())) {
            let origin = self.ours(event, record);
            self.stamp(at, origin, out);
        }
    }

    /// An event that is in the log as such, and what follows from it; where it came from.
    fn ours(&mut self, event: EventKind, record: Option<&DecisionRecord>) -> Origin {
        let EventKind::HookReceived { name, payload, .. } = &event else {
            self.kinds.push(event);
            return Origin::Supervisor;
        };
        let agent = match record {
            Some(DecisionRecord::HookReceived(hook)) => hook.agent.as_str(),
            _ => "",
        };
        let mut more = Vec::new();
        self.hooked.tell(agent, name, payload, &mut more);
        self.kinds.push(event);
        self.kinds.append(&mut more);
        Origin::Hook
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of one record")]
    fn raw(
        &mut self,
        stream: Stream,
        at: UnixMillis,
        bytes: &[u8],
        part: bool,
        last: bool,
        newline: bool,
        out: &mut Vec<Told>,
    ) {
        let reader = match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        if self.log.dialect() == Dialect::Terminal && stream == Stream::Stdout {
            // A screen has no lines: what was written in parts is drawn in parts.
            let line = Line { bytes, offset: 0, part: Part::Middle, newline };
            self.decoder.line(&line, &json::Scan::Text, self.depth, &mut self.kinds);
            return self.stamp(at, Origin::Agent, out);
        }
        let joined;
        let (bytes, cut) = if part {
            let Some((whole, cut)) = reader.join(bytes, last, WHOLE_LIMIT) else { return };
            joined = whole;
            (joined.as_slice(), cut)
        } else {
            reader.forget();
            (bytes, false)
        };
        match stream {
            Stream::Stdout => {
                let part = if cut { Part::First } else { Part::Whole };
                let line = Line { bytes, offset: 0, part, newline };
                let scan = if cut { json::Scan::Text } else { self.memo.scan(bytes) };
                self.decoder.line(&line, &scan, self.depth, &mut self.kinds);
                self.stamp(at, Origin::Agent, out);
            }
            Stream::Stderr => {
                let text = String::from_utf8_lossy(bytes).into_owned();
                self.kinds.push(EventKind::ProcessStderr { text });
                self.stamp(at, Origin::Agent, out);
            }
        }
    }

    fn stamp(&mut self, at: UnixMillis, origin: Origin, out: &mut Vec<Told>) {
        for mut kind in self.kinds.drain(..) {
            if origin == Origin::Agent {
                self.hooked.saw(&kind);
            }
            match &mut kind {
                EventKind::TurnStarted { .. } if self.is_early => continue,
                EventKind::TurnResult { .. } => self.is_early = true,
                // Few agents repeat what they were asked.
                EventKind::TurnStarted { prompt, .. } => {
                    let given = self.prompt.take();
                    if prompt.is_none() {
                        *prompt = given;
                    }
                }
                EventKind::ApprovalResolved { id, .. } => {
                    if self.answered.contains(id) {
                        continue;
                    }
                    if self.answered.len() == MOST_ANSWERED {
                        self.answered.pop_front();
                    }
                    self.answered.push_back(id.clone());
                }
                // An id may be used again for another question.
                EventKind::ApprovalRequested { id, .. } => self.answered.retain(|it| it != id),
                EventKind::TurnEnded { .. } => {
                    self.is_early = false;
                    self.answered.clear();
                }
                _ => {}
            }
            out.push(Told { at, origin, kind });
        }
    }
}

/// The questions that one record answers; nearly all answer none.
fn settled(told: &[Told]) -> Vec<String> {
    let answered = |told: &Told| match &told.kind {
        EventKind::ApprovalResolved { id, .. } => Some(id.clone()),
        _ => None,
    };
    told.iter().filter_map(answered).collect()
}

/// Hands what a client said to the agent to `hear`, where the decision is that it did.
pub fn overheard(decision: &LoggedDecision<'_>, hear: impl FnOnce(&Object<'_>)) {
    if decision.kind() != Some(DecisionKind::ClientSaid) {
        return;
    }
    // From the record itself: a line may be long, and reading it into its type is a copy.
    let Some(line) = decision.fields().get("line") else { return };
    if let json::Scan::Object(object) = json::scan(line.raw()) {
        hear(&object);
    }
}

/// The size that a terminal has from this record on.
pub fn size_of(record: &DecisionRecord) -> Option<TerminalSize> {
    match record {
        DecisionRecord::AgentSpawned(RunStart { cols, rows, .. })
        | DecisionRecord::TerminalResized(TerminalResized { cols, rows }) => {
            Some(TerminalSize::new((*cols)?, (*rows)?))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_run_has_its_own_id_and_no_session_yet() {
        let log = [
            r#"{"msg":"agent_spawned","ts":1,"run":"r1","event":{"type":"process.spawned","pid":1,"argv":[]}}"#,
            r#"{"msg":"raw_event","recv_ts":2,"raw":{"type":"system","subtype":"init","session_id":"s1"}}"#,
            r#"{"msg":"agent_spawned","ts":3,"run":"r2","event":{"type":"process.spawned","pid":2,"argv":[]}}"#,
            r#"{"msg":"raw_event","recv_ts":4,"raw":{"type":"system","subtype":"init","session_id":"s1"}}"#,
            r#"{"msg":"spawn_failed","ts":5,"run":"r3"}"#,
            r#"{"msg":"run_ended","ts":6,"event":{"type":"session.ended","end":"spawn_failed","ended_by":"agent"}}"#,
        ];
        let mut reader = EventReader::new(Dialect::Cursor, Depth::Full);
        let mut events = Vec::new();
        for line in log {
            reader.record(&Record::read(line.as_bytes()), &mut events);
        }
        let told: Vec<_> = events
            .iter()
            .map(|e| (e.event.name(), e.run.0.as_str(), e.session.as_ref().map(|s| s.0.as_str())))
            .collect();
        assert_eq!(
            told,
            [
                ("process.spawned", "r1", None),
                ("session.started", "r1", Some("s1")),
                ("process.spawned", "r2", None),
                ("session.started", "r2", Some("s1")),
                ("session.ended", "r3", None),
            ]
        );
    }
}
