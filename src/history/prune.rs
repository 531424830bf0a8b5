use std::collections::BTreeSet;
use std::str::FromStr;

use super::{HistoryError, outcomes, regroup};
use crate::store::Store;

/// A number of days: `90d`, `12w`, `6m`, `1y` (a month has 30 days, a year 365).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Age {
    days: i64,
}

impl FromStr for Age {
    type Err = String;

    fn from_str(words: &str) -> Result<Age, String> {
        let wrong = || format!("`{words}` is no age; write 90d, 12w, 6m or 1y");
        let unit = words.chars().next_back().ok_or_else(wrong)?;
        let number: i64 = words.trim_end_matches(unit).parse().map_err(|_| wrong())?;
        let days = match unit {
            'd' => 1,
            'w' => 7,
            'm' => 30,
            'y' => 365,
            _ => return Err(wrong()),
        };
        let days = number.checked_mul(days).filter(|days| (0..=36_500).contains(days)).ok_or_else(wrong)?;
        Ok(Age { days })
    }
}

impl Age {
    /// The moment so long ago, in seconds since 1970.
    pub(super) fn ago(self) -> i64 {
        jiff::Timestamp::now().as_second() - self.days * 86_400
    }
}

/// Removes the incidents that are older than `age`, with what was told of them; `keep_resolved` spares those that a change
/// made go away. How many went.
pub fn prune(store: &mut dyn Store, age: Age, keep_resolved: bool) -> Result<u64, HistoryError> {
    let oldest = jiff::Timestamp::from_second(age.ago()).unwrap_or(jiff::Timestamp::MIN);
    let oldest = oldest.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let told = outcomes(store, None)?;
    let resolved: BTreeSet<&str> =
        told.iter().filter(|outcome| outcome.worked).map(|outcome| outcome.incident.as_str()).collect();
    regroup(store, |record| record.time >= oldest || keep_resolved && resolved.contains(record.incident.id.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_units() {
        let days = |words: &str| words.parse::<Age>().map(|age| age.days).ok();
        assert_eq!((days("90d"), days("2w"), days("1y")), (Some(90), Some(14), Some(365)));
        assert_eq!((days(""), days("y"), days("5"), days("-1d"), days("99999y"), days("3 岁")), Default::default());
    }
}
