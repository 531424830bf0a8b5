use std::path::PathBuf;

use super::Problem;
use crate::Options;
use crate::history::{Likeness, Order, Outcome, Page, Record};
use crate::redact::Redactor;

/// What the tools work with: on a user's machine its own rules and history, in a server the team's.
pub trait Backend: Send + Sync + 'static {
    /// The current options of an analysis: rules, earlier experience, the site's settings.
    fn options(&self) -> Result<Options, Problem>;
    /// The redactor for everything that is answered.
    fn redactor(&self) -> &Redactor;
    /// The files that tools may read.
    fn reach(&self) -> &Reach;
    /// At most `most` incidents that match `query`, after skipping `skip`.
    fn search(&self, query: &str, order: Order, skip: usize, most: usize) -> Result<Page, Problem>;
    /// At most `most` incidents similar to `record`.
    fn similar(&self, record: &Record, most: usize) -> Result<Vec<Likeness>, Problem>;
    /// The incident whose id is `id`, or the only one whose id begins with it.
    fn find(&self, id: &str) -> Result<KeptIncident, Problem>;
    /// Adds an incident to the history.
    fn keep(&self, record: &Record) -> Result<(), Problem>;
}

/// The files that tools may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// None: the caller does not share the machine's files and pastes texts.
    Pasted,
    /// Those below one of these folders; with no folder, all that the process may read.
    Files {
        /// Canonical paths.
        below: Vec<PathBuf>,
    },
}

/// An incident of the history with its outcomes.
#[derive(Debug, Clone)]
pub struct KeptIncident {
    /// The incident.
    pub record: Record,
    /// The outcomes, the oldest first.
    pub outcomes: Vec<Outcome>,
}
