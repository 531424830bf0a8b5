//! Finds in code what it calls and keeps.

use std::collections::HashSet;

use tree_sitter::Node as Syntax;

use super::super::habits::Habits;
use super::literal::Definitions;
use super::{dotted, parts};

/// More names than rules ask for.
const MOST: usize = 500;

/// The habits of the code whose nodes are `nodes`.
pub(super) fn of(definitions: &Definitions<'_>, nodes: &[Syntax<'_>]) -> Habits {
    let (mut habits, mut known) = (Habits::default(), HashSet::new());
    for node in nodes {
        let called = match node.kind() {
            "call" => node.child_by_field_name("function"),
            // `@torch.inference_mode`, without brackets.
            "decorator" => node.named_child(0).filter(|decorator| decorator.kind() != "call"),
            _ => None,
        };
        let name = called.and_then(|called| dotted(definitions, called));
        if let Some(name) = name.filter(|name| known.len() < MOST && known.insert(name.clone())) {
            habits.calls.push(name);
        }
    }
    // Looking for the loop around a node takes time: not for more of them than people write.
    let kept = nodes.iter().filter(|node| keeps(definitions, **node)).take(MOST).filter(|node| is_in_loop(**node));
    habits.keeps = kept.map(|node| node.byte_range()).collect();
    habits
}

/// Whether `node` adds a value that has a name to something.
fn keeps(definitions: &Definitions<'_>, node: Syntax<'_>) -> bool {
    let is_name = |value: Syntax<'_>| matches!(value.kind(), "identifier" | "attribute");
    match node.kind() {
        "augmented_assignment" => {
            let sums = node.child_by_field_name("operator").is_some_and(|operator| definitions.words(operator) == "+=");
            sums && node.child_by_field_name("right").is_some_and(is_name)
        }
        "call" => parts(node, "function", "arguments").is_some_and(|(function, arguments)| {
            definitions.words(function).ends_with(".append") && arguments.named_child(0).is_some_and(is_name)
        }),
        _ => false,
    }
}

fn is_in_loop(node: Syntax<'_>) -> bool {
    std::iter::successors(node.parent(), Syntax::parent)
        .take_while(|around| around.kind() != "function_definition")
        .any(|around| matches!(around.kind(), "for_statement" | "while_statement"))
}
