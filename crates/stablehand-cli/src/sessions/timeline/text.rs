//! The timeline for a terminal: a row a lane, a column so many milliseconds.
//!
//! What goes on around the work (runs, turns, health, stops) is drawn as a line with its name in it,
//! the work itself as blocks with their names behind them, as far as there is room. Everything can
//! be told apart without colours.

mod row;

use crate::output::{Look, Paint, Table};
use row::Row;
use stablehand_analysis::timeline::{Span, Timeline, Tone, Track, scale};
use stablehand_core::text::{excerpt, fit, width};
use stablehand_core::time::human;
use std::fmt::Write as _;
use std::time::Duration;

/// The titles of lanes take so many columns.
const MARGIN: usize = 10;

/// A mark of the axis needs so many columns.
const MARK: usize = 10;

/// So many of the longest calls are listed.
const LONGEST: usize = 6;

/// A name is written where there is room for so many columns of it.
const LEAST_NAME: usize = 4;

/// The text.
pub(super) fn draw(timeline: &Timeline, columns: usize, paint: Paint) -> String {
    let mut out = String::new();
    let head = fit(&timeline.headline().join(" · "), columns);
    let _infallible = writeln!(out, "{}", paint.bold(&head));
    if let Some(session) = &timeline.session {
        let _infallible = writeln!(out, "{}", paint.dim(&fit(session, columns)));
    }
    if timeline.spans.is_empty() {
        return out + "nothing happened in it\n";
    }
    let room = columns - MARGIN;
    out.push('\n');
    out.push_str(&axis(timeline.length_ms, room, paint));
    let mut spans = timeline.spans.as_slice();
    for (number, lane) in timeline.lanes.iter().enumerate() {
        let count = spans.partition_point(|span| span.lane <= number);
        let (here, rest) = spans.split_at(count);
        spans = rest;
        let title = if lane.row == 0 { lane.track.title() } else { "" };
        let mut row = Row::new(room);
        lane_of(&mut row, lane.track, here, timeline.length_ms);
        let _infallible =
            writeln!(out, "{}{}", paint.dim(&format!("{title:<MARGIN$}")), row.render(paint));
    }
    out.push_str(&longest(timeline, columns, paint));
    out
}

/// The marks, each before its time.
fn axis(length_ms: u64, room: usize, paint: Paint) -> String {
    let step = scale::step(length_ms, (room / MARK).max(2));
    let mut row = Row::new(room);
    for number in 0..=length_ms / step {
        let ms = number * step;
        let label = format!("╷{}", scale::label(ms, step));
        let column = place(ms, length_ms, room);
        // The last one is left out where it does not fit.
        if column + width(&label) <= room {
            row.write(column, &label, Look::Dim);
        }
    }
    format!("{}{}\n", " ".repeat(MARGIN), row.render(paint))
}

/// The column of a time.
fn place(ms: u64, length_ms: u64, columns: usize) -> usize {
    let column = u128::from(ms) * columns as u128 / u128::from(length_ms.max(1));
    usize::try_from(column).unwrap_or(columns)
}

fn lane_of(row: &mut Row, track: Track, spans: &[Span], length_ms: u64) {
    let room = row.columns();
    // Up to which column something has been drawn or written.
    let mut used = 0;
    for (number, span) in spans.iter().enumerate() {
        let look = look_of(track, span);
        let next = spans.get(number + 1).map_or(room, |next| place(next.start_ms, length_ms, room));
        if matches!(track, Track::Run | Track::Turn | Track::Health | Track::Retry)
            || (track == Track::Stop && span.length_ms() > 0)
        {
            let from = place(span.start_ms, length_ms, room).min(room - 1);
            let to = place(span.end_ms, length_ms, room).clamp(from + 1, room);
            row.line(from, to, span.open, look);
            let name = name_in_line(track, span);
            let inside = (to - from).saturating_sub(2);
            if inside > LEAST_NAME {
                row.write(from + 1, &fit(&name, inside), look);
            }
            continue;
        }
        // Halves of columns, so that what follows closely is seen to follow.
        let from = place(span.start_ms, length_ms, room * 2).min(room * 2 - 1);
        let to = place(span.end_ms, length_ms, room * 2).clamp(from + 1, room * 2);
        let mut end = if let Some(sign) = mark(track, span) {
            row.sign(from / 2, sign, look);
            from / 2 + 1
        } else {
            row.block(from, to, fill(track), look);
            to.div_ceil(2)
        };
        if span.open && end > 0 {
            end = end.max(from / 2 + 1);
            row.sign(end - 1, '▶', look);
        }
        let name = name_behind(track, span);
        let behind = if span.tone == Tone::Bad { Look::Bad } else { Look::Dim };
        let right = next.saturating_sub(end + 2);
        let left = (from / 2).saturating_sub(used + 2);
        // Before it only where it does not fit behind it, and there is more room.
        if track == Track::Hook && width(&name) > right {
            // Hooks call often, and their names say little: whole or not at all.
        } else if width(&name) > right && left > right.max(LEAST_NAME) {
            let name = fit(&name, left);
            row.write(from / 2 - width(&name) - 1, &name, behind);
        } else if right > LEAST_NAME {
            row.write(end + 1, &fit(&name, right), behind);
            end += 1 + width(&name).min(right);
        }
        used = used.max(end);
    }
}

/// A moment is a sign.
fn mark(track: Track, span: &Span) -> Option<char> {
    match track {
        Track::Verdict => Some('◆'),
        Track::Stop => Some('▼'),
        Track::Hook => Some('╵'),
        Track::Note if span.length_ms() == 0 => Some('•'),
        _ => None,
    }
}

fn fill(track: Track) -> char {
    match track {
        Track::Thinking => '░',
        Track::Text => '▒',
        Track::Approval => '▓',
        Track::Silence => '┈',
        _ => '█',
    }
}

fn look_of(track: Track, span: &Span) -> Look {
    match (track, span.tone) {
        (Track::Silence, _) | (Track::Health, Tone::Plain) => Look::Dim,
        (Track::Thinking, _) => Look::Violet,
        (Track::Text, _) => Look::Blue,
        (Track::Approval | Track::Retry, tone) if tone != Tone::Bad => Look::Warn,
        (_, tone) => tone.into(),
    }
}

fn name_in_line(track: Track, span: &Span) -> String {
    let length = human(Duration::from_millis(span.length_ms()));
    let outcome = span.outcome.as_deref().map(|outcome| format!(" · {outcome}"));
    match track {
        Track::Run => format!("{} {length}{}", span.name, outcome.unwrap_or_default()),
        Track::Turn if !span.text.is_empty() => one_line(&span.text),
        Track::Stop | Track::Retry if !span.text.is_empty() => {
            format!("{}: {}", span.name, one_line(&span.text))
        }
        _ => span.name.clone(),
    }
}

fn name_behind(track: Track, span: &Span) -> String {
    let text = one_line(&span.text);
    let length = human(Duration::from_millis(span.length_ms()));
    match track {
        Track::Silence => length,
        Track::Text | Track::Thinking => text,
        Track::Hook => span.name.clone(),
        Track::Verdict | Track::Stop | Track::Note => format!("{} {text}", span.name),
        _ => {
            let what = if text.is_empty() { &span.name } else { &text };
            let flaw = span.outcome.as_deref().filter(|_| span.tone > Tone::Good);
            match flaw {
                Some(flaw) => format!("✗ {flaw}: {what}"),
                None if span.open => format!("{what} (never ended)"),
                None => format!("{what} {length}"),
            }
        }
    }
}

/// The calls that took longest, in the order of their beginning.
fn longest(timeline: &Timeline, columns: usize, paint: Paint) -> String {
    let work = |span: &&Span| {
        let lane = timeline.lanes.get(span.lane);
        lane.is_some_and(|lane| matches!(lane.track, Track::Tool | Track::SubAgent))
    };
    let mut calls: Vec<&Span> = timeline.spans.iter().filter(work).collect();
    let all = calls.len();
    if all == 0 {
        return String::new();
    }
    calls.sort_by_key(|span| std::cmp::Reverse(span.length_ms().max(span.own_ms.unwrap_or(0))));
    calls.truncate(LONGEST);
    calls.sort_by_key(|span| span.start_ms);
    let mut rows: Vec<[(String, Look); 4]> = Vec::new();
    for span in &calls {
        let look = if span.tone == Tone::Plain { Look::Dim } else { span.tone.into() };
        let outcome = if span.open { "open" } else { span.outcome.as_deref().unwrap_or("") };
        rows.push([
            (human(Duration::from_millis(span.start_ms)), Look::Dim),
            (span.describe_length(), Look::Plain),
            (excerpt(span.name.as_bytes(), 14), Look::Plain),
            (excerpt(outcome.as_bytes(), 12), look),
        ]);
    }
    let widest = |column: usize| rows.iter().map(|row| width(&row[column].0)).max().unwrap_or(0);
    let before: usize = (0..4).map(|column| widest(column).max(4) + 2).sum();
    let mut table = Table::headed(&["AT", "TOOK", "TOOL", "", "WHAT"]);
    for (row, span) in rows.into_iter().zip(&calls) {
        let what = fit(&one_line(&span.text), columns.saturating_sub(before).max(16));
        table.row(row.into_iter().chain([(what, Look::Plain)]).collect());
    }
    let title = match all {
        1 => "the only call".to_owned(),
        all if all <= LONGEST => format!("all {all} calls"),
        all => format!("the longest {LONGEST} of {all} calls"),
    };
    format!("\n{}\n{}", paint.dim(&title), table.render(paint, 0))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
