//! `oomdoc serve` on a free port, and a client.

use std::error::Error;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

pub type Outcome = Result<(), Box<dyn Error>>;

/// How long to wait before a run counts as hung; far more than a slow machine needs.
pub const HANGS: Duration = Duration::from_secs(300);

/// A server process. Dropping it kills the process.
pub struct Served {
    pub child: Child,
    pub address: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn oomdoc(home: &Path) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("oomdoc"));
    command.env("OOMDOC_HOME", home).env("OOMDOC_NO_CONFIG", "1");
    command
}

/// Creates a token, as the server's operator does.
pub fn token(home: &Path, name: &str, scope: &str) -> Result<String, Box<dyn Error>> {
    let done = oomdoc(home).args(["serve", "token", "create", name, "--scope", scope]).output()?;
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Ok(String::from_utf8(done.stdout)?.trim().to_owned())
}

impl Served {
    /// Starts a server on `home` with additional `arguments`.
    pub fn start(home: &Path, arguments: &[&str]) -> Result<Served, Box<dyn Error>> {
        let mut command = oomdoc(home);
        command.args(["serve", "--listen", "127.0.0.1:0"]).args(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let out = child.stdout.take().ok_or("no output")?;
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line)?;
        let address = line.trim().rsplit_once("http://").ok_or(format!("it said {line:?}"))?.1.to_owned();
        Ok(Served { child, address })
    }

    /// Sends `request` as it is, and reads until the connection ends.
    pub fn raw(&self, request: &[u8]) -> Result<String, Box<dyn Error>> {
        let mut stream = TcpStream::connect(&self.address)?;
        stream.set_read_timeout(Some(HANGS))?;
        // A server that refuses a body answers and closes before it has read all of it.
        match stream.write_all(request) {
            Err(error) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => {}
            written => written?,
        }
        let mut answer = Vec::new();
        // A server that closes before reading everything causes an error here.
        let _ = stream.read_to_end(&mut answer);
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    /// Sends a request with `headers`, one per line, and returns the answer.
    pub fn ask(&self, method: &str, path: &str, headers: &[&str], body: &[u8]) -> Result<Answer, Box<dyn Error>> {
        let mut request =
            format!("{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
        if !headers.iter().any(|header| header.to_lowercase().starts_with("host:")) {
            request += &format!("host: {}\r\n", self.address);
        }
        headers.iter().for_each(|header| request += &format!("{header}\r\n"));
        let mut bytes = (request + "\r\n").into_bytes();
        bytes.extend_from_slice(body);
        Answer::read(&self.raw(&bytes)?)
    }

    pub fn get(&self, path: &str, token: &str) -> Result<Answer, Box<dyn Error>> {
        self.ask("GET", path, &[&format!("authorization: Bearer {token}")], b"")
    }

    pub fn post(&self, path: &str, token: &str, body: &Value) -> Result<Answer, Box<dyn Error>> {
        let headers = [&*format!("authorization: Bearer {token}"), "content-type: application/json"];
        self.ask("POST", path, &headers, body.to_string().as_bytes())
    }

    /// Analyses `log` and returns the id of its incident.
    pub fn analyze(&self, token: &str, log: &str) -> Result<String, Box<dyn Error>> {
        let headers = [&*format!("authorization: Bearer {token}")];
        let answer = self.ask("POST", "/api/v1/analyze?name=job.log", &headers, log.as_bytes())?;
        assert_eq!(answer.status, 200, "{}", answer.body);
        Ok(answer.json()?["kept"][0].as_str().ok_or("nothing was kept")?.to_owned())
    }

    /// Waits until a search finds `total` incidents.
    pub fn found(&self, token: &str, query: &str, total: u64) -> Outcome {
        let begun = Instant::now();
        loop {
            let answer = self.get(&format!("/api/v1/incidents?q={query}"), token)?.json()?;
            if answer["total"] == total {
                return Ok(());
            }
            assert!(begun.elapsed() < HANGS, "{answer}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// An answer of the server.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    fn read(answer: &str) -> Result<Answer, Box<dyn Error>> {
        let (head, body) = answer.split_once("\r\n\r\n").ok_or(format!("no answer: {answer:?}"))?;
        let status = head.split(' ').nth(1).ok_or("no status")?.parse()?;
        let mut body = body.to_owned();
        if head.to_lowercase().contains("transfer-encoding: chunked") {
            body = unchunked(&body)?;
        }
        Ok(Answer { status, head: head.to_owned(), body })
    }

    pub fn json(&self) -> Result<Value, Box<dyn Error>> {
        serde_json::from_str(&self.body).map_err(|error| format!("{error}: {}", self.body).into())
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }
}

fn unchunked(mut body: &str) -> Result<String, Box<dyn Error>> {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16)?;
        whole += rest.get(..size).ok_or("cut off")?;
        body = rest.get(size + 2..).unwrap_or_default();
    }
    Ok(whole)
}
