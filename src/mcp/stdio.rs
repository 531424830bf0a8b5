//! A conversation over standard input and output, one message per line.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::io::stdio_pipes;
use tokio::io::AsyncWrite;
use tokio::sync::Notify;

use super::Tools;

/// The longest message in bytes: room for all that may be pasted, escaped and wrapped.
const LONGEST: usize = 64 << 20;
/// How long to wait for running tools when the conversation is over.
const PATIENCE: Duration = Duration::from_secs(2);

/// Serves until standard input ends or the output cannot be written.
pub fn serve(tools: Tools) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let served = runtime.block_on(conversation(tools));
    runtime.shutdown_timeout(PATIENCE);
    served
}

async fn conversation(tools: Tools) -> io::Result<()> {
    let (input, output) = stdio_pipes();
    let is_gone = Arc::new(Notify::new());
    let output = Heard { output, is_gone: Arc::clone(&is_gone) };
    let transport = AsyncRwTransport::new_server(input, output).with_max_line_length(LONGEST);
    let service = match tools.serve(transport).await {
        Ok(service) => service,
        // The client left before the handshake: no error.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(io::Error::other(error.to_string())),
    };
    let stop = service.cancellation_token();
    let mut ended = std::pin::pin!(service.waiting());
    let ended = tokio::select! {
        ended = &mut ended => ended,
        () = is_gone.notified() => {
            stop.cancel();
            ended.await
        }
    };
    ended.map(|_| ()).map_err(io::Error::other)
}

/// An output that notifies `is_gone` when writing fails.
struct Heard<W> {
    output: W,
    is_gone: Arc<Notify>,
}

impl<W> Heard<W> {
    fn looked<T>(&self, done: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if let Poll::Ready(Err(_)) = &done {
            self.is_gone.notify_one();
        }
        done
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for Heard<W> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.output).poll_write(context, bytes);
        self.looked(done)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let done = Pin::new(&mut self.output).poll_flush(context);
        self.looked(done)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.output).poll_shutdown(context)
    }
}
