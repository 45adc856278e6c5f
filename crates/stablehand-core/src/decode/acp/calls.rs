//! Tool calls: told in pieces, each of which says again or says more of what is known.
//!
//! What a call shows is told whole each time, so only what is new of it is passed on. A call whose
//! input was not known when it began is told again once it is.

use super::super::Depth;
use super::super::kit::{self, Given, Ids, Reads, cut, digest_of, given, mix, row, says_nothing};
use super::content;
use crate::event::{EventKind, Item, ItemBody, Outcome, TextRole, Tool, ToolInput, ToolKind};
use crate::id::{CallId, ItemId, digest64};
use crate::json::Value;
use crate::line::Line;
use crate::wish::{Want, terminal_of};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// So many calls are remembered as open; see the kit's own.
const MOST_OPEN: usize = 1024;

/// So much of what came piece by piece is kept for the end of a call; it was told as it came.
const MOST_PIECES: usize = 1 << 20;

/// Calls that are open.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Calls {
    open: VecDeque<Call>,
    /// The session that the present line is of, as a digest: another one may have a call of the same
    /// id, and nobody may take the one for the other.
    session: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Call {
    session: u64,
    item: ItemId,
    #[serde(with = "crate::saved::tool")]
    tool: Box<Tool>,
    title: String,
    /// What it was given is not told yet; its title stands in.
    is_guessed: bool,
    /// How much of its output was told, and the digest of that.
    told: (usize, u64),
    /// Output that came piece by piece, as far as it is kept.
    pieces: String,
    /// Not a call that the agent told, but something that it has done for it.
    is_served: bool,
}

/// The members of a call or of an update of one.
#[derive(Clone, Copy, Debug, Default)]
struct Wire<'a> {
    id: Option<Value<'a>>,
    title: Option<Value<'a>>,
    name: Option<Value<'a>>,
    kind: &'a [u8],
    status: &'a [u8],
    input: Option<Value<'a>>,
    output: Option<Value<'a>>,
    content: Option<Value<'a>>,
    locations: Option<Value<'a>>,
    meta: Option<Value<'a>>,
}

impl<'a> Wire<'a> {
    fn read(call: Value<'a>) -> Self {
        let mut wire = Wire::default();
        let mut members = call.members();
        while let Some(key) = members.key() {
            let Some(value) = members.value().or_else(|| members.rest()) else { break };
            if value.is_null() {
                continue;
            }
            match key {
                b"toolCallId" => wire.id = Some(value),
                b"title" => wire.title = Some(value),
                b"name" => wire.name = Some(value),
                b"kind" => wire.kind = value.raw_str().unwrap_or_default(),
                b"status" => wire.status = value.raw_str().unwrap_or_default(),
                b"rawInput" => wire.input = Some(value),
                b"rawOutput" => wire.output = Some(value),
                b"content" => wire.content = Some(value),
                b"locations" => wire.locations = Some(value),
                b"_meta" => wire.meta = Some(value),
                _ => {}
            }
        }
        wire
    }

    fn id(&self) -> String {
        self.id.and_then(Value::string).unwrap_or_default()
    }

    /// The tool's own name, where the agent tells it.
    fn name(&self) -> Option<String> {
        let of_meta = || {
            let meta = self.meta?.get("claudeCode")?;
            meta.get("toolName").and_then(Value::string)
        };
        self.name.and_then(Value::string).filter(|name| !name.is_empty()).or_else(of_meta)
    }

    /// A piece of what a command printed, as some tell it beside the protocol.
    fn piece(&self) -> Option<Value<'a>> {
        let meta = self.meta?;
        let of = |key: &str| meta.get(key)?.get("data").filter(|data| data.raw_str().is_some());
        of("terminal_output_delta").or_else(|| of("terminal_output"))
    }

    /// How the command ended, told there, too.
    fn exit_code(&self) -> Option<i32> {
        let code = self.meta?.get("terminal_exit")?.get("exit_code").and_then(Value::i64);
        code.and_then(|code| i32::try_from(code).ok())
    }

    /// Tells of a kind or a status that is not known.
    fn tell_unknown(&self, line: &Line<'_>, out: &mut Vec<EventKind>) {
        if kind(self.kind).is_none() {
            kit::unknown_value("kind of tool", self.kind, line, out);
        }
        let is_known = matches!(
            self.status,
            b"" | b"pending" | b"in_progress" | b"completed" | b"failed" | b"cancelled"
        );
        if !is_known {
            kit::unknown_value("status", self.status, line, out);
        }
    }

    fn first_location(&self) -> Option<String> {
        self.locations?.elements().next()?.get("path")?.string()
    }
}

/// A session, as far as it has to be told from others.
pub(super) fn digest_of_session(session: Option<Value<'_>>) -> u64 {
    digest64(session.and_then(Value::string).unwrap_or_default().as_bytes())
}

/// A word of an object, as it stands there.
pub(super) fn word<'a>(holder: Value<'a>, key: &str) -> &'a [u8] {
    holder.get(key).and_then(Value::raw_str).unwrap_or_default()
}

impl Calls {
    /// What follows is of this session.
    pub(super) fn of_session(&mut self, session: Option<Value<'_>>) {
        self.session = digest_of_session(session);
    }

    /// A call or an update of one.
    pub(super) fn told(
        &mut self,
        update: Value<'_>,
        ids: &mut Ids,
        depth: Depth,
        line: &Line<'_>,
        out: &mut Vec<EventKind>,
    ) {
        let wire = Wire::read(update);
        wire.tell_unknown(line, out);
        let is_over = matches!(wire.status, b"completed" | b"failed" | b"cancelled");
        let at = self.announce(&wire, ids, out);
        let Some(call) = self.open.get_mut(at) else { return };
        call.show(&wire, depth, out);
        if is_over && let Some(call) = self.open.remove(at) {
            call.end(&wire, depth, out);
        }
    }

    /// A call that permission is asked for, as far as it is known now.
    pub(super) fn asked(
        &mut self,
        about: Value<'_>,
        ids: &mut Ids,
        depth: Depth,
        line: &Line<'_>,
        out: &mut Vec<EventKind>,
    ) -> Option<Box<Tool>> {
        let wire = Wire::read(about);
        wire.tell_unknown(line, out);
        wire.id?;
        let at = self.announce(&wire, ids, out);
        let mut tool = self.open.get(at)?.tool.clone();
        if depth == Depth::Full
            && let Some(diff) = wire.content.and_then(content::diff)
        {
            tool.diff = Some(diff);
        }
        Some(tool)
    }

    /// A piece of what an open call shows.
    pub(super) fn chunk(&mut self, update: Value<'_>, depth: Depth, out: &mut Vec<EventKind>) {
        let id = Wire::read(update).id();
        let is_it = |call: &&mut Call| call.session == self.session && call.tool.call.0 == id;
        let Some(call) = self.open.iter_mut().find(is_it) else { return };
        if let Some(content) = update.get("content") {
            let inner = content.get("content").unwrap_or(content);
            let text = match inner.get("text").and_then(Value::cut_str) {
                Some(text) => text,
                None => content::named(inner),
            };
            call.grow(text, depth, out);
        }
    }

    /// Opens the call, or adds what is new about it; its place.
    fn announce(&mut self, wire: &Wire<'_>, ids: &mut Ids, out: &mut Vec<EventKind>) -> usize {
        let id = wire.id();
        let session = self.session;
        let is_it = |call: &Call| call.session == session && call.tool.call.0 == id;
        let known = self.open.iter().position(is_it);
        let at = known.unwrap_or_else(|| {
            if self.open.len() >= MOST_OPEN {
                self.open.pop_front();
            }
            let item = ids.next();
            let tool = Box::new(begun(id, item));
            let (title, told) = (String::new(), (0, digest64(b"")));
            let pieces = String::new();
            self.open.push_back(Call {
                session,
                item,
                tool,
                title,
                is_guessed: true,
                told,
                pieces,
                is_served: false,
            });
            self.open.len() - 1
        });
        if let Some(call) = self.open.get_mut(at) {
            let is_news = call.learn(wire);
            if known.is_none() || is_news {
                let body = ItemBody::Tool(call.tool.clone());
                out.push(EventKind::ItemStarted { item: Item { id: call.item, body } });
            }
        }
        at
    }

    /// Something that the agent has somebody do for it. While a call of its own is open that is what
    /// the call is about, and is told with it; else it is told as a call, since nobody else will. What
    /// came of it only the answer says, which is not the agent's.
    pub(super) fn served(
        &mut self,
        id: &str,
        want: &Want,
        ids: &mut Ids,
        out: &mut Vec<EventKind>,
    ) {
        let (name, input) = match want {
            Want::Read { path, .. } => ("read_text_file", ToolInput::Path { path: path.clone() }),
            Want::Write { path, .. } => ("write_text_file", ToolInput::Path { path: path.clone() }),
            Want::Run(command) => {
                let (line, cwd) = (cut(command.line()), command.cwd.clone());
                ("terminal", ToolInput::Command { command: line, cwd })
            }
            Want::Release { terminal } => return self.released(terminal, out),
            Want::Output { .. } | Want::Wait { .. } | Want::Kill { .. } => return,
        };
        if self.open.iter().any(|call| !call.is_served && call.session == self.session) {
            return;
        }
        let item = ids.next();
        let mut tool = begun(terminal_of(id), item);
        name.clone_into(&mut tool.name);
        tool.tool_kind = want.kind().unwrap_or(ToolKind::Other);
        tool.digest = digest64(format!("{name} {input:?}").as_bytes());
        tool.input = input;
        let tool = Box::new(tool);
        let body = ItemBody::Tool(tool.clone());
        out.push(EventKind::ItemStarted { item: Item { id: item, body } });
        let (title, told, pieces) = (String::new(), (0, digest64(b"")), String::new());
        let call = Call {
            session: self.session,
            item,
            tool,
            title,
            is_guessed: false,
            told,
            pieces,
            is_served: true,
        };
        if matches!(want, Want::Run(_)) {
            self.open.push_back(call);
        } else {
            call.end(&Wire::default(), Depth::Skim, out);
        }
    }

    /// A terminal is given back, and with it what was told as a call.
    fn released(&mut self, terminal: &str, out: &mut Vec<EventKind>) {
        let at = self.open.iter().position(|call| call.tool.call.0 == terminal);
        if let Some(call) = at.and_then(|at| self.open.remove(at)) {
            call.end(&Wire::default(), Depth::Skim, out);
        }
    }

    /// The turn of this session ended, and those of others go on.
    pub(super) fn abandon_of(&mut self, session: u64, depth: Depth, out: &mut Vec<EventKind>) {
        let (over, open) = self.open.drain(..).partition(|call| call.session == session);
        self.open = open;
        let over: VecDeque<Call> = over;
        for call in over {
            call.end(&Wire::default(), depth, out);
        }
    }

    /// The turn ended and the agent will say no more about these.
    pub(super) fn abandon(&mut self, depth: Depth, out: &mut Vec<EventKind>) {
        for call in self.open.drain(..) {
            call.end(&Wire::default(), depth, out);
        }
    }
}

impl Call {
    /// Takes what is new about it; whether whoever was told of it has to be told again.
    fn learn(&mut self, wire: &Wire<'_>) -> bool {
        if let Some(title) = wire.title.and_then(Value::string).filter(|it| !it.is_empty()) {
            self.title = title;
        }
        let tool = &mut *self.tool;
        if !wire.kind.is_empty() {
            tool.tool_kind = kind(wire.kind).unwrap_or(ToolKind::Other);
        }
        if let Some(name) = wire.name() {
            tool.name = name;
        } else if tool.name.is_empty() {
            tool.name = first_word(wire.kind, &self.title);
        }
        let mut is_news = false;
        let input = wire.input.filter(|input| input.members().next().is_some());
        if let Some(input) = input {
            let Given { input: read, also, timeout_ms, background, digest } = given(
                &tool.name,
                row("", tool.tool_kind, reads(tool.tool_kind, input)),
                Some(input),
            );
            if !says_nothing(&read) {
                is_news = std::mem::take(&mut self.is_guessed);
                tool.input = read;
                tool.also = also;
            }
            tool.timeout_ms = timeout_ms.or(tool.timeout_ms);
            tool.background |= background;
            tool.digest = digest;
        }
        if self.is_guessed {
            let guess = self.by_its_title(wire);
            is_news |= says_nothing(&self.tool.input) && !says_nothing(&guess);
            self.tool.input = guess;
        }
        is_news
    }

    /// Agents that do not tell what a tool is given say it in the title.
    fn by_its_title(&self, wire: &Wire<'_>) -> ToolInput {
        let place = wire.first_location();
        let title = || cut(self.title.clone());
        match self.tool.tool_kind {
            // A title is for people: a policy must not take it for what will be run.
            ToolKind::Read | ToolKind::Edit | ToolKind::Delete | ToolKind::Move => match place {
                Some(path) => ToolInput::Path { path },
                None if matches!(self.tool.input, ToolInput::Path { .. }) => {
                    self.tool.input.clone()
                }
                None => ToolInput::Other { summary: title() },
            },
            _ => ToolInput::Other { summary: title() },
        }
    }

    /// Passes on a piece of its output.
    fn grow(&mut self, text: String, depth: Depth, out: &mut Vec<EventKind>) {
        let text = if depth == Depth::Skim { String::new() } else { text };
        let room = MOST_PIECES.saturating_sub(self.pieces.len());
        self.pieces.push_str(text.get(..text.floor_char_boundary(room)).unwrap_or_default());
        out.push(EventKind::ItemDelta { id: self.item, role: TextRole::ToolOutput, text });
    }

    /// Passes on what is new of what it shows.
    fn show(&mut self, wire: &Wire<'_>, depth: Depth, out: &mut Vec<EventKind>) {
        if let Some(piece) = wire.piece() {
            self.grow(piece.string().unwrap_or_default(), depth, out);
        }
        let Some(text) = wire.content.map(content::text).filter(|text| !text.is_empty()) else {
            return;
        };
        let (before, digest) = self.told;
        let is_more = text.get(..before).is_some_and(|part| digest64(part.as_bytes()) == digest);
        let new = if is_more { text.get(before..).unwrap_or_default() } else { text.as_str() };
        if new.is_empty() {
            return;
        }
        let text_now = match depth {
            Depth::Skim => String::new(),
            Depth::Full => new.to_owned(),
        };
        self.told = (text.len(), digest64(text.as_bytes()));
        out.push(EventKind::ItemDelta {
            id: self.item,
            role: TextRole::ToolOutput,
            text: text_now,
        });
    }

    fn end(mut self, wire: &Wire<'_>, depth: Depth, out: &mut Vec<EventKind>) {
        let raw = wire.output.unwrap_or(Value::new(b"null"));
        let code = content::exit_code(raw).or_else(|| wire.exit_code());
        let tool = &mut *self.tool;
        tool.outcome = Some(match wire.status {
            b"completed" if code.is_none_or(|code| code == 0) => Outcome::Success,
            b"completed" => Outcome::Failure { exit_code: code, message: None },
            b"cancelled" => Outcome::Rejected { reason: "cancelled".to_owned() },
            b"failed" => {
                let text = content::output(raw).or_else(|| wire.content.map(content::text));
                let message = text.filter(|text| !text.is_empty()).map(cut);
                Outcome::Failure { exit_code: code, message }
            }
            _ => Outcome::Unknown,
        });
        let shown = wire.content.map_or(&b""[..], Value::raw);
        tool.digest = mix(mix(tool.digest, digest_of(raw.raw())), digest_of(shown));
        if depth == Depth::Full {
            tool.output = content::output(raw)
                .or_else(|| wire.content.map(content::text))
                .filter(|text| !text.is_empty())
                .or_else(|| Some(std::mem::take(&mut self.pieces)).filter(|it| !it.is_empty()));
            tool.diff = wire.content.and_then(content::diff);
        }
        let item = Item { id: self.item, body: ItemBody::Tool(self.tool) };
        out.push(EventKind::ItemCompleted { item });
    }
}

/// A call of which only the id is known.
pub(super) fn begun(id: String, item: ItemId) -> Tool {
    let call = if id.is_empty() { format!("item-{}", item.0) } else { id };
    Tool::new(CallId(call), "", ToolKind::Other, ToolInput::Other { summary: String::new() })
}

/// The protocol's words for kinds are ours; `None` for one that is not known.
fn kind(word: &[u8]) -> Option<ToolKind> {
    Some(match word {
        b"read" => ToolKind::Read,
        b"edit" => ToolKind::Edit,
        b"delete" => ToolKind::Delete,
        b"move" => ToolKind::Move,
        b"search" => ToolKind::Search,
        b"execute" => ToolKind::Execute,
        b"think" => ToolKind::Think,
        b"fetch" => ToolKind::Fetch,
        b"switch_mode" => ToolKind::SwitchMode,
        b"other" | b"" => ToolKind::Other,
        _ => return None,
    })
}

/// How what a tool of that kind is given is read. A fetch that has a query and no address is a search.
fn reads(kind: ToolKind, input: Value<'_>) -> Reads {
    match kind {
        ToolKind::Fetch if input.get("url").is_none() && input.get("query").is_some() => {
            Reads::Query
        }
        ToolKind::Execute => Reads::Command,
        ToolKind::Read | ToolKind::Edit | ToolKind::Delete | ToolKind::Move => Reads::Path,
        ToolKind::Search => Reads::Query,
        ToolKind::Fetch => Reads::Url,
        _ => Reads::Anything,
    }
}

/// What a tool is called that has no name: its kind, or how its title begins.
fn first_word(kind: &[u8], title: &str) -> String {
    match kind {
        b"" | b"other" => title.split_whitespace().next().unwrap_or("tool").to_owned(),
        kind => String::from_utf8_lossy(kind).into_owned(),
    }
}
