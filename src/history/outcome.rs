use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{GROUPS, HistoryError, OUTCOMES, Record, changes, now};
use crate::hexadecimal::hexadecimal;
use crate::model::{Bytes, Experience, Group, Kind, Outcomes, Phase, Tally, Text, Texts};
use crate::report;
use crate::store::{Change, Store, StoreError};

/// The most successful changes that are listed with a group.
const TOLD: usize = 3;

/// What somebody tried after an incident, and how it went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// The incident's id.
    pub incident: String,
    /// Its group.
    pub group: String,
    /// The incident's kind.
    pub kind: Kind,
    /// The incident's phase.
    pub phase: Phase,
    /// The cause that the change is a remedy for; if there are several, the likeliest. Absent if it is a remedy for
    /// none.
    pub cause: Option<Arc<str>>,
    /// The changed knob; empty if people did something else.
    pub knob: String,
    /// The change, as people write it.
    pub change: String,
    /// Whether the incident did not come back.
    pub worked: bool,
    /// When it was reported, as RFC 3339.
    pub time: String,
    /// A comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// An address where more is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// The job's peak memory before and after the change, if `oomdoc run` measured both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak: Option<PeakChange>,
}

/// A job's peak memory, as `oomdoc run` measured it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peak {
    /// On the GPU with the highest use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu: Option<Bytes>,
    /// On the host, of all its processes together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Bytes>,
}

/// A job's peak memory before and after a change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeakChange {
    /// In the run that ran out of memory.
    pub before: Peak,
    /// In the later run.
    pub after: Peak,
}

impl PeakChange {
    /// `GPU peak 78.2 → 61.0 GiB`, for each memory that was measured both times.
    pub fn descriptions(&self) -> impl Iterator<Item = String> {
        let (before, after) = (self.before, self.after);
        let pairs = [("GPU", before.gpu, after.gpu), ("host", before.host, after.host)];
        pairs.into_iter().filter_map(|(of, before, after)| Some(format!("{of} peak {} → {}", before?, after?)))
    }
}

/// The outcomes of an incident in short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutcomeSummary {
    /// Whether a change made it go away.
    pub worked: bool,
    /// That change; if none did, the last one that was tried.
    pub change: String,
    /// When it was reported, as RFC 3339.
    pub time: String,
}

impl Outcome {
    /// The outcome of applying patch `number` of an incident, numbered as in [`report::numbered`].
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

    /// The outcome of changing `knob`, which need not be one that the report advised.
    pub fn of_knob(record: &Record, knob: &str, worked: bool) -> Outcome {
        let incident = &record.incident;
        let name = knob.split_once('=').map_or(knob, |(name, _)| name).trim();
        let cures = |patches: &[crate::model::Patch]| patches.iter().any(|patch| patch.knob == name);
        let cause = incident.diagnoses.iter().find(|diagnosis| cures(&diagnosis.patches));
        Outcome {
            incident: incident.id.clone(),
            group: record.group(),
            kind: incident.kind,
            phase: incident.phase.name,
            cause: cause.map(|diagnosis| diagnosis.cause.clone()),
            knob: name.to_owned(),
            change: knob.to_owned(),
            worked,
            time: now(),
            note: None,
            link: None,
            peak: None,
        }
    }

    /// The outcome of anything else that people did, in their own words.
    pub fn of_words(record: &Record, words: &str, worked: bool) -> Outcome {
        let change = words.to_owned();
        Outcome { knob: String::new(), cause: None, change, ..Outcome::of_knob(record, "", worked) }
    }

    /// The change, followed by the link.
    fn change_and_link(&self) -> String {
        let Outcome { change, link, .. } = self;
        link.as_ref().map_or_else(|| change.clone(), |link| format!("{change} ({link})"))
    }

    /// The key names the incident and the change, so that a later outcome of the same change replaces the earlier one.
    pub(super) fn key(&self) -> String {
        let what = if self.knob.is_empty() { &self.change } else { &self.knob };
        let digest = hexadecimal(&Sha256::digest(what)[..8]);
        format!("{OUTCOMES}{}/{digest}", self.incident)
    }
}

impl Texts for Outcome {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let Outcome {
            incident: _,
            group: _,
            kind: _,
            phase: _,
            cause: _,
            knob,
            change,
            worked: _,
            time: _,
            note,
            link,
            peak: _,
        } = self;
        knob.texts(see);
        change.texts(see);
        note.texts(see);
        link.texts(see);
    }
}

/// Stores an outcome.
pub fn resolve(store: &mut dyn Store, outcome: &Outcome) -> Result<(), HistoryError> {
    resolve_all(store, std::slice::from_ref(outcome))
}

/// Stores outcomes in one commit.
pub fn resolve_all(store: &mut dyn Store, outcomes: &[Outcome]) -> Result<(), HistoryError> {
    let change = |outcome: &Outcome| Ok(Change::put(outcome.key(), serde_json::to_vec(outcome)?));
    let changes = outcomes.iter().map(change).collect::<Result<Vec<Change>, HistoryError>>()?;
    if !changes.is_empty() {
        changes::commit(store, changes)?;
    }
    Ok(())
}

/// The outcomes of `incident`, or of all incidents if it is `None`; newest first.
pub fn outcomes(store: &dyn Store, incident: Option<&str>) -> Result<Vec<Outcome>, HistoryError> {
    let prefix = incident.map_or(OUTCOMES.to_owned(), |id| format!("{OUTCOMES}{id}/"));
    let mut found: Vec<Result<Outcome, serde_json::Error>> = Vec::new();
    store.scan(&prefix, &mut |_, value| found.push(serde_json::from_slice(value)))?;
    let mut found = found.into_iter().collect::<Result<Vec<Outcome>, _>>()?;
    found.sort_by(|a, b| b.time.cmp(&a.time));
    Ok(found)
}

/// The outcomes reported for each incident, newest first.
pub(super) type OutcomesByIncident = BTreeMap<String, Vec<Outcome>>;

/// All outcomes, by incident.
pub(super) fn outcomes_by_incident(store: &dyn Store) -> Result<OutcomesByIncident, HistoryError> {
    let mut found = OutcomesByIncident::new();
    for outcome in outcomes(store, None)? {
        found.entry(outcome.incident.clone()).or_default().push(outcome);
    }
    Ok(found)
}

/// Removes the outcomes of `incident`, or of all incidents if it is `None`; returns how many there were.
pub fn forget(store: &mut dyn Store, incident: Option<&str>) -> Result<usize, HistoryError> {
    let gone = outcomes(store, incident)?;
    let changes: Vec<Change> = gone.iter().map(|outcome| Change::remove(outcome.key())).collect();
    if !changes.is_empty() {
        changes::commit(store, changes)?;
    }
    Ok(gone.len())
}

/// The summary of each incident that has outcomes.
pub(super) fn told(store: &dyn Store) -> Result<BTreeMap<String, OutcomeSummary>, HistoryError> {
    let mut told: BTreeMap<String, OutcomeSummary> = BTreeMap::new();
    for outcome in outcomes(store, None)? {
        match told.get_mut(&outcome.incident) {
            Some(known) => known.merge_earlier(&outcome),
            None => drop(told.insert(outcome.incident.clone(), OutcomeSummary::first(&outcome))),
        }
    }
    Ok(told)
}

impl OutcomeSummary {
    /// The summary of one incident's outcomes, newest first.
    pub fn of(all: &[Outcome]) -> Option<OutcomeSummary> {
        let (newest, earlier) = all.split_first()?;
        let mut told = OutcomeSummary::first(newest);
        earlier.iter().for_each(|outcome| told.merge_earlier(outcome));
        Some(told)
    }

    fn first(outcome: &Outcome) -> OutcomeSummary {
        OutcomeSummary { worked: outcome.worked, change: outcome.change_and_link(), time: outcome.time.clone() }
    }

    /// Takes an earlier outcome into account.
    fn merge_earlier(&mut self, earlier: &Outcome) {
        if earlier.worked && !self.worked {
            *self = OutcomeSummary::first(earlier);
        }
    }
}

/// What analyses learn from the history: how often each group occurred, and how remedies fared.
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
    for outcome in outcomes(store, None)? {
        let told = outcome.change_and_link();
        let Outcome { group, kind, phase, cause, knob, worked, .. } = outcome;
        let is_new = |group: &&mut Group| worked && group.worked.len() < TOLD && !group.worked.contains(&told);
        if let Some(group) = experience.groups.get_mut(&group).filter(is_new) {
            group.worked.push(told);
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
