//! RFC 1952; several members one after the other are one stream, as `cat a.gz b.gz` makes it.

use std::io::{BufRead, Read};

use flate2::bufread::MultiGzDecoder;

/// Deflate is the only method there is.
pub(super) const MAGIC: &[u8] = &[0x1f, 0x8b, 8];

pub(super) fn stream(packed: impl BufRead + Send) -> impl Read + Send {
    MultiGzDecoder::new(packed)
}
