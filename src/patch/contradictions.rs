//! Makes the advice of all causes of an incident consistent.

use crate::knowledge::plain_name;
use crate::model::{Diagnosis, NotAdvised};

/// Removes from `diagnoses`, which are ordered by likelihood, advice that contradicts a likelier one: no knob is both
/// advised and advised against.
pub fn drop_contradictions(diagnoses: &mut [Diagnosis]) {
    for place in 1..diagnoses.len() {
        let (before, rest) = diagnoses.split_at_mut(place);
        let Some(own) = rest.first_mut() else { return };
        for known in before {
            let is_refused = |knob: &str| known.not_advised.iter().any(|row| is_same(&row.knob, knob));
            own.patches.retain(|patch| !is_refused(&patch.knob));
            let is_advised = |row: &NotAdvised| known.patches.iter().any(|patch| is_same(&patch.knob, &row.knob));
            own.not_advised.retain(|row| !is_advised(row));
        }
    }
}

fn is_same(knob: &str, other: &str) -> bool {
    plain_name(knob) == plain_name(other)
}
