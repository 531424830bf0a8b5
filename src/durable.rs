//! Writes files that survive a power cut, complete or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

/// The suffix of temporary files, behind the process id.
const NEW: &str = ".new";
/// The age at which a temporary file is abandoned.
const FORSAKEN: Duration = Duration::from_secs(60);

/// Replaces the file at `path` atomically: readers see the old or the new content, never a part.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    place(path, content, None)
}

/// [`replace`], with the owner and the permissions of the file at `like`. If they cannot be set, it fails and replaces
/// nothing.
pub fn replace_like(path: &Path, content: &[u8], like: &Path) -> io::Result<()> {
    place(path, content, Some(fs::metadata(like)?))
}

fn place(path: &Path, content: &[u8], like: Option<fs::Metadata>) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}{NEW}", std::process::id()));
    let temporary = path.with_file_name(name);
    let written = File::create(&temporary).and_then(|mut file| {
        file.write_all(content)?;
        like.map_or(Ok(()), |like| belong_like(&file, &like))?;
        file.sync_all()
    });
    let placed = written.and_then(|()| rename(&temporary, path));
    if placed.is_err() {
        // If this fails too, [`sweep`] removes it later.
        let _ = fs::remove_file(&temporary);
    }
    placed
}

/// Durably renames the file `new` to `path`, in the same folder.
pub fn rename(new: &Path, path: &Path) -> io::Result<()> {
    fs::rename(new, path)?;
    // A bare name is in the current folder.
    let folder = path.parent().map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
    folder.map_or(Ok(()), sync_folder)
}

/// Removes temporary files that killed processes left in `folder`.
pub fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let process = name.strip_suffix(NEW).and_then(|name| name.rsplit_once('.')).map(|(_, process)| process);
        let is_ours = process.is_some_and(|process| process.parse::<u32>().is_ok());
        let age = entry.metadata().and_then(|data| data.modified()).ok().and_then(|time| time.elapsed().ok());
        if is_ours && age.is_some_and(|age| age > FORSAKEN) {
            // The next sweep tries again.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Gives `file` the owner and the permissions of `like`; the owner first, since changing it clears some permissions.
fn belong_like(file: &File, like: &fs::Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let own = file.metadata()?;
        if (own.uid(), own.gid()) != (like.uid(), like.gid()) {
            fchown(file, Some(like.uid()), Some(like.gid()))?;
        }
    }
    file.set_permissions(like.permissions())
}

/// Durably creates `folder` and its missing parents, accessible to the owner only.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    match folder.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => {
            make_folder(parent)?;
            make(folder)?;
            sync_folder(parent)
        }
        None => make(folder),
    }
}

/// Creates a folder, unless another process was faster.
fn make(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

/// Makes the entries of a folder durable. Windows has no such call and needs none.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}
