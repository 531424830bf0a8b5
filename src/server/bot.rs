//! The bot within the server: webhooks in, work for the bot's threads out, and an interface for the work that failed.

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
use super::routes::{Description, RequestBody, ResponseBody, Route, describe};
use super::state::Server;
use crate::bot::{Bot, ForgeName, LONGEST_EVENT, Moment, QueueError, Receipt, Refusal, Services, StoreAction, Work};
use crate::history::{self, HistoryError, Likeness, Outcome, Record};
use crate::knowledge::{Knowledge, Language};
use crate::model::Report;
use crate::redact::Redactor;
use crate::source::Input;

/// At most this many webhook bodies are read at a time, each within `WHOLE`.
const READERS: usize = 4;
const WHOLE: Duration = Duration::from_secs(30);
/// Threads that do the bot's work: while one reads a long log, another answers comments.
const WORKERS: usize = 2;

/// The bot, if one is configured.
#[derive(Clone)]
pub struct BotHandle(Option<Arc<Bot>>);

/// The bot's threads, until they are stopped. The process may end without waiting for them: unfinished work stays in
/// the store.
pub struct BotWorkers {
    bot: BotHandle,
    stop: Arc<AtomicBool>,
}

impl BotWorkers {
    /// Starts the threads of the bot that the configuration describes, if any.
    pub fn start(server: &Arc<Server>) -> std::io::Result<BotWorkers> {
        let bot = server.config.bot.clone();
        let bot = bot.map(|config| Arc::new(Bot::new(config, Arc::new(ServerServices(Arc::clone(server))))));
        let stop = Arc::new(AtomicBool::new(false));
        for bot in bot.iter().flat_map(|bot| std::iter::repeat_n(bot, WORKERS)) {
            let (bot, stop) = (Arc::clone(bot), Arc::clone(&stop));
            std::thread::Builder::new().name("bot".to_owned()).spawn(move || bot.work(&stop))?;
        }
        Ok(BotWorkers { bot: BotHandle(bot), stop })
    }

    /// Gives the handlers of `router` access to the bot.
    pub fn known_to(&self, router: Router) -> Router {
        router.layer(Extension(self.bot.clone()))
    }

    /// Makes the threads end once they have finished what they are doing.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.bot.0.iter().for_each(|bot| bot.ring());
    }
}

impl BotHandle {
    /// Runs `act` on the bot, on a thread where blocking is allowed.
    async fn ask<T: Send + 'static>(self, act: impl FnOnce(&Bot) -> T + Send + 'static) -> Result<T, Problem> {
        let none = || Problem::not_found("no bot is set up here").advised("docs/bot.md says how it is set up");
        let bot = self.0.ok_or_else(none)?;
        tokio::task::spawn_blocking(move || act(&bot)).await.map_err(|error| Problem::internal(&error))
    }
}

/// The webhooks, and the routes for failed work.
pub fn routes() -> Vec<Route> {
    let hook = |path, to: MethodRouter<Arc<Server>>| {
        // Forges have no token of this server; they sign their events instead.
        let to = to.layer(DefaultBodyLimit::max(LONGEST_EVENT));
        Route { path, method: Method::POST, need: None, about: None, to }
    };
    let dead = |path, method, summary, answer, to| Route {
        path,
        method,
        need: Some(Scope::Admin),
        about: Some(Description { summary, query: None, body: RequestBody::Nothing, answer }),
        to,
    };
    vec![
        hook("/hooks/github", post(github)),
        hook("/hooks/gitlab", post(gitlab)),
        dead(
            "/api/v1/dead",
            Method::GET,
            "What the bot could not do",
            ResponseBody::Json(describe::<Vec<Letter>>),
            get(letters),
        ),
        dead(
            "/api/v1/dead/{id}/retry",
            Method::POST,
            "Have the bot try again what it could not do",
            ResponseBody::Nothing,
            post(retry),
        ),
    ]
}

async fn github(bot: Extension<BotHandle>, headers: HeaderMap, body: Body) -> Result<StatusCode, Problem> {
    receive(ForgeName::GitHub, bot.0, headers, body).await
}

async fn gitlab(bot: Extension<BotHandle>, headers: HeaderMap, body: Body) -> Result<StatusCode, Problem> {
    receive(ForgeName::GitLab, bot.0, headers, body).await
}

async fn receive(forge: ForgeName, bot: BotHandle, headers: HeaderMap, body: Body) -> Result<StatusCode, Problem> {
    // The sender is not known yet: hold few bodies in memory, and none where no bot is configured.
    static EVENTS: Semaphore = Semaphore::const_new(READERS);
    let signed = match forge {
        ForgeName::GitHub => "x-hub-signature-256",
        ForgeName::GitLab => "x-gitlab-token",
    };
    if bot.0.is_some() && !headers.contains_key(signed) {
        return Err(Problem::unauthorized("the event is not signed"));
    }
    let body = match bot.0 {
        Some(_) => {
            let _leave = EVENTS.acquire().await.map_err(|error| Problem::internal(&error))?;
            let read =
                tokio::time::timeout(WHOLE, to_bytes(body, LONGEST_EVENT)).await.map_err(|_| Problem::too_slow())?;
            read.map_err(|_| Problem::too_large(format!("an event may have {LONGEST_EVENT} bytes")))?
        }
        None => Bytes::new(),
    };
    match bot.ask(move |bot| bot.receive(forge, &headers, &body)).await? {
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
            // Not kept, so not acknowledged. The reason goes to the log and not to a stranger.
            Refusal::NotKept(_) | Refusal::Secret(_) => {
                tracing::error!(error = words, "an event was not taken");
                Problem::unavailable("the event was not taken")
            }
        }
    }
}

/// Work that the bot gave up.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Letter {
    /// The id by which it can be tried again.
    pub id: String,
    /// The project.
    pub project: String,
    /// What it is about: `job 123`, `comment 5`.
    pub about: String,
    /// When the event arrived, RFC 3339.
    pub since: String,
    /// How often it was tried.
    pub attempts: u32,
    /// Why it failed the last time.
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

/// Work that the bot gave up.
pub async fn letters(Extension(bot): Extension<BotHandle>) -> Result<Json<Vec<Letter>>, Problem> {
    let dead = bot.ask(Bot::dead).await?.map_err(|error| Problem::unavailable(error.to_string()))?;
    Ok(Json(dead.into_iter().map(Letter::of).collect()))
}

/// Makes the bot try again work that it gave up.
pub async fn retry(Extension(bot): Extension<BotHandle>, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    let is_id = id.len() == 24 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let asked = id.clone();
    let is_there = is_id
        && bot.ask(move |bot| bot.retry(&asked)).await?.map_err(|error| Problem::unavailable(error.to_string()))?;
    match is_there {
        true => Ok(StatusCode::ACCEPTED),
        false => Err(Problem::not_found(format!("there is no dead letter `{id}`"))),
    }
}

/// What the bot uses of the server.
struct ServerServices(Arc<Server>);

impl ServerServices {
    fn history<T: Send + 'static>(
        &self,
        act: impl FnOnce(&mut crate::store::DiskStore) -> Result<T, HistoryError> + Send + 'static,
    ) -> Result<T, HistoryError> {
        self.0.keeper.wait(act).map_err(KeeperError::into_history)?
    }
}

impl Services for ServerServices {
    fn now(&self) -> Moment {
        jiff::Timestamp::now().as_millisecond()
    }

    fn language(&self) -> Language {
        self.0.config.language
    }

    fn with_store(&self, act: StoreAction) -> Result<(), QueueError> {
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
