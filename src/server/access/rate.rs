use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// More keys are not remembered: those that were quiet longest are forgotten.
const KEYS: usize = 10_000;
/// As many seconds' worth may come at once.
const BURST: f64 = 4.0;

/// How often each key may do something: a bucket that fills steadily.
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
    /// So many in a second, on average.
    pub fn per_second(number: u32) -> Rates {
        let per_second = f64::from(number.max(1));
        Rates { per_second, most: per_second * BURST, buckets: Mutex::default() }
    }

    /// So many in a minute, all at once if need be.
    pub fn per_minute(number: u32) -> Rates {
        let number = f64::from(number.max(1));
        Rates { per_second: number / 60.0, most: number, buckets: Mutex::default() }
    }

    /// Takes one of what `key` has left; whether there was one.
    pub fn take(&self, key: &str) -> bool {
        self.with(key, |bucket| {
            let is_there = bucket.left >= 1.0;
            bucket.left -= f64::from(is_there);
            is_there
        })
    }

    /// Whether `key` has none left.
    pub fn is_spent(&self, key: &str) -> bool {
        self.with(key, |bucket| bucket.left < 1.0)
    }

    fn with<T>(&self, key: &str, of: impl FnOnce(&mut Bucket) -> T) -> T {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if buckets.len() >= KEYS && !buckets.contains_key(key) {
            // Whoever was quiet for so long has a full bucket anyway.
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
