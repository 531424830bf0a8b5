//! Follows the values of a training step: what a backward pass starts from and needs, and what has left the graph.

use std::collections::{HashMap, HashSet};

use tree_sitter::Node as Syntax;

use super::habits::{MOST, ROUNDS, function_around, is_name, is_short, is_tensor, method};
use super::literal::Definitions;
use super::{assignments, dotted, in_order, parts};
use crate::knowledge::{CodeWords, is_among};

/// How many parts of a value, and how many of those that it is made of, are looked into.
const STEPS: usize = 64;
/// More places than one function writes a name to.
const WRITES: usize = 8;

/// Methods of a tensor that give a number or an array of the host, functions that give a number, and modules that work on the host.
const TAKES_OUT: [&str; 6] = ["item", "tolist", "numpy", "size", "numel", "dim"];
const COUNTS: [&str; 4] = ["float", "int", "round", "len"];
const ON_HOST: [&str; 3] = ["np", "numpy", "math"];
/// Words of the names of what gives a loss, beside the loss itself.
const CRITERIA: [&str; 2] = ["crit", "criterion"];

/// What the code says of a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Made {
    /// It is a number, or an array of the host.
    pub is_number: bool,
    /// No graph hangs on it.
    pub is_off_graph: bool,
    /// It takes no memory of the device.
    pub is_on_host: bool,
}

impl Made {
    const NUMBER: Made = Made { is_number: true, is_off_graph: true, is_on_host: true };

    /// What is made of both.
    fn and(self, other: Made) -> Made {
        Made {
            is_number: self.is_number && other.is_number,
            is_off_graph: self.is_off_graph && other.is_off_graph,
            is_on_host: self.is_on_host && other.is_on_host,
        }
    }
}

/// A place where the code gives a name its value.
struct Write<'t> {
    node: Syntax<'t>,
    /// Where it is done.
    end: usize,
    /// Where the function begins in which it stands.
    function: Option<usize>,
    /// The value, if it is all that is taken apart there.
    value: Option<Syntax<'t>>,
}

/// The values of some code.
pub(super) struct Graphs<'d, 't> {
    definitions: &'d Definitions<'t>,
    /// By their names, in the order of the text.
    writes: HashMap<&'t str, Vec<Write<'t>>>,
    /// The names from which backward passes start, with the functions in which these stand.
    starts: HashSet<(&'t str, Option<usize>)>,
}

impl<'d, 't> Graphs<'d, 't> {
    pub fn of(definitions: &'d Definitions<'t>, nodes: &[Syntax<'t>]) -> Graphs<'d, 't> {
        let mut graphs = Graphs { definitions, writes: writes(definitions, nodes), starts: HashSet::new() };
        for (call, function, _) in backward_passes(definitions, nodes).take(MOST) {
            // `accelerator.backward(loss)` is given what others call it of; `loss.backward(retain_graph=True)` is not.
            let own = function.child_by_field_name("object");
            let Some(value) = first_argument(call).or(own) else { continue };
            let (mut names, scope) = (Vec::new(), scope(call));
            graphs.start(value, true, scope, ROUNDS, &mut names);
            graphs.starts.extend(names.into_iter().map(|name| (name, scope)));
        }
        graphs
    }

    /// Whether a backward pass of the same function starts from `value`: `total` of `total.backward()`, `scaler.scale(total).backward()` and
    /// `accelerator.backward(total / steps)`. What has the same name elsewhere is another value.
    pub fn starts_from(&self, value: Syntax<'t>) -> bool {
        self.starts.contains(&(self.definitions.words(value), scope(value)))
    }

    /// What the code says of `value` where it stands.
    pub fn made_of(&self, value: Syntax<'t>) -> Made {
        self.made(value, scope(value), &mut STEPS.clone())
    }

    /// Adds to `names` what of `value` has the graph; all of it has one if `is_sure`.
    fn start(
        &self,
        value: Syntax<'t>,
        is_sure: bool,
        scope: Option<usize>,
        rounds: usize,
        names: &mut Vec<&'t str>,
    ) -> Option<()> {
        let rounds = rounds.checked_sub(1)?;
        match value.kind() {
            "parenthesized_expression" => self.start(value.named_child(0)?, is_sure, scope, rounds, names),
            "binary_operator" => {
                let (left, right) = parts(value, "left", "right")?;
                match self.definitions.words(value.child_by_field_name("operator")?) {
                    // What a loss is divided by is none.
                    "/" | "**" => self.start(left, is_sure, scope, rounds, names),
                    "*" | "+" | "-" => {
                        for (side, other) in [(left, right), (right, left)] {
                            // Beside a number it must be the other side.
                            let is_only = is_sure && self.made(other, scope, &mut STEPS.clone()).is_number;
                            self.start(side, is_only, scope, rounds, names);
                        }
                        Some(())
                    }
                    _ => None,
                }
            }
            "call" => self.start(first_argument(value)?, is_sure, scope, rounds, names),
            _ => {
                let is_start = is_name(value) && !self.made(value, scope, &mut STEPS.clone()).is_off_graph;
                if is_start && (is_sure || is_tensor(self.definitions, value) || self.is_loss(value, scope)) {
                    names.push(self.definitions.words(value));
                }
                Some(())
            }
        }
    }

    /// Whether the last that gives `value` its value is called like what gives a loss: `objective = criterion(out, y)`.
    fn is_loss(&self, value: Syntax<'t>, scope: Option<usize>) -> bool {
        let last = self.before(self.definitions.words(value), value.start_byte(), scope).next();
        let function = last.and_then(|write| write.value?.child_by_field_name("function"));
        let called = function.map(|function| function.child_by_field_name("attribute").unwrap_or(function));
        let name = called.map(|called| self.definitions.words(called).to_ascii_lowercase()).unwrap_or_default();
        name.split('_').any(|part| is_among(&CodeWords::shipped().scalars, part) || CRITERIA.contains(&part))
    }

    /// Where `name` was given its value in the same function before `at`, the last place first.
    fn before(&self, name: &str, at: usize, scope: Option<usize>) -> impl Iterator<Item = &Write<'t>> {
        let writes = self.writes.get(name).map(Vec::as_slice).unwrap_or_default();
        let count = writes.partition_point(|write| write.node.start_byte() < at);
        let before = writes[..count].iter().rev().take(MOST);
        before.filter(move |write| write.end <= at && write.function == scope).take(WRITES)
    }

    /// What the code gives `name` before `at`; `None` if nothing gives it anything.
    fn written(&self, name: &str, at: usize, scope: Option<usize>, left: &mut usize) -> Option<Made> {
        let mut made: Option<Made> = None;
        for write in self.before(name, at, scope) {
            let mut one = write.value.map(|value| self.made(value, scope, left)).unwrap_or_default();
            if write.node.kind() == "augmented_assignment" {
                one = one.and(self.written(name, write.node.start_byte(), scope, left).unwrap_or_default());
            }
            let both = made.map_or(one, |known| known.and(one));
            if is_always_done(write.node, at) || both == Made::default() {
                return Some(both);
            }
            made = Some(both);
        }
        // What is written under a condition alone may be anything without it.
        made.map(|_| Made::default())
    }

    fn made(&self, value: Syntax<'t>, scope: Option<usize>, left: &mut usize) -> Made {
        if *left == 0 || !is_short(value) {
            return Made::default();
        }
        *left -= 1;
        let mut all = |of: &[Option<Syntax<'t>>]| {
            let mut made = Made::NUMBER;
            for part in of {
                made = made.and(part.map(|part| self.made(part, scope, left)).unwrap_or_default());
            }
            made
        };
        let part = |name: &str| value.child_by_field_name(name);
        match value.kind() {
            "integer" | "float" | "true" | "false" => Made::NUMBER,
            "parenthesized_expression" => all(&[value.named_child(0)]),
            "unary_operator" => all(&[part("argument")]),
            // `a = b = loss.item()`
            "assignment" => all(&[part("right")]),
            "binary_operator" => all(&[part("left"), part("right")]),
            "conditional_expression" => all(&[value.named_child(0), value.named_child(2)]),
            "identifier" | "attribute" | "subscript" => {
                let name = self.definitions.words(value);
                if let Some(written) = self.written(name, value.start_byte(), scope, left) {
                    return written;
                }
                let member = part("attribute").map(|member| self.definitions.words(member));
                match (value.kind(), member) {
                    ("subscript", _) => part("value").map(|of| self.made(of, scope, left)).unwrap_or_default(),
                    (_, Some("shape" | "ndim")) => Made::NUMBER,
                    (_, Some("data")) => {
                        let of = part("object").map(|of| self.made(of, scope, left)).unwrap_or_default();
                        Made { is_off_graph: true, ..of }
                    }
                    _ => Made::default(),
                }
            }
            "call" => self.called(value, scope, left).unwrap_or_default(),
            _ => Made::default(),
        }
    }

    /// What the call `value` gives.
    fn called(&self, value: Syntax<'t>, scope: Option<usize>, left: &mut usize) -> Option<Made> {
        let (function, arguments) = parts(value, "function", "arguments")?;
        let Some(method) = method(self.definitions, function) else {
            // `loss.float()` is a tensor still, `float(loss)` is none.
            return COUNTS.contains(&self.definitions.words(function)).then_some(Made::NUMBER);
        };
        let is_of_host = |name: String| name.split('.').next().is_some_and(|of| ON_HOST.contains(&of));
        if TAKES_OUT.contains(&method) || dotted(self.definitions, function).is_some_and(is_of_host) {
            return Some(Made::NUMBER);
        }
        let of = self.made(function.child_by_field_name("object")?, scope, left);
        let given = self.definitions.words(arguments);
        Some(match method {
            "detach" | "detach_" => Made { is_off_graph: true, ..of },
            "cpu" => Made { is_on_host: true, ..of },
            "to" => Made { is_on_host: of.is_on_host || given.contains("\"cpu\"") || given.contains("'cpu'"), ..of },
            _ if of.is_number || is_among(&CodeWords::shipped().stays_tensor, method) || given == "()" => of,
            // Another tensor may bring its graph: `weights.detach().mul(loss)`.
            _ => Made::default(),
        })
    }
}

/// Where the function begins in which `node` stands.
fn scope(node: Syntax<'_>) -> Option<usize> {
    function_around(node).map(|function| function.start_byte())
}

/// The first argument of `call`, if it has no name.
fn first_argument(call: Syntax<'_>) -> Option<Syntax<'_>> {
    let given = call.child_by_field_name("arguments")?.named_child(0)?;
    (given.kind() != "keyword_argument").then_some(given)
}

/// Whether what stands at `at` is reached through the statement `node` alone: it is in the same block, or in one within.
fn is_always_done(node: Syntax<'_>, at: usize) -> bool {
    let around = std::iter::successors(node.parent(), Syntax::parent);
    // A block of `with` is done like all around it.
    let mut blocks = around.filter(|node| {
        matches!(node.kind(), "block" | "module")
            && node.parent().is_none_or(|parent| parent.kind() != "with_statement" || node.byte_range().contains(&at))
    });
    blocks.next().is_some_and(|block| block.byte_range().contains(&at))
}

fn writes<'t>(definitions: &Definitions<'t>, nodes: &[Syntax<'t>]) -> HashMap<&'t str, Vec<Write<'t>>> {
    let mut writes: HashMap<&str, Vec<Write<'t>>> = HashMap::new();
    let mut around: Vec<Syntax<'t>> = Vec::new();
    for node in nodes {
        while around.last().is_some_and(|function| function.end_byte() <= node.start_byte()) {
            around.pop();
        }
        let (value, end) = match node.kind() {
            "function_definition" => {
                around.push(*node);
                continue;
            }
            "assignment" | "augmented_assignment" => (node.child_by_field_name("right"), node.end_byte()),
            "for_statement" => (None, node.child_by_field_name("left").map_or(node.end_byte(), |left| left.end_byte())),
            _ => continue,
        };
        let Some(to) = node.child_by_field_name("left").filter(|_| value.is_some() || node.kind() == "for_statement")
        else {
            continue;
        };
        let function = around.last().map(|function| function.start_byte());
        if is_name(to) {
            let write = Write { node: *node, end, function, value };
            writes.entry(definitions.words(to)).or_default().push(write);
        } else {
            // Of what is taken apart nothing is known.
            for name in in_order(to).into_iter().filter(|part| part.kind() == "identifier") {
                let write = Write { node: *node, end, function, value: None };
                writes.entry(definitions.words(name)).or_default().push(write);
            }
        }
    }
    writes
}

/// The calls that run a backward pass, each with its function and its arguments.
fn backward_passes<'t>(
    definitions: &Definitions<'t>,
    nodes: &[Syntax<'t>],
) -> impl Iterator<Item = (Syntax<'t>, Syntax<'t>, Syntax<'t>)> {
    let backward = &CodeWords::shipped().runs_backward;
    nodes.iter().filter(|node| node.kind() == "call").filter_map(move |call| {
        let (function, arguments) = parts(*call, "function", "arguments")?;
        let runs = method(definitions, function).is_some_and(|method| is_among(backward, method));
        runs.then_some((*call, function, arguments))
    })
}

/// The names of the values that a backward pass starts from, and of what they are made of: their graphs are needed.
pub(super) fn wanted<'t>(definitions: &Definitions<'t>, nodes: &[Syntax<'t>]) -> HashSet<&'t str> {
    let names =
        |of: Syntax<'t>| in_order(of).into_iter().filter(|node| is_name(*node)).map(|node| definitions.words(node));
    let mut wanted: HashSet<&str> = HashSet::new();
    for (_, function, arguments) in backward_passes(definitions, nodes) {
        wanted.extend(names(arguments).chain(function.child_by_field_name("object").into_iter().flat_map(names)));
    }
    let assigned: Vec<(&str, Syntax<'t>)> =
        assignments(nodes).map(|(_, left, right)| (definitions.words(left), right)).take(MOST * ROUNDS).collect();
    for _ in 0..ROUNDS {
        let before = wanted.len();
        for (left, right) in &assigned {
            if wanted.contains(left) {
                wanted.extend(names(*right));
            }
        }
        if wanted.len() == before {
            break;
        }
    }
    wanted
}
