//! Values that no incident can have.

use super::parse::nearest;
use super::{Name, Query, QueryError, What};

impl Query {
    /// Whether it asks for a name that may only be one of few.
    pub fn asks_for(&self, field: &str) -> bool {
        self.named(field).next().is_some()
    }

    /// Refuses the query, which reads `query`, where the letters that it asks for in `field` (`cause` or `framework`) stand in
    /// none of the `known` names: it could find nothing, now or ever.
    pub fn check(&self, query: &str, field: &str, known: &[String]) -> Result<(), QueryError> {
        let holds = |letters: &str| known.iter().any(|name| name.to_lowercase().contains(letters));
        match self.named(field).find(|(_, letters)| !holds(letters)) {
            None => Ok(()),
            Some((at, letters)) => Err(QueryError {
                query: query.to_owned(),
                column: at + 1,
                problem: format!("there is no {field} `{letters}`"),
                hint: Some(nearest(letters, known.iter().map(String::as_str))),
            }),
        }
    }

    fn named<'q>(&'q self, field: &str) -> impl Iterator<Item = (usize, &'q str)> {
        let wanted = super::NAMES.iter().find(|(known, _)| *known == field).map(|(_, name)| *name);
        self.clauses.iter().filter_map(move |clause| match &clause.what {
            What::Name(name @ (Name::Cause | Name::Framework), letters) if Some(*name) == wanted => {
                Some((clause.at, letters.as_str()))
            }
            _ => None,
        })
    }
}
