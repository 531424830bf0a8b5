use std::fmt;

use serde::{Deserialize, Serialize};

/// The clock that a time stamp was read from. Stamps of different clocks cannot be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// Date and time. A stamp without a zone is taken as UTC, because only the order within one log matters.
    Wall,
    /// Month, day and time without a year, as syslog writes them.
    Yearless,
    /// Only the time of day.
    TimeOfDay,
    /// Seconds since the kernel started.
    Uptime,
}

/// When a line was written, by the clock of its writer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Timestamp {
    /// The clock.
    pub clock: Clock,
    /// Seconds on that clock: since 1970 for [`Clock::Wall`]; for [`Clock::Yearless`] the year is taken to be [`Clock::YEARLESS`].
    pub seconds: f64,
}

impl Timestamp {
    /// Seconds from `earlier` to `self`; `None` if they come from different clocks.
    pub fn since(&self, earlier: &Timestamp) -> Option<f64> {
        (self.clock == earlier.clock).then_some(self.seconds - earlier.seconds)
    }
}

impl Clock {
    /// The year that is assumed for a stamp without one; it has a 29 February.
    pub const YEARLESS: i16 = 1972;

    /// The clock on which all of `clocks` can be expressed; `None` if there is no such clock, or no clock at all.
    pub fn common_to(mut clocks: impl Iterator<Item = Clock>) -> Option<Clock> {
        let first = clocks.next()?;
        clocks.try_fold(first, Clock::common)
    }

    /// The clock on which both can be expressed; `None` if only one of them counts from the start of a kernel.
    fn common(self, other: Clock) -> Option<Clock> {
        match (self, other) {
            (one, same) if one == same => Some(one),
            (Clock::Uptime, _) | (_, Clock::Uptime) => None,
            (Clock::TimeOfDay, _) | (_, Clock::TimeOfDay) => Some(Clock::TimeOfDay),
            _ => Some(Clock::Yearless),
        }
    }
}

impl Timestamp {
    /// Its seconds on a clock with less information: without the year, or without the day.
    pub fn seconds_on(&self, clock: Clock) -> Option<f64> {
        const DAY: f64 = 86400.0;
        match (self.clock, clock) {
            (own, same) if own == same => Some(self.seconds),
            (Clock::Wall, Clock::Yearless) => {
                let civil = jiff::Timestamp::from_microsecond((self.seconds * 1e6) as i64).ok()?;
                let civil = civil.to_zoned(jiff::tz::TimeZone::UTC).datetime();
                let civil = civil.with().year(Clock::YEARLESS).build().ok()?.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
                Some(civil.timestamp().as_microsecond() as f64 / 1e6)
            }
            (Clock::Wall | Clock::Yearless, Clock::TimeOfDay) => Some(self.seconds.rem_euclid(DAY)),
            _ => None,
        }
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let civil = || jiff::Timestamp::from_microsecond((self.seconds * 1e6) as i64).ok();
        match (self.clock, civil()) {
            (Clock::Wall, Some(time)) => write!(f, "{}", time.strftime("%Y-%m-%dT%H:%M:%S")),
            (Clock::Yearless, Some(time)) => write!(f, "{}", time.strftime("%m-%dT%H:%M:%S")),
            (Clock::TimeOfDay, Some(time)) => write!(f, "{}", time.strftime("T%H:%M:%S")),
            _ => write!(f, "up {:.6} s", self.seconds),
        }
    }
}

/// When an incident happened, as a calendar time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct When {
    /// RFC 3339; a time without a zone is taken as UTC.
    pub time: String,
    /// Where the missing part was taken from; `null` if the failing line states all of it.
    pub derived: Option<TimeSource>,
}

/// What determines the time of an incident if the failing line states only a part of it, or nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TimeSource {
    /// Other lines: the last one before it that has a time or a date.
    Lines,
    /// The time at which the file was last written.
    File,
    /// The current time, because the input is a stream.
    Now,
    /// The user.
    User,
}

/// What the lines of an incident say about its time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Stamps {
    /// The time of the failing line itself.
    pub own: Option<Timestamp>,
    /// The time of the last line before it in its input that has one.
    pub before: Option<Timestamp>,
    /// The last time before it in its input that includes a whole date, or the first such time of the job.
    pub dated: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_with_and_without_a_year_are_read_on_one_clock() {
        // 2026-11-20T19:30:04Z and 1972-11-20T19:30:16Z.
        let (wall, yearless) = (Timestamp { clock: Clock::Wall, seconds: 1_795_203_004.0 }, 91_135_816.0);
        assert_eq!(wall.to_string(), "2026-11-20T19:30:04");
        let wall_too = wall.seconds_on(Clock::Yearless);
        assert_eq!(wall_too.map(|seconds| yearless - seconds), Some(12.0));
        assert_eq!(wall.seconds_on(Clock::TimeOfDay), Some(70204.0));
        assert_eq!(wall.seconds_on(Clock::Uptime), None);
        assert_eq!(Clock::Wall.common(Clock::Yearless), Some(Clock::Yearless));
        assert_eq!(Clock::Uptime.common(Clock::Wall), None);
    }
}
