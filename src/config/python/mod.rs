//! Settings in Python code: arguments of calls, dictionaries, the code's own variables, and variables of the environment.
//!
//! Which calls take the options of a command line, and what their unnamed arguments are called, says `rules/python.toml`: of those the key is
//! `SFTConfig:max_length`, of all others `DataLoader.batch_size`. Nothing is run: a value that only a run can tell reads as its text in
//! back quotes. Code that does not parse is read around what is wrong in it, as the cells of a notebook have magics.

mod attributes;
mod edit;
mod frozen;
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

use super::entry::{FoundCommand, FoundSetting};
use super::habits::Habits;
use super::tree::{Flattening, Node, Shape};
use super::{Body, EntryKind, Parsed, Value};
use crate::knowledge::{CodeWords, plain_name};
use crate::model::LineNumber;
use literal::{Definitions, Worth};
use moves::{Made, Move};
use reductions::Reduction;

pub(super) use edit::{called, set};

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

struct CodeReader<'t> {
    definitions: Definitions<'t>,
    code: Code,
    found: Vec<FoundSetting>,
    /// Those of calls for the evaluation, which others of the same name precede.
    of_evaluation: Vec<FoundSetting>,
    /// The classes that are given options, and the place of the first.
    classes: Vec<(String, usize)>,
}

impl<'t> CodeReader<'t> {
    fn call(&mut self, call: Syntax<'t>) {
        let Some((function, arguments)) = parts(call, "function", "arguments") else { return };
        self.code.moves.extend(Move::of(&self.definitions, call));
        let Some(name) = dotted(&self.definitions, function) else { return };
        let last_name = last_of(&name).to_owned();
        if arguments.kind() != "argument_list" || name == "dict" {
            return;
        }
        if CodeWords::shipped().declares_option(&last_name) {
            return self.declare(arguments);
        }
        if self.environment(&name, arguments) {
            return;
        }
        let row = CodeWords::shipped().call(&name);
        let sets = row.filter(|row| !row.sets.is_empty() && !is_conditional(call));
        for (option, value) in sets.into_iter().flat_map(|row| &row.sets) {
            let value = Value::of_word(value);
            self.found.push(FoundSetting::new(&format!("{name}:{option}"), value, EntryKind::Flag, call.byte_range()));
        }
        let takes_options = row.is_some_and(|row| row.framework.is_some());
        let prefix = match takes_options {
            true => format!("{last_name}:"),
            // What makes the program's own settings gives them by their names.
            false if self.definitions.has_defaults(&name) && CodeWords::shipped().is_of_settings(&name) => {
                String::new()
            }
            false => format!("{name}."),
        };
        let (mut cursor, mut number, mut last, mut is_open, mut settings) =
            (arguments.walk(), 0, None, true, Vec::new());
        for argument in arguments.named_children(&mut cursor).filter(|argument| argument.kind() != "comment") {
            last = Some(argument.byte_range());
            match argument.kind() {
                "keyword_argument" => {
                    let Some((key, value)) = parts(argument, "name", "value") else { continue };
                    let key = self.definitions.words(key);
                    settings.push((key.to_owned(), self.definitions.worth(value)));
                }
                "dictionary_splat" => {
                    let of = argument.named_child(0).map(|of| self.definitions.worth(of));
                    match of.map(|worth| worth.node.shape) {
                        Some(Shape::Map(members)) => settings
                            .extend(members.into_iter().map(|member| (member.key, Worth::of((*member.value).clone())))),
                        _ => is_open = false,
                    }
                }
                "list_splat" => is_open = false,
                _ => {
                    if let Some(key) = row.and_then(|row| row.unnamed.get(number)) {
                        settings.push((key.clone(), self.definitions.worth(argument)));
                    }
                    number += 1;
                }
            }
        }
        let is_evaluation =
            assigned_to(&self.definitions, call).is_some_and(|name| CodeWords::shipped().is_of_evaluation(name));
        let mut names = Vec::new();
        for (key, worth) in settings {
            self.add(&format!("{prefix}{key}"), worth, takes_options, is_evaluation);
            names.push(key);
        }
        if takes_options {
            self.classes.push((last_name, call.start_byte()));
        }
        self.code.calls.push(Call { name, span: arguments.byte_range(), last, names, takes_options, is_open });
    }

    /// `add_argument("-b", "--batch-size")`
    fn declare(&mut self, arguments: Syntax<'t>) {
        let mut cursor = arguments.walk();
        let names = arguments.named_children(&mut cursor).filter_map(|argument| self.definitions.string(argument));
        let flags = names.filter(|name| name.starts_with('-'));
        self.code.declared.extend(flags.map(|flag| plain_name(&flag)));
    }

    /// `os.environ.setdefault("NAME", "value")`
    fn environment(&mut self, name: &str, arguments: Syntax<'t>) -> bool {
        if !matches!(name, "os.environ.setdefault" | "environ.setdefault" | "os.putenv") {
            return false;
        }
        if let (Some(key), Some(value)) = (arguments.named_child(0), arguments.named_child(1)) {
            self.variable(key, value);
        }
        true
    }

    fn variable(&mut self, key: Syntax<'t>, value: Syntax<'t>) {
        let Worth { node, .. } = self.definitions.worth(value);
        if let (Some(key), Shape::Scalar(value)) = (self.definitions.string(key), node.shape) {
            self.found.push(FoundSetting::new(&key, value, EntryKind::Env, node.span));
        }
    }

    /// A dictionary is a section of settings; in code that does nothing but assign, every value is a setting.
    fn assignment(&mut self, assignment: Syntax<'t>, is_configuration: bool) {
        let Some((left, right)) = parts(assignment, "left", "right") else { return };
        self.code.made.extend(Made::of(&self.definitions, assignment));
        match left.kind() {
            "identifier" => {
                let name = self.definitions.words(left);
                let is_outermost =
                    assignment.parent().and_then(|line| line.parent()).is_some_and(|of| of.kind() == "module");
                if let Some(class) = class_around(assignment).map(|class| name_of(&self.definitions, class)) {
                    return self.attribute(class, name, right);
                }
                self.section(name, right);
                if let Some(node) = self.definitions.value(right, 0) {
                    let is_section = matches!(node.shape, Shape::Map(_));
                    let is_amount = matches!(node.shape, Shape::Scalar(Value::Number(_) | Value::Bool(_)));
                    if is_section || is_outermost && is_configuration {
                        self.flatten(name, &node, EntryKind::Setting, false);
                    } else if is_amount && self.definitions.only(name).is_some() {
                        self.flatten(name, &node, EntryKind::Variable, false);
                    }
                } else if let Some(node) = self.definitions.of_cores(right) {
                    self.flatten(name, &node, EntryKind::Variable, false);
                }
            }
            "attribute" if self.attribute_of_settings(left, right) => {}
            "attribute" => self.attribute_of_made(left, right),
            // `os.environ["NAME"] = "value"`
            "subscript" => {
                let of = left.child_by_field_name("value").map(|of| self.definitions.words(of));
                if matches!(of, Some("os.environ" | "environ"))
                    && let Some(key) = left.child_by_field_name("subscript")
                {
                    self.variable(key, right);
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, key: &str, worth: Worth, takes_options: bool, is_evaluation: bool) {
        let Worth { node, defined, is_own, option } = worth;
        let kind = if takes_options { EntryKind::Flag } else { EntryKind::Setting };
        if let Shape::Scalar(value) = &node.shape {
            let setting =
                FoundSetting { defined: defined.clone(), ..FoundSetting::new(key, value.clone(), kind, node.span) };
            if let Some(place) = defined.filter(|_| is_own) {
                self.code.written.insert(key.to_owned(), place);
            }
            if let Some(option) = option {
                self.code.options.insert(key.to_owned(), option);
            }
            if is_evaluation { self.of_evaluation.push(setting) } else { self.found.push(setting) }
        } else {
            self.flatten(key, &node, kind, is_evaluation);
        }
    }

    fn flatten(&mut self, key: &str, node: &Node, kind: EntryKind, is_evaluation: bool) {
        let mut settings = Flattening::default();
        if settings.add(key, node).is_ok() {
            let settings = settings.entries.into_iter().map(|found| FoundSetting { kind, ..found });
            if is_evaluation { self.of_evaluation.extend(settings) } else { self.found.extend(settings) }
        }
    }

    fn finish(self) -> Parsed {
        let CodeReader { code, mut found, mut of_evaluation, classes, .. } = self;
        of_evaluation.retain(|setting| !found.iter().any(|other| other.key == setting.key));
        found.extend(of_evaluation);
        let command = |(program, at)| FoundCommand { program, target: None, operands: Vec::new(), at };
        Parsed { body: Body::Python(Box::new(code)), found, commands: classes.into_iter().map(command).collect() }
    }
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

#[cfg(test)]
mod tests;
