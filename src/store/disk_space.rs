//! What the place of a store is like: how much room there is, and whether it lies on another machine.

use std::io;
use std::path::Path;

use super::error::StoreError;

/// With less, sled is not told of changes: it grows by pieces.
pub(super) const LEAST: u64 = 2 << 20;

/// Whether `bytes` fit beside what is in `folder`.
pub(super) fn is_there(folder: &Path, bytes: u64) -> Result<(), StoreError> {
    match fs4::available_space(folder) {
        Ok(room) if room < bytes => Err(StoreError::DiskFull { path: folder.to_owned() }),
        // Where that cannot be told, writing will tell.
        _ => Ok(()),
    }
}

/// Whether that is why something could not be written.
pub(super) fn is_lacking(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

/// The kind of file system on which `folder` lies, if that is one of a network's: locks and the order of writes are not
/// what they are on a disk there.
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
        // The last of equals lies over the others.
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
