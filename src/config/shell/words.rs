//! The words of a script: quotes, continuations, `$…`, comments, here documents, operators.
//!
//! Follows POSIX's shell command language and bash (5.2) as far as launch scripts need. Two things are read more
//! leniently than bash does: blanks behind a continuing backslash, which come from pasting, and quotes that never end.
//! NUL bytes are ignored, as in bash; this lets [`unescaped`] remove escapes without moving any other byte.

use std::ops::Range;

use super::super::value::word_length;
use super::lexer::Lexer;

/// One word as it is written.
#[derive(Debug, Clone)]
pub(super) struct Word {
    /// Including its quotes.
    pub span: Range<usize>,
    pub parts: Vec<Part>,
    /// What stands in the parentheses of `NAME=(…)`.
    pub elements: Option<Vec<Word>>,
}

impl Word {
    /// The text of a word, if it has no quotes and no variables.
    pub fn bare(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part { quote: Quote::Bare, content: Content::Literal(text), .. }] if self.elements.is_none() => Some(text),
            _ => None,
        }
    }
}

/// A piece of a word with one kind of content in one kind of quotes.
#[derive(Debug, Clone)]
pub(super) struct Part {
    /// Without its quotes.
    pub span: Range<usize>,
    pub quote: Quote,
    pub content: Content,
}

/// The quotes around a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quote {
    Bare,
    Single,
    Double,
    /// The body of a here document.
    Here,
}

#[derive(Debug, Clone)]
pub(super) enum Content {
    Literal(String),
    /// `$NAME`, `${NAME}`, `${NAME:-fallback}`, `${NAME[@]}`
    Variable {
        name: String,
        fallback: Option<Fallback>,
        /// Whether each element becomes a word of its own.
        is_list: bool,
    },
    /// The expression in `$((…))` or `$(expr …)`.
    Arithmetic(String),
    /// `$(…)`, `` `…` ``, `${NAME%…}`: known only by running it.
    Opaque,
}

/// The replacement for a variable that is not set.
#[derive(Debug, Clone)]
pub(super) struct Fallback {
    pub parts: Vec<Part>,
    /// Whether it is also assigned, as by `${NAME:=…}`.
    pub assigns: bool,
}

#[derive(Debug, Clone)]
pub(super) enum Token {
    Word(Word),
    /// `>`, `<`, `2>`; the next word is the file.
    Redirect,
    /// `<<END`, with the span of its body.
    Heredoc {
        body: Range<usize>,
        expands: bool,
    },
    Comment(Range<usize>),
    Operator(Operator),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    /// `;` or the end of a line.
    End,
    /// `&`: the next command does not wait for this one.
    Background,
    /// `;;` of a `case`.
    Case,
    And,
    Or,
    Pipe,
    Open,
    Close,
}

/// The tokens of `text`, whose spans are offset by `base`.
pub(super) fn tokens(text: &str, base: usize) -> Vec<Token> {
    Lexer::new(text, base).run()
}

/// The parts of a here document's body; a single literal if the shell expands nothing in it.
pub(super) fn heredoc(text: &str, body: Range<usize>, base: usize, expands: bool) -> Vec<Part> {
    let inner = text.get(body.clone()).unwrap_or_default();
    if !expands {
        let span = body.start + base..body.end + base;
        return vec![Part { span, quote: Quote::Here, content: Content::Literal(inner.to_owned()) }];
    }
    let mut lexer = Lexer::new(inner, base + body.start);
    let mut parts = Vec::new();
    lexer.quoted(Quote::Here, &mut parts, 0);
    parts
}

/// `text` from inside double quotes as the inner shell sees it. Escapes become NULs, so that every byte keeps its
/// place.
pub(super) fn unescaped(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let mut at = 0;
    while at + 1 < bytes.len() {
        if bytes[at] == b'\\' && b"\"\\$`".contains(&bytes[at + 1]) {
            bytes[at] = 0;
            at += 1;
        }
        at += 1;
    }
    String::from_utf8(bytes).unwrap_or_default()
}

/// The length of the variable name at the beginning of `text`.
pub(in super::super) fn name_length(text: &str) -> usize {
    if text.starts_with(|c: char| c.is_ascii_digit()) { 0 } else { word_length(text) }
}

/// The most words that a script is read with: each is kept with its place, which takes far more memory than its
/// letters.
const MOST_WORDS: usize = 50_000;

/// Whether `text` has more words than any launch script.
pub(in super::super) fn is_too_long(text: &str) -> bool {
    let parts = |byte: &u8| byte.is_ascii_whitespace() || b";&|()<>".contains(byte);
    let bytes = text.as_bytes();
    bytes.windows(2).filter(|pair| parts(&pair[0]) && !parts(&pair[1])).nth(MOST_WORDS).is_some()
}
