//! What was said in a conversation: to which incidents its commands refer.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::error::QueueError;
use super::queue::{get, put};
use super::work::{ForgeName, Moment, Request, digest};
use crate::store::{Change, Store};

const TALKS: &str = "talks/";
/// Jobs of a conversation that are remembered.
const JOBS: usize = 32;

/// A conversation.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Talk {
    time: Moment,
    /// The incidents of each job, by its name.
    pub jobs: BTreeMap<String, Vec<String>>,
}

fn key(forge: ForgeName, request: &Request) -> String {
    format!("{TALKS}{}", digest(&[forge.as_str(), &request.project, &request.number.to_string()]))
}

/// What was said in the conversation of `request`.
pub fn of(store: &dyn Store, forge: ForgeName, request: &Request) -> Result<Talk, QueueError> {
    Ok(get(store, &key(forge, request))?.unwrap_or_default())
}

/// That `incidents` of `job` are what it is about now.
pub fn about(
    store: &dyn Store,
    forge: ForgeName,
    request: &Request,
    job: &str,
    incidents: &[String],
    now: Moment,
) -> Result<Change, QueueError> {
    let mut talk = of(store, forge, request)?;
    talk.jobs.insert(job.to_owned(), incidents.to_vec());
    while talk.jobs.len() > JOBS {
        talk.jobs.pop_first();
    }
    talk.time = now;
    put(key(forge, request), &talk)
}

/// Forgets conversations that ended before.
pub fn trim(store: &mut dyn Store, before: Moment) -> Result<(), QueueError> {
    let mut gone = Vec::new();
    store.scan(TALKS, &mut |key, value| {
        if serde_json::from_slice::<Talk>(value).is_ok_and(|talk| talk.time < before) {
            gone.push(Change::remove(key));
        }
    })?;
    if !gone.is_empty() {
        store.commit(&gone)?;
    }
    Ok(())
}
