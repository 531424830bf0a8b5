use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{GROUPS, HistoryError, OUTCOMES, Record, changes, now};
use crate::hexadecimal::hexadecimal;
use crate::model::{Bytes, Experience, Group, Kind, Outcomes, Phase, Tally, Text, Texts};
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
    /// What was changed; empty where people did something else.
    pub knob: String,
    /// The change, as people write it.
    pub change: String,
    /// Whether the trouble went away.
    pub worked: bool,
    /// When it was told, RFC 3339.
    pub time: String,
    /// What else there is to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Where more is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// How much memory the job took before and after, where `oomdoc run` saw both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak: Option<PeakChange>,
}

/// The most memory that a job took, as `oomdoc run` saw it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peak {
    /// On the GPU that held most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu: Option<Bytes>,
    /// On the host, all its processes together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Bytes>,
}

/// The most memory that a job took before and after a change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeakChange {
    /// When it ran out of memory.
    pub before: Peak,
    /// When it ran again.
    pub after: Peak,
}

impl PeakChange {
    /// `peak 78.2 → 61.0 GiB`, for each memory that was seen both times.
    pub fn told(&self) -> impl Iterator<Item = String> {
        let (before, after) = (self.before, self.after);
        let pairs = [("GPU", before.gpu, after.gpu), ("host", before.host, after.host)];
        pairs.into_iter().filter_map(|(of, before, after)| Some(format!("{of} peak {} → {}", before?, after?)))
    }
}

/// What was told of an incident, in short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutcomeSummary {
    /// Whether a change made it go away.
    pub worked: bool,
    /// That change; the last one that was tried where none did.
    pub change: String,
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

    /// What is told of anything else that people did, in their own words.
    pub fn of_words(record: &Record, words: &str, worked: bool) -> Outcome {
        let change = words.to_owned();
        Outcome { knob: String::new(), cause: None, change, ..Outcome::of_knob(record, "", worked) }
    }

    /// The change with where more is said of it.
    fn told(&self) -> String {
        let Outcome { change, link, .. } = self;
        link.as_ref().map_or_else(|| change.clone(), |link| format!("{change} ({link})"))
    }

    /// One change of one incident went one way: what is told later stands in place of what was told before.
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

/// Keeps what was told.
pub fn resolve(store: &mut dyn Store, outcome: &Outcome) -> Result<(), HistoryError> {
    resolve_all(store, std::slice::from_ref(outcome))
}

/// Keeps what was told, with one commit.
pub fn resolve_all(store: &mut dyn Store, outcomes: &[Outcome]) -> Result<(), HistoryError> {
    let change = |outcome: &Outcome| Ok(Change::put(outcome.key(), serde_json::to_vec(outcome)?));
    let changes = outcomes.iter().map(change).collect::<Result<Vec<Change>, HistoryError>>()?;
    if !changes.is_empty() {
        changes::commit(store, changes)?;
    }
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

/// What was told of each incident, of those of which anything was.
pub(super) fn told(store: &dyn Store) -> Result<BTreeMap<String, OutcomeSummary>, HistoryError> {
    let mut told: BTreeMap<String, OutcomeSummary> = BTreeMap::new();
    for outcome in outcomes(store, None)? {
        match told.get_mut(&outcome.incident) {
            Some(known) => known.hear(&outcome),
            None => drop(told.insert(outcome.incident.clone(), OutcomeSummary::first(&outcome))),
        }
    }
    Ok(told)
}

impl OutcomeSummary {
    /// The same of one incident, of which `all` was told, the newest first.
    pub fn of(all: &[Outcome]) -> Option<OutcomeSummary> {
        let (newest, earlier) = all.split_first()?;
        let mut told = OutcomeSummary::first(newest);
        earlier.iter().for_each(|outcome| told.hear(outcome));
        Some(told)
    }

    fn first(outcome: &Outcome) -> OutcomeSummary {
        OutcomeSummary { worked: outcome.worked, change: outcome.told(), time: outcome.time.clone() }
    }

    /// What was told earlier.
    fn hear(&mut self, earlier: &Outcome) {
        if earlier.worked && !self.worked {
            *self = OutcomeSummary::first(earlier);
        }
    }
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
    for outcome in outcomes(store, None)? {
        let told = outcome.told();
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
