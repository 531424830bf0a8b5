//! Connections: how they are taken, how long they may be silent, and how they end.

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

use super::bot::Workers;
use super::error::ServerError;
use super::routes::{Peer, router};
use super::state::Server;

/// How often the index follows the store: as long it takes until searches find what was added.
const TICK: Duration = Duration::from_secs(1);
/// How often analyses are told what came up since.
const LEARN: Duration = Duration::from_secs(60);
/// A request's head is there within this.
const HEAD: Duration = Duration::from_secs(10);

/// Serves until the process is told to end, then ends what is being answered; `ready` is told where it listens.
pub fn serve(server: Server, ready: impl FnOnce(SocketAddr)) -> Result<(), ServerError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let server = Arc::new(server);
    let bot = Workers::start(&server)?;
    let done = runtime.block_on(run(&server, &bot, ready));
    bot.stop();
    // Threads that read logs for nobody any more end with the process.
    runtime.shutdown_background();
    server.keeper.stop();
    done
}

async fn run(server: &Arc<Server>, bot: &Workers, ready: impl FnOnce(SocketAddr)) -> Result<(), ServerError> {
    let address = server.config.listen;
    let listener = TcpListener::bind(address).await.map_err(|error| ServerError::Listen { address, error })?;
    ready(listener.local_addr()?);
    let router = bot.known_to(router(server));
    let places = Arc::new(Semaphore::new(server.config.limits.connections));
    let graceful = GracefulShutdown::new();
    let told = told_to_end()?;
    tokio::pin!(told);
    let mut tick = tokio::time::interval(TICK);
    let mut learn = tokio::time::interval(LEARN);
    loop {
        tokio::select! {
            () = &mut told => break,
            _ = tick.tick() => server.keeper.tick(),
            _ = learn.tick() => { tokio::spawn(learned(Arc::clone(server))); }
            taken = listener.accept() => match taken {
                Ok((stream, peer)) => {
                    // With no place left the connection is closed: waiting would take the place of somebody else.
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
                // Too many open files, most of the time: some will be closed soon.
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

/// Answers what comes over `stream`.
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

/// Tells analyses what came up since the last time.
async fn learned(server: Arc<Server>) {
    match server.keeper.ask(|store| crate::history::experience(store)).await {
        Ok(Ok(experience)) => server.learn(experience),
        Ok(Err(error)) => tracing::warn!(%error, "analyses are told of an older history"),
        Err(error) => tracing::warn!(%error, "analyses are told of an older history"),
    }
}

#[cfg(unix)]
fn told_to_end() -> Result<impl Future<Output = ()>, ServerError> {
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
fn told_to_end() -> Result<impl Future<Output = ()>, ServerError> {
    Ok(async {
        // Without it, the process is ended otherwise.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}
