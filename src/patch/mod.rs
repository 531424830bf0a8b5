//! Turns the levers of a cause into edits of the user's own files.
//!
//! In go a cause's levers, the knobs of `rules/knobs/`, and what the job was launched with. Out come patches: the knob
//! as the user's framework version spells it, its old and new value, and the edit as a diff, or the line to type if the
//! file is unknown. A change that is not advised for this job and incident does not pass the `gate`; if no patch
//! suffices alone, the cheapest sufficient set is determined.

mod advice;
mod beside;
mod build_step;
mod candidates;
mod consistent;
mod container;
mod defects;
mod each_call;
mod edit;
mod far_enough;
mod gate;
mod goal;
mod line;
mod loading;
mod partners;
mod patch_set;
mod proposed;
mod relaunch;
mod section;
mod spelling;
#[cfg(test)]
mod tests;
mod turn;

pub use advice::Advice;
pub use consistent::{drop_contradictions, lead_with_new};
pub use edit::apply;

use std::cell::LazyCell;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use crate::config::{Format, Value};
use crate::facts::{Evaluator, Facts};
use crate::knowledge::{
    CauseRule, Condition, Direction, Knob, Knowledge, Language, NotAdvisedRow, PatchRow, Target, To, Turn, Type,
    plain_name,
};
use crate::launch::{JobConfig, MemoryChange, Prediction, device_memory, device_wanted, host_memory, host_used};
use crate::model::{
    Bytes, Edit, Kind, Need, NotAdvised, Partner, Patch, PatchEffect, PatchNeeds, PatchSet, Phase, SERVICE_NAME,
};
use candidates::Candidate;
use gate::Passed;
use goal::Goal;
use proposed::Proposed;

/// The most patches for one cause; more would be no advice.
const MOST: usize = 6;
/// So many of them people read.
const SHOWN: usize = 3;
/// The most of the user's settings that are changed for one lever.
const MOST_EDITS: usize = 2;

/// A patch that takes more than this on every device of unknown size may well not fit.
const DOUBTFUL: Bytes = Bytes(24 << 30);

/// Everything needed to turn levers into patches, for one incident of a job.
pub struct Workbench<'a> {
    /// The rules with their levers and knobs.
    pub knowledge: &'a Knowledge,
    /// What the job was launched with.
    pub launch: &'a JobConfig<'a>,
    /// The facts of the incident.
    pub facts: &'a Facts,
    /// Evaluates conditions on the facts.
    pub evaluator: &'a Evaluator<'a>,
    /// Caches what dialects derive from the facts.
    pub decided: OnceLock<Facts>,
    /// What the failing program itself advises.
    pub advice: Advice<'a>,
    /// The predicted memory of the job, if known.
    pub prediction: Option<&'a Prediction>,
    /// What ran out.
    pub kind: Kind,
    /// When it happened.
    pub phase: Phase,
    /// The confidence in the phase, 0–1.
    pub phase_confidence: f64,
    /// The language of texts.
    pub language: Language,
}

/// The remedies for a cause.
#[derive(Debug, Default)]
pub struct Remedies {
    /// What to change, most useful first.
    pub patches: Vec<Patch>,
    /// Patches that suffice together, if the first one does not alone.
    pub set: Option<PatchSet>,
    /// What not to change, and why.
    pub not_advised: Vec<NotAdvised>,
}

/// The partners of a change, and every knob that is turned with it.
type Turned<'k> = (Vec<(&'k Knob, Partner)>, Vec<(&'k Knob, String)>);

impl<'a> Workbench<'a> {
    /// The changes against the cause of `rule`, most useful first, and the changes that are not advised.
    pub fn remedies(&self, rule: &'a CauseRule) -> Remedies {
        let against: Vec<&NotAdvisedRow> =
            rule.not_advised.iter().filter(|row| row.when.as_ref().is_none_or(|when| self.holds(when))).collect();
        let mut proposed: Vec<Proposed<'a>> = Vec::new();
        for row in rule.patch.iter().filter(|row| row.when.as_ref().is_none_or(|when| self.holds(when))) {
            let turned = self.proposed(row, &against, &proposed);
            proposed.extend(turned);
        }
        self.put_in_order(&mut proposed);
        self.drop_idle(&mut proposed);
        self.keep(&mut proposed, MOST);
        self.lead_with_cheapest(&mut proposed);
        let is_settled = self.lead_with_known(&mut proposed);
        let set = if is_settled { None } else { self.set(&proposed).or_else(|| self.pair(&proposed)) };
        let set = set.map(|(places, set)| {
            // The patches of the set go first.
            let mut place = 0..;
            proposed.sort_by_cached_key(|_| place.next().is_none_or(|place: usize| !places.contains(&place)));
            self.price_in_turn(&mut proposed[..places.len()]);
            set
        });
        if set.is_none() {
            self.lead_with_most(&mut proposed);
            self.lead_with_enough(&mut proposed);
            self.spread_levers(&mut proposed);
            self.show_limit(&mut proposed);
        }
        let told = |Proposed { patch, .. }| {
            let effect = self.told_effect(patch.effect, &patch.needs);
            Patch { effect, needs: self.told_needs(patch.needs), ..patch }
        };
        let mut patches: Vec<Patch> = proposed.into_iter().map(told).collect();
        // A set of one is shown as an ordinary patch.
        let set = set.filter(|set| set.knobs.len() > 1);
        self.add_mended(rule, &mut patches, set.as_ref());
        patches.truncate(MOST);
        let not_advised = self.not_advised(&against, &patches);
        Remedies { patches, set, not_advised }
    }

    /// The patches of one row that are not in `known`: one knob per lever, but all knobs of its framework that the
    /// user's own files set, such as `offload_params` and `offload_optimizer`.
    fn proposed(&self, row: &'a PatchRow, against: &[&NotAdvisedRow], known: &[Proposed<'a>]) -> Vec<Proposed<'a>> {
        // An option that hands a value on to a framework beneath is that framework's own option.
        let is_same = |known: &Proposed<'a>, new: &Proposed<'a>| {
            let (Some((knob, to)), Some((other, value))) = (known.turned.first(), new.turned.first()) else {
                return false;
            };
            knob.framework != other.framework && knob.fact.is_some() && knob.fact == other.fact && to == value
        };
        let is_new = |new: &Proposed<'a>| !known.iter().any(|known| known.patch.knob == new.patch.knob);
        let mut candidates = self.candidates(row).into_iter();
        let propose = |candidate: Candidate<'a>| {
            self.propose(row, candidate, against).filter(is_new).map(|proposed| (candidate, proposed))
        };
        let Some((first, patched)) = candidates.by_ref().find_map(propose) else { return Vec::new() };
        if known.iter().any(|known| is_same(known, &patched)) {
            return Vec::new();
        }
        let is_alike = |other: &Candidate<'a>| {
            first.is_set && other.is_set && !other.is_elsewhere && other.knob.framework == first.knob.framework
        };
        let more = candidates.filter(is_alike).filter_map(propose).map(|(_, proposed)| proposed);
        [patched].into_iter().chain(more).take(MOST_EDITS).collect()
    }

    /// The changes that the rows `against` name, without those that `patches` make.
    fn not_advised(&self, against: &[&NotAdvisedRow], patches: &[Patch]) -> Vec<NotAdvised> {
        let changed = patches.iter().flat_map(|patch| {
            [&patch.knob].into_iter().chain(patch.with.iter().map(|partner| &partner.knob)).map(|knob| plain_name(knob))
        });
        let changed: Vec<String> = changed.collect();
        let rows = against.iter().filter_map(|row| {
            let why = self.facts.fill(row.why.in_language(self.language), self.language)?;
            Some(NotAdvised { knob: self.spelled(&row.knob)?, why })
        });
        rows.filter(|row| !changed.contains(&plain_name(&row.knob))).collect()
    }

    fn holds(&self, condition: &Condition) -> bool {
        self.evaluator.holds(condition)
    }

    /// The phase, if its confidence suffices to rule out changes that free memory in other phases.
    fn sure_phase(&self) -> Phase {
        const SURE: f64 = 0.85;
        if self.phase_confidence >= SURE { self.phase } else { Phase::Unknown }
    }

    /// Whether options of `framework` have an effect on the job.
    fn counts(&self, framework: &str) -> bool {
        let Some(known) = self.knowledge.frameworks.iter().find(|known| &*known.name == framework) else { return true };
        let is_idle = known.unless.as_ref().is_some_and(|unless| self.holds(unless));
        let is_of_job = known.only.as_ref().is_none_or(|only| self.holds(only));
        is_of_job && !is_idle
    }

    fn propose(
        &self,
        row: &'a PatchRow,
        Candidate { knob, turn, is_advised, .. }: Candidate<'a>,
        against: &[&NotAdvisedRow],
    ) -> Option<Proposed<'a>> {
        let setting = self.launch.setting(knob);
        if setting.is_none() && self.is_set_otherwise(knob) {
            return None;
        }
        let spelling = self.spelling(knob)?;
        let default = knob.default_at(self.launch.version_of(knob)).filter(|_| self.launch.has_default(knob));
        // A log prints what is not set, too: `max_model_len=None`.
        let set = setting.filter(|setting| setting.entry.value != Value::Null || turn.open.is_some());
        let printed = self.launch.printed(self.facts, knob).filter(|_| setting.is_none());
        let from = set.map(|setting| setting.entry.value.to_string()).or(printed).or(default.map(str::to_owned));
        // What is explicitly nothing has no limit: there is no step from it.
        let is_open = set.is_some_and(|setting| setting.entry.value == Value::Null);
        let cap = turn.open.as_deref().filter(|_| is_open);
        let opened = match cap {
            Some(cap) => Some(Turn { to: To::Value(goal::binding(self, knob, cap)?), ..turn.clone() }),
            None => None,
        };
        let goal = goal::goal(self, row, knob, opened.as_ref().unwrap_or(turn), from.as_deref())?;
        // What is to be made smaller must be there.
        if matches!(goal, Goal::Step(_)) && setting.is_none() && self.launch.lacks_call(knob) {
            return None;
        }
        // Half of nothing is nothing: `max_audio_len: null`.
        let is_null = setting.is_some_and(|setting| setting.is_own() && setting.entry.value == Value::Null);
        if matches!(goal, Goal::Step(_)) && is_null {
            return None;
        }
        let (goal, fits) = self.far_enough(knob, turn, goal);
        let (partners, turned) = self.partners(knob, turn, &goal)?;
        let then = LazyCell::new(|| self.with(&turned));
        // What a limit frees where there was none is not known.
        let price = LazyCell::new(|| if opened.is_some() { Default::default() } else { self.price(&then) });
        let effect = || *price;
        let from = from.as_deref();
        let change =
            gate::Change { row, knob, turn, goal: &goal, from, partners: &partners, effect: &effect, then: &then };
        let Passed { mut open, mut notes } = gate::pass(self, &change, against).ok()?;
        let (effect, mut needs) = *price;
        let is_short = self.is_short(turn, &effect, &mut needs);
        if self.is_drop(&effect, &needs) {
            return None;
        }
        notes.extend(self.opposite_way(&change, against));
        if let Some(moved) = effect.gpu_bytes.filter(|_| self.may_overfill(&effect)) {
            open.insert(0, self.say(format!("{moved} more on every GPU."), format!("每张 GPU 需再多 {moved}。")));
        }
        let (to, step) = goal.told(knob);
        let value = goal.words().map(|words| goal::scalar(knob, words));
        let by_hand = self.by_hand(row);
        let is_by_hand = by_hand.is_some();
        open.splice(0..0, by_hand);
        let edits = || match knob.starts_script {
            true => relaunch::edits(self.launch, &spelling, value.as_ref()?),
            false => self.edits(knob, &spelling, value.as_ref(), &partners),
        };
        let (edits, diff) = if is_by_hand { Default::default() } else { edits().unwrap_or_default() };
        let set_in = self.launch.set_in(&knob.framework).filter(|_| diff.is_none());
        notes.extend(set_in.map(|place: &str| self.say(format!("Set it in {place}."), format!("在 {place} 中设置。"))));
        notes.extend(edit::choice(self.launch, &edits).map(|test| {
            self.say(
                format!(
                    "Takes effect only if {test} chooses this line; the script was read as if run without arguments."
                ),
                format!("这一行是否生效取决于 {test}；脚本按不带参数运行来解读。"),
            )
        }));
        let lines = || {
            let own = line::line(self.launch, knob, &spelling, value.as_ref()?);
            // A line of the knob's own may say what its partners are set to.
            let is_said = |other: &Knob| {
                let mut names = other.names().map(|name| name.rsplit('.').next().unwrap_or(name));
                knob.line.is_some() && names.any(|name| own.contains(name))
            };
            let others = partners
                .iter()
                .filter(|(other, partner)| !edit::is_removal(&partner.to) && !is_said(other))
                .map(|(knob, partner)| line::line(self.launch, knob, &partner.knob, &partner.to));
            Some([own.clone()].into_iter().chain(others).collect::<Vec<_>>().join("\n"))
        };
        let patch = Patch {
            lever: self.told_lever(row),
            cost: self.cost(knob, turn, goal.words()).map(str::to_owned),
            line: if diff.is_none() && set_in.is_none() { lines() } else { None },
            knob: spelling,
            // An option that may stand without its number, `-j`, has none then.
            from: from
                .filter(|from| knob.r#type != Type::Integer || *from != "true")
                .map(|from| from.trim_matches('`').to_owned()),
            to,
            change: step,
            with: partners.into_iter().map(|(_, partner)| partner).collect(),
            target: knob.target.as_str().to_owned(),
            file: edits.first().map(|edit| edit.file.to_string()),
            diff,
            edits,
            effect,
            suffices: if is_short { Some(false) } else { self.suffices(&needs).or(fits.then_some(true)) },
            needs,
            constraint: self.in_one(open.iter().chain(&notes)),
            note: self.in_one(notes.iter()),
            outcomes: None,
        };
        drop(then);
        let is_python = knob.target == Target::Python;
        // Code that nobody showed may have what a knob of code changes, or not.
        let shows_code = || self.launch.documents().iter().any(|document| document.format() == Format::Python);
        Some(Proposed {
            patch,
            turned,
            row,
            is_advised,
            is_by_hand,
            is_short,
            is_generic: knob.is_generic(),
            is_python,
            is_absent: is_python && shows_code() && edit::changes_what_is_kept(knob),
            is_of_loading: is_python && !row.first && loading::is_meant(knob) && !shows_code(),
            is_unshown: is_python && !shows_code(),
            is_of_code: is_python && self.kind.is_host() && !row.first,
        })
    }

    /// The lever of `row` as reports call it.
    fn told_lever(&self, row: &PatchRow) -> Arc<str> {
        let lever = self.knowledge.lever(&row.lever).filter(|_| self.kind != Kind::GpuOom);
        Arc::clone(lever.and_then(|lever| lever.on_host.as_ref()).unwrap_or(&row.lever))
    }

    /// What must be done first, where turning the lever of `row` takes more than editing the job's files.
    fn by_hand(&self, row: &PatchRow) -> Option<String> {
        let lever = self.knowledge.lever(&row.lever)?;
        let by_hand = lever.by_hand.as_ref().filter(|by_hand| self.holds(&by_hand.when))?;
        if by_hand.unless.as_ref().is_some_and(|unless| self.holds(unless)) {
            return None;
        }
        self.facts.fill(by_hand.text.in_language(self.language), self.language)
    }

    /// Whether the job sets the fact of `knob` through another knob, which is then the one to turn: the batch size of a
    /// `DataLoader` comes from `--per_device_train_batch_size`.
    fn is_set_otherwise(&self, knob: &Knob) -> bool {
        let is_same = |other: &&Knob| other.fact == knob.fact && other.r#type != Type::File;
        let mut others = self.launch.knobs().filter(|_| knob.fact.is_some()).filter(is_same);
        others.any(|other| self.launch.setting(other).is_some_and(|setting| setting.is_own()))
    }

    /// The edits of the user's files that set `knob` and its partners, and their diff.
    fn edits(
        &self,
        knob: &Knob,
        spelling: &str,
        to: Option<&crate::model::Scalar>,
        partners: &[(&Knob, Partner)],
    ) -> Option<(Vec<Edit>, Option<String>)> {
        let roles = [self.facts.text("victims.role"), self.facts.text(SERVICE_NAME)];
        let edit = |knob: &Knob, spelling: &str, to| {
            edit::edit(self.launch, knob, spelling, self.launch.setting(knob), to, roles)
        };
        // What is set already has the section that it needs, or is changed where it stands.
        let section = |to| self.launch.setting(knob).is_none().then(|| section::edits(self.launch, knob, to)).flatten();
        let named = |to| beside::edits(self.launch, knob, to).filter(|_| partners.is_empty());
        let each = |to| each_call::edits(self.launch, knob, to).or_else(|| Some(vec![edit(knob, spelling, to)?]));
        let own = |to| named(to).or_else(|| each(to));
        let of_container = |to| container::edits(self.launch, knob, spelling, to, &[]);
        let step = self.facts.text("build.step").filter(|_| self.launch.setting(knob).is_none());
        let of_build = |to| build_step::edits(self.launch, knob, spelling, to, step);
        let own_section = knob.section.as_ref().filter(|_| self.launch.setting(knob).is_none());
        let mut edits =
            to.and_then(|to| of_build(to).or_else(|| section(to)).or_else(|| own(to)).or_else(|| of_container(to)))?;
        for (knob, partner) in partners {
            let beside = || section::partner(own_section?, &edits, partner);
            let own = edit(knob, &partner.knob, &partner.to).or_else(beside).map(|edit| vec![edit]);
            let own = own.or_else(|| container::edits(self.launch, knob, &partner.knob, &partner.to, &edits));
            edits.extend(own?);
        }
        let alike: Vec<Edit> = edits.iter().flat_map(|own| edit::alike(self.launch, own)).collect();
        edits.extend(alike);
        let diff = edit::diff(self.launch, &edits)?;
        Some((edits, Some(diff)))
    }

    /// The remark in `against` on turning the same knob the other way.
    fn opposite_way(&self, change: &gate::Change<'_>, against: &[&NotAdvisedRow]) -> Option<String> {
        let is_other_way = |row: &&&NotAdvisedRow| row.direction.is_some() && *row.knob == *change.knob.id;
        let row = against.iter().find(is_other_way)?;
        self.facts.fill(row.why.in_language(self.language), self.language)
    }

    /// Joins sentences into one text; `None` if there are none.
    fn in_one<'w>(&self, sentences: impl Iterator<Item = &'w String>) -> Option<String> {
        let sentences: Vec<&str> = sentences.map(String::as_str).collect();
        (!sentences.is_empty()).then(|| sentences.join(self.language.blank()))
    }

    fn say(&self, en: String, zh: String) -> String {
        match self.language {
            Language::En => en,
            Language::Zh => zh,
        }
    }

    /// The facts after all of `turned` are set, one after the other.
    fn with<'k>(&self, turned: impl IntoIterator<Item = &'k (&'k Knob, String)>) -> Facts {
        let mut turned = turned.into_iter();
        let Some((knob, to)) = turned.next() else { return self.facts.clone() };
        let first = self.launch.turned(self.facts, &self.decided, knob, to);
        turned.fold(first, |facts, (knob, to)| self.launch.turned(&facts, &OnceLock::new(), knob, to))
    }

    /// Whether it takes so much memory that it may not fit on a device of unknown size.
    fn may_overfill(&self, effect: &PatchEffect) -> bool {
        effect.gpu_bytes.is_some_and(|moved| moved > DOUBTFUL) && device_memory(self.facts).is_none()
    }

    /// The change in memory at the incident's moment and the resulting needs, as far as they can be predicted; `then`
    /// are the facts after the change.
    fn price(&self, then: &dyn Deref<Target = Facts>) -> (PatchEffect, PatchNeeds) {
        let after = self.prediction.and_then(|_| self.launch.predict(then));
        let Some((before, after)) = self.prediction.zip(after) else { return Default::default() };
        let moved = before.change_to(&after, self.phase);
        let mut needs = if moved == MemoryChange::default() { PatchNeeds::default() } else { after.needs(self.phase) };
        // What was held and asked for when it failed is a lower limit of what is needed.
        if let Some((wanted, moved)) = device_wanted(self.facts).zip(moved.device) {
            let left = Bytes(wanted.0.saturating_add(moved.0));
            needs.gpu = needs.gpu.map(|need| Need { bytes: need.bytes.max(left), ..need });
        }
        // Other processes use the host as well, and the size of the failed request is unknown, so the larger of both
        // counts.
        if let Some((used, moved)) = host_used(self.facts).zip(moved.host) {
            let left = Bytes(used.0.saturating_add(moved.0));
            let bytes = needs.host.map_or(left, |need| need.bytes.max(left));
            needs.host = Some(Need { bytes, capacity: host_memory(self.facts) });
        }
        (PatchEffect { gpu_bytes: moved.device, host_bytes: moved.host }, needs)
    }

    /// The effect of a change as reports tell it. More than there was is freed only from states that were not there yet, and says nothing
    /// without the need that remains: of a pass, a plan counts every sample at its greatest length. Where the GPU is full, what the host no
    /// longer needs helps nobody.
    fn told_effect(&self, PatchEffect { gpu_bytes, host_bytes }: PatchEffect, needs: &PatchNeeds) -> PatchEffect {
        let most = device_wanted(self.facts).into_iter().chain(device_memory(self.facts)).min();
        let is_there = |moved: &Bytes| most.is_none_or(|most| moved.0.saturating_neg() <= most.0);
        let is_of_states = self.phase.is_start() || self.phase == Phase::OptimizerStep;
        let remains = is_of_states && needs.gpu.is_some_and(|need| need.capacity.is_some());
        PatchEffect {
            gpu_bytes: gpu_bytes.filter(|moved| remains || is_there(moved)),
            host_bytes: host_bytes.filter(|moved| self.kind != Kind::GpuOom || *moved > Bytes(0)),
        }
    }

    /// The needs after a change as reports tell them. Of a pass a plan counts every sample at its greatest length, and parts that never are there
    /// at once: a total far beyond the device says that the change is not enough, but is no amount to be believed.
    fn told_needs(&self, needs: PatchNeeds) -> PatchNeeds {
        /// The share of a device beyond which no total is told.
        const MOST: f64 = 1.2;
        let is_of_states = self.phase.is_start() || self.phase == Phase::OptimizerStep;
        let is_sound = |need: &Need| need.capacity.is_none_or(|capacity| need.bytes.gib() <= MOST * capacity.gib());
        PatchNeeds { gpu: needs.gpu.filter(|need| is_of_states || is_sound(need)), ..needs }
    }

    /// The cost of this turn. A knob's own cost applies only to its usual direction.
    fn cost<'k>(&self, knob: &'k Knob, turn: &'k Turn, to: Option<&str>) -> Option<&'k str> {
        let is_off = to.is_some_and(|to| is_off(turn, to));
        let own = knob.inference_cost.as_ref().filter(|_| self.facts.says_yes("job.inference"));
        let usual = (!is_off && turn.direction != Some(Direction::Raise)).then(|| own.unwrap_or(&knob.cost));
        turn.cost.as_ref().or(usual).map(|cost| cost.in_language(self.language))
    }
}

/// Whether this turn switches the knob off.
fn is_off(turn: &Turn, to: &str) -> bool {
    turn.to == To::Off || to == "none"
}
