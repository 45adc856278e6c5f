//! Events as text for a person: what the agent says, and a line for each tool.
//!
//! Everything an agent says is hostile to a terminal, so all of it goes through
//! `stablehand_core::text::plain`. System lines are not shown. Of a result only new text is shown: some
//! agents give their answer there alone, most repeat it. In a run with hooks each thought is a line.

use super::Surface;
use crate::screen::Screen;
use stablehand::show::Show;
use stablehand_core::Event;
use stablehand_core::event::{Choice, EventKind, ItemBody, Outcome, TextRole, Tool, ToolInput};
use stablehand_core::id::{CallId, ItemId, RunId};
use stablehand_core::text::plain;
use stablehand_core::time::UnixMillis;
use stablehand_core::unsaid::Unsaid;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io;
use std::time::Duration;

/// Shows events as text.
#[derive(Debug)]
pub struct TextView<S = Screen> {
    screen: S,
    buffer: String,
    at_line_start: bool,
    /// Messages of which something was shown already.
    shown: Option<ItemId>,
    /// What was said in the turn, so that a result does not say it again.
    unsaid: Unsaid,
    /// Whether a result is shown although something else was said in its turn.
    results: bool,
    started: HashMap<CallId, UnixMillis>,
    /// Questions of the agent that are open.
    asked: HashMap<String, String>,
    run: Option<RunId>,
    /// Hooks have called: more is told than the stream has.
    hooked: bool,
    /// Whether the agent's standard error is shown here and not passed through.
    stderr: bool,
    /// Whether prompts are shown: whoever reads later has not typed them.
    prompts: bool,
}

impl<S: Surface> TextView<S> {
    /// On a screen or a page; with the agent's standard error, or without.
    pub fn new(screen: S, stderr: bool) -> Self {
        TextView {
            screen,
            buffer: String::new(),
            at_line_start: true,
            shown: None,
            unsaid: Unsaid::default(),
            results: true,
            started: HashMap::new(),
            asked: HashMap::new(),
            run: None,
            hooked: false,
            stderr,
            prompts: false,
        }
    }

    /// Shows prompts too.
    #[must_use]
    pub fn with_prompts(mut self) -> Self {
        self.prompts = true;
        self
    }

    /// Shows a result only where nothing was said in its turn.
    #[must_use]
    pub fn with_lonely_results(mut self) -> Self {
        self.results = false;
        self
    }

    fn begin_if_new(&mut self, run: &RunId) {
        if self.run.as_ref() == Some(run) {
            return;
        }
        self.end_line();
        if self.run.replace(run.clone()).is_some() {
            self.buffer.push('\n');
        }
        self.started.clear();
        self.shown = None;
    }

    fn prompt(&mut self, prompt: &str) {
        self.end_line();
        for line in plain(prompt).trim().lines() {
            self.buffer.push_str("> ");
            self.buffer.push_str(line);
            self.buffer.push('\n');
        }
    }

    fn say(&mut self, text: &str) {
        let text = plain(text);
        if let Some(last) = text.chars().last() {
            self.at_line_start = last == '\n';
            self.buffer.push_str(&text);
        }
    }

    fn line(&mut self, text: &str) {
        self.end_line();
        self.buffer.push_str(text);
        self.buffer.push('\n');
    }

    fn end_line(&mut self) {
        if !self.at_line_start {
            self.buffer.push('\n');
            self.at_line_start = true;
        }
    }

    fn tool_started(&mut self, tool: &Tool, at: UnixMillis) {
        self.started.insert(tool.call.clone(), at);
        let line = match &tool.input {
            ToolInput::Command { command, .. } => format!("⏳ `{}`", one_line(command)),
            _ if tool.headline().is_empty() => format!("⏳ {}", one_line(&tool.name)),
            _ => format!("⏳ {}: {}", one_line(&tool.name), one_line(tool.headline())),
        };
        self.line(&line);
    }

    fn tool_completed(&mut self, tool: &Tool, at: UnixMillis) {
        // By the log's clock: live and years later it took as long.
        let began = self.started.remove(&tool.call);
        let measured = began.map(|began| at.since(began));
        let spent = tool.duration_ms.map(Duration::from_millis).or(measured);
        let line = match &tool.input {
            ToolInput::Command { command, .. } => shell_line(command, spent, tool),
            _ => other_line(tool),
        };
        self.line(&line);
    }
}

fn shell_line(command: &str, spent: Option<Duration>, tool: &Tool) -> String {
    let command = one_line(command);
    let mut facts = Vec::new();
    if let Some(spent) = spent {
        facts.push(format!("{:.1}s", spent.as_secs_f64()));
    }
    let outcome = tool.outcome.as_ref().unwrap_or(&Outcome::Unknown);
    facts.push(match outcome {
        Outcome::Success if tool.background => "in the background".to_owned(),
        Outcome::Success => "exit 0".to_owned(),
        other => one_line(&other.describe()),
    });
    format!("{} `{command}` ({})", outcome.class().sign(), facts.join(", "))
}

fn other_line(tool: &Tool) -> String {
    let name = one_line(&tool.name);
    let outcome = tool.outcome.as_ref().unwrap_or(&Outcome::Unknown);
    let sign = outcome.class().sign();
    match outcome {
        Outcome::Success => format!("{sign} {name}"),
        other => format!("{sign} {name} ({})", one_line(&other.describe())),
    }
}

/// What was decided about a call before it ran, and by whom.
fn resolved(what: &str, choice: &Choice, by: &str) -> String {
    let by = one_line(by);
    match choice {
        Choice::Allow | Choice::AllowAlways | Choice::AllowWith => {
            format!("✓ allowed: {what} (by {by})")
        }
        Choice::Deny => format!("✗ denied: {what} (by {by})"),
        other => format!("? {what}: {} (by {by})", one_line(other.as_str())),
    }
}

/// The first line, short, and marked where something is left out.
pub(crate) fn one_line(text: &str) -> String {
    let text = plain(text);
    let mut lines = text.trim().lines();
    let first = lines.next().unwrap_or_default();
    let mut shown: String = first.chars().take(200).collect();
    if first.chars().count() > 200 || lines.next().is_some() {
        let _infallible = write!(shown, " …");
    }
    shown
}

impl<S: Surface> Show for TextView<S> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        let has_text = self.unsaid.has_text();
        let result = self.unsaid.take(&event.event).filter(|_| self.results || !has_text);
        match &event.event {
            EventKind::TurnStarted { prompt, .. } => {
                self.begin_if_new(&event.run);
                if let Some(prompt) = prompt.as_deref().filter(|_| self.prompts) {
                    self.prompt(prompt);
                }
            }
            // What an agent wrote down itself begins without a process.
            EventKind::ProcessSpawned { .. } | EventKind::SessionStarted { .. } => {
                self.begin_if_new(&event.run);
            }
            EventKind::ItemDelta { id, role: TextRole::Message, text } => {
                self.shown = Some(*id);
                self.say(text);
            }
            EventKind::ItemCompleted { item } => match &item.body {
                ItemBody::Message { text } => {
                    if self.shown != Some(item.id) {
                        self.say(text);
                    }
                    self.shown = None;
                    self.end_line();
                }
                ItemBody::Tool(tool) if tool.name.is_empty() => {}
                ItemBody::Tool(tool) => {
                    self.tool_completed(tool, event.at);
                }
                ItemBody::Notice { text, .. } => self.line(&format!("! {}", one_line(text))),
                ItemBody::FileChange { path, diff } => {
                    self.end_line();
                    self.buffer.push_str(&super::change::shown(path, diff.as_deref()));
                }
                ItemBody::SubAgent { description } => {
                    self.line(&format!("» sub-agent: {}", one_line(description)));
                }
                ItemBody::Reasoning { text } if self.hooked && !text.trim().is_empty() => {
                    self.line(&format!("~ {}", one_line(text)));
                }
                ItemBody::Plan { text: Some(text), .. } => {
                    self.end_line();
                    self.say(text);
                    self.end_line();
                }
                _ => {}
            },
            EventKind::ItemStarted { item } => {
                // A call that names no tool has nothing to show.
                if let ItemBody::Tool(tool) = &item.body
                    && !tool.name.is_empty()
                {
                    self.tool_started(tool, event.at);
                }
            }
            EventKind::ApprovalRequested { id, what, .. } => {
                // A question is shown below, on a line of its own.
                self.end_line();
                self.asked.insert(id.clone(), one_line(what));
            }
            EventKind::ApprovalResolved { id, choice, by } => {
                if let Some(what) = self.asked.remove(id) {
                    self.line(&resolved(&what, choice, by.by.as_str()));
                }
            }
            EventKind::HookReceived { .. } => self.hooked = true,
            EventKind::TurnContinued { prompt, by, count, max, sub_agent } => {
                let (prompt, by) = (one_line(prompt), one_line(by));
                let who = if sub_agent.is_some() { "sub-agent: " } else { "" };
                self.line(&format!("↻ {who}{prompt} ({count} of {max}, by {by})"));
            }
            EventKind::TurnResult { .. } | EventKind::TurnEnded { .. } => {
                self.asked.clear();
                if let Some(text) = result {
                    self.end_line();
                    self.say(text);
                    self.end_line();
                }
            }
            EventKind::ProcessStderr { text } if self.stderr => {
                self.pause()?;
                self.screen.err(format!("{}\n", plain(text)).as_bytes());
            }
            EventKind::ProcessExited { .. } => self.end_line(),
            _ => {}
        }
        if self.buffer.len() > 64 << 10 { self.pause() } else { Ok(()) }
    }

    fn pause(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let done = self.screen.out(self.buffer.as_bytes());
        self.buffer.clear();
        done
    }
}
