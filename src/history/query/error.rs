use thiserror::Error;

/// A query that makes no sense, and where.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{problem} at column {column} of the query\n{}", pointed(.query, *.column))]
pub struct QueryError {
    /// What was asked.
    pub query: String,
    /// The character, counted from 1.
    pub column: usize,
    /// What is wrong there.
    pub problem: String,
    hint: String,
}

impl QueryError {
    /// That something is wrong with what stands `at` some byte of `query`.
    pub(super) fn new(query: &str, at: usize, problem: String, hint: String) -> QueryError {
        let column = query.chars().count() - query.get(at..).unwrap_or_default().chars().count() + 1;
        QueryError { query: query.to_owned(), column, problem, hint }
    }

    /// What to do about it.
    pub fn advice(&self) -> String {
        self.hint.clone()
    }
}

/// What stands around the column, and below it a sign that points there: as wide as a terminal has it.
fn pointed(query: &str, column: usize) -> String {
    use unicode_width::UnicodeWidthStr;
    const SHOWN: usize = 200;
    let before = column.saturating_sub(1);
    let from = before.saturating_sub(SHOWN);
    let left: String = query.chars().skip(from).take(before - from).collect();
    let right: String = query.chars().skip(before).take(SHOWN).collect();
    format!("  {left}{right}\n  {}^", " ".repeat(left.width()))
}
