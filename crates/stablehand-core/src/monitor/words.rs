//! The words of verdicts, for logs and people.
//!
//! Owns wording only. Everything an agent named passes through `excerpt` first.

use crate::event::{OpenTask, OpenTool, ToolClass, VerdictKind};
use crate::text::excerpt;
use crate::time::human;
use std::fmt::Write as _;
use std::time::Duration;

/// How the reasons for moving limits begin.
pub(super) const BUSY: &str = "the agent's processes are busy";
/// See [`BUSY`].
pub(super) const STARVED: &str = "our own loop did not run";
/// See [`BUSY`].
pub(super) const SUSPENDED: &str = "the machine was suspended";

/// A duration as limits are written: `60s`, `60.2s`, `500ms`, `10m 00s`.
pub(super) fn span(duration: Duration) -> String {
    let ms = duration.as_millis();
    match ms {
        0..1000 => format!("{ms}ms"),
        1000..100_000 if ms % 1000 < 100 => format!("{}s", ms / 1000),
        1000..100_000 => format!("{}.{}s", ms / 1000, ms % 1000 / 100),
        _ => human(duration),
    }
}

/// `, last event thinking/delta`, or nothing where nothing was heard.
fn last_event(name: &str) -> String {
    if name.is_empty() {
        String::new()
    } else {
        format!(", last event {}", excerpt(name.as_bytes(), 60))
    }
}

/// Why silence is a hang.
pub(super) fn silence(
    kind: VerdictKind,
    silent: Duration,
    limit: Duration,
    extensions: u32,
    last: &str,
) -> String {
    let (silent, limit) = (span(silent), span(limit));
    let what = match kind {
        VerdictKind::Startup => format!("nothing for {silent} since the start"),
        VerdictKind::FirstResponse => format!("no answer of the model for {silent}"),
        VerdictKind::IdleAfterText => format!("no output for {silent} after the model's text"),
        VerdictKind::IdleAfterTool => format!("no output for {silent} after a tool's result"),
        VerdictKind::NoProgress => format!("signs of life, but nothing new for {silent}"),
        _ => format!("no output for {silent}"),
    };
    let extended = match extensions {
        0 => String::new(),
        n => format!(", extended {n} times"),
    };
    format!("hang detected: {what} (limit {limit}{extended}){}", last_event(last))
}

/// Why no result will come, although what might have held it up was stopped.
pub(super) fn no_result(silent: Duration, grace: Duration, last: &str) -> String {
    format!(
        "hang detected: no result for {} after the background commands were stopped (limit {}){}",
        span(silent),
        span(grace),
        last_event(last)
    )
}

/// Why an agent that nobody can listen to is stopped.
pub(super) fn blocked(lasted: Duration, limit: Duration) -> String {
    format!(
        "limit reached: the disk is full, and the reader of our output has taken nothing for {} \
         (limit {})",
        span(lasted),
        span(limit)
    )
}

/// Why an agent is stopped that gave its answer and whose background tasks go on.
pub(super) fn background(
    silent: Duration,
    limit: Duration,
    extensions: u32,
    tasks: &[OpenTask],
) -> String {
    let which = match tasks {
        [] => "background tasks were open".to_owned(),
        [one] => format!("a background task was open: {}", named(one)),
        [one, more @ ..] => {
            format!("background tasks were open: {} and {} more", named(one), more.len())
        }
    };
    let extended = match extensions {
        0 => String::new(),
        n => format!(", extended {n} times"),
    };
    format!(
        "limit reached: no output for {} after a result while {which} (limit {}{extended})",
        span(silent),
        span(limit)
    )
}

fn named(task: &OpenTask) -> String {
    let what = excerpt(task.description.as_bytes(), 60);
    let what = if what.is_empty() { "without a name".to_owned() } else { format!("`{what}`") };
    format!("{} {what}", excerpt(task.task.as_bytes(), 40))
}

/// Why tools are a hang.
pub(super) fn tools(open: &[OpenTool], grace: Duration) -> String {
    /// The evidence has them all.
    const NAMED: usize = 5;
    let mut text = match open.len() {
        1 => "hang detected: tool past its time: ".to_owned(),
        n => format!("hang detected: {n} tools past their time: "),
    };
    for (index, tool) in open.iter().take(NAMED).enumerate() {
        let separator = if index == 0 { "" } else { ", " };
        let command = excerpt(tool.command.as_bytes(), 60);
        let elapsed = span(Duration::from_millis(tool.elapsed_ms));
        let allowed = if let Some(ms) = tool.timeout_ms {
            let timeout = span(Duration::from_millis(ms));
            format!("timeout {timeout} + grace {}", span(grace))
        } else {
            let limit = span(Duration::from_millis(tool.limit_ms));
            format!("limit {limit}, none declared")
        };
        // Writing to a string cannot fail.
        let _ = write!(text, "{separator}`{command}` open for {elapsed} ({allowed})");
    }
    if open.len() > NAMED {
        let _ = write!(text, " and {} more", open.len() - NAMED);
    }
    text
}

/// Why we wait.
pub(super) fn waiting(silent: Duration, left: Duration, open: &[OpenTool], last: &str) -> String {
    let doing = match open {
        [] => "no tool open".to_owned(),
        [one] => format!("`{}` open", excerpt(one.command.as_bytes(), 60)),
        many => format!("{} tools open", many.len()),
    };
    format!("no output for {}, {doing}, {} left{}", span(silent), span(left), last_event(last))
}

/// What a class is called.
pub(super) fn tool_began(command: &str, class: ToolClass) -> String {
    let what = match class {
        ToolClass::Execute => "command",
        ToolClass::Mcp => "MCP tool",
        ToolClass::SubAgent => "sub-agent",
        ToolClass::Local => "file tool",
        ToolClass::Fetch => "fetch",
        ToolClass::Other => "tool",
    };
    format!("{what} `{}` is open", excerpt(command.as_bytes(), 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_as_they_were_set() {
        let cases = [
            (500, "500ms"),
            (60_000, "60s"),
            (60_249, "60.2s"),
            (100_000, "1m 40s"),
            (600_000, "10m 00s"),
        ];
        for (ms, text) in cases {
            assert_eq!(span(Duration::from_millis(ms)), text);
        }
    }
}
