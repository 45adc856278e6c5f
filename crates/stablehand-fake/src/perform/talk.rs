//! Texts at their pace, and whoever talks to the agent while it plays.
//!
//! Owns the waits: in a conversation every one of them listens, so that a question is answered, a
//! request is served and a turn can be broken off at any moment.

use super::{Flow, Stage};
use crate::act::{Act, Call, Ending, Place, Work};
use crate::dialect::{self, Said};
use crate::duplex::{Duplex, News, Prompted, Verdict};
use crate::hooks::{Consent, Moment};
use std::io;
use std::time::{Duration, Instant};

/// How many characters a piece of a message has, as models have them.
const PIECE: usize = 12;

impl Stage {
    pub(super) fn think(&mut self, text: &str) -> io::Result<Flow> {
        let streams = dialect::streams(self.dialect, self.voice.id.partial);
        let in_pieces = streams || !self.pace.is_zero();
        let pieces = if in_pieces { pieces(text, self.pace) } else { vec![text] };
        for piece in pieces {
            self.tell(&Act::ThoughtPiece(piece.to_owned()))?;
            let flow = self.wait_a_pace()?;
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        self.tell(&Act::ThoughtEnds)?;
        self.hooks_hear(&Moment::Thought(text));
        Ok(Flow::Next)
    }

    pub(super) fn message(&mut self, text: &str, place: Place) -> io::Result<Flow> {
        let streams = dialect::streams(self.dialect, self.voice.id.partial);
        // Who tells a message whole takes as long to make it.
        if streams || !self.pace.is_zero() {
            for piece in pieces(text, self.pace) {
                if streams {
                    self.tell(&Act::Piece(piece.to_owned()))?;
                }
                let flow = self.wait_a_pace()?;
                if flow != Flow::Next {
                    return Ok(flow);
                }
            }
        }
        self.tell(&Act::Message(text.to_owned(), place))?;
        self.hooks_hear(&Moment::Message(text));
        Ok(Flow::Next)
    }

    /// Says which images came with the prompt, where any did.
    pub(super) fn look(&mut self) -> io::Result<Flow> {
        let text = match self.images.as_slice() {
            [] => return Ok(Flow::Next),
            [one] => format!("I see an image ({one}).\n"),
            all => format!("I see {} images ({}).\n", all.len(), all.join("; ")),
        };
        self.message(&text, Place::BeforeTool)
    }

    fn wait_a_pace(&mut self) -> io::Result<Flow> {
        if self.pace.is_zero() { Ok(Flow::Next) } else { self.wait(self.pace.div_f64(self.speed)) }
    }

    pub(super) fn ask(&mut self, call: &Call) -> io::Result<Flow> {
        if self.hooks.is_some() {
            // Hooks come before the question, and may spare it.
            self.tell(&Act::ToolBegins(call.clone()))?;
            return match self.permit(call, Consent::Needed)? {
                Ok(call) => {
                    self.launch(&call)?;
                    self.finish(&call.id)
                }
                Err(flow) => Ok(flow),
            };
        }
        let mut said = Said::default();
        let question = self.writer.ask(call, &mut self.voice, &mut said);
        self.emit(said)?;
        let verdict = match question {
            None => Verdict::Deny("This command requires approval".to_owned()),
            Some(question) => match self.wait_for_answer(&question)? {
                Ok(verdict) => {
                    let mut said = Said::default();
                    self.writer.answered(&question, &mut self.voice, &mut said);
                    self.emit(said)?;
                    verdict
                }
                Err(flow) => return Ok(flow),
            },
        };
        self.refused = matches!(verdict, Verdict::Deny(_));
        match verdict {
            // Only told, as a script tells it.
            Verdict::Allow { .. } if !matches!(call.work, Work::Shell { .. }) => {
                self.tell(&Act::ToolEnds(call.clone(), Ending::Well))?;
                Ok(Flow::Next)
            }
            Verdict::Allow { command } => {
                let mut call = call.clone();
                if let (Some(other), Work::Shell { command, .. }) = (command, &mut call.work) {
                    *command = other;
                }
                self.launch(&call)?;
                self.finish(&call.id)
            }
            Verdict::Deny(reason) => {
                self.tell(&Act::ToolEnds(call.clone(), Ending::Refused { reason }))?;
                Ok(Flow::Next)
            }
        }
    }

    /// Waits for the answer to a question; an inner error is the end of the turn.
    pub(super) fn wait_for_answer(&mut self, question: &str) -> io::Result<Result<Verdict, Flow>> {
        loop {
            match self.listen(None)? {
                Some(News::Answer { to, verdict }) if to == question => return Ok(Ok(verdict)),
                Some(News::Interrupt) => return Ok(Err(Flow::Interrupted)),
                Some(News::Broken) => return Ok(Err(Flow::Exit(1))),
                Some(News::Turn(_) | News::Answer { .. } | News::Handled) => {}
                // Nobody can answer any more.
                None => {
                    let reason = "the permission stream was closed before an answer came";
                    return Ok(Ok(Verdict::Deny(reason.to_owned())));
                }
            }
        }
    }

    /// Waits; whoever talks to us meanwhile is answered, and may break the turn off.
    pub(super) fn wait(&mut self, time: Duration) -> io::Result<Flow> {
        let until = Instant::now() + time;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if !self.duplex.as_ref().is_some_and(Duplex::is_open) {
                std::thread::sleep(left);
                return Ok(Flow::Next);
            }
            match self.listen(Some(left))? {
                Some(News::Interrupt) => return Ok(Flow::Interrupted),
                Some(News::Broken) => return Ok(Flow::Exit(1)),
                None if left.is_zero() => return Ok(Flow::Next),
                Some(News::Turn(_) | News::Answer { .. } | News::Handled) | None => {}
            }
        }
    }

    /// The next news, answered where an answer is due; none when the time is over or nobody talks
    /// to us any more. A turn that is asked for waits until this one is over.
    pub(super) fn listen(&mut self, time: Option<Duration>) -> io::Result<Option<News>> {
        let Some(duplex) = &mut self.duplex else {
            return Ok(None);
        };
        let mut said = Said::default();
        let news = duplex.next(time, &mut self.voice, &mut said);
        self.emit(said)?;
        Ok(news)
    }

    /// The next prompt, or the exit code when nobody talks to us any more.
    pub(super) fn next_turn(&mut self) -> io::Result<Result<Prompted, u8>> {
        loop {
            if let Some(prompt) = self.duplex.as_mut().and_then(Duplex::next_prompt) {
                return Ok(Ok(prompt));
            }
            match self.listen(None)? {
                Some(News::Broken) => return Ok(Err(1)),
                Some(_) => {}
                None => return Ok(Err(self.writer.exit_code())),
            }
        }
    }

    /// Ends the turn that was broken off, and what still runs in it.
    pub(super) fn break_off(&mut self) -> io::Result<()> {
        for (_, mut running) in self.running.drain(..) {
            running.kill();
        }
        let mut said = Said::default();
        self.writer.interrupted(&mut self.voice, &mut said);
        self.emit(said)
    }
}

/// A text in the pieces in which it is told: words at a pace, else as models give them.
fn pieces(text: &str, pace: Duration) -> Vec<&str> {
    if !pace.is_zero() {
        return text.split_inclusive(' ').collect();
    }
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.char_indices().nth(PIECE).map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        rest = after;
    }
    pieces
}
