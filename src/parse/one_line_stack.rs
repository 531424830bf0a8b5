//! A stack in one line: the calls as a program's own handler joins them, or as a logger writes them as JSON.
//!
//! Mirrors CPython `Lib/traceback.py:FrameSummary.__repr__` (3.5–3.14) of `extract_tb`, structlog `tracebacks.py:ExceptionDictTransformer`
//! (22.1–25), sentry-sdk `utils.py:serialize_frame` (1–2), R `src/main/errors.c` (`Calls: a -> b`, 3.0–4.5), and what handlers join by arrows,
//! bars or commas: `train.py:88 step -> flow.py:61 inverse`. Calls are in the order in which they were made, unless the arrows point
//! to the left.

use nom::branch::alt;
use nom::bytes::complete::{tag, take_while, take_while_m_n, take_while1};
use nom::character::complete::{char, digit1, space0, space1};
use nom::combinator::{opt, peek, recognize, verify};
use nom::multi::{many0, separated_list1};
use nom::sequence::{delimited, preceded, terminated};
use nom::{IResult, Parser};

use super::{Example, Grammar, Record};
use crate::model::{Event, Frame, Traceback, What};

/// See the module.
pub struct OneLineStack;

/// Deeper stacks are recursion; the outermost calls suffice to tell the phase.
const DEEPEST: usize = 100;
/// No path or name is longer; a line may be a megabyte.
const LONGEST: usize = 256;
/// Nor are more marks found between two calls.
const WIDEST: usize = 12;

impl Grammar for OneLineStack {
    fn producer(&self) -> &'static str {
        "stack"
    }

    fn triggers(&self) -> &'static [&'static str] {
        &["FrameSummary file ", "\"lineno\"", "\"function\"", "Calls: ", ".py:"]
    }

    fn parse(&self, record: &Record) -> Vec<Event> {
        let line = record.text();
        let Some(calls) = as_json(line).or_else(|| chain(line)).or_else(|| of_r(line)) else { return Vec::new() };
        let at = record.cite_line_of(line);
        let frame = |Call { file, function, code }: Call| Frame { file, function, code, at: at.clone() };
        let frames = calls.into_iter().take(DEEPEST).map(frame).collect();
        vec![record.event(
            self.producer(),
            line,
            What::Traceback(Traceback { frames, exception: None, is_native: false }),
        )]
    }

    fn examples(&self) -> &'static [Example] {
        EXAMPLES
    }
}

/// One call.
#[derive(Debug, PartialEq)]
struct Call {
    file: String,
    function: String,
    code: String,
}

impl Call {
    fn new((file, function): Place<'_>) -> Call {
        Call { file: file.to_owned(), function: function.to_owned(), code: String::new() }
    }
}

/// `"frames": [{"filename": "train.py", "lineno": 88, "name": "step"}, …]`
fn as_json(line: &str) -> Option<Vec<Call>> {
    const FILES: [&str; 4] = ["filename", "file", "abs_path", "path"];
    const FUNCTIONS: [&str; 4] = ["function", "name", "func", "method"];
    const CODES: [&str; 3] = ["context_line", "line", "code"];
    /// An exception and its causes have fewer lists than that.
    const LISTS: usize = 32;
    type Object = serde_json::Map<String, serde_json::Value>;
    let call = |object: &Object| {
        let first = |names: &[&str]| names.iter().find_map(|name| object.get(*name)?.as_str());
        let file = first(&FILES).filter(|file| file.ends_with(".py"))?;
        Some(Call {
            code: first(&CODES).unwrap_or_default().trim().to_owned(),
            ..Call::new((file, first(&FUNCTIONS)?))
        })
    };
    if !line.contains("\"lineno\"") && !line.contains("\"function\"") {
        return None;
    }
    let lists = line
        .match_indices("[{")
        .take(LISTS)
        .filter_map(|(at, _)| serde_json::Deserializer::from_str(&line[at..]).into_iter::<Vec<Object>>().next()?.ok());
    let mut stacks = lists.map(|list| list.iter().filter_map(call).collect::<Vec<_>>());
    stacks.find(|calls| !calls.is_empty())
}

/// `train.py:88 step -> flow.py:61 inverse`, two calls or more.
fn chain(line: &str) -> Option<Vec<Call>> {
    /// The first call is looked for around so many source files; a logger may name one of its own before.
    const FILES: usize = 4;
    let is_word = |c: char| c.is_alphanumeric() || "_./-~<".contains(c);
    // A cheap check first: most lines with a place in the source have no second one.
    let files = || line.match_indices(".py");
    files().nth(1)?;
    let starts = files().take(FILES).flat_map(|(end, _)| {
        let from = line.floor_char_boundary(end.saturating_sub(LONGEST));
        let places = line[from..end].char_indices().map(move |(at, _)| from + at);
        places.filter(|at| !line[..*at].ends_with(is_word))
    });
    let mut starts = starts.filter(|at| line[*at..].starts_with(|c: char| is_word(c) || c == '('));
    let (_, (mut calls, joint)) = starts.find_map(|at| joined(&line[at..]).ok())?;
    if joint.contains("<-") || joint.contains("< ") || joint.contains('←') {
        calls.reverse();
    }
    Some(calls.into_iter().map(Call::new).collect())
}

/// A source file and a function.
type Place<'a> = (&'a str, &'a str);

/// Two calls or more, and what stands between the first two.
fn joined(text: &str) -> IResult<&str, (Vec<Place<'_>>, &str)> {
    let (left, (first, (joint, second), others)) = (call, next_call, many0(next_call)).parse(text)?;
    let others = others.into_iter().map(|(_, call)| call);
    Ok((left, ([first, second].into_iter().chain(others).collect(), joint)))
}

/// An arrow, a bar or a comma, and a call, whose own brackets and quotes may be the last of the marks.
fn next_call(text: &str) -> IResult<&str, (&str, Place<'_>)> {
    let is_mark = |c: char| c.is_whitespace() || "-=><→←»›|,;[]()'\"".contains(c);
    let (_, marks) = take_while_m_n(1, WIDEST, is_mark).parse(text)?;
    let is_joint = |joint: &str| joint.contains(['>', '<', '→', '←', '»', '›', '|', ',', ';']);
    let ends = marks.char_indices().map(|(at, mark)| at + mark.len_utf8()).rev();
    for end in ends.take_while(|end| is_joint(&text[..*end])) {
        if let Ok((left, call)) = call(&text[end..]) {
            return Ok((left, (&text[..end], call)));
        }
    }
    Err(nom::Err::Error(nom::error::Error::new(text, nom::error::ErrorKind::Verify)))
}

/// A source file and a function.
fn call(text: &str) -> IResult<&str, Place<'_>> {
    alt((summary, listed, placed_first, named_first)).parse(text)
}

/// `<FrameSummary file /w/train.py, line 88 in step>`
fn summary(text: &str) -> IResult<&str, Place<'_>> {
    let place = (tag("<FrameSummary file "), source_file, tag(", line "), digit1, tag(" in "));
    let (left, ((_, file, _, _, _), function, _)) = (place, summarised, char('>')).parse(text)?;
    Ok((left, (file, function)))
}

/// The name of a function within a summary; that of a module or a comprehension has brackets of its own.
fn summarised(text: &str) -> IResult<&str, &str> {
    let name = || take_while_m_n(1, LONGEST, |c: char| c != '>');
    let bracketed = recognize((char('<'), name(), char('>')));
    alt((terminated(bracketed, peek(char('>'))), name())).parse(text)
}

/// `('train.py', 88, 'step')`
fn listed(text: &str) -> IResult<&str, Place<'_>> {
    let quoted = || char('\'').or(char('"'));
    let comma = || (char(','), space0);
    let (left, (file, _, _, _, function)) = (
        delimited((char('('), quoted()), source_file, quoted()),
        comma(),
        digit1,
        comma(),
        delimited(quoted(), name, quoted()),
    )
        .parse(text)?;
    Ok((opt(preceded(char(','), take_while(|c| c != ')'))).parse(left)?.0, (file, function)))
}

/// `train.py:88 step`, `train.py:88 in step()`, `train.py:88:step`, `train.py:88 (step)`, `train.py:step:88`
fn placed_first(text: &str) -> IResult<&str, Place<'_>> {
    let joint = alt((tag(" in "), tag(":"), tag(" ("), tag(" ")));
    let numbered = (preceded(char(':'), digit1), joint, name).map(|(_, _, name)| name);
    let named = delimited(char(':'), name, (char(':'), digit1));
    let (left, (file, function, _)) = (source_file, alt((numbered, named)), opt(tag("()"))).parse(text)?;
    Ok((left, (file, function)))
}

/// `step@train.py:88`, `step (train.py:88)`, `step() at train.py:88`
fn named_first(text: &str) -> IResult<&str, Place<'_>> {
    let joint = alt((tag("@"), tag(" ("), tag(" at "), tag(" @ "), tag("(")));
    let (left, (function, _, _, file, _, _)) =
        (name, opt(tag("()")), joint, source_file, char(':'), digit1).parse(text)?;
    Ok((left, (file, function)))
}

/// `Calls: train_model ... <Anonymous> -> model -> nn_conv2d` of R, which names no files.
fn of_r(line: &str) -> Option<Vec<Call>> {
    let (_, calls) = line.trim().strip_prefix("Calls: ").and_then(|calls| r_calls(calls).ok())?;
    let calls: Vec<Call> = calls.into_iter().map(|name| Call::new(("", name))).collect();
    (calls.len() > 1).then_some(calls)
}

fn r_calls(text: &str) -> IResult<&str, Vec<&str>> {
    let arrow = alt((delimited(space1, tag("->"), space1), delimited(space1, tag("..."), space1)));
    let function = take_while1(|c: char| !c.is_whitespace());
    separated_list1(arrow, function).parse(text)
}

fn name(text: &str) -> IResult<&str, &str> {
    let name = take_while_m_n(1, LONGEST, |c: char| c.is_alphanumeric() || "_.<>".contains(c));
    verify(name, |name: &str| name.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '<')).parse(text)
}

fn source_file(text: &str) -> IResult<&str, &str> {
    let path = take_while_m_n(1, LONGEST, |c: char| !c.is_whitespace() && !":,\"'()[]|@".contains(c));
    verify(path, |path: &str| path.ends_with(".py")).parse(text)
}

const EXAMPLES: &[Example] = &[
    Example {
        version: "structlog 22.1–25",
        text: "{\"event\": \"died\", \"exception\": [{\"exc_type\": \"ValueError\", \"frames\": [{\"filename\": \"/w/train.py\", \"lineno\": 88, \"name\": \"run\"}, {\"filename\": \"/w/flow.py\", \"lineno\": 61, \"name\": \"inverse\"}]}]}\n",
        states: &[("frame", "run"), ("frame", "inverse")],
    },
    Example {
        version: "CPython 3.5–3.14, extract_tb",
        text: "died in [<FrameSummary file train.py, line 9 in <module>>, <FrameSummary file /w/flow.py, line 61 in inverse>]\n",
        states: &[("frame", "<module>"), ("frame", "inverse")],
    },
    Example {
        version: "R 3.0–4.5",
        text: "Calls: train_model ... <Anonymous> -> model -> nn_conv2d\n",
        states: &[("frame", "train_model"), ("frame", "model"), ("frame", "nn_conv2d")],
    },
    Example {
        version: "a handler's own",
        text: "rank 3 died at train.py:88 run -> loop.py:120 train_step -> flow.py:61 inverse\n",
        states: &[("frame", "run"), ("frame", "train_step"), ("frame", "inverse")],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    fn functions(line: &str) -> Vec<String> {
        let calls = as_json(line).or_else(|| chain(line)).or_else(|| of_r(line)).unwrap_or_default();
        calls.into_iter().map(|call| call.function).collect()
    }

    #[test]
    fn calls_are_read_as_handlers_join_them() {
        for line in [
            "at run (train.py:8) > step (w/loop.py:12): out of memory",
            "run@train.py:8 | step@w/loop.py:12",
            "[('train.py', 8, 'run', 'x()'), ('w/loop.py', 12, 'step', None)]",
            "train.py:8:run;w/loop.py:12:step",
            "where: train.py:run:8 → w/loop.py:step:12",
            "w/loop.py:12 in step() <- train.py:8 in run()",
            "step() at w/loop.py:12 ← run() at train.py:8",
            "2026-10-02 watch.py:7 - died in train.py:8 run -> w/loop.py:12 step",
        ] {
            assert_eq!(functions(line), ["run", "step"], "{line}");
        }
    }

    #[test]
    fn places_in_prose_are_no_stack() {
        for line in [
            "2026-10-02 [train.py:88] reading a.py and b.py",
            "train.py:88: UserWarning: see other.py:12",
            "train.py:88 step 120 loss 2.1, next.py",
            "copied train.py -> loop.py",
            "Calls: 12",
        ] {
            assert_eq!(functions(line), [""; 0], "{line}");
        }
    }
}
