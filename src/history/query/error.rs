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
    /// What may be meant.
    pub(super) hint: Option<String>,
}

impl QueryError {
    /// What to do about it.
    pub fn advice(&self) -> String {
        self.hint.clone().unwrap_or_else(|| {
            "write words, \"words in a row\", field:value, figure:>2GiB or figure:[1GiB TO *]".to_owned()
        })
    }
}

/// How wide what stands before `column` is on a terminal.
fn blanks(query: &str, column: usize) -> usize {
    use unicode_width::UnicodeWidthStr;
    query.chars().take(column.saturating_sub(1)).collect::<String>().width()
}
