//! Finds where code gives a call many of something at once: copies of one value in a list, or a whole graph.

use std::ops::Range;

use tree_sitter::Node as Syntax;

use super::super::habits::WholeGraph;
use super::habits::MOST;
use super::literal::Definitions;
use super::{in_order, parts};
use crate::knowledge::{CodeWords, is_among};

/// The part of a graph that says which of its nodes are neighbours.
const EDGES: &str = "edge_index";
/// The methods that move a tensor to a device.
const MOVES: [&str; 2] = ["to", "cuda"];

/// Where an argument is a list that repeats one value: `[prompt] * count`.
pub(super) fn repeats(definitions: &Definitions<'_>, node: Syntax<'_>) -> Option<Range<usize>> {
    let (list, count) = parts(node, "left", "right").filter(|_| node.kind() == "binary_operator")?;
    let is_given = node.parent().is_some_and(|parent| matches!(parent.kind(), "argument_list" | "keyword_argument"));
    let is_times = definitions.words(node.child_by_field_name("operator")?) == "*";
    let value = list.named_child(0).filter(|_| list.kind() == "list" && list.named_child_count() == 1)?;
    let is_one_of_something = matches!(value.kind(), "identifier" | "attribute" | "subscript" | "string")
        && matches!(count.kind(), "identifier" | "attribute" | "subscript" | "integer")
        && definitions.words(count) != "1";
    (is_given && is_times && is_one_of_something).then(|| node.byte_range())
}

/// The whole graph that `node` gives to a model, if it is such a call.
pub(super) fn whole_graph(definitions: &Definitions<'_>, node: Syntax<'_>) -> Option<WholeGraph> {
    let (function, arguments) = parts(node, "function", "arguments").filter(|_| node.kind() == "call")?;
    let called = definitions.words(function.child_by_field_name("attribute").unwrap_or(function));
    if !called.split('_').any(|part| is_among(&CodeWords::shipped().models, part)) {
        return None;
    }
    let mut cursor = arguments.walk();
    let is_edges = |argument: &Syntax<'_>| {
        argument.kind() == "attribute"
            && argument.child_by_field_name("attribute").is_some_and(|part| definitions.words(part) == EDGES)
    };
    let mut given = arguments.named_children(&mut cursor).map(|argument| before_its_move(definitions, argument));
    let edges = given.find(is_edges)?;
    let graph = edges.child_by_field_name("object").filter(|graph| graph.kind() == "identifier")?;
    let cut = node
        .parent()
        .filter(|parent| parent.kind() == "subscript" && parent.child_by_field_name("value") == Some(node));
    let nodes = cut.and_then(|cut| cut.child_by_field_name("subscript"));
    let nodes = nodes.filter(|nodes| matches!(nodes.kind(), "identifier" | "attribute" | "subscript"));
    Some(WholeGraph {
        name: definitions.words(graph).to_owned(),
        nodes: nodes.map(|nodes| definitions.words(nodes).to_owned()),
        at: node.byte_range(),
    })
}

/// The call that loads a model and what is called of it at once, if that moves or converts it: `from_pretrained(name).half().cuda()`.
pub(super) fn converts(definitions: &Definitions<'_>, node: Syntax<'_>) -> Option<Range<usize>> {
    const LOADS: &str = "from_pretrained";
    const CONVERTS: [&str; 5] = ["half", "float", "bfloat16", "to", "cuda"];
    // The last call of the chain stands for all of it.
    let is_inner = node.parent().is_some_and(|parent| parent.kind() == "attribute");
    let (mut object, name) =
        method(definitions, node).filter(|(_, name)| !is_inner && (CONVERTS.contains(name) || *name == "eval"))?;
    let mut converts = name != "eval";
    while let Some((inner, name)) = method(definitions, object) {
        if name == LOADS {
            return converts.then(|| node.byte_range());
        }
        converts |= CONVERTS.contains(&name);
        object = inner;
    }
    None
}

/// What `call`, a call of a method, calls it of, and the method's name.
fn method<'t, 'd>(definitions: &Definitions<'d>, call: Syntax<'t>) -> Option<(Syntax<'t>, &'d str)> {
    let function = call.child_by_field_name("function").filter(|_| call.kind() == "call")?;
    parts(function, "object", "attribute").map(|(object, name)| (object, definitions.words(name)))
}

/// What `argument` moves to a device, `graph.x` of `graph.x.to(device)`; itself if it moves nothing.
fn before_its_move<'t>(definitions: &Definitions<'_>, argument: Syntax<'t>) -> Syntax<'t> {
    method(definitions, argument).filter(|(_, name)| MOVES.contains(name)).map_or(argument, |(object, _)| object)
}

/// How many layers that send messages the code makes, where each is written out: `GATConv(…)`. None where a loop makes them.
pub(super) fn message_layers(definitions: &Definitions<'_>, nodes: &[Syntax<'_>]) -> usize {
    let is_layer = |node: &&Syntax<'_>| {
        let function = node.child_by_field_name("function").filter(|_| node.kind() == "call");
        function.is_some_and(|function| definitions.words(function).ends_with("Conv"))
    };
    let is_repeated = |node: &Syntax<'_>| {
        let around = std::iter::successors(node.parent(), Syntax::parent);
        around.take_while(|node| node.kind() != "class_definition").any(|node| {
            matches!(node.kind(), "for_statement" | "while_statement" | "list_comprehension" | "generator_expression")
        })
    };
    let layers: Vec<Syntax<'_>> = nodes.iter().filter(is_layer).copied().take(MOST).collect();
    if layers.iter().any(is_repeated) { 0 } else { layers.len() }
}

/// The words of `part` that may say that no graph is made.
pub(super) fn words_without_graph<'t>(definitions: &Definitions<'_>, part: Syntax<'t>) -> Vec<Syntax<'t>> {
    let words = &CodeWords::shipped().without_graph;
    let is_word = |word: &Syntax<'_>| word.kind() == "identifier" && is_among(words, definitions.words(*word));
    in_order(part).into_iter().filter(is_word).collect()
}

/// The spans of the code that makes no graph: blocks and decorated functions.
pub(super) fn without_graph(definitions: &Definitions<'_>, node: Syntax<'_>) -> Option<Range<usize>> {
    // `set_grad_enabled(training)` may well make one.
    let is_sure = |word: Syntax<'_>| {
        let calls = std::iter::successors(word.parent(), Syntax::parent).take(2).find(|node| node.kind() == "call");
        let given = calls.and_then(|call| call.child_by_field_name("arguments")).map(|given| definitions.words(given));
        match definitions.words(word) {
            "set_grad_enabled" => given == Some("(False)"),
            "inference_mode" => matches!(given, None | Some("()" | "(True)" | "(mode=True)")),
            _ => true,
        }
    };
    let head = match node.kind() {
        "with_statement" => "with_clause",
        "decorated_definition" => "decorator",
        _ => return None,
    };
    let mut cursor = node.walk();
    let heads = node.named_children(&mut cursor).filter(|child| child.kind() == head);
    heads.flat_map(|head| words_without_graph(definitions, head)).any(is_sure).then(|| node.byte_range())
}
