//! Removes an option without a value from a command line within a YAML file or a Dockerfile: from a list, or from a text.

use std::ops::Range;

use super::edit::{Edit, line_end, line_start, next_line};
use super::{Document, EditError, Entry, EntryKind, Value, Wanted};

impl Document {
    /// The switch in the same command that says the opposite of the wanted one, which is not set: `no-lazy` of `--lazy`.
    pub(super) fn opposite(&self, before: Option<usize>, wanted: Wanted<'_>) -> Option<String> {
        let is_switched_on = before.is_none() && *wanted.value == Value::Bool(true);
        let name = Some(wanted.key.trim_start_matches('-')).filter(|_| is_switched_on)?;
        let opposites = match name.strip_prefix("no-").or_else(|| name.strip_prefix("no_")) {
            Some(rest) => vec![rest.to_owned()],
            None => vec![format!("no-{name}"), format!("no_{name}")],
        };
        let is_it = |entry: &&Entry| {
            entry.kind == EntryKind::Flag
                && opposites.contains(&entry.key)
                && (wanted.command.is_none() || entry.command == wanted.command)
        };
        self.entries.iter().find(is_it).map(|entry| entry.key.clone())
    }

    /// The text with `opposite` removed and the wanted switch added.
    pub(super) fn set_instead_of(&self, opposite: &str, wanted: Wanted<'_>) -> Result<String, EditError> {
        let off = Wanted { key: opposite, value: &Value::Bool(false), ..wanted };
        let text = self.edited(off)?;
        let without = Document::read_as(self.format, self.path.clone(), &text);
        let unwritable = || EditError::Unwritable { key: wanted.key.to_owned(), value: wanted.value.to_string() };
        without.map_err(|_| unwritable())?.edited(wanted)
    }
}

/// The edit that removes the word at `word` with what belongs to it alone: quotes, a comma, its line. `None` if only other words would
/// tell where it ends.
pub(super) fn removed(text: &str, word: &Range<usize>) -> Option<Edit> {
    let before = text.get(..word.start)?;
    let quote = before.chars().next_back().filter(|letter| matches!(letter, '"' | '\''));
    let is_quoted = quote.is_some() && text.get(word.end..)?.starts_with(quote?);
    let (start, end) = (word.start - usize::from(is_quoted), word.end + usize::from(is_quoted));
    let line = text.get(line_start(text, start)..start)?;
    let (head, rest) = (line.trim_start(), text.get(end..line_end(text, end))?.trim());
    let is_alone = rest.is_empty() || rest.starts_with('#');
    // An item of a list, or a line of a text that is folded.
    if matches!(head, "" | "- ") && is_alone && (head == "- " || !is_quoted) {
        return Some(Edit::delete(line_start(text, start)..next_line(text, end)));
    }
    let above = text.get(..start)?.trim_end();
    let below = text.get(end..)?.trim_start();
    if below.starts_with([',', ']']) && above.ends_with([',', '[']) {
        return Some(Edit::delete(match above.ends_with(',') {
            true => above.len() - 1..end,
            false if below.starts_with(',') => start..text.len() - below[1..].trim_start().len(),
            false => start..end,
        }));
    }
    // A word of a text, with the blanks before it.
    let blanks = line.len() - line.trim_end().len();
    (!is_quoted && blanks > 0).then(|| Edit::delete(start - blanks..end))
}

#[cfg(test)]
mod tests {
    use crate::config::{Document, EntryKind, Value};

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    #[test]
    fn a_switch_replaces_its_opposite() -> Outcome {
        for (before, after) in [
            ("convert --no-lazy --a 1\n", "convert --a 1 --lazy\n"),
            ("convert --no_lazy --a 1\n", "convert --a 1 --lazy\n"),
            ("convert --no-other --a 1\n", "convert --no-other --a 1 --lazy\n"),
        ] {
            let document = Document::read("run.sh", before)?;
            assert_eq!(document.set_as(EntryKind::Flag, None, "lazy", &Value::Bool(true))?, after);
        }
        Ok(())
    }

    #[test]
    fn a_switch_is_removed_from_what_a_container_runs() -> Outcome {
        for (before, after) in [
            ("command: convert --a 1 --no-lazy\nx: 1\n", "command: convert --a 1\nx: 1\n"),
            ("command: convert --no-lazy --a 1\n", "command: convert --a 1\n"),
            ("command: [convert, --a, \"1\", \"--no-lazy\"]\n", "command: [convert, --a, \"1\"]\n"),
            ("args: [--no-lazy, --a, \"1\"]\n", "args: [--a, \"1\"]\n"),
            ("args:\n- --a=1\n- --no-lazy  # why\n- --b=2\n", "args:\n- --a=1\n- --b=2\n"),
            ("args:\n- \"--no-lazy\"\n- --b=2\n", "args:\n- --b=2\n"),
            ("command: >\n  convert\n  --no-lazy\n  --a 1\n", "command: >\n  convert\n  --a 1\n"),
            (
                "FROM a\nCMD [\"convert\", \"--no-lazy\", \"--a\", \"1\"]\n",
                "FROM a\nCMD [\"convert\", \"--a\", \"1\"]\n",
            ),
        ] {
            let document = Document::read("compose.yaml", before)?;
            let set = document.set_as(EntryKind::Flag, None, "no-lazy", &Value::Bool(false));
            assert_eq!(set?, after);
        }
        Ok(())
    }
}
