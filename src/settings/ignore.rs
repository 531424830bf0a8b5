use jiff::civil::Date;

use super::pattern::PathPattern;
use crate::model::{Ignored, Incident, Kind};

/// Incidents that are known and accepted.
#[derive(Debug, Clone)]
pub struct Ignore {
    /// The beginning of the fingerprint's key.
    pub fingerprint: Option<String>,
    /// The likeliest cause.
    pub cause: Option<String>,
    /// What ran out.
    pub kind: Option<Kind>,
    /// The log with the evidence.
    pub path: Option<PathPattern>,
    /// The last day on which they are accepted.
    pub until: Option<Date>,
    /// Why they are accepted.
    pub reason: String,
    /// The line of the row: `oomdoc.toml:12`.
    pub by: String,
}

impl Ignore {
    /// Whether the last day has passed.
    pub fn is_expired(&self, today: Date) -> bool {
        self.until.is_some_and(|until| until < today)
    }

    /// Whether `incident` matches all conditions.
    pub fn fits(&self, incident: &Incident) -> bool {
        let Ignore { fingerprint, cause, kind, path, .. } = self;
        let own = &incident.fingerprint;
        let log = incident.evidence.first().map(|cite| &*cite.location.path);
        let holds = [
            fingerprint.as_ref().map(|key| own.key.starts_with(key) || own.group().starts_with(key)),
            cause.as_ref().map(|cause| incident.diagnoses.first().is_some_and(|first| *first.cause == **cause)),
            kind.map(|kind| incident.kind == kind),
            path.as_ref().map(|path| log.is_some_and(|log| path.matches(log))),
        ];
        holds.into_iter().flatten().all(|holds| holds)
    }

    /// The note for reports.
    pub fn note(&self) -> Ignored {
        let until = self.until.map(|until| until.to_string());
        Ignored { reason: self.reason.clone(), until, by: self.by.clone() }
    }

    /// The conditions in words: `cause fragmentation, path ci/**`.
    pub fn conditions(&self) -> String {
        let Ignore { fingerprint, cause, kind, path, .. } = self;
        let parts = [
            ("fingerprint", fingerprint.clone()),
            ("cause", cause.clone()),
            ("kind", kind.map(|kind| kind.to_string())),
            ("path", path.as_ref().map(|path| path.written.clone())),
        ];
        let said = parts.into_iter().filter_map(|(name, words)| Some(format!("{name} {}", words?)));
        said.collect::<Vec<_>>().join(", ")
    }
}
