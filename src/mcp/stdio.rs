//! The conversation over standard input and output, a message a line.

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

/// A message has no more bytes: all that may be pasted, in whatever escapes, and what stands around it.
const LONGEST: usize = 64 << 20;
/// What still works when the conversation is over is given so long.
const PATIENCE: Duration = Duration::from_secs(2);

/// Answers until standard input ends or nobody reads the answers.
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
        // Who went away before saying anything wanted nothing.
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

/// An output that says when nobody reads it any more.
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
