//! Expands words as the shell does, and tracks where every piece of the result is written in the script.

mod branches;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::words::{Content, Part, Quote, Word, name_length};
use branches::{Block, Branch};

pub(super) use branches::Holds;

/// A piece of a field, and where it is written.
#[derive(Debug, Clone)]
pub(super) struct Chunk {
    pub text: String,
    /// Where it is written.
    pub span: Range<usize>,
    /// The quotes around it in that place.
    pub quote: Quote,
    /// Whether `text` equals the script's bytes at `span`.
    pub is_exact: bool,
    /// Whether `text` is the value, rather than a `$…` that only running the script would resolve.
    pub is_known: bool,
    /// The references through which the command reaches this text, outermost first; `None` for text in the command
    /// itself.
    pub path: Path,
}

/// A chain of references, each found in the value of the one before.
pub(super) type Path = Option<Arc<Reference>>;

/// `$NAME` in a script.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reference {
    pub name: String,
    pub span: Range<usize>,
    /// The quotes around it.
    pub quote: Quote,
    pub then: Path,
    /// The length of the chain from here on.
    depth: usize,
}

impl Reference {
    /// The longest chain of references that is followed.
    const DEEPEST: usize = 32;
}

impl Chunk {
    /// How many references lead from the command to this text.
    pub fn depth(&self) -> usize {
        self.path.as_ref().map_or(0, |reference| reference.depth)
    }

    /// The reference at position `skip` of the chain, from 0.
    pub fn reference(&self, skip: usize) -> Option<&Reference> {
        std::iter::successors(self.path.as_deref(), |reference| reference.then.as_deref()).nth(skip)
    }

    /// This chunk reached through one more reference: the variable `name` in `part`.
    fn behind(self, name: &str, part: &Part) -> Chunk {
        let depth = self.depth() + 1;
        if depth > Reference::DEEPEST {
            return Chunk { is_known: false, path: None, ..self };
        }
        let (name, span, quote) = (name.to_owned(), part.span.clone(), part.quote);
        let reference = Reference { name, span, quote, then: self.path, depth };
        Chunk { path: Some(Arc::new(reference)), ..self }
    }
}

/// One argument as the command receives it.
#[derive(Debug, Clone, Default)]
pub(super) struct Field {
    pub chunks: Vec<Chunk>,
    /// The word that makes up the whole field, and how many references lead to it.
    pub word: Option<(Range<usize>, usize)>,
}

impl Field {
    pub fn text(&self) -> String {
        self.chunks.iter().map(|chunk| chunk.text.as_str()).collect()
    }

    fn behind(self, name: &str, part: &Part) -> Field {
        Field {
            chunks: self.chunks.into_iter().map(|chunk| chunk.behind(name, part)).collect(),
            word: self.word.map(|(word, depth)| (word, depth + 1)),
        }
    }

    /// Removes the last byte, if it is literal; returns whether it did.
    pub fn shorten(&mut self) -> bool {
        match self.chunks.last_mut() {
            Some(chunk) if chunk.is_known && chunk.is_exact => {
                chunk.span.end -= 1;
                chunk.text.pop().is_some()
            }
            _ => false,
        }
    }

    /// The fields that a shell makes of this one when it splits it again.
    pub fn split(self) -> Vec<Field> {
        let (mut fields, mut open) = (Vec::new(), None);
        split(&self.chunks, &mut open, &mut fields);
        fields.extend(open);
        fields
    }

    /// The approximate size in bytes.
    fn size(&self) -> usize {
        size(&self.chunks)
    }
}

fn size(chunks: &[Chunk]) -> usize {
    chunks.iter().map(|chunk| chunk.text.len() + 64).sum()
}

/// The value of a variable.
#[derive(Debug, Clone)]
pub(super) enum VariableValue {
    Scalar(Vec<Chunk>),
    List(Vec<Field>),
}

/// The variables of a script at some point.
#[derive(Debug, Default)]
pub(super) struct Scope {
    variables: HashMap<String, Binding>,
    /// The open blocks (`if … fi`, `for … done`), innermost last.
    blocks: Vec<Block>,
    /// Approximate bytes that expansion has produced, limited because variables in variables grow exponentially.
    spent: usize,
}

/// An operand of a test.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TestOperand {
    /// A known text.
    Text(String),
    /// An argument of the script, empty under the assumption that it has none.
    Argument,
    /// A variable that the script does not assign, empty unless the environment sets it.
    Unset,
    /// Known only by running the script.
    Unknown,
}

#[derive(Debug)]
struct Binding {
    value: VariableValue,
    /// Whether the variable certainly has this value at this point.
    is_sure: bool,
}

impl Scope {
    const MOST: usize = 4 << 20;

    /// Accounts for `size` more bytes; returns whether the limit still permits them.
    fn spend(&mut self, size: usize) -> bool {
        self.spent = self.spent.saturating_add(size);
        self.spent < Scope::MOST
    }

    pub fn bind(&mut self, name: &str, value: VariableValue, is_sure: bool) {
        if self.is_skipped() {
            return;
        }
        // An assignment in a branch that is taken is as certain as one outside of it.
        if let Some(block) = self.blocks.iter_mut().rev().find(|block| block.branch != Branch::Taken) {
            block.assigned.push(name.to_owned());
        }
        self.variables.insert(name.to_owned(), Binding { value, is_sure });
    }

    /// The text of a variable, if it is certain.
    pub fn known(&self, name: &str) -> Option<String> {
        match self.get(name)? {
            VariableValue::Scalar(chunks) => known_text(chunks),
            VariableValue::List(_) => None,
        }
    }

    /// Evaluates an operand of a test.
    pub fn tested(&mut self, word: &Word, source: &Source<'_>) -> TestOperand {
        let is_unset = |content: &Content| match content {
            Content::Variable { name, fallback: None, is_list: false } => {
                name_length(name) > 0 && !self.variables.contains_key(name)
            }
            _ => false,
        };
        if let [part] = word.parts.as_slice()
            && is_unset(&part.content)
        {
            return TestOperand::Unset;
        }
        let chunks = self.value(&word.parts, source);
        match chunks.as_slice() {
            [chunk] if !chunk.is_known && is_argument(&chunk.text) => TestOperand::Argument,
            chunks => known_text(chunks).map_or(TestOperand::Unknown, TestOperand::Text),
        }
    }

    /// Makes the value of a variable unknown.
    pub fn unbind(&mut self, name: &str) {
        self.bind(name, VariableValue::Scalar(Vec::new()), false);
    }

    fn get(&self, name: &str) -> Option<&VariableValue> {
        self.variables.get(name).filter(|binding| binding.is_sure).map(|binding| &binding.value)
    }

    /// The value of the right side of `=`, or of a here document, where nothing is split into fields.
    pub fn value(&mut self, parts: &[Part], source: &Source<'_>) -> Vec<Chunk> {
        let mut chunks = Vec::new();
        for part in parts {
            match self.part(part, source) {
                VariableValue::Scalar(more) => chunks.extend(more),
                VariableValue::List(fields) => {
                    for (at, field) in fields.into_iter().enumerate() {
                        if at > 0 {
                            chunks.push(source.chunk(part.span.end..part.span.end, Quote::Bare, " ", true));
                        }
                        chunks.extend(field.chunks);
                    }
                }
            }
        }
        chunks
    }

    /// Every array whose value is certain.
    pub fn lists(&self) -> impl Iterator<Item = &Vec<Field>> {
        self.variables.values().filter(|binding| binding.is_sure).filter_map(|binding| match &binding.value {
            VariableValue::List(fields) => Some(fields),
            VariableValue::Scalar(_) => None,
        })
    }

    /// The current value of a variable, for `+=`.
    pub fn current(&mut self, name: &str) -> Option<VariableValue> {
        let size = match self.get(name)? {
            VariableValue::Scalar(chunks) => size(chunks),
            VariableValue::List(fields) => fields.iter().map(Field::size).sum(),
        };
        if self.spend(size) { self.get(name).cloned() } else { None }
    }

    /// The fields that a word of a command becomes.
    pub fn fields(&mut self, word: &Word, source: &Source<'_>) -> Vec<Field> {
        let (mut fields, mut open) = (Vec::new(), None);
        for part in &word.parts {
            let splits = part.quote == Quote::Bare && matches!(part.content, Content::Variable { .. });
            match self.part(part, source) {
                VariableValue::Scalar(chunks) if splits => split(&chunks, &mut open, &mut fields),
                VariableValue::Scalar(chunks) => open.get_or_insert_with(Field::default).chunks.extend(chunks),
                VariableValue::List(list) => {
                    for (at, field) in list.into_iter().enumerate() {
                        if at > 0 {
                            fields.extend(open.take());
                        }
                        match &mut open {
                            // `${A[@]}` without quotes: an element of several words becomes several fields.
                            _ if splits && field.text().contains(char::is_whitespace) => {
                                split(&field.chunks, &mut open, &mut fields);
                            }
                            Some(open) => open.chunks.extend(field.chunks),
                            None => open = Some(field),
                        }
                    }
                }
            }
        }
        fields.extend(open);
        if let [field] = fields.as_mut_slice() {
            field.word.get_or_insert((word.span.clone(), 0));
        }
        fields
    }

    /// What one part of a word becomes.
    fn part(&mut self, part: &Part, source: &Source<'_>) -> VariableValue {
        let unknown = |source: &Source<'_>| VariableValue::Scalar(vec![source.unknown(part)]);
        let (name, fallback, is_list) = match &part.content {
            Content::Literal(text) => {
                let chunk = source.chunk(part.span.clone(), part.quote, text, true);
                return VariableValue::Scalar(vec![chunk]);
            }
            Content::Opaque => return unknown(source),
            Content::Arithmetic(text) => {
                let value = |name: &str| self.known(name);
                let number = super::arithmetic::evaluate(text, &value);
                let computed = |number: i64| VariableValue::Scalar(vec![source.computed(part, number.to_string())]);
                return number.map_or_else(|| unknown(source), computed);
            }
            Content::Variable { name, fallback, is_list } => (name, fallback, *is_list),
        };
        match self.get(name).cloned() {
            Some(VariableValue::Scalar(chunks)) if self.spend(size(&chunks)) => {
                VariableValue::Scalar(chunks.into_iter().map(|chunk| chunk.behind(name, part)).collect())
            }
            Some(VariableValue::List(fields)) if self.spend(fields.iter().map(Field::size).sum()) => {
                let mut fields = fields.into_iter().map(|field| field.behind(name, part));
                match is_list {
                    true => VariableValue::List(fields.collect()),
                    false => VariableValue::Scalar(fields.next().unwrap_or_default().chunks),
                }
            }
            None if !self.variables.contains_key(name) && fallback.is_some() => {
                let Some(fallback) = fallback else { return unknown(source) };
                let chunks = self.value(&fallback.parts, source);
                if fallback.assigns {
                    self.bind(name, VariableValue::Scalar(chunks.clone()), true);
                }
                VariableValue::Scalar(chunks.into_iter().map(|chunk| chunk.behind(name, part)).collect())
            }
            _ => unknown(source),
        }
    }
}

fn known_text(chunks: &[Chunk]) -> Option<String> {
    chunks.iter().all(|chunk| chunk.is_known).then(|| chunks.iter().map(|chunk| chunk.text.as_str()).collect())
}

/// Whether `text` refers to an argument of the script: `$1`, `${2}`.
fn is_argument(text: &str) -> bool {
    let name = text.trim_start_matches('$').trim_start_matches('{').trim_end_matches('}');
    text.starts_with('$') && !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit()) && name != "0"
}

/// Splits the value of an unquoted variable at its blanks.
fn split(chunks: &[Chunk], open: &mut Option<Field>, fields: &mut Vec<Field>) {
    for chunk in chunks {
        if !chunk.is_known {
            open.get_or_insert_with(Field::default).chunks.push(chunk.clone());
            continue;
        }
        let mut at = 0;
        for piece in chunk.text.split_inclusive(char::is_whitespace) {
            let words = piece.trim_end();
            if !words.is_empty() {
                let span = if chunk.is_exact {
                    chunk.span.start + at..chunk.span.start + at + words.len()
                } else {
                    chunk.span.clone()
                };
                let piece = Chunk { text: words.to_owned(), span, ..chunk.clone() };
                open.get_or_insert_with(Field::default).chunks.push(piece);
            }
            if words.len() < piece.len() {
                fields.extend(open.take());
            }
            at += piece.len();
        }
    }
}

/// The script's text.
pub(super) struct Source<'a>(pub &'a str);

impl Source<'_> {
    fn chunk(&self, span: Range<usize>, quote: Quote, text: &str, is_known: bool) -> Chunk {
        let is_exact = self.0.get(span.clone()) == Some(text);
        Chunk { text: text.to_owned(), span, quote, is_exact, is_known, path: None }
    }

    /// The chunk for `text`, which is the end of a field that consists of one literal.
    pub fn stated(&self, field: &Field, text: &str) -> Option<Chunk> {
        let [chunk] = field.chunks.as_slice() else { return None };
        let span =
            chunk.span.end.checked_sub(text.len()).filter(|_| chunk.is_exact && !text.is_empty())?..chunk.span.end;
        Some(Chunk { text: text.to_owned(), span, ..chunk.clone() })
    }

    fn computed(&self, part: &Part, text: String) -> Chunk {
        let (span, quote) = (part.span.clone(), part.quote);
        Chunk { text, span, quote, is_exact: false, is_known: true, path: None }
    }

    fn unknown(&self, part: &Part) -> Chunk {
        let text = self.0.get(part.span.clone()).unwrap_or_default();
        self.chunk(part.span.clone(), part.quote, text, false)
    }
}
