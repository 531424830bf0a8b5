//! Small grammars that several producers share: sizes, numbers, words.

use nom::branch::alt;
use nom::bytes::complete::{tag, take_while, take_while_m_n, take_while1};
use nom::character::complete::{char, multispace0, satisfy};
use nom::combinator::{map_opt, not, opt, peek, recognize};
use nom::multi::many0_count;
use nom::{IResult, Offset, Parser};

use crate::model::Bytes;

/// An amount of memory and the words that state it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Size<'a> {
    /// As it stands in the message.
    pub text: &'a str,
    /// `None` where a kernel says "no limit".
    pub bytes: Option<Bytes>,
}

/// What `GB` means to a producer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::parse) enum Giga {
    /// 2^30: PyTorch, DeepSpeed, Ray's monitor, verl, most training logs.
    Binary,
    /// 10^9, and so `MB` and the others: Ray's object store and its oldest monitor.
    Decimal,
}

/// `1.16 GiB`, `27.71GB`, `524288000kB`, `0 bytes`, `712Gi`, `977. GiB`: a number, perhaps blanks or a line's end, a unit.
pub(in crate::parse) fn size(input: &str) -> IResult<&str, Size<'_>> {
    sized(input, Giga::Binary)
}

/// [`size`] of a producer whose `GB` is not 2^30.
pub(in crate::parse) fn sized(input: &str, giga: Giga) -> IResult<&str, Size<'_>> {
    let (rest, (text, (amount, unit))) =
        nom::combinator::consumed((decimal, nom::sequence::preceded(multispace0, unit))).parse(input)?;
    let decimal_unit = || {
        let units = [("TB", 1_000_000_000_000), ("GB", 1_000_000_000), ("MB", 1_000_000), ("KB", 1000), ("kB", 1000)];
        units.into_iter().find(|(name, _)| text.ends_with(name)).map(|(_, bytes)| Bytes(bytes))
    };
    let unit = match giga {
        Giga::Decimal => decimal_unit().unwrap_or(unit),
        Giga::Binary => unit,
    };
    Ok((rest, Size { text, bytes: Bytes::of(amount, unit) }))
}

/// A number of bytes without a unit: Slurm, the kernel's `memory.stat`.
pub(in crate::parse) fn plain_bytes(input: &str) -> IResult<&str, Size<'_>> {
    let (rest, (text, amount)) = nom::combinator::consumed(decimal).parse(input)?;
    Ok((rest, Size { text, bytes: Bytes::of(amount, Bytes(1)) }))
}

/// A number whose unit stands elsewhere, or nowhere: `31.44` of `(31.44/47.38 GiB)`, verl's `(GB): 15.44`.
pub(in crate::parse) fn counted(input: &str, unit: Bytes) -> IResult<&str, Size<'_>> {
    let (rest, (text, amount)) = nom::combinator::consumed(decimal).parse(input)?;
    Ok((rest, Size { text, bytes: Bytes::of(amount, unit) }))
}

/// `16515076 bytes`, `1,073,741,824`: a whole number of bytes.
pub(in crate::parse) fn byte_count(input: &str) -> IResult<&str, Size<'_>> {
    // A comma behind the number is no part of it.
    let count = recognize((digits, many0_count((char(','), digits))));
    let (rest, (text, (count, _))) = nom::combinator::consumed((count, opt(tag(" bytes")))).parse(input)?;
    let bytes = count.replace(',', "").parse().ok().and_then(|count| Bytes::of(count, Bytes(1)));
    Ok((rest, Size { text, bytes }))
}

/// `4711`
pub(in crate::parse) fn digits(input: &str) -> IResult<&str, &str> {
    take_while1(|c: char| c.is_ascii_digit()).parse(input)
}

/// A unit of memory, binary whatever its spelling: that is how the producers here count.
fn unit(input: &str) -> IResult<&str, Bytes> {
    let prefixed = |letter: char, bytes: Bytes| {
        (satisfy(move |c| c.eq_ignore_ascii_case(&letter)), opt(alt((tag("iB"), tag("B"), tag("i")))))
            .map(move |_| bytes)
    };
    alt((
        alt((tag("bytes"), tag("byte"), tag("Bytes"))).map(|_| Bytes(1)),
        prefixed('K', Bytes::KIB),
        prefixed('M', Bytes::MIB),
        prefixed('G', Bytes::GIB),
        prefixed('T', Bytes::TIB),
        prefixed('P', Bytes(1 << 50)),
        tag("B").map(|_| Bytes(1)),
    ))
    .parse(input)
}

/// `-1.25`, `1,048,576`, `977.`; a comma behind the number is no part of it.
pub(in crate::parse) fn decimal(input: &str) -> IResult<&str, f64> {
    let digit = |c: char| c.is_ascii_digit();
    let thousand = (char(','), take_while_m_n(3, 3, digit), peek(not(satisfy(digit))));
    let digits = (take_while1(digit), many0_count(thousand));
    let fraction = (char('.'), take_while(digit));
    map_opt(recognize((opt(char('-')), digits, opt(fraction))), |text: &str| text.replace(',', "").parse().ok())
        .parse(input)
}

/// The rest of `text` after the first `word`, or `None`.
pub(in crate::parse) fn after<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    text.find(word).map(|at| &text[at + word.len()..])
}

/// Where each `word` begins in `text`.
pub(in crate::parse) fn each<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = &'a str> + 'a {
    text.match_indices(word).map(|(at, _)| &text[at..])
}

/// The first line of `text`.
pub(in crate::parse) fn line(text: &str) -> &str {
    &text[..text.find('\n').unwrap_or(text.len())]
}

/// The line of `text` in which `part`, a slice of it, begins.
pub(in crate::parse) fn line_of<'a>(text: &'a str, part: &str) -> &'a str {
    let start = text.len().min(text.offset(part)) - before(text, part).len();
    line(&text[start..])
}

/// What stands before `part` on its line; `part` is a slice of `text`.
pub(in crate::parse) fn before<'a>(text: &'a str, part: &str) -> &'a str {
    let start = &text[..text.len().min(text.offset(part))];
    &start[start.rfind('\n').map_or(0, |feed| feed + 1)..]
}

/// Where `word` begins a message in `text`, up to the end of the text; where it is only mentioned is left out.
pub(in crate::parse) fn spoken<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = &'a str> + 'a {
    each(text, word).filter(move |message| may_begin(before(text, message)))
}

/// Whether a message begins is told by as much of what stands before it: a line may hold thousands of messages.
const LOOK_BACK: usize = 1024;

/// Whether a message may begin behind `before`: at the beginning of a line, behind a label, a prefix or another output
/// such as a progress bar. Within a sentence, a comment or a string of source code it is a mention.
pub(in crate::parse) fn may_begin(before: &str) -> bool {
    let before = before[before.ceil_char_boundary(before.len().saturating_sub(LOOK_BACK))..].trim_end();
    // The value of a key in JSON.
    let key = before.strip_suffix(['"', '\'']).map(str::trim_end).filter(|key| key.ends_with(':'));
    let before = key.unwrap_or(before);
    let label = before.chars().next_back().is_none_or(|last| ":])}>|;=!%-│┃█▏▎▍▌▋▊▉".contains(last));
    let bullet = before.trim_start() == "-";
    label && !bullet && !is_in_call(before)
}

/// Whether a string literal is open in the arguments of a call: `raise RuntimeError("Error:`
pub(in crate::parse) fn is_in_call(before: &str) -> bool {
    let before = &before[before.ceil_char_boundary(before.len().saturating_sub(LOOK_BACK))..];
    ["(\"", "('", "(f\"", "(f'"].iter().any(|open| {
        let quote = &open[open.len() - 1..];
        before.rfind(open).is_some_and(|at| !before[at + open.len()..].contains(quote))
    })
}

/// The first run of characters that are neither blank nor one of `ends`.
pub(in crate::parse) fn token<'a>(text: &'a str, ends: &str) -> &'a str {
    &text[..text.find(|c: char| c.is_whitespace() || ends.contains(c)).unwrap_or(text.len())]
}

/// What `parser` reads at the beginning of `text`.
pub(in crate::parse) fn read<'a, P>(mut parser: P, text: &'a str) -> Option<P::Output>
where
    P: Parser<&'a str, Error = nom::error::Error<&'a str>>,
{
    let (_, read) = parser.parse(text).ok()?;
    Some(read)
}

/// Whether `part`, a slice of `text`, stands in quotes: source code in a traceback, advice, a mention.
pub(in crate::parse) fn is_quoted(text: &str, part: &str) -> bool {
    text[..text.len().min(nom::Offset::offset(text, part))].trim_end().ends_with(['"', '\'', '`'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_spelling_of_a_size() {
        let bytes = |text| size(text).ok().and_then(|(_, size)| size.bytes).map(|bytes| bytes.0);
        assert_eq!(bytes("1.16 GiB free"), Some(1_245_540_516));
        assert_eq!(bytes("0 bytes"), Some(0));
        assert_eq!(bytes("27.71GB"), Some((27.71 * (1u64 << 30) as f64).round() as i64));
        assert_eq!(bytes("524288000kB,"), Some(500 << 30));
        assert_eq!(bytes("712Gi"), Some(712 << 30));
        assert_eq!(bytes("977. GiB"), Some(977 << 30));
        assert_eq!(bytes("2044571648B"), Some(2_044_571_648));
        assert_eq!(bytes("79.35 GiB\ntotal"), bytes("79.35\nGiB"));
        assert_eq!(bytes("9007199254740988kB"), None);
        assert_eq!(bytes("1,024 MiB"), Some(1 << 30));
        assert_eq!(plain_bytes("2044571648, 7").map(|(rest, size)| (rest, size.text)), Ok((", 7", "2044571648")));
        assert_eq!(bytes("GiB"), None);
        assert_eq!(bytes("1.5 PiB"), Some(3 << 49));
        assert_eq!(sized("12.3 GB", Giga::Decimal).ok().and_then(|(_, size)| size.bytes), Some(Bytes(12_300_000_000)));
    }
    #[test]
    fn a_message_begins_behind_a_label_and_not_in_a_sentence() {
        let spoken = |text| spoken(text, "it failed").count() > 0;
        for text in [
            "it failed",
            "  it failed",
            "RuntimeError: it failed",
            "1/8 [00:01<00:03,  1.7s/it]it failed",
            "epoch 3 (loss 1.7)it failed",
            "{\"level\": \"error\", \"error\": \"it failed\"}",
            "print('a') : it failed",
            "2026-03-01 10:00:00 - trainer - ERROR - it failed",
        ] {
            assert!(spoken(text), "{text}");
        }
        for text in [
            "when it failed",
            "# it failed",
            "  - it failed",
            "raise RuntimeError(\"it failed\")",
            "raise RuntimeError(f\"Error: it failed\")",
            "if \"it failed\" in str(error):",
            "prints `it failed`",
        ] {
            assert!(!spoken(text), "{text}");
        }
    }
}
