use std::fmt;

use schemars::JsonSchema;
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
    /// Seconds on that clock; since 1970 for [`Clock::Wall`], since 1 January 1972 for [`Clock::Yearless`].
    pub seconds: f64,
}

impl Timestamp {
    /// Seconds from `earlier` to `self`; `None` when they come from different clocks.
    pub fn since(&self, earlier: &Timestamp) -> Option<f64> {
        (self.clock == earlier.clock).then_some(self.seconds - earlier.seconds)
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct When {
    /// RFC 3339; what a log says without a zone is taken as UTC.
    pub time: String,
    /// Where what the failing line leaves open was taken from; `null` where it says all.
    pub derived: Option<TimeSource>,
}

/// What says when an incident happened, where the failing line does not, or not all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
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
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Stamps {
    /// Of the failing line itself.
    pub own: Option<Timestamp>,
    /// Of the last line before it in its input that has one.
    pub before: Option<Timestamp>,
    /// The last one before it in its input that names a whole date, else the first of the job.
    pub dated: Option<Timestamp>,
}
