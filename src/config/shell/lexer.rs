//! Reads words, quotes and operators, character by character.
//!
//! Our own, since scripts come as they were pasted. brush-parser (0.4.0) refuses the whole text where a quote, an expansion, a here
//! document or the last line is cut (`what_is_cut_is_read_up_to_there`, `reads_quotes_comments_and_continuations`), which happens to one
//! in seventeen of our scripts cut anywhere. Words behind a continued line begin for it with that line's blanks, it tells nothing of
//! comments, and brackets nested as deeply as in `hostile_texts_end_quickly` overflow its stack, which ends the process.
//! tree-sitter-bash (0.25.1) has exact places, and loses the statement instead: a here document without its end, a backslash before the
//! last line's end.

use std::ops::Range;

use super::super::edit::next_line;
use super::words::{Fallback, Operator, Part, Quote, Token, What, Word, name_length};

pub(super) struct Lexer<'a> {
    text: &'a str,
    base: usize,
    at: usize,
    tokens: Vec<Token>,
    /// Here documents whose bodies begin with the next line: the token, the word that ends them, whether tabs go.
    pending: Vec<(usize, String, bool)>,
    /// Arrays do not nest.
    in_array: bool,
}

/// Deeper `${A:-${B:-…}}` is not looked into.
const DEEPEST: usize = 8;

impl<'a> Lexer<'a> {
    pub fn new(text: &'a str, base: usize) -> Lexer<'a> {
        Lexer { text, base, at: 0, tokens: Vec::new(), pending: Vec::new(), in_array: false }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn span(&self, start: usize, end: usize) -> Range<usize> {
        start + self.base..end + self.base
    }

    /// Every token.
    pub fn run(mut self) -> Vec<Token> {
        while let Some(byte) = self.peek(0) {
            match byte {
                b' ' | b'\t' | b'\r' | 0 => self.at += 1,
                b'\n' => {
                    self.operator(Operator::End, 1);
                    self.bodies();
                }
                b'\\' if self.continuation().is_some() => self.join(),
                b'#' => {
                    let end = self.rest().find('\n').map_or(self.text.len(), |end| self.at + end);
                    self.tokens.push(Token::Comment(self.span(self.at, end)));
                    self.at = end;
                }
                b';' if self.peek(1) == Some(b';') => self.operator(Operator::Case, 2),
                b';' => self.operator(Operator::End, 1),
                b'&' if self.peek(1) == Some(b'&') => self.operator(Operator::And, 2),
                b'&' if self.peek(1) == Some(b'>') => self.redirect(2 + usize::from(self.peek(2) == Some(b'>'))),
                b'&' => self.operator(Operator::End, 1),
                b'|' if self.peek(1) == Some(b'|') => self.operator(Operator::Or, 2),
                b'|' => self.operator(Operator::Pipe, 1 + usize::from(self.peek(1) == Some(b'&'))),
                // `((i++))` is arithmetic, and `<<` in it no here document.
                b'(' if self.peek(1) == Some(b'(') => self.at = self.closing(self.at),
                b'(' => self.operator(Operator::Open, 1),
                b')' => self.operator(Operator::Close, 1),
                b'<' if self.rest().starts_with("<<<") => self.redirect(3),
                b'<' if self.peek(1) == Some(b'<') => self.heredoc_mark(),
                b'<' | b'>' if self.peek(1) != Some(b'(') => {
                    self.redirect(1 + usize::from(self.peek(1).is_some_and(|next| b">&|<".contains(&next))));
                }
                _ => self.word_token(),
            }
        }
        self.tokens
    }

    fn operator(&mut self, operator: Operator, length: usize) {
        self.tokens.push(Token::Operator(operator));
        self.at += length;
    }

    fn redirect(&mut self, length: usize) {
        self.tokens.push(Token::Redirect);
        self.at += length;
    }

    /// Where the next line begins, if a backslash here joins it to this one. One at the end of the text joins what was cut off.
    fn continuation(&self) -> Option<usize> {
        let rest = self.rest().strip_prefix('\\')?.trim_start_matches([' ', '\t', '\r']);
        let next = rest.strip_prefix('\n').or(rest.is_empty().then_some(rest))?;
        Some(self.text.len() - next.len())
    }

    /// Goes on with the next line.
    fn join(&mut self) {
        let Some(next) = self.continuation() else { return };
        self.at = next;
    }

    /// `<<END`, `<<-'END'`
    fn heredoc_mark(&mut self) {
        self.at += 2;
        let strips = self.peek(0) == Some(b'-');
        self.at += usize::from(strips);
        self.at += self.rest().len() - self.rest().trim_start_matches([' ', '\t']).len();
        let word = self.word();
        let expands = word.parts.iter().all(|part| part.quote == Quote::Bare);
        let delimiter: String = word.parts.iter().map(|part| self.words_of(part)).collect();
        self.pending.push((self.tokens.len(), delimiter, strips));
        let body = self.span(self.at, self.at);
        self.tokens.push(Token::Heredoc { body, expands });
    }

    fn words_of(&self, part: &Part) -> String {
        match &part.what {
            What::Literal(text) => text.clone(),
            _ => self.text.get(part.span.start - self.base..part.span.end - self.base).unwrap_or_default().to_owned(),
        }
    }

    /// The bodies of the here documents that the line just ended announced.
    fn bodies(&mut self) {
        for (token, delimiter, strips) in std::mem::take(&mut self.pending) {
            let start = self.at;
            let end = loop {
                let end = self.at;
                if self.at >= self.text.len() {
                    break end;
                }
                let next = next_line(self.text, self.at);
                let line = self.text[end..next].trim_end_matches(['\n', '\r']);
                self.at = next;
                if line == delimiter || strips && line.trim_start_matches('\t') == delimiter {
                    break end;
                }
            };
            let span = self.span(start, end);
            if let Some(Token::Heredoc { body, .. }) = self.tokens.get_mut(token) {
                *body = span;
            }
        }
    }

    fn word_token(&mut self) {
        let start = self.at;
        let word = self.word();
        if self.at == start {
            // Nothing that a word could begin with.
            self.at += self.rest().chars().next().map_or(1, char::len_utf8);
            return;
        }
        // `2>` redirects, it is no word `2`.
        let is_number = word.bare().is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        if !(is_number && matches!(self.peek(0), Some(b'<' | b'>'))) {
            self.tokens.push(Token::Word(word));
        }
    }

    fn word(&mut self) -> Word {
        let (start, mut parts, mut elements) = (self.at, Vec::new(), None);
        // Where it ends, but for a continuation behind it.
        let mut end = start;
        while let Some(byte) = self.peek(0) {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b')' => break,
                b'<' | b'>' if self.peek(1) == Some(b'(') => {
                    let end = self.closing(self.at + 1);
                    self.push(&mut parts, Quote::Bare, self.at, end, What::Opaque);
                }
                b'<' | b'>' => break,
                b'(' => match parts.as_slice() {
                    [Part { what: What::Literal(text), .. }] if text.ends_with('=') && !self.in_array => {
                        elements = Some(self.array());
                    }
                    _ => break,
                },
                0 => self.at += 1,
                b'\\' => match self.continuation() {
                    // With blanks behind it the backslash ends the word.
                    Some(next) if self.text[self.at + 1..next].contains([' ', '\t']) => break,
                    Some(next) => {
                        self.at = next;
                        continue;
                    }
                    None => {
                        let escaped: String = self.rest()[1..].chars().take(1).collect();
                        let end = self.at + 1 + escaped.len();
                        self.push(&mut parts, Quote::Bare, self.at, end, What::Literal(escaped));
                    }
                },
                b'\'' => self.single(&mut parts),
                b'"' => {
                    self.at += 1;
                    let before = parts.len();
                    self.quoted(Quote::Double, &mut parts, 0);
                    if parts.len() == before {
                        self.push(&mut parts, Quote::Double, self.at, self.at, What::Literal(String::new()));
                    }
                    self.at += usize::from(self.peek(0) == Some(b'"'));
                }
                b'$' if self.peek(1) == Some(b'\'') => {
                    self.at += 1;
                    self.single(&mut parts);
                }
                b'$' | b'`' => self.dollar(Quote::Bare, &mut parts, 0),
                _ => {
                    let stops = |byte: u8| b" \t\r\n;&|()<>\\'\"$`\0".contains(&byte);
                    let length = self.rest().bytes().take_while(|byte| !stops(*byte)).count();
                    let literal = What::Literal(self.rest()[..length].to_owned());
                    self.push(&mut parts, Quote::Bare, self.at, self.at + length, literal);
                }
            }
            end = self.at;
        }
        Word { span: self.span(start, end), parts, elements }
    }

    /// Adds a part and goes on behind it.
    fn push(&mut self, parts: &mut Vec<Part>, quote: Quote, start: usize, end: usize, what: What) {
        let span = self.span(start, end);
        self.at = end;
        parts.push(Part { span, quote, what });
    }

    fn single(&mut self, parts: &mut Vec<Part>) {
        let start = self.at + 1;
        let end = self.text[start..].find('\'').map(|end| start + end);
        let inner_end = end.unwrap_or(self.text.len());
        let literal = What::Literal(self.text[start..inner_end].replace('\0', ""));
        self.push(parts, Quote::Single, start, inner_end, literal);
        self.at = end.map_or(inner_end, |end| end + 1);
    }

    /// What stands up to the closing double quote, or up to the end of a here document or a fallback.
    pub fn quoted(&mut self, quote: Quote, parts: &mut Vec<Part>, depth: usize) {
        while let Some(byte) = self.peek(0) {
            match byte {
                b'"' if quote == Quote::Double => return,
                b'}' if depth > 0 => return,
                b'\\' => {
                    let next = self.rest()[1..].chars().next();
                    let special = matches!(next, Some('$' | '`' | '\\')) || next == Some('"') && quote == Quote::Double;
                    match next {
                        Some('\n') => self.at += 2,
                        Some('\r') if self.peek(2) == Some(b'\n') => self.at += 3,
                        Some(next) if special => {
                            self.push(parts, quote, self.at, self.at + 2, What::Literal(next.to_string()));
                        }
                        _ => self.push(parts, quote, self.at, self.at + 1, What::Literal("\\".to_owned())),
                    }
                }
                b'$' | b'`' => self.dollar(quote, parts, depth),
                0 => self.at += 1,
                b'"' if depth > 0 => self.at += 1,
                _ => {
                    let stops = |byte: u8| {
                        b"\\$`\0".contains(&byte)
                            || byte == b'"' && (quote == Quote::Double || depth > 0)
                            || byte == b'}' && depth > 0
                    };
                    let length = self.rest().bytes().take_while(|byte| !stops(*byte)).count();
                    let literal = What::Literal(self.rest()[..length].to_owned());
                    self.push(parts, quote, self.at, self.at + length, literal);
                }
            }
        }
    }

    /// `$…` or `` `…` ``
    fn dollar(&mut self, quote: Quote, parts: &mut Vec<Part>, depth: usize) {
        let start = self.at;
        let named = |name: &str, is_list| What::Variable { name: name.to_owned(), fallback: None, is_list };
        let (end, what) = match self.peek(1) {
            _ if self.peek(0) == Some(b'`') => (self.closing(start), What::Opaque),
            Some(b'(') => {
                let end = self.closing(start + 1);
                let inner = self.text.get(start + 1..end).unwrap_or_default();
                let inner = inner.strip_prefix("((").and_then(|inner| inner.strip_suffix("))"));
                let whole = self.text.get(start + 2..end.saturating_sub(1)).unwrap_or_default();
                // `expr` computes words; a star is escaped there.
                let words = whole.trim_start().strip_prefix("expr ").map(|words| words.replace('\\', ""));
                let computed = inner.map(str::to_owned).or(words);
                (end, computed.map_or(What::Opaque, What::Arithmetic))
            }
            Some(b'{') => self.braces(depth),
            Some(byte) if byte.is_ascii_digit() || b"#?$!-*".contains(&byte) => {
                (start + 2, named(&self.text[start + 1..start + 2], false))
            }
            Some(b'@') => (start + 2, named("@", true)),
            _ => match name_length(&self.text[start + 1..]) {
                0 => (start + 1, What::Literal("$".to_owned())),
                length => (start + 1 + length, named(&self.text[start + 1..start + 1 + length], false)),
            },
        };
        self.push(parts, quote, start, end, what);
    }

    /// `${…}` at the current place: where it ends and what it is.
    fn braces(&mut self, depth: usize) -> (usize, What) {
        let start = self.at;
        let end = self.closing(start + 1);
        let inner = self.text[start + 2..end].strip_suffix('}').unwrap_or_default();
        let digits = inner.bytes().take_while(u8::is_ascii_digit).count();
        let length = name_length(inner).max(digits);
        let (name, operation) = inner.split_at(length);
        let variable = |fallback, is_list| What::Variable { name: name.to_owned(), fallback, is_list };
        let what = match operation {
            "" if length > 0 => variable(None, false),
            "[@]" | "[*]" if length > 0 => variable(None, true),
            _ if length > 0 && depth < DEEPEST => {
                let after = operation.trim_start_matches(':');
                let assigns = after.starts_with('=');
                if after.starts_with(['-', '=']) && operation.len() - after.len() < 2 {
                    self.at = start + 2 + length + (operation.len() - after.len()) + 1;
                    let mut parts = Vec::new();
                    self.quoted(Quote::Here, &mut parts, depth + 1);
                    self.at = start;
                    variable(Some(Fallback { parts, assigns }), false)
                } else {
                    What::Opaque
                }
            }
            _ => What::Opaque,
        };
        (end, what)
    }

    /// The elements of an array, behind its `=`.
    fn array(&mut self) -> Vec<Word> {
        self.at += 1;
        self.in_array = true;
        let mut elements = Vec::new();
        while let Some(byte) = self.peek(0) {
            match byte {
                b')' => {
                    self.at += 1;
                    self.in_array = false;
                    return elements;
                }
                b'#' => self.at = self.rest().find('\n').map_or(self.text.len(), |end| self.at + end),
                b'\\' if self.continuation().is_some() => self.join(),
                _ => {
                    let before = self.at;
                    // A NUL begins no word.
                    if byte != 0
                        && !matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'(' | b'<' | b'>')
                    {
                        elements.push(self.word());
                    }
                    if self.at == before {
                        self.at += self.rest().chars().next().map_or(1, char::len_utf8);
                    }
                }
            }
        }
        elements
    }

    /// Behind what closes the bracket, brace or backtick that stands at `start`, quotes and nesting regarded.
    fn closing(&self, start: usize) -> usize {
        let bytes = self.text.as_bytes();
        let (mut at, mut open) = (start, Vec::new());
        while let Some(&byte) = bytes.get(at) {
            let within = open.last().copied();
            let in_string = within == Some(b'"');
            match byte {
                b'\\' => at += 1,
                _ if within == Some(byte) => drop(open.pop()),
                _ if within == Some(b'\'') => {}
                b'`' => open.push(b'`'),
                b'"' => open.push(b'"'),
                b'\'' if !in_string => open.push(b'\''),
                b'(' if !in_string || bytes.get(at.wrapping_sub(1)) == Some(&b'$') => open.push(b')'),
                b'{' if !in_string || bytes.get(at.wrapping_sub(1)) == Some(&b'$') => open.push(b'}'),
                _ => {}
            }
            at += 1;
            if open.is_empty() {
                return at.min(bytes.len());
            }
        }
        bytes.len()
    }
}
