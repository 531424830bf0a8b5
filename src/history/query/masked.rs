//! A query as tantivy's grammar can take it: `phase:forward 显存 OR node_used:>2 GiB` becomes `(0) AND (1 OR 2)`.
//!
//! The grammar knows OR, AND, NOT and parentheses, and what binds how. Words and values stand in it as numbers, blanks as AND, and what
//! makes no sense is refused before, since it
//! - keeps no places: nothing could point at the column of a slip (`an_error_points_at_its_column`);
//! - tears `2 GiB` in two (`an_amount_may_have_a_blank`), and takes signs of an error line, `x^2 ~3 step() Error:`, for its own
//!   (`a_pasted_line_is_words`);
//! - forgets that one of several must hold where a blank joins another clause to them (`operators_bind_as_the_page_says`);
//! - goes as deep as it is told to (`a_hostile_query_is_answered_or_refused`).

use super::fields::{Field, Slip, amount};
use super::{QueryError, What};
use crate::history::tokens::tokens;
use crate::model::FigureName;

/// More characters nobody writes.
const LONGEST: usize = 4096;
/// Each may be a word that is looked for in the whole dictionary.
const MOST_VALUES: usize = 512;
const DEEPEST: usize = 16;
const UNITS: [&str; 10] = ["b", "bytes", "kib", "mib", "gib", "tib", "kb", "mb", "gb", "tb"];

pub(super) struct Masked<'q> {
    query: &'q str,
    /// What is not read yet.
    rest: &'q str,
    /// What the grammar reads. A row of what blanks join is within parentheses of its own, so that they bind least.
    pub text: String,
    /// What the numbers in it stand for.
    pub leaves: Vec<What>,
    /// The places of open parentheses, and the field of what has none of its own in them.
    open: Vec<(usize, Option<Field>)>,
}

impl<'q> Masked<'q> {
    pub fn new(query: &'q str) -> Result<Masked<'q>, QueryError> {
        let mut masked = Masked { query, rest: query, text: "(".to_owned(), leaves: Vec::new(), open: Vec::new() };
        if let Some((end, _)) = query.char_indices().nth(LONGEST) {
            masked.query = &query[..end];
            return masked.refuse(end, "this query is too long", "look for the words that tell most");
        }
        while masked.skip_blanks() {
            masked.part()?;
        }
        if let Some((at, _)) = masked.open.first() {
            return masked.refuse(*at, "this parenthesis is not closed", "close it with ), or quote what it stands in");
        }
        match masked.text.as_str() {
            "(" => masked.text.clear(),
            _ => masked.end(query.len(), ")")?,
        }
        Ok(masked)
    }

    pub fn refuse<T>(&self, at: usize, problem: &str, hint: &str) -> Result<T, QueryError> {
        Err(QueryError::new(self.query, at, problem.to_owned(), hint.to_owned()))
    }

    fn at(&self) -> usize {
        self.query.len() - self.rest.len()
    }

    /// Whether anything follows the blanks.
    fn skip_blanks(&mut self) -> bool {
        self.rest = self.rest.trim_start();
        !self.rest.is_empty()
    }

    fn take_until(&mut self, ends: impl FnMut(char) -> bool) -> &'q str {
        let (taken, rest) = self.rest.split_at(self.rest.find(ends).unwrap_or(self.rest.len()));
        self.rest = rest;
        taken
    }

    fn take(&mut self, sign: &str) -> bool {
        let rest = self.rest.strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Whether a word follows that is none where it stands alone.
    fn is_operator(&self, operator: &str) -> bool {
        let ends = |next: char| next.is_whitespace() || "()".contains(next);
        self.rest.strip_prefix(operator).is_some_and(|rest| rest.is_empty() || rest.starts_with(ends))
    }

    fn take_operator(&mut self, operator: &str) -> bool {
        self.is_operator(operator) && self.take(operator)
    }

    /// Takes a minus, or all before a parenthesis, and says whether they negate. `--memory` is an option that somebody pasted.
    fn take_minus(&mut self) -> bool {
        let after = self.rest.trim_start_matches('-');
        if !after.starts_with('(') {
            let is_option = self.rest.starts_with("--") && after.starts_with(char::is_alphanumeric);
            return !is_option && self.take("-");
        }
        let count = self.rest.len() - after.len();
        self.rest = after;
        count % 2 == 1
    }

    /// An operator, an operand or the end of a parenthesis.
    fn part(&mut self) -> Result<(), QueryError> {
        let at = self.at();
        for (operator, masked) in [("AND", " AND "), ("OR", " OR ")] {
            if self.take_operator(operator) {
                return self.end(at, masked);
            }
        }
        if !self.open.is_empty() && self.take(")") {
            self.open.pop();
            return self.end(at, "))");
        }
        let (mut is_negated, mut is_owed) = (false, false);
        while self.take_operator("NOT") {
            (is_negated, is_owed) = (!is_negated, true);
            if !self.skip_blanks() || self.rest.starts_with(')') || self.is_operator("AND") || self.is_operator("OR") {
                return self.missing(self.at());
            }
        }
        let is_negated = is_negated != self.take_minus();
        let (place, length) = (self.at(), self.text.len());
        self.operand(if is_negated { "NOT " } else { "" })?;
        // Signs alone are passed over, but not what is negated.
        if is_owed && self.text.len() == length { self.missing(place) } else { Ok(()) }
    }

    /// Ends an operand with `end`, if one stands there.
    fn end(&mut self, at: usize, end: &str) -> Result<(), QueryError> {
        let is_there = self.has_operand();
        self.text.push_str(end);
        if is_there { Ok(()) } else { self.missing(at) }
    }

    fn has_operand(&self) -> bool {
        self.text.ends_with(|last: char| last.is_ascii_digit() || last == ')')
    }

    fn missing(&self, at: usize) -> Result<(), QueryError> {
        let hint = "write a OR b, a AND b, NOT a, (a b); in quotation marks OR, AND and NOT are words";
        self.refuse(at, "something to look for is missing", hint)
    }

    fn operand(&mut self, negation: &str) -> Result<(), QueryError> {
        let begin = if self.has_operand() { ") AND (" } else { "" };
        let field = self.field()?.or(self.open.last().and_then(|(_, field)| *field));
        let at = self.at();
        if self.rest.starts_with('(') && !self.rest.starts_with("()") {
            self.take("(");
            self.open.push((at, field));
            self.text.extend([begin, negation, "(("]);
            return match self.open.len() > DEEPEST {
                true => self.refuse(at, "this goes too deep", "ask for less, or ask twice"),
                false => Ok(()),
            };
        }
        let what = match field {
            Some(Field::Figure(name)) => self.figure(name)?,
            _ => {
                let value = if self.rest.starts_with('"') { self.quoted()? } else { self.word(field.is_some()) };
                match field {
                    Some(_) if value.is_empty() => return self.no_value(at),
                    Some(field) => self.told(at, field.what(value, at))?,
                    // Signs alone say nothing.
                    None if tokens(value).is_empty() => return Ok(()),
                    None => What::Words { words: tokens(value), as_spelled: false },
                }
            }
        };
        if self.leaves.len() == MOST_VALUES {
            return self.refuse(at, "this asks for too much", &format!("{MOST_VALUES} words and values are the most"));
        }
        self.text.extend([begin, negation, &self.leaves.len().to_string()]);
        self.leaves.push(what);
        Ok(())
    }

    /// The field that is called before a colon. A colon elsewhere is a sign like any other, and so is that of `std::bad_alloc` and
    /// `http://node-7`.
    fn field(&mut self) -> Result<Option<Field>, QueryError> {
        let after = self.rest.trim_start_matches(|next: char| next.is_ascii_lowercase() || next == '_');
        let name = &self.rest[..self.rest.len() - after.len()];
        let is_text = |value: &&str| name.is_empty() || value.starts_with(':') || value.starts_with("//");
        let Some(value) = after.strip_prefix(':').filter(|value| !is_text(value)) else { return Ok(None) };
        let field = self.told(self.at(), name.parse())?;
        self.rest = value;
        Ok(Some(field))
    }

    fn told<T>(&self, at: usize, told: Result<T, Slip>) -> Result<T, QueryError> {
        told.or_else(|(problem, hint)| self.refuse(at, &problem, &hint))
    }

    fn no_value<T>(&self, at: usize) -> Result<T, QueryError> {
        self.refuse(at, "a value is missing", "write field:value, field:\"several words\" or figure:>2GiB")
    }

    fn quoted(&mut self) -> Result<&'q str, QueryError> {
        let at = self.at();
        self.take("\"");
        let words = self.take_until(|next| next == '"');
        match self.take("\"") {
            true => Ok(words),
            false => self.refuse(at, "this quotation does not end", "close it with \""),
        }
    }

    /// What ends at a blank, at a parenthesis that it does not open and, unless it `is_value`, at a quotation.
    fn word(&mut self, is_value: bool) -> &'q str {
        let (mut depth, is_within) = (0, !self.open.is_empty());
        self.take_until(|next| {
            let closes = next == ')' && depth == 0;
            depth += i32::from(next == '(') - i32::from(next == ')' && !closes);
            next.is_whitespace() || closes && is_within || next == '"' && !is_value
        })
    }

    /// `>2GiB`, `>=2GiB`, `<2GiB`, `<=2GiB`, `[1GiB TO *]` or the number itself.
    fn figure(&mut self, name: FigureName) -> Result<What, QueryError> {
        self.skip_blanks();
        let sign = ["[", ">=", "<=", ">", "<"].into_iter().find(|sign| self.take(sign));
        let (at, words) = self.amount()?;
        let first = |open| self.told(at, amount(words, open));
        let (low, high) = (f64::NEG_INFINITY, f64::INFINITY);
        let (low, high) = match sign {
            None => return self.told(at, Field::Figure(name).what(words, at)),
            Some(">=") => (first(low)?, high),
            Some(">") => (first(low)?.next_up(), high),
            Some("<=") => (low, first(high)?),
            Some("<") => (low, first(high)?.next_down()),
            Some(_) => {
                let low = first(low)?;
                self.expect("TO")?;
                let (at, words) = self.amount()?;
                let high = self.told(at, amount(words, high))?;
                self.expect("]")?;
                (low, high)
            }
        };
        Ok(What::Figure(name, low, high))
    }

    fn expect(&mut self, sign: &str) -> Result<(), QueryError> {
        self.skip_blanks();
        match self.take(sign) {
            true => Ok(()),
            false => self.refuse(self.at(), &format!("`{sign}` is missing"), "write [1GiB TO 2GiB]"),
        }
    }

    /// An amount, of which a unit may be a word of its own, and its place.
    fn amount(&mut self) -> Result<(usize, &'q str), QueryError> {
        self.skip_blanks();
        let at = self.at();
        self.take_until(|next| next.is_whitespace() || ")]".contains(next));
        let after = self.rest.trim_start();
        let rest = after.trim_start_matches(|next: char| next.is_ascii_alphabetic());
        if UNITS.contains(&after[..after.len() - rest.len()].to_lowercase().as_str()) {
            self.rest = rest;
        }
        match &self.query[at..self.at()] {
            "" => self.no_value(at),
            words => Ok((at, words)),
        }
    }
}
