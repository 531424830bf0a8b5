//! What of an incident people are shown: few causes, few patches, each with its number.

use crate::diagnosis::UNKNOWN;
use crate::model::{Diagnosis, Incident, Patch};

/// As many causes, and patches of the first one.
const MOST: usize = 3;
/// Causes less likely than this are left to other formats.
const LEAST: f64 = 0.02;

/// The causes worth a line: the first, and what else is not unlikely.
pub fn telling(diagnoses: &[Diagnosis]) -> Vec<&Diagnosis> {
    let is_likely = |diagnosis: &&Diagnosis| diagnosis.confidence >= LEAST && &*diagnosis.cause != UNKNOWN;
    let others = diagnoses.iter().skip(1).filter(is_likely);
    diagnoses.iter().take(1).chain(others).take(MOST).collect()
}

/// The patches worth a number, from 1: the likeliest cause's first, then the best of each other one.
pub fn numbered(incident: &Incident) -> Vec<&Patch> {
    let causes = telling(&incident.diagnoses);
    let first = causes.iter().take(1).flat_map(|diagnosis| diagnosis.patches.iter().take(MOST));
    let others = causes.iter().skip(1).flat_map(|diagnosis| diagnosis.patches.iter().take(1));
    let mut shown: Vec<&Patch> = Vec::new();
    for patch in first.chain(others) {
        if shown.len() <= MOST && !shown.iter().any(|known| known.knob == patch.knob) {
            shown.push(patch);
        }
    }
    shown
}

/// A patch in a few words: `--zero_stage  2 → 3`.
pub fn change(patch: &Patch) -> String {
    let from = patch.from.as_deref().map(|from| format!("{from} ")).unwrap_or_default();
    format!("{}  {from}→ {}", patch.knob, patch.to)
}
