//! Finds statements that ask a model which learns nothing, such as a reference or a teacher, and keep its graph.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use tree_sitter::Node as Syntax;

use super::super::edit::{Edit, indentation, line_end, line_start, newline};
use super::habits::{function_around, loop_or_function_around, name};
use super::literal::Definitions;
use super::{in_order, parts};
use crate::knowledge::{CodeWords, is_among};

/// What a block's lines are set in by, where the code uses blanks.
const STEP: &str = "    ";

/// The statements among `nodes` that ask only such models: `scores = score(reference, batch)`.
pub(super) fn of(definitions: &Definitions<'_>, nodes: &[Syntax<'_>]) -> Vec<Range<usize>> {
    let words = CodeWords::shipped();
    let is_statement = |node: &&Syntax<'_>| node.kind() == "expression_statement";
    let mut asked = nodes.iter().filter(is_statement).filter(|node| asks(definitions, **node)).peekable();
    if asked.peek().is_none() {
        return Vec::new();
    }
    let trained: HashSet<&str> = nodes
        .iter()
        .filter(|node| node.kind() == "attribute")
        .filter_map(|node| parts(*node, "object", "attribute"))
        .filter(|(_, method)| is_among(&words.trains, definitions.words(*method)))
        .map(|(object, _)| definitions.words(object))
        .collect();
    let functions: HashMap<&str, Syntax<'_>> = nodes
        .iter()
        .filter(|node| node.kind() == "function_definition")
        .filter_map(|node| Some((name(definitions, *node)?, *node)))
        .collect();
    let keeps_a_graph = |node: &&Syntax<'_>| {
        let calls = in_order(**node).into_iter().filter(|node| node.kind() == "call");
        let mut models = calls.filter_map(|call| model(definitions, call)).peekable();
        models.peek().is_some()
            && models.all(|(model, through)| {
                let is_settled = through.map(|function| functions.get(function).copied());
                !trained.contains(model)
                    && is_settled.is_none_or(|own| own.is_some_and(|own| !is_without_graph(definitions, own)))
            })
            && loop_or_function_around(**node).is_some()
            && !is_within_block_without_graph(definitions, **node)
            && function_around(**node).is_none_or(|function| !is_without_graph(definitions, function))
    };
    asked.filter(keeps_a_graph).map(|node| node.byte_range()).collect()
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
    let last = name.rsplit('.').next().unwrap_or(name);
    let is_name = last.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let words = CodeWords::shipped();
    // `ref_logps` is what such a model gave.
    let mut parts = last.split('_').filter(|part| !part.is_empty());
    is_name
        && parts.next().is_some_and(|part| is_among(&words.frozen, part))
        && parts.all(|part| is_among(&words.models, part))
}

/// Whether the code of `function` keeps no graph.
fn is_without_graph(definitions: &Definitions<'_>, function: Syntax<'_>) -> bool {
    let whole = function.parent().filter(|parent| parent.kind() == "decorated_definition").unwrap_or(function);
    let says = |node: &Syntax<'_>| {
        let name = definitions.words(*node);
        is_among(&CodeWords::shipped().without_graph, name)
    };
    in_order(whole).iter().filter(|node| node.kind() == "identifier").any(says)
}

/// Whether `node` stands in a block that keeps no graph: `with torch.no_grad():`.
fn is_within_block_without_graph(definitions: &Definitions<'_>, node: Syntax<'_>) -> bool {
    let says = |with: Syntax<'_>| {
        let mut cursor = with.walk();
        let clauses = with.named_children(&mut cursor).filter(|child| child.kind() == "with_clause");
        clauses.flat_map(in_order).any(|node| {
            let name = definitions.words(node);
            node.kind() == "identifier" && is_among(&CodeWords::shipped().without_graph, name)
        })
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
            line = super::super::edit::next_line(text, line);
        }
        before = Some((indent, line));
    }
    Some(edits)
}
