use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;

use super::{GROUPS, HistoryError, INCIDENTS, Record, changes};
use crate::model::{Fingerprint, Group, Occurrence, TimeSource, When};
use crate::store::{Change, Store};

/// Adds `records` in one commit; how many were new. One that is known already is the same occurrence, analysed again: its
/// newer analysis counts; its group, its time (unless the user says another) and what people said of it stay.
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
                // What the user says now is better known than what was guessed then.
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

/// What groups are made of: the rest of a record would be read in vain.
#[derive(Debug, Deserialize)]
pub struct Occurred {
    /// When it happened, RFC 3339.
    pub time: String,
    /// The incident.
    pub incident: OccurredIncident,
}

/// An incident without what was found of it.
#[derive(Debug, Deserialize)]
pub struct OccurredIncident {
    /// Its id.
    pub id: String,
    fingerprint: Fingerprint,
}

/// Counts the occurrences of every trouble anew, leaving out those that are not to be `kept`; with the same commit those
/// incidents go.
pub fn regroup(store: &mut dyn Store, kept: impl Fn(&Occurred) -> bool) -> Result<u64, HistoryError> {
    let (mut groups, mut gone) = (Groups::default(), Vec::new());
    let mut read = Ok(());
    store.scan(INCIDENTS, &mut |_, value| match serde_json::from_slice::<Occurred>(value) {
        Ok(occurred) if kept(&occurred) => groups.add(occurred),
        Ok(occurred) => gone.push(occurred.incident.id),
        Err(error) => read = Err(error),
    })?;
    read?;
    let mut changes = Vec::new();
    for id in &gone {
        changes.push(Change::remove(format!("{INCIDENTS}{id}")));
        store.scan(&format!("{}{id}/", super::OUTCOMES), &mut |key, _| changes.push(Change::remove(key)))?;
    }
    groups.commit(store, changes)?;
    Ok(gone.len() as u64)
}

/// All troubles, counted anew.
#[derive(Debug, Default)]
pub(super) struct Groups(BTreeMap<String, Group>);

impl Groups {
    /// Counts an occurrence.
    pub fn add(&mut self, occurred: Occurred) {
        let Occurred { time, incident: OccurredIncident { id, fingerprint } } = occurred;
        if !fingerprint.is_telling() {
            return;
        }
        self.0.entry(format!("{GROUPS}{}", fingerprint.group())).or_default().add(Occurrence { id, time });
    }

    /// Puts them in the place of those in `store`; with the same commit come `changes`.
    pub fn commit(self, store: &mut dyn Store, mut changes: Vec<Change>) -> Result<(), HistoryError> {
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
