//! The numbers for people: an overview, or one table.

use super::super::select::{at_home, look};
use super::super::when::Clock;
use super::By;
use crate::env::Env;
use crate::output::figures::{self, many, percent};
use crate::output::{Cell, Column, Look, Paint, Table};
use stablehand_core::text;
use stablehand_core::time::human;
use stablehand_store::query::{Figures, Group, Stats, ToolFigures};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Duration;

/// So many days are drawn, at the most.
const DAYS: usize = 60;

/// So many rows of a table are in the overview.
const TOP: usize = 5;

/// The longest bar.
const BAR: usize = 30;

/// The width of a line where nobody says how wide it is.
const WIDE: usize = 100;

pub(super) struct View<'a> {
    env: &'a Env,
    clock: &'a Clock,
    paint: Paint,
    width: usize,
}

impl<'a> View<'a> {
    pub(super) fn new(env: &'a Env, clock: &'a Clock) -> Self {
        let paint = Paint::new(env);
        let width = paint.width().unwrap_or(WIDE);
        View { env, clock, paint: paint.within(width), width }
    }

    /// Everything on one screen.
    pub(super) fn overview(&self, stats: &Stats) -> String {
        let mut out = String::new();
        let all = &stats.all;
        let day = |at: Option<_>| at.map(|at| self.clock.day(at)).unwrap_or_default();
        let (first, last) = (day(stats.first), day(stats.last));
        let span = if first == last { first } else { format!("{first} to {last}") };
        let title = format!("{}, {}", many(all.sessions, "session"), many(all.runs, "run"));
        let days = format!("{span}, days of {}", self.clock.zone());
        let _infallible = writeln!(out, "{}  {}", self.paint.bold(&title), self.paint.dim(&days));
        let _infallible = writeln!(out, "{}\n", totals(all));
        self.outcomes(all, &mut out);
        self.time(all, &mut out);
        self.verdicts(all, &mut out);
        self.days(stats, &mut out);
        for (name, groups) in [("AGENT", &stats.agents), ("MODEL", &stats.models)] {
            if groups.len() > 1 {
                out.push('\n');
                out.push_str(&self.groups(name, groups, TOP));
            }
        }
        if !stats.tools.is_empty() {
            out.push('\n');
            out.push_str(&self.tools(&stats.tools, TOP));
        }
        out
    }

    /// One table, all of it.
    pub(super) fn table(&self, stats: &Stats, by: By) -> String {
        let table = match by {
            By::Day => self.groups("DAY", &stats.days, usize::MAX),
            By::Agent => self.groups("AGENT", &stats.agents, usize::MAX),
            By::Model => self.groups("MODEL", &stats.models, usize::MAX),
            By::Workspace => self.groups("WORKSPACE", &stats.workspaces, usize::MAX),
            By::Tool => self.tools(&stats.tools, usize::MAX),
        };
        match by {
            By::Day => {
                let zone = format!("days of {}\n", self.clock.zone());
                format!("{table}{}", self.paint.dim(&zone))
            }
            _ => table,
        }
    }

    fn outcomes(&self, all: &Figures, out: &mut String) {
        let mut outcomes: Vec<(&str, u64)> =
            all.outcomes.iter().map(|(word, n)| (word.as_str(), *n)).collect();
        outcomes.sort_by_key(|(word, n)| (std::cmp::Reverse(*n), word.to_owned()));
        let open = all.runs.saturating_sub(all.ended());
        if open > 0 {
            outcomes.push(("no end", open));
        }
        let most = outcomes.iter().map(|(_, n)| *n).max().unwrap_or(0);
        for (n, (word, count)) in outcomes.iter().enumerate() {
            let word_shown = text::excerpt(word.as_bytes(), 14);
            let look = if *word == "no end" { Look::Dim } else { look(word) };
            let bar = bar(*count, most, self.bar_width(44));
            let share = percent(*count as f64 / all.runs.max(1) as f64);
            let head = if n == 0 { "Outcomes" } else { "" };
            let numbers = format!("{:>7} {share:>5}", figures::grouped(*count));
            let _infallible = writeln!(
                out,
                "  {head:<10}{word_shown:<15}{numbers}  {}",
                self.paint.look(&bar, look)
            );
        }
    }

    fn time(&self, all: &Figures, out: &mut String) {
        let spent = &all.spent;
        let parts = [
            ("model", spent.model_ms, Look::Good),
            ("tools", spent.tool_ms, Look::Warn),
            ("people", spent.wait_ms, Look::Bad),
        ];
        let in_turns: u64 = parts.iter().map(|(_, ms, _)| ms).sum();
        for (n, (who, ms, look)) in parts.into_iter().filter(|(_, ms, _)| *ms > 0).enumerate() {
            let head = if n == 0 { "Time" } else { "" };
            let share = percent(ms as f64 / in_turns.max(1) as f64);
            let bar = bar(ms, in_turns, self.bar_width(44));
            let took = human(Duration::from_millis(ms));
            let _infallible = writeln!(
                out,
                "  {head:<10}{who:<13}{took:>9} {share:>5}  {}",
                self.paint.look(&bar, look)
            );
        }
    }

    fn verdicts(&self, all: &Figures, out: &mut String) {
        let mut line = |head: &str, text: String| {
            let _infallible = writeln!(out, "  {head:<10}{text}");
        };
        if let Some(rate) = all.hang_rate() {
            let ended = many(all.ended(), "run");
            let text = format!("{} of {ended} that ended ({})", all.hung(), percent(rate));
            let look = if all.hung() > 0 { Look::Warn } else { Look::Plain };
            line("Hangs", self.paint.look(&text, look));
        }
        if let Some(rate) = all.verdicts.false_alarm_rate() {
            line(
                "Alarms",
                format!(
                    "{} of {} only written down were false ({})",
                    all.verdicts.false_alarms,
                    many(all.verdicts.observed_only, "verdict"),
                    percent(rate)
                ),
            );
        }
    }

    /// One small column a day.
    fn days(&self, stats: &Stats, out: &mut String) {
        let (Some(first), Some(last)) = (stats.first, stats.last) else { return };
        if stats.days.len() < 2 {
            return;
        }
        let room = self.width.saturating_sub(34).clamp(7, DAYS);
        let days = self.clock.days(first, last, room);
        let known: HashMap<&str, &Figures> =
            stats.days.iter().map(|day| (day.name.as_str(), &day.figures)).collect();
        let mut line = |head: &str, of: &dyn Fn(&Figures) -> f64, shown: &dyn Fn(f64) -> String| {
            let values: Vec<f64> =
                days.iter().map(|day| known.get(day.as_str()).map_or(0.0, |it| of(it))).collect();
            let most = values.iter().copied().fold(0.0, f64::max);
            if most > 0.0 {
                let drawn = self.paint.good(&sparkline(&values));
                let at_most = self.paint.dim(&format!("at most {}", shown(most)));
                let _infallible = writeln!(out, "  {head:<10}{drawn}  {at_most}");
            }
        };
        line("Runs/day", &|it| it.runs as f64, &|most| figures::grouped(most as u64));
        line("Hung", &|it| it.hung() as f64, &|most| figures::grouped(most as u64));
        line(
            "Tokens",
            &|it| it.spent.tokens.map_or(0.0, |tokens| tokens.total() as f64),
            &|most| figures::short(most as u64),
        );
        line(
            "Cost",
            &|it| it.spent.tokens.and_then(|tokens| tokens.cost_usd).unwrap_or(0.0),
            &figures::dollars,
        );
    }

    fn groups(&self, name: &'static str, groups: &[Group], most: usize) -> String {
        let head =
            if name == "DAY" { Column::left(name) } else { Column::left(name).gives_way(12) };
        let mut table = Table::new(&[
            head,
            Column::right("RUNS"),
            Column::left("").can_be_missed(9),
            Column::right("OK"),
            Column::right("HUNG"),
            Column::right("FALSE").can_be_missed(3),
            Column::right("MODEL TIME").can_be_missed(6),
            Column::right("TOOL TIME").can_be_missed(5),
            Column::right("WAITED").can_be_missed(7),
            Column::right("CALLS").can_be_missed(8),
            Column::right("RETRIES").can_be_missed(4),
            Column::right("TOKENS"),
            Column::right("COST"),
        ]);
        let runs = groups.iter().map(|group| group.figures.runs).max().unwrap_or(0);
        for group in groups.iter().take(most) {
            let title = match name {
                "WORKSPACE" => at_home(&group.name, self.env),
                _ => group.name.clone(),
            };
            table.row(row(&title, &group.figures, runs));
        }
        self.with_rest(table.render(self.paint, 0), groups.len(), most)
    }

    fn tools(&self, tools: &[ToolFigures], most: usize) -> String {
        let mut table = Table::new(&[
            Column::left("TOOL").gives_way(12),
            Column::left("SORT").can_be_missed(2),
            Column::right("CALLS"),
            Column::right("FAILED"),
            Column::right("MEDIAN"),
            Column::right("P95"),
            Column::right("LONGEST"),
            Column::right("IN ALL"),
            Column::left("").can_be_missed(3),
        ]);
        let total = tools.iter().map(|tool| tool.times.total_ms).max().unwrap_or(0);
        for tool in tools.iter().take(most) {
            let took = |ms: u64| (human(Duration::from_millis(ms)), Look::Plain);
            let failed = tool.failure_rate().filter(|rate| *rate > 0.0);
            table.row(vec![
                (text::excerpt(tool.name.as_bytes(), 40), Look::Plain),
                (tool.kind.clone(), Look::Dim),
                (figures::grouped(tool.calls), Look::Plain),
                (failed.map(percent).unwrap_or_default(), Look::Warn),
                took(tool.times.median_ms),
                took(tool.times.p95_ms),
                took(tool.times.longest_ms),
                took(tool.times.total_ms),
                (bar(tool.times.total_ms, total, 12), Look::Good),
            ]);
        }
        self.with_rest(table.render(self.paint, 0), tools.len(), most)
    }

    fn with_rest(&self, table: String, all: usize, most: usize) -> String {
        match all.checked_sub(most).filter(|more| *more > 0) {
            Some(more) => {
                let rest = format!("and {} more; --by lists all\n", figures::grouped(more as u64));
                format!("{table}{}", self.paint.dim(&rest))
            }
            None => table,
        }
    }

    fn bar_width(&self, others: usize) -> usize {
        self.width.saturating_sub(others).clamp(8, BAR)
    }
}

fn totals(all: &Figures) -> String {
    let spent = &all.spent;
    let mut parts = vec![many(spent.turns, "turn"), many(spent.tools, "tool call")];
    if let Some(tokens) = &spent.tokens {
        parts.push(format!("{} tokens", figures::short(tokens.total())));
        parts.extend(tokens.cost_usd.map(figures::dollars));
    }
    if spent.retries > 0 {
        let word = if spent.retries == 1 { "retry" } else { "retries" };
        parts.push(format!("{} {word}", figures::grouped(spent.retries)));
    }
    parts.push(human(Duration::from_millis(spent.duration_ms)));
    parts.join(" · ")
}

fn row(title: &str, it: &Figures, most_runs: u64) -> Vec<Cell> {
    let plain = |text: String| (text, Look::Plain);
    let took = |ms: u64| match ms {
        0 => plain(String::new()),
        ms => plain(human(Duration::from_millis(ms))),
    };
    let count = |n: u64| plain(if n == 0 { String::new() } else { figures::grouped(n) });
    let tokens = it.spent.tokens;
    let hung = match it.hang_rate() {
        Some(rate) if rate > 0.0 => (percent(rate), Look::Warn),
        Some(_) => ("-".into(), Look::Dim),
        None => plain(String::new()),
    };
    vec![
        plain(text::excerpt(title.as_bytes(), 60)),
        plain(figures::grouped(it.runs)),
        (bar(it.runs, most_runs, 10), Look::Good),
        plain(it.success_rate().map(percent).unwrap_or_default()),
        hung,
        plain(it.verdicts.false_alarm_rate().map(percent).unwrap_or_default()),
        took(it.spent.model_ms),
        took(it.spent.tool_ms),
        took(it.spent.wait_ms),
        count(it.spent.tools),
        count(it.spent.retries),
        plain(tokens.map(|it| figures::short(it.total())).unwrap_or_default()),
        plain(tokens.and_then(|it| it.cost_usd).map(figures::dollars).unwrap_or_default()),
    ]
}

/// A bar of at most so many cells, in eighths of one; what there is at all is seen.
fn bar(value: u64, most: u64, width: usize) -> String {
    const EIGHTHS: [char; 7] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    if value == 0 || most == 0 {
        return String::new();
    }
    let eighths = (value as f64 / most as f64 * width as f64 * 8.0).round() as usize;
    let eighths = eighths.clamp(1, width * 8);
    let mut bar = "█".repeat(eighths / 8);
    bar.extend((eighths % 8).checked_sub(1).and_then(|n| EIGHTHS.get(n)));
    bar
}

/// One sign a value, from nothing to the highest.
fn sparkline(values: &[f64]) -> String {
    const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = values.iter().copied().fold(0.0, f64::max);
    let sign = |value: &f64| match *value {
        value if value <= 0.0 || most <= 0.0 => '·',
        value => {
            let step = (value / most * STEPS.len() as f64).ceil() as usize;
            STEPS.get(step.clamp(1, STEPS.len()) - 1).copied().unwrap_or('█')
        }
    };
    values.iter().map(sign).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_show_what_there_is() {
        assert_eq!(bar(0, 10, 4), "");
        assert_eq!(bar(10, 10, 4), "████");
        assert_eq!(bar(5, 10, 4), "██");
        assert_eq!(bar(1, 1_000_000, 4), "▏");
        assert_eq!(bar(3, 16, 4), "▊");
        assert_eq!(sparkline(&[0.0, 1.0, 4.0, 8.0]), "·▁▄█");
        assert_eq!(sparkline(&[0.0]), "·");
    }
}
