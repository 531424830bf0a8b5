//! Questions to the history: `phase:optimizer_step requested:>2GiB after:2026-10-01 "pinned memory"`.

mod error;
mod matching;
mod parse;
mod search;

pub use error::QueryError;
pub use search::{Order, Page, search};

use crate::model::{FigureName, Kind, Phase};

/// A question: every clause must hold.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Query {
    clauses: Vec<Clause>,
}

#[derive(Debug, Clone, PartialEq)]
struct Clause {
    /// Written with a minus before it: it must not hold.
    negated: bool,
    what: What,
}

#[derive(Debug, Clone, PartialEq)]
enum What {
    /// These words stand somewhere, in this order.
    Words(Vec<String>),
    Kind(Kind),
    Phase(Phase),
    /// A name holds these letters, in either case.
    Name(Name, String),
    /// A figure lies between the two, both included.
    Figure(FigureName, f64, f64),
    /// It happened at this time or later.
    After(String),
    /// It happened earlier.
    Before(String),
    /// A change made it go away.
    Resolved(bool),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Name {
    Id,
    Group,
    Cause,
    Framework,
    Model,
    Gpu,
    Host,
    Role,
    File,
}

/// The fields that hold names.
const NAMES: [(&str, Name); 9] = [
    ("id", Name::Id),
    ("group", Name::Group),
    ("cause", Name::Cause),
    ("framework", Name::Framework),
    ("model", Name::Model),
    ("gpu", Name::Gpu),
    ("host", Name::Host),
    ("role", Name::Role),
    ("file", Name::File),
];
