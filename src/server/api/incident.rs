use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::{Extension, Json};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::history::{self, Annotations, HistoryError, Likeness, Note, Outcome, Record};
use crate::server::access::Visitor;
use crate::server::problem::Problem;
use crate::server::state::Server;

/// Similar incidents that are returned by default, and at most.
const ALIKE: usize = 10;
const MOST_ALIKE: usize = 100;
/// The longest text in characters.
const LONGEST: usize = 2000;

/// An incident with its outcomes.
#[derive(Debug, Serialize)]
pub struct IncidentDetails {
    #[serde(flatten)]
    pub record: Record,
    pub outcomes: Vec<Outcome>,
}

/// How many similar incidents to return.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SimilarQuery {
    /// At most this many; 10 by default, 100 at most.
    pub limit: Option<usize>,
}

/// What was tried after an incident: exactly one of `patch`, `knob` and `did`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tried {
    /// The number of one of the report's patches, from 1.
    pub patch: Option<usize>,
    /// Another setting: `--zero_stage=3`.
    pub knob: Option<String>,
    /// Anything else, in words.
    pub did: Option<String>,
    /// Whether it solved the problem.
    pub worked: bool,
    /// A remark.
    pub note: Option<String>,
    /// A link to more about it.
    pub link: Option<String>,
}

/// A note on an incident.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Noted {
    /// Its text.
    #[serde(default)]
    pub text: String,
    /// A link to more about it.
    pub link: Option<String>,
}

/// The incident with its outcomes.
pub async fn show(State(server): State<Arc<Server>>, Path(id): Path<String>) -> Result<Json<IncidentDetails>, Problem> {
    Ok(Json(server.incident(id).await?))
}

/// Incidents similar to a kept one.
pub async fn similar(
    State(server): State<Arc<Server>>,
    Path(id): Path<String>,
) -> Result<Json<Vec<Likeness>>, Problem> {
    let IncidentDetails { record, .. } = server.incident(id).await?;
    Ok(Json(server.similar(record, ALIKE).await?))
}

/// Incidents similar to the record in the body, which need not be kept here.
pub async fn similar_to(
    State(server): State<Arc<Server>>,
    Query(asked): Query<SimilarQuery>,
    Json(record): Json<Record>,
) -> Result<Json<Vec<Likeness>>, Problem> {
    Ok(Json(server.similar(record, asked.limit.unwrap_or(ALIKE).min(MOST_ALIKE)).await?))
}

/// Records what was tried.
pub async fn resolve(
    State(server): State<Arc<Server>>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
    Json(tried): Json<Tried>,
) -> Result<Json<Outcome>, Problem> {
    Ok(Json(server.resolve(id, tried, &visitor).await?))
}

/// Adds a note.
pub async fn note(
    State(server): State<Arc<Server>>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
    Json(noted): Json<Noted>,
) -> Result<Json<Annotations>, Problem> {
    Ok(Json(server.note(id, noted, &visitor).await?))
}

impl Server {
    /// The incident whose id begins with `id`, with its outcomes.
    pub(in crate::server) async fn incident(&self, id: String) -> Result<IncidentDetails, Problem> {
        let asked = self.keeper.ask(move |store| {
            let record = history::find(store, &id)?;
            let outcomes = history::outcomes(store, Some(&record.incident.id))?;
            Ok::<_, HistoryError>(IncidentDetails { record, outcomes })
        });
        let mut shown = asked.await??;
        let incident = &mut shown.record.incident;
        incident.seen = self.experience().seen(&incident.fingerprint, &incident.id);
        Ok(shown)
    }

    /// The `most` incidents that are most similar to `record`.
    pub(in crate::server) async fn similar(&self, record: Record, most: usize) -> Result<Vec<Likeness>, Problem> {
        let found = self.find(move |live| live.similar(&record, most)).await?;
        Ok(Arc::unwrap_or_clone(found))
    }

    /// Records what `visitor` tried after the incident `id`.
    pub(in crate::server) async fn resolve(
        &self,
        id: String,
        tried: Tried,
        visitor: &Visitor,
    ) -> Result<Outcome, Problem> {
        let IncidentDetails { record, .. } = self.incident(id).await?;
        let Tried { patch, knob, did, worked, note, link } = tried;
        let outcome = match (patch, knob, did) {
            (Some(number), None, None) => Outcome::of_patch(&record, number, worked)?,
            (None, Some(knob), None) => Outcome::of_knob(&record, &bounded(knob)?, worked),
            (None, None, Some(did)) => Outcome::of_words(&record, &bounded(did)?, worked),
            _ => {
                return Err(Problem::unprocessable("one of `patch`, `knob` and `did` says what was tried")
                    .advised("send {\"did\": \"…\", \"worked\": true}"));
            }
        };
        let (note, link) = (note.map(bounded).transpose()?, link.map(bounded).transpose()?);
        let mut outcome = Outcome { note, link, ..outcome };
        self.redactor.mask(&mut outcome);
        let kept = outcome.clone();
        self.audit(visitor, "resolve", &outcome.incident);
        self.keeper.ask(move |store| history::resolve(store, &kept)).await??;
        Ok(outcome)
    }

    /// Adds a note of `visitor` to the incident `id`.
    pub(in crate::server) async fn note(
        &self,
        id: String,
        noted: Noted,
        visitor: &Visitor,
    ) -> Result<Annotations, Problem> {
        let (text, link) = (bounded(noted.text)?, noted.link.map(bounded).transpose()?);
        if text.trim().is_empty() && link.is_none() {
            return Err(Problem::unprocessable("there is nothing to write down"));
        }
        let mut note = Note { text, link, time: history::now() };
        self.redactor.mask(&mut note);
        let said = Annotations { notes: vec![note], ..Annotations::default() };
        let IncidentDetails { record, .. } = self.incident(id).await?;
        self.audit(visitor, "note", &record.incident.id);
        let record = self.annotate(record.incident.id, said).await?;
        Ok(record.annotations)
    }

    /// Merges `said` into the annotations of the incident `id`.
    pub(in crate::server) async fn annotate(&self, id: String, said: Annotations) -> Result<Record, Problem> {
        let kept = self.keeper.ask(move |store| {
            let mut record = history::find(store, &id)?;
            record.annotations = record.annotations.with(&said);
            history::annotate(store, &record)?;
            Ok::<_, HistoryError>(record)
        });
        Ok(kept.await??)
    }
}

/// `text`, unless it is longer than [`LONGEST`].
pub(in crate::server) fn bounded(text: String) -> Result<String, Problem> {
    match text.chars().count() > LONGEST {
        true => Err(Problem::unprocessable(format!("a text may have {LONGEST} letters"))),
        false => Ok(text),
    }
}
