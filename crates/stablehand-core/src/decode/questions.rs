//! Questions of an agent that wait for an answer, whatever they are about.
//!
//! A short list: an agent that asks without end pushes out its oldest questions, so that memory
//! stays bounded whatever it sends.

use crate::speak::Unanswerable;
use std::collections::VecDeque;

/// So many wait at the most.
const MOST: usize = 64;

#[derive(Debug)]
pub(super) struct Questions<Q>(VecDeque<(String, Q)>);

impl<Q> Default for Questions<Q> {
    fn default() -> Self {
        Questions(VecDeque::new())
    }
}

impl<Q> Questions<Q> {
    pub(super) fn ask(&mut self, id: String, question: Q) {
        self.close(&id);
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back((id, question));
    }

    pub(super) fn get(&self, id: &str) -> Result<&Q, Unanswerable> {
        let found = self.0.iter().find(|(open, _)| open == id);
        found
            .map(|(_, question)| question)
            .ok_or_else(|| Unanswerable::NotOpen { id: id.to_owned() })
    }

    /// All of them; none is open any more.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = Q> + use<Q> {
        std::mem::take(&mut self.0).into_iter().map(|(_, question)| question)
    }

    pub(super) fn close(&mut self, id: &str) {
        self.0.retain(|(open, _)| open != id);
    }
}
