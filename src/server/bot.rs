//! The bot within the server: its webhooks, its workers, and what it could not do.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{DefaultBodyLimit, Extension, Path};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::routing::{MethodRouter, get, post};
use axum::{Json, Router};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::Semaphore;

use super::access::Scope;
use super::keeper::KeeperError;
use super::problem::Problem;
use super::routes::{About, Answered, Route, Sent, describe};
use super::state::Server;
use crate::bot::{Act, Bot, ForgeName, LONGEST_EVENT, Moment, QueueError, Receipt, Refusal, Services, Work};
use crate::history::{self, HistoryError, Likeness, Outcome, Record};
use crate::knowledge::{Knowledge, Language};
use crate::model::Report;
use crate::redact::Redactor;
use crate::source::Input;

/// Events that are read at a time, each within this.
const READERS: usize = 4;
const WHOLE: Duration = Duration::from_secs(30);
/// Threads that answer: a long log holds up no comment.
const WORKERS: usize = 2;

/// The bot, where one is set up.
#[derive(Clone)]
pub struct Answering(Option<Arc<Bot>>);

/// The bot's threads, until it is stopped. Whoever ends the process need not wait for them: what they were at is in the store.
pub struct Workers {
    answering: Answering,
    stop: Arc<AtomicBool>,
}

impl Workers {
    /// Sets up the bot that the server's configuration asks for.
    pub fn start(server: &Arc<Server>) -> std::io::Result<Workers> {
        let bot = server.config.bot.clone();
        let bot = bot.map(|config| Arc::new(Bot::new(config, Arc::new(Hands(Arc::clone(server))))));
        let stop = Arc::new(AtomicBool::new(false));
        for bot in bot.iter().flat_map(|bot| std::iter::repeat_n(bot, WORKERS)) {
            let (bot, stop) = (Arc::clone(bot), Arc::clone(&stop));
            std::thread::Builder::new().name("bot".to_owned()).spawn(move || bot.work(&stop))?;
        }
        Ok(Workers { answering: Answering(bot), stop })
    }

    /// `router`, whose requests know of the bot.
    pub fn known_to(&self, router: Router) -> Router {
        router.layer(Extension(self.answering.clone()))
    }

    /// Has it begin nothing more.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.answering.0.iter().for_each(|bot| bot.ring());
    }
}

impl Answering {
    /// What `act` makes of the bot, on a thread that may wait.
    async fn ask<T: Send + 'static>(self, act: impl FnOnce(&Bot) -> T + Send + 'static) -> Result<T, Problem> {
        let none = || Problem::not_found("no bot is set up here").advised("docs/bot.md says how it is set up");
        let bot = self.0.ok_or_else(none)?;
        tokio::task::spawn_blocking(move || act(&bot)).await.map_err(|error| Problem::internal(&error))
    }
}

/// Its addresses.
pub fn routes() -> Vec<Route> {
    let hook = |path, to: MethodRouter<Arc<Server>>| {
        // Forges have no token of ours: they sign.
        let to = to.layer(DefaultBodyLimit::max(LONGEST_EVENT));
        Route { path, method: Method::POST, need: None, about: None, to }
    };
    let dead = |path, method, summary, answer, to| Route {
        path,
        method,
        need: Some(Scope::Admin),
        about: Some(About { summary, query: None, body: Sent::Nothing, answer }),
        to,
    };
    vec![
        hook("/hooks/github", post(github)),
        hook("/hooks/gitlab", post(gitlab)),
        dead(
            "/api/v1/dead",
            Method::GET,
            "What the bot could not do",
            Answered::Json(describe::<Vec<Letter>>),
            get(letters),
        ),
        dead(
            "/api/v1/dead/{id}/retry",
            Method::POST,
            "Have the bot try again what it could not do",
            Answered::Nothing,
            post(retry),
        ),
    ]
}

async fn github(answering: Extension<Answering>, headers: HeaderMap, body: Body) -> Result<StatusCode, Problem> {
    receive(ForgeName::GitHub, answering.0, headers, body).await
}

async fn gitlab(answering: Extension<Answering>, headers: HeaderMap, body: Body) -> Result<StatusCode, Problem> {
    receive(ForgeName::GitLab, answering.0, headers, body).await
}

async fn receive(
    forge: ForgeName,
    answering: Answering,
    headers: HeaderMap,
    body: Body,
) -> Result<StatusCode, Problem> {
    // Nobody knows yet who sends it: little of it is held, and nothing where nobody listens.
    static EVENTS: Semaphore = Semaphore::const_new(READERS);
    let signed = match forge {
        ForgeName::GitHub => "x-hub-signature-256",
        ForgeName::GitLab => "x-gitlab-token",
    };
    if answering.0.is_some() && !headers.contains_key(signed) {
        return Err(Problem::unauthorized("the event is not signed"));
    }
    let body = match answering.0 {
        Some(_) => {
            let _leave = EVENTS.acquire().await.map_err(|error| Problem::internal(&error))?;
            let read =
                tokio::time::timeout(WHOLE, to_bytes(body, LONGEST_EVENT)).await.map_err(|_| Problem::too_slow())?;
            read.map_err(|_| Problem::too_large(format!("an event may have {LONGEST_EVENT} bytes")))?
        }
        None => Bytes::new(),
    };
    match answering.ask(move |bot| bot.receive(forge, &headers, &body)).await? {
        Ok(Receipt::Taken(1..)) => Ok(StatusCode::ACCEPTED),
        Ok(Receipt::Taken(0) | Receipt::Known | Receipt::Pong) => Ok(StatusCode::NO_CONTENT),
        Err(refusal) => Err(refusal.into()),
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Problem {
        let words = refusal.to_string();
        match refusal {
            Refusal::NotSetUp(_) => Problem::not_found(words),
            Refusal::NotAllowed => Problem::unauthorized(words).advised("the webhook's secret is in `serve.*.secrets`"),
            Refusal::Malformed(_) => Problem::bad_request(words),
            Refusal::TooLong => Problem::too_large(words),
            Refusal::Lacks(_) => Problem::unprocessable(words),
            // What is not kept is not acknowledged; why is nobody else's business.
            Refusal::NotKept(_) | Refusal::Secret(_) => {
                tracing::error!(error = words, "an event was not taken");
                Problem::unavailable("the event was not taken")
            }
        }
    }
}

/// What could not be done.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Letter {
    /// By what it is tried again.
    pub id: String,
    /// The project.
    pub project: String,
    /// What it is about: `job 123`, `comment 5`.
    pub about: String,
    /// When it came, RFC 3339.
    pub since: String,
    /// How often it was tried.
    pub attempts: u32,
    /// Why it could not be done.
    pub error: Option<String>,
}

impl Letter {
    fn of(work: Work) -> Letter {
        let since = jiff::Timestamp::from_millisecond(work.enqueued).unwrap_or_default();
        Letter {
            id: work.id(),
            about: work.about(),
            project: format!("{} {}", work.project.forge, work.project.title),
            since: since.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            attempts: work.attempts,
            error: work.error,
        }
    }
}

/// What it could not do.
pub async fn letters(Extension(answering): Extension<Answering>) -> Result<Json<Vec<Letter>>, Problem> {
    let dead = answering.ask(Bot::dead).await?.map_err(|error| Problem::unavailable(error.to_string()))?;
    Ok(Json(dead.into_iter().map(Letter::of).collect()))
}

/// Has it try again what it could not do.
pub async fn retry(Extension(answering): Extension<Answering>, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    let is_id = id.len() == 24 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let asked = id.clone();
    let is_there = is_id
        && answering
            .ask(move |bot| bot.retry(&asked))
            .await?
            .map_err(|error| Problem::unavailable(error.to_string()))?;
    match is_there {
        true => Ok(StatusCode::ACCEPTED),
        false => Err(Problem::not_found(format!("there is no dead letter `{id}`"))),
    }
}

/// What the bot does with the server.
struct Hands(Arc<Server>);

impl Hands {
    fn history<T: Send + 'static>(
        &self,
        act: impl FnOnce(&mut crate::store::DiskStore) -> Result<T, HistoryError> + Send + 'static,
    ) -> Result<T, HistoryError> {
        self.0.keeper.wait(act).map_err(KeeperError::into_history)?
    }
}

impl Services for Hands {
    fn now(&self) -> Moment {
        jiff::Timestamp::now().as_millisecond()
    }

    fn language(&self) -> Language {
        self.0.config.language
    }

    fn with_store(&self, act: Act) -> Result<(), QueueError> {
        self.0.keeper.wait(move |store| act(store)).map_err(|error| match error {
            KeeperError::Stopped => QueueError::Closed,
            error => QueueError::Unavailable(error.to_string()),
        })
    }

    fn analyze(&self, log: Input<'static>) -> Result<Vec<Report>, crate::Error> {
        let named = [log.path.to_string()];
        crate::analyze_inputs_by_job(vec![log], Vec::new(), &named, &self.0.options(self.language()))
    }

    fn keep(&self, record: Record) -> Result<(), HistoryError> {
        self.history(move |store| history::add(store, &[record]).map(drop))
    }

    fn similar(&self, record: &Record, most: usize) -> Result<Vec<Likeness>, HistoryError> {
        Ok(history::ask_similar(&self.0.home, record, most)?.found)
    }

    fn resolve(&self, outcome: Outcome) -> Result<(), HistoryError> {
        self.history(move |store| history::resolve(store, &outcome))
    }

    fn knowledge(&self) -> &Knowledge {
        &self.0.rules.knowledge
    }

    fn redactor(&self) -> &Redactor {
        &self.0.redactor
    }
}
