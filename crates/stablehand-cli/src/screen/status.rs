//! The words of the status line: what the agent is doing, and the facts that fit beside it.
//!
//! Widths are columns of the terminal. Where there is not enough room, facts are left out, the least
//! important first; then what the agent is doing is cut.

use stablehand::driver::StatusLine;
use stablehand_core::event::Health;
use stablehand_core::text;
use stablehand_core::time::human;
use std::time::Duration;
use unicode_width::UnicodeWidthStr;

/// So much of a command is kept; no terminal shows more in one row together with the facts.
const MOST_DOING: usize = 400;

/// Facts are left out before what the agent is doing becomes narrower than this.
const NARROWEST_DOING: usize = 24;

/// Silence is worth mentioning from here on: models often pause for a second.
const QUIET: Duration = Duration::from_secs(2);

const SEPARATOR: &str = " · ";

/// The words of a status line, before they are fitted to a terminal.
#[derive(Debug)]
pub(super) struct Shown {
    spin: char,
    doing: String,
    facts: Vec<Fact>,
}

#[derive(Debug)]
struct Fact {
    text: String,
    /// The fact with the lowest weight is left out first.
    weight: u8,
}

impl Shown {
    /// Describes a status; `beat` turns the wheel.
    pub(super) fn of(status: &StatusLine, beat: usize) -> Shown {
        const SPIN: [char; 4] = ['◐', '◓', '◑', '◒'];
        let doing = match (&status.health, &status.tool) {
            (Health::AwaitingPrompt, _) => "waiting for a prompt".to_owned(),
            (Health::AwaitingApproval, _) => "waiting for an answer".to_owned(),
            (Health::Finishing, _) => "finishing".to_owned(),
            (Health::Stalled, _) => "stopping".to_owned(),
            (_, Some((tool, _))) => text::excerpt(tool.as_bytes(), MOST_DOING),
            (Health::Starting, None) => "starting".to_owned(),
            (_, None) => "thinking".to_owned(),
        };
        let (since, quiet) = (status.since.elapsed(), status.heard.elapsed());
        let total = status.began.elapsed();
        let mut facts = Vec::new();
        let mut fact = |weight, text: Option<String>| {
            facts.extend(text.map(|text| Fact { text, weight }));
        };
        let others = status.tool.as_ref().map_or(0, |(_, count)| count.saturating_sub(1));
        fact(6, (others > 0).then(|| format!("{others} more running")));
        fact(5, seconds(since));
        // Where nothing was heard since it began, both times are the same.
        let mentions_quiet = quiet >= QUIET && since.saturating_sub(quiet) >= QUIET;
        fact(4, seconds(quiet).filter(|_| mentions_quiet).map(|time| format!("quiet for {time}")));
        fact(2, counted(status.tool_calls, "tool call"));
        fact(1, counted(status.tokens, "token"));
        let adds_total = total.saturating_sub(since).as_secs() >= 1;
        fact(3, seconds(total).filter(|_| adds_total).map(|time| format!("{time} total")));
        let spin = SPIN.get(beat % SPIN.len()).copied().unwrap_or('•');
        Shown { spin, doing, facts }
    }

    /// Returns the line in at most so many columns, and how many it takes.
    pub(super) fn fit(&self, columns: usize) -> (String, usize) {
        let mut facts: Vec<&Fact> = self.facts.iter().collect();
        let width = |facts: &[&Fact]| -> usize {
            facts.iter().map(|fact| SEPARATOR.width() + fact.text.width()).sum()
        };
        let doing = self.doing.width().min(NARROWEST_DOING);
        while 2 + doing + width(&facts) > columns
            && let Some(least) = facts.iter().map(|fact| fact.weight).min()
        {
            facts.retain(|fact| fact.weight != least);
        }
        let room = columns.saturating_sub(2 + width(&facts));
        let mut line = format!("{} {}", self.spin, text::fit(&self.doing, room));
        for fact in facts {
            line.push_str(SEPARATOR);
            line.push_str(&fact.text);
        }
        // Of a terminal that is narrower than the wheel nothing is left.
        let line = if columns < 4 { String::new() } else { line };
        let width = line.width();
        (line, width)
    }

    #[cfg(test)]
    pub(super) fn for_test(doing: &str, facts: &[&str]) -> Shown {
        let facts = facts
            .iter()
            .rev()
            .zip(1..)
            .map(|(text, weight)| Fact { text: (*text).to_owned(), weight });
        let facts: Vec<Fact> = facts.collect::<Vec<_>>().into_iter().rev().collect();
        Shown { spin: '◐', doing: doing.to_owned(), facts }
    }
}

/// A time in whole seconds, which does not flicker; none under a second.
fn seconds(time: Duration) -> Option<String> {
    match time.as_secs() {
        0 => None,
        seconds @ 1..60 => Some(format!("{seconds}s")),
        _ => Some(human(time)),
    }
}

fn counted(count: u64, what: &str) -> Option<String> {
    let s = if count == 1 { "" } else { "s" };
    (count > 0).then(|| format!("{count} {what}{s}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn facts_are_left_out_before_the_work_is_cut() {
        let shown =
            Shown::for_test("cargo test --workspace", &["12s", "3 tool calls", "40s total"]);
        for (columns, expected) in [
            (200, "◐ cargo test --workspace · 12s · 3 tool calls · 40s total"),
            (57, "◐ cargo test --workspace · 12s · 3 tool calls · 40s total"),
            (56, "◐ cargo test --workspace · 12s · 3 tool calls"),
            (40, "◐ cargo test --workspace · 12s"),
            (24, "◐ cargo test --workspace"),
            (12, "◐ cargo tes…"),
            (4, "◐ c…"),
            (3, ""),
            (0, ""),
        ] {
            assert_eq!(shown.fit(columns), (expected.to_owned(), expected.width()), "{columns}");
        }
    }

    #[test]
    fn wide_characters_take_two_columns() {
        let shown = Shown::for_test("编译全部代码并且运行所有的测试", &["3s"]);
        for columns in 0..60 {
            let (line, width) = shown.fit(columns);
            assert!(width <= columns && line.width() == width, "{columns}: {line}");
        }
        assert_eq!(shown.fit(12).0, "◐ 编译全部…");
    }

    #[test]
    fn times_are_whole_seconds_and_none_is_told_twice() {
        let now = Instant::now();
        let ago = |seconds| now.checked_sub(Duration::from_secs(seconds)).unwrap();
        let mut status = StatusLine {
            health: Health::Working,
            tool: None,
            since: ago(3),
            heard: ago(3),
            began: ago(3),
            tool_calls: 0,
            tokens: 0,
        };
        assert_eq!(Shown::of(&status, 0).fit(80).0, "◐ thinking · 3s");
        status.began = ago(75);
        status.since = ago(9);
        (status.tool_calls, status.tokens) = (1, 250);
        status.tool = Some(("make\nall".into(), 3));
        assert_eq!(
            Shown::of(&status, 1).fit(100).0,
            "◓ make all · 2 more running · 9s · quiet for 3s · 1 tool call · 250 tokens · 1m 15s total"
        );
    }
}
