//! RFC 8878. A file has any number of frames, as `pzstd` and appending loggers write them, with skippable frames between.

use std::io::{self, BufRead, Read};

use zstd::Decoder;

/// All frames of `packed` as one.
pub(super) fn stream<'r>(packed: impl BufRead + Send + 'r) -> io::Result<impl Read + Send + 'r> {
    Decoder::with_buffer(packed)
}
