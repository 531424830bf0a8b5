//! The command's output: copied unchanged to where it would have gone, and into the log.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::log_keeper::LogKeeper;
use super::terminal::{Mirror, resize};

/// The size of pipes and buffers in bytes.
const AT_ONCE: usize = 1 << 20;
/// A process that the command left behind may hold a stream open; after this long without output it is not waited for.
const SILENCE: Duration = Duration::from_millis(300);

/// The command's ends of its output streams.
pub(super) struct CommandsEnds {
    pub out: Stdio,
    pub error: Stdio,
}

/// The recorder's ends, which threads read.
pub(super) struct Streams {
    log: Arc<Mutex<LogKeeper>>,
    sources: Vec<Source>,
    mirror: Option<OwnedFd>,
}

/// One stream: its source and its destination.
struct Source {
    from: File,
    to: OwnedFd,
}

/// The running copies.
pub(super) struct Copying {
    log: Arc<Mutex<LogKeeper>>,
    progress: Arc<Progress>,
    ended: Receiver<()>,
}

/// The progress of all copies.
#[derive(Default)]
struct Progress {
    bytes: AtomicU64,
    /// Threads that have read bytes and may be blocked writing them.
    busy: AtomicUsize,
}

impl Streams {
    /// Creates the streams: a pseudoterminal for output that goes to a terminal, a pipe for other output.
    pub fn open(log: LogKeeper) -> io::Result<(Streams, CommandsEnds)> {
        let (out, error) = (io::stdout(), io::stderr());
        let is_terminal = (out.is_terminal(), error.is_terminal());
        // If none is available, as without /dev/pts, pipes are used instead.
        let mirror = (is_terminal.0 || is_terminal.1).then(|| Mirror::open().ok()).flatten();
        let mut streams = Streams { log: Arc::new(Mutex::new(log)), sources: Vec::new(), mirror: None };
        let users = if is_terminal.0 { out.as_fd() } else { error.as_fd() };
        if let Some(mirror) = &mirror {
            let (from, to) = (mirror.ours.try_clone()?, users.try_clone_to_owned()?);
            streams.mirror = Some(mirror.ours.as_fd().try_clone_to_owned()?);
            streams.sources.push(Source { from, to });
        }
        let mut end = |is_terminal: bool, to: io::Result<OwnedFd>| match mirror.as_ref().filter(|_| is_terminal) {
            Some(mirror) => Ok::<Stdio, io::Error>(mirror.its.try_clone()?.into()),
            None => {
                let (from, its) = io::pipe()?;
                // A smaller pipe works as well; it only has to be emptied more often.
                let _ = rustix::pipe::fcntl_setpipe_size(&from, AT_ONCE);
                streams.sources.push(Source { from: File::from(OwnedFd::from(from)), to: to? });
                Ok(its.into())
            }
        };
        let ends = CommandsEnds {
            out: end(is_terminal.0, out.as_fd().try_clone_to_owned())?,
            error: end(is_terminal.1, error.as_fd().try_clone_to_owned())?,
        };
        Ok((streams, ends))
    }

    /// The recorder's end of the pseudoterminal, if there is one.
    pub fn mirror(&self) -> Option<OwnedFd> {
        self.mirror.as_ref().and_then(|mirror| mirror.try_clone().ok())
    }

    /// Starts copying.
    pub fn copy(self) -> io::Result<Copying> {
        let (done, ended) = mpsc::channel();
        let progress = Arc::new(Progress::default());
        for source in self.sources {
            let (log, progress, done) = (Arc::clone(&self.log), Arc::clone(&progress), done.clone());
            thread::Builder::new().name("copy".to_owned()).spawn(move || {
                copy(source, &log, &progress);
                drop(done);
            })?;
        }
        Ok(Copying { log: self.log, progress, ended })
    }
}

/// Copies until the stream ends or its destination is closed.
fn copy(source: Source, log: &Mutex<LogKeeper>, progress: &Progress) {
    let Source { mut from, to } = source;
    let mut to = File::from(to);
    let mut buffer = vec![0; AT_ONCE];
    loop {
        let length = match from.read(&mut buffer) {
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            // A pseudoterminal reports an error once nobody has it open any more.
            Err(_) => 0,
        };
        progress.busy.fetch_add(1, Ordering::SeqCst);
        // The destination was closed. Returning closes our end, so that the command notices as it would without the
        // recorder.
        if length == 0 || write(&mut to, &buffer[..length]).is_err() {
            progress.busy.fetch_sub(1, Ordering::SeqCst);
            return;
        }
        log.lock().unwrap_or_else(PoisonError::into_inner).add(&buffer[..length]);
        progress.bytes.fetch_add(length as u64, Ordering::SeqCst);
        progress.busy.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Writes all bytes, also to a stream that another process made non-blocking.
fn write(to: &mut File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match to.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::sleep(Duration::from_millis(5)),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

impl Copying {
    /// Waits until all output of the command is copied; returns an error of the log.
    pub fn finish(self) -> io::Result<()> {
        let bytes = || self.progress.bytes.load(Ordering::SeqCst);
        let mut before = bytes();
        // The channel is disconnected when all threads have ended.
        while self.ended.recv_timeout(SILENCE) == Err(RecvTimeoutError::Timeout) {
            let now = bytes();
            if now == before && self.progress.busy.load(Ordering::SeqCst) == 0 {
                break;
            }
            before = now;
        }
        self.log.lock().unwrap_or_else(PoisonError::into_inner).finish()
    }
}

/// Adopts a new size of the user's terminal.
pub(super) fn resized(mirror: Option<&OwnedFd>) {
    mirror.into_iter().for_each(resize);
}
