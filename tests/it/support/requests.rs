//! What the servers of tests share: connections, requests and answers.

use std::io::{self, BufRead, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

/// A request.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    /// Path and query; of a proxy, whom it shall connect to.
    pub path: String,
    pub headers: String,
    pub body: Vec<u8>,
}

impl Request {
    /// The next one of a connection; `None` at its end.
    pub fn read(connection: &mut impl BufRead) -> io::Result<Option<Request>> {
        let (mut first, mut headers) = (String::new(), String::new());
        connection.read_line(&mut first)?;
        let mut words = first.split_whitespace().map(str::to_owned);
        let Some((method, path)) = words.next().zip(words.next()) else { return Ok(None) };
        while connection.read_line(&mut headers)? > 2 {}
        let mut request = Request { method, path, headers, body: Vec::new() };
        let length = request.header("content-length").and_then(|length| length.parse().ok()).unwrap_or_default();
        request.body.resize(length, 0);
        connection.read_exact(&mut request.body)?;
        Ok(Some(request))
    }

    /// The value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.lines().filter_map(|line| line.split_once(':'));
        headers.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }

    /// What forges are shown of who asks.
    #[allow(dead_code)]
    pub fn credentials(&self) -> &str {
        self.header("authorization").or(self.header("private-token")).unwrap_or_default()
    }
}

/// Has each connection to a port of its own served by `serve`, in a thread; ends with the process. Its host and port.
pub fn listen<T>(serve: impl Fn(TcpStream) -> T + Send + Sync + 'static) -> io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let host = listener.local_addr()?.to_string();
    let serve = Arc::new(serve);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = Arc::clone(&serve);
            std::thread::spawn(move || {
                serve(stream);
            });
        }
    });
    Ok(host)
}

/// Begins an answer with `body`, whose bytes come next.
pub fn begin(stream: &mut impl Write, status: u16, headers: &str, body: &[u8]) -> io::Result<()> {
    let length = match headers.contains("transfer-encoding") {
        true => String::new(),
        false => format!("content-length: {}\r\n", body.len()),
    };
    stream.write_all(format!("HTTP/1.1 {status} -\r\n{length}{headers}\r\n").as_bytes())
}
