//! Times as people type and read them, in the zone that they live in.
//!
//! Everything here is a function of a [`Clock`], which is read once.

use crate::duration;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Zoned};
use stablehand_core::time::UnixMillis;

/// What time it is, and where.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    now: Zoned,
}

/// Which end of a day a day means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edge {
    /// `--since`: its beginning.
    Beginning,
    /// `--until`: its end.
    End,
}

/// The time between which and which something is to be.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct SpanArgs {
    /// From when: 2h or 3d ago, today, yesterday, 2026-11-01, 2026-11-01T09:30, RFC 3339
    #[arg(long, value_name = "TIME")]
    since: Option<String>,

    /// Until when; a day counts to its end
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
}

/// From and until, where they are given.
pub(super) type Bounds = (Option<UnixMillis>, Option<UnixMillis>);

impl SpanArgs {
    pub(super) fn bounds(&self, clock: &Clock) -> Result<Bounds, crate::failure::Failure> {
        let read = |text: &Option<String>, edge| match text {
            Some(text) => clock.parse(text, edge).map(Some).map_err(crate::failure::Failure::usage),
            None => Ok(None),
        };
        Ok((read(&self.since, Edge::Beginning)?, read(&self.until, Edge::End)?))
    }
}

impl Clock {
    /// Now, in the zone of `TZ` or of the system.
    pub(super) fn read() -> Clock {
        let zone = if std::env::var_os("TZ").is_none() { of_system() } else { None };
        Clock { now: Timestamp::now().to_zoned(zone.unwrap_or_else(TimeZone::system)) }
    }

    pub(super) fn now(&self) -> UnixMillis {
        UnixMillis(self.now.timestamp().as_millisecond())
    }

    /// The zone's name, as far as it has one.
    pub(super) fn zone(&self) -> String {
        let offset = || self.now.offset().to_string();
        self.now.time_zone().iana_name().map_or_else(offset, str::to_owned)
    }

    fn local(&self, at: UnixMillis) -> Zoned {
        let stamp = Timestamp::from_millisecond(at.0).unwrap_or(Timestamp::UNIX_EPOCH);
        stamp.to_zoned(self.now.time_zone().clone())
    }

    /// `2026-11-01`, here.
    pub(super) fn day(&self, at: UnixMillis) -> String {
        self.local(at).date().to_string()
    }

    /// `14:05`, here.
    pub(super) fn time_of_day(&self, at: UnixMillis) -> String {
        let time = self.local(at).time();
        format!("{:02}:{:02}", time.hour(), time.minute())
    }

    /// The days from one to another, both included, at most so many, the last ones.
    pub(super) fn days(&self, first: UnixMillis, last: UnixMillis, most: usize) -> Vec<String> {
        let (first, mut day) = (self.local(first).date(), self.local(last).date());
        let mut days = Vec::new();
        while day >= first && days.len() < most {
            days.push(day.to_string());
            let Ok(before) = day.yesterday() else { break };
            day = before;
        }
        days.reverse();
        days
    }

    /// `12 min ago`, `3 h ago`, `yesterday`, `4 d ago`, `2026-11-01`: never more than ten letters.
    pub(super) fn ago(&self, at: UnixMillis) -> String {
        let minutes = self.now().since(at).as_secs() / 60;
        let days = self.days_ago(at);
        match minutes {
            _ if at > self.now() => self.day(at),
            0 => "just now".into(),
            1..60 => format!("{minutes} min ago"),
            60..1440 if days == 0 || minutes < 720 => format!("{} h ago", minutes / 60),
            _ if days == 1 => "yesterday".into(),
            _ if days < 7 => format!("{days} d ago"),
            _ => self.day(at),
        }
    }

    /// `today 14:05`, `yesterday 14:05`, `2026-11-01 14:05`.
    pub(super) fn moment(&self, at: UnixMillis) -> String {
        let time = self.time_of_day(at);
        match self.days_ago(at) {
            0 => format!("today {time}"),
            1 => format!("yesterday {time}"),
            _ => format!("{} {time}", self.day(at)),
        }
    }

    fn days_ago(&self, at: UnixMillis) -> i64 {
        let then = self.local(at).date();
        let between = self.now.date().since(then).map(|span| i64::from(span.get_days()));
        between.unwrap_or(i64::MAX)
    }

    /// Reads a time; the error is for the person who typed it.
    pub(super) fn parse(&self, text: &str, edge: Edge) -> Result<UnixMillis, String> {
        let wrong = || {
            format!(
                "`{text}` is no time; write it like 2h or 3d (ago), today, yesterday, 2026-11-01, \
                 2026-11-01T09:30 or 2026-11-01T09:30:00Z"
            )
        };
        let at = |zoned: Zoned| UnixMillis(zoned.timestamp().as_millisecond());
        let zone = || self.now.time_zone().clone();
        let typed = text.trim();
        match typed.to_ascii_lowercase().as_str() {
            "now" => return Ok(self.now()),
            "today" => return day(self.now.date(), edge, zone()).ok_or_else(wrong),
            "yesterday" => {
                let yesterday = self.now.date().yesterday().map_err(|_| wrong())?;
                return day(yesterday, edge, zone()).ok_or_else(wrong);
            }
            _ => {}
        }
        if let Ok(ago) = duration::parse_long(typed.strip_suffix("ago").unwrap_or(typed).trim()) {
            let ms = i64::try_from(ago.as_millis()).unwrap_or(i64::MAX);
            return Ok(UnixMillis(self.now().0.saturating_sub(ms)));
        }
        if let Ok(stamp) = typed.parse::<Timestamp>() {
            return Ok(UnixMillis(stamp.as_millisecond()));
        }
        // A time of day tells it from a day, which the parser of times would take as well.
        if typed.len() > "2026-11-01".len()
            && let Ok(civil) = typed.parse::<DateTime>()
        {
            return civil.to_zoned(zone()).map(at).map_err(|_| wrong());
        }
        let date = typed.parse::<Date>().map_err(|_| wrong())?;
        day(date, edge, zone()).ok_or_else(wrong)
    }
}

/// The zone of the system, where that is a link to one, as usual. Whoever asks for it by its name
/// has the folders of all zones read first, which takes longer than a search does.
fn of_system() -> Option<TimeZone> {
    const LINK: &str = "/etc/localtime";
    let target = std::fs::read_link(LINK).ok()?;
    let (_, name) = target.to_str()?.rsplit_once("zoneinfo/")?;
    TimeZone::tzif(name, &std::fs::read(LINK).ok()?).ok()
}

/// The beginning of a day, or of the one after it.
fn day(date: Date, edge: Edge, zone: TimeZone) -> Option<UnixMillis> {
    let date = match edge {
        Edge::Beginning => date,
        Edge::End => date.checked_add(Span::new().days(1)).ok()?,
    };
    let start = date.to_zoned(zone).ok()?;
    Some(UnixMillis(start.timestamp().as_millisecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Noon of a winter's day, an hour ahead of UTC.
    fn clock() -> Clock {
        let zone = TimeZone::fixed(jiff::tz::offset(1));
        Clock { now: "2026-11-16T11:00:00Z".parse::<Timestamp>().unwrap().to_zoned(zone) }
    }

    #[test]
    fn times_as_people_type_them() {
        let clock = clock();
        let read = |text: &str, edge| clock.parse(text, edge).map(UnixMillis::rfc3339);
        let since = |text: &str| read(text, Edge::Beginning).unwrap();
        assert_eq!(since("2h"), "2026-11-16T09:00:00.000Z");
        assert_eq!(since("2h ago"), "2026-11-16T09:00:00.000Z");
        assert_eq!(since("3d"), "2026-11-13T11:00:00.000Z");
        assert_eq!(since("1w1d1h"), "2026-11-08T10:00:00.000Z");
        assert_eq!(since("today"), "2026-11-15T23:00:00.000Z");
        assert_eq!(since("Yesterday"), "2026-11-14T23:00:00.000Z");
        assert_eq!(since("2026-11-01"), "2026-10-31T23:00:00.000Z");
        assert_eq!(since("2026-11-01T09:30"), "2026-11-01T08:30:00.000Z");
        assert_eq!(since("2026-11-01 09:30:15"), "2026-11-01T08:30:15.000Z");
        assert_eq!(since("2026-11-01T09:30:00Z"), "2026-11-01T09:30:00.000Z");
        assert_eq!(since("2026-11-01T09:30:00+02:00"), "2026-11-01T07:30:00.000Z");
        let until = |text: &str| read(text, Edge::End).unwrap();
        assert_eq!(until("2026-11-01"), "2026-11-01T23:00:00.000Z");
        assert_eq!(until("yesterday"), "2026-11-15T23:00:00.000Z");
        assert_eq!(until("2026-11-01T09:30"), "2026-11-01T08:30:00.000Z");
        for wrong in ["", "soon", "2026-13-01", "3x", "-2h", "d", "99999999999999w", "1e400d"] {
            assert!(read(wrong, Edge::End).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_as_people_read_them() {
        let clock = clock();
        let ago = |text: &str| clock.ago(UnixMillis::from_rfc3339(text).unwrap());
        assert_eq!(ago("2026-11-16T10:59:30Z"), "just now");
        assert_eq!(ago("2026-11-16T10:18:00Z"), "42 min ago");
        assert_eq!(ago("2026-11-16T08:00:00Z"), "3 h ago");
        assert_eq!(ago("2026-11-15T22:30:00Z"), "yesterday");
        assert_eq!(ago("2026-11-12T10:00:00Z"), "4 d ago");
        assert_eq!(ago("2026-11-01T10:00:00Z"), "2026-11-01");
        assert_eq!(ago("2026-11-17T10:00:00Z"), "2026-11-17");
        let moment = |text: &str| clock.moment(UnixMillis::from_rfc3339(text).unwrap());
        assert_eq!(moment("2026-11-16T08:00:00Z"), "today 09:00");
        assert_eq!(moment("2026-11-15T08:00:00Z"), "yesterday 09:00");
        assert_eq!(moment("2026-11-01T08:00:00Z"), "2026-11-01 09:00");
        assert_eq!(ago("1971-01-01T00:00:00Z"), "1971-01-01");
    }

    #[test]
    fn days_follow_one_another() {
        let clock = clock();
        let at = |text: &str| UnixMillis::from_rfc3339(text).unwrap();
        let (first, last) = (at("2026-10-30T12:00:00Z"), at("2026-11-01T23:30:00Z"));
        let days = ["2026-10-30", "2026-10-31", "2026-11-01", "2026-11-02"];
        assert_eq!(clock.days(first, last, 9), days);
        assert_eq!(clock.days(first, last, 2), days[2..]);
    }
}
