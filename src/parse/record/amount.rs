//! The spelling of amounts: the one place where digits become a number of bytes or of anything else.
//!
//! A number is read as a whole or not at all: it may not touch another digit, letter, separator or hole, so no part of `1,234 MB`, `-12 MB`
//! or `12.5e3` is ever read alone. A unit ends with its word, so `12 tokens` and `3 minutes` are no memory. A number that the end of the
//! input cuts off never gets here, because [`Line`](super::super::Line) removes it.

use nom::branch::alt;
use nom::bytes::complete::{tag, take_while, take_while_m_n, take_while1};
use nom::character::complete::{char, multispace0, one_of, satisfy, space0};
use nom::combinator::{consumed, map_opt, not, opt, peek, recognize, verify};
use nom::multi::many1_count;
use nom::sequence::{preceded, terminated};
use nom::{IResult, Parser};

use crate::model::Bytes;

/// An amount of memory and the words that state it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Size<'a> {
    /// The words in the message.
    pub text: &'a str,
    /// `None` if the kernel says "no limit".
    pub bytes: Option<Bytes>,
}

/// What a producer means by `GB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::parse) enum Giga {
    /// 2^30: PyTorch, DeepSpeed, Ray's monitor, verl, most training logs.
    Binary,
    /// 10^9, and `MB` 10^6: Ray's object store and its oldest monitor.
    Decimal,
}

/// Stands for a hole in the file.
pub(in crate::parse) const HOLE: char = '\u{2400}';

/// `1.16 GiB`, `27.71GB`, `524288000kB`, `0 bytes`, `712Gi`, `977. GiB`: a number, perhaps blanks or a line's end, a unit.
pub(in crate::parse) fn size(input: &str) -> IResult<&str, Size<'_>> {
    sized(input, Giga::Binary)
}

/// [`size`] for a given meaning of `GB`.
pub(in crate::parse) fn sized(input: &str, giga: Giga) -> IResult<&str, Size<'_>> {
    let amount = consumed((number, preceded(multispace0, unit)));
    let (rest, (text, (amount, unit))) = verify(amount, |(text, _)| !is_card(text)).parse(input)?;
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

/// `1080 Ti`, `3060Ti`: a card's name, no amount. Nobody has a hundred TiB.
fn is_card(text: &str) -> bool {
    text.strip_suffix("Ti").is_some_and(|number| number.trim_end().len() > 2)
}

/// The size at the end of `text`.
pub(in crate::parse) fn size_at_end(text: &str, giga: Giga) -> Option<Size<'_>> {
    let text = text.trim_end();
    let unit = text.trim_end_matches(|c: char| c.is_ascii_alphabetic()).trim_end();
    sized(&text[number_at_end(unit)?..], giga).ok().filter(|(rest, _)| rest.is_empty()).map(|(_, size)| size)
}

/// The offset of the number at the end of `text`, if that is a whole number.
pub(in crate::parse) fn number_at_end(text: &str) -> Option<usize> {
    let is_part = |c: char| c.is_ascii_digit() || c == '.' || c == ',';
    let start = text.trim_end_matches(is_part).len();
    // `a, 12`: the comma belongs to the sentence.
    let start = start + text[start..].find(|c: char| c.is_ascii_digit())?;
    let start = if text[..start].ends_with('-') { start - 1 } else { start };
    // `1 234` may be one number or two.
    let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).count();
    let may_go_on =
        text[..start].strip_suffix(' ').is_some_and(|before| before.ends_with(|c: char| c.is_ascii_digit()));
    (begins(&text[..start]) && !(may_go_on && digits(&text[start..]) == 3)).then_some(start)
}

/// Whether a number may begin after `before`; it may not within a word, a name or another number.
fn begins(before: &str) -> bool {
    let is_joined = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if before.ends_with(HOLE) {
        return false;
    }
    // `e-3`, `12-3`, and the comma or stop within a number.
    let within = before.strip_suffix(['-', '+', '.', ',']).unwrap_or(before);
    let is_sign = within.len() < before.len();
    !(before.ends_with(is_joined) || is_sign && within.ends_with(|c: char| c.is_ascii_digit()))
}

/// A number of bytes without a unit: Slurm, the kernel's `memory.stat`.
pub(in crate::parse) fn plain_bytes(input: &str) -> IResult<&str, Size<'_>> {
    counted(input, Bytes(1))
}

/// A number whose unit stands elsewhere, or nowhere: `31.44` of `(31.44/47.38 GiB)`, verl's `(GB): 15.44`.
pub(in crate::parse) fn counted(input: &str, unit: Bytes) -> IResult<&str, Size<'_>> {
    let (rest, (text, amount)) = consumed(decimal).parse(input)?;
    Ok((rest, Size { text, bytes: Bytes::of(amount, unit) }))
}

/// The unit that a label gives in brackets or at its end, and where the words before it end: `Total GPU memory (GiB): `, `used[MB]=`,
/// `"free_mib": `.
pub(in crate::parse) fn unit_of_label(before: &str) -> Option<(Bytes, usize)> {
    let label = before.trim_end_matches([' ', ':', '=']);
    let name = label.trim_end_matches(['"', '\'']);
    if let Some((words, last)) = name.rsplit_once('_')
        && label.len() < before.len()
        && words.ends_with(|c: char| c.is_ascii_alphanumeric())
        && ["kib", "kb", "mib", "mb", "gib", "gb"].iter().any(|known| last.eq_ignore_ascii_case(known))
    {
        let (_, bytes) = unit(last).ok()?;
        return Some((bytes, words.len()));
    }
    let open = match label.chars().next_back()? {
        ')' => label.rfind('('),
        ']' => label.rfind('['),
        _ => None,
    }?;
    let inside = label[open + 1..label.len() - 1].trim();
    let (rest, bytes) = unit(inside.strip_prefix("in ").unwrap_or(inside)).ok()?;
    (rest.is_empty() && bytes != Bytes(1)).then_some((bytes, open))
}

/// `16515076 bytes`, `1,073,741,824`, `0x48a000`: a whole number of bytes.
pub(in crate::parse) fn byte_count(input: &str) -> IResult<&str, Size<'_>> {
    if let Ok((rest, (text, count))) = consumed(terminated(hexadecimal, word_ends)).parse(input) {
        return Ok((rest, Size { text, bytes: Some(Bytes(count.into())) }));
    }
    // Grid Engine writes bytes as `34359738368.00000`.
    let zeros = (char('.'), take_while1(|c: char| c == '0'), peek(not(satisfy(|c| c.is_ascii_digit()))));
    let count = terminated(terminated(recognize(whole), opt(zeros)), number_ends);
    let (rest, (text, (count, _))) = consumed((count, opt(terminated(tag(" bytes"), word_ends)))).parse(input)?;
    Ok((rest, Size { text, bytes: count.replace(',', "").parse().ok().and_then(Bytes::counted) }))
}

/// `2079238052`, `0xc0fb4000`: a number that counts bytes if the words around it are about memory. It is large and no noun follows that it
/// might count. At a line's end it may be cut off and is not read, unless the line `is_whole`.
pub(in crate::parse) fn bare_bytes(input: &str, is_whole: bool) -> IResult<&str, Size<'_>> {
    const LEAST: u64 = 1 << 16;
    const NO_NOUNS: &[&str] = &["on", "of", "for", "from", "in", "at", "with", "but", "and", "while", "by"];
    let count =
        alt((hexadecimal, map_opt(terminated(whole, number_ends), |digits| digits.replace(',', "").parse().ok())));
    let (rest, (text, count)) = consumed(verify(count, |count| *count >= LEAST)).parse(input)?;
    let (_, next) = preceded(space0, take_while(|c: char| c.is_alphabetic())).parse(rest)?;
    let is_unit = text.starts_with("0x") && ["bytes", "byte", "B"].contains(&next);
    // `request=2147483648 free=1073741824`: the next word is the label of the next number.
    let is_label = rest.trim_start().get(next.len()..).is_some_and(|behind| behind.starts_with('='));
    let counts_a_noun =
        !next.is_empty() && !is_unit && !is_label && !NO_NOUNS.contains(&next.to_ascii_lowercase().as_str());
    let is_at_end = rest.is_empty() || rest.starts_with(['\r', '\n']);
    let goes_on = match is_at_end {
        true => !is_whole,
        false => rest.starts_with(|c: char| c.is_alphanumeric() || "%_/:-×*".contains(c)),
    };
    let bytes = (!counts_a_noun && !goes_on).then_some(Bytes(count.into()));
    match bytes {
        Some(_) => Ok((rest, Size { text, bytes })),
        None => Err(nom::Err::Error(nom::error::Error::new(input, nom::error::ErrorKind::Verify))),
    }
}

/// `0xc0fb4000`
fn hexadecimal(input: &str) -> IResult<&str, u64> {
    let digits = preceded(tag("0x"), take_while_m_n(1, 16, |c: char| c.is_ascii_hexdigit()));
    map_opt(digits, |digits| u64::from_str_radix(digits, 16).ok()).parse(input)
}

/// `4711`
pub(in crate::parse) fn digits(input: &str) -> IResult<&str, &str> {
    terminated(take_while1(|c: char| c.is_ascii_digit()), peek(not(char(HOLE)))).parse(input)
}

/// `-1.25`, `1,048,576`, `977.`, `1.5e3`; only a word may follow it directly.
pub(in crate::parse) fn decimal(input: &str) -> IResult<&str, f64> {
    terminated(number, number_ends).parse(input)
}

/// Digits, with or without commas between groups of three.
fn whole(input: &str) -> IResult<&str, &str> {
    let digit = |c: char| c.is_ascii_digit();
    let thousand = || (char(','), take_while_m_n(3, 3, digit), peek(not(satisfy(digit))));
    let grouped = (take_while_m_n(1, 3, digit), many1_count(thousand()), peek(not((char(','), satisfy(digit)))));
    alt((recognize(grouped), take_while1(digit))).parse(input)
}

/// A number, whatever follows it.
fn number(input: &str) -> IResult<&str, f64> {
    let digit = |c: char| c.is_ascii_digit();
    let fraction = (char('.'), take_while(digit));
    let exponent = (one_of("eE"), opt(one_of("+-")), take_while1(digit));
    let words = recognize((opt(char('-')), whole, opt(fraction), opt(exponent)));
    let plain = |text: &str| if text.contains(',') { text.replace(',', "").parse() } else { text.parse() };
    map_opt(words, |text| plain(text).ok()).parse(input)
}

/// Fails if the number goes on: `12,34`, `1.2.3`, `12_000`, a hole in the file.
fn number_ends(input: &str) -> IResult<&str, ()> {
    let goes_on = alt((
        recognize((one_of(".,"), satisfy(|c| c.is_ascii_digit()))),
        recognize(satisfy(|c| c == '_' || c == '\u{fffd}' || c == HOLE)),
    ));
    peek(not(goes_on)).parse(input)
}

/// Fails if the word goes on or a rate follows (`/s`), which is no amount.
fn word_ends(input: &str) -> IResult<&str, ()> {
    let goes_on = satisfy(|c| c.is_ascii_alphanumeric() || c == '_' || c == '\u{fffd}' || c == HOLE);
    let rate = (char('/'), alt((tag("sec"), tag("s"))), peek(not(satisfy(|c| c.is_ascii_alphanumeric()))));
    peek(not(alt((recognize(goes_on), recognize(rate))))).parse(input)
}

/// A unit of memory, binary in any spelling, because that is how most producers count.
pub(in crate::parse) fn unit(input: &str) -> IResult<&str, Bytes> {
    let prefixed = |letter: char, bytes: Bytes| {
        let short = alt((
            tag("iB"),
            tag("ib"),
            tag("IB"),
            tag("Bytes"),
            tag("bytes"),
            tag("BYTES"),
            tag("B"),
            tag("i"),
            tag("b"),
        ));
        (satisfy(move |c| c.eq_ignore_ascii_case(&letter)), opt(short)).map(move |_| bytes)
    };
    let spelled = |name: &'static str, bytes: Bytes| {
        (satisfy(move |c| c.eq_ignore_ascii_case(&(name.as_bytes()[0] as char))), tag(&name[1..]), opt(char('s')))
            .map(move |_| bytes)
    };
    let unit = alt((
        spelled("kilobyte", Bytes::KIB),
        spelled("megabyte", Bytes::MIB),
        spelled("gigabyte", Bytes::GIB),
        spelled("terabyte", Bytes::TIB),
        spelled("kibibyte", Bytes::KIB),
        spelled("mebibyte", Bytes::MIB),
        spelled("gibibyte", Bytes::GIB),
        // `a 512-byte buffer`
        alt((tag("bytes"), tag("byte"), tag("Bytes"), tag("-byte"), tag("字节"))).map(|_| Bytes(1)),
        prefixed('K', Bytes::KIB),
        prefixed('M', Bytes::MIB),
        prefixed('G', Bytes::GIB),
        prefixed('T', Bytes::TIB),
        prefixed('P', Bytes(1 << 50)),
        tag("B").map(|_| Bytes(1)),
    ));
    terminated(unit, word_ends).parse(input)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_spelling_of_a_size() {
        let bytes = |text| size(text).ok().and_then(|(_, size)| size.bytes).map(|bytes| bytes.0);
        assert_eq!(bytes("1.16 GiB free"), Some(1_245_540_516));
        assert_eq!(bytes("0 bytes"), Some(0));
        assert_eq!(bytes("27.71GB"), Some((27.71 * (1u64 << 30) as f64).round() as i128));
        assert_eq!(bytes("524288000kB,"), Some(500 << 30));
        assert_eq!(bytes("712Gi"), Some(712 << 30));
        assert_eq!((bytes("2Ti"), bytes("1080 Ti (Device 0)"), bytes("3060Ti")), (Some(2 << 40), None, None));
        assert_eq!(bytes("977. GiB"), Some(977 << 30));
        assert_eq!(bytes("2044571648B"), Some(2_044_571_648));
        assert_eq!(bytes("79.35 GiB\ntotal"), bytes("79.35\nGiB"));
        assert_eq!(bytes("9007199254740988kB"), None);
        assert_eq!(bytes("1,024 MiB"), Some(1 << 30));
        assert_eq!(bytes("1.5e3 MB/79 GB"), Some(1500 << 20));
        assert_eq!(plain_bytes("2044571648, 7").map(|(rest, size)| (rest, size.text)), Ok((", 7", "2044571648")));
        assert_eq!(bytes("GiB"), None);
        assert_eq!(bytes("1.5 PiB"), Some(3 << 49));
        assert_eq!(bytes("512 Megabytes,"), Some(512 << 20));
        assert_eq!(bytes("2 gigabytes of"), Some(2 << 30));
        assert_eq!(bytes("512 MBytes free"), Some(512 << 20));
        assert_eq!(bytes("512mib"), Some(512 << 20));
        assert_eq!(sized("12.3 GB", Giga::Decimal).ok().and_then(|(_, size)| size.bytes), Some(Bytes(12_300_000_000)));
    }

    #[test]
    fn a_bare_number_counts_bytes_unless_a_noun_follows() {
        let bytes = |text| bare_bytes(text, false).ok().and_then(|(_, size)| size.bytes).map(|bytes| bytes.0);
        assert_eq!(bytes("2079238052."), Some(2_079_238_052));
        assert_eq!(bytes("0xc0fb4000, flags"), Some(3_237_691_392));
        assert_eq!(bytes("0x40000000 bytes at"), Some(1 << 30));
        assert_eq!(bytes("655360000 on device 0"), Some(655_360_000));
        assert_eq!(bytes("655360000 free=70000 "), Some(655_360_000));
        for text in [
            "2079238052 tokens",
            "1000000 x 3",
            "4096",
            "65536x4",
            "70000.5",
            "1,2345678",
            "0x10",
            "123456/7",
            "68719\n47672",
        ] {
            assert_eq!(bytes(text), None, "{text}");
        }
    }

    /// `VmRSS 12 tokens` was read as 12 TiB, `3 minutes` as 3 MiB.
    #[test]
    fn a_unit_ends_where_its_word_does() {
        for text in [
            "12 tokens",
            "3 minutes",
            "3 Megatron",
            "7 GPUs",
            "5 keys",
            "2 passes",
            "1 Bit",
            "4 Gbit",
            "12 GBs",
            "12 MB_total",
            "4 MB/s",
            "9 GiB/sec",
            "8 Byt",
            "8 bytesize",
            "3 kBq",
            "12 G\u{fffd}B",
        ] {
            assert!(size(text).is_err(), "{text}");
        }
        for text in ["12 T", "3M", "5 GB/79 GB", "2 GB)", "2 GB内存", "1 B.", "4 GiB\u{a0}x"] {
            assert!(size(text).is_ok(), "{text}");
        }
    }

    /// Read from its end, `1,234 MB` was 234 MB, `-12 MB` 12 and `12.5e3 MB` 3.
    #[test]
    fn a_number_is_read_whole_or_not_at_all() {
        let at_end = |text| size_at_end(text, Giga::Binary).and_then(|size| size.bytes).map(|bytes| bytes.0 >> 20);
        assert_eq!(at_end("used 1,234 MB"), Some(1234));
        assert_eq!(at_end("used -12 MB"), Some(-12));
        assert_eq!(at_end("used 12, 34 MB"), Some(34));
        for text in
            ["12.5e3 MB", "v12 MB", "1_234 MB", "12-34 MB", "0x12 MB", "1.2.3 MB", "12,34 MB", "12 tokens", "a MB"]
        {
            assert_eq!(at_end(text), None, "{text}");
        }
        for text in ["12,34", "12,3456", "1.2.3", "12_000", "12\u{fffd}7"] {
            assert!(plain_bytes(text).is_err(), "{text}");
        }
        for text in ["12,34 bytes", "1,2345", "7.5"] {
            assert!(byte_count(text).is_err(), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn whatever_is_read_is_a_whole_number_with_a_whole_unit(text in "[-+ ]?[0-9,._eE]{1,9}[ \u{fffd}]{0,2}[kKMGTPBbi]{0,4}[a-z0-9_/ ]{0,4}") {
            if let Ok((rest, size)) = size(&text) {
                let digits = size.text.trim_end_matches(|c: char| c.is_ascii_alphabetic()).trim_end();
                let stripped: String = digits.chars().filter(|c| *c != ',').collect();
                proptest::prop_assert!(stripped.parse::<f64>().is_ok(), "{size:?} of {text}");
                proptest::prop_assert!(!rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_'), "{size:?} of {text}");
            }
            if let Some(size) = size_at_end(&text, Giga::Binary) {
                let before = &text[..text.trim_end().len() - size.text.len()];
                proptest::prop_assert!(!before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_'), "{size:?} of {text}");
            }
        }
    }
}
