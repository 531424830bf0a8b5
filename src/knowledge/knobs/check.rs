//! Checks that the knobs are consistent, so that rules can rely on them.

use std::collections::HashSet;

use super::{Constraint, DefaultValue, Knob, Note, Spelling, To, Turn, Type};
use crate::knowledge::causes::Origin;
use crate::knowledge::facts::{Fact, FactType};
use crate::knowledge::levers::Lever;
use crate::knowledge::version::Version;

/// Checks `knobs`, all of one `origin`; the error names the first fault. `known` are the frameworks and ids that are taken.
pub(in crate::knowledge) fn check<'k>(
    knobs: &'k [Knob],
    origin: Origin,
    known: &mut HashSet<(&'k str, &'k str)>,
    levers: &[Lever],
    facts: &[Fact],
) -> Result<(), String> {
    for knob in knobs {
        let fault = |problem: String| format!("{}: {problem}", knob.id);
        if !known.insert((&knob.framework, &knob.id)) {
            return Err(fault(format!("{} has two knobs of this id", knob.framework)));
        }
        spellings(&knob.spelling).map_err(fault)?;
        defaults(&knob.default, knob.r#type).map_err(fault)?;
        for turn in &knob.lever {
            let lever = levers.iter().find(|lever| lever.name == turn.name);
            let lever = lever.ok_or_else(|| fault(format!("no lever `{}` in rules/levers.toml", turn.name)))?;
            turns(turn, lever, knob.r#type).map_err(|problem| fault(format!("lever {}: {problem}", turn.name)))?;
        }
        meanings(knob, facts).map_err(fault)?;
        if knob.constraint.iter().any(|constraint| constraint.unless.is_some() && constraint.only.is_some()) {
            return Err(fault("a constraint says either `unless` or `only`".to_owned()));
        }
        let notes = knob.note.iter().map(|Note { text, .. }| text).chain([&knob.moves]).chain(knob.costs());
        let mut words = knob.constraint.iter().map(|Constraint { text, .. }| text).chain(notes);
        // In a user's knobs English may stand in for Chinese.
        if origin == Origin::Shipped && words.any(|words| words.is_partial()) {
            return Err(fault("`moves`, `cost`, each constraint and each note need English and Chinese".to_owned()));
        }
    }
    Ok(())
}

/// Checks that what `knobs` are set with is among `known`, all frameworks and ids.
pub(in crate::knowledge) fn check_partners(knobs: &[Knob], known: &HashSet<(&str, &str)>) -> Result<(), String> {
    for knob in knobs {
        for turn in &knob.lever {
            if let Some(with) = turn.with.iter().find(|with| !known.contains(&with.full_name(&knob.framework))) {
                return Err(format!(
                    "{}: lever {}: {} has no knob `{}`",
                    knob.id, turn.name, knob.framework, with.knob
                ));
            }
        }
    }
    Ok(())
}

/// Checks that versions ascend and do not overlap.
fn spellings(spellings: &[Spelling]) -> Result<(), String> {
    if spellings.iter().flat_map(Spelling::names).any(str::is_empty) || spellings.is_empty() {
        return Err("it has no name".to_owned());
    }
    let mut over: Option<Option<Version>> = None;
    for Spelling { name, since, until, .. } in spellings {
        let (since, until) = (version(since.as_deref())?, version(until.as_deref())?);
        if since.as_ref().zip(until.as_ref()).is_some_and(|(since, until)| since > until) {
            return Err(format!("`{name}` ends before it begins"));
        }
        match (&over, &since) {
            (None, _) => {}
            (Some(Some(over)), Some(since)) if over < since => {}
            _ => return Err(format!("`{name}` begins before the spelling above it ends; give `until` and `since`")),
        }
        over = Some(until);
    }
    Ok(())
}

fn version(text: Option<&str>) -> Result<Option<Version>, String> {
    text.map(str::parse).transpose()
}

/// Checks that versions ascend and that values have the type.
fn defaults(defaults: &[DefaultValue], r#type: Type) -> Result<(), String> {
    let mut last: Option<Version> = None;
    for (place, DefaultValue { value, since }) in defaults.iter().enumerate() {
        let since = version(since.as_deref())?;
        if !is_of(value, r#type) {
            return Err(format!("the default `{value}` is no {}", r#type.as_str()));
        }
        if place > 0 && (since.is_none() || since <= last) {
            return Err(format!("the default `{value}` needs a `since` above that of the one before it"));
        }
        last = since;
    }
    Ok(())
}

fn is_of(value: &str, r#type: Type) -> bool {
    match r#type {
        Type::Flag | Type::Bool => matches!(value, "true" | "false"),
        Type::Integer => value.parse::<i64>().is_ok(),
        Type::Number => value.parse::<f64>().is_ok_and(f64::is_finite),
        Type::Size => value.starts_with(|c: char| c.is_ascii_digit()),
        Type::Choice | Type::File | Type::Text => !value.is_empty(),
    }
}

/// Checks that a turn fits the type, names a direction if there are two, and goes in that direction.
fn turns(Turn { direction, to, limit, limit_by, .. }: &Turn, lever: &Lever, r#type: Type) -> Result<(), String> {
    if lever.both_ways != direction.is_some() {
        return Err(match lever.both_ways {
            true => "it helps both ways: give the `direction`".to_owned(),
            false => "it helps one way only: leave out the `direction`".to_owned(),
        });
    }
    let is_amount = matches!(r#type, Type::Integer | Type::Number | Type::Size);
    let fits = match to {
        To::On | To::Off => matches!(r#type, Type::Flag | Type::Bool),
        To::Scale(factor) => is_amount && *factor > 0.0 && *factor != 1.0 && factor.is_finite(),
        To::Add(amount) => is_amount && *amount != 0.0 && amount.is_finite(),
        To::Value(value) => is_of(value, r#type),
        To::Sibling(names) => matches!(r#type, Type::File | Type::Choice) && !names.is_empty(),
        To::Moved(folder) => matches!(r#type, Type::File | Type::Text) && folder.starts_with('/'),
        To::Need => r#type == Type::Size,
    };
    if !fits {
        return Err(format!("`{to:?}` does not fit a {}", r#type.as_str()));
    }
    match (to.direction(), direction) {
        (None, _) if limit.is_some() || limit_by.is_some() => Err("a limit needs a step: `scale` or `add`".to_owned()),
        (Some(way), Some(direction)) if way != *direction => Err(format!("`{to:?}` goes the other way")),
        _ => Ok(()),
    }
}

/// Checks that the fact allows every value that is known to occur.
fn meanings(knob: &Knob, facts: &[Fact]) -> Result<(), String> {
    let Some(name) = &knob.fact else {
        return if knob.means.is_empty() { Ok(()) } else { Err("`means` without a `fact`".to_owned()) };
    };
    let fact = facts.iter().find(|fact| fact.name == *name);
    let fact = fact.ok_or_else(|| format!("no fact `{name}` in rules/facts/"))?;
    let turned = knob.lever.iter().filter_map(|turn| match &turn.to {
        To::Value(value) => Some(value.as_str()),
        _ => None,
    });
    let switched = match knob.r#type {
        Type::Flag | Type::Bool => &["true", "false"][..],
        _ => &[],
    };
    // An amount with a unit is converted to bytes when the configuration is read.
    let converted = knob.r#type == Type::Size && fact.r#type == FactType::Number;
    let values =
        knob.default.iter().map(|default| default.value.as_str()).chain(turned).chain(switched.iter().copied());
    let meant = values.filter(|_| !converted).map(|value| knob.meaning(value));
    match meant.chain(knob.means.values().map(String::as_str)).find(|value| !fact.allows(value)) {
        Some(value) => Err(format!("`{value}` is no {} of `{name}`; say what it `means`", fact.r#type.as_str())),
        None => Ok(()),
    }
}
