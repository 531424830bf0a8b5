//! Forms: what people say about an incident. Each redirects to the page that shows its effect.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Form, Path, State};
use serde::Deserialize;

use super::super::links::address;
use super::super::parts::incident_path;
use super::gather::SAVED;
use super::{PageResult, to};
use crate::history::{self, Annotations, HistoryError, Verdict};
use crate::server::access::Visitor;
use crate::server::access::secret;
use crate::server::api::{Noted, Tried, bounded};
use crate::server::problem::Problem;
use crate::server::state::Server;
use crate::store::{Change, Store};

/// The longest name or tag in characters.
const LONGEST: usize = 64;

#[derive(Deserialize)]
pub struct ResolveForm {
    #[serde(default)]
    patch: String,
    #[serde(default)]
    did: String,
    worked: String,
    #[serde(default)]
    note: String,
    #[serde(default)]
    link: String,
}

#[derive(Deserialize)]
pub struct AssignForm {
    #[serde(default)]
    assignee: String,
}

#[derive(Deserialize)]
pub struct TagForm {
    #[serde(default)]
    tags: String,
}

#[derive(Deserialize)]
pub struct NoteForm {
    #[serde(default)]
    note: String,
    #[serde(default)]
    link: String,
}

#[derive(Deserialize)]
pub struct SaveQueryForm {
    name: String,
    query: String,
}

/// Records what was tried and whether it worked. If nothing is named, only whether the incident is resolved.
pub async fn resolve(
    State(server): State<Arc<Server>>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
    Form(told): Form<ResolveForm>,
) -> PageResult {
    let worked = told.worked == "yes";
    let (patch, did) = (told.patch.parse().ok(), some(told.did).filter(|_| told.patch.is_empty()));
    let back = incident_path(&id);
    if patch.is_none() && did.is_none() {
        say(&server, &visitor, id, worked).await?;
    } else {
        let tried = Tried { patch, did, worked, note: some(told.note), link: some(told.link), ..Tried::default() };
        server.resolve(id, tried, &visitor).await?;
    }
    Ok(to(&back))
}

/// Records that the incident is not resolved.
pub async fn reopen(
    State(server): State<Arc<Server>>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
) -> PageResult {
    let back = incident_path(&id);
    say(&server, &visitor, id, false).await?;
    Ok(to(&back))
}

/// Records whether `visitor` considers the incident resolved.
async fn say(server: &Arc<Server>, visitor: &Visitor, id: String, resolved: bool) -> Result<(), Problem> {
    let verdict = Verdict { resolved, by: visitor.name.clone(), time: history::now() };
    let mut said = Annotations { verdict: Some(verdict), ..Annotations::default() };
    server.redactor.mask(&mut said);
    let record = server.annotate(id, said).await?;
    server.audit(visitor, if resolved { "resolve" } else { "reopen" }, &record.incident.id);
    Ok(())
}

/// Sets the assignee; an empty name removes it.
pub async fn assign(
    State(server): State<Arc<Server>>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
    Form(told): Form<AssignForm>,
) -> PageResult {
    let mut said = Annotations { assignee: some(short(told.assignee)?), ..Annotations::default() };
    server.redactor.mask(&mut said);
    let (back, asked) = (incident_path(&id), id.clone());
    let kept = server.keeper.ask(move |store| {
        let mut record = history::find(store, &asked)?;
        record.annotations.assignee = said.assignee;
        history::annotate(store, &record)?;
        Ok::<_, HistoryError>(record.incident.id)
    });
    let id = kept.await??;
    server.audit(&visitor, "assign", &id);
    Ok(to(&back))
}

/// Adds tags, which blanks or commas separate.
pub async fn tag(
    State(server): State<Arc<Server>>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
    Form(told): Form<TagForm>,
) -> PageResult {
    let words = told.tags.split(|sign: char| sign.is_whitespace() || "\",#".contains(sign));
    let words = words.filter(|word| !word.is_empty()).map(|word| short(word.to_owned()));
    let mut said = Annotations { tags: words.collect::<Result<_, _>>()?, ..Annotations::default() };
    server.redactor.mask(&mut said);
    let back = incident_path(&id);
    let record = server.annotate(id, said).await?;
    server.audit(&visitor, "tag", &record.incident.id);
    Ok(to(&back))
}

/// Adds a note.
pub async fn note(
    State(server): State<Arc<Server>>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
    Form(told): Form<NoteForm>,
) -> PageResult {
    let back = incident_path(&id);
    server.note(id, Noted { text: told.note, link: some(told.link) }, &visitor).await?;
    Ok(to(&back))
}

/// A longer list of saved queries would be of no help.
const MOST_SAVED: u64 = 100;

/// Saves a query for everybody.
pub async fn save(
    State(server): State<Arc<Server>>,
    Extension(visitor): Extension<Visitor>,
    Form(saving): Form<SaveQueryForm>,
) -> PageResult {
    let masked = |text: String| server.redactor.text(&text).into_owned();
    let (name, query) = (masked(short(saving.name)?), masked(bounded(saving.query)?));
    query.parse::<history::Query>().map_err(HistoryError::from)?;
    if name.is_empty() {
        return Err(Problem::unprocessable("a query is saved under a name"));
    }
    let key = format!("{SAVED}{}", secret::digest(&name));
    let value = serde_json::to_vec(&[&name, &query]).map_err(|error| Problem::internal(&error))?;
    server.audit(&visitor, "save query", &name);
    let saved = server.keeper.ask(move |store| {
        let is_full = store.get(&key)?.is_none() && store.count(SAVED.trim_end_matches('/'))? >= MOST_SAVED;
        if !is_full {
            store.commit(&[Change::put(key, value)])?;
        }
        Ok::<_, HistoryError>(!is_full)
    });
    if !saved.await?? {
        return Err(Problem::unprocessable(format!("{MOST_SAVED} queries are saved already"))
            .advised("save it under the name of one that nobody needs"));
    }
    Ok(to(&address("/", &[("q", &query)])))
}

/// The trimmed text, unless it is empty.
fn some(text: String) -> Option<String> {
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// A name: one line without control characters, no longer than [`LONGEST`].
fn short(text: String) -> Result<String, Problem> {
    let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.chars().count() > LONGEST || text.chars().any(char::is_control) {
        true => Err(Problem::unprocessable(format!("a name or a tag may have {LONGEST} letters"))),
        false => Ok(text),
    }
}
