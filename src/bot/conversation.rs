//! Conversations: which incidents the commands in one refer to.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::error::QueueError;
use super::queue::{get, put};
use super::work::{ForgeName, Moment, Request, digest};
use crate::store::{Change, Store};

const TALKS: &str = "talks/";
/// At most this many jobs per conversation are remembered.
const JOBS: usize = 32;

/// A conversation.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct ConversationIncidents {
    time: Moment,
    /// The incidents of each job, by its name.
    pub jobs: BTreeMap<String, Vec<String>>,
}

fn key(forge: ForgeName, request: &Request) -> String {
    format!("{TALKS}{}", digest(&[forge.as_str(), &request.project, &request.number.to_string()]))
}

/// The conversation of `request`; empty where nothing is known of it.
pub fn of(store: &dyn Store, forge: ForgeName, request: &Request) -> Result<ConversationIncidents, QueueError> {
    Ok(get(store, &key(forge, request))?.unwrap_or_default())
}

/// The change that makes `incidents` of `job` those that the conversation is about.
pub fn set_incidents(
    store: &dyn Store,
    forge: ForgeName,
    request: &Request,
    job: &str,
    incidents: &[String],
    now: Moment,
) -> Result<Change, QueueError> {
    let mut known = of(store, forge, request)?;
    known.jobs.insert(job.to_owned(), incidents.to_vec());
    while known.jobs.len() > JOBS {
        known.jobs.pop_first();
    }
    known.time = now;
    put(key(forge, request), &known)
}

/// Removes conversations whose last change was before the moment `before`.
pub fn trim(store: &mut dyn Store, before: Moment) -> Result<(), QueueError> {
    let mut gone = Vec::new();
    store.scan(TALKS, &mut |key, value| {
        if serde_json::from_slice::<ConversationIncidents>(value).is_ok_and(|known| known.time < before) {
            gone.push(Change::remove(key));
        }
    })?;
    if !gone.is_empty() {
        store.commit(&gone)?;
    }
    Ok(())
}
