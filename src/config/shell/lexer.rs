//! Splits a script into words, quotes and operators, character by character.
//!
//! We have our own lexer because scripts arrive as they were pasted. brush-parser (0.4.0) refuses the whole text if a
//! quote, an expansion, a here document or the last line is cut off (`what_is_cut_is_read_up_to_there`,
//! `reads_quotes_comments_and_continuations`), which happens to one in seventeen of our scripts when they are cut at
//! random. It also begins a word behind a continued line with that line's blanks, does not report comments, and
//! overflows its stack, which ends the process, on brackets nested as deeply as in `hostile_texts_end`.
//! tree-sitter-bash (0.25.1) has exact places but loses the statement where a here document has no end or a backslash
//! ends the last line.

use std::ops::Range;

use super::super::edit::next_line;
use super::words::{Content, Fallback, Operator, Part, Quote, Token, Word, name_length};

pub(super) struct Lexer<'a> {
    text: &'a str,
    base: usize,
    at: usize,
    tokens: Vec<Token>,
    /// Here documents whose bodies begin on the next line: the token, the delimiter, and whether leading tabs are
    /// stripped.
    pending: Vec<(usize, String, bool)>,
    /// Whether an array is being read; arrays do not nest.
    in_array: bool,
}

/// How many levels of `${A:-${B:-…}}` are read.
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

    /// Reads all tokens.
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
                b'&' => self.operator(Operator::Background, 1),
                b'|' if self.peek(1) == Some(b'|') => self.operator(Operator::Or, 2),
                b'|' => self.operator(Operator::Pipe, 1 + usize::from(self.peek(1) == Some(b'&'))),
                // `((i++))` is arithmetic, in which `<<` is not a here document.
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

    /// The start of the next line, if a backslash here joins the two. A backslash at the end of the text counts: the
    /// line that it joins was cut off.
    fn continuation(&self) -> Option<usize> {
        let rest = self.rest().strip_prefix('\\')?.trim_start_matches([' ', '\t', '\r']);
        let next = rest.strip_prefix('\n').or(rest.is_empty().then_some(rest))?;
        Some(self.text.len() - next.len())
    }

    /// Skips a continuation, if there is one.
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
        match &part.content {
            Content::Literal(text) => text.clone(),
            _ => self.text.get(part.span.start - self.base..part.span.end - self.base).unwrap_or_default().to_owned(),
        }
    }

    /// Reads the bodies of the here documents that the previous line announced.
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
            // No word can begin with this character.
            self.at += self.rest().chars().next().map_or(1, char::len_utf8);
            return;
        }
        // The digits in `2>` belong to the redirection.
        let is_number = word.bare().is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        if !(is_number && matches!(self.peek(0), Some(b'<' | b'>'))) {
            self.tokens.push(Token::Word(word));
        }
    }

    fn word(&mut self) -> Word {
        let (start, mut parts, mut elements) = (self.at, Vec::new(), None);
        // The end of the word, without a continuation behind it.
        let mut end = start;
        while let Some(byte) = self.peek(0) {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b')' => break,
                b'<' | b'>' if self.peek(1) == Some(b'(') => {
                    let end = self.closing(self.at + 1);
                    self.push(&mut parts, Quote::Bare, self.at, end, Content::Opaque);
                }
                b'<' | b'>' => break,
                b'(' => match parts.as_slice() {
                    [Part { content: Content::Literal(text), .. }] if text.ends_with('=') && !self.in_array => {
                        elements = Some(self.array());
                    }
                    _ => break,
                },
                0 => self.at += 1,
                b'\\' => match self.continuation() {
                    // A backslash followed by blanks ends the word.
                    Some(next) if self.text[self.at + 1..next].contains([' ', '\t']) => break,
                    Some(next) => {
                        self.at = next;
                        continue;
                    }
                    None => {
                        let escaped: String = self.rest()[1..].chars().take(1).collect();
                        let end = self.at + 1 + escaped.len();
                        self.push(&mut parts, Quote::Bare, self.at, end, Content::Literal(escaped));
                    }
                },
                b'\'' => self.single(&mut parts),
                b'"' => {
                    self.at += 1;
                    let before = parts.len();
                    self.quoted(Quote::Double, &mut parts, 0);
                    if parts.len() == before {
                        self.push(&mut parts, Quote::Double, self.at, self.at, Content::Literal(String::new()));
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
                    let literal = Content::Literal(self.rest()[..length].to_owned());
                    self.push(&mut parts, Quote::Bare, self.at, self.at + length, literal);
                }
            }
            end = self.at;
        }
        Word { span: self.span(start, end), parts, elements }
    }

    /// Adds a part and moves behind it.
    fn push(&mut self, parts: &mut Vec<Part>, quote: Quote, start: usize, end: usize, content: Content) {
        let span = self.span(start, end);
        self.at = end;
        parts.push(Part { span, quote, content });
    }

    fn single(&mut self, parts: &mut Vec<Part>) {
        let start = self.at + 1;
        let end = self.text[start..].find('\'').map(|end| start + end);
        let inner_end = end.unwrap_or(self.text.len());
        let literal = Content::Literal(self.text[start..inner_end].replace('\0', ""));
        self.push(parts, Quote::Single, start, inner_end, literal);
        self.at = end.map_or(inner_end, |end| end + 1);
    }

    /// Reads up to the closing double quote, or to the end of a here document or a fallback.
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
                            self.push(parts, quote, self.at, self.at + 2, Content::Literal(next.to_string()));
                        }
                        _ => self.push(parts, quote, self.at, self.at + 1, Content::Literal("\\".to_owned())),
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
                    let literal = Content::Literal(self.rest()[..length].to_owned());
                    self.push(parts, quote, self.at, self.at + length, literal);
                }
            }
        }
    }

    /// `$…` or `` `…` ``
    fn dollar(&mut self, quote: Quote, parts: &mut Vec<Part>, depth: usize) {
        let start = self.at;
        let named = |name: &str, is_list| Content::Variable { name: name.to_owned(), fallback: None, is_list };
        let (end, content) = match self.peek(1) {
            _ if self.peek(0) == Some(b'`') => (self.closing(start), Content::Opaque),
            Some(b'(') => {
                let end = self.closing(start + 1);
                let inner = self.text.get(start + 1..end).unwrap_or_default();
                let inner = inner.strip_prefix("((").and_then(|inner| inner.strip_suffix("))"));
                let whole = self.text.get(start + 2..end.saturating_sub(1)).unwrap_or_default();
                // `expr` takes the same expressions, with `*` escaped from the shell.
                let words = whole.trim_start().strip_prefix("expr ").map(|words| words.replace('\\', ""));
                let computed = inner.map(str::to_owned).or(words);
                (end, computed.map_or(Content::Opaque, Content::Arithmetic))
            }
            Some(b'{') => self.braces(depth),
            Some(byte) if byte.is_ascii_digit() || b"#?$!-*".contains(&byte) => {
                (start + 2, named(&self.text[start + 1..start + 2], false))
            }
            Some(b'@') => (start + 2, named("@", true)),
            _ => match name_length(&self.text[start + 1..]) {
                0 => (start + 1, Content::Literal("$".to_owned())),
                length => (start + 1 + length, named(&self.text[start + 1..start + 1 + length], false)),
            },
        };
        self.push(parts, quote, start, end, content);
    }

    /// Reads the `${…}` at the current offset: its end and its content.
    fn braces(&mut self, depth: usize) -> (usize, Content) {
        let start = self.at;
        let end = self.closing(start + 1);
        let inner = self.text[start + 2..end].strip_suffix('}').unwrap_or_default();
        let digits = inner.bytes().take_while(u8::is_ascii_digit).count();
        let length = name_length(inner).max(digits);
        let (name, operation) = inner.split_at(length);
        let variable = |fallback, is_list| Content::Variable { name: name.to_owned(), fallback, is_list };
        let content = match operation {
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
                    Content::Opaque
                }
            }
            _ => Content::Opaque,
        };
        (end, content)
    }

    /// Reads the elements of an array, from its opening parenthesis.
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
                    // A NUL cannot begin a word.
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

    /// The offset behind the closing counterpart of the bracket, brace or backtick at `start`, respecting quotes and
    /// nesting.
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
