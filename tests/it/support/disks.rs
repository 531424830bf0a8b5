//! Helpers for tests with failing disks: repeatable random numbers, libraries between a process and its files, and
//! small disks.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long to wait before a run counts as hung; far more than a slow machine needs.
pub const HANGS: Duration = Duration::from_secs(600);

/// Whether OOMDOC_LONG asks for many more rounds.
pub fn is_long() -> bool {
    std::env::var_os("OOMDOC_LONG").is_some()
}

/// A seed that differs in each run unless OOMDOC_SEED gives it. It is printed, and so appears in the output of a
/// failing test.
pub fn seed() -> Result<u64, Box<dyn Error>> {
    let seed = match std::env::var("OOMDOC_SEED") {
        Ok(seed) => seed.parse().map_err(|error| format!("OOMDOC_SEED={seed}: {error}"))?,
        Err(_) => u64::from(SystemTime::now().duration_since(UNIX_EPOCH)?.subsec_nanos()) | 1,
    };
    println!("OOMDOC_SEED={seed}");
    Ok(seed)
}

/// Builds the C file `source` of the tests as a shared library in `folder`. Building Rust already needs a linking
/// compiler, `cc`.
pub fn library(source: &str, folder: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let library = folder.join("preload.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(source);
    let built =
        Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).args([&library, &source]).arg("-ldl").status();
    match built {
        Ok(status) if status.success() => Ok(library),
        Ok(status) => Err(format!("cc {}: {status}", source.display()).into()),
        Err(error) => Err(format!("this test needs a C compiler, `cc`: {error}").into()),
    }
}

/// A small mounted disk, unmounted when dropped.
pub struct Disk(tempfile::TempDir);

impl Disk {
    /// A disk of `megabytes` MB, which only root can mount.
    pub fn of(megabytes: u64) -> Result<Disk, Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        mount(folder.path(), &format!("size={megabytes}m"))?;
        Ok(Disk(folder))
    }

    /// The folder where it is mounted.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Enlarges it to `megabytes` MB.
    pub fn grow(&self, megabytes: u64) -> Result<(), Box<dyn Error>> {
        mount(self.path(), &format!("remount,size={megabytes}m"))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg("-l").arg(self.path()).status();
        assert!(unmounted.is_ok_and(|done| done.success()) || std::thread::panicking(), "the disk is still mounted");
    }
}

fn mount(folder: &Path, options: &str) -> Result<(), Box<dyn Error>> {
    let done = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(folder).output()?;
    match done.status.success() {
        true => Ok(()),
        false => Err(format!("no small disk: {}", String::from_utf8_lossy(&done.stderr).trim()).into()),
    }
}
