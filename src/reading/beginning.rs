use std::sync::{Arc, OnceLock};

use crate::config::{self, Document};
use crate::model::LineNumber;

/// The beginning of a job's log, where it prints its configuration.
pub(super) struct Beginning {
    path: Arc<str>,
    bytes: Vec<u8>,
    /// What is printed in all of `bytes`, once that was asked for.
    printed: OnceLock<Vec<Document>>,
}

impl Beginning {
    /// As many bytes of a log are its beginning.
    const LONGEST: usize = 1 << 20;

    /// Of the log at `path`, of which nothing was read yet.
    pub fn new(path: Arc<str>) -> Beginning {
        Beginning { path, bytes: Vec::new(), printed: OnceLock::new() }
    }

    /// The next bytes of the log.
    pub fn add(&mut self, block: &[u8]) {
        let room = Beginning::LONGEST - self.bytes.len();
        self.bytes.extend_from_slice(&block[..block.len().min(room)]);
    }

    /// The log that it is of.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// How many bytes it has.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Gives up what is behind the first `most` bytes.
    pub fn truncate(&mut self, most: usize) {
        if most < self.bytes.len() {
            self.bytes.truncate(most);
            self.bytes.shrink_to_fit();
            self.printed = OnceLock::new();
        }
    }

    /// The configurations that are printed in it.
    pub fn printed(&self) -> &[Document] {
        self.printed.get_or_init(|| config::from_log(self.path.clone(), LineNumber::FIRST, &self.bytes))
    }

    /// The same, for keeps.
    pub fn into_printed(self) -> Vec<Document> {
        self.printed();
        self.printed.into_inner().unwrap_or_default()
    }
}
