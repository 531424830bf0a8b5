//! Makes the advice of all causes of an incident consistent.

use crate::knowledge::plain_name;
use crate::model::{Diagnosis, NotAdvised, Patch};

/// Removes from `diagnoses`, which are ordered by likelihood, advice that contradicts a likelier one: no knob is both
/// advised and advised against.
pub fn drop_contradictions(diagnoses: &mut [Diagnosis]) {
    with_likelier(diagnoses, |known, own| {
        let is_refused = |knob: &str| known.not_advised.iter().any(|row| is_same(&row.knob, knob));
        own.patches.retain(|patch| !is_refused(&patch.knob));
        let is_advised = |row: &NotAdvised| known.patches.iter().any(|patch| is_same(&patch.knob, &row.knob));
        own.not_advised.retain(|row| !is_advised(row));
    });
}

/// Puts the patches of a cause that are proposed for a likelier one already behind its others: what a person tries next
/// is something else.
pub fn lead_with_new(diagnoses: &mut [Diagnosis]) {
    with_likelier(diagnoses, |known, own| {
        let is_known = |patch: &Patch| known.patches.iter().any(|known| is_same(&known.knob, &patch.knob));
        // Those of a set belong together.
        if own.set.is_none() {
            own.patches.sort_by_key(is_known);
        }
    });
}

/// Calls `change` with each pair of a cause and a less likely one.
fn with_likelier(diagnoses: &mut [Diagnosis], change: impl Fn(&Diagnosis, &mut Diagnosis)) {
    for place in 1..diagnoses.len() {
        let (before, rest) = diagnoses.split_at_mut(place);
        let Some(own) = rest.first_mut() else { return };
        for known in before {
            change(known, own);
        }
    }
}

fn is_same(knob: &str, other: &str) -> bool {
    plain_name(knob) == plain_name(other)
}
