use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use super::add::Occurred;
use super::record::seconds;
use super::{GROUPS, HistoryError, INCIDENTS, OUTCOMES, changes, outcomes};
use crate::model::Group;
use crate::store::{Change, Store};

/// Incidents removed per commit.
const AT_ONCE: usize = 1024;

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
    /// The moment that long ago, in seconds since 1970.
    pub(super) fn ago(self) -> i64 {
        jiff::Timestamp::now().as_second() - self.days * 86_400
    }
}

/// The limits of a history; the oldest incidents are removed first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retention {
    /// No incident is older.
    pub age: Option<Age>,
    /// The most incidents.
    pub incidents: Option<u64>,
    /// The most bytes of all incidents, as an export writes them.
    pub bytes: Option<u64>,
    /// Keeps incidents that a change made go away, whatever the limits; they count towards the limits.
    pub keep_resolved: bool,
}

/// The incidents to remove.
#[derive(Debug, Default)]
pub struct Expired {
    incidents: Vec<ExpiredIncident>,
    /// For each group, when the first incident that stays happened.
    first: BTreeMap<String, String>,
}

/// An incident to remove.
#[derive(Debug)]
struct ExpiredIncident {
    id: String,
    /// The key of its group; none if it is the only one.
    group: Option<String>,
}

/// What decides whether an incident is removed.
struct Candidate {
    seconds: i64,
    id: String,
    group: Option<String>,
    bytes: u64,
}

impl Retention {
    /// The incidents in `store` that exceed the limits. Reads all incidents; `store` may be a
    /// [`View`](crate::store::View) beside the store's owner.
    pub fn expired(&self, store: &dyn Store) -> Result<Expired, HistoryError> {
        if (self.age, self.incidents, self.bytes) == (None, None, None) {
            return Ok(Expired::default());
        }
        let (mut all, mut read) = (Vec::new(), Ok(()));
        store.scan(INCIDENTS, &mut |_, value| match serde_json::from_slice::<Occurred>(value) {
            Ok(one) => all.push(Candidate {
                seconds: seconds(&one.time).unwrap_or(0),
                group: one.incident.group(),
                id: one.incident.id,
                bytes: value.len() as u64,
            }),
            Err(error) => read = Err(error),
        })?;
        read?;
        let told = outcomes(store, None)?;
        let spared = told.iter().filter(|outcome| self.keep_resolved && outcome.worked);
        let spared: BTreeSet<&str> = spared.map(|outcome| outcome.incident.as_str()).collect();
        all.sort_unstable_by(|a, b| b.seconds.cmp(&a.seconds).then_with(|| a.id.cmp(&b.id)));
        let oldest = self.age.map_or(i64::MIN, Age::ago);
        let (mut incidents, mut bytes) = (0, 0);
        let is_spared = |one: &Candidate| spared.contains(one.id.as_str());
        for one in all.iter().filter(|one| is_spared(one)) {
            (incidents, bytes) = (incidents + 1, bytes + one.bytes);
        }
        let mut expired = Expired::default();
        let mut is_full = false;
        for one in all {
            let stays = is_spared(&one) || {
                is_full = is_full
                    || one.seconds < oldest
                    || self.incidents.is_some_and(|most| incidents >= most)
                    || self.bytes.is_some_and(|most| bytes + one.bytes > most);
                !is_full
            };
            if !stays {
                expired.incidents.push(ExpiredIncident { id: one.id, group: one.group });
                continue;
            }
            if !spared.contains(one.id.as_str()) {
                (incidents, bytes) = (incidents + 1, bytes + one.bytes);
            }
            if let Some(group) = one.group {
                // The newest come first, so that the last insertion is the oldest.
                expired.first.insert(group, super::record::moment(one.seconds));
            }
        }
        Ok(expired)
    }
}

/// Removes `expired` incidents with their outcomes and returns how many were removed.
pub fn remove_expired(store: &mut dyn Store, expired: &Expired) -> Result<u64, HistoryError> {
    let mut gone = 0;
    for incidents in expired.incidents.chunks(AT_ONCE) {
        let mut changes = Vec::new();
        let mut groups: BTreeMap<&str, (u64, BTreeSet<&str>)> = BTreeMap::new();
        for ExpiredIncident { id, group } in incidents {
            let key = format!("{INCIDENTS}{id}");
            if store.get(&key)?.is_none() {
                continue;
            }
            changes.push(Change::remove(key));
            store.scan(&format!("{OUTCOMES}{id}/"), &mut |key, _| changes.push(Change::remove(key)))?;
            if let Some(group) = group {
                let (count, ids) = groups.entry(group).or_default();
                *count += 1;
                ids.insert(id);
            }
            gone += 1;
        }
        for (name, (count, ids)) in groups {
            let key = format!("{GROUPS}{name}");
            let Some(bytes) = store.get(&key)? else { continue };
            let mut group: Group = serde_json::from_slice(&bytes)?;
            group.count = group.count.saturating_sub(count);
            group.recent.retain(|occurrence| !ids.contains(occurrence.id.as_str()));
            // Incidents added since then are newer, so that `expired.first` is still right.
            let first = expired.first.get(name).or_else(|| group.recent.last().map(|oldest| &oldest.time));
            group.first = first.cloned().unwrap_or(group.first);
            changes.push(match group.count {
                0 => Change::remove(key),
                _ => Change::put(key, serde_json::to_vec(&group)?),
            });
        }
        if !changes.is_empty() {
            changes::commit(store, changes)?;
        }
    }
    Ok(gone)
}

/// Removes the incidents that exceed `retention`, with their outcomes, and returns how many were removed.
pub fn prune(store: &mut dyn Store, retention: &Retention) -> Result<u64, HistoryError> {
    let expired = retention.expired(store)?;
    remove_expired(store, &expired)
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
