//! What a knob is turned to: a value, a step from what nobody knows, or an amount that the log or the arithmetic gives.

use super::{Workbench, turn};
use crate::facts::Facts;
use crate::knowledge::{Knob, Language, PatchRow, To, Turn, Type};
use crate::launch::{host_memory, host_used};
use crate::model::{Bytes, Change, Scalar};
use crate::parse::granted;

/// More than what is needed, so that a little more does not kill the job again: one part in ten.
const MARGIN: f64 = 1.1;
/// What was reached when it was killed is no bound of what is needed: a quarter more is a step worth trying.
const FURTHER: f64 = 1.25;

/// What a knob is turned to.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Goal {
    /// To this value.
    Value(String),
    /// To no less than this.
    AtLeast(String),
    /// By this much.
    Step(Change),
    /// To more; nobody knows how much.
    More,
}

impl Goal {
    /// The value that a file can hold.
    pub fn words(&self) -> Option<&str> {
        match self {
            Goal::Value(words) | Goal::AtLeast(words) => Some(words),
            Goal::Step(_) | Goal::More => None,
        }
    }

    /// The value as reports have it, of the knob's type, and what is said of it beside that.
    pub fn told(&self, knob: &Knob) -> (Option<Scalar>, Option<Change>) {
        match self {
            Goal::Value(words) => (Some(scalar(knob, words)), None),
            Goal::AtLeast(words) => (None, Some(Change::AtLeast(scalar(knob, words)))),
            Goal::Step(step) => (None, Some(step.clone())),
            Goal::More => (None, None),
        }
    }
}

/// `words` as a value of the knob's type.
pub(super) fn scalar(knob: &Knob, words: &str) -> Scalar {
    let number = || match (words.parse::<i64>(), words.parse::<f64>()) {
        (Ok(whole), _) => Some(Scalar::Integer(whole)),
        (_, Ok(number)) if number.is_finite() => Some(Scalar::Number(number)),
        _ => None,
    };
    let flag = || words.to_ascii_lowercase().parse().ok().map(Scalar::Flag);
    let typed = match knob.r#type {
        Type::Flag | Type::Bool => flag(),
        Type::Integer | Type::Number => number(),
        Type::Size | Type::Choice | Type::File | Type::Text => number(),
    };
    typed.unwrap_or_else(|| Scalar::Text(words.to_owned()))
}

/// What `row` turns `knob` to, from what it is; `None` where it is there already, or where it cannot go as far as it must.
pub(super) fn goal(
    bench: &Workbench<'_>,
    row: &PatchRow,
    knob: &Knob,
    turn: &Turn,
    from: Option<&str>,
) -> Option<Goal> {
    if let Some(amount) = row.amount.iter().find_map(|amount| bench.evaluator.compute(amount)) {
        return exactly(knob, turn, from, amount).map(Goal::Value);
    }
    match &row.to {
        Some(to) => return bench.facts.fill(to, Language::En).map(Goal::Value),
        None if turn.to == To::Need => return needed(bench, knob, from),
        None => {}
    }
    turn::to(knob, turn, from)
}

/// `amount` as the knob writes it, rounded to where it suffices; `None` where that is beyond its limit.
fn exactly(knob: &Knob, turn: &Turn, from: Option<&str>, amount: f64) -> Option<String> {
    use crate::knowledge::Direction::Raise;
    let is_raised = turn.direction == Some(Raise);
    let is_beyond = turn.limit.is_some_and(|limit| if is_raised { amount > limit } else { amount < limit });
    if is_beyond || amount <= 0.0 {
        return None;
    }
    let rounded = |step: f64| {
        let steps = amount / step;
        if is_raised { (steps - 1e-6).ceil() * step } else { (steps + 1e-6).floor() * step }
    };
    Some(match knob.r#type {
        Type::Integer => format!("{}", rounded(1.0)),
        Type::Size => size(knob, from, amount),
        _ => format!("{}", (rounded(0.01) * 100.0).round() / 100.0),
    })
}

/// The host's memory that the job needs, with a margin; else somewhat more than it had.
fn needed(bench: &Workbench<'_>, knob: &Knob, from: Option<&str>) -> Option<Goal> {
    let (reached, limit) = (reached(bench.facts), host_memory(bench.facts));
    let predicted = bench.prediction.and_then(|prediction| prediction.needs(bench.phase).host);
    // What the job is known to have used refutes an arithmetic that wants less.
    let need = predicted.map(|need| need.bytes).filter(|need| reached.is_none_or(|reached| *need >= reached));
    let own = from.and_then(granted).filter(|own| *own > Bytes(0));
    // A part of the limit, as of each CPU, grows as the limit must.
    let part = match (own, limit) {
        _ if is_whole(knob) => Some(1.0),
        (Some(own), Some(limit)) if limit > Bytes(0) => Some(own.0 as f64 / limit.0 as f64),
        _ => None,
    };
    let reached = reached.or(limit).or(own.filter(|_| is_whole(knob)));
    let goal = |bytes: Bytes, margin: f64, part: f64| size(knob, from, bytes.0 as f64 * margin * part);
    let goal = match (need, reached, part) {
        (Some(need), _, Some(part)) => Goal::Value(goal(need, MARGIN, part)),
        (None, Some(reached), Some(part)) => Goal::AtLeast(goal(reached, FURTHER, part)),
        _ => Goal::More,
    };
    // A setting that is as high already is not what was reached.
    let is_enough = own.zip(goal.words().and_then(granted)).is_some_and(|(own, to)| own >= to);
    (!is_enough).then_some(goal)
}

/// Whether the knob is all of the host's memory that a job may use, not that of a CPU or a GPU.
fn is_whole(knob: &Knob) -> bool {
    knob.fact.is_some()
}

/// The memory that was in use when it ran out: what is needed is more.
fn reached(facts: &Facts) -> Option<Bytes> {
    let held = ["consumers.sum", "figures.memcg_limit"].into_iter().filter_map(|name| facts.number(name));
    let held = held.map(|bytes| Bytes(bytes as i64));
    host_used(facts).into_iter().chain(held).max()
}

/// An amount of memory as the user, or else the knob, writes it, in whole units.
fn size(knob: &Knob, from: Option<&str>, bytes: f64) -> String {
    let digits = |c: char| c.is_ascii_digit() || c == '.' || c == ' ';
    let own = from.map(|from| from.trim_start_matches(digits)).filter(|unit| !unit.is_empty());
    let unit = own.or(knob.unit.as_deref()).unwrap_or("GiB");
    let one = granted(&format!("1{unit}")).unwrap_or(Bytes::GIB);
    // A limit in MiB is rounded to whole GiB all the same.
    let step = (Bytes::GIB.0 as f64 / one.0 as f64).max(1.0);
    let steps = (bytes / (one.0 as f64 * step)).ceil();
    format!("{}{unit}", (steps * step).round())
}
