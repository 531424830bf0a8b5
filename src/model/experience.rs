use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Fingerprint, Kind, Phase, Seen};

/// How often a change was tried, and with what result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Outcomes {
    /// How often the problem went away.
    pub worked: u64,
    /// How often it did not.
    pub failed: u64,
}

impl Outcomes {
    /// Outcomes change the odds of a cause by at most this factor.
    pub const MOST: f64 = 3.0;

    /// Number of times it was tried.
    pub fn tried(self) -> u64 {
        self.worked + self.failed
    }

    /// What the outcomes add to the log-odds of a cause: the log-odds of the mean of Beta(1 + worked, 1 + failed), within ± ln
    /// [`Outcomes::MOST`].
    pub fn log_odds(self) -> f64 {
        let limit = Outcomes::MOST.ln();
        ((self.worked as f64 + 1.0) / (self.failed as f64 + 1.0)).ln().clamp(-limit, limit)
    }
}

impl std::iter::Sum for Outcomes {
    fn sum<I: Iterator<Item = Outcomes>>(all: I) -> Outcomes {
        all.fold(Outcomes::default(), |sum, each| Outcomes {
            worked: sum.worked + each.worked,
            failed: sum.failed + each.failed,
        })
    }
}

/// The part of the history that an analysis uses.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Experience {
    /// The occurrences of each problem, by [`Fingerprint::group`].
    pub groups: BTreeMap<String, Group>,
    /// Which changes were tried, and with what result.
    pub tallies: Vec<Tally>,
}

/// The occurrences of one problem.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// Number of occurrences.
    pub count: u64,
    /// Time of the first, RFC 3339.
    pub first: String,
    /// Time of the last, RFC 3339.
    pub last: String,
    /// The last occurrences, newest first, at most [`Group::RECENT`].
    pub recent: Vec<Occurrence>,
    /// The changes that solved the problem, newest first.
    #[serde(default)]
    pub worked: Vec<String>,
}

/// One occurrence of a problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Occurrence {
    /// Id of the incident.
    pub id: String,
    /// Its time, RFC 3339.
    pub time: String,
}

/// The outcomes of one change against one cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// What ran out.
    pub kind: Kind,
    /// The phase in which it ran out.
    pub phase: Phase,
    /// The cause for which the change was made.
    pub cause: Arc<str>,
    /// The setting that was changed.
    pub knob: String,
    /// How often it worked and how often it did not.
    pub outcomes: Outcomes,
}

impl Group {
    /// At most this many occurrences are kept individually.
    pub const RECENT: usize = 32;

    /// Adds an occurrence.
    pub fn add(&mut self, occurrence: Occurrence) {
        if self.count == 0 || occurrence.time < self.first {
            self.first.clone_from(&occurrence.time);
        }
        if occurrence.time > self.last {
            self.last.clone_from(&occurrence.time);
        }
        self.count += 1;
        self.recent.push(occurrence);
        self.recent.sort_by(|a, b| b.time.cmp(&a.time).then_with(|| a.id.cmp(&b.id)));
        self.recent.truncate(Group::RECENT);
    }

    /// What is known apart from the occurrence `id`.
    fn beside(&self, id: &str) -> Seen {
        let others: Vec<&Occurrence> = self.recent.iter().filter(|known| known.id != id).collect();
        let is_known = others.len() < self.recent.len();
        let count = self.count - u64::from(is_known);
        if count == 0 {
            return Seen::default();
        }
        // If all are kept individually, the oldest of the others is the first.
        let oldest = others.last().filter(|_| others.len() as u64 == count).map(|oldest| &oldest.time);
        Seen {
            count,
            first: Some(oldest.unwrap_or(&self.first).clone()),
            last: Some(others.first().map_or(&self.last, |newest| &newest.time).clone()),
            worked: self.worked.clone(),
            earlier: Vec::new(),
        }
    }
}

impl Experience {
    /// The other occurrences of an incident's problem.
    pub fn seen(&self, fingerprint: &Fingerprint, id: &str) -> Seen {
        let group = self.groups.get(&fingerprint.group()).filter(|_| fingerprint.is_telling());
        group.map(|group| group.beside(id)).unwrap_or_default()
    }

    /// The outcomes of the changes made for `cause` in incidents of this kind and phase; only of `knob`, if it is given.
    pub fn outcomes(&self, kind: Kind, phase: Phase, cause: &str, knob: Option<&str>) -> Outcomes {
        let is_it = |tally: &&Tally| {
            tally.kind == kind
                && tally.phase == phase
                && &*tally.cause == cause
                && knob.is_none_or(|knob| tally.knob == knob)
        };
        self.tallies.iter().filter(is_it).map(|tally| tally.outcomes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn occurrence(id: &str, day: u32) -> Occurrence {
        Occurrence { id: id.to_owned(), time: format!("2026-10-{day:02}T00:00:00Z") }
    }

    #[test]
    fn an_occurrence_does_not_count_itself() {
        let mut group = Group::default();
        for (id, day) in [("b", 2), ("a", 1), ("c", 3)] {
            group.add(occurrence(id, day));
        }
        let days = |id: &str| {
            let Seen { count, first, last, .. } = group.beside(id);
            (count, first.unwrap_or_default()[8..10].to_owned(), last.unwrap_or_default()[8..10].to_owned())
        };
        assert_eq!(days("new"), (3, "01".to_owned(), "03".to_owned()));
        assert_eq!(days("a"), (2, "02".to_owned(), "03".to_owned()));
        assert_eq!(days("c"), (2, "01".to_owned(), "02".to_owned()));
        let mut alone = Group::default();
        alone.add(occurrence("a", 1));
        assert_eq!(alone.beside("a"), Seen::default());
    }

    #[test]
    fn outcomes_move_the_odds_within_bounds() {
        let log_odds = |worked, failed| Outcomes { worked, failed }.log_odds();
        assert_eq!(log_odds(0, 0), 0.0);
        assert!((log_odds(1, 0) - 2f64.ln()).abs() < 1e-12);
        assert!(log_odds(5, 1) > 0.0 && log_odds(1, 5) < 0.0);
        assert_eq!(log_odds(1_000_000, 0), Outcomes::MOST.ln());
        assert_eq!(log_odds(0, 1_000_000), -Outcomes::MOST.ln());
    }
}
