use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::history::document::likely;
use crate::history::record::{moment, seconds};
use crate::history::{Document, Outcome, OutcomeSummary, Record};
use crate::model::{Diagnosis, Figure, FigureName};
use crate::redact::Redactor;

/// Longer words are stored but not indexed as keywords.
const LONGEST_KEYWORD: usize = 1024;
/// An incident as it is sent to a search engine, with what was tried against it.
pub(super) struct ExportEntry {
    record: Record,
    tried: Vec<Outcome>,
    shown: Document,
}

impl ExportEntry {
    /// Masks the secrets in `record` and in `tried` (newest first).
    pub fn new(mut record: Record, mut tried: Vec<Outcome>, redactor: &Redactor) -> ExportEntry {
        redactor.mask(&mut record);
        for outcome in &mut tried {
            redactor.mask(outcome);
        }
        let shown = Document::new(&record, OutcomeSummary::of(&tried).as_ref());
        ExportEntry { record, tried, shown }
    }

    pub fn id(&self) -> &str {
        &self.shown.id
    }

    fn diagnosis(&self) -> Option<&Diagnosis> {
        self.record.incident.diagnoses.first()
    }
}

/// A field's type in the index together with how its value is read from an incident, so that the two cannot diverge.
enum FieldSource {
    /// RFC 3339.
    Date(fn(&ExportEntry) -> Option<&str>),
    /// A word from a small set, or one to be found exactly.
    Keyword(fn(&ExportEntry) -> Option<&str>),
    Keywords(fn(&ExportEntry) -> Vec<&str>),
    /// Sentences, found by their words.
    Text(fn(&ExportEntry) -> Vec<&str>),
    /// A sentence that recurs, so that it is also counted.
    Phrase(fn(&ExportEntry) -> Option<&str>),
    Long(fn(&ExportEntry) -> Option<u64>),
    Double(fn(&ExportEntry) -> Option<f64>),
    Boolean(fn(&ExportEntry) -> Option<bool>),
    /// For each name the first figure that is an amount of memory.
    Bytes,
    /// For each name the first figure that is not an amount of memory.
    Values,
}

/// The fields of a document: the only source of both the documents and the index's template.
const FIELDS: &[(&str, FieldSource)] = &[
    ("@timestamp", FieldSource::Date(|entry| Some(&entry.shown.time))),
    ("saved", FieldSource::Date(|entry| Some(&entry.shown.saved))),
    ("id", FieldSource::Keyword(|entry| Some(entry.id()))),
    ("group", FieldSource::Keyword(|entry| Some(&entry.shown.group))),
    ("kind", FieldSource::Keyword(|entry| Some(entry.shown.kind.as_str()))),
    ("basis", FieldSource::Keyword(|entry| Some(entry.record.incident.basis.as_str()))),
    ("recovered", FieldSource::Boolean(|entry| Some(entry.shown.recovered))),
    ("phase", FieldSource::Keyword(|entry| Some(entry.shown.phase.as_str()))),
    ("phase_confidence", FieldSource::Double(|entry| Some(entry.record.incident.phase.confidence))),
    ("site", FieldSource::Keyword(|entry| entry.shown.site.as_deref())),
    ("cause", FieldSource::Keyword(|entry| Some(&entry.shown.cause))),
    ("causes", FieldSource::Keywords(|entry| causes(&entry.record.incident.diagnoses))),
    ("confidence", FieldSource::Double(|entry| Some(entry.shown.confidence))),
    ("title", FieldSource::Phrase(|entry| Some(&entry.shown.title))),
    ("summary", FieldSource::Text(|entry| entry.diagnosis().map(|diagnosis| &*diagnosis.why).into_iter().collect())),
    ("evidence", FieldSource::Text(|entry| evidence(&entry.record))),
    ("knobs", FieldSource::Keywords(|entry| knobs(entry.diagnosis()))),
    ("framework", FieldSource::Keyword(|entry| entry.shown.framework.as_deref())),
    ("framework_version", FieldSource::Keyword(|entry| entry.record.job.framework_version.as_deref())),
    ("model", FieldSource::Keyword(|entry| entry.shown.model.as_deref())),
    ("parameters", FieldSource::Long(|entry| entry.record.job.parameters)),
    ("world_size", FieldSource::Long(|entry| entry.record.job.world_size.map(u64::from))),
    ("gpu", FieldSource::Keyword(|entry| entry.shown.gpu.as_deref())),
    ("config_digest", FieldSource::Keyword(|entry| entry.record.job.config_digest.as_deref())),
    ("cluster", FieldSource::Keyword(|entry| entry.shown.cluster.as_deref())),
    ("host", FieldSource::Keyword(|entry| entry.shown.host.as_deref())),
    ("hosts", FieldSource::Keywords(|entry| hosts(&entry.record))),
    ("rank", FieldSource::Long(|entry| entry.record.incident.victim.rank.map(u64::from))),
    ("device", FieldSource::Long(|entry| entry.record.incident.victim.device.map(u64::from))),
    ("pid", FieldSource::Long(|entry| entry.record.incident.victim.pid.map(u64::from))),
    ("role", FieldSource::Keyword(|entry| entry.shown.role.as_deref())),
    ("victims", FieldSource::Long(|entry| u64::try_from(entry.record.incident.victims.len()).ok())),
    ("inputs", FieldSource::Keywords(|entry| entry.shown.inputs.iter().map(String::as_str).collect())),
    ("job", FieldSource::Keyword(|entry| entry.shown.job.as_deref())),
    ("tags", FieldSource::Keywords(|entry| entry.shown.tags.iter().map(String::as_str).collect())),
    ("assignee", FieldSource::Keyword(|entry| entry.shown.assignee.as_deref())),
    ("state", FieldSource::Keyword(|entry| Some(entry.shown.state.as_str()))),
    ("state_since", FieldSource::Date(|entry| entry.shown.verdict.as_ref().map(|verdict| &*verdict.time))),
    ("state_by", FieldSource::Keyword(|entry| entry.shown.verdict.as_ref()?.by.as_deref())),
    ("worked", FieldSource::Boolean(|entry| entry.shown.worked)),
    ("change", FieldSource::Phrase(|entry| entry.shown.change.as_deref())),
    ("tried", FieldSource::Keywords(|entry| entry.tried.iter().map(|outcome| &*outcome.change).collect())),
    ("notes", FieldSource::Text(notes)),
    ("bytes", FieldSource::Bytes),
    ("figures", FieldSource::Values),
    ("oomdoc", FieldSource::Keyword(|entry| Some(&entry.record.version))),
];

/// The mapping of each field.
pub(super) fn properties() -> Value {
    FIELDS.iter().map(|(name, of)| ((*name).to_owned(), of.mapping())).collect::<Map<_, _>>().into()
}

/// The document of `entry`; fields without a value are left out.
pub(super) fn document(entry: &ExportEntry) -> Value {
    let said = FIELDS.iter().filter_map(|(name, of)| Some(((*name).to_owned(), of.value(entry)?)));
    said.collect::<Map<_, _>>().into()
}

impl FieldSource {
    fn mapping(&self) -> Value {
        let keyword = json!({ "type": "keyword", "ignore_above": LONGEST_KEYWORD });
        match self {
            FieldSource::Date(_) => json!({ "type": "date" }),
            FieldSource::Keyword(_) | FieldSource::Keywords(_) => keyword,
            FieldSource::Text(_) => json!({ "type": "text" }),
            FieldSource::Phrase(_) => json!({ "type": "text", "fields": { "keyword": keyword } }),
            FieldSource::Long(_) => json!({ "type": "long" }),
            FieldSource::Double(_) => json!({ "type": "double" }),
            FieldSource::Boolean(_) => json!({ "type": "boolean" }),
            FieldSource::Bytes => each_figure("long"),
            FieldSource::Values => each_figure("double"),
        }
    }

    fn value(&self, entry: &ExportEntry) -> Option<Value> {
        match self {
            // A date that the engine cannot parse would make it reject the whole document.
            FieldSource::Date(of) => of(entry).and_then(seconds).map(|time| moment(time).into()),
            FieldSource::Keyword(of) | FieldSource::Phrase(of) => {
                of(entry).filter(|words| !words.is_empty()).map(Value::from)
            }
            FieldSource::Keywords(of) | FieldSource::Text(of) => {
                Some(of(entry)).filter(|words| !words.is_empty()).map(Value::from)
            }
            FieldSource::Long(of) => of(entry).and_then(|number| i64::try_from(number).ok()).map(Value::from),
            FieldSource::Double(of) => of(entry).filter(|number| number.is_finite()).map(Value::from),
            FieldSource::Boolean(of) => of(entry).map(Value::from),
            FieldSource::Bytes => {
                figures(entry, |figure| figure.bytes.and_then(|bytes| i64::try_from(bytes.0).ok()).map(Value::from))
            }
            FieldSource::Values => {
                figures(entry, |figure| figure.value.filter(|value| value.is_finite()).map(Value::from))
            }
        }
    }
}

fn each_figure(kind: &str) -> Value {
    let of = |name: &FigureName| (name.to_string(), json!({ "type": kind }));
    json!({ "properties": FigureName::ALL.iter().map(of).collect::<Map<_, _>>() })
}

/// For each name the first value that `of` returns.
fn figures(entry: &ExportEntry, of: fn(&Figure) -> Option<Value>) -> Option<Value> {
    let mut found = Map::new();
    for figure in &entry.record.incident.figures {
        if let Some(value) = of(figure) {
            found.entry(figure.name.as_str()).or_insert(value);
        }
    }
    Some(found).filter(|found| !found.is_empty()).map(Value::from)
}

fn causes(diagnoses: &[Diagnosis]) -> Vec<&str> {
    likely(diagnoses).map(|diagnosis| &*diagnosis.cause).collect()
}

fn knobs(diagnosis: Option<&Diagnosis>) -> Vec<&str> {
    let patches = diagnosis.into_iter().flat_map(|diagnosis| &diagnosis.patches);
    once(patches.map(|patch| &*patch.knob))
}

fn hosts(record: &Record) -> Vec<&str> {
    once(record.incident.victims.iter().filter_map(|victim| victim.host.as_deref()))
}

/// The lines that support the kind, the phase and the likeliest cause.
fn evidence(record: &Record) -> Vec<&str> {
    let incident = &record.incident;
    let of_cause = incident.diagnoses.first().into_iter().flat_map(|diagnosis| &diagnosis.evidence);
    let cites = incident.evidence.iter().chain(&incident.phase.evidence).chain(of_cause);
    once(cites.map(|cite| &*cite.text))
}

/// What people wrote about the incident and about what they tried.
fn notes(entry: &ExportEntry) -> Vec<&str> {
    let notes = entry.record.annotations.notes.iter().flat_map(|note| [Some(&*note.text), note.link.as_deref()]);
    let tried = entry.tried.iter().flat_map(|outcome| [outcome.note.as_deref(), outcome.link.as_deref()]);
    once(notes.chain(tried).flatten().filter(|words| !words.is_empty()))
}

/// `words` without duplicates, in the order of their first appearance.
fn once<'w>(words: impl Iterator<Item = &'w str>) -> Vec<&'w str> {
    let mut seen = BTreeSet::new();
    words.filter(|word| seen.insert(*word)).collect()
}
