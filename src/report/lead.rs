//! The first three lines of a report: what ran out, why, and what to do now. They must suffice for readers who stop
//! there.

use super::device::call_device;
use super::next_steps::next_step;
use super::phrases::{amount, describe, effects, title, together};
use super::selection::{change, proposed, telling};
use super::wording::{self, Amounts, Labels};
use crate::diagnosis::UNKNOWN;
use crate::knowledge::Language;
use crate::model::{Diagnosis, FigureName, Incident, Kind, Report};

/// The lead of a report.
pub(super) struct Lead<'a> {
    /// What ran out, in which phase, for which process, and how much was missing.
    pub what: String,
    /// The sentence that the incident is accepted, if it is.
    pub ignored: Option<String>,
    /// The likeliest cause.
    pub why: Option<&'a Diagnosis>,
    /// What to do now.
    pub action: Option<Action>,
}

/// What to do now.
pub(super) enum Action {
    /// Make this change.
    Change(String),
    /// Try this change, which helps most often: the cause is uncertain.
    Try(String),
    /// Make this change if it happens again: the job went on.
    IfAgain(String),
    /// Record this next time, so that the cause can be told.
    Record(String),
    /// Look here: it was not memory.
    Look(String),
}

impl Action {
    /// Whether its text is a sentence rather than something to type.
    pub fn is_hint(&self) -> bool {
        matches!(self, Action::Record(_) | Action::Look(_))
    }

    /// The label of the action, and its text.
    pub fn labelled(&self, labels: &Labels) -> (&'static str, &str) {
        match self {
            Action::Change(words) => (labels.action, words),
            Action::Try(words) => (labels.attempt, words),
            Action::IfAgain(words) => (labels.if_again, words),
            Action::Record(words) => (labels.record, words),
            Action::Look(words) => (labels.look, words),
        }
    }
}

impl Lead<'_> {
    /// The lead of `report`, in `language`.
    pub fn of(report: &Report, language: Language) -> Lead<'_> {
        let Some(root) = report.subject() else {
            let next = report.other_failure.as_ref().and_then(|failure| next_step(failure.name, language));
            let action = next.map(|words| Action::Look(words.to_owned()));
            return Lead { what: title(report, language), ignored: None, why: None, action };
        };
        Lead {
            what: what(root, language),
            ignored: root.ignored.as_ref().map(wording::labels(language).ignored),
            why: telling(&root.diagnoses).first().copied(),
            action: action(root, language),
        }
    }

    /// What happened and why, in a sentence.
    pub fn summary(&self, language: Language) -> String {
        let Lead { what, why, .. } = self;
        why.map_or_else(|| what.clone(), |why| (wording::labels(language).summary)(what, &why.title, why.confidence))
    }
}

/// `GPU out of memory in the backward pass: rank 3, GPU 3; 2.00 GiB requested, 1.10 GiB of 79.15 GiB free`
fn what(root: &Incident, language: Language) -> String {
    let labels = wording::labels(language);
    let phase = Some(&root.phase).filter(|phase| phase.is_likely());
    let during = phase.map(|phase| wording::during_at(phase, language)).unwrap_or_default();
    let others = root.victims.len().saturating_sub(1);
    let others = if others > 0 { (labels.others)(others) } else { String::new() };
    let victim = (!root.victim.is_unknown()).then(|| format!("{}{others}", describe(&root.victim, language)));
    let recovered = if root.recovered { labels.and_went_on } else { "" };
    let details: Vec<String> = victim.into_iter().chain(amounts(root, language)).collect();
    // The phase goes behind `Host out of memory`, before what killed the process.
    let headline = wording::headline(root.kind, language);
    let (ran_out, how) = headline.split_at(headline.find([':', ',', '：', '，']).unwrap_or(headline.len()));
    call_device(&(labels.headline)(&format!("{ran_out}{during}{how}{recovered}"), &details), root)
}

/// The amounts that the log states: what was requested and what was available.
fn amounts(root: &Incident, language: Language) -> Option<String> {
    use FigureName::{
        AnonRss, GpuFree, GpuTotal, KvCacheAvailable, MemcgLimit, NodeTotal, NodeUsed, ProcessInUse, Requested,
    };
    let said = |name| amount(root.figures.iter().find(|figure| figure.name == name)?);
    // A GPU's capacity says nothing about what ran out on the host.
    let of_gpu = |name| said(name).filter(|_| root.kind == Kind::GpuOom);
    let (requested, free, total) = (said(Requested), of_gpu(GpuFree), of_gpu(GpuTotal));
    let amounts = match (requested, free, total) {
        (Some(requested), free, total) => Amounts::Requested { requested, free, total },
        (None, _, Some(total)) if said(ProcessInUse).is_some() => {
            Amounts::InUse { used: said(ProcessInUse).unwrap_or_default(), total }
        }
        (None, _, None) if said(NodeUsed).is_some() => {
            Amounts::InUse { used: said(NodeUsed).unwrap_or_default(), total: said(NodeTotal)? }
        }
        _ => match (said(MemcgLimit), said(AnonRss), said(KvCacheAvailable)) {
            (Some(limit), _, _) => Amounts::Limit { limit },
            (None, Some(held), _) => Amounts::Held { held },
            (None, None, Some(room)) => Amounts::Room { room },
            (None, None, None) => return None,
        },
    };
    Some(wording::amounts(&amounts, language))
}

fn action(root: &Incident, language: Language) -> Option<Action> {
    let labels = wording::labels(language);
    let proposed = proposed(root);
    let changes: Vec<String> = proposed.iter().map(|patch| change(patch)).collect();
    if changes.is_empty() {
        return root.capture_next.first().cloned().map(Action::Record);
    }
    let effect = match proposed.as_slice() {
        [patch] => effects(patch, language),
        _ => together(root, language),
    };
    let effect = effect.map(|effect| format!(" ({effect})")).unwrap_or_default();
    let words = format!("{}{effect}", changes.join(labels.and));
    let is_known = root.diagnoses.first().is_some_and(|diagnosis| &*diagnosis.cause != UNKNOWN);
    Some(match (root.recovered, is_known) {
        (true, _) => Action::IfAgain(words),
        (false, true) => Action::Change(words),
        (false, false) => Action::Try(words),
    })
}

/// The summary of `report` in `language`.
pub(super) fn summary(report: &Report, language: Language) -> String {
    Lead::of(report, language).summary(language)
}
