//! From a lever to the edit of the user's own file.
//!
//! In go a cause's levers, the knobs of `rules/knobs/`, and what the job was launched with; out come patches: the knob as
//! the user's framework version spells it, its value now and then, the edit as a diff where the file is known. A knob that
//! the framework refuses or ignores, or that is turned so far already, is no patch.

mod edit;
mod turn;

use crate::diagnosis::{Answer, Asker, Facts};
use crate::knowledge::{CauseRule, Condition, Knob, Knowledge, Language, PatchRow, Turn};
use crate::launch::Launch;
use crate::model::{NotAdvised, Patch, PatchEffect, Phase};

/// More patches than this for one cause are no advice.
const MOST: usize = 6;
/// As many settings of the user's are changed for one lever.
const MOST_EDITS: usize = 2;

/// What turns levers into patches: one incident of a job.
pub struct Workbench<'a> {
    /// What can be turned.
    pub knowledge: &'a Knowledge,
    /// What the job was launched with.
    pub launch: &'a Launch<'a>,
    /// What is known of the incident.
    pub facts: &'a Facts,
    /// The same, to be asked.
    pub asker: &'a Asker<'a>,
    /// When it happened.
    pub phase: Phase,
    /// Of titles and prices.
    pub language: Language,
}

/// A knob that could turn a lever.
#[derive(Clone, Copy)]
struct Candidate<'k> {
    knob: &'k Knob,
    turn: &'k Turn,
}

impl<'a> Workbench<'a> {
    /// What to change against the cause of `rule`, most useful first.
    pub fn patches(&self, rule: &'a CauseRule) -> Vec<Patch> {
        let mut patches: Vec<Patch> = Vec::new();
        for row in rule.patch.iter().filter(|row| self.holds(row.when.as_ref())) {
            let turned = self.turned(row, &patches);
            patches.extend(turned);
        }
        patches.truncate(MOST);
        patches
    }

    /// The patches of one row that are not `known`: one knob a lever, but all that the user's own files set, as in
    /// `offload_params` and `offload_optimizer`.
    fn turned(&self, row: &'a PatchRow, known: &[Patch]) -> Vec<Patch> {
        let is_new = |patch: &Patch| !known.iter().any(|known| known.knob == patch.knob);
        let is_edit = |patch: &Patch| patch.diff.is_some() && patch.from.is_some();
        let candidates = self.candidates(row).into_iter();
        let mut patches = candidates.filter_map(|candidate| self.patch(row, candidate)).filter(is_new);
        let Some(first) = patches.next() else { return Vec::new() };
        let more = if is_edit(&first) { MOST_EDITS - 1 } else { 0 };
        let more: Vec<Patch> = patches.take(more).take_while(is_edit).collect();
        [vec![first], more].concat()
    }

    /// What not to change against it, and why.
    pub fn not_advised(&self, rule: &CauseRule) -> Vec<NotAdvised> {
        let rows = rule.not_advised.iter().filter(|row| self.holds(row.when.as_ref()));
        rows.filter_map(|row| {
            let why = self.facts.fill(row.why.in_language(self.language))?;
            Some(NotAdvised { knob: self.spelled(&row.knob)?, why })
        })
        .collect()
    }

    fn holds(&self, condition: Option<&Condition>) -> bool {
        condition.is_none_or(|condition| self.asker.ask(condition) == Answer::Yes)
    }

    /// The user's own word for a knob or lever; nothing where the job has no such thing.
    fn spelled(&self, name: &str) -> Option<String> {
        let name = name.rsplit_once('/').map_or(name, |(_, knob)| knob);
        let is_meant = |knob: &&Knob| *knob.id == *name || knob.lever.iter().any(|turn| *turn.name == *name);
        let knob = self.launch.knobs().find(is_meant)?;
        Some(knob.spelling_at(self.launch.version_of(knob))?.name.to_string())
    }

    /// The knobs for a lever: those that free memory in this phase first, then those that the user has set, then by
    /// nearness to the user.
    fn candidates(&self, row: &'a PatchRow) -> Vec<Candidate<'a>> {
        let is_named =
            |knob: &Knob| row.knob.as_deref().is_none_or(|name| name == format!("{}.{}", knob.framework, knob.id));
        let all = self.knowledge.knobs_for(self.launch.framework(), &row.lever, row.direction);
        let mut candidates: Vec<Candidate<'a>> =
            all.filter(|(knob, _)| is_named(knob)).map(|(knob, turn)| Candidate { knob, turn }).collect();
        candidates.sort_by_key(|Candidate { knob, turn }| {
            let is_elsewhere = !turn.phases.is_empty() && !turn.phases.contains(&self.phase);
            (is_elsewhere, self.launch.setting(knob).is_none())
        });
        candidates
    }

    fn patch(&self, row: &PatchRow, Candidate { knob, turn }: Candidate<'_>) -> Option<Patch> {
        let version = self.launch.version_of(knob);
        let spelling = &*knob.spelling_at(version)?.name;
        let setting = self.launch.setting(knob);
        let default =
            || knob.default_at(version).filter(|_| self.launch.is_configured(&knob.framework)).map(str::to_owned);
        let from = setting.map(|setting| setting.entry.value.to_string()).or_else(default);
        let to = match &row.to {
            Some(to) => self.facts.fill(to)?,
            None => turn::to(knob, turn, from.as_deref())?,
        };
        let constraint = self.constraint(knob, &to)?;
        let edited = edit::edit(self.launch, knob, spelling, setting, &to);
        Some(Patch {
            lever: row.lever.clone(),
            knob: spelling.to_owned(),
            from,
            to,
            target: knob.target.as_str().to_owned(),
            file: edited.as_ref().map(|edited| edited.file.to_string()),
            diff: edited.map(|edited| edited.diff),
            effect: PatchEffect::default(),
            cost: Some(knob.cost.in_language(self.language).to_owned()),
            constraint,
        })
    }

    /// What must hold for `knob` to work at `to`, as far as that is not known to hold; `None` where it is known not to.
    fn constraint(&self, knob: &Knob, to: &str) -> Option<Option<String>> {
        let mut open: Vec<String> = Vec::new();
        if knob.constraint.iter().any(|constraint| constraint.unless.is_some()) {
            let facts = self.launch.turned(self.facts, knob, to);
            let asker = Asker::new(&facts);
            for constraint in &knob.constraint {
                match constraint.unless.as_ref().map(|unless| asker.ask(unless)) {
                    Some(Answer::Yes) => return None,
                    Some(Answer::No) => {}
                    _ => open.push(constraint.text.in_language(self.language).to_owned()),
                }
            }
        } else {
            open.extend(knob.constraint.iter().map(|constraint| constraint.text.in_language(self.language).to_owned()));
        }
        let set_in = self.launch.set_in(&knob.framework).filter(|_| self.launch.setting(knob).is_none());
        open.extend(set_in.map(|place| match self.language {
            Language::En => format!("Set in {place}."),
            Language::Zh => format!("在 {place} 中设置。"),
        }));
        Some((!open.is_empty()).then(|| open.join(" ")))
    }
}
