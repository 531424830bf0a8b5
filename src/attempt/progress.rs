//! How far a job got, judging by its progress lines.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read as _};

use crate::knowledge::Progress;

/// Progress is only looked for in this many bytes at the beginning of a line.
const LONGEST: usize = 400;
/// At most this many bytes are read as one line.
const AT_ONCE: u64 = 64 << 10;

/// The largest number of each kind of progress line (`rules/progress.toml`) in `log`.
pub fn reached(mut log: impl BufRead, progress: &Progress) -> io::Result<BTreeMap<String, f64>> {
    let mut reached = BTreeMap::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        if log.by_ref().take(AT_ONCE).read_until(b'\n', &mut line)? == 0 {
            return Ok(reached);
        }
        // A progress bar redraws itself after carriage returns; each of its states counts.
        for part in line.split(|byte| matches!(byte, b'\r' | b'\n')) {
            let part = String::from_utf8_lossy(&part[..part.len().min(LONGEST)]);
            for (name, number) in progress.numbers(&part) {
                let known = reached.entry(name.to_owned()).or_insert(number);
                *known = known.max(number);
            }
        }
    }
}

/// Whether `now` is further than `before`; `None` where they have no kind of progress line in common.
pub(super) fn is_beyond(now: &BTreeMap<String, f64>, before: &BTreeMap<String, f64>) -> Option<bool> {
    if before.is_empty() {
        // The previous attempt died before it printed any progress, so any progress is further.
        return (!now.is_empty()).then_some(true);
    }
    let both = before.iter().filter_map(|(name, before)| Some(now.get(name)? > before));
    both.reduce(|one, other| one || other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_number_of_each_kind_counts() -> io::Result<()> {
        let log = "step 3 loss 1\n 1%|▏ | 5/500 [00:01<02:00]\r 1%|▏ | 6/500 [00:01<02:00]\nstep 4 loss 1\nresume at step 2\n";
        let reached = reached(log.as_bytes(), Progress::shipped())?;
        assert_eq!(reached, BTreeMap::from([("bar".to_owned(), 6.0), ("step".to_owned(), 4.0)]));
        Ok(())
    }

    #[test]
    fn only_alike_numbers_are_compared() {
        let of = |name: &str, number: f64| BTreeMap::from([(name.to_owned(), number)]);
        assert_eq!(is_beyond(&of("step", 5.0), &of("step", 4.0)), Some(true));
        assert_eq!(is_beyond(&of("step", 4.0), &of("step", 4.0)), Some(false));
        assert_eq!(is_beyond(&of("bar", 9.0), &of("step", 4.0)), None);
        assert_eq!(is_beyond(&of("step", 1.0), &BTreeMap::new()), Some(true));
        assert_eq!(is_beyond(&BTreeMap::new(), &BTreeMap::new()), None);
    }
}
