//! Classes whose place another one can take: `xgb.DMatrix(…)`, where `xgb.train` learns from it, can be a `QuantileDMatrix`.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use tree_sitter::Node as Syntax;

use super::literal::Definitions;
use super::{assignments, dotted, in_order, named_arguments, parts};
use crate::knowledge::{CodeCall, CodeWords, ends_in};

/// More such values than people make.
const MOST: usize = 16;

/// Spans and what takes their places.
pub(super) type Replacements = Vec<(Range<usize>, String)>;

/// A value of such a class, with a name of its own.
struct Made<'t> {
    name: &'t str,
    /// The name of the class.
    class: Syntax<'t>,
    /// The names of its arguments, and where the last one ends.
    named: Vec<&'t str>,
    end: usize,
}

/// By the class that takes a place, the edits that give it all places where something learns from the values. Nothing of a class of
/// which one of these values cannot be replaced: all of them belong together.
pub(super) fn of(definitions: &Definitions<'_>, nodes: &[Syntax<'_>]) -> BTreeMap<String, Replacements> {
    let replaced = |row: &CodeCall| {
        let (name, class) = (row.names.first()?, row.in_place_of.as_deref()?);
        Some((name.clone(), replacements(definitions, nodes, row, name, class)?))
    };
    CodeWords::shipped().call.iter().filter_map(replaced).collect()
}

fn replacements<'t>(
    definitions: &Definitions<'t>,
    nodes: &[Syntax<'t>],
    row: &CodeCall,
    new: &str,
    class: &str,
) -> Option<Replacements> {
    let learns = |node: &&Syntax<'t>| {
        let name = node.child_by_field_name("function").and_then(|function| dotted(definitions, function));
        node.kind() == "call" && name.is_some_and(|name| row.learned_by.iter().any(|known| is_member(&name, known)))
    };
    let is_against = |node: &Syntax<'t>| {
        let said = match node.kind() {
            "call" => node.child_by_field_name("function").map(|function| definitions.words(function)),
            "string_content" => Some(definitions.words(*node)),
            _ => None,
        };
        said.is_some_and(|said| row.unless.iter().any(|known| ends_in(said, known)))
    };
    if nodes.iter().any(is_against) {
        return None;
    }
    let calls: Vec<Syntax<'t>> = nodes.iter().filter(learns).copied().collect();
    let given: HashSet<&str> = calls.iter().flat_map(|call| names_in(definitions, *call)).collect();
    let made: Vec<Made<'t>> = assignments(nodes)
        .filter_map(|(_, left, right)| Made::of(definitions, left, right, class))
        .filter(|made| given.contains(made.name))
        .take(MOST)
        .collect();
    // What is learned from is given by itself, the others within a list.
    let is_learned = |made: &&Made<'_>| calls.iter().any(|call| is_given(definitions, *call, made.name));
    let first = made.iter().find(is_learned)?;
    let mut edits = Replacements::new();
    for each in &made {
        definitions.only(each.name)?;
        edits.push((each.class.byte_range(), new.to_owned()));
        if each.name == first.name {
            continue;
        }
        if let Some(argument) = &row.refers {
            // What comes before the first has nothing to refer to.
            if each.class.start_byte() < first.class.start_byte() {
                return None;
            }
            if each.named.contains(&argument.as_str()) {
                continue;
            }
            edits.push((each.end..each.end, format!(", {argument}={}", first.name)));
        }
    }
    Some(edits)
}

impl<'t> Made<'t> {
    /// What an assignment makes, if it is of `class`, a member of its module, and is given a value and not the name of a file.
    fn of(definitions: &Definitions<'t>, left: Syntax<'t>, right: Syntax<'t>, class: &str) -> Option<Made<'t>> {
        let (function, arguments) = parts(right, "function", "arguments").filter(|_| right.kind() == "call")?;
        let member = function.child_by_field_name("attribute")?;
        let is_file = arguments.named_child(0).is_none_or(|first| first.kind() == "string");
        let is_it = left.kind() == "identifier" && definitions.words(member) == class && !is_file;
        let named = named_arguments(right).into_iter().map(|(name, _)| definitions.words(name)).collect();
        let mut cursor = arguments.walk();
        let last = arguments.named_children(&mut cursor).filter(|argument| argument.kind() != "comment").last()?;
        is_it.then(|| Made { name: definitions.words(left), class: member, named, end: last.end_byte() })
    }
}

/// Whether `name` is that of a module's `member`, and not of a function of one's own.
fn is_member(name: &str, member: &str) -> bool {
    name != member && ends_in(name, member)
}

/// The names in the arguments of `call`, and in the lists that these are names of.
fn names_in<'t>(definitions: &Definitions<'t>, call: Syntax<'t>) -> Vec<&'t str> {
    let names = |node: Syntax<'t>| {
        in_order(node).into_iter().filter(|node| node.kind() == "identifier").map(|node| definitions.words(node))
    };
    let Some(arguments) = call.child_by_field_name("arguments") else { return Vec::new() };
    let direct: Vec<&str> = names(arguments).collect();
    let lists = direct.iter().filter_map(|name| definitions.only(name)).filter(|value| value.kind() == "list");
    let within: Vec<&str> = lists.flat_map(names).collect();
    direct.into_iter().chain(within).collect()
}

/// Whether `call` is given the value called `name` by itself.
fn is_given(definitions: &Definitions<'_>, call: Syntax<'_>, name: &str) -> bool {
    let Some(arguments) = call.child_by_field_name("arguments") else { return false };
    let is_it = |value: Syntax<'_>| value.kind() == "identifier" && definitions.words(value) == name;
    let mut cursor = arguments.walk();
    arguments.named_children(&mut cursor).any(is_it) || named_arguments(call).into_iter().any(|(_, value)| is_it(value))
}
