//! The events of a session on their way to the editor: what happened before, and what happens.
//!
//! Owns the subscription and the thread that reads it. A session that is over is read to its end; of
//! one that runs, everything up to now is history, and the same subscription goes on from there.

use super::updates::chunk;
use super::worker::{Word, Worker};
use crate::ask::{Note, Question};
use crate::sessions::read::each_event;
use agent_client_protocol::v1::schema::SessionUpdate;
use stablehand::clock::unix_now;
use stablehand::host::SessionState;
use stablehand::{From, Subscription};
use stablehand_core::Event;
use stablehand_core::event::{EventKind, NoticeLevel};
use std::sync::Arc;
use std::time::Duration;

/// History of a session that runs is complete when nothing came for so long: its log is looked at
/// every 25 ms.
const QUIET: Duration = Duration::from_millis(200);

/// What an editor gets to see of the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Past {
    /// Everything (`session/load`).
    Told,
    /// Nothing (`session/new`, `session/resume`).
    Untold,
}

impl Worker {
    /// Reads the past of the session, tells it where that is wanted, and follows a session that runs.
    pub(super) fn begin(&mut self, past: Past) {
        if self.target.is_unlogged {
            let text = "There is no log of this session, so it begins anew.";
            let mut out = Vec::new();
            self.updates.notice(NoticeLevel::Info, text, None, &mut out);
            for update in out {
                self.send(update);
            }
        }
        if past == Past::Told {
            for log in std::mem::take(&mut self.target.old_logs) {
                // A log that is gone takes nothing else with it.
                let _gone = each_event(&log, |event| Ok(self.tell_old(event)));
            }
            for key in std::mem::take(&mut self.target.earlier) {
                let frames = self.house.host.subscribe(key, From::Start);
                for frame in frames.into_iter().flatten() {
                    if !self.tell_old(&frame.event) {
                        return;
                    }
                }
            }
        }
        let Some(summary) = self.house.host.find(self.target.key) else { return };
        let runs = summary.state != SessionState::Over;
        if past == Past::Untold && !runs {
            return;
        }
        let Ok(mut events) = self.house.host.subscribe(self.target.key, From::Start) else {
            return;
        };
        let waiting = self.read_past(&mut events, past, runs);
        self.tell_cost(self.tokens);
        if runs {
            for question in waiting {
                self.questions.ask(&question, &self.id, &mut self.updates);
            }
            self.follow(events);
        }
    }

    /// Reads events up to now. Returns the approvals that still wait.
    fn read_past(&mut self, events: &mut Subscription, past: Past, runs: bool) -> Vec<Question> {
        let began = unix_now();
        let mut waiting: Vec<Question> = Vec::new();
        // A session that is over is read to its end, which may take its time.
        let bound = if runs { QUIET } else { Duration::MAX };
        while let Ok(frame) = events.next_timeout(bound) {
            self.last = Some(frame.cursor);
            match Note::of(&frame.event) {
                Some(Note::Asked(question)) => waiting.push(*question),
                Some(Note::Resolved(it)) => waiting.retain(|question| question.id != it.id),
                Some(Note::Over) => waiting.clear(),
                _ => {}
            }
            self.notice(&frame.event);
            if past == Past::Told && !self.tell_old(&frame.event) {
                return waiting;
            }
            // What happens while we read is no history any more.
            if runs && frame.event.at >= began {
                break;
            }
        }
        waiting
    }

    /// Tells an event of the past; false where the editor is gone.
    fn tell_old(&mut self, event: &Event) -> bool {
        let mut out = Vec::new();
        self.updates_of(event, &mut out);
        // What we believed then is of no use now.
        out.retain(|it| !matches!(it, SessionUpdate::SessionInfoUpdate(_)));
        for update in out {
            if !self.house.flow.wait_for_room() {
                return false;
            }
            self.send(update);
        }
        true
    }

    /// What an event is for the editor. Prompts that it gave itself it has.
    pub(super) fn updates_of(&mut self, event: &Event, out: &mut Vec<SessionUpdate>) {
        let is_own = event.turn.is_some_and(|turn| self.turns.contains_key(&turn));
        if let EventKind::TurnStarted { prompt: Some(prompt), .. } = &event.event
            && !is_own
        {
            out.push(SessionUpdate::UserMessageChunk(chunk(prompt)));
        }
        self.updates.of(event, out);
    }

    /// Has the events brought, on a thread of their own, until the session is over.
    pub(super) fn follow(&mut self, events: Subscription) {
        self.subscriptions += 1;
        let (number, words) = (self.subscriptions, self.words.clone());
        let flow = Arc::clone(&self.house.flow);
        let bring = move || {
            for frame in events {
                // What the editor has not taken yet waits in the log.
                if !flow.wait_for_room() || words.send(Word::Event(frame)).is_err() {
                    break;
                }
            }
            let _worker_gone = words.send(Word::Silent(number));
        };
        if std::thread::Builder::new().name("events".into()).spawn(bring).is_err() {
            self.house.warn("there is no thread for the events of a session");
        }
    }
}
