use std::io::{self, Write};
use std::sync::Arc;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{Query as Asking, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::mpsc;

use crate::history::{Export, Format, HistoryError, IndexName, Mark};
use crate::remote::NEXT_HEADER;
use crate::server::access::Visitor;
use crate::server::problem::Problem;
use crate::server::state::Server;

/// Bytes per chunk of the response.
const PIECE: usize = 64 << 10;
/// Chunks that may wait to be sent.
const AHEAD: usize = 8;

/// Parameters of an export.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ExportQuery {
    /// The format of the lines.
    pub format: Lines,
    /// The name of the index in bulk documents; `oomdoc-incidents` by default.
    pub index: Option<String>,
    /// Only what changed since an earlier export, as its header `oomdoc-next` said; everything by default.
    pub since: Option<String>,
}

/// The format of an export's lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Lines {
    /// Whole incidents and outcomes, as an import reads them.
    #[default]
    Jsonl,
    /// Flat documents, as `_bulk` of OpenSearch and Elasticsearch reads them.
    Bulk,
}

impl ExportQuery {
    fn read(&self) -> Result<Export, HistoryError> {
        let index: Option<IndexName> = self.index.as_deref().map(str::parse).transpose()?;
        let format = match self.format {
            Lines::Jsonl => Format::Lines,
            Lines::Bulk => Format::Bulk(index.unwrap_or_default()),
        };
        Ok(Export { format, since: self.since.as_deref().map_or(Ok(Mark::default()), str::parse)? })
    }
}

/// Streams the export. It is read from a snapshot of the store, so the keeper does not wait for it.
pub async fn export(
    State(server): State<Arc<Server>>,
    Extension(visitor): Extension<Visitor>,
    Asking(asked): Asking<ExportQuery>,
) -> Result<Response, Problem> {
    let export = asked.read()?;
    server.audit(&visitor, "export", asked.since.as_deref().unwrap_or("all"));
    let home = server.home.clone();
    let begun = tokio::task::spawn_blocking(move || export.begin(&home)).await;
    let exporting = begun.map_err(|error| Problem::internal(&error))??;
    let next = exporting.next().to_string();
    let (send, receive) = mpsc::channel(AHEAD);
    tokio::task::spawn_blocking(move || {
        let mut pieces = Pieces { send, piece: Vec::with_capacity(PIECE) };
        let done = exporting
            .write(&server.redactor, &mut pieces)
            .and_then(|_| pieces.flush().map_err(|error| HistoryError::File { path: "export".into(), error }));
        if let Err(error) = done {
            tracing::warn!(%error, "an export ended early");
            // Aborts the response, so that the client knows that the export is incomplete.
            let _ = pieces.send.blocking_send(Err(io::Error::other("the export ended early")));
        }
    });
    let pieces = stream::unfold(receive, |mut receive| async { receive.recv().await.map(|piece| (piece, receive)) });
    let headers = [(header::CONTENT_TYPE.as_str(), super::LINES), (NEXT_HEADER, &*next)];
    Ok((headers, Body::from_stream(pieces)).into_response())
}

/// A writer that sends chunks into a channel.
struct Pieces {
    send: mpsc::Sender<io::Result<Bytes>>,
    piece: Vec<u8>,
}

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let piece = std::mem::replace(&mut self.piece, Vec::with_capacity(PIECE));
        self.send.blocking_send(Ok(piece.into())).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}
