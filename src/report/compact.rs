//! The report in at most four thousand bytes, for assistants and pipelines with a limited context.

use serde::Serialize;

use super::selection::{figures, proposed, telling};
use super::snapshot::ordered;
use crate::model::{
    Bytes, CategoryUse, Change, Citation, Diagnosis, End, Ending, Figure, FigureName, Ignored, Kind, OtherFailureName,
    Patch, PatchEffect, Phase, Report, Scalar, Snapshot, Victim,
};

/// The longest answer, in bytes.
const MOST: usize = 4000;
/// The longest cited text, in characters.
const WORDS: usize = 200;
/// The longest text of a figure, in characters.
const FIGURE: usize = 80;
/// The longest summary, in characters.
const SUMMARY: usize = 500;
const CAUSES: usize = 3;
const CITES: usize = 2;
const FIGURES: usize = 6;
const ENDS: usize = 4;
const CATEGORIES: usize = 4;

/// What is left of a report; every field means what it means there.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Compact<'a> {
    schema: &'static str,
    verdict: Kind,
    summary: String,
    id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ignored: Option<Ignored>,
    other_failure: Option<OtherFailureName>,
    phase: Option<PhaseOnly>,
    victim: Option<&'a Victim>,
    causes: Vec<Cause<'a>>,
    patch: Option<Step<'a>>,
    evidence: Vec<Cite>,
    figures: Vec<Amount>,
    sequence: Vec<EndOnly>,
    #[serde(skip_serializing_if = "Option::is_none")]
    snapshot: Option<SnapshotOnly<'a>>,
}

/// The memory snapshot of the device that ran out.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct SnapshotOnly<'a> {
    path: String,
    device: u32,
    in_use: Bytes,
    reserved: Bytes,
    categories: Vec<CategoryOnly<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct CategoryOnly<'a> {
    name: &'a str,
    bytes: Bytes,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct PhaseOnly {
    name: Phase,
    confidence: f64,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Cause<'a> {
    cause: &'a str,
    confidence: f64,
    title: String,
    evidence: Vec<Cite>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Step<'a> {
    lever: &'a str,
    knob: &'a str,
    from: Option<&'a str>,
    to: Option<&'a Scalar>,
    change: Option<&'a Change>,
    file: Option<&'a str>,
    diff: Option<&'a str>,
    line: Option<&'a str>,
    effect: &'a PatchEffect,
}

/// Words of an input, and where they stand.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cite {
    path: String,
    line: u64,
    text: String,
}

impl Cite {
    /// `cite` with its text cut to [`WORDS`] characters.
    pub fn of(cite: &Citation) -> Cite {
        let text = cite.text.chars().take(WORDS).collect();
        Cite { path: cite.location.path.to_string(), line: cite.location.line.0, text }
    }
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Amount {
    name: FigureName,
    bytes: Option<Bytes>,
    value: Option<f64>,
    path: String,
    line: u64,
    text: String,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct EndOnly {
    #[serde(flatten)]
    ending: Ending,
    count: usize,
    ranks: Vec<u32>,
    time: Option<String>,
}

/// As one line of JSON of at most 4,000 bytes.
pub fn compact(report: &Report) -> Result<String, serde_json::Error> {
    serde_json::to_string(&compacted(report, MOST)?)
}

/// `report` in at most `most` bytes of JSON; the least important parts are dropped first.
pub fn compacted(report: &Report, most: usize) -> Result<Compact<'_>, serde_json::Error> {
    let mut compact = Compact::of(report);
    let shorter: [fn(&mut Compact<'_>); 10] = [
        |compact| compact.sequence.iter_mut().for_each(|end| end.ranks.truncate(8)),
        |compact| compact.cites(80),
        |compact| compact.snapshot = None,
        |compact| compact.drop_diff(),
        |compact| compact.sequence.clear(),
        |compact| compact.figures.truncate(2),
        |compact| compact.causes.truncate(1),
        |compact| compact.patch = None,
        |compact| compact.cites(20),
        |compact| compact.forget_places(),
    ];
    for step in shorter {
        if serde_json::to_string(&compact)?.len() <= most {
            break;
        }
        step(&mut compact);
    }
    Ok(compact)
}

impl Compact<'_> {
    fn of(report: &Report) -> Compact<'_> {
        let root = report.subject();
        let failure = report.other_failure.as_ref();
        let evidence = root.map(|root| &root.evidence).or(failure.map(|failure| &failure.evidence));
        Compact {
            schema: "oomdoc.compact/1",
            verdict: report.verdict,
            summary: report.summary.chars().take(SUMMARY).collect(),
            id: root.map(|root| root.id.as_str()),
            ignored: root.and_then(|root| root.ignored.as_ref()).map(ignored),
            other_failure: failure.map(|failure| failure.name),
            phase: root.map(|root| PhaseOnly { name: root.phase.name, confidence: rounded(root.phase.confidence) }),
            victim: root.map(|root| &root.victim),
            causes: root
                .map(|root| telling(&root.diagnoses))
                .unwrap_or_default()
                .into_iter()
                .take(CAUSES)
                .map(cause)
                .collect(),
            patch: root.and_then(|root| proposed(root).into_iter().next()).map(step),
            evidence: evidence.into_iter().flatten().take(CITES).map(Cite::of).collect(),
            figures: root
                .map(|root| figures(&root.figures))
                .unwrap_or_default()
                .into_iter()
                .take(FIGURES)
                .map(amount)
                .collect(),
            sequence: report.failure.sequence.iter().take(ENDS).map(end).collect(),
            snapshot: ordered(report).first().map(|shown| snapshot(shown)),
        }
    }

    /// Cuts all cited text to `width` characters.
    fn cites(&mut self, width: usize) {
        let all = self.causes.iter_mut().flat_map(|cause| &mut cause.evidence).chain(&mut self.evidence);
        all.for_each(|cite| cite.text = cite.text.chars().take(width).collect());
    }

    /// Drops citations and shortens paths, which alone may be longer than an answer.
    fn forget_places(&mut self) {
        self.figures.clear();
        self.causes.iter_mut().for_each(|cause| cause.evidence.clear());
        let path = |cite: &mut Cite| {
            cite.path = cite.path.chars().rev().take(200).collect::<Vec<_>>().into_iter().rev().collect()
        };
        self.evidence.truncate(1);
        self.evidence.iter_mut().for_each(path);
    }

    fn drop_diff(&mut self) {
        if let Some(patch) = &mut self.patch {
            (patch.diff, patch.line) = (None, None);
        }
    }
}

fn ignored(ignored: &Ignored) -> Ignored {
    let cut = |words: &str| words.chars().take(WORDS).collect();
    Ignored { reason: cut(&ignored.reason), until: ignored.until.clone(), by: cut(&ignored.by) }
}

fn cause(diagnosis: &Diagnosis) -> Cause<'_> {
    let evidence = diagnosis.evidence.iter().take(CITES).map(Cite::of).collect();
    let confidence = rounded(diagnosis.confidence);
    Cause { cause: &diagnosis.cause, confidence, title: diagnosis.title.clone(), evidence }
}

fn step(patch: &Patch) -> Step<'_> {
    let Patch { lever, knob, from, to, change, file, diff, line, effect, .. } = patch;
    Step {
        lever,
        knob,
        from: from.as_deref(),
        to: to.as_ref(),
        change: change.as_ref(),
        file: file.as_deref(),
        diff: diff.as_deref(),
        line: line.as_deref(),
        effect,
    }
}

fn amount(figure: &Figure) -> Amount {
    let Figure { name, bytes, value, source, text, .. } = figure;
    let text = text.chars().take(FIGURE).collect();
    Amount { name: *name, bytes: *bytes, value: *value, path: source.path.to_string(), line: source.line.0, text }
}

fn snapshot(shown: &Snapshot) -> SnapshotOnly<'_> {
    let Snapshot { path, device, in_use, reserved, categories, .. } = shown;
    let is_there = |used: &&CategoryUse| used.bytes > Bytes(0);
    let category = |used| {
        let CategoryUse { name, bytes, .. }: &CategoryUse = used;
        CategoryOnly { name, bytes: *bytes }
    };
    SnapshotOnly {
        path: path.chars().rev().take(WORDS).collect::<Vec<_>>().into_iter().rev().collect(),
        device: *device,
        in_use: *in_use,
        reserved: *reserved,
        categories: categories.iter().filter(is_there).take(CATEGORIES).map(category).collect(),
    }
}

fn end(end: &End) -> EndOnly {
    let ranks = end.processes.iter().filter_map(|process| process.rank).collect();
    EndOnly { ending: end.ending, count: end.count, ranks, time: end.time.clone() }
}

fn rounded(confidence: f64) -> f64 {
    (confidence * 1000.0).round() / 1000.0
}
