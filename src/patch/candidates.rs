//! The knobs of a job that could turn a lever.

use super::{Workbench, gate};
use crate::knowledge::{Knob, PatchRow, Target, Turn};
use crate::launch::without_file;

/// A knob that could turn a lever.
#[derive(Clone, Copy)]
pub(super) struct Candidate<'k> {
    pub(super) knob: &'k Knob,
    pub(super) turn: &'k Turn,
    /// Whether it frees memory only in other phases.
    pub(super) is_elsewhere: bool,
    /// Whether the failing program advises it.
    pub(super) is_advised: bool,
    /// Whether the user's own files set it.
    pub(super) is_set: bool,
    /// Whether it is an option of a program that nobody knows, which stands there already.
    pub(super) is_option: bool,
}

impl<'a> Workbench<'a> {
    /// The knobs for a lever: first those that free memory in this phase, then those that the user has set, then in the
    /// order of the framework's stack.
    pub(super) fn candidates(&self, row: &'a PatchRow) -> Vec<Candidate<'a>> {
        let is_named =
            |knob: &Knob| row.knob.as_deref().is_none_or(|name| name == format!("{}.{}", knob.framework, knob.id));
        let all = self.knowledge.knobs_for(self.launch.framework(), &row.lever, row.direction);
        let is_own = |knob: &Knob| self.launch.may_have(knob) || row.knob.is_some();
        let mut nearer: Vec<&Knob> = Vec::new();
        // A framework's own option hides the option of the same name of a framework beneath it. Of the many names of a generic knob only
        // the one that the job has counts.
        let mut is_first = |knob: &'a Knob| {
            let written = self.launch.setting(knob).map(|setting| without_file(&setting.entry.key));
            let is_same = |other: &Knob| match written.or_else(|| knob.names().next()).filter(|_| knob.is_generic()) {
                Some(name) => other.knows(name),
                None => other.names().any(|name| knob.knows(name)),
            };
            let is_taken = nearer.iter().any(|other| other.framework != knob.framework && is_same(other));
            nearer.push(knob);
            !is_taken
        };
        let mut candidates: Vec<Candidate<'a>> = all
            .filter(|(knob, _)| {
                is_named(knob) && row.is_of_fact(knob) && is_own(knob) && self.counts(&knob.framework) && is_first(knob)
            })
            .map(|(knob, turn)| {
                let setting = self.launch.setting(knob);
                Candidate {
                    knob,
                    turn,
                    is_elsewhere: gate::is_elsewhere(turn, self.phase),
                    is_advised: self.advice.names(knob, turn),
                    is_set: setting.is_some_and(|setting| setting.is_own()),
                    is_option: setting.is_some() && knob.is_generic(),
                }
            })
            .collect();
        // In the program's code the argument of a call gets its value from the option.
        if candidates.iter().any(|candidate| candidate.is_option) {
            candidates.retain(|candidate| candidate.is_set || candidate.knob.target != Target::Python);
        }
        candidates.sort_by_key(|candidate| {
            let Candidate { knob, is_elsewhere, is_advised, is_set, is_option, .. } = candidate;
            (*is_elsewhere, knob.is_generic() && !is_option, !is_advised, knob.changes_training, !is_set)
        });
        candidates
    }
}
