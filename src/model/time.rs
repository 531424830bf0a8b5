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
