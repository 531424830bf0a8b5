//! Secrets that go over several cited lines: a key, a token that a terminal broke.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use super::Redactor;
use crate::model::{Location, Text};

/// Cited lines by their place, each as far as it is cited.
#[derive(Default)]
pub(super) struct Lines(BTreeMap<(Arc<str>, u64), String>);

/// What is secret because of the lines beside it, by the place of its line.
pub(super) struct Pieces(HashMap<(Arc<str>, u64), Vec<Piece>>);

/// Words of a line that are secret, and the row that says so.
pub(super) struct Piece {
    words: String,
    row: usize,
}

impl Lines {
    /// Takes the line of a citation.
    pub fn add(&mut self, text: &Text<'_>) {
        if let Text::Cited { location, words, .. } = text {
            let line = self.0.entry((location.path.clone(), location.line.0)).or_default();
            if words.len() > line.len() {
                words.as_str().clone_into(line);
            }
        }
    }

    /// Looks through each run of lines that follow one another.
    pub fn search(self, redactor: &Redactor) -> Pieces {
        let mut pieces = Pieces(HashMap::new());
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

impl Pieces {
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

    /// What is secret of the line at `location`.
    pub fn of(&self, location: &Location) -> &[Piece] {
        self.0.get(&(location.path.clone(), location.line.0)).map_or(&[], Vec::as_slice)
    }
}

impl Piece {
    /// Adds to `secrets` where `words` have it.
    pub fn find(&self, words: &str, secrets: &mut Vec<(Range<usize>, usize)>) {
        secrets.extend(words.match_indices(&self.words).map(|(at, found)| (at..at + found.len(), self.row)));
    }
}
