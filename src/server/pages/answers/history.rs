//! Pages of what came up before.

use std::sync::Arc;

use axum::extract::{Path, Query as Asking, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::super::{self as pages, GroupList, GroupOf, GroupPage, GroupRow, GroupTab, IncidentList, IncidentPage, Row};
use super::Asker;
use super::gather::{group_row, of_group};
use crate::history::{
    Cursor, Document, GroupFilter, GroupOrder, GroupState, Live, Order, OutcomeSummary, Query, Record,
};
use crate::knowledge::{Language, retell};
use crate::model::Report;
use crate::report;
use crate::server::api::Shown;
use crate::server::problem::Problem;
use crate::server::state::Server;

/// Incidents on a page.
const SOME: usize = 50;
/// Incidents that are told to be alike.
const ALIKE: usize = 6;
/// Incidents of a group.
const LAST: usize = 20;

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
pub struct Asked {
    q: String,
    order: String,
    cursor: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Showing {
    show: String,
    cursor: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Two {
    a: String,
    b: String,
}

type Told = Result<Response, Problem>;

/// What a query finds.
pub async fn incidents(State(server): State<Arc<Server>>, asker: Asker, Asking(asked): Asking<Asked>) -> Told {
    let order = if asked.order == "relevance" { Order::Relevance } else { Order::Time };
    let saved = server.saved_queries().await?;
    let mut list = IncidentList {
        query: &asked.q,
        error: None,
        order,
        rows: Vec::new(),
        total: 0,
        facets: Vec::new(),
        saved: &saved,
        cursor: asked.cursor.as_deref(),
        next: None,
        is_empty: false,
    };
    let query: Query = match asked.q.parse() {
        Ok(query) => query,
        Err(error) => {
            list.error = Some(&error);
            let page = asker.page(|viewer| pages::incidents(viewer, &list));
            return Ok((StatusCode::BAD_REQUEST, page).into_response());
        }
    };
    let after: Option<Cursor> = asked.cursor.as_deref().map(str::parse).transpose()?;
    let found = server.search(query, order, after, SOME).await?;
    let documents: Vec<Document> =
        found.incidents.iter().map(|document| document.clone().in_language(asker.language)).collect();
    let next = found.next.as_ref().map(Cursor::to_string);
    let experience = server.experience();
    let count = |document: &Document| experience.groups.get(&document.group).map(|group| group.count);
    list.rows = documents.iter().map(|document| Row { document, count: count(document) }).collect();
    list.total = found.total;
    list.is_empty = found.total == 0 && asked.q.trim().is_empty();
    list.facets = super::gather::facets(&found);
    list.next = next.as_deref();
    Ok(asker.page(|viewer| pages::incidents(viewer, &list)))
}

/// An incident with all that is known of it.
pub async fn incident(State(server): State<Arc<Server>>, asker: Asker, Path(id): Path<String>) -> Told {
    let Shown { mut record, outcomes } = server.incident(id).await?;
    let mut similar = server.similar(record.clone(), ALIKE).await?;
    for likeness in &mut similar {
        likeness.incident = likeness.incident.clone().in_language(asker.language);
    }
    let key = record.group();
    let grouped = match record.incident.fingerprint.is_telling() {
        true => server.group(&key).await?.map(|(group, _)| group),
        false => None,
    };
    let told = OutcomeSummary::of(&outcomes);
    retell(&mut record.incident, &server.rules.knowledge, asker.language);
    let document = Document::new(&record, told.as_ref());
    let report = report_of(&record, asker.language);
    let page = IncidentPage {
        row: Row { document: &document, count: grouped.as_ref().map(|group| group.count) },
        report: &report,
        annotations: &record.annotations,
        outcomes: &outcomes,
        similar: &similar,
        group: grouped.as_ref().map(|group| GroupOf {
            key: &key,
            parts: &record.incident.fingerprint.parts,
            first: &group.first,
            last: &group.last,
            weeks: &group.weeks,
        }),
    };
    Ok(asker.page(|viewer| pages::incident(viewer, &page)))
}

/// The report that a record was made of, as far as it is kept.
fn report_of(record: &Record, language: Language) -> Report {
    let Record { inputs, job, incident, failure, .. } = record.clone();
    report::assemble(inputs, job, incident.kind, vec![incident], None, failure, language)
}

/// Groups over time.
pub async fn groups(State(server): State<Arc<Server>>, asker: Asker, Asking(asked): Asking<Showing>) -> Told {
    let tab = GroupTab::of(&asked.show);
    let filter = match tab {
        GroupTab::All => GroupFilter::All,
        GroupTab::New => GroupFilter::New,
        GroupTab::CameBack => GroupFilter::In(GroupState::CameBack),
    };
    let after: Option<Cursor> = asked.cursor.as_deref().map(str::parse).transpose()?;
    let list = move |live: &Live| live.groups(&Query::default(), filter, GroupOrder::Last, after.as_ref(), SOME);
    let found = server.find(list).await?;
    let rows: Vec<GroupRow> = found.groups.iter().map(|group| group_row(group, asker.language)).collect();
    let next = found.next.as_ref().map(Cursor::to_string);
    let counts = [found.total, found.new, found.came_back];
    let shown = GroupList { tab, counts, groups: &rows, next: next.as_deref() };
    Ok(asker.page(|viewer| pages::groups(viewer, &shown)))
}

/// A group with its incidents.
pub async fn group(State(server): State<Arc<Server>>, asker: Asker, Path(key): Path<String>) -> Told {
    let unknown = || Problem::not_found("there is no such group");
    let (group, newest) = server.group(&key).await?.ok_or_else(unknown)?;
    let query = of_group(&key).ok_or_else(unknown)?;
    let record = server.incident(newest).await?.record;
    let group = group_row(&group, asker.language);
    let found = server.search(query, Order::Time, None, LAST).await?;
    let documents: Vec<Document> =
        found.incidents.iter().map(|document| document.clone().in_language(asker.language)).collect();
    let incidents = documents.iter().map(|document| Row { document, count: Some(group.count) }).collect();
    let parts = &record.incident.fingerprint.parts;
    Ok(asker.page(|viewer| pages::group(viewer, &GroupPage { group: &group, parts, incidents })))
}

/// How often what happens.
pub async fn trends(State(server): State<Arc<Server>>, asker: Asker) -> Told {
    let trends = server.find(|live| super::gather::trends(live)).await?;
    Ok(asker.page(|viewer| pages::trends(viewer, &trends)))
}

/// Two incidents beside each other.
pub async fn diff(State(server): State<Arc<Server>>, asker: Asker, Asking(two): Asking<Two>) -> Told {
    if two.a.is_empty() || two.b.is_empty() {
        return Ok(asker.page(|viewer| pages::compare_none(viewer, &two.a, &two.b)));
    }
    let (a, b) = (server.incident(two.a).await?, server.incident(two.b).await?);
    Ok(asker.page(|viewer| pages::compare(viewer, &a.record, &b.record)))
}
