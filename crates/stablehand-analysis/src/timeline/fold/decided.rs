//! What our own records tell beyond their events: verdicts, stages of a stop, another try.

use super::{Fold, Key, Sketch};
use crate::timeline::words::word;
use crate::timeline::{Tone, Track};
use stablehand_core::decode::{Depth, Dialect};
use stablehand_core::event::Health;
use stablehand_core::json::{Object, Value};
use stablehand_core::replay::EventReader;

impl Fold<'_> {
    /// A decision, before its event is looked at.
    pub(super) fn before(&mut self, at: i64, message: &str, fields: &Object<'_>) {
        let field = |name: &str| fields.get(name).and_then(Value::string);
        match message {
            "log_opened" => {
                if let Some(dialect) = field("dialect").and_then(|name| Dialect::by_name(&name)) {
                    self.reader = EventReader::new(dialect, Depth::Full).of_runs();
                    self.about.agent = Some(dialect.name().to_owned());
                }
            }
            "agent_spawned" => self.run_begins(at, fields),
            "spawn_failed" => {
                self.run_begins(at, fields);
                self.quiet.end(at);
            }
            "hook_received" => self.heard(at),
            "tool_call_completed" => {
                let presumed = fields.get("presumed").and_then(Value::bool) == Some(true);
                if let (true, Some(call)) = (presumed, field("call_id")) {
                    self.presume(at, &call);
                }
            }
            "hang_detected" => self.verdict(at, fields, Tone::Bad),
            "limit_reached" | "would_have_killed" | "livelock_suspected" => {
                self.verdict(at, fields, Tone::Warn);
            }
            "exit_overdue" | "limits_moved" => self.verdict_named(at, message, fields, Tone::Plain),
            "keeper_lost" | "tree_not_empty" | "hooks_inactive" => {
                self.verdict_named(at, message, fields, Tone::Bad);
            }
            "agent_killed" => {
                let name = field("stage").unwrap_or_else(|| "stop".to_owned());
                let tone = if name == "interrupt" { Tone::Warn } else { Tone::Bad };
                let text = field("reason").or_else(|| field("text")).unwrap_or_default();
                let sketch = self.said(&name, &text, tone);
                self.begin(Key::Stop, Track::Stop, at, sketch);
            }
            "signal_received" => {
                let signal = fields.get("signal").map(|signal| {
                    signal.string().or_else(|| Some(signal.i64()?.to_string())).unwrap_or_default()
                });
                let sketch = self.said("signal", &signal.unwrap_or_default(), Tone::Warn);
                self.moment(Track::Stop, at, sketch);
            }
            "turn_cancelled" | "cancel_ignored" | "asked_to_leave" | "background_stopped" => {
                let text = field("text").unwrap_or_default();
                let sketch = self.said(&message.replace('_', " "), &text, Tone::Warn);
                self.moment(Track::Stop, at, sketch);
            }
            "retry_scheduled" => {
                let text = field("text").unwrap_or_default();
                let sketch = self.said("run again", &text, Tone::Warn);
                self.begin(Key::Rerun, Track::Retry, at, sketch);
            }
            _ => {}
        }
    }

    /// A decision, after its event.
    pub(super) fn after(&mut self, at: i64, message: &str) {
        match message {
            "agent_exited" => self.process_ends(at),
            // Whoever could not be started has no exit, and ends here.
            "run_ended" => {
                self.process_ends(at);
                self.end(&Key::Run, at);
            }
            _ => {}
        }
    }

    fn run_begins(&mut self, at: i64, fields: &Object<'_>) {
        let field = |name: &str| fields.get(name).and_then(Value::string);
        self.process_ends(at);
        self.close_all(at, |key| *key == Key::Run);
        self.end(&Key::Rerun, at);
        self.presumed.clear();
        self.run += 1;
        self.spawned = true;
        self.about.end = None;
        if let Some(agent) = field("agent") {
            self.about.agent = Some(self.words.name(&agent));
        }
        self.quiet.begin(at);
        let name = format!("run {}", self.run);
        let sketch = self.said(&name, &field("run").unwrap_or_default(), Tone::Plain);
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

    fn verdict(&mut self, at: i64, fields: &Object<'_>, tone: Tone) {
        let named = fields.get("verdict").and_then(Value::string);
        self.verdict_named(at, named.as_deref().unwrap_or("verdict"), fields, tone);
    }

    fn verdict_named(&mut self, at: i64, name: &str, fields: &Object<'_>, tone: Tone) {
        let text = fields.get("text").and_then(Value::string).unwrap_or_default();
        let sketch = self.said(&name.replace('_', " "), &text, tone);
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
