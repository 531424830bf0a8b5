//! Handlers of the pages that show the history.

use std::sync::Arc;

use axum::extract::{Path, Query as Asking, State};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde::Deserialize;

use super::super::{
    self as pages, GroupList, GroupPage, GroupRow, GroupTab, IncidentGroup, IncidentList, IncidentPage, IncidentRow,
};
use super::gather::{group_query, group_row};
use super::{PageRequest, PageResult};
use crate::history::{
    Cursor, Document, GroupFilter, GroupOrder, GroupState, Live, Order, OutcomeSummary, Query, Record,
};
use crate::knowledge::{Language, retell};
use crate::model::Report;
use crate::report;
use crate::server::api::IncidentDetails;
use crate::server::problem::Problem;
use crate::server::state::Server;

/// Incidents on a page.
const SOME: usize = 50;
/// Similar incidents on an incident's page.
const ALIKE: usize = 6;
/// Incidents on a group's page.
const LAST: usize = 20;

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
pub struct IncidentsQuery {
    q: String,
    order: String,
    cursor: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct GroupTabQuery {
    show: String,
    cursor: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct DiffQuery {
    a: String,
    b: String,
}

/// The page of search results.
pub async fn incidents(
    State(server): State<Arc<Server>>,
    request: PageRequest,
    Asking(asked): Asking<IncidentsQuery>,
) -> PageResult {
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
            let page = request.page(|viewer| pages::incidents(viewer, &list));
            return Ok((StatusCode::BAD_REQUEST, page).into_response());
        }
    };
    let after: Option<Cursor> = asked.cursor.as_deref().map(str::parse).transpose()?;
    let found = server.search(query, order, after, SOME).await?;
    let documents: Vec<Document> =
        found.incidents.iter().map(|document| document.clone().in_language(request.language)).collect();
    let next = found.next.as_ref().map(Cursor::to_string);
    let experience = server.experience();
    let count = |document: &Document| experience.groups.get(&document.group).map(|group| group.count);
    list.rows = documents.iter().map(|document| IncidentRow { document, count: count(document) }).collect();
    list.total = found.total;
    list.is_empty = found.total == 0 && asked.q.trim().is_empty();
    list.facets = super::gather::facets(&found);
    list.next = next.as_deref();
    Ok(request.page(|viewer| pages::incidents(viewer, &list)))
}

/// The page of an incident.
pub async fn incident(State(server): State<Arc<Server>>, request: PageRequest, Path(id): Path<String>) -> PageResult {
    let IncidentDetails { mut record, outcomes } = server.incident(id).await?;
    let mut similar = server.similar(record.clone(), ALIKE).await?;
    for likeness in &mut similar {
        likeness.incident = likeness.incident.clone().in_language(request.language);
    }
    let key = record.group();
    let grouped = match record.incident.fingerprint.is_telling() {
        true => server.group(&key).await?.map(|(group, _)| group),
        false => None,
    };
    let told = OutcomeSummary::of(&outcomes);
    retell(&mut record.incident, &server.rules.knowledge, request.language);
    let document = Document::new(&record, told.as_ref());
    let report = report_of(&record, request.language);
    let page = IncidentPage {
        row: IncidentRow { document: &document, count: grouped.as_ref().map(|group| group.count) },
        report: &report,
        annotations: &record.annotations,
        outcomes: &outcomes,
        similar: &similar,
        group: grouped.as_ref().map(|group| IncidentGroup {
            key: &key,
            parts: &record.incident.fingerprint.parts,
            first: &group.first,
            last: &group.last,
            weeks: &group.weeks,
        }),
    };
    Ok(request.page(|viewer| pages::incident(viewer, &page)))
}

/// The report behind a record, as far as the record keeps it.
fn report_of(record: &Record, language: Language) -> Report {
    let Record { inputs, job, incident, failure, .. } = record.clone();
    report::assemble(inputs, job, incident.kind, vec![incident], None, failure, language)
}

/// The page of groups.
pub async fn groups(
    State(server): State<Arc<Server>>,
    request: PageRequest,
    Asking(asked): Asking<GroupTabQuery>,
) -> PageResult {
    let tab = GroupTab::of(&asked.show);
    let filter = match tab {
        GroupTab::All => GroupFilter::All,
        GroupTab::New => GroupFilter::New,
        GroupTab::CameBack => GroupFilter::In(GroupState::CameBack),
    };
    let after: Option<Cursor> = asked.cursor.as_deref().map(str::parse).transpose()?;
    let list = move |live: &Live| live.groups(&Query::default(), filter, GroupOrder::Last, after.as_ref(), SOME);
    let found = server.find(list).await?;
    let rows: Vec<GroupRow> = found.groups.iter().map(|group| group_row(group, request.language)).collect();
    let next = found.next.as_ref().map(Cursor::to_string);
    let counts = [found.total, found.new, found.came_back];
    let shown = GroupList { tab, counts, groups: &rows, next: next.as_deref() };
    Ok(request.page(|viewer| pages::groups(viewer, &shown)))
}

/// The page of a group.
pub async fn group(State(server): State<Arc<Server>>, request: PageRequest, Path(key): Path<String>) -> PageResult {
    let unknown = || Problem::not_found("there is no such group");
    let (group, newest) = server.group(&key).await?.ok_or_else(unknown)?;
    let query = group_query(&key).ok_or_else(unknown)?;
    let record = server.incident(newest).await?.record;
    let group = group_row(&group, request.language);
    let found = server.search(query, Order::Time, None, LAST).await?;
    let documents: Vec<Document> =
        found.incidents.iter().map(|document| document.clone().in_language(request.language)).collect();
    let incidents = documents.iter().map(|document| IncidentRow { document, count: Some(group.count) }).collect();
    let parts = &record.incident.fingerprint.parts;
    Ok(request.page(|viewer| pages::group(viewer, &GroupPage { group: &group, parts, incidents })))
}

/// The page of trends.
pub async fn trends(State(server): State<Arc<Server>>, request: PageRequest) -> PageResult {
    let trends = server.find(super::gather::trends).await?;
    Ok(request.page(|viewer| pages::trends(viewer, &trends)))
}

/// The page that compares two incidents.
pub async fn diff(
    State(server): State<Arc<Server>>,
    request: PageRequest,
    Asking(two): Asking<DiffQuery>,
) -> PageResult {
    if two.a.is_empty() || two.b.is_empty() {
        return Ok(request.page(|viewer| pages::compare_none(viewer, &two.a, &two.b)));
    }
    let (a, b) = (server.incident(two.a).await?, server.incident(two.b).await?);
    Ok(request.page(|viewer| pages::compare(viewer, &a.record, &b.record)))
}
