use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::{OutcomeSummary, Record, State, Verdict, cluster};
use crate::knowledge::{Language, title_in, titles};
use crate::model::{Bytes, Diagnosis, FigureName, Kind, Phase, TimeSource};

/// The summary of an incident that lists show.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// Its id.
    pub id: String,
    /// Its group.
    pub group: String,
    /// When it happened, as RFC 3339.
    pub time: String,
    /// What the time was derived from; absent if the failing line itself says it.
    #[serde(default)]
    pub time_derived: Option<TimeSource>,
    /// When it was first stored.
    pub saved: String,
    /// What ran out.
    pub kind: Kind,
    /// In which phase.
    pub phase: Phase,
    /// The likeliest cause.
    pub cause: String,
    /// The cause in a few words.
    pub title: String,
    /// Confidence in the cause, 0–1.
    pub confidence: f64,
    /// Whether the job went on.
    pub recovered: bool,
    /// The job's framework.
    pub framework: Option<String>,
    /// Its model.
    pub model: Option<String>,
    /// Its accelerator.
    pub gpu: Option<String>,
    /// The node where it happened.
    pub host: Option<String>,
    /// The role of the victim process.
    pub role: Option<String>,
    /// The innermost known place in the code.
    pub site: Option<String>,
    /// Size of the allocation that failed.
    pub requested: Option<Bytes>,
    /// Host memory in use on the node.
    pub node_used: Option<Bytes>,
    /// The files that the analysis read.
    pub inputs: Vec<String>,
    /// Whether a change made it go away; absent if nobody reported.
    pub worked: Option<bool>,
    /// The change that did, or the last one that was tried.
    #[serde(default)]
    pub change: Option<String>,
    /// The job's name, as people gave it.
    #[serde(default)]
    pub job: Option<String>,
    /// Tags that people gave it.
    #[serde(default)]
    pub tags: Vec<String>,
    /// The cluster of the node where it happened (see `cluster`).
    #[serde(default)]
    pub cluster: Option<String>,
    /// The person who looks after it.
    #[serde(default)]
    pub assignee: Option<String>,
    /// Whether anybody still has to look at it.
    #[serde(default)]
    pub state: State,
    /// Who said so last and when, if anybody did.
    #[serde(default)]
    pub verdict: Option<Verdict>,
}

impl Document {
    /// The summary of `record`, given the outcomes reported for it.
    pub fn new(record: &Record, told: Option<&OutcomeSummary>) -> Document {
        let (incident, job) = (&record.incident, &record.job);
        let first = incident.diagnoses.first();
        let bytes = |name| record.figure(name).map(|bytes| Bytes(bytes as i128));
        let verdict = record.annotations.verdict(told);
        Document {
            id: incident.id.clone(),
            group: record.group(),
            time: record.time.clone(),
            time_derived: incident.when.as_ref().and_then(|when| when.derived),
            saved: record.saved.clone(),
            kind: incident.kind,
            phase: incident.phase.name,
            cause: record.cause().to_owned(),
            title: first.map(|diagnosis| diagnosis.title.clone()).unwrap_or_default(),
            confidence: first.map_or(0.0, |diagnosis| diagnosis.confidence),
            recovered: incident.recovered,
            framework: job.framework.clone(),
            model: job.model.clone(),
            gpu: job.gpu.clone(),
            host: incident.victim.host.as_deref().map(str::to_owned),
            role: incident.victim.role.as_deref().map(str::to_owned),
            site: incident.phase.site.clone(),
            requested: bytes(FigureName::Requested),
            node_used: bytes(FigureName::NodeUsed),
            inputs: record.inputs.iter().map(|input| input.path.to_string()).collect(),
            worked: told.map(|told| told.worked),
            change: told.map(|told| told.change.clone()),
            job: record.annotations.job.clone(),
            tags: record.annotations.tags.clone(),
            cluster: record.cluster(),
            assignee: record.annotations.assignee.clone(),
            state: State::of(verdict.as_ref()),
            verdict,
        }
    }
}

impl Document {
    /// Translates the title.
    pub fn in_language(mut self, language: Language) -> Document {
        self.title = title_in(&self.cause, &self.title, language).to_owned();
        self
    }
}

impl Record {
    /// The cluster of the node where it happened, if known.
    pub fn cluster(&self) -> Option<String> {
        self.incident.victim.host.as_deref().map(cluster)
    }

    /// All text that full-text search covers.
    pub fn text(&self) -> String {
        let Record { incident, job, inputs, annotations, .. } = self;
        let mut parts: Vec<&str> = vec![incident.kind.as_str(), incident.phase.name.as_str()];
        parts.extend(incident.phase.site.as_deref());
        parts.extend([&job.framework, &job.model, &job.gpu].into_iter().flatten().map(String::as_str));
        parts.extend(incident.victim.host.as_deref());
        parts.extend(incident.victim.role.as_deref());
        for diagnosis in likely(&incident.diagnoses) {
            parts.extend([&*diagnosis.cause, &diagnosis.title, &diagnosis.why]);
            // People who read another language search for that language's words.
            let titles = titles(&diagnosis.cause).filter(|words| [&words.en, &words.zh].contains(&&diagnosis.title));
            parts.extend(titles.into_iter().flat_map(|words| [&*words.en, &*words.zh]));
            parts.extend(diagnosis.evidence.iter().map(|cite| cite.text.as_str()));
            parts.extend(diagnosis.patches.iter().map(|patch| patch.knob.as_str()));
        }
        let cites = incident.evidence.iter().chain(&incident.phase.evidence);
        parts.extend(cites.map(|cite| cite.text.as_str()));
        parts.extend(inputs.iter().map(|input| &*input.path));
        parts.extend(incident.fingerprint.parts.iter().map(String::as_str));
        parts.extend(annotations.job.iter().chain(&annotations.tags).map(String::as_str));
        parts.extend(annotations.notes.iter().map(|note| note.text.as_str()));
        // The same line may support several findings; index its words once.
        let mut seen = HashSet::new();
        parts.retain(|part| seen.insert(*part));
        parts.join("\n")
    }
}

/// The first of `diagnoses`, which is the likeliest, and those others that are likely enough: an unlikely cause is not what
/// an incident is about.
pub(super) fn likely(diagnoses: &[Diagnosis]) -> impl Iterator<Item = &Diagnosis> {
    const LIKELY: f64 = 0.1;
    let is_likely = |(place, diagnosis): &(usize, &Diagnosis)| *place == 0 || diagnosis.confidence >= LIKELY;
    diagnoses.iter().enumerate().filter(is_likely).map(|(_, diagnosis)| diagnosis)
}
