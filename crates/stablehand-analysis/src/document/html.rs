//! A log as one page of HTML that needs nothing else: no script, no picture, no address.
//!
//! Everything that an agent wrote is escaped, and the page forbids by its own policy whatever would
//! come through all the same: only our style, known by its hash, counts.

use super::{DocumentHead, wording};
use crate::history::{History, HistoryEntry, HistoryItem, ToolUse};
use crate::markup::{self, csp_hash};
use crate::timeline::Tone;
use stablehand_core::event::{NoticeLevel, SessionEnd, TodoStatus, TurnEnd};
use stablehand_core::text::plain;
use std::fmt::Write as _;

const STYLE: &str = include_str!("page.css");

/// So much of a prompt is in the table of contents.
const HEADLINE: usize = 90;

/// Renders the document.
pub(super) fn document(head: &DocumentHead, history: &History) -> String {
    let title = escaped(&wording::title(head));
    let hash = csp_hash(STYLE);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src '{hash}'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <header>\n<h1>{title}</h1>\n<dl>\n"
    );
    for (name, value) in wording::facts(head, history) {
        let _infallible = writeln!(out, "<dt>{name}</dt><dd>{}</dd>", escaped(&value));
    }
    out.push_str("</dl>\n</header>\n");
    contents(history, &mut out);
    for (number, entry) in (1..).zip(history.entries()) {
        entry_of(number, entry, &mut out);
    }
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

/// Where the prompts are, and what went wrong.
fn contents(history: &History, out: &mut String) {
    let mut lines = String::new();
    for (number, entry) in (1..).zip(history.entries()) {
        let (class, text) = match &entry.item {
            HistoryItem::Prompt(text) => ("prompt", text.clone()),
            HistoryItem::Verdict(why) => ("bad", why.clone()),
            HistoryItem::Tool(used) if used.describe_outcome().1 != Tone::Good => {
                let (name, what, outcome) = wording::call(entry).unwrap_or_default();
                ("bad", format!("{name} {what}: {outcome}"))
            }
            HistoryItem::RunEnded { end, by, .. } if *end != SessionEnd::Success => {
                ("bad", wording::end(*end, *by))
            }
            _ => continue,
        };
        let text: String = plain(&text).split_whitespace().collect::<Vec<_>>().join(" ");
        let short: String = text.chars().take(HEADLINE).collect();
        let more = if short.len() < text.len() { "…" } else { "" };
        let _infallible = writeln!(
            lines,
            "<li class=\"{class}\"><a href=\"#e{number}\">{}{more}</a></li>",
            escaped(&short)
        );
    }
    if lines.lines().count() > 1 {
        let _infallible =
            write!(out, "<nav aria-label=\"Contents\">\n<ol>\n{lines}</ol>\n</nav>\n");
    }
}

fn entry_of(number: usize, entry: &HistoryEntry, out: &mut String) {
    let (class, inside) = match &entry.item {
        HistoryItem::RunStarted { run, argv } => {
            let (summary, how) = wording::start(run, argv);
            ("run", format!("<h2>Run</h2>{}", fold(summary, &block(&how), "")))
        }
        HistoryItem::Prompt(text) => ("prompt", format!("<h3>Prompt</h3>{}", prose(text))),
        HistoryItem::Message(text) if text.trim().is_empty() => return,
        HistoryItem::Message(text) => ("said", prose(text)),
        HistoryItem::Reasoning(text) if text.trim().is_empty() => return,
        HistoryItem::Reasoning(text) => ("thought", fold("Thinking", &prose(text), "")),
        HistoryItem::Tool(used) => ("tool", tool(entry, used)),
        HistoryItem::Plan { todos, text } => ("plan", {
            let mut list = String::from("<h3>Plan</h3><ul>");
            for todo in todos {
                let class = match todo.status {
                    TodoStatus::Completed => "done",
                    TodoStatus::InProgress => "now",
                    TodoStatus::Pending | TodoStatus::Cancelled | TodoStatus::Unknown => "",
                };
                let mark = wording::mark(todo.status);
                let _infallible = write!(
                    list,
                    "<li class=\"{class}\">{} <small>{mark}</small></li>",
                    escaped(&todo.text)
                );
            }
            list + "</ul>" + &text.as_ref().map(|text| prose(text)).unwrap_or_default()
        }),
        HistoryItem::FileChange { path, diff } => ("tool", {
            let name = format!("Changed <code>{}</code>", escaped(path));
            match diff {
                Some(diff) => fold_html(&name, &changes(diff), ""),
                None => format!("<p>{name}</p>"),
            }
        }),
        HistoryItem::SubAgent(text) => ("note", format!("<p>Another agent: {}</p>", escaped(text))),
        HistoryItem::Notice { level, text } => {
            let class = if *level == NoticeLevel::Error { "note bad" } else { "note" };
            (class, format!("<p>{}</p>", escaped(text)))
        }
        HistoryItem::Approval { what, why, answer } => ("asked", {
            let why = why.as_ref().map(|why| format!(" <small>{}</small>", escaped(why)));
            let answer = escaped(&wording::answer(answer.as_ref()));
            let what = escaped(what);
            format!("<p>Asked: {what}{} <b>{answer}</b></p>", why.unwrap_or_default())
        }),
        HistoryItem::Continuation { prompt, by } => {
            ("prompt", format!("<h3>Told to go on, by {}</h3>{}", escaped(by), prose(prompt)))
        }
        HistoryItem::Verdict(why) => {
            ("note bad", format!("<p><b>Verdict:</b> {}</p>", escaped(why)))
        }
        HistoryItem::Stderr(text) => ("stderr", fold("Standard error", &block(text), "")),
        HistoryItem::Unrecognized(text) => {
            ("note", format!("<p>Not understood: <code>{}</code></p>", escaped(text)))
        }
        HistoryItem::TurnEnded { end, usage, duration_ms } => {
            let class = if *end == TurnEnd::Done { "rest" } else { "rest bad" };
            let text = wording::turn(end, usage.as_ref(), *duration_ms);
            (class, format!("<p>Turn over: {}</p>", escaped(&text)))
        }
        HistoryItem::RunEnded { end, by, .. } => {
            let class = if *end == SessionEnd::Success { "end good" } else { "end bad" };
            (class, format!("<p>Ended: {}</p>", escaped(&wording::end(*end, *by))))
        }
    };
    let at = entry.at.time_of_day();
    let _infallible = writeln!(
        out,
        "<section class=\"{class}\" id=\"e{number}\"><a class=\"at\" href=\"#e{number}\">{at}</a>\n\
         <div>{inside}</div></section>"
    );
}

fn tool(entry: &HistoryEntry, used: &ToolUse) -> String {
    let (name, what, outcome) = wording::call(entry).unwrap_or_default();
    let look = match used.describe_outcome().1 {
        Tone::Good => "good",
        Tone::Bad => "bad",
        _ => "warn",
    };
    let what = match what.as_str() {
        "" => String::new(),
        what => format!(" <code>{}</code>", escaped(what)),
    };
    let summary = format!(
        "<b>{}</b>{what} <span class=\"{look}\">{}</span>",
        escaped(&name),
        escaped(&outcome)
    );
    let mut inside = String::new();
    if used.tool.headline().trim().contains('\n') {
        inside.push_str(&block(used.tool.headline()));
    }
    if let Some(diff) = &used.tool.diff {
        inside.push_str(&changes(diff));
    } else if let Some(output) = used.tool.output.as_ref().filter(|output| !output.is_empty()) {
        inside.push_str(&block(output));
    }
    if inside.is_empty() { format!("<p>{summary}</p>") } else { fold_html(&summary, &inside, "") }
}

fn fold(summary: &str, inside: &str, open: &str) -> String {
    fold_html(&escaped(summary), inside, open)
}

fn fold_html(summary: &str, inside: &str, open: &str) -> String {
    format!("<details{open}><summary>{summary}</summary>{inside}</details>")
}

/// Text as it is, in a block.
fn block(text: &str) -> String {
    let (text, missing) = wording::cut(text);
    format!("<pre>{}</pre>{}", escaped(&text), missing_line(missing))
}

fn missing_line(missing: Option<String>) -> String {
    missing.map(|text| format!("<p><small>{}</small></p>", escaped(&text))).unwrap_or_default()
}

/// A diff, each line in its colour.
fn changes(diff: &str) -> String {
    let (text, missing) = wording::cut(diff);
    let mut out = String::from("<pre class=\"diff\">");
    for line in text.lines() {
        let class = match line.chars().next() {
            _ if line.starts_with("+++") || line.starts_with("---") => "name",
            Some('+') => "add",
            Some('-') => "del",
            Some('@') => "hunk",
            _ => "",
        };
        // Lines of their own, so that the colour goes from side to side; an empty one has a height.
        let shown = if line.is_empty() { " ".to_owned() } else { escaped(line) };
        let _infallible = write!(out, "<span class=\"{class}\">{shown}</span>");
    }
    out + "</pre>" + &missing_line(missing)
}

/// What was written as Markdown, as far as it matters for reading: blocks and spans of code.
fn prose(text: &str) -> String {
    let text = plain(text);
    let mut out = String::new();
    let mut paragraph = String::new();
    let mut lines = text.trim_matches('\n').lines();
    while let Some(line) = lines.next() {
        let bare = line.trim_start();
        if bare.starts_with("```") || bare.starts_with("~~~") {
            end_paragraph(&mut paragraph, &mut out);
            let fence = bare.get(..3).unwrap_or(bare);
            let inside: Vec<&str> =
                lines.by_ref().take_while(|line| !line.trim_start().starts_with(fence)).collect();
            let _infallible = write!(out, "<pre>{}</pre>", escaped(&inside.join("\n")));
        } else if line.trim().is_empty() {
            end_paragraph(&mut paragraph, &mut out);
        } else {
            paragraph.push_str(line);
            paragraph.push('\n');
        }
    }
    end_paragraph(&mut paragraph, &mut out);
    out
}

fn end_paragraph(paragraph: &mut String, out: &mut String) {
    let text = std::mem::take(paragraph);
    if text.trim().is_empty() {
        return;
    }
    out.push_str("<p>");
    // Every second part stands between backticks, unless the last of them is alone.
    let parts: Vec<&str> = text.trim_end().split('`').collect();
    let pairs = parts.len() % 2 == 1;
    for (index, part) in parts.iter().enumerate() {
        let last = index + 1 == parts.len();
        match (index % 2 == 1, pairs || !last) {
            (true, true) => {
                let _infallible = write!(out, "<code>{}</code>", escaped(part));
            }
            (true, false) => {
                let _infallible = write!(out, "`{}", escaped(part));
            }
            (false, _) => out.push_str(&escaped(part)),
        }
    }
    out.push_str("</p>");
}

/// Text that is nothing but text, between tags and in values.
fn escaped(text: &str) -> String {
    markup::escape(&plain(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_was_written_is_a_tag() {
        assert_eq!(escaped("<a href='\"'>&\u{1b}[31m"), "&lt;a href=&#39;&quot;&#39;&gt;&amp;");
        let hostile = "</pre></div><script>x</script>";
        for made in
            [prose(hostile), block(hostile), changes(hostile), prose(&format!("```\n{hostile}"))]
        {
            assert!(!made.contains("<script") && !made.contains("</div>"), "{made}");
        }
        assert_eq!(prose("a `b<c` d"), "<p>a <code>b&lt;c</code> d</p>");
        assert_eq!(prose("one ` alone"), "<p>one ` alone</p>");
        assert_eq!(prose("x\n\n```sh\nls\n```\ny"), "<p>x</p><pre>ls</pre><p>y</p>");
    }

    #[test]
    fn a_diff_has_its_colours() {
        let made = changes("--- a\n+++ b\n@@ -1 +1 @@\n-<x>\n+y\n z\n");
        assert!(
            made.contains("<span class=\"del\">-&lt;x&gt;</span><span class=\"add\">+y</span>")
        );
        assert!(made.contains("<span class=\"name\">--- a</span>") && made.contains("hunk"));
    }
}
