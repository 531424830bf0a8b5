//! JSON lines that wrap another program's line.

use std::ops::Range;

use memchr::memmem;

/// Where the message stands in a line of JSON that wraps one: docker's json-file, journald, `dmesg --json`, structured
/// loggers. `None` for any other line.
pub fn wrapped_message(raw: &[u8]) -> Option<Range<usize>> {
    const KEYS: &[&[u8]] =
        &[b"\"log\":", b"\"MESSAGE\":", b"\"MESSAGE\" :", b"\"msg\":", b"\"message\":", b"\"textPayload\":"];
    let start = raw.iter().position(|byte| !byte.is_ascii_whitespace())?;
    let rest = &raw[start..];
    let key = match rest.first()? {
        // A printed Python dictionary has an apostrophe here; in many logs most lines are such dictionaries.
        b'{' if rest[1..].trim_ascii_start().starts_with(b"'") => return None,
        b'{' => KEYS.iter().find_map(|key| memmem::find(rest, key).map(|at| at + key.len()))?,
        b'"' => KEYS.iter().find_map(|key| rest.starts_with(key).then_some(key.len()))?,
        _ => return None,
    };
    let quote = start + key + rest[key..].iter().position(|byte| *byte != b' ')?;
    if raw.get(quote) != Some(&b'"') {
        return None;
    }
    let mut end = quote + 1;
    while end < raw.len() && raw[end] != b'"' {
        end += if raw[end] == b'\\' { 2 } else { 1 };
    }
    Some(quote + 1..end.min(raw.len()))
}
