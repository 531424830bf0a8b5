//! Edits scripts: changes a value in its place or at the assignment of its variable, adds a flag behind the last one of
//! its command, adds a variable beside the other exports.

mod add;
mod change;
mod remove;

use std::ops::Range;

use super::super::edit::Edit;
use super::super::value::{in_case_of, number, number_like, plain};
use super::super::{EditError, Value, Wanted};
use super::arguments::{Argument, Form};
use super::expand::Field;
use super::script::Call;
use super::words::Quote;
use super::{CommandLine, Origin, Shell, place};

/// The edits that set the entry with index `entry`, or add the wanted setting if there is none.
pub(in super::super) fn set(
    text: &str,
    shell: &Shell,
    entry: Option<usize>,
    wanted: Wanted<'_>,
) -> Result<Vec<Edit>, EditError> {
    let editor = Editor { text, shell, wanted };
    let edits = match entry.and_then(|entry| shell.origins.get(entry)) {
        Some(origin) => editor.change(origin)?,
        None => editor.add()?,
    };
    edits.ok_or_else(|| EditError::Unwritable { key: wanted.key.to_owned(), value: wanted.value.to_string() })
}

/// The edits that take the option with index `entry` out of its command, its values with it.
pub(in super::super) fn without(text: &str, shell: &Shell, entry: usize) -> Option<Vec<Edit>> {
    let Origin::Argument { command, argument, .. } = shell.origins.get(entry)? else { return None };
    let editor = Editor { text, shell, wanted: Wanted { key: "", value: &Value::Null, kind: None, command: None } };
    let (call, argument) = editor.argument(*command, *argument)?;
    editor.without_option(call, argument)
}

struct Editor<'a> {
    text: &'a str,
    shell: &'a Shell,
    wanted: Wanted<'a>,
}

impl<'a> Editor<'a> {
    fn command_line(&self, command: usize) -> Option<(&'a Call, &'a CommandLine)> {
        let command_line = self.shell.commands.get(command)?;
        Some((self.shell.script.calls.get(command_line.call)?, command_line))
    }

    fn argument(&self, command: usize, argument: usize) -> Option<(&'a Call, &'a Argument)> {
        let (call, command_line) = self.command_line(command)?;
        Some((call, command_line.arguments.get(argument)?))
    }

    fn words(&self, span: &Range<usize>) -> &'a str {
        self.text.get(span.clone()).unwrap_or_default()
    }

    /// The wanted value as a word, in the style of `old`; booleans in the style of `truth` if `old` is not one.
    fn written(&self, old: &str, truth: &str) -> String {
        let is_truth = |word: &str| matches!(word.to_ascii_lowercase().as_str(), "true" | "false");
        match self.wanted.value {
            Value::Null if old == "null" => "null".to_owned(),
            Value::Null => "None".to_owned(),
            Value::Bool(yes) => {
                in_case_of(if is_truth(old) { old } else { truth }, if *yes { "true" } else { "false" })
            }
            Value::Number(new) if number(old).is_some() => number_like(old, *new),
            Value::Number(new) => plain(*new),
            Value::Text(text) => text.clone(),
        }
    }

    /// How the command writes booleans: `True` or `true`.
    fn truth(&self, command: usize) -> &'static str {
        let Some((call, command_line)) = self.command_line(command) else { return "True" };
        let values = command_line.arguments.iter().flat_map(|argument| match argument.form {
            Form::Joined(from) | Form::Override(from) => {
                let name = call.fields.get(argument.name).map(Field::text).unwrap_or_default();
                vec![name.get(from..).unwrap_or_default().to_owned()]
            }
            Form::Item(..) => Vec::new(),
            Form::Spaced => {
                call.fields.get(argument.values.clone()).unwrap_or_default().iter().map(Field::text).collect()
            }
        });
        let is_lower = values.into_iter().find_map(|value| match value.as_str() {
            "true" | "false" => Some(true),
            "True" | "False" => Some(false),
            _ => None,
        });
        if is_lower == Some(true) { "true" } else { "True" }
    }

    /// A word escaped for `quote`, or `None` if it cannot be written there. What is not a whole word, or belongs to a
    /// script inside of quotes, cannot get quotes of its own.
    fn quoted(&self, word: &str, quote: Quote, is_word: bool) -> Option<String> {
        if is_safe(word) {
            return Some(word.to_owned());
        }
        match quote {
            Quote::Bare if is_word => Some(bare(word)),
            Quote::Single if is_word && !word.contains('\'') => Some(word.to_owned()),
            Quote::Double if is_word => {
                let escape = |c: char| if "\"$`\\".contains(c) { format!("\\{c}") } else { c.to_string() };
                Some(word.chars().map(escape).collect())
            }
            _ => None,
        }
    }

    /// The end of a field in the text that `home` references lead to.
    fn end(&self, field: &Field, home: usize) -> Option<usize> {
        match &field.word {
            Some((word, depth)) if *depth == home => Some(word.end),
            _ => place(&field.chunks, home).map(|span| span.end),
        }
    }

    fn start(&self, field: &Field, home: usize) -> Option<usize> {
        match &field.word {
            Some((word, depth)) if *depth == home => Some(word.start),
            _ => place(&field.chunks, home).map(|span| span.start),
        }
    }
}

/// A word as it is written in a command, quoted if necessary.
pub(crate) fn bare(word: &str) -> String {
    if is_safe(word) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// Whether every shell reads a word literally, whatever quotes surround it.
fn is_safe(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "_@%+=:,./-".contains(c))
}
