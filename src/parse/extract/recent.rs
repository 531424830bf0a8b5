use std::sync::Arc;

use super::super::line::Line;
use crate::model::Citation;

/// The number of lines before a failure that are kept.
const LINES: usize = 48;

/// The last lines of the input. If no sign of a phase is known, their words are the only hint at it.
///
/// A ring whose slots are overwritten in place, because this happens for every line.
#[derive(Default)]
pub(super) struct Recent {
    lines: Vec<Line<'static>>,
    /// The oldest, once all slots are taken.
    oldest: usize,
}

impl Recent {
    pub fn push(&mut self, line: &Line<'_>) {
        if self.lines.len() < LINES {
            self.lines.push(line.clone().into_owned());
        } else {
            line.copy_to(&mut self.lines[self.oldest]);
            self.oldest = (self.oldest + 1) % LINES;
        }
    }

    /// The lines, oldest first.
    pub fn cites(&self, path: &Arc<str>) -> Arc<[Citation]> {
        let (newer, older) = self.lines.split_at(self.oldest);
        older.iter().chain(newer).map(|line| line.cite(path)).collect()
    }
}
