//! What leaves the history for other programs.
//!
//! In go a format and where the export before ended; out come lines, of the whole history or of what changed since, and the mark
//! at which the next export goes on. Nothing is written into the history, and nobody who writes is waited for.

mod bulk;
mod fields;
mod mark;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

use super::changes::{self, Touched};
use super::{HistoryError, look, transfer};
use crate::redact::Redactor;
use crate::store::{Store, View};

pub use bulk::{IndexName, index_template};
pub use mark::Mark;

/// What is exported.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Export {
    /// As which lines.
    pub format: Format,
    /// What changed after this.
    pub since: Mark,
}

/// What lines are like.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Format {
    /// Records and outcomes whole, as an import takes them.
    #[default]
    Lines,
    /// Flat documents for this index of a search engine.
    Bulk(IndexName),
}

/// One state of a history, about to be exported.
pub struct Exporting {
    view: View,
    format: Format,
    /// The incidents that changed; `None` is all.
    touched: Option<BTreeSet<String>>,
    next: Mark,
}

impl Export {
    /// Looks at the history in `home`, with what waits in its spool.
    pub fn begin(self, home: &Path) -> Result<Exporting, HistoryError> {
        let view = look(home)?;
        // What waits is exported again when the store has it: it has no number before.
        let next = Mark::of(view.id(), view.kept());
        let touched = match self.since.number(&next) {
            None => return Err(HistoryError::Forgotten { since: self.since }),
            Some(0) => None,
            Some(number) => match changes::after(&view, number)? {
                Touched::None => Some(BTreeSet::new()),
                Touched::Some(ids) => Some(ids),
                Touched::Unknown => return Err(HistoryError::Forgotten { since: self.since }),
            },
        };
        Ok(Exporting { view, format: self.format, touched, next })
    }
}

impl Exporting {
    /// Where the next export goes on.
    pub fn next(&self) -> &Mark {
        &self.next
    }

    /// Writes it to `out`; how many lines that were. What leaves for a search engine is masked by what `redactor` knows today.
    pub fn write(&self, redactor: &Redactor, out: &mut dyn Write) -> Result<u64, HistoryError> {
        let mut lines = Lines { out, count: 0 };
        let (store, touched): (&dyn Store, _) = (&self.view, self.touched.as_ref());
        match &self.format {
            Format::Lines => transfer::write(store, touched, &mut lines)?,
            Format::Bulk(index) => bulk::write(store, touched, index, redactor, &mut lines)?,
        }
        Ok(lines.count)
    }
}

/// Where lines go, counted.
pub(super) struct Lines<'o> {
    pub out: &'o mut dyn Write,
    pub count: u64,
}

impl Lines<'_> {
    /// Writes `line` as JSON.
    pub fn put(&mut self, line: &impl serde::Serialize) -> Result<(), HistoryError> {
        let line = serde_json::to_string(line)?;
        writeln!(self.out, "{line}").map_err(|error| HistoryError::file("export".as_ref(), error))?;
        self.count += 1;
        Ok(())
    }
}
