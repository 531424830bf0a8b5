//! Settings that code gives by name behind a dot: attributes of a class that holds the program's settings, and of what a class has made.

use tree_sitter::Node as Syntax;

use super::super::tree::Shape;
use super::super::{EntryKind, Value};
use super::{CodeReader, dotted, last_of, parts};
use crate::knowledge::CodeWords;

impl<'t> CodeReader<'t> {
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
