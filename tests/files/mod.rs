//! A file server that imitates object stores and plain web servers: a test decides each answer, and the requests are
//! recorded.
#![allow(dead_code)]

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};

/// A request.
#[derive(Debug, Clone)]
pub struct Asked {
    pub path: String,
    pub headers: String,
}

impl Asked {
    /// The value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let line = self
            .headers
            .lines()
            .find(|line| line.split(':').next().is_some_and(|known| known.eq_ignore_ascii_case(name)))?;
        line.split_once(':').map(|(_, value)| value.trim())
    }

    /// The byte range that the request asks for, of a file of `size` bytes.
    pub fn range(&self, size: u64) -> Option<Range<u64>> {
        let (first, last) = self.header("range")?.strip_prefix("bytes=")?.split_once('-')?;
        Some(first.parse().ok()?..(last.parse::<u64>().ok()? + 1).min(size))
    }
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
        match asked.range(size) {
            None => Answered::new(200, &of_all, content),
            Some(range) if range.start >= size => Answered::new(416, "", ""),
            Some(Range { start, end }) => {
                let headers = format!("{of_all}content-range: bytes {start}-{}/{size}\r\n", end - 1);
                Answered::new(206, &headers, &content[start as usize..end as usize])
            }
        }
    }

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
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let server = Server { host: listener.local_addr()?.to_string(), asked: Arc::default() };
        let (asked, answer) = (Arc::clone(&server.asked), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (asked, answer) = (Arc::clone(&asked), Arc::clone(&answer));
                std::thread::spawn(move || serve(stream, &asked, &*answer));
            }
        });
        Ok(server)
    }

    /// All requests so far.
    pub fn asked(&self) -> MutexGuard<'_, Vec<Asked>> {
        self.asked.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

fn serve(stream: TcpStream, asked: &Mutex<Vec<Asked>>, answer: &dyn Fn(usize, &Asked) -> Answered) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut stream = stream;
    loop {
        let mut first = String::new();
        match reader.read_line(&mut first) {
            Ok(0) => return None,
            Ok(_) => {}
            // The answer that servers without TLS give to a TLS handshake.
            Err(_) => return stream.write_all(b"HTTP/1.1 400 -\r\n\r\n").ok(),
        }
        let mut headers = String::new();
        while reader.read_line(&mut headers).ok()? > 2 {}
        let request = Asked { path: first.split(' ').nth(1)?.to_owned(), headers };
        let count = {
            let mut asked = asked.lock().ok()?;
            asked.push(request.clone());
            asked.len() - 1
        };
        let Answered { status, headers, body, cut } = answer(count, &request);
        let length = if headers.contains("transfer-encoding") {
            String::new()
        } else {
            format!("content-length: {}\r\n", body.len())
        };
        stream.write_all(format!("HTTP/1.1 {status} -\r\n{length}{headers}\r\n").as_bytes()).ok()?;
        stream.write_all(&body[..cut.unwrap_or(body.len())]).ok()?;
        if cut.is_some() {
            return stream.shutdown(std::net::Shutdown::Both).ok();
        }
    }
}
