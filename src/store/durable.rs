//! Files that are there, whole, after a power cut.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Replaces the file at `path`: whoever reads it sees the old or the new content, never a part.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    place(path, content, None)
}

/// [`replace`], with the permissions of the file at `like`.
pub fn replace_like(path: &Path, content: &[u8], like: &Path) -> io::Result<()> {
    place(path, content, Some(fs::metadata(like)?.permissions()))
}

fn place(path: &Path, content: &[u8], permissions: Option<fs::Permissions>) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let temporary = path.with_file_name(name);
    let written = File::create(&temporary).and_then(|mut file| {
        file.write_all(content)?;
        permissions.map_or(Ok(()), |permissions| file.set_permissions(permissions))?;
        file.sync_all()
    });
    let placed = written.and_then(|()| fs::rename(&temporary, path));
    if placed.is_err() {
        // Nothing more can be done about it.
        let _ = fs::remove_file(&temporary);
    }
    placed?;
    // A name alone lies in the current folder.
    let folder = path.parent().map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
    folder.map_or(Ok(()), sync_folder)
}

/// Makes `folder` and those above it, as far as they are missing, durably.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    match folder.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => {
            make_folder(parent)?;
            fs::create_dir_all(folder)?;
            sync_folder(parent)
        }
        None => fs::create_dir_all(folder),
    }
}

/// Makes the names in a folder durable. Windows has no such call and needs none.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}
