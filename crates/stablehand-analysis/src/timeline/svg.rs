//! The timeline as one still picture that needs nothing but itself.
//!
//! Colours follow the reader's day or night. Every span has its times in milliseconds in
//! `data-start` and `data-end`, and a tooltip. What is too narrow to be seen apart is drawn as one, so
//! that the size of a picture follows from its width, not from the length of the log.

use super::palette::{self, AROUND, SPANS};
use super::{Lane, Span, Timeline, Track, scale};
use crate::markup::escape;
use stablehand_core::text::{excerpt, fit, width};
use stablehand_core::time::human;
use std::fmt::Write as _;
use std::time::Duration;

/// Room for the titles of lanes, and at the right.
const MARGIN: f64 = 92.0;
const RIGHT: f64 = 20.0;

/// Where the axis is, and where the lanes begin.
const AXIS: f64 = 72.0;
const TOP: f64 = 84.0;

/// A lane, the bar in it, and the room before another track.
const LANE: f64 = 22.0;
const BAR: f64 = 16.0;
const GAP: f64 = 6.0;

/// A character of the small and of the large writing takes so much; no font with letters of one
/// width has wider ones.
const LETTER: f64 = 6.7;
const LARGE: f64 = 9.2;

/// A bar is at least so wide, or nobody would see it.
const LEAST: f64 = 1.5;

/// The most characters of a text in a tooltip.
const TIP: usize = 400;

/// The picture, so many pixels wide.
pub(super) fn draw(timeline: &Timeline, width: usize) -> String {
    let width = width as f64;
    let picture = Picture { timeline, width, chart: width - MARGIN - RIGHT };
    let tops = tops(&timeline.lanes);
    let bottom = tops.last().map_or(TOP, |top| top + LANE) + GAP;
    let legend = picture.legend(bottom + 22.0);
    let height = legend.1 + 14.0;
    let mut out = String::new();
    let title = escape(&timeline.headline().join(" · "));
    let _infallible = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" \
         data-length=\"{}\">\n<title>{title}</title>\n<style>{}</style>\n\
         <defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" \
         patternTransform=\"rotate(45)\"><rect class=\"silence\" width=\"2\" height=\"6\"/></pattern>\
         </defs>\n<rect class=\"bg\" width=\"{width}\" height=\"{height}\"/>\n",
        timeline.length_ms,
        style(),
    );
    picture.head(&mut out);
    picture.axis(&mut out, bottom);
    let mut spans = timeline.spans.as_slice();
    for (number, (lane, top)) in timeline.lanes.iter().zip(&tops).enumerate() {
        let (here, rest) = spans.split_at(spans.partition_point(|span| span.lane <= number));
        spans = rest;
        picture.lane(&mut out, *lane, *top, here);
    }
    out.push_str(&legend.0);
    out.push_str("</svg>\n");
    out
}

/// The top of each lane.
fn tops(lanes: &[Lane]) -> Vec<f64> {
    let mut y = TOP;
    let mut before = None;
    let place = |lane: &Lane| {
        if before.is_some_and(|track| track != lane.track) {
            y += GAP;
        }
        before = Some(lane.track);
        let top = y;
        y += LANE;
        top
    };
    lanes.iter().map(place).collect()
}

fn style() -> String {
    let mut css = String::from(
        "text{font:11px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace}\
         .h{font-size:15px;font-weight:600}.e{text-anchor:end}.m{text-anchor:middle}\
         .g{stroke-width:1;shape-rendering:crispEdges}.open{stroke-dasharray:3 2}\
         .b{paint-order:stroke;stroke-width:3px;stroke-linejoin:round}.k{stroke-width:1}",
    );
    let rules = |night: bool| {
        let mut css = String::new();
        let value = |colour: &palette::Colour| if night { colour.night } else { colour.day };
        for colour in SPANS.iter().chain(&AROUND) {
            let _infallible = write!(css, ".{}{{fill:{}}}", colour.class, value(colour));
            if colour.class == "line" {
                let _infallible = write!(css, ".g{{stroke:{}}}", value(colour));
            }
            // Names beside bars stand out from the lines of the axis, bars from their neighbours.
            if colour.class == "bg" {
                let _infallible = write!(css, ".b,.k{{stroke:{}}}", value(colour));
            }
            if colour.class == "ink" {
                let _infallible = write!(css, ".s.open{{stroke:{}}}", value(colour));
            }
        }
        css
    };
    css.push_str(&rules(false));
    css.push_str("@media(prefers-color-scheme:dark){");
    css.push_str(&rules(true));
    css.push('}');
    // A rule for the pattern must win over the plain colour of the same name.
    css.push_str("rect.s.silence{fill:url(#hatch)}");
    css
}

struct Picture<'t> {
    timeline: &'t Timeline,
    width: f64,
    chart: f64,
}

impl Picture<'_> {
    fn x(&self, ms: u64) -> f64 {
        MARGIN + ms as f64 / self.timeline.length_ms.max(1) as f64 * self.chart
    }

    fn head(&self, out: &mut String) {
        let room = ((self.width - 40.0) / LARGE) as usize;
        let text = fit(&self.timeline.headline().join(" · "), room);
        let _infallible =
            writeln!(out, "<text class=\"h ink\" x=\"20\" y=\"30\">{}</text>", escape(&text));
        let calls = self.count(|track| matches!(track, Track::Tool | Track::SubAgent));
        let turns = self.count(|track| track == Track::Turn);
        let mut parts = vec![many(calls, "call"), many(turns, "turn")];
        parts.extend(self.timeline.session.clone());
        let text = fit(&parts.join(" · "), ((self.width - 40.0) / LETTER) as usize);
        let _infallible =
            writeln!(out, "<text class=\"dim\" x=\"20\" y=\"48\">{}</text>", escape(&text));
    }

    fn count(&self, wanted: impl Fn(Track) -> bool) -> usize {
        let is_wanted = |span: &&Span| {
            self.timeline.lanes.get(span.lane).is_some_and(|lane| wanted(lane.track))
        };
        self.timeline.spans.iter().filter(is_wanted).count()
    }

    fn axis(&self, out: &mut String, bottom: f64) {
        let length = self.timeline.length_ms;
        let step = scale::step(length, ((self.chart / 90.0) as usize).max(2));
        for number in 0..=length / step {
            let (x, label) = (self.x(number * step), scale::label(number * step, step));
            let half = width(&label) as f64 * LETTER / 2.0;
            let _infallible =
                write!(out, "<path class=\"g\" d=\"M{x:.1} {:.1}V{bottom:.1}\"/>", AXIS + 6.0);
            if x + half <= self.width - 4.0 {
                let _infallible = writeln!(
                    out,
                    "<text class=\"m dim\" x=\"{x:.1}\" y=\"{AXIS:.1}\">{label}</text>"
                );
            }
        }
    }

    fn lane(&self, out: &mut String, lane: Lane, top: f64, spans: &[Span]) {
        if lane.row == 0 {
            let _infallible = writeln!(
                out,
                "<text class=\"e dim\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                MARGIN - 12.0,
                top + 15.0,
                lane.track.title()
            );
        }
        let mut rest = spans;
        // How far the lane is drawn or written on already.
        let mut inked = MARGIN;
        while let Some((first, later)) = rest.split_first() {
            // Everything that lies within the same pixel as the first, and in its colour.
            let until = self.x(first.start_ms) + 1.0;
            let colour = palette::of(lane.track, first);
            let alike = |span: &&Span| {
                self.x(span.end_ms) <= until && palette::of(lane.track, span) == colour
            };
            let hidden = later.iter().take_while(alike).count();
            let hidden = if alike(&first) { hidden } else { 0 };
            let (with, after) = later.split_at(hidden);
            rest = after;
            if with.is_empty() {
                self.span(out, lane.track, top, first);
                let next = after.first().map_or(self.width, |next| {
                    self.x(next.start_ms)
                        - if palette::is_mark(lane.track, next) { 5.0 } else { 0.0 }
                });
                inked = self.name(out, lane.track, top, first, (inked, next));
                out.push('\n');
            } else {
                self.many(out, lane.track, top, first, with);
            }
            let ends = with.iter().chain([first]).map(|span| self.x(span.end_ms) + LEAST);
            inked = ends.fold(inked, f64::max);
        }
    }

    fn span(&self, out: &mut String, track: Track, top: f64, span: &Span) {
        let class = SPANS.get(palette::of(track, span)).map_or("note", |colour| colour.class);
        let (x, y) = (self.x(span.start_ms), top + (LANE - BAR) / 2.0);
        let wide = (self.x(span.end_ms) - x).max(LEAST);
        let edge = match (span.open, wide > 4.0) {
            (true, _) => " k open",
            (false, true) => " k",
            (false, false) => "",
        };
        let times = format!("data-start=\"{}\" data-end=\"{}\"", span.start_ms, span.end_ms);
        let tip = escape(&tip(track, span));
        if palette::is_mark(track, span) {
            let (middle, half) = (top + LANE / 2.0, 5.0);
            let _infallible = write!(
                out,
                "<path class=\"s {class}\" {times} d=\"M{x:.2} {:.2}L{:.2} {middle:.2}L{x:.2} {:.2}\
                 L{:.2} {middle:.2}Z\"><title>{tip}</title></path>",
                middle - half,
                x + half,
                middle + half,
                x - half
            );
        } else {
            let round = if wide > 6.0 { 3.0 } else { 0.5 };
            let _infallible = write!(
                out,
                "<rect class=\"s {class}{edge}\" {times} x=\"{x:.2}\" y=\"{y:.1}\" \
                 width=\"{wide:.2}\" height=\"{BAR}\" rx=\"{round}\"><title>{tip}</title></rect>"
            );
        }
    }

    /// The name of a span, on it or beside it, between what is written before it and what comes
    /// next; how far it goes.
    fn name(
        &self,
        out: &mut String,
        track: Track,
        top: f64,
        span: &Span,
        (inked, next): (f64, f64),
    ) -> f64 {
        let ink = SPANS.get(palette::of(track, span)).map_or("ink", |colour| colour.ink);
        let x = self.x(span.start_ms);
        let wide = (self.x(span.end_ms) - x).max(LEAST);
        let letters = |pixels: f64| (pixels / LETTER).max(0.0) as usize;
        let name = name(track, span);
        let mut write = |class: &str, x: f64, room: usize| {
            let text = fit(&name, room);
            let _infallible = write!(
                out,
                "<text class=\"{class}\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
                top + 15.0,
                escape(&text)
            );
            width(&text) as f64 * LETTER
        };
        let mark = palette::is_mark(track, span);
        let off = if mark { 9.0 } else { 4.0 };
        let end = x + if mark { off } else { wide + off };
        let (right, left) = (letters(next - end - 5.0), letters(x - off - inked - 8.0));
        let inside = letters(wide - 10.0);
        let few = inside < width(&name).min(9) && right.max(left) > inside + 3;
        if inside > 3 && !few && track != Track::Silence {
            write(ink, x + 5.0, inside);
            return inked;
        }
        let whole = width(&name) <= right;
        // Hooks call often, and their names say little: whole or not at all.
        if track == Track::Hook && !whole {
            return inked.max(end);
        }
        // At the left only where it does not fit at the right, and there is more room.
        if !whole && left > right.max(4) {
            write("b dim e", x - off, left);
        } else if right >= 4 {
            return end + write("b dim", end, right);
        }
        inked.max(end)
    }

    /// Several that cannot be seen apart.
    fn many(&self, out: &mut String, track: Track, top: f64, first: &Span, with: &[Span]) {
        let class = SPANS.get(palette::of(track, first)).map_or("note", |colour| colour.class);
        let last = with.iter().map(|span| span.end_ms).max().unwrap_or(first.end_ms);
        let (x, y) = (self.x(first.start_ms), top + (LANE - BAR) / 2.0);
        let wide = (self.x(last) - x).max(LEAST);
        let _infallible = writeln!(
            out,
            "<rect class=\"s {class}\" data-start=\"{}\" data-end=\"{last}\" data-count=\"{}\" \
             x=\"{x:.2}\" y=\"{y:.1}\" width=\"{wide:.2}\" height=\"{BAR}\"><title>{} in {}\n{}\
             </title></rect>",
            first.start_ms,
            with.len() + 1,
            many(with.len() + 1, track.title()),
            human(Duration::from_millis(last - first.start_ms)),
            escape(&tip(track, first)),
        );
    }

    /// The colours that occur, in as many lines as they need; and where they end.
    fn legend(&self, top: f64) -> (String, f64) {
        let mut used = [false; SPANS.len()];
        for span in &self.timeline.spans {
            if let Some(lane) = self.timeline.lanes.get(span.lane)
                && let Some(used) = used.get_mut(palette::of(lane.track, span))
            {
                *used = true;
            }
        }
        let (mut x, mut y) = (MARGIN, top);
        let mut out = String::new();
        for (colour, _) in SPANS.iter().zip(used).filter(|(_, used)| *used) {
            let wide = 16.0 + width(colour.title) as f64 * LETTER + 14.0;
            if x + wide > self.width - RIGHT && x > MARGIN {
                (x, y) = (MARGIN, y + 18.0);
            }
            let _infallible = writeln!(
                out,
                "<rect class=\"s {}\" x=\"{x:.1}\" y=\"{:.1}\" width=\"10\" height=\"10\" rx=\"2\"/>\
                 <text class=\"dim\" x=\"{:.1}\" y=\"{y:.1}\">{}</text>",
                colour.class,
                y - 9.0,
                x + 16.0,
                colour.title
            );
            x += wide;
        }
        (out, y)
    }
}

fn many(count: usize, what: &str) -> String {
    let what = what.strip_suffix('s').unwrap_or(what);
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// What is written on a span or beside it.
fn name(track: Track, span: &Span) -> String {
    let text = excerpt(span.text.as_bytes(), 200);
    let length = human(Duration::from_millis(span.length_ms()));
    match track {
        Track::Silence => length,
        Track::Run => format!("{} · {}", span.name, span.outcome.as_deref().unwrap_or("not ended")),
        Track::Text
        | Track::Thinking
        | Track::Turn
        | Track::Tool
        | Track::SubAgent
        | Track::Approval
            if !text.is_empty() =>
        {
            text
        }
        Track::Verdict | Track::Stop | Track::Note | Track::Retry if !text.is_empty() => {
            format!("{}: {text}", span.name)
        }
        _ => span.name.clone(),
    }
}

fn tip(track: Track, span: &Span) -> String {
    let mut lines = vec![format!("{} · {}", track.title(), span.name)];
    if !span.text.is_empty() {
        lines.push(excerpt(span.text.as_bytes(), TIP));
    }
    let at = human(Duration::from_millis(span.start_ms));
    lines.push(format!("at {at}, {}", span.describe_length()));
    if span.open {
        lines.push("its end was never told".into());
    }
    if let Some(outcome) = &span.outcome {
        lines.push(excerpt(outcome.as_bytes(), TIP));
    }
    lines.join("\n")
}
