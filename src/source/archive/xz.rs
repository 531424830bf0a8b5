//! The `.xz` file format, including several concatenated streams.

use std::io::{BufRead, Read};

use lzma_rust2::XzReader;

/// KiB that unpacking may take; `xz -9` asks for 65 MiB.
const MOST_MEMORY: u32 = 128 << 10;

pub(super) fn stream(packed: impl BufRead + Send) -> impl Read + Send {
    XzReader::new_mem_limit(packed, true, MOST_MEMORY)
}
