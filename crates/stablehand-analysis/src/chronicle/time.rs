//! Where the time of a run went: to the model, to tools, to people.

use stablehand_core::time::{UnixMillis, millis};

/// Adds up the time between events. Only time within a turn counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Account {
    in_turn: bool,
    tools: u32,
    questions: u32,
    now: UnixMillis,
    pub(super) tool_ms: u64,
    pub(super) wait_ms: u64,
    pub(super) model_ms: u64,
    pub(super) silence_ms: u64,
}

impl Account {
    /// Time has passed until `at`. A clock that was set back takes nothing away.
    pub(super) fn pass(&mut self, at: UnixMillis) {
        let passed = if self.in_turn { millis(at.since(self.now)) } else { 0 };
        self.now = self.now.max(at);
        if self.questions > 0 {
            self.wait_ms += passed;
        } else if self.tools > 0 {
            self.tool_ms += passed;
        } else {
            self.model_ms += passed;
            self.silence_ms = self.silence_ms.max(passed);
        }
    }

    pub(super) fn begin_turn(&mut self) {
        self.in_turn = true;
    }

    pub(super) fn end_turn(&mut self) {
        self.in_turn = false;
        self.tools = 0;
        self.questions = 0;
    }

    pub(super) fn open_tool(&mut self) {
        self.tools += 1;
    }

    pub(super) fn close_tool(&mut self) {
        self.tools = self.tools.saturating_sub(1);
    }

    pub(super) fn ask(&mut self) {
        self.questions += 1;
    }

    pub(super) fn answer(&mut self) {
        self.questions = self.questions.saturating_sub(1);
    }
}
