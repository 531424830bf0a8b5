use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

/// The tokenizer's name in the schema.
pub(super) const NAME: &str = "lines";

/// Splits a text at newlines: [`crate::history::tokens`] has already split it into words, once for all fields.
#[derive(Debug, Clone, Default)]
pub(super) struct LineTokenizer;

pub(super) struct LineStream<'t> {
    lines: std::str::Split<'t, char>,
    offset: usize,
    token: Token,
}

impl Tokenizer for LineTokenizer {
    type TokenStream<'t> = LineStream<'t>;

    fn token_stream<'t>(&'t mut self, text: &'t str) -> LineStream<'t> {
        LineStream { lines: text.split('\n'), offset: 0, token: Token::default() }
    }
}

impl TokenStream for LineStream<'_> {
    fn advance(&mut self) -> bool {
        let Some(line) = self.lines.next() else { return false };
        let token = &mut self.token;
        // A new token's position is usize::MAX, one before the first.
        token.position = token.position.wrapping_add(1);
        (token.offset_from, token.offset_to) = (self.offset, self.offset + line.len());
        self.offset = token.offset_to + 1;
        token.text.clear();
        token.text.push_str(line);
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}
