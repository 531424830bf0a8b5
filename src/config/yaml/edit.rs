//! Edits YAML: in flow style within the brackets, as in JSON; in block style line by line.
//!
//! `yamlpatch` (1.32) does not serve: in a mapping in braces it does not change the first key
//! (`replaces_a_value_in_its_style`), it removes an anchor along with the value (`an_alias_is_what_it_stands_for`), and
//! it finds only the first document of a stream (`a_stream_has_many_documents`). It also requires Rust 1.97 and a
//! grammar in C.

use std::ops::Range;

use super::super::edit::{Edit, line_end, line_start, newline};
use super::super::flow::{self, Layout};
use super::super::path::{self, PathStep};
use super::super::tree::{Node, Shape, Target};
use super::super::{EditError, Value};
use super::{Stream, scalar};

/// The edits that set `steps` to `value`.
pub(in super::super) fn set(
    text: &str,
    stream: &Stream,
    steps: &[PathStep],
    value: &Value,
) -> Result<Vec<Edit>, EditError> {
    let unwritable = || EditError::Unwritable { key: path::join(steps), value: value.to_string() };
    if stream.0.is_empty() {
        return Ok(vec![first(text, steps, value)]);
    }
    let (root, steps) = stream.find(steps)?;
    match root.find(steps)? {
        Target::Node { node, parent } => match node.shape {
            Shape::List(_) | Shape::Map(_) => Err(EditError::Section(path::join(steps))),
            _ => Ok(vec![replace(text, node, parent.is_some_and(|(parent, _)| parent.is_flow), value)]),
        },
        Target::Missing { parent, above, rest } => {
            let block = BlockStyle { unit: unit(text, root), newline: newline(text) };
            insert(text, parent, above, rest, value, &block).ok_or_else(unwritable)
        }
    }
}

/// Replaces a value, or writes one where a key has none.
fn replace(text: &str, node: &Node, flow: bool, value: &Value) -> Edit {
    let before = text[..node.span.start].chars().next_back();
    let words = scalar::write(value, &text[node.span.clone()], flow);
    let blank = match before {
        _ if !node.span.is_empty() => "",
        Some(':' | '-') => " ",
        Some(c) if c.is_whitespace() => "",
        None => "",
        // A key without a colon.
        Some(_) if node.whole.is_empty() => ": ",
        // A lone anchor.
        Some(_) => " ",
    };
    Edit::replace(node.span.clone(), format!("{blank}{words}"))
}

/// Writes sections in block style.
struct BlockStyle {
    /// Columns per level of nesting.
    unit: usize,
    newline: &'static str,
}

impl BlockStyle {
    /// `value` wrapped in the new sections that `steps` name; the first line has no indentation.
    fn write(&self, steps: &[PathStep], value: &Value, indent: usize) -> String {
        match steps.split_first() {
            None => scalar::write(value, "", false),
            Some((PathStep::Index(_), rest)) => format!("- {}", self.write(rest, value, indent + 2)),
            Some((PathStep::Key(name), [])) => format!("{}: {}", key(name, false), scalar::write(value, "", false)),
            Some((PathStep::Key(name), rest)) => {
                let indent = indent + self.unit;
                format!("{}:{}{}", key(name, false), self.line(indent), self.write(rest, value, indent))
            }
        }
    }

    /// A line ending and the indentation of the next line.
    fn line(&self, indent: usize) -> String {
        format!("{}{:indent$}", self.newline, "")
    }
}

fn key(name: &str, flow: bool) -> String {
    scalar::string(name, None, flow)
}

/// The column of `at` in characters, from 0.
fn column(text: &str, at: usize) -> usize {
    text[line_start(text, at)..at].chars().count()
}

/// Columns per level of nesting, measured at the first nested mapping.
fn unit(text: &str, node: &Node) -> usize {
    fn first(text: &str, node: &Node) -> Option<usize> {
        let children: Vec<&Node> = match &node.shape {
            Shape::Map(members) => members.iter().map(|member| &*member.value).collect(),
            Shape::List(items) => items.iter().map(|item| &**item).collect(),
            _ => Vec::new(),
        };
        let is_map = |node: &Node| matches!(node.shape, Shape::Map(_)) && !node.is_flow;
        let nested = children.iter().filter(|child| is_map(node) && is_map(child));
        let step = |child: &&Node| column(text, child.span.start).checked_sub(column(text, node.span.start));
        nested.filter_map(step).find(|step| *step > 0).or_else(|| children.iter().find_map(|child| first(text, child)))
    }
    first(text, node).unwrap_or(2)
}

/// The offset of the dash of a block sequence's item.
fn dash(text: &str, item: &Range<usize>) -> Option<usize> {
    let before = text[..item.start].trim_end();
    before.ends_with('-').then(|| before.len() - 1)
}

/// Inserts `rest` into `parent`, which is a child of the node in `above`.
fn insert(
    text: &str,
    parent: &Node,
    above: Option<(&Node, usize)>,
    rest: &[PathStep],
    value: &Value,
    block: &BlockStyle,
) -> Option<Vec<Edit>> {
    let children = parent.children();
    if parent.is_flow {
        let unit = " ".repeat(block.unit);
        let render = |_: Layout<'_>| in_flow(text, parent, rest, value);
        return flow::insert(text, &parent.span, &children, &unit, render);
    }
    match &parent.shape {
        Shape::Scalar(_) => instead_of_null(text, parent, above, rest, value, block),
        Shape::Map(_) | Shape::List(_) => {
            let (first, last) = (children.first()?, children.last()?);
            let start = if matches!(parent.shape, Shape::List(_)) { dash(text, first)? } else { first.start };
            let (indent, at) = (column(text, start), line_end(text, last.end));
            Some(vec![Edit::insert(at, block.line(indent) + &block.write(rest, value, indent))])
        }
        Shape::Alias(_) => None,
    }
}

/// Replaces `null`, or a missing value, by a section.
fn instead_of_null(
    text: &str,
    null: &Node,
    above: Option<(&Node, usize)>,
    rest: &[PathStep],
    value: &Value,
    block: &BlockStyle,
) -> Option<Vec<Edit>> {
    match above {
        Some((parent, _)) if parent.is_flow => {
            let blank = if null.span.is_empty() { " " } else { "" };
            Some(vec![Edit::replace(null.span.clone(), format!("{blank}{}", flow_section(rest, value)))])
        }
        Some((Node { shape: Shape::Map(members), .. }, index)) => {
            let indent = column(text, members.get(index)?.at.start) + block.unit;
            let blanks = text[..null.span.start].trim_end_matches([' ', '\t']).len();
            let section = block.line(indent) + &block.write(rest, value, indent);
            let end = line_end(text, null.span.end);
            Some(vec![Edit::delete(blanks..null.span.end), Edit::insert(end, section)])
        }
        Some((_, _)) => {
            let indent = column(text, dash(text, &null.whole)?) + 2;
            let blank = if text[..null.span.start].ends_with('-') { " " } else { "" };
            Some(vec![Edit::replace(null.span.clone(), format!("{blank}{}", block.write(rest, value, indent)))])
        }
        None if null.span.is_empty() => Some(vec![first(text, rest, value)]),
        None => Some(vec![Edit::replace(null.span.clone(), block.write(rest, value, 0))]),
    }
}

/// Inserts the first setting of a text that has none, behind its comments.
fn first(text: &str, steps: &[PathStep], value: &Value) -> Edit {
    let block = BlockStyle { unit: 2, newline: newline(text) };
    let section = block.write(steps, value, 0);
    let end = text.trim_end().len();
    if end == 0 { Edit::insert(text.len(), section) } else { Edit::insert(end, block.line(0) + &section) }
}

/// A new member or element in flow style, its key quoted like the last one.
fn in_flow(text: &str, parent: &Node, steps: &[PathStep], value: &Value) -> String {
    let Some((first, rest)) = steps.split_first() else { return String::new() };
    let content = flow_section(rest, value);
    match (first, &parent.shape) {
        (PathStep::Key(name), Shape::Map(members)) => {
            let quote = members.last().and_then(|last| text[last.at.clone()].chars().next());
            format!("{}: {content}", scalar::string(name, quote, true))
        }
        (PathStep::Key(name), _) => format!("{{{}: {content}}}", key(name, true)),
        (PathStep::Index(_), _) => content,
    }
}

fn flow_section(steps: &[PathStep], value: &Value) -> String {
    match steps.split_first() {
        None => scalar::write(value, "", true),
        Some((PathStep::Key(name), rest)) => format!("{{{}: {}}}", key(name, true), flow_section(rest, value)),
        Some((PathStep::Index(_), rest)) => format!("[{}]", flow_section(rest, value)),
    }
}
