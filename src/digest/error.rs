use std::io;
use std::sync::Arc;

use thiserror::Error;

/// Why a digest cannot be written or read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DigestError {
    /// The stream broke.
    #[error("reading stopped: {0}")]
    Io(#[from] io::Error),
    /// It is something else.
    #[error("is no digest: it does not begin as one")]
    NoDigest,
    /// A later version wrote it.
    #[error("is a digest of version {version}, which this oomdoc does not know yet")]
    Newer {
        /// Its version.
        version: u64,
    },
    /// It is shorter than it says.
    #[error("the digest of node {node} is cut off")]
    CutOff {
        /// The node.
        node: Arc<str>,
    },
    /// It is not what was written.
    #[error("the digest of node {node} is damaged: {problem}")]
    Damaged {
        /// The node.
        node: Arc<str>,
        /// How.
        problem: String,
    },
}
