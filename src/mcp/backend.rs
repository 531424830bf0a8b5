use std::path::PathBuf;

use super::Problem;
use crate::Options;
use crate::history::{Likeness, Order, Outcome, Page, Record};
use crate::redact::Redactor;

/// What tools work with. A process on somebody's machine has one of that machine; a server has its own.
pub trait Backend: Send + Sync + 'static {
    /// What analyses go by at this moment: rules, what was tried before, the settings of the place.
    fn options(&self) -> Result<Options, Problem>;
    /// Masks secrets in everything that is answered.
    fn redactor(&self) -> &Redactor;
    /// Which files may be read.
    fn reach(&self) -> &Reach;
    /// The incidents that `query` asks for, without the first `skip`, `most` at most.
    fn search(&self, query: &str, order: Order, skip: usize, most: usize) -> Result<Page, Problem>;
    /// The incidents most like `record`, at most `most`.
    fn similar(&self, record: &Record, most: usize) -> Result<Vec<Likeness>, Problem>;
    /// The incident whose id is `id` or the only one whose id begins with it.
    fn find(&self, id: &str) -> Result<Kept, Problem>;
    /// Keeps an incident in the history.
    fn keep(&self, record: &Record) -> Result<(), Problem>;
}

/// Which files tools may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// None: who asks is a stranger to the machine, and pastes what is to be read.
    Pasted,
    /// Those below one of these folders; without one, whatever the process may read.
    Files {
        /// As they are without links.
        below: Vec<PathBuf>,
    },
}

/// An incident of the history and what was tried after it.
#[derive(Debug, Clone)]
pub struct Kept {
    /// The incident.
    pub record: Record,
    /// What was tried, the oldest first.
    pub outcomes: Vec<Outcome>,
}
