//! A body that arrives, for who reads it as a file.

use std::io::{self, Read};
use std::time::Duration;

use axum::body::{Body, Bytes};
use futures_util::StreamExt;
use tokio::sync::mpsc;

use super::problem::Problem;

/// Pieces of a body that wait to be read.
const AHEAD: usize = 16;

/// The end that reads. It blocks, and is for a thread that may wait.
pub struct BodyReader {
    receive: mpsc::Receiver<io::Result<Bytes>>,
    rest: Bytes,
}

impl Read for BodyReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.rest.is_empty() {
            match self.receive.blocking_recv() {
                Some(piece) => self.rest = piece?,
                None => return Ok(0),
            }
        }
        let taken = self.rest.len().min(buffer.len());
        buffer[..taken].copy_from_slice(&self.rest.split_to(taken));
        Ok(taken)
    }
}

/// `body` as a file, and what must be awaited for it to arrive: at most `most` bytes, of which the next comes within `idle`. Why it did
/// not arrive whole, where it did not.
pub fn reader(body: Body, most: u64, idle: Duration) -> (BodyReader, impl Future<Output = Result<u64, Problem>>) {
    let (send, receive) = mpsc::channel(AHEAD);
    let arriving = async move {
        let mut pieces = body.into_data_stream();
        let mut arrived = 0;
        loop {
            let problem = match tokio::time::timeout(idle, pieces.next()).await {
                Ok(None) => return Ok(arrived),
                Ok(Some(Ok(piece))) => {
                    arrived += piece.len() as u64;
                    if arrived <= most {
                        // Nobody reads it any more: what was read is enough.
                        if send.send(Ok(piece)).await.is_err() {
                            return Ok(arrived);
                        }
                        continue;
                    }
                    Problem::too_large(format!("a log may have {most} bytes"))
                }
                Ok(Some(Err(error))) => Problem::bad_request(format!("the body ended too early: {error}")),
                Err(_) => Problem::too_slow(),
            };
            let _ = send.send(Err(io::Error::other(problem.words().0.to_owned()))).await;
            return Err(problem);
        }
    };
    (BodyReader { receive, rest: Bytes::new() }, arriving)
}
