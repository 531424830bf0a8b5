use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;

use super::{GROUPS, HistoryError, INCIDENTS, Record, changes};
use crate::model::{Fingerprint, Group, Occurrence, TimeSource, When};
use crate::store::{Change, Store};

/// Adds `records` in one commit and returns how many of them are new. A record whose id is already stored is the same
/// occurrence analysed again: the newer analysis replaces the old one, but the group, the time (unless the user now
/// gives one) and the annotations stay.
pub fn add(store: &mut dyn Store, records: &[Record]) -> Result<usize, HistoryError> {
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    let mut changes: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut new = 0;
    for record in records {
        let key = format!("{INCIDENTS}{}", record.incident.id);
        let known = match changes.get(&key) {
            Some(bytes) => Some(bytes.clone()),
            None => store.get(&key)?,
        };
        let mut record = Cow::Borrowed(record);
        match known.map(|bytes| Record::read(&bytes)).transpose()? {
            Some(known) => {
                let record = record.to_mut();
                record.incident.fingerprint = known.incident.fingerprint;
                record.saved = known.saved;
                // What the user says now beats what was guessed then.
                let is_told = |when: &When| when.derived == Some(TimeSource::User);
                if !record.incident.when.as_ref().is_some_and(is_told) {
                    (record.time, record.incident.when) = (known.time, known.incident.when);
                }
                record.annotations = known.annotations.with(&record.annotations);
            }
            None => {
                new += 1;
                count(&mut groups, &record, |key| match store.get(key)? {
                    Some(bytes) => Ok(serde_json::from_slice(&bytes)?),
                    None => Ok(Group::default()),
                })?;
            }
        }
        changes.insert(key, record.fitting_bytes()?);
    }
    for (key, group) in groups {
        changes.insert(key, serde_json::to_vec(&group)?);
    }
    if !changes.is_empty() {
        changes::commit(store, changes.into_iter().map(|(key, value)| Change::put(key, value)).collect())?;
    }
    Ok(new)
}

/// The part of a record that groups are built from; parsing the rest would be wasted.
#[derive(Debug, Deserialize)]
pub struct Occurred {
    pub time: String,
    pub incident: OccurredIncident,
}

/// An incident without its diagnoses.
#[derive(Debug, Deserialize)]
pub struct OccurredIncident {
    pub id: String,
    fingerprint: Fingerprint,
}

impl OccurredIncident {
    /// The group's name; none if the incident cannot be told from others, so that nobody can say it was seen before.
    pub fn group(&self) -> Option<String> {
        Some(self.fingerprint.group()).filter(|_| self.fingerprint.is_telling())
    }
}

/// All groups, counted anew.
#[derive(Debug, Default)]
pub(super) struct Groups(BTreeMap<String, Group>);

impl Groups {
    pub fn add(&mut self, occurred: Occurred) {
        if let Some(group) = occurred.incident.group() {
            let Occurred { time, incident: OccurredIncident { id, .. } } = occurred;
            self.0.entry(format!("{GROUPS}{group}")).or_default().add(Occurrence { id, time });
        }
    }

    /// Replaces the groups in `store` by these.
    pub fn commit(self, store: &mut dyn Store) -> Result<(), HistoryError> {
        let mut changes = Vec::new();
        store.scan(GROUPS, &mut |key, _| changes.push(Change::remove(key)))?;
        for (key, group) in self.0 {
            changes.push(Change::put(key, serde_json::to_vec(&group)?));
        }
        changes::commit(store, changes)?;
        Ok(())
    }
}

fn count(
    groups: &mut BTreeMap<String, Group>,
    record: &Record,
    known: impl Fn(&str) -> Result<Group, HistoryError>,
) -> Result<(), HistoryError> {
    if !record.incident.fingerprint.is_telling() {
        return Ok(());
    }
    let key = format!("{GROUPS}{}", record.incident.fingerprint.group());
    let group = match groups.entry(key) {
        std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
        std::collections::btree_map::Entry::Vacant(entry) => {
            let group = known(entry.key())?;
            entry.insert(group)
        }
    };
    group.add(Occurrence { id: record.incident.id.clone(), time: record.time.clone() });
    Ok(())
}
