//! Values that no incident can have.

use super::fields::{Field, unknown};
use super::{Query, QueryError, What};

impl Query {
    /// Whether it asks for a name that may only be one of few.
    pub fn asks_for(&self, field: &str) -> bool {
        !self.named(field).is_empty()
    }

    /// Refuses the query, which reads `query`, where the letters that it asks for in `field` (`cause` or `framework`) stand in
    /// none of the `known` names: it could find nothing, now or ever.
    pub fn check(&self, query: &str, field: &str, known: &[String]) -> Result<(), QueryError> {
        let holds = |letters: &str| known.iter().any(|name| name.to_lowercase().contains(letters));
        match self.named(field).into_iter().find(|(_, letters)| !holds(letters)) {
            None => Ok(()),
            Some((at, letters)) => {
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                let (problem, hint) = unknown(field, letters, &known);
                Err(QueryError::new(query, at, problem, hint))
            }
        }
    }

    fn named<'q>(&'q self, field: &str) -> Vec<(usize, &'q str)> {
        let wanted: Option<Field> = field.parse().ok();
        let named = |what: &'q What| match what {
            What::Name { name, letters, at } if wanted == Some(Field::Name(*name)) => Some((*at, letters.as_str())),
            _ => None,
        };
        self.asked.leaves().into_iter().filter_map(named).collect()
    }
}
