use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// At most this many keys are remembered. Beyond it those with a full bucket are forgotten, and all of them if that
/// frees none.
const KEYS: usize = 10_000;
/// A bucket holds this many seconds' worth of requests.
const BURST: f64 = 4.0;

/// A rate limit per key: token buckets that refill steadily.
pub struct Rates {
    per_second: f64,
    most: f64,
    buckets: Mutex<HashMap<String, Bucket>>,
}

struct Bucket {
    left: f64,
    at: Instant,
}

impl Rates {
    /// `number` per second on average, and short bursts.
    pub fn per_second(number: u32) -> Rates {
        let per_second = f64::from(number.max(1));
        Rates { per_second, most: per_second * BURST, buckets: Mutex::default() }
    }

    /// `number` per minute, which may all come at once.
    pub fn per_minute(number: u32) -> Rates {
        let number = f64::from(number.max(1));
        Rates { per_second: number / 60.0, most: number, buckets: Mutex::default() }
    }

    /// Takes one from the bucket of `key`; false if it is empty.
    pub fn take(&self, key: &str) -> bool {
        self.with(key, |bucket| {
            let is_there = bucket.left >= 1.0;
            bucket.left -= f64::from(is_there);
            is_there
        })
    }

    /// Whether the bucket of `key` is empty.
    pub fn is_spent(&self, key: &str) -> bool {
        self.with(key, |bucket| bucket.left < 1.0)
    }

    fn with<T>(&self, key: &str, of: impl FnOnce(&mut Bucket) -> T) -> T {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if buckets.len() >= KEYS && !buckets.contains_key(key) {
            // A key that was idle this long has a full bucket anyway.
            let full = Duration::from_secs_f64(self.most / self.per_second);
            buckets.retain(|_, bucket| now.duration_since(bucket.at) < full);
            if buckets.len() >= KEYS {
                buckets.clear();
            }
        }
        let bucket = buckets.entry(key.to_owned()).or_insert(Bucket { left: self.most, at: now });
        let more = now.duration_since(bucket.at).as_secs_f64() * self.per_second;
        bucket.left = (bucket.left + more).min(self.most);
        bucket.at = now;
        of(bucket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_runs_dry_for_its_key_alone() {
        let rates = Rates::per_minute(3);
        let taken = (0..10).filter(|_| rates.take("a")).count();
        assert_eq!((taken, rates.is_spent("a"), rates.is_spent("b"), rates.take("b")), (3, true, false, true));
    }

    #[test]
    fn keys_without_end_take_no_memory_without_end() {
        let rates = Rates::per_second(5);
        (0..3 * KEYS).for_each(|number| assert!(rates.take(&number.to_string())));
        assert!(rates.buckets.lock().unwrap_or_else(PoisonError::into_inner).len() <= KEYS);
    }
}
