//! Questions to the history: `phase:optimizer_step requested:>2GiB after:2026-10-01 "pinned memory"`.

mod error;
mod known;
mod matching;
mod parse;
mod search;

pub use error::QueryError;
pub(super) use matching::MISTYPED;
pub(super) use search::newest;
pub use search::{Order, Page, search};

use super::State;
use crate::model::{FigureName, Kind, Phase};

/// A question: every clause must hold.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Query {
    pub(in crate::history) clauses: Vec<Clause>,
}

impl Query {
    /// Whether one word, or a pair of words, is all that is asked for.
    pub(in crate::history) fn is_a_word(&self) -> bool {
        matches!(self.clauses.as_slice(), [Clause { negated: false, what: What::Words(words), .. }] if words.len() <= 2)
    }

    /// The same within a group.
    pub(in crate::history) fn in_group(&self, group: &str) -> Query {
        let what = What::Name(Name::Group, group.to_owned());
        let mut query = self.clone();
        query.clauses.push(Clause { negated: false, at: 0, what });
        query
    }

    /// Whether some fit better than others: fields hold or don't.
    pub(in crate::history) fn is_ranked(&self) -> bool {
        self.clauses.iter().any(|clause| !clause.negated && matches!(clause.what, What::Words(_)))
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(in crate::history) struct Clause {
    /// Written with a minus before it: it must not hold.
    pub negated: bool,
    /// Where its value stands in the query, in characters from 0.
    pub at: usize,
    pub what: What,
}

#[derive(Debug, Clone, PartialEq)]
pub(in crate::history) enum What {
    /// These words stand somewhere, in this order.
    Words(Vec<String>),
    Kind(Kind),
    Phase(Phase),
    /// A name holds these letters, in either case.
    Name(Name, String),
    /// A figure lies between the two, both included.
    Figure(FigureName, f64, f64),
    /// It happened at this time or later, in seconds since 1970.
    After(i64),
    /// It happened earlier.
    Before(i64),
    /// It happened in the week that begins on this day, counted from 1970.
    Week(i64),
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

/// The fields that hold names.
const NAMES: [(&str, Name); 13] = [
    ("id", Name::Id),
    ("group", Name::Group),
    ("cause", Name::Cause),
    ("framework", Name::Framework),
    ("model", Name::Model),
    ("gpu", Name::Gpu),
    ("host", Name::Host),
    ("role", Name::Role),
    ("job", Name::Job),
    ("tag", Name::Tag),
    ("file", Name::File),
    ("cluster", Name::Cluster),
    ("assignee", Name::Assignee),
];
