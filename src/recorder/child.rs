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

/// Why the command was not started.
#[derive(Debug, Error)]
pub enum StartError {
    /// There is no such program, or it may not be run.
    #[error("cannot run {command}: {error}")]
    Program {
        /// Which.
        command: String,
        /// What the system says.
        #[source]
        error: io::Error,
    },
    /// What a recorder needs is not there.
    #[error("the command cannot be watched: {0}")]
    Watch(#[from] io::Error),
    /// Nothing with this number runs.
    #[error("there is no process {0}")]
    NoProcess(u32),
}

impl StartError {
    /// The status with which shells end then.
    pub fn status(&self) -> u8 {
        match self {
            StartError::Program { error, .. } if error.kind() == io::ErrorKind::NotFound => 127,
            StartError::Program { .. } => 126,
            StartError::Watch(_) | StartError::NoProcess(_) => 2,
        }
    }
}

/// What happens to the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Happening {
    /// It was stopped, and may go on.
    Stopped,
    Ended(Exit),
}

/// Starts `command`, printing into `ends` or, without them, wherever this process does.
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
    // Its end is waited for below: std's own way would not tell of a stop.
    Pid::from_raw(child.id().cast_signed()).ok_or(StartError::NoProcess(child.id()))
}

/// Tells what happens to the command, in a thread of its own.
pub(super) fn watch<T: Send + 'static>(
    pid: Pid,
    tell: Sender<T>,
    happening: impl Fn(Happening) -> T + Send + 'static,
) -> io::Result<()> {
    let wait = move || {
        loop {
            let told = match waitpid(Some(pid), WaitOptions::UNTRACED) {
                Ok(Some((_, status))) => match (status.exit_status(), status.terminating_signal()) {
                    (Some(status), _) => Happening::Ended(Exit::Status(status)),
                    (_, Some(signal)) => Happening::Ended(Exit::Signal(signal)),
                    _ => Happening::Stopped,
                },
                Err(rustix::io::Errno::INTR) | Ok(None) => continue,
                // Nobody else waits for it; who cannot be waited for is gone.
                Err(_) => Happening::Ended(Exit::Status(255)),
            };
            if tell.send(happening(told)).is_err() || matches!(told, Happening::Ended(_)) {
                return;
            }
        }
    };
    thread::Builder::new().name("wait".to_owned()).spawn(wait).map(drop)
}
