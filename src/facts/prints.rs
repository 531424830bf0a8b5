//! What lines of the job's own tell, in no known format: prints that differ only in their numbers, one of which counts up.
//!
//! `prints.steps` is how many there are before the failure, `prints.memory` the largest amount of memory in them, and `prints.longest_count` the
//! largest number in a shape behind its first: of `12 (8, 241120) 11.9 GiB` that is 241120.

use super::known::{Facts, Value};
use crate::model::{Bytes, Citation};

/// Fewer lines that are alike are chance.
const FEWEST: usize = 3;

/// One line, taken apart.
struct Print<'a> {
    /// Its words without their numbers.
    words: String,
    numbers: Vec<f64>,
    /// The largest amount with a unit of memory.
    memory: Option<f64>,
    /// The largest number of a shape behind its first.
    longest: Option<f64>,
    cite: &'a Citation,
}

/// Adds the facts of the last lines in `around` that count.
pub(super) fn add(facts: &mut Facts, around: &[Citation]) {
    let mut groups: Vec<Vec<Print<'_>>> = Vec::new();
    for print in around.iter().filter_map(taken_apart) {
        match groups.iter_mut().find(|group| group.first().is_some_and(|first| first.words == print.words)) {
            Some(group) => group.push(print),
            None => groups.push(vec![print]),
        }
    }
    let Some(steps) = groups.iter().rev().find(|group| counts_up(group)) else { return };
    let cites = || steps.iter().map(|print| print.cite.clone()).collect::<Vec<_>>();
    let largest = |of: fn(&Print<'_>) -> Option<f64>| steps.iter().filter_map(of).max_by(f64::total_cmp);
    let told = [
        ("prints.steps", Some(steps.len() as f64)),
        ("prints.memory", largest(|print| print.memory)),
        ("prints.longest_count", largest(|print| print.longest).filter(|longest| !counts_to(steps, *longest))),
    ];
    for (name, value) in told {
        if let Some(value) = value {
            facts.cite(name, Value::Number(value), cites());
        }
    }
}

/// Whether `longest` is a number that counts: `[1, 2000] loss 2.1`, `[1, 4000] loss 1.9`, `[1, 6000] loss 1.7` hold no shapes.
fn counts_to(group: &[Print<'_>], longest: f64) -> bool {
    let values: Option<Vec<f64>> = group.iter().map(|print| print.longest).collect();
    values.is_some_and(|values| values.last() == Some(&longest) && is_count(&values))
}

/// Whether each of `values` is larger than the one before by the same whole amount.
fn is_count(values: &[f64]) -> bool {
    let mut steps = values.windows(2).map(|pair| pair[1] - pair[0]);
    steps.next().is_some_and(|step| step >= 1.0 && step.fract() == 0.0 && steps.all(|other| other == step))
}

/// Whether one of the numbers counts up by the same whole amount from each line to the next.
fn counts_up(group: &[Print<'_>]) -> bool {
    let Some(first) = group.first().filter(|_| group.len() >= FEWEST) else { return false };
    (0..first.numbers.len()).any(|column| {
        let values: Vec<f64> = group.iter().filter_map(|print| print.numbers.get(column).copied()).collect();
        is_count(&values)
    })
}

/// The numbers of a line and what stands behind them; `None` if there is nothing to count.
fn taken_apart(cite: &Citation) -> Option<Print<'_>> {
    let (mut words, mut numbers, mut memory) = (String::new(), Vec::new(), None::<f64>);
    let mut rest = cite.text.as_str();
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, number) = rest.split_at(start);
        let length = number.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(number.len());
        let (number, behind) = number.split_at(length);
        words.push_str(before);
        words.push('#');
        let value: f64 = number.trim_end_matches('.').parse().ok()?;
        numbers.push(value);
        let unit = behind.trim_start_matches([' ', '_']).split(|c: char| !c.is_ascii_alphabetic()).next();
        let amount = unit.and_then(bytes_of).map(|unit| value * unit);
        memory = memory.into_iter().chain(amount).max_by(f64::total_cmp);
        rest = behind;
    }
    words.push_str(rest);
    let longest = longest(&cite.text);
    (!numbers.is_empty()).then_some(Print { words, numbers, memory, longest, cite })
}

/// The bytes of a unit that prints of memory have.
fn bytes_of(unit: &str) -> Option<f64> {
    match unit.to_ascii_lowercase().as_str() {
        "gib" | "gb" => Some(Bytes::GIB.0 as f64),
        "mib" | "mb" => Some(Bytes::MIB.0 as f64),
        _ => None,
    }
}

/// The largest number behind the first in a shape, `(8, 241120)` or `[8, 241120]`.
fn longest(text: &str) -> Option<f64> {
    let shapes = text.split(['(', '[']).skip(1).filter_map(|part| part.split([')', ']']).next());
    let numbers =
        |shape: &str| shape.split(',').map(|part| part.trim().parse::<u64>().ok()).collect::<Option<Vec<u64>>>();
    let lengths = shapes.filter_map(numbers).filter_map(|shape| shape.get(1..)?.iter().copied().max());
    lengths.max().map(|length| length as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Column, LineNumber, Location};

    fn facts(lines: &[&str]) -> [Option<f64>; 3] {
        let cite = |(at, line): (usize, &&str)| {
            let location = Location { path: "job.log".into(), line: LineNumber(at as u64 + 1), column: Column(1) };
            Citation::new(location, (*line).to_owned())
        };
        let around: Vec<Citation> = lines.iter().enumerate().map(cite).collect();
        let mut facts = Facts::default();
        add(&mut facts, &around);
        ["prints.steps", "prints.memory", "prints.longest_count"].map(|name| facts.number(name))
    }

    #[test]
    fn lines_that_count_up_tell_steps_memory_and_lengths() {
        let lines = ["starting", "0 (4, 1200) 5.5 GiB 2.91", "1 (4, 1311) 6.0 GiB 2.85", "2 (4, 1290) 6.0 GiB 2.71"];
        let gib = Bytes::GIB.0 as f64;
        assert_eq!(facts(&lines), [Some(3.0), Some(6.0 * gib), Some(1311.0)]);
        let lines = ["it 10: 812 MB", "it 20: 900 MB", "it 30: 900 MB", "Traceback (most recent call last):"];
        assert_eq!(facts(&lines), [Some(3.0), Some(900.0 * Bytes::MIB.0 as f64), None]);
    }

    #[test]
    fn what_counts_within_brackets_is_no_shape() {
        let lines = ["[1,  2000] loss: 2.196", "[1,  4000] loss: 1.862", "[1,  6000] loss: 1.655"];
        assert_eq!(facts(&lines), [Some(3.0), None, None]);
    }

    #[test]
    fn lines_that_count_nothing_tell_nothing() {
        assert_eq!(facts(&["shard 3 of 4", "shard 1 of 4", "shard 4 of 4"]), [None; 3]);
        assert_eq!(facts(&["0 (4, 1200)", "1 (4, 1311)"]), [None; 3]);
        assert_eq!(facts(&[]), [None; 3]);
    }
}
