//! The content of a report in the order common to all pages; a writer decides how each item looks.

use super::details::{consumers_by_role, describe_job};
use super::device::call_device;
use super::lead::Lead;
use super::phrases::{others, standing};
use super::ranks;
use super::selection::{self, numbered, proposed, telling};
use super::snapshot;
use super::wording::{self, Labels, Topic};
use crate::diagnosis::UNKNOWN;
use crate::knowledge::Language;
use crate::model::{
    Call, Citation, Consumer, Diagnosis, End, Figure, Incident, InputSummary, Job, NotAdvised, Patch, Report,
};

/// The most items of each kind on a page; the rest is only counted.
pub(super) struct Limits {
    /// Causes other than the first.
    pub other_causes: usize,
    /// Citations that support a cause.
    pub evidence: usize,
    /// Figures.
    pub figures: usize,
    /// Holders of memory.
    pub holders: usize,
    /// Sums of memory.
    pub sums: usize,
    /// Calls of the stack.
    pub calls: usize,
    /// Memory snapshots.
    pub snapshots: usize,
    /// Lines of the program per memory snapshot.
    pub snapshot_lines: usize,
    /// Ends of processes.
    pub ends: usize,
    /// Rows of the grid of ranks.
    pub nodes: usize,
    /// Changes that are not advised.
    pub useless: usize,
    /// Citations that prove the incident.
    pub proof: usize,
    /// Incidents that only followed.
    pub followers: usize,
    /// Hints what to record next time.
    pub hints: usize,
    /// Inputs.
    pub inputs: usize,
}

impl Limits {
    /// About a screen.
    pub const SCREEN: Limits = Limits {
        other_causes: 2,
        evidence: 1,
        figures: 4,
        holders: 2,
        sums: 2,
        calls: 4,
        snapshots: 1,
        snapshot_lines: 5,
        ends: 4,
        nodes: 8,
        useless: 1,
        proof: 1,
        followers: 2,
        hints: 1,
        inputs: 0,
    };
    /// Everything that a person may want.
    pub const FULL: Limits = Limits {
        other_causes: 4,
        evidence: 4,
        figures: 16,
        holders: 8,
        sums: 8,
        calls: 16,
        snapshots: 8,
        snapshot_lines: 16,
        ends: 16,
        nodes: usize::MAX,
        useless: 8,
        proof: 8,
        followers: 8,
        hints: 8,
        inputs: 16,
    };
}

/// A page.
pub(super) struct Outline<'a> {
    /// The first three lines.
    pub lead: Lead<'a>,
    /// The sections below, in order; none is empty.
    pub sections: Vec<Section<'a>>,
    /// Whether items were left out.
    pub is_cut: bool,
}

/// A section with its heading.
pub(super) struct Section<'a> {
    /// The section's topic.
    pub topic: Topic,
    /// Its heading.
    pub heading: &'static str,
    /// Its lines.
    pub items: Vec<Item<'a>>,
}

/// One item of a section.
pub(super) enum Item<'a> {
    Words(String),
    Cause(&'a Diagnosis),
    OtherCause(&'a Diagnosis),
    Cite(&'a Citation),
    /// A figure and what it is.
    Figure(&'a Figure, String),
    Holders(Vec<&'a Consumer>),
    Patch {
        number: usize,
        patch: &'a Patch,
        is_proposed: bool,
    },
    Useless(&'a NotAdvised),
    Call(&'a Call),
    End(&'a End),
    /// Another incident, and how it stands to the first: `followed`.
    Follower(&'a Incident, &'static str),
    Input(&'a InputSummary),
    Rest(String),
}

/// Whether the cause is so certain that recording more would not change it.
fn is_sure(root: &Incident) -> bool {
    const SURE: f64 = 0.9;
    root.diagnoses.first().is_some_and(|first| &*first.cause != UNKNOWN && first.confidence >= SURE)
}

impl<'a> Outline<'a> {
    /// The outline of `report` in `language`, within `limits`.
    pub fn of(report: &'a Report, language: Language, limits: &Limits) -> Outline<'a> {
        let labels = wording::labels(language);
        let mut outline = Outline { lead: Lead::of(report, language), sections: Vec::new(), is_cut: false };
        match (report.subject(), &report.other_failure) {
            (Some(root), _) => {
                outline.changes(root, language);
                outline.job(root, &report.job, language);
                outline.why(root, labels, limits);
                outline.numbers(root, language, limits);
                outline.snapshots(report, language, limits);
                outline.collapse(report, labels, limits);
                outline.ranks(report, language, limits);
                outline.list(Topic::Proof, labels.proof, root.evidence.iter().map(Item::Cite), limits.proof, labels);
                let useless = root.diagnoses.iter().take(1).flat_map(|first| &first.not_advised).map(Item::Useless);
                outline.list(Topic::Useless, labels.useless, useless, limits.useless, labels);
                // If the cause is certain, nothing needs to be recorded.
                let hints = root.capture_next.iter().filter(|_| !is_sure(root)).map(|hint| Item::Words(hint.clone()));
                outline.list(Topic::NextTime, labels.next_time, hints, limits.hints, labels);
            }
            (None, Some(failure)) => {
                outline.snapshots(report, language, limits);
                outline.collapse(report, labels, limits);
                outline.ranks(report, language, limits);
                let proof = failure.evidence.iter().map(Item::Cite);
                outline.list(Topic::Proof, labels.proof, proof, limits.proof.max(3), labels);
            }
            (None, None) => {
                outline.snapshots(report, language, limits);
                outline.ranks(report, language, limits);
            }
        }
        outline.list(
            Topic::Also,
            labels.also,
            others(report).iter().map(|other| Item::Follower(other, standing(other, report, language))),
            limits.followers,
            labels,
        );
        outline.inputs(report, labels, limits);
        outline
    }

    fn add(&mut self, topic: Topic, heading: &'static str, items: Vec<Item<'a>>) {
        if !items.is_empty() {
            self.sections.push(Section { topic, heading, items });
        }
    }

    /// Adds a section with at most `most` of `items`; the rest is counted.
    fn list(
        &mut self,
        topic: Topic,
        heading: &'static str,
        items: impl Iterator<Item = Item<'a>>,
        most: usize,
        labels: &Labels,
    ) {
        let mut items: Vec<Item> = items.collect();
        let rest = items.len().saturating_sub(most);
        items.truncate(most);
        self.is_cut |= rest > 0;
        if rest > 0 && most > 1 {
            items.push(Item::Rest((labels.more)(rest)));
        }
        self.add(topic, heading, items);
    }

    fn changes(&mut self, root: &'a Incident, language: Language) {
        let labels = wording::labels(language);
        let count = proposed(root).len();
        let patch = |(number, patch)| Item::Patch { number, patch, is_proposed: number <= count };
        let items = (1..).zip(numbered(root)).map(patch).collect();
        let is_known = root.diagnoses.first().is_some_and(|diagnosis| &*diagnosis.cause != UNKNOWN);
        self.add(Topic::Changes, if is_known { labels.change } else { labels.first_steps }, items);
    }

    fn job(&mut self, root: &'a Incident, job: &Job, language: Language) {
        let labels = wording::labels(language);
        let failed_at = root.failed_at.as_deref().map(|time| wording::moment(time, language));
        let facts: Vec<String> = describe_job(job, labels).into_iter().chain(failed_at).collect();
        let facts = (!facts.is_empty()).then(|| facts.join(" · "));
        let seen = (root.seen.count > 0).then(|| (labels.seen)(&root.seen));
        let earlier = root.seen.earlier.iter().map(labels.earlier);
        self.add(Topic::Job, labels.job, facts.into_iter().chain(seen).chain(earlier).map(Item::Words).collect());
    }

    fn why(&mut self, root: &'a Incident, labels: &'static Labels, limits: &Limits) {
        let telling = telling(&root.diagnoses);
        let Some((first, others)) = telling.split_first() else { return };
        let cites: Vec<&Citation> = first.evidence.iter().chain(&root.phase.evidence).collect();
        self.is_cut |= cites.len() > limits.evidence;
        let mut items = vec![Item::Cause(first)];
        let mut shown: Vec<&Citation> = Vec::new();
        for cite in cites {
            if shown.len() < limits.evidence && !shown.contains(&cite) {
                shown.push(cite);
            }
        }
        items.extend(shown.into_iter().map(Item::Cite));
        for other in others.iter().take(limits.other_causes) {
            items.push(Item::OtherCause(other));
            let evidence = other.evidence.iter().take(limits.evidence.saturating_sub(2));
            items.extend(evidence.map(Item::Cite));
        }
        self.add(Topic::Why, labels.why, items);
    }

    fn numbers(&mut self, root: &'a Incident, language: Language, limits: &Limits) {
        let labels = wording::labels(language);
        let meaning = |figure: &Figure| call_device(wording::figure(figure.name, language), root);
        let figures = selection::figures(&root.figures).into_iter().map(|figure| Item::Figure(figure, meaning(figure)));
        self.list(Topic::Figures, labels.figures, figures, limits.figures, labels);
        let holders = consumers_by_role(root.holders()).into_iter().map(Item::Holders);
        self.list(Topic::Holders, labels.holders, holders, limits.holders, labels);
        let sums = root.memory.explains.iter().flat_map(|words| words.lines()).map(|line| Item::Words(line.to_owned()));
        self.list(Topic::Arithmetic, labels.arithmetic, sums, limits.sums, labels);
    }

    /// Adds a section on the memory snapshots.
    fn snapshots(&mut self, report: &'a Report, language: Language, limits: &Limits) {
        let labels = wording::labels(language);
        let snapshots = snapshot::ordered(report);
        let rest = snapshots.len().saturating_sub(limits.snapshots);
        let everything = limits.snapshot_lines > Limits::SCREEN.snapshot_lines;
        let told = snapshots.iter().take(limits.snapshots);
        let told = told.flat_map(|shown| snapshot::lines(shown, language, limits.snapshot_lines, everything));
        let mut items: Vec<Item> = told.map(Item::Words).collect();
        if rest > 0 {
            items.push(Item::Rest((labels.more)(rest)));
        }
        self.is_cut |= !items.is_empty() && !everything;
        self.add(Topic::Snapshot, snapshot::words(language).heading, items);
    }

    /// Adds the stack of the failed call, and how the processes ended unless it was a single one, which the lead names.
    fn collapse(&mut self, report: &'a Report, labels: &'static Labels, limits: &Limits) {
        let calls = &report.failure.stack;
        // The innermost calls are the most informative.
        let hidden = calls.len().saturating_sub(limits.calls);
        self.is_cut |= hidden > 0;
        self.add(Topic::Stack, labels.stack, calls.iter().skip(hidden).map(Item::Call).collect());
        let ends = &report.failure.sequence;
        if ends.len() > 1 || ends.first().is_some_and(|end| end.count > 1) {
            self.list(Topic::Ends, labels.ends, ends.iter().map(Item::End), limits.ends, labels);
        }
    }

    /// Adds the grid of ranks of a large job.
    fn ranks(&mut self, report: &Report, language: Language, limits: &Limits) {
        let Some(known) = report.ranks.as_ref().filter(|known| ranks::is_telling(known)) else { return };
        let (lines, is_cut) = ranks::lines(report, known, language, limits.nodes);
        self.is_cut |= is_cut;
        self.add(Topic::Ranks, ranks::words(language).heading, lines.into_iter().map(Item::Words).collect());
    }

    fn inputs(&mut self, report: &'a Report, labels: &'static Labels, limits: &Limits) {
        let inputs = &report.inputs;
        let (warned, plain): (Vec<_>, Vec<_>) = inputs.iter().partition(|input| input.warning.is_some());
        let rest = plain.len().saturating_sub(limits.inputs);
        let mut items: Vec<Item> = plain.into_iter().take(limits.inputs).chain(warned).map(Item::Input).collect();
        if rest > 0 && limits.inputs > 0 {
            items.push(Item::Rest((labels.more)(rest)));
        }
        let nodes = report.nodes.iter().map(|nodes| Item::Words((labels.nodes)(nodes)));
        self.add(Topic::Read, labels.read, nodes.chain(items).collect());
    }
}
