//! What `bzip2` and `pbzip2` write; several streams one after the other are one.

use std::io::{BufRead, Read};

use ::bzip2::bufread::MultiBzDecoder;

pub(super) fn stream(packed: impl BufRead + Send) -> impl Read + Send {
    MultiBzDecoder::new(packed)
}
