use serde::{Deserialize, Serialize};

use super::{Annotations, HistoryError};
use crate::model::{Citation, Collapse, FigureName, Incident, InputSummary, Job, Report, Seen, Text, Texts};
use crate::redact::Redactor;

/// The most bytes of a record; the store's limit is a little higher.
const MOST: usize = 60 << 10;
/// The format's name. Fields may be added to it, never renamed.
const SCHEMA: &str = "oomdoc.incident/1";
/// The prefix of the group of an incident that cannot be told from others.
pub(super) const ALONE: &str = "alone";

/// A stored incident: the root incident of a report, without secrets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// `oomdoc.incident/1`.
    pub schema: String,
    /// The version of the oomdoc that wrote it.
    pub version: String,
    /// When it was first stored, as RFC 3339.
    pub saved: String,
    /// When it happened, taken as UTC; if unknown, when it was stored.
    pub time: String,
    /// The files that the report was made from.
    pub inputs: Vec<InputSummary>,
    /// The job's properties.
    pub job: Job,
    /// The incident.
    pub incident: Incident,
    /// The call that failed, and how the job's processes ended.
    #[serde(default)]
    pub failure: Collapse,
    /// What people added to it.
    #[serde(default, skip_serializing_if = "Annotations::is_empty")]
    pub annotations: Annotations,
    /// Whether parts were left out to fit the size limit.
    #[serde(default)]
    pub shortened: bool,
}

impl Record {
    /// The record of `report`'s root incident, with its secrets masked; `None` if there is no incident.
    pub fn of(report: &Report, redactor: &Redactor) -> Result<Option<Record>, HistoryError> {
        let Some(root) = report.incidents.first() else { return Ok(None) };
        let saved = now();
        let time = root.when.as_ref().map_or_else(|| saved.clone(), |when| when.time.clone());
        let mut record = Record {
            schema: SCHEMA.to_owned(),
            version: report.version.clone(),
            saved,
            time,
            inputs: report.inputs.clone(),
            job: report.job.clone(),
            // How often it was seen, and whether it is ignored, is determined anew at every look.
            incident: Incident { seen: Seen::default(), ignored: None, ..root.clone() },
            failure: report.failure.clone(),
            annotations: Annotations::default(),
            shortened: false,
        };
        redactor.mask(&mut record);
        Ok(Some(record.fitting()?))
    }

    /// Reads what [`Record::bytes`] wrote.
    pub fn read(bytes: &[u8]) -> Result<Record, serde_json::Error> {
        serde_json::from_slice(bytes)
    }

    /// The stored form.
    pub fn bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(self)
    }

    /// Its group. An incident with too little information to be told from others is a group by itself.
    pub fn group(&self) -> String {
        let Incident { id, fingerprint, .. } = &self.incident;
        if fingerprint.is_telling() { fingerprint.group() } else { format!("{ALONE}-{id}") }
    }

    /// The likeliest cause.
    pub fn cause(&self) -> &str {
        self.incident.diagnoses.first().map_or(crate::diagnosis::UNKNOWN, |diagnosis| &*diagnosis.cause)
    }

    /// When it happened, in seconds since 1970.
    pub fn seconds(&self) -> i64 {
        seconds(&self.time).or_else(|| seconds(&self.saved)).unwrap_or(0)
    }

    /// The amount of the first figure of that name: bytes, or a plain number.
    pub fn figure(&self, name: FigureName) -> Option<f64> {
        self.incident.figures.iter().find(|figure| figure.name == name)?.amount()
    }

    /// Leaves out more and more of what a history can do without, until the record fits into the store.
    pub fn fitting(mut self) -> Result<Record, HistoryError> {
        const STEPS: [fn(&mut Record); 7] = [
            |record| thin(&mut record.incident.timeline, 64),
            |record| record.failure = Collapse::default(),
            |record| record.cut(512),
            |record| record.incident.timeline.clear(),
            |record| record.few(8),
            |record| record.cut(128),
            |record| record.few(2),
        ];
        for step in STEPS {
            if self.bytes()?.len() <= MOST {
                return Ok(self);
            }
            self.shortened = true;
            step(&mut self);
        }
        match self.bytes()?.len() {
            bytes if bytes <= MOST => Ok(self),
            bytes => Err(HistoryError::TooLarge { id: self.incident.id, bytes }),
        }
    }

    /// The stored form, reduced to the size limit if necessary.
    pub(super) fn fitting_bytes(&self) -> Result<Vec<u8>, HistoryError> {
        match self.bytes()? {
            bytes if bytes.len() <= MOST => Ok(bytes),
            _ => Ok(self.clone().fitting()?.bytes()?),
        }
    }

    /// Cuts all cited text to `most` bytes.
    fn cut(&mut self, most: usize) {
        let Incident { evidence, phase, figures, diagnoses, consumers, .. } = &mut self.incident;
        let cites = |cites: &mut Vec<Citation>| cites.iter_mut().for_each(|cite| shorten(&mut cite.text, most));
        cites(evidence);
        cites(&mut phase.evidence);
        diagnoses.iter_mut().for_each(|diagnosis| cites(&mut diagnosis.evidence));
        consumers.iter_mut().for_each(|consumer| shorten(&mut consumer.text, most));
        for figure in figures {
            shorten(&mut figure.text, most);
            figure.derived.iter_mut().for_each(|derived| cites(&mut derived.from));
        }
        for diagnosis in diagnoses {
            shorten(&mut diagnosis.why, 8 * most);
            for patch in &mut diagnosis.patches {
                patch.diff = patch.diff.take().filter(|diff| diff.len() <= 8 * most);
            }
        }
    }

    /// Keeps the first `most` entries of every list.
    fn few(&mut self, most: usize) {
        let Incident { evidence, phase, figures, diagnoses, consumers, victims, not_checked, memory, .. } =
            &mut self.incident;
        evidence.truncate(most);
        phase.evidence.truncate(most);
        consumers.truncate(most);
        victims.truncate(most);
        not_checked.truncate(most);
        diagnoses.truncate(most);
        for diagnosis in diagnoses {
            diagnosis.evidence.truncate(most);
            diagnosis.not_advised.truncate(most);
            diagnosis.patches.truncate(most.max(4));
        }
        for figures in [figures, &mut memory.predicted, &mut memory.observed] {
            figures.truncate(4 * most);
        }
        self.inputs.truncate(4 * most);
    }
}

impl Texts for Record {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let Record {
            schema: _,
            version: _,
            saved: _,
            time: _,
            inputs,
            job,
            incident,
            failure,
            annotations,
            shortened: _,
        } = self;
        inputs.texts(see);
        job.texts(see);
        incident.texts(see);
        failure.texts(see);
        annotations.texts(see);
    }
}

/// Whether a group is that of an incident that cannot be told from others.
pub(super) fn is_alone(group: &str) -> bool {
    group.starts_with(ALONE)
}

/// Whether `id` is a valid id: ids are used in keys and shown unescaped.
pub(super) fn is_id(id: &str) -> bool {
    id.len() == 16 && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The current time, as RFC 3339 in UTC.
pub fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A time in seconds since 1970 as RFC 3339 in UTC.
pub(super) fn moment(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds).unwrap_or_default().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// An RFC 3339 time in UTC as seconds since 1970.
pub(super) fn seconds(time: &str) -> Option<i64> {
    let time: jiff::civil::DateTime = time.trim_end_matches('Z').parse().ok()?;
    Some(time.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_second())
}

/// Keeps `most` of `points`, evenly spread, always including the last one.
fn thin<T>(points: &mut Vec<T>, most: usize) {
    let all = points.len();
    let mut place = 0;
    points.retain(|_| {
        place += 1;
        all <= most || place * most / all != (place - 1) * most / all
    });
}

fn shorten(text: &mut String, most: usize) {
    if text.len() > most {
        let end = (0..=most).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_last() {
        let mut points: Vec<u32> = (0..1000).collect();
        thin(&mut points, 64);
        assert_eq!((points.len(), points.last()), (64, Some(&999)));
        let mut few = vec![1, 2, 3];
        thin(&mut few, 64);
        assert_eq!(few, [1, 2, 3]);
    }
}
