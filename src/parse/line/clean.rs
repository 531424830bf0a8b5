//! Removes from a line what is not its text: colours, terminal commands, control characters, JSON's escapes, and the blanks and entities of web
//! pages through which it was copied.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr;

use super::envelope;
use crate::parse::record::amount::HOLE;

/// Texts within texts are followed this deep: docker's JSON around a logger's JSON around a printed exception.
const DEEPEST: usize = 3;

/// The text of `raw` without colours and control characters, and its runs as offsets in text and `raw`.
pub(super) fn clean(raw: &[u8]) -> (Cow<'_, str>, Vec<(usize, usize)>) {
    let wrapped = escaped_parts(raw);
    if !wrapped.is_empty() {
        let (mut text, mut runs) = unescape(raw, &wrapped);
        for _ in 1..DEEPEST {
            let Some((inner, inner_runs)) = unwrapped(&text) else { break };
            runs = composed(&inner_runs, &runs);
            text = inner;
        }
        return (Cow::Owned(text), runs);
    }
    let mut end = next_removed(raw, 0);
    if end == raw.len()
        && let Ok(text) = std::str::from_utf8(raw)
        && next_page_form(text, 0).is_none()
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
fn next_removed(raw: &[u8], at: usize) -> usize {
    next_byte(raw, at, is_suspicious, |at| removed(&raw[at..]) > 0).unwrap_or(raw.len())
}

/// The next place from `at` on at which `is` holds, only asked where `may` holds for the byte.
fn next_byte(raw: &[u8], at: usize, may: impl Fn(u8) -> bool + Copy, is: impl Fn(usize) -> bool) -> Option<usize> {
    // Chunks of this size are checked with SIMD instructions.
    let (chunks, rest) = raw.get(at..)?.as_chunks::<32>();
    for (chunk, start) in chunks.iter().zip((at..).step_by(32)) {
        let mut hits = [0u8; 32];
        hits.iter_mut().zip(chunk).for_each(|(hit, byte)| *hit = u8::from(may(*byte)));
        for (part, start) in hits.as_chunks::<8>().0.iter().zip((start..).step_by(8)) {
            let mut hits = u64::from_le_bytes(*part);
            while hits != 0 {
                let place = start + hits.trailing_zeros() as usize / 8;
                if is(place) {
                    return Some(place);
                }
                hits &= hits - 1;
            }
        }
    }
    let mut places = (raw.len() - rest.len()..).zip(rest).filter(|(_, byte)| may(**byte));
    places.find_map(|(place, _)| is(place).then_some(place))
}

fn push_lossy(raw: &[u8], mut at: usize, text: &mut String, runs: &mut Vec<(usize, usize)>) {
    for chunk in raw.utf8_chunks() {
        push_plain(chunk.valid(), at, text, runs);
        at += chunk.valid().len();
        if !chunk.invalid().is_empty() {
            runs.push((text.len(), at));
            text.push(char::REPLACEMENT_CHARACTER);
        }
        at += chunk.invalid().len();
    }
}

/// Pushes `words`, which stand at `at`, in plain characters.
fn push_plain(words: &str, at: usize, text: &mut String, runs: &mut Vec<(usize, usize)>) {
    let mut start = 0;
    while let Some((place, form, plain)) = next_page_form(words, start) {
        if place > start {
            runs.push((text.len(), at + start));
            text.push_str(&words[start..place]);
        }
        runs.push((text.len(), at + place));
        text.push_str(plain);
        start = place + form.len();
    }
    if start < words.len() {
        runs.push((text.len(), at + start));
        text.push_str(&words[start..]);
    }
}

/// How web pages and word processors write blanks, what has no width, and what means something in HTML; and the plain form.
const PAGE_FORMS: &[(&str, &str)] = &[
    ("\u{a0}", " "),
    ("\u{2002}", " "),
    ("\u{2003}", " "),
    ("\u{2007}", " "),
    ("\u{2009}", " "),
    ("\u{200a}", " "),
    ("\u{202f}", " "),
    ("\u{205f}", " "),
    ("\u{3000}", " "),
    ("\u{ad}", ""),
    ("\u{200b}", ""),
    ("\u{2060}", ""),
    ("\u{feff}", ""),
    ("&nbsp;", " "),
    ("&gt;", ">"),
    ("&lt;", "<"),
    ("&amp;", "&"),
    ("&quot;", "\""),
    ("&#34;", "\""),
    ("&#39;", "'"),
    ("&#x27;", "'"),
];

/// Where the next form begins from `start` on, the form, and its plain form.
fn next_page_form(words: &str, start: usize) -> Option<(usize, &'static str, &'static str)> {
    let form = |place: usize| words.get(place..).and_then(page_form);
    let place = next_byte(words.as_bytes(), start, may_begin_page_form, |place| form(place).is_some())?;
    form(place).map(|(form, plain)| (place, form, plain))
}

/// The form at the beginning of `words`.
fn page_form(words: &str) -> Option<(&'static str, &'static str)> {
    PAGE_FORMS.iter().copied().find(|(form, _)| words.starts_with(form))
}

/// Whether one of [`PAGE_FORMS`] may begin with a byte. Without branches, too.
fn may_begin_page_form(byte: u8) -> bool {
    (byte == 0xc2) | (byte == 0xe2) | (byte == 0xe3) | (byte == 0xef) | (byte == b'&')
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

/// What of `raw` has to be decoded: the texts that a line of JSON wraps, or the whole of a line with an escaped traceback.
fn escaped_parts(raw: &[u8]) -> Vec<Range<usize>> {
    let texts = envelope::wrapped_texts(raw);
    match texts.is_empty() && envelope::has_escaped_traceback(raw) {
        true => std::iter::once(0..raw.len()).collect(),
        false => texts,
    }
}

/// `text` with those of its lines decoded that are escaped themselves, and its runs; `None` if none is.
fn unwrapped(text: &str) -> Option<(String, Vec<(usize, usize)>)> {
    let (mut parts, mut start, mut is_escaped) = (Vec::new(), 0, false);
    for line in text.split_inclusive('\n') {
        let within = escaped_parts(line.as_bytes());
        is_escaped |= !within.is_empty();
        parts.push((start..start + line.len(), within));
        start += line.len();
    }
    if !is_escaped {
        return None;
    }
    let (mut inner, mut runs) = (String::with_capacity(text.len()), Vec::new());
    for (line, within) in parts {
        if within.is_empty() {
            runs.push((inner.len(), line.start));
            inner.push_str(&text[line]);
            continue;
        }
        let (decoded, own) = unescape(&text.as_bytes()[line.clone()], &within);
        runs.extend(own.into_iter().map(|(at, raw)| (inner.len() + at, line.start + raw)));
        inner.push_str(&decoded);
        runs.push((inner.len(), line.end));
        inner.push('\n');
    }
    Some((inner, runs))
}

/// The runs of a text in the bytes below `outer`, given those in `outer`.
fn composed(inner: &[(usize, usize)], outer: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut runs = Vec::with_capacity(inner.len());
    for (place, (text, middle)) in inner.iter().enumerate() {
        let first = outer.partition_point(|(at, _)| at <= middle).saturating_sub(1);
        let Some((at, raw)) = outer.get(first) else { continue };
        runs.push((*text, raw + middle.saturating_sub(*at)));
        let end = inner.get(place + 1).map_or(usize::MAX, |(next, _)| middle + next - text);
        let within = outer[first + 1..].iter().take_while(|(at, _)| *at < end);
        runs.extend(within.map(|(at, raw)| (text + at - middle, *raw)));
    }
    runs
}

/// Decodes the JSON strings at `parts` of `raw`, each on lines of its own.
fn unescape(raw: &[u8], parts: &[Range<usize>]) -> (String, Vec<(usize, usize)>) {
    let length = parts.iter().map(|part| part.len() + 1).sum();
    let (mut text, mut runs) = (String::with_capacity(length), Vec::new());
    for part in parts {
        if !text.is_empty() {
            runs.push((text.len(), part.start));
            text.push('\n');
        }
        unescape_part(raw, part.clone(), &mut text, &mut runs);
    }
    (text, runs)
}

/// Decodes the JSON string at `message` in `raw` onto the end of `text`.
fn unescape_part(raw: &[u8], message: Range<usize>, text: &mut String, runs: &mut Vec<(usize, usize)>) {
    let mut at = message.start;
    while at < message.end {
        let end = memchr(b'\\', &raw[at..message.end]).map_or(message.end, |found| at + found);
        push_lossy(&raw[at..end], at, text, runs);
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
        match page_form(decoded.encode_utf8(&mut [0; 4])) {
            Some((_, plain)) => text.push_str(plain),
            None => text.push(decoded),
        }
        at = (at + length).min(message.end);
    }
}
