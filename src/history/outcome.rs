use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{GROUPS, HistoryError, OUTCOMES, Record, changes, now};
use crate::model::{Experience, Group, Kind, Outcomes, Phase, Tally, Text, Texts};
use crate::report;
use crate::store::{Change, Store, StoreError};

/// As many changes that worked are told with a trouble.
const TOLD: usize = 3;

/// What somebody tried after an incident, and how it went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// The incident.
    pub incident: String,
    /// Its group.
    pub group: String,
    /// What had run out.
    pub kind: Kind,
    /// In which phase.
    pub phase: Phase,
    /// The cause that the change was for: the likeliest one of which it is a remedy; absent where it is none's.
    pub cause: Option<Arc<str>>,
    /// What was changed.
    pub knob: String,
    /// The change, as people write it.
    pub change: String,
    /// Whether the trouble went away.
    pub worked: bool,
    /// When it was told, RFC 3339.
    pub time: String,
}

impl Outcome {
    /// What is told of patch `number` of an incident, as [`report::numbered`] counts.
    pub fn of_patch(record: &Record, number: usize, worked: bool) -> Result<Outcome, HistoryError> {
        let patches = report::numbered(&record.incident);
        match number.checked_sub(1).and_then(|place| patches.get(place)) {
            Some(patch) => {
                Ok(Outcome { change: report::change(patch), ..Outcome::of_knob(record, &patch.knob, worked) })
            }
            None => {
                let id = record.incident.id.clone();
                Err(HistoryError::NoSuchPatch { id, number, known: patches.len() })
            }
        }
    }

    /// What is told of a change of `knob`, which need not be one that the report advised.
    pub fn of_knob(record: &Record, knob: &str, worked: bool) -> Outcome {
        let incident = &record.incident;
        let name = knob.split_once('=').map_or(knob, |(name, _)| name).trim();
        let cures = |patches: &[crate::model::Patch]| patches.iter().any(|patch| patch.knob == name);
        let cause = incident.diagnoses.iter().find(|diagnosis| cures(&diagnosis.patches));
        Outcome {
            incident: incident.id.clone(),
            group: incident.fingerprint.group(),
            kind: incident.kind,
            phase: incident.phase.name,
            cause: cause.map(|diagnosis| diagnosis.cause.clone()),
            knob: name.to_owned(),
            change: knob.to_owned(),
            worked,
            time: now(),
        }
    }

    /// One change of one incident went one way: what is told later stands in place of what was told before.
    pub(super) fn key(&self) -> String {
        let digest = Sha256::digest(&self.knob);
        let digest: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        format!("{OUTCOMES}{}/{digest}", self.incident)
    }
}

impl Texts for Outcome {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let Outcome { incident: _, group: _, kind: _, phase: _, cause: _, knob: _, change, worked: _, time: _ } = self;
        change.texts(see);
    }
}

/// Keeps what was told.
pub fn resolve(store: &mut dyn Store, outcome: &Outcome) -> Result<(), HistoryError> {
    changes::commit(store, vec![Change::put(outcome.key(), serde_json::to_vec(outcome)?)])?;
    Ok(())
}

/// What was told of `incident`, of all where none is named; the newest first.
pub fn outcomes(store: &dyn Store, incident: Option<&str>) -> Result<Vec<Outcome>, HistoryError> {
    let prefix = incident.map_or(OUTCOMES.to_owned(), |id| format!("{OUTCOMES}{id}/"));
    let mut found: Vec<Result<Outcome, serde_json::Error>> = Vec::new();
    store.scan(&prefix, &mut |_, value| found.push(serde_json::from_slice(value)))?;
    let mut found = found.into_iter().collect::<Result<Vec<Outcome>, _>>()?;
    found.sort_by(|a, b| b.time.cmp(&a.time));
    Ok(found)
}

/// Forgets what was told of `incident`, of all where none is named; how much that was.
pub fn forget(store: &mut dyn Store, incident: Option<&str>) -> Result<usize, HistoryError> {
    let gone = outcomes(store, incident)?;
    let changes: Vec<Change> = gone.iter().map(|outcome| Change::remove(outcome.key())).collect();
    if !changes.is_empty() {
        changes::commit(store, changes)?;
    }
    Ok(gone.len())
}

/// Whether a change made each incident go away, of those of which anything was told.
pub(super) fn told(store: &dyn Store) -> Result<BTreeMap<String, bool>, HistoryError> {
    let mut told: BTreeMap<String, bool> = BTreeMap::new();
    for outcome in outcomes(store, None)? {
        *told.entry(outcome.incident).or_default() |= outcome.worked;
    }
    Ok(told)
}

/// The same of one incident.
pub(super) fn told_of(store: &dyn Store, incident: &str) -> Result<Option<bool>, HistoryError> {
    let told = outcomes(store, Some(incident))?;
    Ok((!told.is_empty()).then(|| told.iter().any(|outcome| outcome.worked)))
}

/// What analyses are told: how often each trouble came up, and how remedies went.
pub fn experience(store: &dyn Store) -> Result<Experience, HistoryError> {
    let mut experience = Experience::default();
    let mut read: Result<(), StoreError> = Ok(());
    let mut damaged = None;
    read = read.and(store.scan(GROUPS, &mut |key, value| match serde_json::from_slice(value) {
        Ok(group) => drop(experience.groups.insert(key.trim_start_matches(GROUPS).to_owned(), group)),
        Err(error) => damaged = Some(error),
    }));
    read?;
    if let Some(error) = damaged {
        return Err(error.into());
    }
    let mut tallies: BTreeMap<(Kind, Phase, Arc<str>, String), Outcomes> = BTreeMap::new();
    for Outcome { group, kind, phase, cause, knob, change, worked, .. } in outcomes(store, None)? {
        let told = |group: &&mut Group| worked && group.worked.len() < TOLD && !group.worked.contains(&change);
        if let Some(group) = experience.groups.get_mut(&group).filter(told) {
            group.worked.push(change);
        }
        if let Some(cause) = cause {
            let outcomes = tallies.entry((kind, phase, cause, knob)).or_default();
            let count = if worked { &mut outcomes.worked } else { &mut outcomes.failed };
            *count += 1;
        }
    }
    let tally = |((kind, phase, cause, knob), outcomes)| Tally { kind, phase, cause, knob, outcomes };
    experience.tallies = tallies.into_iter().map(tally).collect();
    Ok(experience)
}
