//! Whether an agent, or a sub-agent of it, that came to rest is told to go on.
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

/// So often in all: an agent that was told to go on so often needs a person. The main agent and all
/// sub-agents together each have this bound.
pub const MOST_IN_ALL: u32 = 20;

/// Who came to rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rester {
    /// The agent that was prompted.
    #[default]
    Main,
    /// An agent that it started.
    SubAgent,
}

impl Rester {
    /// As in the file.
    pub fn word(self) -> &'static str {
        match self {
            Rester::Main => "main",
            Rester::SubAgent => "subagent",
        }
    }

    /// The one of this word.
    pub fn by_word(word: &str) -> Option<Rester> {
        [Rester::Main, Rester::SubAgent].into_iter().find(|rester| rester.word() == word)
    }
}

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

    /// Returns true if an agent that says how a sub-agent ended tells enough to know this.
    pub fn is_known_of_subagents(self) -> bool {
        self == When::NoAnswer
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
    /// Who has to come to rest.
    pub of: Rester,
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
    /// What a sub-agent has shown that said this last.
    pub fn of_subagent(last_text: &str) -> Seen {
        let mut seen = Seen::default();
        seen.say(last_text);
        seen
    }

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

/// Who rests, and what was seen of it.
#[derive(Clone, Copy, Debug)]
pub struct Resting<'a> {
    /// The id of the sub-agent; none where it is the main agent.
    pub subagent: Option<&'a str>,
    /// What was seen.
    pub seen: &'a Seen,
}

impl Resting<'_> {
    /// Which of the two rests.
    pub fn rester(&self) -> Rester {
        if self.subagent.is_some() { Rester::SubAgent } else { Rester::Main }
    }

    fn fits(&self, rule: &ContinueRule) -> bool {
        rule.of == self.rester() && rule.fits(self.seen)
    }
}

/// How often each rule was used, by its index, for the main agent and for each sub-agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    each: Vec<Count>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Count {
    rule: usize,
    subagent: Option<String>,
    times: u32,
}

impl Counts {
    /// How often the rule was used for this one.
    pub fn of(&self, rule: usize, subagent: Option<&str>) -> u32 {
        let is_it = |count: &&Count| count.rule == rule && count.subagent.as_deref() == subagent;
        self.each.iter().find(is_it).map_or(0, |count| count.times)
    }

    /// How often any was: for the main agent, or for all sub-agents.
    pub fn total(&self, of: Rester) -> u32 {
        let is_of = |count: &&Count| count.subagent.is_some() == (of == Rester::SubAgent);
        self.each.iter().filter(is_of).fold(0, |sum, count| sum.saturating_add(count.times))
    }

    /// The rule is used once more. There are never more entries than times, of which [`MOST_IN_ALL`]
    /// bounds the number.
    pub fn add(&mut self, rule: usize, subagent: Option<&str>) {
        let is_it =
            |count: &&mut Count| count.rule == rule && count.subagent.as_deref() == subagent;
        if let Some(count) = self.each.iter_mut().find(is_it) {
            count.times = count.times.saturating_add(1);
            return;
        }
        let subagent = subagent.map(str::to_owned);
        self.each.push(Count { rule, subagent, times: 1 });
    }
}

/// The first rule that fits and is not used up, with its index; none where the agent may rest.
pub fn decide<'r>(
    rules: &'r [ContinueRule],
    resting: Resting<'_>,
    counts: &Counts,
) -> Option<(usize, &'r ContinueRule)> {
    if counts.total(resting.rester()) >= MOST_IN_ALL {
        return None;
    }
    let mut rules = rules.iter().enumerate();
    let is_left = |index: usize, rule: &ContinueRule| counts.of(index, resting.subagent) < rule.max;
    rules.find(|(index, rule)| is_left(*index, rule) && resting.fits(rule))
}

/// The first rule that would have fitted, had it not been used up.
pub fn used_up<'r>(
    rules: &'r [ContinueRule],
    resting: Resting<'_>,
    counts: &Counts,
) -> Option<&'r ContinueRule> {
    match decide(rules, resting, counts) {
        Some(_) => None,
        None => rules.iter().find(|rule| resting.fits(rule)),
    }
}
