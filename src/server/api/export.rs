use std::io::{self, Write};
use std::sync::Arc;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use tokio::sync::mpsc;

use crate::history;
use crate::server::access::Visitor;
use crate::server::state::Server;

/// Bytes that are sent at once.
const PIECE: usize = 64 << 10;
/// Pieces that wait to be sent.
const AHEAD: usize = 8;

/// Sends everything, while it is read beside the keeper: nobody waits for it.
pub async fn export(State(server): State<Arc<Server>>, Extension(visitor): Extension<Visitor>) -> Response {
    server.audit(&visitor, "export", "all");
    let (send, receive) = mpsc::channel(AHEAD);
    let home = server.home.clone();
    tokio::task::spawn_blocking(move || {
        let mut pieces = Pieces { send, piece: Vec::with_capacity(PIECE) };
        let done = history::look(&home).and_then(|view| {
            history::export(&view, &mut pieces)?;
            pieces.flush().map_err(|error| history::HistoryError::File { path: "export".into(), error })
        });
        if let Err(error) = done {
            tracing::warn!(%error, "an export ended early");
            // The client is told that it is not whole.
            let _ = pieces.send.blocking_send(Err(io::Error::other("the export ended early")));
        }
    });
    let pieces = stream::unfold(receive, |mut receive| async { receive.recv().await.map(|piece| (piece, receive)) });
    ([(header::CONTENT_TYPE, super::LINES)], Body::from_stream(pieces)).into_response()
}

/// Writes into a channel.
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
