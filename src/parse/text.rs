//! Small grammars that several producers share: sizes, numbers, words.

use nom::branch::alt;
use nom::bytes::complete::{tag, take_while, take_while_m_n, take_while1};
use nom::character::complete::{char, multispace0, satisfy};
use nom::combinator::{map_opt, not, opt, peek, recognize};
use nom::multi::many0_count;
use nom::{IResult, Parser};

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
pub(super) enum Giga {
    /// 2^30: PyTorch, DeepSpeed, Ray's monitor, verl, most training logs.
    Binary,
    /// 10^9: Ray's object store and its oldest monitor.
    Decimal,
}

/// `1.16 GiB`, `27.71GB`, `524288000kB`, `0 bytes`, `712Gi`, `977. GiB`: a number, perhaps blanks or a line's end, a unit.
pub(super) fn size(input: &str) -> IResult<&str, Size<'_>> {
    sized(input, Giga::Binary)
}

/// [`size`] of a producer whose `GB` is not 2^30.
pub(super) fn sized(input: &str, giga: Giga) -> IResult<&str, Size<'_>> {
    let (rest, (text, (amount, unit))) =
        nom::combinator::consumed((decimal, nom::sequence::preceded(multispace0, unit))).parse(input)?;
    let unit = match (giga, text.ends_with("GB")) {
        (Giga::Decimal, true) => Bytes(1_000_000_000),
        _ => unit,
    };
    Ok((rest, Size { text, bytes: Bytes::of(amount, unit) }))
}

/// A number of bytes without a unit: Slurm, the kernel's `memory.stat`.
pub(super) fn plain_bytes(input: &str) -> IResult<&str, Size<'_>> {
    let (rest, (text, amount)) = nom::combinator::consumed(decimal).parse(input)?;
    Ok((rest, Size { text, bytes: Bytes::of(amount, Bytes(1)) }))
}

/// A number whose unit stands elsewhere, or nowhere: `31.44` of `(31.44/47.38 GiB)`, verl's `(GB): 15.44`.
pub(super) fn counted(input: &str, unit: Bytes) -> IResult<&str, Size<'_>> {
    let (rest, (text, amount)) = nom::combinator::consumed(decimal).parse(input)?;
    Ok((rest, Size { text, bytes: Bytes::of(amount, unit) }))
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
        tag("B").map(|_| Bytes(1)),
    ))
    .parse(input)
}

/// `-1.25`, `1,048,576`, `977.`; a comma behind the number is no part of it.
pub(super) fn decimal(input: &str) -> IResult<&str, f64> {
    let digit = |c: char| c.is_ascii_digit();
    let thousand = (char(','), take_while_m_n(3, 3, digit), peek(not(satisfy(digit))));
    let digits = (take_while1(digit), many0_count(thousand));
    let fraction = (char('.'), take_while(digit));
    map_opt(recognize((opt(char('-')), digits, opt(fraction))), |text: &str| text.replace(',', "").parse().ok())
        .parse(input)
}

/// The rest of `text` after the first `word`, or `None`.
pub(super) fn after<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    text.find(word).map(|at| &text[at + word.len()..])
}

/// Where each `word` begins in `text`.
pub(super) fn each<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = &'a str> + 'a {
    text.match_indices(word).map(|(at, _)| &text[at..])
}

/// The first run of characters that are neither blank nor one of `ends`.
pub(super) fn token<'a>(text: &'a str, ends: &str) -> &'a str {
    &text[..text.find(|c: char| c.is_whitespace() || ends.contains(c)).unwrap_or(text.len())]
}

/// What `parser` reads at the beginning of `text`.
pub(super) fn read<'a, P>(mut parser: P, text: &'a str) -> Option<P::Output>
where
    P: Parser<&'a str, Error = nom::error::Error<&'a str>>,
{
    let (_, read) = parser.parse(text).ok()?;
    Some(read)
}

/// Whether `part`, a slice of `text`, stands in quotes: source code in a traceback, advice, a mention.
pub(super) fn is_quoted(text: &str, part: &str) -> bool {
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
        assert_eq!(sized("12.3 GB", Giga::Decimal).ok().and_then(|(_, size)| size.bytes), Some(Bytes(12_300_000_000)));
    }
}
