//! Computes how far a knob is turned.

use std::collections::BTreeMap;

use super::goal::Goal;
use crate::knowledge::{Direction, Knob, To, Turn, Type};
use crate::launch::below;
use crate::model::{Bytes, Change};
use crate::parse::granted;

/// A step to an expressed limit must lower the value at least to this share of it.
const LEAST_LOWER: f64 = 0.8;

/// The target of a knob from its current value, or a relative step if that is unknown. `None` if it cannot go further.
pub(super) fn to(knob: &Knob, turn: &Turn, from: Option<&str>) -> Option<Goal> {
    Some(match &turn.to {
        To::On => Goal::Value(switched(knob, true)),
        To::Off => Goal::Value(switched(knob, false)),
        To::Value(value) => match from.filter(|from| has_more(knob, turn, from, value)) {
            Some(from) => Goal::Value(stepped(knob, turn, from, |number| number * 2.0)?),
            None => Goal::Value(value.clone()),
        },
        To::Sibling(names) => match from {
            Some(from) => Goal::Value(sibling(names, from)?),
            None => Goal::Value(turn.unset.clone()?),
        },
        To::Moved(folder) => {
            let path = from.and_then(|from| knob.holds.iter().find_map(|held| below(from, held)))?;
            Goal::Value(format!("{folder}{path}"))
        }
        To::Need => Goal::More,
        To::Scale(by) => match from {
            Some(from) => Goal::Value(stepped(knob, turn, from, |number| number * by)?),
            None => turn.unset.clone().map_or(Goal::Step(Change::Times(*by)), Goal::Value),
        },
        To::Add(by) => match from {
            Some(from) => Goal::Value(stepped(knob, turn, from, |number| number + by)?),
            None => turn.unset.clone().map_or(Goal::Step(Change::Add(*by)), Goal::Value),
        },
    })
}

/// The file beside `from`, in the same folder, that `names` gives in its place.
fn sibling(names: &BTreeMap<String, String>, from: &str) -> Option<String> {
    let (folder, name) = from.rsplit_once('/').map_or((None, from), |(folder, name)| (Some(folder), name));
    let to = names.get(name)?;
    Some(folder.map_or_else(|| to.clone(), |folder| format!("{folder}/{to}")))
}

/// Whether the values `from` and `to` mean the same to `knob`.
pub(super) fn is_at(knob: &Knob, from: &str, to: &str) -> bool {
    let same_number = from.parse::<f64>().ok().zip(to.parse::<f64>().ok()).is_some_and(|(from, to)| from == to);
    from.eq_ignore_ascii_case(to) || knob.meaning(from) == knob.meaning(to) || same_number
}

/// Whether a size that is to be raised is already as large as `value`: it did not suffice, so that it must be larger still.
fn has_more(knob: &Knob, turn: &Turn, from: &str, value: &str) -> bool {
    let sizes = granted(from).zip(granted(value)).filter(|_| knob.r#type == Type::Size);
    turn.direction != Some(Direction::Lower) && sizes.is_some_and(|(from, value)| from >= value)
}

/// One step from `from`, not beyond the limit; `None` if the limit is reached or `from` is not a positive number.
fn stepped(knob: &Knob, turn: &Turn, from: &str, step: impl Fn(f64) -> f64) -> Option<String> {
    let size = || granted(from).map(|Bytes(bytes)| bytes as f64);
    let plain = from.replace('_', "").parse::<f64>().ok();
    let number = plain.or_else(size).filter(|number| *number > 0.0)?;
    let is_less = step(number) < number;
    let limited = match turn.limit {
        Some(limit) if is_less => step(number).max(limit),
        Some(limit) => step(number).min(limit),
        None => step(number),
    };
    // Where the limit leaves no more than a fifth of the way, the step helps nobody.
    let is_small = turn.limit_by.is_some() && is_less && limited > number * LEAST_LOWER;
    let reached = is_small || if is_less { limited >= number } else { limited <= number };
    let written = match knob.r#type {
        Type::Integer if number < 0.0 => return None,
        Type::Integer => format!("{}", limited.floor().max(1.0)),
        // Keep the unit.
        _ if plain.is_none() => in_unit(from, limited / number)?,
        _ => format!("{}", rounded(limited)),
    };
    (!reached && written != from).then_some(written)
}

/// `number` to three places, or to three digits where it is small: a threshold of 0.0004 is not 0.
fn rounded(number: f64) -> f64 {
    const DIGITS: f64 = 3.0;
    let places = (DIGITS - 1.0 - number.abs().log10().floor()).max(DIGITS);
    let scale = 10f64.powf(places);
    (number * scale).round() / scale
}

/// Multiplies `500GiB` by `factor`, keeping its unit: less than one of it is so many of the next smaller.
fn in_unit(words: &str, factor: f64) -> Option<String> {
    const LETTERS: [(char, char); 4] = [('T', 'G'), ('G', 'M'), ('t', 'g'), ('g', 'm')];
    let unit = words.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let number: f64 = words[..unit].parse::<f64>().ok()? * factor;
    let unit = &words[unit..];
    let smaller = LETTERS.iter().find(|(letter, _)| number < 1.0 && unit.trim_start().starts_with(*letter));
    let (number, unit) = match smaller {
        Some((letter, next)) => (number * 1024.0, unit.replacen(*letter, &next.to_string(), 1)),
        None => (number, unit.to_owned()),
    };
    Some(format!("{}{unit}", (number * 100.0).round() / 100.0))
}

/// The value that means on or off; a choice may have its own words for them.
fn switched(knob: &Knob, on: bool) -> String {
    let (words, plain): (&[&str], &str) =
        if on { (&["true", "True", "1", "on"], "true") } else { (&["false", "False", "0", "off", "none"], "false") };
    let own = |value: &&String| words.contains(&value.as_str());
    match knob.r#type {
        Type::Flag | Type::Bool => plain.to_owned(),
        Type::Integer | Type::Number => if on { "1" } else { "0" }.to_owned(),
        Type::Size | Type::Choice | Type::File | Type::Text => {
            knob.means.keys().find(own).map_or(plain, |value| value).to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_number_is_not_rounded_to_nothing() {
        for (number, shown) in
            [(0.0004, "0.0004"), (0.850_000_01, "0.85"), (1_234.567_89, "1234.568"), (0.000_123_456, "0.000123")]
        {
            assert_eq!(rounded(number).to_string(), shown);
        }
    }
}
