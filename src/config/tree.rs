//! Nested settings and where each stands: what JSON, YAML and Python's dictionaries have in common.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use super::entry::Found;
use super::path::{self, Step};
use super::{EditError, EntryKind, Value};

/// One value, list or mapping.
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// Its own text: a scalar with its quotes, a list with its brackets.
    pub span: Range<usize>,
    /// The same with what belongs to it: YAML's anchor and tag before it, the blank lines that a scalar keeps.
    pub whole: Range<usize>,
    /// Whether it stands in brackets, as all of JSON's lists and mappings do.
    pub is_flow: bool,
    pub shape: Shape,
}

#[derive(Debug, Clone)]
pub(super) enum Shape {
    Scalar(Value),
    List(Vec<Arc<Node>>),
    Map(Vec<Member>),
    /// YAML's `*name`, and what it stands for.
    Alias(Arc<Node>),
}

/// A key of a mapping and what it is set to.
#[derive(Debug, Clone)]
pub(super) struct Member {
    pub key: String,
    /// The key as it stands there.
    pub at: Range<usize>,
    pub value: Arc<Node>,
}

impl Member {
    /// Key and value.
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

/// Where a key leads.
#[derive(Debug)]
pub(super) enum Target<'a> {
    /// To a node, which is the child with this number of its parent.
    Node { node: &'a Node, parent: Option<(&'a Node, usize)> },
    /// Nowhere: what `rest` names is missing in `parent`, itself a child of the one `above`.
    Missing { parent: &'a Node, above: Option<(&'a Node, usize)>, rest: &'a [Step] },
}

impl Node {
    /// A node with nothing around it.
    pub fn new(span: Range<usize>, shape: Shape) -> Node {
        Node { whole: span.clone(), span, is_flow: true, shape }
    }

    /// How much nesting a person would write, and a stack bears.
    pub const DEEPEST: usize = 128;

    /// The places of a list's elements or a mapping's members.
    pub fn children(&self) -> Vec<Range<usize>> {
        match &self.shape {
            Shape::List(items) => items.iter().map(|item| item.whole.clone()).collect(),
            Shape::Map(members) => members.iter().map(Member::span).collect(),
            _ => Vec::new(),
        }
    }

    /// The last member with this key: of several the last one counts.
    fn member(&self, key: &str) -> Option<(usize, &Node)> {
        let Shape::Map(members) = &self.shape else { return None };
        members.iter().enumerate().rev().find(|(_, member)| member.key == key).map(|(at, member)| (at, &*member.value))
    }

    /// Follows `steps` from here.
    pub fn find<'a>(&'a self, steps: &'a [Step]) -> Result<Target<'a>, EditError> {
        let (mut node, mut parent) = (self, None);
        for (at, step) in steps.iter().enumerate() {
            let key = || path::join(&steps[..at]);
            let child = match (&node.shape, step) {
                (Shape::Map(_), Step::Key(key)) => node.member(key),
                (Shape::List(items), Step::Index(index)) if *index <= items.len() => {
                    items.get(*index).map(|item| (*index, &**item))
                }
                (Shape::List(items), Step::Index(_)) => {
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
    pub entries: Vec<Found>,
    key: String,
    /// How much was written down, about: aliases of aliases grow without bound.
    spent: usize,
}

/// There is more than anybody would write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooMuch;

impl Flattening {
    /// Adds what is below `node`; keys begin with `prefix`.
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

    /// `alias` is where the alias stands that led to `node`.
    fn walk(&mut self, node: &Node, alias: Option<&Range<usize>>, depth: usize) -> Result<(), TooMuch> {
        self.spend(depth)?;
        match &node.shape {
            Shape::Scalar(value) => self.entries.push(Found {
                defined: alias.map(|_| node.span.clone()),
                ..Found::new(&self.key, value.clone(), EntryKind::Setting, alias.unwrap_or(&node.span).clone())
            }),
            Shape::Alias(of) => self.walk(of, Some(&node.span), depth + 1)?,
            Shape::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.step(&Step::Index(index), item, depth)?;
                }
            }
            Shape::Map(members) => {
                // Of a key that stands twice the last one counts; what `<<` brings counts where nothing else is said.
                let last: HashMap<&str, usize> =
                    members.iter().enumerate().map(|(at, member)| (member.key.as_str(), at)).collect();
                for (at, member) in members.iter().enumerate() {
                    if last.get(member.key.as_str()) == Some(&at) && !member.is_merge() {
                        self.step(&Step::Key(member.key.clone()), &member.value, depth)?;
                    }
                }
                let mut merged = Vec::new();
                self.merged(node, &mut merged, depth)?;
                let mut said: HashSet<&str> = last.into_keys().collect();
                for member in merged {
                    if said.insert(&member.key) {
                        self.step(&Step::Key(member.key.clone()), &member.value, depth)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn step(&mut self, step: &Step, node: &Node, depth: usize) -> Result<(), TooMuch> {
        let before = self.key.len();
        path::push(&mut self.key, step);
        self.walk(node, None, depth + 1)?;
        self.key.truncate(before);
        Ok(())
    }

    /// The members that `<<: *base` or `<<: [*base, *other]` bring into a mapping, the ones that count first.
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
