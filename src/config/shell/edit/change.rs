//! Changes an existing setting in its place, or at the assignment of the variable that it comes from.

use std::ops::Range;

use super::super::super::edit::Edit;
use super::super::super::{EditError, Value, Wanted};
use super::super::arguments::{Argument, Form};
use super::super::beside::Beside;
use super::super::expand::{Chunk, Field};
use super::super::script::{Assignment, Call, Role};
use super::super::words::Quote;
use super::super::{Origin, allocator_options, home, option_words, part, place, tail};
use super::{Editor, is_safe};

/// The place where a value is to be written, and its quotes.
struct Spot {
    span: Range<usize>,
    quote: Quote,
    /// Whether the value is a whole word there and may be quoted.
    is_word: bool,
}

impl Editor<'_> {
    /// Changes the setting that was read from `origin`.
    pub(super) fn change(&self, origin: &Origin) -> Result<Option<Vec<Edit>>, EditError> {
        Ok(match origin {
            Origin::Argument { command, argument, value } => self
                .argument(*command, *argument)
                .and_then(|(call, argument)| self.change_argument(*command, call, argument, *value)),
            Origin::Assignment(number) => {
                self.shell.script.assignments.get(*number).and_then(|assignment| self.change_assignment(assignment))
            }
            Origin::Option(number, all) => self.shell.script.assignments.get(*number).and_then(|assignment| {
                let old = self.words(all);
                let value = old.find(allocator_options::separator(&assignment.name)?)? + 1;
                let span = all.start + value..all.end;
                let new = self.written(&old[value..], "True");
                is_safe(&new).then(|| vec![Edit::replace(span, new)])
            }),
            Origin::Word(span) => {
                let old = self.words(span);
                let is_switch = old.starts_with('-');
                let new = self.written(old, "True");
                match self.wanted.value {
                    Value::Bool(false) if is_switch => {
                        Some(vec![Edit::delete(option_words::with_blanks(self.text, span))])
                    }
                    _ => (!is_switch && is_safe(&new)).then(|| vec![Edit::replace(span.clone(), new)]),
                }
            }
            Origin::Together => self.shell.together.as_ref().and_then(|together| {
                let to = self.wanted.value.as_number().filter(|to| *to >= 1.0)?;
                together.set(self.text, to as usize)
            }),
            Origin::Beside(beside) => self.separate(beside),
            Origin::Embedded(number) => return self.change_embedded(*number).map(Some),
        })
    }

    pub(super) fn change_embedded(&self, number: usize) -> Result<Vec<Edit>, EditError> {
        let missing = || EditError::NotSet(self.wanted.key.to_owned());
        let embedded = self.shell.embedded.get(number).ok_or_else(missing)?;
        let key = self.wanted.key.strip_prefix(&embedded.prefix).ok_or_else(missing)?;
        let edits = embedded.body.set(&embedded.text, key, self.wanted.value)?;
        Ok(edits.into_iter().map(|edit| edit.moved(embedded.base)).collect())
    }

    /// Gives the main command the wanted devices, and a process for each.
    fn separate(&self, beside: &Beside) -> Option<Vec<Edit>> {
        let devices = self.wanted.value.to_string();
        let is_list = devices.split(',').all(|device| device.parse::<u32>().is_ok());
        let count = Value::Number(devices.split(',').count() as f64);
        let counting = Editor { wanted: Wanted { value: &count, ..self.wanted }, text: self.text, shell: self.shell };
        let (command, argument) = beside.count;
        let (call, argument) = counting.argument(command, argument).filter(|_| is_list)?;
        let given = Edit::insert(beside.start, format!("{}={devices} ", beside.variable));
        let counted = counting.change_argument(command, call, argument, None)?;
        Some([given].into_iter().chain(counted).collect())
    }

    fn change_argument(
        &self,
        command: usize,
        call: &Call,
        argument: &Argument,
        value: Option<usize>,
    ) -> Option<Vec<Edit>> {
        let name = call.fields.get(argument.name)?;
        let home = home(name);
        let truth = self.truth(command);
        if argument.is_switch() {
            if *self.wanted.value == Value::Bool(false) {
                return self.without_option(call, argument);
            }
            let end = self.end(name, home)?;
            let new =
                self.quoted(&self.written("", truth), Quote::Bare, name.word.is_some() && call.within.is_none())?;
            return Some(vec![Edit::insert(end, format!(" {new}"))]);
        }
        let (field, chunks, from) = match argument.form {
            Form::Joined(from) | Form::Override(from) => (name, tail(name, from), from),
            Form::Item(from, to) => return self.change_item(part(name, from, to).as_slice(), home),
            Form::Spaced => {
                let field = call.fields.get(argument.values.start + value.unwrap_or(0))?;
                (field, field.chunks.clone(), 0)
            }
        };
        let spot = self.spot(field, &chunks, home, from, call.within.is_some())?;
        let old: String = chunks.iter().map(|chunk| chunk.text.as_str()).collect();
        let new = self.quoted(&self.written(&old, truth), spot.quote, spot.is_word)?;
        Some(vec![Edit::replace(spot.span, new)])
    }

    /// Changes an item of a list, which is written without quotes and without a variable.
    fn change_item(&self, chunks: &[Chunk], home: usize) -> Option<Vec<Edit>> {
        let [chunk] = chunks else { return None };
        let new = self.written(&chunk.text, "True");
        let is_plain = chunk.depth() == home && chunk.is_exact && is_safe(&new);
        is_plain.then(|| vec![Edit::replace(chunk.span.clone(), new)])
    }

    /// The place of the value `chunks`, which is the part of `field` from byte `from` on.
    fn spot(&self, field: &Field, chunks: &[Chunk], home: usize, from: usize, nested: bool) -> Option<Spot> {
        let is_word = field.word.as_ref().is_some_and(|(_, depth)| *depth == home) && !nested;
        if let [chunk] = chunks {
            if chunk.depth() == home {
                return Some(Spot { span: chunk.span.clone(), quote: chunk.quote, is_word });
            }
            let reference = chunk.reference(home)?;
            if chunk.is_known && chunk.is_exact && self.is_sole(&reference.name, &chunk.span) {
                return Some(Spot { span: chunk.span.clone(), quote: chunk.quote, is_word: true });
            }
            return Some(Spot { span: reference.span.clone(), quote: reference.quote, is_word });
        }
        let start = match field.chunks.first()? {
            // Behind the `=`; the value may be quoted from there on.
            first if from > 0 && first.depth() == home && first.is_exact && from <= first.text.len() => {
                first.span.start + from
            }
            _ if from > 0 => return None,
            _ => place(chunks, home)?.start,
        };
        let first = field.chunks.first().map_or(Quote::Bare, |chunk| chunk.quote);
        match &field.word {
            // Nothing before the value is quoted, so the value reaches with its quotes to the end of the word.
            Some((word, depth)) if *depth == home && first == Quote::Bare && from > 0 => {
                Some(Spot { span: start..word.end, quote: Quote::Bare, is_word })
            }
            Some((word, depth)) if *depth == home && from == 0 => {
                Some(Spot { span: word.clone(), quote: Quote::Bare, is_word })
            }
            _ => Some(Spot {
                span: start..place(chunks, home).map_or(start, |span| span.end),
                quote: first,
                is_word: false,
            }),
        }
    }

    /// Whether the literal at `span` is the only value that the variable is ever assigned, and the variable is used in
    /// one place only.
    fn is_sole(&self, name: &str, span: &Range<usize>) -> bool {
        let script = &self.shell.script;
        let mut all = script.assignments.iter().filter(|assignment| assignment.name == name);
        let (Some(only), None) = (all.next(), all.next()) else { return false };
        let holds = only.place.start <= span.start && span.end <= only.place.end;
        let is_literal = only.value.as_ref().is_none_or(|value| value.len() == 1);
        let outside =
            |at: &usize| !only.span.contains(at) && !script.comments.iter().any(|comment| comment.contains(at));
        let uses = names(self.text, name).filter(outside).count();
        holds && is_literal && only.is_sure && !matches!(only.role, Role::Prefix(_)) && uses == 1
    }

    fn change_assignment(&self, assignment: &Assignment) -> Option<Vec<Edit>> {
        let value = assignment.value.as_ref()?;
        let old: String = value.iter().map(|chunk| chunk.text.as_str()).collect();
        let new = self.written(&old, "True");
        let is_free = assignment.within.is_none();
        Some(vec![match value.as_slice() {
            [chunk] if chunk.depth() == 0 => {
                Edit::replace(chunk.span.clone(), self.quoted(&new, chunk.quote, is_free)?)
            }
            _ => Edit::replace(assignment.place.clone(), self.quoted(&new, Quote::Bare, is_free)?),
        }])
    }
}

/// The offsets of a variable's name as a separate word: not in `--name`, `name=`, `a/name`.
fn names<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_part = |byte: Option<&u8>, others: &[u8]| {
        byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_' || others.contains(byte))
    };
    text.match_indices(name).map(|(at, _)| at).filter(move |at| {
        let bytes = text.as_bytes();
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        !is_part(before, b"-./") && !is_part(bytes.get(at + name.len()), b"=")
    })
}
