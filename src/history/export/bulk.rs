use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde_json::{Value, json};

use super::LineWriter;
use super::fields::{self, ExportEntry};
use crate::history::outcome::{outcomes, outcomes_by_incident};
use crate::history::transfer::each;
use crate::history::{HistoryError, INCIDENTS, Outcome, Record};
use crate::redact::Redactor;
use crate::store::Store;

/// The longest name that search engines allow.
const LONGEST_NAME: usize = 255;

/// The name of a search engine's index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexName(String);

impl Default for IndexName {
    fn default() -> IndexName {
        IndexName("oomdoc-incidents".to_owned())
    }
}

impl fmt::Display for IndexName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for IndexName {
    type Err = HistoryError;

    fn from_str(name: &str) -> Result<IndexName, HistoryError> {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let fits = name.len() <= LONGEST_NAME
            && name.bytes().next().is_some_and(is_plain)
            && name.bytes().all(|byte| is_plain(byte) || b"-_.".contains(&byte));
        if fits { Ok(IndexName(name.to_owned())) } else { Err(HistoryError::IndexName { name: name.to_owned() }) }
    }
}

/// The template that a search engine needs before the first document of `index`: `PUT _index_template/NAME`.
pub fn index_template(index: &IndexName) -> Value {
    json!({
        "index_patterns": [index.0],
        "template": {
            "mappings": {
                // Fields that a newer oomdoc adds are stored, and become searchable once the template names them.
                "dynamic": false,
                "_meta": { "oomdoc": env!("CARGO_PKG_VERSION") },
                "properties": fields::properties(),
            },
        },
    })
}

/// Writes the incidents in `touched` (all if `None`) as lines for `_bulk`. A document's id is the incident's, so that
/// loading it twice changes nothing. Removals come last, since they are single lines and everything before them is a
/// pair of lines.
pub(super) fn write(
    store: &dyn Store,
    touched: Option<&BTreeSet<String>>,
    index: &IndexName,
    redactor: &Redactor,
    lines: &mut LineWriter<'_>,
) -> Result<(), HistoryError> {
    let mut put = |record: Record, tried: Vec<Outcome>| {
        let entry = ExportEntry::new(record, tried, redactor);
        lines.put(&json!({ "index": { "_index": index.0, "_id": entry.id() } }))?;
        lines.put(&fields::document(&entry))
    };
    let Some(touched) = touched else {
        let mut outcomes = outcomes_by_incident(store)?;
        return each(store, INCIDENTS, &mut |bytes| {
            let record = Record::read(bytes)?;
            let tried = outcomes.remove(&record.incident.id).unwrap_or_default();
            put(record, tried)
        });
    };
    let mut gone = Vec::new();
    for id in touched {
        match store.get(&format!("{INCIDENTS}{id}"))? {
            Some(bytes) => put(Record::read(&bytes)?, outcomes(store, Some(id))?)?,
            None => gone.push(id),
        }
    }
    gone.into_iter().try_for_each(|id| lines.put(&json!({ "delete": { "_index": index.0, "_id": id } })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_an_engine_takes() {
        for name in ["oomdoc-incidents", "a", "2026.oom_x"] {
            assert!(name.parse::<IndexName>().is_ok(), "{name}");
        }
        for name in
            ["", "Upper", "-a", "_bulk", ".hidden", "..", "a b", "a,b", "a*", "a/b", "a#b", "é", &"a".repeat(256)]
        {
            assert!(matches!(name.parse::<IndexName>(), Err(HistoryError::IndexName { .. })), "{name}");
        }
    }
}
