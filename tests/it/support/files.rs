//! A file server that imitates object stores and plain web servers: a test decides each answer, and the requests are
//! recorded.

use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};

pub use super::requests::Request as Asked;

use super::requests;

/// The part that `asked` is for of `size` bytes.
pub fn range(asked: &Asked, size: u64) -> Option<Range<u64>> {
    let (first, last) = asked.header("range")?.strip_prefix("bytes=")?.split_once('-')?;
    Some(first.parse().ok()?..(last.parse::<u64>().ok()? + 1).min(size))
}

/// An answer.
pub struct Answered {
    pub status: u16,
    pub headers: String,
    pub body: Vec<u8>,
    /// The connection ends after this many bytes of the body.
    pub cut: Option<usize>,
}

impl Answered {
    pub fn new(status: u16, headers: &str, body: impl Into<Vec<u8>>) -> Answered {
        Answered { status, headers: headers.to_owned(), body: body.into(), cut: None }
    }

    /// The answer of a store that holds `content` with the ETag `tag`.
    pub fn of(asked: &Asked, content: &[u8], tag: &str) -> Answered {
        let size = content.len() as u64;
        let of_all = format!("etag: {tag}\r\nlast-modified: Tue, 24 Nov 2026 10:00:00 GMT\r\n");
        if asked.header("if-match").is_some_and(|wanted| wanted != tag) {
            return Answered::new(412, "", "");
        }
        match range(asked, size) {
            None => Answered::new(200, &of_all, content),
            Some(range) if range.start >= size => Answered::new(416, "", ""),
            Some(Range { start, end }) => {
                let headers = format!("{of_all}content-range: bytes {start}-{}/{size}\r\n", end - 1);
                Answered::new(206, &headers, &content[start as usize..end as usize])
            }
        }
    }

    #[allow(dead_code)]
    pub fn cut(self, behind: usize) -> Answered {
        Answered { cut: Some(behind), ..self }
    }
}

/// A server that runs until the process ends.
pub struct Server {
    /// `127.0.0.1` and a port.
    pub host: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    /// Starts a server that answers with `answer`, which is given the number of earlier requests.
    pub fn start(answer: impl Fn(usize, &Asked) -> Answered + Send + Sync + 'static) -> std::io::Result<Server> {
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let all = Arc::clone(&asked);
        let host = requests::listen(move |stream| serve(stream, &all, &answer))?;
        Ok(Server { host, asked })
    }

    /// All requests so far.
    pub fn asked(&self) -> MutexGuard<'_, Vec<Asked>> {
        self.asked.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

fn serve(mut stream: TcpStream, all: &Mutex<Vec<Asked>>, answer: &dyn Fn(usize, &Asked) -> Answered) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    loop {
        // As servers answer to TLS where they speak none.
        let Ok(asked) = Asked::read(&mut reader) else { return stream.write_all(b"HTTP/1.1 400 -\r\n\r\n").ok() };
        let asked = asked?;
        let count = {
            let mut all = all.lock().ok()?;
            all.push(asked.clone());
            all.len() - 1
        };
        let Answered { status, headers, body, cut } = answer(count, &asked);
        requests::begin(&mut stream, status, &headers, &body).ok()?;
        stream.write_all(&body[..cut.unwrap_or(body.len())]).ok()?;
        if cut.is_some() {
            return stream.shutdown(std::net::Shutdown::Both).ok();
        }
    }
}
