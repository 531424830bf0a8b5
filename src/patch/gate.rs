//! The gate that every change must pass before it is shown.
//!
//! In goes a change that a knob could make; out come the conditions that remain open, or the reason why it is not
//! advised here. The needs of a particular knob or lever are stated in `rules/`; the checks here apply to all of them.

use std::ops::Deref;

use super::goal::Goal;
use super::{Workbench, is_off};
use crate::facts::{Answer, Evaluator, Facts};
use crate::knowledge::{
    Condition, Constraint, Direction, Knob, NotAdvisedRow, Note, PatchRow, Target, To, Turn, Words,
};
use crate::launch::{device_memory, host_memory};
use crate::model::{Bytes, Kind, Need, Partner, PatchEffect, PatchNeeds, Phase};

/// A change to be judged.
pub(super) struct Change<'c> {
    /// The row of the cause that asks for it.
    pub row: &'c PatchRow,
    /// The knob to turn.
    pub knob: &'c Knob,
    /// The way in which it is turned.
    pub turn: &'c Turn,
    /// The value that it is turned to.
    pub goal: &'c Goal,
    /// Its current value.
    pub from: Option<&'c str>,
    /// The knobs that are set along with it.
    pub partners: &'c [(&'c Knob, Partner)],
    /// Its effect at the incident's moment and what is needed then; computed last, since that takes a prediction.
    pub effect: &'c dyn Fn() -> (PatchEffect, PatchNeeds),
    /// The facts after the change.
    pub then: &'c dyn Deref<Target = Facts>,
}

/// Why a change is not advised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The lever has no effect here, or takes more of the memory that ran out.
    Lever,
    /// It frees memory only at other moments.
    Elsewhere,
    /// The call that would be given the argument gives it on itself, and takes no second value.
    Passed,
    /// One of the knob's own constraints refuses it: wrong trainer, strategy, algorithm, version or launcher, or no
    /// effect.
    Note(String),
    /// The knob already has this value.
    AlreadySo,
    /// The rule of the same cause advises against it.
    NotAdvised,
    /// The job's own settings do not reach the container that failed beside it.
    Sidecar,
    /// It takes more of the memory that ran out.
    FillsWhatRanOut,
    /// It takes more memory than a device or a host has.
    Overfills,
}

/// The remarks on a change that passed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Passed {
    /// Conditions that it requires and that are not known to hold.
    pub open: Vec<String>,
    /// Further remarks.
    pub notes: Vec<String>,
}

/// Judges `change` for the job and the incident of `bench`. `against` are the rows of the cause that say what does not
/// help.
pub(super) fn pass(bench: &Workbench<'_>, change: &Change<'_>, against: &[&NotAdvisedRow]) -> Result<Passed, Refusal> {
    let lever = bench.knowledge.lever(&change.row.lever);
    let is_idle = lever.and_then(|lever| lever.unless.as_ref()).is_some_and(|unless| bench.holds(unless));
    if is_idle || turns_what_harms(bench, change) {
        return Err(Refusal::Lever);
    }
    let not_yet = lever.zip(change.knob.fact.as_deref()).and_then(|(lever, fact)| lever.not_yet.get(fact));
    let is_not_yet = not_yet.is_some_and(|phases| phases.contains(&bench.sure_phase()));
    if is_not_yet || is_elsewhere(change.turn, bench.sure_phase()) {
        return Err(Refusal::Elsewhere);
    }
    if bench.launch.is_sidecar() && *change.knob.framework != *"system" {
        return Err(Refusal::Sidecar);
    }
    if is_already_so(bench, change) {
        return Err(Refusal::AlreadySo);
    }
    if is_passed_by_code(bench, change) {
        return Err(Refusal::Passed);
    }
    if against.iter().any(|row| advises_against(row, change)) {
        return Err(Refusal::NotAdvised);
    }
    let open = open(bench, change)?;
    let (effect, needs) = (change.effect)();
    if fills(bench.kind, &effect) && !lever.is_some_and(|lever| lever.may_fill) {
        return Err(Refusal::FillsWhatRanOut);
    }
    if overfills(bench, &effect, &needs) {
        return Err(Refusal::Overfills);
    }
    Ok(Passed { open, notes: notes(bench, change) })
}

/// Whether the same turn of the knob also turns a lever that must not be turned here: offload frees a cache of the GPU, but fills the host.
fn turns_what_harms(bench: &Workbench<'_>, change: &Change<'_>) -> bool {
    let same = change.knob.lever.iter().filter(|turn| turn.to == change.turn.to && turn.name != change.turn.name);
    let mut levers =
        same.filter_map(|turn| bench.knowledge.levers.iter().find(|lever| lever.always && lever.name == turn.name));
    levers.any(|lever| lever.unless.as_ref().is_some_and(|unless| bench.holds(unless)))
}

/// Whether `turn` frees memory only at moments other than `phase`.
pub(super) fn is_elsewhere(turn: &Turn, phase: Phase) -> bool {
    phase != Phase::Unknown && !turn.phases.is_empty() && !turn.phases.contains(&phase)
}

/// Whether `row` advises against this change, by naming the knob or its lever.
pub(super) fn advises_against(row: &NotAdvisedRow, change: &Change<'_>) -> bool {
    let name = row.knob.rsplit_once('/').map_or(&*row.knob, |(_, knob)| knob);
    // `torch_empty_cache_steps` does by steps what `empty_cache` does.
    let is_meant = has_words(&change.knob.id, name) || *change.row.lever == *name;
    let way: Option<Direction> = change.turn.direction.or(change.row.direction);
    is_meant && row.direction.zip(way).is_none_or(|(advised, way)| advised == way)
}

/// Whether the words of `part` stand in `name` one behind the other: `empty_cache` in `torch_empty_cache_steps`.
fn has_words(name: &str, part: &str) -> bool {
    format!("_{name}_").contains(&format!("_{part}_"))
}

fn is_already_so(bench: &Workbench<'_>, change: &Change<'_>) -> bool {
    let Change { knob, turn, goal, from, .. } = change;
    let Some(to) = goal.words() else { return false };
    // The file beside it is another one, whatever both say of the knob's fact.
    if matches!(turn.to, To::Sibling(_)) && from.is_some() {
        return false;
    }
    // A knob that is not known to be set has its default, off or on. What the framework's own code configures may be on all the same; few
    // switch off what is on by default.
    let is_left_off = is_off(turn, to) && bench.launch.set_in(&knob.framework).is_none();
    let usual = knob.default_at(bench.launch.version_of(knob)).filter(|_| is_left_off || turn.to == To::On);
    let is_usual = from.is_none() && usual.is_some_and(|usual| super::turn::is_at(knob, usual, to));
    let is_known = bench.launch.setting(knob).is_none() && bench.launch.is_known_to_be(bench.facts, knob, to);
    let is_same = |from: &str| super::turn::is_at(knob, from, to) || is_as_wide(from, to);
    is_usual || is_known || from.is_some_and(is_same)
}

/// Whether the code of the job calls what gives the argument on itself: a second value would be an error.
fn is_passed_by_code(bench: &Workbench<'_>, change: &Change<'_>) -> bool {
    let is_argument = change.knob.target == Target::Python && bench.launch.setting(change.knob).is_none();
    let codes = || bench.launch.documents().iter();
    is_argument && change.knob.names().any(|name| codes().any(|code| code.passes_itself(name)))
}

/// Whether both values are data types of 16 bits: neither takes less memory than the other.
fn is_as_wide(from: &str, to: &str) -> bool {
    const WORDS: &[&str] = &["float16", "fp16", "half", "f16", "bfloat16", "bf16"];
    let is_one = |value: &str| {
        let name = value.rsplit('.').next().unwrap_or(value);
        WORDS.iter().any(|word| name.eq_ignore_ascii_case(word))
    };
    is_one(from) && is_one(to)
}

/// The requirements of `change` that are not known to hold. Switching something off requires only that it has an effect
/// now.
fn open(bench: &Workbench<'_>, change: &Change<'_>) -> Result<Vec<String>, Refusal> {
    let Change { knob, turn, goal, .. } = change;
    let is_off = goal.words().is_some_and(|to| is_off(turn, to));
    let is_asked = knob.constraint.iter().any(|constraint| constraint.unless.is_some() || constraint.only.is_some());
    let evaluator = is_asked.then(|| Evaluator::new(change.then));
    let mut open: Vec<String> = Vec::new();
    for Constraint { unless, only, when, settled_by, text } in &knob.constraint {
        if is_idle(bench, change, when.as_ref(), settled_by.as_deref()) {
            continue;
        }
        let words = || said(bench, text);
        let ask = |condition: &str| evaluator.as_ref().map(|evaluator| evaluator.ask(condition));
        match (unless, only) {
            // Whether the knob belongs to the job is also asked of the facts before the change.
            (_, Some(only)) if !bench.holds(only) && ask(only) != Some(Answer::Yes) => {
                return Err(Refusal::Note(words()));
            }
            (_, Some(_)) => {}
            (Some(unless), None) => match ask(unless) {
                Some(Answer::Yes) => return Err(Refusal::Note(words())),
                Some(Answer::No) => {}
                _ if is_off => {}
                _ => open.push(words()),
            },
            (None, None) if is_off => {}
            (None, None) => open.push(words()),
        }
    }
    open.retain(|words| !words.is_empty());
    Ok(open)
}

/// Further remarks on `change`; none for switching something off.
fn notes(bench: &Workbench<'_>, change: &Change<'_>) -> Vec<String> {
    let Change { knob, turn, goal, .. } = change;
    if goal.words().is_some_and(|to| is_off(turn, to)) {
        return Vec::new();
    }
    let is_due = |note: &&Note| !is_idle(bench, change, note.when.as_ref(), note.settled_by.as_deref());
    let said = knob.note.iter().filter(is_due).map(|note| said(bench, &note.text));
    said.filter(|words| !words.is_empty()).collect()
}

/// Whether a remark does not apply: another knob in the change settles it, or it is about other jobs.
fn is_idle(bench: &Workbench<'_>, change: &Change<'_>, when: Option<&Condition>, settled_by: Option<&str>) -> bool {
    change.partners.iter().any(|(partner, _)| settled_by == Some(&*partner.id))
        || when.is_some_and(|when| bench.evaluator.ask(when) == Answer::No)
}

/// `text` filled in with facts of this incident; empty if it names an unknown fact.
fn said(bench: &Workbench<'_>, text: &Words) -> String {
    bench.facts.fill(text.in_language(bench.language), bench.language).unwrap_or_default()
}

/// Whether it takes more of the memory that ran out.
fn fills(kind: Kind, effect: &PatchEffect) -> bool {
    let more = |moved: Option<Bytes>| moved.is_some_and(|moved| moved > Bytes(0));
    match kind {
        Kind::GpuOom => more(effect.gpu_bytes),
        kind if kind.is_host() => more(effect.host_bytes),
        _ => false,
    }
}

/// Whether it takes more memory than a device or the host has.
fn overfills(bench: &Workbench<'_>, effect: &PatchEffect, needs: &PatchNeeds) -> bool {
    let beyond = |moved: Option<Bytes>, room: Option<Bytes>| moved.zip(room).is_some_and(|(moved, room)| moved > room);
    let too_much = |moved: Option<Bytes>, need: Option<Need>| {
        let is_more = moved.is_some_and(|moved| moved > Bytes(0));
        is_more && need.is_some_and(|need| need.capacity.is_some_and(|capacity| need.bytes > capacity))
    };
    beyond(effect.gpu_bytes, device_memory(bench.facts))
        || beyond(effect.host_bytes, host_memory(bench.facts))
        || too_much(effect.gpu_bytes, needs.gpu)
        || too_much(effect.host_bytes, needs.host)
}
