//! Which changes fixed what: the reported outcomes of all incidents, grouped by change and cause.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::{HistoryError, Outcome, PeakChange, outcomes};
use crate::model::Kind;
use crate::store::Store;

/// The most incidents, and the most measurements, listed with a change; the newest.
const NAMED: usize = 5;

/// How a change fared against a cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fix {
    /// The kind of the incidents.
    pub kind: Kind,
    /// The cause it was tried against; absent if it is no known remedy.
    pub cause: Option<Arc<str>>,
    /// The changed knob; empty if people did something else.
    pub knob: String,
    /// The change, as people write it.
    pub change: String,
    /// How often the incident did not come back.
    pub worked: u64,
    /// How often it did.
    pub failed: u64,
    /// When an outcome was last reported, as RFC 3339.
    pub last: String,
    /// The incidents after which it was tried, newest first.
    pub incidents: Vec<String>,
    /// The job's peak memory before and after the change, where `oomdoc run` measured both.
    pub peaks: Vec<PeakChange>,
    /// Addresses where more is said.
    pub links: Vec<String>,
}

/// Restricts which outcomes are counted; empty fields do not restrict.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FixFilter {
    /// Only outcomes of incidents of this kind.
    pub kind: Option<Kind>,
    /// Only outcomes against this cause.
    pub cause: Option<String>,
    /// Only outcomes in this group.
    pub group: Option<String>,
}

impl FixFilter {
    fn takes(&self, outcome: &Outcome) -> bool {
        let FixFilter { kind, cause, group } = self;
        kind.is_none_or(|kind| kind == outcome.kind)
            && cause.as_deref().is_none_or(|cause| outcome.cause.as_deref() == Some(cause))
            && group.as_ref().is_none_or(|group| *group == outcome.group)
    }
}

/// The changes that were tried, with how they fared; most often successful first. Reads all outcomes.
pub fn fixes(store: &dyn Store, filter: &FixFilter) -> Result<Vec<Fix>, HistoryError> {
    Ok(fixes_of(outcomes(store, None)?.iter(), filter))
}

pub(super) fn fixes_of<'o>(all: impl Iterator<Item = &'o Outcome>, filter: &FixFilter) -> Vec<Fix> {
    let mut all: Vec<&Outcome> = all.filter(|outcome| filter.takes(outcome)).collect();
    all.sort_by(|a, b| b.time.cmp(&a.time).then_with(|| a.incident.cmp(&b.incident)));
    let mut fixes: BTreeMap<(Kind, Option<&str>, &str), Fix> = BTreeMap::new();
    for outcome in all {
        let key = (outcome.kind, outcome.cause.as_deref(), outcome.change.as_str());
        let fix = fixes.entry(key).or_insert_with(|| Fix::begun(outcome));
        let count = if outcome.worked { &mut fix.worked } else { &mut fix.failed };
        *count += 1;
        few(&mut fix.incidents, Some(outcome.incident.clone()));
        few(&mut fix.peaks, outcome.peak);
        few(&mut fix.links, outcome.link.clone());
    }
    let mut fixes: Vec<Fix> = fixes.into_values().collect();
    let order = |a: &Fix, b: &Fix| b.worked.cmp(&a.worked).then(a.failed.cmp(&b.failed)).then(b.last.cmp(&a.last));
    fixes.sort_by(order);
    fixes
}

impl Fix {
    fn begun(outcome: &Outcome) -> Fix {
        let Outcome { kind, cause, knob, change, time, .. } = outcome.clone();
        let (incidents, peaks, links) = Default::default();
        Fix { kind, cause, knob, change, worked: 0, failed: 0, last: time, incidents, peaks, links }
    }
}

fn few<T: PartialEq>(all: &mut Vec<T>, one: Option<T>) {
    all.extend(one.filter(|one| all.len() < NAMED && !all.contains(one)));
}
