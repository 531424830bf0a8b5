//! Divides the value of a variable into the options that a program reads in it: `--listen --port 8080`.

use std::ops::Range;

use crate::knowledge::{Launchers, is_among};

/// An option within a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OptionWord<'t> {
    /// Its name without dashes.
    pub name: &'t str,
    /// The word that names it.
    pub word: Range<usize>,
    /// Its value; `None` of a switch.
    pub value: Option<Range<usize>>,
}

/// Whether the value of the variable `name` is a list of options.
pub(super) fn is_list(name: &str) -> bool {
    is_among(&Launchers::shipped().programs.option_variables, name)
}

pub(super) fn options(text: &str) -> Vec<OptionWord<'_>> {
    let mut words = words(text).peekable();
    let mut options = Vec::new();
    while let Some(word) = words.next() {
        let Some(name) = text.get(word.clone()).and_then(|word| word.strip_prefix("--")) else { continue };
        let value = match name.find('=') {
            Some(at) => Some(word.start + 2 + at + 1..word.end),
            None => words.next_if(|next| !text[next.clone()].starts_with('-')),
        };
        let name = name.split('=').next().unwrap_or_default();
        options.push(OptionWord { name, word, value });
    }
    options
}

/// The span that goes with the word at `span`: blanks before it, else those behind it.
pub(super) fn with_blanks(text: &str, span: &Range<usize>) -> Range<usize> {
    let is_blank = |c: char| c == ' ' || c == '\t';
    let before = text.get(..span.start).unwrap_or_default();
    let behind = text.get(span.end..).unwrap_or_default();
    let start = before.trim_end_matches(is_blank).len();
    match start < span.start {
        true => start..span.end,
        false => span.start..span.end + (behind.len() - behind.trim_start_matches(is_blank).len()),
    }
}

fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = text.get(at..)?;
        let start = at + rest.find(|c: char| !c.is_whitespace())?;
        let end = text[start..].find(char::is_whitespace).map_or(text.len(), |length| start + length);
        at = end;
        Some(start..end)
    })
}

#[cfg(test)]
mod tests {
    use crate::config::{Document, EntryKind, Value};

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    #[test]
    fn options_in_a_variable_are_options() -> Outcome {
        let text = "export COMMANDLINE_ARGS=\"--listen --no-half --port 80 --api\"\n";
        let document = Document::read("webui-user.sh", text)?;
        let set = |key, value| document.set_as(EntryKind::Flag, None, key, &value);
        assert_eq!(set("no-half", Value::Bool(false))?, text.replace(" --no-half", ""));
        assert_eq!(set("port", Value::Number(81.0))?, text.replace("80", "81"));
        assert_eq!(set("medvram", Value::Bool(true))?, text.replace("--api", "--api --medvram"));
        Ok(())
    }
}
