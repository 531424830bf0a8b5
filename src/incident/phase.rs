//! Collects the signs of the phase in which memory ran out.
//!
//! Signs are the stack of the failing process, the message's own words, remote methods in Ray's table and the victim's title, the last mark
//! before the end, and the stacks of processes that failed with it, because ranks work in step. Each is kept by itself; `diagnosis` decides
//! which is believed.

use std::sync::Arc;

use super::Case;
use super::root::Group;
use crate::knowledge::{FrameRole, Knowledge};
use crate::model::{Citation, Event, FactValue, Frame, Kind, Phase, PhaseMark, What};

/// A sign of a phase.
#[derive(Debug, Clone)]
pub struct PhaseSign {
    /// How the phase was found.
    pub route: Route,
    /// The phase.
    pub phase: Phase,
    /// The place within the phase.
    pub site: Arc<str>,
    /// The confidence of the row that found it, 0–1.
    pub confidence: f64,
    /// The lines that show it.
    pub evidence: Vec<Citation>,
}

/// How a phase was found, most decisive first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Route {
    /// An enclosing frame of the failing stack.
    Enclosing,
    /// An operation of the failing stack.
    Operation,
    /// Words of the message itself.
    Message,
    /// A remote method in a monitor's message or an error's head.
    Method,
    /// An enclosing frame of another stack.
    OthersEnclosing,
    /// The last mark, if its phase had not ended.
    Mark,
    /// An operation of another stack.
    OthersOperation,
    /// Another frame of the failing stack than the one that decides.
    Beside,
    /// The last mark, if its phase had ended.
    EndedMark,
}

impl Route {
    /// Its name among signals.
    pub fn as_str(self) -> &'static str {
        match self {
            Route::Enclosing => "enclosing",
            Route::Operation => "operation",
            Route::Message => "message",
            Route::Method => "method",
            Route::OthersEnclosing => "others_enclosing",
            Route::Mark => "mark",
            Route::OthersOperation => "others_operation",
            Route::Beside => "beside",
            Route::EndedMark => "ended_mark",
        }
    }

    /// Whether it alone may decide the phase.
    pub fn decides(self) -> bool {
        !matches!(self, Route::Beside | Route::EndedMark)
    }
}

/// A phase with its place, confidence and evidence.
struct FoundPhase {
    phase: Phase,
    site: Arc<str>,
    confidence: f64,
    evidence: Vec<Citation>,
    /// Whether it is part of a training step rather than something that encloses one.
    is_operation: bool,
}

impl FoundPhase {
    /// What `frame` tells.
    fn of_frame(frame: &Frame, phase: Phase, site: &Arc<str>, confidence: f64) -> FoundPhase {
        FoundPhase { phase, site: site.clone(), confidence, evidence: vec![frame.at.clone()], is_operation: false }
    }

    fn by(self, route: Route) -> PhaseSign {
        let FoundPhase { phase, site, confidence, evidence, .. } = self;
        PhaseSign { route, phase, site, confidence, evidence }
    }
}

/// All signs of the phase for the incident of `group`, the most decisive route first.
pub(super) fn signs(case: &Case, group: &Group, knowledge: &Knowledge) -> Vec<PhaseSign> {
    let events: Vec<&Event> = group.events.iter().map(|index| &case.events[*index]).collect();
    let mut signs: Vec<PhaseSign> = Vec::new();
    let own = case.frames_of(&events).find_map(|frames| {
        let found = of_stack(&frames, knowledge)?;
        Some((frames, found))
    });
    if let Some((frames, found)) = own {
        let route = if found.is_operation { Route::Operation } else { Route::Enclosing };
        signs.push(found.by(route));
        let chosen = signs[0].phase;
        for frame in frames.iter() {
            let row = knowledge.phases.frame(&frame.file, &frame.function, &frame.code);
            let row = row.filter(|row| row.phase != chosen && signs.iter().all(|sign| sign.phase != row.phase));
            signs.extend(row.map(|row| PhaseSign {
                route: Route::Beside,
                phase: row.phase,
                site: row.site.clone(),
                confidence: 0.5,
                evidence: vec![frame.at.clone()],
            }));
        }
    }
    let messages = events.iter().filter_map(|event| of_message(event, knowledge));
    signs.extend(messages.reduce(more_confident).map(|found| found.by(Route::Message)));
    signs.extend(
        of_methods(&events, knowledge).or_else(|| of_remote(&events, knowledge)).map(|found| found.by(Route::Method)),
    );
    let others = || case.stacks().filter_map(|(_, frames)| of_stack(frames, knowledge));
    // An enclosing phase of another rank holds for this one; its forward or backward may be a moment ahead.
    let surely = |found: FoundPhase, confidence: f64| FoundPhase { confidence, ..found };
    let enclosing = others().find(|found| !found.is_operation);
    signs.extend(enclosing.map(|found| surely(found, 0.7).by(Route::OthersEnclosing)));
    // A line that ended a phase tells only what the job was no longer doing.
    let mark = last_mark(case, group, &events);
    // The pass that an evaluation or a generation runs is no pass of a training step.
    let evaluates = || {
        signs.iter().any(|sign| sign.route == Route::Operation && sign.phase == Phase::Forward)
            && !trains(case, &events)
    };
    let encloses = mark.is_some_and(|mark| !mark.ended && (mark.encloses || runs_only(mark.phase) && evaluates()))
        && signs.iter().any(|sign| sign.route == Route::Operation);
    signs.iter_mut().filter(|sign| encloses && sign.route == Route::Operation).for_each(|sign| {
        sign.route = Route::Beside;
    });
    let is_over = |sign: &PhaseSign| {
        sign.route == Route::Message && mark.is_some_and(|mark| mark.stands_against(sign.phase, sign.confidence))
    };
    signs.iter_mut().filter(|sign| is_over(sign)).for_each(|sign| sign.route = Route::Beside);
    signs.extend(mark.map(|mark| {
        let route = match mark.ended {
            true => Route::EndedMark,
            false if encloses => Route::Enclosing,
            false => Route::Mark,
        };
        of_mark(mark).by(route)
    }));
    let operation = others().find(|found| found.is_operation && !encloses);
    signs.extend(operation.map(|found| surely(found, 0.5).by(Route::OthersOperation)));
    signs.sort_by_key(|sign| sign.route);
    signs
}

/// Whether a phase runs a model forward without training it.
fn runs_only(phase: Phase) -> bool {
    matches!(phase, Phase::Evaluation | Phase::Inference)
}

/// Whether a call of the failing stack is by its name one that trains: no evaluation, whatever was announced last.
fn trains(case: &Case, events: &[&Event]) -> bool {
    let is_word = |word: &str| ["train", "training"].contains(&word);
    let names = |frame: &Frame| frame.function.split(['_', '.']).any(is_word) || frame.code.contains(".train(");
    case.frames_of(events).any(|frames| frames.iter().any(names))
}

/// The phase of a stack, outermost call first.
pub fn phase_of(frames: &[Frame], knowledge: &Knowledge) -> Option<Phase> {
    of_stack(frames, knowledge).map(|found| found.phase)
}

/// The outermost enclosing frame decides, except that a transfer of weights or samples overrides it. Without one the optimizer's step has
/// precedence over backward, and backward over forward, in any order, because recomputation runs forward frames beneath backward ones; but
/// an optimizer's step above them only runs the closure it was given.
fn of_stack(frames: &[Frame], knowledge: &Knowledge) -> Option<FoundPhase> {
    let mut rows: Vec<_> = frames
        .iter()
        .filter_map(|frame| Some((frame, knowledge.phases.frame(&frame.file, &frame.function, &frame.code)?)))
        .collect();
    // A traceback that was cut off ends with the call of what came next.
    let is_known = |last: &Frame| rows.last().is_some_and(|(frame, _)| std::ptr::eq(*frame, last));
    let cut = frames.last().filter(|last| !is_known(last));
    rows.extend(cut.and_then(|last| Some((last, knowledge.phases.called(&last.code)?))));
    let remote = frames.iter().find_map(|frame| {
        let mark = (frame.file == Frame::REMOTE).then(|| knowledge.phases.method(&frame.function))??;
        Some((frame, mark))
    });
    // A function that answers a request may first load the model, which its own line says.
    let loads = rows.iter().find_map(|(frame, row)| {
        let runs = runs_only(row.phase) && row.role != FrameRole::Operation && row.code.is_empty();
        let loaded = || knowledge.phases.frame("", "", &frame.code).filter(|row| row.phase == Phase::ModelLoad);
        runs.then(loaded).flatten().map(|row| (*frame, row))
    });
    if let Some((frame, row)) = loads {
        return Some(FoundPhase::of_frame(frame, row.phase, &row.site, 0.95));
    }
    let role = |role| rows.iter().find(move |(_, row)| row.role == role);
    let place = |phase| rows.iter().rposition(|(_, row)| row.role == FrameRole::Operation && row.phase == phase);
    let in_closure = [Phase::Backward, Phase::Forward].into_iter().filter_map(place).max();
    let operation = |phase| {
        let place = place(phase).filter(|place| phase != Phase::OptimizerStep || Some(*place) > in_closure)?;
        rows.get(place)
    };
    let enclosing = [FrameRole::Transfer, FrameRole::Enclosing, FrameRole::Handler].into_iter().find_map(role);
    let is_step = |phase| matches!(phase, Phase::Forward | Phase::Backward | Phase::OptimizerStep);
    let innermost = rows.last();
    if let Some((frame, row)) = enclosing {
        let more = innermost.filter(|(inner, _)| inner.at != frame.at).map(|(inner, _)| inner.at.clone());
        let site = innermost.filter(|(_, inner)| inner.phase == row.phase).map_or(&row.site, |(_, inner)| &inner.site);
        let mut found = FoundPhase::of_frame(frame, row.phase, site, 0.95);
        found.evidence.extend(more);
        return Some(found);
    }
    if let Some((frame, mark)) = remote.filter(|(_, mark)| !is_step(mark.phase)) {
        return Some(FoundPhase::of_frame(frame, mark.phase, &mark.site, mark.confidence.max(0.8)));
    }
    let step = [Phase::OptimizerStep, Phase::Backward, Phase::Forward].into_iter().find_map(operation);
    if let Some((frame, row)) = step {
        return Some(FoundPhase { is_operation: true, ..FoundPhase::of_frame(frame, row.phase, &row.site, 0.9) });
    }
    // Other operations, such as moving a model or gathering parameters, decide only if nothing encloses them.
    if let Some((frame, row)) = role(FrameRole::Operation) {
        return Some(FoundPhase::of_frame(frame, row.phase, &row.site, 0.8));
    }
    remote.map(|(frame, mark)| FoundPhase {
        is_operation: true,
        ..FoundPhase::of_frame(frame, mark.phase, &mark.site, mark.confidence)
    })
}

/// The phase that the message's own words tell, or a fact in it such as the operator of a compiled program.
fn of_message(event: &Event, knowledge: &Knowledge) -> Option<FoundPhase> {
    let named = event.facts.iter().filter_map(|fact| match &fact.value {
        FactValue::Text(words) => Some((words, &fact.at)),
        FactValue::Number(_) => None,
    });
    let said = std::iter::once((&event.at.text, &event.at)).chain(named);
    let marks = said.filter_map(|(words, at)| Some((knowledge.phases.line(words)?, at)));
    let found = marks.map(|(mark, at)| FoundPhase {
        phase: mark.phase,
        site: mark.site.clone(),
        confidence: mark.confidence,
        evidence: vec![at.clone()],
        is_operation: false,
    });
    found.reduce(more_confident)
}

/// The more confident of both, the first of equals.
fn more_confident(first: FoundPhase, other: FoundPhase) -> FoundPhase {
    if other.confidence > first.confidence { other } else { first }
}

/// The phase of the remote methods in a monitor's table; the largest consumer counts before the victim, because the choice of the victim
/// tells nothing.
fn of_methods(events: &[&Event], knowledge: &Knowledge) -> Option<FoundPhase> {
    let shortages = || {
        events.iter().filter_map(|event| match &event.what {
            What::Shortage(shortage) => Some((event, shortage)),
            _ => None,
        })
    };
    let method = |title: &str| knowledge.phases.method(title.split_whitespace().next().unwrap_or(title));
    let found = |mark: &crate::knowledge::Mark, at: Citation| FoundPhase {
        phase: mark.phase,
        site: mark.site.clone(),
        confidence: mark.confidence,
        evidence: vec![at],
        is_operation: false,
    };
    let consumers = shortages().flat_map(|(_, shortage)| &shortage.consumers).find_map(|consumer| {
        let at = Citation::new(consumer.source.clone(), consumer.text.clone());
        Some(found(method(consumer.role.as_deref()?)?, at))
    });
    consumers.or_else(|| {
        shortages().find_map(|(event, shortage)| {
            let mark = shortage.victims.iter().find_map(|victim| method(victim.role.as_deref()?))?;
            Some(found(mark, event.at.clone()))
        })
    })
}

/// The remote method in the head of a Ray error without its stack: `ray::Worker.update_weights()`.
fn of_remote(events: &[&Event], knowledge: &Knowledge) -> Option<FoundPhase> {
    const NEAR: u64 = 3;
    let heads = |event: &&Event| {
        let line = event.at.location.line.0;
        let above = |cite: &&Citation| line.saturating_sub(cite.location.line.0) <= NEAR && cite.location.line.0 < line;
        let above: Vec<Citation> = event.context.recent.iter().rev().filter(above).cloned().collect();
        std::iter::once(event.at.clone()).chain(above)
    };
    events.iter().copied().flat_map(|event| heads(&event)).find_map(|at| {
        let (_, behind) = at.text.split_once("ray::")?;
        let (title, _) = behind.split_once('(')?;
        let mark = knowledge.phases.method(title)?;
        Some(FoundPhase {
            phase: mark.phase,
            site: mark.site.clone(),
            confidence: mark.confidence,
            evidence: vec![at],
            is_operation: false,
        })
    })
}

/// The last mark of a phase before the failure: the process's own, else any process's; for a kernel's message, which stands in another log,
/// the last mark of the job's log.
fn last_mark<'a>(case: &'a Case, group: &Group, events: &[&'a Event]) -> Option<&'a PhaseMark> {
    // Where its own mark says only what is over, another process may have said since what came next.
    let of = |event: &&'a Event| {
        let (own, any) = (event.context.own.as_ref(), event.context.any.as_ref());
        own.filter(|own| !own.ended).or(any.filter(|any| !any.ended)).or(own).or(any)
    };
    let own = events.iter().find_map(of);
    let at_the_end = case.endings.iter().rev().find_map(|(_, ending)| ending.any.as_ref());
    let is_over =
        |event: &Event, mark: &PhaseMark| event.at.location.is_before(&mark.at.location) && case.went_on(event);
    match group.kind {
        Kind::HostOomCgroup | Kind::HostOomKernel | Kind::HostOomUserspace => at_the_end.or(own),
        // Others than the process that died tell it, sooner or later.
        Kind::HostOomRay | Kind::SigkillUnattributed => own.or(at_the_end),
        // What the job did after it went on, it did in spite of the failure.
        _ => own.or_else(|| at_the_end.filter(|mark| !events.iter().any(|event| is_over(event, mark)))),
    }
}

fn of_mark(mark: &PhaseMark) -> FoundPhase {
    let PhaseMark { phase, site, confidence, at, .. } = mark.clone();
    FoundPhase { phase, site, confidence, evidence: vec![at], is_operation: false }
}
