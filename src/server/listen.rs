//! Connections: how they are accepted, how long they may be silent, and how they end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::bot::BotWorkers;
use super::error::ServerError;
use super::routes::{Peer, router};
use super::state::Server;
use crate::history;

/// How often the index follows the store, and so how long a new incident stays invisible to searches.
const TICK: Duration = Duration::from_secs(1);
/// How often analyses in this process learn what came up since.
const LEARN: Duration = Duration::from_secs(60);
/// How often the retention is enforced.
const FORGET: Duration = Duration::from_secs(3600);
/// How long a client may take to send a request's head.
const HEAD: Duration = Duration::from_secs(10);

/// Serves until the process is told to stop, then lets requests in progress finish; `ready` is called with the bound
/// address.
pub fn serve(server: Server, ready: impl FnOnce(SocketAddr)) -> Result<(), ServerError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let server = Arc::new(server);
    let bot = BotWorkers::start(&server)?;
    let done = runtime.block_on(run(&server, &bot, ready));
    bot.stop();
    // Threads that still read logs for clients that are gone end with the process.
    runtime.shutdown_background();
    server.keeper.stop();
    done
}

async fn run(server: &Arc<Server>, bot: &BotWorkers, ready: impl FnOnce(SocketAddr)) -> Result<(), ServerError> {
    let address = server.config.listen;
    let listener = TcpListener::bind(address).await.map_err(|error| ServerError::Listen { address, error })?;
    ready(listener.local_addr()?);
    let router = bot.known_to(router(server));
    let places = Arc::new(Semaphore::new(server.config.limits.connections));
    let graceful = GracefulShutdown::new();
    let stop = stop_signal()?;
    tokio::pin!(stop);
    let mut tick = tokio::time::interval(TICK);
    let mut learn_tick = tokio::time::interval(LEARN);
    let mut forget_tick = tokio::time::interval(FORGET);
    loop {
        tokio::select! {
            () = &mut stop => break,
            _ = tick.tick() => server.keeper.tick(),
            _ = learn_tick.tick() => { tokio::spawn(learn(Arc::clone(server))); }
            _ = forget_tick.tick() => { tokio::spawn(forget(Arc::clone(server))); }
            taken = listener.accept() => match taken {
                Ok((stream, peer)) => {
                    // With no place left the connection is closed: a queue of idle connections would keep others out.
                    let Ok(place) = Arc::clone(&places).try_acquire_owned() else { continue };
                    let connection = connection(stream, peer, router.clone(), &graceful);
                    let server = Arc::clone(server);
                    tokio::spawn(async move {
                        server.metrics.connections.inc();
                        connection.await;
                        server.metrics.connections.dec();
                        drop(place);
                    });
                }
                // Most often too many open files: some will be closed soon.
                Err(error) => {
                    tracing::warn!(%error, "a connection was not taken");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            },
        }
    }
    drop(listener);
    server.stop();
    tracing::info!("stopping");
    if tokio::time::timeout(server.config.limits.grace, graceful.shutdown()).await.is_err() {
        tracing::warn!("requests were cut off that took too long");
    }
    Ok(())
}

/// Serves the requests that come over `stream`.
fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
    graceful: &GracefulShutdown,
) -> impl Future<Output = ()> + use<> {
    let service = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(Peer(peer.ip().to_canonical()));
        service.call(request.map(Body::new))
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD);
    let connection = graceful.watch(http.serve_connection(TokioIo::new(stream), service));
    async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, %peer, "a connection failed");
        }
    }
}

/// Reloads what analyses know of the history.
async fn learn(server: Arc<Server>) {
    match server.keeper.ask(|store| history::experience(store)).await {
        Ok(Ok(experience)) => server.learn(experience),
        Ok(Err(error)) => tracing::warn!(%error, "analyses are told of an older history"),
        Err(error) => tracing::warn!(%error, "analyses are told of an older history"),
    }
}

/// Removes what exceeds the retention. What that is, is determined on another thread than the keeper's.
async fn forget(server: Arc<Server>) {
    let Some(retention) = server.config.retention else { return };
    let home = server.home.clone();
    let expired = tokio::task::spawn_blocking(move || retention.expired(&history::look(&home)?));
    let done = match expired.await {
        Ok(Ok(expired)) => server.keeper.ask(move |store| history::remove_expired(store, &expired)).await,
        Ok(Err(error)) => Ok(Err(error)),
        Err(_) => return,
    };
    match done {
        Ok(Ok(0)) => {}
        Ok(Ok(incidents)) => tracing::info!(incidents, "forgotten, as the retention says"),
        Ok(Err(error)) => tracing::warn!(%error, "nothing was forgotten"),
        Err(error) => tracing::warn!(%error, "nothing was forgotten"),
    }
}

#[cfg(unix)]
fn stop_signal() -> Result<impl Future<Output = ()>, ServerError> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

#[cfg(not(unix))]
fn stop_signal() -> Result<impl Future<Output = ()>, ServerError> {
    Ok(async {
        // Without a handler the process can still be killed.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}
