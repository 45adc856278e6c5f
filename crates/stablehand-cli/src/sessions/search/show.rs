//! What was found, by session: for people and for programs.

use super::super::select::{at_home, look};
use super::super::when::Clock;
use crate::env::Env;
use crate::output::{Look, Paint, figures};
use crate::redact::redactor;
use serde_json::{Value, json};
use stablehand::redact::Redactor;
use stablehand_core::text::{self, fit, one_line, width};
use stablehand_store::query::{Count, Found, FoundSession, Match, Order, Snippet, Terms, snippet};
use std::borrow::Cow;
use std::fmt::Write as _;

/// The width of a line where nobody says how wide it is.
const WIDE: usize = 160;

/// So much of a passage programs get.
const FOR_PROGRAMS: usize = 240;

/// How what was found is shown.
pub(super) struct View<'a> {
    env: &'a Env,
    clock: &'a Clock,
    terms: &'a Terms,
    paint: Paint,
    width: usize,
    redactor: Redactor,
}

impl<'a> View<'a> {
    pub(super) fn new(env: &'a Env, clock: &'a Clock, terms: &'a Terms) -> Self {
        let paint = Paint::new(env);
        let width = paint.width().unwrap_or(WIDE);
        View { env, clock, terms, paint, width, redactor: redactor(&[]) }
    }

    pub(super) fn json(&self, found: &Found, shorts: &[String]) -> Value {
        let sessions = found.sessions.iter().zip(shorts).map(|(session, short)| {
            let matches = session.matches.iter().map(|it| {
                let Snippet { text, ranges } = self.snippet(it, FOR_PROGRAMS);
                json!({
                    "run": it.run,
                    "turn": it.turn,
                    "kind": it.kind,
                    "at": it.at.rfc3339(),
                    "tool": it.tool.as_ref().map(|tool| json!({
                        "name": tool.name,
                        "kind": tool.kind,
                        "target": self.redactor.redact(&tool.target),
                    })),
                    "snippet": text,
                    "ranges": ranges,
                    "rank": it.rank,
                })
            });
            json!({
                "id": session.chat,
                "short_id": short,
                "agent": session.agent,
                "title": self.title(session),
                "workspace": session.workspace,
                "outcome": session.outcome,
                "last_at": session.last.rfc3339(),
                "log": session.log,
                "matches": count(session.count),
                "passages": matches.collect::<Vec<_>>(),
            })
        });
        json!({
            "order": if found.order == Order::Newest { "newest" } else { "best" },
            "matches": count(found.matches),
            "in_sessions": count(found.in_sessions),
            "sessions": sessions.collect::<Vec<_>>(),
        })
    }

    pub(super) fn text(&self, found: &Found, shorts: &[String]) -> String {
        if found.sessions.is_empty() {
            return "nothing found\n".into();
        }
        let mut out = String::new();
        for (session, short) in found.sessions.iter().zip(shorts) {
            self.head(session, short, &mut out);
            self.matches(session, &mut out);
            out.push('\n');
        }
        let how = match found.order {
            Order::Newest => "the newest first",
            _ => "the best first",
        };
        let summary = format!(
            "{} in {}, {how}; `stablehand sessions show ID` opens one\n",
            words(found.matches, "passage"),
            words(found.in_sessions, "session")
        );
        out.push_str(&self.paint.dim(&summary));
        out
    }

    fn head(&self, session: &FoundSession, short: &str, out: &mut String) {
        let paint = self.paint;
        let outcome = session.outcome.as_deref().unwrap_or_default();
        let when = self.clock.moment(session.last);
        let short = one_line(short);
        let agent = one_line(&session.agent);
        let place = session.workspace.as_deref().map(|path| one_line(&at_home(path, self.env)));
        let place = place.unwrap_or_default();
        let gap = |text: &str| if text.is_empty() { "" } else { "  " };
        let title = one_line(&self.title(session).unwrap_or_default());
        let others: usize = [&short, &agent, &when, outcome].map(|it| width(it) + 2).iter().sum();
        // The place is what can be missed where there is no room.
        let room = self.width.saturating_sub(others);
        let place = if room < 12 { String::new() } else { fit(&place, room) };
        let _infallible = writeln!(
            out,
            "{}  {agent}  {when}{}{}{}{}",
            paint.bold(&short),
            gap(outcome),
            paint.look(&one_line(outcome), look(outcome)),
            gap(&place),
            paint.dim(&place),
        );
        if !title.is_empty() {
            let _infallible = writeln!(out, "  {}", paint.bold(&fit(&title, self.width - 2)));
        }
    }

    fn matches(&self, session: &FoundSession, out: &mut String) {
        let day = self.clock.day(session.last);
        for it in &session.matches {
            let what = match (&it.tool, it.kind.as_str()) {
                (Some(tool), "output" | "diff") => {
                    text::excerpt(format!("{} of {}", it.kind, tool.name).as_bytes(), 24)
                }
                (_, kind) => kind.to_owned(),
            };
            // Within a session the time of day says enough, if it is the same day.
            let time = if self.clock.day(it.at) == day {
                self.clock.time_of_day(it.at)
            } else {
                self.clock.moment(it.at)
            };
            let lead = format!("    {what:<9} {time}  ");
            let room = self.width.saturating_sub(lead.chars().count()).max(24);
            let shown = self.fitting(it, room);
            let _infallible = writeln!(out, "{}{}", self.paint.dim(&lead), self.marked(&shown));
        }
        let more = match session.count {
            Count::Exactly(n) if n > session.matches.len() => {
                format!("{} more", figures::grouped((n - session.matches.len()) as u64))
            }
            Count::Exactly(_) => return,
            Count::MoreThan(_) => "more".into(),
        };
        let _infallible = writeln!(out, "    {}", self.paint.dim(&format!("and {more} here")));
    }

    /// A piece that is no wider than the room: some characters take two cells.
    fn fitting(&self, it: &Match, room: usize) -> Snippet {
        let mut width = room;
        loop {
            let shown = self.snippet(it, width);
            let over = text::width(&shown.text);
            if over <= room || width <= 12 {
                return shown;
            }
            width = (width * room / over).min(width - 1).max(12);
        }
    }

    fn snippet(&self, it: &Match, width: usize) -> Snippet {
        match self.redactor.redact(&it.text) {
            Cow::Borrowed(_) => snippet(&it.text, &it.found, width),
            // What this environment knows to be a secret was in it: the places have moved.
            Cow::Owned(hidden) => {
                let mut found: Vec<(usize, usize)> = Vec::new();
                for term in &self.terms.wanted {
                    let places = hidden.match_indices(&term.text);
                    found.extend(places.map(|(at, part)| (at, at + part.len())));
                }
                found.sort_unstable();
                snippet(&hidden, &found, width)
            }
        }
    }

    fn marked(&self, shown: &Snippet) -> String {
        let mut out = String::new();
        let mut ranges = shown.ranges.iter().peekable();
        let mut part = String::new();
        for (n, c) in shown.text.chars().enumerate() {
            if ranges.peek().is_some_and(|(from, _)| *from == n) {
                out.push_str(&std::mem::take(&mut part));
            }
            part.push(c);
            if ranges.peek().is_some_and(|(_, to)| *to == n + 1) {
                ranges.next();
                out.push_str(&self.paint.look(&self.paint.bold(&part), Look::Bad));
                part.clear();
            }
        }
        out + &part
    }

    fn title(&self, session: &FoundSession) -> Option<String> {
        session.title.as_deref().map(|title| self.redactor.redact(title).into_owned())
    }
}

fn count(count: Count) -> Value {
    match count {
        Count::Exactly(n) => json!({ "count": n, "exact": true }),
        Count::MoreThan(n) => json!({ "count": n, "exact": false }),
    }
}

fn words(count: Count, thing: &str) -> String {
    match count {
        Count::Exactly(n) => figures::many(n as u64, thing),
        Count::MoreThan(n) => format!("more than {}", figures::many(n as u64, thing)),
    }
}
