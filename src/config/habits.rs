//! What code does that is no setting.

use std::ops::Range;
use std::sync::Arc;

use super::edit::LineStarts;
use super::{Body, Document};
use crate::model::{Citation, Location};

/// The functions that code calls, and the results that it keeps from one pass of a loop to the next.
#[derive(Debug, Clone, Default)]
pub struct Habits {
    /// `torch.no_grad`, each once.
    pub calls: Vec<String>,
    /// Where a value is added to a sum or a list that outlives a step: `running += loss`, `self.outputs.append(logits)`. What a call makes of
    /// a value, as `loss.item()`, is another value, and what a backward pass or the caller needs is not kept by mistake.
    pub keeps: Vec<Range<usize>>,
    /// Where a call must stand behind such a value, by its name a tensor, so that neither its graph nor the device's memory is kept, and
    /// the call.
    pub releases: Vec<(usize, String)>,
    /// Where functions begin that evaluate and keep graphs that nobody needs.
    pub graphs: Vec<usize>,
    /// Which statements ask a model that learns nothing and keep its graph: `scores = reference(batch)`.
    pub frozen: Vec<Range<usize>>,
    /// Where an array of the host is put to a list in each pass of a loop: `images.append(batch.numpy())`.
    pub hoards: Vec<Range<usize>>,
    /// Where a data set keeps what it has read: `self.cache[index] = image` in `__getitem__`.
    pub caches: Vec<Range<usize>>,
    /// Before which of these a statement can empty what is a dictionary, and the statement: `self.cache.clear()`.
    pub clears: Vec<(usize, String)>,
    /// Where a data set makes a list of Python objects, one for each sample: `self.rows = [json.loads(line) for line in file]`.
    pub records: Vec<Range<usize>>,
}

impl Document {
    fn habits(&self) -> Option<&Habits> {
        if let Body::Python(code) = &self.body { Some(code.habits()) } else { None }
    }

    /// What a program in Python keeps from one pass of a loop to the next: `running += loss`.
    pub fn kept(&self) -> Vec<Citation> {
        self.habits().map_or_else(Vec::new, |habits| self.cited(&habits.keeps))
    }

    /// The modules that a program in Python imports, by the last part of their names: `loader` of `data.loader`.
    pub fn imports(&self) -> impl Iterator<Item = &str> {
        fn module(line: &str) -> Option<&str> {
            let names = line.strip_prefix("from ").or_else(|| line.strip_prefix("import "))?;
            names.split([' ', ',']).next()?.rsplit('.').next().filter(|name| !name.is_empty())
        }
        let is_code = matches!(self.body, Body::Python(_));
        self.text.lines().filter(move |_| is_code).filter_map(|line| module(line.trim_start()))
    }

    /// What a data set in Python keeps of what it has read: `self.cache[index] = image`.
    pub fn caches(&self) -> Vec<Citation> {
        self.habits().map_or_else(Vec::new, |habits| self.cited(&habits.caches))
    }

    /// What a program in Python puts to lists on the host from pass to pass of a loop: `images.append(batch.numpy())`.
    pub fn hoarded(&self) -> Vec<Citation> {
        self.habits().map_or_else(Vec::new, |habits| self.cited(&habits.hoards))
    }

    /// Where a data set in Python holds its samples as Python objects: `self.rows = [json.loads(line) for line in file]`.
    pub fn records(&self) -> Vec<Citation> {
        self.habits().map_or_else(Vec::new, |habits| self.cited(&habits.records))
    }

    /// Whether a data set in Python holds what it reads, either way.
    pub fn holds_data(&self) -> bool {
        self.habits().is_some_and(|habits| !habits.caches.is_empty() || !habits.records.is_empty())
    }

    /// How many of the values that a program in Python keeps are tensors whose graphs or memory need not be kept.
    pub(super) fn releases(&self) -> usize {
        self.habits().map_or(0, |habits| habits.releases.len())
    }

    /// How many dictionaries, in which a data set in Python keeps what it has read, a statement could empty.
    pub(super) fn clears(&self) -> usize {
        self.habits().map_or(0, |habits| habits.clears.len())
    }

    /// How many functions and statements of a program in Python ask models and keep graphs that nobody needs.
    pub(super) fn graphs(&self) -> usize {
        self.habits().map_or(0, |habits| habits.graphs.len() + habits.frozen.len())
    }

    /// Where a program in Python asks a model that learns nothing and keeps its graph: `scores = reference(batch)`.
    pub fn asks_with_graph(&self) -> Vec<Citation> {
        self.habits().map_or_else(Vec::new, |habits| self.cited(&habits.frozen))
    }

    fn cited(&self, spans: &[Range<usize>]) -> Vec<Citation> {
        let lines = LineStarts::of(&self.text);
        let cite = |span: &Range<usize>| {
            let span = if let Body::Python(code) = &self.body { code.outside(span) } else { span.clone() };
            let (line, column) = lines.locate(span.start);
            let location = Location { path: Arc::clone(&self.path), line, column };
            Some(Citation::new(location, self.text.get(span)?.to_owned()))
        };
        spans.iter().filter_map(cite).collect()
    }
}
