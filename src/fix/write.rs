//! Writes the edited text of one file atomically, under a lock, with the same owner, permissions and names as before,
//! and keeps the original beside it.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::{Done, FixError};
use crate::config;
use crate::durable;

/// The suffix of the original that the first fix keeps.
pub(super) const BEFORE: &str = ".before-oomdoc";

/// The original of a file, if the file is still as the fix left it. A later change by the user takes precedence.
pub(super) fn kept(file: &Path) -> Option<Vec<u8>> {
    is_current(file).then(|| fs::read(before(file)).ok())?
}

/// Whether the file is unchanged since the fix, which gave both files the same modification time.
fn is_current(file: &Path) -> bool {
    let modified = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    modified(&before(file)).is_some_and(|kept| Some(kept) == modified(file))
}

fn before(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(BEFORE);
    PathBuf::from(name)
}

/// Writes `edited` to `file`, whose current text must differ from it by exactly `diff`.
pub(super) fn write(file: &str, edited: &str, diff: Option<&str>) -> Result<Done, FixError> {
    let (path, place) = (Path::new(file), || file.to_owned());
    let failed = |error| FixError::File { path: place(), error };
    // The target of a link is edited; the link stays.
    let target = fs::canonicalize(path).map_err(failed)?;
    let was = fs::metadata(&target).map_err(failed)?;
    check(&was).map_err(|why| FixError::Refused { path: place(), why })?;
    let mut opened = File::options().read(true).write(true).open(&target).map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => FixError::Refused { path: place(), why: "you may not write it" },
        _ => failed(error),
    })?;
    let busy = || FixError::Refused { path: place(), why: "another fix is writing it; try again when it is done" };
    lock(&opened).map_err(|_| busy())?;
    if !is_same(&opened.metadata().map_err(failed)?, &fs::metadata(&target).map_err(failed)?) {
        // Another fix replaced the file before this one locked it.
        return Err(busy());
    }
    let mut now = String::new();
    opened.read_to_string(&mut now).map_err(failed)?;
    if now == edited {
        return Ok(Done::Already);
    }
    let keep = before(path);
    let is_as_analysed = Some(config::diff(file, &now, edited).as_str()) == diff;
    if !is_as_analysed || keep.exists() {
        return Err(FixError::Changed { path: place(), before: keep.display().to_string() });
    }
    durable::replace_like(&keep, now.as_bytes(), &target).map_err(failed)?;
    let written = durable::replace_like(&target, edited.as_bytes(), &target).and_then(|()| same_time(&target, &keep));
    written.map_err(|error| {
        // The file is unchanged, so no original is kept.
        let is_unchanged = fs::read(&target).is_ok_and(|bytes| bytes == now.as_bytes());
        let _ = is_unchanged.then(|| fs::remove_file(&keep));
        match error.kind() {
            io::ErrorKind::PermissionDenied => {
                FixError::Refused { path: place(), why: "its owner or its folder's does not let you replace it" }
            }
            _ => failed(error),
        }
    })?;
    Ok(Done::Written)
}

/// The reason not to replace a file, if there is one.
fn check(file: &Metadata) -> Result<(), &'static str> {
    match file {
        _ if !file.is_file() => Err("it is no regular file"),
        _ if file.permissions().readonly() => Err("it is read-only"),
        _ if names(file) > 1 => Err("it has other names (hard links), which would keep the old text"),
        _ => Ok(()),
    }
}

/// Gives `kept` the modification time of `file`, which later tells whether the file has been changed.
fn same_time(file: &Path, kept: &Path) -> io::Result<()> {
    let modified = fs::metadata(file)?.modified()?;
    File::options().write(true).open(kept)?.set_modified(modified)
}

#[cfg(unix)]
fn names(file: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(file)
}

#[cfg(unix)]
fn is_same(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(unix)]
fn lock(file: &File) -> io::Result<()> {
    file.try_lock().map_err(io::Error::from)
}

// Other systems do not replace a file that is open.
#[cfg(not(unix))]
fn names(_: &Metadata) -> u64 {
    1
}

#[cfg(not(unix))]
fn is_same(_: &Metadata, _: &Metadata) -> bool {
    true
}

#[cfg(not(unix))]
fn lock(_: &File) -> io::Result<()> {
    Ok(())
}
