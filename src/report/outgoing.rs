use super::context_lines::narrow;
use crate::model::Report;
use crate::redact::Redactor;

/// `report` as it may leave the process, its secrets masked, and how many of its texts had some.
pub fn outgoing(report: &Report, redactor: &Redactor) -> (Report, usize) {
    let mut sent = report.clone();
    let masked = redactor.mask(&mut sent);
    narrow(&mut sent);
    (sent, masked)
}
