//! A log as Markdown: what was said as it is, everything else folded.
//!
//! What an agent wrote must not become a part of the document. Code stands between fences that are
//! longer than any in it; a block that the agent left open is closed. Outside of code every `<` that
//! could begin a tag is written as an entity, so that no tag of the agent's is one, and pictures are
//! links, so that nothing is fetched. A link goes to the web, to an address or to a place in a folder; any
//! other scheme (`javascript:`, `data:`) is left out.

use super::{DocumentHead, wording};
use crate::history::{History, HistoryEntry, HistoryItem};
use stablehand_core::text::{one_line, plain};
use std::fmt::Write as _;

/// Renders the document.
pub(super) fn document(head: &DocumentHead, history: &History) -> String {
    let mut out = format!("# {}\n\n", inline(&wording::title(head)));
    for (name, value) in wording::facts(head, history) {
        let _infallible = writeln!(out, "- **{name}:** {}", code(&value));
    }
    for entry in history.entries() {
        out.push('\n');
        entry_of(entry, &mut out);
    }
    out
}

fn entry_of(entry: &HistoryEntry, out: &mut String) {
    let at = entry.at.time_of_day();
    match &entry.item {
        HistoryItem::RunStarted { run, argv } => {
            let _infallible = writeln!(out, "---\n\n## Run at {at}\n");
            let (summary, how) = wording::start(run, argv);
            fold(summary, &fenced(&how, ""), out);
        }
        HistoryItem::Prompt(text) => {
            let _infallible = writeln!(out, "### Prompt, {at}\n");
            out.push_str(&quoted(&prose(text)));
        }
        HistoryItem::Message(text) => out.push_str(&prose(text)),
        HistoryItem::Reasoning(text) if text.trim().is_empty() => {}
        HistoryItem::Reasoning(text) => fold("Thinking", &fenced_cut(text, ""), out),
        HistoryItem::Tool(used) => {
            let (name, what, outcome) = wording::call(entry).unwrap_or_default();
            let summary = format!("{name} {what} ({outcome})");
            let mut inside = String::new();
            if used.tool.headline().trim().contains('\n') {
                inside.push_str(&fenced_cut(used.tool.headline(), "sh"));
                inside.push('\n');
            }
            if let Some(diff) = &used.tool.diff {
                inside.push_str(&fenced_cut(diff, "diff"));
            } else if let Some(output) = used.tool.output.as_ref().filter(|it| !it.is_empty()) {
                inside.push_str(&fenced_cut(output, ""));
            }
            if inside.is_empty() {
                let _infallible = writeln!(out, "- {}", inline(&summary));
            } else {
                fold(&summary, &inside, out);
            }
        }
        HistoryItem::Plan { todos, text } => {
            let _infallible = writeln!(out, "**Plan**\n");
            for todo in todos {
                let mark = wording::mark(todo.status);
                let _infallible = writeln!(out, "- [{mark}] {}", inline(&todo.text));
            }
            if let Some(text) = text {
                out.push_str(&prose(text));
            }
        }
        HistoryItem::FileChange { path, diff } => match diff {
            Some(diff) => fold(&format!("Changed {path}"), &fenced_cut(diff, "diff"), out),
            None => {
                let _infallible = writeln!(out, "- Changed {}", code(path));
            }
        },
        HistoryItem::SubAgent(text) => {
            let _infallible = writeln!(out, "- Another agent: {}", inline(text));
        }
        HistoryItem::Notice { text, .. } => {
            let _infallible = writeln!(out, "- Note: {}", inline(text));
        }
        HistoryItem::Approval { what, why, answer } => {
            let why = why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
            let answer = wording::answer(answer.as_ref());
            let _infallible =
                writeln!(out, "- Asked, {at}: {}", inline(&format!("{what}{why}: {answer}")));
        }
        HistoryItem::Continuation { prompt, by } => {
            let _infallible = writeln!(out, "- Told to go on, by {}:\n", inline(by));
            out.push_str(&quoted(&prose(prompt)));
        }
        HistoryItem::Verdict(why) => {
            let _infallible = writeln!(out, "**Verdict, {at}:** {}", inline(why));
        }
        HistoryItem::Stderr(text) => fold("Standard error", &fenced_cut(text, ""), out),
        HistoryItem::Unrecognized(text) => {
            let _infallible = writeln!(out, "- Not understood: {}", code(text));
        }
        HistoryItem::TurnEnded { end, usage, duration_ms } => {
            let text = wording::turn(end, usage.as_ref(), *duration_ms);
            let _infallible = writeln!(out, "*Turn over at {at}: {}*", inline(&text));
        }
        HistoryItem::RunEnded { end, by, .. } => {
            let _infallible = writeln!(out, "**Ended at {at}:** {}", wording::end(*end, *by));
        }
    }
}

/// Something that is read only if somebody wants to.
fn fold(summary: &str, inside: &str, out: &mut String) {
    let _infallible = write!(
        out,
        "<details><summary>{}</summary>\n\n{inside}\n</details>\n",
        entities(&trimmed_line(summary))
    );
}

fn trimmed_line(text: &str) -> String {
    one_line(plain(text).trim())
}

/// A line of text in which nothing means anything.
fn inline(text: &str) -> String {
    let mut out = String::new();
    for c in trimmed_line(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '!' | '#' | '~' | '|' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

/// A span of code that no backtick in it can end.
fn code(text: &str) -> String {
    let text = trimmed_line(text);
    if text.contains('<') {
        return format!("<code>{}</code>", entities(&text));
    }
    let ticks = "`".repeat(longest_run(&text, '`') + 1);
    // A space between, where the code itself begins or ends so.
    let gap =
        if text.starts_with('`') || text.ends_with('`') || text.is_empty() { " " } else { "" };
    format!("{ticks}{gap}{text}{gap}{ticks}")
}

fn entities(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            // Also what means something between the tags of a summary.
            '<' | '>' | '&' | '`' | '*' | '_' | '[' | ']' | '\\' | '!' | '~' | '"' => {
                let _infallible = write!(out, "&#{};", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

fn quoted(text: &str) -> String {
    text.lines().fold(String::new(), |mut out, line| {
        let _infallible = writeln!(out, "> {line}");
        out
    })
}

/// Code between fences that are longer than any in it.
fn fenced(text: &str, language: &str) -> String {
    let text = plain(text);
    let fence = "`".repeat(longest_run(&text, '`').max(2) + 1);
    let end = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
    format!("{fence}{language}\n{text}{end}{fence}\n")
}

fn fenced_cut(text: &str, language: &str) -> String {
    let (text, missing) = wording::cut(text);
    let missing = missing.map(|missing| format!("\n{missing}\n")).unwrap_or_default();
    fenced(&text, language) + &missing
}

fn longest_run(text: &str, of: char) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c == of { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

/// What an agent or a person wrote as Markdown: it stays that, and nothing more.
fn prose(text: &str) -> String {
    let text = plain(text);
    let mut out = String::new();
    let mut lines = text.trim_matches('\n').lines();
    while let Some(line) = lines.next() {
        let Some((fence, language)) = opens_fence(line) else {
            out.push_str(&tame(line));
            out.push('\n');
            continue;
        };
        // A block that is never closed ends with the text.
        let inside: Vec<&str> = lines.by_ref().take_while(|line| !closes(line, fence)).collect();
        out.push_str(&fenced(&inside.join("\n"), language));
    }
    out
}

/// The fence that a line opens a block with, and the name of its language where that is plain.
fn opens_fence(line: &str) -> Option<(&str, &str)> {
    let bare = line.trim_start_matches(' ');
    let sign = bare.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let rest = bare.trim_start_matches(sign);
    let fence = bare.get(..bare.len() - rest.len()).filter(|fence| fence.len() >= 3)?;
    let word = rest.trim();
    let is_plain = word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '#'));
    Some((fence, if is_plain { word } else { "" }))
}

fn closes(line: &str, fence: &str) -> bool {
    let line = line.trim();
    line.len() >= fence.len() && line.starts_with(fence) && {
        let sign = fence.chars().next().unwrap_or('`');
        line.chars().all(|c| c == sign)
    }
}

/// A line of Markdown without tags and pictures. Code in it that holds a `<` is written as a tag of our
/// own, since between backticks an entity would be shown as it is.
fn tame(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(['`', '<', '!', ']']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let sign = from.chars().next().unwrap_or(' ');
        let after = from.get(1..).unwrap_or_default();
        rest = match sign {
            '<' => {
                out.push_str("&lt;");
                after
            }
            '!' => {
                out.push_str(if after.starts_with('[') { "\\!" } else { "!" });
                after
            }
            ']' => match after.chars().next() {
                Some(':') if !is_harmless(after.get(1..).unwrap_or_default()) => {
                    out.push_str("]\\");
                    after
                }
                Some('(') if !is_harmless(after.get(1..).unwrap_or_default()) => {
                    let destination = after.get(1..).unwrap_or_default();
                    // Where it ends on another line, nothing of it is one.
                    let end = destination_length(destination);
                    out.push_str(if end.is_some() { "](#" } else { "]\\(" });
                    destination.get(end.unwrap_or(0)..).unwrap_or_default()
                }
                _ => {
                    out.push(']');
                    after
                }
            },
            _ => {
                let run = from.len() - from.trim_start_matches('`').len();
                let (ticks, behind) = from.split_at(run);
                match behind.find(ticks).map(|end| behind.split_at(end)) {
                    Some((inside, end)) if inside.contains('<') => {
                        let _infallible = write!(out, "<code>{}</code>", entities(inside));
                        end.get(run..).unwrap_or_default()
                    }
                    Some((inside, end)) => {
                        out.push_str(ticks);
                        out.push_str(inside);
                        out.push_str(ticks);
                        end.get(run..).unwrap_or_default()
                    }
                    None => {
                        out.push_str(ticks);
                        behind
                    }
                }
            }
        };
    }
    out + rest
}

/// How long the destination of a link is: up to the parenthesis that closes it, or to its title.
fn destination_length(text: &str) -> Option<usize> {
    let start = text.len() - text.trim_start().len();
    let mut depth = 0_usize;
    for (at, c) in text.char_indices().skip_while(|(at, _)| *at < start) {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => return Some(at),
            ')' => depth -= 1,
            c if c.is_whitespace() && text.get(at..)?.contains(')') => return Some(at),
            _ => {}
        }
    }
    None
}

/// Whether a link may go there: it has a scheme of the web or of mail, or none. A destination on the
/// next line, and one that hides its scheme behind an entity or a backslash, is not harmless.
fn is_harmless(destination: &str) -> bool {
    let destination = destination.trim_start().trim_start_matches('<').trim_start();
    let end = destination.find(['/', '?', '#', ')']).unwrap_or(destination.len());
    let (head, rest) = destination.split_at(end);
    if head.trim().is_empty() {
        return !rest.is_empty();
    }
    if head.contains(['&', '\\']) {
        return false;
    }
    let Some((scheme, behind)) = head.split_once(':') else { return true };
    let is_line = !behind.is_empty() && behind.bytes().all(|b| b.is_ascii_digit() || b == b':');
    let scheme: String = scheme.chars().filter(|c| !c.is_whitespace() && !c.is_control()).collect();
    is_line || ["http", "https", "mailto"].iter().any(|it| scheme.eq_ignore_ascii_case(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_fence_is_broken_out_of() {
        assert_eq!(fenced("a\n````\nb", "sh"), "`````sh\na\n````\nb\n`````\n");
        assert_eq!(fenced("", ""), "```\n```\n");
        assert_eq!(prose("```rust\nlet x;"), "```rust\nlet x;\n```\n", "what is open is closed");
        assert_eq!(prose("~~~ \"<x>\n```\n<b>\n~~~\n<i>"), "````\n```\n<b>\n````\n&lt;i>\n");
        assert_eq!(prose("````\n```\n````\nafter"), "````\n```\n````\nafter\n");
    }

    #[test]
    fn no_tag_and_no_picture_is_the_agents() {
        assert_eq!(tame("a <script>x</script>"), "a &lt;script>x&lt;/script>");
        for evil in [
            "javascript:alert(1)",
            "JaVaScRiPt:x",
            " javascript:x",
            "<javascript:x>",
            "data:text/html,x",
            "vbscript:x",
            "java&#x73;cript:x",
            "javascript&colon;x",
            "javascript\\:x",
            "&#106;avascript:x",
            "java\tscript:x",
            "file:///etc/passwd",
        ] {
            let safe = tame(&format!("see [a]({evil}"));
            assert!(!safe.contains("](") || safe.contains("](#"), "{evil}: {safe}");
            let safe = tame(&format!("see [a]({evil}\"t\") b"));
            assert!(safe.contains("](#") || safe.contains("]\\("), "{evil}: {safe}");
            assert!(tame(&format!("[a]:{evil}")).starts_with("[a]\\:"), "{evil}");
        }
        // The destination may stand on the next line.
        assert_eq!([tame("[a]("), tame("[a]: ")], ["[a]\\(", "[a]\\: "]);
        assert_eq!(tame("[a](javascript:alert(1)) b"), "[a](#) b");
        for fine in
            ["[a](https://x/y?z=a:b) c", "[a](src/a.rs:7)", "[a](a.rs:12:3)", "[a](#b)", "x[0]: y"]
        {
            assert_eq!(tame(fine), fine);
        }
        assert_eq!(tame("![x](http://y) Hey!"), "\\![x](http://y) Hey!");
        assert_eq!(tame("use `Vec<u8>` or `x`"), "use <code>Vec&#60;u8&#62;</code> or `x`");
        assert_eq!(tame("one ` and <b>"), "one ` and &lt;b>");
        assert_eq!(tame("`` ` <b> ` ``"), "<code> &#96; &#60;b&#62; &#96; </code>");
        assert_eq!(inline("*a* </details>\n[x]"), "\\*a\\* &lt;/details> \\[x\\]");
        assert_eq!(code("a`b``c"), "```a`b``c```");
        let mut out = String::new();
        fold("</summary>\n`x`", "y\n", &mut out);
        assert!(
            out.starts_with("<details><summary>&#60;/summary&#62; &#96;x&#96;</summary>"),
            "{out}"
        );
    }
}
