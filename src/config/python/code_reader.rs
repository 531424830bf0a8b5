//! Reads the calls and assignments of code as settings.

use std::collections::HashSet;

use tree_sitter::Node as Syntax;

use super::literal::{Definitions, Worth};
use super::moves::{Made, Move};
use super::{Call, Code, assigned_to, class_around, dotted, is_conditional, last_of, name_of, parts, returned_by};
use crate::config::entry::{FoundCommand, FoundSetting};
use crate::config::tree::{Flattening, Node, Shape};
use crate::config::{Body, EntryKind, Parsed, Value};
use crate::knowledge::{CodeWords, plain_name};

/// Reads the settings in code, call by call.
pub(super) struct CodeReader<'t> {
    pub(super) definitions: Definitions<'t>,
    pub(super) code: Code,
    pub(super) found: Vec<FoundSetting>,
    /// Those of calls for the evaluation, which others of the same name precede.
    pub(super) of_evaluation: Vec<FoundSetting>,
    /// The classes that are given options, and the place of the first.
    pub(super) classes: Vec<(String, usize)>,
}

impl<'t> CodeReader<'t> {
    pub(super) fn call(&mut self, call: Syntax<'t>) {
        let Some((function, arguments)) = parts(call, "function", "arguments") else { return };
        self.code.moves.extend(Move::of(&self.definitions, call));
        let Some(name) = dotted(&self.definitions, function) else { return };
        let name = self.by_its_function(arguments, &name).unwrap_or(name);
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
        let is_evaluation = [assigned_to(&self.definitions, call), returned_by(&self.definitions, call)]
            .into_iter()
            .flatten()
            .any(|name| CodeWords::shipped().is_of_evaluation(name));
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

    /// Of several calls that put rows through functions, `ds.map_batches(decode, …)`, each is known by its own: `decode.map_batches`.
    fn by_its_function(&self, arguments: Syntax<'t>, name: &str) -> Option<String> {
        let method = name.contains('.').then(|| last_of(name))?;
        let words = CodeWords::shipped();
        if !words.is_of_data(name) || !self.definitions.calls_often(method) {
            return None;
        }
        let given = arguments.named_child(0).filter(|given| matches!(given.kind(), "identifier" | "attribute"))?;
        Some(format!("{}.{method}", last_of(self.definitions.words(given))))
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
    pub(super) fn assignment(&mut self, assignment: Syntax<'t>, is_configuration: bool) {
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

    pub(super) fn add(&mut self, key: &str, worth: Worth, takes_options: bool, is_evaluation: bool) {
        let Worth { node, defined, is_own, option } = worth;
        let kind = if takes_options { EntryKind::Flag } else { EntryKind::Setting };
        if let Shape::Scalar(value) = &node.shape {
            let setting =
                FoundSetting { defined: defined.clone(), ..FoundSetting::new(key, value.clone(), kind, node.span) };
            if let Some(place) = defined.filter(|_| is_own) {
                if is_evaluation {
                    // The first of several loaders for evaluations is the one that is told.
                    self.code.written_for_evaluation.entry(key.to_owned()).or_insert(place);
                } else {
                    self.code.written.insert(key.to_owned(), place);
                }
            }
            if let Some(option) = option {
                self.code.options.insert(key.to_owned(), option);
            }
            if is_evaluation { self.of_evaluation.push(setting) } else { self.found.push(setting) }
        } else {
            self.flatten(key, &node, kind, is_evaluation);
        }
    }

    pub(super) fn flatten(&mut self, key: &str, node: &Node, kind: EntryKind, is_evaluation: bool) {
        let mut settings = Flattening::default();
        if settings.add(key, node).is_ok() {
            let settings = settings.entries.into_iter().map(|found| FoundSetting { kind, ..found });
            if is_evaluation { self.of_evaluation.extend(settings) } else { self.found.extend(settings) }
        }
    }

    pub(super) fn finish(self) -> Parsed {
        let CodeReader { mut code, mut found, of_evaluation, classes, .. } = self;
        let trained: HashSet<String> = found.iter().map(|setting| setting.key.clone()).collect();
        for mut setting in of_evaluation {
            let is_taken = trained.contains(&setting.key);
            let written = code.written_for_evaluation.remove(&setting.key);
            if is_taken {
                // Of two calls of one name the one for the evaluation is no setting of the training.
                let Some(key) = of_the_evaluation(&setting.key) else { continue };
                setting.key = key;
            }
            code.written.extend(written.map(|place| (setting.key.clone(), place)));
            found.push(setting);
        }
        let command = |(program, at)| FoundCommand { program, target: None, operands: Vec::new(), at };
        Parsed { body: Body::Python(Box::new(code)), found, commands: classes.into_iter().map(command).collect() }
    }
}

/// The key of an argument of a call for the evaluation, beside one of the same name for the training: `evaluation/DataLoader.batch_size`.
/// Options of a framework have names of their own for it.
fn of_the_evaluation(key: &str) -> Option<String> {
    let (function, argument) = key.rsplit_once('.').filter(|_| !key.contains(':'))?;
    Some(format!("evaluation/{}.{argument}", last_of(function)))
}
