use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, Write};
use std::sync::mpsc::sync_channel;
use std::thread;

use serde::{Deserialize, Serialize};

use super::export::LineWriter;
use super::outcome::Outcome;
use super::record::is_id;
use super::{HistoryError, INCIDENTS, OUTCOMES, Record, add, changes};
use crate::redact::Redactor;
use crate::store::{Change, Store};

/// Lines per commit.
const AT_ONCE: usize = 1024;
/// The longest allowed name of a group.
const LONGEST_GROUP: usize = 64;
/// The number of batches read ahead.
const AHEAD: usize = 3;

/// A line of an export.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Incident(Box<Record>),
    Outcome(Box<Outcome>),
    /// Only in an export of changes; an import only adds, so it skips this.
    Removed(Removed),
}

/// An incident that was removed.
#[derive(Serialize, Deserialize)]
struct Removed {
    incident: String,
}

/// What an import did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Imported {
    /// Incidents that were not in the history.
    pub new: usize,
    /// Incidents that were.
    pub known: usize,
    /// Outcomes that were not in the history, or only in an older version.
    pub outcomes: usize,
}

/// Writes everything as JSON Lines, incidents then outcomes, each in the order of their keys: the same history gives
/// the same lines.
pub fn export(store: &dyn Store, out: &mut dyn Write) -> Result<u64, HistoryError> {
    let mut lines = LineWriter { out, count: 0 };
    write(store, None, &mut lines)?;
    Ok(lines.count)
}

/// Writes the incidents in `touched` (all if `None`), their outcomes, and which of the incidents were removed.
pub(super) fn write(
    store: &dyn Store,
    touched: Option<&BTreeSet<String>>,
    lines: &mut LineWriter<'_>,
) -> Result<(), HistoryError> {
    let Some(touched) = touched else {
        each(store, INCIDENTS, &mut |value| lines.put(&Line::Incident(Box::new(Record::read(value)?))))?;
        return each(store, OUTCOMES, &mut |value| lines.put(&Line::Outcome(serde_json::from_slice(value)?)));
    };
    let mut gone = Vec::new();
    for id in touched {
        match store.get(&format!("{INCIDENTS}{id}"))? {
            Some(value) => lines.put(&Line::Incident(Box::new(Record::read(&value)?)))?,
            None => gone.push(Line::Removed(Removed { incident: id.clone() })),
        }
    }
    for id in touched {
        let of_incident = format!("{OUTCOMES}{id}/");
        each(store, &of_incident, &mut |value| lines.put(&Line::Outcome(serde_json::from_slice(value)?)))?;
    }
    gone.iter().try_for_each(|line| lines.put(line))
}

/// Passes the value of every record whose key begins with `prefix` to `take`, up to its first error.
pub(super) fn each(
    store: &dyn Store,
    prefix: &str,
    take: &mut dyn FnMut(&[u8]) -> Result<(), HistoryError>,
) -> Result<(), HistoryError> {
    let mut taken = Ok(());
    store.scan(prefix, &mut |_, value| {
        if taken.is_ok() {
            taken = take(value);
        }
    })?;
    taken
}

/// Imports another history's export. Incidents already in this history stay as they are but gain the other history's
/// annotations; of two outcomes of the same change the later one counts. Secrets that the other history did not know as
/// such are masked.
pub fn import(store: &mut dyn Store, lines: &mut dyn BufRead, redactor: &Redactor) -> Result<Imported, HistoryError> {
    let mut lines = lines.lines().enumerate();
    let mut done = Imported::default();
    thread::scope(|scope| {
        // One thread parses lines while this one reads and commits.
        let (send_text, text) = sync_channel::<Vec<(usize, io::Result<String>)>>(AHEAD);
        let (send_read, read) = sync_channel(AHEAD);
        scope.spawn(move || {
            for batch in text {
                let batch: Vec<Result<Option<Line>, HistoryError>> =
                    batch.into_iter().map(|line| parse(line, redactor)).collect();
                if send_read.send(batch).is_err() {
                    break;
                }
            }
        });
        let mut ahead = 0;
        loop {
            while ahead < AHEAD {
                let batch: Vec<_> = lines.by_ref().take(AT_ONCE).collect();
                if batch.is_empty() || send_text.send(batch).is_err() {
                    break;
                }
                ahead += 1;
            }
            if ahead == 0 {
                return Ok(done);
            }
            match read.recv() {
                Ok(batch) => take(store, batch, &mut done)?,
                Err(_) => return Ok(done),
            }
            ahead -= 1;
        }
    })
}

/// The incidents and outcomes in `text`, the lines of an export, masked. Fails at the first invalid line.
pub fn read_lines(text: &[u8], redactor: &Redactor) -> Result<(Vec<Record>, Vec<Outcome>), HistoryError> {
    let (mut records, mut outcomes) = (Vec::new(), Vec::new());
    for line in text.lines().enumerate() {
        match parse(line, redactor)? {
            Some(Line::Incident(record)) => records.push(*record),
            Some(Line::Outcome(outcome)) => outcomes.push(*outcome),
            Some(Line::Removed(_)) | None => {}
        }
    }
    Ok((records, outcomes))
}

fn parse((place, text): (usize, io::Result<String>), redactor: &Redactor) -> Result<Option<Line>, HistoryError> {
    let wrong = |problem: String| HistoryError::Line { line: place + 1, problem };
    let text = text.map_err(|error| wrong(error.to_string()))?;
    if text.trim().is_empty() {
        return Ok(None);
    }
    let mut line = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let (id, group) = match &mut line {
        Line::Removed(_) => return Ok(Some(line)),
        Line::Incident(record) => {
            redactor.mask(&mut **record);
            (&record.incident.id, &record.incident.fingerprint.key)
        }
        Line::Outcome(outcome) => {
            redactor.mask(&mut **outcome);
            (&outcome.incident, &outcome.group)
        }
    };
    if !is_id(id) {
        return Err(wrong(format!("{id:?} is no id of an incident: 16 digits, 0 to 9 and a to f")));
    }
    if group.len() > LONGEST_GROUP || !group.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return Err(wrong(format!("{group:?} is no name of a group")));
    }
    Ok(Some(line))
}

/// Adds a batch of lines; at a faulty line, those before it are kept.
fn take(
    store: &mut dyn Store,
    lines: Vec<Result<Option<Line>, HistoryError>>,
    done: &mut Imported,
) -> Result<(), HistoryError> {
    let mut records: Vec<Record> = Vec::new();
    let mut outcomes: BTreeMap<String, Outcome> = BTreeMap::new();
    let mut taken = Ok(());
    for line in lines {
        match line {
            Ok(Some(Line::Incident(record))) => match store.get(&format!("{INCIDENTS}{}", record.incident.id))? {
                Some(known) => {
                    let known = Record::read(&known)?;
                    let annotations = known.annotations.clone().with(&record.annotations);
                    match annotations == known.annotations {
                        true => done.known += 1,
                        // The incident is known, but has new annotations.
                        false => records.push(Record { annotations, ..known }),
                    }
                }
                None => records.push(*record),
            },
            Ok(Some(Line::Outcome(outcome))) => {
                let key = outcome.key();
                let in_store = store.get(&key)?.map(|bytes| serde_json::from_slice::<Outcome>(&bytes)).transpose()?;
                let known = outcomes.get(&key).or(in_store.as_ref());
                if known.is_none_or(|known| known.time < outcome.time) {
                    outcomes.insert(key, *outcome);
                    done.outcomes += 1;
                }
            }
            Ok(Some(Line::Removed(_)) | None) => {}
            Err(error) => {
                taken = Err(error);
                break;
            }
        }
    }
    let new = add(store, &records)?;
    done.new += new;
    done.known += records.len() - new;
    if !outcomes.is_empty() {
        let change = |(key, outcome)| Ok(Change::put(key, serde_json::to_vec(&outcome)?));
        changes::commit(store, outcomes.into_iter().map(change).collect::<Result<_, HistoryError>>()?)?;
    }
    taken
}
