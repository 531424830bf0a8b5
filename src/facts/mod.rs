//! What is known about an incident, by name.
//!
//! The input is what the logs state, what the configuration sets and what the memory arithmetic makes of both; the output is [`Facts`],
//! each with the lines that state it, and the [`Evaluator`] that answers conditions (CEL) over them. Nothing is weighed here; ranking,
//! patches, estimates and the history use it.

mod condition;
mod cost;
mod gather;
mod inspect;
mod known;
mod pairs;
mod pattern;
mod prints;
mod remembered;
mod requested;
mod snapshot;
mod trend;
mod variables;
mod word_match;

pub use condition::{Answer, Evaluator, Expression, alternatives, names};
pub use gather::{gather, of_job, state_phase};
pub use inspect::{Comparison, Literal};
pub use known::{Facts, Value};
pub use requested::{count_copies, explain_request};
pub use snapshot::state_snapshot;
pub use word_match::tokens;
