//! Takes a key out of YAML, with the line that belongs to it, or an option out of a script's command.

use super::super::edit::{apply, line_start, next_line};
use super::super::tree::{Shape, Target};
use super::super::{Body, Document, EditError, Entry, EntryKind, Value, path, shell};

impl Document {
    /// The text without the setting `key`. Of YAML only what has a line of its own in block style is taken out: a scalar, with its key
    /// before it. Of a script, an option that it gives once.
    pub fn without(&self, key: &str) -> Result<String, EditError> {
        let unwritable = || EditError::Unwritable { key: key.to_owned(), value: Value::Null.to_string() };
        if let Body::Shell(shell) = &self.body {
            return self.without_option(shell, key).ok_or_else(unwritable);
        }
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

    fn without_option(&self, shell: &shell::Shell, key: &str) -> Option<String> {
        let is_option = |entry: &Entry| entry.key == key && entry.kind == EntryKind::Flag;
        let mut options = self.entries.iter().enumerate().filter(|(_, entry)| is_option(entry));
        let (at, _) = options.next().filter(|_| options.next().is_none())?;
        let text = apply(&self.text, shell::without(&self.text, shell, at)?);
        let written = Document::read_as(self.format, self.path.clone(), &text).ok()?;
        let is_within = |entry: &Entry| entry.key.strip_prefix(key).is_some_and(|rest| rest.starts_with(['.', '[']));
        let others = |document: &Document| -> Vec<(EntryKind, String, Value)> {
            let others = document.entries.iter().filter(|entry| !is_option(entry) && !is_within(entry));
            others.map(|entry| (entry.kind, entry.key.clone(), entry.value.clone())).collect()
        };
        let is_gone = !written.entries.iter().any(is_option);
        (is_gone && others(self) == others(&written)).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::{ConfigError, Format};
    use super::*;

    #[test]
    fn an_option_of_a_command_goes_with_its_value_and_nothing_else() -> Result<(), ConfigError> {
        let without = |text: &str, key: &str| {
            let document = Document::read_as(Format::Shell, "run.sh", text)?;
            Ok::<_, ConfigError>(document.without(key).ok())
        };
        for (before, after) in [
            ("serve org/m --draft '{\"model\": \"org/d\", \"n\": 4}' --port 1\n", "serve org/m --port 1\n"),
            ("serve org/m --draft '{\"model\": \"org/d\"}'\n", "serve org/m\n"),
            ("serve org/m --draft=org/d --port 1\n", "serve org/m --port 1\n"),
            ("serve org/m \\\n  --port 1 \\\n  --draft org/d\n", "serve org/m \\\n  --port 1\n"),
            ("serve org/m \\\n  --draft org/d \\\n  --port 1\n", "serve org/m \\\n  --port 1\n"),
        ] {
            let key = if before.contains("--draft") { "draft" } else { "port" };
            assert_eq!(without(before, key)?.as_deref(), Some(after), "{before}");
        }
        let twice = "serve org/m --draft a\nserve org/m --draft b\n";
        for (text, key) in
            [(twice, "draft"), ("serve org/m --port 1\n", "draft"), ("export draft=1\nserve m\n", "draft")]
        {
            assert_eq!(without(text, key)?, None, "{text}");
        }
        Ok(())
    }

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
