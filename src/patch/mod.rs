//! From a lever to the edit of the user's own file.
//!
//! In go a cause's levers, the knobs of `rules/knobs/`, and what the job was launched with; out come patches: the knob as
//! the user's framework version spells it, its value now and then, the edit as a diff where the file is known. A knob that
//! the framework refuses or ignores, or that is turned so far already, is no patch.

mod edit;
mod turn;

use std::cell::{LazyCell, OnceCell};

use crate::facts::{Answer, Asker, Facts};
use crate::knowledge::{CauseRule, Condition, Direction, Knob, Knowledge, Language, PatchRow, To, Turn, plain_name};
use crate::launch::{Launch, Moved, Prediction, device_memory, host_memory, host_used};
use crate::model::{Bytes, Need, NotAdvised, Patch, PatchEffect, PatchNeeds, Phase};

/// More patches than this for one cause are no advice.
const MOST: usize = 6;
/// As many settings of the user's are changed for one lever.
const MOST_EDITS: usize = 2;

/// More than this on every device is more than many have.
const DOUBTFUL: Bytes = Bytes(24 << 30);

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
    /// What dialects decide of it, once that was asked for.
    pub decided: OnceCell<Facts>,
    /// What it should have needed.
    pub prediction: Option<&'a Prediction>,
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
    /// Whether it frees memory in other phases only.
    is_elsewhere: bool,
    /// Whether the user's own files set it.
    is_set: bool,
}

impl<'a> Workbench<'a> {
    /// What to change against the cause of `rule`, most useful first.
    pub fn patches(&self, rule: &'a CauseRule) -> Vec<Patch> {
        let mut patches: Vec<Patch> = Vec::new();
        for row in rule.patch.iter().filter(|row| self.holds(row.when.as_ref()) && self.may_help(&row.lever)) {
            let turned = self.turned(row, &patches);
            patches.extend(turned);
        }
        patches.sort_by_key(|patch| self.may_overfill(&patch.effect));
        patches.truncate(MOST);
        patches
    }

    /// The patches of one row that are not `known`: one knob a lever, but all that the user's own files set of its
    /// framework, as in `offload_params` and `offload_optimizer`.
    fn turned(&self, row: &'a PatchRow, known: &[Patch]) -> Vec<Patch> {
        let is_new = |patch: &Patch| !known.iter().any(|known| known.knob == patch.knob);
        let mut candidates = self.candidates(row).into_iter();
        let patch =
            |candidate: Candidate<'a>| self.patch(row, candidate).filter(is_new).map(|patch| (candidate, patch));
        let Some((first, patched)) = candidates.by_ref().find_map(patch) else { return Vec::new() };
        let is_alike = |other: &Candidate<'a>| {
            first.is_set && other.is_set && !other.is_elsewhere && other.knob.framework == first.knob.framework
        };
        let more = candidates.filter(is_alike).filter_map(patch).map(|(_, patch)| patch);
        [patched].into_iter().chain(more).take(MOST_EDITS).collect()
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

    /// Whether turning `lever` may help here at all.
    fn may_help(&self, lever: &str) -> bool {
        let known = self.knowledge.levers.iter().find(|known| &*known.name == lever);
        !self.is_ruled_out(known.and_then(|lever| lever.unless.as_ref()))
    }

    /// Whether the options of `framework` do anything for the job.
    fn counts(&self, framework: &str) -> bool {
        let known = self.knowledge.frameworks.iter().find(|known| &*known.name == framework);
        !self.is_ruled_out(known.and_then(|framework| framework.unless.as_ref()))
    }

    fn is_ruled_out(&self, unless: Option<&Condition>) -> bool {
        unless.is_some_and(|unless| self.asker.ask(unless) == Answer::Yes)
    }

    /// The user's own word for a knob or lever; nothing where the job has no such thing.
    fn spelled(&self, name: &str) -> Option<String> {
        let name = name.rsplit_once('/').map_or(name, |(_, knob)| knob);
        let is_named = |knob: &Knob| *knob.id == *name || knob.lever.iter().any(|turn| *turn.name == *name);
        let is_meant = |knob: &&Knob| is_named(knob) && self.counts(&knob.framework);
        let knob = self.launch.knobs().find(is_meant)?;
        Some(knob.spelling_at(self.launch.version_of(knob))?.name.to_string())
    }

    /// The knobs for a lever: those that free memory in this phase first, then those that the user has set, then by
    /// nearness to the user.
    fn candidates(&self, row: &'a PatchRow) -> Vec<Candidate<'a>> {
        let is_named =
            |knob: &Knob| row.knob.as_deref().is_none_or(|name| name == format!("{}.{}", knob.framework, knob.id));
        let all = self.knowledge.knobs_for(self.launch.framework(), &row.lever, row.direction);
        let mut candidates: Vec<Candidate<'a>> = all
            .filter(|(knob, _)| is_named(knob) && self.counts(&knob.framework))
            .map(|(knob, turn)| Candidate {
                knob,
                turn,
                is_elsewhere: self.phase != Phase::Unknown
                    && !turn.phases.is_empty()
                    && !turn.phases.contains(&self.phase),
                is_set: self.launch.setting(knob).is_some_and(|setting| setting.is_own()),
            })
            .collect();
        candidates.sort_by_key(|candidate| (candidate.is_elsewhere, candidate.knob.is_generic(), !candidate.is_set));
        candidates
    }

    fn patch(&self, row: &PatchRow, Candidate { knob, turn, .. }: Candidate<'_>) -> Option<Patch> {
        let version = self.launch.version_of(knob);
        let setting = self.launch.setting(knob);
        // The user's own word for it, where there are several.
        let written =
            setting.and_then(|setting| knob.names().find(|name| plain_name(name) == plain_name(&setting.entry.key)));
        let spelling = written.unwrap_or(&*knob.spelling_at(version)?.name);
        let usual = knob.default_at(version).map(str::to_owned);
        let default = usual.clone().filter(|_| self.launch.has_default(knob));
        let from = setting.map(|setting| setting.entry.value.to_string()).or(default);
        let to = match &row.to {
            Some(to) => self.facts.fill(to)?,
            None => turn::to(knob, turn, from.as_deref())?,
        };
        // What nobody is known to set is as it usually is.
        if from.is_none() && is_off(turn, &to) && usual.is_some_and(|usual| turn::is_at(knob, &usual, &to)) {
            return None;
        }
        if setting.is_none() && self.launch.is_known_to_be(self.facts, knob, &to) {
            return None;
        }
        let turned = LazyCell::new(|| self.launch.turned(self.facts, &self.decided, knob, &to));
        let mut needs = self.constraint(knob, turn, &to, || &*turned)?;
        let (effect, then) = self.effect(|| &*turned);
        let cost = self.cost(knob, turn, &to).map(str::to_owned);
        if self.overfills(&effect) {
            return None;
        }
        if let Some(moved) = effect.gpu_bytes.filter(|_| self.may_overfill(&effect)) {
            needs.insert(
                0,
                match self.language {
                    Language::En => format!("{moved} more on every GPU."),
                    Language::Zh => format!("每张 GPU 需再多 {moved}。"),
                },
            );
        }
        let edited = edit::edit(self.launch, knob, spelling, setting, &to);
        let set_in = self.launch.set_in(&knob.framework).filter(|_| edited.is_none());
        needs.extend(set_in.map(|place| match self.language {
            Language::En => format!("Set in {place}."),
            Language::Zh => format!("在 {place} 中设置。"),
        }));
        Some(Patch {
            lever: row.lever.clone(),
            knob: spelling.to_owned(),
            from,
            to,
            target: knob.target.as_str().to_owned(),
            file: edited.as_ref().map(|edited| edited.file.to_string()),
            diff: edited.as_ref().map(|edited| edited.diff.clone()),
            edited: edited.map(|edited| edited.text),
            effect,
            needs: then,
            cost,
            constraint: (!needs.is_empty()).then(|| needs.join(" ")),
            outcomes: None,
        })
    }

    /// Whether it would take more of a device or of the host than there is.
    fn overfills(&self, effect: &PatchEffect) -> bool {
        let beyond =
            |moved: Option<Bytes>, room: Option<Bytes>| moved.zip(room).is_some_and(|(moved, room)| moved > room);
        beyond(effect.gpu_bytes, device_memory(self.facts)) || beyond(effect.host_bytes, host_memory(self.facts))
    }

    /// Whether it takes so much of a device of unknown size that it may well not fit.
    fn may_overfill(&self, effect: &PatchEffect) -> bool {
        effect.gpu_bytes.is_some_and(|moved| moved > DOUBTFUL) && device_memory(self.facts).is_none()
    }

    /// What it moves at the incident's moment, and what that needs then, as far as the arithmetic knows; `turned` are the
    /// facts with it.
    fn effect<'f>(&self, turned: impl FnOnce() -> &'f Facts) -> (PatchEffect, PatchNeeds) {
        let after = self.prediction.and_then(|_| self.launch.predict(turned()));
        let Some((before, after)) = self.prediction.zip(after) else { return Default::default() };
        let moved = before.moved(&after, self.phase);
        let mut needs = if moved == Moved::default() { PatchNeeds::default() } else { after.needs(self.phase) };
        // Others use the host, too, and nobody knows how much more was asked for: the larger of both counts.
        if let Some((used, moved)) = host_used(self.facts).zip(moved.host) {
            let left = Bytes(used.0.saturating_add(moved.0));
            let bytes = needs.host.map_or(left, |need| need.bytes.max(left));
            needs.host = Some(Need { bytes, capacity: host_memory(self.facts) });
        }
        (PatchEffect { gpu_bytes: moved.device, host_bytes: moved.host }, needs)
    }

    /// What `knob` must have to work at `to`, as far as that is not known to hold; `None` where it is known not to.
    /// What is switched off needs nothing; `turned` are the facts with it.
    fn constraint<'f>(
        &self,
        knob: &Knob,
        turn: &Turn,
        to: &str,
        turned: impl FnOnce() -> &'f Facts,
    ) -> Option<Vec<String>> {
        if is_off(turn, to) {
            return Some(Vec::new());
        }
        let is_asked = knob.constraint.iter().any(|constraint| constraint.unless.is_some());
        let asker = is_asked.then(|| Asker::new(turned()));
        let mut open: Vec<String> = Vec::new();
        for constraint in &knob.constraint {
            match constraint.unless.as_ref().zip(asker.as_ref()).map(|(unless, asker)| asker.ask(unless)) {
                Some(Answer::Yes) => return None,
                Some(Answer::No) => {}
                _ => open.push(constraint.text.in_language(self.language).to_owned()),
            }
        }
        Some(open)
    }

    /// What it costs this way: a knob's price is that of its usual way.
    fn cost<'k>(&self, knob: &'k Knob, turn: &'k Turn, to: &str) -> Option<&'k str> {
        let is_usual = !is_off(turn, to) && turn.direction != Some(Direction::Raise);
        let usual = is_usual.then_some(&knob.cost);
        turn.cost.as_ref().or(usual).map(|cost| cost.in_language(self.language))
    }
}

/// Whether a knob is switched off.
fn is_off(turn: &Turn, to: &str) -> bool {
    turn.to == To::Off || to == "none"
}
