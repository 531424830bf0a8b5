use std::io::{BufRead, Write};

use serde::{Deserialize, Serialize};

use super::outcome::Outcome;
use super::{HistoryError, INCIDENTS, OUTCOMES, Record, add, changes};
use crate::store::{Change, Store};

/// Incidents to a commit.
const AT_ONCE: usize = 256;

/// A line of an export.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Incident(Box<Record>),
    Outcome(Outcome),
}

/// What an import did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Imported {
    /// Incidents that were not there.
    pub new: usize,
    /// Incidents that were.
    pub known: usize,
    /// Told outcomes that were not there, or older.
    pub outcomes: usize,
}

/// Writes everything as JSON Lines, incidents then outcomes, in the order of their ids: the same history gives the same
/// lines.
pub fn export(store: &dyn Store, out: &mut dyn Write) -> Result<u64, HistoryError> {
    let mut written = Ok(0);
    let mut write = |line: Result<Line, serde_json::Error>| {
        if let Ok(count) = written {
            let line = line.and_then(|line| serde_json::to_string(&line));
            written = line.map_err(HistoryError::from).and_then(|line| {
                writeln!(out, "{line}").map_err(|error| HistoryError::file("export".as_ref(), error))?;
                Ok(count + 1)
            });
        }
    };
    store.scan(INCIDENTS, &mut |_, value| write(Record::read(value).map(|record| Line::Incident(Box::new(record)))))?;
    store.scan(OUTCOMES, &mut |_, value| write(serde_json::from_slice(value).map(Line::Outcome)))?;
    written
}

/// Takes over what another history exported. What is there already is not doubled and stays; of two outcomes of one change
/// the later one counts.
pub fn import(store: &mut dyn Store, lines: &mut dyn BufRead) -> Result<Imported, HistoryError> {
    let mut done = Imported::default();
    let mut waiting: Vec<Record> = Vec::new();
    for (place, text) in lines.lines().enumerate() {
        let wrong = |problem: String| HistoryError::Line { line: place + 1, problem };
        let text = text.map_err(|error| wrong(error.to_string()))?;
        if text.trim().is_empty() {
            continue;
        }
        match serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))? {
            Line::Incident(record) => {
                let is_known = store.get(&format!("{INCIDENTS}{}", record.incident.id))?.is_some();
                if is_known {
                    done.known += 1;
                } else {
                    waiting.push(*record);
                }
                if waiting.len() == AT_ONCE {
                    take(store, &mut waiting, &mut done)?;
                }
            }
            Line::Outcome(outcome) => {
                let key = outcome.key();
                let known = store.get(&key)?.map(|bytes| serde_json::from_slice::<Outcome>(&bytes)).transpose()?;
                if known.is_none_or(|known| known.time < outcome.time) {
                    changes::commit(store, vec![Change::put(key, serde_json::to_vec(&outcome)?)])?;
                    done.outcomes += 1;
                }
            }
        }
    }
    take(store, &mut waiting, &mut done)?;
    Ok(done)
}

fn take(store: &mut dyn Store, waiting: &mut Vec<Record>, done: &mut Imported) -> Result<(), HistoryError> {
    let new = add(store, waiting)?;
    done.new += new;
    done.known += waiting.len() - new;
    waiting.clear();
    Ok(())
}
