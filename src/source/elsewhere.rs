use std::fmt::Debug;

use super::{Input, SourceError, walk};

/// Who opens addresses. Nobody but the command line makes one, of the arguments it was given: a server, a bot, an assistant or a
/// settings file that names an address reaches nothing by it.
pub trait Elsewhere: Debug + Send + Sync {
    /// Whether `path` is one of the addresses.
    fn holds(&self, path: &str) -> bool;

    /// All that lies below `path`, or itself, in order.
    fn walk(&self, path: &str) -> Result<Vec<String>, SourceError>;

    /// Opens what lies there.
    fn open(&self, path: &str) -> Result<Input<'static>, SourceError>;

    /// Bytes of all that the addresses name; `None` until that is known.
    fn size(&self) -> Option<u64>;
}

/// Where paths lead: to files, and elsewhere if somebody opens addresses.
#[derive(Debug, Clone, Copy)]
pub struct Places<'e>(pub Option<&'e dyn Elsewhere>);

impl Places<'_> {
    fn elsewhere(&self, path: &str) -> Option<&dyn Elsewhere> {
        self.0.filter(|elsewhere| elsewhere.holds(path))
    }

    /// Whether `path` leads elsewhere.
    pub fn is_elsewhere(&self, path: &str) -> bool {
        self.elsewhere(path).is_some()
    }

    /// [`walk`], and what lies elsewhere.
    pub fn walk(&self, paths: &[String]) -> (Vec<String>, Vec<SourceError>) {
        let (mut files, mut errors) = (Vec::new(), Vec::new());
        for path in paths {
            let (found, missed) = match self.elsewhere(path).map(|elsewhere| elsewhere.walk(path)) {
                None => walk(std::slice::from_ref(path)),
                Some(Ok(found)) => (found, Vec::new()),
                Some(Err(error)) => (Vec::new(), vec![error]),
            };
            files.extend(found);
            errors.extend(missed);
        }
        (files, errors)
    }

    /// Opens what `path` leads to.
    pub fn open(&self, path: &str) -> Result<Input<'static>, SourceError> {
        self.elsewhere(path).map_or_else(|| Input::open(path), |elsewhere| elsewhere.open(path))
    }
}
