//! Sections of a configuration in Python that are written as calls: `model = dict(train_cfg=dict(rpn=…))`.

use tree_sitter::Node as Syntax;

use super::{Call, CodeReader, STEPS, named_arguments, parts};

/// More bytes of a path of names than people write.
const LONGEST_PATH: usize = 1 << 10;

impl<'t> CodeReader<'t> {
    /// `dict(a=dict(b=1))` at `path`, with those within it.
    pub(super) fn section(&mut self, path: &str, value: Syntax<'t>) {
        let Some((function, arguments)) = parts(value, "function", "arguments") else { return };
        let is_long = path.len() > LONGEST_PATH || path.split('.').count() > STEPS;
        if value.kind() != "call" || self.definitions.words(function) != "dict" || is_long {
            return;
        }
        let mut cursor = arguments.walk();
        let last = arguments.named_children(&mut cursor).filter(|argument| argument.kind() != "comment").last();
        let named = named_arguments(value);
        let names = named.iter().map(|(name, _)| self.definitions.words(*name).to_owned()).collect();
        let (name, span) = (path.to_owned(), arguments.byte_range());
        let last = last.map(|last| last.byte_range());
        self.code.sections.push(Call { name, span, last, names, takes_options: false, is_open: true });
        for (name, value) in named.into_iter().filter(|(_, value)| value.kind() == "call") {
            self.section(&format!("{path}.{}", self.definitions.words(name)), value);
        }
    }
}
