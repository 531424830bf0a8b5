//! Finds in code what it calls and keeps.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use tree_sitter::Node as Syntax;

use super::super::habits::Habits;
use super::graphs::{Graphs, wanted};
use super::literal::Definitions;
use super::{assignments, dotted, frozen, in_order, in_place, many, outputs, parts};
use crate::knowledge::{CodeWords, ends_in, is_among};

/// More names than rules ask for, and more places than people write.
pub(super) const MOST: usize = 500;
/// The longest value that is looked into: what is nested deeper nobody wrote.
const LONGEST: usize = 400;
/// How often one value is followed to those that it is made of.
pub(super) const ROUNDS: usize = 4;

/// How the names of classes end whose members are layers.
const MODELS: [&str; 5] = ["Module", "Model", "ModuleList", "ModuleDict", "Sequential"];

/// Ends a graph where a sum stays on its device, and where a list need not.
const OFF_GRAPH: &str = ".detach()";
pub(super) const OFF_DEVICE: &str = ".cpu()";
const OFF_BOTH: &str = ".detach().cpu()";

/// The habits of the code whose nodes are `nodes`.
pub(super) fn of(definitions: &Definitions<'_>, nodes: &[Syntax<'_>]) -> Habits {
    let (mut habits, mut known) = (Habits::default(), HashSet::new());
    for node in nodes {
        let name = called(*node).and_then(|called| dotted(definitions, called));
        if let Some(name) = name.filter(|name| known.len() < MOST && known.insert(name.clone())) {
            habits.calls.push(name);
        }
    }
    let without_graph: Vec<Range<usize>> =
        nodes.iter().filter_map(|node| many::without_graph(definitions, *node)).take(MOST).collect();
    // Looking for what is around a node takes time: not for more of them than people write.
    let kept: Vec<Kept<'_>> = nodes.iter().filter_map(|node| Kept::of(definitions, *node)).take(MOST).collect();
    if !kept.is_empty() {
        let wanted = wanted(definitions, nodes);
        let graphs = Graphs::of(definitions, nodes);
        // A function is walked through once, whatever it keeps.
        let mut returned: HashMap<usize, HashSet<&str>> = HashMap::new();
        let mut is_returned = |kept: &Kept<'_>| {
            let function = function_around(kept.node);
            function.is_some_and(|function| {
                let names = returned.entry(function.id()).or_insert_with(|| returned_by(definitions, function));
                names.contains(kept.into)
            })
        };
        // A list grows by whole tensors, a sum mostly by a number: what weighs more is told first.
        let (lists, sums): (Vec<_>, Vec<_>) = kept.iter().partition(|kept| !kept.is_sum);
        for kept in lists.into_iter().chain(sums).filter(|kept| kept.outlives_a_step(definitions)) {
            // A sum of what has no graph, or that is made without one, is one number.
            let has_no_graph = without_graph.iter().any(|span| span.contains(&kept.node.start_byte()));
            let made = graphs.made_of(kept.value);
            let takes_nothing =
                made.is_off_graph && made.is_on_host || kept.is_sum && (made.is_off_graph || has_no_graph);
            if !takes_nothing && !wanted.contains(kept.into) && !is_returned(kept) {
                habits.keeps.push(kept.node.byte_range());
                // What a backward pass starts from has the graph of its whole step.
                let is_start = !made.is_off_graph && !has_no_graph && graphs.starts_from(kept.value);
                if is_start {
                    habits.keeps_graphs.push(kept.node.byte_range());
                }
                habits.releases.extend(kept.release(definitions, nodes, is_start, made.is_off_graph));
                if !kept.is_sum && outputs::is_whole(definitions, nodes, kept.value) {
                    habits.piles.push(kept.node.byte_range());
                    let edits = outputs::only_largest(definitions, nodes, kept.into, kept.value);
                    habits.largest.extend(edits.unwrap_or_default().into_iter().map(|edit| (edit.span, edit.with)));
                }
            }
        }
    }
    if !habits.piles.is_empty() && !habits.releases.is_empty() {
        let answers = outputs::answers(definitions, nodes, &kept);
        let is_new = |(at, _): &(usize, String)| !habits.releases.iter().any(|(known, _)| known == at);
        let answers: Vec<(usize, String)> = answers.into_iter().filter(is_new).collect();
        habits.releases.extend(answers);
    }
    habits.without_graph = without_graph;
    habits.repeats = nodes.iter().filter_map(|node| many::repeats(definitions, *node)).take(MOST).collect();
    habits.whole_graph = nodes.iter().find_map(|node| many::whole_graph(definitions, *node));
    if habits.whole_graph.is_some() {
        habits.message_layers = many::message_layers(definitions, nodes);
    }
    let graphs = nodes.iter().filter_map(|node| keeps_graphs(definitions, *node)).take(MOST);
    let graphs: Vec<Range<usize>> = graphs.collect();
    // What a decorator settles needs no block.
    let is_outside = |span: &Range<usize>| !graphs.iter().any(|graph| graph.contains(&span.start));
    habits.frozen = frozen::of(definitions, nodes).into_iter().filter(is_outside).collect();
    habits.graphs = graphs.into_iter().map(|graph| graph.start).collect();
    let hoards = nodes.iter().filter_map(|node| Some((*node, hoards(definitions, *node)?))).take(MOST);
    // What a model is given is larger than what it gives.
    let (inputs, others): (Vec<_>, Vec<_>) = hoards.partition(|(_, is_input)| *is_input);
    habits.hoards = inputs.into_iter().chain(others).map(|(node, _)| node.byte_range()).collect();
    habits.gathers =
        nodes.iter().filter(|node| gathers(definitions, **node)).take(MOST).map(|node| node.byte_range()).collect();
    let cached = nodes.iter().filter_map(|node| Some((*node, cached_in(definitions, *node)?))).take(MOST);
    for (node, (of, _)) in cached.filter(|(_, (of, function))| !is_bounded(definitions, of, *function)) {
        habits.caches.push(node.byte_range());
        if is_made_as_dictionary(definitions, nodes, of) {
            habits.clears.push((node.start_byte(), format!("{of}.clear()")));
        }
    }
    habits.replaceable = in_place::of(definitions, nodes);
    habits.converts = nodes.iter().filter_map(|node| many::converts(definitions, *node)).take(MOST).collect();
    let records = nodes.iter().filter(|node| holds_records(definitions, **node)).take(MOST);
    habits.records = records.map(|node| node.byte_range()).collect();
    habits
}

/// What `node` calls.
fn called(node: Syntax<'_>) -> Option<Syntax<'_>> {
    match node.kind() {
        "call" => node.child_by_field_name("function"),
        // `@torch.inference_mode`, without brackets.
        "decorator" => node.named_child(0).filter(|decorator| decorator.kind() != "call"),
        _ => None,
    }
}

/// A statement that adds a value to something.
pub(super) struct Kept<'t> {
    pub node: Syntax<'t>,
    /// What it is added to: `losses`.
    pub into: &'t str,
    pub value: Syntax<'t>,
    pub is_sum: bool,
}

impl<'t> Kept<'t> {
    fn of(definitions: &Definitions<'t>, node: Syntax<'t>) -> Option<Kept<'t>> {
        match node.kind() {
            "augmented_assignment" => {
                let (left, value) = parts(node, "left", "right")?;
                let sums = definitions.words(node.child_by_field_name("operator")?) == "+=";
                let into = definitions.words(left);
                (sums && is_short(value) && is_name(value)).then_some(Kept { node, into, value, is_sum: true })
            }
            "call" => {
                let (function, arguments) = parts(node, "function", "arguments")?;
                let words = definitions.words(function);
                let into = words.strip_suffix(".append").or_else(|| words.strip_suffix(".extend"))?;
                let value = arguments.named_child(0).filter(|value| is_short(*value) && holds(definitions, *value))?;
                Some(Kept { node, into, value, is_sum: false })
            }
            _ => None,
        }
    }

    /// Whether it is done again and again: in a loop, or in a method to a list of the object, which outlives the call.
    fn outlives_a_step(&self, definitions: &Definitions<'_>) -> bool {
        let stop = loop_or_function_around(self.node);
        match stop.filter(|stop| stop.kind() == "function_definition") {
            Some(method) => {
                let name = name(definitions, method);
                self.into.starts_with("self.") && name.is_some_and(|name| name != "__init__")
            }
            None => stop.is_some(),
        }
    }

    /// Where a call must stand behind the value, if its name says that it is a tensor, and the call. Of all that a model gave, `out`, the part is
    /// kept that the code reads of it, the loss before all others: `out.loss`.
    fn release(
        &self,
        definitions: &Definitions<'_>,
        nodes: &[Syntax<'_>],
        is_start: bool,
        is_made_off: bool,
    ) -> Option<(usize, String)> {
        // What is made of a value without a graph has none either: `logits.detach().argmax(1)`.
        let is_off = is_made_off || definitions.words(self.value).contains(OFF_GRAPH);
        let call = match (self.is_sum, is_off) {
            (true, true) => return None,
            (true, false) => OFF_GRAPH,
            (false, true) => OFF_DEVICE,
            (false, false) => OFF_BOTH,
        };
        if is_start || is_tensor(definitions, self.value) {
            return Some((self.value.end_byte(), call.to_owned()));
        }
        if self.is_sum || self.value.kind() != "identifier" {
            return None;
        }
        let of = definitions.words(self.value);
        let parts = nodes.iter().filter(|node| node.kind() == "attribute");
        let read: HashSet<&str> = parts.filter_map(|part| definitions.words(*part).strip_prefix(of)).collect();
        let part = CodeWords::shipped().tensors.iter().find(|part| read.contains(&*format!(".{part}")))?;
        Some((self.value.end_byte(), format!(".{part}{OFF_BOTH}")))
    }
}

/// The innermost loop or function that `node` stands in.
pub(super) fn loop_or_function_around(node: Syntax<'_>) -> Option<Syntax<'_>> {
    std::iter::successors(node.parent(), Syntax::parent)
        .find(|node| matches!(node.kind(), "for_statement" | "while_statement" | "function_definition"))
}

/// The function that `node` stands in.
pub(super) fn function_around(node: Syntax<'_>) -> Option<Syntax<'_>> {
    std::iter::successors(node.parent(), Syntax::parent).find(|node| node.kind() == "function_definition")
}

/// The name of a function's definition.
pub(super) fn name<'t>(definitions: &Definitions<'t>, function: Syntax<'_>) -> Option<&'t str> {
    function.child_by_field_name("name").map(|name| definitions.words(name))
}

/// The method that is called, if `function` is one of a value.
pub(super) fn method<'t>(definitions: &Definitions<'t>, function: Syntax<'_>) -> Option<&'t str> {
    function.child_by_field_name("attribute").map(|method| definitions.words(method))
}

/// Whether `value` is short enough to look into.
pub(super) fn is_short(value: Syntax<'_>) -> bool {
    value.byte_range().len() <= LONGEST
}

pub(super) fn is_name(value: Syntax<'_>) -> bool {
    matches!(value.kind(), "identifier" | "attribute" | "subscript")
}

/// Whether `value` is one that has a name, a part of one, or a collection with one of these, not only what a call makes.
fn holds(definitions: &Definitions<'_>, value: Syntax<'_>) -> bool {
    match value.kind() {
        "dictionary" | "tuple" | "list" | "pair" => {
            let mut cursor = value.walk();
            let mut parts = value.named_children(&mut cursor);
            // Of a pair, the value.
            if value.kind() == "pair" {
                parts.last().is_some_and(|part| holds(definitions, part))
            } else {
                parts.any(|part| holds(definitions, part))
            }
        }
        "call" => is_tensor(definitions, value),
        _ => is_name(value),
    }
}

/// Whether the name of `value` is that of a tensor, and what is called of it makes another tensor.
pub(super) fn is_tensor(definitions: &Definitions<'_>, value: Syntax<'_>) -> bool {
    let words = CodeWords::shipped();
    match value.kind() {
        "identifier" => definitions.words(value).split('_').any(|part| is_among(&words.tensors, part)),
        "attribute" => value.child_by_field_name("attribute").is_some_and(|name| is_tensor(definitions, name)),
        "subscript" => value.child_by_field_name("value").is_some_and(|of| is_tensor(definitions, of)),
        "call" => value.child_by_field_name("function").is_some_and(|function| {
            let stays = method(definitions, function).is_some_and(|method| is_among(&words.stays_tensor, method));
            stays && function.child_by_field_name("object").is_some_and(|of| is_tensor(definitions, of))
        }),
        _ => false,
    }
}

/// What `function` gives to its caller, unless something says that this has no use for a graph: `forward` of a model gives what it collected,
/// and what runs its own backward pass returns figures for people.
fn returned_by<'t>(definitions: &Definitions<'t>, function: Syntax<'_>) -> HashSet<&'t str> {
    let mut nodes = in_order(function);
    if let Some(decorated) = function.parent().filter(|parent| parent.kind() == "decorated_definition") {
        let mut cursor = decorated.walk();
        nodes.extend(decorated.named_children(&mut cursor).filter(|node| node.kind() == "decorator"));
    }
    let words = CodeWords::shipped();
    let ends = |node: &&Syntax<'_>| {
        let text = definitions.words(**node);
        let name = text.trim_start_matches('@').split('(').next().unwrap_or_default();
        let last = name.rsplit('.').next().unwrap_or_default();
        is_among(&words.runs_backward, last) || is_among(&words.without_graph, last)
    };
    if nodes.iter().filter(|node| matches!(node.kind(), "call" | "decorator")).any(|node| ends(&node)) {
        return HashSet::new();
    }
    let returned = nodes.iter().filter(|node| node.kind() == "return_statement");
    returned.flat_map(|node| in_order(*node)).map(|node| definitions.words(node)).collect()
}

/// The span of `node`, if it is a function that runs a model and learns nothing from it, and nothing tells PyTorch so: `def validate(…)`.
fn keeps_graphs(definitions: &Definitions<'_>, node: Syntax<'_>) -> Option<Range<usize>> {
    let words = CodeWords::shipped();
    let name = name(definitions, node).filter(|_| node.kind() == "function_definition")?;
    if !name.split('_').any(|part| is_among(&words.learns_nothing, part)) {
        return None;
    }
    let decorated = node.parent().filter(|parent| parent.kind() == "decorated_definition");
    let whole = decorated.unwrap_or(node);
    let (mut runs_a_model, mut is_settled) = (false, false);
    for node in in_order(whole) {
        let Some(called) = called(node) else { continue };
        let last = definitions.words(called.child_by_field_name("attribute").unwrap_or(called));
        is_settled |=
            [&words.without_graph, &words.runs_backward, &words.learns].iter().any(|words| is_among(words, last));
        runs_a_model |= last.split('_').any(|part| is_among(&words.models, part));
    }
    (runs_a_model && !is_settled).then(|| whole.byte_range())
}

/// Whether what `node` puts to a list in each pass of a loop, an array of the host, is what the loop reads: `images.append(batch.numpy())`, with
/// labels behind it. `None` if it puts none there; what is reduced before, as `scores.argmax(1).cpu()`, is small.
fn hoards(definitions: &Definitions<'_>, node: Syntax<'_>) -> Option<bool> {
    let words = CodeWords::shipped();
    let (function, arguments) = parts(node, "function", "arguments").filter(|_| node.kind() == "call")?;
    if !definitions.words(function).ends_with(".append") {
        return None;
    }
    let value = arguments.named_child(0).filter(|value| value.kind() == "call")?;
    let function = value.child_by_field_name("function")?;
    let makes =
        dotted(definitions, function).is_some_and(|name| words.makes_arrays.iter().any(|end| ends_in(&name, end)));
    let moves = method(definitions, function).is_some_and(|method| is_among(&words.to_host, method));
    let methods = in_order(value).into_iter().filter_map(called).filter_map(|called| method(definitions, called));
    if !(makes || moves) || methods.into_iter().any(|method| is_among(&words.reduces, method)) {
        return None;
    }
    let stop = loop_or_function_around(node)?;
    let read = stop.child_by_field_name("left").map(in_order).unwrap_or_default();
    let is_identifier = |node: &Syntax<'_>| node.kind() == "identifier";
    let names: Vec<&str> = read.into_iter().filter(is_identifier).map(|node| definitions.words(node)).collect();
    let root = in_order(value).into_iter().find(is_identifier).map(|node| definitions.words(node));
    let inputs = match names.as_slice() {
        [.., _] if names.len() > 1 => &names[..names.len() - 1],
        all => all,
    };
    let is_input = root.is_some_and(|root| inputs.contains(&root));
    (stop.kind() != "function_definition").then_some(is_input)
}

/// Whether `node` reads a file in each pass of a list's own loop, and keeps all of it: `[np.load(path) for path in files]`.
fn gathers(definitions: &Definitions<'_>, node: Syntax<'_>) -> bool {
    let body =
        node.child_by_field_name("body").filter(|body| node.kind() == "list_comprehension" && body.kind() == "call");
    let function = body.and_then(|body| body.child_by_field_name("function"));
    let reads = |name: String| CodeWords::shipped().makes_arrays.iter().any(|end| ends_in(&name, end));
    function.and_then(|function| dotted(definitions, function)).is_some_and(reads)
}

/// Where `node` keeps in the object what one sample of a data set is: `self.cache` of `self.cache[index] = …`, and the `__getitem__` around it.
fn cached_in<'t>(definitions: &Definitions<'t>, node: Syntax<'t>) -> Option<(&'t str, Syntax<'t>)> {
    let of = match node.kind() {
        "assignment" => {
            let left = node.child_by_field_name("left").filter(|left| left.kind() == "subscript")?;
            definitions.words(left.child_by_field_name("value")?)
        }
        "call" => definitions.words(node.child_by_field_name("function")?).strip_suffix(".append")?,
        _ => return None,
    };
    let function = function_around(node).filter(|_| of.starts_with("self."))?;
    (name(definitions, function) == Some("__getitem__")).then_some((of, function))
}

/// Whether `function` empties `of`, or asks for its length: then it does not grow without end.
fn is_bounded(definitions: &Definitions<'_>, of: &str, function: Syntax<'_>) -> bool {
    let body = definitions.words(function);
    body.contains(&format!("{of}.clear()")) || body.contains(&format!("len({of})"))
}

/// Whether the only thing that is called `of` is made as a dictionary: `self.cache = {}`.
fn is_made_as_dictionary(definitions: &Definitions<'_>, nodes: &[Syntax<'_>], of: &str) -> bool {
    let made = assignments(nodes).filter(|(_, left, _)| definitions.words(*left) == of);
    let mut values = made.map(|(_, _, value)| definitions.words(value));
    let is_dictionary = |value: &str| ["{}", "dict()", "OrderedDict()"].iter().any(|empty| value.ends_with(empty));
    values.next().is_some_and(is_dictionary) && values.next().is_none()
}

/// Whether `node` makes a list of Python objects, one for each sample, in a data set: `self.rows = [json.loads(line) for line in file]`, or
/// `self.rows.append((x, y))` in a loop, in the `__init__` of a class that is a data set.
fn holds_records(definitions: &Definitions<'_>, node: Syntax<'_>) -> bool {
    let reads_objects = &CodeWords::shipped().reads_objects;
    let is_object = |value: Syntax<'_>| matches!(value.kind(), "call" | "dictionary" | "tuple" | "list");
    let made = match node.kind() {
        "assignment" => parts(node, "left", "right").filter(|(_, right)| match right.kind() {
            "list_comprehension" => right.child_by_field_name("body").is_some_and(is_object),
            "call" => parts(*right, "function", "arguments")
                .is_some_and(|(function, _)| is_among(reads_objects, definitions.words(function))),
            _ => false,
        }),
        "call" => parts(node, "function", "arguments").filter(|(function, arguments)| {
            let is_in_loop = || loop_or_function_around(node).is_some_and(|of| of.kind() != "function_definition");
            method(definitions, *function) == Some("append")
                && arguments.named_child(0).is_some_and(is_object)
                && is_in_loop()
        }),
        _ => None,
    };
    let init = || function_around(node).filter(|function| name(definitions, *function) == Some("__init__"));
    made.is_some_and(|(left, _)| definitions.words(left).starts_with("self."))
        && init().and_then(|init| init.parent()).is_some_and(|body| is_data_set(definitions, body))
}

/// Whether `body` is that of a class whose objects are data sets: `__getitem__` gives their samples, and the class is one of them by its bases or
/// knows how many it has. A model may have both for its layers.
fn is_data_set(definitions: &Definitions<'_>, body: Syntax<'_>) -> bool {
    let has = |wanted: &str| {
        let mut cursor = body.walk();
        let mut members =
            body.named_children(&mut cursor).map(|member| member.child_by_field_name("definition").unwrap_or(member));
        members.any(|member| member.kind() == "function_definition" && name(definitions, member) == Some(wanted))
    };
    let bases = body.parent().and_then(|class| class.child_by_field_name("superclasses")).map(in_order);
    let bases: Vec<&str> = bases.unwrap_or_default().into_iter().map(|base| definitions.words(base)).collect();
    let is_model = |base: &&str| MODELS.iter().any(|end| base.ends_with(end));
    has("__getitem__")
        && !bases.iter().any(is_model)
        && (has("__len__") || bases.iter().any(|base| base.ends_with("Dataset")))
}
