//! What tests of disks that fail need: chance that can be repeated, libraries between a process and its files, small disks.

// No test needs all of it.
#![allow(dead_code)]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

/// Whether there is time for many more rounds.
pub fn is_long() -> bool {
    std::env::var_os("OOMDOC_LONG").is_some()
}

/// A number that is another one in each run, unless it is given.
pub fn seed() -> u64 {
    let given = std::env::var("OOMDOC_SEED").ok().and_then(|seed| seed.parse().ok());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().subsec_nanos();
    let seed = given.unwrap_or_else(|| u64::from(now) | 1);
    println!("OOMDOC_SEED={seed}");
    seed
}

/// The library of `source`, a C file of the tests, built in `folder`; none where there is no C compiler.
pub fn library(source: &str, folder: &Path) -> Result<Option<PathBuf>, Box<dyn Error>> {
    let library = folder.join("preload.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(source);
    let built =
        Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).args([&library, &source]).arg("-ldl").status();
    match built {
        Ok(status) if status.success() => Ok(Some(library)),
        Ok(status) => Err(format!("cc: {status}").into()),
        Err(error) => {
            println!("SKIPPED: there is no C compiler ({error})");
            Ok(None)
        }
    }
}

/// A small disk, for as long as this lives.
pub struct Disk(tempfile::TempDir);

impl Disk {
    /// One of so many MB; none where it may not be mounted.
    pub fn of(megabytes: u64) -> Option<Disk> {
        let folder = tempfile::tempdir().ok()?;
        mount(folder.path(), &format!("size={megabytes}m")).then(|| Disk(folder))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Whether it has so many MB now.
    pub fn grow(&self, megabytes: u64) -> bool {
        mount(self.path(), &format!("remount,size={megabytes}m"))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg("-l").arg(self.path()).status();
        assert!(unmounted.is_ok_and(|done| done.success()) || std::thread::panicking(), "the disk is still mounted");
    }
}

fn mount(folder: &Path, options: &str) -> bool {
    let mut command = Command::new("mount");
    command.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(folder).stderr(Stdio::null());
    command.status().is_ok_and(|done| done.success())
}
