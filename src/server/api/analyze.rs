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

/// As long a log waits for others to be read.
const PATIENCE: Duration = Duration::from_secs(60);
/// A name has no more letters.
const LONGEST_NAME: usize = 200;

/// What is asked for with a log.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Asked {
    /// What the log is called: `job.log`.
    pub name: Option<String>,
    /// The language of what is said.
    pub language: Option<Language>,
    /// Whether the incident is kept; it is, unless told.
    pub keep: Option<bool>,
    /// How the answer is written: JSON, unless told.
    pub format: Format,
}

/// How an answer is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Everything, for programs.
    #[default]
    Json,
    /// For comments and chat.
    Markdown,
    /// One page that stands alone.
    Html,
}

/// What came of a log.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Analyzed {
    /// A report for each job that the log is of, its secrets masked.
    pub reports: Vec<Report>,
    /// The ids of the incidents that were kept.
    pub kept: Vec<String>,
}

/// Reads the body while it arrives.
pub async fn analyze(
    State(server): State<Arc<Server>>,
    Extension(visitor): Extension<Visitor>,
    Query(asked): Query<Asked>,
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
            // It has its own policy, and is no page of ours: whoever asks for it keeps it as a file.
            let kind = [
                (header::CONTENT_TYPE, "text/html; charset=utf-8"),
                (header::CONTENT_DISPOSITION, "attachment; filename=\"oomdoc-report.html\""),
            ];
            (kind, report::html(&sent, language)).into_response()
        }
    })
}

/// Ends a reading when it is dropped, unless that is done.
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
    /// Analyses `body`, which is called `name`, while it arrives; verbatim reports of all jobs that it is of.
    pub(in crate::server) async fn read(
        self: &Arc<Server>,
        body: Body,
        name: String,
        language: Language,
        watch: Arc<Watch>,
    ) -> Result<Vec<Report>, Problem> {
        self.read_files(body.into_data_stream(), vec![(name, u64::MAX)], language, watch).await
    }

    /// [`Server::read`] of several files, of so many bytes each, that stand one behind the other in `pieces`.
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
        // Whoever goes away drops this: what nobody waits for is not read on.
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

    /// Keeps the incidents of `reports`, masked; their ids.
    pub(in crate::server) async fn keep(&self, reports: &[Report], visitor: &Visitor) -> Result<Vec<String>, Problem> {
        let mut kept = Vec::new();
        for report in reports {
            let Some(record) = Record::of(report, &self.redactor)? else { continue };
            let id = record.incident.id.clone();
            // First: whoever goes away now has it kept all the same.
            self.audit(visitor, "analyze", &id);
            self.keeper.add(record).await?;
            self.metrics.incidents.inc();
            kept.push(id);
        }
        Ok(kept)
    }
}

/// What a log is called: a file's name, and no way to another one.
pub(in crate::server) fn name(told: Option<&str>) -> Result<String, Problem> {
    let Some(told) = told.filter(|told| !told.is_empty()) else { return Ok("job.log".to_owned()) };
    let name = Path::new(told).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    match name.is_empty() || name.len() > LONGEST_NAME || name.chars().any(char::is_control) {
        true => Err(Problem::bad_request("this is no name of a file").advised("say name=job.log")),
        false => Ok(name.to_owned()),
    }
}
