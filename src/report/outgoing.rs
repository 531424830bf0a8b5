use crate::knowledge::Secret;
use crate::model::Report;
use crate::redact::{RedactError, Redactor};

/// `report` as it may leave the process: what `secrets` describe is masked.
pub fn outgoing(report: &Report, secrets: &[Secret]) -> Result<Report, RedactError> {
    Redactor::new(secrets)?.value(report)
}
