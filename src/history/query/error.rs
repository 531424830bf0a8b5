use thiserror::Error;

/// A query that makes no sense, and where.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{problem} at column {column} of the query\n  {query}\n  {}^", " ".repeat(blanks(.query, *.column)))]
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

/// How wide what stands before `column` is on a terminal.
fn blanks(query: &str, column: usize) -> usize {
    use unicode_width::UnicodeWidthStr;
    query.chars().take(column.saturating_sub(1)).collect::<String>().width()
}
