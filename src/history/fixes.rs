//! What fixed what: how changes went, of all that was told of any incident.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::{HistoryError, Outcome, PeakChange, outcomes};
use crate::model::Kind;
use crate::store::Store;

/// As many incidents, and as many measurements, are named with a change; the newest.
const NAMED: usize = 5;

/// How a change went against a cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fix {
    /// What had run out.
    pub kind: Kind,
    /// The cause that it was for; absent where it is no known remedy.
    pub cause: Option<Arc<str>>,
    /// What was changed; empty where people did something else.
    pub knob: String,
    /// The change, as people write it.
    pub change: String,
    /// How often the trouble went away.
    pub worked: u64,
    /// How often it did not.
    pub failed: u64,
    /// When it was told last, RFC 3339.
    pub last: String,
    /// After which incidents, the newest first.
    pub incidents: Vec<String>,
    /// How much memory the job took before and after, where `oomdoc run` saw both.
    pub peaks: Vec<PeakChange>,
    /// Where more is said.
    pub links: Vec<String>,
}

/// Of what to tell; of everything where nothing is named.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FixFilter {
    /// Against this kind.
    pub kind: Option<Kind>,
    /// Against this cause.
    pub cause: Option<String>,
    /// Within this group.
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

/// What was tried against what, and how that went; what worked most often first. Reads all outcomes.
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
