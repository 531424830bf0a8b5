//! The bot within `oomdoc serve`: after being killed and restarted, it answers every event it had acknowledged.
#![cfg(feature = "server")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::forges::{Job, OOM, Outcome, SECRET, World, signature, workflow_job};

/// How long to wait before a run counts as hung; far more than a slow machine needs.
const HANGS: Duration = Duration::from_secs(300);

struct Served {
    child: Child,
    address: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn oomdoc(home: &Path, config: &Path) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("oomdoc"));
    command.arg("--config").arg(config).env("OOMDOC_HOME", home);
    command
}

fn serve(home: &Path, config: &Path) -> Outcome<Served> {
    let mut command = oomdoc(home, config);
    let mut child =
        command.args(["serve", "--listen", "127.0.0.1:0"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
    let address = line.trim().rsplit_once("http://").ok_or(format!("it said {line:?}"))?.1.to_owned();
    Ok(Served { child, address })
}

impl Served {
    /// The status and body of an answer; none where the server is gone.
    fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> Outcome<(u16, String)> {
        let mut stream = TcpStream::connect(&self.address)?;
        let (host, length) = (&self.address, body.len());
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or("no answer")?;
        Ok((status, answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default()))
    }

    fn hook(&self, secret: &str, number: u64, conclusion: &str) -> Outcome<u16> {
        let body = workflow_job(number, conclusion).to_string();
        let signature = signature(secret, body.as_bytes());
        let headers = format!(
            "x-github-event: workflow_job\r\nx-github-delivery: {number}\r\nx-hub-signature-256: {signature}\r\n"
        );
        Ok(self.ask("POST", "/hooks/github", &headers, &body)?.0)
    }
}

#[test]
fn a_hook_that_was_acknowledged_is_answered_once_whenever_the_server_is_killed() -> Outcome {
    let world = World::new()?;
    let folder = tempfile::tempdir()?;
    let (home, config) = (folder.path().join("home"), folder.path().join("oomdoc.toml"));
    let (secret, token) = (folder.path().join("secret"), folder.path().join("token"));
    std::fs::write(&secret, SECRET)?;
    std::fs::write(&token, "token-of-ours")?;
    let bot = format!(
        "[serve.bot.github]\nsecrets = [{{ file = {secret:?} }}]\nlogin.token.file = {token:?}\napi = {:?}\n",
        world.forge
    );
    std::fs::write(&config, bot)?;
    let made = oomdoc(&home, &config).args(["serve", "token", "create", "ann", "--scope", "admin"]).output()?;
    let admin = format!("authorization: Bearer {}\r\n", String::from_utf8(made.stdout)?.trim());
    let jobs = 100..106;
    for number in jobs.clone() {
        let log = OOM.replace("10:00", &format!("1{}:00", number - 100));
        world.job(number, Job { name: "train", ..Job::failed(&log) });
    }
    let mut server = serve(&home, &config)?;
    assert_eq!(server.hook("another secret", 100, "failure")?, 401);
    for (place, number) in jobs.clone().enumerate() {
        assert!(matches!(server.hook(SECRET, number, "failure")?, 202 | 204));
        // Kills the server at a different moment each time.
        std::thread::sleep(Duration::from_millis(40 * place as u64));
        drop(server);
        server = serve(&home, &config)?;
        assert_eq!(server.hook(SECRET, number, "failure")?, 204, "it knows what it acknowledged");
    }
    // The event of a job that does not exist becomes a dead letter.
    assert_eq!(server.hook(SECRET, 90, "failure")?, 202);
    let begun = Instant::now();
    let letters = loop {
        let (status, body) = server.ask("GET", "/api/v1/dead", &admin, "")?;
        assert_eq!(status, 200, "{body}");
        let letters: Value = serde_json::from_str(&body)?;
        let is_done = letters.as_array().is_some_and(|letters| letters.len() == 1)
            && world.comments().iter().any(|comment| comment.contains("/job/105"));
        if is_done {
            break letters;
        }
        assert!(begun.elapsed() < HANGS, "{letters} {:?}", world.comments());
        std::thread::sleep(Duration::from_millis(100));
    };
    assert_eq!(world.comments().len(), 1, "{:?}", world.comments());
    assert!(letters[0]["error"].as_str().is_some_and(|error| error.contains("404")), "{letters}");
    assert_eq!(server.ask("GET", "/api/v1/dead", "", "")?.0, 401, "letters are for who may see them");
    let id = letters[0]["id"].as_str().ok_or("no id")?;
    world.job(90, Job::passed());
    assert_eq!(server.ask("POST", &format!("/api/v1/dead/{id}/retry"), &admin, "")?.0, 202);
    assert_eq!(server.ask("POST", "/api/v1/dead/none/retry", &admin, "")?.0, 404);
    Ok(())
}
