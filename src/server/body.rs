//! A request's body as blocking readers, while it still arrives.

use std::fmt::Display;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes};
use futures_util::{Stream, StreamExt, stream};
use tokio::sync::mpsc;

use super::problem::Problem;

/// Chunks of a body that may wait to be read.
const AHEAD: usize = 16;

/// `body`, which fails if no chunk arrives within `idle`: a client that trickles bytes cannot hold a place for ever.
pub fn steady(body: Body, idle: Duration) -> Body {
    let pieces = Box::pin(body.into_data_stream());
    Body::from_stream(stream::unfold(Some(pieces), move |pieces| async move {
        let mut pieces = pieces?;
        match tokio::time::timeout(idle, pieces.next()).await {
            Ok(Some(piece)) => Some((piece, Some(pieces))),
            Ok(None) => None,
            Err(_) => Some((Err(axum::Error::new(io::Error::from(io::ErrorKind::TimedOut))), None)),
        }
    }))
}

/// The reading end of a body. It blocks and belongs on a thread where that is allowed.
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

/// Divides `reader` into consecutive files of the given sizes. They must be read in order.
pub fn split(reader: BodyReader, sizes: &[u64]) -> Vec<Part> {
    let body = Arc::new(Mutex::new(Position { reader, at: 0 }));
    let mut from: u64 = 0;
    let part = |size: &u64| {
        let to = from.saturating_add(*size);
        let part = Part { body: Arc::clone(&body), from, to };
        from = to;
        part
    };
    sizes.iter().map(part).collect()
}

/// One of the files of a body.
pub struct Part {
    body: Arc<Mutex<Position>>,
    from: u64,
    to: u64,
}

/// A body and how many bytes of it were read.
struct Position {
    reader: BodyReader,
    at: u64,
}

impl Read for Part {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut body = self.body.lock().unwrap_or_else(PoisonError::into_inner);
        // Skips what was left unread of the files before.
        while body.at < self.from {
            let before = self.from - body.at;
            let passed = io::copy(&mut (&mut body.reader).take(before), &mut io::sink())?;
            if passed == 0 {
                return Ok(0);
            }
            body.at += passed;
        }
        let left = usize::try_from(self.to.saturating_sub(body.at)).unwrap_or(usize::MAX).min(buffer.len());
        let read = body.reader.read(&mut buffer[..left])?;
        body.at += read as u64;
        Ok(read)
    }
}

/// A reader of `pieces`, and a future that feeds it and must be awaited: it fails if more than `most` bytes arrive or
/// no chunk does within `idle`, and otherwise yields the number of bytes.
pub fn reader<E: Display>(
    pieces: impl Stream<Item = Result<Bytes, E>>,
    most: u64,
    idle: Duration,
) -> (BodyReader, impl Future<Output = Result<u64, Problem>>) {
    let (send, receive) = mpsc::channel(AHEAD);
    let arriving = async move {
        tokio::pin!(pieces);
        let mut arrived = 0;
        loop {
            let problem = match tokio::time::timeout(idle, pieces.next()).await {
                Ok(None) => return Ok(arrived),
                Ok(Some(Ok(piece))) => {
                    arrived += piece.len() as u64;
                    if arrived <= most {
                        // The reader was dropped: it has read enough.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn files_in_a_body_are_read_apart_and_what_nobody_reads_is_passed_over()
    -> Result<(), Box<dyn std::error::Error>> {
        let pieces =
            [&b"one"[..], b"two", b"", b"threefour"].map(|piece| Ok::<_, io::Error>(Bytes::from_static(piece)));
        let (reader, arriving) = reader(futures_util::stream::iter(pieces), 100, Duration::from_secs(600));
        let read = tokio::task::spawn_blocking(move || {
            let mut parts = split(reader, &[3, 3, 0, 5, 4]).into_iter();
            let mut read = Vec::new();
            for place in 0..5 {
                let mut part = parts.next().ok_or(io::ErrorKind::UnexpectedEof)?;
                let mut text = String::new();
                // Only the first byte of the second file is read.
                let most = if place == 1 { 1 } else { 100 };
                (&mut part).take(most).read_to_string(&mut text)?;
                read.push(text);
            }
            Ok::<_, io::Error>(read)
        });
        let (arrived, read) = tokio::join!(arriving, read);
        assert_eq!(arrived.map_err(|problem| problem.words().0.to_owned())?, 15);
        assert_eq!(read??, ["one", "t", "", "three", "four"]);
        Ok(())
    }
}
