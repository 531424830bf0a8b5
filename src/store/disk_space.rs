//! The file system of a store: free space, and whether it is a network's.

use std::io;
use std::path::Path;

use super::error::StoreError;

/// With fewer free bytes sled is not updated, as it grows in large steps.
pub(super) const LEAST: u64 = 2 << 20;

/// Fails if fewer than `bytes` are free in the file system of `folder`.
pub(super) fn check_free(folder: &Path, bytes: u64) -> Result<(), StoreError> {
    match fs4::available_space(folder) {
        Ok(room) if room < bytes => Err(StoreError::DiskFull { path: folder.to_owned() }),
        // If free space is unknown, writing will tell.
        _ => Ok(()),
    }
}

/// Whether `error` means that there is no space left.
pub(super) fn is_exhausted(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

/// The kind of a network file system on which `folder` lies; `None` for a local one. On network file systems locks and
/// the order of writes are less reliable.
pub fn network(folder: &Path) -> Option<String> {
    let folder = folder.ancestors().find_map(|folder| folder.canonicalize().ok())?;
    of_mounts(&std::fs::read_to_string("/proc/self/mounts").ok()?, &folder)
}

fn of_mounts(mounts: &str, folder: &Path) -> Option<String> {
    const NETWORK: [&str; 13] = [
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "lustre",
        "gpfs",
        "beegfs",
        "ceph",
        "fuse.ceph",
        "glusterfs",
        "fuse.glusterfs",
        "9p",
        "afs",
    ];
    let mut found: Option<(usize, &str)> = None;
    for line in mounts.lines() {
        let mut words = line.split(' ');
        let (Some(_), Some(place), Some(kind)) = (words.next(), words.next(), words.next()) else { continue };
        let place = place.replace("\\040", " ");
        // Of equal mount points the last one hides the others.
        if folder.starts_with(&place) && found.is_none_or(|(length, _)| length <= place.len()) {
            found = Some((place.len(), kind));
        }
    }
    found.map(|(_, kind)| kind).filter(|kind| NETWORK.contains(kind)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_mount_decides() {
        let mounts = "/dev/vda / ext4 rw 0 0\nfiler:/home /home nfs4 rw 0 0\n/dev/nvme0 /home/a\\040b xfs rw 0 0\n";
        let of = |folder: &str| of_mounts(mounts, Path::new(folder));
        assert_eq!(of("/home/me/oomdoc").as_deref(), Some("nfs4"));
        assert_eq!((of("/var/lib"), of("/home/a b/c"), of("/homes")), (None, None, None));
    }
}
