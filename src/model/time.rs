use std::fmt;

use serde::{Deserialize, Serialize};

/// Which clock a time stamp was read from. Stamps of different clocks cannot be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// Date and time. Without a zone it is taken as UTC: order within one log is what it is used for.
    Wall,
    /// Month, day and time, as syslog writes them: no year.
    Yearless,
    /// Time of day only.
    TimeOfDay,
    /// Seconds since the kernel started.
    Uptime,
}

/// When a line was written, by the clock of whoever wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Timestamp {
    /// The clock.
    pub clock: Clock,
    /// Seconds on that clock; since 1970 for [`Clock::Wall`], and for [`Clock::Yearless`] as if it were [`Clock::YEARLESS`].
    pub seconds: f64,
}

impl Timestamp {
    /// Seconds from `earlier` to `self`; `None` when they come from different clocks.
    pub fn since(&self, earlier: &Timestamp) -> Option<f64> {
        (self.clock == earlier.clock).then_some(self.seconds - earlier.seconds)
    }
}

impl Clock {
    /// The year that a stamp without one is taken to be of: it has a 29 February.
    pub const YEARLESS: i16 = 1972;

    /// The clock that both can be read on; `None` where one counts from the start of a kernel and the other does not.
    pub fn common(self, other: Clock) -> Option<Clock> {
        match (self, other) {
            (one, same) if one == same => Some(one),
            (Clock::Uptime, _) | (_, Clock::Uptime) => None,
            (Clock::TimeOfDay, _) | (_, Clock::TimeOfDay) => Some(Clock::TimeOfDay),
            _ => Some(Clock::Yearless),
        }
    }
}

impl Timestamp {
    /// Its seconds on a clock that says less: without the year, or the day.
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

/// When an incident happened, as a calendar has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct When {
    /// RFC 3339; what a log says without a zone is taken as UTC.
    pub time: String,
    /// Where what the failing line leaves open was taken from; `null` where it says all.
    pub derived: Option<TimeSource>,
}

/// What says when an incident happened, where the failing line does not, or not all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TimeSource {
    /// Other lines: the last one before it that says when it was written, or a date.
    Lines,
    /// When the file was last written.
    File,
    /// This moment: a stream has no other.
    Now,
    /// The user.
    User,
}

/// What the lines of an incident say of its time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Stamps {
    /// Of the failing line itself.
    pub own: Option<Timestamp>,
    /// Of the last line before it in its input that has one.
    pub before: Option<Timestamp>,
    /// The last one before it in its input that names a whole date, else the first of the job.
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
