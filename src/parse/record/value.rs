//! Reads the value beside known words by the type of its slot.

use nom::Parser;
use nom::branch::alt;
use nom::bytes::complete::{tag, take_while, take_while1};
use nom::character::complete::{char, multispace0, none_of, one_of};
use nom::combinator::{consumed, map_opt, opt, recognize};
use nom::multi::many_m_n;
use nom::sequence::{delimited, preceded};

use super::signals;
use super::text::{self, Giga, Size};
use crate::knowledge::SlotType;
use crate::model::Bytes;

/// The meaning of a value's words.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::parse) enum SlotValue {
    Bytes(Bytes),
    Number(f64),
    Text,
}

/// The value of `slot` at the beginning of `behind`, the rest of `line` after the known words. A text goes up to `end`, if that is given.
pub(in crate::parse) fn read<'a>(
    slot: SlotType,
    behind: &'a str,
    line: &'a str,
    end: Option<&str>,
) -> Option<(&'a str, SlotValue)> {
    let behind = behind.trim_start();
    let text = |text| Some((text, SlotValue::Text)).filter(|(text, _): &(&str, SlotValue)| !text.is_empty());
    match slot {
        SlotType::Size => bytes(text::size(behind).ok()?.1),
        SlotType::DecimalSize => bytes(text::sized(behind, Giga::Decimal).ok()?.1),
        SlotType::Bytes => bytes(text::byte_count(behind).ok()?.1),
        SlotType::Kib => bytes(text::counted(behind, Bytes::KIB).ok()?.1),
        SlotType::Mib => bytes(text::counted(behind, Bytes::MIB).ok()?.1),
        SlotType::Gib => bytes(text::counted(behind, Bytes::GIB).ok()?.1),
        SlotType::Number => number(behind),
        SlotType::Count => count(behind),
        SlotType::Billions => match number(behind)? {
            (words, SlotValue::Number(billions)) => Some((words, SlotValue::Number(billions * 1e9))),
            _ => None,
        },
        SlotType::Percent => percent(behind, 1.0),
        SlotType::Share => percent(behind, 100.0),
        SlotType::Word => text(text::token(behind, ",;()[]'\"").trim_end_matches('.')),
        SlotType::Text => {
            let end = end.and_then(|end| behind.find(end)).unwrap_or(behind.len());
            text(text::line(&behind[..end]).trim_end())
        }
        SlotType::Option => option(behind),
        SlotType::Quoted => text(first_quoted(behind)?),
        SlotType::Dotted => {
            let word = text::token(behind.trim_start_matches(['.', ' ']), ",");
            number(word).filter(|(read, _)| *read == word).or_else(|| text(word))
        }
        SlotType::Version => text(version(behind, 0)?),
        SlotType::NearbyVersion => text(version(behind, 40)?),
        SlotType::Signal => {
            let (rest, signal) = signals::signal(behind).ok()?;
            Some((&behind[..behind.len() - rest.len()], SlotValue::Number(f64::from(signal))))
        }
        SlotType::Line => text(line.trim()),
    }
}

/// The value of `slot` at the end of `before`.
pub(in crate::parse) fn read_backwards(slot: SlotType, before: &str) -> Option<(&str, SlotValue)> {
    match slot {
        SlotType::Size => bytes(text::size_at_end(before, Giga::Binary)?),
        SlotType::DecimalSize => bytes(text::size_at_end(before, Giga::Decimal)?),
        SlotType::Number => {
            let before = before.trim_end();
            number(&before[text::number_at_end(before)?..])
        }
        SlotType::Word => {
            let before = before.trim_end();
            let start = before.rfind(|c: char| c.is_whitespace() || ",;()[]'\"".contains(c));
            let word = &before[start.map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8))..];
            (!word.is_empty()).then_some((word, SlotValue::Text))
        }
        _ => None,
    }
}

/// `95%`, divided by `whole`.
fn percent(behind: &str, whole: f64) -> Option<(&str, SlotValue)> {
    let (_, (words, (percent, _))) = consumed((text::decimal, char('%'))).parse(behind).ok()?;
    Some((words, SlotValue::Number(percent / whole)))
}

fn bytes(size: Size<'_>) -> Option<(&str, SlotValue)> {
    Some((size.text, SlotValue::Bytes(size.bytes?)))
}

/// `460,496`, `0.95`, `1e-05`, without the comma or stop after it.
fn number(text: &str) -> Option<(&str, SlotValue)> {
    let (_, (words, amount)) = consumed(text::decimal).parse(text).ok()?;
    Some((words.trim_end_matches('.'), SlotValue::Number(amount)))
}

/// `123.59M`, `6.74B`, `1,048,576`; with any other letter after it, it is no count.
fn count(text: &str) -> Option<(&str, SlotValue)> {
    let letter = take_while::<_, _, nom::error::Error<&str>>(|c: char| c.is_ascii_alphabetic());
    let (_, (words, (amount, suffix))) = consumed((text::decimal, letter)).parse(text).ok()?;
    let factor = match suffix {
        "" => 1.0,
        "K" | "k" => 1e3,
        "M" => 1e6,
        "B" => 1e9,
        _ => return None,
    };
    Some((words.trim_end_matches('.'), SlotValue::Number(amount * factor)))
}

/// `=8192`, `=torch.bfloat16,`, `': 'a/b'`, `": 0.9}`
fn option(text: &str) -> Option<(&str, SlotValue)> {
    let equals = (opt(one_of("'\"")), multispace0::<_, nom::error::Error<&str>>, one_of("=:"), multispace0);
    let quoted = |quote| delimited(char(quote), take_while1(move |c| c != quote), char(quote));
    let bare = take_while1(|c: char| !c.is_whitespace() && !",)}]'\"".contains(c));
    let (_, words) = preceded(equals, alt((quoted('\''), quoted('"'), bare))).parse(text).ok()?;
    let is_whole = |(number, _): &(&str, SlotValue)| *number == words;
    match words {
        "None" | "null" | "<class" => None,
        _ => Some(number(words).filter(is_whole).unwrap_or((words, SlotValue::Text))),
    }
}

/// The first text between quotes, which must open nearby.
fn first_quoted(text: &str) -> Option<&str> {
    let (start, quote) = text.char_indices().take(40).find(|(_, c)| matches!(c, '\'' | '"'))?;
    let rest = &text[start + 1..];
    Some(&rest[..rest.find(quote)?])
}

/// `2.15.0+cu132`, `0.6.1.post2`: at least two numbers with a stop between.
fn version(text: &str, gap: usize) -> Option<&str> {
    let between = many_m_n::<_, nom::error::Error<&str>, _>(0, gap, none_of("0123456789\n"));
    let digits = || take_while1(|c: char| c.is_ascii_digit());
    let tail = take_while(|c: char| c.is_ascii_alphanumeric() || "+.-_".contains(c));
    let word = map_opt(recognize((digits(), tag("."), digits(), tail)), |word: &str| {
        Some(word.trim_end_matches(['.', '-', '_']))
    });
    preceded(between, word).parse(text).ok().map(|(_, word)| word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number_of((words, read): (&str, SlotValue)) -> (&str, Option<f64>) {
        match read {
            SlotValue::Bytes(Bytes(bytes)) => (words, Some(bytes as f64)),
            SlotValue::Number(number) => (words, Some(number)),
            SlotValue::Text => (words, None),
        }
    }

    /// The value of `slot` after `X`.
    fn behind(slot: SlotType, text: &str) -> Option<(&str, Option<f64>)> {
        read(slot, text.split_once('X')?.1, text, Some(" with ")).map(number_of)
    }

    /// The value of `slot` before `X`.
    fn before(slot: SlotType, text: &str) -> Option<(&str, Option<f64>)> {
        read_backwards(slot, text.split_once('X')?.0).map(number_of)
    }

    #[test]
    fn reads_every_kind_of_value() {
        let gib = (1u64 << 30) as f64;
        assert_eq!(behind(SlotType::Size, "X 2.50GiB;"), Some(("2.50GiB", Some(2.5 * gib))));
        assert_eq!(behind(SlotType::DecimalSize, "X 2.5 GB"), Some(("2.5 GB", Some(2.5e9))));
        assert_eq!(behind(SlotType::DecimalSize, "X 2.5 MB"), Some(("2.5 MB", Some(2.5e6))));
        assert_eq!(behind(SlotType::Bytes, "X80384 bytes"), Some(("80384 bytes", Some(80384.0))));
        assert_eq!(behind(SlotType::Bytes, "X80384)"), Some(("80384", Some(80384.0))));
        assert_eq!(behind(SlotType::Bytes, "X80384, y"), Some(("80384", Some(80384.0))));
        assert_eq!(behind(SlotType::Gib, "X15.5, "), Some(("15.5", Some(15.5 * gib))));
        assert_eq!(behind(SlotType::Number, "X: 1"), None);
        assert_eq!(behind(SlotType::Number, "X 460,496, y"), Some(("460,496", Some(460_496.0))));
        assert_eq!(behind(SlotType::Number, "X1e-05."), Some(("1e-05", Some(1e-5))));
        assert_eq!(behind(SlotType::Count, "X 6.50B"), Some(("6.50B", Some(6.5e9))));
        assert_eq!(behind(SlotType::Count, "X 1,048,576 |"), Some(("1,048,576", Some(1_048_576.0))));
        assert_eq!(behind(SlotType::Count, "X 12MB"), None);
        assert_eq!(behind(SlotType::Billions, "X 6.50"), Some(("6.50", Some(6.5e9))));
        assert_eq!(behind(SlotType::Percent, "X7.2%"), Some(("7.2%", Some(7.2))));
        assert_eq!(behind(SlotType::Percent, "X7.2"), None);
        assert_eq!(behind(SlotType::Share, "X95%"), Some(("95%", Some(0.95))));
        assert_eq!(behind(SlotType::Word, "X True."), Some(("True", None)));
        assert_eq!(behind(SlotType::Text, "X A 80G with 9"), Some(("A 80G", None)));
        assert_eq!(behind(SlotType::Text, "X A 80G\nb"), Some(("A 80G", None)));
        assert_eq!(behind(SlotType::Option, "X=8192, y"), Some(("8192", Some(8192.0))));
        assert_eq!(behind(SlotType::Option, "'X': 'a/b'}"), Some(("a/b", None)));
        assert_eq!(behind(SlotType::Option, "X=torch.bfloat16)"), Some(("torch.bfloat16", None)));
        assert_eq!(behind(SlotType::Option, "X=None,"), None);
        assert_eq!(behind(SlotType::Quoted, "X<Device.cpu: 'cpu'>"), Some(("cpu", None)));
        assert_eq!(behind(SlotType::Dotted, "X ....... 2"), Some(("2", Some(2.0))));
        assert_eq!(behind(SlotType::Dotted, "X  True"), Some(("True", None)));
        assert_eq!(behind(SlotType::NearbyVersion, "X (GPU?): 2.4.0+cu121 (True)"), Some(("2.4.0+cu121", None)));
        assert_eq!(behind(SlotType::Version, "X, 2.4.0"), None);
        assert_eq!(behind(SlotType::Signal, "X SIGKILL"), Some(("SIGKILL", Some(9.0))));
        assert_eq!(behind(SlotType::Line, " b X c "), Some(("b X c", None)));
        assert_eq!(before(SlotType::Size, "is 0.50 GiB X"), Some(("0.50 GiB", Some(0.5 * gib))));
        assert_eq!(before(SlotType::Size, "is -2.00 GiB X"), Some(("-2.00 GiB", Some(-2.0 * gib))));
        assert_eq!(before(SlotType::Number, "of 1,024 X"), Some(("1,024", Some(1024.0))));
        assert_eq!(before(SlotType::Number, "of v1024 X"), None);
        assert_eq!(before(SlotType::Word, "a (node7 X"), Some(("node7", None)));
    }

    #[test]
    fn what_is_cut_off_states_nothing() {
        for text in ["X", "X ", "X 2.5", "X 2.5 ", "X G"] {
            assert_eq!(behind(SlotType::Size, text), None, "{text}");
        }
        for text in ["X", " X", "GiB X", ". GiB X", "é GiB X"] {
            assert_eq!(before(SlotType::Size, text), None, "{text}");
        }
        for text in ["X", "X=", "X='", "X='a", "X: "] {
            assert_eq!(behind(SlotType::Option, text), None, "{text}");
        }
    }
}
