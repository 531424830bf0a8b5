//! Finds secrets that span several cited lines: a key, a token that a terminal wrapped.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use super::Redactor;
use crate::model::{Location, Text};

/// Cited lines by path and number, each as far as it is cited.
#[derive(Default)]
pub(super) struct CitedLines(BTreeMap<(Arc<str>, u64), String>);

/// Secret parts that only show together with adjacent lines, by the path and number of their line.
pub(super) struct SecretPieces(HashMap<(Arc<str>, u64), Vec<Piece>>);

/// A secret part of a line, and the row that it matches.
pub(super) struct Piece {
    words: String,
    row: usize,
}

impl CitedLines {
    /// Adds the line of a citation.
    pub fn add(&mut self, text: &Text<'_>) {
        if let Text::Cited { location, words, .. } = text {
            let line = self.0.entry((location.path.clone(), location.line.0)).or_default();
            if words.len() > line.len() {
                words.as_str().clone_into(line);
            }
        }
    }

    /// Searches each run of consecutive lines.
    pub fn search(self, redactor: &Redactor) -> SecretPieces {
        let mut pieces = SecretPieces(HashMap::new());
        let mut run: Vec<((Arc<str>, u64), String)> = Vec::new();
        for (place, line) in self.0 {
            if run.last().is_some_and(|((path, number), _)| *path != place.0 || number + 1 != place.1) {
                pieces.add(std::mem::take(&mut run), redactor);
            }
            run.push((place, line));
        }
        pieces.add(run, redactor);
        pieces
    }
}

impl SecretPieces {
    fn add(&mut self, run: Vec<((Arc<str>, u64), String)>, redactor: &Redactor) {
        if run.len() < 2 {
            return;
        }
        let lines: Vec<&str> = run.iter().map(|(_, line)| line.as_str()).collect();
        let text = lines.join("\n");
        let mut starts: Vec<usize> = Vec::with_capacity(run.len());
        starts.extend(lines.iter().scan(0, |at, line| {
            let start = *at;
            *at += line.len() + 1;
            Some(start)
        }));
        for (range, row) in redactor.secrets(&text) {
            let first = starts.partition_point(|start| *start <= range.start).saturating_sub(1);
            let last = starts.partition_point(|start| *start < range.end);
            for place in first..last {
                let start = starts[place];
                let end = start + lines[place].len();
                let piece = text[range.start.max(start)..range.end.min(end)].trim();
                if !piece.is_empty() {
                    self.0.entry(run[place].0.clone()).or_default().push(Piece { words: piece.to_owned(), row });
                }
            }
        }
    }

    /// The secret parts of the line at `location`.
    pub fn of(&self, location: &Location) -> &[Piece] {
        self.0.get(&(location.path.clone(), location.line.0)).map_or(&[], Vec::as_slice)
    }
}

impl Piece {
    /// Adds the occurrences of this part in `words` to `secrets`.
    pub fn find(&self, words: &str, secrets: &mut Vec<(Range<usize>, usize)>) {
        secrets.extend(words.match_indices(&self.words).map(|(at, found)| (at..at + found.len(), self.row)));
    }
}
