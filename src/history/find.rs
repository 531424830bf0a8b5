use super::{HistoryError, INCIDENTS, Record};
use crate::store::Store;

/// Calls `each` for every record, in the order of the ids.
pub fn records(
    store: &dyn Store,
    each: &mut dyn FnMut(Record) -> Result<(), HistoryError>,
) -> Result<(), HistoryError> {
    let mut done = Ok(());
    store.scan(INCIDENTS, &mut |_, value| {
        if done.is_ok() {
            done = Record::read(value).map_err(HistoryError::from).and_then(&mut *each);
        }
    })?;
    done
}

/// The incident whose id is `id`, or the only one whose id begins with it.
pub fn find(store: &dyn Store, id: &str) -> Result<Record, HistoryError> {
    const SHOWN: usize = 5;
    let mut found: Vec<Vec<u8>> = Vec::new();
    let mut known: Vec<String> = Vec::new();
    store.scan(&format!("{INCIDENTS}{id}"), &mut |key, value| {
        if found.is_empty() {
            found.push(value.to_owned());
        }
        if known.len() < SHOWN {
            known.push(key.trim_start_matches(INCIDENTS).to_owned());
        }
    })?;
    match (found.first(), known.as_slice()) {
        (Some(bytes), [_]) if !id.is_empty() => Ok(Record::read(bytes)?),
        (Some(_), [_, _, ..]) => Err(HistoryError::Ambiguous { id: id.to_owned(), known }),
        _ => Err(HistoryError::NotFound { id: id.to_owned() }),
    }
}
