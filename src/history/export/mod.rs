//! Exports of the history for other programs.
//!
//! In go a format and the mark at which the previous export ended; out come lines, of the whole history or of what
//! changed since, and the mark for the next export. An export writes nothing into the history and waits for no writer.

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

/// What to export.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Export {
    pub format: Format,
    /// Only what changed after this mark.
    pub since: Mark,
}

/// The format of the lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Format {
    /// Complete records and outcomes, as an import takes them.
    #[default]
    Lines,
    /// Flat documents for this index of a search engine.
    Bulk(IndexName),
}

/// A view of the history, ready to be exported.
pub struct Exporting {
    view: View,
    format: Format,
    /// The incidents that changed; `None` for all.
    touched: Option<BTreeSet<String>>,
    next: Mark,
}

impl Export {
    /// Opens a view of the history in `home`, with what waits in its spool.
    pub fn begin(self, home: &Path) -> Result<Exporting, HistoryError> {
        let view = look(home)?;
        // What waits in the spool has no change number yet, so that the next export writes it again.
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
    /// The mark that the next export continues from.
    pub fn next(&self) -> &Mark {
        &self.next
    }

    /// Writes the lines to `out` and returns their number. Documents for a search engine are masked with `redactor`.
    pub fn write(&self, redactor: &Redactor, out: &mut dyn Write) -> Result<u64, HistoryError> {
        let mut lines = LineWriter { out, count: 0 };
        let (store, touched): (&dyn Store, _) = (&self.view, self.touched.as_ref());
        match &self.format {
            Format::Lines => transfer::write(store, touched, &mut lines)?,
            Format::Bulk(index) => bulk::write(store, touched, index, redactor, &mut lines)?,
        }
        Ok(lines.count)
    }
}

/// Writes JSON lines and counts them.
pub(super) struct LineWriter<'o> {
    pub out: &'o mut dyn Write,
    pub count: u64,
}

impl LineWriter<'_> {
    pub fn put(&mut self, line: &impl serde::Serialize) -> Result<(), HistoryError> {
        let line = serde_json::to_string(line)?;
        writeln!(self.out, "{line}").map_err(|error| HistoryError::file("export".as_ref(), error))?;
        self.count += 1;
        Ok(())
    }
}
