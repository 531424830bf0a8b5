//! Hexadecimal notation.

use std::fmt::Write as _;

/// `bytes` as lower-case hexadecimal digits, two per byte.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
