//! Questions to the history: `phase:optimizer_step (requested:>2GiB OR "pinned memory") -host:node-7 after:2026-10-01`.
//!
//! `masked` writes a query down so that tantivy's grammar can take it, `parse` makes clauses of what the grammar says, `fields` knows
//! what can be asked for. `matching` holds a record against a query, as `index::translate` asks the index for it.

mod error;
mod fields;
mod known;
mod masked;
mod matching;
mod parse;
mod search;

pub use error::QueryError;
pub(super) use matching::MISTYPED;
pub(super) use search::newest;
pub use search::{Order, Page, search};

use super::State;
use crate::model::{FigureName, Kind, Phase};

/// A question to the history; the empty one asks for everything.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    pub(in crate::history) asked: Clause,
}

impl Default for Query {
    fn default() -> Query {
        Query { asked: Clause::All(Vec::new()) }
    }
}

impl Query {
    /// Whether one word, or a pair of words, is all that is asked for.
    pub(in crate::history) fn is_a_word(&self) -> bool {
        matches!(&self.asked, Clause::One(What::Words { words, .. }) if words.len() <= 2)
    }

    /// The same within a group.
    pub(in crate::history) fn in_group(&self, group: &str) -> Query {
        let group = What::Name { name: Name::Group, letters: group.to_owned(), at: 0 };
        Query { asked: Clause::All(vec![Clause::One(group), self.asked.clone()]) }
    }

    /// Whether some fit better than others: fields hold or don't.
    pub(in crate::history) fn is_ranked(&self) -> bool {
        self.asked.leaves().iter().any(|what| matches!(what, What::Words { as_spelled: false, .. }))
    }
}

/// What must hold.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::history) enum Clause {
    /// Every one of these; of none, anything.
    All(Vec<Clause>),
    /// One of these, or several.
    Any(Vec<Clause>),
    Not(Box<Clause>),
    One(What),
}

impl Clause {
    /// What is asked for, wherever it stands.
    fn leaves(&self) -> Vec<&What> {
        match self {
            Clause::All(clauses) | Clause::Any(clauses) => clauses.iter().flat_map(Clause::leaves).collect(),
            Clause::Not(clause) => clause.leaves(),
            Clause::One(what) => vec![what],
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(in crate::history) enum What {
    /// These words stand somewhere, in this order. What must not stand there is what is written; of what should, slips are forgiven.
    Words {
        words: Vec<String>,
        as_spelled: bool,
    },
    Kind(Kind),
    Phase(Phase),
    /// A name holds these letters, in either case. They stand in the query at this place, in bytes.
    Name {
        name: Name,
        letters: String,
        at: usize,
    },
    /// A figure lies between the two, both included.
    Figure(FigureName, f64, f64),
    /// It happened at the first of these times or later, and before the other, in seconds since 1970.
    Time(i64, i64),
    /// A change made it go away.
    Resolved(bool),
    /// Somebody still has to look at it, or nobody has, or somebody has again.
    Is(State),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::history) enum Name {
    Id,
    Group,
    Cause,
    Framework,
    Model,
    Gpu,
    Host,
    Role,
    Job,
    Tag,
    File,
    Cluster,
    Assignee,
}
