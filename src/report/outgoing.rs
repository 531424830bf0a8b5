use super::context_lines::narrow;
use crate::model::Report;
use crate::redact::Redactor;

/// `report` with its secrets masked, so that it may leave the process, and the number of texts that had some.
pub fn outgoing(report: &Report, redactor: &Redactor) -> (Report, usize) {
    let mut sent = report.clone();
    let masked = redactor.mask(&mut sent);
    narrow(&mut sent);
    (sent, masked)
}
