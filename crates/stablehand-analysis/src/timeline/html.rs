//! The timeline as one page that needs nothing but itself: it zooms, pans and searches.
//!
//! The page may run one script and use one style, both named by their hashes, and may fetch nothing.
//! All texts are in a block of JSON and enter the page as text, never as markup.

use super::palette::{self, AROUND, Colour, SPANS};
use super::{Timeline, Track};
use crate::markup::{csp_hash, escape, escape_json};
use serde::Serialize;
use std::fmt::Write as _;

const PAGE: &str = include_str!("html/page.html");
const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");

/// What the script is given.
#[derive(Serialize)]
struct Data<'t> {
    timeline: &'t Timeline,
    /// Titles of the tracks by their names.
    tracks: Vec<(&'static str, &'static str)>,
    /// Class and title of each colour, and the colour of text on it.
    colours: Vec<(&'static str, &'static str, &'static str)>,
    /// The colour of each span.
    colour_of: Vec<usize>,
    headline: Vec<String>,
}

/// Draws the page.
pub(super) fn draw(timeline: &Timeline) -> String {
    let track = |lane: usize| timeline.lanes.get(lane).map_or(Track::Note, |lane| lane.track);
    let colour_of = timeline.spans.iter().map(|span| palette::of(track(span.lane), span)).collect();
    let data = Data {
        timeline,
        tracks: Track::ALL.iter().map(|track| (track.name(), track.title())).collect(),
        colours: SPANS.iter().map(|colour| (colour.class, colour.title, colour.ink)).collect(),
        colour_of,
        headline: timeline.headline(),
    };
    // It has no map with keys that JSON could not hold.
    let data = serde_json::to_string(&data).unwrap_or_default();
    let style = format!("{}{STYLE}", palette());
    let policy = format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; base-uri 'none'; form-action 'none'",
        csp_hash(SCRIPT),
        csp_hash(&style)
    );
    // In the order of their places: what has been filled in is not looked at again.
    let title = escape(&format!("{} · timeline", timeline.headline().join(" · ")));
    let filled = [
        ("{{policy}}", policy.as_str()),
        ("{{title}}", &title),
        ("{{style}}", &style),
        ("{{data}}", &escape_json(&data)),
        ("{{script}}", SCRIPT),
    ];
    let mut page = String::with_capacity(PAGE.len() + data.len() + style.len() + SCRIPT.len());
    let mut rest = PAGE;
    for (name, value) in filled {
        let (before, after) = rest.split_once(name).unwrap_or((rest, ""));
        page.push_str(before);
        page.push_str(value);
        rest = after;
    }
    page.push_str(rest);
    page
}

/// The colours as variables, by day and by night.
fn palette() -> String {
    let all = || SPANS.iter().chain(&AROUND);
    let mut css = String::from(":root{");
    let rule = |css: &mut String, colour: &Colour, value: &str| {
        let _infallible = write!(css, "--{}:{value};", colour.class);
    };
    all().for_each(|colour| rule(&mut css, colour, colour.day));
    css.push_str("}\n@media (prefers-color-scheme: dark){:root{");
    all().for_each(|colour| rule(&mut css, colour, colour.night));
    css.push_str("}}\n");
    css
}
