//! Files of `bzip2` and `pbzip2`; several concatenated streams are read as one.

use std::io::{BufRead, Read};

use ::bzip2::bufread::MultiBzDecoder;

pub(super) fn stream(packed: impl BufRead + Send) -> impl Read + Send {
    MultiBzDecoder::new(packed)
}
