//! The command: started in a process group of its own, and waited for.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::mpsc::Sender;
use std::thread;

use rustix::process::{Pid, WaitOptions, waitpid};
use thiserror::Error;

use super::processes::Exit;
use super::streams::CommandsEnds;

/// Why a recording could not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The program does not exist or cannot be executed.
    #[error("cannot run {command}: {error}")]
    Program {
        /// The program.
        command: String,
        /// What the system says.
        #[source]
        error: io::Error,
    },
    /// Something that the recorder needs is missing.
    #[error("the command cannot be watched: {0}")]
    Watch(#[from] io::Error),
    /// There is no process with this id.
    #[error("there is no process {0}")]
    NoProcess(u32),
}

impl StartError {
    /// The exit status that a shell would return.
    pub fn status(&self) -> u8 {
        match self {
            StartError::Program { error, .. } if error.kind() == io::ErrorKind::NotFound => 127,
            StartError::Program { .. } => 126,
            StartError::Watch(_) | StartError::NoProcess(_) => 2,
        }
    }
}

/// A change of the command's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChildEvent {
    /// It was stopped and may be continued.
    Stopped,
    Ended(Exit),
}

/// Starts `command` with its output going to `ends`; without them it inherits this process's.
pub(super) fn start(command: &[OsString], ends: Option<CommandsEnds>) -> Result<Pid, StartError> {
    let (program, arguments) = command.split_first().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let mut started = Command::new(program);
    started.args(arguments).process_group(0);
    if let Some(CommandsEnds { out, error }) = ends {
        started.stdout(out).stderr(error);
    }
    let child = started.spawn();
    let child =
        child.map_err(|error| StartError::Program { command: program.to_string_lossy().into_owned(), error })?;
    // `watch` waits for it with `waitpid`: std's `wait` would not report a stop.
    Pid::from_raw(child.id().cast_signed()).ok_or(StartError::NoProcess(child.id()))
}

/// Sends what happens to the command, from a thread of its own.
pub(super) fn watch<T: Send + 'static>(
    pid: Pid,
    tell: Sender<T>,
    event: impl Fn(ChildEvent) -> T + Send + 'static,
) -> io::Result<()> {
    let wait = move || {
        loop {
            let told = match waitpid(Some(pid), WaitOptions::UNTRACED) {
                Ok(Some((_, status))) => match (status.exit_status(), status.terminating_signal()) {
                    (Some(status), _) => ChildEvent::Ended(Exit::Status(status)),
                    (_, Some(signal)) => ChildEvent::Ended(Exit::Signal(signal)),
                    _ => ChildEvent::Stopped,
                },
                Err(rustix::io::Errno::INTR) | Ok(None) => continue,
                // Nothing else waits for the child, so this means that it is gone.
                Err(_) => ChildEvent::Ended(Exit::Status(255)),
            };
            if tell.send(event(told)).is_err() || matches!(told, ChildEvent::Ended(_)) {
                return;
            }
        }
    };
    thread::Builder::new().name("wait".to_owned()).spawn(wait).map(drop)
}
