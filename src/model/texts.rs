//! The texts of a report that come from its inputs, which may contain secrets or harmful characters. Every field is named here, so that a
//! new one cannot be forgotten; the fields that are skipped are numbers, digests and names of our own, which no redaction rule may change.

use std::sync::Arc;

use super::{
    Allocation, Call, Change, Citation, ClockSkew, Collapse, Consumer, Derivation, Diagnosis, Earlier, End, Figure,
    Fingerprint, Ignored, Incident, InputSummary, Job, LineUse, Location, Memory, Nodes, NotAdvised, OtherFailure,
    Outlier, Partner, Patch, PhaseFinding, Ranks, Report, Scalar, Seen, Snapshot, TimelinePoint, TraceEvent, Victim,
};

/// A text of a report.
pub enum Text<'a> {
    /// A single line.
    Own(&'a mut String),
    /// Several lines.
    Lines(&'a mut String),
    /// A text that may stand in several places.
    Shared(&'a mut Arc<str>),
    /// A part of a line of an input.
    Cited {
        /// Where it stands.
        location: &'a mut Location,
        /// The text.
        words: &'a mut String,
        /// Whether it is no longer verbatim, if the type records that.
        redacted: Option<&'a mut bool>,
    },
}

/// A value that contains texts from inputs.
pub trait Texts {
    /// Calls `see` with each text.
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>));
}

impl<T: Texts> Texts for Vec<T> {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        self.iter_mut().for_each(|item| item.texts(see));
    }
}

impl<T: Texts> Texts for Option<T> {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        self.iter_mut().for_each(|item| item.texts(see));
    }
}

impl Texts for String {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        see(Text::Own(self));
    }
}

impl Texts for Arc<str> {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        see(Text::Shared(self));
    }
}

impl Texts for Report {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let Report {
            schema: _,
            version: _,
            verdict: _,
            inputs,
            job,
            incidents,
            other_failure,
            failure,
            summary,
            snapshots,
            neighbours,
            nodes,
            ranks,
        } = self;
        snapshots.texts(see);
        inputs.texts(see);
        failure.texts(see);
        summary.texts(see);
        job.texts(see);
        incidents.texts(see);
        other_failure.texts(see);
        neighbours.texts(see);
        nodes.texts(see);
        ranks.texts(see);
    }
}

impl Texts for Nodes {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let Nodes { count: _, unanswered, clocks } = self;
        unanswered.texts(see);
        clocks.iter_mut().for_each(|ClockSkew { node, seconds: _ }| node.texts(see));
    }
}

impl Texts for Ranks {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let Ranks { count: _, first: _, began, states: _, figure: _, nodes, rows: _, outliers } = self;
        began.texts(see);
        nodes.texts(see);
        for Outlier { ranks: _, node, figure: _, bytes: _, median: _, words } in outliers {
            node.texts(see);
            words.texts(see);
        }
    }
}

impl Texts for Snapshot {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let Snapshot {
            path,
            device: _,
            moment: _,
            in_use: _,
            reserved: _,
            peak: _,
            refused,
            categories: _,
            lines,
            largest,
            unused: _,
            segments: _,
            segments_count: _,
            history: _,
            events_count: _,
            last_events,
            settings,
        } = self;
        path.texts(see);
        refused.iter_mut().for_each(|refused| refused.stack.texts(see));
        lines.texts(see);
        largest.texts(see);
        last_events.texts(see);
        settings.texts(see);
    }
}

impl Texts for LineUse {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let LineUse { file, file_line: _, function, is_own: _, category: _, bytes: _, count: _ } = self;
        [file, function].into_iter().for_each(|text| text.texts(see));
    }
}

impl Texts for Allocation {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let Allocation { bytes: _, count: _, category: _, stack } = self;
        stack.texts(see);
    }
}

impl Texts for TraceEvent {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let TraceEvent { action: _, bytes: _, seconds_before: _, line } = self;
        line.texts(see);
    }
}

impl Texts for InputSummary {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let InputSummary { path, role: _, bytes: _, lines: _, producers: _, warning } = self;
        path.texts(see);
        warning.texts(see);
    }
}

impl Texts for Job {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let Job {
            framework: _,
            framework_version,
            framework_version_at_most: _,
            model,
            parameters: _,
            world_size: _,
            gpu,
            config_digest: _,
            versions: _,
        } = self;
        [framework_version, model, gpu].into_iter().for_each(|text| text.texts(see));
    }
}

impl Texts for OtherFailure {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let OtherFailure { name: _, evidence } = self;
        evidence.texts(see);
    }
}

impl Texts for Citation {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let Citation { location, text, redacted } = self;
        see(Text::Cited { location, words: text, redacted: Some(redacted) });
    }
}

impl Texts for Incident {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let Incident {
            id: _,
            fingerprint: Fingerprint { version: _, key: _, parts },
            kind: _,
            basis: _,
            recovered: _,
            started,
            failed_at,
            when: _,
            phase: PhaseFinding { name: _, site, confidence: _, evidence: phase_evidence, basis: _, alternatives: _ },
            victim,
            victims,
            consumers,
            figures,
            timeline,
            memory: Memory { predicted, observed, explains },
            evidence,
            diagnoses,
            not_checked,
            capture_next,
            seen: Seen { count: _, first: _, last: _, worked, earlier },
            ignored,
        } = self;
        parts.texts(see);
        explains.iter_mut().for_each(|lines| see(Text::Lines(lines)));
        [started, failed_at, site].into_iter().for_each(|text| text.texts(see));
        phase_evidence.texts(see);
        victim.texts(see);
        victims.texts(see);
        consumers.texts(see);
        [figures, predicted, observed].into_iter().for_each(|figures| figures.texts(see));
        timeline.texts(see);
        evidence.texts(see);
        diagnoses.texts(see);
        [not_checked, capture_next, worked].into_iter().for_each(|texts| texts.texts(see));
        earlier.texts(see);
        ignored.texts(see);
    }
}

impl Texts for Ignored {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let Ignored { reason, until: _, by } = self;
        [reason, by].into_iter().for_each(|text| text.texts(see));
    }
}

impl Texts for Collapse {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let Collapse { stack, sequence } = self;
        stack.texts(see);
        sequence.texts(see);
    }
}

impl Texts for Call {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let Call { file, file_line: _, function, code, is_own: _, folded_before: _, source } = self;
        [file, function, code].into_iter().for_each(|text| text.texts(see));
        source.texts(see);
    }
}

impl Texts for End {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let End { ending: _, processes, count: _, time, seconds_after: _, source } = self;
        processes.texts(see);
        time.texts(see);
        source.texts(see);
    }
}

impl Texts for Victim {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let Victim { host, rank: _, device: _, pid: _, role } = self;
        [host, role].into_iter().for_each(|text| text.texts(see));
    }
}

impl Texts for Consumer {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let Consumer { pid: _, role, bytes: _, source, text } = self;
        role.texts(see);
        see(Text::Cited { location: source, words: text, redacted: None });
    }
}

impl Texts for Figure {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let Figure { name: _, bytes: _, value: _, text, source, derived } = self;
        see(Text::Cited { location: source, words: text, redacted: None });
        if let Some(Derivation { formula, from }) = derived {
            formula.texts(see);
            from.texts(see);
        }
    }
}

impl Texts for TimelinePoint {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let TimelinePoint { series, time, phase: _, name: _, bytes: _, source, text } = self;
        series.texts(see);
        time.texts(see);
        see(Text::Cited { location: source, words: text, redacted: None });
    }
}

impl Texts for Diagnosis {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let Diagnosis {
            cause: _,
            rule: _,
            confidence: _,
            title,
            why,
            evidence,
            basis: _,
            patches,
            set: _,
            not_advised,
            outcomes: _,
        } = self;
        [title, why].into_iter().for_each(|text| text.texts(see));
        evidence.texts(see);
        patches.texts(see);
        not_advised.texts(see);
    }
}

impl Texts for Patch {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let Patch {
            lever: _,
            knob: _,
            from,
            to,
            change,
            with,
            target: _,
            file,
            diff,
            line,
            edits,
            effect: _,
            needs: _,
            suffices: _,
            cost,
            constraint,
            note,
            outcomes: _,
        } = self;
        // Edits are not stored or sent.
        edits.clear();
        to.texts(see);
        change.texts(see);
        with.texts(see);
        [diff, line].into_iter().flatten().for_each(|lines| see(Text::Lines(lines)));
        [from, file, cost, constraint, note].into_iter().for_each(|text| text.texts(see));
    }
}

impl Texts for Scalar {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        match self {
            Scalar::Text(words) => words.texts(see),
            Scalar::Flag(_) | Scalar::Integer(_) | Scalar::Number(_) => {}
        }
    }
}

impl Texts for Change {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        match self {
            Change::AtLeast(amount) => amount.texts(see),
            Change::Times(_) | Change::Add(_) => {}
        }
    }
}

impl Texts for Partner {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let Partner { knob: _, to } = self;
        to.texts(see);
    }
}

impl Texts for NotAdvised {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let NotAdvised { knob: _, why } = self;
        why.texts(see);
    }
}

impl Texts for Earlier {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let Earlier { id: _, time: _, title, likeness: _, worked } = self;
        title.texts(see);
        worked.texts(see);
    }
}
