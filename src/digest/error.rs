use std::io;
use std::sync::Arc;

use thiserror::Error;

/// Why a digest cannot be written or read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DigestError {
    /// The stream failed.
    #[error("reading stopped: {0}")]
    Io(#[from] io::Error),
    /// It is not a digest.
    #[error("is no digest: it does not begin as one")]
    NoDigest,
    /// A later version wrote it.
    #[error("is a digest of version {version}, which this oomdoc does not know yet")]
    Newer {
        /// Its version.
        version: u64,
    },
    /// It is shorter than its head says.
    #[error("the digest of node {node} is cut off")]
    CutOff {
        /// The node.
        node: Arc<str>,
    },
    /// Its bytes have changed.
    #[error("the digest of node {node} is damaged: {problem}")]
    Damaged {
        /// The node.
        node: Arc<str>,
        /// The problem.
        problem: String,
    },
}
