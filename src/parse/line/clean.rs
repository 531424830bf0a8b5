//! Removes from a line what is not its text: colours, terminal commands, control characters, JSON's escapes.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr;

use super::envelope;
use crate::parse::record::amount::HOLE;

/// The text of `raw` without colours and control characters, and its runs as offsets in text and `raw`.
pub(super) fn clean(raw: &[u8]) -> (Cow<'_, str>, Vec<(usize, usize)>) {
    if let Some(message) = envelope::wrapped_message(raw) {
        return unescape(raw, message);
    }
    let mut end = next_removed(raw, 0);
    if end == raw.len()
        && let Ok(text) = std::str::from_utf8(raw)
    {
        return (Cow::Borrowed(text), Vec::new());
    }
    let (mut text, mut runs, mut at) = (String::with_capacity(raw.len()), Vec::new(), 0);
    while at < raw.len() {
        push_lossy(&raw[at..end], at, &mut text, &mut runs);
        let nulls = raw[end..].iter().take_while(|byte| **byte == 0).count();
        if nulls > 0 && is_beside_digit(raw, end..end + nulls) {
            runs.push((text.len(), end));
            text.push(HOLE);
        }
        at = end + if nulls > 0 { nulls } else { removed(&raw[end..]) };
        end = next_removed(raw, at);
    }
    (Cow::Owned(text), runs)
}

/// Whether a digit stands beside the NULs at `hole`. A hole in a file hides unknown bytes: a number beside it may be incomplete, and the
/// digits on both sides are not one number.
fn is_beside_digit(raw: &[u8], hole: Range<usize>) -> bool {
    let is_digit = |at: usize| raw.get(at).is_some_and(u8::is_ascii_digit);
    hole.start.checked_sub(1).is_some_and(is_digit) || is_digit(hole.end)
}

/// Where, from `at` on, the next sequence begins that [`removed`] removes; the end of `raw` if there is none.
fn next_removed(raw: &[u8], mut at: usize) -> usize {
    let begins = |at: &usize| is_suspicious(raw[*at]) && removed(&raw[*at..]) > 0;
    // Chunks of this size are checked with SIMD instructions.
    while let Some(bytes) = raw.get(at..).and_then(|rest| rest.first_chunk::<32>()) {
        if bytes.iter().fold(false, |any, byte| any | is_suspicious(*byte))
            && let Some(found) = (at..at + bytes.len()).find(begins)
        {
            return found;
        }
        at += bytes.len();
    }
    (at..raw.len()).find(begins).unwrap_or(raw.len())
}

fn push_lossy(raw: &[u8], mut at: usize, text: &mut String, runs: &mut Vec<(usize, usize)>) {
    for chunk in raw.utf8_chunks() {
        if !chunk.valid().is_empty() {
            runs.push((text.len(), at));
            text.push_str(chunk.valid());
        }
        at += chunk.valid().len();
        if !chunk.invalid().is_empty() {
            runs.push((text.len(), at));
            text.push(char::REPLACEMENT_CHARACTER);
        }
        at += chunk.invalid().len();
    }
}

/// Whether a byte may begin something that [`removed`] removes. Without branches, so that the compiler vectorises the loop around it.
fn is_suspicious(byte: u8) -> bool {
    let is_control = (byte < b' ') & (byte != b'\t') & (byte != b'\n') | (byte == 0x7f);
    is_control | (byte == b'[') | (byte == b'^') | (byte == b'#') | (byte == b'\\')
}

/// Length of the colour code, terminal command or control character at the start of `raw`; 0 if there is none.
///
/// Besides the true escape character it knows the forms into which log shippers turn it: `^[[36m`, syslog's `#033[36m`, the literal
/// `\x1b[36m`, `\u001b[36m`, `\033[36m`, and `[36m` where the escape was dropped.
pub(crate) fn removed(raw: &[u8]) -> usize {
    const ESCAPES: &[&[u8]] = &[b"\x1b", b"^[", b"#033", b"\\x1b", b"\\u001b", b"\\033", b"\\e"];
    let escape = ESCAPES.iter().find(|escape| raw.starts_with(escape)).map_or(0, |escape| escape.len());
    let rest = &raw[escape..];
    match rest.first() {
        Some(b'[') => {
            let parameters = rest[1..].iter().take_while(|byte| byte.is_ascii_digit() || b";?".contains(byte)).count();
            match rest.get(1 + parameters) {
                Some(b'm') if escape > 0 || parameters > 0 => escape + parameters + 2,
                Some(b'@'..=b'~') if escape > 0 => escape + parameters + 2,
                _ => 0,
            }
        }
        // A command for the terminal's title, or Buildkite's time stamps: up to the bell.
        Some(b']' | b'_') if escape > 0 => match rest.iter().take(200).position(|byte| *byte == 7) {
            Some(bell) => escape + bell + 1,
            None => escape,
        },
        _ if raw.starts_with(b"\x1b") => 1,
        _ => usize::from(matches!(raw.first(), Some(0..=8 | 0x0b..=0x1f | 0x7f))),
    }
}

/// Decodes the JSON string at `message` in `raw`.
fn unescape(raw: &[u8], message: Range<usize>) -> (Cow<'_, str>, Vec<(usize, usize)>) {
    let (mut text, mut runs, mut at) = (String::with_capacity(message.len()), Vec::new(), message.start);
    while at < message.end {
        let end = memchr(b'\\', &raw[at..message.end]).map_or(message.end, |found| at + found);
        push_lossy(&raw[at..end], at, &mut text, &mut runs);
        at = end;
        if at == message.end {
            break;
        }
        let colour = removed(&raw[at..message.end]);
        if colour > 0 {
            at += colour;
            continue;
        }
        let (decoded, length) = match raw.get(at + 1) {
            Some(b'n') => ('\n', 2),
            Some(b't') => ('\t', 2),
            Some(b'r') => ('\n', 2),
            Some(b'u') => {
                let digits = raw.get(at + 2..at + 6).and_then(|digits| std::str::from_utf8(digits).ok());
                let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
                (code.and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER), 6)
            }
            Some(other) => (*other as char, 2),
            None => ('\\', 1),
        };
        runs.push((text.len(), at));
        text.push(decoded);
        at = (at + length).min(message.end);
    }
    (Cow::Owned(text), runs)
}
