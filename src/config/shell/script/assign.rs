//! Interprets assignments: plain ones, exported ones, and those by `read`.

use std::ops::Range;

use super::super::expand::{Field, VariableValue};
use super::super::words::{Content, Quote, Word, heredoc, name_length};
use super::{Assignment, Role, ScriptReader};

impl ScriptReader<'_> {
    pub(super) fn assign(&mut self, words: &[Word], role: Role, sure: bool) {
        for word in words {
            let Some((name, adds, from)) = assigned(word) else { continue };
            let mut added = if adds { self.scope.current(name) } else { None };
            let elements = word.elements.as_ref();
            let bound = match elements {
                Some(elements) => {
                    let mut fields: Vec<Field> = match added.take() {
                        Some(VariableValue::List(fields)) => fields,
                        _ => Vec::new(),
                    };
                    fields.extend(elements.iter().flat_map(|element| self.scope.fields(element, &self.source)));
                    VariableValue::List(fields)
                }
                None => {
                    let mut parts = word.parts.clone();
                    if let Some(first) = parts.first_mut()
                        && let Content::Literal(text) = &mut first.content
                    {
                        text.drain(..from);
                        first.span.start += from;
                    }
                    if parts.len() > 1 && parts.first().is_some_and(|part| part.span.is_empty()) {
                        parts.remove(0);
                    }
                    let mut chunks = match added.take() {
                        Some(VariableValue::Scalar(chunks)) => chunks,
                        _ => Vec::new(),
                    };
                    chunks.extend(self.scope.value(&parts, &self.source));
                    VariableValue::Scalar(chunks)
                }
            };
            self.script.assignments.push(Assignment {
                name: name.to_owned(),
                value: match &bound {
                    VariableValue::Scalar(chunks) if !adds => Some(chunks.clone()),
                    _ => None,
                },
                span: word.span.clone(),
                place: word.span.start + from..word.span.end,
                role,
                is_sure: sure && self.scope.is_certain(),
                within: self.within,
            });
            if !matches!(role, Role::Prefix(_)) {
                let known = !adds || self.scope.current(name).is_some();
                self.scope.bind(name, bound, sure && known);
            }
        }
    }

    pub(super) fn declare(&mut self, command: &str, words: &[Word], sure: bool) {
        let (options, words): (Vec<&Word>, Vec<&Word>) =
            words.iter().partition(|word| word.bare().is_some_and(|text| text.starts_with(['-', '+'])));
        let exports = command == "export"
            || options
                .iter()
                .filter_map(|word| word.bare())
                .any(|option| option.starts_with('-') && option.contains('x'));
        let role = if exports { Role::Export } else { Role::Variable };
        let assignments: Vec<Word> =
            words.iter().filter(|word| assigned(word).is_some()).map(|word| (*word).clone()).collect();
        self.assign(&assignments, role, sure);
        if exports {
            self.exported.extend(words.iter().filter_map(|word| word.bare()).map(str::to_owned));
        }
    }

    /// `read -r -d '' NAME <<END`
    pub(super) fn input(&mut self, words: &[Word], heredoc_: Option<&(Range<usize>, bool)>, sure: bool) {
        let mut names =
            words.iter().filter_map(Word::bare).filter(|word| name_length(word) == word.len() && !word.is_empty());
        let Some(name) = names.next() else { return };
        match heredoc_ {
            Some((body, expands)) => {
                let parts = heredoc(self.source.0, body.clone(), 0, *expands);
                let chunks = self.scope.value(&parts, &self.source);
                self.scope.bind(name, VariableValue::Scalar(chunks), sure);
            }
            None => self.scope.unbind(name),
        }
    }
}

/// The name that a word assigns to, whether it appends (`+=`), and the offset of the value.
pub(super) fn assigned(word: &Word) -> Option<(&str, bool, usize)> {
    let first = word.parts.first().filter(|part| part.quote == Quote::Bare)?;
    let Content::Literal(text) = &first.content else { return None };
    let length = name_length(text);
    let rest = text.get(length..)?;
    let adds = rest.starts_with("+=");
    (length > 0 && (adds || rest.starts_with('='))).then(|| (&text[..length], adds, length + 1 + usize::from(adds)))
}
