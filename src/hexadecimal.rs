//! Bytes as people compare them.

use std::fmt::Write as _;

/// `bytes` as hexadecimal digits in small letters, two a byte.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
