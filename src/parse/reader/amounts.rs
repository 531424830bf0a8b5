//! Figures and numbers of a line that no grammar reads. They count only beside a word that says what they are.

use std::ops::Range;

use super::super::Record;
use super::super::text;
use super::plain_text::{Plain, Wrap};
use crate::knowledge::{MemoryOf, NumberOf, Signs};
use crate::model::{Figure, FigureName};
use crate::parse::record::amount::HOLE;

/// Words that may stand between an amount and its name.
const FILLERS: &[&str] = &[
    "of",
    "is",
    "was",
    "about",
    "another",
    "an",
    "additional",
    "a",
    "only",
    "up",
    "to",
    "memory",
    "are",
    "for",
    "size",
    "from",
    "at",
    "least",
    "most",
    "around",
    "approximately",
    "approx",
    "roughly",
    "nearly",
    "almost",
    "device",
    "gpu",
    "host",
    "buffer",
    "tensor",
    "block",
    "contiguous",
];
/// Most amounts of one message that are considered.
const MOST: usize = 24;

/// The amounts in `range` of the record's text that words beside them name.
pub(super) fn figures(record: &Record, range: Range<usize>, memory: MemoryOf, signs: &Signs) -> Vec<Figure> {
    let whole = record.text();
    let mut figures: Vec<Figure> = Vec::new();
    let mut unnamed = Vec::new();
    for Spot { place, label_end, size, is_bare } in sizes(whole, range.clone()).take(MOST) {
        let end = place + size.text.len();
        let before = range.start.max(floor(whole, label_end.saturating_sub(120)))..label_end;
        let behind = behind_its_whole(whole, end..range.end);
        let is_part = behind.start != end;
        let behind = behind.start..range.end.min(floor(whole, behind.start + 80));
        let (before, behind) = (own_clause_before(whole, before), own_clause_behind(whole, behind));
        let before = Plain::of(whole, before, Wrap::Blank).text;
        let behind = Plain::of(whole, behind, Wrap::Blank).text;
        let (before, behind) = (without_fillers_at_end(before.trim()), behind.trim());
        let alone = alone_before(whole, range.start..place);
        let rows = signs.amounts.iter().filter(|row| row.memory.is_empty() || row.memory.contains(&memory));
        let fit = rows.filter_map(|row| {
            if is_bare {
                // `of size 4831838208` counts whatever the thing of that size is called.
                let is_size = ends_with_words(before.0, "size");
                let said = row
                    .bytes
                    .iter()
                    .filter(|words| ends_with_words(before.0, words) || is_size && ends_with_words(before.1, words));
                let said = said.chain(row.bytes_alone.iter().filter(|words| *alone == ***words));
                let said = said.chain(row.bytes_behind.iter().filter(|words| starts_with_words(behind, words)));
                return Some((said.map(|words| words.len()).max()?, row.figure));
            }
            let left =
                row.before.iter().filter(|words| ends_with_words(before.0, words) || ends_with_words(before.1, words));
            // Of `24 MB of 64 MB requested` the whole was.
            let is_part = is_part && row.figure == FigureName::Requested;
            let right = row.behind.iter().filter(|_| !is_part).filter(|words| {
                starts_with_words(behind, words) || starts_with_words(behind.trim_start_matches("memory "), words)
            });
            let only = row.bytes_alone.iter().filter(|words| *alone == ***words);
            let longest = left.chain(right).chain(only).map(|words| words.len()).max()?;
            Some((longest, row.figure))
        });
        let said = fit.max_by_key(|(length, _)| *length).map(|(_, name)| name);
        let said_of_all = said.filter(|name| is_of_all(*name));
        let is_share = SHARES.iter().any(|words| starts_with_words(behind, words));
        // `only allocated 24 MB of 64 MB requested`
        let is_asked = said == Some(FigureName::Requested);
        let all = || whole_of(memory, &whole[range.start..place]).filter(|_| !is_share && !is_asked);
        let Some(name) = said_of_all.or_else(all).or(said) else {
            unnamed.extend(
                (!is_bare).then(|| (size, whole[range.start..label_end].to_ascii_lowercase(), behind.to_owned())),
            );
            continue;
        };
        if figures.iter().all(|figure| figure.name != name) {
            figures.extend(record.figure(name, size));
        }
    }
    // The only amount of a refused allocation is its size, unless words say that it is something else.
    if let ([], [(size, before, behind)]) = (figures.as_slice(), unnamed.as_slice()) {
        let clause = before.rsplit([';', ',', '(']).next().unwrap_or(before);
        let clause = clause.rsplit(". ").next().unwrap_or(clause);
        let mut words = clause.split(|c: char| !c.is_alphanumeric());
        let is_asked = words.any(|word| ALLOCATING.contains(&word));
        // `1 234 MB`: perhaps the end of a longer number.
        let is_whole = !before.trim_end().ends_with(|c: char| c.is_ascii_digit());
        let is_other = OTHERWISE.iter().any(|word| clause.contains(word) || behind.contains(word));
        figures.extend(record.figure(FigureName::Requested, *size).filter(|_| is_asked && is_whole && !is_other));
    }
    figures
}

/// What is done to get memory.
const ALLOCATING: &[&str] = &[
    "allocate",
    "alloc",
    "allocating",
    "allocation",
    "malloc",
    "reserve",
    "reserving",
    "acquire",
    "acquiring",
    "resize",
    "resizing",
    "expand",
    "expanding",
    "commit",
];
/// Words of amounts that were not asked for.
const OTHERWISE: &[&str] = &[
    "limit",
    "total",
    "free",
    "avail",
    "used",
    "usage",
    "max",
    "budget",
    "capacity",
    "peak",
    "swap",
    "after",
    "only",
    "left",
    "remain",
    "threshold",
    "quota",
    "in use",
    "pool",
    "already",
    "min",
    "disk",
    "file",
    "shard",
    "node",
    "card",
    "ram",
];

/// `said`, extended up to `end` by the lines that continue it: the rest of a wrapped sentence, or rows of a list of amounts, `free: 1.2
/// GiB`.
pub(super) fn with_rest(whole: &str, said: Range<usize>, end: usize) -> Range<usize> {
    let mut stop = said.end;
    while let Some(next) = whole.get(stop..end).and_then(|rest| rest.strip_prefix('\n')) {
        let line = next.lines().next().unwrap_or_default();
        let is_open = whole[..stop].trim_end().ends_with(|c: char| c.is_alphanumeric() || c == ',' || c == ':');
        if line.is_empty() || !(is_open && goes_on(line.trim_start()) || is_row(line.trim()) || is_list(line)) {
            break;
        }
        stop += '\n'.len_utf8() + line.len();
    }
    said.start..stop
}

/// Whether `line`, next to a message, is a part of it: in parentheses, a row with a label, or values with their names, `credit=2560 MiB
/// requested=1906 MiB`.
pub(super) fn is_part(line: &str) -> bool {
    let is_value = |at: usize| {
        line[..at].ends_with(|c: char| c.is_alphanumeric()) && line[at + 1..].starts_with(|c: char| c.is_alphanumeric())
    };
    let values = line.match_indices('=').filter(|(at, _)| is_value(*at)).count();
    values > 1 || line.trim_start().starts_with('(') || is_row(line.trim()) || is_list(line)
}

/// `The card has 79.19 GiB total, 6.68 GiB free, 72.48 GiB in use`: each part of the sentence is an amount with a few words.
fn is_list(line: &str) -> bool {
    const MOST_WORDS: usize = 8;
    let parts = || line.split([',', ';', '|']).map(str::trim).filter(|part| !part.is_empty());
    let has_amount = |part: &str| {
        part.match_indices(' ').map(|(at, _)| &part[at + 1..]).chain([part]).any(|words| text::size(words).is_ok())
    };
    parts().count() > 1 && parts().all(|part| part.split_whitespace().count() <= MOST_WORDS && has_amount(part))
}

/// Whether `line` continues a sentence: no sentence begins with a lower-case word or an amount.
fn goes_on(line: &str) -> bool {
    let word = line.split_whitespace().next().unwrap_or_default();
    let is_word = word.len() > 1 && word.chars().all(|c| c.is_ascii_lowercase() || c == ',');
    is_word || text::size(line).is_ok()
}

/// `free: 1.2 GiB`, `Total memory = 16384 MB`, `Total GPU memory (GiB): 140.06`
pub(super) fn is_row(line: &str) -> bool {
    const MOST_WORDS: usize = 4;
    // `amdgpu:    size      : 28508160 bytes`
    let of_program = line.split_once(": ").filter(|(program, row)| !program.contains(' ') && row.contains([':', '=']));
    let line = of_program.map_or(line, |(_, row)| row.trim_start());
    line.split_once([':', '=']).is_some_and(|(label, amount)| {
        let (name, unit) = match text::unit_of_label(label) {
            Some((unit, end)) => (&label[..end], Some(unit)),
            None => (label, None),
        };
        let is_label = name.chars().all(|c| c.is_alphabetic() || c == '_' || c == ' ' || c == '-');
        let amount = amount.trim();
        let rest = match unit {
            Some(unit) => text::counted(amount, unit).map(|(rest, _)| rest),
            None => text::size(amount).map(|(rest, _)| rest),
        };
        let is_amount = rest.is_ok_and(|rest| rest.trim_matches([',', '.', ')']).is_empty());
        is_label && name.split_whitespace().count() <= MOST_WORDS && is_amount
    })
}

/// Ends of clauses: words between two amounts belong to the amount in the same clause.
const ENDS: &[char] = &[',', ';', '，', '；'];

fn own_clause_before(whole: &str, range: Range<usize>) -> Range<usize> {
    let behind = |(at, end): (usize, &str)| range.start + at + end.len();
    // `1,024` is one number.
    let ends = |behind: &usize| !whole[*behind..].starts_with(|c: char| c.is_ascii_digit());
    let start = whole[range.clone()].rmatch_indices(ENDS).map(behind).find(ends);
    start.unwrap_or(range.start)..range.end
}

/// The words before an amount from the beginning of its clause, parenthesis or sentence on: `(size: 3.5 GB)`.
fn alone_before(whole: &str, range: Range<usize>) -> String {
    const LONGEST: usize = 24;
    let start = range.start.max(floor(whole, range.end.saturating_sub(LONGEST)));
    let words = &whole[start..range.end];
    // `request=1073741824 free=536870912`: each amount has its own name.
    if let Some(name) = words.strip_suffix('=') {
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        return Plain::of(
            whole,
            range.end - (words.len() - name.trim_end_matches(is_part).len())..range.end,
            Wrap::Blank,
        )
        .text
        .trim()
        .to_owned();
    }
    let label = words.trim_end_matches([':', '=', ' ']).len();
    let ends = |(at, c): (usize, char)| {
        let behind = at + c.len_utf8();
        let is_label = || ".:".contains(c) && behind < label && words[behind..].starts_with(' ');
        let is_end = ENDS.contains(&c) || "([{（\n".contains(c) || is_label();
        is_end.then_some(behind)
    };
    let begin = words.char_indices().rev().find_map(ends).or((start == range.start).then_some(0));
    begin.map_or(String::new(), |begin| Plain::of(whole, start + begin..range.end, Wrap::Blank).text.trim().to_owned())
}

fn own_clause_behind(whole: &str, range: Range<usize>) -> Range<usize> {
    let end = whole[range.clone()].find(ENDS).map_or(range.end, |at| range.start + at);
    range.start..label_begins(&whole[range.start..end]).map_or(end, |at| range.start + at)
}

/// Where, after an amount, the label of the next one begins: `1.5GiB free=0.3GiB`.
fn label_begins(behind: &str) -> Option<usize> {
    // `free 512MB / total 8192MB`
    if behind.trim_start().starts_with(['/', '|']) {
        return Some(0);
    }
    let is_label = |at: &usize| {
        let name = behind[..*at].ends_with(|c: char| c.is_alphanumeric() || c == ')' || c == ']');
        name && behind[at + 1..].trim_start().starts_with(|c: char| c.is_ascii_digit())
    };
    let label = behind.match_indices([':', '=']).map(|(at, _)| at).find(is_label)?;
    Some(behind[..label].rfind(['(', '[', '{']).unwrap_or(0))
}

/// The words between a part and its whole: `23.5/24.0 GB`, `2.1 GB of 16.0 GB`.
const PART_OF: &[&str] = &["/", "out of", "of"];

/// Skips the whole after a part, because the words after the whole describe the part: `2.1 GB of 16.0 GB free`.
fn behind_its_whole(whole: &str, behind: Range<usize>) -> Range<usize> {
    let rest = || {
        let said = whole[behind.clone()].trim_start();
        let next = PART_OF.iter().find_map(|word| said.strip_prefix(word))?;
        let (rest, _) = text::size(next.trim_start()).ok()?;
        Some(behind.end - rest.len())
    };
    rest().unwrap_or(behind.start)..behind.end
}

/// Words for a program's own limit, which is less than what the device has.
const SHARES: &[&str] = &["limit", "budget", "pool", "arena", "quota", "cache", "max", "maximum"];

fn is_of_all(name: FigureName) -> bool {
    matches!(name, FigureName::GpuTotal | FigureName::NodeTotal | FigureName::MemcgLimit)
}

/// The name of the second of two amounts, `23.5/24.0 GB`, `2.1 GB of 16.0 GB`: the total or the limit of that memory.
fn whole_of(memory: MemoryOf, before: &str) -> Option<FigureName> {
    let before = before.trim_end();
    let part = PART_OF.iter().find_map(|word| before.strip_suffix(word))?.trim_end();
    let digits = part.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
    let is_amount = digits.ends_with(|c: char| c.is_ascii_digit()) && part.len() - digits.len() <= " bytes".len();
    match memory {
        _ if !is_amount => None,
        MemoryOf::Device => Some(FigureName::GpuTotal),
        MemoryOf::Host | MemoryOf::Kernel => Some(FigureName::NodeTotal),
        MemoryOf::Container | MemoryOf::Daemon | MemoryOf::Job => Some(FigureName::MemcgLimit),
        MemoryOf::Ray | MemoryOf::Shared => None,
    }
}

/// An amount of a message.
struct Spot<'a> {
    /// The offset at which it begins.
    place: usize,
    /// Where the words that may name it end; a unit in brackets is not part of them.
    label_end: usize,
    /// The amount.
    size: text::Size<'a>,
    /// Whether it has no unit and may count bytes.
    is_bare: bool,
}

/// Every amount with its unit, or a number that may count bytes without one.
fn sizes(whole: &str, range: Range<usize>) -> impl Iterator<Item = Spot<'_>> {
    let part = &whole[range.clone()];
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"._,-".contains(&byte);
    let starts = part.bytes().enumerate().filter(move |(at, byte)| {
        byte.is_ascii_digit() && !at.checked_sub(1).is_some_and(|before| is_part(part.as_bytes()[before]))
    });
    starts.filter_map(move |(at, _)| {
        let place = range.start + at;
        // Digits may be missing before it.
        if part[..at].ends_with(HOLE) {
            return None;
        }
        let Ok((rest, size)) = text::size(&part[at..]) else {
            if let Some(size) = part_of(&part[at..]) {
                return Some(Spot { place, label_end: place, size, is_bare: false });
            }
            if let Some((unit, label)) = text::unit_of_label(&part[..at]) {
                let (_, size) = text::counted(&part[at..], unit).ok()?;
                return Some(Spot { place, label_end: range.start + label, size, is_bare: false });
            }
            // `size=8388608000: unable to map`, `(size=8388608000)`
            let digits = at + part[at..].bytes().take_while(u8::is_ascii_digit).count();
            let is_value = part[..at].ends_with('=') && [": ", ")"].iter().any(|end| part[digits..].starts_with(end));
            let (number, is_whole) =
                if is_value { (&part[at..digits], true) } else { (&part[at..], is_narrow_line(whole, place)) };
            let (_, size) = text::bare_bytes(number, is_whole).ok()?;
            return Some(Spot { place, label_end: place, size, is_bare: true });
        };
        // The unit must be complete and must end there.
        let whole_unit = ["iB", "ytes", "B", "字节"].iter().any(|end| size.text.ends_with(end));
        let ends = rest.chars().next().map_or(whole_unit, |c| !c.is_ascii_alphanumeric() && c != '/' && c != '_');
        (ends && size.bytes.is_some()).then_some(Spot { place, label_end: place, size, is_bare: false })
    })
}

/// Whether the line around `place` is followed by another one and is too narrow to have been wrapped or cut within a number.
fn is_narrow_line(whole: &str, place: usize) -> bool {
    const NARROWEST_TERMINAL: usize = 72;
    let start = whole[..place].rfind('\n').map_or(0, |at| at + 1);
    whole[place..].find('\n').is_some_and(|end| place + end - start < NARROWEST_TERMINAL)
}

/// An amount that shares the unit of its whole: the `7.6` of `7.6/8.0 GB used`.
fn part_of(text: &str) -> Option<text::Size<'_>> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (rest, all) = text::size(text[digits..].trim_start().strip_prefix('/')?.trim_start()).ok()?;
    let unit = all.text.trim_start_matches(|c: char| !c.is_ascii_alphabetic());
    let (_, unit) = text::unit(unit).ok().filter(|_| !rest.starts_with('/'))?;
    text::counted(&text[..digits], unit).ok().map(|(_, size)| size)
}

/// The last character boundary up to `at`.
pub(super) fn floor(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at.min(text.len()))
}

/// The words, and the words without fillers at their end.
fn without_fillers_at_end(words: &str) -> (&str, &str) {
    let mut short = words;
    while let Some(less) = FILLERS.iter().find_map(|filler| short.strip_suffix(filler)?.strip_suffix(' ')) {
        short = less;
    }
    (words, short)
}

fn ends_with_words(text: &str, words: &str) -> bool {
    text.strip_suffix(words).is_some_and(|before| before.is_empty() || before.ends_with(' '))
}

fn starts_with_words(text: &str, words: &str) -> bool {
    text.strip_prefix(words).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// The first number in `range` that words beside it name as `wanted`, and its digits.
pub(super) fn number<'t>(
    whole: &'t str,
    range: Range<usize>,
    wanted: NumberOf,
    signs: &Signs,
) -> Option<(&'t str, u32)> {
    let part = &whole[range.clone()];
    let small = part.to_ascii_lowercase().replace('_', " ");
    let rows = signs.numbers.iter().filter(|row| row.is == wanted);
    let all = rows.flat_map(|row| row.words.iter().map(move |words| (row, words)));
    let found =
        all.flat_map(|(row, words)| small.match_indices(&**words).map(move |(at, words)| (row, at, at + words.len())));
    let read = found.filter_map(|(row, at, end)| {
        let joins = at.checked_sub(1).is_some_and(|before| small.as_bytes()[before].is_ascii_alphanumeric());
        let rest = part.get(end..)?;
        let between = rest.len() - rest.trim_start_matches([' ', ':', '=', '(', '#', '[', '"', '\'', '_']).len();
        let said = &rest[..between];
        let fits = match row.between.is_empty() {
            true => between <= 4,
            false => row.between.iter().any(|between| **between == *said),
        };
        let (behind, digits) = text::digits(&rest[between..]).ok()?;
        let is_fraction = behind.strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        let ends = !is_fraction && !behind.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        let amount = text::size(&rest[between..]).is_ok();
        let is_large = digits.parse::<u32>().is_ok_and(|number| number >= row.least);
        // `gpu07` is a machine.
        let is_name = digits.len() > 1 && digits.starts_with('0') && between == 0;
        (!joins && fits && ends && !amount && !is_name && digits.len() <= 7 && is_large).then_some((at, digits))
    });
    let (_, digits) = read.min_by_key(|(at, _)| *at)?;
    Some((digits, digits.parse().ok()?))
}
