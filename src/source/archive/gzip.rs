//! RFC 1952; several concatenated members are read as one stream, as `cat a.gz b.gz` makes them.

use std::io::{BufRead, Read};

use flate2::bufread::MultiGzDecoder;

pub(super) fn stream(packed: impl BufRead + Send) -> impl Read + Send {
    MultiGzDecoder::new(packed)
}
