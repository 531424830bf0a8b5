//! How often to look: as the user says, oftener while memory rises towards an end, and never for more than a small share of a core.

use std::time::{Duration, Instant};

/// Where memory would be full within so many seconds, it is looked at ten times as often.
const SOON: f64 = 30.0;
/// Never oftener than this.
const SHORTEST: Duration = Duration::from_millis(100);
/// A look may cost one part in so many of a core.
const SHARE: u32 = 50;
/// While memory rises it may cost as much as this.
const SHARE_RISING: u32 = 20;

/// See the module.
pub(super) struct Pace {
    usual: Duration,
    /// When it was last looked, and how much room there was, by what holds it.
    before: Vec<Room>,
    at: Instant,
}

/// What is left of a limit.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Room {
    /// The machine, or the path of a cgroup.
    pub of: String,
    pub bytes: u64,
}

impl Pace {
    /// One look in `usual`.
    pub fn new(usual: Duration) -> Pace {
        Pace { usual: usual.max(SHORTEST), before: Vec::new(), at: Instant::now() }
    }

    /// How long to wait for the next look after one that took `cost` and found so much room.
    pub fn next(&mut self, rooms: Vec<Room>, cost: Duration) -> Duration {
        let passed = self.at.elapsed().as_secs_f64().max(1e-3);
        self.at = Instant::now();
        let is_soon = rooms.iter().any(|now| {
            let before = self.before.iter().find(|before| before.of == now.of);
            before.is_some_and(|before| fills_soon(before.bytes, now.bytes, passed))
        });
        self.before = rooms;
        match is_soon {
            true => SHORTEST.max(cost * SHARE_RISING).min(self.usual),
            false => self.usual.max(cost * SHARE),
        }
    }
}

/// The processor time that this thread has used; nothing where the kernel does not count it.
pub(super) fn used() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split(' ').next().and_then(|number| number.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or_default())
}

/// Whether room that went from `before` to `now` in `passed` seconds is gone soon.
fn fills_soon(before: u64, now: u64, passed: f64) -> bool {
    let rate = before.saturating_sub(now) as f64 / passed;
    rate > 0.0 && (now as f64) / rate < SOON
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_oftener_while_memory_rises_towards_a_limit() {
        let room = |bytes| vec![Room { of: "/a".to_owned(), bytes }];
        let mut pace = Pace::new(Duration::from_secs(1));
        assert_eq!(pace.next(room(1 << 30), Duration::ZERO), Duration::from_secs(1));
        assert_eq!(pace.next(room(1 << 29), Duration::ZERO), SHORTEST);
        assert_eq!(pace.next(room(1 << 29), Duration::ZERO), Duration::from_secs(1));
        assert_eq!(pace.next(room(1 << 29), Duration::from_millis(10)), Duration::from_secs(1));
        assert_eq!(pace.next(room(1 << 29), Duration::from_millis(40)), Duration::from_secs(2));
        assert!(!fills_soon(100 << 30, 99 << 30, 1.0) && fills_soon(20 << 30, 19 << 30, 1.0));
    }
}
