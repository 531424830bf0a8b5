//! From a script's text to words: quotes, continuations, `$…`, comments, here documents, operators.
//!
//! Follows POSIX's shell command language and bash (5.2) as far as launch scripts go. Two things are read more kindly than
//! bash does: blanks behind a continuing backslash, which were pasted, and quotes that never end. NUL bytes are nothing, as
//! in bash; with them a text inside quotes is freed of its escapes without a byte moving.

use std::ops::Range;

use super::super::value::word_length;
use super::lexer::Lexer;

/// One word as it is written.
#[derive(Debug, Clone)]
pub(super) struct Word {
    /// With its quotes.
    pub span: Range<usize>,
    pub parts: Vec<Part>,
    /// What stands in the parentheses of `NAME=(…)`.
    pub elements: Option<Vec<Word>>,
}

impl Word {
    /// The text of a word without quotes or variables.
    pub fn bare(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part { quote: Quote::Bare, what: What::Literal(text), .. }] if self.elements.is_none() => Some(text),
            _ => None,
        }
    }
}

/// A piece of a word: of one kind, in one kind of quotes.
#[derive(Debug, Clone)]
pub(super) struct Part {
    /// Inside its quotes.
    pub span: Range<usize>,
    pub quote: Quote,
    pub what: What,
}

/// What stands around a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quote {
    Bare,
    Single,
    Double,
    /// The body of a here document.
    Here,
}

#[derive(Debug, Clone)]
pub(super) enum What {
    Literal(String),
    /// `$NAME`, `${NAME}`, `${NAME:-fallback}`, `${NAME[@]}`
    Variable {
        name: String,
        fallback: Option<Fallback>,
        /// Each of its elements a word of its own.
        is_list: bool,
    },
    /// `$((…))`, `$(expr …)`: what is computed.
    Arithmetic(String),
    /// `$(…)`, `` `…` ``, `${NAME%…}`: only running it would tell.
    Opaque,
}

/// What stands for a variable that is not set.
#[derive(Debug, Clone)]
pub(super) struct Fallback {
    pub parts: Vec<Part>,
    /// `${NAME:=…}`
    pub assigns: bool,
}

#[derive(Debug, Clone)]
pub(super) enum Token {
    Word(Word),
    /// `>`, `<`, `2>`; the word that follows is its file.
    Redirect,
    /// `<<END`: where the body stands.
    Heredoc {
        body: Range<usize>,
        expands: bool,
    },
    Comment(Range<usize>),
    Operator(Operator),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    /// `;`, `&` or the end of a line.
    End,
    /// `;;` of a `case`.
    Case,
    And,
    Or,
    Pipe,
    Open,
    Close,
}

/// The tokens of `text`, which stands at `base` of the whole.
pub(super) fn tokens(text: &str, base: usize) -> Vec<Token> {
    Lexer::new(text, base).run()
}

/// The parts of a here document's body, as far as the shell looks into it.
pub(super) fn heredoc(text: &str, body: Range<usize>, base: usize, expands: bool) -> Vec<Part> {
    let inner = text.get(body.clone()).unwrap_or_default();
    if !expands {
        let span = body.start + base..body.end + base;
        return vec![Part { span, quote: Quote::Here, what: What::Literal(inner.to_owned()) }];
    }
    let mut lexer = Lexer::new(inner, base + body.start);
    let mut parts = Vec::new();
    lexer.quoted(Quote::Here, &mut parts, 0);
    parts
}

/// `text` from inside double quotes as the shell that it is given to sees it, byte for byte: escapes are NULs.
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

/// How many bytes of `text` are a variable's name.
pub(super) fn name_length(text: &str) -> usize {
    if text.starts_with(|c: char| c.is_ascii_digit()) { 0 } else { word_length(text) }
}
