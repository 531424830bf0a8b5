use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::history::record::{moment, seconds};
use crate::history::{Document, Outcome, OutcomeSummary, Record};
use crate::model::{Diagnosis, Figure, FigureName};
use crate::redact::Redactor;

/// Longer words are kept, and not indexed as one.
const LONGEST_KEYWORD: usize = 1024;
/// A cause that is less likely is not what an incident is about.
const LIKELY: f64 = 0.1;

/// An incident as it leaves for a search engine, with what was tried after it.
pub(super) struct Entry {
    record: Record,
    tried: Vec<Outcome>,
    shown: Document,
}

impl Entry {
    /// `record` with what was `tried`, the newest first, both without secrets.
    pub fn new(mut record: Record, mut tried: Vec<Outcome>, redactor: &Redactor) -> Entry {
        redactor.mask(&mut record);
        for outcome in &mut tried {
            redactor.mask(outcome);
        }
        let shown = Document::new(&record, OutcomeSummary::of(&tried).as_ref());
        Entry { record, tried, shown }
    }

    /// The incident's.
    pub fn id(&self) -> &str {
        &self.shown.id
    }

    fn diagnosis(&self) -> Option<&Diagnosis> {
        self.record.incident.diagnoses.first()
    }
}

/// How a field is indexed, and what an incident says for it: one cannot change without the other.
enum Of {
    /// RFC 3339.
    Date(fn(&Entry) -> Option<&str>),
    /// A word of few, or one to find exactly.
    Keyword(fn(&Entry) -> Option<&str>),
    Keywords(fn(&Entry) -> Vec<&str>),
    /// Sentences, found by their words.
    Text(fn(&Entry) -> Vec<&str>),
    /// A sentence that comes up again, and is counted, too.
    Phrase(fn(&Entry) -> Option<&str>),
    Long(fn(&Entry) -> Option<u64>),
    Double(fn(&Entry) -> Option<f64>),
    Boolean(fn(&Entry) -> Option<bool>),
    /// The first figure of each name that is an amount of memory.
    Bytes,
    /// The first figure of each name that is none.
    Values,
}

/// What a document has: the one source of documents and of the index's template.
const FIELDS: &[(&str, Of)] = &[
    ("@timestamp", Of::Date(|entry| Some(&entry.shown.time))),
    ("saved", Of::Date(|entry| Some(&entry.shown.saved))),
    ("id", Of::Keyword(|entry| Some(entry.id()))),
    ("group", Of::Keyword(|entry| Some(&entry.shown.group))),
    ("kind", Of::Keyword(|entry| Some(entry.shown.kind.as_str()))),
    ("basis", Of::Keyword(|entry| Some(entry.record.incident.basis.as_str()))),
    ("recovered", Of::Boolean(|entry| Some(entry.shown.recovered))),
    ("phase", Of::Keyword(|entry| Some(entry.shown.phase.as_str()))),
    ("phase_confidence", Of::Double(|entry| Some(entry.record.incident.phase.confidence))),
    ("site", Of::Keyword(|entry| entry.shown.site.as_deref())),
    ("cause", Of::Keyword(|entry| Some(&entry.shown.cause))),
    ("causes", Of::Keywords(|entry| causes(&entry.record.incident.diagnoses))),
    ("confidence", Of::Double(|entry| Some(entry.shown.confidence))),
    ("title", Of::Phrase(|entry| Some(&entry.shown.title))),
    ("summary", Of::Text(|entry| entry.diagnosis().map(|diagnosis| &*diagnosis.why).into_iter().collect())),
    ("evidence", Of::Text(|entry| evidence(&entry.record))),
    ("knobs", Of::Keywords(|entry| knobs(entry.diagnosis()))),
    ("framework", Of::Keyword(|entry| entry.shown.framework.as_deref())),
    ("framework_version", Of::Keyword(|entry| entry.record.job.framework_version.as_deref())),
    ("model", Of::Keyword(|entry| entry.shown.model.as_deref())),
    ("parameters", Of::Long(|entry| entry.record.job.parameters)),
    ("world_size", Of::Long(|entry| entry.record.job.world_size.map(u64::from))),
    ("gpu", Of::Keyword(|entry| entry.shown.gpu.as_deref())),
    ("config_digest", Of::Keyword(|entry| entry.record.job.config_digest.as_deref())),
    ("cluster", Of::Keyword(|entry| entry.shown.cluster.as_deref())),
    ("host", Of::Keyword(|entry| entry.shown.host.as_deref())),
    ("hosts", Of::Keywords(|entry| hosts(&entry.record))),
    ("rank", Of::Long(|entry| entry.record.incident.victim.rank.map(u64::from))),
    ("device", Of::Long(|entry| entry.record.incident.victim.device.map(u64::from))),
    ("pid", Of::Long(|entry| entry.record.incident.victim.pid.map(u64::from))),
    ("role", Of::Keyword(|entry| entry.shown.role.as_deref())),
    ("victims", Of::Long(|entry| u64::try_from(entry.record.incident.victims.len()).ok())),
    ("inputs", Of::Keywords(|entry| entry.shown.inputs.iter().map(String::as_str).collect())),
    ("job", Of::Keyword(|entry| entry.shown.job.as_deref())),
    ("tags", Of::Keywords(|entry| entry.shown.tags.iter().map(String::as_str).collect())),
    ("assignee", Of::Keyword(|entry| entry.shown.assignee.as_deref())),
    ("state", Of::Keyword(|entry| Some(entry.shown.state.as_str()))),
    ("state_since", Of::Date(|entry| entry.shown.verdict.as_ref().map(|verdict| &*verdict.time))),
    ("state_by", Of::Keyword(|entry| entry.shown.verdict.as_ref()?.by.as_deref())),
    ("worked", Of::Boolean(|entry| entry.shown.worked)),
    ("change", Of::Phrase(|entry| entry.shown.change.as_deref())),
    ("tried", Of::Keywords(|entry| entry.tried.iter().map(|outcome| &*outcome.change).collect())),
    ("notes", Of::Text(notes)),
    ("bytes", Of::Bytes),
    ("figures", Of::Values),
    ("oomdoc", Of::Keyword(|entry| Some(&entry.record.version))),
];

/// What the index must know of each field.
pub(super) fn properties() -> Value {
    FIELDS.iter().map(|(name, of)| ((*name).to_owned(), of.mapping())).collect::<Map<_, _>>().into()
}

/// `entry` with what it says for each field; what it says nothing for is left out.
pub(super) fn document(entry: &Entry) -> Value {
    let said = FIELDS.iter().filter_map(|(name, of)| Some(((*name).to_owned(), of.value(entry)?)));
    said.collect::<Map<_, _>>().into()
}

impl Of {
    fn mapping(&self) -> Value {
        let keyword = json!({ "type": "keyword", "ignore_above": LONGEST_KEYWORD });
        match self {
            Of::Date(_) => json!({ "type": "date" }),
            Of::Keyword(_) | Of::Keywords(_) => keyword,
            Of::Text(_) => json!({ "type": "text" }),
            Of::Phrase(_) => json!({ "type": "text", "fields": { "keyword": keyword } }),
            Of::Long(_) => json!({ "type": "long" }),
            Of::Double(_) => json!({ "type": "double" }),
            Of::Boolean(_) => json!({ "type": "boolean" }),
            Of::Bytes => each_figure("long"),
            Of::Values => each_figure("double"),
        }
    }

    fn value(&self, entry: &Entry) -> Option<Value> {
        match self {
            // One that an engine cannot read would cost the whole document.
            Of::Date(of) => of(entry).and_then(seconds).map(|time| moment(time).into()),
            Of::Keyword(of) | Of::Phrase(of) => of(entry).filter(|words| !words.is_empty()).map(Value::from),
            Of::Keywords(of) | Of::Text(of) => Some(of(entry)).filter(|words| !words.is_empty()).map(Value::from),
            Of::Long(of) => of(entry).and_then(|number| i64::try_from(number).ok()).map(Value::from),
            Of::Double(of) => of(entry).filter(|number| number.is_finite()).map(Value::from),
            Of::Boolean(of) => of(entry).map(Value::from),
            Of::Bytes => figures(entry, |figure| figure.bytes.map(|bytes| bytes.0.into())),
            Of::Values => figures(entry, |figure| figure.value.filter(|value| value.is_finite()).map(Value::from)),
        }
    }
}

fn each_figure(kind: &str) -> Value {
    let of = |name: &FigureName| (name.to_string(), json!({ "type": kind }));
    json!({ "properties": FigureName::ALL.iter().map(of).collect::<Map<_, _>>() })
}

/// What `of` makes of the first figure of each name of which it makes anything.
fn figures(entry: &Entry, of: fn(&Figure) -> Option<Value>) -> Option<Value> {
    let mut found = Map::new();
    for figure in &entry.record.incident.figures {
        if let Some(value) = of(figure) {
            found.entry(figure.name.as_str()).or_insert(value);
        }
    }
    Some(found).filter(|found| !found.is_empty()).map(Value::from)
}

fn causes(diagnoses: &[Diagnosis]) -> Vec<&str> {
    let likely =
        diagnoses.iter().enumerate().filter(|(place, diagnosis)| *place == 0 || diagnosis.confidence >= LIKELY);
    likely.map(|(_, diagnosis)| &*diagnosis.cause).collect()
}

fn knobs(diagnosis: Option<&Diagnosis>) -> Vec<&str> {
    let patches = diagnosis.into_iter().flat_map(|diagnosis| &diagnosis.patches);
    once(patches.map(|patch| &*patch.knob))
}

fn hosts(record: &Record) -> Vec<&str> {
    once(record.incident.victims.iter().filter_map(|victim| victim.host.as_deref()))
}

/// The lines that prove what ran out, in which phase and why.
fn evidence(record: &Record) -> Vec<&str> {
    let incident = &record.incident;
    let of_cause = incident.diagnoses.first().into_iter().flat_map(|diagnosis| &diagnosis.evidence);
    let cites = incident.evidence.iter().chain(&incident.phase.evidence).chain(of_cause);
    once(cites.map(|cite| &*cite.text))
}

/// What people wrote down, of the incident and of what they tried.
fn notes(entry: &Entry) -> Vec<&str> {
    let notes = entry.record.annotations.notes.iter().flat_map(|note| [Some(&*note.text), note.link.as_deref()]);
    let tried = entry.tried.iter().flat_map(|outcome| [outcome.note.as_deref(), outcome.link.as_deref()]);
    once(notes.chain(tried).flatten().filter(|words| !words.is_empty()))
}

/// Each of `words` once, where it comes first.
fn once<'w>(words: impl Iterator<Item = &'w str>) -> Vec<&'w str> {
    let mut seen = BTreeSet::new();
    words.filter(|word| seen.insert(*word)).collect()
}
