//! The one gate that every change passes before anybody sees it.
//!
//! In goes a change that a knob could make; out comes what must still hold for it, or why it is no advice here. What a knob
//! or a lever needs stands with it in `rules/`; what is the same for all of them stands here.

use std::ops::Deref;

use super::goal::Goal;
use super::{Workbench, is_off};
use crate::facts::{Answer, Evaluator, Facts};
use crate::knowledge::{Condition, Constraint, Direction, Knob, NotAdvisedRow, Note, PatchRow, To, Turn, Words};
use crate::launch::{device_memory, host_memory};
use crate::model::{Bytes, Kind, Partner, PatchEffect, Phase};

/// A change that is up for judgement.
pub(super) struct Change<'c> {
    /// The row of the cause that asks for it.
    pub row: &'c PatchRow,
    /// What is turned.
    pub knob: &'c Knob,
    /// How.
    pub turn: &'c Turn,
    /// To what.
    pub goal: &'c Goal,
    /// What it is now.
    pub from: Option<&'c str>,
    /// What is set with it.
    pub partners: &'c [(&'c Knob, Partner)],
    /// What it moves at the incident's moment: asked last, as it takes a prediction.
    pub effect: &'c dyn Fn() -> PatchEffect,
    /// The facts with it.
    pub then: &'c dyn Deref<Target = Facts>,
}

/// Why a change is no advice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The lever does nothing here, or fills what ran out.
    Lever,
    /// It frees memory at other moments only.
    Elsewhere,
    /// A note of its own refuses it: not of this trainer, strategy, algorithm, version or launcher, or without effect.
    Note(String),
    /// It is so already.
    AlreadySo,
    /// The same cause says that it does not help.
    NotAdvised,
    /// It takes more of what ran out.
    FillsWhatRanOut,
    /// It takes more of a device or host than there is.
    Overfills,
}

/// What is known of a change that passed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Passed {
    /// What must hold for it to work and is not known to.
    pub open: Vec<String>,
    /// What is worth knowing besides.
    pub notes: Vec<String>,
}

/// Judges `change` for the job and incident of `bench`. `against` are the rows of the same cause that say what does not help.
pub(super) fn pass(bench: &Workbench<'_>, change: &Change<'_>, against: &[&NotAdvisedRow]) -> Result<Passed, Refusal> {
    let lever = bench.knowledge.levers.iter().find(|lever| lever.name == change.row.lever);
    let is_idle = lever.and_then(|lever| lever.unless.as_ref()).is_some_and(|unless| bench.holds(unless));
    if is_idle {
        return Err(Refusal::Lever);
    }
    if is_elsewhere(change.turn, bench.sure_phase()) {
        return Err(Refusal::Elsewhere);
    }
    if is_already_so(bench, change) {
        return Err(Refusal::AlreadySo);
    }
    if against.iter().any(|row| advises_against(row, change)) {
        return Err(Refusal::NotAdvised);
    }
    let open = open(bench, change)?;
    let effect = (change.effect)();
    if fills(bench.kind, &effect) && !lever.is_some_and(|lever| lever.may_fill) {
        return Err(Refusal::FillsWhatRanOut);
    }
    if overfills(bench, &effect) {
        return Err(Refusal::Overfills);
    }
    Ok(Passed { open, notes: notes(bench, change) })
}

/// Whether `turn` frees memory at other moments only than `phase`.
pub(super) fn is_elsewhere(turn: &Turn, phase: Phase) -> bool {
    phase != Phase::Unknown && !turn.phases.is_empty() && !turn.phases.contains(&phase)
}

/// Whether `row` says that such a change does not help: of the knob, or of all that turn the lever.
pub(super) fn advises_against(row: &NotAdvisedRow, change: &Change<'_>) -> bool {
    let name = row.knob.rsplit_once('/').map_or(&*row.knob, |(_, knob)| knob);
    let is_meant = *change.knob.id == *name || *change.row.lever == *name;
    let way: Option<Direction> = change.turn.direction.or(change.row.direction);
    is_meant && row.direction.zip(way).is_none_or(|(advised, way)| advised == way)
}

fn is_already_so(bench: &Workbench<'_>, change: &Change<'_>) -> bool {
    let Change { knob, turn, goal, from, .. } = change;
    let Some(to) = goal.words() else { return false };
    // What nobody is known to set is as it usually is, off or on.
    let usual = knob.default_at(bench.launch.version_of(knob)).filter(|_| is_off(turn, to) || turn.to == To::On);
    let is_usual = from.is_none() && usual.is_some_and(|usual| super::turn::is_at(knob, usual, to));
    let is_known = bench.launch.setting(knob).is_none() && bench.launch.is_known_to_be(bench.facts, knob, to);
    is_usual || is_known || from.is_some_and(|from| super::turn::is_at(knob, from, to))
}

/// What `change` must have to work, as far as that is not known to hold. What is
/// switched off needs nothing but to do something now.
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
            // Whether it belongs to the job is asked of the job as it is.
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

/// What is worth knowing of `change` besides; of what is switched off there is nothing.
fn notes(bench: &Workbench<'_>, change: &Change<'_>) -> Vec<String> {
    let Change { knob, turn, goal, .. } = change;
    if goal.words().is_some_and(|to| is_off(turn, to)) {
        return Vec::new();
    }
    let is_due = |note: &&Note| !is_idle(bench, change, note.when.as_ref(), note.settled_by.as_deref());
    let said = knob.note.iter().filter(is_due).map(|note| said(bench, &note.text));
    said.filter(|words| !words.is_empty()).collect()
}

/// Whether there is nothing to say: another knob that is changed along sees to it, or it is about other jobs.
fn is_idle(bench: &Workbench<'_>, change: &Change<'_>, when: Option<&Condition>, settled_by: Option<&str>) -> bool {
    change.partners.iter().any(|(partner, _)| settled_by == Some(&*partner.id))
        || when.is_some_and(|when| bench.evaluator.ask(when) == Answer::No)
}

/// `text` of this incident; nothing where it names a fact that nobody knows.
fn said(bench: &Workbench<'_>, text: &Words) -> String {
    bench.facts.fill(text.in_language(bench.language), bench.language).unwrap_or_default()
}

/// Whether it takes more of what ran out, far enough to count.
fn fills(kind: Kind, effect: &PatchEffect) -> bool {
    let more = |moved: Option<Bytes>| moved.is_some_and(|moved| moved > Bytes(0));
    match kind {
        Kind::GpuOom => more(effect.gpu_bytes),
        kind if kind.is_host() => more(effect.host_bytes),
        _ => false,
    }
}

/// Whether it takes more of a device or of the host than there is.
fn overfills(bench: &Workbench<'_>, effect: &PatchEffect) -> bool {
    let beyond = |moved: Option<Bytes>, room: Option<Bytes>| moved.zip(room).is_some_and(|(moved, room)| moved > room);
    beyond(effect.gpu_bytes, device_memory(bench.facts)) || beyond(effect.host_bytes, host_memory(bench.facts))
}
