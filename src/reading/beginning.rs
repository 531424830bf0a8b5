use std::sync::{Arc, OnceLock};

use crate::config::{self, Document};
use crate::model::LineNumber;

/// The beginning of a job's log, where it prints its configuration.
pub(crate) struct Beginning {
    path: Arc<str>,
    bytes: Vec<u8>,
    /// Its length, even if the bytes are not kept here.
    length: usize,
    /// The configurations printed in `bytes`, parsed on first use.
    printed: OnceLock<Vec<Document>>,
}

impl Beginning {
    /// Most bytes of a beginning.
    const LONGEST: usize = 1 << 20;

    /// The beginning of the log at `path`, still empty.
    pub fn new(path: Arc<str>) -> Beginning {
        Beginning { path, bytes: Vec::new(), length: 0, printed: OnceLock::new() }
    }

    /// The next bytes of the log.
    pub fn add(&mut self, block: &[u8]) {
        let room = Beginning::LONGEST - self.bytes.len();
        self.bytes.extend_from_slice(&block[..block.len().min(room)]);
        self.length = self.bytes.len();
    }

    /// The log that it is of.
    pub fn path(&self) -> &Arc<str> {
        &self.path
    }

    /// A beginning of `length` bytes that was read on another node, with the configurations printed in it.
    pub fn read_elsewhere(path: Arc<str>, length: usize, printed: Vec<Document>) -> Beginning {
        Beginning { path, bytes: Vec::new(), length, printed: OnceLock::from(printed) }
    }

    /// How many bytes it has.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Drops its bytes unread, because they do not fit.
    pub fn give_up(&mut self) {
        self.bytes = Vec::new();
        self.printed = OnceLock::from(Vec::new());
    }

    /// The configurations that are printed in it.
    pub fn printed(&self) -> &[Document] {
        self.printed.get_or_init(|| config::from_log(self.path.clone(), LineNumber::FIRST, &self.bytes))
    }

    /// [`Beginning::printed`], by value.
    pub fn into_printed(self) -> Vec<Document> {
        self.printed();
        self.printed.into_inner().unwrap_or_default()
    }
}
