use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::{Extension, Json};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::history::{self, Annotations, HistoryError, Likeness, Note, Outcome, Record};
use crate::server::access::Visitor;
use crate::server::problem::Problem;
use crate::server::state::Server;

/// Incidents that are told to be alike.
const ALIKE: usize = 10;
const MOST_ALIKE: usize = 100;
/// A text has no more letters.
const LONGEST: usize = 2000;

/// An incident, and what was tried after it.
#[derive(Debug, Serialize)]
pub struct Shown {
    #[serde(flatten)]
    pub record: Record,
    pub outcomes: Vec<Outcome>,
}

/// How many.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Alike {
    /// As many; 10 unless told, 100 at most.
    pub limit: Option<usize>,
}

/// What was tried: a patch of the report by its number, another knob, or anything else in words.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tried {
    /// A patch by its number in the report, from 1.
    pub patch: Option<usize>,
    /// Any other change: `--zero_stage=3`.
    pub knob: Option<String>,
    /// Anything else, in words.
    pub did: Option<String>,
    /// Whether it solved the problem.
    pub worked: bool,
    /// What else there is to say.
    pub note: Option<String>,
    /// Where more is said.
    pub link: Option<String>,
}

/// Something to write down.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Noted {
    /// The words.
    #[serde(default)]
    pub text: String,
    /// Where more is said.
    pub link: Option<String>,
}

/// Shows an incident.
pub async fn show(State(server): State<Arc<Server>>, Path(id): Path<String>) -> Result<Json<Shown>, Problem> {
    Ok(Json(server.incident(id).await?))
}

/// Those that are like it.
pub async fn similar(
    State(server): State<Arc<Server>>,
    Path(id): Path<String>,
) -> Result<Json<Vec<Likeness>>, Problem> {
    let Shown { record, .. } = server.incident(id).await?;
    Ok(Json(server.similar(record, ALIKE).await?))
}

/// Those that are like one that need not be kept here.
pub async fn similar_to(
    State(server): State<Arc<Server>>,
    Query(asked): Query<Alike>,
    Json(record): Json<Record>,
) -> Result<Json<Vec<Likeness>>, Problem> {
    Ok(Json(server.similar(record, asked.limit.unwrap_or(ALIKE).min(MOST_ALIKE)).await?))
}

/// Keeps what was tried.
pub async fn resolve(
    State(server): State<Arc<Server>>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
    Json(tried): Json<Tried>,
) -> Result<Json<Outcome>, Problem> {
    Ok(Json(server.resolve(id, tried, &visitor).await?))
}

/// Writes something down.
pub async fn note(
    State(server): State<Arc<Server>>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
    Json(noted): Json<Noted>,
) -> Result<Json<Annotations>, Problem> {
    Ok(Json(server.note(id, noted, &visitor).await?))
}

impl Server {
    /// The incident whose id is or begins with `id`, and what was tried after it.
    pub(in crate::server) async fn incident(&self, id: String) -> Result<Shown, Problem> {
        let asked = self.keeper.ask(move |store| {
            let record = history::find(store, &id)?;
            let outcomes = history::outcomes(store, Some(&record.incident.id))?;
            Ok::<_, HistoryError>(Shown { record, outcomes })
        });
        let mut shown = asked.await??;
        let incident = &mut shown.record.incident;
        incident.seen = self.experience().seen(&incident.fingerprint, &incident.id);
        Ok(shown)
    }

    /// The incidents most like `record`.
    pub(in crate::server) async fn similar(&self, record: Record, most: usize) -> Result<Vec<Likeness>, Problem> {
        let found = self.find(move |live| live.similar(&record, most)).await?;
        Ok(Arc::unwrap_or_clone(found))
    }

    /// Keeps what `visitor` says was tried after an incident.
    pub(in crate::server) async fn resolve(
        &self,
        id: String,
        tried: Tried,
        visitor: &Visitor,
    ) -> Result<Outcome, Problem> {
        let Shown { record, .. } = self.incident(id).await?;
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

    /// Writes something down about an incident.
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
        let Shown { record, .. } = self.incident(id).await?;
        self.audit(visitor, "note", &record.incident.id);
        let record = self.annotate(record.incident.id, said).await?;
        Ok(record.annotations)
    }

    /// Adds what `said` says to what people say of an incident.
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

/// `text`, if it is no longer than people write.
pub(in crate::server) fn bounded(text: String) -> Result<String, Problem> {
    match text.chars().count() > LONGEST {
        true => Err(Problem::unprocessable(format!("a text may have {LONGEST} letters"))),
        false => Ok(text),
    }
}
