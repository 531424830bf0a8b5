//! JSON lines that wrap other programs' lines, and text in which a whole traceback stands with escaped line ends.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::{memchr, memchr2, memmem};

use crate::model::Timestamp;
use crate::parse::line::clock;

/// Keys of the message itself: docker's json-file, journald, `dmesg --json`, structured loggers, Google Cloud.
const MESSAGE: &[&[u8]] = &[b"log", b"MESSAGE", b"msg", b"message", b"textPayload"];
/// Keys beside it, or instead of it, that hold what failed: structlog, python-json-logger, zap, bunyan, logstash, ECS, FastAPI.
const FAILURE: &[&[u8]] = &[
    b"exception",
    b"exc_info",
    b"exc_text",
    b"stack",
    b"stack_trace",
    b"stacktrace",
    b"stackTrace",
    b"traceback",
    b"error",
    b"err",
    b"error_message",
    b"detail",
    b"details",
];
/// Stands before the first call of a Python traceback.
const TRACEBACK: &[u8] = b"(most recent call last):";
/// Built once, because every line is searched.
static TRACEBACKS: LazyLock<memmem::Finder<'_>> = LazyLock::new(|| memmem::Finder::new(TRACEBACK));

/// What a line of JSON says about its writer beside the message.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Writer {
    pub rank: Option<u32>,
    pub local_rank: Option<u32>,
    pub pid: Option<u32>,
    pub time: Option<Timestamp>,
}

impl Writer {
    /// What the members of `raw` say, if it is a line of JSON.
    pub fn of(raw: &[u8]) -> Writer {
        let mut writer = Writer::default();
        if raw.trim_ascii_start().first() != Some(&b'{') {
            return writer;
        }
        // A rank of LoRA and the parent's pid stand deeper.
        for Member { key, value, .. } in members(raw).filter(|member| member.depth == 1) {
            let words = || std::str::from_utf8(&raw[value.clone()]).ok();
            let number = || words().and_then(|words| words.parse().ok());
            match key {
                b"rank" | b"global_rank" => writer.rank = writer.rank.or_else(number),
                b"local_rank" => writer.local_rank = writer.local_rank.or_else(number),
                b"pid" | b"process" | b"_PID" => writer.pid = writer.pid.or_else(number),
                b"timestamp" | b"@timestamp" | b"asctime" | b"ts" => {
                    let time = || clock::iso(words()?).ok().map(|(_, time)| time);
                    writer.time = writer.time.or_else(time);
                }
                _ => {}
            }
        }
        writer
    }
}

/// Where the texts stand in a line of JSON that wraps some, in their order; nothing for any other line. They are the message and what is said
/// of a failure. Other members may be anybody's words: a prompt, an answer, the rule of an alert.
pub fn wrapped_texts(raw: &[u8]) -> Vec<Range<usize>> {
    let rest = raw.trim_ascii_start();
    let is_object = rest.first() == Some(&b'{');
    // A printed Python dictionary has an apostrophe here; in many logs most lines are such dictionaries.
    if is_object && rest[1..].trim_ascii_start().first() == Some(&b'\'') || !is_object && rest.first() != Some(&b'"') {
        return Vec::new();
    }
    // A member on a line of its own, of JSON printed over several lines, is the only one.
    let most = if is_object { usize::MAX } else { 1 };
    let (mut texts, mut wraps) = (Vec::new(), false);
    for Member { key, value, .. } in members(raw).filter(|member| member.is_text).take(most) {
        let is_message = MESSAGE.contains(&key);
        if is_message || FAILURE.contains(&key) {
            // One line that says what failed is no other program's.
            wraps |= is_message || has_lines(&raw[value.clone()]);
            texts.push(value);
        }
    }
    if wraps { texts } else { Vec::new() }
}

/// Whether `raw`, which is no JSON, holds a traceback whose line ends and quotes are escaped, as `repr` and nested JSON write them.
pub fn has_escaped_traceback(raw: &[u8]) -> bool {
    if raw.trim_ascii_start().starts_with(b"{\"") {
        return false;
    }
    let Some(at) = TRACEBACKS.find(raw) else { return false };
    let behind = &raw[at + TRACEBACK.len()..];
    let slashes = behind.iter().take_while(|byte| **byte == b'\\').count();
    slashes > 0 && behind.get(slashes) == Some(&b'n')
}

/// Whether an escaped line end stands within `text`, and not just at its end.
fn has_lines(text: &[u8]) -> bool {
    let end = text.strip_suffix(b"\\n").unwrap_or(text);
    memmem::find(end, b"\\n").is_some()
}

/// A string or number in a line of JSON, with the nearest key before it.
struct Member<'r> {
    key: &'r [u8],
    /// Without quotes.
    value: Range<usize>,
    is_text: bool,
    /// How many objects contain it.
    depth: usize,
}

/// The members of a line of JSON, which may be cut at either end.
fn members(raw: &[u8]) -> impl Iterator<Item = Member<'_>> {
    let (mut at, mut key, mut depth) = (0, &raw[..0], 0usize);
    std::iter::from_fn(move || {
        loop {
            let open = at + memchr(b'"', raw.get(at..)?)?;
            for byte in &raw[at..open] {
                match byte {
                    b'{' => depth += 1,
                    b'}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
            }
            let text = open + 1..string_end(raw, open + 1);
            let after = skip_blanks(raw, text.end + 1);
            if raw.get(after) != Some(&b':') {
                at = text.end + 1;
                return Some(Member { key, value: text, is_text: true, depth });
            }
            key = &raw[text];
            at = skip_blanks(raw, after + 1);
            let digits = raw[at.min(raw.len())..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            if digits > 0 {
                let value = at..at + digits;
                at = value.end;
                return Some(Member { key, value, is_text: false, depth });
            }
        }
    })
}

fn skip_blanks(raw: &[u8], at: usize) -> usize {
    let rest = &raw[at.min(raw.len())..];
    at.min(raw.len()) + rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

/// Where the string ends whose content begins at `at`: at its quote, or where `raw` was cut.
fn string_end(raw: &[u8], mut at: usize) -> usize {
    while let Some(found) = raw.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        match raw[at + found] {
            b'"' => return at + found,
            _ => at += found + 2,
        }
    }
    raw.len()
}
