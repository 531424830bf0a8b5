//! Settings in Python code: arguments of calls, dictionaries, the code's own variables, and variables of the environment.
//!
//! Which calls take the options of a command line, and what their unnamed arguments are called, says `rules/python.toml`: of those the key is
//! `SFTConfig:max_length`, of all others `DataLoader.batch_size`. Nothing is run: a value that only a run can tell reads as its text in
//! back quotes. Code that does not parse is read around what is wrong in it, as the cells of a notebook have magics.

mod attributes;
mod code_reader;
mod edit;
mod frozen;
mod graphs;
mod habits;
mod in_place;
mod literal;
mod many;
mod moves;
mod notebook;
mod outputs;
mod reductions;
mod sections;

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use tree_sitter::{Node as Syntax, Parser, Tree};

use super::habits::Habits;
use super::tree::Flattening;
use super::{Body, Parsed};
use crate::knowledge::CodeWords;
use crate::model::LineNumber;
use code_reader::CodeReader;
use literal::Definitions;
use moves::{Made, Move};
use reductions::Reduction;

pub(super) use edit::{called, passes_itself, set};

/// More nesting than people write: what stands deeper is not read.
const DEEPEST: u32 = 200;
/// More steps of a name than count.
const STEPS: usize = 8;
/// More bytes than people write.
const LONGEST: usize = 1 << 20;

/// What edits need of the code.
#[derive(Debug, Clone, Default)]
pub(super) struct Code {
    calls: Vec<Call>,
    /// Where a setting's value is written, if that is not where it is used.
    written: HashMap<String, Range<usize>>,
    /// The same of calls for the evaluation, while the code is read.
    written_for_evaluation: HashMap<String, Range<usize>>,
    /// The options of the program that give settings their values, by the settings' keys.
    options: HashMap<String, String>,
    /// All options that the program declares, without dashes.
    declared: Vec<String>,
    /// What it does that is no setting; nothing if it only holds settings.
    habits: Habits,
    /// What follows where an argument of a call reduces what another one sees.
    reductions: Vec<Reduction>,
    /// Sections of a configuration that are written as `dict(…)`, by their paths.
    sections: Vec<Call>,
    /// Sections of settings whose members are set one by one.
    assigned: BTreeMap<String, attributes::Section>,
    /// What makes values, and what moves them to a device.
    made: Vec<Made>,
    moves: Vec<Move>,
    /// Where the bytes of a notebook's code stand in its text.
    notebook: Option<notebook::Places>,
}

/// A call with arguments that have names.
#[derive(Debug, Clone)]
struct Call {
    /// `AutoModel.from_pretrained`
    name: String,
    /// The arguments with their brackets.
    span: Range<usize>,
    /// The last argument.
    last: Option<Range<usize>>,
    /// The names of the arguments that have one.
    names: Vec<String>,
    /// Whether the arguments are options.
    takes_options: bool,
    /// Whether another argument may be written: nothing like `**options` stands there, which may hold it.
    is_open: bool,
}

impl Code {
    /// The options of the program itself that give `key` its value.
    pub fn option(&self, key: &str) -> Option<&str> {
        self.options.get(key).map(String::as_str)
    }

    /// What the code calls and keeps.
    pub fn habits(&self) -> &Habits {
        &self.habits
    }

    /// How many leading steps of `key` are sections of a configuration.
    pub fn reaches(&self, key: &str) -> usize {
        let within = |section: &&str| key.strip_prefix(*section).is_some_and(|rest| rest.starts_with('.'));
        let assigned = self.assigned.keys().map(String::as_str);
        let all = self.sections.iter().map(|section| section.name.as_str()).chain(assigned);
        all.filter(within).map(|section| section.split('.').count()).max().unwrap_or_default()
    }

    /// The options that the program declares itself, without dashes: `batch_size`.
    pub fn declared(&self) -> &[String] {
        &self.declared
    }
}

/// Reads the settings in `text`, code or a notebook; `None` if it is neither.
pub(super) fn read_code(text: &str) -> Option<Parsed> {
    if notebook::is_notebook(text) { notebook::read(text) } else { Some(read(text)) }
}

/// What the cells of a notebook printed, with the lines of the notebook in which it stands; nothing for plain code.
pub(super) fn printed(text: &str) -> Vec<(LineNumber, String)> {
    if notebook::is_notebook(text) { notebook::printed(text).unwrap_or_default() } else { Vec::new() }
}

fn read(text: &str) -> Parsed {
    let Some(tree) = tree(text) else { return Parsed::new(Body::Python(Box::default()), Flattening::default()) };
    let nodes = in_order(tree.root_node());
    let mut reader = CodeReader {
        definitions: define(text, &nodes),
        code: Code::default(),
        found: Vec::new(),
        of_evaluation: Vec::new(),
        classes: Vec::new(),
    };
    // A configuration in Python computes nothing.
    let computes = |node: &Syntax<'_>| match node.kind() {
        "function_definition" | "class_definition" | "for_statement" => true,
        "call" => {
            let words = |name| node.child_by_field_name(name).map(|part| reader.definitions.words(part));
            words("function") != Some("dict") && words("arguments") != Some("()")
        }
        _ => false,
    };
    let is_configuration = !nodes.iter().any(computes);
    if !is_configuration {
        reader.code.habits = habits::of(&reader.definitions, &nodes);
        reader.code.reductions = reductions::of(&reader.definitions, &nodes);
    }
    for node in &nodes {
        match node.kind() {
            "call" => reader.call(*node),
            "assignment" => reader.assignment(*node, is_configuration),
            _ => {}
        }
    }
    reader.finish()
}

fn tree(text: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_python::LANGUAGE.into()).ok()?;
    if text.len() > LONGEST { None } else { parser.parse(text, None) }
}

/// Two parts of a node that has both.
fn parts<'t>(node: Syntax<'t>, one: &str, other: &str) -> Option<(Syntax<'t>, Syntax<'t>)> {
    node.child_by_field_name(one).zip(node.child_by_field_name(other))
}

/// The assignments among `nodes`, with both their sides.
fn assignments<'n, 't>(nodes: &'n [Syntax<'t>]) -> impl Iterator<Item = (Syntax<'t>, Syntax<'t>, Syntax<'t>)> + 'n {
    let sides = |node: &Syntax<'t>| parts(*node, "left", "right").map(|(left, right)| (*node, left, right));
    nodes.iter().filter(|node| node.kind() == "assignment").filter_map(sides)
}

/// All nodes with a name, in the order of the text.
fn in_order(root: Syntax<'_>) -> Vec<Syntax<'_>> {
    let (mut nodes, mut cursor) = (Vec::new(), root.walk());
    loop {
        if cursor.node().is_named() {
            nodes.push(cursor.node());
        }
        if cursor.depth() < DEEPEST && cursor.goto_first_child() || cursor.goto_next_sibling() {
            continue;
        }
        loop {
            if !cursor.goto_parent() {
                return nodes;
            }
            if cursor.goto_next_sibling() {
                break;
            }
        }
    }
}

fn define<'t>(text: &'t str, nodes: &[Syntax<'t>]) -> Definitions<'t> {
    let (mut definitions, mut defaults) = (Definitions::new(text), Vec::new());
    for node in nodes {
        match node.kind() {
            "identifier" => definitions.count(definitions.words(*node)),
            "assignment" => {
                if let Some((left, right)) = parts(*node, "left", "right")
                    && left.kind() == "identifier"
                {
                    let name = definitions.words(left);
                    match class_around(*node) {
                        Some(class) => defaults.push((name_of(&definitions, class), name, right)),
                        None => definitions.define(name, right),
                    }
                }
            }
            // What is changed step by step has no one value.
            "augmented_assignment" => {
                if let Some((left, right)) = parts(*node, "left", "right") {
                    let name = definitions.words(left);
                    definitions.define(name, right);
                    definitions.define(name, right);
                }
            }
            "default_parameter" | "typed_default_parameter" => {
                if let Some((name, value)) = parts(*node, "name", "value") {
                    defaults.push((owner(&definitions, *node), definitions.words(name), value));
                }
            }
            "call" => {
                let function = node.child_by_field_name("function").map(|function| definitions.words(function));
                let function = function.and_then(|name| name.rsplit('.').next()).unwrap_or_default();
                if CodeWords::shipped().declares_option(function)
                    && let Some((flag, default)) = declared(&definitions, *node)
                {
                    definitions.define_option(&flag, default);
                }
                for (argument, value) in named_arguments(*node) {
                    definitions.give(function, definitions.words(argument), value);
                }
            }
            _ => {}
        }
    }
    for (owner, name, value) in defaults {
        definitions.define_default(owner, name, value);
    }
    definitions
}

/// The arguments of a call that have names.
fn named_arguments(call: Syntax<'_>) -> Vec<(Syntax<'_>, Syntax<'_>)> {
    let Some(arguments) = call.child_by_field_name("arguments") else { return Vec::new() };
    let mut cursor = arguments.walk();
    let named = arguments.named_children(&mut cursor).filter(|argument| argument.kind() == "keyword_argument");
    named.filter_map(|argument| parts(argument, "name", "value")).collect()
}

/// The class of which `assignment` sets an attribute.
fn class_around(assignment: Syntax<'_>) -> Option<Syntax<'_>> {
    let class = assignment.parent()?.parent()?.parent()?;
    (class.kind() == "class_definition").then_some(class)
}

/// The name of a class or function.
fn name_of<'t>(definitions: &Definitions<'t>, defined: Syntax<'t>) -> &'t str {
    defined.child_by_field_name("name").map_or("", |name| definitions.words(name))
}

/// What is called to set `parameter`: its function, or the class that it makes.
fn owner<'t>(definitions: &Definitions<'t>, parameter: Syntax<'t>) -> &'t str {
    let function = parameter.parent().and_then(|parameters| parameters.parent());
    let name = function.map_or("", |function| name_of(definitions, function));
    let class = function.and_then(|function| function.parent()?.parent()).filter(|_| name == "__init__");
    class.map_or(name, |class| name_of(definitions, class))
}

/// `add_argument("-b", "--batch-size", default=16)`: the last of its names, and its default.
fn declared<'t>(definitions: &Definitions<'t>, call: Syntax<'t>) -> Option<(String, Syntax<'t>)> {
    let arguments = call.child_by_field_name("arguments")?;
    let (mut cursor, mut flag, mut default) = (arguments.walk(), None, None);
    for argument in arguments.named_children(&mut cursor) {
        match argument.kind() {
            "string" => flag = definitions.string(argument).filter(|flag| flag.starts_with('-')).or(flag),
            "keyword_argument" => {
                let name = argument.child_by_field_name("name").map(|name| definitions.words(name));
                if name == Some("default") {
                    default = argument.child_by_field_name("value");
                }
            }
            _ => {}
        }
    }
    Some((flag?, default?))
}

/// `AutoModel.from_pretrained`; of what is called on a value that has no name, the last step.
fn dotted(definitions: &Definitions<'_>, function: Syntax<'_>) -> Option<String> {
    let mut steps = Vec::new();
    let mut at = Some(function);
    while let Some(node) = at.filter(|_| steps.len() < STEPS) {
        match node.kind() {
            "identifier" => {
                steps.push(definitions.words(node));
                break;
            }
            "attribute" => {
                steps.push(definitions.words(node.child_by_field_name("attribute")?));
                at = node.child_by_field_name("object");
            }
            _ => break,
        }
    }
    steps.reverse();
    (!steps.is_empty()).then(|| steps.join("."))
}

/// The last step of a name.
fn last_of(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// Whether `call` is only made if something holds.
fn is_conditional(call: Syntax<'_>) -> bool {
    let mut around = std::iter::successors(call.parent(), |node| node.parent());
    around.any(|node| matches!(node.kind(), "if_statement" | "conditional_expression"))
}

/// The name that the value of `call` is given.
fn assigned_to<'t>(definitions: &Definitions<'t>, call: Syntax<'t>) -> Option<&'t str> {
    let parent = call.parent()?;
    let name = match parent.kind() {
        "assignment" => parent.child_by_field_name("left")?,
        "keyword_argument" => parent.child_by_field_name("name")?,
        _ => return None,
    };
    Some(definitions.words(name))
}

/// The name of the function that returns what `call` makes: `val_dataloader`.
fn returned_by<'t>(definitions: &Definitions<'t>, call: Syntax<'t>) -> Option<&'t str> {
    let returned = call.parent().filter(|parent| parent.kind() == "return_statement")?;
    let mut around = std::iter::successors(returned.parent(), |node| node.parent());
    let function = around.find(|above| above.kind() == "function_definition")?;
    Some(name_of(definitions, function))
}

#[cfg(test)]
mod tests;
