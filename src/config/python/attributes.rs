//! Settings that code gives by name behind a dot: attributes of a class that holds the program's settings, and of what a class has made.

use std::ops::Range;

use tree_sitter::Node as Syntax;

use super::super::tree::Shape;
use super::super::{EntryKind, Value};
use super::{CodeReader, dotted, last_of, parts};
use crate::knowledge::CodeWords;

/// Where code sets members of a section of its settings: `cfg.model.seq_length = 8192`.
#[derive(Debug, Clone)]
pub(super) struct Section {
    /// `cfg.model`
    pub object: String,
    /// The last statement that sets one.
    pub last: Range<usize>,
}

impl<'t> CodeReader<'t> {
    /// `cfg.model.seq_length = 8192`: what stands behind the name of the settings is a path in them, as in a file of them. What is only set
    /// on a condition is not set.
    pub(super) fn attribute_of_settings(&mut self, left: Syntax<'t>, right: Syntax<'t>) -> bool {
        let Some(name) = dotted(&self.definitions, left) else { return false };
        let Some((root, path)) = name.split_once('.') else { return false };
        let Some((section, _)) = path.rsplit_once('.').filter(|_| CodeWords::shipped().is_of_settings(root)) else {
            return false;
        };
        let around = std::iter::successors(left.parent(), |node| node.parent());
        let tests = around
            .filter(|node| node.kind() == "if_statement")
            .filter_map(|node| node.child_by_field_name("condition"));
        let is_chosen = |test: Syntax<'t>| !self.definitions.words(test).contains("__name__");
        if root == "self" || tests.into_iter().any(is_chosen) {
            return false;
        }
        let worth = self.definitions.worth(right);
        if matches!(worth.node.shape, Shape::Scalar(_)) {
            let last = left.start_byte()..right.end_byte();
            let object = format!("{root}.{section}");
            self.code.assigned.insert(section.to_owned(), Section { object, last });
            self.add(path, worth, false, false);
        }
        true
    }

    /// `config.useFloat16 = False`: what a class is given behind its call is a setting as its arguments are.
    pub(super) fn attribute_of_made(&mut self, left: Syntax<'t>, right: Syntax<'t>) {
        let Some((object, name)) = parts(left, "object", "attribute") else { return };
        let maker = Some(object).filter(|object| object.kind() == "identifier").and_then(|object| {
            let made = self.definitions.only(self.definitions.words(object))?;
            dotted(&self.definitions, made.child_by_field_name("function").filter(|_| made.kind() == "call")?)
        });
        // A class has a name with a capital; what other functions return is no configuration.
        let class = maker.filter(|maker| last_of(maker).starts_with(|letter: char| letter.is_ascii_uppercase()));
        let Some(class) = class else { return };
        let takes_options = CodeWords::shipped().call(&class).is_some_and(|row| row.framework.is_some());
        let name = self.definitions.words(name);
        let key = if takes_options { format!("{}:{name}", last_of(&class)) } else { format!("{class}.{name}") };
        let worth = self.definitions.worth(right);
        if matches!(worth.node.shape, Shape::Scalar(Value::Number(_) | Value::Bool(_))) {
            self.add(&key, worth, takes_options, false);
        }
    }

    /// An attribute of a class that holds the program's settings, if no call gives it another value.
    pub(super) fn attribute(&mut self, class: &str, name: &str, value: Syntax<'t>) {
        if CodeWords::shipped().is_of_settings(class)
            && !self.definitions.is_given(class, name)
            && let Some(node) = self.definitions.value(value, 0)
        {
            self.flatten(name, &node, EntryKind::Setting, false);
        }
    }
}
