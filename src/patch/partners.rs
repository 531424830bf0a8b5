//! What must be set along with a knob, and to what.

use super::goal::{self, Goal};
use super::{Turned, Workbench, edit, turn};
use crate::knowledge::{Knob, Turn};
use crate::model::Partner;
use crate::parse::granted;

impl<'a> Workbench<'a> {
    /// The knobs that must be set along with `knob` and are not, and the list of all knobs turned; `None` if the job's
    /// version lacks one of them.
    pub(super) fn partners(&self, knob: &'a Knob, turn: &'a Turn, goal: &Goal) -> Option<Turned<'a>> {
        let mut turned: Vec<(&Knob, String)> = goal.words().map(|to| (knob, to.to_owned())).into_iter().collect();
        let mut partners = Vec::new();
        let value = |knob: &Knob| {
            let set = self.launch.setting(knob).map(|setting| setting.entry.value.to_string());
            set.or_else(|| self.launch.printed(self.facts, knob))
        };
        let from = value(knob);
        let from = from.as_deref();
        for with in turn.with.iter().filter(|with| with.when.as_ref().is_none_or(|when| self.holds(when))) {
            let (framework, id) = with.full_name(&knob.framework);
            let partner = self.knowledge.knobs.of(framework).find(|other| *other.id == *id)?;
            let setting = value(partner);
            let to = match (&with.to, setting.as_deref()) {
                (_, Some(set)) if with.remove && set != "null" => Some(edit::REMOVED.to_owned()),
                (_, _) if with.remove => None,
                (Some(to), Some(set)) if turn::is_at(partner, set, to) || with.fits.iter().any(|fit| fit == set) => {
                    None
                }
                (Some(_), None) if with.where_set => None,
                (Some(to), _) => Some(to.clone()),
                (None, Some(set)) if with.at_most => no_more_than(goal, set),
                (None, Some(set)) if with.as_before => as_before(from, goal, set),
                (None, Some(set)) if with.as_many => as_many(goal, set),
                (None, Some(set)) if with.at_least => no_less_than(from, goal, set),
                (None, Some(set)) => in_return(from, goal, set),
                (None, None) => None,
            };
            if let Some(to) = to {
                partners.push((partner, Partner { knob: self.spelling(partner)?, to: goal::scalar(partner, &to) }));
                turned.push((partner, to));
            }
        }
        Some((partners, turned))
    }
}

/// The value of `goal`, if `set` was that of its knob, `from`.
fn as_before(from: Option<&str>, goal: &Goal, set: &str) -> Option<String> {
    goal.words().filter(|_| from == Some(set)).map(str::to_owned)
}

/// Multiplies `set`, a whole number or an amount in whole units, by the factor by which the knob shrinks from `from`.
fn in_return(from: Option<&str>, goal: &Goal, set: &str) -> Option<String> {
    let from: u64 = from?.parse().ok()?;
    let to: u64 = goal.words()?.parse().ok()?;
    let number = set.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
    let unit = set.strip_prefix(number).filter(|unit| unit.is_empty() || granted(set).is_some())?;
    let set: u64 = number.parse().ok()?;
    let times = (from > to && to > 0 && from.is_multiple_of(to)).then(|| from / to)?;
    Some(format!("{}{unit}", set.checked_mul(times)?))
}

/// The list `set`, `0,1`, with so many more numbers that it has as many as `goal` says.
fn as_many(goal: &Goal, set: &str) -> Option<String> {
    /// More devices than a machine has.
    const MOST: usize = 64;
    let wanted: usize = goal.words()?.parse().ok().filter(|wanted| *wanted <= MOST)?;
    let numbers: Vec<u32> = set.split(',').map(|item| item.trim().parse().ok()).collect::<Option<_>>()?;
    let more = wanted.checked_sub(numbers.len()).filter(|more| *more > 0)?;
    let free = (0..).filter(|number| !numbers.contains(number)).take(more);
    let mut all: Vec<u32> = numbers.iter().copied().chain(free).collect();
    all.sort_unstable();
    Some(all.iter().map(u32::to_string).collect::<Vec<_>>().join(","))
}

/// The number or amount of `goal`, if `set` is a larger one.
fn no_more_than(goal: &Goal, set: &str) -> Option<String> {
    let to = goal.words()?;
    let is_more = match (set.parse::<f64>(), to.parse::<f64>()) {
        (Ok(set), Ok(most)) => set > most,
        (Err(_), Err(_)) => granted(set).zip(granted(to)).is_some_and(|(set, most)| set > most),
        _ => false,
    };
    is_more.then(|| to.to_owned())
}

/// The amount of `goal`, if `set` is a smaller one, or as large as the amount `from` was. Numbers without units may count differently.
fn no_less_than(from: Option<&str>, goal: &Goal, set: &str) -> Option<String> {
    let to = goal.words()?;
    let has_unit = |words: &str| words.ends_with(|letter: char| letter.is_ascii_alphabetic());
    let is_less = || granted(set).zip(granted(to)).is_some_and(|(set, to)| set < to);
    (from == Some(set) || has_unit(set) && has_unit(to) && is_less()).then(|| to.to_owned())
}
