//! Finds statements that ask a model which learns nothing, such as a reference or a teacher, and keep its graph.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use tree_sitter::Node as Syntax;

use super::super::edit::{Edit, indentation, line_end, line_start, newline, next_line};
use super::habits::{MOST, function_around, loop_or_function_around, name};
use super::literal::Definitions;
use super::many::words_without_graph;
use super::{assignments, in_order, parts};
use crate::knowledge::{CodeWords, is_among};

/// What a block's lines are set in by, where the code uses blanks.
const STEP: &str = "    ";

/// The statements among `nodes` that ask only such models: `scores = score(reference, batch)`.
pub(super) fn of(definitions: &Definitions<'_>, nodes: &[Syntax<'_>]) -> Vec<Range<usize>> {
    let is_statement = |node: &&Syntax<'_>| node.kind() == "expression_statement" && stands_alone(**node);
    let asked = nodes.iter().filter(is_statement).filter(|node| asks(definitions, **node)).take(MOST);
    let asked: Vec<Syntax<'_>> = asked.copied().collect();
    if asked.is_empty() {
        return Vec::new();
    }
    let made = Made::of(definitions, nodes);
    let functions: HashMap<&str, Syntax<'_>> = nodes
        .iter()
        .filter(|node| node.kind() == "function_definition")
        .filter_map(|node| Some((name(definitions, *node)?, *node)))
        .collect();
    // A function is walked through once, however many statements it has.
    let mut settled: HashMap<usize, bool> = HashMap::new();
    let mut is_settled =
        |function: Syntax<'_>| *settled.entry(function.id()).or_insert_with(|| is_without_graph(definitions, function));
    let mut keeps_a_graph = |node: &Syntax<'_>| {
        let around = function_around(*node);
        // What a module's `forward` asks is a part of what learns.
        let is_forward = around.is_some_and(|function| name(definitions, function) == Some("forward"));
        let nodes = in_order(*node);
        let calls = nodes.iter().filter(|node| node.kind() == "call");
        let models: Vec<_> = calls.filter_map(|call| model(definitions, *call)).collect();
        let is_own = |function: &str| functions.get(function).copied();
        !is_forward
            && !models.is_empty()
            && models.iter().all(|(model, through)| {
                let through = through.map(is_own);
                made.learns_nothing(model)
                    && through.is_none_or(|own| own.is_some_and(|function| !is_settled(function)))
            })
            && !nodes.iter().any(|node| made.depends_on_a_model(definitions.words(*node)))
            && loop_or_function_around(*node).is_some()
            && !is_within_block_without_graph(definitions, *node)
            && around.is_none_or(|function| !is_settled(function))
    };
    asked.into_iter().filter(|node| keeps_a_graph(node)).map(|node| node.byte_range()).collect()
}

/// Whether no other words stand in the lines of `statement`, so that a block can be put around it.
fn stands_alone(statement: Syntax<'_>) -> bool {
    let (first, last) = (statement.start_position().row, statement.end_position().row);
    let before = statement.prev_sibling().is_none_or(|node| node.end_position().row < first);
    let behind =
        statement.next_sibling().is_none_or(|node| node.kind() == "comment" || node.start_position().row > last);
    // `for batch in loader: scores = reference(batch)`
    let head = statement.parent().and_then(|block| block.parent());
    before && behind && head.is_none_or(|head| head.start_position().row < first)
}

/// How the code makes its models, and what of its values they give.
struct Made<'t> {
    /// Models that are copied, loaded, or set to evaluate.
    known: HashSet<&'t str>,
    /// Models of which something says that they may learn.
    trained: HashSet<&'t str>,
    /// What calls of other models give.
    given: HashSet<&'t str>,
}

impl<'t> Made<'t> {
    fn of(definitions: &Definitions<'t>, nodes: &[Syntax<'t>]) -> Made<'t> {
        let words = CodeWords::shipped();
        let (mut known, mut trained, mut given) = (HashSet::new(), HashSet::new(), HashSet::new());
        for node in nodes.iter().filter(|node| node.kind() == "attribute") {
            let Some((object, method)) = parts(*node, "object", "attribute") else { continue };
            let (object, method) = (definitions.words(object), definitions.words(method));
            if is_among(&words.trains, method) {
                trained.insert(object);
            } else if method == "eval" {
                known.insert(object);
            }
        }
        for (_, left, right) in assignments(nodes) {
            let left = definitions.words(left);
            let Some(function) = right.child_by_field_name("function").filter(|_| right.kind() == "call") else {
                continue;
            };
            let called = definitions.words(function);
            if is_frozen(left) {
                // `AutoModel.from_pretrained(…).to(device)`, `copy.deepcopy(policy)`
                if words.makes_copies.iter().any(|makes| called.contains(makes.as_str())) {
                    known.insert(left);
                }
                continue;
            }
            let last = called.rsplit('.').next().unwrap_or(called);
            let is_own = called.strip_prefix("self.").unwrap_or(called) == last;
            let names_a_model =
                last.split('_').any(|part| is_among(&words.models, part) || is_among(&words.learned, part));
            if is_own && !is_frozen(called) && (names_a_model || last.len() == 1) {
                given.insert(left);
            }
        }
        Made { known, trained, given }
    }

    /// Whether the code shows that `model` learns nothing: it is loaded, copied or set to evaluate, or is a `reference_model` by name, and nothing
    /// says that it may learn.
    fn learns_nothing(&self, model: &str) -> bool {
        let is_called_so = ["model", "policy"].iter().any(|last| model.rsplit('_').next() == Some(last));
        !self.trained.contains(model) && (self.known.contains(model) || is_called_so)
    }

    /// Whether `name` is what another model gave, through which a gradient may have to pass.
    fn depends_on_a_model(&self, name: &str) -> bool {
        self.given.contains(name)
    }
}

/// Whether `statement` asks such a model and no other.
fn asks(definitions: &Definitions<'_>, statement: Syntax<'_>) -> bool {
    let words = CodeWords::shipped();
    let Some(first) = statement.named_child(0) else { return false };
    let made = first.child_by_field_name("left").map(in_order).unwrap_or_default();
    let is_text = |node: &Syntax<'_>| node.kind() == "string" && definitions.words(*node).contains('\n');
    let nodes = in_order(first);
    // What gives such a model its name makes it, and asks it nothing.
    !made.iter().any(|node| is_frozen(definitions.words(*node)))
        && !nodes.iter().any(is_text)
        && nodes.iter().any(|node| node.kind() == "call" && model(definitions, *node).is_some())
        && nodes.iter().filter(|node| node.kind() == "identifier").all(|node| {
            let name = definitions.words(*node);
            let has = |among: &[String]| name.split('_').any(|part| is_among(among, part));
            is_frozen(name) || !(has(&words.models) || has(&words.learned))
        })
}

/// The model that learns nothing and that `call` asks, and the function that is called with it: `teacher(images)`, `score(teacher, images)`.
fn model<'t>(definitions: &Definitions<'t>, call: Syntax<'t>) -> Option<(&'t str, Option<&'t str>)> {
    let (function, arguments) = parts(call, "function", "arguments")?;
    let called = definitions.words(function);
    let called = called.strip_suffix(".forward").unwrap_or(called);
    if is_frozen(called) {
        return Some((called, None));
    }
    let mut cursor = arguments.walk();
    let given = arguments.named_children(&mut cursor).map(|argument| definitions.words(argument));
    let function = called.rsplit('.').next()?;
    given.filter(|argument| is_frozen(argument)).map(|model| (model, Some(function))).next()
}

/// Whether `name` is that of a model which learns nothing: `ref_model`, `self.teacher`.
fn is_frozen(name: &str) -> bool {
    let last = name.strip_prefix("self.").unwrap_or(name);
    let is_name = last.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let words = CodeWords::shipped();
    // `ref_logps` is what such a model gave.
    let mut parts = last.split('_');
    is_name
        && parts.next().is_some_and(|part| is_among(&words.frozen, part))
        && parts.all(|part| is_among(&words.models, part))
}

/// Whether the code of `function` keeps no graph.
fn is_without_graph(definitions: &Definitions<'_>, function: Syntax<'_>) -> bool {
    let whole = function.parent().filter(|parent| parent.kind() == "decorated_definition").unwrap_or(function);
    !words_without_graph(definitions, whole).is_empty()
}

/// Whether `node` stands in a block that keeps no graph: `with torch.no_grad():`.
fn is_within_block_without_graph(definitions: &Definitions<'_>, node: Syntax<'_>) -> bool {
    let says = |with: Syntax<'_>| {
        let mut cursor = with.walk();
        let clauses = with.named_children(&mut cursor).filter(|child| child.kind() == "with_clause");
        clauses.flat_map(|clause| words_without_graph(definitions, clause)).next().is_some()
    };
    let around = std::iter::successors(node.parent(), Syntax::parent);
    around.filter(|node| node.kind() == "with_statement").any(says)
}

/// The edits that put the `statements` into blocks that begin with `head`, those that follow each other into one. `None` if other words
/// stand in the lines of one.
pub(super) fn within(text: &str, statements: &[Range<usize>], head: &str) -> Option<Vec<Edit>> {
    let mut edits = Vec::new();
    let mut before = None;
    for statement in statements {
        let (start, end) = (line_start(text, statement.start), line_end(text, statement.end));
        let indent = indentation(text, start);
        let behind = text.get(statement.end..end)?.trim_start();
        if start + indent.len() != statement.start || !(behind.is_empty() || behind.starts_with('#')) {
            return None;
        }
        let step = if indent.contains('\t') { "\t" } else { STEP };
        if before != Some((indent, start)) {
            edits.push(Edit::insert(start, format!("{indent}{head}{}", newline(text))));
        }
        let mut line = start;
        while line < statement.end {
            edits.push(Edit::insert(line, step));
            line = next_line(text, line);
        }
        before = Some((indent, line));
    }
    Some(edits)
}
