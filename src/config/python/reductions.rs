//! Finds where a function that is given to a call reduces what another argument of that call could reduce before: `np.argmax(p.predictions, -1)`
//! in `compute_metrics`.

use std::ops::Range;

use tree_sitter::Node as Syntax;

use super::literal::Definitions;
use super::{assignments, dotted, in_order, parts};
use crate::knowledge::CodeWords;

/// What an argument means for the function that sees what it reduced.
#[derive(Debug, Clone)]
pub struct Reduction {
    /// The argument: `preprocess_logits_for_metrics`.
    pub argument: String,
    /// The calls that would reduce once more. `None` if the function is not there or needs what is
    /// reduced.
    pub calls: Option<Vec<Repeated>>,
}

/// A call that would reduce once more, and the value that takes its place.
type Repeated = (Range<usize>, String);

/// The reductions of the calls among `nodes`.
pub(super) fn of(definitions: &Definitions<'_>, nodes: &[Syntax<'_>]) -> Vec<Reduction> {
    let mut all = Vec::new();
    for call in nodes.iter().filter(|node| node.kind() == "call") {
        let Some((function, arguments)) = parts(*call, "function", "arguments") else { continue };
        let name = dotted(definitions, function).unwrap_or_default();
        let Some(row) = CodeWords::shipped().call(&name).filter(|row| !row.reduces_for.is_empty()) else { continue };
        for (argument, follower) in &row.reduces_for {
            let given = keyword(definitions, arguments, follower);
            let calls = match given {
                Some(given) => definition(definitions, nodes, given).and_then(|function| again(definitions, function)),
                None => Some(Vec::new()),
            };
            all.push(Reduction { argument: argument.clone(), calls });
        }
    }
    all
}

/// What `arguments` give as `name`.
fn keyword<'t>(definitions: &Definitions<'t>, arguments: Syntax<'t>, name: &str) -> Option<Syntax<'t>> {
    let mut cursor = arguments.walk();
    let mut named = arguments.named_children(&mut cursor).filter(|argument| argument.kind() == "keyword_argument");
    let found =
        named.find(|argument| argument.child_by_field_name("name").is_some_and(|own| definitions.words(own) == name));
    found.and_then(|argument| argument.child_by_field_name("value"))
}

/// The only function that is called as `given` says.
fn definition<'t>(definitions: &Definitions<'t>, nodes: &[Syntax<'t>], given: Syntax<'_>) -> Option<Syntax<'t>> {
    let is_it = |node: &&Syntax<'t>| {
        let name = node.child_by_field_name("name").filter(|_| node.kind() == "function_definition");
        name.is_some_and(|name| definitions.words(name) == definitions.words(given))
    };
    let mut found = nodes.iter().filter(is_it);
    found.next().filter(|_| found.next().is_none()).copied()
}

/// The calls of `function` that reduce the first part of what it is given, if it makes no other use of that.
fn again(definitions: &Definitions<'_>, function: Syntax<'_>) -> Option<Vec<Repeated>> {
    let parameters = in_order(function.child_by_field_name("parameters")?);
    let given = definitions.words(*parameters.iter().find(|node| node.kind() == "identifier")?);
    let nodes = in_order(function.child_by_field_name("body")?);
    let whole = [format!("{given}.predictions"), format!("{given}[0]")];
    let mut names: Vec<&str> = whole.iter().map(String::as_str).collect();
    let mut settled: Vec<Range<usize>> = Vec::new();
    let mut calls: Vec<Repeated> = Vec::new();
    // What is bound to the part, or to the first of all parts, is the same.
    let assigned: Vec<_> = assignments(&nodes).collect();
    for &(node, left, right) in &assigned {
        let (left_words, right_words) = (definitions.words(left), definitions.words(right));
        let is_part = whole.iter().any(|part| right_words.starts_with(part.as_str())) && !right_words.contains("arg");
        match left.kind() {
            "identifier" if is_part => names.push(left_words),
            "pattern_list" | "tuple_pattern" if right_words == given => {
                names.push(definitions.words(left.named_child(0)?))
            }
            _ => continue,
        }
        settled.push(node.byte_range());
    }
    for call in nodes.iter().filter(|node| node.kind() == "call") {
        let Some((called, arguments)) = parts(*call, "function", "arguments") else { continue };
        let method = called.child_by_field_name("attribute").map(|method| definitions.words(method));
        if method.is_none_or(|method| !CodeWords::shipped().takes_largest.iter().any(|word| word == method)) {
            continue;
        }
        let value = [called.child_by_field_name("object"), arguments.named_child(0)].into_iter().flatten();
        let Some(value) = value.map(|value| definitions.words(value)).find(|words| names.contains(words)) else {
            continue;
        };
        settled.push(call.byte_range());
        calls.push((call.byte_range(), value.to_owned()));
        // A name that takes the result is that of the result from there on.
        let rebound = assigned.iter().find(|(_, left, right)| {
            definitions.words(*left) == value && right.byte_range().contains(&call.start_byte())
        });
        settled.extend(rebound.map(|(node, ..)| node.start_byte()..function.end_byte()));
    }
    let is_used = |node: &Syntax<'_>| {
        let at = node.byte_range();
        names.contains(&definitions.words(*node))
            && !settled.iter().any(|span| span.start <= at.start && at.end <= span.end)
    };
    (!calls.is_empty() && !nodes.iter().any(is_used)).then_some(calls)
}
