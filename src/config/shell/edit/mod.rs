//! Changes to scripts: a value where it stands, or where the variable that it comes from is assigned; a new flag behind
//! the last one of its command, laid out alike; a new variable where the others are exported.

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
use super::{Given, Shell, place};

/// What sets the setting with this number, or puts it where it is missing.
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

struct Editor<'a> {
    text: &'a str,
    shell: &'a Shell,
    wanted: Wanted<'a>,
}

impl<'a> Editor<'a> {
    fn given(&self, command: usize) -> Option<(&'a Call, &'a Given)> {
        let given = self.shell.commands.get(command)?;
        Some((self.shell.script.calls.get(given.call)?, given))
    }

    fn argument(&self, command: usize, argument: usize) -> Option<(&'a Call, &'a Argument)> {
        let (call, given) = self.given(command)?;
        Some((call, given.arguments.get(argument)?))
    }

    fn words(&self, span: &Range<usize>) -> &'a str {
        self.text.get(span.clone()).unwrap_or_default()
    }

    /// The value as a word, in the style of `old`; truth as `truth` writes it.
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

    /// How the command writes truth where it says so.
    fn truth(&self, command: usize) -> &'static str {
        let Some((call, given)) = self.given(command) else { return "True" };
        let values = given.arguments.iter().flat_map(|argument| match argument.form {
            Form::Joined(from) | Form::Override(from) => {
                let name = call.fields.get(argument.name).map(Field::text).unwrap_or_default();
                vec![name.get(from..).unwrap_or_default().to_owned()]
            }
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

    /// A word as it may stand inside of `quote`; `None` where it cannot be written. What is no word of its own, or
    /// stands in a script inside of quotes, has to do without quotes.
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

    /// Where a field ends, in what `home` references lead to.
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

/// A word as it stands in a command, with quotes of its own where it needs them.
pub(crate) fn bare(word: &str) -> String {
    if is_safe(word) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// Whether a word means itself to every shell, in whatever quotes.
fn is_safe(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "_@%+=:,./-".contains(c))
}
