//! Nested settings with their places: the common form of JSON, YAML, TOML and printed Python values.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use super::entry::FoundSetting;
use super::path::{self, PathStep};
use super::{EditError, EntryKind, Value};

/// One value, list or mapping.
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// The node's own text, including a scalar's quotes or a list's brackets.
    pub span: Range<usize>,
    /// `span` extended by what belongs to the node: YAML's anchor and tag before it, the trailing blank lines that a
    /// scalar keeps.
    pub whole: Range<usize>,
    /// Whether it is written in brackets, as all lists and mappings of JSON are.
    pub is_flow: bool,
    pub shape: Shape,
}

#[derive(Debug, Clone)]
pub(super) enum Shape {
    Scalar(Value),
    List(Vec<Arc<Node>>),
    Map(Vec<Member>),
    /// YAML's `*name`, with the node that it refers to.
    Alias(Arc<Node>),
}

/// A key of a mapping with its value.
#[derive(Debug, Clone)]
pub(super) struct Member {
    pub key: String,
    /// The bytes of the key.
    pub at: Range<usize>,
    pub value: Arc<Node>,
}

impl Member {
    /// The bytes from the key to the end of the value.
    pub fn span(&self) -> Range<usize> {
        self.at.start..self.value.whole.end.max(self.at.end)
    }

    /// Whether it is YAML's `<<: *base` or `<<: [*base, *other]`.
    fn is_merge(&self) -> bool {
        let is_alias = |node: &Node| matches!(node.shape, Shape::Alias(_));
        self.key == "<<"
            && match &self.value.shape {
                Shape::List(items) => items.iter().all(|item| is_alias(item)),
                _ => is_alias(&self.value),
            }
    }
}

/// The result of following a key.
#[derive(Debug)]
pub(super) enum Target<'a> {
    /// The node, with its parent and its index in the parent.
    Node { node: &'a Node, parent: Option<(&'a Node, usize)> },
    /// `rest` is missing in `parent`, which is itself a child of the node in `above`.
    Missing { parent: &'a Node, above: Option<(&'a Node, usize)>, rest: &'a [PathStep] },
}

impl Node {
    /// A node without an anchor, tag or kept blank lines.
    pub fn new(span: Range<usize>, shape: Shape) -> Node {
        Node { whole: span.clone(), span, is_flow: true, shape }
    }

    /// More nesting than people write, and less than would overflow the stack.
    pub const DEEPEST: usize = 128;

    /// The spans of a list's elements or a mapping's members.
    pub fn children(&self) -> Vec<Range<usize>> {
        match &self.shape {
            Shape::List(items) => items.iter().map(|item| item.whole.clone()).collect(),
            Shape::Map(members) => members.iter().map(Member::span).collect(),
            _ => Vec::new(),
        }
    }

    /// The index and the value of the last member with this key: of duplicates, the last one is effective.
    fn member(&self, key: &str) -> Option<(usize, &Node)> {
        let Shape::Map(members) = &self.shape else { return None };
        members.iter().enumerate().rev().find(|(_, member)| member.key == key).map(|(at, member)| (at, &*member.value))
    }

    /// Follows `steps` from here.
    pub fn find<'a>(&'a self, steps: &'a [PathStep]) -> Result<Target<'a>, EditError> {
        let (mut node, mut parent) = (self, None);
        for (at, step) in steps.iter().enumerate() {
            let key = || path::join(&steps[..at]);
            let child = match (&node.shape, step) {
                (Shape::Map(_), PathStep::Key(key)) => node.member(key),
                (Shape::List(items), PathStep::Index(index)) if *index <= items.len() => {
                    items.get(*index).map(|item| (*index, &**item))
                }
                (Shape::List(items), PathStep::Index(_)) => {
                    return Err(EditError::BeyondTheEnd { key: path::join(&steps[..=at]), len: items.len() });
                }
                (Shape::Scalar(Value::Null), _) => None,
                (Shape::Alias(_), _) => return Err(EditError::Shared(key())),
                _ => return Err(EditError::NoSection(key())),
            };
            let Some((index, child)) = child else {
                return Ok(Target::Missing { parent: node, above: parent, rest: &steps[at..] });
            };
            (parent, node) = (Some((node, index)), child);
        }
        Ok(Target::Node { node, parent })
    }
}

/// Every value below a node, with its key.
#[derive(Debug, Default)]
pub(super) struct Flattening {
    pub entries: Vec<FoundSetting>,
    key: String,
    /// Approximate bytes produced so far: aliases of aliases grow exponentially.
    spent: usize,
}

/// A document is nested deeper, or expands to more settings, than the limits allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooMuch;

impl Flattening {
    /// Adds every value below `node`; keys begin with `prefix`.
    pub fn add(&mut self, prefix: &str, node: &Node) -> Result<(), TooMuch> {
        prefix.clone_into(&mut self.key);
        self.walk(node, None, 0)
    }

    fn spend(&mut self, depth: usize) -> Result<(), TooMuch> {
        const NODE: usize = 64;
        const MOST: usize = 64 << 20;
        self.spent += self.key.len() + NODE;
        if depth > Node::DEEPEST || self.spent > MOST { Err(TooMuch) } else { Ok(()) }
    }

    /// `alias` is the span of the alias through which `node` was reached.
    fn walk(&mut self, node: &Node, alias: Option<&Range<usize>>, depth: usize) -> Result<(), TooMuch> {
        self.spend(depth)?;
        match &node.shape {
            Shape::Scalar(value) => self.entries.push(FoundSetting {
                defined: alias.map(|_| node.span.clone()),
                ..FoundSetting::new(&self.key, value.clone(), EntryKind::Setting, alias.unwrap_or(&node.span).clone())
            }),
            Shape::Alias(of) => self.walk(of, Some(&node.span), depth + 1)?,
            Shape::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.step(&PathStep::Index(index), item, depth)?;
                }
            }
            Shape::Map(members) => {
                // Of duplicate keys, the last one is effective; merged members (`<<`) only fill in keys that are not
                // set.
                let last: HashMap<&str, usize> =
                    members.iter().enumerate().map(|(at, member)| (member.key.as_str(), at)).collect();
                for (at, member) in members.iter().enumerate() {
                    if last.get(member.key.as_str()) == Some(&at) && !member.is_merge() {
                        self.step(&PathStep::Key(member.key.clone()), &member.value, depth)?;
                    }
                }
                let mut merged = Vec::new();
                self.merged(node, &mut merged, depth)?;
                let mut said: HashSet<&str> = last.into_keys().collect();
                for member in merged {
                    if said.insert(&member.key) {
                        self.step(&PathStep::Key(member.key.clone()), &member.value, depth)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn step(&mut self, step: &PathStep, node: &Node, depth: usize) -> Result<(), TooMuch> {
        let before = self.key.len();
        path::push(&mut self.key, step);
        self.walk(node, None, depth + 1)?;
        self.key.truncate(before);
        Ok(())
    }

    /// Collects the members that `<<: *base` or `<<: [*base, *other]` merge into a mapping; earlier ones take
    /// precedence.
    fn merged<'a>(&mut self, node: &'a Node, found: &mut Vec<&'a Member>, depth: usize) -> Result<(), TooMuch> {
        let Shape::Map(members) = &node.shape else { return Ok(()) };
        let Some(merge) = members.iter().rev().find(|member| member.is_merge()) else { return Ok(()) };
        let sources: Vec<&Node> = match &merge.value.shape {
            Shape::List(items) => items.iter().map(|item| &**item).collect(),
            _ => vec![&*merge.value],
        };
        for source in sources {
            self.spend(depth)?;
            if let Shape::Alias(source) = &source.shape
                && let Shape::Map(members) = &source.shape
            {
                for member in members.iter().rev().filter(|member| !member.is_merge()) {
                    self.spend(depth)?;
                    found.push(member);
                }
                self.merged(source, found, depth + 1)?;
            }
        }
        Ok(())
    }
}
