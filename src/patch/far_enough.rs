//! Turns a number as far as the memory plan says is needed: with half of a batch that does not fit either, the job would
//! only fail once more.

use std::iter;

use super::Workbench;
use super::goal::Goal;
use super::turn;
use crate::knowledge::{Knob, To, Turn};
use crate::model::Kind;

/// The most steps of one turn; halved this often, no batch is left.
const MOST_STEPS: usize = 16;

impl<'a> Workbench<'a> {
    /// `goal`, or the first of further steps of the same turn with which the job fits, if its plan explains the shortage
    /// and knows such a step; and whether it does.
    pub(super) fn far_enough(&self, knob: &'a Knob, turn: &'a Turn, goal: Goal) -> (Goal, bool) {
        let Goal::Value(first) = &goal else { return (goal, false) };
        let is_smaller = matches!(turn.to, To::Scale(by) if by < 1.0);
        if !is_smaller || self.kind != Kind::GpuOom || !self.explains() {
            return (goal, false);
        }
        let further = |from: &String| match turn::to(knob, turn, Some(from)) {
            Some(Goal::Value(next)) => Some(next),
            _ => None,
        };
        let lever = self.knowledge.lever(&turn.name);
        let most = lever.and_then(|lever| lever.most_steps).unwrap_or(MOST_STEPS);
        let mut steps = iter::successors(Some(first.clone()), further).take(most);
        let found = steps.find(|to| self.fits_with(knob, turn, to));
        found.map_or((goal, false), |to| (Goal::Value(to), true))
    }

    /// Whether the job fits at the incident's moment and at all others once `knob` is set to `to`.
    fn fits_with(&self, knob: &'a Knob, turn: &'a Turn, to: &str) -> bool {
        let Some((_, turned)) = self.partners(knob, turn, &Goal::Value(to.to_owned())) else { return false };
        let then = self.with(&turned);
        let (_, needs) = self.price(&&then);
        self.suffices(&needs) != Some(false)
            && self.launch.predict(&then).and_then(|after| self.lasts(&after)) == Some(true)
    }
}
