use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use futures_util::Stream;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::history::Record;
use crate::knowledge::Language;
use crate::model::Report;
use crate::server::access::Visitor;
use crate::server::body;
use crate::server::problem::Problem;
use crate::server::state::Server;
use crate::watch::Watch;
use crate::{Error, report};

/// How long a log waits for a free analysis slot.
const PATIENCE: Duration = Duration::from_secs(60);
/// The longest file name in bytes.
const LONGEST_NAME: usize = 200;

/// Parameters of an analysis.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AnalyzeQuery {
    /// The log's file name: `job.log`.
    pub name: Option<String>,
    /// The language of the report.
    pub language: Option<Language>,
    /// Whether to keep the incident; true by default.
    pub keep: Option<bool>,
    /// The format of the answer; JSON by default.
    pub format: Format,
}

/// The format of a report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// The whole report, for programs.
    #[default]
    Json,
    /// For comments and chats.
    Markdown,
    /// A page in one file.
    Html,
}

/// The result of an analysis.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Analyzed {
    /// One report per job that the log belongs to, with secrets masked.
    pub reports: Vec<Report>,
    /// The ids of the incidents that were kept.
    pub kept: Vec<String>,
}

/// Analyses the request's body while it arrives.
pub async fn analyze(
    State(server): State<Arc<Server>>,
    Extension(visitor): Extension<Visitor>,
    Query(asked): Query<AnalyzeQuery>,
    body: Body,
) -> Result<Response, Problem> {
    let name = name(asked.name.as_deref())?;
    let language = asked.language.unwrap_or(server.config.language);
    let watch = Arc::new(Watch::default());
    let read = server.read(body, name, language, Arc::clone(&watch)).await?;
    let kept = match asked.keep {
        Some(false) => Vec::new(),
        _ => server.keep(&read, &visitor).await?,
    };
    let sent: Vec<Report> = read.iter().map(|read| report::outgoing(read, &server.redactor).0).collect();
    Ok(match asked.format {
        Format::Json => Json(Analyzed { reports: sent, kept }).into_response(),
        Format::Markdown => {
            let kind = [(header::CONTENT_TYPE, "text/markdown; charset=utf-8")];
            (kind, report::markdown_of_jobs(&sent, language)).into_response()
        }
        Format::Html => {
            // The report's policy is its own and it is no page of this server, so it is sent as a download.
            let kind = [
                (header::CONTENT_TYPE, "text/html; charset=utf-8"),
                (header::CONTENT_DISPOSITION, "attachment; filename=\"oomdoc-report.html\""),
            ];
            (kind, report::html(&sent, language)).into_response()
        }
    })
}

/// Stops an analysis when dropped, unless `done` was called.
struct StopUnlessDone(Option<Arc<Watch>>);

impl StopUnlessDone {
    fn now(&self) {
        if let Some(watch) = &self.0 {
            watch.stop();
        }
    }

    fn done(mut self) {
        self.0 = None;
    }
}

impl Drop for StopUnlessDone {
    fn drop(&mut self) {
        self.now();
    }
}

impl Server {
    /// Analyses `body` under the file name `name` while it arrives; returns the unmasked reports, one per job.
    pub(in crate::server) async fn read(
        self: &Arc<Server>,
        body: Body,
        name: String,
        language: Language,
        watch: Arc<Watch>,
    ) -> Result<Vec<Report>, Problem> {
        self.read_files(body.into_data_stream(), vec![(name, u64::MAX)], language, watch).await
    }

    /// [`Server::read`] for several files of the given names and sizes that follow one another in `pieces`.
    pub(in crate::server) async fn read_files<E: Display>(
        self: &Arc<Server>,
        pieces: impl Stream<Item = Result<Bytes, E>>,
        files: Vec<(String, u64)>,
        language: Language,
        watch: Arc<Watch>,
    ) -> Result<Vec<Report>, Problem> {
        let leave = tokio::time::timeout(PATIENCE, Arc::clone(&self.analyses).acquire_owned()).await;
        let Ok(Ok(leave)) = leave else { return Err(Problem::unavailable("too many logs are being read")) };
        let limits = self.config.limits;
        let (reader, arriving) = body::reader(pieces, limits.upload, limits.idle);
        let (server, stop) = (Arc::clone(self), Arc::clone(&watch));
        let reading = tokio::task::spawn_blocking(move || {
            let _leave = leave;
            let options = crate::Options { watch: Some(watch), threads: Some(1), ..server.options(language) };
            let (names, sizes): (Vec<String>, Vec<u64>) = files.into_iter().unzip();
            let streams = names.into_iter().zip(body::split(reader, &sizes)).collect();
            let reports = crate::analyze_streams_by_job(streams, &options);
            reports.map_err(|error| match error {
                Error::NothingRead(_) => Problem::unprocessable("no line of a log stands there"),
                error => Problem::internal(&error),
            })
        });
        // If the client disconnects, this future is dropped, and with it the guard: nobody waits for the analysis any
        // more.
        let stop = StopUnlessDone(Some(stop));
        let (arrived, reports) = tokio::join!(
            async {
                let arrived = arriving.await;
                if arrived.is_err() {
                    stop.now();
                }
                arrived
            },
            reading
        );
        stop.done();
        let bytes = arrived?;
        let reports = reports.map_err(|error| Problem::internal(&error))??;
        self.metrics.analyses.inc();
        self.metrics.bytes.inc_by(bytes);
        match reports.iter().any(report::has_log) {
            true => Ok(reports),
            false => Err(Problem::unprocessable("no line of a log stands there")
                .advised("send the log's text, or an archive (tar, zip, gzip, zstd, xz) of logs")),
        }
    }

    /// Keeps the incidents of `reports`, masked; returns their ids.
    pub(in crate::server) async fn keep(&self, reports: &[Report], visitor: &Visitor) -> Result<Vec<String>, Problem> {
        let mut kept = Vec::new();
        for report in reports {
            let Some(record) = Record::of(report, &self.redactor)? else { continue };
            let id = record.incident.id.clone();
            // Audited first: if the client disconnects now, the keeper still adds the record.
            self.audit(visitor, "analyze", &id);
            self.keeper.add(record).await?;
            self.metrics.incidents.inc();
            kept.push(id);
        }
        Ok(kept)
    }
}

/// The file name of a log: the last component of `told`, so that it cannot point to another folder.
pub(in crate::server) fn name(told: Option<&str>) -> Result<String, Problem> {
    let Some(told) = told.filter(|told| !told.is_empty()) else { return Ok("job.log".to_owned()) };
    let name = Path::new(told).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    match name.is_empty() || name.len() > LONGEST_NAME || name.chars().any(char::is_control) {
        true => Err(Problem::bad_request("this is no name of a file").advised("say name=job.log")),
        false => Ok(name.to_owned()),
    }
}
