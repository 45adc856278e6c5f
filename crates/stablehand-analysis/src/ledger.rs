//! What was asked and decided in a run, from the records of its log.
//!
//! Owns how questions, decisions and answers belong together; they stand in different records, and
//! some in the agent's own lines. Reads no file; whoever has one hands its records in. A log of
//! any age will do: what is missing is missing in the entry.

use serde::Serialize;
use stablehand_core::actor::ActorKind;
use stablehand_core::decision::RuleRef;
use stablehand_core::decode::Depth;
use stablehand_core::event::{EventKind, ItemBody, Tool};
use stablehand_core::id::{CallId, RunId, SessionId};
use stablehand_core::record::{DecisionRecord, LogReader, Record};
use stablehand_core::replay::{EventReader, Told};
use stablehand_core::time::{UnixMillis, millis};
use std::collections::{BTreeSet, VecDeque};

/// So many calls that have begun are remembered.
const MOST_CALLS: usize = 256;

/// One question, or one decision that needed none.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// When it came up, RFC 3339 in UTC.
    pub time: String,
    /// Our id of the run.
    pub run: RunId,
    /// The agent's id of the session, where it was known.
    pub session: Option<SessionId>,
    /// The id that it was asked under.
    pub id: String,
    /// What was asked, in the agent's words.
    pub what: Option<String>,
    /// The agent's name of the tool.
    pub tool: Option<String>,
    /// What sort of tool.
    pub kind: Option<&'static str>,
    /// The command, path, address or whatever else the call is about.
    pub target: Option<String>,
    /// Whether somebody was asked; otherwise it was decided at once.
    pub asked: bool,
    /// What became of it.
    pub outcome: Settled,
    /// The answer, as it is on record.
    pub choice: Option<String>,
    /// Who gave it: a rule, `person`, `timeout`, `unattended`, `policy` or `agent`.
    pub by: Option<String>,
    /// The rule that decided or asked.
    pub rule: Option<RuleRef>,
    /// Why, in the words of the policy.
    pub reason: Option<String>,
    /// What the agent was told with a denial.
    pub message: Option<String>,
    /// How long the agent waited for the answer.
    pub waited_ms: Option<u64>,
    /// The rule that "always" wrote.
    pub rule_written: Option<RuleRef>,
    #[serde(skip)]
    since: UnixMillis,
    #[serde(skip)]
    is_open: bool,
}

/// What became of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Settled {
    /// The call may be made.
    Allowed,
    /// It may not.
    Denied,
    /// An option of the agent's own was chosen.
    Chosen,
    /// Nobody answered before it was over.
    Unanswered,
}

/// Takes the records of a log and keeps the entries.
#[derive(Debug)]
pub struct Ledger {
    reader: EventReader,
    entries: Vec<Entry>,
    /// So many were before these, for whoever begins in the middle of a log.
    before: usize,
    calls: VecDeque<Tool>,
    run: RunId,
    session: Option<SessionId>,
    /// Entries that changed since somebody asked.
    news: BTreeSet<usize>,
}

impl Default for Ledger {
    fn default() -> Self {
        Ledger {
            reader: EventReader::of(LogReader::default(), Depth::Skim).of_runs(),
            entries: Vec::new(),
            before: 0,
            calls: VecDeque::new(),
            run: RunId(String::new()),
            session: None,
            news: BTreeSet::new(),
        }
    }
}

impl Ledger {
    /// One that counts on behind so many entries, none of which is open.
    pub(crate) fn after(before: usize) -> Ledger {
        Ledger { before, ..Ledger::default() }
    }

    /// How many entries there are, those before the beginning among them.
    pub(crate) fn count(&self) -> usize {
        self.before + self.entries.len()
    }

    /// Takes the next record.
    pub fn record(&mut self, record: &Record<'_>) {
        if let (Some(decision), Some(at)) = (record.decision(), record.at()) {
            self.decision(at, decision);
        }
        let mut told = Vec::new();
        self.reader.tell(record, &mut told);
        for Told { at, kind, .. } in &told {
            self.event(*at, kind);
        }
    }

    /// The entries, oldest first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entries that changed since this was last asked, with their numbers.
    pub(crate) fn news(&mut self) -> impl Iterator<Item = (usize, &Entry)> {
        let news = std::mem::take(&mut self.news);
        let entry = |place: usize| Some((self.before + place, self.entries.get(place)?));
        news.into_iter().filter_map(entry)
    }

    /// How many lines were no records of ours.
    pub fn skipped(&self) -> u64 {
        self.reader.log().skipped()
    }

    /// The part of a record that is ours; for whoever reads the events elsewhere.
    pub(crate) fn decision(&mut self, at: UnixMillis, record: &DecisionRecord) {
        match record {
            DecisionRecord::AgentSpawned(spawned) => {
                self.close_all();
                self.calls.clear();
                self.session = None;
                self.run = spawned.run.clone();
            }
            DecisionRecord::PolicyDecided(decided) => {
                if let Some(decision) = &decided.decision {
                    let entry = self.open(&decided.id, at);
                    entry.rule.clone_from(&decision.rule);
                    entry.reason = Some(decision.reason.clone());
                }
            }
            DecisionRecord::ApprovalResolved(resolved) => {
                if let Some(message) = &resolved.message {
                    self.open(&resolved.id, at).message = Some(message.clone());
                }
            }
            DecisionRecord::RuleWritten(written) => {
                if let Some(rule) = &written.rule {
                    self.open(&written.id, at).rule_written = Some(rule.clone());
                }
            }
            _ => {}
        }
    }

    /// The next event; for whoever reads them elsewhere.
    pub(crate) fn event(&mut self, at: UnixMillis, event: &EventKind) {
        match event {
            EventKind::SessionStarted { native_id, .. } => self.session = Some(native_id.clone()),
            EventKind::ItemStarted { item } => {
                if let ItemBody::Tool(tool) = &item.body {
                    if self.calls.len() == MOST_CALLS {
                        self.calls.pop_front();
                    }
                    self.calls.push_back((**tool).clone());
                }
            }
            EventKind::ApprovalRequested { id, call, what, tool, why, .. } => {
                let known = self.call(call.as_ref()).cloned();
                let entry = self.open(id, at);
                entry.what = Some(what.clone()).filter(|what| !what.is_empty());
                if let Some(tool) = known.as_ref().or(tool.as_deref()) {
                    entry.about(tool);
                }
                // Only what a policy hands on has a reason with it.
                if let Some(why) = why {
                    entry.asked = true;
                    entry.reason.get_or_insert_with(|| why.clone());
                }
            }
            EventKind::ApprovalResolved { id, choice, by } => {
                let entry = self.open(id, at);
                entry.is_open = false;
                entry.asked |= by.by.is_somebody()
                    || matches!(by.by, ActorKind::Timeout | ActorKind::Unattended);
                entry.waited_ms = Some(millis(at.since(entry.since)));
                entry.outcome = settled(choice.as_str());
                entry.choice = Some(choice.to_string());
                entry.by = Some(by.by.to_string());
            }
            EventKind::TurnEnded { .. } | EventKind::ProcessExited { .. } => self.close_all(),
            _ => {}
        }
    }

    fn call(&self, id: Option<&CallId>) -> Option<&Tool> {
        let id = id?;
        self.calls.iter().rev().find(|tool| tool.call == *id)
    }

    /// The open entry of that id; made where there is none.
    fn open(&mut self, id: &str, at: UnixMillis) -> &mut Entry {
        let known = self.entries.iter().rposition(|entry| entry.is_open && entry.id == id);
        let place = known.unwrap_or(self.entries.len());
        if known.is_none() {
            self.entries.push(Entry {
                time: at.rfc3339(),
                run: self.run.clone(),
                session: self.session.clone(),
                id: id.to_owned(),
                what: None,
                tool: None,
                kind: None,
                target: None,
                asked: false,
                outcome: Settled::Unanswered,
                choice: None,
                by: None,
                rule: None,
                reason: None,
                message: None,
                waited_ms: None,
                rule_written: None,
                since: at,
                is_open: true,
            });
        }
        self.news.insert(place);
        &mut self.entries[place]
    }

    fn close_all(&mut self) {
        let open = self.entries.iter_mut().enumerate().filter(|(_, entry)| entry.is_open);
        for (place, entry) in open {
            self.news.insert(place);
            entry.is_open = false;
            // Nobody answered, so somebody was asked.
            entry.asked = true;
        }
    }
}

impl Entry {
    fn about(&mut self, tool: &Tool) {
        self.tool = Some(tool.name.clone());
        self.kind = Some(tool.tool_kind.word());
        self.target = Some(tool.headline().to_owned()).filter(|target| !target.is_empty());
    }
}

pub(crate) fn settled(choice: &str) -> Settled {
    match choice {
        "allow"
        | "allow_always"
        | "allow_with"
        | "accept"
        | "acceptForSession"
        | "approved"
        | "approved_for_session" => Settled::Allowed,
        "deny" | "decline" | "denied" => Settled::Denied,
        "cancel" | "cancelled" | "abort" => Settled::Unanswered,
        _ => Settled::Chosen,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stablehand_core::Dialect;
    use stablehand_core::record::{LogOpened, decision_line};

    const CALL: &str = r#"{"msg":"raw_event","recv_ts":1000,"raw":{"type":"assistant","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make"}}]},"session_id":"s1"}}"#;
    const ASKS: &str = r#"{"msg":"raw_event","recv_ts":1100,"raw":{"type":"control_request","request_id":"q1","request":{"subtype":"can_use_tool","tool_name":"Bash","tool_use_id":"t1","input":{"command":"make"}}}}"#;

    fn ledger(lines: &[&str]) -> Ledger {
        let mut ledger = Ledger::default();
        let opened = decision_line(UnixMillis(1), LogOpened::new(Dialect::Claude));
        ledger.record(&Record::read(opened.as_bytes()));
        ledger.record(&Record::read(br#"{"msg":"agent_spawned","ts":2,"run":"r1"}"#));
        for line in lines {
            ledger.record(&Record::read(line.as_bytes()));
        }
        ledger
    }

    fn decided(action: &str, event: &str) -> String {
        format!(
            r#"{{"msg":"policy_decided","ts":1200,"id":"q1","decision":{{"action":"{action}","unattended":"deny","reason":"a reason","rule":{{"file":"f.toml","line":3}},"parts":[]}}{event}}}"#
        )
    }

    fn resolved(choice: &str, by: &str) -> String {
        format!(
            r#"{{"msg":"approval_resolved","ts":4100,"id":"q1","choice":"{choice}","by":"{by}","message":"no","event":{{"type":"approval.resolved","id":"q1","choice":"{choice}","by":"{by}"}}}}"#
        )
    }

    #[test]
    fn a_decision_by_a_rule() {
        let ledger =
            ledger(&[CALL, ASKS, &decided("deny", ""), &resolved("deny", "the rule at f.toml:3")]);
        let [entry] = ledger.entries() else { panic!("{:?}", ledger.entries()) };
        assert_eq!(
            (entry.asked, entry.outcome, entry.waited_ms),
            (false, Settled::Denied, Some(3000))
        );
        assert_eq!((entry.tool.as_deref(), entry.target.as_deref()), (Some("Bash"), Some("make")));
        assert_eq!(entry.rule.as_ref().map(|rule| rule.line), Some(3));
        assert_eq!(
            (entry.reason.as_deref(), entry.message.as_deref()),
            (Some("a reason"), Some("no"))
        );
        assert_eq!((entry.run.0.as_str(), entry.time.as_str()), ("r1", "1970-01-01T00:00:01.100Z"));
    }

    #[test]
    fn a_question_that_a_person_answers_for_always() {
        let event = r#","event":{"type":"approval.requested","id":"q1","what":"Bash make","why":"a reason"}"#;
        let written =
            r#"{"msg":"rule_written","ts":4000,"id":"q1","rule":{"file":"mine.toml","line":9}}"#;
        let ledger =
            ledger(&[CALL, ASKS, &decided("ask", event), written, &resolved("allow", "person")]);
        let [entry] = ledger.entries() else { panic!("{:?}", ledger.entries()) };
        assert_eq!((entry.asked, entry.outcome), (true, Settled::Allowed));
        assert_eq!(entry.rule_written.as_ref().map(|rule| rule.line), Some(9));
    }

    #[test]
    fn what_nobody_answered_and_what_is_torn() {
        let over = r#"{"msg":"agent_exited","ts":5000,"event":{"type":"process.exited","exit":{"code":0},"forced":false,"leaked":0}}"#;
        let ledger = ledger(&[CALL, ASKS, "{\"msg\":\"torn", "17", over, ASKS]);
        assert_eq!(ledger.skipped(), 2);
        let [first, second] = ledger.entries() else { panic!("{:?}", ledger.entries()) };
        assert_eq!((first.outcome, first.asked), (Settled::Unanswered, true));
        assert_eq!(second.id, "q1", "the same id may be used again");
    }
}
