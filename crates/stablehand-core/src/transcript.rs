//! The fold of events that every face shows: turns, and in each what was said and done.
//!
//! Pure and whole: the same events give the same transcript, whether they come one by one from a
//! live run or all at once from the log. It renders nothing and forgets nothing. What a process
//! wrote or how it fared ([`crate::event::Health`]) is not part of the conversation and left out.

use crate::event::{
    EventKind, Item, ItemBody, NoticeLevel, SessionEnd, TextRole, Tokens, TurnEnd, Usage,
};
use crate::id::{ItemId, SessionId};

/// A conversation, as far as it has come.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transcript {
    /// The agent's kind.
    pub agent: Option<String>,
    /// The agent's id of the session; the latest, where it changed.
    pub session: Option<SessionId>,
    /// The model, as the agent names it.
    pub model: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The turns, in order.
    pub turns: Vec<Turn>,
    /// How the last run ended; absent while one is on.
    pub end: Option<SessionEnd>,
    /// What the agent said that it used in all.
    stated_total: Option<Tokens>,
    /// Where the running items are: turn and entry. Few, whatever the length of the whole.
    open: Vec<(ItemId, usize, usize)>,
}

/// One prompt and what followed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Turn {
    /// The prompt, where it is known.
    pub prompt: Option<String>,
    /// What was said and done, in the order in which it began.
    pub entries: Vec<Entry>,
    /// How it ended; absent while it is on.
    pub end: Option<TurnEnd>,
    /// The final text, as the agent repeated it.
    pub final_text: Option<String>,
    /// What it used.
    pub usage: Option<Tokens>,
    /// How long the agent says it took, in milliseconds.
    pub duration_ms: Option<u64>,
}

/// One thing in a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// Something the agent said or did.
    Item {
        /// The item, with its text so far.
        item: Item,
        /// Whether it goes on.
        status: Status,
    },
    /// Somebody was asked.
    Approval {
        /// The id of the question.
        id: String,
        /// What was asked.
        what: String,
        /// The choices.
        options: Vec<String>,
        /// The choice, and who made it; absent while it is open.
        answer: Option<(String, String)>,
    },
}

/// Whether an item goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It has begun.
    Running,
    /// It is complete; for a tool, [`crate::event::Tool::outcome`] says how.
    Complete,
    /// The agent ended before it did.
    Interrupted,
}

impl Transcript {
    /// The transcript of a whole log.
    pub fn fold<'e>(events: impl IntoIterator<Item = &'e EventKind>) -> Self {
        let mut transcript = Transcript::default();
        for event in events {
            transcript.push(event);
        }
        transcript
    }

    /// Takes one more event.
    pub fn push(&mut self, event: &EventKind) {
        match event {
            EventKind::SessionStarted { agent, native_id, model, cwd, .. } => {
                self.end = None;
                self.agent = Some(agent.clone());
                self.session = Some(native_id.clone());
                self.model = model.clone().or_else(|| self.model.take());
                self.cwd = cwd.clone().or_else(|| self.cwd.take());
            }
            EventKind::TurnStarted { prompt } => self.begin_turn(prompt.clone()),
            EventKind::TurnEnded { end, text, usage, duration_ms } => {
                self.end_turn(end, text.as_deref(), usage.as_ref(), *duration_ms);
            }
            EventKind::ItemStarted { item } => self.put(item, Status::Running),
            EventKind::ItemCompleted { item } => self.put(item, Status::Complete),
            EventKind::ItemDelta { id, role, text } => self.grow(*id, *role, text),
            EventKind::ApprovalRequested { id, what, options, .. } => self.ask(id, what, options),
            EventKind::ApprovalResolved { id, choice, by } => self.answer(id, choice, by),
            EventKind::UsageUpdated { usage } => self.use_up(usage),
            EventKind::ProcessSpawned { .. } => {
                self.end = None;
                self.interrupt();
            }
            EventKind::SessionEnded { end, .. } => {
                self.end = Some(*end);
                self.interrupt();
            }
            EventKind::TurnContinued { .. }
            | EventKind::RetryScheduled { .. }
            | EventKind::ConnectionChanged { .. }
            | EventKind::ProcessStderr { .. }
            | EventKind::ProcessExited { .. }
            | EventKind::HealthChanged { .. }
            | EventKind::HookReceived { .. }
            | EventKind::Unrecognized { .. }
            | EventKind::Gap { .. } => {}
        }
    }

    /// What was used: the agent's total where it states one, else the sum of the turns.
    pub fn usage(&self) -> Option<Tokens> {
        self.stated_total.or_else(|| {
            let mut turns = self.turns.iter().filter_map(|turn| turn.usage);
            let first = turns.next()?;
            Some(turns.fold(first, |sum, turn| sum.plus(&turn)))
        })
    }

    /// Everything that is still running, oldest first.
    pub fn running(&self) -> impl Iterator<Item = &Item> {
        self.open.iter().filter_map(|(_, turn, entry)| {
            match self.turns.get(*turn)?.entries.get(*entry)? {
                Entry::Item { item, .. } => Some(item),
                Entry::Approval { .. } => None,
            }
        })
    }

    /// A question. Where a policy hands one on to a person it comes again, and is the same.
    fn ask(&mut self, id: &str, what: &str, options: &[String]) {
        let entries = self.entries();
        let open = |entry: &Entry| matches!(entry, Entry::Approval { id: open, answer: None, .. } if open == id);
        if !entries.iter().any(open) {
            entries.push(Entry::Approval {
                id: id.to_owned(),
                what: what.to_owned(),
                options: options.to_vec(),
                answer: None,
            });
        }
    }

    fn begin_turn(&mut self, prompt: Option<String>) {
        // The first sign of a turn may come before its prompt; notices may come before both.
        if let Some(turn) = self.turns.last_mut()
            && turn.end.is_none()
            && turn.prompt.is_none()
            && turn.entries.iter().all(is_notice)
        {
            turn.prompt = prompt;
            return;
        }
        self.turns.push(Turn { prompt, ..Turn::default() });
    }

    fn end_turn(
        &mut self,
        end: &TurnEnd,
        text: Option<&str>,
        usage: Option<&Usage>,
        duration_ms: Option<u64>,
    ) {
        if let Some(usage) = usage {
            self.use_up(usage);
        }
        let turn = self.turn();
        turn.end = Some(end.clone());
        turn.final_text = text.map(str::to_owned);
        turn.duration_ms = duration_ms;
    }

    /// The turn that is on; a new one where none is.
    fn turn(&mut self) -> &mut Turn {
        if self.turns.is_empty() {
            self.turns.push(Turn::default());
        }
        let last = self.turns.len() - 1;
        &mut self.turns[last]
    }

    fn entries(&mut self) -> &mut Vec<Entry> {
        &mut self.turn().entries
    }

    /// A running item, the newest first: ids begin anew with each process.
    fn find(&mut self, id: ItemId) -> Option<(&mut Item, &mut Status)> {
        let (_, turn, entry) = self.open.iter().rev().find(|open| open.0 == id)?;
        match self.turns.get_mut(*turn)?.entries.get_mut(*entry)? {
            Entry::Item { item, status } => Some((item, status)),
            Entry::Approval { .. } => None,
        }
    }

    fn add(&mut self, item: Item, status: Status) {
        let id = item.id;
        let entries = self.entries();
        entries.push(Entry::Item { item, status });
        let entry = entries.len() - 1;
        if status == Status::Running {
            self.open.push((id, self.turns.len() - 1, entry));
        }
    }

    fn put(&mut self, new: &Item, now: Status) {
        if let Some((item, status)) = self.find(new.id) {
            // A skimmed stream has no text; what the pieces brought is not thrown away for it.
            let brought = std::mem::replace(&mut item.body, new.body.clone());
            keep_text(&mut item.body, brought);
            *status = now;
            if now == Status::Complete
                && let Some(at) = self.open.iter().rposition(|open| open.0 == new.id)
            {
                self.open.remove(at);
            }
        } else {
            self.add(new.clone(), now);
        }
    }

    fn grow(&mut self, id: ItemId, role: TextRole, more: &str) {
        if let Some((item, _)) = self.find(id) {
            match &mut item.body {
                ItemBody::Message { text } | ItemBody::Reasoning { text } => text.push_str(more),
                ItemBody::Tool(tool) => tool.output.get_or_insert_default().push_str(more),
                _ => {}
            }
            return;
        }
        // Its beginning was missed, in a gap perhaps.
        let text = more.to_owned();
        let body = match role {
            TextRole::Message => ItemBody::Message { text },
            TextRole::Reasoning => ItemBody::Reasoning { text },
            TextRole::ToolOutput => ItemBody::Notice { level: NoticeLevel::Info, text },
        };
        self.add(Item { id, body }, Status::Running);
    }

    fn answer(&mut self, asked: &str, choice: &str, by: &str) {
        let given = Some((choice.to_owned(), by.to_owned()));
        let open = self.entries().iter_mut().rev().find_map(|entry| match entry {
            Entry::Approval { id, answer, .. } if id == asked && answer.is_none() => Some(answer),
            _ => None,
        });
        match open {
            Some(answer) => *answer = given,
            None => self.entries().push(Entry::Approval {
                id: asked.to_owned(),
                what: String::new(),
                options: Vec::new(),
                answer: given,
            }),
        }
    }

    fn use_up(&mut self, usage: &Usage) {
        match usage {
            Usage::Turn(tokens) => self.turn().usage = Some(*tokens),
            Usage::Total(tokens) => self.stated_total = Some(*tokens),
        }
    }

    fn interrupt(&mut self) {
        while let Some(&(id, ..)) = self.open.last() {
            if let Some((_, status)) = self.find(id) {
                *status = Status::Interrupted;
            }
            self.open.pop();
        }
    }
}

impl Turn {
    /// All text for the user, messages one after another.
    pub fn text(&self) -> String {
        self.items()
            .filter_map(|item| match &item.body {
                ItemBody::Message { text } => Some(text.as_str()),
                _ => None,
            })
            .collect()
    }

    /// The last message: what to show where there is room for one.
    pub fn last_message(&self) -> Option<&str> {
        self.items().rev().find_map(|item| match &item.body {
            ItemBody::Message { text } => Some(text.as_str()),
            _ => None,
        })
    }

    /// The items, in order.
    pub fn items(&self) -> impl DoubleEndedIterator<Item = &Item> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Item { item, .. } => Some(item),
            Entry::Approval { .. } => None,
        })
    }
}

fn is_notice(entry: &Entry) -> bool {
    matches!(
        entry,
        Entry::Item { item, .. } if matches!(item.body, ItemBody::Notice { .. })
    )
}

/// Puts back what is missing in the new body and was in the old one.
fn keep_text(new: &mut ItemBody, old: ItemBody) {
    match (new, old) {
        (ItemBody::Message { text }, ItemBody::Message { text: before })
        | (ItemBody::Reasoning { text }, ItemBody::Reasoning { text: before })
            if text.is_empty() =>
        {
            *text = before;
        }
        (ItemBody::Tool(tool), ItemBody::Tool(before)) if tool.output.is_none() => {
            tool.output = before.output;
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
