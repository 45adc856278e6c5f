//! What our own records tell beyond their events: verdicts, stages of a stop, another try.

use super::{Fold, Key, Sketch};
use crate::timeline::words::word;
use crate::timeline::{Tone, Track};
use stablehand_core::event::Health;
use stablehand_core::record::{
    DecisionRecord, LogWord, LoggedDecision, RunStart, StopStage, VerdictReached,
};

impl Fold<'_> {
    /// A decision, before its event is looked at.
    pub(super) fn before(&mut self, at: i64, decision: &LoggedDecision<'_>) {
        let Some(record) = decision.record() else { return };
        let name = decision.name();
        match record {
            DecisionRecord::LogOpened(header) => {
                if let Some(dialect) = header.dialect() {
                    self.about.agent = Some(dialect.name().to_owned());
                }
            }
            DecisionRecord::AgentSpawned(start) => self.run_begins(at, start),
            DecisionRecord::SpawnFailed(start) => {
                self.run_begins(at, start);
                self.quiet.end(at);
            }
            DecisionRecord::HookReceived(_) => self.heard(at),
            DecisionRecord::ToolCallCompleted(closed) if closed.presumed => {
                self.presume(at, &closed.call_id.0);
            }
            DecisionRecord::HangDetected(reached) => self.verdict(at, reached, Tone::Bad),
            DecisionRecord::LimitReached(reached) | DecisionRecord::WouldHaveKilled(reached) => {
                self.verdict(at, reached, Tone::Warn);
            }
            DecisionRecord::LivelockSuspected(suspected) => {
                self.verdict_named(at, "verdict", &suspected.text, Tone::Warn);
            }
            DecisionRecord::ExitOverdue(_) | DecisionRecord::LimitsMoved(_) => {
                self.verdict_named(at, name, &decision.text(), Tone::Plain);
            }
            DecisionRecord::KeeperLost(_)
            | DecisionRecord::TreeNotEmpty(_)
            | DecisionRecord::HooksChanged(_)
            | DecisionRecord::HooksInactive(_) => {
                self.verdict_named(at, name, &decision.text(), Tone::Bad);
            }
            DecisionRecord::AgentKilled(killed) => {
                let asked = killed.stage.is(&StopStage::Interrupt);
                let tone = if asked { Tone::Warn } else { Tone::Bad };
                let sketch = self.said(&killed.stage.text(), &killed.reason, tone);
                self.begin(Key::Stop, Track::Stop, at, sketch);
            }
            DecisionRecord::SignalReceived(received) => {
                let signal = received.signal.map(|signal| signal.to_string());
                let sketch = self.said("signal", &signal.unwrap_or_default(), Tone::Warn);
                self.moment(Track::Stop, at, sketch);
            }
            DecisionRecord::TurnCancelled(_)
            | DecisionRecord::CancelIgnored(_)
            | DecisionRecord::AskedToLeave(_)
            | DecisionRecord::BackgroundStopped(_) => {
                let sketch = self.said(&name.replace('_', " "), &decision.text(), Tone::Warn);
                self.moment(Track::Stop, at, sketch);
            }
            DecisionRecord::RetryScheduled(scheduled) => {
                let sketch = self.said("run again", &scheduled.text, Tone::Warn);
                self.begin(Key::Rerun, Track::Retry, at, sketch);
            }
            _ => {}
        }
    }

    /// A decision, after its event.
    pub(super) fn after(&mut self, at: i64, record: &DecisionRecord) {
        match record {
            DecisionRecord::AgentExited(_) => self.process_ends(at),
            // Whoever could not be started has no exit, and ends here.
            DecisionRecord::RunEnded(_) => {
                self.process_ends(at);
                self.end(&Key::Run, at);
            }
            _ => {}
        }
    }

    fn run_begins(&mut self, at: i64, start: &RunStart) {
        self.process_ends(at);
        self.close_all(at, |key| *key == Key::Run);
        self.end(&Key::Rerun, at);
        self.presumed.clear();
        self.run += 1;
        self.spawned = true;
        self.about.end = None;
        if !start.agent.is_empty() {
            self.about.agent = Some(self.words.name(&start.agent));
        }
        self.quiet.begin(at);
        let name = format!("run {}", self.run);
        let sketch = self.said(&name, &start.run.0, Tone::Plain);
        self.begin(Key::Run, Track::Run, at, sketch);
    }

    /// Nothing more will come of the process; what is open stays open for good.
    fn process_ends(&mut self, at: i64) {
        let gap = self.quiet.end(at);
        self.silence(gap);
        self.close_all(at, |key| !matches!(key, Key::Run | Key::Rerun));
        self.texts.clear();
    }

    /// A tool whose end never came, though its successor did.
    fn presume(&mut self, at: i64, call: &str) {
        // As it is in the span: redacted, and short.
        let call = self.words.name(call);
        let drafts = &self.drafts;
        let is_it = |index: usize| {
            let draft = drafts.get(index).map(|(_, draft)| draft);
            draft.is_some_and(|draft| draft.span.call.as_ref() == Some(&call))
        };
        let found = self.open.iter().find_map(|(key, index)| match key {
            Key::Item(id) if is_it(*index) => Some((*id, *index)),
            _ => None,
        });
        let Some((id, index)) = found else { return };
        if let Some(span) = self.end(&Key::Item(id), at) {
            span.outcome = Some("presumed complete".into());
            self.presumed.insert(id, index);
        }
    }

    fn verdict(&mut self, at: i64, reached: &VerdictReached, tone: Tone) {
        let name = reached.verdict.as_ref().map_or_else(|| "verdict".to_owned(), LogWord::text);
        self.verdict_named(at, &name, &reached.text, tone);
    }

    fn verdict_named(&mut self, at: i64, name: &str, text: &str, tone: Tone) {
        let sketch = self.said(&name.replace('_', " "), text, tone);
        self.moment(Track::Verdict, at, sketch);
    }

    /// What we believed was something else until now.
    pub(super) fn health(&mut self, at: i64, from: Health, to: Health, why: &str) {
        let tone = |health: Health| match health {
            Health::Stalled => Tone::Bad,
            Health::Quiet | Health::Backpressure => Tone::Warn,
            _ => Tone::Plain,
        };
        if self.end(&Key::Health, at).is_none() {
            // The first belief of a run is only told when it changes.
            let began = self.open.get(&Key::Run).and_then(|index| self.drafts.get(*index));
            let began = began.map_or(at, |(_, draft)| draft.start);
            let sketch = self.said(&word(&from), "", tone(from));
            self.push(Track::Health, began, at, sketch);
        }
        if to != Health::Ended {
            let sketch = self.said(&word(&to), why, tone(to));
            self.begin(Key::Health, Track::Health, at, sketch);
        }
        let gap = self.quiet.excuse(at, to == Health::AwaitingPrompt);
        self.silence(gap);
    }

    /// A name and a text of ours.
    pub(super) fn said(&mut self, name: &str, text: &str, tone: Tone) -> Sketch {
        Sketch {
            tone: Some(tone),
            name: self.words.name(name),
            text: self.words.text(text),
            ..Sketch::default()
        }
    }
}
