//! Patches that passed the gate, and their order before sums decide.

use super::{SHOWN, Workbench};
use crate::knowledge::{Knob, PatchRow};
use crate::model::{Change, Kind, Patch, Scalar};

/// A patch that passed the gate, and the knobs that it turns.
pub(super) struct Proposed<'k> {
    pub(super) patch: Patch,
    pub(super) turned: Vec<(&'k Knob, String)>,
    /// The row that asks for it. If it is `first`, the rule knows better than what the failing program advises.
    pub(super) row: &'k PatchRow,
    /// Whether the failing program advises it.
    pub(super) is_advised: bool,
    /// Whether more must be done first than editing the job's files.
    pub(super) is_by_hand: bool,
    /// Whether it frees less than was missing.
    pub(super) is_short: bool,
    /// Whether it turns an option of a program that nobody knows.
    pub(super) is_generic: bool,
    /// Whether it is a change of code.
    pub(super) is_python: bool,
    /// Whether it changes what code keeps from step to step, and the given code keeps nothing like it.
    pub(super) is_absent: bool,
    /// Whether it is a change of code, and nobody showed any.
    pub(super) is_unshown: bool,
    /// Whether it is a change of the call that loads a model, in code that nobody showed: a framework's own script may well make it.
    pub(super) is_of_loading: bool,
    /// Whether it is a change of code that would spare the host.
    pub(super) is_of_code: bool,
}

impl Proposed<'_> {
    /// Whether nobody can make it as it is told: a step from a value that nobody knows, `× 0.5`, code that is only hinted at, or a change of
    /// something that the given code does not have.
    fn is_no_edit(&self) -> bool {
        let Patch { diff, from, to, change, line, .. } = &self.patch;
        // A knob in words, or an option of a program that nobody knows, is told to people: every script has a batch.
        let is_told = self.is_generic || self.patch.knob.contains(' ');
        let is_vague = to.is_none() && from.is_none() && !is_told && !matches!(change, Some(Change::AtLeast(_)));
        let is_hint = self.is_python && line.as_deref().is_some_and(|line| line.ends_with('…'));
        diff.is_none() && (is_vague || is_hint || self.is_absent) && !self.is_advised && !self.row.first
    }

    /// Whether `other` does all that this does, and more.
    fn is_part_of(&self, other: &Proposed<'_>) -> bool {
        let has = |(knob, to): &(&Knob, String)| {
            other.turned.iter().any(|(own, value)| std::ptr::eq(*own, *knob) && value == to)
        };
        !self.turned.is_empty() && self.turned.len() < other.turned.len() && self.turned.iter().all(has)
    }

    /// Whether only the user can name what it sets: `<the same model in 4 bits>`.
    fn is_open(&self) -> bool {
        let is_placeholder = |to: &Scalar| matches!(to, Scalar::Text(words) if words.starts_with('<'));
        self.patch.diff.is_none() && !self.is_python && self.patch.to.as_ref().is_some_and(is_placeholder)
    }

    /// Whether it names no setting of the job and edits none of its files.
    fn is_nowhere(&self) -> bool {
        self.patch.diff.is_none() && self.patch.from.is_none()
    }
}

impl Workbench<'_> {
    /// Leaves out what is a part of a change before it, and, behind the best change, what nobody can make where another one edits the job's
    /// files.
    pub(super) fn drop_idle(&self, proposed: &mut Vec<Proposed<'_>>) {
        let is_edit = |other: &Proposed<'_>| other.patch.diff.is_some() && !other.is_short;
        if proposed.iter().any(is_edit) {
            let mut is_best = true;
            proposed.retain(|other| std::mem::take(&mut is_best) || !other.is_no_edit());
        }
        let is_part = |at: usize| proposed[..at].iter().any(|before| proposed[at].is_part_of(before));
        let parts: Vec<bool> = (0..proposed.len()).map(is_part).collect();
        let mut parts = parts.into_iter();
        proposed.retain(|_| !parts.next().unwrap_or_default());
    }

    /// Puts first what the rule or the failing program knows best, and last what the job's files say nothing of.
    pub(super) fn put_in_order(&self, proposed: &mut [Proposed<'_>]) {
        let edits =
            |is_it: fn(&Proposed<'_>) -> bool| proposed.iter().any(|other| other.patch.diff.is_some() && is_it(other));
        let edits_any = edits(|other| !other.is_short);
        let edits_something = self.kind == Kind::GpuOom && edits(|_| true);
        let edits_option = self.kind == Kind::GpuOom && edits(|other| other.is_generic);
        proposed.sort_by_key(|proposed| {
            let is_late = proposed.is_nowhere()
                && (proposed.is_generic && edits_something
                    || proposed.is_unshown && edits_option
                    || proposed.is_of_loading && edits_something
                    || proposed.is_of_code && edits_any);
            let Proposed { patch, row, is_by_hand, is_short, is_advised, .. } = proposed;
            // Nor does a rule know better than an edit what only the user can name: `<the same model in 4 bits>`.
            let is_open = proposed.is_open() && edits_any;
            let is_first = row.first && !is_open;
            (self.may_overfill(&patch.effect), *is_by_hand, *is_short, !is_first, !is_advised, is_late || is_open)
        });
    }

    /// Lets people see different levers first: behind the best change, another change by a lever that stands there already waits for one by
    /// another lever, if that one may be as good. Two changes that the rule itself puts first stay together.
    pub(super) fn spread_levers(&self, proposed: &mut [Proposed<'_>]) {
        let cuts = |other: &Proposed<'_>| self.knowledge.lever(&other.row.lever).is_some_and(|lever| lever.cuts);
        for place in 1..SHOWN.min(proposed.len()) {
            let (before, rest) = proposed.split_at_mut(place);
            let is_seen = |other: &Proposed<'_>| before.iter().any(|seen| seen.patch.lever == other.patch.lever);
            let Some(next) = rest.first().filter(|next| is_seen(next) && !next.row.first) else { continue };
            let is_as_good = |other: &Proposed<'_>| {
                !is_seen(other)
                    && !cuts(other)
                    // What edits a file stays before what people would have to buy or find.
                    && (place > 1 || next.patch.diff.is_none() || other.patch.diff.is_some())
                    && (next.is_short || !other.is_short)
                    && (next.is_by_hand || !other.is_by_hand)
                    && (next.patch.suffices != Some(true) || other.patch.suffices == Some(true))
                    && !self.may_overfill(&other.patch.effect)
            };
            if let Some(other) = rest.iter().position(is_as_good) {
                rest[..=other].rotate_right(1);
            }
        }
    }

    /// Whoever is killed inside a limit may get a higher one, whatever the cause is: if nobody tells what to do with the cause, that works
    /// today. It is among the changes that are read.
    pub(super) fn show_limit(&self, proposed: &mut [Proposed<'_>]) {
        const LIMIT: &str = "host_memory_limit";
        if self.kind != Kind::HostOomCgroup {
            return;
        }
        let is_limit = |other: &Proposed<'_>| &*other.patch.lever == LIMIT;
        if let Some(place) = proposed.iter().position(is_limit).filter(|place| *place >= SHOWN) {
            proposed[SHOWN - 1..=place].rotate_right(1);
        }
    }
}
