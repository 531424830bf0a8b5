//! Dates an incident. Logs often contain only a time of day, or a month and a day; what is missing comes from
//! surrounding lines, from the file's write time, or from the user.

use std::collections::BTreeMap;
use std::fs;
use std::str::FromStr;
use std::sync::Arc;

use jiff::Timestamp as Moment;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::model::{Clock, Incident, Stamps, Text, Texts, TimeSource, Timestamp, When};

/// The seconds by which a file's write time may precede the last line's own time, since clocks differ.
const SLACK: i64 = 60;
/// The seconds by which a time may lie ahead, as time zones explain; beyond that, it belongs to another year.
const DAY: i64 = 86_400;
/// The most years between two 29 Februaries.
const LEAP: i16 = 8;

/// How to date an incident if its log has no complete time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Calendar {
    /// The time that the user states.
    pub told: Option<StatedTime>,
    /// Whether to use write times of files and the current time. Otherwise, a report depends only on the inputs' bytes.
    pub clocks: bool,
}

/// The write times of files that are on other machines.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WriteTimes(BTreeMap<Arc<str>, Moment>);

impl WriteTimes {
    /// The write times of those `paths` that are local files; each path begins with `prefix`.
    pub fn of(paths: impl IntoIterator<Item = Arc<str>>, prefix: &str) -> WriteTimes {
        let time = |path: Arc<str>| Some((Arc::clone(&path), written(path.strip_prefix(prefix)?)?));
        WriteTimes(paths.into_iter().filter_map(time).collect())
    }

    /// Adds the times in `other`.
    pub fn extend(&mut self, other: WriteTimes) {
        self.0.extend(other.0);
    }

    /// Keeps the times of paths for which `is_wanted` is true.
    pub fn retain(&mut self, is_wanted: impl Fn(&str) -> bool) {
        self.0.retain(|path, _| is_wanted(path));
    }
}

impl Texts for WriteTimes {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let all = std::mem::take(&mut self.0).into_iter();
        self.0 =
            all.map(|(mut path, time)| (path.texts(see), path, time)).map(|((), path, time)| (path, time)).collect();
    }
}

/// A time as a user states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatedTime {
    /// A day; the time of day comes from the log.
    Date(Date),
    /// A moment in UTC.
    Moment(DateTime),
}

impl FromStr for StatedTime {
    type Err = String;

    fn from_str(words: &str) -> Result<StatedTime, String> {
        let words = words.trim();
        if let Some(date) = words.parse::<Date>().ok().filter(|_| words.len() == "2026-11-20".len()) {
            return Ok(StatedTime::Date(date));
        }
        let of_zone = || words.parse::<Moment>().ok().map(|moment| moment.to_zoned(TimeZone::UTC).datetime());
        of_zone()
            .or_else(|| words.parse::<DateTime>().ok())
            .map(StatedTime::Moment)
            .ok_or_else(|| "write a date, 2026-11-20, or a time, 2026-11-20T10:00".to_owned())
    }
}

impl Calendar {
    /// The time of `incident`, whose lines have `stamps`; `None` if nothing tells it.
    pub fn when(self, stamps: Stamps, incident: &Incident, elsewhere: &WriteTimes) -> Option<When> {
        let told = self.told.map(|told| (told.with(stamps), Some(TimeSource::User)));
        let of_lines = || {
            let own = stamps.own.filter(|own| own.clock == Clock::Wall).and_then(civil).map(|time| (time, None));
            own.or_else(|| Some((by_lines(stamps)?, Some(TimeSource::Lines))))
        };
        let of_clock = || {
            let (latest, source) = latest(incident, elsewhere)?;
            // Lines have local time.
            let here = latest.to_zoned(TimeZone::system()).datetime();
            let time = by_clock(stamps, here).unwrap_or(latest.to_zoned(TimeZone::UTC).datetime());
            Some((time, Some(source)))
        };
        let found = told.or_else(of_lines).or_else(|| if self.clocks { of_clock() } else { None });
        found.map(|(time, derived)| When { time: time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(), derived })
    }
}

impl StatedTime {
    /// Combines a day with the time of day in the log.
    fn with(self, stamps: Stamps) -> DateTime {
        match self {
            StatedTime::Moment(moment) => moment,
            StatedTime::Date(date) => {
                let of_log = [stamps.own, stamps.before].into_iter().flatten().find_map(time_of_day);
                date.to_datetime(of_log.unwrap_or(Time::midnight()))
            }
        }
    }
}

/// Dates by the nearest line with a date, completed by the time in the incident's own line or the last one before it.
fn by_lines(stamps: Stamps) -> Option<DateTime> {
    let dated = stamps.dated.and_then(civil)?;
    let nearest = [stamps.own, stamps.before].into_iter().flatten().find(|stamp| stamp.clock != Clock::Uptime);
    let Some(nearest) = nearest.filter(|nearest| nearest.clock != Clock::Wall) else {
        return nearest.and_then(civil).or(Some(dated));
    };
    // Later lines of a log happened later.
    match nearest.clock {
        Clock::TimeOfDay => {
            let time = dated.date().to_datetime(time_of_day(nearest)?);
            if seconds(time) < seconds(dated) - SLACK {
                time.checked_add(jiff::Span::new().days(1)).ok()
            } else {
                Some(time)
            }
        }
        _ => {
            let years = dated.year()..=dated.year().saturating_add(LEAP);
            years.filter_map(|year| in_year(nearest, year)).find(|time| seconds(*time) >= seconds(dated) - DAY)
        }
    }
}

/// The last moment before `latest`, the write time, that agrees with the lines; `None` if they have no time.
fn by_clock(stamps: Stamps, latest: DateTime) -> Option<DateTime> {
    let of_stamp = |stamp: Timestamp| match stamp.clock {
        Clock::Wall => civil(stamp),
        Clock::Uptime => None,
        Clock::TimeOfDay => {
            let time = latest.date().to_datetime(time_of_day(stamp)?);
            let is_ahead = seconds(time) > seconds(latest) + SLACK;
            if is_ahead { time.checked_sub(jiff::Span::new().days(1)).ok() } else { Some(time) }
        }
        Clock::Yearless => {
            let years = (latest.year().saturating_sub(LEAP)..=latest.year()).rev();
            years.filter_map(|year| in_year(stamp, year)).find(|time| seconds(*time) <= seconds(latest) + DAY)
        }
    };
    [stamps.own, stamps.before].into_iter().flatten().find_map(of_stamp)
}

/// The write time of the file with `incident`; the current time for a stream.
fn latest(incident: &Incident, elsewhere: &WriteTimes) -> Option<(Moment, TimeSource)> {
    let path = &*incident.evidence.first()?.location.path;
    if let Some(time) = elsewhere.0.get(path) {
        return Some((*time, TimeSource::File));
    }
    if path == "-" {
        return Some((Moment::now(), TimeSource::Now));
    }
    Some((written(path)?, TimeSource::File))
}

/// The write time of the file at `path`; for a member of an archive, that of the archive.
fn written(path: &str) -> Option<Moment> {
    let ends = path.match_indices('!').map(|(end, _)| end).chain([path.len()]);
    let written =
        ends.filter_map(|end| fs::metadata(&path[..end]).ok()).find(fs::Metadata::is_file)?.modified().ok()?;
    Moment::try_from(written).ok()
}

/// A stamp in its own clock. Without a date it is on the first day of 1970, without a year in 1972.
fn civil(stamp: Timestamp) -> Option<DateTime> {
    Some(Moment::from_second(stamp.seconds as i64).ok()?.to_zoned(TimeZone::UTC).datetime())
}

fn time_of_day(stamp: Timestamp) -> Option<Time> {
    if stamp.clock == Clock::Uptime { None } else { Some(civil(stamp)?.time()) }
}

/// A stamp without a year, placed in `year`; `None` if that year lacks the day.
fn in_year(stamp: Timestamp, year: i16) -> Option<DateTime> {
    let time = civil(stamp)?;
    Some(Date::new(year, time.month(), time.day()).ok()?.to_datetime(time.time()))
}

fn seconds(time: DateTime) -> i64 {
    time.to_zoned(TimeZone::UTC).map_or(0, |zoned| zoned.timestamp().as_second())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(clock: Clock, time: &str) -> Option<Timestamp> {
        let time: DateTime = time.parse().ok()?;
        Some(Timestamp { clock, seconds: seconds(time) as f64 })
    }

    fn at(time: &str) -> DateTime {
        time.parse().unwrap_or_default()
    }

    #[test]
    fn a_time_of_day_is_of_the_day_on_which_the_file_was_written_or_the_one_before() {
        let own =
            |time: &str| Stamps { own: stamp(Clock::TimeOfDay, &format!("1970-01-01T{time}")), ..Stamps::default() };
        let latest = at("2026-11-20T08:00");
        assert_eq!(by_clock(own("07:59:00"), latest), Some(at("2026-11-20T07:59")));
        assert_eq!(by_clock(own("23:30:00"), latest), Some(at("2026-11-19T23:30")));
        assert_eq!(by_clock(Stamps::default(), latest), None);
        let uptime = Stamps { own: Some(Timestamp { clock: Clock::Uptime, seconds: 12.0 }), ..Stamps::default() };
        assert_eq!(by_clock(uptime, latest), None);
    }

    #[test]
    fn a_day_is_of_the_last_year_that_has_it() {
        let own = |time: &str| Stamps { own: stamp(Clock::Yearless, &format!("1972-{time}")), ..Stamps::default() };
        assert_eq!(by_clock(own("11-20T07:00"), at("2026-11-23T00:00")), Some(at("2026-11-20T07:00")));
        assert_eq!(by_clock(own("12-31T07:00"), at("2026-01-02T00:00")), Some(at("2025-12-31T07:00")));
        assert_eq!(by_clock(own("02-29T07:00"), at("2026-11-23T00:00")), Some(at("2024-02-29T07:00")));
    }

    #[test]
    fn lines_around_say_the_date() {
        let dated = stamp(Clock::Wall, "2026-12-31T23:00");
        let of = |own, before| by_lines(Stamps { own, before, dated });
        assert_eq!(of(stamp(Clock::TimeOfDay, "1970-01-01T23:30"), None), Some(at("2026-12-31T23:30")));
        assert_eq!(of(stamp(Clock::TimeOfDay, "1970-01-01T00:10"), None), Some(at("2027-01-01T00:10")));
        assert_eq!(of(None, stamp(Clock::Yearless, "1972-01-01T00:10")), Some(at("2027-01-01T00:10")));
        assert_eq!(of(None, dated), Some(at("2026-12-31T23:00")));
        assert_eq!(by_lines(Stamps { own: dated, ..Stamps::default() }), None);
    }

    #[test]
    fn people_say_a_day_or_a_moment() {
        let told = |words: &str| words.parse::<StatedTime>().ok();
        assert_eq!(told("2026-11-20T10:00"), Some(StatedTime::Moment(at("2026-11-20T10:00"))));
        assert_eq!(told("2026-11-20 10:00:30"), Some(StatedTime::Moment(at("2026-11-20T10:00:30"))));
        assert_eq!(told("2026-11-20T10:00:00+02:00"), Some(StatedTime::Moment(at("2026-11-20T08:00"))));
        assert_eq!(told("2026-11-20").map(|told| told.with(Stamps::default())), Some(at("2026-11-20T00:00")));
        let stamps = Stamps { own: stamp(Clock::TimeOfDay, "1970-01-01T23:30"), ..Stamps::default() };
        assert_eq!(told("2026-11-20").map(|told| told.with(stamps)), Some(at("2026-11-20T23:30")));
        assert_eq!((told("yesterday"), told("2026-13-01"), told("11-20")), (None, None, None));
    }
}
