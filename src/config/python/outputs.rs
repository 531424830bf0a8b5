//! Finds lists in which code keeps all that a model gives, on its device, and what of it is used in the end.

use std::collections::HashSet;
use std::ops::Range;

use tree_sitter::Node as Syntax;

use super::super::edit::Edit;
use super::habits::{Kept, OFF_DEVICE, function_around};
use super::literal::Definitions;
use super::{assignments, dotted, in_order, parts};
use crate::knowledge::{CodeWords, ends_in, is_among};

/// What takes of each row of logits the largest, and the only arguments with which the order of two such calls does not matter.
const LARGEST: &str = ".argmax(-1)";
const OF_ROWS: [&str; 3] = ["(-1)", "(dim=-1)", "(axis=-1)"];
/// What a language model's logits are cut to before they are compared with its labels, and the other side of it.
const SHIFTED: &str = "[:,:-1]";
const OTHER_SIDE: &str = "[:,1:]";

/// Whether `value` is a whole output of a model, by its name, where it was made: nothing leaves less of it, nothing brings it to the host.
pub(super) fn is_whole(definitions: &Definitions<'_>, nodes: &[Syntax<'_>], value: Syntax<'_>) -> bool {
    let words = CodeWords::shipped();
    let within = |name: &str| value.child_by_field_name(name).is_some_and(|of| is_whole(definitions, nodes, of));
    match value.kind() {
        "identifier" => {
            let name = definitions.words(value);
            let is_output = |part: &str| {
                is_among(&words.whole_outputs, part)
                    || is_among(&words.tensors, part) && !is_among(&words.scalars, part)
            };
            let made = || assignments(nodes).filter(|(_, left, _)| definitions.words(*left) == name);
            name.split('_').any(is_output)
                && !name.split('_').any(|part| is_among(&words.scalars, part))
                && !made().any(|(_, _, right)| leaves_less(definitions, right))
        }
        "attribute" => within("attribute"),
        "subscript" => within("value"),
        "call" => {
            let function = value.child_by_field_name("function");
            let method = function.and_then(|function| function.child_by_field_name("attribute"));
            let stays = method.is_some_and(|method| {
                let method = definitions.words(method);
                is_among(&words.stays_tensor, method) && !is_among(&words.reduces, method)
            });
            let object = function.and_then(|function| function.child_by_field_name("object"));
            stays && object.is_some_and(|of| is_whole(definitions, nodes, of))
        }
        "dictionary" | "tuple" | "list" => {
            let mut cursor = value.walk();
            value.named_children(&mut cursor).any(|part| is_whole(definitions, nodes, part))
        }
        "pair" => within("value"),
        _ => false,
    }
}

/// Where what outputs are compared with is put to a list beside them, and the call that brings it to the host with them: `labels.append(y)`.
pub(super) fn answers(definitions: &Definitions<'_>, nodes: &[Syntax<'_>], kept: &[Kept<'_>]) -> Vec<(usize, String)> {
    let is_answer = |kept: &&Kept<'_>| {
        let words = definitions.words(kept.value);
        let mut parts = words.split(|letter: char| !letter.is_ascii_alphabetic());
        !kept.is_sum
            && matches!(kept.value.kind(), "identifier" | "attribute" | "subscript")
            && parts.any(|part| is_among(&CodeWords::shipped().answers, part))
    };
    let block = |kept: &Kept<'_>| kept.node.parent()?.parent().map(|block| block.id());
    let is_output = |kept: &&Kept<'_>| !kept.is_sum && !is_answer(kept) && is_whole(definitions, nodes, kept.value);
    let with_outputs: HashSet<usize> = kept.iter().filter(is_output).filter_map(&block).collect();
    let beside_outputs = |answer: &&Kept<'_>| block(answer).is_some_and(|block| with_outputs.contains(&block));
    let answers = kept.iter().filter(is_answer).filter(beside_outputs);
    answers.map(|kept| (kept.value.end_byte(), OFF_DEVICE.to_owned())).collect()
}

/// Whether `value` calls what leaves little of a tensor, or what brings it to the host.
fn leaves_less(definitions: &Definitions<'_>, value: Syntax<'_>) -> bool {
    let words = CodeWords::shipped();
    let methods = in_order(value).into_iter().filter(|node| node.kind() == "attribute");
    methods.filter_map(|node| node.child_by_field_name("attribute")).any(|method| {
        let method = definitions.words(method);
        [&words.reduces, &words.to_host, &words.gives_little].iter().any(|among| is_among(among, method))
    })
}

/// The edits that keep only what is used of the whole outputs in the list `into`, to which the only statement adds `value`: of each row which
/// is largest, if all that follows begins with that. `None` if anything else is made of them.
pub(super) fn only_largest(
    definitions: &Definitions<'_>,
    nodes: &[Syntax<'_>],
    into: &str,
    value: Syntax<'_>,
) -> Option<Vec<Edit>> {
    let mut edits = vec![Edit::insert(value.end_byte(), LARGEST)];
    let mut added = 0;
    let is_name = |node: &&Syntax<'_>| matches!(node.kind(), "identifier" | "attribute");
    for used in nodes.iter().filter(is_name).filter(|node| definitions.words(**node) == into) {
        let parent = used.parent()?;
        match parent.kind() {
            "attribute" => match definitions.words(parent.child_by_field_name("attribute")?) {
                "append" => added += 1,
                "clear" => {}
                _ => return None,
            },
            // Where it is made, alone or beside others.
            "assignment" if parent.child_by_field_name("left") == Some(*used) => {}
            "pattern_list" | "tuple_pattern" => {}
            "argument_list" => edits.extend(joined(definitions, nodes, parent)?),
            _ => return None,
        }
    }
    (added == 1 && edits.len() > 1).then_some(edits)
}

/// The edits to what is made of the list that is given to a call, `torch.cat(kept)`, whose value gets a name.
fn joined(definitions: &Definitions<'_>, nodes: &[Syntax<'_>], arguments: Syntax<'_>) -> Option<Vec<Edit>> {
    let call = arguments.parent().filter(|call| call.kind() == "call" && arguments.named_child_count() == 1)?;
    let name = dotted(definitions, call.child_by_field_name("function")?)?;
    if !CodeWords::shipped().joins.iter().any(|join| ends_in(&name, join)) {
        return None;
    }
    if let Some(span) = largest_of(definitions, call) {
        return Some(vec![Edit::delete(span)]);
    }
    let assignment = call.parent().filter(|parent| parent.kind() == "assignment")?;
    let (left, _) = parts(assignment, "left", "right").filter(|(left, _)| left.kind() == "identifier")?;
    let block = assignment.parent()?.parent()?;
    let scope = function_around(assignment);
    let is_within = |node: &Syntax<'_>| scope.is_none_or(|scope| scope.byte_range().contains(&node.start_byte()));
    // The same word behind a dot is another's.
    let is_part = |node: &Syntax<'_>| {
        node.parent().and_then(|parent| parent.child_by_field_name("attribute")).is_some_and(|part| part == *node)
    };
    let is_used = |node: &&Syntax<'_>| {
        node.kind() == "identifier"
            && **node != left
            && definitions.words(**node) == definitions.words(left)
            && is_within(node)
            && !is_part(node)
    };
    let shifts = without_blanks(definitions.words(block)).contains(OTHER_SIDE);
    let mut edits = Vec::new();
    for used in nodes.iter().filter(is_used) {
        if used.start_byte() < assignment.end_byte() || used.end_byte() > block.end_byte() {
            return None;
        }
        let cut = used.parent().filter(|parent| {
            let part = definitions.words(*parent).strip_prefix(definitions.words(*used)).map(without_blanks);
            shifts && parent.kind() == "subscript" && part.as_deref() == Some(SHIFTED)
        });
        edits.push(Edit::delete(largest_of(definitions, cut.unwrap_or(*used))?));
    }
    Some(edits).filter(|edits| !edits.is_empty())
}

/// Where `.argmax(-1)` stands behind `value`.
fn largest_of(definitions: &Definitions<'_>, value: Syntax<'_>) -> Option<Range<usize>> {
    let call = value.parent().filter(|parent| parent.kind() == "attribute")?.parent()?;
    let (function, arguments) = parts(call, "function", "arguments")?;
    let method = definitions.words(function.child_by_field_name("attribute")?);
    let is_it = is_among(&CodeWords::shipped().takes_largest, method)
        && function.child_by_field_name("object") == Some(value)
        && OF_ROWS.contains(&without_blanks(definitions.words(arguments)).as_str());
    is_it.then(|| value.end_byte()..call.end_byte())
}

fn without_blanks(words: &str) -> String {
    words.split_whitespace().collect()
}
