//! Grammars that are a table: fixed words, and what the number or word beside them states.
//!
//! In goes a message whose values all stand beside words that never change; out come at most two events: what memory
//! there is now, and what else is worth knowing. A row whose words are there and whose value is not, or is cut off before
//! its unit, states nothing.

use nom::Parser;
use nom::branch::alt;
use nom::bytes::complete::{tag, take_while, take_while1};
use nom::character::complete::{char, multispace0, none_of, one_of};
use nom::combinator::{consumed, map_opt, opt, recognize};
use nom::multi::many_m_n;
use nom::sequence::{delimited, preceded};

use super::super::{Example, Grammar};
use super::text::{self, Size};
use super::{Record, origin};
use crate::model::{Bytes, Event, Fact, Figure, FigureName, What};

/// One producer's lines.
pub(in crate::parse) struct Table {
    /// Its name in reports.
    pub producer: &'static str,
    /// What its series of figures are called; who wrote the line is added.
    pub series: &'static str,
    /// See [`Grammar::triggers`]; where the rows say it, by [`triggers`].
    pub triggers: &'static [&'static str],
    /// What stands beside which words.
    pub rows: &'static [Row],
    /// See [`Grammar::examples`].
    pub examples: &'static [Example],
}

/// Words and what stands beside them.
pub(in crate::parse) struct Row {
    words: &'static str,
    /// One of these must stand in the message too; none: in any message.
    within: &'static [&'static str],
    value: Value,
    states: States,
}

/// Where a value stands and how it is written.
#[derive(Clone, Copy)]
pub(in crate::parse) enum Value {
    /// Behind the words, with its unit: `14.99 GiB`.
    Size,
    /// Before the words, with its unit.
    SizeBefore,
    /// Behind the words, always counted in this unit.
    Counted(Bytes),
    /// Behind the words: `1,048,576`, `0.95`.
    Number,
    /// Behind the words: `6742609920`, `123.59M`, `6.74B`.
    Count,
    /// Behind the words, counted in thousands of millions: `6.74`.
    Billions,
    /// Behind the words, with its sign: `7.2%`.
    Percent,
    /// Behind the words, up to a blank, comma, semicolon, bracket or quote.
    Word,
    /// Behind the words, up to others, else to the end.
    Until(&'static str),
    /// As Python shows a keyword's value: `max_model_len=8192`, `'model': 'a/b'`. `None` states nothing.
    Option,
    /// The first text in quotes behind the words.
    Quoted,
    /// Behind the words and the dots or blanks that fill the column up.
    Dotted,
    /// The first version number behind the words, at most so many characters away.
    Version(usize),
    /// The words themselves.
    Itself,
    /// The whole line in which the words stand.
    Line,
}

/// What a value is.
#[derive(Clone, Copy)]
enum States {
    Memory(FigureName),
    Figure(FigureName),
    Fact(&'static str),
}

/// A row for memory at this moment, a point of the timeline.
pub(in crate::parse) const fn memory(words: &'static str, value: Value, name: FigureName) -> Row {
    Row { words, within: &[], value, states: States::Memory(name) }
}

/// A row for a figure that is no moment of a series.
pub(in crate::parse) const fn figure(words: &'static str, value: Value, name: FigureName) -> Row {
    Row { words, within: &[], value, states: States::Figure(name) }
}

/// A row for anything else; of a size the fact is the bytes.
pub(in crate::parse) const fn fact(words: &'static str, value: Value, key: &'static str) -> Row {
    Row { words, within: &[], value, states: States::Fact(key) }
}

impl Row {
    /// The same, only in messages in which one of these words stands.
    pub const fn within(self, within: &'static [&'static str]) -> Row {
        Row { within, ..self }
    }
}

/// What finds the lines of `rows`: the one word within which a row applies, for it is the rarer one, else its words. A row
/// that applies within several asks for a list of its own.
pub(in crate::parse) const fn triggers<const N: usize>(rows: &[Row; N]) -> [&'static str; N] {
    let (mut triggers, mut at) = ([""; N], 0);
    while at < N {
        let Row { words, within, .. } = &rows[at];
        assert!(within.len() < 2, "a row within several words");
        triggers[at] = if let [within] = within { within } else { words };
        at += 1;
    }
    triggers
}

/// `left`, then `right`.
pub(in crate::parse) const fn joined<const L: usize, const R: usize, const N: usize>(
    left: [&'static str; L],
    right: [&'static str; R],
) -> [&'static str; N] {
    let (mut joined, mut at) = ([""; N], 0);
    while at < N {
        joined[at] = if at < L { left[at] } else { right[at - L] };
        at += 1;
    }
    joined
}

impl Grammar for Table {
    fn producer(&self) -> &'static str {
        self.producer
    }

    fn triggers(&self) -> &'static [&'static str] {
        self.triggers
    }

    fn parse(&self, record: &Record) -> Vec<Event> {
        self.read(record)
    }

    fn examples(&self) -> &'static [Example] {
        self.examples
    }
}

impl Table {
    /// What the rows state in `record`; of several rows with one name the first.
    pub fn read(&self, record: &Record) -> Vec<Event> {
        let (mut memory, mut notice) = (Stated::default(), Stated::default());
        let whole = record.text();
        let applies = |row: &&Row| row.within.is_empty() || row.within.iter().any(|words| whole.contains(words));
        for row in self.rows.iter().filter(applies) {
            let Some((words, read)) = places(whole, row.words).find_map(|place| row.value.read(place)) else {
                continue;
            };
            match row.states {
                States::Memory(name) => memory.add_figure(record, name, words, read),
                States::Figure(name) => notice.add_figure(record, name, words, read),
                States::Fact(key) => notice.add_fact(record, key, words, read),
            }
        }
        let series = What::Memory { series: origin::series(self.series, record.origin()) };
        let events = [memory.event(record, self.producer, series), notice.event(record, self.producer, What::Notice)];
        events.into_iter().flatten().collect()
    }
}

/// What of a message makes one event.
#[derive(Default)]
struct Stated<'a> {
    first: Option<&'a str>,
    figures: Vec<Figure>,
    facts: Vec<Fact>,
}

impl<'a> Stated<'a> {
    fn add_figure(&mut self, record: &Record, name: FigureName, text: &'a str, read: Read) {
        let figure = match read {
            Read::Bytes(bytes) => record.figure(name, Size { text, bytes: Some(bytes) }),
            Read::Number(value) => Some(record.number(name, text, value)),
            Read::Text => None,
        };
        if let Some(figure) = figure.filter(|new| self.figures.iter().all(|figure| figure.name != new.name)) {
            self.first = self.first.or(Some(text));
            self.figures.push(figure);
        }
    }

    fn add_fact(&mut self, record: &Record, key: &'static str, text: &'a str, read: Read) {
        if self.facts.iter().any(|fact| fact.key == key) {
            return;
        }
        self.first = self.first.or(Some(text));
        self.facts.push(match read {
            Read::Bytes(Bytes(bytes)) => record.number_fact(key, text, bytes as f64),
            Read::Number(value) => record.number_fact(key, text, value),
            Read::Text => record.fact(key, text),
        });
    }

    fn event(self, record: &Record, producer: &'static str, what: What) -> Option<Event> {
        let mut event = record.event(producer, self.first?, what);
        (event.figures, event.facts) = (self.figures, self.facts);
        Some(event)
    }
}

/// Words in a text and what is around them.
#[derive(Clone, Copy)]
struct Place<'a> {
    line: &'a str,
    before: &'a str,
    words: &'a str,
    behind: &'a str,
}

/// Where `words` stand in `text`. The end of a longer word is another word.
fn places<'a>(text: &'a str, words: &'static str) -> impl Iterator<Item = Place<'a>> {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    let line = |at: usize| {
        let start = text[..at].rfind('\n').map_or(0, |feed| feed + 1);
        text[start..].lines().next().unwrap_or_default()
    };
    text.match_indices(words)
        .map(move |(at, words)| Place { line: line(at), before: &text[..at], words, behind: &text[at + words.len()..] })
        .filter(move |place| !(words.starts_with(is_letter) && place.before.ends_with(is_letter)))
}

/// What the words of a value mean.
#[derive(Clone, Copy)]
enum Read {
    Bytes(Bytes),
    Number(f64),
    Text,
}

impl Value {
    /// The words that state the value, and what they mean.
    fn read(self, place: Place<'_>) -> Option<(&str, Read)> {
        let Place { line, before, words, behind } = place;
        let behind = behind.trim_start();
        let text = |text| Some((text, Read::Text)).filter(|(text, _): &(&str, Read)| !text.is_empty());
        match self {
            Value::Size => bytes(text::size(behind).ok()?.1),
            Value::SizeBefore => bytes(size_at_end(before)?),
            Value::Counted(unit) => bytes(text::counted(behind, unit).ok()?.1),
            Value::Number => number(behind),
            Value::Count => count(behind),
            Value::Billions => match number(behind)? {
                (words, Read::Number(billions)) => Some((words, Read::Number(billions * 1e9))),
                _ => None,
            },
            Value::Percent => {
                let (_, (words, (share, _))) = consumed((text::decimal, char('%'))).parse(behind).ok()?;
                Some((words, Read::Number(share)))
            }
            Value::Word => text(text::token(behind, ",;()[]'\"").trim_end_matches('.')),
            Value::Until(end) => text(behind[..behind.find(end).unwrap_or(behind.len())].trim_end()),
            Value::Option => option(behind),
            Value::Quoted => text(first_quoted(behind)?),
            Value::Dotted => {
                let word = text::token(behind.trim_start_matches(['.', ' ']), ",");
                number(word).filter(|(read, _)| *read == word).or_else(|| text(word))
            }
            Value::Version(gap) => text(version(behind, gap)?),
            Value::Itself => text(words.trim()),
            Value::Line => text(line.trim()),
        }
    }
}

fn bytes(size: Size<'_>) -> Option<(&str, Read)> {
    Some((size.text, Read::Bytes(size.bytes?)))
}

fn is_number_part(c: char) -> bool {
    c.is_ascii_digit() || c == '.'
}

/// `460,496`, `0.95`, `1e-05`, without the comma or stop behind it.
fn number(text: &str) -> Option<(&str, Read)> {
    let digits = take_while1::<_, _, nom::error::Error<&str>>(|c: char| c.is_ascii_digit() || ".,".contains(c));
    let exponent = (one_of("eE"), opt(one_of("+-")), take_while1(|c: char| c.is_ascii_digit()));
    let (_, words) = recognize((opt(char('-')), digits, opt(exponent))).parse(text).ok()?;
    let words = words.trim_end_matches([',', '.']);
    Some((words, Read::Number(words.replace(',', "").parse().ok()?)))
}

/// `123.59M`, `6.74B`, `1,048,576`; with any other letter behind it is something else.
fn count(text: &str) -> Option<(&str, Read)> {
    let letter = take_while::<_, _, nom::error::Error<&str>>(|c: char| c.is_ascii_alphabetic());
    let (_, (words, (amount, suffix))) = consumed((text::decimal, letter)).parse(text).ok()?;
    let factor = match suffix {
        "" => 1.0,
        "K" | "k" => 1e3,
        "M" => 1e6,
        "B" => 1e9,
        _ => return None,
    };
    Some((words.trim_end_matches('.'), Read::Number(amount * factor)))
}

/// The size with which `text` ends.
fn size_at_end(text: &str) -> Option<Size<'_>> {
    let text = text.trim_end();
    let unit = text.trim_end_matches(|c: char| c.is_ascii_alphabetic()).trim_end();
    let start = unit.trim_end_matches(|c: char| is_number_part(c) || c == ',').len();
    let negative = usize::from(text[..start].ends_with('-'));
    text::size(&text[start - negative..]).ok().filter(|(rest, _)| rest.is_empty()).map(|(_, size)| size)
}

/// `=8192`, `=torch.bfloat16,`, `': 'a/b'`, `": 0.9}`
fn option(text: &str) -> Option<(&str, Read)> {
    let equals = (opt(one_of("'\"")), multispace0::<_, nom::error::Error<&str>>, one_of("=:"), multispace0);
    let quoted = |quote| delimited(char(quote), take_while1(move |c| c != quote), char(quote));
    let bare = take_while1(|c: char| !c.is_whitespace() && !",)}]'\"".contains(c));
    let (_, words) = preceded(equals, alt((quoted('\''), quoted('"'), bare))).parse(text).ok()?;
    let is_whole = |(number, _): &(&str, Read)| *number == words;
    match words {
        "None" | "null" | "<class" => None,
        _ => Some(number(words).filter(is_whole).unwrap_or((words, Read::Text))),
    }
}

/// The first text between quotes, which open nearby.
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

    fn read(value: Value, text: &str) -> Option<(&str, Option<f64>)> {
        let place = places(text, "X").next()?;
        value.read(place).map(|(words, read)| match read {
            Read::Bytes(Bytes(bytes)) => (words, Some(bytes as f64)),
            Read::Number(number) => (words, Some(number)),
            Read::Text => (words, None),
        })
    }

    #[test]
    fn reads_every_kind_of_value() {
        let gib = (1u64 << 30) as f64;
        assert_eq!(read(Value::Size, "X 2.50GiB;"), Some(("2.50GiB", Some(2.5 * gib))));
        assert_eq!(read(Value::SizeBefore, "is 0.50 GiB X"), Some(("0.50 GiB", Some(0.5 * gib))));
        assert_eq!(read(Value::SizeBefore, "is -2.00 GiB X"), Some(("-2.00 GiB", Some(-2.0 * gib))));
        assert_eq!(read(Value::Counted(Bytes::GIB), "X15.5, "), Some(("15.5", Some(15.5 * gib))));
        assert_eq!(read(Value::Number, "X: 1"), None);
        assert_eq!(read(Value::Number, "X 460,496, y"), Some(("460,496", Some(460_496.0))));
        assert_eq!(read(Value::Number, "X1e-05."), Some(("1e-05", Some(1e-5))));
        assert_eq!(read(Value::Count, "X 6.50B"), Some(("6.50B", Some(6.5e9))));
        assert_eq!(read(Value::Count, "X 1,048,576 |"), Some(("1,048,576", Some(1_048_576.0))));
        assert_eq!(read(Value::Count, "X 12MB"), None);
        assert_eq!(read(Value::Billions, "X 6.50"), Some(("6.50", Some(6.5e9))));
        assert_eq!(read(Value::Percent, "X7.2%"), Some(("7.2%", Some(7.2))));
        assert_eq!(read(Value::Percent, "X7.2"), None);
        assert_eq!(read(Value::Word, "X True."), Some(("True", None)));
        assert_eq!(read(Value::Until(" with "), "X A 80G with 9"), Some(("A 80G", None)));
        assert_eq!(read(Value::Option, "X=8192, y"), Some(("8192", Some(8192.0))));
        assert_eq!(read(Value::Option, "'X': 'a/b'}"), Some(("a/b", None)));
        assert_eq!(read(Value::Option, "X=torch.bfloat16)"), Some(("torch.bfloat16", None)));
        assert_eq!(read(Value::Option, "X=None,"), None);
        assert_eq!(read(Value::Quoted, "X<Device.cpu: 'cpu'>"), Some(("cpu", None)));
        assert_eq!(read(Value::Dotted, "X ....... 2"), Some(("2", Some(2.0))));
        assert_eq!(read(Value::Dotted, "X  True"), Some(("True", None)));
        assert_eq!(read(Value::Version(40), "X (GPU?): 2.4.0+cu121 (True)"), Some(("2.4.0+cu121", None)));
        assert_eq!(read(Value::Version(0), "X, 2.4.0"), None);
        assert_eq!(read(Value::Itself, "a X b"), Some(("X", None)));
        assert_eq!(read(Value::Line, "a\n b X c\nd"), Some(("b X c", None)));
    }

    #[test]
    fn the_end_of_a_longer_word_is_another_word() {
        assert_eq!(places("Max_MA 1 MA 2", "MA ").map(|place| place.behind).collect::<Vec<_>>(), ["2"]);
        assert_eq!(places("is_MA 1", "MA ").count(), 0);
    }

    #[test]
    fn what_is_cut_off_states_nothing() {
        for text in ["X", "X ", "X 2.5", "X 2.5 ", "X G"] {
            assert_eq!(read(Value::Size, text), None, "{text}");
        }
        for text in ["X", " X", "GiB X", ". GiB X", "é GiB X"] {
            assert_eq!(read(Value::SizeBefore, text), None, "{text}");
        }
        for text in ["X", "X=", "X='", "X='a", "X: "] {
            assert_eq!(read(Value::Option, text), None, "{text}");
        }
    }
}
