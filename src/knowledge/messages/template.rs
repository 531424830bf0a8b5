//! The pattern of a message: its fixed words, and slots for the values.
//!
//! `Tried to allocate {requested:size} on device {gpu_index:number}`: a slot is a name and the type of its value, or a name and the words
//! that state it (`{deepspeed.flatten=insufficient memory}`). The name tells what the value is: a figure of the vocabulary, a fact
//! (`cupy.limit`), or a part of the victim (`rank`, `pid` …).

use crate::model::FigureName;
use crate::model::word;

/// A pattern.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    /// Its parts in order; no two slots are adjacent.
    pub pieces: Vec<Piece>,
}

/// A part of a pattern.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// These words, where a blank matches any run of blanks.
    Words(Box<str>),
    /// These words, whose presence states something.
    Said(SlotName, Box<str>),
    /// A value.
    Slot(SlotName, SlotType),
}

/// What the value of a slot is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotName {
    /// Nothing worth keeping.
    Nothing,
    /// A figure.
    Figure(FigureName),
    /// A fact.
    Fact(&'static str),
    /// A part of the victim.
    Victim(VictimPart),
    /// The signal by which a process ended.
    Signal,
    /// The status with which a process ended.
    Status,
}

/// A part of the victim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VictimPart {
    /// Node name or address.
    Host,
    /// Global rank.
    Rank,
    /// Number of the device.
    Device,
    /// Process id.
    Pid,
    /// The name of the process.
    Role,
}

/// The spelling of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotType {
    /// An amount with a unit, which is a power of two: `14.99 GiB`.
    Size,
    /// An amount with a unit, where `GB`, `MB` and `KB` are powers of ten.
    DecimalSize,
    /// A number of bytes, with or without the word.
    Bytes,
    /// A number of KiB, without its unit.
    Kib,
    /// A number of MiB, without its unit.
    Mib,
    /// A number of GiB, without its unit.
    Gib,
    /// `1,048,576`, `0.95`, `1e-05`.
    Number,
    /// `6742609920`, `123.59M`, `6.74B`.
    Count,
    /// A number of billions (10^9).
    Billions,
    /// `7.2%`.
    Percent,
    /// `95%`, as a fraction of one.
    Share,
    /// Up to a blank, comma, semicolon, bracket or quote.
    Word,
    /// Up to the words after the slot, else to the end of the line.
    Text,
    /// A keyword's value as Python prints it: `=8192`, `': 'a/b'`.
    Option,
    /// The first text in quotes.
    Quoted,
    /// A value after the dots or blanks that fill up a column.
    Dotted,
    /// A version number.
    Version,
    /// The first version number within forty characters.
    NearbyVersion,
    /// `9`, `SIGKILL`, `Killed`.
    Signal,
    /// The whole line.
    Line,
}

impl SlotType {
    /// The word in rules for each.
    const WORDS: &'static [(&'static str, SlotType)] = &[
        ("size", SlotType::Size),
        ("decimal_size", SlotType::DecimalSize),
        ("bytes", SlotType::Bytes),
        ("kib", SlotType::Kib),
        ("mib", SlotType::Mib),
        ("gib", SlotType::Gib),
        ("number", SlotType::Number),
        ("count", SlotType::Count),
        ("billions", SlotType::Billions),
        ("percent", SlotType::Percent),
        ("share", SlotType::Share),
        ("word", SlotType::Word),
        ("text", SlotType::Text),
        ("option", SlotType::Option),
        ("quoted", SlotType::Quoted),
        ("dotted", SlotType::Dotted),
        ("version", SlotType::Version),
        ("nearby_version", SlotType::NearbyVersion),
        ("signal", SlotType::Signal),
        ("line", SlotType::Line),
    ];

    /// Whether values are text rather than numbers; `None` if they may be either.
    pub fn is_text(self) -> Option<bool> {
        match self {
            SlotType::Option | SlotType::Dotted => None,
            SlotType::Word
            | SlotType::Text
            | SlotType::Quoted
            | SlotType::Version
            | SlotType::NearbyVersion
            | SlotType::Line => Some(true),
            _ => Some(false),
        }
    }

    /// Whether it can stand before the first words of a pattern, from where it is read backwards.
    fn reads_backwards(self) -> bool {
        matches!(self, SlotType::Size | SlotType::DecimalSize | SlotType::Number | SlotType::Word)
    }
}

impl Template {
    /// Reads `pattern`.
    pub fn read(pattern: &str) -> Result<Template, String> {
        let wrong = |problem: &str| format!("the pattern `{pattern}` {problem}");
        let (mut pieces, mut rest) = (Vec::new(), pattern);
        while let Some(open) = rest.find('{') {
            let (words, behind) = (&rest[..open], &rest[open + 1..]);
            let (slot, behind) =
                behind.split_once('}').ok_or_else(|| wrong("has a slot that is not closed with `}`"))?;
            if !words.is_empty() {
                pieces.push(Piece::Words(words.into()));
            }
            pieces.push(slot_of(slot).map_err(|problem| wrong(&problem))?);
            rest = behind;
        }
        if !rest.is_empty() {
            pieces.push(Piece::Words(rest.into()));
        }
        let is_slot = |piece: &Piece| matches!(piece, Piece::Slot(..));
        if pieces.windows(2).any(|pair| pair.iter().all(is_slot)) {
            return Err(wrong("has two slots without a word between"));
        }
        let alone = matches!(pieces.as_slice(), [Piece::Slot(_, SlotType::Line)]);
        match pieces.first() {
            None => Err(wrong("is empty")),
            Some(Piece::Slot(_, value)) if !alone && (pieces.len() == 1 || !value.reads_backwards()) => Err(wrong(
                "begins with a slot; only `size`, `decimal_size`, `number` and `word` can, and words must follow",
            )),
            _ => Ok(Template { pieces }),
        }
    }

    /// The first words of `pattern`, by which its lines are found.
    pub fn first_words(pattern: &str) -> Option<&str> {
        let (before, behind) = pattern.split_once('{').unwrap_or((pattern, ""));
        if !before.is_empty() {
            return Some(before);
        }
        let (slot, rest) = behind.split_once('}')?;
        match slot.split_once('=') {
            Some((_, words)) => Some(words),
            None => Template::first_words(rest),
        }
    }

    /// Every name in it, with the type of its values.
    pub fn slots(&self) -> impl Iterator<Item = (SlotName, Option<SlotType>)> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Words(_) => None,
            Piece::Said(name, _) => Some((*name, None)),
            Piece::Slot(name, value) => Some((*name, Some(*value))),
        })
    }
}

/// `requested:size`, `deepspeed.flatten=insufficient memory`, `_:word`.
fn slot_of(slot: &str) -> Result<Piece, String> {
    if let Some((name, words)) = slot.split_once('=') {
        return match words.is_empty() {
            true => Err(format!("has a slot `{slot}` without words")),
            false => Ok(Piece::Said(name_of(name)?, words.into())),
        };
    }
    let (name, value) = slot
        .split_once(':')
        .ok_or_else(|| format!("has a slot `{slot}`; write `{{name:type}}` or `{{name=words}}`"))?;
    let known = SlotType::WORDS.iter().find(|(word, _)| *word == value.trim()).map(|(_, known)| *known);
    let value = known.ok_or_else(|| {
        let words: Vec<&str> = SlotType::WORDS.iter().map(|(word, _)| *word).collect();
        format!("has a slot of type `{value}`; there are: {}", words.join(", "))
    })?;
    Ok(Piece::Slot(name_of(name.trim())?, value))
}

fn name_of(name: &str) -> Result<SlotName, String> {
    Ok(match name {
        "_" => SlotName::Nothing,
        "host" => SlotName::Victim(VictimPart::Host),
        "rank" => SlotName::Victim(VictimPart::Rank),
        "device" => SlotName::Victim(VictimPart::Device),
        "pid" => SlotName::Victim(VictimPart::Pid),
        "role" => SlotName::Victim(VictimPart::Role),
        "signal" => SlotName::Signal,
        "status" => SlotName::Status,
        fact if fact.contains('.') => SlotName::Fact(word::keep(fact)),
        figure => SlotName::Figure(figure.parse().map_err(|_| {
            format!("names `{figure}`, which is no figure; the name of a fact has a dot, as `{figure}.count`")
        })?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_slots_take_turns() -> Result<(), String> {
        let template = Template::read("allocate {requested:size} on {cupy.where=device} {gpu_index:number}")?;
        let slot = |name, value| Piece::Slot(SlotName::Figure(name), value);
        assert_eq!(
            template.pieces,
            [
                Piece::Words("allocate ".into()),
                slot(FigureName::Requested, SlotType::Size),
                Piece::Words(" on ".into()),
                Piece::Said(SlotName::Fact("cupy.where"), "device".into()),
                Piece::Words(" ".into()),
                slot(FigureName::GpuIndex, SlotType::Number),
            ]
        );
        Ok(())
    }

    #[test]
    fn the_first_words_find_the_line() {
        for (pattern, words) in [
            ("a {x.y:word} b", Some("a ")),
            ("{x.y:size} b {_:word}", Some(" b ")),
            ("{x.y=in so many words}.", Some("in so many words")),
            ("{x.y:line}", None),
        ] {
            assert_eq!(Template::first_words(pattern), words, "{pattern}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_told() {
        for (pattern, problem) in [
            ("", "is empty"),
            ("a {x.y", "not closed"),
            ("a {size}", "`{name:type}`"),
            ("a {requested:amount}", "of type `amount`"),
            ("a {gone:size}", "which is no figure"),
            ("a {x.y:size}{x.z:size}", "two slots"),
            ("{x.y:text} b", "begins with a slot"),
            ("{x.y:size}", "begins with a slot"),
        ] {
            let told = Template::read(pattern).err().unwrap_or_default();
            assert!(told.contains(problem), "{told}");
        }
    }
}
