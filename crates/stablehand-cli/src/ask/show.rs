//! How a question looks: what is to be done, why it is asked, and which keys answer.
//!
//! Everything that an agent supplied is stripped of control sequences. What is long is cut, with
//! a count of what is missing.

use super::feed::Question;
use anstyle::AnsiColor;
use stablehand::control::Always;
use stablehand_core::event::{Tool, ToolInput};
use stablehand_core::text::plain;
use std::fmt::Write as _;

/// Lines of a command or a text that are shown at first.
const LINES: usize = 20;

/// Lines of a diff that are shown at first.
const DIFF_LINES: usize = 40;

/// Characters of a line that are shown at first.
const WIDTH: usize = 400;

/// Words by which agents say yes and no: our own keys mean the same.
const USUAL: &[&str] = &[
    "allow",
    "deny",
    "accept",
    "acceptForSession",
    "decline",
    "cancel",
    "approved",
    "approved_for_session",
    "denied",
    "abort",
];

const BOLD: anstyle::Style = anstyle::Style::new().bold();
const DIM: anstyle::Style = anstyle::Style::new().dimmed();

/// How it is dressed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    pub(super) colour: bool,
}

impl Style {
    fn dress(self, look: anstyle::Style, text: &str) -> String {
        if self.colour { format!("{look}{text}{look:#}") } else { text.to_owned() }
    }
}

/// How much of something is shown.
#[derive(Clone, Copy)]
struct Cut {
    lines: usize,
    width: usize,
}

/// The question, whole or cut.
pub(super) fn question(question: &Question, style: Style, whole: bool) -> String {
    let cut = |lines| {
        let all = Cut { lines: usize::MAX, width: usize::MAX };
        if whole { all } else { Cut { lines, width: WIDTH } }
    };
    let mut out = String::new();
    if let Some(tool) = &question.tool {
        let head = format!("? {}: {}", tool.tool_kind.word(), one_line(&tool.name));
        let _infallible = writeln!(out, "{}", style.dress(BOLD, &head));
        body(tool, cut(LINES), &mut out);
        if let Some(diff) = &tool.diff {
            let dress = |line: &str| match line.chars().next() {
                Some('+') => style.dress(AnsiColor::Green.on_default(), line),
                Some('-') => style.dress(AnsiColor::Red.on_default(), line),
                Some('@') => style.dress(AnsiColor::Cyan.on_default(), line),
                _ => line.to_owned(),
            };
            block(diff, cut(DIFF_LINES), &dress, &mut out);
        }
    } else {
        let _infallible = writeln!(out, "{}", style.dress(BOLD, "? a question of the agent"));
        block(&question.what, cut(LINES), &str::to_owned, &mut out);
    }
    for (number, option) in choices(question).iter().enumerate() {
        let _infallible = writeln!(out, "  {}  {}", number + 1, one_line(option));
    }
    if is_hiding(question) {
        out.push_str("  (it has characters in it that cannot be shown)\n");
    }
    if let Some(why) = &question.why {
        let why = if whole { plain(why) } else { one_line(why) };
        let _infallible = writeln!(out, "  {}", style.dress(DIM, &format!("asked because {why}")));
    }
    out
}

fn body(tool: &Tool, cut: Cut, out: &mut String) {
    let mut fact = |name: &str, value: &str| {
        let _infallible = writeln!(out, "  {name} {}", one_line(value));
    };
    match &tool.input {
        ToolInput::Command { command, cwd } => {
            block(command, cut, &str::to_owned, out);
            if let Some(cwd) = cwd {
                let _infallible = writeln!(out, "  in {}", one_line(cwd));
            }
        }
        ToolInput::Path { path } => fact("file", path),
        ToolInput::Query { query, path } => {
            fact("search for", query);
            if let Some(path) = path {
                fact("in", path);
            }
        }
        ToolInput::Url { url } => fact("address", url),
        ToolInput::Mcp { server, tool } => {
            fact("server", server);
            fact("tool", tool);
        }
        ToolInput::SubAgent { description } => fact("task", description),
        ToolInput::Todos { todos } => {
            let todos: Vec<&str> = todos.iter().map(|todo| todo.text.as_str()).collect();
            block(&todos.join("\n"), cut, &str::to_owned, out);
        }
        ToolInput::Other { summary } => block(summary, cut, &str::to_owned, out),
        _ => {}
    }
}

/// Lines, indented, with what is too much counted.
fn block(text: &str, cut: Cut, dress: &dyn Fn(&str) -> String, out: &mut String) {
    let text = plain(text);
    let count = text.lines().count();
    for line in text.lines().take(cut.lines) {
        let length = line.chars().count();
        let shown: String = line.chars().take(cut.width).collect();
        let _infallible = write!(out, "    {}", dress(&shown));
        if length > cut.width {
            let _infallible = write!(out, " … {} more characters", length - cut.width);
        }
        out.push('\n');
    }
    if count > cut.lines {
        let more = count - cut.lines;
        let s = if more == 1 { "" } else { "s" };
        let _infallible = writeln!(out, "    … {more} more line{s}; v shows all");
    }
}

/// A text of ours, indented like the others.
pub(super) fn indented(text: &str) -> String {
    let mut out = String::new();
    block(text, Cut { lines: usize::MAX, width: usize::MAX }, &str::to_owned, &mut out);
    out
}

/// The options of a question that are more than yes and no.
pub(super) fn choices(question: &Question) -> Vec<&String> {
    if question.options.iter().all(|option| USUAL.contains(&option.as_str())) {
        return Vec::new();
    }
    question.options.iter().take(9).collect()
}

/// Whether something is not shown that the agent would use.
fn is_hiding(question: &Question) -> bool {
    let hides = |text: &str| plain(text) != text;
    match &question.tool {
        Some(tool) => hides(tool.headline()) || tool.diff.as_deref().is_some_and(hides),
        None => hides(&question.what),
    }
}

/// The keys.
pub(super) fn keys(question: &Question, always: &Always, style: Style) -> String {
    let mut keys = vec!["y yes, once"];
    match always {
        Always::Session => keys.push("a for this session"),
        Always::Rule { .. } => keys.push("a always"),
        Always::No(_) => {}
    }
    keys.extend(["n no", "w no, with a word", "v view all", "? help"]);
    if !choices(question).is_empty() {
        keys.insert(0, "1-9 choose");
    }
    format!("  {} ", style.dress(BOLD, &format!("{}:", keys.join(" · "))))
}

/// What the keys mean.
pub(super) fn help(always: &Always) -> String {
    let always = match always {
        Always::Session => "yes, and the agent need not ask again in this session".to_owned(),
        Always::Rule { file, .. } => format!("yes, and a rule for just this is written to {file}"),
        Always::No(why) => format!("cannot be said here: {why}"),
    };
    format!(
        "\n  y       yes, this once\n  a       {}\n  n       no\n  N or w  no, and a line that the \
         agent is told\n  v       everything that is known about it\n  Ctrl-C  stops the run\n",
        one_line(&always)
    )
}

fn one_line(text: &str) -> String {
    let text = plain(text).replace(['\n', '\t'], " ");
    let mut shown: String = text.chars().take(WIDTH).collect();
    let more = text.chars().count().saturating_sub(WIDTH);
    if more > 0 {
        let _infallible = write!(shown, " … {more} more characters");
    }
    shown
}

#[cfg(test)]
mod tests;
