//! What code does that is no setting.

use std::collections::BTreeMap;
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
    /// Which of these keep the value that a backward pass starts from, with the graph of its step: `running += total` beside `total.backward()`.
    pub keeps_graphs: Vec<Range<usize>>,
    /// Where a call must stand behind such a value, by its name a tensor, so that neither its graph nor the device's memory is kept, and
    /// the call.
    pub releases: Vec<(usize, String)>,
    /// Which of these put whole outputs of a model to a list, where they were made: `outputs.append(result.logits)`.
    pub piles: Vec<Range<usize>>,
    /// The edits that keep of such outputs only what the code goes on to use, which is largest: spans and what takes their places.
    pub largest: Vec<(Range<usize>, String)>,
    /// The blocks and functions that make no graph: `with torch.no_grad():`.
    pub without_graph: Vec<Range<usize>>,
    /// Where a call is given one value many times: `[prompt] * count`.
    pub repeats: Vec<Range<usize>>,
    /// The first call of a model with a whole graph.
    pub whole_graph: Option<WholeGraph>,
    /// How many layers that send messages along the edges of a graph are written out.
    pub message_layers: usize,
    /// Where functions begin that evaluate and keep graphs that nobody needs.
    pub graphs: Vec<usize>,
    /// Which statements ask a model that learns nothing and keep its graph: `scores = reference(batch)`.
    pub frozen: Vec<Range<usize>>,
    /// Where an array of the host is put to a list in each pass of a loop: `images.append(batch.numpy())`.
    pub hoards: Vec<Range<usize>>,
    /// Where many files are read into one list: `[np.load(path) for path in files]`.
    pub gathers: Vec<Range<usize>>,
    /// By the name of a class that could take the place of another one, the edits that give it all of these places.
    pub replaceable: BTreeMap<String, Vec<(Range<usize>, String)>>,
    /// Where a data set keeps what it has read: `self.cache[index] = image` in `__getitem__`.
    pub caches: Vec<Range<usize>>,
    /// Before which of these a statement can empty what is a dictionary, and the statement: `self.cache.clear()`.
    pub clears: Vec<(usize, String)>,
    /// Where a model that was just loaded is moved or converted at once: `AutoModel.from_pretrained(name).half().cuda()`.
    pub converts: Vec<Range<usize>>,
    /// Where a data set makes a list of Python objects, one for each sample: `self.rows = [json.loads(line) for line in file]`.
    pub records: Vec<Range<usize>>,
}

/// A call of a model with a whole graph: `out = model(data.x, data.edge_index)[train]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WholeGraph {
    /// What the graph is called: `data`.
    pub name: String,
    /// Which nodes are learned from, if the call's value is cut to them: `train`.
    pub nodes: Option<String>,
    /// Where it is called.
    pub at: Range<usize>,
}

impl Document {
    fn habits(&self) -> Option<&Habits> {
        if let Body::Python(code) = &self.body { Some(code.habits()) } else { None }
    }

    /// What a program in Python keeps from one pass of a loop to the next: `running += loss`.
    pub fn kept(&self) -> Vec<Citation> {
        self.habits().map_or_else(Vec::new, |habits| self.cited(&habits.keeps))
    }

    /// Where a program in Python keeps from pass to pass what a backward pass starts from: `running += total` beside `total.backward()`.
    pub fn keeps_graphs(&self) -> Vec<Citation> {
        self.habits().map_or_else(Vec::new, |habits| self.cited(&habits.keeps_graphs))
    }

    /// Where a program in Python keeps whole outputs of a model where they were made: `outputs.append(result.logits)`.
    pub fn piles(&self) -> Vec<Citation> {
        self.habits().map_or_else(Vec::new, |habits| self.cited(&habits.piles))
    }

    /// Where a program in Python gives a call one value many times: `[prompt] * count`.
    pub fn repeats(&self) -> Vec<Citation> {
        self.habits().map_or_else(Vec::new, |habits| self.cited(&habits.repeats))
    }

    /// The whole graph that a program in Python gives to a model, where it does, and how many layers of it send messages.
    pub fn whole_graph(&self) -> Option<(&WholeGraph, Citation, usize)> {
        let habits = self.habits()?;
        let graph = habits.whole_graph.as_ref()?;
        let cite = self.cited(std::slice::from_ref(&graph.at)).pop()?;
        Some((graph, cite, habits.message_layers))
    }

    /// Whether `line` stands in a program in Python only where it makes no graph.
    pub fn makes_no_graph(&self, line: &str) -> bool {
        let Some(habits) = self.habits().filter(|habits| !habits.without_graph.is_empty()) else { return false };
        let mut start = 0;
        let mut places = self.text.split_inclusive('\n').filter_map(|written| {
            let at = start;
            start += written.len();
            (written.trim() == line).then_some(at)
        });
        let is_within = |at: usize| habits.without_graph.iter().any(|span| span.start <= at && at < span.end);
        // What is printed of a notebook's cell is no line of its file.
        places.next().is_some_and(is_within) && places.all(is_within)
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

    /// Where a program in Python reads many files into one list: `[np.load(path) for path in files]`.
    pub fn gathered(&self) -> Vec<Citation> {
        self.habits().map_or_else(Vec::new, |habits| self.cited(&habits.gathers))
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

    /// How many edits keep less of whole outputs.
    pub(super) fn largest(&self) -> usize {
        self.habits().map_or(0, |habits| habits.largest.len())
    }

    /// Whether a program in Python uses only a part of the whole outputs that it keeps, so that edits keep only that.
    pub fn could_keep_less(&self) -> bool {
        self.largest() > 0
    }

    /// How many edits give `class` the places of another one.
    pub(super) fn replaceable(&self, class: &str) -> usize {
        self.habits().and_then(|habits| habits.replaceable.get(class)).map_or(0, Vec::len)
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

    /// Where a program in Python moves or converts a model at once that it has just loaded: `from_pretrained(name).half().cuda()`.
    pub fn converts(&self) -> Vec<Citation> {
        self.habits().map_or_else(Vec::new, |habits| self.cited(&habits.converts))
    }

    /// Whether the calls of a program in Python that could be given the argument `key` give it on themselves: no edit can set it.
    pub fn passes_itself(&self, key: &str) -> bool {
        matches!(&self.body, Body::Python(code) if super::python::passes_itself(code, key))
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
