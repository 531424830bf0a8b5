use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Fingerprint, Kind, Phase, Seen};

/// How often something was tried here, and how it went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Outcomes {
    /// The trouble went away.
    pub worked: u64,
    /// It did not.
    pub failed: u64,
}

impl Outcomes {
    /// Outcomes make nothing more than so much likelier or less likely, as a factor of its odds.
    pub const MOST: f64 = 3.0;

    /// How often it was tried.
    pub fn tried(self) -> u64 {
        self.worked + self.failed
    }

    /// What they add to the log-odds: those of the mean of a Beta(1 + worked, 1 + failed), within ± ln [`Outcomes::MOST`].
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

/// What an analysis is told of the history.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Experience {
    /// The occurrences of each trouble, by [`Fingerprint::group`].
    pub groups: BTreeMap<String, Group>,
    /// What was tried, and how it went.
    pub tallies: Vec<Tally>,
}

/// The occurrences of one trouble.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// How many.
    pub count: u64,
    /// The time of the first, RFC 3339.
    pub first: String,
    /// The time of the last.
    pub last: String,
    /// The last ones, newest first, at most [`Group::RECENT`].
    pub recent: Vec<Occurrence>,
    /// What made it go away, the newest first.
    #[serde(default)]
    pub worked: Vec<String>,
}

/// One time that a trouble came up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Occurrence {
    /// The incident.
    pub id: String,
    /// When, RFC 3339.
    pub time: String,
}

/// How one change went with one cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// What ran out.
    pub kind: Kind,
    /// In which phase.
    pub phase: Phase,
    /// For what cause it was made.
    pub cause: Arc<str>,
    /// What was changed.
    pub knob: String,
    /// How it went.
    pub outcomes: Outcomes,
}

impl Group {
    /// So many occurrences are known one by one.
    pub const RECENT: usize = 32;

    /// Counts one more.
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

    /// What is known beside the occurrence `id`.
    fn beside(&self, id: &str) -> Seen {
        let others: Vec<&Occurrence> = self.recent.iter().filter(|known| known.id != id).collect();
        let is_known = others.len() < self.recent.len();
        let count = self.count - u64::from(is_known);
        if count == 0 {
            return Seen::default();
        }
        // Where all are known one by one, the oldest other one is the first.
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
    /// The other times that an incident's trouble came up.
    pub fn seen(&self, fingerprint: &Fingerprint, id: &str) -> Seen {
        let group = self.groups.get(&fingerprint.group()).filter(|_| fingerprint.is_telling());
        group.map(|group| group.beside(id)).unwrap_or_default()
    }

    /// How the remedies for `cause` went, in incidents of a kind and phase; of one knob where it is named.
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
