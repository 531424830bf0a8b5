//! Takes a key out of YAML, with the line that belongs to it.

use super::super::edit::{line_start, next_line};
use super::super::tree::{Shape, Target};
use super::super::{Body, Document, EditError, Value, path};

impl Document {
    /// The text without the setting `key`. Only what has a line of its own in block style is taken out: a scalar, with its key before it.
    pub fn without(&self, key: &str) -> Result<String, EditError> {
        let unwritable = || EditError::Unwritable { key: key.to_owned(), value: Value::Null.to_string() };
        let Body::Yaml(stream) = &self.body else { return Err(unwritable()) };
        let steps = path::parse(key).ok_or_else(unwritable)?;
        let (root, steps) = stream.find(&steps)?;
        let Target::Node { node, parent } = root.find(steps)? else { return Err(unwritable()) };
        let is_scalar = matches!(node.shape, Shape::Scalar(_)) && !node.span.is_empty();
        let is_block = parent.is_some_and(|(parent, _)| !parent.is_flow);
        let line = line_start(&self.text, node.span.start)..next_line(&self.text, node.span.end);
        let before = self.text.get(line.start..node.span.start).unwrap_or_default();
        // The first key of a list's item stands behind its dash.
        let is_alone = before.trim_end().ends_with(':') && !before.trim_start().starts_with("- ");
        if !(is_scalar && is_block && is_alone) {
            return Err(unwritable());
        }
        let text = [&self.text[..line.start], &self.text[line.end..]].concat();
        let written = Document::read_as(self.format, self.path.clone(), &text).map_err(|_| unwritable())?;
        // Reading it back shows that nothing else went with it.
        let is_gone = written.entries.iter().all(|entry| entry.key != key);
        if is_gone && written.entries.len() + 1 == self.entries.len() { Ok(text) } else { Err(unwritable()) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::{ConfigError, Format};
    use super::*;

    #[test]
    fn a_key_goes_with_its_line_and_nothing_else() -> Result<(), ConfigError> {
        let without = |text: &str, key: &str| {
            let document = Document::read_as(Format::Yaml, "job.yaml", text)?;
            Ok::<_, ConfigError>(document.without(key).ok())
        };
        let text = "optimizer:\n  name: adam  # the usual\n  fused: True\n  lr: 1\nsteps: 3\n";
        let left = "optimizer:\n  name: adam  # the usual\n  lr: 1\nsteps: 3\n";
        assert_eq!(without(text, "optimizer.fused")?.as_deref(), Some(left));
        for (text, key) in [
            ("optimizer: {name: adam, fused: True}\n", "optimizer.fused"),
            ("- fused: True\n  lr: 1\n", "[0].fused"),
            ("optimizer:\n  name: adam\n", "optimizer"),
            ("optimizer:\n  name: adam\n", "optimizer.fused"),
        ] {
            assert_eq!(without(text, key)?, None, "{text}");
        }
        Ok(())
    }
}
