//! The lock that allows one process to have the store open, and names it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::error::StoreError;

/// The lock file's name in the store's folder.
pub(super) const FILE: &str = "OWNER";
/// How often to retry a lock that is held.
const PAUSE: Duration = Duration::from_millis(50);

/// The right to open the store, held until dropped.
#[derive(Debug)]
pub(super) struct Owner {
    _lock: File,
}

impl Owner {
    /// Locks the store in `folder`, waiting up to `patience` for another process.
    pub fn of(folder: &Path, patience: Duration) -> Result<Owner, StoreError> {
        let path = folder.join(FILE);
        let io = |error| StoreError::io(&path, error);
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(io)?;
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if begun.elapsed() < patience => sleep(PAUSE),
                Err(TryLockError::WouldBlock) => {
                    let holder = fs::read_to_string(&path).unwrap_or_default();
                    let holder = match holder.trim() {
                        "" => "another process",
                        holder => holder,
                    };
                    return Err(StoreError::Busy { path: folder.to_owned(), holder: holder.to_owned() });
                }
                Err(TryLockError::Error(error)) => return Err(io(error)),
            }
        }
        let host = host_name().unwrap_or_else(|| "this host".to_owned());
        let holder = format!("process {} on {host}\n", std::process::id());
        // Only the lock matters; on a full disk the name may be missing.
        let _ = file.set_len(0).and_then(|()| file.write_all(holder.as_bytes()));
        Ok(Owner { _lock: file })
    }

    /// Whether no process has the store in `folder` open. Needs read permission only.
    pub fn is_nobody(folder: &Path) -> bool {
        File::open(folder.join(FILE)).is_ok_and(|file| file.try_lock_shared().is_ok())
    }
}

/// The machine's host name, if the system tells it.
pub fn host_name() -> Option<String> {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").ok().or_else(|| std::env::var("HOSTNAME").ok());
    name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty())
}
