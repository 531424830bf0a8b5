//! The history: past incidents, what was tried against them, and the outcomes.
//!
//! In go masked reports ([`Record::of`]), which wait in a spool until a process drains them into the store; out come
//! records, found again by a query, and the [`Experience`](crate::model::Experience) that later analyses use. Nothing
//! here diagnoses: a record says what its analysis said.

mod add;
mod alike;
mod annotations;
mod ask;
mod backup;
mod changes;
mod cluster;
mod cursor;
mod document;
mod drain;
mod error;
mod export;
mod find;
mod fixes;
mod index;
mod live;
mod outcome;
mod prune;
mod query;
mod record;
mod reindex;
mod spool;
mod stats;
mod tokens;
mod transfer;

pub use add::add;
pub use alike::{Likeness, similar};
pub use annotations::{Annotations, Note, State, Verdict, annotate};
pub use ask::{Answer, ask, ask_similar, ask_stats, is_indexed};
pub use backup::{BackedUp, backup, restore, verify_backup};
pub use changes::forget_changes;
pub use cluster::cluster;
pub use cursor::Cursor;
pub use document::Document;
pub use drain::{drain, look, publish, settle, snapshot, take_spool};
pub use error::HistoryError;
pub use export::{Export, Format, IndexName, Mark, index_template};
pub use find::{find, records};
pub use fixes::{Fix, FixFilter, fixes};
pub use index::{IndexError, Progress, verify_index};
pub use live::{
    Facet, FacetValue, FoundPage, GroupFilter, GroupOrder, GroupPage, GroupState, GroupSummary, Live, Series, Trend,
    TrendBy,
};
pub use outcome::{Outcome, OutcomeSummary, Peak, PeakChange, experience, forget, outcomes, resolve, resolve_all};
pub use prune::{Age, Expired, Retention, prune, remove_expired};
pub use query::{Order, Page, Query, QueryError, search};
pub use record::{Record, now};
pub use reindex::reindex;
pub use spool::{Waiting, hand_over, is_waiting, put, put_outcome};
pub use stats::{Stats, stats};
pub use transfer::{export, import, read_lines};

/// The prefix of incidents' keys, followed by the id.
const INCIDENTS: &str = "incidents/";
/// The prefix of groups' keys: the occurrences of each group are counted there.
const GROUPS: &str = "groups/";
/// The prefix of outcomes' keys, followed by the incident's id.
const OUTCOMES: &str = "outcomes/";
