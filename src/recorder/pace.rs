//! How often to sample: at the user's interval, more often while memory is about to run out, and never at more than a
//! small fraction of a core.

use std::time::{Duration, Instant};

/// If memory would run out within this many seconds, samples are taken ten times as often.
const SOON: f64 = 30.0;
/// The shortest interval.
const SHORTEST: Duration = Duration::from_millis(100);
/// Sampling may use one part in this many of a core.
const SHARE: u32 = 50;
/// While memory is about to run out it may use one part in this many.
const SHARE_RISING: u32 = 20;

/// Decides when to take the next sample.
pub(super) struct Pace {
    usual: Duration,
    /// The headroom at the last sample, and its time.
    before: Vec<Headroom>,
    at: Instant,
}

/// What is left of a limit.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Headroom {
    /// `machine`, or the path of a cgroup.
    pub of: String,
    pub bytes: u64,
}

impl Pace {
    /// Samples every `usual` as a rule.
    pub fn new(usual: Duration) -> Pace {
        Pace { usual: usual.max(SHORTEST), before: Vec::new(), at: Instant::now() }
    }

    /// How long to wait after a sample that took `cost` of processor time and found the headrooms `rooms`.
    pub fn next(&mut self, rooms: Vec<Headroom>, cost: Duration) -> Duration {
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

/// The processor time that this thread has used; zero where the kernel does not count it.
pub(super) fn used() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split(' ').next().and_then(|number| number.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or_default())
}

/// Whether headroom that went from `before` to `now` in `passed` seconds will be gone soon.
fn fills_soon(before: u64, now: u64, passed: f64) -> bool {
    let rate = before.saturating_sub(now) as f64 / passed;
    rate > 0.0 && (now as f64) / rate < SOON
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_oftener_while_memory_rises_towards_a_limit() {
        let room = |bytes| vec![Headroom { of: "/a".to_owned(), bytes }];
        let mut pace = Pace::new(Duration::from_secs(1));
        assert_eq!(pace.next(room(1 << 30), Duration::ZERO), Duration::from_secs(1));
        assert_eq!(pace.next(room(1 << 29), Duration::ZERO), SHORTEST);
        assert_eq!(pace.next(room(1 << 29), Duration::ZERO), Duration::from_secs(1));
        assert_eq!(pace.next(room(1 << 29), Duration::from_millis(10)), Duration::from_secs(1));
        assert_eq!(pace.next(room(1 << 29), Duration::from_millis(40)), Duration::from_secs(2));
        assert!(!fills_soon(100 << 30, 99 << 30, 1.0) && fills_soon(20 << 30, 19 << 30, 1.0));
    }
}
