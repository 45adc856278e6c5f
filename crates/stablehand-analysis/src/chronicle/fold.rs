//! From events and decisions to rows.

use super::rows::{
    FileRow, FileUse, Passage, PassageKind, QuestionRow, Row, RunRow, ToolRow, TurnRow, VerdictRow,
};
use super::time::Account;
use crate::ledger::Ledger;
use stablehand_core::event::{
    EventKind, Item, ItemBody, Outcome, Tokens, Tool, ToolInput, ToolKind, Usage,
};
use stablehand_core::id::ItemId;
use stablehand_core::record::{DecisionRecord, LogWord};
use stablehand_core::redact::Lines;
use stablehand_core::text::excerpt;
use stablehand_core::time::UnixMillis;
use stablehand_core::unsaid::Unsaid;
use std::collections::{BTreeMap, HashMap, HashSet};

/// The most of one text that is kept: its beginning, and its end.
const HEAD: usize = 384 << 10;
const TAIL: usize = 128 << 10;

/// The most of a command or path in a row; the passage has all of it.
const TARGET: usize = 2048;

/// So many names of tools are told in a run; an agent with more has made them up.
const MOST_NAMES: usize = 1000;

/// The most of a title.
const TITLE: usize = 200;

/// What is known of the log so far, as far as rows may still change.
#[derive(Debug, Default)]
pub(super) struct Fold {
    runs: u32,
    passages: u32,
    questions: u32,
    /// Runs and passages before the run that is on.
    before_run: (u32, u32),
    program: Option<String>,
    run: Option<Running>,
    /// Whether a private key is being printed.
    stderr: Lines,
}

#[derive(Debug, Default)]
struct Running {
    row: RunRow,
    dirty: bool,
    /// Whether the title is a prompt, not an answer that stands in for one.
    titled: bool,
    turn: Option<TurnRow>,
    /// How the last turn ended, in the agent's word.
    last_end: Option<String>,
    /// Whether something was said or done in the turn.
    turn_used: bool,
    turn_usage: Option<Tokens>,
    /// What results of the turn used that were not its last one.
    early_usage: Option<Usage>,
    /// What the turns before used, and what the agent states for all.
    used: Option<Tokens>,
    stated: Option<Tokens>,
    account: Account,
    tools: HashMap<ItemId, Open>,
    /// Names of tools that were told.
    names: HashSet<String>,
    texts: BTreeMap<ItemId, (PassageKind, String)>,
    /// What was said in the turn, so that its result is told only where it is new.
    unsaid: Unsaid,
    files: HashMap<(String, FileUse), FileRow>,
    asked: Vec<String>,
    verdicts: u32,
    verdict: Option<VerdictRow>,
}

#[derive(Debug)]
struct Open {
    row: ToolRow,
    tool: Box<Tool>,
}

impl Fold {
    /// One that goes on behind so many runs, passages and questions, all of them over.
    pub(super) fn after(runs: u32, passages: u32, questions: u32) -> Fold {
        Fold { runs, passages, questions, ..Fold::default() }
    }

    /// How many runs and passages there were when the run that is on began.
    pub(super) fn counted(&self) -> (u32, u32) {
        self.before_run
    }

    pub(super) fn decision(&mut self, at: UnixMillis, record: &DecisionRecord, out: &mut Vec<Row>) {
        match record {
            DecisionRecord::LogOpened(header) => self.program.clone_from(&header.program),
            DecisionRecord::AgentSpawned(start) | DecisionRecord::SpawnFailed(start) => {
                self.close(at, out);
                self.begin(at);
                let Some(run) = &mut self.run else { return };
                run.row.run_id.clone_from(&start.run.0);
                run.row.agent.clone_from(&start.agent);
                run.row.workspace.clone_from(&start.cwd);
                run.row.resumed_from = start.resumed_from.as_ref().map(|it| it.0.clone());
                if let DecisionRecord::SpawnFailed(_) = record {
                    run.row.note.clone_from(&start.text);
                }
            }
            DecisionRecord::HangDetected(reached) | DecisionRecord::LimitReached(reached) => {
                let Some(run) = self.run.as_mut().filter(|_| !reached.soft) else { return };
                let row = VerdictRow {
                    run: run.row.run,
                    verdict: run.verdicts,
                    at,
                    kind: reached.verdict.as_ref().map(LogWord::text).unwrap_or_default(),
                    text: reached.text.clone(),
                    silence_ms: reached.idle_silence_ms,
                    limit_ms: reached.limit_ms,
                    observed_only: false,
                    false_alarm: None,
                };
                run.verdicts += 1;
                self.pass(at, None, PassageKind::Decision, &row.text, out);
                out.push(Row::Verdict(row.clone()));
                if let Some(run) = &mut self.run {
                    run.verdict = Some(row);
                }
            }
            DecisionRecord::WouldHaveKilled(_) => {
                let verdict = self.run.as_mut().and_then(|run| run.verdict.as_mut());
                if let Some(verdict) = verdict {
                    verdict.observed_only = true;
                    verdict.false_alarm = Some(false);
                    out.push(Row::Verdict(verdict.clone()));
                }
            }
            DecisionRecord::RunEnded(ended) => {
                self.close(at, out);
                let Some(run) = &mut self.run else { return };
                run.dirty = true;
                run.row.ended = Some(at);
                run.row.last = run.row.last.max(at);
                run.row.outcome = ended.outcome.as_ref().map(LogWord::text);
                run.row.ended_by = ended.ended_by.as_ref().map(LogWord::text);
                run.row.exit_code = ended.exit_code;
                run.row.verdict = ended.verdict.as_ref().map(LogWord::text);
                run.row.failure = ended.failure.as_ref().map(LogWord::text);
                run.row.note = ended.text.clone().or_else(|| run.row.note.take());
                let session = ended.session_id.as_ref().map(|session| session.0.clone());
                run.row.session = session.or_else(|| run.row.session.take());
                if run.row.outcome.as_deref() != Some("success") {
                    let note = run.row.note.clone().unwrap_or_default();
                    self.pass(at, None, PassageKind::Decision, &note, out);
                }
                self.flush(out);
            }
            _ => {}
        }
    }

    /// The questions that the ledger has news of.
    pub(super) fn questions(&mut self, ledger: &mut Ledger, out: &mut Vec<Row>) {
        for (number, entry) in ledger.news() {
            let Some(run) = &mut self.run else { continue };
            let question = u32::try_from(number).unwrap_or(u32::MAX);
            if question >= self.questions {
                self.questions = question + 1;
                run.row.questions += 1;
                run.dirty = true;
            }
            let row = QuestionRow { run: run.row.run, question, entry: entry.clone() };
            out.push(Row::Question(Box::new(row)));
        }
    }

    pub(super) fn flush(&mut self, out: &mut Vec<Row>) {
        let Some(run) = self.run.as_mut().filter(|run| run.dirty) else { return };
        run.dirty = false;
        run.sum_up();
        out.push(Row::Run(Box::new(run.row.clone())));
    }

    pub(super) fn begin_imported(&mut self, agent: &str, id: &str, at: UnixMillis) {
        self.begin(at);
        if let Some(run) = &mut self.run {
            agent.clone_into(&mut run.row.agent);
            id.clone_into(&mut run.row.run_id);
        }
    }

    pub(super) fn finish_imported(&mut self, out: &mut Vec<Row>) {
        let Some(run) = &mut self.run else { return };
        // Nobody saw the agent end: how its last turn ended is all that is known.
        let (outcome, by) = match (run.turn.is_some(), run.last_end.as_deref()) {
            (false, Some("done")) => ("success", "agent"),
            (false, Some("cancelled")) => ("interrupted", "person"),
            (false, Some("limit")) => ("limit_reached", "agent"),
            (false, Some(_)) => ("agent_error", "agent"),
            (_, None) | (true, _) => ("no_result", "agent"),
        };
        let last = run.row.last;
        run.row.ended = Some(last);
        run.row.outcome = Some(outcome.to_owned());
        run.row.ended_by = Some(by.to_owned());
        run.dirty = true;
        self.close(last, out);
    }

    pub(super) fn title(&mut self, title: &str) {
        if let Some(run) = &mut self.run {
            run.row.title = Some(excerpt(title.trim().as_bytes(), TITLE));
            run.titled = true;
            run.dirty = true;
        }
    }

    fn begin(&mut self, at: UnixMillis) {
        self.before_run = (self.runs, self.passages);
        let row = RunRow { run: self.runs, started: at, last: at, ..RunRow::default() };
        self.runs += 1;
        self.run = Some(Running { row, dirty: true, ..Running::default() });
    }

    pub(super) fn event(&mut self, at: UnixMillis, kind: EventKind, out: &mut Vec<Row>) {
        let Some(run) = &mut self.run else { return };
        run.dirty = true;
        run.row.events += 1;
        run.row.last = run.row.last.max(at);
        run.account.pass(at);
        run.went_on(&kind, out);
        let result = run.unsaid.take(&kind).map(str::to_owned);
        match kind {
            EventKind::SessionStarted { agent_version, native_id, model, cwd, .. } => {
                run.row.session = Some(native_id.0);
                run.row.agent_version = agent_version.or_else(|| run.row.agent_version.take());
                run.row.model = model.or_else(|| run.row.model.take());
                run.row.workspace = cwd.or_else(|| run.row.workspace.take());
            }
            EventKind::TurnStarted { prompt, .. } => self.turn_started(at, prompt, out),
            EventKind::TurnEnded { end, usage, duration_ms, .. } => {
                run.turn(at, out);
                if let Some(usage) = Usage::sum(run.early_usage.take(), usage) {
                    run.spend(&usage);
                }
                if let Some(text) = result {
                    run.title_by(&text);
                    self.pass(at, None, PassageKind::Message, &text, out);
                }
                let Some(run) = &mut self.run else { return };
                let said = serde_json::to_value(&end).unwrap_or_default();
                let word = |name: &str| said.get(name)?.as_str().map(str::to_owned);
                run.row.failure = word("failure");
                run.end_turn(at, word("kind"), word("failure"), duration_ms, out);
                if let Some(message) = word("message") {
                    self.pass(at, None, PassageKind::Notice, &message, out);
                }
            }
            // The turn goes on; the agent may be cut before its last result.
            EventKind::TurnResult { usage, .. } => {
                run.early_usage = Usage::sum(run.early_usage, usage);
                if let Some(usage) = run.early_usage {
                    run.spend(&usage);
                }
            }
            EventKind::ItemStarted { item } => self.item_started(at, item, out),
            EventKind::ItemDelta { id, text, .. } => run.grow(id, &text),
            EventKind::ItemCompleted { item } => self.item_completed(at, item, out),
            EventKind::ApprovalRequested { id, .. } if !run.asked.contains(&id) => {
                run.asked.push(id);
                run.account.ask();
            }
            EventKind::ApprovalResolved { id, .. } => {
                if let Some(place) = run.asked.iter().position(|asked| *asked == id) {
                    run.asked.remove(place);
                    run.account.answer();
                }
            }
            EventKind::UsageUpdated { usage } => run.spend(&usage),
            EventKind::RetryScheduled { .. } => run.row.retries += 1,
            EventKind::ConnectionChanged { state, .. } if state == "reconnecting" => {
                run.row.retries += 1;
            }
            // The index redacts each passage by itself, and a line of a key has no form.
            EventKind::ProcessStderr { text } if !self.stderr.hides(&text) => {
                self.pass(at, None, PassageKind::Stderr, &text, out);
            }
            // The other kinds make no rows; `tests/it/model.rs` lists the kinds that were considered.
            _ => {}
        }
    }

    fn turn_started(&mut self, at: UnixMillis, prompt: Option<String>, out: &mut Vec<Row>) {
        let Some(run) = &mut self.run else { return };
        // The first sign of a turn may come before its prompt.
        if run.turn.is_some() && run.turn_used {
            run.end_turn(at, None, None, None, out);
        }
        run.turn(at, out);
        if let Some(prompt) = prompt.filter(|prompt| !prompt.trim().is_empty()) {
            if !run.titled {
                run.titled = true;
                run.row.title = Some(excerpt(prompt.trim().as_bytes(), TITLE));
            }
            self.pass(at, None, PassageKind::Prompt, &prompt, out);
        }
    }

    fn item_started(&mut self, at: UnixMillis, item: Item, out: &mut Vec<Row>) {
        let Some(run) = &mut self.run else { return };
        run.turn(at, out);
        match item.body {
            ItemBody::Message { text } => {
                run.turn_used = true;
                run.texts.insert(item.id, (PassageKind::Message, text));
            }
            ItemBody::Reasoning { text } => {
                run.turn_used = true;
                run.texts.insert(item.id, (PassageKind::Reasoning, text));
            }
            ItemBody::Tool(tool) => {
                run.turn_used = true;
                run.open_tool(at, item.id, tool, out);
            }
            _ => {}
        }
    }

    fn item_completed(&mut self, at: UnixMillis, item: Item, out: &mut Vec<Row>) {
        let Some(run) = &mut self.run else { return };
        // A command may outlive its turn; its end is not the beginning of another.
        if !run.tools.contains_key(&item.id) {
            run.turn(at, out);
        }
        match item.body {
            ItemBody::Message { text } => {
                run.turn_used = true;
                run.texts.remove(&item.id);
                run.title_by(&text);
                self.pass(at, None, PassageKind::Message, &text, out);
            }
            ItemBody::Reasoning { text } => {
                run.turn_used = true;
                run.texts.remove(&item.id);
                self.pass(at, None, PassageKind::Reasoning, &text, out);
            }
            ItemBody::Tool(tool) => {
                run.turn_used = true;
                run.open_tool(at, item.id, tool, out);
                self.close_tool(at, item.id, out);
            }
            ItemBody::FileChange { path, diff } => {
                run.touch(at, &path, FileUse::Edit, out);
                if let Some(diff) = diff {
                    self.pass(at, None, PassageKind::Diff, &diff, out);
                }
            }
            ItemBody::Plan { text, .. } => {
                self.pass(at, None, PassageKind::Message, &text.unwrap_or_default(), out);
            }
            ItemBody::SubAgent { description } => {
                self.pass(at, None, PassageKind::Command, &description, out);
            }
            ItemBody::Notice { text, .. } => {
                self.pass(at, None, PassageKind::Notice, &text, out);
            }
            _ => {}
        }
    }

    /// A call is over, whether the agent said so or not.
    fn close_tool(&mut self, at: UnixMillis, id: ItemId, out: &mut Vec<Row>) {
        let Some(run) = &mut self.run else { return };
        let Some(Open { mut row, tool }) = run.tools.remove(&id) else { return };
        run.account.close_tool();
        row.ended = Some(at);
        if row.outcome.is_none() {
            row.outcome = Some("interrupted".into());
        }
        if row.outcome.as_deref() != Some("success") {
            run.row.tools_failed += 1;
        }
        let how = match tool.tool_kind {
            ToolKind::Read | ToolKind::Search => Some(FileUse::Read),
            ToolKind::Edit => Some(FileUse::Edit),
            ToolKind::Delete => Some(FileUse::Delete),
            ToolKind::Move => Some(FileUse::Move),
            _ => None,
        };
        if let (Some(how), ToolInput::Path { path }) = (how, &tool.input) {
            run.touch(at, path, how, out);
        }
        let (number, name) = (Some(row.tool), run.name_once(&tool));
        out.push(Row::Tool(Box::new(row)));
        self.pass(at, number, PassageKind::Tool, &name.unwrap_or_default(), out);
        self.pass(at, number, PassageKind::Command, tool.headline(), out);
        if let Some(output) = &tool.output {
            self.pass(at, number, PassageKind::Output, output, out);
        }
        if let Some(diff) = &tool.diff {
            self.pass(at, number, PassageKind::Diff, diff, out);
        }
        if let Some(
            Outcome::Failure { message: Some(text), .. }
            | Outcome::Rejected { reason: text }
            | Outcome::Denied { reason: text }
            | Outcome::SpawnError { message: text },
        ) = &tool.outcome
            && tool.output.as_ref() != Some(text)
        {
            self.pass(at, number, PassageKind::Output, text, out);
        }
    }

    /// Nothing of this run will be completed any more.
    fn close(&mut self, at: UnixMillis, out: &mut Vec<Row>) {
        let Some(run) = &mut self.run else { return };
        run.account.pass(at);
        let texts = std::mem::take(&mut run.texts);
        let mut open: Vec<ItemId> = run.tools.keys().copied().collect();
        open.sort_unstable();
        for (_, (kind, text)) in texts {
            self.pass(at, None, kind, &text, out);
        }
        for id in open {
            self.close_tool(at, id, out);
        }
        if let Some(run) = &mut self.run {
            run.end_turn(at, None, None, None, out);
        }
        self.flush(out);
    }

    fn pass(
        &mut self,
        at: UnixMillis,
        tool: Option<u32>,
        kind: PassageKind,
        text: &str,
        out: &mut Vec<Row>,
    ) {
        let Some(run) = &self.run else { return };
        if text.trim().is_empty() {
            return;
        }
        let turn = run.turn.as_ref().map(|turn| turn.turn);
        let text = shortened(text);
        let passage = self.passages;
        out.push(Row::Passage(Passage { passage, run: run.row.run, turn, tool, kind, at, text }));
        self.passages += 1;
    }
}

impl Running {
    /// The turn that is on; begun where none is.
    fn turn(&mut self, at: UnixMillis, out: &mut Vec<Row>) {
        if self.turn.is_none() {
            let (run, turn) = (self.row.run, self.row.turns);
            let row = TurnRow { run, turn, started: at, ..TurnRow::default() };
            self.row.turns += 1;
            self.turn_used = false;
            self.account.begin_turn();
            out.push(Row::Turn(row.clone()));
            self.turn = Some(row);
        }
    }

    fn end_turn(
        &mut self,
        at: UnixMillis,
        end: Option<String>,
        failure: Option<String>,
        agent_ms: Option<u64>,
        out: &mut Vec<Row>,
    ) {
        let Some(mut row) = self.turn.take() else { return };
        self.account.end_turn();
        self.asked.clear();
        row.ended = end.is_some().then_some(at);
        self.last_end.clone_from(&end);
        row.end = end;
        row.failure = failure;
        row.agent_ms = agent_ms;
        row.usage = self.turn_usage.take();
        if let Some(tokens) = &row.usage {
            self.used = Some(self.used.map_or(*tokens, |used| used.plus(tokens)));
        }
        out.push(Row::Turn(row));
    }

    /// Within a turn each statement replaces the one before.
    fn spend(&mut self, usage: &Usage) {
        match usage {
            Usage::Turn(tokens) => self.turn_usage = Some(*tokens),
            Usage::Total(tokens) => self.stated = Some(*tokens),
        }
    }

    /// An answer stands in for a prompt that is not known.
    fn title_by(&mut self, answer: &str) {
        if self.row.title.is_none() && !answer.trim().is_empty() {
            self.row.title = Some(excerpt(answer.trim().as_bytes(), TITLE));
        }
    }

    /// Returns what a tool is called, the first time in a run; one of an MCP server has three names.
    fn name_once(&mut self, tool: &Tool) -> Option<String> {
        let mut names = vec![tool.name.as_str()];
        if let ToolInput::Mcp { server, tool } = &tool.input {
            names.extend([server.as_str(), tool.as_str()]);
        }
        names.dedup();
        let text = excerpt(names.join(" ").trim().as_bytes(), TARGET);
        (self.names.len() < MOST_NAMES && self.names.insert(text.clone())).then_some(text)
    }

    fn grow(&mut self, id: ItemId, more: &str) {
        if let Some((_, text)) = self.texts.get_mut(&id)
            && text.len() < HEAD + TAIL
        {
            text.push_str(more);
        }
    }

    fn open_tool(&mut self, at: UnixMillis, id: ItemId, tool: Box<Tool>, out: &mut Vec<Row>) {
        let known = self.tools.remove(&id);
        let is_new = known.is_none();
        let (number, started) = match known {
            Some(open) => (open.row.tool, open.row.started),
            None => (self.row.tools, at),
        };
        let said = tool.outcome.as_ref().and_then(|it| serde_json::to_value(it).ok());
        let outcome = said.as_ref().and_then(|it| it.get("kind")?.as_str().map(str::to_owned));
        let exit_code = match &tool.outcome {
            Some(Outcome::Failure { exit_code, .. }) => *exit_code,
            _ => None,
        };
        let row = ToolRow {
            run: self.row.run,
            turn: self.turn.as_ref().map(|turn| turn.turn),
            tool: number,
            call: tool.call.0.clone(),
            name: tool.name.clone(),
            kind: tool.tool_kind.word().to_owned(),
            target: excerpt(tool.headline().as_bytes(), TARGET),
            started,
            ended: None,
            outcome,
            exit_code,
            agent_ms: tool.duration_ms,
            background: tool.background,
        };
        if is_new {
            self.row.tools += 1;
            self.account.open_tool();
            out.push(Row::Tool(Box::new(row.clone())));
        }
        self.tools.insert(id, Open { row, tool });
    }

    fn touch(&mut self, at: UnixMillis, path: &str, how: FileUse, out: &mut Vec<Row>) {
        let (run, path) = (self.row.run, path.to_owned());
        let key = (path.clone(), how);
        let row = self.files.entry(key).or_insert(FileRow { run, path, how, at, times: 0 });
        row.times += 1;
        out.push(Row::File(row.clone()));
    }

    /// After a verdict that nobody acted on, a word of the agent shows that it was wrong.
    fn went_on(&mut self, kind: &EventKind, out: &mut Vec<Row>) {
        let news = matches!(
            kind,
            EventKind::ItemStarted { .. }
                | EventKind::ItemDelta { .. }
                | EventKind::ItemCompleted { .. }
                | EventKind::TurnEnded { .. }
        );
        if let Some(verdict) = self.verdict.as_mut().filter(|_| news)
            && verdict.false_alarm == Some(false)
        {
            verdict.false_alarm = Some(true);
            out.push(Row::Verdict(verdict.clone()));
        }
    }

    fn sum_up(&mut self) {
        let turns = match (self.used, self.turn_usage) {
            (Some(used), Some(now)) => Some(used.plus(&now)),
            (used, now) => used.or(now),
        };
        self.row.usage = self.stated.or(turns);
        self.row.tool_ms = self.account.tool_ms;
        self.row.wait_ms = self.account.wait_ms;
        self.row.model_ms = self.account.model_ms;
        self.row.silence_ms = self.account.silence_ms;
    }
}

/// The beginning and the end of what is too long.
fn shortened(text: &str) -> String {
    if text.len() <= HEAD + TAIL {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(HEAD);
    let tail = text.ceil_char_boundary(text.len() - TAIL);
    let (head, tail) = (text.get(..head), text.get(tail..));
    // By `format!` it would be half as large again.
    [head.unwrap_or_default(), "\n…\n", tail.unwrap_or_default()].concat()
}
