//! Proposes a later version where the job's own has a known defect.

use super::{SHOWN, Workbench};
use crate::knowledge::{CauseRule, Defect, Version};
use crate::model::{Patch, PatchSet};

impl<'a> Workbench<'a> {
    /// Adds a later version to the `patches` against the cause of `rule` for each defect that may show in it: first where the version has the
    /// defect and the log shows its code, and behind the best changes where only one of both is known.
    pub(super) fn add_mended(&self, rule: &'a CauseRule, patches: &mut Vec<Patch>, set: Option<&PatchSet>) {
        let behind_set = set.map_or(0, |set| set.knobs.len());
        let of_cause = self.knowledge.defects.iter().filter(|defect| defect.causes.contains(&rule.cause));
        for defect in of_cause.filter(|defect| self.holds(&defect.when)) {
            let is_shown = defect.shown_by.as_ref().is_some_and(|shown| self.holds(shown));
            let has_it = self.version_of(defect).map(|version| defect.is_in(&version));
            // Few defects are named, and an edit is looked for only for those.
            if !has_it.unwrap_or(is_shown) || !self.runs_on(&defect.program) {
                continue;
            }
            let Some(patch) = self.mended(defect, has_it.is_some()) else { continue };
            let is_sure = is_shown && has_it.is_some();
            let place = if is_sure { behind_set } else { behind_set.max(SHOWN - 1) };
            patches.insert(place.min(patches.len()), patch);
        }
    }

    /// Whether the job runs on `program`, which may as well be installed for another one.
    fn runs_on(&self, program: &str) -> bool {
        let stack = self.knowledge.stack(self.launch.framework());
        let words = program.replace('_', " ");
        let is_seen = format!(
            "frames.says(\"{words}\") || producers.exists(p, p == \"{program}\") || victims.role.says(\"{words}\")"
        );
        // What is no framework is part of whatever is installed.
        let is_framework = self.knowledge.frameworks.iter().any(|known| &*known.name == program);
        !is_framework || stack.contains(&program) || self.evaluator.holds(&is_seen)
    }

    /// The version of the program with `defect`, if the log or the configuration states it.
    fn version_of(&self, defect: &Defect) -> Option<Version> {
        let is_own = self.launch.framework() == Some(&*defect.program);
        let own = || self.facts.text("job.version").filter(|_| is_own);
        let stated = self.facts.text(&format!("version.{}", defect.program)).or_else(own);
        stated.and_then(|version| version.parse().ok())
    }

    fn mended(&self, defect: &'a Defect, is_known: bool) -> Option<Patch> {
        let patch = self.proposed(&defect.patch, &[], &[]).into_iter().next()?.patch;
        let why = self.facts.fill(defect.why.in_language(self.language), self.language)?;
        let Defect { program, since, fixed, source, .. } = defect;
        let unless_older = || match since {
            Some(since) => self.say(
                format!(
                    "Only if {program} is {since} or later and older than {fixed}: this log does not show its version."
                ),
                format!("仅当 {program} 不早于 {since} 且早于 {fixed} 时适用：此日志未显示其版本。"),
            ),
            None => self.say(
                format!("Only if {program} is older than {fixed}: this log does not show its version."),
                format!("仅当 {program} 早于 {fixed} 时适用：此日志未显示其版本。"),
            ),
        };
        let constraint = if is_known { None } else { Some(unless_older()) };
        let note = self.in_one([why, source.clone()].iter());
        Some(Patch { constraint, note, ..patch })
    }
}
