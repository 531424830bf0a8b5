//! RFC 1952; several members one after the other are one stream, as `cat a.gz b.gz` makes it.

use std::io::{BufRead, Read};

use flate2::bufread::MultiGzDecoder;

pub(super) fn stream(packed: impl BufRead + Send) -> impl Read + Send {
    MultiGzDecoder::new(packed)
}
