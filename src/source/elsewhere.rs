use std::fmt::Debug;

use super::{Input, SourceError, walk};

/// Opens addresses. Only the command line creates one, from its own arguments, so an address named by a server's client, a bot, an
/// assistant or a settings file is never opened.
pub trait Elsewhere: Debug + Send + Sync {
    /// Whether `path` is one of the addresses that it may open.
    fn holds(&self, path: &str) -> bool;

    /// All objects below `path`, or `path` itself, in order.
    fn walk(&self, path: &str) -> Result<Vec<String>, SourceError>;

    /// Opens one object.
    fn open(&self, path: &str) -> Result<Input<'static>, SourceError>;

    /// Total bytes behind the addresses; `None` until that is known.
    fn size(&self) -> Option<u64>;
}

/// Opens paths: as files, or through an `Elsewhere` if there is one.
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

    /// [`walk`], with addresses included.
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

    /// Opens the input at `path`.
    pub fn open(&self, path: &str) -> Result<Input<'static>, SourceError> {
        self.elsewhere(path).map_or_else(|| Input::open(path), |elsewhere| elsewhere.open(path))
    }
}
