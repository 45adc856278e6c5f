//! What people and programs ask of a running agent: prompts, answers, cancels, stops.
//!
//! Takes requests from the queue as soon as each can be served, puts them on record and hands them to
//! the [channel](super::channel) that carries them out. A prompt waits for its turn.

use super::Driver;
use super::channel::{Channel, Channels, cancelled};
use crate::control::{Request, TurnRequest};
use stablehand_core::actor::Actor;
use stablehand_core::event::TurnEnd;
use stablehand_core::id::TurnId;
use stablehand_core::monitor::Input;
use stablehand_core::record::{RuleWritten, SignalReceived, TurnCancelled};

impl Driver<'_> {
    /// Serves every request that can be served now.
    pub(super) fn serve_requests(&mut self, channels: &mut Channels) {
        loop {
            let channel = channels.primary.as_mut();
            let can_serve = |request: &Request| match request {
                // It waits for the end of the run.
                Request::Insert(_) => false,
                request => !is_prompt(request) || self.may_prompt(channel),
            };
            let Some(request) = self.requests.take(can_serve) else { return };
            self.stamp_now();
            match request {
                Request::Stop { signal, by } => {
                    self.requests.calm();
                    self.log.decide(SignalReceived::new(signal, by), None);
                    self.stop_by_signal(signal);
                }
                Request::Dump => self.dump(),
                Request::ReaderGone => self.stop_for_lost_reader(),
                Request::Resize(size) => self.resize_terminal(size),
                Request::Prompt(_) | Request::Finish => self.serve_prompt(channel, request),
                Request::Cancel { turn: Some(turn), by } if !self.turns.is_on(turn) => {
                    self.cancel_waiting(turn, &by);
                }
                Request::Cancel { by, .. } => channel.interrupt(self, &by),
                Request::Answer { id, answer, by } => self.answer_of(channels, &id, &answer, &by),
                Request::RuleWritten { id, rule, text } => {
                    self.log.decide(RuleWritten { id, rule: Some(rule), text }, None);
                }
                Request::NobodyThere => self.left_alone(channels),
                Request::Note(record) => self.log.decide(*record, None),
                Request::Insert(_) => {}
            }
        }
    }

    /// Takes the next prompt, or the word that none comes any more, in the order in which they came.
    pub(super) fn next_prompt(&self, channel: &dyn Channel) -> Option<Request> {
        if self.may_prompt(channel) { self.requests.take(is_prompt) } else { None }
    }

    fn may_prompt(&self, channel: &dyn Channel) -> bool {
        channel.takes_prompts() && !self.interaction.in_turn() && self.prompt.is_open()
    }

    /// Begins a turn, or tells the agent that no prompt comes any more.
    pub(super) fn serve_prompt(&mut self, channel: &mut dyn Channel, request: Request) {
        if let Request::Prompt(TurnRequest { turn, by, prompt }) = request {
            // What the agent did since the last turn belongs to that one.
            self.turns.end(TurnEnd::Done, self.log);
            self.turns.begin(turn, &by, prompt.text.as_bytes(), &self.spec.run, self.log);
            channel.prompt(self, prompt);
        } else {
            self.interaction.finish();
            self.tell(Input::Resting(false), self.clock.now());
            self.prompt.finish();
        }
    }

    /// Takes a prompt back that waits for its turn.
    fn cancel_waiting(&mut self, turn: TurnId, by: &Actor) {
        let is_meant =
            |request: &Request| matches!(request, Request::Prompt(asked) if asked.turn == turn);
        if let Some(Request::Prompt(request)) = self.requests.take(is_meant) {
            let text = "the prompt is taken back before its turn";
            let record = TurnCancelled { turn: Some(turn), ..cancelled(by, text, false) };
            self.log.decide(record, None);
            crate::session::end_waiting(&request, self.log);
        }
    }
}

fn is_prompt(request: &Request) -> bool {
    matches!(request, Request::Prompt(_) | Request::Finish)
}
