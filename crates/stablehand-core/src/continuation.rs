//! Whether an agent that came to rest is told to go on.
//!
//! A fold over the events of a session ([`Seen`]), rules from settings ([`ContinueRule`]), and a function
//! of both ([`decide`]). It knows no clock and starts nothing: who carries it out, and when a
//! session cannot go on, is the driver's. Two bounds hold whatever the rules say: each rule's own, and
//! [`MOST_IN_ALL`].

use crate::decision::RuleRef;
use crate::event::{EventKind, ItemBody, Outcome, TextRole, TodoStatus};
use regex::Regex;

#[cfg(test)]
mod tests;

/// So often in all: an agent that was told to go on so often needs a person.
pub const MOST_IN_ALL: u32 = 20;

/// So much of the end of the last text is kept at least, and twice as much at the most.
const LAST_TEXT: usize = 64 << 10;

/// In which state an agent came to rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Its last plan has entries that are neither done nor given up.
    OpenTodos,
    /// The last tool of the turn failed.
    FailedTool,
    /// It said nothing after the last tool, or nothing at all.
    NoAnswer,
}

impl When {
    /// All of them.
    pub const ALL: &'static [When] = &[When::OpenTodos, When::FailedTool, When::NoAnswer];

    /// As in the file.
    pub fn words(self) -> &'static str {
        match self {
            When::OpenTodos => "stopped with open todos",
            When::FailedTool => "stopped after a failed tool",
            When::NoAnswer => "stopped without an answer",
        }
    }

    /// The one of these words.
    pub fn by_words(words: &str) -> Option<When> {
        When::ALL.iter().copied().find(|when| when.words() == words)
    }
}

/// A rule for going on; all that it says must fit.
#[derive(Clone, Debug)]
pub struct ContinueRule {
    /// Where it stands.
    pub place: RuleRef,
    /// In which state.
    pub when: Option<When>,
    /// What the agent said last.
    pub matches: Option<Regex>,
    /// For which agents; all where none is named.
    pub agents: Vec<String>,
    /// What it is told.
    pub prompt: String,
    /// How often at the most.
    pub max: u32,
}

impl ContinueRule {
    /// Whether it is for this agent.
    pub fn is_for(&self, agent: &str) -> bool {
        self.agents.is_empty() || self.agents.iter().any(|name| crate::id::is_called(agent, name))
    }

    fn fits(&self, seen: &Seen) -> bool {
        let state = match self.when {
            None => true,
            Some(When::OpenTodos) => seen.open_todos > 0,
            Some(When::FailedTool) => seen.tool_failed,
            Some(When::NoAnswer) => !seen.answered,
        };
        state && self.matches.as_ref().is_none_or(|pattern| pattern.is_match(&seen.last_text))
    }
}

/// What a session has shown, as far as it matters here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Entries of the last plan that are open. A plan outlives its turn.
    open_todos: usize,
    /// The last tool of this turn failed.
    tool_failed: bool,
    /// Something was said after the last tool of this turn.
    answered: bool,
    /// The last that was said in this turn.
    last_text: String,
    /// A message is being said.
    in_message: bool,
    /// The turn is over; what comes next belongs to another.
    over: bool,
}

impl Seen {
    /// Takes an event in.
    pub fn take(&mut self, event: &EventKind) {
        match event {
            EventKind::ProcessSpawned { .. } | EventKind::TurnStarted { .. } => self.begin_turn(),
            EventKind::TurnEnded { text, .. } => {
                // Some agents tell the last text here alone; others tell all of the turn's once more.
                if let Some(text) = text.as_ref().filter(|_| self.last_text.is_empty()) {
                    self.say(text);
                }
                self.in_message = false;
                self.over = true;
            }
            EventKind::ItemDelta { role: TextRole::Message, text, .. } => {
                self.begin_if_over();
                if !std::mem::replace(&mut self.in_message, true) {
                    self.last_text.clear();
                }
                self.last_text.push_str(text);
                self.trim_text();
                self.answered |= !text.trim().is_empty();
            }
            EventKind::ItemStarted { item } | EventKind::ItemCompleted { item } => {
                self.begin_if_over();
                match &item.body {
                    ItemBody::Message { text } => {
                        self.in_message = matches!(event, EventKind::ItemStarted { .. });
                        self.say(text);
                    }
                    ItemBody::Tool(tool) => {
                        self.in_message = false;
                        self.answered = false;
                        if let Some(outcome) = &tool.outcome {
                            self.tool_failed = failed(outcome);
                        }
                    }
                    // A plan in prose has no entries, and closes none.
                    ItemBody::Plan { todos, text } if !todos.is_empty() || text.is_none() => {
                        let open = [TodoStatus::Pending, TodoStatus::InProgress];
                        let open = todos.iter().filter(|todo| open.contains(&todo.status));
                        self.open_todos = open.count();
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }

    /// What happens from here on belongs to another turn.
    pub fn begin_turn(&mut self) {
        *self = Seen { open_todos: self.open_todos, ..Seen::default() };
    }

    fn begin_if_over(&mut self) {
        if self.over {
            self.begin_turn();
        }
    }

    fn say(&mut self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        text.clone_into(&mut self.last_text);
        self.trim_text();
        self.answered = true;
    }

    /// The end of a text is where it says what is left to do.
    fn trim_text(&mut self) {
        // Not with every piece: moving the rest costs as much as it is long.
        if self.last_text.len() > 2 * LAST_TEXT {
            let mut from = self.last_text.len() - LAST_TEXT;
            while !self.last_text.is_char_boundary(from) {
                from += 1;
            }
            self.last_text.drain(..from);
        }
    }
}

/// Whether a tool tried and failed. One that was forbidden did not: telling the agent to go on would
/// be telling it to get around that.
fn failed(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Failure { .. } | Outcome::TimedOut | Outcome::SpawnError { .. })
}

/// How often each rule was used, by its index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    each: Vec<u32>,
}

impl Counts {
    /// How often the rule was used.
    pub fn of(&self, rule: usize) -> u32 {
        self.each.get(rule).copied().unwrap_or_default()
    }

    /// How often any was.
    pub fn total(&self) -> u32 {
        self.each.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// The rule is used once more.
    pub fn add(&mut self, rule: usize) {
        if self.each.len() <= rule {
            self.each.resize(rule + 1, 0);
        }
        if let Some(count) = self.each.get_mut(rule) {
            *count = count.saturating_add(1);
        }
    }
}

/// The first rule that fits and is not used up, with its index; none where the agent may rest.
pub fn decide<'r>(
    rules: &'r [ContinueRule],
    seen: &Seen,
    counts: &Counts,
) -> Option<(usize, &'r ContinueRule)> {
    if counts.total() >= MOST_IN_ALL {
        return None;
    }
    let mut rules = rules.iter().enumerate();
    rules.find(|(index, rule)| counts.of(*index) < rule.max && rule.fits(seen))
}

/// The first rule that would have fitted, had it not been used up.
pub fn used_up<'r>(
    rules: &'r [ContinueRule],
    seen: &Seen,
    counts: &Counts,
) -> Option<&'r ContinueRule> {
    match decide(rules, seen, counts) {
        Some(_) => None,
        None => rules.iter().find(|rule| rule.fits(seen)),
    }
}
