//! A small HTTP client for JSON that retries.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use thiserror::Error;
use ureq::http::{Method, Request, Response};
use ureq::tls::TlsConfig;
use ureq::{Agent, AsSendBody, Body};

use super::proxies::Proxies;
use super::trust;

/// How long one request may take before it is retried.
const TIMEOUT: Duration = Duration::from_secs(20);
/// The longest answer in bytes.
const LONGEST_ANSWER: u64 = 32 << 20;

/// How often a request is tried, and how long to wait in between.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// Attempts in all, at least one.
    pub attempts: u32,
    /// The wait after the first failure; it doubles each time.
    pub first_wait: Duration,
    /// The longest wait, whatever the server asks for: a job pays for each minute.
    pub longest_wait: Duration,
    /// The longest time for all failed attempts and waits of a client together.
    pub in_all: Duration,
}

impl Default for Patience {
    fn default() -> Patience {
        let longest_wait = Duration::from_secs(60);
        Patience { attempts: 5, first_wait: Duration::from_secs(1), longest_wait, in_all: longest_wait }
    }
}

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HttpError {
    /// The token may not do this: it is a fork's, has expired, or does not see the repository.
    #[error("not allowed: status {0}")]
    NotAllowed(u16),
    /// The server refused for another reason.
    #[error("refused: status {0}")]
    Refused(u16),
    /// The server failed or could not be reached.
    #[error("{0}")]
    Unavailable(String),
    /// The server is busy and says how long to wait.
    #[error("status {status}, and asks to wait {} s", .after.as_secs())]
    Busy {
        /// The status.
        status: u16,
        /// How long it asks to wait.
        after: Duration,
    },
    /// The certificate authorities cannot be read.
    #[error("the certificates in {path} cannot be used: {problem}")]
    Certificates {
        /// Their file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The variable of this name holds no proxy that can be used.
    #[error("the proxy in {0} cannot be used: name it as http://host:port")]
    Proxy(&'static str),
    /// The answer is not what the interface promises.
    #[error("the answer makes no sense: {0}")]
    Answer(String),
}

/// The result of one attempt.
pub(super) enum Attempt {
    Done(Value),
    Again(HttpError, Option<Duration>),
    Failed(HttpError),
}

/// A client that speaks JSON with one server.
#[derive(Debug)]
pub struct Client {
    pub(super) agent: Agent,
    pub(super) proxies: Proxies,
    pub(super) headers: Vec<(&'static str, String)>,
    patience: Patience,
    /// What is left of [`Patience::in_all`].
    left: Cell<Duration>,
}

impl Client {
    /// A client that sends `headers` with every request and also trusts the authorities in the file `also`. Redirects
    /// are not followed, as they could carry a token elsewhere.
    pub fn new(
        headers: Vec<(&'static str, String)>,
        patience: Patience,
        also: Option<&Path>,
    ) -> Result<Client, HttpError> {
        let trust = TlsConfig::builder().root_certs(trust::roots(also)?).build();
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            // Each request has its own.
            .proxy(None)
            .tls_config(trust)
            .user_agent(concat!("oomdoc/", env!("CARGO_PKG_VERSION")));
        let (agent, proxies) = (config.build().into(), Proxies::of_process());
        Ok(Client { agent, proxies, headers, patience, left: Cell::new(patience.in_all) })
    }

    /// How requests are retried.
    pub fn patience(&self) -> Patience {
        self.patience
    }

    /// Sends a request and retries it; for requests that may be repeated.
    pub fn send(&self, method: &Method, url: &str, body: Option<&Value>) -> Result<Value, HttpError> {
        let mut wait = self.patience.first_wait;
        for attempt in 1.. {
            let (error, asked) = match self.attempt(method, url, body) {
                Attempt::Done(answer) => return Ok(answer),
                Attempt::Failed(error) => return Err(error),
                Attempt::Again(error, asked) => (error, asked),
            };
            if attempt >= self.patience.attempts || self.left.get().is_zero() {
                return Err(error);
            }
            self.wait(asked.unwrap_or(wait));
            wait *= 2;
        }
        Err(HttpError::Unavailable("not asked".to_owned()))
    }

    /// Sends a request once; for requests that must not be repeated. After a temporary failure it waits, so that the
    /// caller may look and try again.
    pub fn send_once(&self, method: &Method, url: &str, body: Option<&Value>) -> Result<Value, HttpError> {
        match self.attempt(method, url, body) {
            Attempt::Done(answer) => Ok(answer),
            Attempt::Failed(error) => Err(error),
            Attempt::Again(error, asked) => {
                self.wait(asked.unwrap_or(self.patience.first_wait));
                Err(error)
            }
        }
    }

    fn wait(&self, long: Duration) {
        let long = long.min(self.patience.longest_wait).min(self.left.get());
        self.left.set(self.left.get() - long);
        std::thread::sleep(long);
    }

    fn attempt(&self, method: &Method, url: &str, body: Option<&Value>) -> Attempt {
        let begun = Instant::now();
        let attempt = self.ask(method, url, body);
        if matches!(attempt, Attempt::Again(..)) {
            self.left.set(self.left.get().saturating_sub(begun.elapsed()));
        }
        attempt
    }

    fn ask(&self, method: &Method, url: &str, body: Option<&Value>) -> Attempt {
        let mut request = Request::builder().method(method).uri(url).header("content-type", "application/json");
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        let answer = match body {
            Some(body) => request.body(body.to_string()).map(|request| self.run(request)),
            None => request.body(()).map(|request| self.run(request)),
        };
        // A URL may contain a secret and is not quoted.
        answer.unwrap_or_else(|_| Attempt::Failed(HttpError::Unavailable("this is no address".to_owned())))
    }

    fn run(&self, request: Request<impl AsSendBody>) -> Attempt {
        let proxy = match self.proxies.of(request.uri()) {
            Ok(proxy) => proxy,
            Err(error) => return Attempt::Failed(error),
        };
        // A timeout of zero would mean none.
        let timeout = TIMEOUT.min(self.left.get()).max(Duration::from_millis(1));
        let request = self.agent.configure_request(request).proxy(proxy).timeout_global(Some(timeout));
        match self.agent.run(request.build()) {
            Ok(response) => judge(response),
            Err(error) => Attempt::Again(HttpError::Unavailable(error.to_string()), None),
        }
    }
}

pub(super) fn judge(mut response: Response<Body>) -> Attempt {
    let status = response.status().as_u16();
    let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let retry_after = header("retry-after").and_then(|seconds| seconds.trim().parse().ok()).map(Duration::from_secs);
    let is_spent = header("x-ratelimit-remaining").is_some_and(|left| left.trim() == "0");
    let reset = header("x-ratelimit-reset").filter(|_| is_spent).and_then(|seconds| seconds.trim().parse().ok());
    let asked = retry_after.or_else(|| reset.map(until));
    let text = response.body_mut().with_config().limit(LONGEST_ANSWER).read_to_string();
    // GitHub answers 403 both for a rate limit and for lack of rights.
    let is_limit = status == 429 || status == 403 && (retry_after.is_some() || is_spent);
    match (status, text) {
        // Chats answer with a plain word.
        (200..=299, Ok(text)) => Attempt::Done(serde_json::from_str(&text).unwrap_or(Value::String(text))),
        (200..=299, Err(error)) => Attempt::Again(HttpError::Unavailable(error.to_string()), None),
        _ if is_limit || matches!(status, 408 | 500..=599) => {
            let error = match asked {
                Some(after) => HttpError::Busy { status, after },
                None => HttpError::Unavailable(format!("status {status}")),
            };
            Attempt::Again(error, asked)
        }
        (401 | 403 | 404, _) => Attempt::Failed(HttpError::NotAllowed(status)),
        _ => Attempt::Failed(HttpError::Refused(status)),
    }
}

/// The time until `moment`, in seconds since 1970.
fn until(moment: u64) -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Duration::from_secs(moment).saturating_sub(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dead_server_is_waited_for_so_long_in_all() -> Result<(), Box<dyn std::error::Error>> {
        // A server that accepts connections and never answers.
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        let address = format!("http://{}/", listener.local_addr()?);
        std::thread::spawn(move || listener.incoming().collect::<Vec<_>>());
        let (first_wait, in_all) = (Duration::from_millis(1), Duration::from_millis(700));
        let patience = Patience { attempts: 100, first_wait, in_all, ..Patience::default() };
        let (answered, answers) = std::sync::mpsc::channel();
        std::thread::spawn(move || -> Result<(), HttpError> {
            let client = Client::new(Vec::new(), patience, None)?;
            (0..5).for_each(|_| drop(answered.send(client.send(&Method::GET, &address, None).map(drop))));
            Ok(())
        });
        for _ in 0..5 {
            // A hundred attempts would take half an hour, so only the bound of 700 ms can end this in time.
            let asked = answers.recv_timeout(Duration::from_secs(600))?;
            assert!(matches!(asked, Err(HttpError::Unavailable(_))), "{asked:?}");
        }
        Ok(())
    }
}
