//! Uploads from browsers: analysed while they arrive, held for an hour, and kept in the history when the uploader says
//! so.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{Multipart, Path, Query, State};
use axum::response::Response;
use axum::{Extension, Json};
use futures_util::{Stream, StreamExt};
use serde::Serialize;

use super::super::parts::incident_path;
use super::super::{self as pages, Keeping};
use super::{PageRequest, to};
use crate::model::Report;
use crate::report;
use crate::server::access::{Visitor, secret};
use crate::server::api::file_name;
use crate::server::csrf::FIELD;
use crate::server::problem::Problem;
use crate::server::state::Server;
use crate::watch::Watch;

/// How long a report is held for its uploader.
const HELD: Duration = Duration::from_secs(3600);
/// At most this many uploads are held; beyond it the oldest is dropped.
const MOST: usize = 256;
/// Files in one upload.
const FILES: usize = 64;

/// Uploads by ids that cannot be guessed.
#[derive(Default)]
pub struct Uploads(Mutex<BTreeMap<String, Upload>>);

struct Upload {
    /// The uploader, who alone may see it.
    owner: Option<String>,
    begun: Instant,
    watch: Arc<Watch>,
    /// The masked reports, once everything was read.
    reports: Option<Arc<Vec<Report>>>,
    /// The id of the first incident, once the upload is kept in the history.
    kept: Option<String>,
}

impl Uploads {
    fn all(&self) -> MutexGuard<'_, BTreeMap<String, Upload>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, id: &str, visitor: &Visitor) -> Result<Arc<Watch>, Problem> {
        let mut all = self.all();
        all.retain(|_, upload| upload.begun.elapsed() < HELD);
        if all.contains_key(id) {
            return Err(Problem::unprocessable("this was uploaded already").advised("load the page again"));
        }
        if all.len() >= MOST
            && let Some(oldest) = all.iter().min_by_key(|(_, upload)| upload.begun).map(|(id, _)| id.clone())
        {
            all.remove(&oldest);
        }
        let watch = Arc::new(Watch::default());
        let (owner, begun) = (visitor.name.clone(), Instant::now());
        all.insert(id.to_owned(), Upload { owner, begun, watch: Arc::clone(&watch), reports: None, kept: None });
        Ok(watch)
    }

    fn end(&self, id: &str, read: Option<Vec<Report>>) {
        let mut all = self.all();
        match (read, all.get_mut(id)) {
            (Some(reports), Some(upload)) => upload.reports = Some(Arc::new(reports)),
            (None, _) => drop(all.remove(id)),
            // The upload was dropped as the oldest of too many.
            (Some(_), None) => {}
        }
    }

    /// What `take` takes from the upload, if `visitor` uploaded it.
    fn get<T>(&self, id: &str, visitor: &Visitor, take: impl FnOnce(&mut Upload) -> Option<T>) -> Result<T, Problem> {
        let mut all = self.all();
        let upload = all.get_mut(id).filter(|upload| upload.owner == visitor.name && upload.begun.elapsed() < HELD);
        let gone =
            || Problem::not_found("this upload is gone").advised("a report that nobody keeps is held for an hour");
        upload.and_then(take).ok_or_else(gone)
    }
}

/// The progress of an upload.
#[derive(Serialize)]
pub struct Progress {
    /// Bytes that were read so far.
    read: u64,
    /// Messages about memory running out in those bytes.
    shortages: usize,
}

/// The address of an upload's result.
#[derive(Serialize)]
pub struct UploadAnswer {
    result: String,
}

/// The form to upload logs.
pub async fn form(request: PageRequest) -> Result<Response, Problem> {
    let id = secret::random(16).map_err(|error| Problem::internal(&error))?;
    Ok(request.page(|viewer| pages::upload(viewer, &id, None)))
}

/// Files as the script sends them: concatenated in the body, with their sizes and names in the address.
pub async fn from_script(
    State(server): State<Arc<Server>>,
    request: PageRequest,
    Extension(visitor): Extension<Visitor>,
    Query(asked): Query<Vec<(String, String)>>,
    body: Body,
) -> Result<Json<UploadAnswer>, Problem> {
    let wrong = || Problem::bad_request("an upload says its id, and of each file its size and name");
    let id = asked.iter().find(|(name, _)| name == "id").map(|(_, id)| id).ok_or_else(wrong)?;
    let is_id = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let file = |value: &str| {
        let (size, name) = value.split_once(':').ok_or_else(wrong)?;
        Ok((file_name(Some(name))?, size.parse().map_err(|_| wrong())?))
    };
    let named = asked.iter().filter(|(name, _)| name == "file");
    let files = named.map(|(_, value)| file(value)).collect::<Result<Vec<(String, u64)>, Problem>>()?;
    if files.is_empty() || files.len() > FILES || !is_id {
        return Err(wrong());
    }
    let result = read(&server, &request, &visitor, id, files, body.into_data_stream()).await?;
    Ok(Json(UploadAnswer { result }))
}

/// A file or pasted text, as a browser without the script sends it.
pub async fn from_form(
    State(server): State<Arc<Server>>,
    request: PageRequest,
    Extension(visitor): Extension<Visitor>,
    mut form: Multipart,
) -> Result<Response, Problem> {
    let broken = |error: &dyn std::fmt::Display| Problem::bad_request(format!("the form is broken: {error}"));
    let mut is_theirs = !visitor.needs_csrf_token(&axum::http::Method::POST);
    while let Some(mut field) = form.next_field().await.map_err(|error| broken(&error))? {
        let name = field.name().unwrap_or_default().to_owned();
        if name == FIELD {
            let carried = field.chunk().await.map_err(|error| broken(&error))?.unwrap_or_default();
            is_theirs |= visitor.matches_csrf_token(std::str::from_utf8(&carried).unwrap_or_default());
            continue;
        }
        if !is_theirs {
            return Err(Problem::forbidden("this was not sent by a page of this server"));
        }
        let called = match name.as_str() {
            "file" => field.file_name().unwrap_or_default().to_owned(),
            _ => "pasted.log".to_owned(),
        };
        // Browsers send empty fields, too.
        let Some(first) = field.chunk().await.map_err(|error| broken(&error))?.filter(|first| !first.is_empty()) else {
            continue;
        };
        let id = secret::random(16).map_err(|error| Problem::internal(&error))?;
        let pieces = futures_util::stream::iter([Ok(first)]).chain(field);
        let result =
            read(&server, &request, &visitor, &id, vec![(file_name(Some(&called))?, u64::MAX)], pieces).await?;
        return Ok(to(&result));
    }
    let id = secret::random(16).map_err(|error| Problem::internal(&error))?;
    Ok(request.page(|viewer| pages::upload(viewer, &id, Some(super::super::words::words(viewer.language).choose))))
}

/// Analyses an upload while it arrives; returns the address of its result.
async fn read<E: std::fmt::Display>(
    server: &Arc<Server>,
    request: &PageRequest,
    visitor: &Visitor,
    id: &str,
    files: Vec<(String, u64)>,
    pieces: impl Stream<Item = Result<axum::body::Bytes, E>>,
) -> Result<String, Problem> {
    let watch = server.uploads.begin(id, visitor)?;
    // Removes the upload again if the client disconnects before it is read.
    let mut leaving = Leaving { server, id, stays: false };
    let reports = server.read_files(pieces, files, request.language, watch).await?;
    let masked = reports.iter().map(|read| report::outgoing(read, &server.redactor).0).collect();
    server.uploads.end(id, Some(masked));
    leaving.stays = true;
    Ok(format!("/upload/{id}"))
}

/// Removes an upload when dropped, unless it was read to the end.
struct Leaving<'u> {
    server: &'u Server,
    id: &'u str,
    stays: bool,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        if !self.stays {
            self.server.uploads.end(self.id, None);
        }
    }
}

/// How far an upload is.
pub async fn progress(
    State(server): State<Arc<Server>>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
) -> Json<Progress> {
    let watch = server.uploads.get(&id, &visitor, |upload| Some(Arc::clone(&upload.watch)));
    // The script asks before the upload has begun.
    let (read, shortages) = watch.map_or((0, 0), |watch| (watch.bytes_read(), watch.shortages()));
    Json(Progress { read, shortages })
}

/// The reports of an upload.
pub async fn shown(
    State(server): State<Arc<Server>>,
    request: PageRequest,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let held = |upload: &mut Upload| Some((upload.reports.clone()?, upload.kept.clone()));
    let (reports, kept) = server.uploads.get(&id, &visitor, held)?;
    let action = format!("/upload/{id}/keep");
    let keeping = match &kept {
        Some(incident) => Keeping::Kept { incident },
        None if reports.iter().all(|report| report.incidents.is_empty()) => Keeping::Nothing,
        None => Keeping::Offered { action: &action },
    };
    Ok(request.page(|viewer| pages::result(viewer, &reports, keeping)))
}

/// Keeps the incidents of an upload and shows the first.
pub async fn keep(
    State(server): State<Arc<Server>>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let reports = server.uploads.get(&id, &visitor, |upload| upload.reports.clone())?;
    let kept = server.keep(&reports, &visitor).await?;
    let first = kept.into_iter().next().ok_or_else(|| Problem::unprocessable("there is no incident to keep"))?;
    server.uploads.get(&id, &visitor, |upload| {
        upload.kept = Some(first.clone());
        Some(())
    })?;
    Ok(to(&incident_path(&first)))
}
