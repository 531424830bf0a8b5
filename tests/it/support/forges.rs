//! Local servers that imitate GitHub and GitLab, their storage and a chat; and a bot whose store and clock are under
//! the test's control.

use std::collections::{BTreeMap, VecDeque};
use std::error::Error;
use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use oomdoc::internal::bot::{
    Bot, BotConfig, Done, ForgeName, Moment, QueueError, Receipt, Refusal, Services, StoreAction,
};
use oomdoc::internal::history::{self, HistoryError, Likeness, Outcome as Told, Record};
use oomdoc::internal::knowledge::Knowledge;
use oomdoc::internal::redact::Redactor;
use oomdoc::internal::source::Input;
use oomdoc::internal::store::MemoryStore;
use oomdoc::model::Report;
use oomdoc::{Language, Options};
use serde_json::{Value, json};
use ureq::http::HeaderMap;

use super::requests::{self, Request as Asked};

pub type Outcome<T = ()> = Result<T, Box<dyn Error>>;

pub const OOM: &str = "2026-11-20T10:00:00Z torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.00 GiB is free. @everyone token hf_abcdefghijklmnopqrstuvwxyzABCDEFGH\n";
pub const ME: &str = "oomdoc[bot]";
pub const SECRET: &str = "the secret of the hook";
pub const NOW: Moment = 1_795_000_000_000;

/// Simulates a kill of the bot: at which request or store access it happens, and whether that one is still performed.
#[derive(Debug, Default)]
pub struct Fuse {
    count: AtomicU64,
    /// Zero: no kill.
    at: AtomicU64,
    is_done: AtomicU64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Burn {
    Alive,
    /// The last event, performed or not; its answer is lost.
    Last(bool),
    Dead,
}

impl Fuse {
    /// Kills at event `at`, after it is performed or before.
    pub fn set(&self, at: u64, is_done: bool) {
        self.count.store(0, Ordering::SeqCst);
        self.is_done.store(u64::from(is_done), Ordering::SeqCst);
        self.at.store(at, Ordering::SeqCst);
    }

    /// Number of events so far.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::SeqCst)
    }

    fn burn(&self) -> Burn {
        let count = self.count.fetch_add(1, Ordering::SeqCst) + 1;
        match self.at.load(Ordering::SeqCst) {
            0 => Burn::Alive,
            at if count < at => Burn::Alive,
            at if count == at => Burn::Last(self.is_done.load(Ordering::SeqCst) == 1),
            _ => Burn::Dead,
        }
    }
}

/// A job on a forge.
#[derive(Debug, Clone)]
pub struct Job {
    pub status: &'static str,
    pub conclusion: &'static str,
    pub name: &'static str,
    pub log: Vec<u8>,
}

impl Job {
    pub fn failed(log: &str) -> Job {
        Job { status: "completed", conclusion: "failure", name: "train", log: log.as_bytes().to_vec() }
    }

    pub fn passed() -> Job {
        Job { conclusion: "success", ..Job::failed("") }
    }
}

/// The state of the forge.
#[derive(Debug, Default)]
pub struct State {
    pub jobs: BTreeMap<u64, Job>,
    /// Number, author, text.
    pub comments: Vec<(u64, String, String)>,
    pub checks: Vec<Value>,
    pub messages: Vec<(String, Value)>,
    /// Logins or user numbers, and their permissions.
    pub members: BTreeMap<String, Value>,
    pub asked: Vec<Asked>,
    /// Answers to give instead of the normal ones, each used once: a part of the method and target, a status, headers.
    pub troubles: VecDeque<(&'static str, u16, String)>,
    /// Answers of the chat.
    pub chat: VecDeque<Value>,
    /// The address of the storage that serves logs; without it the forge itself sends them.
    pub storage: Option<String>,
    /// Bytes of logs after which the connection breaks.
    pub breaks_at: Option<usize>,
    /// The token that the forge accepts instead of the usual one.
    pub token: Option<String>,
}

/// A forge, its storage and a chat, each at its own address.
pub struct World {
    pub forge: String,
    pub storage: String,
    pub chat: String,
    pub state: Arc<Mutex<State>>,
    pub fuse: Arc<Fuse>,
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[derive(Debug, Clone, Copy)]
enum Who {
    Forge,
    Storage,
    Chat,
}

impl World {
    pub fn new() -> Outcome<World> {
        let state = Arc::new(Mutex::new(State::default()));
        let fuse = Arc::new(Fuse::default());
        let listen = |who| -> Outcome<String> {
            let (state, fuse) = (Arc::clone(&state), Arc::clone(&fuse));
            let host = requests::listen(move |stream| serve(who, stream, &state, &fuse))?;
            Ok(format!("http://{host}"))
        };
        let (forge, storage, chat) = (listen(Who::Forge)?, listen(Who::Storage)?, listen(Who::Chat)?);
        let world = World { forge, storage, chat, state, fuse };
        world.with(|state| state.storage = Some(world.storage.clone()));
        Ok(world)
    }

    pub fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut held(&self.state))
    }

    pub fn job(&self, number: u64, job: Job) {
        self.with(|state| state.jobs.insert(number, job));
    }

    pub fn trouble(&self, at: &'static str, status: u16, headers: &str) {
        self.with(|state| state.troubles.push_back((at, status, headers.to_owned())));
    }

    /// The text of all comments.
    pub fn comments(&self) -> Vec<String> {
        self.with(|state| state.comments.iter().map(|(_, _, body)| body.clone()).collect())
    }

    pub fn asked(&self, part: &str) -> Vec<Asked> {
        let is_it = |asked: &&Asked| format!("{} {}", asked.method, asked.path).contains(part);
        self.with(|state| state.asked.iter().filter(is_it).cloned().collect())
    }

    /// A configuration for these servers, followed by the TOML `more`.
    pub fn config(&self, folder: &Path, more: &str) -> Outcome<BotConfig> {
        let place = |name: &str, words: &str| -> Outcome<String> {
            let path = folder.join(name);
            std::fs::write(&path, words)?;
            Ok(path.display().to_string())
        };
        let (secret, token) = (place("secret", SECRET)?, place("token", "token-of-ours")?);
        let chat = place("chat", &format!("{}/chat", self.chat))?;
        let key = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/app/app.key");
        let login = match more.contains("# as an app") {
            true => format!("login.app = {{ id = \"1234\", key = {{ file = {key:?} }} }}"),
            false => format!("login.token.file = {token:?}"),
        };
        let forge = &self.forge;
        let more = more.replace("CHAT", &format!("{{ file = {chat:?} }}"));
        Ok(toml::from_str(&format!(
            "longest_log = 1\n{}[github]\nsecrets = [{{ file = {secret:?} }}]\n{login}\napi = {forge:?}\n\
             [gitlab]\nsecrets = [{{ file = {secret:?} }}]\ntoken.file = {token:?}\napi = {forge:?}\n{more}",
            if more.contains("# other failures") { "other_failures = true\n" } else { "" },
        ))?)
    }
}

fn serve(who: Who, mut stream: TcpStream, shared: &Mutex<State>, fuse: &Fuse) -> Outcome {
    let mut reader = BufReader::new(stream.try_clone()?);
    while let Some(asked) = Asked::read(&mut reader)? {
        let burn = fuse.burn();
        if matches!(burn, Burn::Dead | Burn::Last(false)) {
            return Ok(());
        }
        let body = serde_json::from_slice(&asked.body).unwrap_or(Value::Null);
        let mut state = held(shared);
        state.asked.push(asked.clone());
        let said = format!("{} {}", asked.method, asked.path);
        let place = state.troubles.iter().position(|(at, ..)| said.contains(at));
        let (status, headers, answer) = match place.and_then(|place| state.troubles.remove(place)) {
            Some((_, status, headers)) => (status, headers, b"{}".to_vec()),
            None => match who {
                Who::Forge => forge(&mut state, &asked, &body),
                Who::Storage => storage(&state, &asked.path),
                Who::Chat => {
                    let is_slack = body["blocks"].is_array();
                    state.messages.push((asked.path.clone(), body));
                    let usual = || if is_slack { json!("ok") } else { json!({ "code": 0, "errcode": 0 }) };
                    let said = state.chat.pop_front().unwrap_or_else(usual);
                    let said = said.as_str().map_or_else(|| said.to_string(), str::to_owned);
                    (200, String::new(), said.into_bytes())
                }
            },
        };
        let breaks_at = state.breaks_at.filter(|_| matches!(who, Who::Storage));
        drop(state);
        if matches!(burn, Burn::Last(true)) {
            return Ok(());
        }
        requests::begin(&mut stream, status, &headers, &answer)?;
        match breaks_at {
            Some(bytes) => return Ok(stream.write_all(&answer[..bytes.min(answer.len())])?),
            None => stream.write_all(&answer)?,
        }
    }
    Ok(())
}

fn storage(state: &State, target: &str) -> (u16, String, Vec<u8>) {
    let number: u64 = target.trim_start_matches("/logs/").parse().unwrap_or_default();
    match state.jobs.get(&number) {
        Some(job) => (200, String::new(), job.log.clone()),
        None => (404, String::new(), Vec::new()),
    }
}

/// Performs a request to the forge and returns the answer.
fn forge(state: &mut State, asked: &Asked, body: &Value) -> (u16, String, Vec<u8>) {
    let path = asked.path.split('?').next().unwrap_or_default().to_owned();
    let is_github = path.starts_with("/repos/");
    let token = state.token.clone().unwrap_or_else(|| "token-of-ours".to_owned());
    if !asked.credentials().ends_with(&token) && !path.contains("/installation") {
        return (401, String::new(), b"{}".to_vec());
    }
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    let number = |words: &str| words.parse::<u64>().unwrap_or_default();
    let log = |state: &State, id: &str| match (&state.storage, state.jobs.get(&number(id))) {
        (_, None) => (404, String::new(), Vec::new()),
        (Some(storage), _) => (302, format!("location: {storage}/logs/{id}\r\n"), Vec::new()),
        (None, Some(job)) => (200, String::new(), job.log.clone()),
    };
    let page: usize = asked.path.rsplit("&page=").next().and_then(|page| page.parse().ok()).unwrap_or(1);
    let (status, answer) = match (asked.method.as_str(), parts.as_slice()) {
        ("GET", ["user"]) if state.asked.iter().any(|asked| asked.path.starts_with("/projects")) => {
            (200, json!({ "id": 1 }))
        }
        ("GET", ["user"]) => (403, json!({})),
        ("POST", ["graphql"]) => (200, json!({ "data": { "viewer": { "login": ME } } })),
        ("GET", ["repos", "me", "it", "installation"]) => (200, json!({ "id": 77 })),
        ("POST", ["app", "installations", "77", "access_tokens"]) => {
            state.token = Some("token-of-the-installation".to_owned());
            (201, json!({ "token": "token-of-the-installation", "expires_at": "2099-01-01T00:00:00Z" }))
        }
        ("GET", ["repos", "me", "it", "actions", "jobs", id]) => match state.jobs.get(&number(id)) {
            Some(job) => (
                200,
                json!({
                    "id": number(id), "status": job.status, "conclusion": job.conclusion, "name": job.name, "workflow_name": "CI",
                    "head_sha": "abc123", "completed_at": "2026-11-20T10:01:00Z",
                    "html_url": format!("https://github.example/me/it/actions/runs/1/job/{id}"),
                }),
            ),
            None => (404, json!({})),
        },
        ("GET", ["repos", "me", "it", "actions", "jobs", id, "logs"])
        | ("GET", ["projects", "12", "jobs", id, "trace"]) => {
            return log(state, id);
        }
        ("GET", ["repos", "me", "it", "commits", "abc123", "pulls"]) => (
            200,
            json!([
                { "number": 7, "state": "open", "base": { "repo": { "full_name": "me/it" } } },
                { "number": 8, "state": "closed", "base": { "repo": { "full_name": "me/it" } } },
                { "number": 9, "state": "open", "base": { "repo": { "full_name": "you/it" } } },
            ]),
        ),
        ("GET", ["repos", "me", "it", "commits", "abc123", "check-runs"]) => {
            let shown: Vec<&Value> = state.checks.iter().skip((page - 1) * 100).take(100).collect();
            (200, json!({ "check_runs": shown }))
        }
        ("POST", ["repos", "me", "it", "check-runs"]) => {
            let id = 500 + state.checks.len();
            let mut check = body.clone();
            check["id"] = id.into();
            state.checks.push(check);
            (201, json!({ "id": id }))
        }
        ("PATCH", ["repos", "me", "it", "check-runs", id]) => {
            let place = (number(id) as usize).wrapping_sub(500);
            match state.checks.get_mut(place) {
                Some(check) => {
                    *check = body.clone();
                    check["id"] = number(id).into();
                    (200, json!({ "id": id }))
                }
                None => (404, json!({})),
            }
        }
        ("GET", ["repos", "me", "it", "collaborators", login, "permission"]) => match state.members.get(*login) {
            Some(permission) => (200, json!({ "permission": permission })),
            None => (404, json!({})),
        },
        ("GET", ["projects", "12", "jobs", id]) => match state.jobs.get(&number(id)) {
            Some(job) => {
                let status = match (job.status, job.conclusion) {
                    ("completed", "failure") => "failed",
                    ("completed", conclusion) => conclusion,
                    (status, _) => status,
                };
                let page = format!("https://gitlab.example/me/it/-/jobs/{id}");
                let (commit, time) = (json!({ "id": "abc123" }), "2026-11-20T10:01:00.000Z");
                let found = json!({ "id": number(id), "status": status, "name": job.name, "ref": "b", "commit": commit, "web_url": page,
                    "finished_at": time });
                (200, found)
            }
            None => (404, json!({})),
        },
        ("GET", ["projects", "12", "repository", "commits", "abc123", "merge_requests"]) => (
            200,
            json!([{ "iid": 7, "project_id": 12, "state": "opened" }, { "iid": 5, "project_id": 12, "state": "merged" }]),
        ),
        ("GET", ["projects", "12", "members", "all", user]) => match state.members.get(*user) {
            Some(level) => (200, json!({ "access_level": level })),
            None => (404, json!({})),
        },
        (
            "GET",
            ["repos", "me", "it", "issues", "7", "comments"] | ["projects", "12", "merge_requests", "7", "notes"],
        ) => {
            let show = |(id, author, body): &(u64, String, String)| match is_github {
                true => json!({ "id": id, "user": { "login": author }, "body": body }),
                false => json!({ "id": id, "author": { "id": if author == ME { 1 } else { 2 } }, "body": body }),
            };
            (200, state.comments.iter().skip((page - 1) * 100).take(100).map(show).collect())
        }
        (
            "POST",
            ["repos", "me", "it", "issues", "7", "comments"] | ["projects", "12", "merge_requests", "7", "notes"],
        ) => {
            let id = 1 + state.comments.iter().map(|(id, ..)| *id).max().unwrap_or(1000);
            state.comments.push((id, ME.to_owned(), body["body"].as_str().unwrap_or_default().to_owned()));
            (201, json!({ "id": id }))
        }
        ("PATCH" | "PUT" | "DELETE", [.., id]) => {
            match state.comments.iter().position(|(known, ..)| *known == number(id)) {
                Some(place) if asked.method == "DELETE" => {
                    state.comments.remove(place);
                    (204, Value::Null)
                }
                Some(place) => {
                    state.comments[place].2 = body["body"].as_str().unwrap_or_default().to_owned();
                    (200, json!({ "id": number(id) }))
                }
                None => (404, json!({})),
            }
        }
        _ => (404, json!({})),
    };
    (status, String::new(), if answer.is_null() { Vec::new() } else { answer.to_string().into_bytes() })
}

/// The bot's environment: a store in memory, and a clock that the test sets.
pub struct Here {
    pub store: Arc<Mutex<MemoryStore>>,
    pub clock: Arc<AtomicI64>,
    pub fuse: Arc<Fuse>,
    knowledge: Arc<Knowledge>,
    redactor: Redactor,
}

impl Here {
    fn look<T>(&self, act: impl FnOnce(&mut MemoryStore) -> T) -> Result<T, QueueError> {
        match self.fuse.burn() {
            Burn::Alive => Ok(act(&mut held(&self.store))),
            Burn::Last(true) => {
                act(&mut held(&self.store));
                Err(QueueError::Closed)
            }
            Burn::Last(false) | Burn::Dead => Err(QueueError::Closed),
        }
    }

    fn history<T>(&self, act: impl FnOnce(&mut MemoryStore) -> Result<T, HistoryError>) -> Result<T, HistoryError> {
        let path = Path::new("here").to_owned();
        let closed = |_| HistoryError::Store(oomdoc::internal::store::StoreError::Failed { path });
        self.look(act).map_err(closed)?
    }
}

impl Services for Here {
    fn now(&self) -> Moment {
        self.clock.load(Ordering::SeqCst)
    }

    fn language(&self) -> Language {
        Language::En
    }

    fn with_store(&self, act: StoreAction) -> Result<(), QueueError> {
        self.look(|store| act(store))
    }

    fn analyze(&self, log: Input<'static>) -> Result<Vec<Report>, oomdoc::Error> {
        let options = Options::default().knowledge(Arc::clone(&self.knowledge)).threads(1);
        oomdoc::internal::analyze_inputs(vec![log], Vec::new(), &options).map(|report| vec![report])
    }

    fn keep(&self, record: Record) -> Result<(), HistoryError> {
        self.history(|store| history::add(store, &[record]).map(drop))
    }

    fn similar(&self, record: &Record, most: usize) -> Result<Vec<Likeness>, HistoryError> {
        self.history(|store| history::similar(store, record, most))
    }

    fn resolve(&self, outcome: Told) -> Result<(), HistoryError> {
        self.history(|store| history::resolve(store, &outcome))
    }

    fn knowledge(&self) -> &Knowledge {
        &self.knowledge
    }

    fn redactor(&self) -> &Redactor {
        &self.redactor
    }
}

/// The servers and a bot that talks to them.
pub struct Stage {
    pub world: World,
    pub bot: Bot,
    pub store: Arc<Mutex<MemoryStore>>,
    pub clock: Arc<AtomicI64>,
    /// Holds the bot's files until the stage is dropped.
    _folder: tempfile::TempDir,
    knowledge: Arc<Knowledge>,
    config: BotConfig,
}

impl Stage {
    pub fn new(more: &str) -> Outcome<Stage> {
        Stage::with(more, Arc::new(Knowledge::shipped()?))
    }

    pub fn with(more: &str, knowledge: Arc<Knowledge>) -> Outcome<Stage> {
        let world = World::new()?;
        let folder = tempfile::tempdir()?;
        let config = world.config(folder.path(), more)?;
        let (store, clock) = (Arc::default(), Arc::new(AtomicI64::new(NOW)));
        let bot = bot(&config, &store, &clock, &world.fuse, &knowledge)?;
        Ok(Stage { world, bot, store, clock, _folder: folder, knowledge, config })
    }

    /// Restarts the bot after a kill.
    pub fn restart(&mut self) -> Outcome {
        self.world.fuse.set(0, false);
        self.bot = bot(&self.config, &self.store, &self.clock, &self.world.fuse, &self.knowledge)?;
        Ok(())
    }

    /// Works until nothing is waiting, advancing the clock as far as needed.
    pub fn settle(&self) -> Result<(), QueueError> {
        for _ in 0..200 {
            match self.bot.work_once()? {
                Done::Something => {}
                Done::Wait(moment) => self.clock.store(moment, Ordering::SeqCst),
                Done::Nothing => return Ok(()),
            }
        }
        unreachable!("it never ends");
    }

    /// Works on what is due now.
    pub fn work(&self) -> Result<(), QueueError> {
        while self.bot.work_once()? == Done::Something {}
        Ok(())
    }

    pub fn github(&self, kind: &str, delivery: &str, event: &Value) -> Result<Receipt, Refusal> {
        let body = event.to_string();
        let headers = [
            ("x-github-event", kind.to_owned()),
            ("x-github-delivery", delivery.to_owned()),
            ("x-hub-signature-256", signature(SECRET, body.as_bytes())),
        ];
        self.bot.receive(ForgeName::GitHub, &of(&headers), body.as_bytes())
    }

    pub fn gitlab(&self, key: &str, event: &Value) -> Result<Receipt, Refusal> {
        let headers = [("x-gitlab-token", SECRET.to_owned()), ("idempotency-key", key.to_owned())];
        self.bot.receive(ForgeName::GitLab, &of(&headers), event.to_string().as_bytes())
    }

    pub fn incidents(&self) -> Outcome<Vec<Record>> {
        let mut all = Vec::new();
        history::records(&*held(&self.store), &mut |record| {
            all.push(record);
            Ok(())
        })?;
        Ok(all)
    }

    pub fn outcomes(&self) -> Outcome<Vec<Told>> {
        Ok(history::outcomes(&*held(&self.store), None)?)
    }
}

fn bot(
    config: &BotConfig,
    store: &Arc<Mutex<MemoryStore>>,
    clock: &Arc<AtomicI64>,
    fuse: &Arc<Fuse>,
    knowledge: &Arc<Knowledge>,
) -> Outcome<Bot> {
    let here = Here {
        store: Arc::clone(store),
        clock: Arc::clone(clock),
        fuse: Arc::clone(fuse),
        knowledge: Arc::clone(knowledge),
        redactor: Redactor::new(&knowledge.secrets)?,
    };
    Ok(Bot::new(config.clone(), Arc::new(here)))
}

pub fn of(headers: &[(&'static str, String)]) -> HeaderMap {
    headers.iter().filter_map(|(name, value)| Some((name.parse().ok()?, value.parse().ok()?))).collect()
}

/// GitHub's signature of a body.
pub fn signature(secret: &str, body: &[u8]) -> String {
    use hmac::{Hmac, KeyInit, Mac};
    let mac = Hmac::<sha2::Sha256>::new_from_slice(secret.as_bytes()).map(|mac| mac.chain_update(body).finalize());
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    format!("sha256={}", mac.map(|mac| hex(&mac.into_bytes())).unwrap_or_default())
}

pub fn workflow_job(number: u64, conclusion: &str) -> Value {
    json!({
        "action": "completed",
        "workflow_job": { "id": number, "name": "train", "head_branch": "b", "head_sha": "abc123", "conclusion": conclusion,
            "completed_at": "2026-11-20T10:01:00Z" },
        "repository": { "full_name": "me/it" },
    })
}

pub fn check_run(number: u64, conclusion: &str) -> Value {
    json!({
        "action": "completed",
        "check_run": { "id": number, "name": "train", "conclusion": conclusion, "completed_at": "2026-11-20T10:01:00Z",
            "app": { "slug": "github-actions" }, "check_suite": { "head_branch": "b" }, "pull_requests": [] },
        "repository": { "full_name": "me/it" },
    })
}

pub fn issue_comment(number: u64, login: &str, association: &str, body: &str) -> Value {
    json!({
        "action": "created",
        "issue": { "number": 7, "pull_request": {} },
        "comment": { "id": number, "body": body, "author_association": association, "created_at": "2026-11-20T11:00:00Z",
            "user": { "login": login, "type": "User" } },
        "repository": { "full_name": "me/it" },
    })
}

pub fn build(number: u64, status: &str) -> Value {
    json!({
        "object_kind": "build", "build_id": number, "build_name": "train", "build_status": status, "ref": "b",
        "build_finished_at": "2026-11-20 10:01:00 UTC", "project_id": 12, "project_name": "Me / It",
        "project": { "id": 12, "path_with_namespace": "me/it" },
    })
}

pub fn note(number: u64, author: u64, body: &str) -> Value {
    json!({
        "object_kind": "note", "project_id": 12, "project": { "id": 12, "path_with_namespace": "me/it" }, "user": { "id": author },
        "object_attributes": { "id": number, "note": body, "noteable_type": "MergeRequest", "author_id": author, "system": false,
            "action": "create", "created_at": "2026-11-20 11:00:00 UTC" },
        "merge_request": { "iid": 7 },
    })
}
